"""Write a run as a model of the library transformers, and compare the two."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel

from gardenpath.data.batches.token_batches import token_batch
from gardenpath.data.encoding.encoded import encode_sentences
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.errors import GardenpathError, RunError
from gardenpath.models.pretrained.quiet_library import transformers_quiet
from gardenpath.models.sequential.lstm import LstmNetwork
from gardenpath.models.sequential.transformer import TransformerNetwork
from gardenpath.runs.run import Run
from gardenpath.runs.sharing import lstm_for_transformers
from gardenpath.runs.sharing.gpt2_weights import EXCLUDED_IDS, Gpt2Weights
from gardenpath.runs.sharing.lstm_for_transformers import (
    GardenpathLstmConfig,
    GardenpathLstmForCausalLM,
)
from gardenpath.runs.sharing.model_card import CARD_FILE, transformers_card
from gardenpath.runs.sharing.shared_tokenizer import invented_words, shared_tokenizer
from gardenpath.store.files import write_text

# The code of an LSTM, as it is called in the folder.
_CODE = "modeling_gardenpath_lstm"

# Random sentences on which the two models are compared; log probabilities may differ by rounding.
_COMPARED = 8
_COMPARED_WORDS = 12
_TOLERANCE = 1e-3
# Less than the logarithm of any number that is not zero.
_IMPOSSIBLE = -700.0


def transformers_writer(run: Run) -> Callable[[Path], None]:
    """Return a function that writes the run to a folder; only two families can be written."""
    network = run.network()
    _require_full_output(run)
    kind: Literal["gpt2", "lstm"]
    if isinstance(network, TransformerNetwork):
        model, kind = _as_gpt2(run, network), "gpt2"
    elif isinstance(network, LstmNetwork):
        model, kind = _as_lstm(run, network), "lstm"
    else:
        raise RunError(
            f"{run.path}: a model of the family {run.settings.model.family} cannot be expressed "
            "in the library transformers; share it with task.form=safetensors"
        )
    positions = getattr(run.settings.model.network, "max_positions", None)
    tokenizer, ties = shared_tokenizer(
        run.vocabulary,
        run.subwords,
        lowercase=run.settings.data.cleaning.lowercase,
        most=positions,
    )

    def write(folder: Path) -> None:
        with transformers_quiet():
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            if kind == "lstm":
                code = inspect.getsource(lstm_for_transformers)
                write_text(folder / f"{_CODE}.py", code)
            difference = _difference(run, network, folder, kind)
        write_text(folder / CARD_FILE, transformers_card(run, kind, difference, ties))

    return write


def _require_full_output(run: Run) -> None:
    """Refuse a model that predicts classes of words, which no model of the library does."""
    if getattr(run.settings.model.network, "output", "full") != "full":
        raise RunError(
            f"{run.path}: a model with model.network.output=factored cannot be expressed in the "
            "library transformers; share it with task.form=safetensors, or train one with "
            "output=full"
        )


def _as_gpt2(run: Run, network: TransformerNetwork) -> Any:
    weights = Gpt2Weights(network, run.settings.model.network)
    model = GPT2LMHeadModel(GPT2Config(**weights.config()))
    model.load_state_dict({name: one.float() for name, one in weights.state().items()})
    return model


def _as_lstm(run: Run, network: LstmNetwork) -> Any:
    shape = run.settings.model.network.shape
    config = GardenpathLstmConfig(
        vocab_size=len(run.vocabulary),
        embedding_size=shape.embedding,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        never_next=EXCLUDED_IDS,
        bos_token_id=BEGIN_ID,
        eos_token_id=END_ID,
        pad_token_id=PAD_ID,
        auto_map={
            "AutoConfig": f"{_CODE}.{GardenpathLstmConfig.__name__}",
            "AutoModelForCausalLM": f"{_CODE}.{GardenpathLstmForCausalLM.__name__}",
        },
    )
    model = GardenpathLstmForCausalLM(config)
    state = network.state_dict()
    model.load_state_dict(
        {name.replace("output.linear.", "output."): one.clone() for name, one in state.items()}
    )
    return model


def _difference(run: Run, network: Any, folder: Path, kind: Literal["gpt2", "lstm"]) -> float:
    """Return the largest difference of log probabilities of words and ends; refuse a large one.

    The model is loaded as others load it, except that no code of the folder is run.
    """
    loader: Any = AutoModelForCausalLM if kind == "gpt2" else GardenpathLstmForCausalLM
    model = loader.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    invented = invented_words(run.vocabulary, run.subwords, 2 * _COMPARED * _COMPARED_WORDS)
    words = [one for one in invented if _ids(run, [one]) == tokenizer(one)["input_ids"]]
    if len(words) < _COMPARED * _COMPARED_WORDS:
        raise GardenpathError(
            f"{run.path}: most words have other tokens in the form of transformers; share it with "
            "task.form=safetensors"
        )
    largest = 0.0
    for number in range(_COMPARED):
        sentence = words[number * _COMPARED_WORDS : (number + 1) * _COMPARED_WORDS]
        sentence = _short_enough(run, sentence, tokenizer)
        largest = max(largest, _difference_in(run, network, model, tokenizer, sentence))
    if not largest <= _TOLERANCE:
        raise GardenpathError(
            f"{run.path}: the model in the form of transformers gives other numbers: log "
            f"probabilities differ by {largest:.3g}; share it with task.form=safetensors"
        )
    return largest


def _ids(run: Run, sentence: list[str]) -> list[int]:
    split = encode_sentences([sentence], run.vocabulary, run.subwords)
    return [BEGIN_ID, *split.sentence(0).tolist()]


def _short_enough(run: Run, sentence: list[str], tokenizer: Any) -> list[str]:
    """Return the beginning of a sentence that has positions for its tokens."""
    most = getattr(run.settings.model.network, "max_positions", None)
    while most is not None and len(tokenizer(" ".join(sentence))["input_ids"]) > most:
        sentence = sentence[:-1]
    return sentence


def _difference_in(
    run: Run, network: Any, model: Any, tokenizer: Any, sentence: list[str]
) -> float:
    ids = tokenizer(" ".join(sentence))["input_ids"]
    if ids != _ids(run, sentence):
        raise GardenpathError(
            f"{run.path}: {' '.join(sentence)!r} has other tokens in the form of transformers; "
            "share it with task.form=safetensors"
        )
    split = encode_sentences([sentence], run.vocabulary, run.subwords)
    with torch.inference_mode():
        expected = network.log_prob(token_batch(split, np.arange(1)))[0]
        log_probs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    if not bool((log_probs[:, list(EXCLUDED_IDS)] < _IMPOSSIBLE).all()):
        return float("inf")
    found = log_probs.gather(1, torch.tensor([*ids[1:], END_ID])[:, None])[:, 0]
    return float((found - expected[: len(found)]).abs().max())
