"""Tiny random models of the usual architectures, with tokenisers that are trained here."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertLMHeadModel,
    BloomConfig,
    BloomForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from gardenpath.adopted.families import HfSettings
from gardenpath.adopted.hf import CausalScorer
from gardenpath.data.words.pieces import Boundary

Kind = Literal["gpt2", "llama", "qwen", "gemma"]
KINDS: tuple[Kind, ...] = ("gpt2", "llama", "qwen", "gemma")
END = "<|end|>"

_NOUNS = ("king", "kings", "key", "keys", "cat", "cats", "dog", "dogs", "café", "student")
_ENGLISH = [
    f"the {noun}{mark} {verb} near the {other}."
    for noun in _NOUNS
    for verb in ("is", "are", "doesn't see", "sees", "kicks", "slept,")
    for other, mark in (("king", ""), ("keys", "'s"), ("cats", ""))
]
_MANDARIN = [
    f"{subject}{verb}{noun}。"
    for subject in ("他", "学生", "研究生", "老师们", "那个孩子")
    for verb in ("喜欢", "看见了", "研究", "不认识")
    for noun in ("一本书", "这些学生", "生命", "那条狗", "三个人")
]
_BOTH = zip(_ENGLISH, _MANDARIN, strict=False)
TEXTS = [*_ENGLISH, *_MANDARIN, *(f"{one} {other}" for one, other in _BOTH)]

SENTENCES: list[list[str]] = [
    text.split()
    for text in [
        "the king is near the cat .",
        "the king 's keys are near the cat .",
        "the kings do n't see the dog , -LRB- they sleep -RRB-",
        "the king",
        "zebras slept",
        "他 喜欢 研究 生命 。",
        "他 喜欢 研究生 。",
        "学生 看见 了 一 本 书 ， 𠮷 野 家 。",
        "他 说 the king 研究 café !",
    ]
]


@cache
def tokeniser(kind: Kind) -> PreTrainedTokenizerFast:
    """A tokeniser of the given kind; it has about 500 tokens."""
    if kind in ("gpt2", "qwen"):
        return _byte_level(kind)
    return _with_blanks(kind)


def _byte_level(kind: Kind) -> PreTrainedTokenizerFast:
    made = Tokenizer(models.BPE())
    if kind == "gpt2":
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        words = Regex(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
        whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        parts = [pre_tokenizers.Split(words, "isolated"), whole]
        made.pre_tokenizer = pre_tokenizers.Sequence(parts)
        made.normalizer = normalizers.NFC()
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(TEXTS, trainer)
    bos = END if kind == "gpt2" else None
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token=bos, eos_token=END)


def _with_blanks(kind: Kind) -> PreTrainedTokenizerFast:
    """Like SentencePiece: ▁ for blanks, bytes for rare characters, and a leading blank (llama)."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    trainer = trainers.BpeTrainer(vocab_size=300, show_progress=False, min_frequency=3)
    made.train_from_iterator(TEXTS, trainer)
    learnt = json.loads(made.to_str())["model"]
    content = ["<pad>", "<bos>", "<eos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    content += [one for one in learnt["vocab"] if one not in ("é", "𠮷")]
    content += ["▁"] if "▁" not in content else []
    merges = [tuple(one) for one in learnt["merges"] if "é" not in "".join(one)]
    vocabulary = {one: number for number, one in enumerate(dict.fromkeys(content))}
    made = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    replaced = normalizers.Replace(" ", "▁")
    parts = [normalizers.Prepend("▁"), replaced] if kind == "llama" else [replaced]
    made.normalizer = normalizers.Sequence(parts)
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<bos>",
        eos_token="<eos>",
        unk_token="<unk>",
        pad_token="<pad>",
    )


def model(kind: str, size: int, *, positions: int = 256, window: int = 8) -> Any:
    """A random model in float64 with a vocabulary of a size; windows slide in Gemma's."""
    torch.manual_seed(0)
    shape = {
        "vocab_size": size, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 2, "max_position_embeddings": positions, "initializer_range": 0.6,
        "num_key_value_heads": 1, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
    }  # fmt: skip
    makers: dict[str, Callable[[], Any]] = {
        "gpt2": lambda: GPT2LMHeadModel(
            GPT2Config(
                vocab_size=size, n_embd=16, n_layer=2, n_head=2, n_positions=positions,
                initializer_range=0.6, bos_token_id=None, eos_token_id=None,
            )
        ),
        "llama": lambda: LlamaForCausalLM(LlamaConfig(**shape)),
        "qwen": lambda: Qwen2ForCausalLM(Qwen2Config(**shape)),
        "gemma": lambda: Gemma3ForCausalLM(
            Gemma3TextConfig(
                **shape, head_dim=8, sliding_window=window,
                layer_types=["sliding_attention", "full_attention"],
            )
        ),
        "bloom": lambda: BloomForCausalLM(
            BloomConfig(vocab_size=size, hidden_size=16, n_layer=2, n_head=2,
                        initializer_range=0.6, bos_token_id=None, eos_token_id=None)
        ),
        "bert": lambda: BertLMHeadModel(
            BertConfig(**{**shape, "num_key_value_heads": None, "initializer_range": 0.2})
        ),
    }  # fmt: skip
    return makers[kind]().double().eval()


def scorer(
    kind: Kind,
    boundary: Boundary = "next",
    *,
    network: Any = None,
    on_words: Callable[[int], None] = lambda _: None,
    **settings: Any,
) -> CausalScorer:
    """A scorer of a random model."""
    tokens = tokeniser(kind)
    # Some models have more rows than tokens.
    made = model(kind, len(tokens) + 3) if network is None else network
    return scorer_of(made, tokens, boundary, on_words=on_words, **settings)


def scorer_of(
    network: Any,
    tokens: Any,
    boundary: Boundary = "next",
    *,
    on_words: Callable[[int], None] = lambda _: None,
    **settings: Any,
) -> CausalScorer:
    """A scorer of a network with a tokeniser."""
    return CausalScorer(
        load=lambda: network,
        config=network.config,
        tokeniser=tokens,
        settings=HfSettings(**settings),
        boundary=boundary,
        on_words=on_words,
    )


def small_tokeniser(tokens: Sequence[str], merges: Sequence[tuple[str, str]]) -> Any:
    """A tokeniser with few tokens, given with ▁ for blanks; the last is the end."""
    vocabulary = {one: number for number, one in enumerate([*tokens, END])}
    made = Tokenizer(models.BPE(vocabulary, list(merges)))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.decoder = decoders.Replace("▁", " ")
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token=END, eos_token=END)
