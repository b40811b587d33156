"""Relabel: every sample is learned from, but labels that predictions refute give way to these predictions."""

import torch
import torch.nn.functional as F
from torch import Tensor

from sklearn_lec._validation import is_number
from sklearn_lec.methods.base import Method
from sklearn_lec.methods.contract import Batch, Criterion, MethodContext, Selected, Selection

__all__ = ["Relabel", "confusion", "evidence_for_labels", "trust_in_labels"]

PRIOR_SAMPLES = 5
"""Imagined samples of each class, with labels wrong at random, that are added to what is counted of the confusion."""
NEGLIGIBLE = 1e-6
"""Probabilities below are not told apart."""
ENOUGH_EVIDENCE = 2.0
"""What a label needs to count half, as a difference of log probabilities, as far as `UNCERTAINTY` allows."""
UNCERTAINTY = 1.25
"""How many more labels than `eps` may be doubted, as a factor."""
BLOCK = 2**22
"""How many probabilities are looked at at a time."""


class Relabel(Method):
    """Learn from every sample, on its label as far as that can be trusted, and else on what was predicted for it.

    For each sample a running mean P of the predictions is kept, one per epoch, as they come in training, with dropout.
    During the warm-up labels are learned as they are. After it, before each epoch, every label y is held against P, and
    against which labels the samples of a class have::

        T[k, j] = share of the label j among the samples predicted as k
        evidence = log(P[y] T[y, y]) - max over k != y of log(P[k] T[k, y])
        trust = sigmoid((evidence - threshold) / softness)

    The threshold is the one at which the mean trust is ``1 - eps``; or 2 if that is larger, as far as a mean of ``1 -
    1.25 * eps``: with too small an `eps`, wrong labels would be trusted, memorized, and trusted all the more.

    The epoch runs over all samples. The target is ``trust * onehot(y) + (1 - trust) * P ** sharpness / sum(P **
    sharpness)``. T tells whether a class is taken for one other, as by people, or for any: a label that often stands
    for another class needs more evidence. As no sample is left out, hard samples and rare classes are learned, too.

    In ``clean_mask_`` are the samples whose trust is above one half: a share of about ``1 - eps``, but not exactly.
    Costs K + 1 floats per sample for K classes, and no further pass. Where `eps` is 0 it is ordinary training.

    It is weak where the network memorizes wrong labels before the warm-up ends: what it predicts for a sample is then
    the label. If ``T_w="auto"`` notices that, and `eps` was estimated, the samples whose label the estimate refutes are
    left out, as with all methods. A sample that has not been predicted yet keeps its label.

    Parameters
    ----------
    eps, T_w : as for `LECClassifier`, from which None takes the value
    beta : float in [0, 1), default=0.9
        How slowly the running mean follows the predictions.
    softness : float, default=1.0
        How gradually trust falls with the evidence, which is a difference of log probabilities; 0 is a hard decision.
    sharpness : float, default=2.0
        The power of the predictions in the target; 1 leaves them as they are.

    References
    ----------
    The running mean is that of S. Laine and T. Aila, "Temporal ensembling for semi-supervised learning", ICLR 2017.
    """

    title = "Relabel"
    averages_networks = True
    selects_samples = False
    doubts_labels = True

    def __init__(self, *, eps=None, T_w=None, beta=0.9, softness=1.0, sharpness=2.0):
        self.eps = eps
        self.T_w = T_w
        self.beta = beta
        self.softness = softness
        self.sharpness = sharpness

    def check(self) -> None:
        """Raise an error if a parameter is out of bounds."""
        super().check()
        if not is_number(self.beta) or not 0 <= self.beta < 1:
            raise ValueError(f"beta must be a number in [0, 1), got {self.beta!r}. The default is 0.9.")
        if not is_number(self.softness) or self.softness < 0:
            raise ValueError(f"softness must be a number of at least 0, got {self.softness!r}. The default is 1.")
        if not is_number(self.sharpness) or self.sharpness <= 0:
            raise ValueError(f"sharpness must be a number above 0, got {self.sharpness!r}. The default is 2.")

    @property
    def is_past_warmup(self) -> bool:
        """Whether the warm-up is over, which takes the first epoch at least: before it, nothing has been predicted."""
        return self.epoch > max(self.T_w, 1)

    @property
    def is_relabelling(self) -> bool:
        """Whether labels are doubted in this epoch."""
        return self.is_past_warmup and self.eps > 0

    def sample_memory(self, n_classes: int) -> dict[str, Tensor]:
        """Remember the running mean of the predictions, which sums to less than 1 at first, and the trust."""
        return {"mean_prediction": torch.zeros(n_classes), "trust": torch.tensor(1.0)}

    def before_training(self, context: MethodContext) -> None:
        """Raise an error if the criterion does not take probabilities as targets."""
        if self.eps == 0 or context.criterion is None:
            return
        outputs = torch.zeros(1, context.n_classes, device=context.device)
        try:
            context.criterion(outputs, outputs.softmax(dim=1))
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise TypeError(
                f"{type(self).__name__} learns from probabilities of the classes, which the criterion "
                f"{type(context.criterion).__name__} does not take as targets: {error}. Use "
                "torch.nn.CrossEntropyLoss without ignore_index, or method='ltec'."
            ) from error

    def before_epoch(self, context: MethodContext) -> None:
        """Decide how far each label is trusted in the epoch that begins."""
        if not self.is_relabelling:
            return
        memory = self.record.memory
        samples = context.samples.to(memory["trust"].device)
        samples = samples[memory["mean_prediction"][samples].any(dim=1)]  # others have not been predicted yet
        labels = context.labels.to(samples.device)[samples]
        if not len(samples):
            return
        evidence = self._evidence(memory["mean_prediction"], samples, labels)
        trusted = self.trusted_among(samples)
        if trusted is not None:  # so that the quota of doubt falls to the others
            evidence = evidence.masked_fill(trusted, evidence.max())
        trust = self._trust(evidence, labels)
        memory["trust"][samples] = trust if trusted is None else trust.masked_fill(trusted, 1.0)

    def _evidence(self, mean_prediction: Tensor, samples: Tensor, labels: Tensor) -> Tensor:
        """Return the evidence for the labels of some samples, of which there is one at least."""
        n_classes = mean_prediction.shape[1]
        # In blocks, because what is computed on the way takes several times the memory of the predictions.
        blocks = torch.arange(len(samples)).split(max(1, BLOCK // n_classes))
        predicted = torch.cat([mean_prediction[samples[block]].argmax(dim=1) for block in blocks])
        matrix = confusion(predicted, labels, n_classes=n_classes, eps=self.eps)
        return torch.cat(
            [
                evidence_for_labels(_as_probabilities(mean_prediction[samples[block]]), labels[block], matrix)
                for block in blocks
            ]
        )

    def _trust(self, evidence: Tensor, labels: Tensor) -> Tensor:
        """Return how far labels are trusted: a quota of all, or of each label if the share that is wrong is known."""
        if self.eps_of_labels is None:
            return trust_in_labels(evidence, eps=self.eps, softness=self.softness)
        trust = torch.ones_like(evidence)
        for label, share in enumerate(self.eps_of_labels.tolist()):
            given = labels == label
            trust[given] = trust_in_labels(evidence[given], eps=share, softness=self.softness)
        return trust

    def select(self, batch: Batch) -> Selection:
        """Select every sample, and remember the new running mean."""
        before = self.record.memory["mean_prediction"][batch.samples]
        mean = self.beta * before + (1 - self.beta) * batch.probabilities.mean(dim=0)
        return Selection(memory={"mean_prediction": mean})

    def loss(self, criterion: Criterion, batch: Selected) -> Tensor:
        """Return the loss on the labels, and after the warm-up on the soft targets."""
        if not self.is_relabelling:
            return criterion(batch.outputs, batch.labels)
        predicted = _as_probabilities(_as_probabilities(batch.memory["mean_prediction"]) ** self.sharpness)
        trust = self.record.memory["trust"][batch.samples].unsqueeze(dim=1)
        targets = trust * F.one_hot(batch.labels, predicted.shape[1]) + (1 - trust) * predicted
        return criterion(batch.outputs, targets.to(batch.outputs.dtype))

    def trusted(self) -> Tensor | None:
        """Return the samples whose label counts more than the predictions; None for all, as in the warm-up."""
        return self.record.memory["trust"] > 0.5 if self.is_relabelling else None


def _as_probabilities(values: Tensor) -> Tensor:
    """Return values of shape (n_samples, n_classes) divided by their sum; equal probabilities where that is 0."""
    values = values + torch.finfo(values.dtype).tiny
    return values / values.sum(dim=1, keepdim=True)


def confusion(predicted: Tensor, labels: Tensor, *, n_classes: int, eps: float) -> Tensor:
    """Return which labels the samples of each predicted class have.

    Parameters
    ----------
    predicted, labels : int64 Tensors of shape (n_samples,)
    n_classes : int
    eps : float in [0, 1)
        The share of wrong labels that is expected of a class before anything has been counted.

    Returns
    -------
    shares : Tensor of shape (n_classes, n_classes)
        The share of each label (column) among the samples predicted as a class (row).

    Examples
    --------
    >>> predicted, labels = torch.tensor([0] * 100 + [1] * 100), torch.tensor([0] * 60 + [1] * 140)
    >>> confusion(predicted, labels, n_classes=2, eps=0.2)
    tensor([[0.6095, 0.3905],
            [0.0095, 0.9905]])
    """
    counts = (predicted * n_classes + labels).bincount(minlength=n_classes**2).view(n_classes, n_classes)
    prior = torch.full_like(counts, eps / max(n_classes - 1, 1), dtype=torch.float32).fill_diagonal_(1 - eps)
    shares = counts + PRIOR_SAMPLES * prior
    return shares / shares.sum(dim=1, keepdim=True)


def evidence_for_labels(probabilities: Tensor, labels: Tensor, confusion: Tensor) -> Tensor:
    """Return how much more probable it is that a sample is of the class it is labelled as than of another one.

    Parameters
    ----------
    probabilities : Tensor of shape (n_samples, n_classes)
        Predicted, regardless of the label.
    labels : int64 Tensor of shape (n_samples,)
    confusion : Tensor of shape (n_classes, n_classes)
        The share of each label (column) in each class (row).

    Returns
    -------
    evidence : Tensor of shape (n_samples,)
        The difference of the logarithms, to the most probable of the other classes.

    Examples
    --------
    The first class is often labelled as the second, but not the other way round:

    >>> confusion = torch.tensor([[0.6, 0.4], [0.0, 1.0]])
    >>> evidence_for_labels(torch.tensor([[0.5, 0.5], [0.5, 0.5]]), torch.tensor([0, 1]), confusion)
    tensor([13.3047,  0.9163])
    """
    joint = probabilities.clamp_min(NEGLIGIBLE).log() + confusion.clamp_min(NEGLIGIBLE).log().T[labels]
    given = labels.unsqueeze(dim=1)
    others = joint.scatter(1, given, -torch.inf).amax(dim=1)
    return joint.gather(1, given).squeeze(dim=1) - others


def trust_in_labels(evidence: Tensor, *, eps: float, softness: float) -> Tensor:
    """Return how far labels are trusted: more where there is more evidence, and all in all a share of ``1 - eps``.

    A label needs some evidence, which a wrong one that is being memorized does not have yet. If more labels than `eps`
    lack it, up to a quarter more are doubted: `eps` is hardly ever known better.

    Parameters
    ----------
    evidence : Tensor of shape (n_samples,)
    eps : float in [0, 1)
    softness : float
        How gradually trust falls with the evidence; 0 makes it 1 or 0.

    Returns
    -------
    trust : Tensor of shape (n_samples,)
        ``sigmoid((evidence - threshold) / softness)``, with a mean from ``1 - 1.25 * eps`` to ``1 - eps``.

    Examples
    --------
    >>> trust_in_labels(torch.tensor([-4.0, 2.5, 3.5, 6.0]), eps=0.25, softness=1.0)
    tensor([0.0069, 0.8229, 0.9266, 0.9935])
    """
    if eps == 0 or len(evidence) == 0:
        return torch.ones_like(evidence)
    softness = max(softness, 1e-3)
    low, high = (_threshold(evidence, share, softness) for share in (eps, min(UNCERTAINTY * eps, (1 + eps) / 2)))
    threshold = torch.clamp(torch.full_like(low, ENOUGH_EVIDENCE), low, high)
    return torch.sigmoid((evidence - threshold) / softness)


def _threshold(evidence: Tensor, eps: float, softness: float) -> Tensor:
    """Return the threshold at which the mean trust is ``1 - eps``."""
    # No threshold is outside of these, and after 40 bisections float32 cannot tell it from the next one.
    low, high = evidence.min() - 30 * softness, evidence.max() + 30 * softness
    for _ in range(40):
        middle = (low + high) / 2
        is_too_low = torch.sigmoid((evidence - middle) / softness).mean() > 1 - eps
        low, high = torch.where(is_too_low, middle, low), torch.where(is_too_low, high, middle)
    return low
