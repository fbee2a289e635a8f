"""Messages of errors name place, problem and remedy."""

from __future__ import annotations

import pytest

from gardenpath import errors
from gardenpath.console import exit_on_error
from gardenpath.errors import ConfigError, GardenpathError, InputError, MissingCorpusError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("is odd", path="a.txt"), "a.txt: is odd"),
        (InputError("is odd", path="a.txt", line=3), "a.txt:3: is odd"),
        (InputError("is odd", path="a", line=3, remedy="mend it"), "a:3: is odd (mend it)"),
    ],
)
def test_input_errors_name_file_line_and_remedy(error: InputError, message: str) -> None:
    assert str(error) == message


def test_a_missing_corpus_says_all_that_helps() -> None:
    error = MissingCorpusError(
        corpus="The Treebank",
        looked_for="/no/where",
        licence="LDC99T42 at the LDC",
        setting="data.root=/path",
    )
    for part in ("The Treebank", "/no/where", "LDC99T42", "data.root=/path", "data=toy_english"):
        assert part in str(error)


def test_config_errors_list_all_mistakes() -> None:
    assert str(ConfigError(["one"])).startswith("1 mistake in")
    message = str(ConfigError(["one", "two"]))
    assert message.splitlines() == ["2 mistakes in the configuration:", "  - one", "  - two"]


def test_every_error_is_one_that_scripts_report() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    exceptions = [kind for kind in kinds if issubclass(kind, Exception)]
    assert len(exceptions) >= 7
    assert all(issubclass(kind, GardenpathError) for kind in exceptions)


def test_scripts_print_the_message_and_exit_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught, exit_on_error():
        raise InputError("is odd", path="a.txt")
    assert caught.value.code == 2
    assert capsys.readouterr().err == "error: a.txt: is odd\n"


def test_mistakes_of_the_program_keep_their_traceback() -> None:
    with pytest.raises(ZeroDivisionError), exit_on_error():
        _ = 1 / 0
