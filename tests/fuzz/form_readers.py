"""Readers of the forms in which other programs write surprisals and predictions."""

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
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.forms import form_of, may_have_form, read_file
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.syntaxgym import dump_results, word_regions
from gardenpath.eval.suites.yaml_suites import load_compact
from tests.eval.published import form_samples
from tests.fuzz.reader import Reader, on_disk, scratch

_SUITE = """\
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


def _import(content: bytes) -> None:
    """Recognise, import for a suite, and adopt."""
    path = on_disk(content, "forms.json")
    suite = load_compact(on_disk(_SUITE.encode(), "mine.yaml"))
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
    path = Path(on_disk(_SUITE.encode(), "mine.yaml"))
    suite = load_compact(path)
    rows = [list(map(abs, values)) for values in _SCORES.values()]
    return dump_results(suite, word_regions(suite, rows), model="m").encode()


_LM_EVAL = form_samples.lm_eval([("The cat sleeps", -15.0, "The cat sleep", -17.5)]).encode()
_VLLM = form_samples.vllm(_SCORES).encode()
_OPENAI = form_samples.openai(_SCORES).encode()
_MINICONS = form_samples.minicons(_SCORES).encode()
_BYTES = json.dumps([["<s>", 0.0], ["\u0120caf", -1.5], ["<0xC3>", -1], ["<0xA9>", -2]]).encode()

FORM_READERS = (
    Reader("form_import", (_VLLM, _OPENAI, _MINICONS), _import),
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
