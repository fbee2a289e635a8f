"""The published Mandarin suites: their layout, and items that are not in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.pairing import Materials
from gardenpath.studies.layouts import import_mandarin
from gardenpath.studies.mandarin_files import LAYOUTS, load_mandarin, read_mandarin_suite

# Own sentences in the published layout.
SENTENCES = {
    "cls_none": "我 买 了 一 本 词典 。\n我 买 了 一 只 词典 。\n"
    "我 买 了 一 只 鸭子 。\n我 买 了 一 本 鸭子 。\n",
    "gpo_adj": "他 看 那 本 新 同学 借 的 词典 。\n他 看 那 个 新 同学 借 的 词典 。\n",
    "gps_sub": "那 本 爱 笑 的 同学 借 的 词典 丢 了 。\n那 个 爱 笑 的 同学 借 的 词典 丢 了 。\n",
    "vo_obj": "她 翻 了 词典 。\n她 喝 了 词典 。\n",
    "mobj_subh": "她 借 了 。\n她 借 了 词典 。\n",
    "sd_none": "虽然 下雨 ， 他 去 。\n虽然 下雨 。\n",
}


def _folder(root: Path, **changed: str) -> Path:
    for key, text in {**SENTENCES, **changed}.items():
        path = root / key.split("_")[0] / f"{key}_txt.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def _targets(materials: Materials) -> list[tuple[str, ...]]:
    return [variant.regions[1] for variant in materials.suite.items[0].variants]


def test_classes_modifiers_and_targets(tmp_path: Path) -> None:
    found = load_mandarin([_folder(tmp_path)])
    assert {key: (one.suite.kind, one.suite.modifier) for key, one in found.items()} == {
        "cls_none": ("classifier_noun", "none"),
        "gpo_adj": ("garden_path_object", "adjective"),
        "gps_sub": ("garden_path_subject", "subject_rc"),
        "vo_obj": ("verb_noun", "object_rc"),
        "mobj_subh": ("missing_object", "embedded_rc"),
        "sd_none": ("subordination", "none"),
    }
    assert _targets(found["cls_none"])[1:3] == [("词典", "。"), ("鸭子", "。")]
    assert _targets(found["gpo_adj"]) == [("借",)] * 2
    assert _targets(found["vo_obj"]) == [("词典", "。")] * 2
    assert _targets(found["mobj_subh"]) == [("。",)] * 2
    last_de = found["gps_sub"].suite.items[0].variants[0].regions
    assert last_de[1] == ("的",) and last_de[2] == ("词典", "丢", "了", "。")


def test_predictions_are_the_comparisons_of_the_study(tmp_path: Path) -> None:
    found = load_mandarin([_folder(tmp_path)])
    assert [str(one.formula) for one in found["cls_none"].suite.predictions] == [
        "(target;%mismatch_a%) > (target;%match_a%)",
        "(target;%mismatch_b%) > (target;%match_b%)",
        "(target;%mismatch_b%) > (target;%match_a%)",
        "(target;%mismatch_a%) > (target;%match_b%)",
    ]
    names = {key: [one.name for one in found[key].suite.predictions] for key in found}
    assert names["mobj_subh"] == ["missing>present"]
    assert names["sd_none"] == ["without_main>with_main"]
    assert names["gps_sub"] == ["general>specific"]


def _turned(text: str) -> str:
    return "\n".join(reversed(text.strip().split("\n"))) + "\n"


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("gpo_adj", _turned(SENTENCES["gpo_adj"]), "line 2 must have 个 for a classifier"),
        ("gps_sub", _turned(SENTENCES["gps_sub"]), "line 2 must have 个 for a classifier"),
        ("mobj_subh", _turned(SENTENCES["mobj_subh"]), "line 1 must be line 2 without its object"),
        ("sd_none", _turned(SENTENCES["sd_none"]), "line 2 must be the subordinate clause"),
        ("cls_none", SENTENCES["vo_obj"] * 2, "must differ in the classifier only|one classifier"),
        ("cls_none", SENTENCES["gpo_adj"] * 2, "must have one classifier"),
        ("vo_obj", SENTENCES["mobj_subh"], "the lines must differ in the verb only"),
        ("vo_obj", SENTENCES["cls_none"], "the lines differ in a classifier, not in the verb"),
        ("gps_sub", SENTENCES["gpo_adj"], "the relative clause must modify the subject"),
        ("gpo_adj", SENTENCES["gps_sub"], "the lines must end in a verb, 的, a noun"),
        ("sd_none", "a b 。\n\nc d 。\ne f 。\n", "3 sentences cannot be divided into items of 2"),
        ("sd_none", "a\nb\n", "fewer than three words"),
    ],
)
def test_items_of_other_layouts_are_refused(
    tmp_path: Path, key: str, text: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        load_mandarin([_folder(tmp_path, **{key: text})])


def test_exchanged_classifiers_are_found_by_sister_suites(tmp_path: Path) -> None:
    first, second, third, fourth = SENTENCES["cls_none"].strip().split("\n")
    swapped = "\n".join((second, first, fourth, third)) + "\n"
    own = SENTENCES["cls_none"]
    load_mandarin([_folder(tmp_path / "a", cls_adj=own, cls_obj=own)])
    # Alone, the lines of the item say nothing about which classifier is right.
    load_mandarin([_folder(tmp_path / "b", cls_none=swapped)])
    with pytest.raises(InputError, match="item 1: 只 is right and 本 wrong, which is the other"):
        load_mandarin([_folder(tmp_path / "c", cls_adj=swapped, cls_obj=own)])
    with pytest.raises(InputError, match=r"item 1: .* the other way round"):
        load_mandarin([_folder(tmp_path / "d", cls_adj=swapped)])


def test_mistakes_in_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no Mandarin suite"):
        load_mandarin([tmp_path])
    one, other = _folder(tmp_path / "a"), _folder(tmp_path / "b")
    with pytest.raises(InputError, match="is the same suite"):
        load_mandarin([one, other])
    path = tmp_path / "none.txt"
    path.write_text("那 家 大 新 店 。\n那 个 大 新 店 。\n", encoding="utf-8")
    garden_path = next(layout for layout in LAYOUTS if layout.key == "gps")
    with pytest.raises(InputError, match=r":1: the sentence has no critical region"):
        read_mandarin_suite(path, garden_path, "none")


def _surprisals(root: Path, lines: str, name: str = "lstm_outputs/trial3") -> Path:
    rows = ["sentence_id\ttoken_id\ttoken\tsurprisal"]
    for sentence, line in enumerate(lines.strip().split("\n"), start=1):
        tokens = [*line.split(), "</s>"]
        rows += [f"{sentence}\t{n}\t{token}\t{n}.5" for n, token in enumerate(tokens, start=1)]
    path = root / name / "surprisals_sd_none.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return root


def test_a_run_is_read_in_the_order_of_lines(tmp_path: Path) -> None:
    materials = [_folder(tmp_path / "suites")]
    given = _surprisals(tmp_path / "x", SENTENCES["sd_none"].replace("下雨", "<unk>"))
    _surprisals(given, SENTENCES["sd_none"], "hybrid1_outputs_trans/trial0")
    imported = import_mandarin(materials, [SurprisalSet(given)], PairingRules())
    by_model = {run.name.model: run for run in imported.runs}
    assert by_model["lstm"].rows == ((1.5, 2.5, 3.5, 4.5, 5.5, 6.5), (1.5, 2.5, 3.5))
    assert by_model["lstm"].unknown == {"下雨"}
    assert (by_model["lstm"].name.corpus, by_model["lstm"].name.seed) == ("ctb", 1)
    assert by_model["transformer"].name.corpus == "xinhua"
    assert any("no surprisals of" in note and "and 2 more" in note for note in imported.notes)
    named = [SurprisalSet(given, "own")]
    assert {run.name.corpus for run in import_mandarin(materials, named, PairingRules()).runs} == {
        "own"
    }


def test_folders_of_other_names_are_models(tmp_path: Path) -> None:
    materials = [_folder(tmp_path / "suites")]
    given = _surprisals(tmp_path / "x", SENTENCES["sd_none"], "mine/gpt/seed7")
    (run,) = import_mandarin(materials, [SurprisalSet(given)], PairingRules()).runs
    assert (run.name.run, run.name.model, run.name.corpus) == ("mine/gpt/seed7", "gpt", "")
    with pytest.raises(InputError, match="contains no surprisals for these suites"):
        import_mandarin(materials, [SurprisalSet(tmp_path / "suites")], PairingRules())
    with pytest.raises(InputError, match="is not a folder"):
        import_mandarin(materials, [SurprisalSet(tmp_path / "absent")], PairingRules())


def test_all_published_suites_load(reference_data: Path) -> None:
    found = load_mandarin([reference_data / "published" / "mandarin" / "suites"])
    assert len(found) == 24
    sizes = [len(one.suite.items) for one in found.values()]
    assert sum(sizes) == 4 * (30 + 31 + 31 + 31 + 30 + 30)
