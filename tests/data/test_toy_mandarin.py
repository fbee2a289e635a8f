"""The toy Mandarin grammar: unambiguous, and its dependencies are real.

A minimal pair is written as one sentence with a slash between the two words that differ:
``那 间/辆 工厂 倒闭 了 。`` is well-formed with the first and impossible with the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable

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
def grammar() -> Grammar:
    return read_grammar(SHIPPED / "mandarin.pcfg")


@pytest.fixture(scope="module")
def model(grammar: Grammar) -> ExactModel:
    return ExactModel(grammar)


@pytest.fixture(scope="module")
def trees(grammar: Grammar) -> list[Tree]:
    sampler = Sampler(grammar, seed=1)
    return [sampler.draw() for _ in range(2000)]


def pair(text: str) -> tuple[list[str], list[str]]:
    """The two sentences of a minimal pair."""
    words = text.split()
    return [w.split("/")[0] for w in words], [w.split("/")[-1] for w in words]


def total(model: ExactModel, words: list[str]) -> float:
    """Surprisal of the whole sentence in bits."""
    return float(-model.log_probs([words])[0] / math.log(2.0))


def clause_of_relative(tree: Tree) -> tuple[str, ...]:
    """The children of the clause before 的; empty if this is no relative clause."""
    clause = tree.children[0]
    if shape(tree) != ("IP", "DEC") or not isinstance(clause, Tree):
        return ()
    return shape(clause)


def is_object_relative(tree: Tree) -> bool:
    return clause_of_relative(tree) == ("NP", "VP")


def is_subject_relative(tree: Tree) -> bool:
    return clause_of_relative(tree) == ("VP",)


def is_embedding(tree: Tree) -> bool:
    inner = (t for t in subtrees(tree) if t is not tree)
    return is_subject_relative(tree) and any(is_subject_relative(t) for t in inner)


FREQUENCIES: dict[str, tuple[Callable[[Tree], bool], float]] = {
    "classifier": (lambda t: t.label == "CLP", 0.45),
    "adjective": (lambda t: t.label == "DNP" and shape(t)[0] == "ADJP", 0.10),
    "object relative": (is_object_relative, 0.10),
    "subject relative": (is_subject_relative, 0.10),
    "coordinated relative": (lambda t: "CC" in shape(t), 0.02),
    "embedded relative": (is_embedding, 0.02),
    "subordination": (lambda t: t.label == "CP" and shape(t)[0] == "CS", 0.12),
}


def test_size(grammar: Grammar) -> None:
    assert 250 <= len(grammar.words) <= 400
    assert 9.0 <= expected_length(grammar) <= 12.0
    assert len(grammar.categories) <= 500


def test_lengths(trees: list[Tree]) -> None:
    assert np.percentile([len(tree.words()) for tree in trees], 99) < 35


def test_every_sentence_has_one_tree(grammar: Grammar, model: ExactModel) -> None:
    assert_one_tree_each(grammar, model, seed=7, count=200)


def test_words_are_frequent_enough(grammar: Grammar) -> None:
    """Each word occurs at least ten times in 8,000 sentences on average."""
    expected = expected_word_counts(grammar)
    assert [word for word, count in expected.items() if 8000 * count < 10] == []


@pytest.mark.parametrize("name", FREQUENCIES)
def test_phenomena_are_frequent_enough(trees: list[Tree], name: str) -> None:
    holds, at_least = FREQUENCIES[name]
    share = np.mean([any(holds(t) for t in subtrees(tree)) for tree in trees])
    assert share >= at_least


@pytest.mark.parametrize("text", [*CLASSIFIER_NOUN, *VERB_NOUN])
def test_classifier_and_verb_fit_noun(model: ExactModel, text: str) -> None:
    good, bad = pair(text)
    assert math.isfinite(total(model, good))
    surprisal = model.surprisal_bits([bad])[0]
    noun = len(bad) - 2
    assert np.isfinite(surprisal[:noun]).all()
    assert math.isinf(surprisal[noun])


@pytest.mark.parametrize("text", MISSING_OBJECT)
def test_object_is_obligatory(model: ExactModel, text: str) -> None:
    words = text.split()
    without = [*words[:-2], "。"]
    assert math.isfinite(total(model, words))
    assert math.isinf(model.surprisal_bits([without])[0][len(without) - 1])


@pytest.mark.parametrize("text", HEADLESS_OBJECT)
def test_relative_clause_needs_its_noun(model: ExactModel, text: str) -> None:
    words = text.split()
    without = [*words[:-3], "。"]
    assert math.isfinite(total(model, words))
    assert math.isinf(model.surprisal_bits([without])[0][len(without) - 1])


def test_intransitive_verbs_have_no_object(model: ExactModel) -> None:
    good, bad = pair("那 位 老师 表扬/退休 了 学生 。")
    assert math.isfinite(total(model, good))
    assert math.isfinite(total(model, [*bad[:-2], "。"]))
    assert math.isinf(total(model, bad))


@pytest.mark.parametrize("text", SUBORDINATION)
def test_subordinate_clause_needs_main_clause(model: ExactModel, text: str) -> None:
    words = text.split()
    alone = [*words[: words.index("，")], "。"]
    assert math.isfinite(total(model, words))
    assert math.isinf(model.surprisal_bits([alone])[0][len(alone) - 1])


@pytest.mark.parametrize("text", GARDEN_PATH_OBJECT)
def test_garden_path_in_object(model: ExactModel, text: str) -> None:
    """At the verb of the relative clause, the fourth word from the end."""
    specific, general = model.surprisal_bits(pair(text))
    at = len(text.split()) - 4
    assert specific[at] + 1.0 < general[at] < math.inf


@pytest.mark.parametrize("text", GARDEN_PATH_SUBJECT)
def test_garden_path_in_subject(model: ExactModel, text: str) -> None:
    specific, general = model.surprisal_bits(pair(text))
    words = text.split()
    at = len(words) - 1 - words[::-1].index("的")
    assert specific[at] + 1.0 < general[at] < math.inf
