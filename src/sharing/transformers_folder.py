"""A run as a model and a tokeniser of the library transformers, with the same numbers.

A Transformer becomes a GPT-2, an LSTM the class of ``lstm_for_transformers``. task=share
(``share``) calls :func:`converted_run` and writes the result; no folder is written whose log
probabilities were not compared with those of the run, and no code of a folder is run.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import sentencepiece
import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from torch.nn.functional import pad
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from gardenpath.adopted.families import transformers_quiet
from gardenpath.data.batches.tokens import token_batch
from gardenpath.data.encoding import encode_sentences
from gardenpath.data.words.pieces import Subwords
from gardenpath.data.words.vocabulary import (
    BEGIN,
    BEGIN_ID,
    END,
    END_ID,
    PAD,
    PAD_ID,
    SPECIALS,
    UNKNOWN,
    UNKNOWN_ID,
    Vocabulary,
)
from gardenpath.errors import GardenpathError, RunError
from gardenpath.models.sequential.family import DecoderSettings
from gardenpath.models.sequential.networks import Block, LstmNetwork, TransformerNetwork
from gardenpath.runs.run import Run
from gardenpath.sharing.lstm_for_transformers import GardenpathLstmConfig, GardenpathLstmForCausalLM

# A Transformer as a GPT-2.
#
# GPT-2 normalises over all tokens, and its output layer has no bias; here, padding and the begin
# symbol never come next (:class:`NextToken`). They get a probability of zero by an exact
# reformulation of the same function, in a space that is a little wider:
#
# - Layers read the residual stream x (n wide) only through layer norms, which subtract its mean. So
#   everything that is added to x may be centred, and then its mean is zero.
# - Two coordinates are added, c and -c, the same at every position. The mean remains zero, and the
#   sum of squares grows by 2c². This takes the place of a part of the norms' ε: with n'
#   coordinates, (|x|² + 2c²) / n' + ε' = (|x|² + nε) / n' if ε' = (nε - 2c²) / n'. The norms divide
#   by the same number as before, up to the factor √(n'/n), which their weights take back.
# - After the last norm, the first new coordinate is positive everywhere. The output rows of the
#   excluded tokens are a large negative multiple of it, and nothing else.
#
# Heads become wider by as much as is needed for n' to be a multiple of their number; the new
# coordinates of queries, keys and values are zero, and the queries take back the other scale of the
# attention. Everything is computed in float64 and then rounded.

# Symbols that never come next.
EXCLUDED_IDS = (PAD_ID, BEGIN_ID)

# The excluded tokens' logits are less than -1e9, even if states are a million times the usual.
_EXCLUDING = -1e15


class Gpt2Weights:
    """The weights and the configuration of a GPT-2 that computes what a network computes."""

    def __init__(self, network: TransformerNetwork, settings: DecoderSettings) -> None:
        self._network = copy.deepcopy(network).double().requires_grad_(requires_grad=False)
        self._settings = settings
        shape = settings.shape
        self._old, self._heads = shape.hidden, shape.heads
        # At least two more coordinates, and as many more for each head.
        self._new = self._old + self._heads * math.ceil(2 / self._heads)
        self._eps = float(network.decoder.final_norm.eps)

    def config(self) -> dict[str, Any]:
        """Return the values of a ``GPT2Config``."""
        settings, vocabulary_size = self._settings, len(self._network.output.linear.weight)
        return {
            "vocab_size": vocabulary_size,
            "n_positions": settings.max_positions,
            "n_embd": self._new,
            "n_inner": 4 * self._old,
            "n_layer": settings.shape.layers,
            "n_head": self._heads,
            "activation_function": "gelu_new",
            "layer_norm_epsilon": self._old * self._eps / 2 / self._new,
            "tie_word_embeddings": False,
            "embd_pdrop": settings.dropout,
            "attn_pdrop": settings.dropout,
            "resid_pdrop": settings.dropout,
            "bos_token_id": BEGIN_ID,
            "eos_token_id": END_ID,
            "pad_token_id": PAD_ID,
        }

    def state(self) -> dict[str, Tensor]:
        """Return the weights of a ``GPT2LMHeadModel``, in float64."""
        decoder = self._network.decoder
        tokens = self._wider(_centred(decoder.token_embedding.weight))
        # Half of ε becomes the two constant coordinates.
        constant = math.sqrt(self._old * self._eps / 4)
        tokens[:, self._old], tokens[:, self._old + 1] = constant, -constant
        state = {
            "transformer.wte.weight": tokens,
            "transformer.wpe.weight": self._wider(_centred(decoder.position_embedding.weight)),
            **self._norm("transformer.ln_f", decoder.final_norm),
            "lm_head.weight": self._wider(self._network.output.linear.weight),
        }
        state["transformer.ln_f.weight"][self._old] = 1.0
        for number in EXCLUDED_IDS:
            state["lm_head.weight"][number] = 0.0
            state["lm_head.weight"][number, self._old] = _EXCLUDING
        for number, block in enumerate(decoder.blocks):
            assert isinstance(block, Block)
            state |= self._block(f"transformer.h.{number}", block)
        return {name: weight.contiguous() for name, weight in state.items()}

    def _block(self, name: str, block: Block) -> dict[str, Tensor]:
        """Return the weights of a block; GPT-2's matrices have one row for each input."""
        inputs, project = block.attention.query_key_value, block.attention.project
        biases = self._attending(inputs.bias.unsqueeze(1)).squeeze(1)
        return {
            **self._norm(f"{name}.ln_1", block.attention_norm),
            f"{name}.attn.c_attn.weight": self._attending(self._wider(inputs.weight)).T,
            f"{name}.attn.c_attn.bias": biases,
            f"{name}.attn.c_proj.weight": self._wider(self._in_heads(_centred(project.weight.T))),
            f"{name}.attn.c_proj.bias": self._wider(_centred(project.bias)),
            **self._norm(f"{name}.ln_2", block.feed_forward_norm),
            f"{name}.mlp.c_fc.weight": self._wider(block.expand.weight).T,
            f"{name}.mlp.c_fc.bias": block.expand.bias,
            f"{name}.mlp.c_proj.weight": self._wider(_centred(block.contract.weight.T)),
            f"{name}.mlp.c_proj.bias": self._wider(_centred(block.contract.bias)),
        }

    def _norm(self, name: str, norm: torch.nn.LayerNorm) -> dict[str, Tensor]:
        scale = math.sqrt(self._old / self._new)
        return {
            f"{name}.weight": self._wider(norm.weight * scale),
            f"{name}.bias": self._wider(norm.bias),
        }

    def _attending(self, rows: Tensor) -> Tensor:
        """Widen the heads of queries, keys and values, given as rows; scale the queries."""
        query, key, value = (self._in_heads(part) for part in rows.chunk(3))
        return torch.cat([query * math.sqrt(self._new / self._old), key, value])

    def _in_heads(self, rows: Tensor) -> Tensor:
        """Add rows of zeros at the end of each head."""
        heads = rows.unflatten(0, (self._heads, self._old // self._heads))
        return pad(heads, (0, 0, 0, (self._new - self._old) // self._heads)).flatten(0, 1)

    def _wider(self, values: Tensor) -> Tensor:
        """Add zeros for the new coordinates, to the last dimension."""
        return pad(values, (0, self._new - self._old))


def _centred(values: Tensor) -> Tensor:
    return values - values.mean(dim=-1, keepdim=True)


# The words or pieces of a run as a tokeniser of the library tokenizers, with the same ids.
#
# A unigram segmentation may divide a word in two equally good ways: *000* is *0 00* and *00 0*.
# SentencePiece computes in float32 and the library in float64, so that rounding decides otherwise.
# The share of such words among invented ones is measured, to be told to the user; any other
# difference is an error.


_MARK = "▁"
# Other Unicode blanks may be parts of words.
_BLANKS = r"[ \t\r\n]+"

# Invented words on which the two segmentations are compared, and a character of no vocabulary.
_INVENTED = 20_000
_MOST_PIECES = 5
_STRANGE = "\U0010fffd"
# An unknown character costs more than any piece; how much more does not matter here.
_UNKNOWN_SCORE = -100.0
_ROUNDING = 1e-5


def shared_tokenizer(
    vocabulary: Vocabulary, subwords: Subwords | None, *, lowercase: bool, most: int | None
) -> tuple[Any, float]:
    """Return a tokeniser that gives the ids of a run, after the begin symbol.

    ``most`` is the largest number of tokens that the model reads. Also return the share of invented
    words for which it chooses another of several equally good segmentations.
    """
    fast = Tokenizer(_segmentation(vocabulary, subwords))
    if lowercase:
        fast.normalizer = normalizers.Lowercase()
    splits: list[Any] = [pre_tokenizers.Split(Regex(_BLANKS), "removed")]
    if subwords is not None:
        splits.append(pre_tokenizers.Metaspace(_MARK, prepend_scheme="always", split=False))
        fast.decoder = decoders.Metaspace(_MARK, prepend_scheme="always")
    fast.pre_tokenizer = pre_tokenizers.Sequence(splits)
    fast.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, BEGIN_ID)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=fast, bos_token=BEGIN, eos_token=END, unk_token=UNKNOWN, pad_token=PAD,
        padding_side="right", clean_up_tokenization_spaces=False,
        **({} if most is None else {"model_max_length": most}),
    )  # fmt: skip
    return tokenizer, _share_of_ties(tokenizer, vocabulary, subwords)


def invented_words(vocabulary: Vocabulary, subwords: Subwords | None, count: int) -> list[str]:
    """Return words of the vocabulary, or words that are made of its pieces; always the same."""
    generator = random.Random(1)
    units = [unit for unit in vocabulary.tokens[len(SPECIALS) :] if not unit.startswith("<unk-")]
    if subwords is None:
        return generator.choices(units, k=count)
    lengths = generator.choices(range(1, _MOST_PIECES + 1), k=count)
    words = ("".join(generator.choices(units, k=length)) for length in lengths)
    return [word.replace(_MARK, "") or units[-1] for word in words]


def _segmentation(vocabulary: Vocabulary, subwords: Subwords | None) -> Any:
    """Return the model of words or of a segmentation, with the ids of the vocabulary."""
    if subwords is None:
        return models.WordLevel(dict(vocabulary.ids), unk_token=UNKNOWN)
    scores = _scores(subwords)
    if not _is_bpe(scores):
        specials = [(name, 0.0) for name in SPECIALS]
        return models.Unigram([*specials, *scores.items()], unk_id=UNKNOWN_ID)
    merges = [
        (piece[:place], piece[place:])
        for piece in sorted(scores, key=lambda piece: -scores[piece])
        for place in range(1, len(piece))
        if piece[:place] in scores and piece[place:] in scores
    ]
    return models.BPE(dict(vocabulary.ids), merges, unk_token=UNKNOWN, fuse_unk=True)


def _scores(subwords: Subwords) -> dict[str, float]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    return {
        processor.id_to_piece(number): processor.get_score(number)
        for number in range(1, processor.get_piece_size())
    }


def _is_bpe(scores: Mapping[str, float]) -> bool:
    """Whether scores are the numbers of merges, 0, -1, -2 and so on, not log probabilities."""
    return all(score == -place for place, score in enumerate(scores.values()))


def _share_of_ties(tokenizer: Any, vocabulary: Vocabulary, subwords: Subwords | None) -> float:
    """Compare all words of the vocabulary, or many invented words; refuse what is not a tie."""
    if subwords is None:
        words = list(filter(vocabulary.knows, vocabulary.tokens))
        expected = [[vocabulary.ids[word]] for word in words]
        scores: dict[str, float] = {}
    else:
        words = invented_words(vocabulary, subwords, _INVENTED)
        words += [word[:1] + _STRANGE + _STRANGE + word[1:] for word in words[:100]]
        expected = [subwords.encode(word, vocabulary) for word in words]
        scores = _scores(subwords)
    shared = tokenizer(words, add_special_tokens=False)["input_ids"]
    ties = 0
    for word, ids, own in zip(words, shared, expected, strict=True):
        if ids == own:
            continue
        if _is_bpe(scores) or not _is_tie(ids, own, vocabulary, scores):
            raise GardenpathError(
                f"the word {word!r} has the ids {own} in the run, but {ids} in a tokeniser of "
                "the library tokenizers; share the run with task.form=safetensors"
            )
        ties += 1
    return ties / len(words)


def _is_tie(
    ids: Sequence[int], own: Sequence[int], vocabulary: Vocabulary, scores: Mapping[str, float]
) -> bool:
    """Whether two segmentations of one word are equally probable, up to rounding in float32."""
    pieces = [[vocabulary.tokens[number] for number in numbers] for numbers in (ids, own)]
    spelt = {"".join(names) for names in pieces}
    first, second = (sum(scores.get(name, _UNKNOWN_SCORE) for name in names) for names in pieces)
    return len(spelt) == 1 and abs(first - second) <= _ROUNDING * max(1.0, abs(first))


# The code of an LSTM, as it is called in the folder.
CODE = "modeling_gardenpath_lstm"

# Random sentences on which the two models are compared; log probabilities may differ by rounding.
_COMPARED = 8
_COMPARED_WORDS = 12
_TOLERANCE = 1e-3
# Less than the logarithm of any number that is not zero.
_IMPOSSIBLE = -700.0


@dataclass(frozen=True)
class ConvertedRun:
    """A run as a model and a tokeniser of transformers; ``ties`` as :func:`shared_tokenizer`."""

    run: Run
    network: Any
    kind: Literal["gpt2", "lstm"]
    model: Any
    tokenizer: Any
    ties: float

    def write(self, folder: Path) -> float:
        """Write both to a folder; return the largest difference to the run's log probabilities."""
        with transformers_quiet():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
            return _difference(self, folder)


def converted_run(run: Run) -> ConvertedRun:
    """Convert a run; only two families can be expressed in transformers."""
    network, settings = run.trained.network(), run.settings.model
    remedy = "cannot be expressed in the library transformers; share it with task.form=safetensors"
    if getattr(settings.network, "output", "full") != "full":
        # Classes of words are predicted, as by no model of the library.
        raise RunError(
            f"{run.path}: a model with model.network.output=factored {remedy}, or train one with "
            "output=full"
        )
    kind: Literal["gpt2", "lstm"]
    if isinstance(network, TransformerNetwork):
        model, kind = _as_gpt2(run, network), "gpt2"
    elif isinstance(network, LstmNetwork):
        model, kind = _as_lstm(run, network), "lstm"
    else:
        raise RunError(f"{run.path}: a model of the family {settings.family} {remedy}")
    tokenizer, ties = shared_tokenizer(
        run.vocabulary,
        run.trained.subwords,
        lowercase=run.cleaning.lowercase,
        most=getattr(settings.network, "max_positions", None),
    )
    return ConvertedRun(run, network, kind, model, tokenizer, ties)


def _as_gpt2(run: Run, network: TransformerNetwork) -> Any:
    weights = Gpt2Weights(network, run.settings.model.network)
    model = GPT2LMHeadModel(GPT2Config(**weights.config()))
    model.load_state_dict({name: weight.float() for name, weight in weights.state().items()})
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
            "AutoConfig": f"{CODE}.{GardenpathLstmConfig.__name__}",
            "AutoModelForCausalLM": f"{CODE}.{GardenpathLstmForCausalLM.__name__}",
        },
    )
    model = GardenpathLstmForCausalLM(config)
    state = network.state_dict()
    model.load_state_dict(
        {name.replace("output.linear.", "output."): part.clone() for name, part in state.items()}
    )
    return model


def _difference(converted: ConvertedRun, folder: Path) -> float:
    """Return the largest difference of log probabilities of words and ends; refuse a large one.

    The model is loaded as others load it, except that no code of the folder is run.
    """
    run = converted.run
    loader: Any = AutoModelForCausalLM if converted.kind == "gpt2" else GardenpathLstmForCausalLM
    model = loader.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    invented = invented_words(run.vocabulary, run.trained.subwords, 2 * _COMPARED * _COMPARED_WORDS)
    words = [word for word in invented if _ids(run, [word]) == tokenizer(word)["input_ids"]]
    if len(words) < _COMPARED * _COMPARED_WORDS:
        raise GardenpathError(
            f"{run.path}: most words have other tokens in the form of transformers; share it with "
            "task.form=safetensors"
        )
    most = getattr(run.settings.model.network, "max_positions", None)
    largest = 0.0
    for number in range(_COMPARED):
        sentence = words[number * _COMPARED_WORDS : (number + 1) * _COMPARED_WORDS]
        while most is not None and len(tokenizer(" ".join(sentence))["input_ids"]) > most:
            sentence = sentence[:-1]
        ids = tokenizer(" ".join(sentence))["input_ids"]
        if ids != _ids(run, sentence):
            raise GardenpathError(
                f"{run.path}: {' '.join(sentence)!r} has other tokens in the form of transformers; "
                "share it with task.form=safetensors"
            )
        largest = max(largest, _difference_in(converted, model, sentence, ids))
    if not largest <= _TOLERANCE:
        raise GardenpathError(
            f"{run.path}: the model in the form of transformers gives other numbers: log "
            f"probabilities differ by {largest:.3g}; share it with task.form=safetensors"
        )
    return largest


def _ids(run: Run, sentence: list[str]) -> list[int]:
    split = encode_sentences([sentence], run.vocabulary, run.trained.subwords)
    return [BEGIN_ID, *split.sentence(0).tolist()]


def _difference_in(
    converted: ConvertedRun, model: Any, sentence: list[str], ids: list[int]
) -> float:
    run = converted.run
    split = encode_sentences([sentence], run.vocabulary, run.trained.subwords)
    with torch.inference_mode():
        expected = converted.network.log_prob(token_batch(split, np.arange(1)))[0]
        log_probs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    if not bool((log_probs[:, list(EXCLUDED_IDS)] < _IMPOSSIBLE).all()):
        return math.inf
    values = log_probs.gather(1, torch.tensor([*ids[1:], END_ID])[:, None])[:, 0]
    return float((values - expected[: len(values)]).abs().max())
