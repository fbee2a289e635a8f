"""Text as tokens of a model that others trained, checked byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gardenpath.errors import GardenpathError
from gardenpath.models.pretrained.token_bytes import BLANK, TokenBytes

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Tokens of a text.
TokenIds = tuple[int, ...]


class TextTokens:
    """Divides text into tokens whose bytes, one after the other, are the text.

    ``lead`` is what the tokeniser puts before each text: nothing, or a blank.
    """

    def __init__(self, tokeniser: Tokenizer) -> None:
        self._tokeniser = tokeniser
        # A tokeniser may be stored with settings that shorten or lengthen texts.
        tokeniser.no_truncation()
        tokeniser.no_padding()
        self.bytes = TokenBytes.of(tokeniser)
        self.lead = self._lead()

    def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return the tokens of each text, without special ones."""
        found = [tuple(one.ids) for one in self._encode(texts)]
        for text, tokens in zip(texts, found, strict=True):
            if self.bytes.text(tokens) != self.data(text):
                raise self._changed(text, tokens)
        return found

    def encode_without(self, text: str, missing: int) -> TokenIds:
        """Return the tokens of a text without its last bytes, which are a part of a character.

        What remains may also be the leading blank. Only byte-level tokenisers have tokens that
        begin within a character and contain another.
        """
        rest = self.data(text)[:-missing]
        parts = [BLANK] if rest == self.lead and not self.bytes.is_byte_level else self._parts(text)
        if self.bytes.is_byte_level:
            parts[-1] = parts[-1][:-missing]  # each character of a part is a byte
        model = self._tokeniser.model
        tokens = tuple(one.id for part in parts for one in model.tokenize(part))
        if self.bytes.text(tokens) != rest:
            raise self._changed(text, tokens)
        return tokens

    def _parts(self, text: str) -> list[str]:
        """The parts of a text that are divided into tokens one by one."""
        normaliser, splitter = self._tokeniser.normalizer, self._tokeniser.pre_tokenizer
        normal = text if normaliser is None else normaliser.normalize_str(text)
        return [part for part, _ in splitter.pre_tokenize_str(normal)]

    def data(self, text: str) -> bytes:
        """Return the bytes that the tokens of a text stand for."""
        return self.lead + text.encode() if text else b""

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return tokens as they are written in the vocabulary, or as text where that is legible."""
        return [self._shown(token) for token in tokens]

    def is_known(self, word: str) -> bool:
        """Whether the tokens of a word are its characters, not a symbol for unknown ones."""
        (encoded,) = self._encode([word])
        return self.bytes.text(encoded.ids) == self.data(word)

    def _shown(self, token: int) -> str:
        content = self.bytes.content[token]
        try:
            text = content.decode() if content is not None else ""
        except UnicodeDecodeError:
            text = ""
        return text.replace(" ", "▁") or str(self._tokeniser.id_to_token(token))

    def _encode(self, texts: Sequence[str]) -> list[Any]:
        try:
            return self._tokeniser.encode_batch(list(texts), add_special_tokens=False)
        except (TypeError, UnicodeError) as error:  # half of a surrogate pair
            raise GardenpathError(f"a text cannot be tokenised: {error}") from error

    def _lead(self) -> bytes:
        for known in ("a", "一"):
            ids = self._tokeniser.encode(known, add_special_tokens=False).ids
            found = self.bytes.text(ids) or b""
            lead = found.removesuffix(known.encode())
            if found != lead and lead in (b"", b" "):
                return lead
        raise GardenpathError(
            f"the tokens of the text {known!r} stand for {found!r}: the tokeniser changes texts, "
            "or marks words in another way than with a blank; such models cannot be used"
        )

    def _changed(self, text: str, tokens: TokenIds) -> GardenpathError:
        shown = self.bytes.text(tokens)
        became = (
            "with a symbol for unknown characters"
            if shown is None
            else repr(shown.decode(errors="replace"))
        )
        return GardenpathError(
            f"the tokeniser changes the text {text!r}: its tokens are {became}; write the text as "
            "the tokeniser does (Unicode form NFC, lower case, known characters)"
        )
