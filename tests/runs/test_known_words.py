"""Input of which a model does not know most words is refused, with the share and a hint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.suite import Item
from gardenpath.runs.evaluation import evaluate
from gardenpath.runs.find import Runs
from gardenpath.runs.run import Run
from gardenpath.runs.text import UnknownWords, require_known, unknown_words
from gardenpath.settings.compose import load_settings
from tests import small_runs
from tests.runs.own_suite import agreement
from tests.toy_runs import run_of

ENGLISH = "the boys knew ."
MANDARIN = "男孩 知道 了 。"


def test_words_are_counted_and_the_first_are_named(folder: Path) -> None:
    run = run_of(folder, "ngram")
    found = unknown_words(run, [ENGLISH.split(), ["the", "wug", "wug", "zebras", "."]])
    assert (found.words, found.unknown) == (9, 3)
    assert found.listed == ("wug", "zebras")
    assert str(found) == f"{run.path}: 33% of 9 words are unknown (wug, zebras)"
    assert unknown_words(run, []).share == 0.0


def test_another_language_is_refused(folder: Path) -> None:
    run = run_of(folder, "ngram")
    message = r"ngram/seed1: 100% of 4 words are unknown \(男孩, .*task\.allow_unknown=true"
    with pytest.raises(GardenpathError, match=message):
        run.surprisal(MANDARIN)
    with pytest.raises(GardenpathError, match=r"allow_unknown=True"):
        Runs([run]).surprisal([MANDARIN])
    frame = run.surprisal(MANDARIN, allow_unknown=True)
    assert not frame["seen"][:-1].any() and frame.attrs["unknown"] == 1.0
    assert run.surprisal(ENGLISH).attrs["unknown"] == 0.0


def test_half_of_the_words_may_be_unknown(folder: Path) -> None:
    run = run_of(folder, "ngram")
    assert len(run.surprisal("the wug zib .", end=False)) == 4
    with pytest.raises(GardenpathError, match="60% of 5 words"):
        run.surprisal("the wug zib zab .")


def test_parses_are_refused_too(folder: Path) -> None:
    run = run_of(folder, "rnng")
    with pytest.raises(GardenpathError, match="100% of 4 words"):
        run.parse(MANDARIN)


def test_suites_of_unknown_words_are_refused(folder: Path) -> None:
    suite = agreement()
    run = run_of(folder, "ngram")
    assert evaluate(run, suite).items["unknown"].sum() > 0
    strange = replace(suite, items=tuple(map(_strange, suite.items)))
    with pytest.raises(GardenpathError, match="100% of"):
        evaluate(run, strange)
    assert len(evaluate(run, strange, allow_unknown=True).items) == 2


def _strange(item: Item) -> Item:
    """The same item in words that no run knows."""
    variants = [
        replace(one, regions=tuple(tuple(f"x{w}" for w in region) for region in one.regions))
        for one in item.variants
    ]
    return replace(item, variants=tuple(variants))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("THE BOYS KNEW .", "known in lower case"),
        ("the boys. boys, men,", "without the punctuation"),
        ("男孩知道了他的名字 男孩知道了她的名字", "long strings of Han characters"),
        ("wug zib zab", ""),
    ],
)
def test_hints(folder: Path, text: str, hint: str) -> None:
    found = unknown_words(run_of(folder, "ngram"), [text.split()])
    assert found.is_large
    assert (hint in found.hint) if hint else found.hint == ""


def test_capital_letters(tmp_path: Path) -> None:
    small_runs.write_corpus(tmp_path / "corpus")
    for path in (tmp_path / "corpus").iterdir():
        path.write_text(path.read_text(encoding="utf-8").title(), encoding="utf-8")
    run = small_runs.loaded(small_runs.run(tmp_path, "model=ngram"))
    assert "capital letter" in unknown_words(run, [["cat", "dog"]]).hint


def test_the_worst_of_several_runs_is_named() -> None:
    one = UnknownWords(run="a", words=10, unknown=6, listed=("x",))
    other = UnknownWords(run="b", words=10, unknown=9, listed=("x",))
    with pytest.raises(GardenpathError, match=r"^b: 90% .*and for 1 other run\)"):
        require_known([one, other], allow_unknown=False)
    require_known([one, other], allow_unknown=True)
    require_known([UnknownWords(run="c", words=10, unknown=5)], allow_unknown=False)


@pytest.fixture(scope="module")
def of_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pieces")
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=60")
    return small_runs.run(folder, "model=lstm", *small_runs.NEURAL, *pieces).path


def test_pieces_do_not_hide_another_language(of_pieces: Path) -> None:
    run = Run(of_pieces, device="cpu")
    own = unknown_words(run, [small_runs.WORDS])
    assert own.unknown == 0
    assert unknown_words(run, [MANDARIN.split()]).share == 1.0
    # Letters of the corpus in words that it does not have: spelled out letter by letter.
    spelled = unknown_words(run, [["tghl", "ohlt", "cat", "dlog", "rthe"]])
    assert spelled.listed == ("tghl", "ohlt")
    with pytest.raises(GardenpathError, match="100% of 4 words"):
        run.surprisal(MANDARIN)


def test_another_corpus_is_refused(folder: Path, tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text("wug zib zab\n", encoding="utf-8")
    data = load_settings("train", ["data=text", f"data.root={tmp_path}"]).data
    run = run_of(folder, "ngram")
    with pytest.raises(GardenpathError, match="100% of 3 words"):
        run.perplexity(data=data)
    assert len(run.perplexity(data=data, allow_unknown=True)) == 1
