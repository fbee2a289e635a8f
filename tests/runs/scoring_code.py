"""The code that computes log probabilities, and numbers that it computes, as they were pinned.

``python -m tests.runs.scoring_code`` pins them anew. It refuses if numbers have changed and no
version was raised, because surprisals in users' stores would be mixed with other ones.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import sys
import tokenize
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from gardenpath.data.words.vocabulary import (
    SPECIALS,
    UNKNOWN,
    WORDS_VERSION,
    Vocabulary,
    build_vocabulary,
)
from gardenpath.eval.search.settings import SEARCH_VERSION, SearchSettings, Unbiased, WordSync
from gardenpath.models.family import FAMILIES, NeuralFamily
from gardenpath.models.ngram.model import train_ngram
from gardenpath.runs.computing import make_scorer
from gardenpath.runs.model import PIECES_VERSION
from tests.models.samples import make_split

ROOT = Path(__file__).parents[2]
PINNED = Path(__file__).with_name("scoring_code.json")

# The modules behind each version, and where it is raised.
MODULES: Mapping[str, tuple[str, ...]] = {
    "words": (
        "data/words/vocabulary.py", "data/words/pieces.py", "data/encoding.py",
        "data/batches/tokens.py", "data/sentence.py", "runs/computing.py",
    ),
    "search": ("eval/search/*.py",),
    "ngram": ("models/ngram/model.py",),
    "lstm, transformer": ("models/sequential/*.py", "models/output.py"),
    "rnng": (
        "models/syntactic/family.py", "models/syntactic/networks.py", "models/syntactic/rnng*.py",
        "models/search_states.py", "models/syntactic/*composition.py",
    ),
    "plm": ("models/syntactic/networks.py", "models/syntactic/plm*.py"),
    "arpa": ("models/ngram/arpa.py",),
    "grnn": ("adopted/grnn.py",),
}  # fmt: skip
PLACES = {"words": "WORDS_VERSION", "search": "SEARCH_VERSION"}

_SENTENCES = (("the", "cat", "sees"), ("the", "Zebras", "hear", "that", "cat"), ("cat",))
_NETWORKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "lstm": ("lstm", {"layers": 1, "hidden": 8, "embedding": 8}),
    "transformer": ("transformer", {"layers": 2, "hidden": 8, "heads": 2}),
    "rnng": ("rnng", {"layers": 1, "hidden": 8, "embedding": 8}),
    "rnng, all actions": ("rnng", {"layers": 1, "hidden": 8, "action_norm": "full"}),
    "rnng, in order": ("rnng", {"layers": 1, "hidden": 8, "strategy": "in_order"}),
    "rnng, attention": ("rnng", {"layers": 1, "hidden": 8, "composition": "attention"}),
    "plm": ("plm", {"layers": 2, "hidden": 8, "heads": 2}),
    "plm, mask": ("plm", {"layers": 2, "hidden": 8, "heads": 2, "structured_heads": True}),
    "lstm, factored": ("lstm", {"layers": 1, "hidden": 8, "embedding": 8, "output": "factored"}),
    "rnng, factored": ("rnng", {"layers": 1, "hidden": 8, "embedding": 8, "output": "factored"}),
    "plm, factored": ("plm", {"layers": 2, "hidden": 8, "heads": 2, "output": "factored"}),
}
_SEARCHES: Mapping[str, SearchSettings] = {
    "beam": WordSync(action_beam=12, word_beam=4),
    "published": WordSync(action_beam=12, word_beam=4, fast_track=1),
    "adaptive": WordSync(action_beam=12, word_beam=8, margin_bits=4.0),
    "unbiased": Unbiased(action_beam=12, word_beam=4, replicates=4),
}


def versions() -> dict[str, int]:
    """The versions in the key of stored log probabilities."""
    families = {name: family.scores_version for name, family in FAMILIES.items()}
    common = {"words": WORDS_VERSION, "search": SEARCH_VERSION, "pieces": PIECES_VERSION}
    return {**common, **families}


def code() -> dict[str, dict[str, str]]:
    """A hash of each module, without what cannot change a number."""
    return {
        name: {
            path.relative_to(ROOT / "src").as_posix(): _hash(path.read_text(encoding="utf-8"))
            for pattern in patterns
            for path in sorted((ROOT / "src").glob(pattern))
            if path.name != "__init__.py"
        }
        for name, patterns in MODULES.items()
    }


def essence(source: str) -> str:
    """The source without comments, docstrings, imports and white space."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT and lines[row - 1]:
            lines[row - 1] = lines[row - 1][:column]
    return "".join("".join(lines).split())


def _hash(source: str) -> str:
    return hashlib.sha256(essence(source).encode()).hexdigest()[:16]


def numbers() -> dict[str, list[list[float]]]:
    """Log probabilities of sentences under small models of words and of pieces."""
    counts = {(word, False): 3 for word in ("the", "cat", "sees", "hear", "that")}
    words = build_vocabulary(
        {**counts, ("Oddly", True): 1, ("oddly", False): 1}, labels=_LABELS, language="en",
        min_count=2,
    )  # fmt: skip
    pieces = Vocabulary(
        tokens=(*SPECIALS, "▁the", "▁c", "▁s", "▁", "at", "ees", "s"), counts=(1,) * 11,
        labels=_LABELS, language="en", min_count=1, subword_hash="given",
    )  # fmt: skip
    return {
        **_numbers(words, None),
        **{f"{name}, pieces": found for name, found in _numbers(pieces, _Letters()).items()},
    }


_LABELS = ("S", "NP", "VP")


class _Letters:
    """Splits some words of the sentences into pieces."""

    def encode(self, word: str, vocabulary: Vocabulary) -> list[int]:
        known = {"the": ["▁the"], "cat": ["▁c", "at"], "sees": ["▁s", "ees"]}
        found = known.get(word, ["▁", UNKNOWN, "s"])
        return [vocabulary.ids[piece] for piece in found]


def _numbers(vocabulary: Vocabulary, subwords: _Letters | None) -> dict[str, list[list[float]]]:
    size = len(vocabulary)
    split = make_split([[size - 1, size - 2, size - 3, size - 1], [size - 1, size - 2]])
    models: dict[str, tuple[str, Any]] = {
        "ngram": ("ngram", train_ngram(split, vocabulary_size=size, order=3))
    }
    for name, (family, network) in _NETWORKS.items():
        if subwords is not None and network.get("output") == "factored":
            continue  # is for whole words
        builder = FAMILIES[family]
        assert isinstance(builder, NeuralFamily)
        kind: Any = builder.settings
        settings = kind(name=name, network=type(kind(name=name).network)(**network))
        models[name] = (family, _filled(builder.build(settings, vocabulary)))
    found = {}
    for name, (family, model) in models.items():
        for kind, search in _SEARCHES.items():
            trained: Any = SimpleNamespace(
                network=lambda model=model: model, family=FAMILIES[family],
                vocabulary=vocabulary, subwords=subwords,
                boundary=None if subwords is None else "next",
            )  # fmt: skip
            scorer = make_scorer(trained, search, torch.device("cpu"), on_words=lambda _: None)
            scores = scorer.word_log_probs(_SENTENCES)
            found[f"{name}, {kind}"] = [np.round(one, 6).tolist() for one in scores]
    return found


def _filled(network: torch.nn.Module) -> torch.nn.Module:
    """Give a network weights that depend on nothing but their places."""
    with torch.no_grad():
        for number, (_, weight) in enumerate(sorted(network.named_parameters())):
            places = torch.arange(weight.numel(), dtype=torch.float64)
            weight.copy_((0.4 * torch.sin(1.3 * places + number)).reshape(weight.shape))
    return network.eval()


def differences(pinned: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names of models whose numbers have changed by more than rounding."""
    names = [*pinned["numbers"], *(one for one in now["numbers"] if one not in pinned["numbers"])]
    return [
        name for name in names if not _agree(pinned["numbers"].get(name), now["numbers"].get(name))
    ]


def _agree(one: list[list[float]] | None, other: list[list[float]] | None) -> bool:
    if one is None or other is None or [*map(len, one)] != [*map(len, other)]:
        return False
    pairs = zip(one, other, strict=True)
    return all(np.allclose(a, b, rtol=0, atol=1e-4, equal_nan=True) for a, b in pairs)


def state() -> dict[str, Any]:
    """All that is pinned."""
    return {"versions": versions(), "code": code(), "numbers": numbers()}


def pin() -> str | None:
    """Write the present state; why not, if numbers have changed without a new version."""
    now = state()
    if PINNED.exists():
        before = json.loads(PINNED.read_text(encoding="utf-8"))
        changed = [one for one in differences(before, now) if one in before["numbers"]]
        if changed and before["versions"] == now["versions"]:
            return f"numbers have changed ({'; '.join(changed)}): raise a version first"
    PINNED.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(pin())
