"""The families of models that configurations and run folders may name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch

from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.trees.tree import parse_tree
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import ConfigError
from gardenpath.eval.search.protocol import ROOT_NODE, TransitionModel
from gardenpath.eval.search.settings import WordSync
from gardenpath.models.family import EstimatedFamily, NeuralFamily, SyntacticFamily
from gardenpath.models.output import SequentialNetwork
from gardenpath.models.registry import ADOPTED, FAMILIES, MODELS
from gardenpath.settings.compose import load_settings
from gardenpath.settings.schema import read
from gardenpath.util import CONFIG_DIR
from tests.tree_samples import encode_trees

CHOICES = sorted(p.stem for p in (CONFIG_DIR / "model").glob("[!_]*.yaml"))
TREES = [parse_tree("(S (A a b) c)"), parse_tree("(S c)")]


def test_the_families_and_what_they_are() -> None:
    trained = {"unigram", "ngram", "lstm", "transformer", "rnng", "plm"}
    assert trained == FAMILIES.keys() - ADOPTED.keys()
    assert {"arpa", "grnn"} <= ADOPTED.keys()
    kinds = {
        name: [kind for kind in (EstimatedFamily, NeuralFamily, SyntacticFamily)
               if isinstance(family, kind)]
        for name, family in FAMILIES.items()
    }  # fmt: skip
    assert kinds["unigram"] == kinds["ngram"] == [EstimatedFamily]
    assert kinds["lstm"] == kinds["transformer"] == [NeuralFamily]
    assert kinds["rnng"] == kinds["plm"] == [NeuralFamily, SyntacticFamily]


@pytest.mark.parametrize("name", FAMILIES)
def test_syntactic_families_need_trees_and_others_do_not(name: str) -> None:
    family = FAMILIES[name]
    assert family.needs_trees == isinstance(family, SyntacticFamily)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_settings_of_a_family_name_it(name: str) -> None:
    settings = FAMILIES[name].settings
    assert MODELS[name] is settings and is_dataclass(settings)
    (family,) = [one for one in fields(settings) if one.name == "family"]
    assert family.default == name


def test_every_family_has_a_configuration() -> None:
    trained = [name for name in CHOICES if name not in ADOPTED]
    families = {load_settings("train", [f"model={name}"]).model.family for name in trained}
    assert families == FAMILIES.keys() - ADOPTED.keys()
    assert {name for name in CHOICES if name in ADOPTED} == ADOPTED.keys()
    for name in ADOPTED:
        adopted = load_settings("evaluate", ["task=adopt", f"model={name}", "task.source=x"])
        assert adopted.model is not None and adopted.model.family == name


@pytest.mark.parametrize("name", FAMILIES)
def test_the_settings_of_every_family_are_checked(name: str) -> None:
    content = {"name": "mine", "network": {"nonsense": 1}}
    with pytest.raises(ConfigError, match=r"model\.network\.nonsense is not a setting"):
        read(MODELS[name], content, place="model")


def _encoded() -> tuple[EncodedSplit, Vocabulary]:
    return encode_trees(TREES)


@pytest.mark.parametrize("name", ["lstm", "transformer", "rnng", "plm"])
def test_networks_score_the_batches_of_their_family(name: str) -> None:
    """What a family makes fits together: settings, network and batches."""
    family = FAMILIES[name]
    assert isinstance(family, NeuralFamily)
    settings = load_settings("train", [f"model={name}", "model.size=tiny"]).model
    split, vocabulary = _encoded()
    network = family.build(settings, vocabulary)
    assert isinstance(network, SequentialNetwork) != isinstance(family, SyntacticFamily)
    batch = family.make_collate(settings, split, vocabulary)(np.arange(len(split)))
    with torch.inference_mode():
        loss = network.eval().score(batch).loss()  # type: ignore[operator]
    assert torch.isfinite(loss) and loss > 0


@pytest.mark.parametrize("composition", ["lstm", "attention"])
@pytest.mark.parametrize("strategy", ["top_down", "in_order"])
def test_the_order_of_an_rnng_is_that_of_its_settings(strategy: str, composition: str) -> None:
    overrides = [f"model.network.strategy={strategy}", f"model.network.composition={composition}"]
    settings = load_settings("train", ["model=rnng", "model.size=tiny", *overrides]).model
    family = FAMILIES["rnng"]
    assert isinstance(family, SyntacticFamily)
    assert family.strategy(settings) == strategy
    split, vocabulary = _encoded()
    network = family.build(settings, vocabulary).eval()
    batch = family.make_collate(settings, split, vocabulary)(np.arange(len(split)))
    with torch.inference_mode():
        assert torch.isfinite(network.score(batch).loss())  # type: ignore[operator]


@pytest.mark.parametrize(
    "choices",
    [
        ["model=lstm"],
        ["model=transformer"],
        ["model=plm"],
        ["model=plm_mask"],
        *(
            [f"model={name}", "model.network.output=factored"]
            for name in ("lstm", "transformer", "rnng", "plm", "plm_mask")
        ),
        ["model=rnng", "model.network.output=factored", "model.network.tied=false"],
        *(
            ["model=rnng", f"model.network.composition={composition}",
             f"model.network.strategy={strategy}", f"model.network.tied={tied}"]
            for composition in ("lstm", "attention")
            for strategy in ("top_down", "in_order")
            for tied in ("true", "false")
        ),
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_weight_is_used_for_every_sentence(choices: list[str]) -> None:
    """Distributed training waits for the gradients of all weights, in all processes."""
    settings = load_settings("train", [*choices, "model.size=tiny"]).model
    family = FAMILIES[settings.family]
    assert isinstance(family, NeuralFamily)
    split, vocabulary = _encoded()
    network = family.build(settings, vocabulary)
    collate = family.make_collate(settings, split, vocabulary)
    for sentence in range(len(split)):
        network.zero_grad(set_to_none=True)
        network.score(collate(np.array([sentence]))).loss().backward()  # type: ignore[operator]
        assert [name for name, one in network.named_parameters() if one.grad is None] == []


@pytest.mark.parametrize("name", ["rnng", "plm"])
def test_syntactic_networks_can_be_searched(name: str) -> None:
    family = FAMILIES[name]
    assert isinstance(family, SyntacticFamily)
    settings = load_settings("train", [f"model={name}", "model.size=tiny"]).model
    network = family.build(settings, _encoded()[1]).eval()
    searched: TransitionModel = family.as_searched(network, WordSync(), is_packed=True)
    with torch.inference_mode():
        searched.begin()
        found = searched.log_probs(torch.tensor([ROOT_NODE]))
    # At the root no sentence may end and nothing can be closed.
    assert searched.is_open.any() and torch.isfinite(found[0, searched.is_open]).all()
    assert (found[0, searched.is_close] == -torch.inf).all()
