"""Tiny masked language models with random weights, and tokenisers with small vocabularies.

The vocabularies are written down, because trained ones may differ from one process to the next.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import nn
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

_LETTERS = "abcdefghijklmnopqrstuvwxyz.,'"
_HAN = "我们看见了老国王听的歌人唱给他。"
_WORDS = ("the", "king", "kings", "queen", "sing", "sings", "old", "and", "were")
_ENDINGS = ("s", "ly", "er", "ing")

_SMALL: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 40,
}  # fmt: skip


@functools.cache
def wordpiece() -> Any:
    """A tokeniser like BERT's, with pieces such as ##ing; Chinese characters are words."""
    specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    pieces = (*_LETTERS, *_HAN, *_WORDS, *(f"##{one}" for one in (*_LETTERS[:26], *_ENDINGS[1:])))
    vocabulary = {piece: number for number, piece in enumerate((*specials, *pieces))}
    found = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer(lowercase=True)
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    found.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=found, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip


@functools.cache
def byte_level() -> Any:
    """A tokeniser like RoBERTa's, with tokens such as Ġking, and one across Chinese words."""
    specials = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    vocabulary = dict.fromkeys([*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())], 0)
    merges: list[tuple[str, str]] = []
    for text in (*(f" {word}" for word in (*_WORDS, ".")), "the", "国王", "见了"):
        [(characters, _)] = _bytes().pre_tokenize_str(text)
        for end in range(2, len(characters) + 1):
            if characters[:end] not in vocabulary:
                merges.append((characters[: end - 1], characters[end - 1]))
                vocabulary[characters[:end]] = 0
    ids = {token: number for number, token in enumerate(vocabulary)}
    found = Tokenizer(models.BPE(ids, merges))
    found.pre_tokenizer = _bytes()
    found.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    found.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=found, unk_token="<unk>", pad_token="<pad>", cls_token="<s>",
        sep_token="</s>", mask_token="<mask>", bos_token="<s>", eos_token="</s>",
    )  # fmt: skip


def _bytes() -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


@functools.cache
def sentencepiece() -> Any:
    """A tokeniser like XLM-R's, with tokens such as ▁king, and one across Chinese words."""
    specials = ("[CLS]", "<pad>", "[SEP]", "<unk>", "[MASK]")
    pieces = [*((f"▁{word}", -3.0) for word in _WORDS), *((one, -3.5) for one in _ENDINGS[1:])]
    pieces += [("国王", -4.0), ("我们的", -4.0)]
    pieces += [(one, -6.0) for one in ("▁", *_LETTERS, *_HAN)]
    found = Tokenizer(models.Unigram([*((one, 0.0) for one in specials), *pieces], unk_id=3))
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    found.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(
        tokenizer_object=found, unk_token="<unk>", pad_token="<pad>", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip


def bert(tokenizer: Any) -> nn.Module:
    """A BERT whose predictions are not uniform."""
    torch.manual_seed(1)
    config = BertConfig(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **_SMALL)
    return _random(BertForMaskedLM(config))


def roberta(tokenizer: Any) -> nn.Module:
    """A RoBERTa, which counts positions from the one after the padding's."""
    torch.manual_seed(2)
    config = RobertaConfig(
        vocab_size=len(tokenizer), pad_token_id=1, bos_token_id=0, eos_token_id=2,
        type_vocab_size=1, **_SMALL,
    )  # fmt: skip
    return _random(RobertaForMaskedLM(config))


def albert(tokenizer: Any) -> nn.Module:
    """An ALBERT, whose embeddings are narrower than its states."""
    torch.manual_seed(3)
    config = AlbertConfig(
        vocab_size=len(tokenizer), embedding_size=8, pad_token_id=tokenizer.pad_token_id, **_SMALL
    )
    return _random(AlbertForMaskedLM(config))


def _random(network: nn.Module) -> nn.Module:
    """Larger weights than at the start of a training, so that predictions depend on contexts."""
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    return network.double().eval()


MODELS = {
    "bert": (wordpiece, bert),
    "roberta": (byte_level, roberta),
    "albert": (sentencepiece, albert),
}


def saved(folder: Path, name: str) -> Path:
    """A model in a folder, as Hugging Face's models are published."""
    make_tokenizer, make_network = MODELS[name]
    tokenizer = make_tokenizer()
    network: Any = make_network(tokenizer)
    network.float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
