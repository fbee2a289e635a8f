"""ARPA files as adopted models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gardenpath.errors import DamagedRunError, GardenpathError
from gardenpath.models.ngram.arpa import read_arpa
from gardenpath.models.ngram.arpa_model import ArpaFamily, ArpaModel, ArpaNgramModel, ArpaSettings
from gardenpath.util import NATS_PER_LOG10
from tests.models.ngram.random_arpa import RandomArpa, random_arpa, random_texts

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
