"""Files of other programs with numbers of our own, and numbers that studies published."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gardenpath.eval.published.files import ConditionSource, PairingRules, SurprisalSet
from gardenpath.eval.published.importing import Imported
from gardenpath.studies.layouts import import_mandarin, import_reflexives, import_suppression

# The sentences of a suite, and the log probabilities (nats) of their words.
Scores = Mapping[tuple[str, ...], Sequence[float]]


def lm_zoo(scores: Scores) -> str:
    """LM Zoo's table: bits, with pieces in the alphabet of bytes."""
    rows = ["sentence_id\ttoken_id\ttoken\tsurprisal"]
    for number, (words, values) in enumerate(scores.items(), start=1):
        for place, (token, nats) in enumerate(_halves(words, values), start=1):
            rows.append(f"{number}\t{place}\t{token.replace(' ', 'Ġ')}\t{-nats / math.log(2)!r}")
    return "\n".join(rows) + "\n"


def _halves(words: Sequence[str], values: Sequence[float]) -> list[tuple[str, float]]:
    """Return two pieces for every word of more than one letter."""
    found = []
    for place, (word, value) in enumerate(zip(words, values, strict=True)):
        blank = " " if place else ""
        if len(word) > 1:
            found += [(blank + word[:1], value / 4), (word[1:], value * 3 / 4)]
        else:
            found.append((blank + word, value))
    return found


def minicons(scores: Scores) -> str:
    """Lists of minicons as JSON: log probabilities in nats."""
    return json.dumps(
        [
            [[token.replace(" ", "Ġ"), nats, 1] for token, nats in _halves(words, values)]
            for words, values in scores.items()
        ],
        ensure_ascii=False,
    )


def minicons_csv(scores: Scores) -> str:
    """The columns of the command of minicons, with both log probabilities and surprisals."""
    rows = ["sentence_id,token_id,token,logprob,surprisal"]
    for number, (words, values) in enumerate(scores.items(), start=1):
        for place, (token, nats) in enumerate(_halves(words, values), start=1):
            rows.append(f"{number},{place},{token.strip()},{nats!r},{-nats!r}")
    return "\n".join(rows) + "\n"


def vllm(scores: Scores, *, prompts: bool = True, others: bool = True) -> str:
    """Responses of vLLM, one per line."""
    lines = []
    for words, values in scores.items():
        entries: list[Any] = [None]
        for number, (token, nats) in enumerate(_halves(words, values)):
            entry = {str(number + 7): {"logprob": nats, "rank": 2, "decoded_token": token}}
            if others:
                entry["1"] = {"logprob": nats / 2, "rank": 1, "decoded_token": " more"}
            entries.append(entry)
        record: dict[str, Any] = {"choices": [{"index": 0, "prompt_logprobs": entries}]}
        if prompts:
            record["prompt"] = " ".join(words)
        lines.append(json.dumps(record, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def openai(scores: Scores) -> str:
    """One response of a server to all prompts, in another order, with echo."""
    choices = []
    for number, (words, values) in enumerate(scores.items()):
        halves = _halves(words, values)
        logprobs = {
            "tokens": ["<s>", *(token for token, _ in halves)],
            "token_logprobs": [None, *(nats for _, nats in halves)],
        }
        choices.append({"index": number, "text": " ".join(words), "logprobs": logprobs})
    return json.dumps({"object": "text_completion", "choices": choices[::-1]}, ensure_ascii=False)


def lm_eval(pairs: Sequence[tuple[str, float, str, float]]) -> str:
    """Samples of pairs: good sentence, its log likelihood, bad sentence, its log likelihood."""
    lines = []
    for number, (good, one, bad, other) in enumerate(pairs):
        sample = {
            "doc_id": number,
            "doc": {"sentence_good": good, "sentence_bad": bad},
            "target": "0",
            "arguments": {
                "gen_args_0": {"arg_0": "", "arg_1": f" {good}"},
                "gen_args_1": {"arg_0": "", "arg_1": f" {bad}"},
            },
            "resps": [[[str(one), "False"]], [[str(other), "False"]]],
            "filtered_resps": [[str(one), "False"], [str(other), "False"]],
            "filter": "none",
        }
        lines.append(json.dumps(sample, ensure_ascii=False))
    return "\n".join(lines) + "\n"


# ----------------------------------------------------------------------------
# Numbers that the released files of the studies give, and the imports of these files.


CLASSES = (
    "classifier_noun", "garden_path_object", "garden_path_subject", "verb_noun",
    "missing_object", "subordination",
)  # fmt: skip

# Wang et al. 2021, Table 6, by corpus and model; .9125 is printed as .913.
MANDARIN = {
    "ctb": {
        "lstm": (0.598, 0.659, 0.320, 0.624, 0.847, 0.789),
        "rnng": (0.609, 0.690, 0.359, 0.714, 0.838, 0.854),
        "transformer": (0.603, 0.672, 0.376, 0.581, 0.761, 0.817),
        "plm": (0.615, 0.750, 0.419, 0.589, 0.775, 0.836),
    },
    "xinhua": {
        "lstm": (0.650, 0.691, 0.355, 0.782, 0.819, 0.850),
        "rnng": (0.636, 0.750, 0.367, 0.714, 0.854, 0.9125),
        "transformer": (0.708, 0.720, 0.363, 0.755, 0.792, 0.931),
        "plm": (0.746, 0.656, 0.395, 0.745, 0.692, 0.908),
    },
}

# herself, himself, themselves, and their mean.
REFLEXIVES = {
    "exp2a": {
        "grnn": (0.373, 0.133, 0.760, 0.422),
        "tiny": (0.213, 0.147, 0.040, 0.133),
        "rnng": (0.000, 0.120, 0.600, 0.240),
    },
    "exp3": {
        "grnn": (0.813, 0.653, 0.787, 0.751),
        "tiny": (0.120, 0.213, 0.933, 0.422),
        "rnng": (0.627, 0.640, 0.613, 0.627),
    },
}

# Means over pronouns: all items, and the items of Table 3.
REFLEXIVE_MEANS = {
    ("exp1b", "grnn"): (1.000, 1.000),
    ("exp2a", "grnn"): (0.422, 0.450),
    ("exp2a", "tiny"): (0.133, 0.156),
    ("exp2a", "rnng"): (0.240, 0.239),
    ("exp2b", "bert"): (0.978, 0.978),
    ("exp2b", "grnn"): (0.991, 0.989),
    ("exp2b", "tiny"): (0.804, 0.817),
    ("exp2b", "rnng"): (0.898, 0.883),
    ("exp3", "grnn"): (0.751, 0.750),
    ("exp3", "tiny"): (0.422, 0.428),
    ("exp3", "rnng"): (0.627, 0.622),
}

# Mean ordering effects in bits: sentence (VP1, VP2), embedding, long.
ORDERING = {
    "ngram": (2.75, -1.08, 0.234, -0.009),
    "gulordava": (4.21, -0.51, 3.761, 2.403),
}

# Mean wh-effects of Gulordava in bits, with the signs of the paper: +gap and −gap.
WH_EFFECTS = {
    "object": (2.325, 1.210),
    "adjunct": (0.360, 0.330),
    "over_adjunct": (0.492, 0.203),
    "complex_np": (0.409, 0.269),
    "over_complex_np": (0.967, 0.216),
    "subject": (-0.910, 0.298),
    "adjunct_discharge": (0.427, 0.144),
    "cnp_discharge": (0.602, 0.247),
}

# Some reflexive files have another noun than the stimuli, in up to a fifth of their sentences.
OTHER_NOUNS = PairingRules(reworded=0.2)


def released_mandarin(folder: Path, rules: PairingRules | None = None) -> Imported:
    """Import both corpora, which lie in one folder."""
    root = folder / "published" / "mandarin"
    return import_mandarin([root / "suites"], [SurprisalSet(root)], rules or PairingRules())


def released_reflexives(
    folder: Path,
    rules: PairingRules = OTHER_NOUNS,
    conditions: ConditionSource = "sentences",
) -> Imported:
    """Import all experiments, which lie in two folders."""
    roots = [folder / "published" / name for name in ("reflexives", "reflexives_more")]
    materials = [root / "stimuli" for root in roots]
    sets = [SurprisalSet(root / "surprisal") for root in roots]
    return import_reflexives(materials, sets, rules, conditions=conditions)


def released_suppression(folder: Path, rules: PairingRules | None = None) -> Imported:
    """Import both experiments."""
    root = folder / "published" / "suppression"
    return import_suppression([root], [SurprisalSet(root)], rules or PairingRules())
