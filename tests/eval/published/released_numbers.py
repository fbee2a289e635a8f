"""Numbers that the released files of the studies give, and the imports of these files."""

from __future__ import annotations

from pathlib import Path

from gardenpath.eval.published.files import ConditionSource, PairingRules, SurprisalSet
from gardenpath.eval.published.importing import Imported
from gardenpath.studies.layouts import import_mandarin, import_reflexives, import_suppression

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
