"""Corpora in three files: trees in brackets, and plain text."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.pcfg.grammar import Grammar, Sampler, read_grammar
from gardenpath.data.readers.files import BracketFiles, TextFiles, ToyTreebank
from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.errors import InputError, MissingCorpusError, TreeError
from gardenpath.settings.compose import load_settings
from gardenpath.settings.train import TrainSettings
from tests.data.pcfg_tools import (
    SHIPPED,
    SlowModel,
    assert_one_tree_each,
    expected_length,
    expected_word_counts,
)

WITH_POS = "(S (NP (DT the) (JJ hungry) (NN cat)) (VP (VBZ meows)))\n(NP (NN cat))\n"
WITHOUT_POS = "(S (NP the hungry cat) (VP meows))\n(NP cat)\n"
LINEARISED = "(S (NP the hungry cat ) (VP meows ) )\n(NP cat )\n"


def write_splits(folder: Path, text: str) -> None:
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("text", [WITH_POS, WITHOUT_POS, LINEARISED])
def test_three_forms_of_one_corpus(tmp_path: Path, text: str) -> None:
    write_splits(tmp_path, text)
    sentences = list(Cleaning().apply(BracketFiles(root=str(tmp_path)).read("train")))
    assert [str(s.tree) for s in sentences] == ["(S (NP the hungry cat) (VP meows))", "(NP cat)"]
    assert [s.words for s in sentences] == [("the", "hungry", "cat", "meows"), ("cat",)]
    assert [str(s.source) for s in sentences] == ["train.txt:1", "train.txt:2"]


def test_names_and_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_bytes("(NN 中文)".encode("gb18030"))
    reader = BracketFiles(root=str(tmp_path), valid="a.mrg", encoding="gb18030")
    (sentence,) = reader.read("valid")
    assert (sentence.words, str(sentence.source)) == (("中文",), "a.mrg:1")


def test_text(tmp_path: Path) -> None:
    write_splits(tmp_path, "the hungry  cat\n\n \n猫 叫 。\n")
    sentences = list(TextFiles(root=str(tmp_path)).read("test"))
    assert [s.words for s in sentences] == [("the", "hungry", "cat"), ("猫", "叫", "。")]
    assert [str(s.source) for s in sentences] == ["test.txt:1", "test.txt:4"]
    assert all(s.tree is None for s in sentences)
    assert (TextFiles.has_trees, BracketFiles.has_trees) == (False, True)


def test_mistakes_name_file_and_line(tmp_path: Path) -> None:
    write_splits(tmp_path, "(NP cat)\ncat\n")
    with pytest.raises(TreeError) as caught:
        list(BracketFiles(root=str(tmp_path)).read("valid"))
    assert str(caught.value).startswith(f"{tmp_path / 'valid.txt'}:2: the leaf 'cat'")
    (tmp_path / "train.txt").write_bytes(b"cat\n\xff\n")
    with pytest.raises(InputError) as not_text:
        list(TextFiles(root=str(tmp_path)).read("train"))
    assert str(not_text.value).startswith(f"{tmp_path / 'train.txt'}:2: is not UTF-8")


@pytest.mark.parametrize("kind", [BracketFiles, TextFiles])
def test_fingerprint(tmp_path: Path, kind: type[BracketFiles | TextFiles]) -> None:
    write_splits(tmp_path, WITH_POS)
    before = kind(root=str(tmp_path)).fingerprint()
    assert kind(root=str(tmp_path)).fingerprint() == before
    assert kind(root=str(tmp_path), encoding="latin-1").fingerprint() != before
    assert kind(root=str(tmp_path), test="valid.txt").fingerprint() != before
    (tmp_path / "test.txt").write_text("(NP dog)\n")
    assert kind(root=str(tmp_path)).fingerprint() != before


def test_an_end_symbol_is_not_a_word(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the cat <eos>\n<eos>\na <eos> dog\n")
    plain, ended = TextFiles(root=str(tmp_path)), TextFiles(root=str(tmp_path), end="<eos>")
    words = [one.words for one in ended.read("train")]
    assert words == [("the", "cat"), ("a", "<eos>", "dog")]
    assert [len(one.words) for one in plain.read("train")] == [3, 1, 3]
    assert plain.fingerprint(["train"]) != ended.fingerprint(["train"])


def test_a_split_may_be_many_files(tmp_path: Path) -> None:
    for name, text in (
        ("b/cf01", "(S (NN b1))"),
        ("a/cf02", "(S (NN a2))"),
        ("a/cf09", "(S (NN v))"),
    ):
        path = tmp_path / f"{name}.mrg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n")

    def reader(train: str, valid: str) -> BracketFiles:
        return BracketFiles(root=str(tmp_path), train=train, valid=valid)

    found = list(reader("c*[1-8].mrg", "c*9.mrg").read("train"))
    assert [one.words for one in found] == [("a2",), ("b1",)]
    assert [str(one.source) for one in found] == ["a/cf02.mrg:1", "b/cf01.mrg:1"]
    keys = {
        reader(*patterns).fingerprint(["train", "valid"])
        for patterns in (
            ("c*[1-8].mrg", "c*9.mrg"),
            ("c*2.mrg", "c*[19].mrg"),
            ("c*.mrg", "c*9.mrg"),
        )
    }
    assert len(keys) == 3
    with pytest.raises(MissingCorpusError):
        list(reader("x*.mrg", "c*9.mrg").read("train"))


def test_only_the_splits_in_use_need_exist(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a b\n")
    reader = TextFiles(root=str(tmp_path))
    assert reader.fingerprint(["train"]) == TextFiles(root=str(tmp_path)).fingerprint(["train"])
    with pytest.raises(MissingCorpusError):
        reader.fingerprint()


@pytest.mark.parametrize(
    ("kind", "title"), [(BracketFiles, "bracketed trees"), (TextFiles, "plain text")]
)
def test_missing(tmp_path: Path, kind: type[BracketFiles | TextFiles], title: str) -> None:
    write_splits(tmp_path, WITH_POS)
    (tmp_path / "valid.txt").unlink()
    with pytest.raises(MissingCorpusError) as caught:
        list(kind(root=str(tmp_path)).read("valid"))
    message = str(caught.value)
    for part in (title, "valid split", "valid.txt", "own data", "data.root=", "toy_english"):
        assert part in message
    with pytest.raises(MissingCorpusError):
        kind(root=str(tmp_path)).fingerprint()


def test_parsed_novel(reference_data: Path) -> None:
    reader = BracketFiles(root=str(reference_data / "corpora" / "dickens"))
    sentences = list(reader.read("train"))
    assert len(sentences) == 6_904
    assert sentences[0].words[:6] == ("It", "was", "the", "best", "of", "times")
    assert str(sentences[0].source) == "train.txt:1"
    assert str(sentences[-1].source) == "train.txt:6904"


# ----------------------------------------------------------------------------
# Toy treebanks: deterministic, of the size asked for, each split by itself.


LANGUAGES = pytest.mark.parametrize("grammar", ["english", "mandarin"])


def read(grammar: str, split: str, **settings: Any) -> list[Sentence]:
    chosen = {"train": 60, "valid": 30, "test": 20, **settings}
    return list(ToyTreebank(grammar=grammar, **chosen).read(split))


@LANGUAGES
def test_sizes_and_sources(grammar: str) -> None:
    assert [len(read(grammar, split)) for split in SPLITS] == [60, 30, 20]
    sources = [str(sentence.source) for sentence in read(grammar, "valid")]
    assert sources == [f"{grammar}-valid:{number}" for number in range(1, 31)]


@LANGUAGES
def test_default_sizes(grammar: str) -> None:
    reader = ToyTreebank(grammar=grammar)
    assert [sum(1 for _ in reader.read(split)) for split in SPLITS] == [8000, 500, 500]


@LANGUAGES
def test_same_seed_same_corpus(grammar: str) -> None:
    for split in SPLITS:
        assert read(grammar, split, seed=3) == read(grammar, split, seed=3)
        assert read(grammar, split, seed=3) != read(grammar, split, seed=4)


def test_corpus_is_the_same_everywhere() -> None:
    """Published results depend on it: the first sentences for seed 0."""
    first = [" ".join(read(grammar, "train")[0].words) for grammar in ("english", "mandarin")]
    assert first == [
        "it was the boats that these librarians steered suddenly .",
        "如果 毕业 的 老板 围住 认真 的 记者 ， "
        "张伟 应该 拜访 这 位 批评 过 警察 认识 的 工人 的 老人 。",
    ]


@LANGUAGES
def test_resizing_one_split_leaves_the_others(grammar: str) -> None:
    larger = {"train": 100}
    assert read(grammar, "train", **larger)[:60] == read(grammar, "train")
    for split in ("valid", "test"):
        assert read(grammar, split, **larger) == read(grammar, split)


@LANGUAGES
def test_splits_differ_whatever_the_seed(grammar: str) -> None:
    beginnings = {
        tuple(sentence.words for sentence in read(grammar, split, seed=seed)[:10])
        for split in SPLITS
        for seed in range(4)
    }
    assert len(beginnings) == 12


@LANGUAGES
def test_words_are_those_of_the_tree(grammar: str) -> None:
    known = set(ToyTreebank(grammar=grammar).rules.words)
    for sentence in read(grammar, "train"):
        assert sentence.tree is not None
        assert sentence.words == sentence.tree.words()
        assert set(sentence.words) <= known


def test_grammar_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "cats.pcfg"
    path.write_text("%start S\nS -> N V\nN : cats\nV : meow\n")
    (sentence,) = read(str(path), "test", test=1)
    assert (str(sentence.tree), str(sentence.source)) == ("(S (N cats) (V meow))", "cats-test:1")


def test_fingerprint_toy(tmp_path: Path) -> None:
    before = ToyTreebank(grammar="english").fingerprint()
    assert ToyTreebank(grammar="english").fingerprint() == before
    assert ToyTreebank(grammar="english", seed=1).fingerprint() != before
    assert ToyTreebank(grammar="english", valid=400).fingerprint() != before
    assert ToyTreebank(grammar="mandarin").fingerprint() != before


def test_missing_grammar() -> None:
    reader = ToyTreebank(grammar="klingon")
    with pytest.raises(InputError, match=r"klingon: cannot be opened.*english, mandarin"):
        reader.fingerprint()
    with pytest.raises(InputError, match="klingon: cannot be opened"):
        list(reader.read("train"))


# ----------------------------------------------------------------------------
# The demo's English: small, unambiguous, with the dependencies that its suites ask about.


# A star stands before the critical word: what is good there, and what is not.
CRITICAL_WORDS = [
    ("the king hurt * himself .", "herself"),
    ("the women near the king hurt * themselves .", "himself"),
    ("the queen that the men blamed praised * herself .", "themselves"),
    ("the king that the man hurt praised * himself .", "themselves"),
    ("i know what the man found * yesterday .", "the"),
    ("we remember that the man found * the coin yesterday .", "."),
    ("while the man hunted the deer * ran .", "."),
    ("when the man hunted * , the deer ran .", "."),
    ("the horse that was raced past the barn * fell .", "."),
]
# Beginnings that mislead, and the same with a cue.
GARDEN_PATHS = [
    ("while the man hunted the deer ran", "while the man hunted , the deer ran"),
    ("when the women followed the fox fell", "when the women followed , the fox fell"),
    ("the horse raced past the barn fell", "the horse that was raced past the barn fell"),
    ("the dog walked through the garden ran", "the dog that was walked through the garden ran"),
]


@cache
def grammar() -> Grammar:
    return read_grammar(SHIPPED / "demo_english.pcfg")


@cache
def model() -> ExactModel:
    return ExactModel(grammar())


def surprisal_of_last(prefix: str) -> float:
    words = prefix.split()
    return float(model().surprisal_bits([words])[0][len(words) - 1])


def test_the_grammar_is_small() -> None:
    assert len(grammar().words) < 70
    assert len(grammar().categories) < 80
    assert 6 < expected_length(grammar()) < 10


def test_every_sentence_has_one_tree() -> None:
    assert_one_tree_each(grammar(), model(), seed=3, count=500)


def test_sentences_end_in_a_period_and_are_short() -> None:
    sampler = Sampler(grammar(), seed=4)
    trees = [sampler.draw() for _ in range(2000)]
    assert all(tree.label == "S" and tree.words()[-1] == "." for tree in trees)
    assert not any(label.startswith("_") for tree in trees for label in tree.labels())
    assert np.quantile([len(tree.words()) for tree in trees], 0.99) < 20


def test_every_word_is_learned_from_many_sentences() -> None:
    assert min(expected_word_counts(grammar()).values()) * 10_000 >= 100


@pytest.mark.parametrize(("marked", "bad_word"), CRITICAL_WORDS)
def test_critical_word(marked: str, bad_word: str) -> None:
    before, after = (part.split() for part in marked.split("*"))
    of_good, of_bad = model().surprisal_bits([[*before, *after], [*before, bad_word, *after[1:]]])
    assert {bad_word, *before, *after} <= set(grammar().words)
    assert np.isfinite(of_good).all() and np.isfinite(of_bad[: len(before)]).all()
    assert of_bad[len(before)] == math.inf


@pytest.mark.parametrize(("ambiguous", "clear"), GARDEN_PATHS)
def test_garden_paths_cost_three_to_six_bits(ambiguous: str, clear: str) -> None:
    assert 3.0 <= surprisal_of_last(ambiguous) - surprisal_of_last(clear) <= 6.5


@pytest.mark.parametrize("sentence", [one for pair in GARDEN_PATHS for one in pair])
def test_garden_paths_against_the_slow_model(sentence: str) -> None:
    words = sentence.split()
    slow = SlowModel(grammar(), words).prefix / SlowModel(grammar(), words[:-1]).prefix
    assert surprisal_of_last(sentence) == pytest.approx(-math.log2(slow), abs=1e-6)


def test_the_corpus_is_a_choice_of_its_own() -> None:
    settings: TrainSettings = load_settings("train", ["data=demo_english", "model=lstm"])
    assert settings.run_dir == "runs/demo_english/lstm/seed1"
    reader = settings.data.reader
    assert isinstance(reader, ToyTreebank)
    assert reader.path.samefile(SHIPPED / "demo_english.pcfg")
