"""The order of modifiers, and that everything else agrees with it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.report.content import ranked
from gardenpath.eval.statistics.analysis import load_analyses
from gardenpath.eval.suites.library import Chain, load_suites, modifier_orders, suite_names
from gardenpath.studies import mandarin_files as mandarin
from gardenpath.util import CONFIG_DIR


def _ranked_by_analyses() -> Iterator[tuple[str, Chain]]:
    """The orders that analyses of ``conf/analysis`` imply: codes of modifiers, or their levels."""
    for analysis in load_analyses(CONFIG_DIR / "analysis"):
        for rule in analysis.derive.values():
            values = rule["values"]
            if rule["from"] == "modifier" and not any(isinstance(v, str) for v in values.values()):
                yield analysis.name, tuple(sorted(map(str, values), key=values.__getitem__))
        if levels := analysis.codings.get("modifier", {}).get("levels"):
            yield analysis.name, tuple(map(str, levels))


def test_analyses_agree_with_the_order_of_the_materials() -> None:
    found = list(_ranked_by_analyses())
    assert {name for name, _ in found} == {"modifier_trend", "modifier_effects"}
    for name, chain in found:
        assert chain in modifier_orders(), name


def test_the_orders_do_not_contradict_each_other() -> None:
    names = list(dict.fromkeys(name for chain in modifier_orders() for name in reversed(chain)))
    order = ranked(names, modifier_orders())
    for chain in modifier_orders():
        assert all(order.index(one) < order.index(other) for one, other in pairwise(chain))


def test_the_orders_name_modifiers_that_suites_have() -> None:
    known = {suite.modifier for suite in load_suites(suite_names())}
    assert {name for chain in modifier_orders() for name in chain} <= known
    ordered = {name for chain in modifier_orders()[:2] for name in chain}
    assert set(mandarin._MODIFIERS.values()) == ordered


@pytest.mark.parametrize("text", ["", "orders: []", "order: 3", "order: [[a], 3]"])
def test_a_file_without_orders_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "order.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"order\.yaml: contains no orders"):
        modifier_orders(path)
