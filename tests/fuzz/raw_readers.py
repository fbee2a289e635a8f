"""Readers of raw text and of archives of trees."""

from __future__ import annotations

import gzip
import io
import tarfile

from gardenpath.annotate.raw import (
    Passage,
    RawSettings,
    SentenceSettings,
    chosen_encoding,
    format_of,
    passage_sentences,
    read_passages,
)
from gardenpath.data.readers.base import FileRange
from gardenpath.data.readers.treebanks import GumTreebank, partitions_of
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.words.vocabulary import Language
from tests.fuzz.reader import Reader, on_disk

_NEWS = """\
<?xml version="1.0"?>
<!DOCTYPE news>
<DOC id="XIN_1" type="story" >
<HEADLINE>
标题
</HEADLINE>
<TEXT>
<P>
　　他说：“好。”&amp; 我走了……（真的！）
</P>
<s id=2>He met Mr. Smith &lt;there&gt; at 5 p.m. The cat &#65; slept.<br>
<!-- <P> --> x < y <TABLE> 1 2 </TABLE>
</TEXT>
</DOC>
"""
_RAW = 'The cat sleeps. "Stop!" he said.\n\n1. It rose 3.5 percent... Why?\n'
_PARTITIONS = "# Splits\n\n## dev\n\n  * GUM_a_b\n\n## train\n  - GUM_c_d\n"
_LANGUAGES: tuple[Language, ...] = ("en", "zh")
_FILES = {
    "splits.md": "## train\n * GUM_a_b\n## dev\n## test\n",
    "const/GUM_a_b.ptb": "(ROOT\n (S (NP-SBJ (DT The) (NN cat)) (VP (VBZ meows))))\n",
}


def _raw_text(content: bytes) -> None:
    path = on_disk(content, "raw.txt")
    settings = RawSettings()
    for language in _LANGUAGES:
        encoding = chosen_encoding(path, settings, language)
        format = format_of(path, settings, encoding)
        for one in read_passages(FileRange(path), settings, encoding=encoding, format=format):
            if isinstance(one, Passage):
                _check_sentences(one, language)
            else:
                assert one.line > 0 and one.reason


def _check_sentences(passage: Passage, language: Language) -> None:
    """Nothing is lost, and lines are those of the passage."""
    found = list(passage_sentences(passage, language=language, settings=SentenceSettings()))
    text = "".join("".join(line.split()) for _, line in passage.lines)
    assert "".join("".join(sentence.split()) for _, sentence in found) == text
    lines = {number for number, _ in passage.lines}
    assert all(number in lines for number, _ in found)


def _archive(content: bytes) -> None:
    is_compressed = content.startswith(b"\x1f\x8b")
    path = on_disk(content, "gum.tar.gz" if is_compressed else "gum.tar")
    sentences = list(GumTreebank(root=str(path)).read("train"))
    assert all(one.words and one.tree is not None for one in sentences)
    assert all(one.words for one in Cleaning().apply(sentences))


def _partitions(content: bytes) -> None:
    lists = partitions_of(content.decode("utf-8", "ignore"), path="splits.md")
    named = [name for names in lists.values() for name in names]
    assert len(named) == len(set(named))


def _archive_seeds() -> tuple[bytes, ...]:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, text in _FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return (file.getvalue(), gzip.compress(file.getvalue(), mtime=0))


RAW_READERS = (
    Reader("raw_text", (_NEWS.encode(), _RAW.encode()), _raw_text),
    Reader(
        "raw_bytes",
        (_NEWS.encode("gb18030"), gzip.compress(_RAW.encode(), mtime=0)),
        _raw_text,
        is_binary=True,
    ),
    Reader("gum_archive", _archive_seeds(), _archive, is_binary=True),
    Reader("gum_partitions", (_PARTITIONS.encode(),), _partitions),
)
