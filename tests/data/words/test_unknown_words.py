"""Classes of unknown words in English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given

from gardenpath.data.words.vocabulary import Language, coarser, unknown_class
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
