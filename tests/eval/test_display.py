"""How model families are shown."""

from __future__ import annotations

import pytest

from gardenpath.eval.display import FAMILY_DISPLAYS, family_of, family_rank, family_style
from gardenpath.eval.statistics.answers import prose_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LSTM", "lstm"),
        ("n-gram", "ngram"),
        ("plm_mask", "plm_mask"),
        ("trans", "transformer"),
        ("rnng (beam 10)", "rnng"),
        ("gpt2", "gpt2"),
    ],
)
def test_names_begin_with_families(name: str, expected: str) -> None:
    assert family_of(name) == expected


def test_families_have_different_styles_and_names() -> None:
    styles = [shown.style for shown in FAMILY_DISPLAYS.values()]
    assert len(set(styles)) == len(styles)
    assert prose_name("plm_mask") == "PLM-mask" and prose_name("trans") == "Transformer"
    assert [family_rank(name) for name in FAMILY_DISPLAYS] == list(range(len(FAMILY_DISPLAYS)))


def test_a_new_family_has_a_place_and_a_style_of_its_own() -> None:
    known = [shown.style for shown in FAMILY_DISPLAYS.values()]
    assert prose_name("mamba_2") == "mamba 2"
    assert family_rank("mamba") == family_rank("gpt2") == len(FAMILY_DISPLAYS)
    first = family_style("mamba", known)
    assert first not in known
    # It does not depend on which of the known models are shown beside it.
    assert family_style("mamba") == family_style("mamba", known[:2]) == first
    second = family_style("mamba", [*known, first])
    assert second not in (*known, first)


def test_there_is_a_style_for_any_number_of_models() -> None:
    taken: list[tuple[str, str]] = []
    for number in range(100):
        taken.append(family_style(f"new {number}", taken))
    assert len(set(taken[:40])) == 40


def test_variants_of_a_family_look_different_and_keep_its_name() -> None:
    """A sweep shows a dozen models of one family in one figure."""
    names = [f"lstm (learning_rate=1e-{number})" for number in range(12)]
    taken: list[tuple[str, str]] = []
    for name in names:
        taken.append(family_style(name, taken))
    assert len(set(taken)) == len(names)
    assert {family_of(name) for name in names} == {"lstm"}
    assert prose_name(names[1]) == "LSTM (learning_rate=1e-1)"
    assert prose_name("complex_np") == "complex NP"


def test_a_second_model_of_a_family_looks_different() -> None:
    first = family_style("lstm")
    assert first == FAMILY_DISPLAYS["lstm"].style
    assert family_style("lstm (large)", [first]) != first
