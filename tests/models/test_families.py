"""The families of models that configurations and run folders may name."""

from __future__ import annotations

import pytest

from gardenpath.models.families import FAMILIES
from gardenpath.models.sequential.output import SequentialNetwork
from gardenpath.places import CONFIG_DIR
from gardenpath.settings.check import check_arguments
from gardenpath.settings.compose import load_settings

CHOICES = sorted(p.stem for p in (CONFIG_DIR / "model").glob("[!_]*.yaml"))


def test_the_families_of_the_foundation_are_there() -> None:
    assert {"unigram", "ngram", "lstm", "transformer"} <= set(FAMILIES)
    assert [FAMILIES[name].is_neural for name in ("unigram", "ngram")] == [False, False]
    assert [FAMILIES[name].is_neural for name in ("lstm", "transformer")] == [True, True]


@pytest.mark.parametrize("name", ["unigram", "ngram", "lstm", "transformer"])
def test_sequential_families_need_no_trees(name: str) -> None:
    assert not FAMILIES[name].needs_trees


def test_every_family_has_a_configuration() -> None:
    families = {load_settings("train", [f"model={name}"])["model"]["family"] for name in CHOICES}
    assert families == set(FAMILIES)


@pytest.mark.parametrize("name", ["lstm", "transformer"])
def test_networks_are_built_from_plain_arguments(name: str) -> None:
    network = FAMILIES[name].build(vocabulary_size=10, size="tiny")
    assert isinstance(network, SequentialNetwork)
    with pytest.raises(TypeError):
        FAMILIES[name].build(10)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_checked(name: str) -> None:
    family = FAMILIES[name]
    mistakes = check_arguments(family.build, {"nonsense": 1}, prefix="model.network")
    assert any("model.network.nonsense is not a setting" in mistake for mistake in mistakes)
