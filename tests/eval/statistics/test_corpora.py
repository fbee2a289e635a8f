"""Tests of corpus statistics."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from gardenpath.data.corpus import DataSettings
from gardenpath.data.readers.files import TextFiles, ToyTreebank
from gardenpath.data.readers.treebanks import PennTreebankSample
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees import cleaning as transforms
from gardenpath.data.trees.tree import Tree, read_trees
from gardenpath.data.words.vocabulary import SPECIALS, UNKNOWN, Vocabulary, build_vocabulary
from gardenpath.errors import InputError, StatisticsError
from gardenpath.eval.statistics.corpora import (
    REFLEXIVES,
    Annotation,
    compile_pattern,
    construction_counts,
    corpus_statistics,
    count_constructions,
    counts_table,
    in_words,
    is_annotated,
    lengths_frame,
    load_constructions,
    statistics_frame,
    statistics_of,
    statistics_table,
    to_nltk,
    words_table,
)

TEXT = ("the cat saw itself", "The dog saw the cat", "dogs sleep")


def _sentences() -> list[Sentence]:
    return [Sentence(tuple(t.split()), Source("t", n)) for n, t in enumerate(TEXT)]


def _vocabulary(subword_hash: str | None = None) -> Vocabulary:
    tokens = (*SPECIALS, "the", "cat", "saw")
    return Vocabulary(tokens, (0,) * len(tokens), (), "en", 2, subword_hash)


def test_a_small_text_is_counted() -> None:
    found = corpus_statistics(
        _sentences(), corpus="c", split="train", vocabulary=_vocabulary(), words=("the", "itself")
    )
    assert (found.sentences, found.tokens, found.types) == (3, 11, 8)
    assert (found.vocabulary, found.unknown) == (7, 5)
    assert found.unknown_rate == pytest.approx(5 / 11)
    assert found.lengths == {2: 1, 4: 1, 5: 1}
    assert found.words == {"the": 3, "itself": 1}
    assert found.mean_length == pytest.approx(11 / 3)
    assert [found.length_quantile(share) for share in (0.0, 0.5, 1.0)] == [2, 4, 5]


def test_pieces_of_words_are_never_unknown() -> None:
    found = corpus_statistics(
        _sentences(), corpus="c", split="train", vocabulary=_vocabulary("hash")
    )
    assert found.unknown is None and found.unknown_rate is None
    assert corpus_statistics([], corpus="c", split="s").mean_length == 0.0


def test_counts_agree_with_the_prepared_corpus(tmp_path: Path) -> None:
    reader = ToyTreebank(grammar="english", train=300, valid=50, test=50)
    preparation = DataSettings(name="corpus", reader=reader, language="en").preparation()
    prepared = preparation.prepare(tmp_path)
    found = corpus_statistics(
        preparation.sentences("train"),
        corpus="toy",
        split="train",
        vocabulary=prepared.vocabulary,
        words=REFLEXIVES,
    )
    split = prepared.split("train")
    assert (found.sentences, found.tokens) == (len(split), split.word_count)
    tokens = prepared.vocabulary.tokens
    unknown = sum(
        count
        for token, count in zip(tokens, prepared.vocabulary.counts, strict=True)
        if token == UNKNOWN or token.startswith("<unk-")
    )
    assert found.unknown == unknown


def test_reflexives_of_the_penn_treebank_sample(nltk_root: str) -> None:
    sentences = list(PennTreebankSample(root=nltk_root).read("test"))
    counts = Counter(word.lower() for sentence in sentences for word in sentence.words)
    vocabulary = build_vocabulary(
        {(word, False): count for word, count in counts.items()},
        labels=(),
        language="en",
        min_count=2,
    )
    found = corpus_statistics(
        sentences, corpus="ptb_sample", split="test", vocabulary=vocabulary, words=REFLEXIVES
    )
    assert found.words == {word: counts[word] for word in REFLEXIVES}
    assert sum(n * c for n, c in found.lengths.items()) == found.tokens
    median = np.median([len(sentence.words) for sentence in sentences])
    assert found.length_quantile(0.5) == pytest.approx(median, abs=0.5)


def test_tables() -> None:
    both = [
        corpus_statistics(
            _sentences(), corpus="a", split="train", vocabulary=_vocabulary(), words=("the",)
        ),
        corpus_statistics(_sentences()[:1], corpus="b", split="test"),
    ]
    frame = statistics_frame(both)
    assert frame["sentences"].tolist() == [3, 1]
    assert frame["count_the"].tolist()[0] == 3
    lengths = lengths_frame(both)
    assert lengths.groupby("corpus")["sentences"].sum().to_dict() == {"a": 3, "b": 1}
    console = Console(width=160, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(statistics_table(both))
        console.print(words_table(both))
    assert "45.5%" in captured.get() and "Counts of words" in captured.get()
    assert words_table(both[1:]) is None


def test_the_table_fits_80_columns() -> None:
    reader = ToyTreebank(grammar="english", train=200, valid=20, test=20)
    one = corpus_statistics(reader.read("train"), corpus="ptb_sample", split="train")
    large = replace(one, sentences=300_000, tokens=7_000_000, types=180_000, vocabulary=88_000)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(statistics_table([large]))
    assert "…" not in captured.get()


def test_a_corpus_needs_no_run(tmp_path: Path) -> None:
    reader = ToyTreebank(grammar="english", train=50, valid=20, test=20)
    data = DataSettings(name="toy", reader=reader, language="en")
    found = statistics_of(data, cache=tmp_path, words=("the",))
    assert [(one.corpus, one.split, one.sentences) for one in found] == [
        ("toy", "train", 50), ("toy", "valid", 20), ("toy", "test", 20),
    ]  # fmt: skip
    train = [sentence.words for sentence in reader.read("train")]
    assert found[0].longest == max(map(len, train)) and found[0].tokens == sum(map(len, train))
    vocabulary = data.preparation().prepare(tmp_path).vocabulary
    assert {one.vocabulary for one in found} == {len(vocabulary)}
    assert f"{found[0].tokens} tokens in 50 training sentences" in in_words(found[0])


# ----------------------------------------------------------------------------
# Tests of tree patterns: on single trees, on a toy corpus and on the Penn Treebank sample.


PATH = Path(__file__).parents[3] / "conf" / "patterns" / "english.yaml"
CONSTRUCTIONS = load_constructions(PATH)

PLAIN = {
    "than_clause": "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (JJR more) (NNS cats)) (SBAR (IN than) "
    "(S (NP (PRP you)) (VP (VBD heard)))))) (. .))",
    "it_cleft": "(S (NP (PRP It)) (VP (VBD was) (NP (DT the) (NN cat)) (SBAR (WHNP (WDT that)) "
    "(S (NP (PRP I)) (VP (VBD fed))))) (. .))",
    "wh_complement": "(S (NP (PRP I)) (VP (VBP know) (SBAR (WHNP (WP what)) (S (NP (PRP you)) "
    "(VP (VBD ate))))) (. .))",
    "fronted_object": "(S (NP (DT This) (NN cat)) (, ,) (NP (PRP I)) (VP (VBP like)) (. .))",
    "tough_infinitive": "(S (NP (DT The) (NN cat)) (VP (VBZ is) (ADJP (JJ easy) (S (VP (TO to) "
    "(VP (VB please)))))) (. .))",
    "transitive": "(S (NP (DT The) (NN cat)) (VP (VBD ate) (NP (DT the) (NN fish))) (. .))",
}
# The patterns of Ozaki et al. 2022, and the wider ones that match the same examples.
WIDER = {
    "comp_quant": "than_clause", "cleft": "it_cleft", "embwhq": "wh_complement",
    "topic": "fronted_object", "tough": "tough_infinitive",
}  # fmt: skip
ANNOTATED = {
    "comp_quant": "(S (NP-SBJ (PRP I)) (VP (VBD saw) (NP (NP (JJR more) (NNS cats)) (SBAR "
    "(IN than) (S (NP-SBJ (PRP you)) (VP (VBD heard) (NP (-NONE- *?*))))))))",
    "cleft": "(S-CLF (NP-SBJ (PRP It)) (VP (VBD was) (NP-PRD (DT the) (NN cat)) (SBAR (WHNP-1 "
    "(WDT that)) (S (NP-SBJ (-NONE- *T*-1)) (VP (VBD slept))))))",
    "embwhq": "(S (NP-SBJ (PRP I)) (VP (VBP know) (SBAR (WHNP-1 (WP what)) (S (NP-SBJ (PRP you)) "
    "(VP (VBD ate) (NP (-NONE- *T*-1)))))))",
    "topic": "(S (NP-TPC-1 (DT This) (NN cat)) (, ,) (NP-SBJ (PRP I)) (VP (VBP like) "
    "(NP (-NONE- *T*-1))))",
    "tough": "(S (NP-SBJ (DT The) (NN cat)) (VP (VBZ is) (ADJP-PRD (JJ easy) (SBAR (WHNP-1 "
    "(-NONE- 0)) (S (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB please) (NP (-NONE- *T*-1)))))))))",
}
ASKED = (
    "(S (NP (PRP I)) (VP (VBD asked) (NP (PRP him)) (SBAR (WHNP (WP what)) (S (NP (PRP he)) "
    "(VP (VBD ate))))))"
)
# Near misses, which only the annotation tells from the real thing.
DECOYS = {
    "comp_quant": "(S (NP-SBJ (PRP I)) (VP (VBD saw) (NP (NP (ADJP (RBR more) (JJ old)) "
    "(NNS cats)) (SBAR (IN than) (S (NP-SBJ (PRP you)) (VP (VBD heard) (NP (-NONE- *?*))))))))",
    "cleft": "(S (NP-SBJ (PRP It)) (VP (VBD was) (NP-PRD (DT the) (NN cat))) (-NONE- *))",
    "embwhq": "(S (NP-SBJ (PRP I)) (VP (VBP like) (SBAR-NOM (WHNP-1 (WP what)) (S (NP-SBJ "
    "(PRP you)) (VP (VBD ate) (NP (-NONE- *T*-1)))))))",
    "topic": "(S (NP-TMP (DT This) (NN week)) (, ,) (NP-SBJ (PRP I)) (VP (VBD slept)))",
    "tough": "(S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBZ is) (ADJP-PRD (JJ eager) (S (NP-SBJ "
    "(-NONE- *-1)) (VP (TO to) (VP (VB please)))))))",
    "transitive": "(S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBD was) (VP (VBN fed) "
    "(NP (-NONE- *-1)))))",
}


def _tree(text: str) -> Tree:
    return next(tree for _, tree in read_trees([text], path="test"))


def _counts(trees: list[Tree], annotation: Annotation = "auto") -> dict[str, int]:
    found = count_constructions(trees, CONSTRUCTIONS, corpus="c", annotation=annotation)
    return {one.construction: one.count for one in found}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_examples(name: str) -> None:
    tree = _tree(PLAIN[name])
    assert not is_annotated([tree])
    counts = _counts([tree])
    assert counts[name] == 1
    others = {other for other, count in counts.items() if count and other != name}
    assert others <= {"transitive"}


@pytest.mark.parametrize("name", ANNOTATED)
def test_annotated_examples(name: str) -> None:
    tree = _tree(ANNOTATED[name])
    counts = _counts([tree])
    assert counts[name] == 1
    matching = {other for other, count in counts.items() if count}
    assert {name, WIDER[name]} <= matching <= {name, WIDER[name], "transitive"}


@pytest.mark.parametrize("name", DECOYS)
def test_near_misses_do_not_count(name: str) -> None:
    assert _counts([_tree(DECOYS[name])], "annotated")[name] == 0


def test_questions_may_follow_an_object() -> None:
    tree = _tree(ASKED)
    name = "wh_complement"
    assert _counts([tree], "plain")[name] == _counts([tree], "annotated")[name] == 1
    assert _counts([tree], "annotated")["embwhq"] == 1


def test_what_cannot_be_seen_in_plain_trees_is_not_counted() -> None:
    counts = _counts([_tree(PLAIN["it_cleft"])])
    assert not set(WIDER) & set(counts) and set(WIDER.values()) <= set(counts)


def _nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree.children:
        if isinstance(child, Tree):
            yield from _nodes(child)


FOUND_IN_TOYS = ("it_cleft", "wh_complement", "fronted_object", "tough_infinitive")


def _slow_counts(tree: Tree) -> dict[str, int]:
    """What the toy grammar makes of its constructions, looked for by hand."""
    found = dict.fromkeys(FOUND_IN_TOYS, 0)
    for node in _nodes(tree):
        labels = [child.label for child in node.children if isinstance(child, Tree)]
        found["fronted_object"] += labels[:3] == ["NP", "COMMA", "S"]
        found["tough_infinitive"] += node.label == "ADJP" and labels == ["JJ", "VP"]
        if node.label == "VP" and "SBAR" in labels:
            place = labels.index("SBAR")
            clause = node.children[place]
            assert isinstance(clause, Tree)
            first = clause.children[0]
            is_wh = isinstance(first, Tree) and first.label == "WHNP"
            found["it_cleft"] += is_wh and labels[place - 1] == "NP"
            found["wh_complement"] += is_wh and labels[place - 1] != "NP"
    return found


def test_toy_english_counts_are_those_of_a_slow_search() -> None:
    trees = [s.tree for s in ToyTreebank(grammar="english", train=400).read("train") if s.tree]
    counts = _counts(trees)
    expected = [_slow_counts(tree) for tree in trees]
    for name in FOUND_IN_TOYS:
        assert counts[name] == sum(one[name] for one in expected) > 0
    assert counts["than_clause"] == 0  # the grammar has none


@pytest.mark.slow
def test_penn_treebank_sample(nltk_root: str) -> None:
    sentences = PennTreebankSample(root=nltk_root).read("train")
    trees = [s.tree for s in itertools.islice(sentences, 700) if s.tree is not None]
    assert is_annotated(trees)
    counts = _counts(trees)
    clefts = [label for tree in trees for label in tree.labels() if "-CLF" in label]
    assert counts["it_cleft"] == len(clefts) and counts["cleft"] == clefts.count("S-CLF")
    assert counts["than_clause"] > 0 and counts["embwhq"] > 0
    assert 0.5 < counts["transitive"] / len(trees) < 2.0
    cleaned = [transforms.drop_traces(transforms.strip_function_tags(tree)) for tree in trees]
    plain = _counts([tree for tree in cleaned if tree is not None])
    assert plain["than_clause"] == counts["than_clause"]
    assert plain["transitive"] == pytest.approx(counts["transitive"], rel=0.15)


@pytest.mark.slow
def test_the_patterns_of_the_paper_on_the_whole_sample(nltk_root: str) -> None:
    """The published patterns, in tgrep, find these nodes; no trained model is needed."""
    reader = PennTreebankSample(root=nltk_root)
    data = DataSettings(name="ptb_sample", language="en", reader=reader)
    paper = [one for one in CONSTRUCTIONS if one.name in WIDER]
    found = construction_counts(data, paper)
    assert {one.construction: one.count for one in found} == {
        "cleft": 6, "comp_quant": 4, "embwhq": 9, "topic": 1, "tough": 6,
    }  # fmt: skip
    assert {one.total_sentences for one in found} == {3914}


def test_a_tree_in_two_splits_counts_once() -> None:
    reader = ToyTreebank(grammar="english", train=30, valid=20, test=20)
    data = DataSettings(name="toy", language="en", reader=reader)
    assert {one.total_sentences for one in construction_counts(data)} == {70}
    twice = construction_counts(data, splits=("train", "train"))
    assert {one.total_sentences for one in twice} == {30}
    assert twice == construction_counts(data, splits=("train",))


def test_text_has_no_constructions() -> None:
    data = DataSettings(name="mine", language="en", reader=TextFiles(root="."))
    with pytest.raises(StatisticsError, match="mine has no trees"):
        construction_counts(data)


def test_trees_without_tags_are_refused() -> None:
    with pytest.raises(StatisticsError, match="before cleaning"):
        _counts([_tree("(S (NP the cat) (VP meows))")])


def test_conversion_keeps_the_tree() -> None:
    tree = _tree(PLAIN["it_cleft"])
    converted = to_nltk(tree)
    assert tuple(converted.leaves()) == tree.words()
    assert [node.label() for node in converted.subtrees()] == list(tree.labels())


def test_table_of_counts() -> None:
    trees = [_tree(PLAIN["transitive"])] * 2 + [_tree(PLAIN["fronted_object"])] * 2
    table = counts_table(count_constructions(trees, CONSTRUCTIONS, corpus="c"))
    row = table.set_index("construction").loc["transitive"]
    assert (row["count"], row["sentences"], row["per_thousand"]) == (2, 2, 500.0)
    assert row["annotation"] == "plain"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("constructions: {a: {annotated: '/^NP', plain: NP}}", "is invalid"),
        ("constructions: {a: {description: x}}", "a has neither"),
        (
            "constructions: {a: {annotated: NP, plain: NP, patern: x}}",
            "a has unknown settings: patern",
        ),
        ("a: 1", "constructions"),
        ("[", "is not a valid pattern file"),
    ],
)
def test_mistakes_in_files_are_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        load_constructions(path)


def test_patterns_are_compiled_once_and_used_often() -> None:
    test = compile_pattern("/^NP$/ < /^PRP$/")
    matches = [test(node) for node in to_nltk(_tree(PLAIN["it_cleft"])).subtrees()]
    assert sum(map(bool, matches)) == 2
