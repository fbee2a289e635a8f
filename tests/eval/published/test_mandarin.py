"""The published Mandarin suites and the tables that belong to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.mandarin import (
    LAYOUTS,
    load_mandarin,
    read_mandarin_run,
    read_mandarin_suite,
)
from gardenpath.eval.suites.design.suite import Suite

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


def _folder(root: Path) -> Path:
    for key, text in SENTENCES.items():
        path = root / key.split("_")[0] / f"{key}_txt.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def _targets(suite: Suite) -> list[tuple[str, ...]]:
    return [variant.regions[1] for variant in suite.items[0].variants]


def test_classes_modifiers_and_targets(tmp_path: Path) -> None:
    suites = load_mandarin(_folder(tmp_path))
    assert {key: (suite.kind, suite.modifier) for key, suite in suites.items()} == {
        "cls_none": ("classifier_noun", "none"),
        "gpo_adj": ("garden_path_object", "adjective"),
        "gps_sub": ("garden_path_subject", "subject_rc"),
        "vo_obj": ("verb_noun", "object_rc"),
        "mobj_subh": ("missing_object", "embedded_rc"),
        "sd_none": ("subordination", "none"),
    }
    assert _targets(suites["cls_none"])[1:3] == [("词典", "。"), ("鸭子", "。")]
    assert _targets(suites["gpo_adj"]) == [("借",)] * 2
    assert _targets(suites["vo_obj"]) == [("词典", "。")] * 2
    assert _targets(suites["mobj_subh"]) == [("。",)] * 2
    last_de = suites["gps_sub"].items[0].variants[0].regions
    assert last_de[1] == ("的",) and last_de[2] == ("词典", "丢", "了", "。")


def test_predictions_are_the_comparisons_of_the_study(tmp_path: Path) -> None:
    suites = load_mandarin(_folder(tmp_path))
    assert [str(one.formula) for one in suites["cls_none"].predictions] == [
        "(target;%mismatch_a%) > (target;%match_a%)",
        "(target;%mismatch_b%) > (target;%match_b%)",
        "(target;%mismatch_b%) > (target;%match_a%)",
        "(target;%mismatch_a%) > (target;%match_b%)",
    ]
    assert [one.name for one in suites["mobj_subh"].predictions] == ["missing>present"]
    assert [one.name for one in suites["sd_none"].predictions] == ["without_main>with_main"]
    assert [one.name for one in suites["gps_sub"].predictions] == ["general>specific"]


def test_mistakes_in_suites_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no Mandarin suite"):
        load_mandarin(tmp_path)
    path = tmp_path / "sd_none.txt"
    path.write_text("a b 。\n\nc d 。\ne 。\n", encoding="utf-8")
    with pytest.raises(InputError, match="3 sentences cannot be divided into items of 2"):
        load_mandarin(tmp_path)
    path.write_text("那 家 店 。\n那 个 店 。\n", encoding="utf-8")
    garden_path = next(layout for layout in LAYOUTS if layout.key == "gps")
    with pytest.raises(InputError, match=r":1: the sentence has no critical region"):
        read_mandarin_suite(path, garden_path, "none")


def test_a_run_is_read_in_the_order_of_lines(tmp_path: Path) -> None:
    suite = load_mandarin(_folder(tmp_path))["sd_none"]
    rows = ["sentence_id\ttoken_id\ttoken\tsurprisal"]
    for sentence, line in enumerate(SENTENCES["sd_none"].splitlines(), start=1):
        tokens = [*line.replace("下雨", "<unk>").split(), "</s>"]
        rows += [f"{sentence}\t{n}\t{token}\t{n}.5" for n, token in enumerate(tokens, start=1)]
    path = tmp_path / "surprisals_sd_none.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    run = read_mandarin_run(path, suite)
    assert run.rows == ((1.5, 2.5, 3.5, 4.5, 5.5, 6.5), (1.5, 2.5, 3.5))
    assert run.unknown == {"下雨"} and run.reworded == 0
    path.write_text("\n".join(rows[:8]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="1 sentences, but suite mandarin/subordination/none"):
        read_mandarin_run(path, suite)


def test_all_published_suites_load(reference_data: Path) -> None:
    suites = load_mandarin(reference_data / "published" / "mandarin" / "suites")
    assert len(suites) == 24
    assert sum(len(suite.items) for suite in suites.values()) == 4 * (30 + 31 + 31 + 31 + 30 + 30)
