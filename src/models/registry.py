"""The list of model families.

A run folder names its family. Only families in this list are ever built, so that a run folder from
an untrusted source cannot run code.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from gardenpath.adopted.families import GrnnFamily, HfFamily, MaskedFamily
from gardenpath.adopted.tables import TableFamily
from gardenpath.data.words.pieces import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import DamagedRunError, InputError
from gardenpath.models.family import AdoptedFamily, Family, ModelSettings, NeuralFamily
from gardenpath.models.ngram.arpa_model import ArpaFamily
from gardenpath.models.ngram.model import KneserNeyFamily, NgramModel, UnigramFamily
from gardenpath.models.sequential.family import LstmFamily, TransformerFamily
from gardenpath.models.syntactic.family import PlmFamily, RnngFamily
from gardenpath.models.weights import load_weights
from gardenpath.store.run_folder import SUBWORDS_FILE, VOCABULARY_FILE, WEIGHTS_FILE, RunFolder

FAMILIES: Mapping[str, Family] = {
    "unigram": UnigramFamily(),
    "ngram": KneserNeyFamily(),
    "lstm": LstmFamily(),
    "transformer": TransformerFamily(),
    "rnng": RnngFamily(),
    "plm": PlmFamily(),
    "hf": HfFamily(),
    "masked": MaskedFamily(),
    "table": TableFamily(),
    "arpa": ArpaFamily(),
    "grnn": GrnnFamily(),
}

# Families of models that others trained.
ADOPTED: Mapping[str, AdoptedFamily] = {
    name: family for name, family in FAMILIES.items() if isinstance(family, AdoptedFamily)
}

# Their settings classes, by the name of the family.
ADOPTED_MODELS: Mapping[str, type[ModelSettings]] = {
    name: family.settings for name, family in ADOPTED.items()
}

# Settings classes, by the name of the family.
MODELS: Mapping[str, type[ModelSettings]] = {
    name: family.settings for name, family in FAMILIES.items()
}


# ----------------------------------------------------------------------------
# Load the model of a run folder: its vocabulary, segmentation and weights, verified.


def load_vocabulary(run: RunFolder) -> Vocabulary:
    """Read the vocabulary of a run's model."""
    run.verified_sha256(VOCABULARY_FILE)
    try:
        return Vocabulary.load(run.vocabulary_path)
    except InputError as error:
        raise DamagedRunError(f"{error}; copy the run folder again, or train again") from error


def load_subwords(run: RunFolder) -> Subwords | None:
    """Read the subword segmentation of a run; None if its units are whole words."""
    if not run.subwords_path.exists():
        _require_whole_words(run)
        return None
    run.verified_sha256(SUBWORDS_FILE)
    try:
        return Subwords.load(run.subwords_path)
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
    run.verified_sha256(WEIGHTS_FILE)
    family = FAMILIES[settings.family]
    if not isinstance(family, NeuralFamily):
        return _load_ngram(run, len(vocabulary))
    network = family.build(settings, vocabulary)
    load_weights(network, run.weights_path)
    return network.eval()


def _load_ngram(run: RunFolder, vocabulary_size: int) -> NgramModel:
    model = NgramModel.load(run.weights_path)
    if model.vocabulary_size != vocabulary_size:
        raise DamagedRunError(
            f"{run.weights_path}: the model has {model.vocabulary_size} words, but "
            f"vocabulary.json next to it has {vocabulary_size}; copy the run folder again"
        )
    return model
