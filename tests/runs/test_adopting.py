"""Models that others trained become runs like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gardenpath as gp
from gardenpath.errors import ConfigError, DamagedRunError, GardenpathError, RunError
from gardenpath.eval.suites.summary import RunName
from gardenpath.models.ngram.arpa import ArpaModel
from gardenpath.runs.find import name_of_source, reference_of, settings_of
from gardenpath.runs.model import AdoptedModel
from gardenpath.runs.run import HowScored, how_scored
from gardenpath.runs.suite_tables import with_boundary_column, with_own_columns
from tests import toy_runs
from tests.integration.commands import call
from tests.models.ngram.oracles import write_arpa

TEXT = "the author knows the senator ."


@pytest.fixture(scope="module")
def arpa(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The n-gram model of a run, as an ARPA file."""
    run = toy_runs.run_of(folder, "ngram")
    path = tmp_path_factory.mktemp("arpa") / "news.arpa"
    write_arpa(path, run.trained.network(), run.vocabulary)
    return path


@pytest.fixture
def adopted(arpa: Path, tmp_path: Path) -> gp.Run:
    return gp.adopt("arpa", arpa, run_dir=tmp_path / "runs" / "news", corpus="news", language="en")


def test_an_adopted_model_is_a_run(adopted: gp.Run, folder: Path) -> None:
    assert adopted.is_adopted
    name = adopted.name
    assert (name.model, name.corpus, name.seed) == ("news", "news", 1)
    assert adopted.language == "en" and adopted.boundary is None
    assert not adopted.is_syntactic and adopted.folder.is_finished
    own = toy_runs.run_of(folder, "ngram").surprisal(TEXT)
    found = gp.load(adopted.path).surprisal(TEXT)
    # ARPA files have seven digits.
    np.testing.assert_allclose(found["surprisal_bits"], own["surprisal_bits"], atol=1e-4)
    assert found.attrs["boundary"] is None and found.attrs["measure"] == "surprisal"


@pytest.mark.slow
def test_it_stands_beside_our_own_runs(adopted: gp.Run, folder: Path, tmp_path: Path) -> None:
    own = toy_runs.run_of(folder, "lstm")
    results = gp.evaluate([adopted, own], gp.suites("toy_english"), items=3, in_vocabulary=True)
    assert set(results.summary["model"]) == {"news", "lstm", "exact grammar"}
    report = results.report(tmp_path / "results")
    assert "news" in report.read_text(encoding="utf-8")
    # Models of words have no choice of boundaries.
    assert "boundary" not in results.items.columns


def test_scores_are_stored_under_the_content_of_the_model(
    adopted: gp.Run, arpa: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "surprisals.sqlite"
    first = gp.load(adopted.path, cache=cache)
    expected = first.surprisal(TEXT)["surprisal_bits"].tolist()
    again = gp.adopt("arpa", arpa, run_dir=tmp_path / "elsewhere", name="other", language="en")
    assert again.name.model == "other"
    assert gp.load(again.path).model_key == first.model_key
    assert gp.load(again.path, cache=cache).surprisal(TEXT)["surprisal_bits"].tolist() == expected


def test_several_processes(adopted: gp.Run) -> None:
    sentences = [tuple(TEXT.split()), ("the", "senator", ".")]
    alone = adopted.word_log_probs(sentences)
    spread = gp.load(adopted.path, processes=2).word_log_probs(sentences)
    for one, other in zip(alone, spread, strict=True):
        np.testing.assert_array_equal(one, other)


def test_scores_that_depend_on_the_order_are_not_stored(
    adopted: gp.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AdoptedModel, "is_order_dependent", True)
    asked: list[Any] = []
    score = ArpaModel.word_log_probs

    def noted(model: ArpaModel, given: Any) -> Any:
        asked.append(given)
        return score(model, given)

    monkeypatch.setattr(ArpaModel, "word_log_probs", noted)
    run = gp.load(adopted.path, cache=tmp_path / "s.sqlite", processes=2)
    sentences = [("the", "senator", "."), ("a", "boy", "."), ("the", "author", ".")]
    for _ in range(2):
        assert len(run.word_log_probs(sentences)) == 3
    # All of them each time, in the order that was given.
    assert [list(one) for one in asked] == [sentences, sentences]
    assert run.store is not None and run.store.get(run.model_key, sentences) == {}
    with pytest.raises(RunError, match="occurs twice"):
        run.word_log_probs([sentences[0], sentences[0]])


def test_references_need_no_run_folder(arpa: Path, tmp_path: Path) -> None:
    run = gp.load(f"arpa:{arpa}")
    assert run.name.model == "news" and run.language is None
    (found,) = gp.find(f"arpa:{arpa}", cache=tmp_path / "surprisals.sqlite")
    assert found.path.parent == tmp_path / "adopted"
    assert found.model_key == run.model_key
    # The same model is the same run; another file under the same name is another.
    (again,) = gp.find(f"arpa:{arpa}", cache=tmp_path / "surprisals.sqlite")
    assert again.path == found.path


def test_a_changed_model_is_another_run(arpa: Path, tmp_path: Path) -> None:
    copy = tmp_path / "news.arpa"
    copy.write_bytes(arpa.read_bytes())
    before = gp.find(f"arpa:{copy}", cache=tmp_path / "s.sqlite")[0]
    text = copy.read_text(encoding="utf-8")
    first = next(line for line in text.splitlines() if line.split("\t")[1:2] == ["</s>"])
    changed = "\t".join(["-9.5", *first.split("\t")[1:]])
    copy.write_text(text.replace(first, changed, 1), encoding="utf-8")
    after = gp.find(f"arpa:{copy}", cache=tmp_path / "s.sqlite")[0]
    assert after.path != before.path and after.model_key != before.model_key


def test_what_is_a_reference(tmp_path: Path) -> None:
    assert reference_of("arpa:models/a.arpa") == ("arpa", "models/a.arpa")
    assert reference_of("runs/arpa") is None
    assert reference_of("http:somewhere") is None


def test_names_of_models(arpa: Path, tmp_path: Path) -> None:
    assert name_of_source(str(arpa)) == "news"
    assert name_of_source("Qwen/Qwen2.5-0.5B") == "Qwen2.5-0.5B"
    assert name_of_source(f"{tmp_path}/") == tmp_path.name


def test_damaged_files_are_named(adopted: gp.Run) -> None:
    weights = adopted.folder / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-3] ^= 1
    weights.write_bytes(content)
    with pytest.raises(DamagedRunError, match=r"weights\.safetensors: is damaged"):
        gp.load(adopted.path).surprisal(TEXT)


def test_an_existing_folder_is_not_replaced_unasked(adopted: gp.Run, arpa: Path) -> None:
    with pytest.raises(RunError, match="contains a finished run"):
        gp.adopt("arpa", arpa, run_dir=adopted.path)
    replaced = gp.adopt("arpa", arpa, run_dir=adopted.path, existing="overwrite", name="second")
    assert replaced.name.model == "second"


def test_what_cannot_be_adopted(tmp_path: Path, arpa: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be adopted"):
        gp.adopt("lstm", arpa, run_dir=tmp_path / "run")
    with pytest.raises(ConfigError, match="is not a setting"):
        settings_of("arpa", {"bos": "none"})
    with pytest.raises(GardenpathError, match=r"nothing\.arpa"):
        gp.adopt("arpa", tmp_path / "nothing.arpa", run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_trees_and_weights_are_those_of_trained_runs(adopted: gp.Run) -> None:
    with pytest.raises(RunError, match="was adopted"):
        adopted.trained.network()
    with pytest.raises(GardenpathError, match="corpus of an adopted model is not here"):
        adopted.perplexity()


def test_perplexity_on_a_named_corpus(adopted: gp.Run, folder: Path) -> None:
    data = toy_runs.run_of(folder, "ngram").data
    found = adopted.perplexity(data=data)
    own = toy_runs.run_of(folder, "ngram").perplexity()
    assert found["perplexity"].iloc[0] == pytest.approx(own["perplexity"].iloc[0], rel=1e-3)


def test_the_commands(
    arpa: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("evaluate.py", "task=adopt", "model=arpa", f"name={arpa}", "model.language=en") == 0
    assert "runs/adopted/news" in capsys.readouterr().out
    Path("in.txt").write_text(f"{TEXT}\n", encoding="utf-8")
    for run in ("runs/adopted/news", f"arpa:{arpa}"):
        assert call("evaluate.py", "task=surprisal", f"run={run}", "input=in.txt") == 0
    assert call("evaluate.py", "task=runs") == 0
    assert "news" in capsys.readouterr().out
    assert call("evaluate.py", "task=adopt", "model=lstm", "name=x") == 2
    assert "model=lstm: is trained by train.py, not adopted" in capsys.readouterr().err
    assert call("train.py", "model=arpa") == 2
    assert "adopt it with 'evaluate.py task=adopt model=arpa name=…'" in capsys.readouterr().err
    content = json.loads(Path("runs/adopted/news/manifest.json").read_text(encoding="utf-8"))
    assert {"config.yaml", "vocabulary.json", "weights.safetensors"} <= content["files"].keys()


def test_runs_of_pieces_with_different_boundaries_are_refused() -> None:
    class Pieces:
        measure = "surprisal"

        def __init__(self, name: str, boundary: str | None) -> None:
            self.name = RunName(run=name, model=name)
            self.boundary = boundary

    alike: Any = [Pieces("a", "next"), Pieces("b", None), Pieces("c", "next")]
    assert how_scored(alike)["b"] == HowScored(None)
    different: Any = [*alike, Pieces("d", "none")]
    with pytest.raises(GardenpathError, match=r"boundary=next.*boundary=none"):
        how_scored(different)


def test_pseudo_log_likelihoods_have_a_column_of_their_own() -> None:
    table = pd.DataFrame({"run": ["bert", "lstm"], "surprisal_bits": [1.0, 2.0]})
    found = with_own_columns(table, {"bert": HowScored(measure="pll"), "lstm": HowScored()})
    assert found["surprisal_bits"].isna().tolist() == [True, False]
    assert found["pll_bits"].tolist()[0] == 1.0 and np.isnan(found["pll_bits"].tolist()[1])
    assert with_own_columns(table, {"lstm": HowScored()}) is table


def test_tables_say_how_words_were_scored(folder: Path) -> None:
    results = gp.evaluate(toy_runs.run_of(folder, "ngram"), gp.suites("toy_english"), items=2)
    name = results.names[0].run
    tables = with_boundary_column(results.tables, {name: HowScored("next")})
    for table in (tables.items, tables.effects, tables.surprisals, tables.sentences):
        assert set(table["boundary"]) == {"next"}
