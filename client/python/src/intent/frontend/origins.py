"""Where the extents of a message come from: `N` and `%7` of "[N, %7]" in the author's terms."""

from __future__ import annotations

import re

from .. import _core as core
from ..errors import Note
from . import signature
from .values import leaves

_BRACKETS = re.compile(r"\[[^\]]*\]")
_WORD = re.compile(r"%\d+|[A-Za-z_]\w*")
_VALUE = re.compile(r"%(\d+)")
_PAIRED = re.compile(r"\bextents? (\w+)(?: \([^)]*\))?(?: and (\w+))?")

MAX_NOTES = 4

MIXED = (
    "a domain and an index tensor stand in one subscript: each domain adds an axis of its own; to pair coordinates "
    "point by point, index with I.indices(domain)"
)
TWICE = (
    "a domain stands twice in one subscript, and each time adds an axis of its own; x[i, i] with i = I.indices(domain) "
    "pairs its coordinates"
)


class Origins:
    """What the names and values of a trace mean, once it has ended."""

    def __init__(self, state):
        self._file = state.kernel.file
        self._names: dict[int, str] = {}
        for frame in state.frames:
            for name, value in frame.env.items():
                for leaf in leaves(value):
                    if not name.startswith("$") and isinstance(leaf, core.Operand) and leaf.is_value:
                        self._names.setdefault(leaf.id[1], name)
        self._symbols: dict[str, tuple] = {}
        for parameter in signature.read(state.kernel):
            for axis, symbol in enumerate(parameter.shape):
                if isinstance(symbol, str):
                    self._symbols.setdefault(symbol, (parameter, axis))
        self._mixed = state.mixed

    def message(self, text: str) -> str:
        """The message with names of variables for the values that have one."""
        return _VALUE.sub(lambda match: self._names.get(int(match[1]), match[0]), text)

    def notes(self, code: str, text: str, file: str, line: int, end_line: int) -> list[Note]:
        """Where each symbol comes from, if the message sets several extents against each other."""
        found = []
        if code in ("E0301", "E0302"):
            places = [m for m in self._mixed if m[1] == file and line <= m[2] <= end_line]
            found = [Note(*place) for place in places[:1]]
        if code not in ("E0301", "E0305", "E0402", "E0407", "E0601"):
            return found
        words = [word for part in _BRACKETS.findall(text) for word in _WORD.findall(part)]
        words += [word for match in _PAIRED.finditer(text) for word in match.groups() if word]
        symbols = [word for word in dict.fromkeys(words) if word in self._symbols]
        values = [word for word in dict.fromkeys(words) if word in self._names.values()]
        if len(symbols) + len(values) < 2:
            return found
        for symbol in symbols[:MAX_NOTES]:
            parameter, axis = self._symbols[symbol]
            note = f"{symbol} is the extent of axis {axis} of {parameter.name}"
            found.append(Note(note, self._file, parameter.line, parameter.column))
        return found
