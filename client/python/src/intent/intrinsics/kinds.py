"""What names of the language are: operations, groups of them, formats."""

from __future__ import annotations

import inspect
import textwrap


class _Members:
    """Attributes that are part of the language: `I.reduce.sum`, `I.atomic.add`."""

    name: str
    _members: dict

    def member(self, name: str, rules: str = ""):
        """Decorate a function whose signature and documentation `name` shall have."""

        def put(function):
            self._members[name] = Intrinsic(function, f"{self.name}.{name}", rules)
            return self._members[name]

        return put

    def __getattr__(self, name):
        try:
            return self.__dict__["_members"][name]
        except KeyError:
            raise AttributeError(f"I.{self.name} has no member {name!r}") from None

    def __dir__(self):
        return [*super().__dir__(), *self._members]

    def __repr__(self) -> str:
        return f"I.{self.name}"


class Intrinsic(_Members):
    """A named operation of the language.

    `rules` is a paragraph that several operations share; it stands behind the first of the documentation.
    """

    def __init__(self, function, name: str = "", rules: str = ""):
        self.name = name or function.__name__
        self.__name__ = self.name.rpartition(".")[2]
        self.__signature__ = inspect.signature(function)
        self.__doc__ = self._documentation(inspect.cleandoc(function.__doc__), rules)
        self._members: dict[str, Intrinsic] = {}

    def _documentation(self, text, rules):
        summary, _, rest = text.partition("\n\n")
        call = f"I.{self.name}{self.__signature__}"
        return "\n\n".join(part for part in (call, summary, textwrap.fill(rules, 96), rest) if part)

    def __call__(self, *args, **kwargs):
        raise TypeError(f"I.{self.name} can only be used in the body of an @intent.kernel or @intent.fn")


def sharing(rules: str):
    """A decorator that makes intrinsics with one paragraph of rules."""
    return lambda function: Intrinsic(function, rules=rules)


class Namespace(_Members):
    """A group of intrinsics: `I.atomic`, `I.random`."""

    def __init__(self, name: str, doc: str, **members):
        self.name = name
        self.__doc__ = inspect.cleandoc(doc)
        self._members: dict[str, object] = members


class Format:
    """A closed data format: of scaled elements (`I.e2m1`) or of quantised records (`I.quant.q8_k`)."""

    def __init__(self, name: str, doc: str):
        self.name = name
        self.__doc__ = inspect.cleandoc(doc)

    def __repr__(self) -> str:
        return f"I.{self.name}"
