"""The classes of marks that the papers score.

In: a mark. Out: the name of its class: of four, three or two classes, "none" being the last (paper 001).
"""

from __future__ import annotations

from interpunct.labels import to_three

CLASSES: dict[int, dict[str, str]] = {
    4: {",": "comma", ".": "period", "?": "question"},
    3: {",": "comma", ".": "stop", "?": "stop"},
    2: {",": "mark", ".": "mark", "?": "mark"},
}
"""The name of each of the three marks, by the number of classes ("none" is the last)."""


def class_of(mark: str | None, classes: int = 4) -> str:
    """Return the name of a mark's class, "" for none.

    >>> class_of("!"), class_of("?", 3), class_of("—", 2), class_of("")
    ('period', 'stop', 'mark', '')
    """
    return CLASSES[classes].get(to_three(mark or ""), "")
