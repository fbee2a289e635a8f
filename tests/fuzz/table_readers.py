"""Fuzzed readers of tables, and of the files of other programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from gardenpath.adopted.tables import (
    TableOrigin,
    TableSettings,
    WordTable,
    normalised_table,
    read_word_table,
    write_word_table,
)
from gardenpath.data.readers.base import SurprisalForm
from gardenpath.eval.published.files import (
    PairingRules,
    SurprisalSet,
    is_token_table,
    read_token_table,
    read_two_columns,
    read_words,
)
from gardenpath.eval.published.forms import form_of, may_have_form, read_file
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.syntaxgym import dump_results, word_regions
from gardenpath.eval.suites.yaml_suites import load_compact
from gardenpath.eval.surprisal.tables import (
    RunHeader,
    SurprisalRow,
    TableHeader,
    read_surprisals,
    write_surprisals,
)
from gardenpath.store.manifest import side_car, write_side_car
from gardenpath.store.tables import METRICS, read_table
from gardenpath.studies.layouts import import_mandarin, import_reflexives, import_suppression
from gardenpath.studies.reflexives_files import read_bert
from tests.eval.published import samples as form_samples
from tests.fuzz.reader import Reader, on_disk, scratch

_LOOSE = PairingRules(prefixes=False, words=False, reworded=0.5, misplaced=1, unit="bits")
_SPLIT = b"\n=====\n"

_SUITE = """\
name: mine
language: en
regions: [subject, verb]
predictions: {agreement: (verb;%b%) > (verb;%a%)}
items:
  1: {a: The cat | sleeps, b: The cat | sleep}
  2: {a: A dog | barks, b: A dog | bark}
"""
_WORDS = """\
run,seed,suite,item,condition,word,surprisal_bits
lstm/1,1,mine,1,a,The,3.5
lstm/1,1,mine,1,a,cat,8.25
lstm/1,1,mine,1,a,sleeps,7.5
lstm/1,1,mine,1,b,The,3.5
lstm/1,1,mine,1,b,cat,8.25
lstm/1,1,mine,1,b,sleep,9.75
lstm/1,1,mine,2,a,A,4.5
lstm/1,1,mine,2,a,dog,7.25
lstm/1,1,mine,2,a,barks,9.5
lstm/1,1,mine,2,b,A,4.5
lstm/1,1,mine,2,b,dog,7.25
lstm/1,1,mine,2,b,bark,9.75
"""
_TOKENS = """\
sentence_id\ttoken_id\ttoken\tsurprisal
1\t1\tThe\t3.5
1\t2\tcat\t8.25
1\t3\tsleeps\t7.5
2\t1\tThe\t3.5
2\t2\tcat\t8.25
2\t3\tsleep\t9.75
3\t1\tA\t4.5
3\t2\tdog\t7.25
3\t3\tbarks\t9.5
4\t1\tA\t4.5
4\t2\tdog\t7.25
4\t3\tbark\t9.75
"""
_TWO = "The 3.5\ncat\t8.25\nsleeps 7.5\n<eos> -0.0\nThe 3.5\ncat 8.25\nsleep nan\n<eos> 0\n"
_NO_NAMES = "3.5\n8.25\n7.5\n3.5\n8.25\n9.75\n4.5\n7.25\n9.5\n4.5\n7.25\n9.75\n"
_STIMULI = (
    "item,locality,grammatical,mismatch_position,verb,pronoun,sentence,sentence_no_eos\n"
    + "".join(
        f"1,local,{number},{position},hurt,herself,{text} <eos>,{text}\n"
        for number, position, text in (
            (1, "none", "The aunt near the niece hurt herself ."),
            (0, "head", "The aunts near the niece hurt herself ."),
            (1, "distractor", "The aunt near the nieces hurt herself ."),
        )
    )
)
_REFLEXIVES = """\
The aunt near the niece hurt herself .
The aunts near the niece hurt herself .
The aunt near the nieces hurt herself .
"""
_BERT = """\
item,mismatch_position,pronoun,sentence_no_eos,bert_sentence,surprisal
1,none,herself,The aunt near the niece hurt herself .,The aunt near the niece hurt ***mask*** .,2.5
"""
_MANDARIN = """\
我 买 了 一 本 词典 。
我 买 了 一 只 词典 。
我 买 了 一 只 鸭子 。
我 买 了 一 本 鸭子 。
"""
_MANDARIN_NUMBERS = "sentence_id\ttoken_id\ttoken\tsurprisal\n" + "".join(
    f"{number}\t{place}\t{word}\t{3.25 + place + number / 8}\n"
    for number, line in enumerate(_MANDARIN.splitlines(), start=1)
    for place, word in enumerate(line.split(), start=1)
)
_SUPPRESSION = """\
The snow melted .
The skier admired .
The snow admired .
The skier melted .
The snow that the skier admired melted .
The snow that the skier melted admired .
The snow that the skier on the slope admired melted .
The snow that the skier on the slope melted admired .
"""
_METRICS = """\
epoch,step,learning_rate,train/loss,valid/loss,seconds
0,10,0.001,5.25,5.5,1.25
1,20,0.001,5.0,,
"""


def _two_columns(text: str) -> str:
    """Return a number for each word of each line, different for the words of a sentence."""
    return "".join(
        "".join(f"{word}\t{place + len(word) / 8}\n" for place, word in enumerate(line.split(), 2))
        + "<eos>\t1\n"
        for line in text.splitlines()
    )


def _surprisals(name: str) -> Callable[[bytes], None]:
    def read(content: bytes) -> None:
        path = on_disk(content, name)
        # The header of the first table is that of all inputs.
        header_content = json.loads(side_car(path).read_text(encoding="utf-8"))
        write_side_car(path, header_content)
        rows, header = read_surprisals(path)
        again = scratch() / f"again.{name}"
        write_surprisals(again, rows, header)
        found = read_surprisals(again)
        assert repr(found) == repr((rows, header))

    return read


def _surprisal_seed(name: str) -> bytes:
    words = [("The", "the", 3.25), ("xyz", "<unk-lc>", float("nan")), ("</s>", "</s>", 1.5)]
    rows = [
        SurprisalRow(
            run="runs/a",
            sentence_id=1,
            word_id=n,
            word=word,
            seen_as=seen,
            surprisal_bits=bits,
            columns={"surprisal_se": 0.5, "best_share": bits / 4} if n > 1 else {},
        )
        for n, (word, seen, bits) in enumerate(words, start=1)
    ]
    settings = {"word_beam": 5}
    run = RunHeader(run="runs/a", model="x", vocabulary="abc", search="y", settings=settings)
    path = scratch() / name
    write_surprisals(path, rows, TableHeader(runs=(run,)))
    return path.read_bytes()


def _words(content: bytes) -> None:
    path = on_disk(content, "words.csv")
    is_token_table(path)
    read_words(path, _LOOSE, {})


def _import(content: bytes) -> None:
    suite = load_compact(on_disk(_SUITE.encode(), "materials.yaml"))
    import_tables([suite], [SurprisalSet(on_disk(content, "given.csv"))], _LOOSE)


def _tokens(content: bytes) -> None:
    read_token_table(on_disk(content, "tokens.tsv"))


def _two(content: bytes) -> None:
    read_two_columns(on_disk(content, "two.txt"), [3, 3])


def _bert(content: bytes) -> None:
    read_bert(on_disk(content, "bert.csv"))


_Parts = tuple[list[Path], list[SurprisalSet]]


def _layout(name: str, materials: str, numbers: str) -> Callable[[bytes], _Parts]:
    def parts(content: bytes) -> _Parts:
        first, _, second = content.partition(_SPLIT)
        given, found = scratch() / f"{name}-materials", scratch() / f"{name}-numbers"
        for path, part in ((given / materials, first), (found / numbers, second)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(part)
        return [given], [SurprisalSet(found)]

    return parts


_OF_MANDARIN = _layout("mandarin", "cls_none.txt", "lstm_outputs/surprisals_cls_none.tsv")
_OF_REFLEXIVES = _layout("reflexives", "exp4-pp/herself.csv", "mine/exp4-pp/herself_mine.txt")
_OF_SUPPRESSION = _layout("suppression", "center/input.txt", "center/x_output.tsv")


def _metrics(content: bytes) -> None:
    read_table(on_disk(content, "metrics.csv"), METRICS)


def _joined(*parts: str) -> bytes:
    return _SPLIT.join(part.encode() for part in parts)


TABLE_READERS = (
    Reader("surprisal_tsv", (_surprisal_seed("table.tsv"),), _surprisals("table.tsv")),
    Reader("surprisal_csv", (_surprisal_seed("table.csv"),), _surprisals("table.csv")),
    Reader("surprisal_jsonl", (_surprisal_seed("table.jsonl"),), _surprisals("table.jsonl")),
    Reader(
        "surprisal_parquet", (_surprisal_seed("table.parquet"),), _surprisals("table.parquet"),
        is_binary=True,
    ),
    Reader("word_tables", tuple(x.encode() for x in (_WORDS, _TOKENS, _TWO, _NO_NAMES)), _words),
    Reader("table_import", tuple(x.encode() for x in (_WORDS, _TOKENS, _NO_NAMES)), _import),
    Reader("token_tables", (_TOKENS.encode(),), _tokens),
    Reader("two_columns", (_TWO.encode(),), _two),
    Reader("bert_files", (_BERT.encode(),), _bert),
    Reader(
        "published_mandarin", (_joined(_MANDARIN, _MANDARIN_NUMBERS),),
        lambda content: void(import_mandarin(*_OF_MANDARIN(content), _LOOSE)),
    ),
    Reader(
        "published_reflexives", (_joined(_STIMULI, _two_columns(_REFLEXIVES)),),
        lambda content: void(import_reflexives(*_OF_REFLEXIVES(content), _LOOSE)),
    ),
    Reader(
        "published_suppression", (_joined(_SUPPRESSION, _two_columns(_SUPPRESSION)),),
        lambda content: void(import_suppression(*_OF_SUPPRESSION(content), _LOOSE)),
    ),
    Reader("metrics", (_METRICS.encode(),), _metrics),
)  # fmt: skip


def void(_result: object) -> None:
    """Ignore a result."""


# ----------------------------------------------------------------------------
# Readers of the forms in which other programs write surprisals and predictions.


_SUITE_READERS = """\
name: mine
language: en
regions: [subject, verb]
predictions: {agreement: (verb;%b%) > (verb;%a%)}
items:
  1: {a: The cat | sleeps, b: The cat | sleep}
"""
_SCORES: form_samples.Scores = {
    ("The", "cat", "sleeps"): [-2.0, -9.0, -4.0],
    ("The", "cat", "sleep"): [-2.0, -9.0, -6.5],
}


def _import_readers(content: bytes) -> None:
    """Recognise, import for a suite, and adopt."""
    path = on_disk(content, "forms.json")
    suite = load_compact(on_disk(_SUITE_READERS.encode(), "mine.yaml"))
    may_have_form(path, "auto")
    rules = PairingRules(unit="log_prob_nats", prefixes=False)
    import_tables([suite], [SurprisalSet(path)], rules)


def _adopt(content: bytes) -> None:
    path = on_disk(content, "adopted.json")
    table = normalised_table(path, TableSettings(unit="log_prob_nats", prefixes=False))
    again = scratch() / "adopted.jsonl"
    write_word_table(again, table)
    assert repr(read_word_table(again)) == repr(table)


def _read(form: SurprisalForm) -> Callable[[bytes], None]:
    def read(content: bytes) -> None:
        path = on_disk(content, f"{form}.txt")
        form_of(path, form)
        file = read_file(path, form, PairingRules(unit="log_prob_nats"))
        for one in file.sentences:
            assert len(one.tokens) == len(one.values)

    return read


def _word_table(content: bytes) -> None:
    table = read_word_table(on_disk(content, "words.jsonl"))
    again = scratch() / "words.again.jsonl"
    write_word_table(again, table)
    assert repr(read_word_table(again)) == repr(table)


def _seed_table() -> bytes:
    path = scratch() / "seed.jsonl"
    sentences = {words: (*values, float("-inf")) for words, values in _SCORES.items()}
    origin = TableOrigin(source="a", sha256="0", form="vllm", unit="nats", boundary="next")
    write_word_table(path, WordTable(origin=origin, sentences=sentences))
    return path.read_bytes()


def _seed_results() -> bytes:
    path = Path(on_disk(_SUITE_READERS.encode(), "mine.yaml"))
    suite = load_compact(path)
    rows = [list(map(abs, values)) for values in _SCORES.values()]
    return dump_results(suite, word_regions(suite, rows), model="m").encode()


_LM_EVAL = form_samples.lm_eval([("The cat sleeps", -15.0, "The cat sleep", -17.5)]).encode()
_VLLM = form_samples.vllm(_SCORES).encode()
_OPENAI = form_samples.openai(_SCORES).encode()
_MINICONS = form_samples.minicons(_SCORES).encode()
_BYTES = json.dumps([["<s>", 0.0], ["\u0120caf", -1.5], ["<0xC3>", -1], ["<0xA9>", -2]]).encode()

FORM_READERS = (
    Reader("form_import", (_VLLM, _OPENAI, _MINICONS), _import_readers),
    Reader("form_adopting", (_VLLM, _OPENAI, _MINICONS), _adopt),
    Reader("form_lm_zoo", (form_samples.lm_zoo(_SCORES).encode(),), _read("lm_zoo")),
    Reader(
        "form_minicons",
        (_MINICONS, _BYTES, form_samples.minicons_csv(_SCORES).encode()),
        _read("minicons"),
    ),
    Reader("form_lm_eval", (_LM_EVAL,), _read("lm_eval")),
    Reader("form_vllm", (_VLLM,), _read("vllm")),
    Reader("form_openai", (_OPENAI,), _read("openai")),
    Reader("form_syntaxgym", (_seed_results(),), _read("syntaxgym")),
    Reader("word_table", (_seed_table(),), _word_table),
)
