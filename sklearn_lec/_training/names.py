"""Names of parameters: which ones there are not, and which were probably meant."""

from collections.abc import Iterable
from contextlib import contextmanager

from sklearn_lec._validation import did_you_mean

__all__ = ["hints_at_names"]

SYNONYMS = {
    "epochs": "max_epochs",
    "n_epochs": "max_epochs",
    "num_epochs": "max_epochs",
    "max_iter": "max_epochs",
    "learning_rate": "lr",
    "learning_rate_init": "lr",
    "epsilon": "eps",
    "noise_rate": "eps",
    "forget_rate": "eps",
    "warmup": "T_w",
    "warmup_epochs": "T_w",
    "seed": "random_state",
    "model": "module",
    "loss": "criterion",
    "loss_fn": "criterion",
    "weight_decay": "optimizer__weight_decay",
    "momentum": "optimizer__momentum",
    "num_workers": "iterator_train__num_workers",
    "hidden_layer_sizes": "module__hidden",
    "dropout": "module__dropout",
    "validation_fraction": "train_split",
}
"""What other libraries call a parameter, and what it is called here."""


@contextmanager
def hints_at_names(net, names: Iterable[str]):
    """Add to an error of the block what was probably meant by those of `names` that are no parameters of the net.

    Parameters
    ----------
    net : LECClassifier
    names : iterable of str
    """
    try:
        yield
    except ValueError as error:
        # An argument that nobody knows is an attribute of the net all the same: skorch stores it first.
        known = net.get_params(deep=False).keys() - net._params_to_validate
        for hint in filter(None, (_hint(name, known) for name in names if name not in known)):
            error.add_note(hint)
        raise


def _hint(name: str, known: Iterable[str]) -> str:
    """Return what was probably meant by a name; empty if there is no telling."""
    if name.startswith("method__"):
        name = name.removeprefix("method__")
        return (
            f"What belongs to a method is set on an instance of it: write method=LTEC({name}=...), with the class of "
            "your method from sklearn_lec.methods."
        )
    if "__" in name:
        return ""  # the part before it has had its say
    meant = f"did you mean {SYNONYMS[name]!r}? " if name in SYNONYMS else did_you_mean(name, known)
    return f"{name}: {meant.strip()}" if meant else ""
