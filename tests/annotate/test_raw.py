"""Files of raw text: what is read, in which encoding, and what damage does."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.annotate.raw import (
    LeftOut,
    Passage,
    RawSettings,
    SentenceSettings,
    chosen_encoding,
    format_of,
    input_files,
    passage_sentences,
    raw_lines,
    read_passages,
    splitter_problem,
)
from gardenpath.data.readers.base import FileRange
from gardenpath.data.words.vocabulary import Language
from gardenpath.errors import GardenpathError, InputError

PLAIN = RawSettings()
RULES = SentenceSettings()


def written(folder: Path, content: bytes, name: str = "raw.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def split_sentences(
    text: str, *, language: Language, settings: SentenceSettings = RULES
) -> list[str]:
    """The sentences of a paragraph of one line."""
    found = passage_sentences(Passage(((1, text),), 1), language=language, settings=settings)
    return [sentence for _, sentence in found]


def passages(
    path: Path, settings: RawSettings = PLAIN, language: Language = "zh"
) -> list[tuple[int, str]]:
    """Each passage as (line, text), and each thing left out as (line, reason)."""
    encoding = chosen_encoding(path, settings, language)
    format = format_of(path, settings, encoding)
    found = read_passages(FileRange(path), settings, encoding=encoding, format=format)
    return [
        (one.line, one.reason)
        if isinstance(one, LeftOut)
        else (one.lines[0][0], " ".join(text.strip() for _, text in one.lines))
        for one in found
    ]


# ---- Which files


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.sgm", ".hidden", "deep/d.txt", ".git/e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")

    def names(*given: str) -> list[str]:
        found = input_files([str(tmp_path / one) for one in given])
        return [path.relative_to(tmp_path).as_posix() for path in found]

    assert names("") == ["a.txt", "b.txt", "c.sgm", "deep/d.txt"]
    assert names("*.txt") == ["a.txt", "b.txt"]
    assert names("**/*.txt") == ["a.txt", "b.txt", "deep/d.txt"]
    assert names("b.txt", "*.txt") == ["b.txt", "a.txt"]
    assert input_files(str(tmp_path / "b.txt")) == [tmp_path / "b.txt"]
    with pytest.raises(GardenpathError, match=r"none\*: no such file"):
        names("a.txt", "none*")


# ---- Encodings and damage


def test_encodings(tmp_path: Path) -> None:
    text = "他来了。\n她走了。\n"
    for encoding in ("utf-8", "gb18030"):
        path = written(tmp_path, text.encode(encoding))
        assert chosen_encoding(path, PLAIN, "zh") == encoding
        assert passages(path) == [(1, "他来了。"), (2, "她走了。")]
    # One broken byte makes no UTF-8 file a GB18030 one.
    path = written(tmp_path, text.encode() * 5 + b"\xff\n")
    assert chosen_encoding(path, PLAIN, "zh") == "utf-8"
    assert chosen_encoding(written(tmp_path, "é\n".encode("latin-1")), PLAIN, "en") == "utf-8"
    chosen = RawSettings(encoding="latin-1")
    assert passages(path.with_name("raw.txt"), chosen, "en") == [(1, "é")]


def test_broken_lines_are_skipped_replaced_or_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "好。\n".encode() + b"x\xffy\n" + "来。\n".encode())
    assert passages(path) == [(1, "好。"), (2, "broken bytes"), (3, "来。")]
    replaced = passages(path, RawSettings(broken="replace"))
    assert (2, "x\ufffdy") in replaced and (2, "broken bytes") in replaced
    with pytest.raises(InputError, match=r"raw\.txt:2: not utf-8 at byte 2"):
        passages(path, RawSettings(broken="error"))


def test_marks_that_are_not_text(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfa\x00b\x0cc\td\r\ne\rf\n")
    assert passages(path, language="en") == [(1, "ab c d"), (2, "e"), (3, "f")]


def test_compressed_files(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a.\nb.\n"), "raw.txt.gz")
    assert passages(path) == [(1, "a."), (2, "b.")]
    # By content and not by name.
    assert passages(written(tmp_path, path.read_bytes(), "raw2")) == [(1, "a."), (2, "b.")]
    damaged = written(tmp_path, path.read_bytes()[:-9], "cut.gz")
    with pytest.raises(InputError, match=r"cut\.gz: is damaged.*gzip -t"):
        passages(damaged)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"%PDF-1.4 ...", "is a PDF document"),
        ("Hello there".encode("utf-16"), "is UTF-16 text"),
        (b"(S (NP the cat) (VP sleeps))\n", "bracketed trees.*data=brackets"),
        (b"(S\n  (NP the cat)\n  (VP sleeps))\n", "bracketed trees.*data=brackets"),
    ],
)
def test_what_is_no_raw_text(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        passages(written(tmp_path, content))


def test_paragraphs(tmp_path: Path) -> None:
    path = written(tmp_path, "a\nb\n\n  \nc\n　　d\ne\n".encode())
    assert passages(path) == [(1, "a"), (2, "b"), (5, "c"), (6, "d"), (7, "e")]
    wrapped = RawSettings(paragraphs="blank_lines")
    assert passages(path, wrapped) == [(1, "a b"), (5, "c"), (6, "d e")]


def test_encodings_that_do_not_exist() -> None:
    assert RawSettings(encoding="nonsense").mistakes() != []
    assert RawSettings(encoding="utf-16").mistakes() != []
    assert RawSettings(encoding="gb18030").mistakes() == []


@given(content=st.binary(max_size=60), cut=st.integers(0, 60))
def test_lines_of_parts_are_the_lines_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cut: int
) -> None:
    path = written(tmp_path_factory.getbasetemp(), b"a" + content.replace(b"\x1f\x8b", b""))
    data = path.read_bytes()
    middle = data.find(b"\n", cut) + 1
    lines = list(raw_lines(FileRange(path), encoding="utf-8", broken="replace"))
    head = list(raw_lines(FileRange(path, 0, middle), encoding="utf-8", broken="replace"))
    tail = raw_lines(
        FileRange(path, middle, len(data) - middle, len(head) + 1),
        encoding="utf-8",
        broken="replace",
    )
    assert head + list(tail) == lines


# ---- SGML


def test_newswire(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """<DOC id="XIN_1" type="story" >
<HEADLINE>
标题。
</HEADLINE>
<DATELINE> 北京 </DATELINE>
<TEXT>
<P>
他来了。她
走了。
</P>
<P>
A &amp; B &#65; &unknown; x &lt; y
</P>
</TEXT>
</DOC>
<DOC id="XIN_2">
<TEXT>
　　第一段。
　　第二段。
</TEXT>
</DOC>
""".encode("gb18030"),
    )
    assert passages(path) == [
        (8, "他来了。她 走了。"),
        (12, "A & B A &unknown; x < y"),
        (18, "第一段。"),
        (19, "第二段。"),
    ]


def documents(path: Path) -> list[int]:
    found = read_passages(FileRange(path), PLAIN, encoding="utf-8", format="sgml")
    return [one.document for one in found if isinstance(one, Passage)]


def test_documents(tmp_path: Path) -> None:
    content = b"<DOC><TEXT>a<P>b</TEXT></DOC>\n<doc>\n<text>c</text>\n"
    path = written(tmp_path, content)
    assert passages(path) == [(1, "a"), (1, "b"), (3, "c")]
    assert documents(path) == [1, 1, 2]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # Nothing is closed.
        ("<DOC><HEADLINE>no<TEXT>yes<P>more<DOC><HEADLINE>no\n<TEXT>again", "yes|more|again"),
        # An excluded element within the text, closed or not.
        ("<DOC><TEXT>a<TABLE>no</TABLE>b<TABLE>no<P>c</TEXT>no", "a|b|c"),
        # Tags in several lines, and brackets that are no tags.
        ("<DOC><TEXT>a <b\nclass='x'>c</b> 3 < 4 <y and z> d</TEXT>", "a c 3 < 4 <y and z> d"),
        ("<DOC><TEXT>a <b and\nno end\nof it\n</TEXT>", "a <b and no end of it"),
        # Comments and declarations.
        ("<!DOCTYPE doc><?xml?><DOC><TEXT>a <!-- <P> --> b</TEXT>", "a  b"),
        # Case, and elements of other names.
        ("<doc><Text><p>a</p><enamex type=X>b</enamex> c</text></doc>", "a|b c"),
    ],
)
def test_real_files_are_not_valid(tmp_path: Path, content: str, expected: str) -> None:
    found = passages(written(tmp_path, content.encode()), language="en")
    assert "|".join(text for _, text in found) == expected


def test_other_tags_are_settings(tmp_path: Path) -> None:
    path = written(tmp_path, b"<NEWS><TI>no</TI><BODYTEXT>yes<SENT>more</BODYTEXT><X>no</X></NEWS>")
    assert passages(path) == [(1, "no text")]
    chosen = RawSettings(document_tag="NEWS", text_tags=("bodytext",), paragraph_tags=("sent",))
    assert passages(path, chosen) == [(1, "yes"), (1, "more")]
    everything = RawSettings(text_tags=(), excluded_tags=("ti",), document_tag="news")
    assert passages(path, everything) == [(1, "yesmoreno")]


def test_a_format_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, b"<b>bold</b> text\n")
    assert passages(path, RawSettings(format="text")) == [(1, "<b>bold</b> text")]


def test_hostile_markup_takes_linear_time(tmp_path: Path) -> None:
    for piece in ("<", "<a", "<!--", "&", "<a b ", "</", "<P>", "&#1", "<a\n", "<DOC><TEXT>"):
        passages(written(tmp_path, ("<DOC><TEXT>" + piece * 50_000).encode()))


# ----------------------------------------------------------------------------
# Sentences of raw text: where they end, and that nothing is lost.


LANGUAGES: tuple[Language, ...] = ("en", "zh")

# A bar stands where a sentence ends.
ENGLISH = [
    "The cat sleeps.| The dog barks!| Does it?| Yes.",
    "Mr. Smith met Dr. J. R. Brown in the U.S. Senate.| They talked.",
    "It rose 3.5 percent to $1.2 million.| No. 5 won.",
    '"Stop!" he said.| "I will not."| She left.',
    '"Where are you?" asked Ann.| (He laughed.)| Then he wept.',
    "Well... maybe.| Or not...| Who knows?!| I do.",
    "Hmm... I see it.",
    "See e.g. Chomsky and cf. Ross.| Others differ, i.e. they disagree.",
    "1. The first point.| 2. The second.",
    "John F. Kennedy spoke.| He won.",
    "The U.S. is large.| The U.K. is not.",
    "He cried “No!”| “Yes,” she said.",
    "He left . ''| She stayed .",
    "One sentence without an end",
    "He is here.So is she.",
    "Prices fell.| 12 shops closed.",
    "她 said so.| 他 left.",
]
CHINESE = [
    "他来了。|她走了！|真的吗？|是的。",
    "他说：“好。”|我走了。",
    "（他来了。）|她没来。",
    "“你好！”|他说。|“再见。”",
    "他说：\"好。\"|我走了。",
    "\"好。|我走了。\"|他说。",
    "什么？！|不会吧……|真的。",
    "他读《为什么？》这本书。|我没读。",
    "他吃了一半；她没吃。",
    "增长３．５％，达到1.2亿元。|完了。",
    "没有结尾的句子",
    "「好。」|『不好。』|完。",
]  # fmt: skip


def parts(marked: str) -> list[str]:
    return [one.strip() for one in marked.split("|")]


@pytest.mark.parametrize("marked", ENGLISH)
def test_english(marked: str) -> None:
    assert split_sentences(marked.replace("|", ""), language="en") == parts(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "He left at 5 p.m.| The train was late.",
        "Acme Inc.| The firm grew.",
        "Acme Inc. Chairman Bell left.",
        "Apples, pears, etc.| He ate them all.",
        "It was vitamin C.| The doctor knew.",
        "Gen. Lee and Sen. Bell met.",
    ],
)
def test_abbreviations_that_may_end_a_sentence(marked: str) -> None:
    assert split_sentences(marked.replace("|", ""), language="en") == parts(marked)


@pytest.mark.parametrize("marked", CHINESE)
def test_chinese(marked: str) -> None:
    assert split_sentences(marked.replace("|", ""), language="zh") == parts(marked)


def test_ends_of_chinese_sentences_are_a_setting() -> None:
    text = "他来了；她走了……再见。"
    found = split_sentences(text, language="zh", settings=SentenceSettings(chinese_ends="。；"))
    assert found == ["他来了；", "她走了……再见。"]


def test_lines() -> None:
    chosen = SentenceSettings(splitter="lines")
    assert split_sentences(" A b. C d. ", language="en", settings=chosen) == ["A b. C d."]


def without_blanks(text: str) -> str:
    return "".join(text.split())


PIECES = st.sampled_from(
    [
        *"。！？…；”’」）》《“「（\"'.!?()[]aA1 ",
        "Mr.",
        "U.S.",
        "e.g.",
        "The",
        "he",
        "I",
        " ",
        "\n",
        "　",
        "''",
        "...",
        "3.5",
        "猫",
        "1.",
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=30).map("".join), st.text(max_size=40))


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=400)
@given(text=TEXTS)
def test_nothing_is_lost_and_sentences_stay_whole(language: Language, text: str) -> None:
    found = split_sentences(text, language=language)
    assert without_blanks("".join(found)) == without_blanks(text)
    assert all(one and one == one.strip() for one in found)
    for one in found:
        assert split_sentences(one, language=language) == [one]


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=200)
@given(lines=st.lists(st.lists(PIECES, max_size=8).map("".join), max_size=5))
def test_passages_have_the_lines_of_their_sentences(language: Language, lines: list[str]) -> None:
    filled = tuple((n, one) for n, one in enumerate(lines, start=7) if one.strip())
    found = list(
        passage_sentences(Passage(filled, 7), language=language, settings=SentenceSettings())
    )
    assert without_blanks("".join(text for _, text in found)) == without_blanks("".join(lines))
    numbers = [number for number, _ in found]
    assert numbers == sorted(numbers) and set(numbers) <= {number for number, _ in filled}
    content = {number: without_blanks(line) for number, line in filled}
    for number, text in found:
        assert without_blanks(text)[0] in content[number]


def test_lines_of_a_passage_are_joined() -> None:
    english = Passage(((3, "The cat "), (4, "sleeps. The"), (5, "dog barks.")), 3)
    found = passage_sentences(english, language="en", settings=SentenceSettings())
    assert list(found) == [(3, "The cat sleeps."), (4, "The dog barks.")]
    chinese = Passage(((1, "　　他在北"), (2, "京。他用 IBM"), (3, "PC工作。")), 1)
    joined = passage_sentences(chinese, language="zh", settings=SentenceSettings())
    assert list(joined) == [(1, "他在北京。"), (2, "他用 IBM PC工作。")]


def test_long_text_takes_linear_time() -> None:
    for language in LANGUAGES:
        for piece in ("a.", "Mr. ", '"', "。", "《", ") ", "." * 50, "。 "):
            assert split_sentences(piece * 20_000, language=language)


def test_punkt_without_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    chosen = SentenceSettings(splitter="punkt")
    assert "punkt_tab" in splitter_problem("en", chosen)
    assert "for English" in splitter_problem("zh", chosen)
    with pytest.raises(GardenpathError, match="for English"):
        split_sentences("好。", language="zh", settings=chosen)


def test_punkt_with_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    class Tokenizer:
        def __init__(self, language: str) -> None:
            assert language == "english"

        def span_tokenize(self, text: str) -> list[tuple[int, int]]:
            middle = text.index("|") + 1
            return [(0, middle), (middle, len(text))]

    module: Any = ModuleType("nltk.tokenize.punkt")
    module.PunktTokenizer = Tokenizer
    monkeypatch.setitem(sys.modules, "nltk.tokenize.punkt", module)
    monkeypatch.setattr(nltk.data, "find", lambda name: SimpleNamespace(name=name))
    chosen = SentenceSettings(splitter="punkt")
    assert split_sentences("a b| c", language="en", settings=chosen) == ["a b|", "c"]
