"""device="auto": the fastest device that the machine at hand has, looked up when it is needed."""

import torch

__all__ = ["AutoDeviceMixin", "fastest_device"]


def fastest_device() -> str:
    """Return "cuda" if there is one, else "mps" if there is one, else "cpu"."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


class AutoDeviceMixin:
    """Teach a skorch net the device "auto".

    The parameter stays "auto" for `get_params`, `clone` and pickle, so that a net from a GPU machine runs on a laptop;
    skorch, which reads ``self.device``, sees the device it stands for.
    """

    @property
    def device(self):
        """The device in use; the parameter itself may be "auto"."""
        device = vars(self)["device"]
        return fastest_device() if _is_auto(device) else device

    @device.setter
    def device(self, device):
        vars(self)["device"] = device

    def get_params(self, deep=True, **kwargs):
        """Return the parameters, with `device` as it was given."""
        return super().get_params(deep=deep, **kwargs) | {"device": vars(self)["device"]}

    def _check_device(self, requested_device, map_device):
        # skorch writes what this returns back to self.device after loading: "auto" has to stay what it was.
        if _is_auto(vars(self).get("device")):
            return "auto"
        return super()._check_device(requested_device, map_device)

    def __setstate__(self, state):
        if not _is_auto(state["device"]):
            super().__setstate__(state)
            return
        super().__setstate__(state | {"device": fastest_device()})
        self.device = "auto"


def _is_auto(device):
    return isinstance(device, str) and device == "auto"
