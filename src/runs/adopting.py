"""The run folder of a model that others trained."""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gardenpath.data.corpus import CorpusElsewhere, DataSettings
from gardenpath.data.sentence import OnWords
from gardenpath.data.words.pieces import Boundary
from gardenpath.errors import ConfigError, GardenpathError, RunError
from gardenpath.eval.search.settings import SearchSettings
from gardenpath.models.family import AdoptedFamily, AdoptedModel, AdoptedSettings, Measure
from gardenpath.models.registry import ADOPTED
from gardenpath.runs.run import MODEL_KEY_VERSION, Run
from gardenpath.settings.schema import ProcessCount, nearest, plain, read
from gardenpath.settings.train import Paths, TrainSettings
from gardenpath.store.files import digest, fingerprint
from gardenpath.store.run_claim import Existing, claim
from gardenpath.store.run_folder import ADOPTED_RESULT, RunFolder
from gardenpath.store.surprisals import Matters, Stored, words_per_chunk
from gardenpath.util import Words, file_stem

if TYPE_CHECKING:
    from gardenpath.data.words.pieces import Subwords
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


# ----------------------------------------------------------------------------
# Open a run folder as what it is: a model that was trained here, or one that was adopted.


def open_run(path: str | Path, **settings: Any) -> Run:
    """Return the run in a folder; ``settings`` are those of :class:`Run`.

    Nothing is verified: a damaged run is reported when it is used.
    """
    kind = AdoptedRun if _family(RunFolder(Path(path))) in ADOPTED else Run
    return kind(path, **settings)


def _family(folder: RunFolder) -> str | None:
    try:
        model = folder.config().get("model") if folder.is_begun else None
    except RunError:
        return None
    return model.get("family") if isinstance(model, dict) else None


# ----------------------------------------------------------------------------
# Adopt a model that others trained: write a run folder for it.


# Name of the corpus of a model that others trained, unless another is given.
ELSEWHERE = "elsewhere"

# hf:gpt2, arpa:models/news.arpa
_REFERENCE = re.compile(r"([a-z]+):(.+)", re.DOTALL)
_DIGITS = 10


def adopt(
    model: str | AdoptedSettings,
    source: str | Path,
    *,
    run_dir: str | Path | None = None,
    corpus: str = ELSEWHERE,
    seed: int = 1,
    existing: Existing = "refuse",
    **settings: Any,
) -> Run:
    """Write a run folder for a model that others trained, and load it.

    ``model`` is its kind: ``hf``, ``masked``, ``grnn``, ``arpa`` or ``table``; ``source`` is its
    file, its folder or its name on the Hugging Face hub. ``settings`` are those of the kind, such
    as ``bos="none"``; ``name`` is that of the model in tables, ``language`` that of the suites on
    which it is scored, ``corpus`` that of the corpus it was trained on. By default the folder is
    ``runs/adopted/<name>``.
    """
    asked = model if isinstance(model, AdoptedSettings) else settings_of(model, settings)
    with tempfile.TemporaryDirectory(prefix="gardenpath-") as stage:
        adopted = _adopted(asked, str(source), Path(stage))
        folder = Path(run_dir or Path(Paths().runs) / "adopted" / file_stem(adopted.name))
        _write(folder, adopted, Path(stage), corpus=corpus, seed=seed, existing=existing)
    return open_run(folder)


def settings_of(family: str, settings: Mapping[str, Any]) -> AdoptedSettings:
    """Return the settings of a kind of models; those of its network need no prefix."""
    if family not in ADOPTED:
        raise ConfigError([f"model={family}: cannot be adopted; {nearest(family, ADOPTED)}"])
    kind = ADOPTED[family].settings
    own = {name: value for name, value in settings.items() if name in ("name", "language")}
    network = {name: value for name, value in settings.items() if name not in own}
    found = read(kind, {"family": family, **own, "network": network}, place="model")
    assert isinstance(found, AdoptedSettings)
    return found


def reference_of(text: str | Path) -> tuple[str, str] | None:
    """Return kind and source of a reference such as ``hf:gpt2``; None for a path."""
    found = _REFERENCE.fullmatch(str(text))
    if found is None or found[1] not in ADOPTED or Path(str(text)).exists():
        return None
    return found[1], found[2]


def adopted_reference(reference: str, place: Path) -> Path:
    """Return the run folder of a reference such as ``hf:gpt2``, which is written below a folder.

    The name of the run folder contains a hash of the files of the model, so that a model that has
    changed is another run.
    """
    found = reference_of(reference)
    if found is None:
        raise GardenpathError(f"{reference}: write the kind of a model and its source: hf:gpt2")
    with tempfile.TemporaryDirectory(prefix="gardenpath-") as stage:
        adopted = _adopted(settings_of(found[0], {}), found[1], Path(stage))
        key = digest(repr(_content(adopted, Path(stage))).encode())[:_DIGITS]
        folder = place / f"{file_stem(adopted.name)}-{key}"
        _write(folder, adopted, Path(stage), corpus=ELSEWHERE, seed=1, existing="skip")
    return folder


def name_of_source(source: str) -> str:
    """Return the name of a model: that of its folder, of its file, or on the hub."""
    path = Path(source.rstrip("/"))
    # What follows a dot is an extension of files only: Qwen2.5-0.5B has none.
    return (path.stem if path.is_file() else path.name) or source


def _adopted(asked: AdoptedSettings, source: str, stage: Path) -> AdoptedSettings:
    adopted = ADOPTED[asked.family].adopt(asked, source, stage)
    if adopted.name:
        return adopted
    return replace(adopted, name=name_of_source(source))


def _content(adopted: AdoptedSettings, stage: Path) -> tuple[Any, ...]:
    files = sorted(path for path in stage.rglob("*") if path.is_file())
    return plain(adopted), [(path.name, digest(path.read_bytes())) for path in files]


def _write(
    folder: Path,
    adopted: AdoptedSettings,
    stage: Path,
    *,
    corpus: str,
    seed: int,
    existing: Existing,
) -> None:
    """Write a finished run folder with the files in ``stage``."""
    language = "en" if adopted.language == "any" else adopted.language
    settings = TrainSettings(
        data=DataSettings(name=corpus, language=language, reader=CorpusElsewhere()),
        model=adopted,
        seed=seed,
        run_dir=str(folder),
    )
    config = plain(settings)
    names = sorted(path.name for path in stage.iterdir())

    def move_files(place: Path) -> None:
        for name in names:
            shutil.move(stage / name, place / name)

    with claim(RunFolder(folder), config, existing=existing) as claimed:
        if claimed.is_done:
            return
        claimed.begin(config, move_files)
        claimed.finish({ADOPTED_RESULT: {"family": adopted.family}}, files=names)
