"""Small stand-ins for all runs, corpora and files that the documents name."""

from __future__ import annotations

import functools
import io
import os
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from gardenpath.data.readers.files import ToyTreebank
from gardenpath.data.sentence import SPLITS
from gardenpath.data.trees.tree import format_tree
from gardenpath.eval.suites.library import load_suites
from gardenpath.runs.training import train
from tests.adopted import tiny_models
from tests.adopted.word_models import make_model, save, write_vocabulary
from tests.eval.published.samples import lm_zoo, minicons, vllm
from tests.eval.suites.suite_samples import ENGLISH, write_set, zipped
from tests.eval.suites.suite_samples import MANDARIN as PAIRS
from tests.integration.test_miniature import write_corpora
from tests.studies.test_mandarin_files import SENTENCES as MANDARIN
from tests.studies.test_reflexives_files import HEADER
from tests.studies.test_reflexives_files import SENTENCES as REFLEXIVES
from tests.studies.test_suppression_files import ORDERS, TEMPLATES

_SENTENCES = 40
_DOCUMENTS = 20
# Files of each treebank that are in its training, validation and test split.
_PTB = {"train": "02/wsj_0201.mrg", "valid": "22/wsj_2201.mrg", "test": "23/wsj_2301.mrg"}
_BROWN = {"train": "ca01.mrg", "valid": "ca09.mrg", "test": "ca10.mrg"}
_PTB_SAMPLE = {"train": "wsj_0001.mrg", "valid": "wsj_0160.mrg", "test": "wsj_0180.mrg"}
_GUM = {"train": "GUM_news_a", "valid": "GUM_news_b", "test": "GUM_news_c"}
_LISTS = "## train\n  * GUM_news_a\n## dev\n  * GUM_news_b\n## test\n  * GUM_news_c\n"

MANDARIN_NEWS = """\
<DOC id="X.1">
<TEXT>
<P>
他看见了一只猫。学生喜欢那本书。
</P>
</TEXT>
</DOC>
"""


@functools.cache
def sentences(split: str, language: str = "english") -> Sequence[tuple[str, str]]:
    """The trees and the words of a split, each as a line."""
    size = _SENTENCES if split == "train" else 10
    toy = ToyTreebank(grammar=language, seed=3, train=size, valid=size, test=size)
    return [(format_tree(one.tree), " ".join(one.words)) for one in toy.read(split) if one.tree]


def write_all(folder: Path) -> None:
    """Write every corpus, below ``corpora`` and elsewhere, as a reader of the documents has it."""
    write_corpora(folder / "corpora")
    _write_treebank(folder / "corpora" / "ptb" / "parsed" / "mrg" / "wsj", _PTB)
    _write_treebank(folder / "corpora" / "brown", _BROWN)
    _write_treebank(folder / "nltk_data" / "corpora" / "treebank" / "combined", _PTB_SAMPLE)
    for split in SPLITS:
        trees, words = zip(*sentences(split), strict=True)
        _write(folder / "my_corpus" / f"{split}.txt", trees)
        _write(folder / "my_text" / f"{split}.txt", words)
        marked = [f"{line} <eos>" for line in words]
        _write(folder / "corpora" / "wikipedia" / f"{split}.txt", marked)
    _write_gum(folder / "gum_const.tar.gz")
    for number, (_, text) in enumerate(sentences("train")[:_DOCUMENTS]):
        _write(folder / "news" / f"{number}.txt", [text])
    _write(folder / "LDC95T13" / "a.sgm", [MANDARIN_NEWS])


def _write_treebank(folder: Path, files: dict[str, str]) -> None:
    for split, name in files.items():
        _write(folder / name, [f"( {tree} )" for tree, _ in sentences(split)])


def _write_gum(path: Path) -> None:
    texts = {"splits.md": _LISTS}
    for split, name in _GUM.items():
        texts[f"const/{name}.ptb"] = "\n".join(f"(ROOT {tree})" for tree, _ in sentences(split))
    with tarfile.open(path, "w:gz") as archive:
        for name, text in texts.items():
            _write(path.parent / "corpora" / "gum" / name, [text])
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


# ----------------------------------------------------------------------------
# Materials and surprisals in the layouts of three published studies, with sentences of our own.


def write_released(folder: Path) -> None:
    """Write ``mandarin``, ``mandarin_2``, ``reflexives`` and ``suppression``."""
    _write_mandarin(folder / "mandarin", "lstm_outputs", 1.0)
    _write_mandarin(folder / "mandarin_2", "hybrid1_outputs_lstm", 1.125)
    _write_reflexives(folder / "reflexives")
    _write_suppression(folder / "suppression")


def _bits(words: Sequence[str], factor: float) -> list[float]:
    """Surprisals that depend on the words up to each one, as those of a model do."""
    values = []
    for end in range(1, len(words) + 1):
        value = sum(ord(letter) * place for place, letter in enumerate(" ".join(words[:end]), 1))
        values.append(factor * (4.0 + value % 97 / 16))
    return values


def _write_mandarin(folder: Path, run: str, factor: float) -> None:
    for key, text in MANDARIN.items():
        _write(folder / key.split("_")[0] / f"{key}_txt.txt", text.splitlines())
        rows = ["sentence_id\ttoken_id\ttoken\tsurprisal"]
        for number, line in enumerate(text.splitlines(), start=1):
            words = [*line.split(), "</s>"]
            for place, (word, bits) in enumerate(zip(words, _bits(words, factor), strict=True), 1):
                rows.append(f"{number}\t{place}\t{word}\t{bits}")
        _write(folder / run / "trial0" / f"surprisals_{key}.tsv", rows)


def _write_reflexives(folder: Path) -> None:
    stimuli, lines = [HEADER], []
    for position, grammatical, text in REFLEXIVES:
        stimuli.append(f"1,local,{grammatical},{position},hurt,herself,{text} <eos>,{text}")
        lines += _tokens(text)
    _write(folder / "stimuli" / "exp4-pp" / "herself.csv", stimuli)
    _write(folder / "surprisal" / "grnn" / "exp4-pp" / "herself_grnn.txt", lines)


def _write_suppression(folder: Path) -> None:
    gaps = []
    for before, middle, after in TEMPLATES:
        for filler in ("that", "who"):
            for thing in ("the guest", ""):
                parts = (before, filler, middle, thing, "at noon", after, ".")
                gaps.append(" ".join(part for part in parts if part))
    orders = [line for block in ORDERS for line in block]
    for name, lines in (("center-embeddings", orders), ("filler-gap-dependencies", gaps)):
        _write(folder / name / "input.txt", [f"{line} <eos>" for line in lines])
        tokens = [token for line in lines for token in _tokens(line)]
        _write(folder / name / "gulordava_output.tsv", tokens)


def _tokens(text: str) -> list[str]:
    words = [*text.split(), "<eos>"]
    return [f"{word}\t{bits}" for word, bits in zip(words, _bits(words, 1.0), strict=True)]


# ----------------------------------------------------------------------------
# The folder in which a page's commands run: every run, corpus and file that the pages name.


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
    zipped(write_set(folder / "pairs" / "zhoblimp", "zhoblimp", PAIRS), folder / "ZhoBLiMP.zip")
    write_set(folder / "SLING_Data", "sling", PAIRS)
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
