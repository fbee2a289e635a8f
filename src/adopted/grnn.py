"""Word-level LSTMs: reading their weights and words, the network, and the scores of words.

The models are those of PyTorch's example ``word_language_model``: an embedding (``encoder``), an
LSTM (``rnn``) and a linear layer (``decoder``), saved as a whole (Gulordava et al. 2018) or as the
dictionary of weights. :class:`GrnnFamily` reads the files of others once and opens the files that
it wrote; what is pickled is read by :mod:`gardenpath.adopted.pickles` alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.adopted.families import WORDS_FILE, GrnnSettings
from gardenpath.adopted.pickles import (
    CORPUS,
    DICTIONARY,
    MODELS_OF_WORDS,
    OTHER_NETWORKS,
    Array,
    PickledDict,
    PickledObject,
    PickledTensor,
    RefusedPickleError,
    TorchFile,
    open_torch_file,
)  # fmt: skip
from gardenpath.data.arrays import Floats
from gardenpath.data.readers.base import require_text
from gardenpath.data.sentence import PrefixTrie, tries_by_size
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, SPECIALS
from gardenpath.errors import DamagedRunError, GardenpathError, InputError
from gardenpath.models.sequential.networks import PrefixBatch
from gardenpath.models.syntactic.composition import stack_states
from gardenpath.models.weights import load_arrays
from gardenpath.safe_text import parse_json
from gardenpath.store.files import open_text
from gardenpath.store.run_folder import WEIGHTS_FILE

EMBEDDING_WEIGHT, OUTPUT_WEIGHT, OUTPUT_BIAS = "encoder.weight", "decoder.weight", "decoder.bias"

_LAYER = re.compile(r"rnn\.(?:weight|bias)_(?:ih|hh)_l([0-9]{1,2})")
_PICKLES = (".pt", ".pth", ".pkl", ".bin", ".ckpt")


def read_weights(path: Path) -> dict[str, Array]:
    """Return the weights of a model file in float32; tied ones only as those of the embedding."""
    if path.suffix == ".safetensors":
        try:
            weights = load_file(path)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, MemoryError) as error:
            raise InputError(f"cannot be read ({error})", path=path) from error
    else:
        with open_torch_file(path) as file:
            weights = _from_pickle(file)
    with np.errstate(over="ignore"):  # numbers beyond float32 are infinite, and refused
        weights = {name: np.asarray(array, dtype=np.float32) for name, array in weights.items()}
    if problem := _problem(weights):
        raise InputError(
            f"is not an LSTM of PyTorch's example word_language_model: {problem}", path=path
        )
    return weights


def _from_pickle(file: TorchFile) -> dict[str, Array]:
    tensors = _tensors(file.content)
    if tensors.get(OUTPUT_WEIGHT) == tensors.get(EMBEDDING_WEIGHT):
        tensors.pop(OUTPUT_WEIGHT, None)  # tied: both are the same view of the same data
    for name in tensors:
        if name not in (EMBEDDING_WEIGHT, OUTPUT_WEIGHT, OUTPUT_BIAS) and not _LAYER.fullmatch(
            name
        ):
            raise RefusedPickleError(f"it has weights of another network ({name[:50]!r})")
    return {name: file.array(tensor) for name, tensor in tensors.items()}


def _tensors(content: Any) -> dict[str, PickledTensor]:
    """Return the weights of a model by the names that PyTorch gives them."""
    if type(content) is PickledObject:
        if content.kind not in MODELS_OF_WORDS:
            raise RefusedPickleError(f"it is an object of {content.kind}, not a model of words")
        return dict(_of_module(content, "", 3))  # a model and its layers
    if type(content) is not PickledDict:
        raise RefusedPickleError("it contains neither a model nor its weights")
    named = content.named()
    # Names under which training scripts save the weights beside other values.
    for name in ("state_dict", "model_state_dict", "model"):
        if type(inner := named.get(name)) is PickledObject:
            return _tensors(inner)
        if type(inner) is PickledDict:
            named = inner.named()
            break
    tensors = {name: value for name, value in named.items() if type(value) is PickledTensor}
    if len(tensors) < len(named) or not tensors:
        raise RefusedPickleError("it is a dictionary, but not one of weights")
    if all(name.startswith("module.") for name in tensors):  # it was trained on several GPUs
        return {name.removeprefix("module."): tensor for name, tensor in tensors.items()}
    return tensors


def _of_module(module: PickledObject, prefix: str, depth: int) -> list[tuple[str, PickledTensor]]:
    if module.kind in OTHER_NETWORKS:
        raise RefusedPickleError(f"its network is a {module.kind.name}, not an LSTM")
    if module.attribute("max_norm") is not None:
        raise RefusedPickleError("its embeddings are normalised (max_norm)")
    for name in ("_forward_hooks", "_forward_pre_hooks"):
        if type(hooks := module.attribute(name)) is PickledDict and hooks.pairs:
            raise RefusedPickleError("functions are attached to it that change its results")
    if depth == 0:
        raise RefusedPickleError("its modules are nested")
    weights: list[tuple[str, PickledTensor]] = []
    for name, value in _entries(module, "_parameters").items():
        if type(value) is not PickledTensor:
            raise RefusedPickleError(f"{prefix + name!r} is not a tensor")
        weights.append((prefix + name, value))
    for name, value in _entries(module, "_modules").items():
        if type(value) is not PickledObject:
            raise RefusedPickleError(f"{prefix + name!r} is not a module")
        weights += _of_module(value, f"{prefix}{name}.", depth - 1)
    return weights


def _entries(module: PickledObject, name: str) -> dict[str, Any]:
    entries = module.attribute(name)
    return entries.named() if type(entries) is PickledDict else {}


def _layers_of(names: Iterable[str]) -> int:
    matches = map(_LAYER.fullmatch, names)
    return max((int(match[1]) + 1 for match in matches if match), default=0)


def _expected_shapes(weights: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    """Return the shapes that fit the embedding and the first layer; empty if these are missing."""
    embedding, first = weights.get(EMBEDDING_WEIGHT), weights.get("rnn.weight_hh_l0")
    if embedding is None or embedding.ndim != 2 or first is None or first.ndim != 2:
        return {}
    (words, width), hidden = embedding.shape, first.shape[1]
    shapes: dict[str, tuple[int, ...]] = {EMBEDDING_WEIGHT: (words, width), OUTPUT_BIAS: (words,)}
    for layer in range(_layers_of(weights)):
        shapes[f"rnn.weight_ih_l{layer}"] = (4 * hidden, hidden if layer else width)
        shapes[f"rnn.weight_hh_l{layer}"] = (4 * hidden, hidden)
        shapes[f"rnn.bias_ih_l{layer}"] = shapes[f"rnn.bias_hh_l{layer}"] = (4 * hidden,)
    if OUTPUT_WEIGHT in weights:
        shapes[OUTPUT_WEIGHT] = (words, hidden)
    return shapes if OUTPUT_WEIGHT in weights or width == hidden else {}


def _problem(weights: Mapping[str, Array]) -> str:
    """Say why these weights are not those of an LSTM; empty if they are."""
    wanted = _expected_shapes(weights)
    if not wanted:
        return "the weights of encoder, rnn or decoder are missing"
    for name in sorted(wanted.keys() | weights.keys()):
        shape = weights[name].shape if name in weights else None
        if shape != wanted.get(name):
            return f"{name[:50]} has the shape {shape}, expected {wanted.get(name)}"
    for name, array in weights.items():
        if not np.isfinite(array).all():
            return f"{name} contains values that are not finite"
    return ""


def read_vocabulary_words(path: Path, count: int) -> tuple[str, ...]:
    """Return the words of a vocabulary in the order of their numbers.

    The file has one word per line, or is the pickled corpus of PyTorch's example (``corpus.pt``).
    ``count`` is the number of words of the model.
    """
    words = _pickled_words(path) if path.suffix in _PICKLES else _listed_words(path)
    if len(words) != count:
        raise InputError(
            f"has {len(words)} words, but the model has {count}",
            path=path,
            remedy="name the vocabulary of this model with vocabulary=FILE",
        )
    word, occurrences = Counter(words).most_common(1)[0]
    if occurrences > 1:
        raise InputError(f"contains {word!r} twice", path=path)
    return words


def _listed_words(path: Path) -> tuple[str, ...]:
    require_text(path)
    words = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            # Blanks of Unicode can be parts of words.
            word = line.removeprefix("\ufeff" if number == 1 else "").rstrip("\r\n")
            if not word or " " in word or "\t" in word:
                raise InputError(f"expected one word, found {word[:50]!r}", path=path, line=number)
            words.append(word)
    return tuple(words)


def _pickled_words(path: Path) -> tuple[str, ...]:
    with open_torch_file(path) as file:
        content = file.content
        if type(content) is PickledObject and content.kind == CORPUS:
            content = content.attribute("dictionary")
        if type(content) is not PickledObject or content.kind != DICTIONARY:
            raise RefusedPickleError("it is not a corpus of PyTorch's example")
        words = content.attribute("idx2word")
        # Words must be texts that can be written to a file.
        if type(words) is not list or not all(
            type(word) is str and word and word.encode("utf-8", "ignore").decode() == word
            for word in words
        ):
            raise RefusedPickleError("its dictionary has no words")
        return tuple(words)


# ---- The network.

# Logits that are computed at a time; vocabularies have tens of thousands of words.
_MOST_LOGITS = 1 << 24


class WordLstm(nn.Module):
    """Embedding, LSTM and softmax over all words; tokens are the numbers of words."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        super().__init__()
        words, width = weights[EMBEDDING_WEIGHT].shape
        hidden = weights["rnn.weight_hh_l0"].shape[1]
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, hidden, num_layers=_layers_of(weights))
        self.decoder = nn.Linear(hidden, words)
        if OUTPUT_WEIGHT not in weights:
            self.decoder.weight = self.encoder.weight
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(torch.from_numpy(weights[name]))

    def prefix_states(self, tokens: Tensor, parents: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """``(prefixes, hidden)`` states after prefixes, shorter ones first.

        ``tokens`` are the last tokens of prefixes, ``parents`` the prefixes without them, and
        ``sizes`` the numbers of prefixes of each length. The first ones follow a zero state.
        """
        states: Tensor = self.encoder(tokens)
        for input_weight, weight, input_bias, bias in self.rnn.all_weights:
            inputs = functional.linear(states, input_weight, input_bias + bias)
            states = stack_states(inputs, weight, parents, sizes)
        return states

    def log_probs(self, states: Tensor, contexts: Tensor, targets: Tensor) -> Tensor:
        """``(predictions,)`` log probabilities of targets after states, given by their rows."""
        if not len(contexts):
            return states.new_empty(0)
        order = contexts.argsort()
        ordered = contexts[order]
        rows = max(1, _MOST_LOGITS // self.decoder.out_features)
        begins = range(0, int(ordered[-1]) + 1, rows)
        edges = torch.searchsorted(ordered, torch.tensor([*begins], device=contexts.device))
        places = [*edges.tolist(), len(contexts)]
        log_probs = states.new_empty(len(contexts))
        for begin, first, end in zip(begins, places[:-1], places[1:], strict=True):
            logits = self.decoder(states[begin : begin + rows])
            numbers = order[first:end]
            row = contexts[numbers] - begin
            log_probs[numbers] = logits[row, targets[numbers]] - logits.logsumexp(dim=1)[row]
        return log_probs


# ---- Scores of words.

# Distinct prefixes that are computed together.
_MOST_PREFIXES = 4096
# Tokens of a text that are computed together, from the state in which the last ones ended.
_TEXT_TOKENS = 512
# In prefix tries the words follow the special symbols.
_FIRST = len(SPECIALS)
_AGAIN = "copy the run folder again, or adopt the model again"


@dataclass(eq=False)
class GrnnLm:
    """An adopted word-level LSTM; its files are read when they are first needed."""

    folder: Path
    settings: GrnnSettings
    device: str = "cpu"
    on_words: Callable[[int], None] = lambda _: None

    @property
    def is_order_dependent(self) -> bool:
        """Whether the score of a sentence depends on the sentences before it."""
        return self.settings.state == "carry"

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end.

        With ``state=fresh``, the first word is not predicted, and its value is NaN. With
        ``state=carry``, the sentences are one text in this order.
        """
        if not sentences:
            return []
        _ = self._network  # before anything else: it must have these words
        numbers = [self._encode(words) for words in sentences]
        with torch.inference_mode():
            if self.is_order_dependent:
                return self._score_text(numbers)
            results: list[Floats] = [np.zeros(0)] * len(numbers)
            tokens = [np.array(ids, dtype=np.int32) + np.int32(_FIRST) for ids in numbers]
            for trie in tries_by_size(tokens, most=_MOST_PREFIXES):
                scores = self._score_trie(trie)
                for number, rows in zip(trie.numbers, trie.predictions, strict=True):
                    results[number] = scores[rows]
                self.on_words(int(trie.lengths.sum()))
        return results

    def knows(self, word: str) -> bool:
        """Whether the vocabulary contains the word, in this case."""
        return word in self._ids and word not in (self.settings.eos, self.settings.unknown)

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return each word, or the symbol of unknown words for it."""
        return [word if self.knows(word) else self.settings.unknown for word in words]

    def _encode(self, words: Sequence[str]) -> list[int]:
        seen = self.seen_as(words)
        if self.settings.unknown not in self._ids and self.settings.unknown in seen:
            word = words[seen.index(self.settings.unknown)]
            raise GardenpathError(
                f"{self.folder}: the model does not know {word!r}, and its vocabulary has no "
                f"symbol {self.settings.unknown} for unknown words; name the symbol with "
                "model.network.unknown= when you adopt the model"
            )
        return [self._ids[word] for word in seen]

    def _score_trie(self, trie: PrefixTrie) -> Floats:
        """``(predictions,)`` log probabilities of a trie."""
        batch = PrefixBatch.of(trie).to(self.device)
        eos = self._ids[self.settings.eos]
        tokens, targets = batch.tokens - _FIRST, batch.targets - _FIRST
        tokens[batch.tokens == BEGIN_ID] = eos
        targets[batch.targets == END_ID] = eos
        network = self._network
        if self.settings.state == "eos":
            states = network.prefix_states(tokens, batch.parents, batch.sizes)
            return _on_host(network.log_probs(states, batch.contexts, targets))
        # Without a symbol before it, nothing predicts the first word: row 0 has no state.
        log_probs = torch.full(targets.shape, torch.nan, dtype=network.decoder.weight.dtype)
        is_later = batch.contexts > 0
        if is_later.any():
            states = network.prefix_states(tokens[1:], batch.parents[1:] - 1, batch.sizes[1:])
            later = network.log_probs(states, batch.contexts[is_later] - 1, targets[is_later])
            log_probs[is_later.cpu()] = later.cpu()
        return _on_host(log_probs)

    def _score_text(self, sentences: Sequence[Sequence[int]]) -> list[Floats]:
        """Score all sentences as one text, separated by the end symbol, which begins it."""
        eos = self._ids[self.settings.eos]
        text = [eos, *(token for sentence in sentences for token in (*sentence, eos))]
        tokens = torch.tensor(text, device=self.device)
        network, state = self._network, None
        scores = []
        for begin in range(0, len(text) - 1, _TEXT_TOKENS):
            inputs, targets = tokens[:-1][begin:][:_TEXT_TOKENS], tokens[1:][begin:][:_TEXT_TOKENS]
            states, state = network.rnn(network.encoder(inputs), state)
            rows = torch.arange(len(inputs), device=self.device)
            scores.append(_on_host(network.log_probs(states, rows, targets)))
            self.on_words(int((targets != eos).sum()))
        ends = np.cumsum([len(sentence) + 1 for sentence in sentences])
        return np.split(np.concatenate(scores), ends[:-1])

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        path = self.folder / WORDS_FILE
        try:
            words = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DamagedRunError(f"{path}: cannot be read ({error}); {_AGAIN}") from error
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise DamagedRunError(f"{path}: is not a list of words; {_AGAIN}")
        ids = {word: number for number, word in enumerate(words)}
        if len(ids) != len(words) or self.settings.eos not in ids:
            raise DamagedRunError(f"{path}: a word is missing or occurs twice; {_AGAIN}")
        return ids

    @cached_property
    def _network(self) -> WordLstm:
        path = self.folder / WEIGHTS_FILE
        weights = load_arrays(path)
        shapes = {name: array.shape for name, array in weights.items()}
        is_single = all(array.dtype == np.float32 for array in weights.values())
        if not is_single or not shapes or shapes != _expected_shapes(weights):
            raise DamagedRunError(f"{path}: are not the weights of an LSTM; {_AGAIN}")
        if len(weights[EMBEDDING_WEIGHT]) != len(self._ids):
            raise DamagedRunError(
                f"{path}: the model has {len(weights[EMBEDDING_WEIGHT])} words, but {WORDS_FILE} "
                f"next to it has {len(self._ids)}; {_AGAIN}"
            )
        return WordLstm(weights).to(self.device).eval()


def _on_host(values: Tensor) -> Floats:
    on_host: Floats = values.double().cpu().numpy()
    return on_host
