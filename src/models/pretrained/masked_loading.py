"""Load the network and the tokeniser of a masked language model with the library transformers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from gardenpath.errors import InputError
from gardenpath.models.pretrained.hf_files import reading, require_transformers
from gardenpath.models.pretrained.masked_files import MaskedFiles

_PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}


def load_masked_tokenizer(files: MaskedFiles) -> Any:
    """Return the tokeniser of a model; it must know which characters its tokens stand for."""
    require_transformers()
    from transformers import AutoTokenizer

    with _only(files) as folder, reading(files.folder):
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    if not tokenizer.is_fast:
        raise InputError("its tokeniser does not align tokens with text", path=files.source)
    if tokenizer.mask_token_id is None:
        raise InputError(
            "its tokeniser has no mask token, so it is not a masked language model",
            path=files.source,
            remedy="models that predict the next word are adopted with model=hf",
        )
    _require_special_tokens(tokenizer, files)
    return tokenizer


def load_masked_network(files: MaskedFiles, precision: Literal["fp32", "bf16"]) -> nn.Module:
    """Return the network of a model, in evaluation mode; all its weights must be in the files."""
    require_transformers()
    from transformers import AutoConfig, AutoModelForMaskedLM

    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with _only(files) as folder, reading(files.folder):
        config = AutoConfig.from_pretrained(folder, **options)
        _require_encoder(config, files)
        network, report = AutoModelForMaskedLM.from_pretrained(
            folder,
            config=config,
            use_safetensors=True,
            dtype=_PRECISIONS[precision],
            output_loading_info=True,
            **options,
        )
    # Weights that are not in the files would be random, and the numbers would look plausible.
    if absent := sorted({*report["missing_keys"], *map(str, report["mismatched_keys"])}):
        raise InputError(
            f"lacks weights of a masked language model: {', '.join(absent[:5])}",
            path=files.source,
            remedy="choose the version with its prediction layer (…ForMaskedLM)",
        )
    result: nn.Module = network.eval()
    return result


def _require_encoder(config: Any, files: MaskedFiles) -> None:
    """Refuse models in which a position cannot attend to later ones, or that have two parts."""
    if getattr(config, "is_decoder", False) or getattr(config, "is_encoder_decoder", False):
        raise InputError(
            "is a decoder, or has one: it is not a masked language model of its whole input",
            path=files.source,
            remedy="models that predict the next word are adopted with model=hf",
        )


def _require_special_tokens(tokenizer: Any, files: MaskedFiles) -> None:
    """Refuse a tokeniser that knows tokens for the ends of a sentence but does not add them once.

    A masked language model that is given a sentence without them computes other numbers.
    """
    ids = tokenizer("a")["input_ids"]
    for name in ("cls", "sep"):
        number = getattr(tokenizer, f"{name}_token_id")
        if number is not None and ids.count(number) != _expected_count(tokenizer):
            raise InputError(
                f"its tokeniser does not add {getattr(tokenizer, f'{name}_token')} to a sentence "
                "exactly once",
                path=files.source,
                remedy="its tokenizer.json lacks a post-processor; save the tokeniser again",
            )


def _expected_count(tokenizer: Any) -> int:
    """Return how often a sentence has each of its end tokens: twice if both are the same."""
    return 2 if tokenizer.cls_token_id == tokenizer.sep_token_id else 1


@contextmanager
def _only(files: MaskedFiles) -> Iterator[Path]:
    """Yield a folder with links to the listed files, so that no others are read."""
    with tempfile.TemporaryDirectory(prefix="gardenpath.") as name:
        folder = Path(name)
        for one, path in files.paths.items():
            (folder / one).symlink_to(path.resolve())
        yield folder
