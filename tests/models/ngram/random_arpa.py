"""Random ARPA files, with and without what SRILM, KenLM and others write differently."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Gram = tuple[str, ...]

# Blanks of Unicode are part of words; only tabs, ASCII blanks and ends of lines separate them.
WORDS = (
    "the",
    "cat",
    "狗",
    "a\u3000b",
    "x\u00a0y",
    "p\u2028q",
    "n\u0085m",
    "u\x1cv",
    "-1.5",
    "Unk",
)


@dataclass
class RandomArpa:
    """N-grams with arbitrary probabilities and backoff weights (log10)."""

    order: int
    unknown: str | None = "<unk>"
    grams: list[dict[Gram, tuple[float, float]]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The file; the highest order has no backoff weights, and zero ones are left out."""
        lines = ["\\data\\", *(f"ngram {k}={len(g)}" for k, g in enumerate(self.grams, start=1))]
        for order, grams in enumerate(self.grams, start=1):
            lines += ["", f"\\{order}-grams:"]
            for gram, (prob, backoff) in grams.items():
                weight = f"\t{backoff:.6f}" if backoff and order < self.order else ""
                lines.append(f"{prob:.6f}\t{' '.join(gram)}{weight}")
        return "\n".join([*lines, "", "\\end\\", ""])

    def without(self, word: str) -> RandomArpa:
        """The same model without all n-grams that contain a word."""
        kept = [{g: v for g, v in grams.items() if word not in g} for grams in self.grams]
        return RandomArpa(self.order, self.unknown, kept)

    def log10_prob(self, word: str, history: Gram) -> float:
        """The probability of a word after a history, by the definition of backing off."""
        for begin in range(max(len(history) - self.order + 1, 0), len(history) + 1):
            context = history[begin:]
            if (listed := self.grams[len(context)].get((*context, word))) is not None:
                shorter = [history[n:] for n in range(max(len(history) - self.order + 1, 0), begin)]
                return listed[0] + sum(self._backoff(one) for one in shorter)
        return -np.inf

    def _backoff(self, context: Gram) -> float:
        return self.grams[len(context) - 1].get(context, (0.0, 0.0))[1]


def random_arpa(
    seed: int,
    *,
    order: int,
    unknown: str | None = "<unk>",
    pruned: float = 0.0,
    keeps_contexts: bool = False,
    count: int = 120,
) -> RandomArpa:
    """N-grams of random sentences; a share ``pruned`` of those of middle orders is missing.

    With ``keeps_contexts``, none is missing that begins a longer one.
    """
    rng = np.random.default_rng(seed)
    arpa = RandomArpa(order, unknown, [{} for _ in range(order)])
    words = [*WORDS, *([unknown] if unknown else [])]
    for special in ("<s>", "</s>", *words):
        arpa.grams[0][special,] = _values(rng)
    arpa.grams[0]["<s>",] = (-99.0, arpa.grams[0]["<s>",][1])
    for _ in range(count):
        inner = [words[n] for n in rng.integers(len(words), size=rng.integers(1, 7))]
        sentence = ("<s>", *inner, "</s>")
        for length in range(2, order + 1):
            for begin in range(len(sentence) - length + 1):
                arpa.grams[length - 1].setdefault(sentence[begin : begin + length], _values(rng))
    for length in range(order - 1, 1, -1):
        kept = {gram[:-1] for gram in arpa.grams[length]} if keeps_contexts else set()
        for gram in [*arpa.grams[length - 1]]:
            if gram not in kept and rng.random() < pruned:
                del arpa.grams[length - 1][gram]
    return arpa


def _values(rng: np.random.Generator) -> tuple[float, float]:
    prob, backoff = -4 * rng.random(), 0.5 - rng.random()
    return round(float(prob), 6), round(float(backoff), 6) if rng.random() < 0.8 else 0.0


def random_texts(seed: int, *, count: int = 60) -> list[list[str]]:
    """Sentences of the words of these files and of unknown ones."""
    rng = np.random.default_rng(seed)
    words = [*WORDS, "dog", "UNK", "<unk>"]
    return [
        [words[n] for n in rng.integers(len(words), size=rng.integers(1, 9))] for _ in range(count)
    ]
