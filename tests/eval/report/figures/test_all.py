"""Figures: all there, well-formed, the same every time, and without missing characters."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import font_manager
from matplotlib import image as mpl_image
from matplotlib.axes import Axes

from gardenpath.eval.display import EXACT, FAMILY_DISPLAYS
from gardenpath.eval.report.content import ReportContent, ReportedAnalysis
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures import style as fonts
from gardenpath.eval.report.figures.all import Picture, pictures, write_pictures
from gardenpath.eval.report.figures.results import (
    Estimate,
    effects_by_condition,
    estimate_rows,
    estimates,
)
from gardenpath.eval.report.figures.sentence import align
from gardenpath.eval.report.figures.style import MEAN_LABEL, RANGE_LABEL
from gardenpath.eval.report.means import IF_RIGHT, IF_WRONG, NEAR_SHARE

ROOT = Path(__file__).parents[4]
PREFIXES = (
    "accuracy_by_class",
    "mean_accuracy",
    "accuracy_by_modifier",
    "differences_by_condition",
    "wh_effects",
    "effects_",
    "estimates_",
    "loss_curves",
    "sentence_",
    "sentence_lengths",
    "excess_surprisal",
)


def _picture(study: ReportContent, name: str) -> Picture:
    return next(picture for picture in pictures(study) if picture.name.startswith(name))


@pytest.mark.slow
@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_kind_of_figure_is_written_with_its_numbers(report: Path, prefix: str) -> None:
    names = sorted(path.name for path in (report.parent / "figures").iterdir())
    found = [name for name in names if name.startswith(prefix)]
    assert {Path(name).suffix for name in found} == {".svg", ".png", ".csv"}


def _numbers(report: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(report.parent / "figures" / f"{name}.csv")


def test_the_numbers_of_a_figure_are_those_that_it_draws(
    report: Path, study: ReportContent
) -> None:
    drawn = _numbers(report, "accuracy_by_class_toy_english")
    table = study.by_class[study.by_class["corpus"] == "toy_english"]
    assert drawn["model"].tolist() == table["model"].tolist()
    np.testing.assert_allclose(drawn[["mean", "low"]], table[["mean", "low"]], atol=1e-6)
    lengths = _numbers(report, "sentence_lengths")
    assert lengths.groupby("corpus")["percent"].sum().round(3).tolist() == [100.0, 100.0]
    curves = _numbers(report, "loss_curves")
    assert len(curves) == sum(len(curve.metrics) for curve in study.curves)
    assert curves["epoch"].min() == 1
    excess = _numbers(report, "excess_surprisal")
    assert set(excess.columns) >= {"mean", "lowest", "highest"}
    assert EXACT not in set(excess["model"])


def test_the_numbers_of_a_sentence_have_its_words(report: Path, study: ReportContent) -> None:
    drawn = _numbers(report, "sentence_islands_object_toy_english")
    chosen = study.surprisals.query("suite == 'islands_object' and item == 1")
    assert drawn["word"].tolist() == chosen["word"].tolist()
    np.testing.assert_allclose(drawn["surprisal_bits"], chosen["surprisal_bits"], atol=1e-6)


def _with_near_ties(study: ReportContent) -> ReportContent:
    """A study in which all outcomes of the rnng on Mandarin are near ties."""
    near = (study.items["model"] == "rnng") & (study.items["corpus"] == "toy_mandarin")
    items = study.items.assign(near_tie=near, outcome=study.items["outcome"].mask(near, 0.5))
    return replace(study, items=items)


def _legend(figure: style.ReportFigure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_near_ties_are_drawn_as_such(study: ReportContent) -> None:
    known = _with_near_ties(study)
    with style.look():
        accuracy = _picture(known, "mean_accuracy").draw()
        differences = _picture(known, "differences_by_condition").draw()
        plain = _picture(study, "mean_accuracy").draw()
    numbers = accuracy.numbers.set_index("model")
    assert numbers.loc["rnng", [IF_WRONG, "mean", IF_RIGHT]].tolist() == [0.0, 0.5, 1.0]
    assert numbers.loc["lstm", IF_WRONG] == numbers.loc["lstm", IF_RIGHT]
    drawn = [np.asarray(line.get_xdata()) for line in accuracy.axes[0].lines]
    (zigzag,) = (xs for xs in drawn if len(xs) > 10)
    assert (zigzag.min(), zigzag.max()) == (0.0, 1.0)
    assert RANGE_LABEL in _legend(accuracy) and RANGE_LABEL not in _legend(plain)
    assert MEAN_LABEL in _legend(differences)
    shares = differences.numbers.groupby("model")[NEAR_SHARE].mean()
    assert shares["rnng"] == 1.0 and shares["lstm"] == 0.0
    assert NEAR_SHARE not in plain.numbers.columns


def test_figures_are_well_formed_and_not_blank(report: Path) -> None:
    for path in sorted((report.parent / "figures").glob("*.svg")):
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        assert root.tag.endswith("svg") and len(list(root.iter())) > 40, path
        pixels = mpl_image.imread(path.with_suffix(".png"))
        assert pixels.std() > 0.02, path


def test_names_of_files_are_different(study: ReportContent) -> None:
    names = [picture.name for picture in pictures(study)]
    assert len(set(names)) == len(names)


def test_drawing_twice_gives_the_same_bytes(study: ReportContent) -> None:
    picture = _picture(study, "sentence_classifier")
    files = []
    for _ in range(2):
        with style.look():
            figure = picture.draw()
            style.settle(figure)
            files.append((style.as_svg(figure), style.as_png(style.pixels(figure))))
    assert files[0] == files[1]
    assert "<dc:date>" not in files[0][0]


def test_settings_of_the_caller_come_back(study: ReportContent) -> None:
    before = dict(mpl.rcParams)
    with style.look():
        _picture(study, "sentence_lengths").draw()
    assert dict(mpl.rcParams) == before


def test_chinese_is_drawn_as_chinese(study: ReportContent) -> None:
    """Every word's outlines are in the figure, and matplotlib misses no glyph."""
    with warnings.catch_warnings(), style.look():
        warnings.simplefilter("error")
        figure = _picture(study, "sentence_classifier").draw()
        style.settle(figure)
        svg = style.as_svg(figure)
    names = {font_manager.get_font(str(fonts.BUNDLED)).postscript_name}
    assert any(name in svg for name in names), "outlines of the bundled font"
    assert fonts.drawable("他看见了一只猫。") == "他看见了一只猫。"


def test_the_bundled_font_has_the_grammar_and_gb2312() -> None:
    known = font_manager.get_font(str(fonts.BUNDLED)).get_charmap()
    grammar = (ROOT / "src/data/grammars/mandarin.pcfg").read_text(encoding="utf-8")
    han = {letter for letter in grammar if ord(letter) > 0x2E80}
    assert len(han) > 100
    assert [letter for letter in sorted(han) if ord(letter) not in known] == []
    rows = [bytes([row, cell]) for row in range(0xB0, 0xF8) for cell in range(0xA1, 0xFF)]
    level = {code.decode("gb2312", errors="ignore") for code in rows} - {""}
    assert len(level) == 6763
    assert [letter for letter in sorted(level) if ord(letter) not in known] == []
    licence = (fonts.ASSETS / "GardenpathHan-LICENSE.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE" in licence and "Adobe" in licence
    assert fonts.BUNDLED.stat().st_size < 2_500_000


def test_a_character_that_no_font_has_is_marked_and_not_a_box() -> None:
    assert fonts.drawable("a\U000e0041b") == f"a{fonts.MISSING_GLYPH}b"


def test_models_differ_in_colour_and_mark() -> None:
    models = ["unigram", "ngram", "lstm", "rnng", "trans", "plm", "plm_mask", "gpt2", EXACT]
    styles = style.model_styles(models)
    assert len(set(styles.values())) == len(models)
    assert styles["trans"] == FAMILY_DISPLAYS["transformer"].style
    assert styles[EXACT] == style.EXACT_STYLE


def test_variants_are_lined_up_by_region() -> None:
    rows = [
        ("gap", 1, "start", 1, "what"),
        ("gap", 1, "end", 2, "at"),
        ("gap", 1, "end", 3, "home"),
        ("nogap", 1, "start", 1, "that"),
        ("nogap", 1, "object", 2, "the"),
        ("nogap", 1, "object", 3, "cake"),
        ("nogap", 1, "end", 4, "at"),
        ("nogap", 1, "end", 5, "home"),
    ]
    table = pd.DataFrame(rows, columns=["condition", "variant", "region", "word_id", "word"])
    found = align(table, ["end"])
    assert [dict(line.places) for line in found.lines] == [
        {1: 0, 2: 3, 3: 4},
        {1: 0, 2: 1, 3: 2, 4: 3, 5: 4},
    ]
    assert (found.size, found.critical) == (5, [(3, 5)])
    assert [line.label for line in found.lines] == ["gap", "nogap"]


def test_the_ceiling_is_a_line_and_no_row(study: ReportContent) -> None:
    with style.look():
        figure = _picture(study, "mean_accuracy_toy_mandarin").draw()
    (axis,) = figure.axes
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels == ["unigram", "ngram", "lstm", "rnng", "transformer", "plm"]
    ceiling = study.by_model.query("model == @EXACT and corpus == 'toy_mandarin'")["mean"].item()
    upright = [line.get_xdata() for line in axis.lines if len(set(np.ravel(line.get_xdata()))) == 1]
    assert any(np.allclose(np.asarray(xs, dtype=float), ceiling) for xs in upright)


def test_an_analysis_with_estimates_draws_those_alone() -> None:
    estimate = pd.DataFrame(
        [("a · syntax", 0.5, 0.1, 0.9)], columns=["term", "estimate", "low", "high"]
    )
    both = {"coefficients": estimate.assign(term="(Intercept)"), "estimates": estimate}
    (row,) = estimate_rows(ReportedAnalysis(title="x", tables=both))
    assert (row.label, row.value, row.low, row.high) == ("a · syntax", 0.5, 0.1, 0.9)


def _estimates(*rows: tuple[str, str, float, float, float]) -> ReportedAnalysis:
    columns = ["model", "term", "estimate", "low", "high"]
    return ReportedAnalysis(title="x", tables={"estimates": pd.DataFrame(rows, columns=columns)})


def test_labels_leave_out_what_all_rows_have() -> None:
    analysis = _estimates(
        ("lstm", "toy · LSTM · none · gap", 1.0, 0.5, 1.5),
        ("lstm", "toy · LSTM · adjective · gap", -1.0, -1.5, -0.5),
        ("rnng", "toy · RNNG · none · gap", 0.1, -0.5, 0.7),
        ("rnng", "toy · RNNG · adjective · gap", math.nan, math.nan, math.nan),
    )
    rows = estimate_rows(analysis)
    assert [row.label for row in rows] == ["LSTM · none", "LSTM · adjective", "RNNG · none"]
    assert [row.is_clear for row in rows] == [True, True, False]
    with style.look():
        (axis,) = estimates(analysis).axes
    heights = axis.get_yticks()
    assert heights[2] - heights[1] > heights[1] - heights[0], "models stand apart"


def test_an_absurd_interval_leaves_room_for_the_others() -> None:
    """A fit that ran off to infinity: no warning, no axis of 10²¹, and its numbers are short."""
    rows = [("", f"row {n}", 0.5, -0.5, 1.5) for n in range(8)]
    analysis = _estimates(*rows, ("", "row 8", -102.0, -6.2e21, 6.2e21))
    with warnings.catch_warnings(), style.look():
        warnings.simplefilter("error")
        figure = estimates(analysis)
        style.settle(figure)
        assert style.as_png(style.pixels(figure))
    (axis,) = figure.axes
    assert max(np.abs(axis.get_xlim())) < 100
    assert "arrows" in axis.get_xlabel()
    absurd = Estimate(label="", value=-102.0, low=-6.2e21, high=6.2e21)
    assert absurd.in_numbers == "−102.000  [−6.2e+21, 6.2e+21]"


@pytest.mark.parametrize(
    ("count", "most", "expected"),
    [(1, 3, 1), (2, 3, 2), (3, 3, 3), (4, 3, 2), (5, 3, 3), (6, 3, 3), (8, 5, 4), (7, 2, 2)],
)
def test_grids_have_full_last_rows_where_they_can(count: int, most: int, expected: int) -> None:
    assert style.balanced(count, most) == expected


def _labels(axis: Axes) -> list[str]:
    return [label.get_text().replace("\n", " ") for label in axis.get_xticklabels()]


@pytest.mark.parametrize("name", ["accuracy_by_modifier", "differences_by_condition"])
def test_modifiers_stand_from_plain_to_complex(study: ReportContent, name: str) -> None:
    with style.look():
        figure = _picture(study, f"{name}_toy_mandarin").draw()
    found = {axis.get_title(loc="left"): _labels(axis) for axis in figure.axes}
    assert found == {
        "classifier noun": ["none", "adjective", "subject rc", "object rc"],
        "missing object": ["none", "subject rc", "coordinated rc", "embedded rc"],
    }
    for axis in figure.axes:
        for line in axis.lines:
            along = np.asarray(line.get_xdata(), dtype=float)
            assert (np.diff(along) >= 0).all(), "no line goes back"


def test_panels_have_the_conditions_that_have_data(study: ReportContent) -> None:
    effects = study.effects
    own = effects["modifier"].isin(["object", "adjunct"])
    licensing = effects["effect"] == "licensing_interaction"
    few = replace(study, effects=effects[~licensing | own])
    with style.look():
        figure = effects_by_condition(
            few, "toy_english", ["+gap wh-effect", "licensing_interaction"]
        )
    one, other = figure.axes
    assert len(_labels(one)) == 5 and _labels(other) == ["object", "adjunct"]


def test_classes_with_one_modifier_each_have_models_as_rows(study: ReportContent) -> None:
    one = study.items[study.items["modifier"] == "none"]
    with style.look():
        figure = _picture(replace(study, items=one), "differences_by_condition").draw()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["unigram", "ngram", "lstm", "rnng", "transformer", "plm"]


def test_captions_speak_of_complexity_where_it_is_known(study: ReportContent) -> None:
    known = _picture(study, "accuracy_by_modifier_toy_mandarin")
    assert known.title.startswith("Accuracy by complexity of the modifier")
    assert "simple to complex" in known.caption
    other = _picture(replace(study, modifier_orders=()), "accuracy_by_modifier_toy_mandarin")
    assert other.title.startswith("Accuracy by modifier") and "complex" not in other.caption


def test_the_layout_is_found_once(study: ReportContent) -> None:
    with style.look():
        figure = _picture(study, "accuracy_by_class").draw()
        style.settle(figure)
        before = [axis.get_position().bounds for axis in figure.axes]
        style.as_png(style.pixels(figure))
        style.as_svg(figure)
    assert figure.get_layout_engine() is None
    assert [axis.get_position().bounds for axis in figure.axes] == before
    assert before[0] != before[1]


def test_texts_look_for_other_fonts_only_where_they_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "families", lambda: (*fonts.bundled_families(), "DejaVu Serif"))
    with style.look():
        figure = style.empty(2, 1)
        plain, rare = figure.text(0, 0, "猫 cat"), figure.text(0, 0, "\U000e0041")
        style.settle(figure)
    assert plain.get_fontfamily() == list(fonts.bundled_families())
    assert rare.get_fontfamily() == [*fonts.bundled_families(), "DejaVu Serif"]


def test_legends_read_row_by_row(study: ReportContent) -> None:
    with style.look():
        figure = _picture(study, "wh_effects").draw()
        style.settle(figure)
        style.as_png(style.pixels(figure))
        (legend,) = figure.legends
        boxes = {text.get_text(): text.get_window_extent() for text in legend.get_texts()}
    top = max(box.y1 for box in boxes.values())
    height = max(box.height for box in boxes.values())
    rows = {name: (top - box.y1 + height / 4) // (height / 2) for name, box in boxes.items()}
    assert len(set(rows.values())) > 1, "more than one row"
    order = sorted(boxes, key=lambda name: (rows[name], boxes[name].x0))
    assert order == ["unigram", "ngram", "lstm", "rnng", "transformer", "plm", EXACT, "no effect"]


def test_a_study_with_nothing_has_no_figures(tmp_path: Path) -> None:
    assert write_pictures(ReportContent(title="empty"), tmp_path) == {}
