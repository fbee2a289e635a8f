"""The toy grammars: English and Mandarin sentences, each with one tree and known frequencies.

Each pair of sentences below differs in one dependency. Under the exact model the good sentence has
a finite surprisal throughout; the bad one becomes infinitely surprising, at the marked word where
the difference is local, and anywhere (at the latest at its end) where it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.pcfg.grammar import Grammar, Sampler, read_grammar
from gardenpath.data.trees.tree import Tree
from tests.data.pcfg_tools import (
    SHIPPED,
    assert_one_tree_each,
    expected_length,
    expected_word_counts,
    shape,
    subtrees,
)

REFLEXIVES = {"himself", "herself", "themselves"}

# A star stands before the critical word: what is good there, and what is not.
CRITICAL_WORDS = [
    # agreement in number: plain, after a prepositional phrase, after relative clauses, embedded
    ("the kings * are happy .", "is"),
    ("the king * was tired .", "were"),
    ("the senators near the judge * are famous .", "is"),
    ("the letter beside the paintings * has disappeared .", "have"),
    ("the guide that admired the sailors * sleeps .", "sleep"),
    ("the nurses that the lawyer hated * were tired .", "was"),
    ("the books that the teacher found * are new .", "is"),
    ("the author that * loves the aunt slept .", "love"),
    ("the queen said that the waiters * laugh .", "laughs"),
    ("the brothers believed that the doctor * smiles .", "smile"),
    # reflexives: the local subject licenses, a distractor does not
    ("the women hurt * themselves .", "herself"),
    ("the duke embarrassed * himself .", "herself"),
    ("the actress near the kings blamed * herself .", "themselves"),
    ("the women near the king hurt * themselves .", "himself"),
    ("the women that hated the king hurt * themselves .", "himself"),
    ("the prince that the aunts admired injured * himself .", "themselves"),
    ("the king said that the women hurt * themselves .", "himself"),
    ("the daughters thought that the uncle praised * himself .", "themselves"),
    ("the senator that the farmers helped hurt * himself .", "themselves"),
    # centre embedding: each verb belongs to its own noun
    ("the painting that the artist * painted faded .", "faded"),
    ("the ship that the sailor that the storm * frightened steered sank .", "steered"),
    ("the ship that the sailor that the storm frightened * steered sank .", "sank"),
    ("the cake that the waiter that the fire worried * baked burned .", "burned"),
    ("the letter that the nurse that the flood annoyed wrote * arrived .", "."),
    # a filler needs a gap, a gap needs a filler
    ("i know what the guide found * near the lake .", "the"),
    ("i know that the guide found * the coin near the lake .", "near"),
    ("i know what the man said that the guide found * .", "the"),
    ("you wonder who the nurse helped * in the garden .", "him"),
    ("it was the coin that the guide found * .", "the"),
    ("the portrait , the tourist noticed * .", "her"),
    ("the book is easy to * read .", "eat"),
    # verbs with and without an object
    ("the boy slept * .", "the"),
    ("the girl admired * the dancer .", "."),
    ("the mother gave the son * the apple .", "."),
    # an initial subordinate clause needs a main clause
    ("after the judge left * , the lawyers laughed .", "."),
    ("because the soldiers helped the farmer * , the farmer smiled .", "."),
]

GOOD = [
    "i know who found the coin .",
    "i know what the dukes gave to the librarian .",
    "i know that the man left after the guide found the coin near the lake .",
    "i know that the man heard the report that the guide found the coin .",
    "the report that the guide found the coin surprised the king .",
    "the report that the guide heard surprised the king .",
    "while the man hunted the deer ran .",
    "while the man hunted , the deer ran .",
    "while the man hunted the deer , the guide slept .",
    "while the grandmother slept the deer ran .",
    "the horse raced past the barn fell .",
    "the horse that was raced past the barn fell .",
    "the horse raced past the barn .",
    "the queen sent the letter left .",
    "the queen who was given the letter left .",
    "the queen sent the letter to the duke .",
    "it was the king that hurt himself .",
    "the queens are easy to please .",
]

BAD = [
    # islands: no gap in an adjunct, a complex noun phrase, a relative clause, a question
    "i know what the man left after the guide found near the lake .",
    "i know what the man saw the aunt after the guide found .",
    "i know what the man heard the report that the guide found .",
    "i know what the report that the guide found surprised the king .",
    "i know what the man saw the aunt that found .",
    "i know what the man knew who found .",
    "i know that the man left after the guide found near the lake .",
    # no main verb, a verb too many, a verb too few
    "the horse that was raced past the barn .",
    "the queen given the letter .",
    "while the man hunted the deer .",
    "the boys slept laughed .",
    "the ship that the sailor that the storm frightened sank .",
]

Test = Callable[[Tree], bool]


@cache
def grammar() -> Grammar:
    return read_grammar(SHIPPED / "english.pcfg")


@cache
def model() -> ExactModel:
    return ExactModel(grammar())


@cache
def sample() -> tuple[Tree, ...]:
    sampler = Sampler(grammar(), seed=11)
    return tuple(sampler.draw() for _ in range(2000))


def test_size() -> None:
    assert 250 <= len(grammar().words) <= 400
    assert all(word == word.lower() for word in grammar().words)
    assert len(grammar().categories) < 400
    assert 9.0 <= expected_length(grammar()) <= 12.0


def test_lengths_have_a_short_tail() -> None:
    lengths = [len(tree.words()) for tree in sample()]
    assert np.quantile(lengths, 0.99) < 35
    assert max(lengths) > 25


def test_every_sentence_has_one_tree() -> None:
    assert_one_tree_each(grammar(), model(), seed=12, count=300)


def test_sentences_end_in_a_period_and_hide_writing_aids() -> None:
    for tree in sample():
        assert tree.label == "S"
        assert tree.words()[-1] == "."
        assert not any(label.startswith("_") or not label for label in tree.labels())


@pytest.mark.parametrize(("marked", "bad_word"), CRITICAL_WORDS)
def test_critical_word(marked: str, bad_word: str) -> None:
    before, after = (part.split() for part in marked.split("*"))
    good, bad = [*before, *after], [*before, bad_word, *after[1:]]
    assert set(good) | set(bad) <= set(grammar().words)
    of_good, of_bad = model().surprisal_bits([good, bad])
    assert np.isfinite(of_good).all()
    assert np.isfinite(of_bad[: len(before)]).all()
    assert of_bad[len(before)] == math.inf


@pytest.mark.parametrize("sentence", GOOD)
def test_good_sentence(sentence: str) -> None:
    assert math.isfinite(model().log_probs([sentence.split()])[0])


@pytest.mark.parametrize("sentence", BAD)
def test_bad_sentence(sentence: str) -> None:
    assert set(sentence.split()) <= set(grammar().words)
    assert model().log_probs([sentence.split()])[0] == -math.inf


def surprisal_of_last(prefix: str) -> float:
    words = prefix.split()
    return float(model().surprisal_bits([words])[0][len(words) - 1])


@pytest.mark.parametrize(
    ("ambiguous", "clear"),
    [
        ("while the man hunted the deer ran", "while the man hunted , the deer ran"),
        ("while the man hunted the deer ran", "while the man slept the deer ran"),
        ("the horse raced past the barn fell", "the horse that was raced past the barn fell"),
        ("the queen sent the letter left", "the queen given the letter left"),
        ("the queen sent the letter left", "the queen who was sent the letter left"),
    ],
)
def test_garden_paths_cost_something(ambiguous: str, clear: str) -> None:
    assert surprisal_of_last(ambiguous) > surprisal_of_last(clear) + 0.5


def test_professions_have_a_preferred_pronoun() -> None:
    assert surprisal_of_last("the doctor hurt herself") > surprisal_of_last(
        "the doctor hurt himself"
    )
    assert surprisal_of_last("the nurse hurt himself") > surprisal_of_last("the nurse hurt herself")


def child(node: Tree, number: int) -> Tree:
    result = node.children[number]
    assert isinstance(result, Tree)
    return result


def is_relative(node: Tree) -> bool:
    return node.label == "NP" and shape(node) == ("NP", "SBAR") and is_wh(child(node, 1))


def is_wh(sbar: Tree) -> bool:
    return shape(sbar) == ("WHNP", "S")


def is_object_relative(node: Tree) -> bool:
    return is_relative(node) and shape(child(child(node, 1), 1)) == ("NP", "VP")


def is_centre_embedded(node: Tree) -> bool:
    """An object relative whose subject has an object relative."""
    return is_object_relative(node) and is_object_relative(child(child(child(node, 1), 1), 0))


def is_complement(node: Tree) -> bool:
    return node.label == "VP" and shape(node)[-1:] == ("SBAR",) and first(child(node, -1)) == "that"


def first(node: Tree) -> str:
    return node.words()[0]


def is_question(node: Tree) -> bool:
    return node.label == "VP" and shape(node)[1:] == ("SBAR",) and is_wh(child(node, 1))


def is_complex_np(node: Tree) -> bool:
    return node.label == "NP" and shape(node) == ("NP", "SBAR") and not is_relative(node)


def is_reduced_relative(node: Tree) -> bool:
    return node.label == "NP" and shape(node) == ("NP", "VP")


def is_tough(node: Tree) -> bool:
    return node.label == "ADJP" and shape(node) == ("JJ", "VP")


def somewhere(test: Test) -> Test:
    return lambda tree: any(test(node) for node in subtrees(tree))


def is_initial_subordination(tree: Tree) -> bool:
    return shape(tree)[0] == "SBAR"


FREQUENCIES: list[tuple[str, Test, float]] = [
    ("reflexive", lambda tree: bool(REFLEXIVES & set(tree.words())), 0.12),
    ("relative clause", somewhere(is_relative), 0.25),
    ("centre embedding", somewhere(is_centre_embedded), 0.015),
    ("that-clause", somewhere(is_complement), 0.12),
    ("embedded question", somewhere(is_question), 0.08),
    ("complex noun phrase", somewhere(is_complex_np), 0.015),
    ("initial subordination", is_initial_subordination, 0.10),
    ("no comma", lambda tree: shape(tree)[:2] == ("SBAR", "NP"), 0.015),
    ("reduced relative", somewhere(is_reduced_relative), 0.015),
    ("cleft", lambda tree: first(tree) == "it", 0.015),
    ("topicalisation", lambda tree: shape(tree)[:2] == ("NP", "COMMA"), 0.015),
    ("tough", somewhere(is_tough), 0.015),
]


@pytest.mark.parametrize(("name", "test", "least"), FREQUENCIES, ids=[f[0] for f in FREQUENCIES])
def test_phenomenon_is_frequent(name: str, test: Test, least: float) -> None:
    assert sum(map(test, sample())) / len(sample()) >= least, name


def test_words_are_not_rare() -> None:
    """Each word is expected at least 15 times in 8,000 sentences."""
    assert min(expected_word_counts(grammar()).values()) * 8000 >= 15


# ----------------------------------------------------------------------------
# The toy Mandarin grammar: unambiguous, and its dependencies are real.
#
# A minimal pair is written as one sentence with a slash between the two words that differ:
# ``那 间/辆 工厂 倒闭 了 。`` is well-formed with the first and impossible with the second.


# The second classifier or verb is possible as such; only the last noun tells that it is wrong.
CLASSIFIER_NOUN = [
    "我 看见 了 那 间/辆 工厂 。",
    "她 看到 了 一 本/件 小说 。",
    "他 提到 了 一 台/件 旧 的 电脑 。",
    "老师 喜欢 那 所/部 有名 的 大学 。",
    "我 找到 了 那 辆/本 朋友 买 的 汽车 。",
    "我 喜欢 这 棵/只 邻居 提到 的 松树 。",
    "我们 提到 过 那 只/件 属于 校长 的 猫 。",
    "她 推荐 了 那 部/首 感动 学生 的 电影 。",
    "李华 介绍 了 一 座/家 属于 商人 的 大楼 。",
    "我 推荐 过 这 杯/碗 可口 的 咖啡 。",
]
VERB_NOUN = [
    "司机 驾驶/穿 过 卡车 。",
    "工人 安装/修建 了 冰箱 。",
    "护士 穿/驾驶 了 漂亮 的 大衣 。",
    "作家 翻译/穿 了 厚 的 书 。",
    "他 养/种 过 邻居 喜欢 的 猫 。",
    "张伟 吃/喝 了 朋友 买 的 饺子 。",
    "农民 种/养 了 吸引 画家 的 桃树 。",
    "她 喝/洗 了 属于 经理 的 牛奶 。",
]
# In each the object before the full stop goes missing.
MISSING_OBJECT = [
    "记者 采访 了 演员 。",
    "批评 医生 的 记者 邀请 了 校长 。",
    "表扬 过 学生 并且 写 了 小说 的 老师 看见 了 警察 。",
    "认识 批评 医生 的 记者 的 校长 采访 了 演员 。",
    "认识 那 个 批评 医生 的 记者 的 校长 采访 了 演员 。",
]
# In each the head noun goes missing with its 的: what is left of the object is a verb phrase.
HEADLESS_OBJECT = [
    "记者 采访 了 开 工厂 的 商人 。",
    "记者 采访 了 开 过 工厂 并且 帮助 过 学生 的 商人 。",
    "记者 采访 了 批评 认识 校长 的 医生 的 商人 。",
    "记者 采访 了 修理 过 属于 老师 的 电脑 的 商人 。",
    "记者 采访 了 修理 朋友 买 的 电脑 的 商人 。",
    "记者 采访 了 迟到 的 学生 。",
]
SUBORDINATION = [
    "如果 老师 批评 学生 ， 校长 就 会 帮助 他 。",
    "要是 那 位 聪明 的 律师 辞职 ， 我们 会 调查 那 家 公司 。",
    "虽然 那 间 邻居 开 的 商店 很 小 ， 但是 我 喜欢 那 位 老板 。",
    "因为 认识 校长 的 医生 来 了 ， 所以 护士 笑 了 。",
    "由于 我 的 汽车 坏 了 ， 她 没有 来 。",
]
# The specific classifier announces the relative clause, whose verb then surprises less.
GARDEN_PATH_OBJECT = [
    "我 看见 了 那 间/个 邻居 开 的 商店 。",
    "他 看见 了 那 辆/个 司机 驾驶 的 卡车 。",
    "我 喜欢 那 本/个 老师 写 的 小说 。",
    "警察 拦住 了 那 辆/个 老板 租 的 卡车 。",
    "他们 正在 寻找 那 只/个 邻居 养 的 猫 。",
    "记者 围住 了 那 座/个 年轻 的 画家 设计 的 大楼 。",
    "我 看见 了 那 间/个 聪明 的 邻居 开 的 商店 。",
    "我 看见 了 那 所/个 记者 采访 的 商人 创办 的 学校 。",
    "我 看见 了 那 间/个 认识 校长 的 邻居 开 的 商店 。",
]
# The same at the last 的, as the verb could be that of the main clause.
GARDEN_PATH_SUBJECT = [
    "那 间/个 邻居 开 的 商店 倒闭 了 。",
    "那 本/个 老师 写 的 小说 丢 了 。",
    "那 台/个 年轻 的 工人 用 的 机器 坏 了 。",
    "那 间/个 校长 认识 的 邻居 开 的 商店 倒闭 了 。",
    "那 座/个 帮助 农民 的 商人 修建 的 桥 很 有名 。",
]


@pytest.fixture(scope="module")
def mandarin_grammar() -> Grammar:
    return read_grammar(SHIPPED / "mandarin.pcfg")


@pytest.fixture(scope="module")
def mandarin_model(mandarin_grammar: Grammar) -> ExactModel:
    return ExactModel(mandarin_grammar)


@pytest.fixture(scope="module")
def trees(mandarin_grammar: Grammar) -> list[Tree]:
    sampler = Sampler(mandarin_grammar, seed=1)
    return [sampler.draw() for _ in range(2000)]


def pair(text: str) -> tuple[list[str], list[str]]:
    """The two sentences of a minimal pair."""
    words = text.split()
    return [w.split("/")[0] for w in words], [w.split("/")[-1] for w in words]


def total(mandarin_model: ExactModel, words: list[str]) -> float:
    """Surprisal of the whole sentence in bits."""
    return float(-mandarin_model.log_probs([words])[0] / math.log(2.0))


def clause_of_relative(tree: Tree) -> tuple[str, ...]:
    """The children of the clause before 的; empty if this is no relative clause."""
    clause = tree.children[0]
    if shape(tree) != ("IP", "DEC") or not isinstance(clause, Tree):
        return ()
    return shape(clause)


def is_mandarin_object_relative(tree: Tree) -> bool:
    return clause_of_relative(tree) == ("NP", "VP")


def is_subject_relative(tree: Tree) -> bool:
    return clause_of_relative(tree) == ("VP",)


def is_embedding(tree: Tree) -> bool:
    inner = (t for t in subtrees(tree) if t is not tree)
    return is_subject_relative(tree) and any(is_subject_relative(t) for t in inner)


MANDARIN_FREQUENCIES: dict[str, tuple[Callable[[Tree], bool], float]] = {
    "classifier": (lambda t: t.label == "CLP", 0.45),
    "adjective": (lambda t: t.label == "DNP" and shape(t)[0] == "ADJP", 0.10),
    "object relative": (is_mandarin_object_relative, 0.10),
    "subject relative": (is_subject_relative, 0.10),
    "coordinated relative": (lambda t: "CC" in shape(t), 0.02),
    "embedded relative": (is_embedding, 0.02),
    "subordination": (lambda t: t.label == "CP" and shape(t)[0] == "CS", 0.12),
}


def test_size_of_mandarin(mandarin_grammar: Grammar) -> None:
    assert 250 <= len(mandarin_grammar.words) <= 400
    assert 9.0 <= expected_length(mandarin_grammar) <= 12.0
    assert len(mandarin_grammar.categories) <= 500


def test_lengths(trees: list[Tree]) -> None:
    assert np.percentile([len(tree.words()) for tree in trees], 99) < 35


def test_every_mandarin_sentence_has_one_tree(
    mandarin_grammar: Grammar, mandarin_model: ExactModel
) -> None:
    assert_one_tree_each(mandarin_grammar, mandarin_model, seed=7, count=200)


def test_words_are_frequent_enough(mandarin_grammar: Grammar) -> None:
    """Each word occurs at least ten times in 8,000 sentences on average."""
    expected = expected_word_counts(mandarin_grammar)
    assert [word for word, count in expected.items() if 8000 * count < 10] == []


@pytest.mark.parametrize("name", MANDARIN_FREQUENCIES)
def test_phenomena_are_frequent_enough(trees: list[Tree], name: str) -> None:
    holds, at_least = MANDARIN_FREQUENCIES[name]
    share = np.mean([any(holds(t) for t in subtrees(tree)) for tree in trees])
    assert share >= at_least


@pytest.mark.parametrize("text", [*CLASSIFIER_NOUN, *VERB_NOUN])
def test_classifier_and_verb_fit_noun(mandarin_model: ExactModel, text: str) -> None:
    good, bad = pair(text)
    assert math.isfinite(total(mandarin_model, good))
    surprisal = mandarin_model.surprisal_bits([bad])[0]
    noun = len(bad) - 2
    assert np.isfinite(surprisal[:noun]).all()
    assert math.isinf(surprisal[noun])


@pytest.mark.parametrize("text", MISSING_OBJECT)
def test_object_is_obligatory(mandarin_model: ExactModel, text: str) -> None:
    words = text.split()
    without = [*words[:-2], "。"]
    assert math.isfinite(total(mandarin_model, words))
    assert math.isinf(mandarin_model.surprisal_bits([without])[0][len(without) - 1])


@pytest.mark.parametrize("text", HEADLESS_OBJECT)
def test_relative_clause_needs_its_noun(mandarin_model: ExactModel, text: str) -> None:
    words = text.split()
    without = [*words[:-3], "。"]
    assert math.isfinite(total(mandarin_model, words))
    assert math.isinf(mandarin_model.surprisal_bits([without])[0][len(without) - 1])


def test_intransitive_verbs_have_no_object(mandarin_model: ExactModel) -> None:
    good, bad = pair("那 位 老师 表扬/退休 了 学生 。")
    assert math.isfinite(total(mandarin_model, good))
    assert math.isfinite(total(mandarin_model, [*bad[:-2], "。"]))
    assert math.isinf(total(mandarin_model, bad))


@pytest.mark.parametrize("text", SUBORDINATION)
def test_subordinate_clause_needs_main_clause(mandarin_model: ExactModel, text: str) -> None:
    words = text.split()
    alone = [*words[: words.index("，")], "。"]
    assert math.isfinite(total(mandarin_model, words))
    assert math.isinf(mandarin_model.surprisal_bits([alone])[0][len(alone) - 1])


@pytest.mark.parametrize("text", GARDEN_PATH_OBJECT)
def test_garden_path_in_object(mandarin_model: ExactModel, text: str) -> None:
    """At the verb of the relative clause, the fourth word from the end."""
    specific, general = mandarin_model.surprisal_bits(pair(text))
    at = len(text.split()) - 4
    assert specific[at] + 1.0 < general[at] < math.inf


@pytest.mark.parametrize("text", GARDEN_PATH_SUBJECT)
def test_garden_path_in_subject(mandarin_model: ExactModel, text: str) -> None:
    specific, general = mandarin_model.surprisal_bits(pair(text))
    words = text.split()
    at = len(words) - 1 - words[::-1].index("的")
    assert specific[at] + 1.0 < general[at] < math.inf
