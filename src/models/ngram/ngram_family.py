"""Families of n-gram models, which are estimated from counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.models.family import EstimatedFamily, ModelSettings
from gardenpath.settings.bounds import PositiveInt

if TYPE_CHECKING:
    from gardenpath.data.preparation import PreparedCorpus
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.models.ngram.ngram import NgramModel


@dataclass(frozen=True, kw_only=True)
class KneserNeySettings:
    """Modified interpolated Kneser-Ney smoothing."""

    order: PositiveInt = 5
    """Order of the model: 5 conditions on four words."""
    arpa: str | None = None
    """ARPA file of an existing model, which is used unchanged and with its own vocabulary."""


@dataclass(frozen=True, kw_only=True)
class KneserNeyModel(ModelSettings):
    """A Kneser-Ney n-gram model."""

    family: Literal["ngram"] = "ngram"
    network: KneserNeySettings = KneserNeySettings()


class KneserNeyFamily(EstimatedFamily):
    """Modified interpolated Kneser-Ney, or a model from an ARPA file."""

    settings: ClassVar[type[ModelSettings]] = KneserNeyModel

    def estimate(
        self, settings: KneserNeyModel, corpus: PreparedCorpus
    ) -> tuple[NgramModel, Vocabulary]:
        from gardenpath.models.ngram.arpa import read_arpa
        from gardenpath.models.ngram.ngram import train_ngram

        vocabulary, network = corpus.vocabulary, settings.network
        if network.arpa is not None:
            return read_arpa(Path(network.arpa), language=vocabulary.language)
        split = corpus.split("train")
        model = train_ngram(split, vocabulary_size=len(vocabulary), order=network.order)
        return model, vocabulary


@dataclass(frozen=True, kw_only=True)
class UnigramSettings:
    """Settings of unigram models (none)."""


@dataclass(frozen=True, kw_only=True)
class UnigramModel(ModelSettings):
    """A unigram model with add-one smoothing."""

    family: Literal["unigram"] = "unigram"
    network: UnigramSettings = UnigramSettings()


class UnigramFamily(EstimatedFamily):
    """Unigram models with add-one smoothing."""

    settings: ClassVar[type[ModelSettings]] = UnigramModel

    def estimate(
        self, settings: UnigramModel, corpus: PreparedCorpus
    ) -> tuple[NgramModel, Vocabulary]:
        from gardenpath.models.ngram.ngram import train_unigram

        vocabulary = corpus.vocabulary
        return train_unigram(corpus.split("train"), vocabulary_size=len(vocabulary)), vocabulary
