"""Evaluate trained models.

    python evaluate.py task=perplexity run=runs/ptb_sample

Each run folder holds all that is needed of its model; `run` may name one or a folder above many.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from src.config import Settings, check_command_line, make_preparation, make_reader, plain
from src.console import console, exit_on_error, show_progress, track_runs
from src.data.files import write_text
from src.data.pcfg.prefix import ExactModel
from src.data.readers.toy import ToyTreebank
from src.errors import RunError
from src.eval.comparison import Row, as_csv, as_table, compare
from src.eval.perplexity import Perplexity, measure
from src.models.evaluation import score_split
from src.models.run_folder import RunFolder, find_runs
from src.models.scores import Totals

# Marks models whose perplexity also pays for the tree.
JOINT = " (joint)"


@hydra.main(version_base="1.3", config_path="conf", config_name="evaluate")
def run(config: DictConfig) -> None:
    """Hydra calls this with the composed configuration."""
    with exit_on_error():
        settings = plain(config)
        TASKS[settings["task"]["name"]](settings)


def perplexity(settings: Settings) -> None:
    """Perplexity of every run on a split of its own corpus, as a table and a CSV file."""
    runs = find_runs(Path(settings["run"]))
    if not runs:
        raise RunError(
            f"{settings['run']}: no finished runs at or below this folder; train one with "
            "'python train.py', or set run="
        )
    by_corpus = itertools.groupby(
        sorted(runs, key=lambda run: str(run.config()["data"])),
        key=lambda run: run.config()["data"],
    )
    split, cache = settings["task"]["split"], Path(settings["paths"]["cache"])
    rows = []
    for data, members in by_corpus:
        found, caption = _perplexity_of_corpus(data, list(members), split, cache)
        title = f"{data['name']}: perplexity per word ({split} split)"
        console.print(as_table(found, title=title, caption=caption))
        rows += found
    path = Path(settings["output"]) / "perplexity.csv"
    write_text(path, as_csv(rows))
    console.print(f"Written to {path}")


def _perplexity_of_corpus(
    data: Settings, runs: list[RunFolder], split: str, cache: Path
) -> tuple[list[Row], str]:
    preparation = make_preparation(data)
    corpus = preparation.prepare(cache, progress=show_progress)
    sentences = [sentence.words for sentence in preparation.sentences(split)]
    measured = []
    for run in track_runs(runs, f"scoring {data['name']}"):
        config = run.config()
        totals = score_split(run, preparation, corpus, split)
        name = config["model"]["name"] + (JOINT if totals.is_joint else "")
        measured.append((name, config["seed"], as_perplexity(totals)))
    measured.sort(key=lambda item: -item[2].with_end)
    is_joint = any(name.endswith(JOINT) for name, _, _ in measured)
    caption = "joint: of words together with their gold trees" if is_joint else ""
    reader = make_reader(data)
    if not isinstance(reader, ToyTreebank):
        return compare(data["name"], measured, None), caption
    exact = measure(ExactModel(reader.grammar), sentences)
    entropy = reader.grammar.derivation_entropy_bits
    known = f"entropy of the grammar: {entropy:.2f} bits per sentence"
    return compare(data["name"], measured, exact), "\n".join(filter(None, [known, caption]))


def as_perplexity(totals: Totals) -> Perplexity:
    """A joint model has no end of sentence apart from its last action."""
    nats = {kind: -value for kind, value in totals.log_prob.items()}
    end_nats = nats.pop("end", None)
    return Perplexity(
        sentences=totals.sentences,
        words=totals.words,
        word_nats=sum(nats.values()),
        end_nats=end_nats,
    )


TASKS = {"perplexity": perplexity}


def main() -> None:
    with exit_on_error():
        check_command_line("evaluate", sys.argv[1:])
    run()


if __name__ == "__main__":
    main()
