"""Which tests of the benchmarks are slow, and pages that are made again."""

import pytest


def pytest_collection_modifyitems(items):
    """Mark what needs the whole smoke run, which takes about 20 seconds, whichever test comes first."""
    for item in items:
        if "smoke_run" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def page_again(tmp_path, monkeypatch):
    """Return a function that makes the page of a script again, from a copy of its records and from nothing else."""

    def make(script, records):
        copy = tmp_path / records.name
        copy.write_bytes(records.read_bytes())
        monkeypatch.setattr(script, "measure", lambda cell: pytest.fail(f"there is no record of {cell}"))
        script.main(["--out", str(copy)])
        return copy.with_suffix(".md").read_text(encoding="utf-8")

    return make
