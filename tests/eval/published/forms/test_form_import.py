"""Files of other programs give the same tables as tables of words, or are refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gardenpath.data.readers.base import SurprisalForm, Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.forms import form_of, read_foreign
from gardenpath.eval.published.importing import Imported
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.benchmarks import load_blimp
from gardenpath.eval.suites.outcomes import SEARCH_NEAR_TIE_BITS, TieRule
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.syntaxgym import load_syntaxgym
from gardenpath.eval.suites.yaml_suites import load_compact
from gardenpath.eval.surprisal.tables import RunHeader, TableHeader, rows_of, write_surprisals
from gardenpath.runs.suite_tables import suite_tables
from tests.eval.published.forms import form_samples
from tests.eval.published.forms.form_samples import Scores

_SUITE = """\
name: mine
language: en
regions: [subject, verb]
predictions: {agreement: (verb;%b%) > (verb;%a%)}
items:
  1: {a: The cat | sleeps, b: The cat | sleep}
  2: {a: A dog | barks, b: A dog | bark}
"""
_PAIRS = [
    {"sentence_good": "The cats sleep.", "sentence_bad": "The cats sleeps.", "UID": "agreement"},
    {
        "sentence_good": "A dog isn't here.",
        "sentence_bad": "A dog aren't here.",
        "UID": "agreement",
    },
]


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    path = tmp_path / "mine.yaml"
    path.write_text(_SUITE, encoding="utf-8")
    return load_compact(path)


@pytest.fixture
def pairs(tmp_path: Path) -> Suite:
    path = tmp_path / "agreement.jsonl"
    path.write_text("".join(json.dumps(pair) + "\n" for pair in _PAIRS), encoding="utf-8")
    return load_blimp(path)


def _scores(suite: Suite) -> Scores:
    """Log probabilities (nats) that depend on the words so far, as a model's do."""
    return {
        words: [-(len("".join(words[: n + 1])) + len(words[n]) / 8) for n in range(len(words))]
        for words in suite.sentences
    }


def _write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _import(
    suite: Suite, path: Path, form: SurprisalForm = "auto", unit: Unit | None = None
) -> Imported:
    return import_tables([suite], [SurprisalSet(path)], PairingRules(unit=unit), form=form)


def _expected(suite: Suite) -> list[list[float]]:
    scores = _scores(suite)
    found = [variant for item in suite.items for variant in item.variants]
    return [[-nats / math.log(2) for nats in scores[variant.words]] for variant in found]


@pytest.mark.parametrize(
    ("name", "form", "unit"),
    [
        ("lm_zoo", "lm_zoo", None),
        ("minicons", "minicons", "log_prob_nats"),
        ("minicons_csv", "minicons", "log_prob_nats"),
        ("minicons_csv", "minicons", "nats"),
        ("vllm", "auto", None),
        ("openai", "auto", None),
    ],
)
def test_every_form_gives_the_numbers_of_words(
    suite: Suite, tmp_path: Path, name: str, form: SurprisalForm, unit: Unit | None
) -> None:
    text = getattr(form_samples, name)(_scores(suite))
    path = _write(tmp_path / "in", "model.txt", text)
    imported = _import(suite, path, form, unit)
    (run,) = imported.runs
    assert run.name.run == "model"
    for row, expected in zip(run.rows, _expected(suite), strict=True):
        assert row == pytest.approx(expected)
    (receipt,) = imported.receipt.surprisals
    assert (receipt.sentences, receipt.joined) == (4, 4)


def test_a_folder_has_a_file_for_each_model(suite: Suite, tmp_path: Path) -> None:
    for name in ("gpt2", "qwen"):
        _write(tmp_path / "in", f"{name}.jsonl", form_samples.vllm(_scores(suite)))
    _write(tmp_path / "in", "notes.json", '{"about": [1, 2]}')
    _write(tmp_path / "in", "qwen.jsonl", form_samples.openai(
        {words: [2 * nats for nats in values] for words, values in _scores(suite).items()}
    ))  # fmt: skip
    imported = _import(suite, tmp_path / "in")
    assert sorted(run.name.model for run in imported.runs) == ["gpt2", "qwen"]
    assert any("notes.json" in left for left in imported.receipt.left_out)


def test_prompts_of_vllm_may_be_left_out_with_a_mark_for_the_beginning(
    suite: Suite, tmp_path: Path
) -> None:
    text = form_samples.vllm(_scores(suite), prompts=False)
    (run,) = _import(suite, _write(tmp_path / "in", "m.jsonl", text)).runs
    assert run.rows[0] == pytest.approx(_expected(suite)[0])


def test_token_numbers_of_vllm_choose_the_token(suite: Suite, tmp_path: Path) -> None:
    lines = []
    for line in form_samples.vllm(_scores(suite)).splitlines():
        record = json.loads(line)
        entries = record["choices"][0]["prompt_logprobs"]
        turned = [None, *(dict(reversed(entry.items())) for entry in entries[1:])]
        record["choices"][0] |= {"prompt_logprobs": turned}
        lines.append(record)
    path = _write(tmp_path / "in", "m.jsonl", "\n".join(map(json.dumps, lines)))
    # More probable tokens come first now, and do not spell the prompt.
    with pytest.raises(InputError, match=r"the tokens ' more.*' do not spell 'The cat sleeps'"):
        _import(suite, path)
    for record in lines:
        count = len(record["choices"][0]["prompt_logprobs"])
        record["prompt_token_ids"] = [0, *range(7, 6 + count)]
    path = _write(tmp_path / "in", "m.jsonl", "\n".join(map(json.dumps, lines)))
    (run,) = _import(suite, path).runs
    assert run.rows[0] == pytest.approx(_expected(suite)[0])


def test_zero_probability_of_vllm(suite: Suite, tmp_path: Path) -> None:
    scores = {words: [*values[:-1], -9999.0] for words, values in _scores(suite).items()}
    text = form_samples.vllm(scores)
    path = _write(tmp_path / "in", "m.jsonl", text.replace(str(-9999.0 * 3 / 4), "-9999.0"))
    (run,) = _import(suite, path).runs
    assert run.rows[0][-1] == math.inf


def test_generated_tokens_of_completions_are_left_out(suite: Suite, tmp_path: Path) -> None:
    lines = []
    for number in range(len(suite.sentences)):
        record = json.loads(form_samples.openai(_scores(suite)))
        (choice,) = [one for one in record["choices"] if one["index"] == number]
        choice["logprobs"]["tokens"].append(" and")
        choice["logprobs"]["token_logprobs"].append(-1.0)
        lines.append({"choices": [choice], "usage": {"completion_tokens": 1}})
    path = _write(tmp_path / "in", "m.jsonl", "\n".join(map(json.dumps, lines)))
    (run,) = _import(suite, path).runs
    assert run.rows[1] == pytest.approx(_expected(suite)[1])
    for record in lines:
        del record["usage"]
    path = _write(tmp_path / "in", "m.jsonl", "\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match="contains no surprisals for these suites"):
        _import(suite, path)


def test_numbers_of_whole_sentences(pairs: Suite, tmp_path: Path) -> None:
    """Sentences are as the file of the pairs writes them, words as the suite divides them."""
    text = form_samples.lm_eval(
        [("The cats sleep.", -20.0, "The cats sleeps.", -25.5),
         ("A dog isn't here.", -30.0, "A dog aren't here.", -28.0)]
    )  # fmt: skip
    path = _write(tmp_path / "gpt2", "samples_agreement_2026.jsonl", text)
    imported = _import(pairs, path.parent)
    (run,) = imported.runs
    assert run.name.model == "gpt2"
    totals = [20.0, 25.5, 30.0, 28.0]
    assert [row[0] for row in run.rows] == pytest.approx([t / math.log(2) for t in totals])
    assert [len(row) for row in run.rows] == [1] * 4
    assert any("numbers are of whole sentences" in note for note in imported.notes)


def test_numbers_of_whole_sentences_do_not_serve_regions(suite: Suite, tmp_path: Path) -> None:
    text = form_samples.lm_eval([("The cat sleeps", -9.0, "The cat sleep", -10.0)])
    path = _write(tmp_path / "in", "samples.jsonl", text)
    with pytest.raises(InputError, match=r"one number per sentence, but suite mine compares reg"):
        _import(suite, path)


def _changed(pairs: Suite, tmp_path: Path, old: str, new: str) -> Path:
    text = form_samples.lm_eval(
        [("The cats sleep.", -20.0, "The cats sleeps.", -25.5),
         ("A dog isn't here.", -30.0, "A dog aren't here.", -28.0)]
    )  # fmt: skip
    assert old in text
    return _write(tmp_path / "in", "samples.jsonl", text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"arg_0": ""', '"arg_0": "Yes."', r"is scored after 'Yes.'"),
        ('"-20.0"', '"Paris"', r"sentence 1: 'Paris' is not a number"),
        ('["-25.5", "False"]]', '["-25.5", "False"], []]', r"2 requests, 3 responses"),
        (" A dog isn't here.", " A dog is here.", r"no numbers for 1 of 4 sentences of suite"),
        (" A dog isn't here.", " The cats sleep.", r"occurs 2 times"),
        ('"-20.0"', '"20.0"', r"positive log probability 20"),
    ],
)
def test_samples_that_do_not_fit(
    pairs: Suite, tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _import(pairs, _changed(pairs, tmp_path, old, new))


def test_a_file_that_fits_two_forms_needs_a_name(suite: Suite, tmp_path: Path) -> None:
    both = json.loads(form_samples.openai(_scores(suite)))
    records = form_samples.vllm(_scores(suite)).splitlines()
    for choice, line in zip(both["choices"][::-1], records, strict=True):
        choice["prompt_logprobs"] = json.loads(line)["choices"][0]["prompt_logprobs"]
    path = _write(tmp_path / "in", "m.json", json.dumps(both))
    with pytest.raises(InputError, match=r"fits several forms: vllm, openai \(name the one"):
        _import(suite, path)
    for form in ("vllm", "openai"):
        (run,) = _import(suite, path, form).runs
        assert run.rows[2] == pytest.approx(_expected(suite)[2])


def test_units_that_files_do_not_say(suite: Suite, tmp_path: Path) -> None:
    """Columns of LM Zoo and of minicons have the same names in different units."""
    path = _write(tmp_path / "in", "m.tsv", form_samples.lm_zoo(_scores(suite)))
    assert form_of(path) == "table"
    with pytest.raises(InputError, match=r"unit of column 'surprisal' is not known.*form=lm_zoo"):
        _import(suite, path)
    with pytest.raises(InputError, match="minicons does not write the unit"):
        _import(suite, _write(tmp_path / "in", "m.json", form_samples.minicons(_scores(suite))))
    with pytest.raises(InputError, match="has the negative surprisal"):
        _import(suite, tmp_path / "in" / "m.json", unit="nats")


def test_other_words_are_refused(suite: Suite, tmp_path: Path) -> None:
    text = form_samples.lm_zoo(_scores(suite)).replace("leep\t", "leap\t")
    path = _write(tmp_path / "in", "m.tsv", text)
    with pytest.raises(InputError, match=r"expected 'The cat sleep'"):
        _import(suite, path, "lm_zoo")
    short = "\n".join(form_samples.lm_zoo(_scores(suite)).splitlines()[:-1])
    with pytest.raises(InputError, match=r"A dog bark"):
        _import(suite, _write(tmp_path / "in", "m.tsv", short), "lm_zoo")


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ("{}", "auto", "is JSON in no known form"),
        ("[1, 2]", "vllm", "document 1 is not an object"),
        ('{"prompt_logprobs": [{}]}', "vllm", "first entry of prompt_logprobs is not null"),
        ('{"prompt_logprobs": [null, {}]}', "vllm", "not an object with tokens"),
        ('{"prompt_logprobs": [null, {"5": {"logprob": -1}}]}', "vllm", "decoded_token is not te"),
        ('{"prompt_logprobs": [null], "prompt_token_ids": [1, 2]}', "vllm", "1 entries, but 2"),
        ('{"choices": [{"text": "a"}]}', "openai", "echo=true"),
        ('{"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": []}}]}', "openai", "1 tok"),
        (
            '{"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": [true]}}]}',
            "openai",
            "Tr",
        ),
        ('[["a", -1.0], ["b"]]', "minicons", "sentence 1 is not a list of"),
        ('{"arguments": [["a"]], "resps": [["text"]]}', "lm_eval", "'text' is not a number"),
        ('{"arguments": [["a", "b", "c"]], "resps": [[1]]}', "lm_eval", "a context and a contin"),
        ('{"items": [{"conditions": [{"regions": [{"content": "a"}]}]}]}', "syntaxgym", "no sum"),
        ('{"a": 1}\n{"b"', "vllm", ":2: is not JSON"),
        ("[", "vllm", "is not JSON"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, form: SurprisalForm, message: str) -> None:
    path = _write(tmp_path / "in", "m.json", text)
    with pytest.raises(InputError, match=message):
        read_foreign(path, form_of(path, form), "log_prob_nats")


def _own_table(
    suite: Suite, path: Path, boundary: str | None, name: str = "lstm", search: str = "none"
) -> None:
    log_probs = [np.array([*values, -1.0]) for values in _scores(suite).values()]
    rows = rows_of(name, suite.sentences, log_probs, suite.sentences, end=False)
    run = RunHeader(run=name, model=name, vocabulary="x", boundary=boundary, search=search)
    write_surprisals(path, rows, TableHeader(runs=(run,), end_of_sentence="none"))


@pytest.mark.parametrize("extension", [".tsv", ".csv"])
def test_files_of_one_run_have_one_boundary(suite: Suite, tmp_path: Path, extension: str) -> None:
    """Tables of ours say how words were made of pieces."""
    suites = [suite, replace(suite, name="other")]
    sets = [SurprisalSet(tmp_path / "in")]
    _own_table(suite, tmp_path / "in" / f"mine{extension}", "next")
    for boundary in ("none", None):
        _own_table(suite, tmp_path / "in" / f"other{extension}", boundary)
        with pytest.raises(InputError, match=r"boundary=none.*, but .*mine.*, of the same run"):
            import_tables(suites, sets, PairingRules())
    _own_table(suite, tmp_path / "in" / f"other{extension}", "next")
    imported = import_tables(suites, sets, PairingRules())
    assert [one.boundary for one in imported.receipt.surprisals] == ["next", "next"]


def test_runs_with_different_boundaries_are_refused(suite: Suite, tmp_path: Path) -> None:
    sets = [SurprisalSet(tmp_path / "in")]
    _own_table(suite, tmp_path / "in" / "a" / "mine.tsv", "next", "a")
    _own_table(suite, tmp_path / "in" / "b" / "mine.tsv", "none", "b")
    with pytest.raises(InputError, match=r"cannot be compared: boundary=next .*boundary=none"):
        import_tables([suite], sets, PairingRules())
    # Models of words stand beside models of pieces.
    _own_table(suite, tmp_path / "in" / "b" / "mine.tsv", None, "b")
    assert len(import_tables([suite], sets, PairingRules()).runs) == 2


@pytest.mark.parametrize("extension", [".tsv", ".csv"])
def test_a_header_tells_that_surprisals_were_searched(
    suite: Suite, tmp_path: Path, extension: str
) -> None:
    """Their near ties are those of a search."""
    sets = [SurprisalSet(tmp_path / "in")]
    for name, search in (("lstm", "none"), ("rnng", "word_sync")):
        _own_table(suite, tmp_path / "in" / name / f"mine{extension}", None, name, search)
    found = import_tables([suite], sets, PairingRules())
    assert [(run.name.run, run.is_searched) for run in found.runs] == [
        ("lstm", False), ("rnng", True)
    ]  # fmt: skip
    # The subject (two words) and the verb of conditions a and b, by turns.
    rows = ((2.0, 1.0, 5.0), (2.0, 1.0, 5.0 + SEARCH_NEAR_TIE_BITS / 2)) * len(suite.items)
    runs = [replace(run, rows=rows) for run in found.runs]
    items = suite_tables([suite], [], imported=runs, ties=TieRule()).items
    assert items.groupby("run")["near_tie"].any().to_dict() == {"lstm": False, "rnng": True}


def test_results_of_syntaxgym(reference_data: Path) -> None:
    """The file of regions and the file of tokens of one model say the same."""
    folder = reference_data / "published" / "syntaxgym"
    suite = load_syntaxgym(folder / "test_in.json")
    (by_region,) = _import(suite, folder / "test_out_grnn.json").runs
    assert by_region.name.run == "test_out_grnn"
    (by_token,) = _import(suite, folder / "test_surp_grnn.txt", "lm_zoo").runs
    # Regions are single units, except those whose first word was not scored.
    for regions, words, variant in zip(
        by_region.rows, by_token.rows, (v for i in suite.items for v in i.variants), strict=True
    ):
        ends = [sum(map(len, variant.regions[: n + 1])) for n in range(len(regions))]
        starts = [0, *ends[:-1]]
        sums = [math.fsum(words[a:b]) for a, b in zip(starts, ends, strict=True)]
        assert regions[1:] == pytest.approx(sums[1:]) and math.isnan(sums[0])
