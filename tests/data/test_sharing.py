"""What sharing saves, as a share of the job."""

from __future__ import annotations

import pytest

from gardenpath.data.sharing import Sharing


def test_what_was_not_computed_was_saved() -> None:
    assert Sharing(10, 4).saved == pytest.approx(0.6)
    assert Sharing(10, 10).saved == 0.0


def test_nothing_is_saved_of_nothing() -> None:
    assert Sharing(0, 0).saved == 0.0
