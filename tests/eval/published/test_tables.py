"""Files of other programs give the same tables as tables of words, or are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.readers.base import SurprisalForm, Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, ScoredSentence, SurprisalSet
from gardenpath.eval.published.forms import form_of, read_file
from gardenpath.eval.published.importing import Imported, run_name
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.published.words import FoundSentences, find_sentences
from gardenpath.eval.suites.benchmarks import load_blimp
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.outcomes import EXACT_TIES, SEARCH_NEAR_TIE_BITS, TieRule
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName, ScoredItems
from gardenpath.eval.suites.syntaxgym import load_syntaxgym
from gardenpath.eval.suites.yaml_suites import load_compact
from gardenpath.eval.surprisal.tables import RunHeader, TableHeader, rows_of, write_surprisals
from gardenpath.runs.suite_tables import suite_tables
from tests.eval.published import samples as form_samples
from tests.eval.published.samples import Scores
from tests.eval.suites.suite_samples import cats_suite

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
        read_file(path, form_of(path, form), PairingRules(unit="log_prob_nats"))


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


# ----------------------------------------------------------------------------
# Sentences of a file are found by their characters, each once, or refused.


def _found(sentences: Sequence[ScoredSentence], asked: list[tuple[str, ...]]) -> FoundSentences:
    return find_sentences(sentences, asked, Path("f.json"))


def _one(
    *tokens: str, hidden: bool = False, text: str = "", line: int = 1, start: float = 1.0
) -> ScoredSentence:
    values = tuple(start + n for n in range(len(tokens)))
    return ScoredSentence(tokens, values, line, text=text, is_first_hidden=hidden)


def _asked(*texts: str) -> list[tuple[str, ...]]:
    return [tuple(text.split()) for text in texts]


@given(st.permutations(["the cat sleeps", "a dog", "猫 が 好き"]), st.booleans())
def test_the_order_of_a_file_does_not_matter(texts: Sequence[str], more: bool) -> None:
    others = [_one("another")] if more else []
    found = _found([*(_one(*text, start=len(text)) for text in texts), *others], _asked(*texts))
    assert found.others == more
    for text in texts:
        one = found.of(tuple(text.split()))
        assert one is not None and one.values[0] == len(text)
    assert found.of(("the", "cat")) is None


def test_the_mark_of_the_beginning_has_no_place() -> None:
    file = [_one("The", " cat", hidden=True), _one("A", " cat", hidden=True, line=2)]
    found = _found(file, _asked("The cat", "A cat"))
    one = found.of(("A", "cat"))
    assert one is not None and (one.tokens, one.values) == (("A", " cat"), (1.0, 2.0))


def test_a_first_token_that_is_not_there_has_no_number() -> None:
    found = _found([_one("e", " cat", hidden=True)], _asked("The cat", "A dog"))
    one = found.of(("The", "cat"))
    assert one is not None and one.tokens == ("Th", "e", " cat")
    assert math.isnan(one.values[0]) and one.values[1:] == (1.0, 2.0)


def test_sentences_that_differ_in_their_first_words_only_need_their_prompts() -> None:
    asked = _asked("The cat", "A cat")
    with pytest.raises(InputError, match=r"sentence 1: ' cat' may be the end of 2 .*'prompt'"):
        _found([_one(" cat", hidden=True)], asked)
    file = [
        _one(" cat", hidden=True, text="The cat"),
        _one(" cat", hidden=True, text="A cat", start=5),
    ]
    found = _found(file, asked)
    one = found.of(("A", "cat"))
    assert one is not None and one.tokens == ("A", " cat") and one.values[1] == 5.0


def test_first_tokens_are_all_marks_or_all_words() -> None:
    """Otherwise the numbers of another sentence would fit: p(cat) for p(cat | the)."""
    file = [_one("A", " dog", hidden=True), _one(" cat", hidden=True, line=2)]
    with pytest.raises(InputError, match="some sentences have a number for their first word"):
        _found(file, _asked("A dog", "The cat"))
    # Where all could be marks, they are: every sentence is there as a whole.
    both = [_one(" cat", " sleeps", hidden=True)]
    found = _found(both, _asked("cat sleeps", "The cat sleeps"))
    assert found.of(("The", "cat", "sleeps")) is None
    assert found.of(("cat", "sleeps")) is not None


def test_a_prompt_must_be_spelt_by_the_tokens() -> None:
    for one in (_one("a", " dog", text="a cat"), _one(" dog", hidden=True, text="a cat")):
        with pytest.raises(InputError, match=r"sentence 1: the tokens .* do not spell 'a cat'"):
            _found([one], _asked("a cat"))


def test_sentences_occur_as_often_as_they_are_asked_for() -> None:
    twice = [_one("a", " cat"), _one("a", " cat", line=2)]
    with pytest.raises(InputError, match=r"f.json:2: 'a  cat' occurs 2 times of 1 sentence"):
        _found(twice, _asked("a cat"))
    assert _found(twice, _asked("a cat", "a cat")).of(("a", "cat")) is not None
    differing = [_one("a", " cat"), _one("a", " cat", line=2, start=3.0)]
    with pytest.raises(InputError, match="occurs 2 times with different numbers"):
        _found(differing, _asked("a cat", "a cat"))


# ----------------------------------------------------------------------------
# Tables of any form are scored against any suites.


SUITE = cats_suite(items=2, name="cats")
# Surprisals of the words of the four sentences.
ROWS = ((1.0, 2.0, 5.0, 4.0), (1.0, 3.0, 6.0, 2.0), (1.0, 2.0, 7.0, 3.0), (1.0, 3.0, 4.0, 1.0))
BITS = PairingRules(unit="bits")


def _import_table_import(
    path: Path,
    rules: PairingRules = BITS,
    suites: Sequence[Suite] = (SUITE,),
    **columns: str,
) -> Imported:
    return import_tables(suites, [SurprisalSet(path)], rules, columns=columns)


def _sentences(suite: Suite = SUITE) -> list[tuple[int, str, tuple[str, ...]]]:
    return [(item.number, v.condition, v.words) for item in suite.items for v in item.variants]


Cells = Callable[[int, int, str, float, int, str], Sequence[object]]


def _table(path: Path, header: str, cells: Cells, separator: str = ",") -> Path:
    """Write a row for every word: of sentence, word_id, word, value, item and condition."""
    lines = [header]
    for number, ((item, condition, words), row) in enumerate(
        zip(_sentences(), ROWS, strict=True), start=1
    ):
        for place, (word, value) in enumerate(zip(words, row, strict=True), start=1):
            found = cells(number, place, word, value, item, condition)
            lines.append(separator.join(map(str, found)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return path


FORMS: dict[str, tuple[str, str, Cells]] = {
    "SyntaxGym's table": (
        "sentence_id\ttoken_id\ttoken\tsurprisal",
        "\t",
        lambda s, n, word, value, *_: (s, n, word, value),
    ),
    "item and condition": (
        "item,condition,word,surprisal",
        ",",
        lambda _s, _n, word, value, item, condition: (item, condition, word, value),
    ),
    "words with regions, quoted": (
        '"item";"condition";"region";"word";"surprisal"',
        ";",
        lambda _s, n, word, value, item, condition: (
            item, f'"{condition}"', "x" if n < 3 else "y", f'"{word}"', value,
        ),
    ),
    "several suites": (
        "suite,sentence_id,word,surprisal",
        ",",
        lambda s, _n, word, value, *_: ("cats", s, word, value),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_tables(tmp_path: Path, form: str) -> None:
    header, separator, cells = FORMS[form]
    path = _table(tmp_path / "gpt2.csv", header, cells, separator)
    (run,) = _import_table_import(path).runs
    assert run.rows == ROWS
    assert (run.name.model, run.name.seed) == ("gpt2", None)
    with pytest.raises(InputError, match="the unit of column 'surprisal' is not known"):
        _import_table_import(path, PairingRules())


def test_rows_of_items_in_any_order(tmp_path: Path) -> None:
    """Sentences are found by item and condition, and then compared."""
    header, separator, cells = FORMS["item and condition"]
    path = _table(tmp_path / "gpt2.csv", header, cells, separator)
    first, *lines = path.read_text(encoding="utf-8-sig").strip().split("\n")
    groups = [lines[n : n + 4] for n in range(0, 16, 4)]
    turned = [line for group in reversed(groups) for line in group]
    path.write_text("\n".join([first, *turned]) + "\n", encoding="utf-8")
    assert _import_table_import(path).runs[0].rows == ROWS
    swapped = [
        line.replace(",match,", ",x,").replace(",mismatch,", ",match,").replace(",x,", ",mismatch,")
        for line in lines
    ]
    path.write_text("\n".join([first, *swapped]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="4 sentences misplaced"):
        _import_table_import(path)
    path.write_text("\n".join([first, *lines[4:]]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="no sentence of item 1, condition match of suite cats"):
        _import_table_import(path)
    extra = [line.replace("2,", "3,", 1) for line in groups[3]]
    path.write_text("\n".join([first, *lines, *extra]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"has 5 sentences, but .* 4, such as item 3"):
        _import_table_import(path)


def test_own_names_of_columns(tmp_path: Path) -> None:
    path = _table(
        tmp_path / "gpt2.csv", "nr,tok_text,sp", lambda s, _n, word, value, *_: (s, word, value)
    )
    found = _import_table_import(path, sentence="nr", word="tok_text", surprisal="sp")
    assert found.runs[0].rows == ROWS
    with pytest.raises(
        InputError,
        match=r"no column for the surprisal.*: NAME}'; its columns: nr, tok_text, sp",
    ):
        _import_table_import(path)
    with pytest.raises(InputError, match=r"has no column 'x'.*its columns: nr, tok_text, sp"):
        _import_table_import(path, surprisal="x")
    with pytest.raises(InputError, match=r"columns: 'token' is unknown.*known: word, surprisal"):
        _import_table_import(path, token="tok_text")


@pytest.mark.parametrize("is_ended", [False, True])
def test_two_columns_without_header(tmp_path: Path, is_ended: bool) -> None:
    lines = []
    for (_, _, words), row in zip(_sentences(), ROWS, strict=True):
        lines += [f"{word}\t{value}" for word, value in zip(words, row, strict=True)]
        lines += ["<eos>\t0.0"] if is_ended else []
    path = tmp_path / "gpt2.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert _import_table_import(path).runs[0].rows == ROWS
    path.write_text("\n".join(lines[:-2]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"words, but the materials have|of another length"):
        _import_table_import(path)


def test_numbers_without_words_need_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.txt"
    values = [value for row in ROWS for value in row]
    path.write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
    with pytest.raises(InputError, match=r"numbers without words.*words=false"):
        _import_table_import(path)
    found = _import_table_import(path, PairingRules(unit="bits", words=False))
    assert found.runs[0].rows == ROWS
    assert found.receipt.surprisals[0].pairing == "order of sentences, without words"
    path.write_text("".join(f"{value}\n" for value in values[1:]), encoding="utf-8")
    with pytest.raises(InputError, match="has 15 words, but the materials have 16"):
        _import_table_import(path, PairingRules(unit="bits", words=False))


@pytest.mark.parametrize(
    ("column", "unit", "factor"),
    [
        ("surprisal_nats", None, math.log(2)),
        ("surprisal", "nats", math.log(2)),
        ("logprob", "log_prob_log10", -math.log10(2)),
    ],
)
def test_units(tmp_path: Path, column: str, unit: str | None, factor: float) -> None:
    header = f"sentence_id,word,{column}"
    path = _table(
        tmp_path / "m.csv", header, lambda s, _n, word, value, *_: (s, word, value * factor)
    )
    (run,) = _import_table_import(path, PairingRules(unit=unit)).runs  # type: ignore[arg-type]
    assert [value for row in run.rows for value in row] == pytest.approx(
        [value for row in ROWS for value in row]
    )


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("surprisal_bits", "nats"),
        ("surprisal", "log_prob_nats"),
        ("logprob", "bits"),
        ("surprisal_nats", "bits"),
    ],
)
def test_units_may_not_contradict_the_column(tmp_path: Path, column: str, unit: str) -> None:
    path = _table(
        tmp_path / "m.csv", f"sentence_id,word,{column}", lambda s, _n, w, v, *_: (s, w, v)
    )
    with pytest.raises(InputError, match=f"unit={unit} contradicts the name of the column"):
        _import_table_import(path, PairingRules(unit=unit))  # type: ignore[arg-type]


def _write_own(path: Path, suite: Suite, nouns: Sequence[float], *, run: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["# bits", "run\tsentence_id\tword_id\tword\tseen\tsurprisal_bits"]
    for number, words in enumerate(suite.sentences, start=1):
        values = (0.0, 2.0, nouns[number - 1], 3.0)
        for place, (word, value) in enumerate(zip(words, values, strict=True), start=1):
            lines.append(f"{run}\t{number}\t{place}\t{word}\t{int(word != '猫2')}\t{value}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_tables_of_our_own_layout(tmp_path: Path) -> None:
    suite, other = cats_suite(items=2, name="zh/cats"), cats_suite(items=1, name="dogs")
    _write_own(tmp_path / "lstm" / "seed1" / "zh_cats.tsv", suite, [1, 2, 4, 3])
    _write_own(tmp_path / "lstm" / "seed5" / "zh" / "cats.tsv", suite, [1, 2, 4, 4])
    _write_own(tmp_path / "dogs.tsv", other, [1, math.inf], run="rnng_seed0")
    found = _import_table_import(tmp_path, PairingRules(), [suite, other])
    rows = {(one.name.model, one.name.seed): [row[2] for row in one.rows] for one in found.runs}
    assert rows == {
        ("lstm", 1): [1, 2, 4, 3],
        ("lstm", 2): [1, 2, 4, 4],
        ("rnng", 1): [1, math.inf],
    }
    lstm = next(one for one in found.runs if one.name.model == "lstm")
    assert lstm.unknown == {"猫2"}
    # Zeros of our own tables are certain words.
    assert lstm.rows[0][0] == 0
    (path,) = tmp_path.glob("dogs.tsv")
    path.write_text(path.read_text(encoding="utf-8").replace("\t1\t一", "\t2\t一"), "utf-8")
    with pytest.raises(InputError, match="word_id is '2' after '2'"):
        _import_table_import(tmp_path, PairingRules(), [suite, other])


def test_one_table_of_several_runs_and_suites(tmp_path: Path) -> None:
    dogs = cats_suite(items=1, name="zh/dogs")
    lines = ["model,seed,corpus,suite,item,condition,word,surprisal"]
    for model, seed in (("lstm", 7), ("lstm", 9), ("gpt", "")):
        for suite in (SUITE, dogs):
            for (item, condition, words), row in zip(_sentences(suite), ROWS, strict=False):
                start = f"{model},{seed},ctb,{suite.name.replace('/', '_')},{item},{condition}"
                lines += [f"{start},{w},{v}" for w, v in zip(words, row, strict=True)]
    lines.append("lstm,7,ctb,other,1,match,一,1.0")
    path = tmp_path / "all.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = _import_table_import(path, suites=[SUITE, dogs])
    names = {(one.name.run, one.name.model, one.name.corpus, one.name.seed) for one in found.runs}
    assert names == {
        ("lstm/seed7", "lstm", "ctb", 1),
        ("lstm/seed9", "lstm", "ctb", 2),
        ("gpt", "gpt", "ctb", None),
    }
    assert {one.suite.name for one in found.runs} == {"cats", "zh/dogs"}
    assert any("other" in note for note in found.notes)
    assert any("lstm/seed7 and lstm/seed9 have the same surprisals" in n for n in found.notes)


def test_suites_one_after_the_other(tmp_path: Path) -> None:
    dogs = cats_suite(items=1, name="dogs")
    lines = []
    for suite in (SUITE, dogs):
        for (_, _, words), row in zip(_sentences(suite), ROWS, strict=False):
            lines += [f"{w} {v}" for w, v in zip(words, row, strict=True)] + ["<eos> 0"]
    path = tmp_path / "gpt2.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = _import_table_import(path, suites=[SUITE, dogs])
    assert {one.suite.name: one.rows for one in found.runs} == {"cats": ROWS, "dogs": ROWS[:2]}
    assert found.receipt.surprisals[0].pairing == "order of suites and sentences"


def test_a_table_of_items_and_surprisals_ordered_by_condition(tmp_path: Path) -> None:
    """Items are numbered within conditions, and the rows of two models alternate."""
    lines = ["nr,pos,cond,region,word,model,surprisal"]
    for condition in ("match", "mismatch"):
        for number, (item, own, words) in enumerate(_sentences()):
            if own != condition:
                continue
            for place, (word, value) in enumerate(zip(words, ROWS[number], strict=True)):
                region = ("classifier", "classifier", "noun", "end")[place]
                start = f"{item},{place},{condition},{region},{word}"
                lines += [f"{start},a,{value}", f"{start},b,{value + 1}"]
    table = tmp_path / "words.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    description = tmp_path / "mine.yaml"
    description.write_text(
        "name: cats\nlanguage: zh\nspaced: false\ntable: words.csv\n"
        "columns: {item: nr, condition: cond}\nonly: {model: a}\n"
        "predictions: {fits: (noun;%mismatch%) > (noun;%match%)}\n",
        encoding="utf-8",
    )
    (suite,) = load_suites(str(description))
    assert suite.sentences == SUITE.sentences
    found = _import_table_import(table, suites=[suite], word_id="pos")
    rows = {run.name.model: run.rows for run in found.runs}
    assert rows["a"] == ROWS and rows["b"][0] == tuple(value + 1 for value in ROWS[0])
    # A file of tokens alone is in the order of the rows of the table.
    path = tmp_path / "gpt2.txt"
    ordered = [0, 2, 1, 3]
    tokens = [
        f"{word} {value}"
        for n in ordered
        for word, value in zip(_sentences()[n][2], ROWS[n], strict=True)
    ]
    path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
    assert _import_table_import(path, suites=[suite]).runs[0].rows == ROWS


def test_whole_sentences_without_first_words_are_undefined(tmp_path: Path) -> None:
    suite = cats_suite({"whole": "(*;%mismatch%) > (*;%match%)"}, items=2)
    header, separator, cells = FORMS["SyntaxGym's table"]
    path = _table(
        tmp_path / "m.tsv",
        header,
        lambda s, n, word, value, *more: cells(s, n, word, value * (n > 1), *more),
        separator,
    )
    found = _import_table_import(path, suites=[suite])
    assert all(math.isnan(row[0]) for row in found.runs[0].rows)
    assert any("comparisons of whole sentences are undefined" in note for note in found.notes)
    tables = suite_tables([], [], imported=found.runs, ties=EXACT_TIES)
    assert tables.items["outcome"].isna().all()
    (shown,) = ScoredItems(items=tables.items).tables()
    assert [column.header for column in shown.columns] == ["class", "m"]


def test_every_distinct_sentence_once(tmp_path: Path) -> None:
    item = SUITE.items[0]
    doubled = cats_suite(items=1, name="cats")
    twice = Suite(**{
        **{name: getattr(doubled, name) for name in doubled.__dataclass_fields__},
        "items": (type(item)(1, (*item.variants, *item.variants)),),
    })  # fmt: skip
    path = tmp_path / "m.csv"
    lines = ["sentence_id,word,surprisal_bits"]
    for number, (words, row) in enumerate(zip(twice.sentences, ROWS[:2], strict=True)):
        lines += [f"{number},{w},{v}" for w, v in zip(words, row, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert _import_table_import(path, PairingRules(), [twice]).runs[0].rows == (
        *ROWS[:2],
        *ROWS[:2],
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("sentence_id,word,surprisal\n1,a\n", ":2: 2 columns, but the header has 3"),
        ("sentence_id,word,word\n", "has two columns 'word'"),
        ("sentence_id,surprisal\n1,2\n", "no column for the word.*words=false"),
        ("sentence_id,word,surprisal\n1,a,1\n2,b,1\n1,c,1\n", "not together, or .* twice"),
        ("sentence_id,word,surprisal,seen\n1,a,1,maybe\n", ":2: seen is 'maybe'"),
    ],
)
def test_mistakes_in_tables_are_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        _import_table_import(path)


def test_folders_without_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no surprisals for these suites"):
        _import_table_import(tmp_path)
    with pytest.raises(InputError, match="is not a folder or a table"):
        _import_table_import(tmp_path / "absent")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("lstm_outputs/trial1", RunName(run="lstm_outputs/trial1", model="lstm", seed=1)),
        ("rnng", RunName(run="rnng", model="rnng")),
        ("lstm_seed-12", RunName(run="lstm_seed-12", model="lstm", seed=12)),
        ("gpt2", RunName(run="gpt2", model="gpt2")),
        ("ctb/lstm/seed3", RunName(run="ctb/lstm/seed3", model="ctb/lstm", seed=3)),
        ("trial2", RunName(run="trial2", model="surprisals", seed=2)),
        ("", RunName(run="surprisals", model="surprisals")),
    ],
)
def test_folders_name_runs(path: str, expected: RunName) -> None:
    root = Path("/data/surprisals")
    assert run_name(root / path, root) == expected
