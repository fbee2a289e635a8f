"""The folder in which a page's commands run: every run, corpus and file that the pages name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from gardenpath.eval.suites.library import load_suites
from gardenpath.runs.training import train
from tests.adopted import tiny_models
from tests.adopted.word_models import make_model, save, write_vocabulary
from tests.documented.corpora import write_all
from tests.documented.released_files import write_released
from tests.eval.published.form_samples import lm_zoo, minicons, vllm
from tests.eval.suites.pair_samples import ENGLISH, MANDARIN, write_set, zipped

# Run folders, as <anything>/<corpus>/<model>/seed<k>; tiny models on tiny corpora.
RUNS = (
    "runs/toy_english/ngram/seed1",
    "runs/toy_english/lstm/seed1",
    "runs/toy_english/rnng/seed1",
    "runs/toy_english/transformer/seed1",
    "runs/ptb_sample/ngram/seed1",
    "runs/ptb_sample/rnng/seed1",
    "runs/ptb_sample/rnng_in_order/seed1",
    "runs/ptb_sample/rnng/seed3",
    "runs/ptb_sample/plm/seed1",
    "runs/ptb/rnng/seed1",
    "runs/gum/rnng/seed1",
    "runs/ctb/ngram/seed1",
    "runs/ctb/rnng/seed1",
    "runs/xinhua/ngram/seed1",
    "runs/mandarin/ctb/lstm/seed1",
    "runs/mandarin/xinhua/lstm/seed1",
    "runs/reflexives/ptb/rnng/seed1",
    "runs/reflexives/ptb/tiny/seed1",
    "runs/reflexives/wikipedia/ngram/seed1",
    "runs/filler_gap/wikipedia/lstm/seed1",
    "runs/demo/demo_english/rnng/seed1",
    "runs/demo/demo_english/plm/seed1",
    "runs/toy/toy_english/rnng/seed1",
    "runs/toy/toy_english/plm/seed1",
)
_NETWORK = ("trainer=cpu", "trainer.max_epochs=1", "model.network.layers=1",
            "model.network.hidden=8")  # fmt: skip
_EMBEDDING = "model.network.embedding=8"
_HEADS = "model.network.heads=2"
SIZES = {
    "ngram": (),
    "lstm": (*_NETWORK, _EMBEDDING),
    "rnng": (*_NETWORK, _EMBEDDING),
    "plm": (*_NETWORK, _HEADS),
    "transformer": (*_NETWORK, _HEADS),
}
_SAMPLED = ("data.reader.train=40", "data.reader.valid=10", "data.reader.test=10")

# The suite for which the files of other programs have surprisals.
RESCORED = "islands/toy"

_SUITE = """\
name: mine
language: en
kind: agreement
critical: [verb]
regions: [subject, verb, end]
predictions:
  agreement: (verb;%plural%) > (verb;%singular%)
factors:
  singular: {number: singular}
  plural: {number: plural}
items:
  1:
    singular: the king | sleeps | .
    plural:   the king | sleep | .
"""
_WORDS = """\
item,condition,word,surprisal
1,singular,the,2.5
1,singular,king,4.5
1,singular,sleeps,6.5
1,singular,.,1.5
1,plural,the,2.5
1,plural,king,4.5
1,plural,sleep,8.5
1,plural,.,1.25
"""
_STIMULI = """\
item,condition,sentence
1,singular,the king sleeps .
1,plural,the king sleep .
"""
_ITEMS = """\
item,condition,subject,verb,rest
1,match,the king,sleeps,.
1,mismatch,the king,sleep,.
"""
_CELLS = """\
item,condition,region,content
1,a1,subject,the king
1,a1,verb,sleep
1,a2,subject,the king
1,a2,verb,sleeps
1,b1,subject,the kings
1,b1,verb,sleep
1,b2,subject,the kings
1,b2,verb,sleeps
"""
_ARPA = """\
\\data\\
ngram 1=5

\\1-grams:
-0.5 <unk>
-0.6 </s>
-99 <s>
-0.7 the
-0.8 king

\\end\\
"""


def build(folder: Path) -> Path:
    """Write everything into a new folder."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_all(folder)
        use_corpora(patch, folder)
        for run in RUNS:
            _train(run)
    (folder / "results" / "toy_english").mkdir(parents=True)
    write_released(folder / "released")
    _write_tables(folder)
    _write_models(folder)
    zipped(write_set(folder / "pairs" / "blimp", "blimp", ENGLISH), folder / "BLiMP.zip")
    zipped(write_set(folder / "pairs" / "zhoblimp", "zhoblimp", MANDARIN), folder / "ZhoBLiMP.zip")
    write_set(folder / "SLING_Data", "sling", MANDARIN)
    return folder


def use_corpora(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let NLTK find the sample of the Penn Treebank in the folder."""
    import nltk

    patch.setenv("NLTK_DATA", str(folder / "nltk_data"))
    patch.setattr(nltk.data, "path", [str(folder / "nltk_data")])


def copied(template: Path, folder: Path, *, only: Sequence[str] | None = None) -> Path:
    """The same for one page, whose commands may change it; or some of it."""
    if only is None:
        return Path(shutil.copytree(template, folder, copy_function=_linked))
    folder.mkdir()
    for name in only:
        if (template / name).is_dir():
            shutil.copytree(template / name, folder / name)
        else:
            shutil.copy(template / name, folder / name)
    return folder


def _linked(source: str, target: str) -> None:
    """Runs are never changed in place, and take most of the space; all else is copied."""
    if source.endswith(".safetensors"):
        os.link(source, target)
    else:
        shutil.copyfile(source, target)


def _train(run: str) -> None:
    *folders, data, model, seed = run.split("/")
    family = {"tiny": "lstm", "rnng_in_order": "rnng"}.get(model, model)
    sampled = _SAMPLED if data.startswith(("toy_", "demo_")) else ()
    train(
        f"data={data}", f"model={family}", f"model.name={model}", *SIZES[family], *sampled,
        f"seed={seed.removeprefix('seed')}", f"paths.runs={'/'.join(folders)}",
    )  # fmt: skip


def _write_tables(folder: Path) -> None:
    """Texts, suites, stimuli, and surprisals as other programs write them."""
    (suite,) = load_suites([RESCORED])
    sentences = list(dict.fromkeys(tuple(words) for words in suite.sentences))
    scores = {words: _log_probs(words) for words in sentences}
    rows = ["sentence_id,word,surprisal"]
    for number, (words, values) in enumerate(scores.items(), start=1):
        rows += [f"{number},{word},{-value}" for word, value in zip(words, values, strict=True)]
    texts = {
        "table.csv": "\n".join(rows) + "\n",
        "gpt2.tsv": lm_zoo(scores),
        "scores.json": minicons(scores),
        "responses.jsonl": vllm(scores),
        "sentences.txt": "\n".join(map(" ".join, sentences)) + "\n",
        "mine.yaml": _SUITE,
        "items.csv": _ITEMS,
        "cells.csv": _CELLS,
        "words.csv": _WORDS,
        "stimuli.csv": _STIMULI,
        "news.arpa": _ARPA,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _log_probs(words: Sequence[str]) -> list[float]:
    """Numbers that depend on the words before, and on the first letter, as pieces of words do."""
    before = [len(" ".join(words[:place])) for place in range(len(words))]
    return [-8.0 - (size + ord(word[0])) % 7 for size, word in zip(before, words, strict=True)]


def _write_models(folder: Path) -> None:
    """A model of Hugging Face in the folder gpt2, and an LSTM as it was published."""
    place = folder / "gpt2"
    tokens = tiny_models.tokeniser("gpt2")
    tokens.save_pretrained(place)
    network = tiny_models.model("gpt2", len(tokens))
    network.save_pretrained(place)
    save(make_model(1), folder / "hidden650_batch128_dropout0.2_lr20.0.pt")
    write_vocabulary(folder / "vocab.txt")
