"""ARPA files: what others wrote is read as they meant it, what is written reads the same."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import InputError
from gardenpath.models.ngram.arpa import read_arpa, write_arpa
from gardenpath.models.ngram.ngram import NgramModel, train_ngram, train_unigram
from tests.models.samples import make_split, make_vocabulary, random_sentences

# As SRILM writes it: -99 for the begin symbol, backoffs only where something follows.
SRILM = """
\\data\\
ngram 1=5
ngram 2=3
ngram 3=2

\\1-grams:
-0.7\t</s>
-99\t<s>\t-0.5
-1.0\t<unk>
-0.8\tcat\t-0.2
-0.6\tthe\t-0.3

\\2-grams:
-0.2\t<s> the\t-0.1
-0.3\tcat </s>
-0.4\tthe cat\t-0.15

\\3-grams:
-0.1\t<s> the cat
-0.05\tthe cat </s>

\\end\\
"""


def _write(folder: Path, text: str) -> Path:
    path = folder / "model.arpa"
    path.write_text(text, encoding="utf-8")
    return path


def _log10(model: NgramModel, vocabulary: Vocabulary, sentence: str) -> list[float]:
    ids = np.array(vocabulary.encode(sentence.split()), dtype=np.int64)
    scores: list[float] = (model.score([ids])[0] / math.log(10)).tolist()
    return scores


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        # Every trigram is listed.
        ("the cat", [-0.2, -0.1, -0.05]),
        # p(cat | <s>) = b(<s>) p(cat); p(the | <s> cat) = b(cat) p(the), '<s> cat' not listed;
        # p(</s> | cat the) = b(the) p(</s>).
        ("cat the", [-0.5 - 0.8, -0.2 - 0.6, -0.3 - 0.7]),
        # p(cat | <s> cat) = b(cat) p(cat); p(</s> | cat cat) = p(</s> | cat).
        ("cat cat", [-0.5 - 0.8, -0.2 - 0.8, -0.3]),
        # p(<unk> | <s> the) = b(<s> the) b(the) p(<unk>); <unk> has no backoff weight.
        ("the dog", [-0.2, -0.1 - 0.3 - 1.0, -0.7]),
        # p(the | the cat) = b(the cat) b(cat) p(the).
        ("the cat the", [-0.2, -0.1, -0.15 - 0.2 - 0.6, -0.3 - 0.7]),
    ],
)
def test_scores_by_hand(tmp_path: Path, sentence: str, expected: list[float]) -> None:
    model, vocabulary = read_arpa(_write(tmp_path, SRILM))
    assert _log10(model, vocabulary, sentence) == pytest.approx(expected, rel=1e-12)


def test_vocabulary_is_that_of_the_file(tmp_path: Path) -> None:
    model, vocabulary = read_arpa(_write(tmp_path, SRILM), language="zh")
    assert vocabulary.tokens == ("<pad>", "<s>", "</s>", "<unk>", "cat", "the")
    assert vocabulary.language == "zh"
    assert (model.order, model.vocabulary_size) == (3, 6)


def test_blanks_instead_of_tabs_are_read(tmp_path: Path) -> None:
    model, vocabulary = read_arpa(_write(tmp_path, SRILM.replace("\t", " ")))
    assert _log10(model, vocabulary, "the cat") == pytest.approx([-0.2, -0.1, -0.05])


@pytest.mark.parametrize("order", [1, 2, 4])
def test_write_and_read_give_the_same_scores(tmp_path: Path, order: int) -> None:
    vocabulary = make_vocabulary("the", "cat", "sees", "狗", "<unk-caps>")
    sentences = random_sentences(order, count=40, vocabulary_size=len(vocabulary))
    model = train_ngram(make_split(sentences), vocabulary_size=len(vocabulary), order=order)
    write_arpa(tmp_path / "m.arpa", model, vocabulary)
    loaded, loaded_vocabulary = read_arpa(tmp_path / "m.arpa")
    assert loaded_vocabulary.tokens == vocabulary.tokens
    unseen = [np.array(s) for s in random_sentences(50, count=20, vocabulary_size=len(vocabulary))]
    for before, after in zip(model.score(unseen), loaded.score(unseen), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-7)


def test_unigram_is_written_without_backoff_weights(tmp_path: Path) -> None:
    vocabulary = make_vocabulary("a")
    model = train_unigram(make_split([[4]]), vocabulary_size=len(vocabulary))
    write_arpa(tmp_path / "m.arpa", model, vocabulary)
    lines = (tmp_path / "m.arpa").read_text(encoding="utf-8").splitlines()
    # Two ends or words seen once, one unknown: 2/5, 1/5 and 2/5; padding is not listed.
    assert lines[:4] == ["\\data\\", "ngram 1=4", "", "\\1-grams:"]
    assert [line.split("\t") for line in lines[4:8]] == [
        ["-99", "<s>"],
        [f"{math.log10(2 / 5):.9g}", "</s>"],
        [f"{math.log10(1 / 5):.9g}", "<unk>"],
        [f"{math.log10(2 / 5):.9g}", "a"],
    ]


def _line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)


@pytest.mark.parametrize(
    "bad", ["-0.4\tthe", "minus\tthe cat", "-0.4\tthe cat\tx", "-0.4\tthe cat the cat\t-1"]
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str) -> None:
    text = SRILM.replace("-0.4\tthe cat\t-0.15", bad)
    with pytest.raises(InputError, match="order 2") as caught:
        read_arpa(_write(tmp_path, text))
    assert caught.value.line == _line_of(text, bad)
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not an ARPA file\n",
        SRILM.replace("\\end\\\n", ""),
        SRILM[: SRILM.index("\\3-grams:")],
        SRILM.replace("-0.05\tthe cat </s>\n", ""),
        SRILM.replace("ngram 2=3", "ngram 2=4"),
    ],
)
def test_an_incomplete_file_is_refused(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(InputError, match="not a complete ARPA file") as caught:
        read_arpa(path)
    assert caught.value.path == str(path)


def test_a_context_that_is_not_listed_is_named(tmp_path: Path) -> None:
    text = SRILM.replace("-0.1\t<s> the cat", "-0.1\tcat the cat")
    with pytest.raises(InputError, match="context of 'cat the cat'"):
        read_arpa(_write(tmp_path, text))


def test_a_word_without_a_unigram_is_named(tmp_path: Path) -> None:
    text = SRILM.replace("-0.3\tcat </s>", "-0.3\tcat dog")
    with pytest.raises(InputError, match="'dog'"):
        read_arpa(_write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.arpa"):
        read_arpa(tmp_path / "absent.arpa")
