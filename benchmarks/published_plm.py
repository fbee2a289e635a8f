"""The published search with PLMs (Qian et al. 2021), with the weights of a run.

The code of others is not part of the project: ``plm-gen.py`` is imported from a checkout of
transformers-struct-guidance, and its search is used as it is. It reads every hypothesis from the
beginning at every step, one sentence at a time. Its model is a GPT-2 of the library transformers,
which gets our weights; the units are the words of our vocabulary instead of GPT-2's pieces. Illegal
symbols are excluded where our model excludes them. The published code excludes none, because the
result of its ``masked_fill`` is not used.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.peer_beams import Beams
from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID, Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.settings import WordSync
from gardenpath.models.sequential.networks import Block
from gardenpath.models.syntactic.networks import PlmNetwork
from gardenpath.util import Words, nats

NAME = "published PLM"
ROOT, CLOSE = "[START]", "REDUCE()"


class PublishedPlm:
    """The search of a checkout."""

    name = NAME
    batches: tuple[int, ...] = (1,)
    # Before it stops, as many hypotheses as the action beam holds must have generated the word,
    # within 51 open constituents. With a narrower fast track this can fail, and so does its code.
    usual_beams = same_beams = Beams(fast_track=5)
    ladder: tuple[str, ...] = ("50/5/5", "100/10/5", "100/10/10")
    # Its limit on open constituents, and none on those between two words.
    same_search = WordSync(fast_track=5, stop="beam_full", max_open=51, max_consecutive=51)

    def __init__(self, checkout: Path, network: PlmNetwork, vocabulary: Vocabulary) -> None:
        require_same_model(network)
        module = imported(checkout)
        labels = [f"NT({label})" for label in vocabulary.labels]
        plm = module.PLM.__new__(module.PLM)
        plm.tokenizer = Symbols(vocabulary)
        plm.model = HuggingFacePlm(network).eval()
        plm.NT_CATS, plm.REDUCE, plm.ROOT = list(vocabulary.labels), CLOSE, ROOT
        plm.NT_ACTIONS, plm.NT_ACTIONS_SET = labels, set(labels)
        plm.NT_ACTIONS2NT_CAT = dict(zip(labels, vocabulary.labels, strict=True))
        plm.ACTIONS_SET = {*labels, CLOSE}
        plm.w_boundary_char = "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}"
        plm.GEN_VOCAB = list(vocabulary.tokens)
        plm.GEN_ids = plm.tokenizer.convert_tokens_to_ids(plm.GEN_VOCAB)
        plm.NT_ids = plm.tokenizer.convert_tokens_to_ids(labels)
        plm.REDUCE_id = plm.tokenizer.convert_tokens_to_ids(CLOSE)
        self._plm = plm
        self._vocabulary = vocabulary

    @property
    def states(self) -> int | None:
        """See :class:`benchmarks.peer_beams.Peer`."""
        return int(self._plm.model.states)

    def log_probs(
        self, sentences: Sequence[Words], beams: Beams, *, batch: int = 1
    ) -> list[list[float]]:
        """Return the log probabilities (nats) of words; that of the end is not computed: NaN."""
        assert batch == 1
        found = []
        # It prints all hypotheses.
        with torch.no_grad(), Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            for words in sentences:
                units = [
                    self._vocabulary.tokens[number] for number in self._vocabulary.encode(words)
                ]
                with contextlib.redirect_stderr(nowhere):
                    _, surprisals = self._plm.get_surprisals_with_beam_search(
                        " ".join(units), False, beam_size=beams.action_beam,
                        word_beam_size=beams.word_beam, fast_track_size=beams.fast_track,
                    )  # fmt: skip
                found.append([nats(float(surprisal)) for surprisal in surprisals] + [math.nan])
        return found


class Symbols:
    """Words and brackets in the order of a PLM's symbols, with the methods of a tokeniser."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        labels = (f"NT({label})" for label in vocabulary.labels)
        names = (*vocabulary.tokens, CLOSE, *labels)
        self._ids = {name: number for number, name in enumerate(names)}
        self._count = len(names)
        self._ids[ROOT] = BEGIN_ID
        # It pads sequences with this word.
        self._ids.setdefault("#", PAD_ID)

    def __len__(self) -> int:
        return self._count

    def tokenize(self, text: str) -> list[str]:
        """Split at spaces."""
        return text.split()

    def convert_tokens_to_ids(self, names: Any) -> Any:
        """Return the id of a symbol, or those of several."""
        return self._ids[names] if isinstance(names, str) else [self._ids[name] for name in names]


class HuggingFacePlm(nn.Module):
    """The GPT-2 of transformers that computes what a PLM computes."""

    def __init__(self, network: PlmNetwork) -> None:
        from transformers import GPT2Config, GPT2LMHeadModel

        super().__init__()
        decoder = network.decoder
        symbols, hidden = decoder.token_embedding.weight.shape
        config = GPT2Config(
            vocab_size=symbols, n_positions=decoder.position_embedding.num_embeddings,
            n_embd=hidden, n_layer=len(decoder.blocks), n_head=network.heads,
            layer_norm_epsilon=decoder.final_norm.eps, bos_token_id=BEGIN_ID, eos_token_id=BEGIN_ID,
            use_cache=False,
        )  # fmt: skip
        self.gpt2: Any = GPT2LMHeadModel(config)
        self.gpt2.lm_head = nn.Linear(hidden, symbols)
        self.gpt2.load_state_dict(gpt2_weights(network))
        self._closing = network.vocabulary_size
        self._is_legal_only = network.action_norm == "legal"
        self.states = 0

    def forward(self, symbols: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor]:
        """``(sequences, length, symbols)`` logits; padding comes last, so no mask is needed."""
        self.states += len(symbols)
        logits: Tensor = self.gpt2(symbols)[0]
        if self._is_legal_only:
            after_opening = symbols > self._closing
            logits[..., self._closing].masked_fill_(after_opening, -torch.inf)
            logits[:, 0, : self._closing + 1] = -torch.inf
        return (logits,)


def gpt2_weights(network: PlmNetwork) -> dict[str, Tensor]:
    """Return the weights of a PLM under the names of ``GPT2LMHeadModel``, and a bias of the output.

    The bias excludes symbols that never come next. Matrices of GPT-2 have one row for each input.
    """
    decoder = network.decoder
    found = {
        "transformer.wte.weight": decoder.token_embedding.weight,
        "transformer.wpe.weight": decoder.position_embedding.weight,
        "transformer.ln_f.weight": decoder.final_norm.weight,
        "transformer.ln_f.bias": decoder.final_norm.bias,
        "lm_head.weight": network.output.linear.weight,
        "lm_head.bias": network.output.excluded,
    }
    for number, block in enumerate(decoder.blocks):
        assert isinstance(block, Block)
        name, attention = f"transformer.h.{number}", block.attention
        matrices = {
            "attn.c_attn": attention.query_key_value,
            "attn.c_proj": attention.project,
            "mlp.c_fc": block.expand,
            "mlp.c_proj": block.contract,
        }
        for part, linear in matrices.items():
            found[f"{name}.{part}.weight"] = linear.weight.T
            found[f"{name}.{part}.bias"] = linear.bias
        for part, norm in {"ln_1": block.attention_norm, "ln_2": block.feed_forward_norm}.items():
            found[f"{name}.{part}.weight"] = norm.weight
            found[f"{name}.{part}.bias"] = norm.bias
    return {name: weight.detach().clone().contiguous() for name, weight in found.items()}


def imported(checkout: Path) -> Any:
    """Import ``plm-gen.py`` from a checkout, with the names that its command line defines."""
    import transformers

    path = checkout / "src" / "plm-gen.py"
    if not path.is_file():
        raise GardenpathError(
            f"{checkout}: is not a checkout of transformers-struct-guidance: there is no "
            "src/plm-gen.py; give the folder with --peer"
        )
    # Its optimiser has been removed from transformers; the search does not use it.
    if not hasattr(transformers, "AdamW"):
        transformers.AdamW = torch.optim.AdamW
    sys.modules.pop("utils", None)
    sys.path.insert(0, str(path.parent))
    try:
        specification = importlib.util.spec_from_file_location("plm_gen", path)
        assert specification is not None and specification.loader is not None
        module: Any = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    module.device, module.REDUCE, module.ROOT = "cpu", CLOSE, ROOT
    module.log_softmax = nn.LogSoftmax(-1)
    return module


def require_same_model(network: PlmNetwork) -> None:
    """Raise an error if the published search cannot be run with this network."""
    if network.structured_heads or network.piece_bias is not None:
        raise GardenpathError(
            "only PLMs over words without structured heads are compared with the published search: "
            "use a run with model.network.structured_heads=false and without data.subwords"
        )
