"""What the settings of an evaluation may be; all mistakes are found before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch

from gardenpath.eval.search.search_settings import Particle, WordSync
from gardenpath.eval.suites.library.catalogue import ExportFormat
from gardenpath.eval.suites.scoring.outcome import TieRule
from gardenpath.settings.bounds import NonNegativeInt, PositiveInt, Seed
from gardenpath.settings.check import check_arguments, nearest, type_problem

Settings = Mapping[str, Any]

SEARCHES = {"word_sync": WordSync, "particle": Particle}

# Settings of tasks and suites. Those that are not here can only be judged when they are used.
_OF_TASKS: Mapping[str, Any] = {
    "split": Literal["train", "valid", "test"],
    "marginal_sentences": NonNegativeInt | None,
    "ties": TieRule,
    "tie_seed": Seed,
    "report": bool,
    "perplexity": bool,
    "parsed_items": NonNegativeInt,
    "end": bool,
    "chunk": PositiveInt,
    "sentences": PositiveInt | None,
    "k_best": PositiveInt,
    "ignore_punctuation": bool,
    "convergence": bool,
    "words": Sequence[str],
    "examples": bool,
    "export": ExportFormat | None,
}
_OF_SUITES: Mapping[str, Any] = {
    "suites": Sequence[str],
    "in_vocabulary": bool,
    "items": PositiveInt | None,
}

# Settings that a task cannot do without.
_NEEDED = {
    ("surprisal", "input"): "a file of sentences, or - for standard input",
    ("suite", "suite"): "try suite=mandarin, and task=suites to see them all",
    ("rescore", "suite"): "try suite=mandarin, and task=suites to see them all",
    ("rescore", "surprisals"): "the folder with one folder per model",
}


def evaluation_mistakes(settings: Settings) -> list[str]:
    """All mistakes in the settings of an evaluation."""
    mistakes = _wrong_values(settings["task"], _OF_TASKS, "task")
    mistakes += _search_mistakes(settings["search"])
    if (suite := settings["suite"]) is not None:
        mistakes += _wrong_values(suite, _OF_SUITES, "suite")
        if not suite["suites"]:
            mistakes.append("suite.suites is empty: name files, as in 'suite.suites=[mine.yaml]'")
    mistakes += [
        f"{needed}= is missing: {remedy}"
        for (task, needed), remedy in _NEEDED.items()
        if settings["task"]["name"] == task and settings[needed] is None
    ]
    if problem := _device_problem(str(settings["device"])):
        mistakes.append(f"device={settings['device']}: {problem}")
    return mistakes


def _wrong_values(settings: Settings, annotations: Mapping[str, Any], prefix: str) -> list[str]:
    return [
        f"{prefix}.{name}={settings[name]}: {problem}"
        for name, annotation in annotations.items()
        if name in settings and (problem := type_problem(settings[name], annotation))
    ]


def _search_mistakes(search: Settings) -> list[str]:
    kind = str(search["kind"])
    if kind not in SEARCHES:
        return [f"search.kind={kind}: {nearest(kind, SEARCHES)}"]
    arguments = {key: value for key, value in search.items() if key != "kind"}
    return check_arguments(SEARCHES[kind], arguments, prefix="search")


def _device_problem(name: str) -> str:
    if name == "auto":
        return ""
    try:
        device = torch.device(name)
    except RuntimeError:
        return "not a device; valid: auto, cpu, cuda, cuda:1 and so on"
    if device.type == "cuda" and not torch.cuda.is_available():
        return "there is no GPU; set device=auto or device=cpu"
    return ""
