"""Read the files of a word-level LSTM: the weights of a PyTorch model, and its vocabulary.

The models are those of PyTorch's example ``word_language_model``: an embedding (``encoder``), an
LSTM (``rnn``) and a linear layer (``decoder``), saved as a whole (Gulordava et al. 2018) or as the
dictionary of weights.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from gardenpath.data.file_kinds import require_text
from gardenpath.errors import InputError
from gardenpath.models.word_lm.pickled import (
    CORPUS,
    DICTIONARY,
    MODELS_OF_WORDS,
    OTHER_NETWORKS,
    PickledDict,
    PickledObject,
    PickledTensor,
    RefusedPickleError,
)
from gardenpath.models.word_lm.torch_files import Array, TorchFile, open_torch_file
from gardenpath.store.files import open_text

EMBEDDING_WEIGHT, OUTPUT_WEIGHT, OUTPUT_BIAS = "encoder.weight", "decoder.weight", "decoder.bias"

# Names under which training scripts save the weights beside other values.
_NESTED = ("state_dict", "model_state_dict", "model")
# A model that was trained on several GPUs has this before all names.
_PARALLEL = "module."
_LAYER = re.compile(r"rnn\.(?:weight|bias)_(?:ih|hh)_l([0-9]{1,2})")
# Functions that PyTorch calls with the inputs and outputs of a module.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
# Modules of modules: a model and its layers.
_DEPTH = 3
_PICKLES = (".pt", ".pth", ".pkl", ".bin", ".ckpt")


def read_weights(path: Path) -> dict[str, Array]:
    """Return the weights of a model file in float32; tied ones only as those of the embedding."""
    if path.suffix == ".safetensors":
        weights = _from_safetensors(path)
    else:
        with open_torch_file(path) as file:
            weights = _from_pickle(file)
    with np.errstate(over="ignore"):  # numbers beyond float32 are infinite, and refused
        weights = {name: np.asarray(array, dtype=np.float32) for name, array in weights.items()}
    problem = _problem(weights)
    if problem:
        raise InputError(
            f"is not an LSTM of PyTorch's example word_language_model: {problem}", path=path
        )
    return weights


def _from_safetensors(path: Path) -> dict[str, Array]:
    try:
        return load_file(path)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, MemoryError) as error:
        raise InputError(f"cannot be read ({error})", path=path) from error


def _from_pickle(file: TorchFile) -> dict[str, Array]:
    tensors = _tensors(file.content)
    if tensors.get(OUTPUT_WEIGHT) == tensors.get(EMBEDDING_WEIGHT):
        tensors.pop(OUTPUT_WEIGHT, None)  # tied: both are the same view of the same data
    if wrong := [name for name in tensors if not _is_weight(name)]:
        raise RefusedPickleError(f"it has weights of another network ({wrong[0][:50]!r})")
    return {name: file.array(tensor) for name, tensor in tensors.items()}


def _tensors(content: Any) -> dict[str, PickledTensor]:
    """Return the weights of a model by the names that PyTorch gives them."""
    if type(content) is PickledObject:
        if content.kind not in MODELS_OF_WORDS:
            raise RefusedPickleError(f"it is an object of {content.kind}, not a model of words")
        return dict(_of_module(content, "", _DEPTH))
    if type(content) is not PickledDict:
        raise RefusedPickleError("it contains neither a model nor its weights")
    named = content.named()
    for name in _NESTED:
        if type(inner := named.get(name)) in (PickledDict, PickledObject):
            return _tensors_of_dict(inner) if type(inner) is PickledDict else _tensors(inner)
    return _tensors_of_dict(content)


def _tensors_of_dict(content: PickledDict) -> dict[str, PickledTensor]:
    named = content.named()
    found = {name: value for name, value in named.items() if type(value) is PickledTensor}
    if len(found) < len(named) or not found:
        raise RefusedPickleError("it is a dictionary, but not one of weights")
    is_parallel = all(name.startswith(_PARALLEL) for name in found)
    return {name.removeprefix(_PARALLEL) if is_parallel else name: t for name, t in found.items()}


def _of_module(module: PickledObject, prefix: str, depth: int) -> list[tuple[str, PickledTensor]]:
    if module.kind in OTHER_NETWORKS:
        raise RefusedPickleError(f"its network is a {module.kind.name}, not an LSTM")
    if module.attribute("max_norm") is not None:
        raise RefusedPickleError("its embeddings are normalised (max_norm)")
    if any(type(hooks := module.attribute(n)) is PickledDict and hooks.pairs for n in _HOOKS):
        raise RefusedPickleError("functions are attached to it that change its results")
    if depth == 0:
        raise RefusedPickleError("its modules are nested")
    found: list[tuple[str, PickledTensor]] = []
    for name, value in _entries(module, "_parameters").items():
        if type(value) is not PickledTensor:
            raise RefusedPickleError(f"{prefix + name!r} is not a tensor")
        found.append((prefix + name, value))
    for name, value in _entries(module, "_modules").items():
        if type(value) is not PickledObject:
            raise RefusedPickleError(f"{prefix + name!r} is not a module")
        found += _of_module(value, f"{prefix}{name}.", depth - 1)
    return found


def _entries(module: PickledObject, name: str) -> dict[str, Any]:
    entries = module.attribute(name)
    return entries.named() if type(entries) is PickledDict else {}


def _is_weight(name: str) -> bool:
    is_layer = _LAYER.fullmatch(name) is not None
    return is_layer or name in (EMBEDDING_WEIGHT, OUTPUT_WEIGHT, OUTPUT_BIAS)


def layers_of(names: Sequence[str]) -> int:
    """Return the number of layers of an LSTM from the names of its weights."""
    found = (_LAYER.fullmatch(name) for name in names)
    return max((int(match[1]) + 1 for match in found if match), default=0)


def expected_shapes(weights: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    """Return the shapes that fit the embedding and the first layer; empty if these are missing."""
    embedding, first = weights.get(EMBEDDING_WEIGHT), weights.get("rnn.weight_hh_l0")
    if embedding is None or embedding.ndim != 2 or first is None or first.ndim != 2:
        return {}
    (words, width), hidden = embedding.shape, first.shape[1]
    shapes: dict[str, tuple[int, ...]] = {EMBEDDING_WEIGHT: (words, width), OUTPUT_BIAS: (words,)}
    for layer in range(layers_of(list(weights))):
        shapes[f"rnn.weight_ih_l{layer}"] = (4 * hidden, hidden if layer else width)
        shapes[f"rnn.weight_hh_l{layer}"] = (4 * hidden, hidden)
        shapes[f"rnn.bias_ih_l{layer}"] = shapes[f"rnn.bias_hh_l{layer}"] = (4 * hidden,)
    if OUTPUT_WEIGHT in weights:
        shapes[OUTPUT_WEIGHT] = (words, hidden)
    return shapes if OUTPUT_WEIGHT in weights or width == hidden else {}


def _problem(weights: Mapping[str, Array]) -> str:
    """Say why these weights are not those of an LSTM; empty if they are."""
    wanted = expected_shapes(weights)
    if not wanted:
        return "the weights of encoder, rnn or decoder are missing"
    for name in sorted(wanted.keys() | weights.keys()):
        found = weights[name].shape if name in weights else None
        if found != wanted.get(name):
            return f"{name[:50]} has the shape {found}, expected {wanted.get(name)}"
    if wrong := [name for name, array in weights.items() if not np.isfinite(array).all()]:
        return f"{wrong[0]} contains values that are not finite"
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
        found = file.content
        if type(found) is PickledObject and found.kind == CORPUS:
            found = found.attribute("dictionary")
        if type(found) is not PickledObject or found.kind != DICTIONARY:
            raise RefusedPickleError("it is not a corpus of PyTorch's example")
        words = found.attribute("idx2word")
        if type(words) is not list or not all(_is_word(word) for word in words):
            raise RefusedPickleError("its dictionary has no words")
        return tuple(words)


def _is_word(word: Any) -> bool:
    """Whether a value is a text that can be written to a file."""
    return type(word) is str and word != "" and word.encode("utf-8", "ignore").decode() == word
