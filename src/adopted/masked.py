"""Masked language models: their networks, the tokens of each word, and scores of words.

Opened by :class:`MaskedFamily`. Only files that have checksums are loaded, and weights that are in
none of them, which would be random, are refused. Scores are pseudo-log-likelihoods: each token of a
word is predicted with a mask in its place, from the tokens on both sides. The score of a word is
the sum over its tokens of log p(token | other tokens), where other tokens of the same word are
masked too, or not (``Pll``). The sum over a sentence is not the logarithm of a probability: the
scores of all sentences do not add up to one.
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
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gardenpath.adopted.families import SAFELY, MaskedSettings, model_files, reading
from gardenpath.data.arrays import Floats
from gardenpath.data.words.pieces import Spacing, joined_words
from gardenpath.data.words.vocabulary import UNKNOWN
from gardenpath.errors import GardenpathError, InputError
from gardenpath.util import Words

# ---- Loading.


def load_tokenizer(settings: MaskedSettings, folder: Path) -> Any:
    """Return the tokeniser of a model; it must know which characters its tokens stand for."""
    from transformers import AutoTokenizer

    with _only_listed(folder) as listed, reading(folder):
        tokenizer = AutoTokenizer.from_pretrained(listed, **SAFELY)
    if not tokenizer.is_fast:
        raise InputError("its tokeniser does not align tokens with text", path=settings.source)
    if tokenizer.mask_token_id is None:
        raise InputError(
            "its tokeniser has no mask token, so it is not a masked language model",
            path=settings.source,
            remedy="models that predict the next word are adopted with model=hf",
        )
    # A model that is given a sentence without the tokens for its ends computes other numbers.
    ids = tokenizer("a")["input_ids"]
    times = 2 if tokenizer.cls_token_id == tokenizer.sep_token_id else 1
    for name in ("cls", "sep"):
        number = getattr(tokenizer, f"{name}_token_id")
        if number is not None and ids.count(number) != times:
            raise InputError(
                f"its tokeniser does not add {getattr(tokenizer, f'{name}_token')} to a sentence "
                "exactly once",
                path=settings.source,
                remedy="its tokenizer.json lacks a post-processor; save the tokeniser again",
            )
    return tokenizer


def load_network(settings: MaskedSettings, folder: Path) -> nn.Module:
    """Return the network of a model, in evaluation mode; all its weights must be in the files."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    with _only_listed(folder) as listed, reading(folder):
        config = AutoConfig.from_pretrained(listed, **SAFELY)
        # In these, a position cannot attend to later ones, or there are two parts.
        if getattr(config, "is_decoder", False) or getattr(config, "is_encoder_decoder", False):
            raise InputError(
                "is a decoder, or has one: it is not a masked language model of its whole input",
                path=settings.source,
                remedy="models that predict the next word are adopted with model=hf",
            )
        network, report = AutoModelForMaskedLM.from_pretrained(
            listed,
            config=config,
            use_safetensors=True,
            dtype={"fp32": torch.float32, "bf16": torch.bfloat16}[settings.precision],
            output_loading_info=True,
            **SAFELY,
        )
    # Weights that are not in the files would be random, and the numbers would look plausible.
    if absent := sorted({*report["missing_keys"], *map(str, report["mismatched_keys"])}):
        raise InputError(
            f"lacks weights of a masked language model: {', '.join(absent[:5])}",
            path=settings.source,
            remedy="choose the version with its prediction layer (…ForMaskedLM)",
        )
    result: nn.Module = network.eval()
    return result


@contextmanager
def _only_listed(folder: Path) -> Iterator[Path]:
    """Yield a folder with links to the files that have checksums, so that no others are read."""
    with tempfile.TemporaryDirectory(prefix="gardenpath.") as name:
        for file_name, path in model_files(folder).items():
            (Path(name) / file_name).symlink_to(path.resolve())
        yield Path(name)


# ---- Words are joined to a text, the text is divided into tokens as a whole, and a token belongs
# to the word that contains its characters.


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
    encoded = tokenizer(
        text,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        split_special_tokens=True,
    )
    positions: list[list[int]] = [[] for _ in words]
    problems: dict[int, str] = {}
    offsets, specials = encoded["offset_mapping"], encoded["special_tokens_mask"]
    reserved = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    for place, ((start, end), is_special) in enumerate(zip(offsets, specials, strict=True)):
        if is_special:
            continue
        if encoded["input_ids"][place] in reserved:
            raise GardenpathError(
                f"{' '.join(words)[:100]!r}: contains {text[start:end]!r}, which is a special "
                "token of the model; leave the sentence out"
            )
        touched = _words_of(text, start, end, spans)
        for word in touched:
            positions[word].append(place)
            if len(touched) > 1:
                problems[word] = f"the token {text[start:end]!r} belongs to several words"
    for word, own in enumerate(positions):
        if not own:
            problems[word] = f"the tokeniser drops {words[word]!r}"
    return WordTokens(tuple(encoded["input_ids"]), tuple(map(tuple, positions)), problems)


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


# ---- Scores.

# A prediction: tokens with masks, and the position of the token to predict.
_Row = tuple[tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class _Target:
    """The token whose log probability is part of the score of a word."""

    token: int
    sentence: Words
    word: int
    is_last: bool


@dataclass(eq=False)
class MaskedScorer:
    """Scores words with a masked language model; ``load`` is called when it is first needed.

    Predictions that several sentences share, such as those of a word that alone distinguishes two
    sentences, are computed once.
    """

    tokenizer: Any
    load: Callable[[], nn.Module]
    settings: MaskedSettings
    device: str = "cpu"
    on_words: Callable[[int], None] = lambda _: None

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the score (nats) of each word; that of the end is NaN."""
        wanted = list(map(tuple, sentences))
        scores = {words: np.full(len(words) + 1, np.nan) for words in wanted}
        rows: dict[_Row, list[_Target]] = defaultdict(list)
        for words in scores:
            for row, target in self._predictions(words):
                rows[row].append(target)
                scores[words][target.word] = 0.0
        self.on_words(sum(int(np.isnan(score[:-1]).sum()) for score in scores.values()))
        for batch in self._batches(list(rows)):
            members = [(place, target) for place, row in enumerate(batch) for target in rows[row]]
            log_probs = self._log_probs(batch, [(place, each.token) for place, each in members])
            for (_, target), log_prob in zip(members, log_probs, strict=True):
                scores[target.sentence][target.word] += log_prob
            self.on_words(sum(target.is_last for _, target in members))
        return [scores[words].copy() for words in wanted]

    def knows(self, word: str) -> bool:
        """Whether the word has no unknown token."""
        unknown = self.tokenizer.unk_token_id
        return unknown is None or unknown not in self._tokens((word,)).ids

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return the tokens of each word, separated by blanks."""
        tokens = self._tokens(words)
        unknown, name = self.tokenizer.unk_token_id, self.tokenizer.convert_ids_to_tokens
        names = [UNKNOWN if token == unknown else str(name(token)) for token in tokens.ids]
        return [" ".join(names[place] for place in places) for places in tokens.positions]

    def _tokens(self, words: Sequence[str]) -> WordTokens:
        return word_tokens(self.tokenizer, words, self.settings.spacing)

    def _predictions(self, words: Words) -> Iterator[tuple[_Row, _Target]]:
        """Yield what has to be predicted for a sentence, in the order of its tokens."""
        tokens = self._tokens(words)
        text = " ".join(words)
        shown = repr(text if len(text) <= 100 else f"{text[:100]}…")
        if tokens.problems and self.settings.unscorable == "refuse":
            raise GardenpathError(
                f"{shown}: {next(iter(tokens.problems.values()))}; leave out the values of "
                "such words with model.network.unscorable=missing, or choose another model"
            )
        if len(tokens.ids) > self._longest:
            raise GardenpathError(
                f"{shown}: the sentence has {len(tokens.ids)} tokens with the special ones, but "
                f"the model reads at most {self._longest}; divide the sentence, or leave it out"
            )
        mask = self.tokenizer.mask_token_id
        for word, places in enumerate(tokens.positions):
            if word in tokens.problems:
                continue
            for number, place in enumerate(places):
                masked_places = {
                    "original": places[number : number + 1],
                    "within_word_l2r": places[number:],
                    "whole_word": places,
                }[self.settings.pll]
                masked = list(tokens.ids)
                for other in masked_places:
                    masked[other] = mask
                is_last = place == places[-1]
                yield (tuple(masked), place), _Target(tokens.ids[place], words, word, is_last)

    def _batches(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Divide predictions into batches of equal length, so that nothing is padded."""
        by_length: dict[int, list[_Row]] = defaultdict(list)
        for row in rows:
            by_length[len(row[0])].append(row)
        for length, members in sorted(by_length.items()):
            size = max(1, self.settings.max_batch_tokens // length)
            for start in range(0, len(members), size):
                yield members[start : start + size]

    def _log_probs(self, rows: Sequence[_Row], wanted: Sequence[tuple[int, int]]) -> list[float]:
        """Return log probabilities, each of a token in one of the rows."""
        ids = torch.tensor([ids for ids, _ in rows], device=self.device)
        places = torch.tensor([place for _, place in rows], device=self.device)
        with torch.inference_mode():
            logits = _logits_at(self._network, ids, places)
            logits = logits if logits.dtype == torch.float64 else logits.float()
            chosen = torch.tensor(wanted, device=self.device)
            log_probs = logits.log_softmax(-1)[chosen[:, 0], chosen[:, 1]]
        values: list[float] = log_probs.double().cpu().tolist()
        return values

    @functools.cached_property
    def _network(self) -> nn.Module:
        return self.load().to(self.device).eval()

    @functools.cached_property
    def _longest(self) -> int:
        """Number of tokens that the model and its tokeniser allow."""
        config: Any = self._network.config
        own = getattr(config, "max_position_embeddings", None)
        limits = [own, self.tokenizer.model_max_length]
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
