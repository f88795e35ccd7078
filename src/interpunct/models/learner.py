"""`Learner`: how models that can be trained are made.

In: a name, labels, options and the words of a text. Out: an untrained model with its description. A subclass says what
it begins with beside the description: a vocabulary, inputs, chains.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self

from interpunct import config
from interpunct.models.folder import Described, Description


class Learner(Described, ABC):
    """A model that is made from options and then learns; a subclass names its type."""

    TYPE: ClassVar[str]
    OPTIONS: ClassVar[Any]
    """The dataclass of the type's options."""

    @classmethod
    def create(
        cls,
        *,
        name: str,
        version: str,
        labels: Mapping[str, tuple[str, ...]],
        options: Mapping[str, Any],
        words: Iterable[str],
        trained_on: Sequence[str] = (),
        licence: str = "",
        seed: int = 1,
    ) -> Self:
        """Make an untrained model; where it has a vocabulary, that is learned from normalised words."""
        checked = config.build(cls.OPTIONS, options)
        description = Description(
            cls.TYPE, name, version, labels, checked.as_context(), licence,
            tuple(trained_on), asdict(checked),
        )  # fmt: skip
        return cls.untrained(description, checked, words, seed)

    @classmethod
    @abstractmethod
    def untrained(cls, description: Description, options: Any, words: Iterable[str], seed: int) -> Self:
        """Return a model of a description that has learned nothing yet."""
