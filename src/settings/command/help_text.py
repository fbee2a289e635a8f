"""The text of ``--help``: the choices of a script, and every setting with its explanation."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from gardenpath.settings.check import MISSING, Tagged
from gardenpath.settings.command.command_line import CommandLine
from gardenpath.settings.compose import (
    Script,
    choices_of,
    composed,
    groups_of,
    plain_config,
    root_of,
)
from gardenpath.settings.explain import explanations

_INTRODUCTIONS: Mapping[Script, str] = {
    "train": """\
Train a language model and write a complete run folder.

  {program} model=lstm data=ptb_sample seed=3
  {program} -m model=lstm,transformer seed=1,2,3      a sweep
  {program} -m experiment=mandarin                    all models of a study
  {program} model=lstm data=ptb_sample existing=resume  continue an interrupted run
""",
    "evaluate": """\
Evaluate trained models.

  {program} suite=mandarin                       test suites, with a report
  {program} study=mandarin surprisals=FOLDER materials=FOLDER     a published study
  {program} study=mandarin run=runs/ctb,runs/xinhua               the same with own models
  {program} task=perplexity run=runs/ptb_sample
  {program} task=surprisal run=runs/… input=sentences.txt
  {program} task=parse run=runs/…/rnng/seed1
  {program} task=suites                          list the test suites
  {program} task=rescore suite=mandarin surprisals=FOLDER materials=FOLDER
  {program} task=corpus corpora=[ptb_sample,brown]  corpus statistics
  {program} task=perplexity run=runs/ctb,runs/xinhua data=ctb
  {program} task=export data=ctb output=written  a corpus as bracketed trees
  {program} task=runs                            all runs: done, running, unfinished or failed
""",
}

_FLAGS = """\
Flags: -m or --multirun for a sweep, --cfg job to print the configuration, --config-dir for a folder
of your own configurations, --shell-completion, --version; --hydra-help explains all of them.
"""

# Column in which explanations begin.
_INDENT = 46


def help_text(line: CommandLine, *, program: str, width: int) -> str:
    """Return the help of a script, with the settings that a command line selects."""
    source = line.source
    groups = sorted(groups_of(source))
    root = root_of(source.script)
    content = plain_config(composed(source, line.lines))
    shown = {long: short for short, long in root.SHORT.items()}
    rows = [
        _row(shown.get(name, name), value, text, width)
        for name, value, text in described(root, content)
    ]
    choices = [
        _wrapped(f"  {group:<12}", ", ".join(choices_of(group, source)), 14, width)
        for group in groups
    ]
    return "\n".join(
        [
            _INTRODUCTIONS[source.script].format(program=program),
            f"Choices, as in {groups[0]}={choices_of(groups[0], source)[0]}:",
            *choices,
            "",
            "Settings of these choices; each can be set, as in name=value:",
            *rows,
            "",
            _FLAGS,
        ]
    )


def described(
    record: type, content: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and explanation of each setting, in the order of the dataclasses."""
    hints = get_type_hints(record, include_extras=True)
    texts = explanations(record)
    for field in dataclasses.fields(record):
        value = content.get(field.name, MISSING)
        inner = _record_of(hints[field.name], value)
        if get_origin(hints[field.name]) is Mapping and inner is not None and value != MISSING:
            for name, part in value.items():
                yield from described(inner, part, f"{prefix}{field.name}.{name}.")
        elif inner is not None and isinstance(value, Mapping):
            yield from described(inner, value, f"{prefix}{field.name}.")
        elif field.name in texts:
            yield f"{prefix}{field.name}", value, texts[field.name]


def _record_of(annotation: Any, value: Any) -> type | None:
    """Return the dataclass of a setting, if it is a group of settings."""
    if get_origin(annotation) is Annotated:
        for one in get_args(annotation)[1:]:
            if isinstance(one, Tagged) and isinstance(value, Mapping):
                return one.classes.get(str(value.get(one.key)))
        return None
    for one in (annotation, *get_args(annotation)):
        if get_origin(one) is Annotated:
            return _record_of(one, value)
        if dataclasses.is_dataclass(one) and isinstance(one, type):
            return one
    return None


def _row(name: str, value: Any, text: str, width: int) -> str:
    head = f"  {name}={_shown(value)}"
    if len(head) < _INDENT:
        return _wrapped(head.ljust(_INDENT), text, _INDENT, width)
    return f"{head}\n{_wrapped(' ' * _INDENT, text, _INDENT, width)}"


def _wrapped(head: str, text: str, indent: int, width: int) -> str:
    return textwrap.fill(
        text, max(width, indent + 30), initial_indent=head, subsequent_indent=" " * indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
