"""How often intervals of the unbiased search contain the surprisal of trained models.

The model is the truth: the reference is a search of the same model with much wider beams, which
agrees with itself (its own intervals are asserted to be narrow).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.coverage import Coverage, coverage_of, main, sentences_of
from benchmarks.measured_search import searched
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.settings import Unbiased, search_in_words
from gardenpath.runs.run import Run
from gardenpath.runs.training import train
from gardenpath.settings.compose import load_settings
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import plain
from tests.integration.commands import toy
from tests.toy_runs import run_of

SMALL = (
    "model=rnng", "model.network.layers=1", "model.network.hidden=32", "model.network.embedding=32",
    "model.batches.max_sentences=8", "model.optimiser.learning_rate=0.01", "trainer=cpu",
    "trainer.max_epochs=2", "trainer.progress=false",
)  # fmt: skip
WIDE = Unbiased(action_beam=300, word_beam=100, replicates=8, roulette=1e-4, seed=77)
ROUGH, FINE = Unbiased(roulette=0.1), Unbiased(roulette=1e-3)


def _coverages(run: Run, searches: Sequence[Unbiased], *, doubt: float) -> list[Coverage]:
    """Compare with a reference whose own intervals are narrower than ``doubt`` (bits)."""
    sentences = sentences_of(run, 4)
    reference = searched(run, WIDE, sentences)
    assert reference.errors_bits is not None
    assert np.concatenate(reference.errors_bits).mean() < doubt
    return [coverage_of(run, one, sentences, reference, range(1, 4)) for one in searches]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["english", "mandarin"])
def test_intervals_cover_the_surprisals_of_a_toy_model(language: str, tmp_path: Path) -> None:
    train(*toy(tmp_path, f"data=toy_{language}", *SMALL))
    run = Run(tmp_path / "runs" / f"toy_{language}" / "rnng" / "seed1", device="cpu")
    rough, fine = _coverages(run, (ROUGH, FINE), doubt=0.1)
    assert fine.covered > 0.85
    # What plays roulette is mostly lost in all replicates. The errors are close, and rounding
    # decides which analyses are drawn.
    assert fine.error < 1.1 * rough.error
    assert fine.width < rough.width or fine.covered > rough.covered
    # Estimates are right on average, whatever the roulette.
    assert 0.75 < rough.ratio < 1.25 and 0.85 < fine.ratio < 1.15


@pytest.mark.slow
def test_intervals_cover_the_surprisals_of_a_treebank_model(
    reference_data: Path, tmp_path: Path
) -> None:
    """The bounds are below 95 % because words of a sentence fail together, and because analyses
    that decide a later word may be in none of few replicates, which then agree with each other.
    """
    train(
        "data=ptb_sample", f"data.root={reference_data / 'nltk_data'}", "data.reader.train=1-60",
        "data.min_count=5", "data.cleaning.max_tokens=15", f"paths.runs={tmp_path / 'runs'}",
        f"paths.cache={tmp_path / 'cache'}", *SMALL,
    )  # fmt: skip
    run = Run(tmp_path / "runs" / "ptb_sample" / "rnng" / "seed1", device="cpu")
    rough, fine, many = _coverages(run, (ROUGH, FINE, replace(ROUGH, replicates=16)), doubt=0.1)
    assert rough.covered > 0.8 and fine.covered > 0.85 and many.covered > 0.8
    assert many.error < rough.error and many.width < rough.width


def test_a_search_without_intervals_is_refused(folder: Path) -> None:
    run = run_of(folder, "rnng")
    sentences = [("the", "king", "sleeps", ".")]
    reference = searched(run, run.search, sentences)
    with pytest.raises(GardenpathError, match="at least 4 replicates"):
        coverage_of(run, replace(WIDE, replicates=1), sentences, reference, [1])
    with pytest.raises(GardenpathError, match="no intervals"):
        main(["--run", str(run.path), "--settings", "word_sync"])


def test_coverage_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(
        [
            "--run", str(run_of(folder, "plm").path), "--sentences", "1", "--seeds", "2",
            "--settings", "unbiased:action_beam=4,word_beam=2", "--reference",
            "unbiased:action_beam=20,word_beam=8,seed=3",
        ]
    )  # fmt: skip
    printed = capsys.readouterr().out
    assert "unbiased 4/2" in printed and "its own intervals" in printed and "covered" in printed


# ----------------------------------------------------------------------------
# Searches in words.


def _search(setting: str) -> dict[str, Any]:
    settings = load_settings("evaluate", [setting])
    assert isinstance(settings, EvaluateSettings)
    return dict(plain(settings.search))


def test_searches_read_well() -> None:
    search = _search("search.action_beam=30")
    assert search_in_words(search) == (
        "word-synchronous beam search, action beam 30, word beam 10, words need no place in "
        "the action beam, summed over survivors, at most 100 open constituents, at most 8 opened "
        "between two words, until no open hypothesis is left"
    )
    slow = {**search, "bounded": False, "stop": "beam_full"}
    assert search_in_words(slow).endswith("until the action beam is full, without bounds")
    unbiased = _search("search=unbiased")
    said = search_in_words(unbiased)
    assert said.startswith("unbiased search, action beam 100, word beam 10, 4 replicates")
    # Without a tolerance, no search has more replicates.
    assert "at most 64 replicates" not in said
    tolerant = search_in_words({**unbiased, "tolerance": 0.05})
    assert "tolerance 0.05 bits, at most 64 replicates" in tolerant
    for words in (search_in_words(search), said):
        assert not re.search(r"_|True|None|memory", words)
    assert search_in_words({"kind": "new", "some_width": 3}) == "new, some width 3"
