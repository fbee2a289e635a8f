"""Cleaning: the transforms in their order, as settings switch them on and off."""

from __future__ import annotations

import pytest
from hypothesis import given

from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees import cleaning as transforms
from gardenpath.data.trees.cleaning import Cleaning, Transform
from gardenpath.data.trees.tree import Tree, parse_tree
from tests.data.strategies import EXAMPLE, bare_trees, deep_tree, tagged_trees, trees

SOURCE = Source("cats.mrg", 7)
ANNOTATED = "(S (NP-SBJ (NP (NNP Cats))) (VP (VBP meow) (NP (-NONE- *))))"


def sentence(text: str) -> Sentence:
    tree = parse_tree(text)
    return Sentence(tree.words(), SOURCE, tree)


def clean(cleaning: Cleaning, *texts: str) -> list[str]:
    return [str(cleaned.tree) for cleaned in cleaning.apply(map(sentence, texts))]


@pytest.mark.parametrize(
    ("cleaning", "expected"),
    [
        (Cleaning(), "(S (NP Cats) (VP meow))"),
        (Cleaning(keep_pos=True), "(S (NP (NNP Cats)) (VP (VBP meow)))"),
        (Cleaning(lowercase=True), "(S (NP cats) (VP meow))"),
        (Cleaning(collapse_unary=False), "(S (NP (NP Cats)) (VP meow))"),
        (Cleaning(strip_function_tags=False), "(S (NP-SBJ (NP Cats)) (VP meow))"),
        (Cleaning(drop_traces=False), "(S (NP Cats) (VP meow (NP *)))"),
        (
            Cleaning(pos_in_source="absent"),
            "(S (NP (NNP Cats)) (VP (VBP meow)))",
        ),
    ],
)
def test_settings(cleaning: Cleaning, expected: str) -> None:
    assert clean(cleaning, ANNOTATED) == [expected]


def test_words_follow_the_tree_and_the_source_stays() -> None:
    (cleaned,) = Cleaning(lowercase=True).apply([sentence(ANNOTATED)])
    assert cleaned.words == ("cats", "meow")
    assert cleaned.source == SOURCE


def test_sentences_of_traces_are_left_out() -> None:
    assert clean(Cleaning(), "(S (NP (-NONE- *)))", "(S (NN cat) (NN dog))") == ["(S cat dog)"]


def test_trees_without_pos_keep_their_constituents() -> None:
    texts = ("(S (NP the cat) (VP meows))", "(S (NP (NP cats)) (VP meow))")
    assert clean(Cleaning(), *texts) == [texts[0], "(S (NP cats) (VP meow))"]


def test_pos_by_order() -> None:
    """Told to, cleaning takes brackets around single words for tags, whatever it sees."""
    text = "(S (NP the cat) (VBZ meows))"
    assert clean(Cleaning(pos_in_source="present"), text) == ["(S (NP the cat) meows)"]


def test_length_is_counted_without_traces() -> None:
    long = "(S (DT the) (NN cat) (VBZ meows))"
    at_limit = "(S (NN cat) (-NONE- *) (VBZ meows))"
    assert clean(Cleaning(max_tokens=2), long, at_limit) == ["(S cat meows)"]
    assert len(clean(Cleaning(max_tokens=3), long, at_limit)) == 2
    assert len(clean(Cleaning(max_tokens=None), long, at_limit)) == 2


def test_text_without_trees() -> None:
    plain = Sentence(("The", "cat"), SOURCE)
    longer = Sentence(("The", "cat", "meows"), SOURCE)
    assert list(Cleaning(max_tokens=2).apply([plain, longer])) == [plain]
    assert list(Cleaning(lowercase=True).apply([plain])) == [Sentence(("the", "cat"), SOURCE)]


def test_many_sentences_keep_their_order() -> None:
    texts = [f"(S (NN cat{number}) (VBZ meows))" for number in range(450)]
    assert clean(Cleaning(), *texts) == [f"(S cat{number} meows)" for number in range(450)]


# ----------------------------------------------------------------------------
# Transforms: on the running example, at the edges, and their laws on random trees.


ALL: list[Transform] = [
    transforms.strip_function_tags,
    transforms.lowercase,
    transforms.drop_traces,
    transforms.drop_pos,
    transforms.collapse_unary,
]
# All but drop_pos, to which (VP meows) looks like a tagged word the second time.
IDEMPOTENT = [transform for transform in ALL if transform is not transforms.drop_pos]


def apply(transform: Transform, text: str) -> str:
    return str(transform(parse_tree(text)))


@pytest.mark.parametrize("transform", IDEMPOTENT)
def test_example_needs_no_cleaning(transform: Transform) -> None:
    assert transform(EXAMPLE) == EXAMPLE


def test_example_without_pos() -> None:
    assert str(transforms.drop_pos(EXAMPLE)) == "(S (NP the hungry cat) (VP meows))"


@pytest.mark.parametrize("transform", ALL)
@given(tree=trees())
def test_input_is_left_alone(transform: Transform, tree: Tree) -> None:
    before = str(tree)
    transform(tree)
    assert str(tree) == before


@pytest.mark.parametrize("transform", IDEMPOTENT)
@given(tree=trees())
def test_twice_is_once(transform: Transform, tree: Tree) -> None:
    once = transform(tree)
    assert once is None or transform(once) == once


@pytest.mark.parametrize(
    ("label", "stripped"),
    [
        ("NP", "NP"),
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("NP-SBJ=2", "NP"),
        ("WHNP-14", "WHNP"),
        ("PRP$", "PRP$"),
        ("-NONE-", "-NONE-"),
        ("-LRB-", "-LRB-"),
        ("-RRB-", "-RRB-"),
        ("NP-PN-SBJ", "NP"),
        (".", "."),
        ("``", "``"),
    ],
)
def test_strip_label(label: str, stripped: str) -> None:
    assert transforms.strip_label(label) == stripped


def test_strip_function_tags() -> None:
    text = "(S-ADV (NP-SBJ-1 (-NONE- *-1)) (VP=2 (-LRB- x-y) (VBZ meows-1)))"
    assert apply(transforms.strip_function_tags, text) == (
        "(S (NP (-NONE- *-1)) (VP (-LRB- x-y) (VBZ meows-1)))"
    )


def test_lowercase_changes_words_only() -> None:
    assert apply(transforms.lowercase, "(S (NNP Élan) (CD 4X) (NN 猫))") == (
        "(S (NNP élan) (CD 4x) (NN 猫))"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (NP (-NONE- *)) (VP (VBZ meows)))", "(S (VP (VBZ meows)))"),
        ("(S (NP (NN cat) (SBAR (S (NP (-NONE- *T*)) (VP (-NONE- *?*))))))", "(S (NP (NN cat)))"),
        ("(S (-NONE- *) (NN cat) (-NONE- *))", "(S (NN cat))"),
        ("(S (NN -NONE-))", "(S (NN -NONE-))"),
        ("(S (NP (-NONE- *)))", "None"),
        ("(-NONE- *)", "None"),
    ],
)
def test_drop_traces(text: str, expected: str) -> None:
    assert apply(transforms.drop_traces, text) == expected


@given(tagged_trees())
def test_traces_and_nothing_else_go(tree: Tree) -> None:
    cleaned = transforms.drop_traces(tree)
    kept = [word for label, word in tagged_words(tree) if label != "-NONE-"]
    assert list(cleaned.words() if cleaned else ()) == kept
    assert cleaned is None or "-NONE-" not in cleaned.labels()


def tagged_words(tree: Tree) -> list[tuple[str, str]]:
    """Each word with the label right above it."""
    pairs: list[tuple[str, str]] = []
    for child in tree.children:
        pairs.extend([(tree.label, child)] if isinstance(child, str) else tagged_words(child))
    return pairs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(NP (NN cat))", "(NP cat)"),
        ("(S (NP (NN cat)) (VP (VBZ meows)))", "(S (NP cat) (VP meows))"),
        ("(NN cat)", "(NN cat)"),
        ("(S (NP (NP (NN cat))))", "(S (NP (NP cat)))"),
        ("(FRAG (NN cat) (. .))", "(FRAG cat .)"),
    ],
)
def test_drop_pos(text: str, expected: str) -> None:
    assert apply(transforms.drop_pos, text) == expected


@given(tagged_trees())
def test_drop_pos_drops_one_label_per_word(tree: Tree) -> None:
    bare = transforms.drop_pos(tree)
    assert bare.words() == tree.words()
    if not tree.is_preterminal:
        assert len(list(bare.labels())) == len(list(tree.labels())) - len(tree.words())
    assert all(type(word) is str for word in bare.words())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(NP (NP (NN cats)))", "(NP (NN cats))"),
        ("(NP (NP (NP (NP cats))))", "(NP cats)"),
        ("(NP (VP (NP cats)))", "(NP (VP (NP cats)))"),
        ("(NP (NP cats) dogs)", "(NP (NP cats) dogs)"),
        ("(S (S (NP (NP a)) (VP b)))", "(S (NP a) (VP b))"),
    ],
)
def test_collapse_unary(text: str, expected: str) -> None:
    assert apply(transforms.collapse_unary, text) == expected


@given(trees())
def test_collapse_unary_leaves_no_chain(tree: Tree) -> None:
    collapsed = transforms.collapse_unary(tree)
    assert collapsed.words() == tree.words()

    def has_chain(node: Tree) -> bool:
        inner = [child for child in node.children if isinstance(child, Tree)]
        is_chain = len(node.children) == 1 and [child.label for child in inner] == [node.label]
        return is_chain or any(map(has_chain, inner))

    assert not has_chain(collapsed)


@given(tagged_trees())
def test_tagged_trees_have_pos(tree: Tree) -> None:
    assert transforms.has_pos_tags([tree, EXAMPLE])


@given(bare_trees())
def test_bare_trees_have_no_pos(tree: Tree) -> None:
    bare = Tree("S", (tree, "the", "cat"))
    assert not transforms.has_pos_tags([EXAMPLE, bare])


def test_compose_goes_from_first_to_last() -> None:
    both = transforms.compose([transforms.drop_traces, transforms.drop_pos])
    assert apply(both, "(S (NP (-NONE- *)) (VP (VBZ meows)))") == "(S (VP meows))"
    assert transforms.compose([])(EXAMPLE) == EXAMPLE


def test_compose_ends_when_nothing_is_left() -> None:
    def fail(_tree: Tree) -> Tree:
        raise AssertionError("called without a tree")

    assert transforms.compose([transforms.drop_traces, fail])(Tree("-NONE-", ("*",))) is None


@pytest.mark.parametrize("transform", ALL)
def test_depth_is_no_problem(transform: Transform) -> None:
    depth = 4999 if transform is transforms.drop_pos else 5000
    cleaned = transform(deep_tree(5000))
    assert cleaned is not None
    assert len(list(cleaned.labels())) == depth
    assert transforms.has_pos_tags([deep_tree(5000)])
