"""Word-level LSTMs as others train and save them: a class RNNModel of a module called model."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gardenpath.data.arrays import Floats

WORDS = ("the", "<eos>", "cat", "sees", "<unk>", "The", "dogs", "que\u00a0", "<s>", "狗", ".")


class RNNModel(nn.Module):
    """Has the layers and attributes of the published models."""

    def __init__(
        self, words: int, width: int = 6, hidden: int = 6, layers: int = 2, *, tied: bool = False
    ) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, hidden, layers, dropout=0.2 if layers > 1 else 0.0)
        self.decoder = nn.Linear(hidden, words)
        if tied:
            self.decoder.weight = self.encoder.weight
        self.rnn_type, self.nhid, self.nlayers = "LSTM", hidden, layers

    def forward(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        states, state = self.rnn(self.drop(self.encoder(tokens)), state)
        return self.decoder(self.drop(states)), state


class Dictionary:
    """The vocabulary of PyTorch's example."""

    def __init__(self, words: Sequence[str]) -> None:
        self.idx2word = list(words)
        self.word2idx = {word: number for number, word in enumerate(words)}


class Corpus:
    """The corpus of PyTorch's example: a vocabulary and numbers."""

    def __init__(self, words: Sequence[str]) -> None:
        self.dictionary = Dictionary(words)
        self.train = torch.arange(20)


_HOMES = {RNNModel: "model", Dictionary: "data", Corpus: "data"}


@contextmanager
def as_published() -> Iterator[None]:
    """Let these classes be those of scripts called model.py and data.py."""
    before = {kind: kind.__module__ for kind in _HOMES}
    modules = {name: sys.modules.get(name) for name in _HOMES.values()}
    for kind, home in _HOMES.items():
        module = sys.modules.setdefault(home, ModuleType(home))
        setattr(module, kind.__name__, kind)
        kind.__module__ = home
    try:
        yield
    finally:
        for kind, home in before.items():
            kind.__module__ = home
        for name in {name for name, module in modules.items() if module is None}:
            del sys.modules[name]


def make_model(seed: int, words: int = len(WORDS), **shape: Any) -> RNNModel:
    """A model with random weights, large enough for its predictions to differ."""
    torch.manual_seed(seed)
    model = RNNModel(words, **shape)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.8)
    return model.eval()


def save(value: Any, path: Path, *, is_zip: bool = True, **options: Any) -> Path:
    """``torch.save`` as in the environment in which models are trained."""
    with as_published():
        torch.save(value, path, _use_new_zipfile_serialization=is_zip, **options)
    return path


def write_vocabulary(path: Path, words: Sequence[str] = WORDS) -> Path:
    """One word per line."""
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    return path


def step_by_step(
    model: RNNModel, sentences: Sequence[Sequence[str]], state: str, words: Sequence[str] = WORDS
) -> list[Floats]:
    """Log probabilities by running the module itself, one word at a time, in float64."""
    network = RNNModel(
        len(words), model.encoder.embedding_dim, model.nhid, model.nlayers,
        tied=model.decoder.weight is model.encoder.weight,
    )  # fmt: skip
    network.load_state_dict(model.state_dict())
    network = network.double().eval()
    ids = {word: number for number, word in enumerate(words)}
    eos, special = ids["<eos>"], {"<eos>", "<unk>"}
    results: list[Floats] = []
    memory: Any = None
    before: int | None = None
    with torch.no_grad():
        for sentence in sentences:
            if state != "carry":
                memory, before = None, None if state == "fresh" else eos
            elif before is None:
                before = eos
            found = []
            for token in [*(ids[w if w in ids and w not in special else "<unk>"] for w in sentence),
                          eos]:  # fmt: skip
                if before is None:
                    found.append(np.nan)
                else:
                    logits, memory = network(torch.tensor([[before]]), memory)
                    found.append(float(logits[0, 0].log_softmax(dim=0)[token]))
                before = token
            results.append(np.array(found))
    return results
