"""Corpora of several sources: the right splits of the right parts, each cleaned in its own way."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gardenpath.data.corpus import CombinedCorpus, CorpusPart, DataSettings
from gardenpath.data.readers.treebanks import BracketFiles, TextFiles
from gardenpath.data.sentence import SPLITS
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.errors import ConfigError, MissingCorpusError
from gardenpath.settings.compose import load_settings

# A treebank with parts of speech, traces and function tags, and parsed text without any.
GOLD = {
    "train": "(S (NP-SBJ (DT the) (NN cat)) (VP (VBD saw) (NP (-NONE- *T*))))\n",
    "valid": "(S (NP-SBJ (DT the) (NN dog)) (VP (VBD slept)))\n",
    "test": "(S (NP-SBJ (DT a) (NN dog)) (VP (VBD slept) (ADVP (RB very) (RB long))))\n",
}
PARSED = "(S (NP old cats) (VP saw (NP the dog)))\n(S (NP the cat) (VP slept))\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("gold", "parsed"):
        (tmp_path / name).mkdir()
    for split, text in GOLD.items():
        (tmp_path / "gold" / f"{split}.txt").write_text(text)
    (tmp_path / "parsed" / "train.txt").write_text(PARSED)
    return tmp_path


def _part(folder: Path, name: str, **settings: Any) -> CorpusPart:
    reader = BracketFiles(root=str(folder / name))
    return CorpusPart(name=name, language="en", reader=reader, **settings)


def _combined(folder: Path, **changes: Any) -> DataSettings:
    reader = CombinedCorpus(
        parts={"gold": _part(folder, "gold"), "parsed": _part(folder, "parsed")},
        valid=["gold"],
        test=["gold"],
    )
    return DataSettings(name="both", language="en", reader=replace(reader, **changes), min_count=1)


def _words(data: DataSettings, split: str) -> list[str]:
    return [" ".join(one.words) for one in data.preparation().sentences(split)]


def test_each_split_has_its_parts_in_order(folder: Path) -> None:
    data = _combined(folder)
    assert _words(data, "train") == ["the cat saw", "old cats saw the dog", "the cat slept"]
    assert _words(data, "valid") == ["the dog slept"]
    assert _words(data, "test") == ["a dog slept very long"]
    sources = [str(one.source) for one in data.preparation().sentences("train")]
    assert sources == ["gold/train.txt:1", "parsed/train.txt:1", "parsed/train.txt:2"]
    raw = [one.words for one in data.reader.read("train")]
    assert raw[0] == ("the", "cat", "saw", "*T*")


def test_parts_of_speech_are_removed_where_there_are_any(folder: Path) -> None:
    trees = [one.tree for one in _combined(folder).preparation().sentences("train")]
    assert [list(tree.labels()) for tree in trees if tree is not None] == [
        ["S", "NP", "VP"],
        ["S", "NP", "VP", "NP"],
        ["S", "NP", "VP"],
    ]


def test_the_vocabulary_is_that_of_the_combined_training_split(folder: Path) -> None:
    corpus = _combined(folder).preparation().prepare(folder / "cache")
    known = corpus.vocabulary.knows
    assert all(map(known, ("cat", "old", "cats", "slept"))) and not known("long")
    assert [len(corpus.split(split)) for split in SPLITS] == [3, 1, 1]
    twice = replace(_combined(folder), min_count=2).preparation().prepare(folder / "cache")
    assert twice.vocabulary.knows("cat") and not twice.vocabulary.knows("old")


def test_long_sentences_are_left_out_of_training_only(folder: Path) -> None:
    parts = {
        "gold": _part(folder, "gold"),
        "parsed": _part(folder, "parsed", max_train_tokens=3),
    }
    data = _combined(folder, parts=parts)
    assert _words(data, "train") == ["the cat saw", "the cat slept"]
    everywhere = replace(_combined(folder), max_train_tokens=3)
    assert _words(everywhere, "train") == ["the cat saw", "the cat slept"]
    assert _words(everywhere, "test") == ["a dog slept very long"]
    cleaned = replace(_combined(folder), cleaning=Cleaning(max_tokens=3))
    assert _words(cleaned, "test") == []


def test_the_key_covers_all_parts(folder: Path) -> None:
    def key(data: DataSettings) -> str:
        return data.preparation().key()

    first = _combined(folder)
    gold, parsed = _part(folder, "gold"), _part(folder, "parsed")
    others = [
        _combined(folder, parts={"parsed": parsed, "gold": gold}),
        _combined(folder, parts={"gold": gold}),
        _combined(folder, parts={"gold": gold, "parsed": replace(parsed, max_train_tokens=3)}),
        replace(first, max_train_tokens=4),
        replace(first, min_count=2),
    ]
    keys = {key(first), *(key(one) for one in others)}
    assert len(keys) == 6 and key(_combined(folder)) == key(first)
    # The same sentences in the same splits.
    assert key(_combined(folder, train=["gold"])) == key(_combined(folder, parts={"gold": gold}))
    for name in ("gold", "parsed"):
        path = folder / name / "train.txt"
        path.write_text(path.read_text() + "(S (NP cats) (VP saw (NP dogs)))\n")
        assert key(first) not in keys
        keys.add(key(first))


def test_a_missing_part_is_named_with_its_setting(folder: Path) -> None:
    (folder / "parsed" / "train.txt").unlink()
    for use in (
        lambda: _combined(folder).preparation().key(),
        lambda: _words(_combined(folder), "train"),
    ):
        with pytest.raises(MissingCorpusError, match=r"data\.parts\.parsed\.root"):
            use()


def test_a_part_of_text_makes_a_corpus_without_trees(folder: Path) -> None:
    text = CorpusPart(name="t", language="en", reader=TextFiles(root=str(folder / "parsed")))
    assert _combined(folder).reader.has_trees
    assert not _combined(folder, parts={"gold": _part(folder, "gold"), "t": text}).reader.has_trees


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (["data=combined"], "name the parts"),
        (["data.parts=[toy_english,toy_mandarin]"], "language of toy_mandarin is zh, not en"),
        (
            ["data.parts=[toy_english,ptb_sample]", "data.reader.test=[ptb]"],
            "test names 'ptb', which is not a part; valid: toy_english, ptb_sample",
        ),
        (["data.parts=[toy_english,ptb_sample]", "data.reader.valid=[]"], "valid needs at least"),
        (
            ["data.parts=[toy_english]", "data.parts.toy_english.min_count=3"],
            "min_count has no effect in a part; set data.min_count",
        ),
        (
            ["data.parts=[toy_english]", "data.parts.toy_english.cleaning.keep_pos=true"],
            "cleaning.keep_pos differs in toy_english",
        ),
        (["data.parts=[toy_english,tpb]"], "unknown data 'tpb'; did you mean 'ptb'?"),
        (["data.parts=[text]", "model=rnng"], "learns from trees"),
        (["data.parts=[toy_english]", "data.root=/there"], "root has no effect on a combined"),
    ],
)
def test_mistakes(arguments: list[str], mistake: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings("train", ["data=combined", *arguments])
    assert any(mistake in one for one in caught.value.mistakes), caught.value.mistakes


def test_any_corpora_are_combined_on_the_command_line() -> None:
    settings = load_settings(
        "train",
        ["data=combined", "data.parts=[toy_english,ptb_sample]", "data.reader.test=[ptb_sample]",
         "data.parts.toy_english.reader.train=70", "data.name=mine"],
    )  # fmt: skip
    reader = settings.data.reader
    assert list(reader.parts) == ["toy_english", "ptb_sample"] and reader.test == ("ptb_sample",)
    assert reader.parts["toy_english"].reader.train == 70
    assert settings.run_dir == "runs/mine/lstm/seed1"


def test_xinhua_is_added_to_the_treebank_in_training_only() -> None:
    data = load_settings("train", ["data=xinhua", "paths.corpora=/there"]).data
    reader = data.reader
    assert list(reader.parts) == ["ctb", "xinhua"]
    assert (reader.train, reader.valid, reader.test) == (None, ("ctb",), ("ctb",))
    assert (
        reader.parts["ctb"].reader
        == load_settings("train", ["data=ctb", "paths.corpora=/there"]).data.reader
    )
    assert reader.parts["xinhua"].reader.root == "/there/xinhua"
    assert (reader.parts["xinhua"].max_train_tokens, data.min_count) == (100, 2)


# ----------------------------------------------------------------------------
# What is only listed or described needs none of the slow libraries.


SLOW = ("torch", "scipy", "matplotlib")


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("gardenpath.tasks.materials", SLOW),
        ("gardenpath.eval.display", (*SLOW, "pandas", "numpy")),
        ("gardenpath.eval.report.content", SLOW),
        ("gardenpath.runs.results", ("torch", "matplotlib")),
        ("gardenpath.eval.report.content", ("torch", "matplotlib")),
        ("gardenpath.studies.layouts", SLOW),
        ("gardenpath.runs.suite_tables", ("torch", "matplotlib")),
    ],
)
def test_slow_libraries_are_not_imported(module: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys; import {module}; print(*(n for n in {unwanted!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
