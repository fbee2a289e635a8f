"""Results of regions are those that SyntaxGym computes, and are read again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.forms import form_of, read_foreign
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.regions import RegionTable
from gardenpath.eval.suites.syntaxgym import (
    dump_results,
    load_syntaxgym,
    region_metrics,
    token_regions,
    word_regions,
)
from tests.eval.suites.samples import cats_suite


def test_the_results_of_syntaxgym_itself(reference_data: Path) -> None:
    """Six metrics of every region, with the end of the sentence in the last."""
    folder = reference_data / "published" / "syntaxgym"
    suite = load_syntaxgym(folder / "test_in.json")
    file = read_foreign(folder / "test_surp_grnn.txt", "lm_zoo", None)
    tokens = [(one.scored.tokens, one.scored.values) for one in file.sentences]
    found = json.loads(dump_results(suite, token_regions(suite, tokens), model="grnn"))
    expected = json.loads((folder / "test_out_grnn.json").read_text(encoding="utf-8"))
    assert found["region_meta"] == expected["region_meta"]
    assert found["meta"]["model"] == expected["meta"]["model"]
    count = 0
    for item, known in zip(found["items"], expected["items"], strict=True):
        assert item["item_number"] == known["item_number"]
        for one, other in zip(item["conditions"], known["conditions"], strict=True):
            assert one["condition_name"] == other["condition_name"]
            for region, wanted in zip(one["regions"], other["regions"], strict=True):
                assert region["content"] == wanted["content"]
                assert region["metric_value"] == pytest.approx(wanted["metric_value"])
                count += 1
    assert count == 24


@given(st.lists(st.floats(0, 60), min_size=1, max_size=6))
def test_metrics(values: list[float]) -> None:
    found = region_metrics(values)
    assert found["sum"] == math.fsum(values) and found["max"] == max(values)
    assert found["mean"] == pytest.approx(mean(values)) and found["min"] == min(values)
    assert found["median"] == pytest.approx(median(values))
    assert found["range"] == max(values) - min(values)


def test_metrics_of_regions_without_words_or_numbers() -> None:
    assert region_metrics([])["sum"] == 0 and math.isnan(region_metrics([])["mean"])
    assert all(map(math.isnan, region_metrics([1.0, math.nan]).values()))
    assert math.isnan(region_metrics([math.inf, math.inf])["range"])


_bits = st.one_of(st.floats(0.001, 50), st.sampled_from([math.nan, math.inf]))


@given(st.data())
def test_results_are_read_again(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    suite = cats_suite()
    variants = [variant for item in suite.items for variant in item.variants]
    # Every sentence has numbers of its own, so that no two beginnings disagree.
    rows = [[data.draw(_bits) for _ in variant.words] for variant in variants]
    rows[0] = [1.0 for _ in rows[0]]
    path = tmp_path_factory.mktemp("results") / "lstm.json"
    path.write_text(dump_results(suite, word_regions(suite, rows), model="lstm"), encoding="utf-8")
    assert form_of(path) == "syntaxgym"
    rules = PairingRules(prefixes=False)
    (run,) = import_tables([suite], [SurprisalSet(path)], rules).runs
    found = RegionTable.from_rows(run.suite, run.rows)
    expected = RegionTable.from_rows(suite, rows)
    for key, values in expected.values.items():
        for one, other in zip(found.values[key], values, strict=True):
            assert one == pytest.approx(other, nan_ok=True)
