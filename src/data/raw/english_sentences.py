"""Sentences of English text, by rules: no model, and so the same everywhere.

A final mark (``.``, ``!``, ``?``, ``…``) with the quotes and brackets that close after it ends a
sentence if a blank follows and then something that may begin one. A period does not if it belongs
to an abbreviation, an initial or the number of a list.
"""

from __future__ import annotations

import re

# Never followed by a new sentence, because a name or a number follows.
_TITLES = """
mr mrs ms messrs mme mlle dr prof gen sen rep reps sens gov capt cmdr lt col sgt maj adm rev hon
pres supt det insp fr vs cf fig figs eq eqs sec ch vol no nos pp ed eds approx e.g i.e viz ca
"""
# Followed by a new sentence only if its first word is one that often begins sentences.
_SHORTENED = """
inc corp co cos ltd llc plc bros jr sr etc al a.m p.m u.s u.k u.n u.s.a u.s.s.r e.u d.c b.c a.d ph.d
m.d b.a m.a jan feb mar apr jun jul aug sept sep oct nov dec mon tue tues wed thu thurs fri st ave
blvd rd mt ft dept univ assn est op p n.y calif penn conn tex fla ariz ala ark colo kan mich minn
mont neb nev okla ore tenn wash wis wyo ext hr hrs lb lbs oz sq yd
"""
_FIRST_WORDS = """
the a an this that these those it he she they we you i there here in on at by for from with as if
when while after before since although though because but and or so yet however moreover meanwhile
then also his her its their our my your what who why how where which no not all some many most one
two another each every such even still now
"""
_BEFORE_NAMES = frozenset(_TITLES.split())
_AMBIGUOUS = frozenset(_SHORTENED.split())
_STARTERS = frozenset(_FIRST_WORDS.split())

_CLOSING_MARKS = "\"'”’»)\\]}"
_OPENING = "\"'“‘«([{`"
# A final mark with what closes after it, before a blank.
_CANDIDATE = re.compile(
    rf"(?<![.!?…])(?P<marks>[.!?…]++)(?P<closed>[{_CLOSING_MARKS}]*+)"
    r"(?:\s++(?:''|[”»)\]}]++)(?=\s|$))*+(?=\s)"
)
_NEXT = re.compile(rf"\s+(?P<opened>[{re.escape(_OPENING)}]*)(?P<word>\S*)")
_LAST_WORD = re.compile(r"\S*$")
_LONGEST_WORD = 100
_WORD = re.compile(r"\w+")
_LIST_NUMBER = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxlIVXL]{1,5})")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def english_ends_of(text: str) -> list[int]:
    """Return the positions after the sentences of a text, except that of its end."""
    found: list[int] = []
    begin = len(text) - len(text.lstrip())
    for match in _CANDIDATE.finditer(text):
        following = _NEXT.match(text, match.end())
        if following is None or not (following["opened"] or following["word"]):
            continue  # only blanks follow
        before = text[max(begin, match.start() - _LONGEST_WORD) : match.start()]
        if _ends(before, match, following, is_first=_is_first(text, begin, match.start())):
            found.append(match.end())
            begin = following.start("opened")
    return found


def _is_first(text: str, begin: int, end: int) -> bool:
    """Whether there is only one word, without blanks, from the beginning of the sentence."""
    return end - begin <= _LONGEST_WORD and not any(map(str.isspace, text[begin:end]))


def _ends(before: str, mark: re.Match[str], following: re.Match[str], *, is_first: bool) -> bool:
    """Whether a sentence ends at a mark, by the word before it and what follows."""
    if not _may_begin(following["word"], is_opened=bool(following["opened"])):
        return False
    if mark["marks"] != ".":
        is_ellipsis = mark["marks"].endswith(("…", ".."))
        return not (is_ellipsis and _first_word(following) in ("I", "i"))
    last = _LAST_WORD.search(before)
    word = ("" if last is None else last[0]).lstrip(_OPENING)
    if is_first and not mark["closed"] and _LIST_NUMBER.fullmatch(word):
        return False
    plain = word.lower()
    if mark["closed"] or not plain:
        return True
    if plain in _BEFORE_NAMES:
        return False
    is_uncertain = plain in _AMBIGUOUS or _INITIAL.fullmatch(word) is not None
    return not is_uncertain or _first_word(following).lower() in _STARTERS


def _may_begin(word: str, *, is_opened: bool) -> bool:
    """Whether a word may begin a sentence: it has no small first letter."""
    first = word[:1]
    return is_opened if not first else not first.islower()


def _first_word(following: re.Match[str]) -> str:
    found = _WORD.match(following["word"])
    return "" if found is None else found[0]
