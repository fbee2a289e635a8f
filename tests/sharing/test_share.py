"""Shared runs are loaded by others, and give the numbers of the run."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2LMHeadModel

import gardenpath as gp
from gardenpath.data.batches.tokens import token_batch
from gardenpath.data.encoding import encode_sentences
from gardenpath.data.words.pieces import Subwords
from gardenpath.errors import GardenpathError, RunError
from gardenpath.runs.run import Run
from gardenpath.sharing import transformers_folder
from gardenpath.sharing.share import share_run
from gardenpath.store.run_folder import RunFolder
from tests import small_runs, toy_runs

_SMALL = ("trainer.max_epochs=1", "model.network.layers=2", "model.network.hidden=16",
          "model.batches.max_sentences=8")  # fmt: skip
_TRANSFORMER = ("model=transformer", *_SMALL, "model.network.heads=2",
                "model.network.max_positions=48")  # fmt: skip
KINDS = {
    "lstm": ("model=lstm", *_SMALL, "model.network.embedding=12"),
    "tied_lstm": ("model=lstm", *_SMALL, "model.network.embedding=16", "model.network.tied=true"),
    "transformer": _TRANSFORMER,
    "unigram_pieces": (*_TRANSFORMER, "data.subwords.algorithm=unigram", "data.subwords.pieces=24"),
    "bpe_pieces": (*_TRANSFORMER, "data.subwords.algorithm=bpe", "data.subwords.pieces=24"),
    "lowercase": (*_TRANSFORMER, "data.cleaning.lowercase=true"),
}
SENTENCES = [["the", "cat", "sleeps", "."], ["a"], ["that", "old", "dog", "hears", "the", "cat"]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A small run of each kind."""
    folder = tmp_path_factory.mktemp("trained")
    return {
        name: small_runs.loaded(
            small_runs.run(folder, *overrides, f"run_dir={folder / 'runs' / name}")
        )
        for name, overrides in KINDS.items()
    }


def _token_log_probs(run: Run, words: list[str]) -> tuple[list[int], list[float]]:
    """Ids and log probabilities of the tokens of a sentence, and of its end, from the network."""
    split = encode_sentences([words], run.vocabulary, run.trained.subwords)
    with torch.inference_mode():
        found = run.trained.network().log_prob(token_batch(split, np.arange(1)))[0].tolist()
    return split.sentence(0).tolist(), found


def _scored(model: Any, tokenizer: Any, text: str) -> tuple[list[int], list[float]]:
    """The same with the library transformers, as the card of a shared run says."""
    ids = tokenizer(text, return_tensors="pt").input_ids
    ids = torch.cat([ids, torch.tensor([[tokenizer.eos_token_id]])], 1)
    with torch.inference_mode():
        log_probs = model(ids).logits[0, :-1].log_softmax(-1)
    found = log_probs.gather(1, ids[0, 1:, None])[:, 0]
    assert ids[0, 0] == tokenizer.bos_token_id and (ids == tokenizer.bos_token_id).sum() == 1
    return ids[0, 1:-1].tolist(), found.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_transformers_gives_the_numbers_of_the_run(
    trained: dict[str, Run], tmp_path: Path, name: str
) -> None:
    run = trained[name]
    share_run(run, tmp_path / "shared", "huggingface")
    has_code = "lstm" in name
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "shared", trust_remote_code=has_code)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "shared")
    for words in SENTENCES:
        ids, expected = _token_log_probs(run, words)
        found_ids, found = _scored(model.eval(), tokenizer, " ".join(words))
        assert found_ids == ids
        assert np.allclose(found, expected, rtol=0, atol=2e-5)
        if run.trained.subwords is None:
            assert np.allclose(found, run.word_log_probs([words])[0], rtol=0, atol=2e-5)
    assert isinstance(model, GPT2LMHeadModel) != has_code
    assert not list((tmp_path / "shared").glob("*.bin"))


def test_padding_on_the_right_changes_nothing_and_labels_give_the_loss(
    trained: dict[str, Run], tmp_path: Path
) -> None:
    for name in ("lstm", "transformer"):
        folder = tmp_path / name
        share_run(trained[name], folder, "huggingface")
        model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
        given = tokenizer([" ".join(words) for words in SENTENCES], padding=True,
                          return_tensors="pt")  # fmt: skip
        with torch.inference_mode():
            together = model(**given).logits.log_softmax(-1)
            for row, words in enumerate(SENTENCES):
                one = tokenizer(" ".join(words), return_tensors="pt").input_ids
                alone = model(one, labels=one)
                found = alone.logits[0].log_softmax(-1)
                assert torch.allclose(together[row, : one.shape[1], 2:], found[:, 2:], atol=1e-5)
                picked = found[:-1].gather(1, one[0, 1:, None])
                assert torch.isclose(alone.loss, -picked.mean(), atol=1e-5)


def test_an_lstm_refuses_padding_on_the_left(trained: dict[str, Run], tmp_path: Path) -> None:
    share_run(trained["lstm"], tmp_path / "shared", "huggingface")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "shared", trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "shared", padding_side="left")
    with pytest.raises(ValueError, match="pad on the right"):
        model(**tokenizer(["the cat", "a"], padding=True, return_tensors="pt"))


def test_words_are_lower_cased_and_unknown_ones_read_as_the_card_says(
    trained: dict[str, Run], tmp_path: Path
) -> None:
    share_run(trained["lowercase"], tmp_path / "lower", "huggingface")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "lower")
    assert tokenizer("The CAT")["input_ids"] == tokenizer("the cat")["input_ids"]
    assert "Words are lower-cased" in (tmp_path / "lower" / "README.md").read_text()
    share_run(trained["transformer"], tmp_path / "other", "huggingface")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "other")
    assert tokenizer("the zebra").tokens() == ["<s>", "the", "<unk>"]
    assert "read as `<unk>`, as in Gardenpath" in (tmp_path / "other" / "README.md").read_text()
    # Blanks other than the common ones may be parts of words.
    assert tokenizer(" the\tcat\n").tokens() == ["<s>", "the", "cat"]
    assert tokenizer("the\u00a0cat").tokens() == ["<s>", "<unk>"]


def test_classes_of_unknown_words_can_be_written(tmp_path: Path) -> None:
    small_runs.write_corpus(tmp_path / "corpus")
    with (tmp_path / "corpus" / "train.txt").open("a", encoding="utf-8") as file:
        file.write("the walruses sleeps .\n")
    run = small_runs.loaded(small_runs.run(tmp_path, *KINDS["lstm"], "data.min_count=2"))
    share_run(run, tmp_path / "shared", "huggingface")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "shared")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "shared", trust_remote_code=True)
    (scores,) = run.word_log_probs([["the", "zebras", "."]])
    seen = run.vocabulary.seen_as("zebras", is_first=False)
    assert seen == "<unk-lc-s>"
    assert np.allclose(_scored(model, tokenizer, f"the {seen} .")[1], scores, atol=2e-5)
    assert not np.allclose(_scored(model, tokenizer, "the zebras .")[1], scores, atol=1e-2)
    card = (tmp_path / "shared" / "README.md").read_text(encoding="utf-8")
    assert "The numbers of sentences with unknown words differ" in card


@pytest.mark.parametrize("model", ["ngram", "lstm", "rnng", "plm"])
def test_a_portable_run_loads_and_gives_the_same_numbers(
    folder: Path, tmp_path: Path, model: str
) -> None:
    run = toy_runs.run_of(folder, model)
    share_run(run, tmp_path / "shared")
    again = gp.load(tmp_path / "shared", device="cpu", search=run.search)
    words = [["the", "king", "sleeps", "."]]
    assert np.array_equal(again.word_log_probs(words)[0], run.word_log_probs(words)[0])
    assert again.model_key == run.model_key and again.metrics == run.metrics
    names = {path.name for path in (tmp_path / "shared").iterdir()}
    assert names >= {"weights.safetensors", "config.json", "vocabulary.json", "README.md"}
    assert not names & {"train.log", "checkpoints", ".lock"}
    described = json.loads((tmp_path / "shared" / "config.json").read_text(encoding="utf-8"))
    assert described["family"] == model and described["vocabulary_size"] == len(run.vocabulary)
    assert str(folder) not in json.dumps(described)
    card = (tmp_path / "shared" / "README.md").read_text(encoding="utf-8")
    assert "gp.load(" in card and ("by search" in card) == run.is_syntactic


def test_a_portable_run_of_pieces(trained: dict[str, Run], tmp_path: Path) -> None:
    run = trained["unigram_pieces"]
    share_run(run, tmp_path / "shared")
    again = gp.load(tmp_path / "shared", device="cpu")
    for one, other in zip(
        again.word_log_probs(SENTENCES), run.word_log_probs(SENTENCES), strict=True
    ):
        assert np.array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_classes_of_words_are_not_part_of_transformers(tmp_path: Path, kind: str) -> None:
    run = small_runs.loaded(small_runs.run(tmp_path, *KINDS[kind], "model.network.output=factored"))
    with pytest.raises(RunError, match="output=factored cannot be expressed"):
        share_run(run, tmp_path / "refused", "huggingface")
    share_run(run, tmp_path / "shared")
    again = gp.load(tmp_path / "shared", device="cpu")
    for one, other in zip(
        again.word_log_probs(SENTENCES), run.word_log_probs(SENTENCES), strict=True
    ):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("model", ["ngram", "rnng", "plm"])
def test_other_families_are_not_models_of_transformers(
    folder: Path, tmp_path: Path, model: str
) -> None:
    with pytest.raises(RunError, match=f"family {model} cannot be expressed"):
        share_run(toy_runs.run_of(folder, model), tmp_path / "shared", "huggingface")
    assert not (tmp_path / "shared").exists()


def test_nothing_is_replaced(trained: dict[str, Run], tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    with pytest.raises(RunError, match="exists already"):
        share_run(trained["lstm"], tmp_path / "shared")


def test_damaged_and_unfinished_runs_are_refused(trained: dict[str, Run], tmp_path: Path) -> None:
    shutil.copytree(trained["lstm"].path, tmp_path / "run")
    with (tmp_path / "run" / "weights.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x55")
    with pytest.raises(RunError, match="is damaged"):
        share_run(Run(tmp_path / "run", device="cpu"), tmp_path / "shared")
    (tmp_path / "run" / "result.json").unlink()
    with pytest.raises(RunError, match="is not finished"):
        share_run(Run(tmp_path / "run", device="cpu"), tmp_path / "shared")


def test_a_model_with_other_numbers_is_not_written(
    trained: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = transformers_folder._as_gpt2

    def wrong(run: Run, network: Any) -> Any:
        model = original(run, network)
        torch.nn.init.normal_(model.transformer.wpe.weight)
        return model

    monkeypatch.setattr(transformers_folder, "_as_gpt2", wrong)
    with pytest.raises(GardenpathError, match="gives other numbers"):
        share_run(trained["transformer"], tmp_path / "shared", "huggingface")
    assert not list(tmp_path.iterdir())


def test_a_segmentation_that_differs_is_refused(
    trained: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trained["unigram_pieces"]
    encode = Subwords.encode

    def backwards(self: Any, word: str, vocabulary: Any) -> list[int]:
        return encode(self, word, vocabulary)[::-1]

    monkeypatch.setattr(Subwords, "encode", backwards)
    with pytest.raises(GardenpathError, match="in a tokeniser of the library tokenizers"):
        share_run(run, tmp_path / "shared", "huggingface")


def test_a_missing_library_is_named(
    trained: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "gardenpath.sharing.transformers_folder", raising=False)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(GardenpathError, match=r"pip install 'gardenpath\[hf\]'"):
        share_run(trained["lstm"], tmp_path / "shared", "huggingface")


# ----------------------------------------------------------------------------
# ``task=share``: a folder for each run.


def test_every_run_has_a_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_runs.evaluate(folder, tmp_path, "task=share")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"toy_english_{one}_seed1" for one in ("lstm", "ngram", "plm", "rnng")]
    assert all(RunFolder(path).is_finished for path in tmp_path.iterdir())
    assert str(tmp_path / "toy_english_lstm_seed1") in capsys.readouterr().out.replace("\n", "")
    with pytest.raises(RunError, match="exists already"):
        toy_runs.evaluate(folder, tmp_path, "task=share", model="lstm")


def test_a_model_of_transformers(folder: Path, tmp_path: Path) -> None:
    toy_runs.evaluate(folder, tmp_path, "task=share", "task.form=huggingface", model="lstm")
    found = {path.name for path in (tmp_path / "toy_english_lstm_seed1").iterdir()}
    assert {"model.safetensors", "tokenizer.json", "modeling_gardenpath_lstm.py"} < found
