"""The list of model families.

A run folder names its family. Only families in this list are ever built, so that a run folder from
an untrusted source cannot run code.
"""

from __future__ import annotations

from collections.abc import Mapping

from gardenpath.models.family import AdoptedFamily, Family, ModelSettings
from gardenpath.models.ngram.arpa_family import ArpaFamily
from gardenpath.models.ngram.ngram_family import KneserNeyFamily, UnigramFamily
from gardenpath.models.plm.plm_family import PlmFamily
from gardenpath.models.pretrained.hf_family import HfFamily
from gardenpath.models.pretrained.masked_family import MaskedFamily
from gardenpath.models.rnng.rnng_family import RnngFamily
from gardenpath.models.sequential.lstm_family import LstmFamily
from gardenpath.models.sequential.transformer_family import TransformerFamily
from gardenpath.models.tabled.table_family import TableFamily
from gardenpath.models.word_lm.grnn_family import GrnnFamily

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
