"""`json_keys`: which keys a JSON text has, and where, for sniffing.

In: the text of a file. Out: the paths of its keys. The first document is looked at whole, because a key that tells
the format may stand behind a text of an hour; of a broken one, and of those behind it, what is in the head.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

HEAD_CHARACTERS = 1 << 16
"""How much of a text tells most formats."""
_MANY_ITEMS = 256
"""Items of a list that are looked at: those of a transcript are all alike."""
_OPENING = re.compile(r'\s*+(?:(\[)\s*+)?\{\s*+"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+:', re.DOTALL)
_TOKEN = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(\s*+:)?|[{}\[\],]', re.DOTALL)
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


def json_keys(text: str) -> frozenset[str]:
    """Return the key paths of the JSON documents at the beginning of a text that may be cut off.

    Lists leave no trace in a path, except that "[" stands for a list at the very top. Text that is no JSON
    has no paths.

    >>> sorted(json_keys('{"results": {"items": [{"type": "pronunciation", "alternati'))
    ['results', 'results.items', 'results.items.type']
    """
    opening = _OPENING.match(text)
    if opening is None:
        return frozenset()
    paths = {"["} if opening[1] else set()
    return frozenset(paths | _keys_of_head(text[:HEAD_CHARACTERS]) | _keys_of_first(text))


def _keys_of_head(head: str) -> set[str]:
    paths: set[str] = set()
    containers = [""]
    here = ""
    for match in _TOKEN.finditer(head):
        token = match[0]
        if match[2]:  # a string before a colon is a key
            here = _path(containers[-1], match[1])
            paths.add(here)
        elif token in "{[":
            containers.append(here)
        elif token in "}]":
            here = containers.pop() if len(containers) > 1 else ""
        elif token == ",":
            here = containers[-1]
    return paths


def _keys_of_first(text: str) -> set[str]:
    begin = _SPACE.match(text)
    try:
        document, _ = _DECODER.raw_decode(text, begin.end() if begin else 0)
    except (ValueError, RecursionError):
        return set()  # reading it will say what is wrong
    paths: set[str] = set()
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        here, value = waiting.pop()
        if isinstance(value, dict):
            inside = [(_path(here, key), item) for key, item in value.items()]
            paths.update(path for path, _ in inside)
            waiting += inside
        elif isinstance(value, list):
            waiting += ((here, item) for item in islice(value, _MANY_ITEMS))
    return paths


def _path(container: str, key: str) -> str:
    return f"{container}.{key}" if container else key
