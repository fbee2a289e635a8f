"""Trained runs as an evaluation sees them: who they are, and how they score words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from gardenpath.errors import RunError
from gardenpath.eval.search.search_settings import SearchSettings
from gardenpath.eval.search.structured_scorer import StructuredScorer
from gardenpath.eval.suites.scoring.results import RunName
from gardenpath.models.ngram.ngram import NgramModel
from gardenpath.models.plm.plm import PlmNetwork
from gardenpath.models.plm.plm_search import PlmSearch
from gardenpath.models.rnng.rnng import RnngNetwork
from gardenpath.models.rnng.rnng_search import RnngSearch
from gardenpath.models.saved_model import load_model, load_subwords, load_vocabulary
from gardenpath.models.sequential.output import SequentialNetwork
from gardenpath.models.sequential.sequential_scorer import SequentialScorer
from gardenpath.settings.compose import make_search
from gardenpath.store.run_folder import RunFolder, find_runs

Scorer = SequentialScorer | StructuredScorer


def finished_runs(settings: Mapping[str, Any]) -> list[RunFolder]:
    """All finished runs at or below the folder that the settings name; one at least."""
    runs = find_runs(Path(settings["run"]))
    if not runs:
        raise RunError(
            f"{settings['run']}: no finished runs at or below this folder; train one with "
            "'python train.py', or set run="
        )
    return runs


def name_of(run: RunFolder) -> RunName:
    """Model, corpus and seed of a run."""
    config = run.config()
    return RunName(
        run=str(run.path),
        model=config["model"]["name"],
        corpus=config["data"]["name"],
        seed=config["seed"],
    )


def language_of(run: RunFolder) -> str:
    """The language of its corpus."""
    return str(run.config()["data"]["language"])


def device_of(settings: Mapping[str, Any]) -> torch.device:
    """Where models run; ``auto`` takes a GPU where there is one."""
    name = settings["device"]
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def make_scorer(
    run: RunFolder,
    settings: Mapping[str, Any],
    *,
    on_words: Callable[[int], None] = lambda _: None,
    search: SearchSettings | None = None,
) -> Scorer:
    """Whatever gives log probabilities to words with the model of a run."""
    search = search or make_search(settings["search"])
    device = device_of(settings)
    model = load_model(run)
    if not isinstance(model, RnngNetwork | PlmNetwork):
        assert isinstance(model, SequentialNetwork | NgramModel)
        return SequentialScorer(
            model=model,
            vocabulary=load_vocabulary(run),
            subwords=load_subwords(run),
            device=device,
            share_prefixes=search.share_prefixes,
        )
    # Looking at how much is left costs nothing on a processor, and a pause on a GPU.
    is_packed = device.type == "cpu" if search.fixed_shapes is None else not search.fixed_shapes
    return StructuredScorer(
        model=_as_searched(model.to(device), search, is_packed),
        vocabulary=load_vocabulary(run),
        subwords=load_subwords(run),
        settings=search,
        is_packed=is_packed,
        on_words=on_words,
    )


def _as_searched(
    model: RnngNetwork | PlmNetwork, search: SearchSettings, is_packed: bool
) -> RnngSearch | PlmSearch:
    with torch.inference_mode():
        if isinstance(model, PlmNetwork):
            return PlmSearch(model, is_packed=is_packed, max_open=search.max_open)
        return RnngSearch(
            model, is_packed=is_packed, shared_compositions=search.shared_compositions
        )


def content_hash(run: RunFolder) -> str:
    """Changes when the weights or the vocabulary of a run do."""
    digest = hashlib.sha256(load_vocabulary(run).content_hash.encode())
    with run.weights_path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:16]
