"""Keys: one form, and different for all that differs."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.store.files import canonical, digest, fingerprint

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


def test_a_key_is_twenty_digits_and_the_same_for_ever() -> None:
    text = r'{"kind":"cats","parts":{"name":"\u732b","sizes":[1,2.5]},"version":1}'
    expected = hashlib.sha256(text.encode()).hexdigest()[:20]
    assert fingerprint("cats", 1, name="猫", sizes=[1, 2.5]) == expected == "b4b01b6af8a29b09aa15"


def test_everything_counts() -> None:
    keys = [
        fingerprint("cats", 1, a=1),
        fingerprint("dogs", 1, a=1),
        fingerprint("cats", 2, a=1),
        fingerprint("cats", 1, a=2),
        fingerprint("cats", 1, b=1),
        fingerprint("cats", 1, a=1, b=1),
        fingerprint("cats", 1, a="1"),
        fingerprint("cats", 1, a=True),
        fingerprint("cats", 1, a=None),
        fingerprint("cats", 1, a=[1]),
        fingerprint("cats", 1, a=["ab", "c"]),
        fingerprint("cats", 1, a=["a", "bc"]),
        fingerprint("cats", 1, a={"b": {"c": 1}}),
        fingerprint("cats", 1),
    ]
    assert len(set(keys)) == len(keys)


def test_order_and_kind_of_sequence_do_not_count() -> None:
    assert fingerprint("cats", 1, a=1, b=[2]) == fingerprint("cats", 1, b=(2,), a=1)
    assert fingerprint("c", 1, a={"x": 1, "y": 2}) == fingerprint("c", 1, a={"y": 2, "x": 1})


@pytest.mark.parametrize(
    "wrong", [{1: "a"}, {1, 2}, b"bytes", Path("x"), [object()], {"a": {2: 3}}]
)
def test_what_json_would_change_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="fingerprint"):
        fingerprint("cats", 1, a=wrong)


@given(values)
def test_canonical_json_means_the_value(value: Any) -> None:
    text = canonical(value)
    assert json.loads(text) == value
    assert text.isascii()


def test_strings_that_are_not_unicode_have_keys() -> None:
    assert fingerprint("cats", 1, a="\udc80") != fingerprint("cats", 1, a="\udc81")
    assert digest("\udc80") != digest("\udc81")


def test_digests_of_texts_are_those_of_their_bytes() -> None:
    assert digest("猫") == digest("猫".encode())
    assert digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_another_process_makes_the_same_key() -> None:
    """Hashes of strings differ between processes, and so may the order of sets."""
    code = (
        "from gardenpath.store.files import fingerprint\n"
        "print(fingerprint('c', 1, a={'x': 1, 'y': 2}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint("c", 1, a={"y": 2, "x": 1})
