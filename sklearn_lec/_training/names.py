"""Names of parameters: which ones there are not, and which were probably meant."""

from collections.abc import Iterable

from sklearn_lec._validation import did_you_mean

__all__ = ["refuse_unknown"]

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


def refuse_unknown(net, names: Iterable[str]) -> None:
    """Raise an error that says what was probably meant by names that are no parameters of the net.

    Parameters
    ----------
    net : LECClassifier
    names : iterable of str
        Those with the prefix of a part, such as ``module__``, are left to skorch.
    """
    names = [name for name in names if not name.startswith(tuple(net.prefixes_))]
    of_method = [name.removeprefix("method__") for name in names if name.startswith("method__")]
    if of_method:
        raise ValueError(
            f"method__{of_method[0]} is no argument: what belongs to a method is set on an instance of it. Write "
            f"method=LTEC({of_method[0]}=...), with the class of your method from sklearn_lec.methods."
        )
    unknown = [name for name in names if "__" not in name]
    if unknown:
        name, known = unknown[0], net.get_params(deep=False).keys() - unknown
        hint = f"did you mean {SYNONYMS[name]!r}? " if name in SYNONYMS else did_you_mean(name, known)
        raise ValueError(
            f"Invalid parameter {name!r} for estimator {type(net).__name__}; {hint}Valid parameters are those of "
            "LECClassifier and of skorch.NeuralNetClassifier. A subclass has to take its own out of **kwargs."
        )
