"""ARPA files: what others wrote is read as they meant it, what is written reads the same."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from gardenpath.data.words.vocabulary import BEGIN_ID, Vocabulary
from gardenpath.errors import InputError
from gardenpath.models.ngram.arpa import read_arpa
from gardenpath.models.ngram.model import NgramModel, train_ngram, train_unigram
from gardenpath.util import NATS_PER_LOG10
from tests.models.ngram.oracles import next_log_probs, write_arpa
from tests.models.ngram.random_arpa import WORDS, RandomArpa, random_arpa, random_texts
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


FILES: dict[str, RandomArpa] = {
    "order 1": random_arpa(1, order=1),
    "order 3": random_arpa(2, order=3),
    "order 8": random_arpa(3, order=8, count=30),
    "capitals": random_arpa(4, order=4, unknown="<UNK>"),
    "closed": random_arpa(5, order=3, unknown=None),
    "pruned": random_arpa(6, order=5, pruned=0.4, count=40),
    "pruned, closed": random_arpa(7, order=4, unknown=None, pruned=0.8, count=40),
}


@pytest.mark.parametrize("name", FILES)
def test_scores_are_those_of_the_definition(name: str, tmp_path: Path) -> None:
    """Every word after every history, by looking up n-grams one by one."""
    arpa = FILES[name]
    model, vocabulary = read_arpa(_write(tmp_path, arpa.text))
    for words in random_texts(8):
        ids = np.array(vocabulary.encode(words), dtype=np.int64)
        found = model.score([ids])[0] / NATS_PER_LOG10
        seen = [word if (word,) in arpa.grams[0] else str(arpa.unknown) for word in words]
        text = ("<s>", *seen, "</s>")
        expected = [arpa.log10_prob(text[n], text[:n]) for n in range(1, len(text))]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["pruned", "pruned, closed"])
def test_pruned_files_lack_contexts(name: str) -> None:
    grams = FILES[name].grams
    assert {gram[:-1] for gram in grams[2]} - {*grams[1]}
    assert {gram[:-1] for gram in grams[3]} - {*grams[2]}


def test_probabilities_add_up_to_one_with_missing_contexts(tmp_path: Path) -> None:
    """A proper model, from which the bigram between a unigram and a trigram is pruned."""
    text = """
\\data\\
ngram 1=4
ngram 2=0
ngram 3=1

\\1-grams:
-99\t<s>
-0.30103\t</s>
-0.60206\tcat
-0.60206\t<unk>

\\2-grams:

\\3-grams:
-0.60206\tcat cat cat

\\end\\
"""
    model, vocabulary = read_arpa(_write(tmp_path, text))
    cat = vocabulary.ids["cat"]
    for context in ([], [cat], [cat, cat], [cat, cat, cat]):
        assert np.exp(next_log_probs(model, context)).sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("word", WORDS)
def test_words_may_contain_blanks_of_unicode(word: str, tmp_path: Path) -> None:
    """They do not end lines or words, and are not stripped."""
    assert FILES["order 3"].grams[0][word,]
    model, vocabulary = read_arpa(_write(tmp_path, FILES["order 3"].text))
    expected = FILES["order 3"].log10_prob(word, ("<s>",))
    (scores,) = model.score([np.array([vocabulary.ids[word]])])
    assert scores[0] / NATS_PER_LOG10 == pytest.approx(expected)


def test_words_may_end_with_a_blank_of_unicode(tmp_path: Path) -> None:
    text = FILES["order 3"].text.replace("狗", "\u3000狗\u00a0")
    assert "\u3000狗\u00a0" in read_arpa(_write(tmp_path, text))[1].ids


def test_the_unknown_word_in_capitals(tmp_path: Path) -> None:
    model, vocabulary = read_arpa(_write(tmp_path, SRILM.replace("<unk>", "<UNK>")))
    assert vocabulary.tokens == ("<pad>", "<s>", "</s>", "<unk>", "cat", "the")
    assert _log10(model, vocabulary, "the dog") == pytest.approx([-0.2, -0.1 - 0.3 - 1.0, -0.7])
    assert _log10(model, vocabulary, "the <UNK>") == _log10(model, vocabulary, "the dog")


@pytest.mark.parametrize(
    ("more", "order", "spelled"),
    [
        ("-2.0\t<UNK>\n", 1, "<unk>"),
        ("-2.0\tcat\n", 1, "cat"),
        ("-2.0\tthe cat\n", 2, "the cat"),
        ("-2.0\tthe  cat </s>\n", 3, "the cat </s>"),
    ],
)
def test_an_ngram_that_is_listed_twice_is_named(
    more: str, order: int, spelled: str, tmp_path: Path
) -> None:
    count = {1: 5, 2: 3, 3: 2}[order]
    text = SRILM.replace(f"ngram {order}={count}", f"ngram {order}={count + 1}")
    text = text.replace(f"\\{order}-grams:\n", f"\\{order}-grams:\n{more}")
    with pytest.raises(InputError, match=f"'{spelled}' is listed twice") as caught:
        read_arpa(_write(tmp_path, text))
    assert caught.value.line is not None and caught.value.line > _line_of(text, more.strip())


@pytest.mark.parametrize("zero", ["-99", "-99.0", "-inf", "-123.4"])
def test_the_symbol_of_zero_is_zero(zero: str, tmp_path: Path) -> None:
    text = SRILM.replace("-0.8\tcat\t-0.2", f"{zero}\tcat\t-0.2")
    model, vocabulary = read_arpa(_write(tmp_path, text))
    assert _log10(model, vocabulary, "cat")[0] == -math.inf
    # It is listed elsewhere, and its backoff weight is used.
    assert _log10(model, vocabulary, "the cat")[1] == pytest.approx(-0.1)
    assert _log10(model, vocabulary, "cat the")[1] == pytest.approx(-0.2 - 0.6)
    closed = SRILM.replace("-0.8\tcat\t-0.2", f"-0.8\tcat\t{zero}")
    model, vocabulary = read_arpa(_write(tmp_path, closed))
    assert _log10(model, vocabulary, "cat the")[1] == -math.inf


@pytest.mark.parametrize("begin", ["-99", "0", "-1.3"])
def test_the_begin_symbol_is_never_predicted(begin: str, tmp_path: Path) -> None:
    model, _ = read_arpa(_write(tmp_path, SRILM.replace("-99\t<s>", f"{begin}\t<s>")))
    assert next_log_probs(model, [])[BEGIN_ID] == -np.inf


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n\\data\\", "# made by hand\nngram 1=7\n\n\\data\\"),
        ("ngram 2=3", "ngram  2 =  3"),
        ("ngram 1=5\nngram 2=3", "ngram 2=3\nngram 1=5"),
        ("-0.7\t</s>", "-.7   </s>  "),
        ("-0.8\tcat", "-8e-1\tcat"),
        ("-0.1\t<s> the cat\n", "-0.1\t<s> the cat\t-0.3\n\n"),
        ("\n", "\r\n"),
        ("\\end\\\n", "\\end\\\nand more\n"),
    ],
)
def test_other_ways_to_write_the_same(before: str, after: str, tmp_path: Path) -> None:
    expected = read_arpa(_write(tmp_path, SRILM))
    (tmp_path / "other.arpa").write_bytes(SRILM.replace(before, after).encode())
    found = read_arpa(tmp_path / "other.arpa")
    assert found[1] == expected[1]
    for sentence in ("the cat", "cat the", "the dog", "the cat the"):
        assert _log10(*found, sentence) == pytest.approx(_log10(*expected, sentence), rel=1e-12)


@pytest.mark.parametrize(
    "bad", ["nan", "inf", "１", "-1_0", "-0.4\u00a0", "0x1", "", "-", "1e-", "5", "-1e2e3"]
)
def test_numbers_are_plain(bad: str, tmp_path: Path) -> None:
    for text in (
        SRILM.replace("-0.8\tcat\t-0.2", f"{bad}\tcat\t-0.2"),
        SRILM.replace("-0.8\tcat\t-0.2", f"-0.8\tcat\t{bad}x"),
    ):
        with pytest.raises(InputError, match="of order 1"):
            read_arpa(_write(tmp_path, text))


def test_a_compressed_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.arpa.gz").write_bytes(gzip.compress(SRILM.encode()))
    with pytest.raises(InputError, match=r"gzip archive.*gunzip"):
        read_arpa(tmp_path / "m.arpa.gz")


@pytest.mark.parametrize("special", ["<s>", "</s>", "<unk>"])
def test_a_special_word_without_a_unigram_is_named(special: str, tmp_path: Path) -> None:
    lines = [line for line in SRILM.splitlines() if line.split("\t")[1:2] != [special]]
    text = "\n".join(lines).replace("ngram 1=5", "ngram 1=4")
    text = text.replace("-0.4\tthe cat\t-0.15", f"-0.4\tthe {special}\t-0.15")
    with pytest.raises(InputError, match="not among the unigrams"):
        read_arpa(_write(tmp_path, text))


def test_a_word_without_a_unigram_is_named(tmp_path: Path) -> None:
    text = SRILM.replace("-0.3\tcat </s>", "-0.3\tcat dog")
    with pytest.raises(InputError, match="'dog'"):
        read_arpa(_write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.arpa"):
        read_arpa(tmp_path / "absent.arpa")
