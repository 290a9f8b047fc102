"""What names stand for while a kernel is traced.

A leaf is an operand of the builder: a Python bool, int or float (a literal), or a `core.Operand` (a
value, a view, a buffer, a constexpr, or poison). Products are structural: tuples are Python tuples
and records are `Record`; the builder sees their leaves. Everything else is static: dtypes, enums,
helpers, domains, None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _core as core

POISON = core.Operand.poison()

LITERALS = (bool, int, float)


@dataclass(frozen=True)
class Record:
    names: tuple
    fields: tuple


@dataclass(frozen=True)
class Domain:
    """A rank-1 domain or subregion, with what it was made of."""

    operand: Any
    begin: Any
    end: Any
    step: Any


@dataclass(frozen=True)
class Shape:
    """`x.shape`: a tuple whose extents become values when they are used."""

    source: Any
    rank: int


@dataclass(frozen=True)
class Iteration:
    """What a `for` runs over when it is not simply a domain."""

    domains: tuple  # of Domain; several are a product
    single: bool  # one domain, not a tuple of one
    parallel: bool = False
    enumerated: bool = False


@dataclass(frozen=True)
class EnumConstexpr:
    """A constexpr parameter of an enum type."""

    operand: Any
    type: type


@dataclass(frozen=True)
class SparseFormat:
    kind: str
    compression_axis: int


@dataclass(frozen=True)
class Unbound:
    """Why a name that a function assigns has no value here."""

    reason: str


def is_leaf(value) -> bool:
    return isinstance(value, LITERALS) or isinstance(value, core.Operand)


def is_literal(value) -> bool:
    return isinstance(value, LITERALS)


def is_poison(value) -> bool:
    return isinstance(value, core.Operand) and value.is_poison


def has_poison(value) -> bool:
    return any(is_poison(leaf) for leaf in leaves(value))


def leaves(value) -> list:
    """The leaves of a product, in order; of anything else but a leaf, none."""
    if is_leaf(value):
        return [value]
    parts = value.fields if isinstance(value, Record) else value if isinstance(value, tuple) else ()
    return [leaf for part in parts for leaf in leaves(part)]


def map_leaves(function, value):
    """The same structure with every leaf replaced; what is no leaf stays."""
    if is_leaf(value):
        return function(value)
    if isinstance(value, Record):
        return Record(value.names, tuple(map_leaves(function, field) for field in value.fields))
    if isinstance(value, tuple):
        return tuple(map_leaves(function, item) for item in value)
    return value


def rebuild(value, replacements):
    """The same structure with its leaves taken, in order, from an iterator."""
    return map_leaves(lambda _: next(replacements), value)


def same(a, b) -> bool:
    """Whether two static values are the same thing."""
    if isinstance(a, core.Operand) and isinstance(b, core.Operand):
        return a.id is not None and a.id == b.id
    if isinstance(a, Domain) and isinstance(b, Domain):
        return same(a.operand, b.operand)
    if isinstance(a, Shape) and isinstance(b, Shape):
        return same(a.source, b.source)
    if isinstance(a, EnumConstexpr) and isinstance(b, EnumConstexpr):
        return same(a.operand, b.operand)
    if isinstance(a, LITERALS) or isinstance(b, LITERALS):
        return type(a) is type(b) and (a == b or (a != a and b != b))
    return a is b or (isinstance(a, (str, SparseFormat)) and a == b)


def same_structure(a, b) -> bool:
    """Whether two values have leaves in the same places; their types may differ."""
    if is_leaf(a) or is_leaf(b):
        return is_leaf(a) and is_leaf(b)
    if isinstance(a, Record):
        return (
            isinstance(b, Record)
            and a.names == b.names
            and all(same_structure(x, y) for x, y in zip(a.fields, b.fields))
        )
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same_structure, a, b))
    return same(a, b)
