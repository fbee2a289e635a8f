"""Benchmark causal Hugging Face models on suites against a straightforward loop over sentences.

    python -m benchmarks.pretrained
    python -m benchmarks.pretrained --model FOLDER --suites mandarin reflexives --items 4

The loop is what most tools do: the model reads each sentence (BOS and tokens), and the log
probabilities of its tokens are added for each word. In batches, sentences of similar length are
padded; the best of several sizes counts. Both compute less than the scorer: sums over tokens, not
probabilities of words. Without ``--model`` (a folder of safetensors), a random GPT-2 is used, with
a tokeniser that is trained on the sentences. Times are CPU times of one thread, which other
programs hardly change; all are measured in one run, in turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from gardenpath.adopted.families import HfSettings, load_causal, load_tokeniser
from gardenpath.adopted.hf import CausalScorer
from gardenpath.data.words.pieces import joined_words
from gardenpath.runs.evaluation import suites
from gardenpath.runs.suite_tables import selected, sentences_in
from gardenpath.util import Words

_BATCHES = (8, 32, 128)


def random_gpt2(sentences: Sequence[Words], layers: int, width: int) -> tuple[Any, Any]:
    """Return a random GPT-2 and a byte-level tokeniser trained on sentences."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    trained = ByteLevelBPETokenizer()
    texts = (joined_words(words, "auto").text for words in sentences)
    trained.train_from_iterator(texts, 2000, special_tokens=["<end>"], show_progress=False)
    tokeniser = PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer, bos_token="<end>", eos_token="<end>"
    )
    config = GPT2Config(
        vocab_size=len(tokeniser), n_layer=layers, n_embd=width, n_head=max(width // 64, 1),
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return GPT2LMHeadModel(config).eval(), tokeniser


def loop(model: Any, tokeniser: Any, sentences: Sequence[Words], batch: int) -> list[Tensor]:
    """Return the log probabilities of the tokens of sentences, read in padded batches."""
    texts = [joined_words(words, "auto").text for words in sentences]
    lead = [tokeniser.bos_token_id]
    tokens = [lead + tokeniser(text, add_special_tokens=False).input_ids for text in texts]
    order = sorted(range(len(tokens)), key=lambda n: len(tokens[n]))
    found: list[Tensor] = [torch.empty(0)] * len(tokens)
    with torch.inference_mode():
        for begin in range(0, len(order), batch):
            members = order[begin : begin + batch]
            width = len(tokens[members[-1]])
            padded = torch.tensor([tokens[n] + [0] * (width - len(tokens[n])) for n in members])
            lengths = torch.tensor([len(tokens[n]) for n in members])
            mask = (torch.arange(width) < lengths[:, None]).long()
            logits = model(input_ids=padded, attention_mask=mask, use_cache=False).logits
            scores = logits[:, :-1].log_softmax(-1).gather(2, padded[:, 1:, None])[..., 0]
            for row, number in enumerate(members):
                found[number] = scores[row, : len(tokens[number]) - 1]
    return found


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of some work."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure(model: Any, tokeniser: Any, sentences: Sequence[Words]) -> dict[str, float]:
    """Return the time of each way; the scorer is given its checks beforehand."""
    scorer = CausalScorer(
        load=lambda: model, config=model.config, tokeniser=tokeniser, settings=HfSettings(),
        boundary="next",
    )  # fmt: skip
    longest = max(sentences, key=lambda words: sum(map(len, words)))
    scorer.word_log_probs([longest])
    times = {"one by one": seconds(lambda: loop(model, tokeniser, sentences, 1))}
    times["scorer"] = seconds(lambda: scorer.word_log_probs(sentences))
    times["in batches"] = min(
        seconds(partial(loop, model, tokeniser, sentences, size)) for size in _BATCHES
    )
    times["one by one"] += seconds(lambda: loop(model, tokeniser, sentences, 1))
    times["scorer"] += seconds(lambda: scorer.word_log_probs(sentences))
    return times | {name: times[name] / 2 for name in ("one by one", "scorer")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Causal models against a loop over sentences.")
    parser.add_argument("--model", type=Path, help="folder of a model with safetensors")
    parser.add_argument("--suites", nargs="+", default=["mandarin", "reflexives"])
    parser.add_argument("--items", type=int, default=4, help="items of each suite")
    parser.add_argument("--layers", type=int, default=12, help="layers of the random model")
    parser.add_argument("--width", type=int, default=768, help="width of the random model")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    table = Table(title=f"Words per second of CPU time: {given.model or 'random GPT-2'}")
    for name in ("suites", "sentences", "words", "one by one", "in batches", "scorer"):
        table.add_column(name, justify="left" if name == "suites" else "right")
    table.add_column("ratio to one by one", justify="right")
    table.add_column("to batches", justify="right")
    for name in given.suites:
        chosen = selected(suites(name), {}, in_vocabulary=False, items=given.items)
        sentences = sentences_in(chosen, None)
        if given.model is None:
            model, tokeniser = random_gpt2(sentences, given.layers, given.width)
        else:
            model = load_causal(given.model, "fp32", "cpu")
            tokeniser = load_tokeniser(given.model)
        times = measure(model, tokeniser, sentences)
        words = sum(map(len, sentences))
        ways = ("one by one", "in batches", "scorer")
        table.add_row(
            name, str(len(sentences)), str(words), *(f"{words / times[way]:.1f}" for way in ways),
            *(f"{times[way] / times['scorer']:.1f}" for way in ways[:2]),
        )  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
