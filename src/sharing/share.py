"""task=share and ``gardenpath.share``: write runs to folders for others.

A folder is a portable run, or a model of the library transformers (``transformers_folder`` converts
it), with a card that says what it is, how to load it and what to mind. Nothing of the corpus is
written, and no number that was not compared with the run. This module must not need transformers.
"""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from gardenpath.console import console
from gardenpath.errors import ConfigError, GardenpathError, RunError
from gardenpath.models.family import SyntacticFamily
from gardenpath.runs.run import Run
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import plain
from gardenpath.settings.tasks import SharedForm, ShareTask
from gardenpath.store.files import build_folder, write_json, write_text
from gardenpath.store.manifest import MANIFEST_FILE
from gardenpath.store.run_folder import (
    CONFIG_FILE,
    METRICS_FILE,
    RESULT_FILE,
    SUBWORDS_FILE,
    VERSIONS_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    RunFolder,
)
from gardenpath.tasks.output import asked_runs, conclude
from gardenpath.util import file_stem, versions

_CARD_FILE = "README.md"
_PORTABLE_FILES = (
    CONFIG_FILE, VOCABULARY_FILE, SUBWORDS_FILE, WEIGHTS_FILE, METRICS_FILE,
    VERSIONS_FILE, RESULT_FILE, MANIFEST_FILE,
)  # fmt: skip

_PLAIN = """\
## How to load it

The folder is a run folder of Gardenpath:

```python
import gardenpath as gp

run = gp.load("FOLDER")
run.surprisal("{example}")
```

Without Gardenpath: `weights.safetensors` has the weights by name, `config.json` the sizes and the
settings of the network, and `vocabulary.json` the units in the order of their numbers{pieces}.
`manifest.json` has the SHA-256 of the files.
"""

_LOADING = {
    "gpt2": """\
```python
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForCausalLM.from_pretrained("FOLDER").eval()
```

It is a GPT-2 without tied embeddings. Two symbols never come next, `<pad>` and `<s>`, and have no
probability. GPT-2 cannot express this with the weights as they were trained; so they are rewritten
for a residual stream that is a little wider. The probabilities are the same up to rounding.
""",
    "lstm": """\
The library transformers has no LSTM, so the folder has one in `modeling_gardenpath_lstm.py`, which
needs torch and transformers only. Read it, and load the model with this file in Python's path:

```python
from modeling_gardenpath_lstm import GardenpathLstmForCausalLM
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = GardenpathLstmForCausalLM.from_pretrained("FOLDER").eval()
```

`AutoModelForCausalLM.from_pretrained("FOLDER", trust_remote_code=True)` runs the same file. Two
symbols never come next, `<pad>` and `<s>`, and have no probability.
""",
}

_SCORING = """\
## How to compute log probabilities

```python
import torch

ids = tokenizer("{example}", return_tensors="pt").input_ids          # begins with <s>
ids = torch.cat([ids, torch.tensor([[tokenizer.eos_token_id]])], 1)  # ends with </s>
with torch.inference_mode():
    log_probs = model(ids).logits[0, :-1].log_softmax(-1)
found = log_probs.gather(1, ids[0, 1:, None])[:, 0]                  # nats, of words and the end
```

The model was trained on single sentences between `<s>` and `</s>`, with a blank between any two
words and before punctuation. A text of several sentences is not what it knows.
"""

_WORDS = """\
## Words outside of the vocabulary

**The numbers of sentences with unknown words differ from those of Gardenpath.** Gardenpath gives a
word outside of the vocabulary one of {classes} classes by its form, such as `{example}`. This
tokeniser cannot, and reads `<unk>`, which the model may never have seen in training. Write the
class in place of the word to get the same numbers: `gp.load(…).vocabulary.seen_as(word,
is_first=False)` returns it.
"""

_PIECES = """\
## Words of several pieces

Words consist of pieces. The product of the probabilities of its pieces is not the probability of a
word, because the word might go on: multiply it by the probability that the next token begins a
word or ends the sentence, and divide by the same before the word (Pimentel and Meister 2024).
Gardenpath does this by default.
"""

_TIES = """
**Some words have other pieces than in Gardenpath, and other numbers**: those that can be divided in
several equally good ways, such as `000`, which is `0 00` and `00 0`. Among words that were invented
by joining pieces at random, these are {share:.1%}.
"""


def run_share(settings: EvaluateSettings, task: ShareTask) -> None:
    """Write each run to a folder of its own below the output folder."""
    runs = asked_runs(settings)
    names = [f"{run.name.corpus}_{run.name.model}_seed{run.name.seed}" for run in runs]
    folders = [Path(settings.output) / file_stem(name) for name in names]
    for folder, run in zip(folders, runs, strict=True):
        if folders.count(folder) > 1:
            raise ConfigError([f"{run.path}: another run has its name; share them one by one"])
    for folder, run in zip(folders, runs, strict=True):
        share_run(run, folder, task.form)
        console.print(f"{run.path}: written to {folder}", highlight=False, soft_wrap=True)
    conclude(runs.skipped, runs.skipped)


def share_run(run: Run, folder: str | Path, form: SharedForm = "safetensors") -> None:
    """Write a finished run to a new folder, as a whole.

    ``safetensors`` writes a run folder without logs and checkpoints, which :func:`gardenpath.load`
    loads, with a description in JSON. ``huggingface`` writes a model of the library transformers:
    a GPT-2 for a Transformer; an LSTM with its code, which transformers lacks.
    """
    target = Path(folder)
    if run.is_adopted:
        raise RunError(f"{run.path}: the model was adopted; share it from where it came")
    if not run.folder.is_finished:
        raise RunError(f"{run.path}: the run is not finished; continue it with existing=resume")
    run.verify()
    if target.exists() or not build_folder(target, _builder(run, form)):
        raise RunError(f"{target}: exists already; remove it, or choose another output=")


def _builder(run: Run, form: SharedForm) -> Callable[[Path], None]:
    """Return the function that fills a new folder; what cannot be shared is refused before."""
    if form == "safetensors":
        return lambda folder: _write_portable(run, folder)
    try:
        from gardenpath.sharing import lstm_for_transformers
        from gardenpath.sharing.transformers_folder import CODE, converted_run
    except ImportError as error:
        raise GardenpathError(
            "task.form=huggingface needs the library transformers: install it with "
            "pip install 'gardenpath[hf]'"
        ) from error
    converted = converted_run(run)

    def write(folder: Path) -> None:
        difference = converted.write(folder)
        if converted.kind == "lstm":
            write_text(folder / f"{CODE}.py", inspect.getsource(lstm_for_transformers))
        card = _transformers_card(run, converted.kind, difference, converted.ties)
        write_text(folder / _CARD_FILE, card)

    return write


# ----------------------------------------------------------------------------
# A portable run folder.


def _write_portable(run: Run, folder: Path) -> None:
    for name in _PORTABLE_FILES:
        if (run.path / name).is_file():
            shutil.copyfile(run.path / name, folder / name)
    write_json(folder / "config.json", _described(run))
    pieces = "; `subwords.model` is the SentencePiece model" if run.trained.subwords else ""
    search = (
        "The model is syntactic: the probability of a word is a sum over trees, which Gardenpath\n"
        "finds by search.\n\n"
        if isinstance(run.model.family, SyntacticFamily)
        else ""
    )
    body = _PLAIN.format(example=_example(run), pieces=pieces)
    write_text(folder / _CARD_FILE, _head(run, "gardenpath") + search + body)
    # The copy is compared with its checksums, and all that scoring needs is loaded from it.
    RunFolder(folder).verify()
    Run(folder, device="cpu").verify()


def _described(run: Run) -> dict[str, Any]:
    """Return what determines the numbers of a run; no folders of this machine."""
    settings = run.settings
    shape = getattr(settings.model.network, "shape", None)
    data = run.data
    return {
        "family": settings.model.family,
        "name": settings.model.name,
        "network": plain(settings.model.network),
        "shape": None if shape is None else asdict(shape),
        "corpus": data.name,
        "language": data.language,
        "min_count": data.min_count,
        "cleaning": plain(data.cleaning),
        "subwords": plain(data.subwords),
        "seed": settings.seed,
        "vocabulary_size": len(run.vocabulary),
        "files": {
            name: run.folder.verified_sha256(name)
            for name in (VOCABULARY_FILE, SUBWORDS_FILE, WEIGHTS_FILE)
            if (run.path / name).is_file()
        },
    }


# ----------------------------------------------------------------------------
# The card.


def _transformers_card(
    run: Run, kind: Literal["gpt2", "lstm"], difference: float, ties: float
) -> str:
    """Return the card of a model of transformers.

    ``difference`` is the largest one that was measured between log probabilities; ``ties`` is the
    share of invented words that have other, equally good pieces.
    """
    classes = [token for token in run.vocabulary.tokens if token.startswith("<unk-")]
    words = "Words outside of the vocabulary are read as `<unk>`, as in Gardenpath.\n"
    if run.trained.subwords:
        words = _PIECES
    elif classes:
        words = _WORDS.format(classes=len(classes), example=classes[0])
    if ties:
        words += _TIES.format(share=ties)
    parts = [
        _head(run, "transformers") + f"## How to load it\n\n{_LOADING[kind]}",
        _SCORING.format(example=_example(run)),
        words,
        "When it was written, the model was loaded from this folder and compared with the run on "
        "random sentences\nof known words: the log probabilities of words differ by at most "
        f"{difference:.0e} nats.\n",
    ]
    return "\n".join(parts)


def _head(run: Run, library: str) -> str:
    """Return the header by which a collection of models files the folder, and the facts."""
    name, settings = run.name, run.settings
    rows: dict[str, Any] = {
        "family": settings.model.family,
        "corpus": name.corpus,
        "random seed": name.seed,
        "units": f"{len(run.vocabulary):,} {'pieces' if run.trained.subwords else 'words'}",
        "weights": f"SHA-256 {run.trained.weights_sha256}",
        "written by": versions("torch"),
    }
    for split, values in run.metrics.items():
        for key in ("perplexity", "word_perplexity", "joint_perplexity"):
            if isinstance(values, dict) and key in values:
                rows[f"{key.replace('_', ' ')} ({split})"] = f"{values[key]:.2f}"
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    lower = "Words are lower-cased.\n\n" if run.cleaning.lowercase else ""
    return (
        f"---\nlibrary_name: {library}\nlanguage: {run.language}\ntags: [gardenpath]\n---\n\n"
        f"# {name.model} ({name.corpus})\n\n| | |\n|---|---|\n{table}\n\n{lower}"
    )


def _example(run: Run) -> str:
    """Return some words that the model knows; never a sentence of the corpus."""
    if run.trained.subwords is not None:
        return "国王 来 了 。" if run.language == "zh" else "the king sings ."
    return " ".join(list(filter(run.vocabulary.knows, run.vocabulary.tokens))[:4])
