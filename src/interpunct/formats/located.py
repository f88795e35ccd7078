"""JSON whose errors name their line, and the fields of recognisers' word entries.

In: JSON text, one document or several on end. Out: what a `build` function makes of each, or an
`InputError` with the line. The standard library's fast parser runs first; only where `build` complains is
that document parsed again, slowly, into objects and lists that know where they begin. The accessors
(`number`, `string`, `label`, `objects`) turn wrong shapes into errors. Nothing here knows any one format.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from interpunct.errors import InputError
from interpunct.formats.nist import NUMBER

T = TypeVar("T")

_SPACE = re.compile(r"[ \t\n\r]*")
_SPACE_AND_SEPARATORS = re.compile(r"[ \t\n\r,:]*")
_NUMBER = re.compile(NUMBER, re.ASCII)
_LONG_NUMBER = re.compile(r"\d{1000}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair: one character
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # one half alone
    r"|\\.",
    re.DOTALL,
)


class LocatedObject(dict[str, Any]):
    """A JSON object that knows the line it begins on."""

    line: int | None = None


class LocatedList(list[Any]):
    """A JSON list that knows the line it begins on."""

    line: int | None = None


def line_of(item: object) -> int | None:
    """Return the line an object or list begins on, or None where the fast parser made it."""
    return item.line if isinstance(item, LocatedObject | LocatedList) else None


def wrong(item: object, what: str) -> InputError:
    """Return the error for a wrong item, with its line where that is known."""
    return InputError(what, line=line_of(item))


def parse(text: str) -> Any:
    """Parse exactly one JSON document.

    >>> parse('{"word": "so"}')
    {'word': 'so'}
    """
    _refuse_lone_surrogates(text)
    value, end = _decode(text, _after_space(text, 0))
    end = _after_space(text, end)
    if end < len(text):
        raise InputError("broken JSON: something follows the document; remove it", line=_line_at(text, end))
    return value


def read_located(text: str, name: str, build: Callable[[Any, str], T]) -> Iterator[T]:
    """Yield `build(data, label)` for each JSON document of the text.

    The label is `name`, or `name#1`, `name#2`, … where there are several documents. An `InputError` that
    `build` raises without a line gets the line of the item it complains about.
    """
    _refuse_lone_surrogates(text)
    begin, count = _after_space(text, 0), 0
    if begin == len(text):
        raise InputError("empty where JSON was expected; give a file with a document in it", line=1)
    while begin < len(text):
        data, end = _decode(text, begin)
        end = _after_space(text, end)
        count += 1
        label = name if count == 1 and end == len(text) else f"{name}#{count}"
        yield _built(text, begin, data, label, build)
        begin = end


def _built(text: str, begin: int, data: Any, label: str, build: Callable[[Any, str], T]) -> T:
    try:
        return build(data, label)
    except InputError as error:
        if error.line is not None:
            raise
        nameless = error
    try:
        return build(_Locator(text, begin).value(), label)
    except InputError as error:
        raise error.at(line=_line_at(text, begin)) from None
    except RecursionError:  # the slow parser cannot go as deep as the fast one
        raise nameless.at(line=_line_at(text, begin)) from None


class _Locator:
    """Parses a document that is known to be valid into objects and lists with lines."""

    def __init__(self, text: str, begin: int) -> None:
        self.text = text
        self.position = begin
        self.line = _line_at(text, begin)
        self.counted = begin

    def value(self) -> Any:
        opening = self._next()
        if opening not in "{[":
            scalar, self.position = _DECODER.raw_decode(self.text, self.position)
            return scalar
        line = self._line()
        self.position += 1
        found: LocatedObject | LocatedList
        if opening == "{":
            found = LocatedObject((self.value(), self.value()) for _ in self._until("}"))
        else:
            found = LocatedList(self.value() for _ in self._until("]"))
        found.line = line
        return found

    def _until(self, closing: str) -> Iterator[None]:
        while self._next() != closing:
            yield
        self.position += 1

    def _next(self) -> str:
        # The document is valid, so commas and colons tell nothing new.
        match = _SPACE_AND_SEPARATORS.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.text[self.position]

    def _line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.position)
        self.counted = self.position
        return self.line


# openai-whisper writes NaN for figures that nobody reads here; where one is read, the accessors refuse it.
_DECODER = json.JSONDecoder()


def _decode(text: str, begin: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, begin)
    except json.JSONDecodeError as error:
        raise _broken(text, error) from None
    except RecursionError:
        line = _line_at(text, begin)
        raise InputError("broken JSON: nested too deeply; is this a transcript?", line=line) from None
    except ValueError:  # Python refuses integers of thousands of digits
        long = _LONG_NUMBER.search(text, begin)
        line = _line_at(text, long.start() if long else begin)
        raise InputError("broken JSON: a number has too many digits; check it", line=line) from None


def _broken(text: str, error: json.JSONDecodeError) -> InputError:
    rest = text[error.pos :].rstrip()
    cut_value = any(constant.startswith(rest) for constant in ("true", "false", "null", "-"))
    cut_string = '"' not in rest[1:] and error.msg.startswith(("Unterminated string", "Invalid \\u"))
    if cut_value or cut_string:
        what = "broken JSON: the file ends too soon; it may be cut off, so make or copy it again"
        return InputError(what, line=error.lineno)
    return InputError(f"broken JSON: {error.msg}; mend it at column {error.colno}", line=error.lineno)


def _refuse_lone_surrogates(text: str) -> None:
    if not _SURROGATE.search(text):
        return
    for match in _ESCAPES.finditer(text):
        if match[1]:
            what = f"{match[1]} is half a character and cannot be written as UTF-8; remove it"
            raise InputError(what, line=_line_at(text, match.start()))


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def an_object(value: Any, what: str, within: object = None) -> dict[str, Any]:
    """Return the value if it is a JSON object; `what` names it in the error.

    >>> an_object(3, "a word")
    Traceback (most recent call last):
    interpunct.errors.InputError: a word is a number where an object was expected; mend or remove it
    """
    if isinstance(value, dict):
        return value
    place = value if line_of(value) is not None else within
    raise wrong(place, f"{what} is {_kind(value)} where an object was expected; mend or remove it")


def fields(value: Any, names: tuple[str, ...], what: str, within: object = None) -> dict[str, Any]:
    """Return an entry as an object, whether it is one or a list of the values of the names.

    >>> fields([0.5, 0.9, "so"], ("start", "end", "word"), "a word")
    {'start': 0.5, 'end': 0.9, 'word': 'so'}
    """
    if not isinstance(value, list):
        return an_object(value, what, within)
    found = LocatedObject(zip(names, value, strict=False))
    found.line = line_of(value)
    return found


def a_list(item: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list under a name; a missing one or null is empty."""
    value = item.get(name)
    if value is None or isinstance(value, list):
        return value or []
    raise wrong(item, f"{name!r} is {_kind(value)} where a list was expected; mend or remove it")


def objects(item: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list of objects under a name; a missing one or null is empty."""
    values = a_list(item, name)
    return [an_object(value, f"an item of {name!r}", values) for value in values]


def _given(item: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, Any]:
    """Return the first of the names that has a value, and the value."""
    for name in names:
        value = item.get(name)
        if value is not None:
            return name, value
    return names[0], None


def exact(item: Mapping[str, Any], *names: str) -> Decimal | None:
    """Return the number under the first of the names that has one, digit for digit as it was written.

    >>> exact({"start": "1.300"}, "start"), exact({"from": None}, "from")
    (Decimal('1.300'), None)
    """
    name, value = _given(item, names)
    return None if value is None else decimal(value, name, item)


def decimal(value: Any, name: str, within: object = None) -> Decimal:
    """Return a JSON number, or a string that holds one, as a decimal."""
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    shown = repr(value) if isinstance(value, str | float) else _kind(value)
    raise wrong(within, f"{name!r} is {shown[:60]} where a number was expected; mend or remove it")


def seconds(amount: Decimal | None, *, per_second: int) -> float | None:
    """Turn milliseconds or ticks into seconds, rounded once.

    >>> seconds(Decimal(1300), per_second=1000)
    1.3
    """
    return None if amount is None else float(amount / per_second)


def number(item: Mapping[str, Any], *names: str) -> float | None:
    """Return the number under the first of the names that has one.

    >>> number({"start": "1.5"}, "start"), number({"end": 2}, "end"), number({}, "start")
    (1.5, 2.0, None)
    """
    name, value = _given(item, names)
    if value is None:
        return None
    found = value if type(value) is float else float(decimal(value, name, item))
    if math.isfinite(found):
        return found
    raise wrong(item, f"{name!r} is too large or not a number; mend or remove it")


def string(item: Mapping[str, Any], *names: str) -> str | None:
    """Return the text under the first of the names that has one."""
    name, value = _given(item, names)
    if value is None or isinstance(value, str):
        return value
    raise wrong(item, f"{name!r} is {_kind(value)} where text was expected; mend or remove it")


def label(item: Mapping[str, Any], *names: str) -> str | None:
    """Return the name or number of a speaker, channel or document as text.

    >>> label({"speaker": 0}, "speaker")
    '0'
    """
    name, value = _given(item, names)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return string(item, name)


def dumps(value: object, *, indent: int | None = None) -> str:
    """Write a value as JSON, other scripts as themselves.

    >>> dumps({"word": "naïve"})
    '{"word": "naïve"}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except ValueError:
        raise InputError("a confidence is infinite or no number, which JSON cannot hold; use None") from None


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "missing"}
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "a number")
