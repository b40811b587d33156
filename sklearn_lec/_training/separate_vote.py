"""Whether votes have a forward pass of their own, without gradients, before the selected samples are trained on."""

import numpy as np

from sklearn_lec._training.torch_utils import has_convolutions

__all__ = ["decide_on_separate_vote"]

SEPARATE_VOTE_BELOW = 0.5
"""The share of selected samples below which ``separate_vote="auto"`` gives the vote a pass of its own: with backward
passes of about twice a forward one that takes 1 + 3 * share instead of 3 passes. See benchmarks/speed."""


def decide_on_separate_vote(net) -> bool:
    """Return whether votes have a pass of their own, for a whole run.

    Parameters
    ----------
    net : LECClassifier
        Initialized, its parameters settled.
    """
    method = net.method_
    if not isinstance(net.separate_vote, bool | np.bool_) and net.separate_vote != "auto":
        raise ValueError(f"separate_vote must be True, False or 'auto', got {net.separate_vote!r}.")
    if net.separate_vote != "auto":
        if net.separate_vote and not method.same_samples_for_all:
            raise ValueError(
                f"separate_vote=True runs the selected samples through all networks, but method={net.method!r} "
                "selects other samples for each. Use separate_vote='auto' or False."
            )
        return bool(net.separate_vote) and method.selects_samples
    return (
        method.selects_samples
        and method.same_samples_for_all
        and method.largest_share < SEPARATE_VOTE_BELOW
        and has_convolutions(net.module_)
        and net.get_params_for("iterator_train").get("collate_fn") is None  # whose batches may not be indexable
        and not net.compile  # each number of selected samples would be compiled again
    )
