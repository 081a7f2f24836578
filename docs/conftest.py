"""The examples of the pages are tests; what the site builder wrote is not."""

import pytest

collect_ignore = ["_build", "gallery"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let examples use the concrete table, in which 3 % of the rows are copies; the tour says so."""
    for item in items:
        if item.path.suffix == ".rst":
            item.add_marker(pytest.mark.filterwarnings("ignore:.*are copies of other rows"))
