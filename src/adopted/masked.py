"""The files of a masked language model, which are compared with their checksums.

Only files that are listed here, and so have checksums, are loaded.
"""

from __future__ import annotations

import bisect
import functools
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from gardenpath.adopted import checkpoints
from gardenpath.adopted.checkpoints import reading, require_transformers
from gardenpath.adopted.families import MaskedSettings, Pll, Unscorable
from gardenpath.data.arrays import Floats
from gardenpath.data.words.pieces import Spacing, joined_words
from gardenpath.data.words.vocabulary import UNKNOWN
from gardenpath.errors import GardenpathError, InputError
from gardenpath.util import Words


@dataclass(frozen=True, kw_only=True)
class MaskedFiles:
    """Where the files of a model are; ``revision`` is the commit of a model of the hub."""

    source: str
    revision: str | None
    folder: Path
    paths: Mapping[str, Path]

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file."""
        return checkpoints.checksums(self.folder)


def find_masked(source: str, revision: str | None = None) -> MaskedFiles:
    """Find the files of a model in a folder, or on the hub; refuse what could run code."""
    folder = checkpoints.find_folder(source, revision)
    is_here = Path(source).expanduser().is_dir()
    return MaskedFiles(
        source=str(folder) if is_here else source,
        # The folders of the hub's cache are named after commits.
        revision=None if is_here else folder.name,
        folder=folder,
        paths=checkpoints.model_files(folder),
    )


def verified_masked(settings: MaskedSettings) -> MaskedFiles:
    """Return the files of an adopted model, which must be those that were adopted."""
    found = find_masked(settings.source, settings.revision)
    checkpoints.verify(found.folder, settings.files)
    return found


# ----------------------------------------------------------------------------
# Load the network and the tokeniser of a masked language model with the library transformers.


_PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}


def load_masked_tokenizer(files: MaskedFiles) -> Any:
    """Return the tokeniser of a model; it must know which characters its tokens stand for."""
    require_transformers()
    from transformers import AutoTokenizer

    with _only(files) as folder, reading(files.folder):
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    if not tokenizer.is_fast:
        raise InputError("its tokeniser does not align tokens with text", path=files.source)
    if tokenizer.mask_token_id is None:
        raise InputError(
            "its tokeniser has no mask token, so it is not a masked language model",
            path=files.source,
            remedy="models that predict the next word are adopted with model=hf",
        )
    _require_special_tokens(tokenizer, files)
    return tokenizer


def load_masked_network(files: MaskedFiles, precision: Literal["fp32", "bf16"]) -> nn.Module:
    """Return the network of a model, in evaluation mode; all its weights must be in the files."""
    require_transformers()
    from transformers import AutoConfig, AutoModelForMaskedLM

    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with _only(files) as folder, reading(files.folder):
        config = AutoConfig.from_pretrained(folder, **options)
        _require_encoder(config, files)
        network, report = AutoModelForMaskedLM.from_pretrained(
            folder,
            config=config,
            use_safetensors=True,
            dtype=_PRECISIONS[precision],
            output_loading_info=True,
            **options,
        )
    # Weights that are not in the files would be random, and the numbers would look plausible.
    if absent := sorted({*report["missing_keys"], *map(str, report["mismatched_keys"])}):
        raise InputError(
            f"lacks weights of a masked language model: {', '.join(absent[:5])}",
            path=files.source,
            remedy="choose the version with its prediction layer (…ForMaskedLM)",
        )
    result: nn.Module = network.eval()
    return result


def _require_encoder(config: Any, files: MaskedFiles) -> None:
    """Refuse models in which a position cannot attend to later ones, or that have two parts."""
    if getattr(config, "is_decoder", False) or getattr(config, "is_encoder_decoder", False):
        raise InputError(
            "is a decoder, or has one: it is not a masked language model of its whole input",
            path=files.source,
            remedy="models that predict the next word are adopted with model=hf",
        )


def _require_special_tokens(tokenizer: Any, files: MaskedFiles) -> None:
    """Refuse a tokeniser that knows tokens for the ends of a sentence but does not add them once.

    A masked language model that is given a sentence without them computes other numbers.
    """
    ids = tokenizer("a")["input_ids"]
    for name in ("cls", "sep"):
        number = getattr(tokenizer, f"{name}_token_id")
        if number is not None and ids.count(number) != _expected_count(tokenizer):
            raise InputError(
                f"its tokeniser does not add {getattr(tokenizer, f'{name}_token')} to a sentence "
                "exactly once",
                path=files.source,
                remedy="its tokenizer.json lacks a post-processor; save the tokeniser again",
            )


def _expected_count(tokenizer: Any) -> int:
    """Return how often a sentence has each of its end tokens: twice if both are the same."""
    return 2 if tokenizer.cls_token_id == tokenizer.sep_token_id else 1


@contextmanager
def _only(files: MaskedFiles) -> Iterator[Path]:
    """Yield a folder with links to the listed files, so that no others are read."""
    with tempfile.TemporaryDirectory(prefix="gardenpath.") as name:
        folder = Path(name)
        for one, path in files.paths.items():
            (folder / one).symlink_to(path.resolve())
        yield folder


# ----------------------------------------------------------------------------
# Which tokens of a masked language model belong to which word.
#
# Words are joined to a text, the text is divided into tokens as a whole, and a token belongs to
# the word that contains its characters.


@dataclass(frozen=True)
class WordTokens:
    """A sentence as tokens, special ones included.

    ``positions`` has, for each word, the positions of its tokens. ``problems`` says why words have
    no tokens of their own, by the number of the word.
    """

    ids: tuple[int, ...]
    positions: tuple[tuple[int, ...], ...]
    problems: Mapping[int, str]


def word_tokens(tokenizer: Any, words: Sequence[str], spacing: Spacing) -> WordTokens:
    """Divide a sentence into tokens, and assign them to its words.

    A sentence is refused if a word of it is a special token for the tokeniser all the same.
    """
    joined = joined_words(words, spacing)
    text, spans = joined.text, list(zip(joined.starts, joined.ends, strict=True))
    # Words that look like special tokens, such as [MASK], are text.
    found = tokenizer(
        text,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        split_special_tokens=True,
    )
    positions: list[list[int]] = [[] for _ in words]
    problems: dict[int, str] = {}
    offsets, specials = found["offset_mapping"], found["special_tokens_mask"]
    reserved = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    for place, ((start, end), is_special) in enumerate(zip(offsets, specials, strict=True)):
        if is_special:
            continue
        if found["input_ids"][place] in reserved:
            raise GardenpathError(
                f"{' '.join(words)[:100]!r}: contains {text[start:end]!r}, which is a special "
                "token of the model; leave the sentence out"
            )
        touched = _words_of(text, start, end, spans)
        for word in touched:
            positions[word].append(place)
        if len(touched) > 1:
            problem = f"the token {text[start:end]!r} belongs to several words"
            problems |= dict.fromkeys(touched, problem)
    for word, own in enumerate(positions):
        if not own:
            problems[word] = f"the tokeniser drops {words[word]!r}"
    return WordTokens(tuple(found["input_ids"]), tuple(map(tuple, positions)), problems)


def _words_of(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> range:
    """Return the words of the characters from ``start`` to ``end``, without blanks around them.

    A token without characters of its own, as one that only marks the beginning of a word, belongs
    to the word that follows.
    """
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    first = bisect.bisect_right(spans, start, key=lambda span: span[1])
    last = bisect.bisect_left(spans, max(end, start + 1), key=lambda span: span[0])
    return range(first, max(last, min(first + 1, len(spans))))


# ----------------------------------------------------------------------------
# Score words with masked language models: pseudo-log-likelihoods.
#
# Each token of a word is predicted with a mask in its place, from the tokens on both sides. The
# score of a word is the sum over its tokens of log p(token | other tokens), where other tokens of
# the same word are masked too, or not (:data:`Pll`). The sum over a sentence is its
# pseudo-log-likelihood, which is not the logarithm of a probability: the scores of all sentences
# do not add up to one.


# A prediction: tokens with masks, and the position of the token to predict.
_Row = tuple[tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The token whose log probability is part of the score of a word."""

    target: int
    sentence: Words
    word: int
    is_last: bool


class MaskedScorer:
    """Scores words with a masked language model; ``network`` is called when it is first needed.

    Predictions that several sentences share, such as those of a word that alone distinguishes two
    sentences, are computed once.
    """

    def __init__(
        self,
        tokenizer: Any,
        network: Callable[[], nn.Module],
        *,
        pll: Pll = "within_word_l2r",
        unscorable: Unscorable = "refuse",
        spacing: Spacing = "auto",
        max_batch_tokens: int = 4096,
        device: torch.device | str = "cpu",
        on_words: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._tokenizer = tokenizer
        self._load = network
        self._pll = pll
        self._unscorable = unscorable
        self._spacing: Spacing = spacing
        self._max_batch_tokens = max_batch_tokens
        self._device = torch.device(device)
        self._on_words = on_words

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the score (nats) of each word; that of the end is NaN."""
        asked = list(map(tuple, sentences))
        scores = {words: np.full(len(words) + 1, np.nan) for words in asked}
        rows: dict[_Row, list[_Asked]] = defaultdict(list)
        for words in scores:
            for row, one in self._predictions(words):
                rows[row].append(one)
                scores[words][one.word] = 0.0
        self._on_words(sum(int(np.isnan(score[:-1]).sum()) for score in scores.values()))
        for batch in self._batches(list(rows)):
            members = [(place, one) for place, row in enumerate(batch) for one in rows[row]]
            found = self._log_probs(batch, [(place, one.target) for place, one in members])
            for (_, one), value in zip(members, found, strict=True):
                scores[one.sentence][one.word] += value
            self._on_words(sum(one.is_last for _, one in members))
        return [scores[words].copy() for words in asked]

    def knows(self, word: str) -> bool:
        """Whether the word has no unknown token."""
        unknown = self._tokenizer.unk_token_id
        return unknown is None or unknown not in self._tokens((word,)).ids

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return the tokens of each word, separated by blanks."""
        found = self._tokens(tuple(words))
        names = [self._name(number) for number in found.ids]
        return [" ".join(names[place] for place in places) for places in found.positions]

    def _name(self, number: int) -> str:
        is_unknown = number == self._tokenizer.unk_token_id
        return UNKNOWN if is_unknown else str(self._tokenizer.convert_ids_to_tokens(number))

    def _tokens(self, words: Words) -> WordTokens:
        return word_tokens(self._tokenizer, words, self._spacing)

    def _predictions(self, words: Words) -> Iterator[tuple[_Row, _Asked]]:
        """Yield what has to be predicted for a sentence, in the order of its tokens."""
        tokens = self._tokens(words)
        if tokens.problems and self._unscorable == "refuse":
            raise GardenpathError(
                f"{_shown(words)}: {next(iter(tokens.problems.values()))}; leave out the values of "
                "such words with model.network.unscorable=missing, or choose another model"
            )
        self._require_room(words, len(tokens.ids))
        mask = self._tokenizer.mask_token_id
        for word, places in enumerate(tokens.positions):
            if word in tokens.problems:
                continue
            for number, place in enumerate(places):
                masked = list(tokens.ids)
                for other in self._masked_places(places, number):
                    masked[other] = mask
                is_last = number == len(places) - 1
                yield (tuple(masked), place), _Asked(tokens.ids[place], words, word, is_last)

    def _masked_places(self, places: Sequence[int], number: int) -> Sequence[int]:
        """Return the tokens of a word that are masked when one of them is predicted."""
        if self._pll == "whole_word":
            return places
        return places[number:] if self._pll == "within_word_l2r" else places[number : number + 1]

    def _require_room(self, words: Words, length: int) -> None:
        if length > self._longest:
            raise GardenpathError(
                f"{_shown(words)}: the sentence has {length} tokens with the special ones, but the "
                f"model reads at most {self._longest}; divide the sentence, or leave it out"
            )

    def _batches(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Divide predictions into batches of equal length, so that nothing is padded."""
        by_length: dict[int, list[_Row]] = defaultdict(list)
        for row in rows:
            by_length[len(row[0])].append(row)
        for length, members in sorted(by_length.items()):
            size = max(1, self._max_batch_tokens // length)
            for start in range(0, len(members), size):
                yield members[start : start + size]

    def _log_probs(self, rows: Sequence[_Row], wanted: Sequence[tuple[int, int]]) -> list[float]:
        """Return log probabilities, each of a token in one of the rows."""
        ids = torch.tensor([ids for ids, _ in rows], device=self._device)
        places = torch.tensor([place for _, place in rows], device=self._device)
        with torch.inference_mode():
            logits = _logits_at(self._network, ids, places)
            logits = logits if logits.dtype == torch.float64 else logits.float()
            chosen = torch.tensor(wanted, device=self._device)
            found = logits.log_softmax(-1)[chosen[:, 0], chosen[:, 1]]
        values: list[float] = found.double().cpu().tolist()
        return values

    @functools.cached_property
    def _network(self) -> nn.Module:
        return self._load().to(self._device).eval()

    @functools.cached_property
    def _longest(self) -> int:
        """Number of tokens that the model and its tokeniser allow."""
        config: Any = self._network.config
        limits = [
            getattr(config, "max_position_embeddings", None),
            self._tokenizer.model_max_length,
        ]
        for name, part in self._network.named_modules():
            if name.endswith("position_embeddings") and isinstance(part, nn.Embedding):
                # RoBERTa counts positions from the one after the padding's.
                before = 0 if part.padding_idx is None else part.padding_idx + 1
                limits.append(part.num_embeddings - before)
        # -1 stands for no limit.
        return min(int(limit) for limit in limits if limit > 0)


def _logits_at(network: Any, ids: Tensor, places: Tensor) -> Tensor:
    """``(rows, vocabulary)`` logits at one position of each row.

    With a large vocabulary, the output layer costs as much as all others together. So the layer is
    given one state of each row; a network without such a layer computes the logits of all.
    """
    rows, length = ids.shape
    select = torch.arange(rows, device=ids.device)

    def at_places(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        states = inputs[0]
        if states.shape[:-1] != (rows, length):
            return None
        return (states[select, places].unsqueeze(1), *inputs[1:])

    output = network.get_output_embeddings()
    hook = None if output is None else output.register_forward_pre_hook(at_places)
    try:
        logits: Tensor = network(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    finally:
        if hook is not None:
            hook.remove()
    return logits[:, 0] if logits.shape[1] == 1 else logits[select, places]


def _shown(words: Words) -> str:
    text = " ".join(words)
    return repr(text if len(text) <= 100 else f"{text[:100]}…")
