"""Which tests of the benchmarks are slow."""

import pytest


def pytest_collection_modifyitems(items):
    """Mark what needs the whole smoke run, which takes about 20 seconds, whichever test comes first."""
    for item in items:
        if "smoke_run" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
