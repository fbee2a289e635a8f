"""The published sets of minimal pairs: their files, their size, and how their authors score them.

A set has one file per paradigm. Its authors compare a score of the two sentences of a pair, and
average over the pairs of a paradigm, the paradigms of a phenomenon, and all paradigms.

*BLiMP*: log probability of the sentence; a tie is an error (``prob_good > prob_bad`` in the
authors' script). Phenomena are means over paradigms, in the paper twelve: the two paradigms that
the files call ``s-selection`` belong to ``argument_structure``. The overall accuracy is the mean
over the 67 paradigms.

*CLiMP*: like BLiMP, with 16 paradigms of nine phenomena. One of the files has neither names nor
labels; the good sentence comes first there.

*SLING*: perplexity, and thus the log probability per token; the authors' script counts a pair as
failed if the good sentence has the higher perplexity, so a tie is correct. *Anaphor* is two
phenomena in the paper, gender and number (the folder ``Plural``). The paper has 38 paradigms; the
files have 40 of 1,000 pairs, among them two versions of the classifiers of compound nouns. The
reflexives of a later paper, 40 pairs per file, are a set of their own here.

*ZhoBLiMP*: log probability divided by the square root of the number of tokens (SLLN-LP, alpha
1/2), because the sentences of many pairs have different lengths; a tie is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# What is compared: the log probability of a sentence, or it divided by the number of tokens, or by
# the square root of this number.
PairScore = Literal["log_prob", "mean_log_prob", "sublinear_log_prob"]
PAIR_SCORES: Mapping[PairScore, float] = {
    "log_prob": 0.0,
    "mean_log_prob": 1.0,
    "sublinear_log_prob": 0.5,
}
"""The power of the length by which each score divides the log probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSet:
    """A published set of minimal pairs.

    ``folder`` and ``archive`` are the names that its authors gave to its files, ``source`` is where
    they published it. ``merged`` maps phenomena as written in the files to those of the paper;
    ``folders`` maps folders to phenomena. Files in folders of ``apart`` make other sets.
    ``tie_is_correct`` says how the authors count ties.
    """

    name: str
    title: str
    reference: str
    language: Literal["en", "zh"]
    suffix: Literal[".jsonl", ".csv"]
    folder: str
    archive: str
    source: str
    paradigms: int
    phenomena: int
    pairs: int
    score: PairScore
    tie_is_correct: bool = False
    ending: str = ""
    merged: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_segmented(self) -> bool:
        """Whether words are separated in the files."""
        return self.language == "en"


_SLING = PairSet(
    name="sling",
    title="SLING",
    reference="Song et al. 2022",
    language="zh",
    suffix=".jsonl",
    folder="SLING_Data",
    archive="SLING_Data.tar.gz",
    source="the folder SLING_Data of the repository Yixiao-Song/SLING_Data_Code",
    paradigms=40,
    phenomena=9,
    pairs=1000,
    score="mean_log_prob",
    tie_is_correct=True,
    merged={"Anaphor": "Anaphor (gender)"},
    folders={"Plural": "Anaphor (number)"},
    apart=dict.fromkeys(("reflexive_auto", "reflexive_natural"), "sling_reflexives"),
)

PAIR_SETS: Mapping[str, PairSet] = {
    one.name: one
    for one in (
        PairSet(
            name="blimp",
            title="BLiMP",
            reference="Warstadt et al. 2020",
            language="en",
            suffix=".jsonl",
            folder="data",
            archive="BLiMP.zip",
            source="BLiMP.zip, or the folder data, of the repository alexwarstadt/blimp",
            paradigms=67,
            phenomena=12,
            pairs=1000,
            score="log_prob",
            merged={"s-selection": "argument_structure"},
        ),
        PairSet(
            name="climp",
            title="CLiMP",
            reference="Xiang et al. 2021",
            language="zh",
            suffix=".csv",
            folder="CLiMP_corpus",
            archive="CLiMP_corpus.zip",
            source="CLiMP_corpus.zip, on the page of resources of the group NALA at the "
            "University of Colorado Boulder",
            paradigms=16,
            phenomena=9,
            pairs=1000,
            score="log_prob",
            ending="_1000",
        ),
        _SLING,
        PairSet(
            name="sling_reflexives",
            title="SLING, reflexives",
            reference="Yang 2025",
            language="zh",
            suffix=".jsonl",
            folder="SLING_Data",
            archive="SLING_Data.tar.gz",
            source=_SLING.source,
            paradigms=14,
            phenomena=2,
            pairs=40,
            score="mean_log_prob",
            tie_is_correct=True,
            folders={
                "reflexive_auto": "Reflexive_auto",
                "reflexive_natural": "Reflexive_natural",
            },
        ),
        PairSet(
            name="zhoblimp",
            title="ZhoBLiMP",
            reference="Liu et al. 2024",
            language="zh",
            suffix=".jsonl",
            folder="ZhoBLiMP",
            archive="ZhoBLiMP.tar.gz",
            source="data/ZhoBLiMP.tar.gz of the repository sjtu-compling/ZhoBLiMP",
            paradigms=118,
            phenomena=15,
            pairs=300,
            score="sublinear_log_prob",
        ),
    )
}
