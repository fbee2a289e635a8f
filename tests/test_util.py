"""Names and sentences as people read them."""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath import util as module
from gardenpath.util import (
    NATS_PER_LOG10,
    bits,
    enumeration,
    heading,
    key,
    nats,
    perplexity_of,
    plural,
    spaced,
    unbroken,
    versions,
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("t(4) = −0.57, p = .061", "t(4)~=~−0.57, p~=~.061"),
        ("mean −0.029 bits (SD 0.17), p < .001", "mean~−0.029~bits (SD~0.17), p~<~.001"),
        ("b = 0.51, SE 0.20, z = 2.57", "b~=~0.51, SE~0.20, z~=~2.57"),
        ("bars 95 % intervals", "bars 95~% intervals"),
        ("a mean of some words", "a mean of some words"),
    ],
)
def test_numbers_never_break(said: str, expected: str) -> None:
    assert unbroken(said) == expected.replace("~", "\N{NO-BREAK SPACE}")


def test_enumerations_have_each_value_once() -> None:
    assert enumeration([1, 2, 1]) == "1, 2"
    assert enumeration(["a", "b", "c"], last=" and ") == "a, b and c"
    assert enumeration(["a"], last=" and ") == "a" and enumeration([]) == ""


def test_names() -> None:
    assert spaced("classifier_noun") == "classifier noun"
    assert heading("wh_discharge") == "Wh discharge" and heading("") == ""
    assert key(" Verb-Noun x") == "verb_noun_x"
    assert plural(1, "model") == "1 model" and plural(0, "model") == "0 models"


# ----------------------------------------------------------------------------
# Nats, bits and log10: conversions against logarithms that Python computes itself.


@given(st.floats(min_value=1e-300, max_value=1.0))
def test_bits_are_logarithms_to_base_two(probability: float) -> None:
    expected = -math.log2(probability)
    assert bits(math.log(probability)) == pytest.approx(expected, rel=1e-14, abs=1e-15)
    assert math.log10(probability) * NATS_PER_LOG10 == pytest.approx(math.log(probability))


@given(st.lists(st.floats(min_value=-1e6, max_value=0.0), max_size=5))
def test_arrays_and_numbers_are_converted_alike_and_back(log_probs: list[float]) -> None:
    array = np.array(log_probs, dtype=np.float64)
    assert bits(array).tolist() == [bits(value) for value in log_probs]
    assert nats(array).tolist() == [nats(value) for value in log_probs]
    np.testing.assert_allclose(nats(bits(array)), array, rtol=1e-15, atol=0)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_certain_event_has_a_surprisal_of_plus_zero(zero: float) -> None:
    for found in (bits(zero), float(bits(np.array([zero]))[0]), nats(zero)):
        assert found == 0.0
        assert math.copysign(1.0, found) == 1.0


def test_impossible_and_unknown_events() -> None:
    assert bits(-math.inf) == math.inf and nats(math.inf) == -math.inf
    assert math.isnan(bits(math.nan)) and math.isnan(nats(math.nan))
    np.testing.assert_array_equal(bits(np.array([-np.inf, np.nan])), [np.inf, np.nan])


def test_single_precision_is_converted_in_double() -> None:
    found = bits(np.array([-1.0], dtype=np.float32))
    assert found.dtype == np.float64
    assert found[0] == 1.0 / math.log(2.0)


def test_perplexity_does_not_overflow() -> None:
    assert perplexity_of(math.log(80.0)) == pytest.approx(80.0)
    assert perplexity_of(1e4) == math.inf


# ----------------------------------------------------------------------------
# Which software made a result.


NUMBERS = r"Gardenpath [\d.]+{revision}, Python 3\.\d+\.\d+, scipy [\d.]+, numpy [\d.]+"


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file in it, in the place of the project's checkout."""
    (tmp_path / "pyproject.toml").write_text("# a project\n", encoding="utf-8")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


def test_packages_that_are_not_installed_are_left_out(checkout: Path) -> None:
    said = versions("scipy", "no-such-package", "numpy")
    assert re.fullmatch(NUMBERS.format(revision=""), said)


def test_a_checkout_says_its_commit_and_whether_it_was_changed(checkout: Path) -> None:
    _git(checkout, "init", "-q")
    assert "commit" not in versions()
    _git(checkout, "add", "-A")
    _git(checkout, "commit", "-q", "-m", "first")
    _git(checkout, "tag", "v1")
    commit = _git(checkout, "rev-parse", "--short=9", "HEAD")
    assert f" (commit {commit}), " in versions()
    with (checkout / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("# changed")
    assert f" (commit {commit} and changes), " in versions()


def test_without_git_there_is_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / ".git").mkdir()
    monkeypatch.setenv("PATH", str(checkout))
    assert "commit" not in versions()
