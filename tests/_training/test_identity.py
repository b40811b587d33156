"""Digests: the same for the same thing in every process, and another one for whatever differs."""

import functools
import importlib
import os
import random
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch
from skorch.callbacks import Callback, LRScheduler
from skorch.dataset import ValidSplit
from torch import nn
from torch.utils.data import Dataset, TensorDataset, WeightedRandomSampler

from sklearn_lec import LECClassifier
from sklearn_lec._training import identity
from sklearn_lec._training.identity import Fingerprint, digest
from tests.helpers import TinyNet


def scaled(factor):
    return lambda x: factor * x


def with_default(factor):
    def scale(x, by=factor):
        return by * x

    return scale


def class_with(rate):
    class Net(nn.Module):
        """A class of the user's own."""

        rate_of_dropout = rate

        def forward(self, x):
            return nn.functional.dropout(x, self.rate_of_dropout)

    return Net


def compiled(source):
    """Return `f` of a module of the user's own with this source."""
    module = types.ModuleType("of_the_user")
    exec(textwrap.dedent(source), vars(module))
    return module.f


def decorated(factor):
    """A function in an object that calls it, as decorators that are classes make them."""

    class Scaled:
        def __init__(self, function):
            self.function = function
            functools.update_wrapper(self, function)

        def __call__(self, x):
            return self.function(x) * factor

    return Scaled(abs_of)


def abs_of(x):
    return abs(x)


def with_metaclass(factor):
    class Meta(type):
        def __call__(cls, *args):
            return factor, super().__call__(*args)

    return Meta("Own", (), {})


def seeded(make, seed=0):
    torch.manual_seed(seed)
    return make()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ValidSplit(5), ValidSplit(3)),
        (functools.partial(TinyNet), functools.partial(TinyNet, 4)),
        (nn.Sequential(nn.Dropout(0.1)), nn.Sequential(nn.Dropout(0.6))),
        (nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.5)),
        ([LRScheduler(gamma=0.1)], [LRScheduler(gamma=0.2)]),
        (TensorDataset(torch.ones(3, 1), torch.ones(3)), TensorDataset(torch.zeros(3, 1), torch.ones(3))),
        (np.ones(3), np.zeros(3)),
        (np.ones(3), np.ones((3, 1))),
        (np.frompyfunc(lambda x: x, 1, 1), np.add),
        (decorated(1.0), decorated(2.0)),
        (with_metaclass(1.0), with_metaclass(2.0)),
        (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[0, 0])),
        (np.arange(4.0), np.arange(4.0)[::-1]),
        (scipy.sparse.dia_array(np.eye(3)), scipy.sparse.dia_array(np.eye(3) * 2)),
        (TinyNet, Path),
        (1, True),
        ("a" * 100, "a" * 101),
        ({"a": 1}, {"a": 2}),
        (torch.Generator().manual_seed(0), torch.Generator().manual_seed(1)),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda: nn.ReLU(), lambda: nn.Tanh()),
        (lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x]),
        (scaled(1), scaled(2)),
        (with_default(1), with_default(2)),
        (class_with(0.1), class_with(0.2)),
        (class_with(0.1)(), class_with(0.2)()),
        (seeded(TinyNet), seeded(TinyNet, seed=1)),
        (nn.ReLU().forward, nn.Tanh().forward),
        ([1].append, [2].append),
        (compiled("A = 1\ndef f(): return A"), compiled("A = 2\ndef f(): return A")),
        (compiled("def g(): return 1\ndef f(): return g()"), compiled("def g(): return 2\ndef f(): return g()")),
        (compiled("def f(x):\n return x.a"), compiled("def f(x):\n return x.b")),
        (compiled("def f(x):\n 'doc'\n return 1"), compiled("def f(x):\n 'doc'\n return 2")),
        (
            compiled("class f:\n @property\n def a(self): return 1"),
            compiled("class f:\n @property\n def a(self): return 2"),
        ),
    ],
)
def test_what_differs_has_another_digest(one, other):
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
        ([torch.ones(3)], [torch.ones(3)]),
        (np.random.RandomState(0), np.random.RandomState(1)),
        (seeded(TinyNet), seeded(TinyNet)),
        (WeightedRandomSampler(np.ones(9), 9), WeightedRandomSampler(np.ones(9), 9)),
        (scaled(2), scaled(2)),
        (class_with(0.1), class_with(0.1)),
        (0.1, np.float64(0.1)),
        ([3], [np.int64(3)]),
        (compiled("def f():\n def g():\n  'a'\n  return 1"), compiled("def f():\n def g():\n  'b'\n  return 1")),
        (decorated(1.0), decorated(1.0)),
        (LECClassifier(eps=0.1).set_params(verbose=0), LECClassifier(eps=0.1, verbose=0)),
        (compiled("def f(x):\n 'one'\n return x"), compiled("\n\ndef f(x):\n 'two'\n return x")),
        (compiled("A = 1\ndef f(x): return x.A"), compiled("A = 2\ndef f(x): return x.A")),
        (compiled("def f(n): return f(n - 1)"), compiled("def f(n): return f(n - 1)")),
    ],
)
def test_what_is_the_same_has_the_same_digest(one, same):
    assert digest(one) == digest(same)


IN_A_PROCESS = """
import re
import torch
from torch import nn
from sklearn_lec._training import identity
from sklearn_lec._training.identity import digest

class Net(nn.Module):
    sizes = {"small", "large", "huge"}

    def forward(self, x):
        return [y for y in x if y in {"small", "large", "huge"}]

values = [
    lambda dataset, y: [i for i in y if i],
    lambda y: sum(value for value in y),
    lambda y: (lambda z: z + 1)(y),
    lambda y: y in {"wood", "stone", "water", 1, 2.5},
    {"wood", "stone", "water"},
    Net,
    Net(),
    re.compile("a+"),
    torch.device("cpu"),
]
print([digest(value) for value in values])
"""


def test_digests_are_the_same_in_every_process():
    def run(hash_seed):
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run("1") == run("2")


def test_an_object_that_contains_itself_has_a_digest():
    circle = []
    circle.append(circle)

    assert digest(circle) == digest(circle)


def test_what_cannot_be_looked_into_is_named():
    fingerprint = Fingerprint()
    stream = (line for line in [])

    fingerprint.of({"lines": stream, "lambda": lambda: stream}, "train_split")

    assert fingerprint.unknown == {"train_split['lines']": "generator"}


@pytest.mark.parametrize("value", [torch.empty(2, device="meta"), torch.ones(2, dtype=torch.complex64).conj()])
def test_what_cannot_be_read_is_named_and_no_error(value):
    fingerprint = Fingerprint()

    fingerprint.of([value], "criterion__weight")

    assert fingerprint.unknown == {"criterion__weight[0]": "Tensor"}


def test_random_number_generators_are_found_wherever_they_are():
    class Jitter(Dataset):
        def __init__(self):
            self.noise = np.random.default_rng(0)
            self.parts = [random.Random(0), random.Random(1)]

    generator = torch.Generator()
    fingerprint = Fingerprint()

    fingerprint.of(Jitter(), "X")
    fingerprint.of(lambda: generator, "train_split")

    assert list(fingerprint.generators) == ["X.noise", "X.parts[0]", "X.parts[1]", "train_split: generator"]


def test_the_packages_that_values_come_from_are_noted():
    fingerprint = Fingerprint()

    fingerprint.of(lambda: nn.Linear(2, 2), "module")
    fingerprint.of(ValidSplit(3), "train_split")

    assert {"torch", "skorch"} <= fingerprint.packages
    assert "tests" not in fingerprint.packages


def test_global_generators_are_none_of_the_users_own():
    fingerprint = Fingerprint()

    fingerprint.of([random.gauss, np.random.normal, torch.default_generator], "train_split")

    assert fingerprint.generators == {}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of the user's own, `own_package.layers`; the function returned gives it another source."""

    def forget():
        for name in [name for name in sys.modules if name.startswith("own_package")]:
            del sys.modules[name]

    def write(source):
        forget()
        (tmp_path / "own_package").mkdir(exist_ok=True)
        (tmp_path / "own_package" / "__init__.py").write_text("")
        (tmp_path / "own_package" / "layers.py").write_text(source)
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield write
    forget()


@pytest.mark.parametrize(
    "source",
    [
        "import own_package.layers\ndef f(x): return own_package.layers.scale(x)",
        "from own_package import layers\ndef f(x): return layers.scale(x)",
        "def f(x):\n from own_package.layers import scale\n return scale(x)",
        "def f(x):\n import own_package.layers as layers\n return layers.scale(x)",
    ],
)
def test_code_that_is_reached_through_modules_counts(package, source):
    package("def scale(x): return x")
    before, again = digest(compiled(source)), digest(compiled(source))

    package("def scale(x): return 2 * x")

    assert before == again
    assert digest(compiled(source)) != before


def test_a_module_that_is_passed_on_as_a_value_counts_as_a_whole(package):
    source = "import own_package.layers\ndef f(x, module=own_package.layers): return module.scale(x)"
    package("def scale(x): return x")
    before = digest(compiled(source))

    package("def scale(x): return 2 * x")

    assert digest(compiled(source)) != before


def test_a_script_with_the_name_of_a_module_of_pythons_is_the_users_own(tmp_path, monkeypatch):
    digests = []
    for factor in (1, 2):
        module = types.ModuleType("profile")
        module.__file__ = str(tmp_path / "profile.py")
        monkeypatch.setitem(sys.modules, "profile", module)
        exec(f"def f(x): return {factor} * x", vars(module))
        digests.append(digest(module.f))

    assert digests[0] != digests[1]


def test_a_module_that_cannot_be_imported_is_named():
    fingerprint = Fingerprint()

    fingerprint.of(compiled("def f(x):\n import no_such_module_at_all\n return x"), "train_split")

    assert fingerprint.unknown == {"train_split: no_such_module_at_all": "module that cannot be imported"}


def test_what_a_callback_remembers_is_no_setting_of_it():
    class Counting(Callback):
        def __init__(self, lr):
            self.lr = lr
            self.losses = []

    class Renaming(Callback):
        def __init__(self, lr):
            self.rate = lr

    one, other = Counting(0.1), Counting(0.1)
    other.losses.append(3.0)

    assert digest(one) == digest(other)
    assert digest(one) != digest(Counting(0.2))
    assert digest(Renaming(0.1)) != digest(Renaming(0.2))


def test_an_array_is_read_in_blocks_whatever_its_order(monkeypatch):
    array = np.arange(60.0).reshape(12, 5)
    whole = digest(array)

    monkeypatch.setattr(identity, "BLOCK", 100)

    assert digest(array) == digest(np.asfortranarray(array)) == whole
