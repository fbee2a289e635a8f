"""Tests of tree patterns: on single trees, on a toy corpus and on the Penn Treebank sample."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from gardenpath.data.readers.nltk_corpora import PennTreebankSample
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.data.trees import transforms
from gardenpath.data.trees.brackets import read_trees
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import InputError
from gardenpath.eval.statistics.corpora.patterns import (
    Annotation,
    compile_pattern,
    count_constructions,
    counts_table,
    is_annotated,
    load_constructions,
    to_nltk,
)
from gardenpath.eval.statistics.statistics_error import StatisticsError

PATH = Path(__file__).parents[4] / "conf" / "patterns" / "english.yaml"
CONSTRUCTIONS = load_constructions(PATH)

PLAIN = {
    "comp_quant": "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (JJR more) (NNS cats)) (SBAR (IN than) "
    "(S (NP (PRP you)) (VP (VBD heard)))))) (. .))",
    "cleft": "(S (NP (PRP It)) (VP (VBD was) (NP (DT the) (NN cat)) (SBAR (WHNP (WDT that)) "
    "(S (NP (PRP I)) (VP (VBD fed))))) (. .))",
    "embwhq": "(S (NP (PRP I)) (VP (VBP know) (SBAR (WHNP (WP what)) (S (NP (PRP you)) "
    "(VP (VBD ate))))) (. .))",
    "topic": "(S (NP (DT This) (NN cat)) (, ,) (NP (PRP I)) (VP (VBP like)) (. .))",
    "tough": "(S (NP (DT The) (NN cat)) (VP (VBZ is) (ADJP (JJ easy) (S (VP (TO to) "
    "(VP (VB please)))))) (. .))",
    "transitive": "(S (NP (DT The) (NN cat)) (VP (VBD ate) (NP (DT the) (NN fish))) (. .))",
}
ANNOTATED = {
    "cleft": "(S-CLF (NP-SBJ (PRP It)) (VP (VBD was) (NP-PRD (DT the) (NN cat)) (SBAR (WHNP-1 "
    "(WP who)) (S (NP-SBJ (-NONE- *T*-1)) (VP (VBD slept))))))",
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
    assert {other for other, count in counts.items() if count} <= {name, "transitive"}


@pytest.mark.parametrize("name", DECOYS)
def test_near_misses_do_not_count(name: str) -> None:
    assert _counts([_tree(DECOYS[name])], "annotated")[name] == 0


def test_questions_may_follow_an_object() -> None:
    tree = _tree(ASKED)
    assert _counts([tree], "plain")["embwhq"] == _counts([tree], "annotated")["embwhq"] == 1


def _nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree.children:
        if isinstance(child, Tree):
            yield from _nodes(child)


def _slow_counts(tree: Tree) -> dict[str, int]:
    """What the toy grammar makes of its constructions, looked for by hand."""
    found = dict.fromkeys(("cleft", "embwhq", "topic", "tough"), 0)
    for node in _nodes(tree):
        labels = [child.label for child in node.children if isinstance(child, Tree)]
        found["topic"] += labels[:3] == ["NP", "COMMA", "S"]
        found["tough"] += node.label == "ADJP" and labels == ["JJ", "VP"]
        if node.label == "VP" and "SBAR" in labels:
            place = labels.index("SBAR")
            clause = node.children[place]
            assert isinstance(clause, Tree)
            first = clause.children[0]
            is_wh = isinstance(first, Tree) and first.label == "WHNP"
            found["cleft"] += is_wh and labels[place - 1] == "NP"
            found["embwhq"] += is_wh and labels[place - 1] != "NP"
    return found


def test_toy_english_counts_are_those_of_a_slow_search() -> None:
    trees = [s.tree for s in ToyTreebank(grammar="english", train=400).read("train") if s.tree]
    counts = _counts(trees)
    expected = [_slow_counts(tree) for tree in trees]
    for name in ("cleft", "embwhq", "topic", "tough"):
        assert counts[name] == sum(one[name] for one in expected) > 0
    assert counts["comp_quant"] == 0  # the grammar has none


def test_penn_treebank_sample(nltk_root: str) -> None:
    sentences = PennTreebankSample(root=nltk_root).read("train")
    trees = [s.tree for s in itertools.islice(sentences, 700) if s.tree is not None]
    assert is_annotated(trees)
    counts = _counts(trees)
    clefts = sum("-CLF" in label for tree in trees for label in tree.labels())
    assert counts["cleft"] == clefts
    assert counts["comp_quant"] > 0 and counts["embwhq"] > 0
    assert 0.5 < counts["transitive"] / len(trees) < 2.0
    cleaned = [transforms.drop_traces(transforms.strip_function_tags(tree)) for tree in trees]
    plain = _counts([tree for tree in cleaned if tree is not None])
    assert plain["comp_quant"] == counts["comp_quant"]
    assert plain["transitive"] == pytest.approx(counts["transitive"], rel=0.15)


def test_trees_without_tags_are_refused() -> None:
    with pytest.raises(StatisticsError, match="before cleaning"):
        _counts([_tree("(S (NP the cat) (VP meows))")])


def test_conversion_keeps_the_tree() -> None:
    tree = _tree(PLAIN["cleft"])
    converted = to_nltk(tree)
    assert tuple(converted.leaves()) == tree.words()
    assert [node.label() for node in converted.subtrees()] == list(tree.labels())


def test_table_of_counts() -> None:
    trees = [_tree(PLAIN["transitive"])] * 2 + [_tree(PLAIN["topic"])] * 2
    table = counts_table(count_constructions(trees, CONSTRUCTIONS, corpus="c"))
    row = table.set_index("construction").loc["transitive"]
    assert (row["count"], row["sentences"], row["per_thousand"]) == (2, 2, 500.0)
    assert row["annotation"] == "plain"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("constructions: {a: {annotated: '/^NP', plain: NP}}", "is invalid"),
        ("constructions: {a: {annotated: NP}}", "plain"),
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
    matches = [test(node) for node in to_nltk(_tree(PLAIN["cleft"])).subtrees()]
    assert sum(map(bool, matches)) == 2
