"""The run folder of a model that others trained."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gardenpath.data.words.boundaries import Boundary
from gardenpath.errors import RunError
from gardenpath.eval.search.search_settings import SearchSettings
from gardenpath.eval.word_scorer import OnWords
from gardenpath.models.family import AdoptedFamily, AdoptedModel, AdoptedSettings, Measure
from gardenpath.runs.run import MODEL_KEY_VERSION, Run
from gardenpath.settings.bounds import ProcessCount
from gardenpath.settings.check import plain
from gardenpath.store.entries.entry_needs import Matters
from gardenpath.store.keys import fingerprint
from gardenpath.store.score_through import words_per_chunk
from gardenpath.store.surprisal_store import Stored
from gardenpath.text import Words

if TYPE_CHECKING:
    from gardenpath.data.words.subwords import Subwords
    from gardenpath.data.words.vocabulary import Vocabulary


class AdoptedRun(Run):
    """A run whose model is opened by an :class:`AdoptedFamily`."""

    @property
    def family(self) -> AdoptedFamily:
        """The model family."""
        family = super().family
        assert isinstance(family, AdoptedFamily)
        return family

    @property
    def _model(self) -> AdoptedSettings:
        model = self.settings.model
        assert isinstance(model, AdoptedSettings)
        return model

    @property
    def language(self) -> str | None:
        """The language of the suites that fit; None if all do."""
        return None if self._model.language == "any" else self._model.language

    @property
    def measure(self) -> Measure:
        """What the numbers are."""
        return self.family.measure

    @property
    def reads_text(self) -> bool:
        """Whether the model reads text as it is."""
        return self.family.reads_text

    @property
    def reports_progress(self) -> bool:
        """Adopted models report their progress themselves."""
        return True

    @functools.cached_property
    def boundary(self) -> Boundary | None:
        """How pieces make words; None if the units are words."""
        return self.family.boundary(self._model, self.boundary_choice)

    @functools.cached_property
    def notes(self) -> tuple[str, ...]:
        """What readers of the results must know about how words were scored."""
        return self.family.notes(self._model, self.path)

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        """Raise an error: the units belong to the model."""
        raise self._not_adopted("a vocabulary of Gardenpath")

    @functools.cached_property
    def subwords(self) -> Subwords | None:
        """Raise an error: the units belong to the model."""
        raise self._not_adopted("a segmentation of Gardenpath")

    def network(self) -> Any:
        """Raise an error: the weights belong to the model."""
        raise self._not_adopted("a network of Gardenpath")

    def _not_adopted(self, what: str) -> RunError:
        return RunError(
            f"{self.path}: this model was adopted (model={self._model.family}) and has not {what}; "
            "name a run that was trained here"
        )

    @functools.cached_property
    def identity(self) -> str:
        """A hash of the files that determine the numbers, which are verified."""
        self.folder.verify()
        return self.family.identity(self._model, self.path)

    @property
    def vocabulary_hash(self) -> str:
        """A hash that identifies the units: no other model has the same."""
        return self.identity

    @property
    def vocabulary_size(self) -> int | None:
        """The number of units is not known."""
        return None

    @property
    def has_unknown_words(self) -> bool:
        """Models that read text have pieces for all words."""
        return not self.reads_text

    def verify(self) -> None:
        """Raise an error if a file that determines numbers is damaged or has changed."""
        _ = self.settings, self.identity

    @functools.cached_property
    def _opened(self) -> AdoptedModel:
        """The model without progress, for looking up words; its weights are not loaded."""
        return self._open(lambda _: None)

    def _open(self, on_words: OnWords) -> AdoptedModel:
        return self.family.open(
            self._model,
            self.path,
            device=str(self.device),
            boundary=self.boundary,
            on_words=on_words,
        )

    def knows(self, word: str) -> bool:
        """Whether the model sees the word itself, not a symbol for unknown words."""
        return self._opened.knows(word)

    def seen_as(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return what the model sees for each word."""
        return tuple(self._opened.seen_as(words))

    def prefix_log_probs(self, text: str, boundaries: Sequence[int]) -> Any:
        """Return the log probability (nats) that a text begins with ``text[:b]``, for each b.

        ``log_probs`` has a value for each boundary; words, regions and single characters are
        differences of them. ``end`` is that of the whole text and its end. Equal prefixes have
        equal probabilities, whatever follows. Only models that read text have this interface.
        """
        scorer = self._opened
        if not hasattr(scorer, "prefix_log_probs"):
            raise RunError(
                f"{self.path}: this model (model={self._model.family}) scores words only; "
                "prefix_log_probs needs a causal model of Hugging Face (model=hf)"
            )
        return scorer.prefix_log_probs(text, boundaries)

    def token_count(self, words: Words) -> int:
        """Return the number of units that the model sees for a sentence."""
        return sum(len(seen.split(" ")) for seen in self.seen_as(words))

    @property
    def unigram_log_prob(self) -> Callable[[str], float] | None:
        """Frequencies in the training corpus are not known."""
        return None

    @functools.cached_property
    def model_key(self) -> str:
        """A hash of everything that determines a number: the model and how it is used."""
        model = self._model
        return fingerprint(
            "log_probs",
            MODEL_KEY_VERSION,
            adopted=self.identity,
            family=model.family,
            network=plain(model.network),
            boundary=self.boundary,
            code=self.family.scores_version,
        )

    @property
    def weight_bytes(self) -> int:
        """The size of the files of weights; 0 if the kind of model has none."""
        return self.family.weight_bytes(self._model, self.path)

    @property
    def chunk_words(self) -> int | None:
        """Number of words scored together, which takes at most about a minute; None: any."""
        if not self.weight_bytes:
            return None
        return words_per_chunk(self.weight_bytes, hypotheses=1, is_gpu=self.device.type != "cpu")

    def scorer(
        self, *, search: SearchSettings | None = None, on_words: OnWords = lambda _: None
    ) -> AdoptedModel:
        """Return a scorer of words with this model, without the store."""
        return self._open(on_words)

    def scored(
        self,
        sentences: Iterable[Words],
        *,
        parsed: Iterable[Words] = (),
        on_words: OnWords = lambda _: None,
        chunk: int | None = None,
        processes: ProcessCount | None = None,
        matters: Matters | None = None,
    ) -> dict[Words, Stored]:
        """Return the log probabilities of sentences, using the store.

        If scores depend on the sentences before, all are computed in order, and none is stored.
        """
        if not self.is_order_dependent:
            return super().scored(sentences, on_words=on_words, chunk=chunk, processes=processes)
        asked = list(sentences)
        if len(set(asked)) < len(asked):
            raise RunError(
                f"{self.path}: scores depend on the sentences before (state=carry), but a sentence "
                "occurs twice and has two scores; adopt the model with another state"
            )
        scores = self._open(on_words).word_log_probs(asked)
        return {words: Stored(found.tolist()) for words, found in zip(asked, scores, strict=True)}

    @property
    def is_order_dependent(self) -> bool:
        """Whether the score of a sentence depends on the sentences before it."""
        return self.family.is_order_dependent(self._model)
