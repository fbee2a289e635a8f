"""The layout of the released items of the suppression study, with sentences of our own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.suites.effects import suite_effects
from gardenpath.studies.layouts import import_suppression
from gardenpath.studies.suppression import load_suppression

ORDERS = (
    ("The snow melted .", "The copper tarnished ."),
    ("The skier admired .", "The plumber bent ."),
    ("The snow admired .", "The copper bent ."),
    ("The skier melted .", "The plumber tarnished ."),
    ("The snow that the skier admired melted .", "The copper that the plumber bent tarnished ."),
    ("The snow that the skier melted admired .", "The copper that the plumber tarnished bent ."),
    (
        "The snow that the skier on the slope admired melted .",
        "The copper that the plumber in the cellar bent tarnished .",
    ),
    (
        "The snow that the skier on the slope melted admired .",
        "The copper that the plumber in the cellar tarnished bent .",
    ),
)

# Before the filler, between filler and object, after the adverbial.
TEMPLATES = (
    ("We saw", "the cook with the hat praised", ""),
    ("We saw", "praised", ""),
    ("We saw", ", while the cook fed", ", the clown praised the judge"),
    ("We saw", ", while the cook fed the dog , the clown praised", ""),
    ("We saw", ", while the cook fed , the clown praised", ""),
    ("We saw", "the cook that fed", "praised the judge"),
    ("We saw", "the cook that fed the dog praised", ""),
    ("We saw", "the cook that fed praised", ""),
)


def _gap_lines() -> list[str]:
    lines = []
    for before, middle, after in TEMPLATES:
        for filler in ("that", "who"):
            for thing in ("the guest", ""):
                parts = (before, filler, middle, thing, "at noon", after, ".")
                lines.append(" ".join(part for part in parts if part))
    return lines


def _write(root: Path, experiment: str, lines: list[str]) -> None:
    path = root / experiment / "input.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line} <eos>\n" for line in lines), encoding="utf-8")


def _order_lines() -> list[str]:
    return [line for block in ORDERS for line in block]


def test_regions_of_centre_embedding(tmp_path: Path) -> None:
    _write(tmp_path, "center-embeddings", _order_lines())
    (found,) = load_suppression([tmp_path]).values()
    (suite,) = found.suites
    assert (suite.kind, len(suite.items)) == ("center_embedding", 2)
    by_condition = {variant.condition: variant for variant in suite.items[1].variants}
    sizes = {"match": 0, "match_long": 3}
    for condition, size in sizes.items():
        outer, that, inner, modifier, verb1, verb2, end = by_condition[condition].regions
        assert (outer, that, inner) == (("The", "copper"), ("that",), ("the", "plumber"))
        assert (len(modifier), verb1, verb2, end) == (size, ("bent",), ("tarnished",), (".",))
    assert by_condition["mismatch"].regions[4:6] == (("tarnished",), ("bent",))
    assert by_condition["n1_v2"].regions[4:6] == ((), ("tarnished",))
    assert by_condition["n2_v2"].regions[4:6] == (("tarnished",), ())
    assert found.whole.places[:8] == tuple(range(0, 16, 2))
    # The released items have the effects of our own suite.
    designs = ("sentence", "embedding", "long")
    assert {f"ordering_effect_{design}" for design in designs} <= set(suite_effects(suite))


def test_regions_of_filler_gap_dependencies(tmp_path: Path) -> None:
    _write(tmp_path, "filler-gap-dependencies", _gap_lines())
    (found,) = load_suppression([tmp_path]).values()
    names = {suite.name: suite for suite in found.suites}
    assert list(names) == [
        "islands/object", "wh_discharge/subject", "islands/adjunct", "islands/over_adjunct",
        "wh_discharge/adjunct", "islands/complex_np", "islands/over_complex_np",
        "wh_discharge/complex_np",
    ]  # fmt: skip
    for suite in found.suites:
        for variant in suite.items[0].variants:
            regions = dict(zip(suite.regions, variant.regions, strict=True))
            assert regions["tail"] == ("at", "noon")
            assert bool(regions["object"]) == variant.condition.endswith("nogap")
            filler = "who" if variant.condition.startswith("what") else "that"
            assert regions["filler"] == (filler,)
    rest = names["islands/complex_np"].items[0].variants[0].regions[5]
    assert rest == ("praised", "the", "judge")
    assert names["islands/adjunct"].items[0].labels == {"island": "yes"}


@pytest.mark.parametrize(
    ("experiment", "order", "problem"),
    [
        ("center-embeddings", (1, 0, 2, 3, 4, 5, 6, 7), "blocks 2 and 3 must exchange the verbs"),
        ("center-embeddings", (0, 1, 3, 2, 4, 5, 6, 7), "blocks 2 and 3 must exchange the verbs"),
        ("center-embeddings", (0, 1, 2, 3, 5, 4, 6, 7), "block 4 must be 'The snow that the"),
        ("center-embeddings", (0, 1, 2, 3, 6, 7, 4, 5), "block 4 must be 'The snow that the"),
        ("center-embeddings", (0, 1, 2, 3, 4, 5, 7, 6), "block 6 must be 'The snow that the"),
        ("filler-gap", (1, 0, 2, 3, 4, 5, 6, 7), "islands/object must have more words than"),
        ("filler-gap", (0, 1, 3, 2, 4, 5, 6, 7), "is not a sentence of this construction"),
        ("filler-gap", (0, 1, 2, 4, 3, 5, 6, 7), "islands/over_adjunct must have more words"),
        ("filler-gap", (0, 1, 5, 3, 4, 2, 6, 7), "is not a sentence of this construction"),
    ],
)
def test_blocks_in_another_order_are_refused(
    tmp_path: Path, experiment: str, order: tuple[int, ...], problem: str
) -> None:
    lines = _order_lines() if experiment.startswith("center") else _gap_lines()
    size = len(lines) // 8
    _write(tmp_path, experiment, [x for n in order for x in lines[n * size : (n + 1) * size]])
    with pytest.raises(InputError, match=problem):
        load_suppression([tmp_path])


@pytest.mark.parametrize(
    ("places", "problem"),
    [
        ((2, 3, 0, 1), "'who' and 'that' are not that and who"),
        ((1, 0, 3, 2), "must follow the gap|must lack the object"),
        ((0, 1, 3, 2), "with and without a filler must differ in one word"),
    ],
)
def test_conditions_in_another_order_are_refused(
    tmp_path: Path, places: tuple[int, ...], problem: str
) -> None:
    lines = _gap_lines()
    _write(tmp_path, "filler-gap", [lines[n] for n in places] + lines[4:])
    with pytest.raises(InputError, match=problem):
        load_suppression([tmp_path])


def test_one_file_gives_a_run_on_every_suite(tmp_path: Path) -> None:
    lines = _gap_lines()
    _write(tmp_path, "filler-gap", lines)
    rows = []
    number: dict[tuple[str, ...], float] = {}
    for line in lines:
        words = tuple(line.lower().split())
        values = [number.setdefault(words[: n + 1], len(number)) for n in range(len(words))]
        rows += [f"{word}\t{value}" for word, value in zip(words, values, strict=True)]
        rows.append("<eos>\t-0.0")
    (tmp_path / "filler-gap" / "mine_output.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    imported = import_suppression([tmp_path], [SurprisalSet(tmp_path)], PairingRules())
    assert len(imported.runs) == 8 and {run.name.model for run in imported.runs} == {"mine"}
    run = next(run for run in imported.runs if run.suite.name == "islands/over_adjunct")
    words = run.suite.items[0].variants[0].words
    expected = [number[tuple(w.lower() for w in words[: n + 1])] for n in range(len(words))]
    assert math.isnan(run.rows[0][0]) and run.rows[0][1:] == tuple(expected[1:])
    (receipt,) = imported.receipt.surprisals
    assert (receipt.respelt, receipt.not_scored) == (32, 32)


def test_mistakes_in_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no materials"):
        load_suppression([tmp_path])
    _write(tmp_path, "center-embeddings", _order_lines()[:-1])
    with pytest.raises(InputError, match="15 sentences cannot be divided into 8 blocks"):
        load_suppression([tmp_path])
    _write(tmp_path, "center-embeddings", ["No stop"])
    with pytest.raises(InputError, match=":1: a sentence must end in a full stop"):
        load_suppression([tmp_path])
