"""Readers of suites and of formulas."""

from __future__ import annotations

import contextlib
import io
import math
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.benchmarks import load_blimp, load_climp
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.generated import Catalogue
from gardenpath.eval.suites.lint import check, checklist
from gardenpath.eval.suites.outcomes import outcome
from gardenpath.eval.suites.pairs import PairSource, load_pair_suites
from gardenpath.eval.suites.regions import quantity
from gardenpath.eval.suites.suite import Suite, chance_level
from gardenpath.eval.suites.syntaxgym import dump_syntaxgym, load_syntaxgym, load_syntaxgym_csv
from gardenpath.eval.suites.tables import load_table_suite
from gardenpath.eval.suites.yaml_suites import dump_compact, load_compact, load_yaml, names_in_head
from tests.fuzz.reader import Reader, on_disk, scratch

_COMPACT = """\
name: mine/agreement
language: en
version: "2"
spaced: true
metric: mean
chance: 1/2
ties: complete
critical: [verb]
differing: [verb]
regions: [subject, verb, rest]
conditions: [match, mismatch]
meta: {author: me, tags: [a, 1, 2.5, null], nested: {x: [1, [2]]}}
predictions:
  agreement: (verb;%mismatch%) > (verb;%match%)
  both: '[(2;%mismatch%) - (2;%match%) > 0.5] & (*;%mismatch%) > (*;%match%)'
items:
  1:
    labels: {noun: cat}
    match: The cat | sleeps | all day .
    mismatch: [The cat | sleep | all day ., A cat | sleep | all day .]
    gloss: the cat | sleep | all day .
    translation: "The cat: asleep"
  2:
    match: The dog | barks | .
    mismatch: [The dog | bark | ., A dog | bark | .]
"""
_FRAMED = """\
name: zh/classifier
language: zh
kind: classifier_noun
spaced: false
description: A classifier and a noun.
regions: [context, classifier, modifier, noun, end]
critical: [noun]
differing: [classifier]
modifiers:
  none: no modifier
  adjective: an adjective
predictions:
  mismatch: (noun;%mismatch%) > (noun;%match%)
items:
  1:
    match:    他 有 一 | 只 | {modifier} | 猫 | 。
    mismatch: 他 有 一 | 本 | {clause} | 猫 | 。
    modifiers:
      none: {translation: He has a cat.}
      adjective: {text: 可爱 的, gloss: cute DE, translation: He has a cute cat.}
"""
_TEMPLATE = """\
lexicon: words
seed: 3
slots: {x: noun, v: verb}
regions: [start, noun, verb, end]
critical: [verb]
differing: [verb]
designs:
  - name: made/$kind
    for: [&one {kind: a, det: The}, {<<: *one, kind: b}]
    items: 2
    conditions:
      right: $det | {x.sg} | {v.sg} | .
      wrong:
        - $det | {x.sg} | {v.pl} | .
        - A | {x.sg} | {v.pl} | .
    predictions: {agreement: (verb;%wrong%) > (verb;%right%)}
  - name: crossed
    cross: [x, v]
    cells: [{with: {when: now}, labels: {when: now}, items: 4}]
    conditions:
      right: $when | {x.sg} | {v.sg} | .
    predictions: {}
"""
_LEXICON = """\
forms: {noun: [sg, pl], verb: [sg, pl]}
classes: {noun: [cat / cats, dog / dogs], verb: [sleeps / sleep, runs / run]}
scenes: {}
"""
_TABLE = """\
name: agreement
language: en
table: items.csv
regions: {subject: subj, verb: verb}
conditions: {a: match, b: mismatch}
columns: {item: nr}
only: {set: "1"}
predictions:
  agreement: (verb;%mismatch%) > (verb;%match%)
"""
_ITEMS = """\
nr,condition,set,subj,verb
1,a,1,The cat,sleeps
1,b,1,The cat,sleep
2,a,1,"The dog ,",barks
2,b,1,"The dog ,",bark
2,b,2,"The dog ,",bark
"""
_SPLIT = "\n=====\n"
_CSV = """\
item_number,condition_name,region_number,region_name,content
1,near,1,demonstrative,This
1,near,2,rest,is an example .
1,far,1,demonstrative,That
1,far,2,rest,"is, too ."
"""
_BLIMP = """\
{"sentence_good": "She doesn't like it.", "sentence_bad": "She don't like it.", "UID": "a", \
"field": "syntax", "linguistics_term": "agreement"}
{"good_sentence": "The cats (all) sleep...", "bad_sentence": "The cats sleeps", "paradigm": "b"}
"""
_BLIMP_ZH = '{"sentence_good": "他 喜欢 猫 。", "sentence_bad": "他 喜欢 了 猫 。"}\n'
_CLIMP = """\
phenomenon,paradigm,sentence,label
anaphor,a,他看见他自己。,1
anaphor,a,他看见她自己。,0
"""
_PAIRS = "sentence_good;sentence_bad;phenomenon\nShe runs.;She run.;x\nMr. X is.;Mr. X are.;x\n"
_FORMULAS = (
    "(verb;%mismatch%) > (verb;%match%)",
    "[(6;%a b%) < (6;%c%)] & [(6;%d%) < (6;%e%)] | (*;%a%) = (*;%c%) + 1.5e-3",
    "((a;%x%) - [(b;%x%) - (c;%y%)]) + .5",
    "(a;%x%) > (b;%y%) & (a;%x%) > (c;%z%)",
)


def _suite(suite: Suite) -> None:
    """Use a suite as an evaluation does, and write it in both formats."""
    assert all(len(v.regions) == len(suite.regions) for i in suite.items for v in i.variants)
    assert 0.0 <= suite.chance_level <= 1.0
    with contextlib.suppress(GardenpathError):
        check(suite)
        checklist(suite)
    written = dump_compact(suite)
    again = load_compact(on_disk(written.encode("utf-8"), "again.yaml"))
    assert dump_compact(again) == written
    text = dump_syntaxgym(suite)
    load_syntaxgym(on_disk(text.encode("utf-8"), "again.json"))


def _yaml(content: bytes) -> None:
    path = on_disk(content, "suite.yaml")
    with contextlib.suppress(GardenpathError):
        names_in_head(path)
    for suite in load_yaml(path):
        _suite(suite)


def _template(content: bytes) -> None:
    folder = scratch() / "templates"
    (folder / "lexica").mkdir(parents=True, exist_ok=True)
    template, _, lexicon = content.partition(_SPLIT.encode())
    (folder / "designs.yaml").write_bytes(template)
    (folder / "lexica" / "words.yaml").write_bytes(lexicon)
    for make in Catalogue(folder=folder).values():
        make()


def _table_suite(content: bytes) -> None:
    description, _, table = content.partition(_SPLIT.encode())
    on_disk(table, "items.csv")
    _suite(load_table_suite(on_disk(description, "table.yaml")))


def _formula(content: bytes) -> None:
    formula = Formula.parse(content.decode("utf-8", "ignore"))
    assert Formula.parse(str(formula)) == formula
    level = chance_level(formula)
    assert level is None or 0.0 <= level <= 1.0
    if formula.is_claim:
        outcome(formula, lambda _region, _condition: 1.0)
    else:
        assert not math.isnan(quantity(formula.quantity, lambda _region, _condition: 1.0))


def _zip_seed() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("data/a.jsonl", _BLIMP.splitlines()[0] + "\n")
        archive.writestr("data/.DS_Store", "x")
        archive.writestr("__MACOSX/data/._a.jsonl", "x")
    return written.getvalue()


def _tar_seed(mode: Literal["w:gz", "w:"]) -> bytes:
    written = io.BytesIO()
    content = _BLIMP_ZH.encode()
    with tarfile.open(fileobj=written, mode=mode) as archive:
        member = tarfile.TarInfo("ZhoBLiMP/a.jsonl")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return written.getvalue()


def _archive(name: str, which: str) -> Callable[[bytes], None]:
    def read(content: bytes) -> None:
        source = PairSource(root=str(on_disk(content, name)), segmenter="characters")
        for suite in load_pair_suites([which], source):
            _suite(suite)

    return read


def _in_file(load: object, name: str) -> object:
    def read(content: bytes) -> None:
        assert callable(load)
        _suite(load(on_disk(content, name)))

    return read


def _reader(name: str, load: object, file: str, *seeds: str) -> Reader:
    read = _in_file(load, file)
    assert callable(read)
    return Reader(name, tuple(seed.encode() for seed in seeds), read)


def _syntaxgym_seed() -> str:
    path = on_disk(_COMPACT.encode(), "seed.yaml")
    return dump_syntaxgym(load_compact(Path(path)))


SUITE_READERS = (
    Reader("suite_formula", tuple(text.encode() for text in _FORMULAS), _formula),
    Reader("suite_yaml", (_COMPACT.encode(), _FRAMED.encode()), _yaml),
    Reader("suite_template", (f"{_TEMPLATE}{_SPLIT}{_LEXICON}".encode(),), _template),
    Reader("suite_table", (f"{_TABLE}{_SPLIT}{_ITEMS}".encode(),), _table_suite),
    _reader("syntaxgym_json", load_syntaxgym, "suite.json", _syntaxgym_seed()),
    _reader("syntaxgym_csv", load_syntaxgym_csv, "suite.csv", _CSV),
    _reader("minimal_pairs_jsonl", load_blimp, "pairs.jsonl", _BLIMP, _BLIMP_ZH),
    _reader("minimal_pairs_csv", load_climp, "pairs.csv", _CLIMP, _PAIRS),
    Reader("pairs_zip", (_zip_seed(),), _archive("pairs.zip", "blimp"), is_binary=True),
    Reader("pairs_tar", (_tar_seed("w:"),), _archive("pairs.tar", "zhoblimp"), is_binary=True),
    Reader("pairs_tgz", (_tar_seed("w:gz"),), _archive("pairs.tgz", "zhoblimp"), is_binary=True),
)
