"""The families of models, by name, and the models of run folders, loaded and verified.

Families are imported when they are asked for: settings are read without torch. Runs, training and
settings look families up here. Only what :mod:`gardenpath.registry` lists is ever built, so that a
run folder from an untrusted source cannot run code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gardenpath.data.words.pieces import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import DamagedRunError, InputError
from gardenpath.models.family import AdoptedFamily, Family, ModelSettings, NeuralFamily
from gardenpath.registry import ADOPTED_FAMILIES, TRAINED_FAMILIES, Registered
from gardenpath.store.run_folder import SUBWORDS_FILE, VOCABULARY_FILE, WEIGHTS_FILE, RunFolder

if TYPE_CHECKING:
    from torch import nn

    from gardenpath.models.ngram.model import NgramModel

# Families of models that others trained, and all families.
ADOPTED: Mapping[str, AdoptedFamily] = Registered(ADOPTED_FAMILIES, lambda family: family())
FAMILIES: Mapping[str, Family] = Registered(
    TRAINED_FAMILIES | ADOPTED_FAMILIES, lambda family: family()
)

# Their settings classes, by the name of the family.
ADOPTED_MODELS: Mapping[str, type[ModelSettings]] = Registered(
    ADOPTED_FAMILIES, lambda family: family.settings
)
MODELS: Mapping[str, type[ModelSettings]] = Registered(
    TRAINED_FAMILIES | ADOPTED_FAMILIES, lambda family: family.settings
)


# ----------------------------------------------------------------------------
# Load the model of a run folder: its vocabulary, segmentation and weights, verified.


def load_vocabulary(run: RunFolder) -> Vocabulary:
    """Read the vocabulary of a run's model."""
    run.verified_sha256(VOCABULARY_FILE)
    try:
        return Vocabulary.load(run / VOCABULARY_FILE)
    except InputError as error:
        raise DamagedRunError(f"{error}; copy the run folder again, or train again") from error


def load_subwords(run: RunFolder) -> Subwords | None:
    """Read the subword segmentation of a run; None if its units are whole words."""
    if not (run / SUBWORDS_FILE).exists():
        _require_whole_words(run)
        return None
    run.verified_sha256(SUBWORDS_FILE)
    try:
        return Subwords.load(run / SUBWORDS_FILE)
    except InputError as error:
        raise DamagedRunError(f"{error}; copy the run folder again, or train again") from error


def _require_whole_words(run: RunFolder) -> None:
    """Refuse a run whose segmentation is lost: its words would all be scored as unknown."""
    manifest = run.manifest()
    if manifest is not None and SUBWORDS_FILE in manifest.files:
        run.verified_sha256(SUBWORDS_FILE)


def load_model(
    run: RunFolder, settings: ModelSettings, vocabulary: Vocabulary
) -> nn.Module | NgramModel:
    """Build the model of a run with its trained weights, in evaluation mode."""
    from gardenpath.models.weights import load_weights

    run.verified_sha256(WEIGHTS_FILE)
    family = FAMILIES[settings.family]
    if not isinstance(family, NeuralFamily):
        return _load_ngram(run, len(vocabulary))
    network = family.build(settings, vocabulary)
    load_weights(network, run / WEIGHTS_FILE)
    return network.eval()


def _load_ngram(run: RunFolder, vocabulary_size: int) -> NgramModel:
    from gardenpath.models.ngram.model import NgramModel

    model = NgramModel.load(run / WEIGHTS_FILE)
    if model.vocabulary_size != vocabulary_size:
        raise DamagedRunError(
            f"{run / WEIGHTS_FILE}: the model has {model.vocabulary_size} words, but "
            f"vocabulary.json next to it has {vocabulary_size}; copy the run folder again"
        )
    return model
