"""Readers of run folders, stores, settings and analyses."""

from __future__ import annotations

import functools
import json
import sqlite3
import warnings
from contextlib import closing

import numpy as np
import torch
import yaml
from torch import nn

from gardenpath.adopted.grnn import WordLstm, read_vocabulary_words, read_weights
from gardenpath.errors import ConfigError
from gardenpath.eval.statistics.analysis import load_analysis
from gardenpath.eval.statistics.corpora import load_constructions
from gardenpath.eval.statistics.formulas import parse_model_formula
from gardenpath.models.ngram.model import NgramModel, NgramTable
from gardenpath.models.weights import load_weights, save_weights
from gardenpath.runs.run import Run
from gardenpath.safe_text import MalformedTextError, parse_json, parse_yaml
from gardenpath.settings.compose import (
    CommandLine,
    ConfigSource,
    Script,
    _require_readable,
    load_settings,
    narrowed,
    read_grid,
)
from gardenpath.settings.schema import plain
from gardenpath.store.files import owner_of, owner_path
from gardenpath.store.manifest import verify_files
from gardenpath.store.run_claim import claim
from gardenpath.store.run_folder import (
    CONFIG_FILE,
    RESULT_FILE,
    WEIGHTS_FILE,
    RunFolder,
)
from gardenpath.store.surprisals import Stored, SurprisalStore, _checksum
from tests.adopted.word_models import WORDS, Corpus, make_model, save
from tests.fuzz.reader import Reader, on_disk, scratch

_MODEL_FORMULAS = (
    "value ~ gap * wh + I(depth^2) + (1 + gap || item) + (0 + wh | suite/run)",
    "y ~ (a + b):c - a - 1 + `odd name`",
    "y ~ 1 + (1 | a:b)",
)
_ANALYSIS = """\
title: Accuracy by model
table: items
test: mixed
formula: accuracy ~ model + (1 | item)
where: {class: [garden_*, x], corpus: ptb}
derive: {syntax: {from: model, values: {lstm: 0, rnng: 1}}}
"""
_PATTERNS = """\
constructions:
  clefts:
    annotated: /^S-CLF/
    plain: "/^S$/ < (/^NP$/ <<: /^[Ii]t$/)"
    description: It is a cat that sleeps.
    modifiers: [none]
"""
_MANIFEST = """\
{"kind": "run", "format": 2, "fingerprint": "ab", "created": "2024", "versions": "1", "about": {},
 "files": {"config.yaml": {"size": 0, "sha256":
 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}}
"""
_RESULT = '{"test": {"loss": 5.25, "perplexity": 190.5}, "valid": {"loss": NaN}, "seconds": 3}\n'
_OWNER = '{"pid": 1, "host": "here", "since": 1.5, "command": "python train.py"}\n'
_GRID = """\
- {data: [ctb, xinhua], model: ngram, seed: 1}
- {data: ctb, model: [lstm, plm], seed: [1, 2]}
"""
_ARGUMENTS = (
    "model=lstm\ndata=toy_english\nseed=3\ntrainer.max_epochs=2",
    "-m\nmodel=lstm,rnng\nseed=range(1,4)\nmodel.optimiser.learning_rate=1e-3,1e-4\nrun_dir='a b'",
    "model=plm\ndata=toy_mandarin\ndata.cleaning.max_tokens=40\n++model.name='a b'",
)
_EVALUATE = ("run=[a,b]\nsuite=demo\nsearch.word_beam=10", "-m\nsuite=mandarin,demo\nrun=a,b")


def _model_formula(content: bytes) -> None:
    text = content.decode("utf-8", "ignore")
    parse = parse_model_formula.__wrapped__  # without its cache
    formula = parse(text)
    again = parse(str(formula))
    # The order of the variables of an interaction is that of their first occurrence.
    assert {frozenset(term) for term in again.fixed} == {frozenset(term) for term in formula.fixed}
    assert again.variables == formula.variables


def _analysis(content: bytes) -> None:
    analysis = load_analysis(on_disk(content, "analysis.yaml"))
    _ = analysis.name


def _patterns(content: bytes) -> None:
    load_constructions(on_disk(content, "patterns.yaml"))


@functools.cache
def _config() -> str:
    settings = load_settings("train", ["model=lstm", "data=toy_english", "run_dir=x"])
    return yaml.safe_dump({"format": 2, **plain(settings)}, sort_keys=False)


def _run_config(content: bytes) -> None:
    folder = scratch() / "run-config"
    folder.mkdir(exist_ok=True)
    (folder / "vocabulary.json").touch()
    (folder / CONFIG_FILE).write_bytes(content)
    run = Run(folder)
    _ = run.settings, run.name
    with claim(RunFolder(folder), run.folder.config(), existing="resume"):
        pass


def _result(content: bytes) -> None:
    folder = scratch() / "run-result"
    folder.mkdir(exist_ok=True)
    (folder / RESULT_FILE).write_bytes(content)
    assert isinstance(RunFolder(folder).result(), dict)


def _manifest(content: bytes) -> None:
    folder = scratch() / "run-manifest"
    folder.mkdir(exist_ok=True)
    (folder / CONFIG_FILE).touch()
    (folder / "manifest.json").write_bytes(content)
    assert RunFolder(folder).is_marked in (True, False)
    manifest = RunFolder(folder).manifest()
    if manifest is not None:
        verify_files(folder, manifest, remedy="train again")


def _owner(content: bytes) -> None:
    lock = scratch() / "some.lock"
    owner_path(lock).write_bytes(content)
    owner_of(lock)


@functools.cache
def _network() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))


def _weights(content: bytes) -> None:
    load_weights(_network(), on_disk(content, "weights.safetensors"))


def _weights_seed() -> bytes:
    path = scratch() / "seed.safetensors"
    save_weights(_network(), path)
    return path.read_bytes()


def _ngram(content: bytes) -> None:
    model = NgramModel.load(on_disk(content, WEIGHTS_FILE))
    sizes = [len(table) for table in model.tables]
    assert sizes == [len(values) for values in model.log_probs]
    model.score([np.array([3, 2], dtype=np.int64)])


def _word_lm(content: bytes) -> None:
    """A model or a vocabulary as torch.save writes it."""
    path = on_disk(content, "model.pt")
    weights = read_weights(path)
    states = WordLstm(weights).prefix_states(torch.tensor([0]), torch.tensor([0]), (1,))
    assert states.shape == (1, weights["rnn.weight_hh_l0"].shape[1])


def _word_lm_words(content: bytes) -> None:
    assert len(set(read_vocabulary_words(on_disk(content, "corpus.pt"), len(WORDS)))) == len(WORDS)


def _listed_words(content: bytes) -> None:
    assert len(set(read_vocabulary_words(on_disk(content, "vocab.txt"), 3))) == 3


def _saved(value: object, *, is_zip: bool) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old form asks for the source of classes
        return save(value, scratch() / "saved.pt", is_zip=is_zip).read_bytes()


def _word_lm_seeds(value: object) -> tuple[bytes, ...]:
    return tuple(_saved(value, is_zip=is_zip) for is_zip in (True, False))


def _ngram_seed() -> bytes:
    tables = [NgramTable(np.arange(5), 5), NgramTable(np.array([8, 17]), 5)]
    model = NgramModel(
        tables=tables,
        log_probs=[np.log(np.full(5, 0.2)), np.array([-0.1, -0.2])],
        log_backoffs=[np.full(5, -0.3), np.zeros(2)],
    )
    model.save(scratch() / "ngram.safetensors")
    return (scratch() / "ngram.safetensors").read_bytes()


_SENTENCE = ("the", "cat")


@functools.cache
def _store_seed() -> bytes:
    path = scratch() / "seed.sqlite"
    columns = {"surprisal_se": (0.1, 0.2, 0.3), "best_share": (1.0, 0.5, 0.25)}
    entry = Stored(
        (-1.0, -2.0, -0.5), None, [[(0.5, "(S")]], columns, [[0.5, -0.5], [0.25, -0.25], [1.0, 2.0]]
    )
    SurprisalStore(path).put("key", {_SENTENCE: entry})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    return path.read_bytes()


def _store(content: bytes) -> None:
    """Damage the file of a store: its pages, its schema or its rows."""
    store = SurprisalStore(on_disk(content, "store.sqlite"))
    found = store.get("key", [_SENTENCE])
    assert not found or found[_SENTENCE].log_probs == (-1.0, -2.0, -0.5)
    assert not found or found[_SENTENCE].columns["best_share"] == (1.0, 0.5, 0.25)


def _rows(content: bytes) -> None:
    """Replace the columns of a stored row; its checksum is right, so that the columns are read."""
    fields = content.split(b"\n")
    blob, remedy, parses, names, values, deviations = (*fields, *[b""] * 6)[:6]
    told, trees, titles = (text.decode("utf-8", "replace") for text in (remedy, parses, names))
    path = on_disk(_store_seed(), "rows.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        ((sentence,),) = connection.execute("SELECT sentence FROM surprisals")
        row = (blob, told, trees, titles, values, deviations)
        columns = "log_probs = ?, remedy = ?, parses = ?, column_names = ?, column_values = ?"
        connection.execute(
            f"UPDATE surprisals SET {columns}, deviations = ?, checksum = ?",
            (*row, _checksum("key", sentence, *row)),
        )
    found = SurprisalStore(path).get("key", [_SENTENCE])
    assert len(found[_SENTENCE].log_probs) == len(_SENTENCE) + 1


def _grid(content: bytes) -> None:
    text = content.decode("utf-8", "ignore")
    try:
        blocks = read_grid(parse_yaml(text))
    except MalformedTextError:
        return
    narrowed(blocks, {"model": ["lstm"], "seed": ["7"]})


def _command_line(script: Script, content: bytes) -> None:
    arguments = content.decode("utf-8", "replace").split("\n")
    overrides = [one for one in arguments if one and one != "-m"]
    line = CommandLine(ConfigSource(script), overrides, is_sweep="-m" in arguments)
    _ = line.lines
    if sum(content) % 50 == 0:  # composing a configuration takes a tenth of a second
        line.check()
    if line.mistakes:
        raise ConfigError(line.mistakes)


def _of_train(content: bytes) -> None:
    _command_line("train", content)


def _of_evaluate(content: bytes) -> None:
    _command_line("evaluate", content)


def _experiment(content: bytes) -> None:
    """A configuration file of the user, in a folder given by --config-dir."""
    folder = scratch() / "config" / "experiment"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.yaml").write_bytes(content)
    _require_readable.cache_clear()
    source = ConfigSource("train", folder=str(folder.parent))
    CommandLine(source, ["experiment=mine"], is_sweep=True).check()


_EXPERIMENT = """\
# @package _global_
defaults:
  - override /model: lstm
  - override /data: toy_english
seed: 3
trainer: {max_epochs: 2}
_grid:
  - {model: [lstm, rnng], seed: [1, 2]}
"""


def _yaml(content: bytes) -> None:
    try:
        parse_yaml(content.decode("utf-8", "surrogatepass"))
    except MalformedTextError as error:
        assert error.problem
    except UnicodeDecodeError:
        pass


def _json(content: bytes) -> None:
    try:
        found = parse_json(content.decode("utf-8", "surrogatepass"))
        json.dumps(found, ensure_ascii=False).encode()
    except (MalformedTextError, UnicodeDecodeError):
        pass


_MODEL = make_model(1, width=2, hidden=2, layers=1)
_ROW = "\n".join(
    ("12345678" * 3, "remedy", '[[[0.5, "(S"]]]', '["best_share"]', "12345678" * 3, "1234" * 6)
)
_YAML = (
    "a: &x [1, {b: 2021-01-01, c: &y z}]\nd: [*x, *y, !!binary aGk=]\n? k\n: 'v'\nf: |\n  text\n",
    "base: &b {p: 1, q: [a, b]}\nmade: {<<: *b, q: 2}\nf: 1.5e3\ng: 0x1F\nh: 12:30\n",
    "- a\n-\n  - b: \"q\\u0041\"\n    c: 'x''y'\n- !!set {a, b}\n- !!omap [a: 1]\n- ~\n",
)
_JSON = ('{"a": [1, 2.5e3, {"b": null, "c": "\\u00e9\\ud83d\\ude00"}], "d": true, "e": -0.0}',)


def _seeds(*texts: str) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts)


RUN_READERS = (
    Reader("yaml", _seeds(*_YAML, _EXPERIMENT), _yaml),
    Reader("json", _seeds(*_JSON, _MANIFEST), _json),
    Reader("model_formula", _seeds(*_MODEL_FORMULAS), _model_formula),
    Reader("analysis", _seeds(_ANALYSIS), _analysis),
    Reader("grid", _seeds(_GRID), _grid),
    Reader("result", _seeds(_RESULT), _result),
    Reader("manifest", _seeds(_MANIFEST), _manifest),
    Reader("lock_owner", _seeds(_OWNER), _owner),
    Reader("weights", (_weights_seed(),), _weights, is_binary=True),
    Reader("ngram_weights", (_ngram_seed(),), _ngram, is_binary=True),
    Reader(
        "word_lm",
        (*_word_lm_seeds(_MODEL), *_word_lm_seeds(_MODEL.state_dict())),
        _word_lm,
        is_binary=True,
    ),
    Reader("word_lm_words", _word_lm_seeds(Corpus(WORDS)), _word_lm_words, is_binary=True),
    Reader("word_list", (b"the\n<eos>\n<unk>\n",), _listed_words),
    Reader("store_file", (_store_seed(),), _store, is_binary=True, share=0.5),
    Reader("store_rows", _seeds(_ROW), _rows, share=0.3),
    Reader("run_config", _seeds(_config()), _run_config, share=0.2),
    Reader("patterns", _seeds(_PATTERNS), _patterns, share=0.1),
    Reader("train_overrides", _seeds(*_ARGUMENTS), _of_train, share=0.1),
    Reader("evaluate_overrides", _seeds(*_EVALUATE), _of_evaluate, share=0.1),
    Reader("experiment", _seeds(_EXPERIMENT), _experiment, share=0.05),
)  # fmt: skip
