"""`Pending`: items one after another, of which an error that they end in is told last.

In: an iterator that may fail. Out: its items; then the failure, once whatever came before it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """Items, none of which is None."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self._failure: Exception | None = None

    def next(self) -> T | None:
        """Return the next item, or None where there are no more."""
        try:
            return next(self._items, None)
        except Exception as error:
            self._failure = error
            return None

    def tell(self) -> None:
        """Raise the error, if there was one."""
        if self._failure is not None:
            raise self._failure


def groups(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items by so many; where they end in an error, those before it are yielded first.

    >>> list(groups("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    pending = Pending(items)
    group: list[T] = []
    while (item := pending.next()) is not None:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
    pending.tell()
