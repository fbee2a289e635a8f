"""The same files in KenLM, which computes in single precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gardenpath.data.arrays import Floats
from gardenpath.models.ngram.arpa_model import ArpaFamily, ArpaNgramModel, ArpaSettings
from gardenpath.util import NATS_PER_LOG10
from tests.models.ngram.random_arpa import RandomArpa, random_arpa, random_texts
from tests.no_skips import NEEDS_KENLM

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
    from gardenpath.models.ngram.arpa import write_arpa
    from gardenpath.models.ngram.model import train_ngram
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
