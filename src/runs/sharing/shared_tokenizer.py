"""The words or pieces of a run as a tokeniser of the library tokenizers, with the same ids.

A unigram segmentation may divide a word in two equally good ways: *000* is *0 00* and *00 0*.
SentencePiece computes in float32 and the library in float64, so that rounding decides otherwise.
The share of such words among invented ones is measured, to be told to the user; any other
difference is an error.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import sentencepiece
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from gardenpath.data.words.subwords import Subwords
from gardenpath.data.words.unknown_words import UNKNOWN
from gardenpath.data.words.vocabulary import (
    BEGIN,
    BEGIN_ID,
    END,
    PAD,
    SPECIALS,
    UNKNOWN_ID,
    Vocabulary,
)
from gardenpath.errors import GardenpathError

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
    from transformers import PreTrainedTokenizerFast

    found = Tokenizer(_words(vocabulary) if subwords is None else _pieces(vocabulary, subwords))
    if lowercase:
        found.normalizer = normalizers.Lowercase()
    splits: list[Any] = [pre_tokenizers.Split(Regex(_BLANKS), "removed")]
    if subwords is not None:
        splits.append(pre_tokenizers.Metaspace(_MARK, prepend_scheme="always", split=False))
        found.decoder = decoders.Metaspace(_MARK, prepend_scheme="always")
    found.pre_tokenizer = pre_tokenizers.Sequence(splits)
    found.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, BEGIN_ID)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=found,
        bos_token=BEGIN,
        eos_token=END,
        unk_token=UNKNOWN,
        pad_token=PAD,
        padding_side="right",
        clean_up_tokenization_spaces=False,
        **({} if most is None else {"model_max_length": most}),
    )
    return tokenizer, _share_of_ties(tokenizer, vocabulary, subwords)


def invented_words(vocabulary: Vocabulary, subwords: Subwords | None, count: int) -> list[str]:
    """Return words of the vocabulary, or words that are made of its pieces; always the same."""
    generator = random.Random(1)
    units = [one for one in vocabulary.tokens[len(SPECIALS) :] if not one.startswith("<unk-")]
    if subwords is None:
        return generator.choices(units, k=count)
    lengths = generator.choices(range(1, _MOST_PIECES + 1), k=count)
    words = ("".join(generator.choices(units, k=length)) for length in lengths)
    return [word.replace(_MARK, "") or units[-1] for word in words]


def _words(vocabulary: Vocabulary) -> Any:
    return models.WordLevel(dict(vocabulary.ids), unk_token=UNKNOWN)


def _pieces(vocabulary: Vocabulary, subwords: Subwords) -> Any:
    """Return the model of a segmentation, with the ids of the vocabulary."""
    scores = _scores(subwords)
    if not _is_bpe(scores):
        specials = [(name, 0.0) for name in SPECIALS]
        return models.Unigram([*specials, *scores.items()], unk_id=UNKNOWN_ID)
    merges = [
        (piece[:place], piece[place:])
        for piece in sorted(scores, key=lambda one: -scores[one])
        for place in range(1, len(piece))
        if piece[:place] in scores and piece[place:] in scores
    ]
    return models.BPE(dict(vocabulary.ids), merges, unk_token=UNKNOWN, fuse_unk=True)


def _scores(subwords: Subwords) -> dict[str, float]:
    """Return the score of each piece, in the order of SentencePiece."""
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
        words = [one for one in vocabulary.tokens if vocabulary.knows(one)]
        expected = [[vocabulary.ids[one]] for one in words]
        scores: dict[str, float] = {}
    else:
        words = invented_words(vocabulary, subwords, _INVENTED)
        words += [word[:1] + _STRANGE + _STRANGE + word[1:] for word in words[:100]]
        expected = [subwords.encode(one, vocabulary) for one in words]
        scores = _scores(subwords)
    found = tokenizer(words, add_special_tokens=False)["input_ids"]
    unequal = [
        (word, one, other)
        for word, one, other in zip(words, found, expected, strict=True)
        if one != other
    ]
    for word, one, other in unequal:
        if _is_bpe(scores) or not _is_tie(one, other, vocabulary, scores):
            raise GardenpathError(
                f"the word {word!r} has the ids {other} in the run, but {one} in a tokeniser of "
                "the library tokenizers; share the run with task.form=safetensors"
            )
    return len(unequal) / len(words)


def _is_tie(
    one: Sequence[int], other: Sequence[int], vocabulary: Vocabulary, scores: Mapping[str, float]
) -> bool:
    """Whether two segmentations of one word are equally probable, up to rounding in float32."""
    pieces = [[vocabulary.tokens[number] for number in ids] for ids in (one, other)]
    spelt = {"".join(names) for names in pieces}
    first, second = (sum(scores.get(name, _UNKNOWN_SCORE) for name in names) for names in pieces)
    return len(spelt) == 1 and abs(first - second) <= _ROUNDING * max(1.0, abs(first))
