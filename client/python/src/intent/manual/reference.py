"""The names of `I` with their signatures, documentation and examples."""

from __future__ import annotations

import inspect
import re
import textwrap

from .. import language
from ..dtypes import DType

HEADER = "import intent\nimport intent.language as I\n\n\n"

_EXAMPLE = re.compile(r"^Example(?:, with (.+))?:\n\n((?:    .*\n|\n)+)", re.MULTILINE)
_PARAMETER = re.compile(r"(\w+): (?:(In|Out|InOut) )?(\w+)(?: \(([^)]*)\))?")


def names() -> list[str]:
    """Every public name below `I`, members as "reduce.sum", in alphabetical order."""
    found = []
    for name in language.__all__:
        value = getattr(language, name)
        found += [name, *(f"{name}.{member}" for member in getattr(value, "_members", ()))]
    return sorted(found)


def value(name: str):
    """What a name of `names` stands for."""
    found = language
    for part in name.split("."):
        found = getattr(found, part)
    return found


def signature(name: str) -> str:
    """The declaration of a name in one line."""
    found = value(name)
    if isinstance(found, DType):
        return f"I.{name}: dtype of {found.bits} bits ({found.kind})"
    if isinstance(found, float):
        return f"I.{name} = {found}"
    try:
        return f"I.{name}{inspect.signature(found)}" if callable(found) else f"I.{name}"
    except ValueError:
        return f"I.{name}"


def documentation(name: str) -> str:
    """The documentation string, without the signature that it may begin with."""
    found = value(name)
    text = inspect.cleandoc((language if isinstance(found, float) else found).__doc__ or "")
    first, _, rest = text.partition("\n\n")
    return rest if first == signature(name) else text


def example(name: str) -> str:
    """A module whose `kernel` shows the use of a name; empty if its documentation has none."""
    match = _EXAMPLE.search(documentation(name) + "\n")
    if not match:
        return ""
    body = textwrap.dedent(match[2]).strip("\n") + "\n"
    if not match[1]:
        return HEADER + body
    parameters = ", ".join(_parameter(*found) for found in _PARAMETER.findall(match[1]))
    return f"{HEADER}@intent.kernel\ndef kernel({parameters}):\n{textwrap.indent(body, '    ')}"


def _parameter(name, access, dtype, shape):
    if not access:
        return f"{name}: I.{dtype}"
    extents = [e.strip() for e in shape.split(",") if e.strip()]
    parts = [e if e.isdigit() else f'"{e}"' for e in extents]
    return f"{name}: I.{access}[I.{dtype}, ({', '.join(parts)}{',' if len(parts) == 1 else ''})]"
