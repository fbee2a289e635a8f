"""ARPA files as adopted models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gardenpath.data.arrays import Floats
from gardenpath.errors import DamagedRunError, GardenpathError
from gardenpath.models.ngram.arpa import (
    ArpaFamily,
    ArpaModel,
    ArpaNgramModel,
    ArpaSettings,
    read_arpa,
)
from gardenpath.util import NATS_PER_LOG10
from tests.models.ngram.random_arpa import RandomArpa, random_arpa, random_texts
from tests.no_skips import NEEDS_KENLM

FAMILY = ArpaFamily()
OPEN, CLOSED = random_arpa(1, order=3), random_arpa(2, order=3, unknown=None)


def _adopted(
    folder: Path, arpa: RandomArpa, *, unknown_log10: float | None = None
) -> tuple[ArpaModel, list[int]]:
    """The model of a file that is not there any more, and the progress it reports."""
    source, place = folder / "source.arpa", folder / "run"
    place.mkdir()
    source.write_text(arpa.text, encoding="utf-8")
    asked = ArpaNgramModel(name="m", network=ArpaSettings(unknown_log10=unknown_log10))
    settings = FAMILY.adopt(asked, str(source), place)
    assert settings == asked
    source.unlink()
    done: list[int] = []
    model = FAMILY.open(settings, place, device="cpu", boundary=None, on_words=done.append)
    return model, done


def test_scores_are_those_of_the_file(tmp_path: Path) -> None:
    model, done = _adopted(tmp_path, OPEN)
    sentences = random_texts(3)
    for words, scores in zip(sentences, model.word_log_probs(sentences), strict=True):
        seen = [word if (word,) in OPEN.grams[0] else "<unk>" for word in words]
        assert model.seen_as(words) == seen
        text = ("<s>", *seen, "</s>")
        expected = [OPEN.log10_prob(text[n], text[:n]) for n in range(1, len(text))]
        np.testing.assert_allclose(scores, np.array(expected) * NATS_PER_LOG10, rtol=1e-12)
    assert sum(done) == sum(map(len, sentences))
    assert model.knows("cat") and not model.knows("dog") and not model.knows("<unk>")


def test_sentences_do_not_depend_on_each_other(tmp_path: Path) -> None:
    model, _ = _adopted(tmp_path, OPEN)
    sentences = random_texts(4, count=20)
    together = model.word_log_probs(sentences)
    for words, scores in zip(sentences, together, strict=True):
        assert model.word_log_probs([words])[0].tolist() == scores.tolist()
    backwards = model.word_log_probs(sentences[::-1])[::-1]
    assert [one.tolist() for one in backwards] == [one.tolist() for one in together]
    assert model.word_log_probs([]) == []
    assert len(model.word_log_probs([[]])[0]) == 1


def test_unknown_words_of_a_closed_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    model, _ = _adopted(tmp_path / "a", CLOSED)
    (scores,) = model.word_log_probs([["the", "dog", "the"]])
    assert scores[1] == -np.inf and np.isfinite(scores[[0, 2, 3]]).all()
    (tmp_path / "b").mkdir()
    model, _ = _adopted(tmp_path / "b", CLOSED, unknown_log10=-100.0)
    (again,) = model.word_log_probs([["the", "dog", "the"]])
    history = ("<s>", "the")
    backoffs = sum(CLOSED._backoff(history[n:]) for n in range(2))
    assert again[1] == pytest.approx((-100 + backoffs) * NATS_PER_LOG10, rel=1e-12)
    assert again[[0, 2, 3]].tolist() == scores[[0, 2, 3]].tolist()
    # A file that lists <unk> is used as it is.
    (tmp_path / "c").mkdir()
    model, _ = _adopted(tmp_path / "c", OPEN, unknown_log10=-100.0)
    assert model.word_log_probs([["dog"]])[0][0] > -50


def test_ends_that_a_file_does_not_list_are_undefined(tmp_path: Path) -> None:
    model, _ = _adopted(tmp_path, OPEN.without("</s>"))
    for words, scores in zip([["the", "cat"], ["dog"]], model.word_log_probs(
        [["the", "cat"], ["dog"]]
    ), strict=True):  # fmt: skip
        assert np.isfinite(scores[:-1]).all() and len(scores) == len(words) + 1
        assert np.isnan(scores[-1])


def test_the_identity_is_that_of_the_content(tmp_path: Path) -> None:
    names: dict[str, str] = {}
    for name, arpa in {"one": OPEN, "same": OPEN, "other": CLOSED}.items():
        (tmp_path / name).mkdir()
        _adopted(tmp_path / name, arpa)
        names[name] = FAMILY.identity(ArpaNgramModel(name=name), tmp_path / name / "run")
    assert names["one"] == names["same"] != names["other"]


def test_files_of_different_models_are_not_mixed(tmp_path: Path) -> None:
    model, _ = _adopted(tmp_path, OPEN)
    (tmp_path / "other").mkdir()
    _adopted(tmp_path / "other", OPEN.without("Unk"))
    (tmp_path / "other/run/vocabulary.json").rename(tmp_path / "run/vocabulary.json")
    with pytest.raises(DamagedRunError, match="copy the run folder again"):
        model.word_log_probs([["the"]])


def test_a_file_that_is_not_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match=r"absent\.arpa"):
        FAMILY.adopt(ArpaNgramModel(name="m"), str(tmp_path / "absent.arpa"), tmp_path)


def test_it_is_the_model_that_is_read_from_the_file(tmp_path: Path) -> None:
    """The same numbers as with ``model=ngram model.network.arpa=FILE``."""
    model, _ = _adopted(tmp_path, OPEN)
    (tmp_path / "again.arpa").write_text(OPEN.text, encoding="utf-8")
    read, vocabulary = read_arpa(tmp_path / "again.arpa")
    for words in random_texts(5, count=10):
        ids = np.array(vocabulary.encode(words), dtype=np.int64)
        assert model.word_log_probs([words])[0].tolist() == read.score([ids])[0].tolist()


# ----------------------------------------------------------------------------
# The same files in KenLM, which computes in single precision.


try:
    import kenlm
except ImportError:
    kenlm = None

needs_kenlm = pytest.mark.skipif(kenlm is None, reason=NEEDS_KENLM)


def _ours(folder: Path, text: str, sentences: list[list[str]]) -> list[Floats]:
    """Log10 probabilities of an adopted file, in which unknown words have KenLM's default."""
    place = folder / "run"
    place.mkdir()
    (folder / "model.arpa").write_text(text, encoding="utf-8")
    family = ArpaFamily()
    settings = ArpaNgramModel(name="m", network=ArpaSettings(unknown_log10=-100.0))
    family.adopt(settings, str(folder / "model.arpa"), place)
    model = family.open(settings, place, device="cpu", boundary=None)
    return [scores / NATS_PER_LOG10 for scores in model.word_log_probs(sentences)]


def _kenlm(folder: Path, text: str) -> Any:
    path = folder / "kenlm.arpa"
    path.write_text(text, encoding="utf-8")
    return kenlm.Model(str(path))


def _scores(model: Any, words: list[str], **options: bool) -> Floats:
    return np.array([score for score, _, _ in model.full_scores(" ".join(words), **options)])


FILES: dict[str, RandomArpa] = {
    "bigram": random_arpa(1, order=2),
    "trigram": random_arpa(2, order=3),
    "order 6": random_arpa(3, order=6),
    "capitals": random_arpa(4, order=4, unknown="<UNK>"),
    "closed": random_arpa(5, order=3, unknown=None),
    # KenLM refuses files in which the context of an n-gram is missing.
    "pruned": random_arpa(6, order=4, pruned=0.5, keeps_contexts=True, count=40),
    "pruned, closed": random_arpa(
        7, order=5, unknown=None, pruned=0.5, keeps_contexts=True, count=40
    ),
}


@needs_kenlm
@pytest.mark.parametrize("name", FILES)
def test_scores_are_those_of_kenlm(name: str, tmp_path: Path) -> None:
    arpa, sentences = FILES[name], random_texts(11)
    model = _kenlm(tmp_path, arpa.text)
    for words, ours in zip(sentences, _ours(tmp_path, arpa.text, sentences), strict=True):
        np.testing.assert_allclose(ours, _scores(model, words), rtol=1e-6, atol=1e-6)
        # Without the end, the other values are the same.
        theirs = _scores(model, words, eos=False)
        np.testing.assert_allclose(ours[:-1], theirs, rtol=1e-6, atol=1e-6)


@needs_kenlm
@pytest.mark.parametrize("name", FILES)
def test_a_file_without_begin_symbol_is_like_kenlm_without_begin(name: str, tmp_path: Path) -> None:
    sentences = random_texts(12)
    model = _kenlm(tmp_path, FILES[name].text)
    ours = _ours(tmp_path, FILES[name].without("<s>").text, sentences)
    for words, found in zip(sentences, ours, strict=True):
        np.testing.assert_allclose(found, _scores(model, words, bos=False), rtol=1e-6, atol=1e-6)


def test_pruned_files_lack_the_ends_of_listed_ngrams() -> None:
    for name in ("pruned", "pruned, closed"):
        grams = FILES[name].grams
        assert {gram[1:] for gram in grams[2]} - {*grams[1]}
        assert not {gram[:-1] for gram in grams[2]} - {*grams[1]}


@needs_kenlm
def test_kenlm_reads_what_is_written_here(tmp_path: Path) -> None:
    from gardenpath.models.ngram.model import train_ngram
    from tests.models.ngram.oracles import write_arpa
    from tests.models.samples import make_split, make_vocabulary, random_sentences

    vocabulary = make_vocabulary("the", "cat", "sees", "狗")
    ids = random_sentences(3, count=60, vocabulary_size=len(vocabulary))
    trained = train_ngram(make_split(ids), vocabulary_size=len(vocabulary), order=3)
    write_arpa(tmp_path / "own.arpa", trained, vocabulary)
    model = kenlm.Model(str(tmp_path / "own.arpa"))
    for row in ids[:20]:
        ours = trained.score([np.array(row)])[0] / NATS_PER_LOG10
        words = [vocabulary.tokens[token] for token in row]
        np.testing.assert_allclose(ours, _scores(model, words), rtol=1e-6, atol=1e-6)


@needs_kenlm
@pytest.mark.parametrize("name", ["trigram", "closed"])
def test_unknown_words_are_the_same(name: str, tmp_path: Path) -> None:
    place = tmp_path / "run"
    place.mkdir()
    (tmp_path / "m.arpa").write_text(FILES[name].text, encoding="utf-8")
    family, settings = ArpaFamily(), ArpaNgramModel(name="m")
    family.adopt(settings, str(tmp_path / "m.arpa"), place)
    ours = family.open(settings, place, device="cpu", boundary=None)
    model = _kenlm(tmp_path, FILES[name].text)
    for words in random_texts(13):
        theirs = [is_unknown for _, _, is_unknown in model.full_scores(" ".join(words), eos=False)]
        assert [not ours.knows(word) for word in words] == theirs


# What KenLM does otherwise; docs/adopted.md lists it.
SMALL = random_arpa(8, order=2, count=8).text


@needs_kenlm
def test_kenlm_takes_the_symbol_of_zero_for_a_number(tmp_path: Path) -> None:
    arpa = random_arpa(8, order=2, count=8)
    arpa.grams[0]["the",] = (-99.0, 0.0)
    history = next(gram for gram in arpa.grams[0] if (*gram, "the") not in arpa.grams[1])
    assert history != ("<s>",)
    sentence = [*history, "the"]
    weight = arpa.grams[0][history][1]
    theirs = _scores(_kenlm(tmp_path, arpa.text), sentence)
    assert theirs[1] == pytest.approx(-99 + weight, rel=1e-6)
    assert _ours(tmp_path, arpa.text, [sentence])[0][1] == -np.inf


@needs_kenlm
def test_kenlm_refuses_a_file_without_the_context_of_an_ngram(tmp_path: Path) -> None:
    arpa = random_arpa(9, order=3, pruned=0.1)
    with pytest.raises(OSError, match="context of every 3-gram"):
        _kenlm(tmp_path, arpa.text)
    assert np.isfinite(_ours(tmp_path, arpa.text, [["the", "cat"]])[0]).all()


@needs_kenlm
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\\data\\\n", "made by hand\n\n\\data\\\n"),
        ("ngram 2=", "ngram 2 = "),
        ("-99.000000\t<s>", "-99.000000 <s>"),
    ],
    ids=["text before", "blanks in counts", "blank for tab"],
)
def test_kenlm_refuses_what_others_write(before: str, after: str, tmp_path: Path) -> None:
    assert before in SMALL
    with pytest.raises(OSError, match="Cannot read model"):
        _kenlm(tmp_path, SMALL.replace(before, after))
    sentences = [["the", "cat"]]
    (same,) = _ours(tmp_path, SMALL.replace(before, after), sentences)
    again = tmp_path / "again"
    again.mkdir()
    assert same.tolist() == _ours(again, SMALL, sentences)[0].tolist()
