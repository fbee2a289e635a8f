"""Cleaning: the transforms in their order, as settings switch them on and off."""

from __future__ import annotations

import pytest

from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import parse_tree

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
