"""Fuzzed readers of corpora and of raw text."""

from __future__ import annotations

import gzip
import io
import tarfile
from functools import cache

import numpy as np

from gardenpath.annotate.raw import (
    Passage,
    RawSettings,
    SentenceSettings,
    chosen_encoding,
    format_of,
    passage_sentences,
    read_passages,
)
from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import EncodedSplit, StoredSplit
from gardenpath.data.pcfg.grammar import parse_grammar
from gardenpath.data.readers.base import FileRange
from gardenpath.data.readers.files import TextFiles
from gardenpath.data.readers.treebanks import GumTreebank, partitions_of
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import format_tree, parse_tree, read_trees
from gardenpath.data.words.pieces import Subwords, SubwordSettings, train_subwords
from gardenpath.data.words.vocabulary import Language, Vocabulary, build_vocabulary
from gardenpath.eval.surprisal.inputs import read_given
from gardenpath.models.ngram.arpa import read_arpa
from gardenpath.models.ngram.model import NgramModel
from gardenpath.store.files import read_text
from tests.data.pcfg_tools import expected_length
from tests.fuzz.reader import Reader, lines_of, on_disk, scratch
from tests.models.ngram.oracles import write_arpa

_TREES = """\
( (S (NP-SBJ (DT The) (JJ hungry) (NN cat)) (VP (VBZ meows) (NP (-NONE- *T*-1))) (. .)) )
(TOP (NP 我们) (VP (VV 去) (-LRB- -LRB-) (NN 山) (-RRB- -RRB-)))
(S
  (A a) (B
 b))
"""
_TEXT = "The hungry cat meows .\n\n他 喜欢 猫 。\nA dog <unk> barks <eos>\n"
_GRAMMAR = """\
%start S                            # the category of whole sentences
%feature num = sg pl
%feature gen = f m
S       -> NP[num] VP[num] {3} | VP[num]
NP[num] -> Det N[num] {3} | N[num,gen]
   | _X[num2]
_X[num] -> N[num]
VP[num] -> V[num] NP[num2] {0.5} | V[num]
N[sg]   : cat dog*2
N[pl]   : cats dogs*.5
N[num,gen] : it
V[num]  : sees
   meows
Det     : the
"""
_ARPA = """\
\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-99\t<s>\t-0.30
-1.0\t</s>
-1.5\t<unk>\t-0.1
-0.7\tcat\t-0.2
-0.9\tthe\t-0.25

\\2-grams:
-0.3\t<s> the\t-0.1
-0.2\tthe cat\t0.1
-0.4\tcat </s>

\\3-grams:
-0.1\t<s> the cat

\\end\\
"""
_VOCABULARY = """\
{"language": "en", "min_count": 2, "subword_hash": null, "labels": ["NP", "S"],
 "tokens": ["<pad>", "<s>", "</s>", "<unk>", "<unk-lc>", "the", "cat"],
 "counts": [0, 0, 0, 1, 2, 5, 4]}
"""


def _trees(content: bytes) -> None:
    sentences = []
    for line, tree in read_trees(lines_of(content), path="trees"):
        written = format_tree(tree)
        assert parse_tree(written) == tree
        sentences.append(Sentence(tree.words(), Source("trees", line), tree))
    assert all(one.words for one in Cleaning().apply(sentences))


def _text(content: bytes) -> None:
    path = on_disk(content, "text.txt")
    reader = TextFiles(root=str(path.parent), train=path.name, end="<eos>")
    words = [one.words for one in reader.read("train")]
    assert all(words) and all(word for one in words for word in one)
    read_given(path).cleaned(Cleaning())


def _grammar(content: bytes) -> None:
    grammar = parse_grammar(lines_of(content), path="grammar")
    for rules in grammar.rules.values():
        assert abs(sum(rule.probability for rule in rules) - 1.0) < 1e-6
    assert expected_length(grammar) > 0.0 and grammar.derivation_entropy_bits >= -1e-9


def _arpa(content: bytes) -> None:
    model, vocabulary = read_arpa(on_disk(content, "model.arpa"))
    scores = _scores(model, vocabulary)
    path = scratch() / "again.arpa"
    write_arpa(path, model, vocabulary)
    text = read_text(path)
    again, same = read_arpa(path)
    write_arpa(path, again, same)
    assert read_text(path) == text
    if same.tokens == vocabulary.tokens:
        np.testing.assert_allclose(_scores(again, same), scores, rtol=1e-6, atol=1e-6)


def _scores(model: NgramModel, vocabulary: Vocabulary) -> Floats:
    (scores,) = model.score([np.array(vocabulary.encode(["the", "cat", "dog"]), dtype=np.int64)])
    assert not np.isnan(scores).any()
    return np.maximum(scores, -100.0)


def _vocabulary(content: bytes) -> None:
    path = on_disk(content, "vocabulary.json")
    vocabulary = Vocabulary.load(path)
    _ = vocabulary.content_hash
    assert all(0 <= one < len(vocabulary) for one in vocabulary.encode(["the", "Xyz", "3", "-"]))
    vocabulary.save(scratch() / "vocabulary_again.json")
    assert Vocabulary.load(scratch() / "vocabulary_again.json") == vocabulary


def _subwords(content: bytes) -> None:
    subwords = Subwords.load(on_disk(content, "subwords.model"))
    assert subwords.split("cat")
    _ = subwords.pieces


@cache
def _split() -> EncodedSplit:
    return EncodedSplit(
        tokens=np.array([5, 6, 5, 6], dtype=np.int32),
        starts_word=np.ones(4, dtype=bool),
        offsets=np.array([0, 2, 4], dtype=np.int64),
        actions=np.zeros(0, dtype=np.int32),
        action_offsets=np.zeros(3, dtype=np.int64),
    )


def _array(content: bytes) -> None:
    folder = scratch() / "split"
    if not (folder / "actions.npy").exists():
        _split().save(folder)
    (folder / "tokens.npy").write_bytes(content)
    split = StoredSplit.open(folder)
    _ = split.tokens[:1], split.word_count


def _array_seeds() -> tuple[bytes, ...]:
    seeds = []
    for array in (_split().tokens, _split().offsets, _split().starts_word):
        file = io.BytesIO()
        np.save(file, array)
        seeds.append(file.getvalue())
    return tuple(seeds)


def _subwords_seed() -> bytes:
    sentences = ["the cat meows", "the dog barks", "a cat and a dog"] * 5
    return train_subwords(sentences, SubwordSettings(algorithm="unigram", pieces=20)).model


def _vocabulary_seeds() -> tuple[bytes, ...]:
    made = build_vocabulary(
        {("the", True): 3, ("cat", False): 2, ("Xs", False): 1},
        labels=["S"], language="en", min_count=2,
    )  # fmt: skip
    made.save(scratch() / "seed.json")
    return (_VOCABULARY.encode(), (scratch() / "seed.json").read_bytes())


CORPUS_READERS = (
    Reader("trees", (_TREES.encode(),), _trees),
    Reader("text", (_TEXT.encode(),), _text),
    Reader("grammar", (_GRAMMAR.encode(),), _grammar),
    Reader("arpa", (_ARPA.encode(),), _arpa),
    Reader("vocabulary", _vocabulary_seeds(), _vocabulary),
    Reader("subwords", (_subwords_seed(),), _subwords, is_binary=True),
    Reader("arrays", _array_seeds(), _array, is_binary=True),
)


# ----------------------------------------------------------------------------
# Readers of raw text and of archives of trees.


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
