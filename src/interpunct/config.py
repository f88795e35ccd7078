"""TOML to frozen dataclasses, and back.

In: a TOML file and `key=value` overrides. Out: a dataclass, every value of its declared type. All mistakes
are told at once, an unknown key with the nearest valid one. No code is ever run from a configuration.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from interpunct.errors import ConfigError, nearest

T = TypeVar("T")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def load(kind: type[T], path: str | Path, overrides: Iterable[str] = ()) -> T:
    """Read a TOML file into a dataclass; `overrides` are "train.epochs=3" and the like."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(["no such file; check the name"], path=str(path)) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError([f"not TOML: {error}"], path=str(path)) from None
    problems: list[str] = []
    for override in overrides:
        _override(data, override, problems)
    value = _build(kind, data, "", problems)
    if problems:
        raise ConfigError(problems, path=str(path))
    return typing.cast(T, value)


def build(kind: type[T], data: Mapping[str, Any]) -> T:
    """Build a dataclass from plain data.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Options:
    ...     epochs: int = 1
    >>> build(Options, {"epoch": 3})
    Traceback (most recent call last):
    interpunct.errors.ConfigError: unknown key 'epoch'; did you mean 'epochs'?
    """
    problems: list[str] = []
    value = _build(kind, data, "", problems)
    if problems:
        raise ConfigError(problems)
    return typing.cast(T, value)


def _override(data: dict[str, Any], override: str, problems: list[str]) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        problems.append(f"override {override!r} is not KEY=VALUE")
        return
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # an unquoted word is a string
    *tables, last = key.strip().split(".")
    for table in tables:
        inner = data.setdefault(table, {})
        if not isinstance(inner, dict):
            problems.append(f"override {override!r}: {table!r} is a value, not a table")
            return
        data = inner
    data[last] = value


def _build(kind: Any, data: Any, where: str, problems: list[str]) -> Any:
    """Check `data` against the type `kind` and convert it; what is wrong goes to `problems`."""
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(typing.cast(type, kind), data, where, problems)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if data is None and type(None) in arguments:
            return None
        (inner,) = (argument for argument in arguments if argument is not type(None))  # X | None and no other union
        return _build(inner, data, where, problems)
    if origin is tuple:
        if not isinstance(data, list | tuple):
            problems.append(f"{where} is {data!r}; it must be a list")
            return ()
        item_kind, _ = arguments  # tuple[X, ...] and no other
        return tuple(_build(item_kind, item, f"{where}[{i}]", problems) for i, item in enumerate(data))
    if origin is dict and isinstance(data, Mapping):
        return {key: _build(arguments[1], item, f"{where}.{key}", problems) for key, item in data.items()}
    if origin is typing.Literal:
        if data not in arguments:
            problems.append(f"{where} is {data!r}; it must be one of {', '.join(map(repr, arguments))}")
        return data
    if kind is Any:
        return data
    kind = origin or kind
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        problems.append(f"{where} is {data!r}; it must be {_article(kind.__name__)}")
    return data


def _build_dataclass(kind: type, data: Any, where: str, problems: list[str]) -> Any:
    if not isinstance(data, Mapping):
        problems.append(f"{where} is {data!r}; it must be a table")
        return None
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    before = len(problems)
    values = {}
    for key, item in data.items():
        path = f"{where}.{key}" if where else key
        if key not in fields:
            near = nearest(key, fields)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(fields)}"
            problems.append(f"unknown key {path!r}; {hint}")
        else:
            values[key] = _build(hints[key], item, path, problems)
    for name, field in fields.items():
        if name not in data and field.default is field.default_factory is dataclasses.MISSING:
            problems.append(f"missing key {f'{where}.{name}' if where else name!r}")
    if len(problems) > before:
        return None
    try:
        return kind(**values)
    except ValueError as error:
        problems.append(f"{where}: {error}" if where else str(error))
        return None


def _article(name: str) -> str:
    return {"int": "a whole number", "float": "a number", "str": "a string", "bool": "true or false"}.get(name, name)


def dump(value: Any) -> str:
    """Write a dataclass of values, tables and dataclasses as TOML: what `load` reads back the same."""
    return _dump({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, "")


def _dump(items: Mapping[str, Any], prefix: str) -> str:
    values: list[str] = []
    tables: list[str] = []
    for name, item in items.items():
        key = name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)
        if dataclasses.is_dataclass(item):
            item = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
        if isinstance(item, Mapping):
            tables.append(f"\n[{prefix}{key}]\n{_dump(item, f'{prefix}{key}.')}")
        elif item is not None:
            # JSON's strings, numbers, booleans and arrays of them are TOML's, too.
            item = list(item) if isinstance(item, tuple) else item
            values.append(f"{key} = {json.dumps(item, ensure_ascii=False)}\n")
    return "".join(values + tables)
