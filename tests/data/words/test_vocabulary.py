"""Classes of unknown words in English and Chinese."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gardenpath.data.words.vocabulary import (
    BEGIN_ID,
    END_ID,
    PAD_ID,
    SPECIALS,
    UNKNOWN_ID,
    Language,
    Vocabulary,
    build_vocabulary,
    coarser,
    unknown_class,
)
from gardenpath.errors import InputError
from tests.data.strategies import words


def class_of(word: str, language: Language = "en", *, is_first: bool = False) -> str:
    return unknown_class(
        word, language=language, is_first=is_first, is_known=lambda form: form == "cats"
    )


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("jump", "<unk-lc>"),
        ("jumped", "<unk-lc-ed>"),
        ("jumping", "<unk-lc-ing>"),
        ("nation", "<unk-lc-ion>"),
        ("quicker", "<unk-lc-er>"),
        ("fastest", "<unk-lc-est>"),
        ("slowly", "<unk-lc-ly>"),
        ("sanity", "<unk-lc-ity>"),
        ("sunny", "<unk-lc-y>"),
        ("global", "<unk-lc-al>"),
        ("dogs", "<unk-lc-s>"),
        ("glass", "<unk-lc>"),
        ("virus", "<unk-lc>"),
        ("red", "<unk-lc>"),  # too short to have a suffix
        ("Smith", "<unk-caps>"),
        ("Smiths", "<unk-caps-s>"),
        ("iPhone", "<unk-caps>"),
        ("IBM", "<unk-caps>"),
        ("1987", "<unk-num>"),
        ("1980s", "<unk-lc-num-s>"),
        ("B-52", "<unk-caps-num-dash>"),
        ("high-minded", "<unk-lc-dash>"),
        ("--", "<unk-punct>"),
        ("...", "<unk-punct>"),
        ("<unk>", "<unk>"),
    ],
)
def test_english(word: str, expected: str) -> None:
    assert class_of(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Cats", "<unk-initc-knownlc-s>"),
        ("Dogs", "<unk-initc-s>"),
        ("IBM", "<unk-caps>"),
        ("dogs", "<unk-lc-s>"),
    ],
)
def test_english_at_the_beginning(word: str, expected: str) -> None:
    assert class_of(word, is_first=True) == expected


def test_known_lower_case_counts_at_the_beginning_only() -> None:
    assert class_of("Cats") == "<unk-caps-s>"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("三十五", "<unk-num>"),
        ("第一", "<unk-num>"),
        ("1998", "<unk-num>"),
        ("１９９８", "<unk-num>"),
        ("９．５％", "<unk-num>"),
        ("IBM", "<unk-latin>"),
        ("ＩＢＭ", "<unk-latin>"),
        ("卡拉OK", "<unk-latin>"),
        ("——", "<unk-punct>"),
        ("、", "<unk-punct>"),
        ("猫", "<unk-len1>"),
        ("记者", "<unk-len2-person>"),
        ("教育部", "<unk-len3-organisation>"),
        ("哈尔滨市", "<unk-len4-place>"),
        ("布宜诺斯艾利斯", "<unk-len4>"),
        ("可能性", "<unk-len3-quality>"),
        ("慢慢地", "<unk-len3-modifier>"),
        ("去年", "<unk-len2-time>"),
        ("出来", "<unk-len2-predicate>"),
        ("国國", "<unk-len2-place>"),
        ("5月份", "<unk-mixed>"),
        ("<unk>", "<unk>"),
    ],
)
def test_chinese(word: str, expected: str) -> None:
    assert class_of(word, "zh") == expected


def test_coarser() -> None:
    assert list(coarser("<unk-caps-num-dash>")) == [
        "<unk-caps-num-dash>",
        "<unk-caps-num>",
        "<unk-caps>",
        "<unk>",
    ]
    assert list(coarser("<unk>")) == ["<unk>"]


@pytest.mark.parametrize("language", ["en", "zh"])
@given(word=words())
def test_every_word_has_a_class(language: Language, word: str) -> None:
    name = class_of(word, language)
    assert name.startswith("<unk") and name.endswith(">")
    assert list(coarser(name))[-1] == "<unk>"


# ----------------------------------------------------------------------------
# Vocabulary: what gets an id, what stands for the rest, and the file.


SENTENCES = [
    "the cat saw the dog",
    "the dog saw cats",
    "Dogs jumped",
    "1990s cats jumped over IBM",
    "The xylophones",
]


def build(sentences: list[str], *, min_count: int = 2, language: Language = "en") -> Vocabulary:
    counts = Counter(
        (word, position == 0)
        for sentence in sentences
        for position, word in enumerate(sentence.split())
    )
    return build_vocabulary(
        counts, labels=["VP", "NP", "S", "NP"], language=language, min_count=min_count
    )


def test_ids_of_special_symbols() -> None:
    assert build(SENTENCES).tokens[:4] == SPECIALS == ("<pad>", "<s>", "</s>", "<unk>")
    assert (PAD_ID, BEGIN_ID, END_ID, UNKNOWN_ID) == (0, 1, 2, 3)


def test_tokens_and_counts() -> None:
    vocabulary = build(SENTENCES)
    assert list(zip(vocabulary.tokens, vocabulary.counts, strict=True))[4:] == [
        ("<unk-caps>", 1),  # IBM
        ("<unk-initc-knownlc>", 1),  # The
        ("<unk-initc-s>", 1),  # Dogs
        ("<unk-lc-num-s>", 1),  # 1990s
        ("<unk-lc-s>", 1),  # xylophones
        ("<unk-lc>", 2),  # cat, over
        ("the", 3),
        ("cats", 2),
        ("dog", 2),
        ("jumped", 2),
        ("saw", 2),
    ]
    assert vocabulary.labels == ("NP", "S", "VP")
    assert sum(vocabulary.counts) == sum(len(sentence.split()) for sentence in SENTENCES)


def test_first_and_later_occurrences_count_together() -> None:
    vocabulary = build(["cat dog", "dog cat"])
    assert vocabulary.knows("cat") and vocabulary.knows("dog")


@pytest.mark.parametrize(("min_count", "size"), [(1, 12), (2, 5), (3, 1), (4, 0)])
def test_min_count(min_count: int, size: int) -> None:
    vocabulary = build(SENTENCES, min_count=min_count)
    assert sum(map(vocabulary.knows, vocabulary.tokens)) == size


@pytest.mark.parametrize(
    ("word", "is_first", "seen"),
    [
        ("cats", False, "cats"),
        ("mice", False, "<unk-lc>"),
        ("birds", False, "<unk-lc-s>"),
        ("walking", False, "<unk-lc>"),  # <unk-lc-ing> was never seen in training
        ("Anna", False, "<unk-caps>"),
        ("Cats", True, "<unk-initc-knownlc>"),  # <unk-initc-knownlc-s> was never seen either
        ("--", False, "<unk>"),
        ("1987", False, "<unk>"),
        ("<unk>", False, "<unk>"),
        ("<s>", False, "<unk-lc>"),  # a word of the corpus, not the symbol
        ("<unk-lc-s>", False, "<unk-lc>"),
    ],
)
def test_seen_as(word: str, is_first: bool, seen: str) -> None:
    assert build(SENTENCES).seen_as(word, is_first=is_first) == seen


def test_encode() -> None:
    vocabulary = build(SENTENCES)
    encoded = vocabulary.encode(["Cats", "saw", "Cats", "mice"])
    assert [vocabulary.tokens[number] for number in encoded] == [
        "<unk-initc-knownlc>",
        "saw",
        "<unk-caps>",
        "<unk-lc>",
    ]
    assert vocabulary.encode([]) == []


def test_training_words_never_need_a_coarser_class() -> None:
    vocabulary = build(SENTENCES)
    encoded = [number for sentence in SENTENCES for number in vocabulary.encode(sentence.split())]
    assert Counter(encoded) == Counter(
        {number: count for number, count in enumerate(vocabulary.counts) if count}
    )


def test_chinese_vocabulary() -> None:
    vocabulary = build(["记者 看见 了 猫", "学者 看见 了 1998 年"], language="zh")
    assert vocabulary.tokens[4:] == (
        *("<unk-len1-time>", "<unk-len1>", "<unk-len2-person>", "<unk-num>"),
        *("了", "看见"),
    )
    assert [vocabulary.tokens[n] for n in vocabulary.encode(["作者", "看见", "汽车", "三"])] == [
        "<unk-len2-person>",
        "看见",
        "<unk>",
        "<unk-num>",
    ]


def test_corpus_with_unknown_words_of_its_own() -> None:
    vocabulary = build(["the <unk> saw the <unk>", "<unk> saw"])
    assert vocabulary.tokens == (*SPECIALS, "saw", "the")
    assert vocabulary.counts[UNKNOWN_ID] == 3
    assert not vocabulary.knows("<unk>")
    assert vocabulary.encode(["<unk>"]) == [UNKNOWN_ID]


def test_words_that_look_like_symbols_are_no_symbols() -> None:
    vocabulary = build(["<unk-lc> <unk-lc> once <s> <s>"])
    assert len(set(vocabulary.tokens)) == len(vocabulary.tokens)
    assert len(vocabulary.ids) == len(vocabulary)
    assert sum(vocabulary.counts) == 5
    assert set(vocabulary.encode(["<unk-lc>", "<s>"])).isdisjoint({PAD_ID, BEGIN_ID, END_ID})


def test_file_round_trip(tmp_path: Path) -> None:
    vocabulary = build(["猫 看见 猫", "the cat"])
    vocabulary.save(tmp_path / "vocabulary.json")
    loaded = Vocabulary.load(tmp_path / "vocabulary.json")
    assert loaded == vocabulary
    assert loaded.content_hash == vocabulary.content_hash
    assert "猫" in (tmp_path / "vocabulary.json").read_text(encoding="utf-8")


def test_hash_is_stable() -> None:
    """Runs record it: it must be the same on every machine and for every order of reading."""
    assert build(SENTENCES).content_hash == build(SENTENCES[::-1]).content_hash
    tiny = Vocabulary(SPECIALS, (0, 0, 0, 0), ("S",), "en", 2)
    assert tiny.content_hash == "282bb260c623f0b6cf2f"


@pytest.mark.parametrize(
    "change",
    [
        {"min_count": 3},
        {"language": "zh"},
        {"labels": ("S",)},
        {"tokens": SPECIALS, "counts": (0, 0, 0, 0)},
        {"subword_hash": "abc"},
    ],
)
def test_hash_tells_vocabularies_apart(change: dict[str, Any]) -> None:
    vocabulary = build(SENTENCES)
    assert replace(vocabulary, **change).content_hash != vocabulary.content_hash


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"tokens": []}', json.dumps({"tokens": 3})]
)
def test_damaged_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_text(content)
    with pytest.raises(InputError, match="is not a vocabulary") as caught:
        Vocabulary.load(path)
    assert caught.value.path == str(path)
    assert caught.value.remedy == "prepare the corpus again"


def test_undecodable_or_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.json"
    with pytest.raises(InputError, match="No such file"):
        Vocabulary.load(path)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(InputError, match="is not a vocabulary"):
        Vocabulary.load(path)


def piece_vocabulary(*pieces: str, subword_hash: str | None = "hash") -> Vocabulary:
    tokens = (*SPECIALS, *pieces)
    return Vocabulary(
        tokens=tokens, counts=(1,) * len(tokens), labels=("S",), language="en", min_count=1,
        subword_hash=subword_hash,
    )  # fmt: skip


def test_pieces_without_the_mark_continue_a_word() -> None:
    vocabulary = piece_vocabulary("▁k", "ing", "▁", "s")
    #                                     <pad>  <s>    </s>   <unk>
    assert vocabulary.is_continuation.tolist() == [
        False, False, False, True, False, True, False, True,
    ]  # fmt: skip
    assert vocabulary.continuations is vocabulary.is_continuation
    # If the mark is no piece, unknown characters begin a word.
    assert piece_vocabulary("▁k", "ing").is_continuation.tolist() == [False] * 5 + [True]


def test_words_never_continue() -> None:
    vocabulary = piece_vocabulary("▁k", "ing", "▁", subword_hash=None)
    assert not vocabulary.is_continuation.any()
    assert vocabulary.continuations is None
    # Nor do pieces that all begin a word.
    assert piece_vocabulary("▁king").continuations is None
