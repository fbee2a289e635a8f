"""What makes a documented command small, or names a stand-in: two tables, applied in order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.documented.stand_ins import RESCORED


@dataclass(frozen=True, kw_only=True)
class Substitution:
    """A change of all commands in which a pattern is found.

    ``settings`` replace those of the same name, or are added; ``words`` replace parts of words;
    ``flags`` are added.
    """

    where: str
    settings: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def concerns(self, command: str) -> bool:
        """Whether the command is changed."""
        return re.search(self.where, command) is not None

    def apply(self, words: Sequence[str]) -> list[str]:
        """The changed words of a command."""
        result = []
        for word in words:
            for name, stand_in in self.words.items():
                word = word.replace(name, stand_in)
            result.append(word)
        for setting in self.settings:
            name = setting.partition("=")[0]
            result = [word for word in result if not word.startswith(f"{name}=")] + [setting]
        return [*result, *self.flags]


_NETWORKS = r"model=(?:lstm|rnng|plm|transformer)(?:,(?:lstm|rnng|plm|transformer))*(?: |$)"

_SEARCHED = r"task=(?:surprisal|perplexity|parse|annotate)"

# Names that a reader replaces by names of their own.
STAND_INS = (
    Substitution(where="/path/to/folder", words={"/path/to/folder": "my_corpus"}),
    Substitution(where="/path/to/ctb9.0", words={"/path/to/ctb9.0": "corpora/ctb"}),
    Substitution(where="/scratch/", words={"/scratch/": ""}),
    Substitution(where="suite=NAME", words={"suite=NAME": "suite=toy_english"},
                 settings=("suite.in_vocabulary=false",)),
    Substitution(where="model=NAME", words={"model=NAME": "model=rnng"}),
    Substitution(where=r"name=FILE", words={"FILE": "hidden650_batch128_dropout0.2_lr20.0.pt"}),
    Substitution(where="FOLDER_1", words={
        "FOLDER_1": "released/mandarin", "FOLDER_2": "released/mandarin_2",
        "materials=FOLDER": "materials=released/mandarin",
    }),
    *(
        Substitution(
            where=rf"(suite|study)={name} .*=FOLDER( |$)", words={"=FOLDER": f"=released/{name}"}
        )
        for name in ("mandarin", "reflexives", "suppression")
    ),
    Substitution(where=r"benchmarks\.pretrained", words={"FOLDER": "gpt2"}),
    # The folder holds a stand-in, which no annotation may replace.
    Substitution(where=r"output=corpora/xinhua", words={"corpora/xinhua": "corpora/made"}),
    Substitution(where=r"task=merge", words={",b.sqlite": ""}),
    Substitution(where=r"task=new_suite", words={"name=mine": "name=another"}),
    Substitution(where=r"task=runs run=runs/rates", words={"runs/rates": "runs/demo"}),
    Substitution(where=r"formula=", words={"filler * gap": "number"}),
    Substitution(where=r"suite=items\.csv .*effects=", words={"items.csv": "cells.csv"}),
    Substitution(where=r"ZhoBLiMP", words={"ZhoBLiMP.tar.gz": "ZhoBLiMP.zip"}),
)  # fmt: skip

# What makes work small.
SMALLER = (
    # Training: one epoch of the smallest network on a few sentences.
    Substitution(where=rf"^python train\.py .*({_NETWORKS}|experiment=(?!demo( |$)))",
                 settings=("model.size=tiny",)),
    Substitution(where=r"^python train\.py (?!.*(--help|--cfg))",
                 settings=("trainer=cpu", "trainer.max_epochs=1")),
    Substitution(where=r"^python train\.py (.*data=toy_|(?!.*(data=|experiment=|--)))",
                 settings=("data.reader.train=40", "data.reader.valid=10", "data.reader.test=10")),
    Substitution(where=r"experiment=(pilot|demo|toy)",
                 settings=("data.reader.train=40", "data.reader.valid=10", "data.reader.test=10")),
    Substitution(where=r"data\.parts=\[toy_english,ptb_sample\]",
                 settings=("data.parts.toy_english.reader.train=40",)),
    Substitution(where=r"data\.subwords\.pieces=", settings=("data.subwords.pieces=60",)),
    Substitution(where=r"train\.py -m .*seed=1,2,3|experiment=",
                 settings=("seed=1",)),
    Substitution(where=r"train\.py -m experiment=(?!.*model=)", settings=("model=ngram,lstm",)),
    Substitution(where=r"-m experiment=(filler_gap|reflexives data=ptb)", settings=("model=lstm",)),
    # Evaluation: narrow beams, one item of each suite, two sentences.
    Substitution(where=rf"^python evaluate\.py .*(suite=|study=|{_SEARCHED})",
                 settings=("search.action_beam=10", "search.word_beam=3")),
    Substitution(where=r"^python evaluate\.py (?!.*task=).*suite=",
                 settings=("suite.items=1", "task.allow_unknown=true")),
    Substitution(where=r"^python evaluate\.py (?!.*(task=(?!rescore)|formula=)).*suite=(?!toy_)",
                 settings=("task.report=false",)),
    Substitution(where=r" suite=(toy_english|demo)|suite\.in_vocabulary=true",
                 settings=("suite.in_vocabulary=false",)),
    Substitution(where=r" suite=reflexives(?!.*materials=)",
                 settings=("suite.suites=[reflexives/toy]",)),
    Substitution(where=r" suite=islands", settings=(f"suite.suites=[{RESCORED}]",)),
    Substitution(where=r" suite=filler_gap", settings=("suite.suites=[filler_gap/toy]",)),
    Substitution(where=r" suite=mandarin(,demo)?(?!.*materials=)",
                 settings=("suite.suites=[mandarin/classifier_noun/none]",)),
    Substitution(where=r" study=(?!.*materials=)", settings=("study.items=1",)),
    Substitution(where=r" study=.*run=", settings=("task.allow_unknown=true",)),
    Substitution(where=r" (study=.*corpora=|task=perplexity)",
                 settings=("task.marginal_sentences=1",)),
    Substitution(where=r" task=parse", settings=("task.sentences=2",)),
    Substitution(where=r" task=(surprisal|annotate)", settings=("task.allow_unknown=true",)),
    Substitution(where=r" task\.valid=", settings=("task.valid=0.3", "task.test=0.3")),
    # The playground: no browser, and any free port.
    Substitution(where=r"^python playground\.py(?!.*--help)", settings=("browser=false", "port=0")),
    # Benchmarks: one sentence, narrow beams.
    Substitution(where=r"benchmarks\.near_ties",
                 flags=("--items", "1", "--wider", "2", "--suites", RESCORED)),
    Substitution(where=r"benchmarks\.pretrained", flags=("--items", "1", "--suites", RESCORED)),
)  # fmt: skip


# In a folder with stand-ins, a training takes the place of one, and nothing asks for a report.
IN_STOCK = (
    Substitution(where=r"^python evaluate\.py (?!.*task=).*suite=toy_english",
                 settings=("task.report=false",)),
    Substitution(where=r"^python train\.py (?!.*(existing=|--help|--cfg|--version))",
                 settings=("existing=overwrite",)),
)  # fmt: skip


def smaller(words: Sequence[str], *, in_stock: bool) -> list[str]:
    """The words of a command that is run in place of a documented one."""
    text, result = " ".join(words), list(words)
    for one in (*STAND_INS, *SMALLER, *(IN_STOCK if in_stock else ())):
        if one.concerns(text):
            result = one.apply(result)
    return result
