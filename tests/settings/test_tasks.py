"""Paths of surprisals: one, several, or by corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import ConfigError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.settings.compose import load_settings
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.tasks import RescoreTask, material_paths, shown_paths, surprisal_sets

A, B = Path("a"), Path("b")


def test_one_path_several_or_by_corpus() -> None:
    assert surprisal_sets("a") == [SurprisalSet(A)]
    assert surprisal_sets(["a", "b"]) == [SurprisalSet(A), SurprisalSet(B)]
    by_corpus = {"ctb": "a", "xinhua": "b"}
    assert surprisal_sets(by_corpus) == [SurprisalSet(A, "ctb"), SurprisalSet(B, "xinhua")]
    assert material_paths("a") == [A] and material_paths(("a", "b")) == [A, B]
    assert shown_paths(by_corpus) == "ctb: a, xinhua: b" and shown_paths("a") == "a"


def _task(*arguments: str) -> RescoreTask:
    settings = load_settings("evaluate", ["task=rescore", "suite=mandarin", *arguments])
    assert isinstance(settings, EvaluateSettings) and isinstance(settings.task, RescoreTask)
    return settings.task


def test_the_command_line_takes_all_of_them() -> None:
    assert surprisal_sets(_task("surprisals=a").surprisals) == [SurprisalSet(A)]
    assert surprisal_sets(_task("surprisals=[a,b]").surprisals) == [
        SurprisalSet(A), SurprisalSet(B)
    ]  # fmt: skip
    task = _task("surprisals={ctb: a, xinhua: b}", "materials=[a,b]")
    assert surprisal_sets(task.surprisals) == [SurprisalSet(A, "ctb"), SurprisalSet(B, "xinhua")]
    assert task.materials is not None and material_paths(task.materials) == [A, B]


def test_short_names_of_the_rules() -> None:
    task = _task(
        *("surprisals=a", "unit=nats", "reworded=0.2", "misplaced=1", "prefixes=false"),
        *("words=false", "conditions=labels", "columns={word: token, surprisal: surp}"),
    )
    assert task.pairing == PairingRules(
        unit="nats", reworded=0.2, misplaced=1, prefixes=False, words=False
    )
    assert task.conditions == "labels"
    assert task.columns == {"word": "token", "surprisal": "surp"}
    assert _task("surprisals=a").pairing == PairingRules()


def test_wrong_rules_are_all_named() -> None:
    with pytest.raises(ConfigError) as caught:
        _task("surprisals=a", "unit=bit", "reworded=2", "misplaced=-1", "conditions=labelz")
    shown = str(caught.value)
    assert "4 mistakes" in shown
    assert "unit=bit: did you mean 'bits'?" in shown
    assert "reworded=2: must be in [0, 1]" in shown and "misplaced=-1: must be at least 0" in shown
    assert "conditions=labelz: did you mean 'labels'?" in shown
