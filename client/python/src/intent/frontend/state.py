"""The state of one trace: the builder, the frame of the function being traced, limits and errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from .. import _core as core
from ..annotations import Enum
from . import syntax
from .values import (
    POISON,
    Domain,
    EnumConstexpr,
    Record,
    Shape,
    Unbound,
    has_poison,
    is_leaf,
    is_literal,
    map_leaves,
)

MAX_STEPS = 400_000  # statements and expressions, counted at every expansion
MAX_DEPTH = 48  # helper calls within helper calls
MAX_COPIES = 64  # of statements behind branches that may leave early


# How a scalar or tensor comes of what is none.
_INSTEAD = {
    tuple: "; unpack it, or take a component",
    Record: "; read one of its fields",
    Domain: "; I.indices makes a tensor of its coordinates",
    Shape: "; take one of its extents",
    type(None): "; a helper gives what its `return` says, and nothing without one",
    str: "; a choice is a constexpr, of bool or of an I.Enum",
}


class Failure(Exception):
    """A mistake that was reported; what the statement assigns is poisoned and tracing goes on."""


class Abort(Exception):
    """A limit was crossed and reported; nothing more is traced."""


class NeedBinding(Exception):
    """A type depends on a constexpr parameter: the trace starts again with it bound early."""


@dataclass
class Loop:
    """The innermost loop around the statement being traced."""

    parallel: bool
    in_parallel: bool  # this loop or one around it in the same function is parallel


@dataclass
class Frame:
    """One function being traced."""

    definition: Any
    body: list  # statements
    env: dict = field(default_factory=dict)
    loop: Loop | None = None
    # What the end of the current path gives: None, the function's value; otherwise these names.
    slots: tuple | None = None
    copies: int = 1
    # While a loop that returns is traced to learn what it returns: the values seen.
    recorded: list | None = None
    is_kernel: bool = False

    def __post_init__(self):
        self.local_names = frozenset(syntax.assigned(self.body))
        self.loads = syntax.loads(self.body)


class State:
    """Shared by all parts of the front end. One trace, one thread."""

    def __init__(self, kernel, fixed: dict):
        self.builder = core.Builder()
        self.kernel = kernel
        self.fixed = fixed  # values of constexpr parameters that are bound early
        self.frames: list[Frame] = []
        self.frame: Any = None  # the Frame being traced
        self.views: list = []  # operands of the kernel's views
        self.enums: dict[type, int] = {}
        self.read: list = []  # (definition, name, value) of every outside name that was read
        self.disagreeing: set = set()  # constexpr branches whose arms give different types
        self.mixed: list = []  # (note, file, line, column) of subscripts that often are not meant so
        self.files: dict[str, int] = {}
        self._steps = 0

    # Places and errors.

    def file_index(self, name: str) -> int:
        if name not in self.files:
            self.files[name] = self.builder.add_file(name)
        return self.files[name]

    def at(self, node):
        """Make `node` the place of the operations and errors that follow."""
        self.builder.set_span(
            self.file_index(self.frame.definition.file),
            node.lineno,
            node.col_offset + 1,
            node.end_lineno,
            node.end_col_offset + 1,
        )

    def error(self, code: str, message: str, node, notes=()):
        """Report a mistake and give poison."""
        self.at(node)
        self.builder.error(code, message, list(notes))
        return POISON

    def fail(self, code: str, message: str, node, notes=()) -> NoReturn:
        self.error(code, message, node, notes)
        raise Failure

    def step(self, node):
        self._steps += 1
        if self._steps > MAX_STEPS:
            self.error("E0901", f"the kernel expands to more than {MAX_STEPS} steps of its source", node)
            raise Abort

    # Facts about leaves.

    def kind(self, leaf) -> str:
        """scalar, tensor, view, buffer, domain, tuple, record; literal; constexpr; poison."""
        if is_literal(leaf):
            return "literal"
        if leaf.is_poison:
            return "poison"
        if leaf.is_constexpr:
            return "constexpr"
        return self.builder.type_of(leaf).kind

    def is_resource(self, leaf) -> bool:
        return is_leaf(leaf) and self.kind(leaf) in ("view", "buffer")

    def is_static(self, leaf) -> bool:
        """Literals and constexprs: known before run time."""
        return is_literal(leaf) or leaf.is_constexpr

    def describe(self, value) -> str:
        if is_leaf(value):
            return self.builder.describe(value)
        if isinstance(value, tuple):
            return f"a tuple of {len(value)}"
        if isinstance(value, Unbound):
            return "undefined"
        if isinstance(value, EnumConstexpr):
            return f"a member of {value.type.__name__}"
        if isinstance(value, Enum):
            return f"{type(value).__name__}.{value.name}"
        for kind, text in ((Record, "a record"), (Domain, "a domain"), (Shape, "a shape")):
            if isinstance(value, kind):
                return text
        return repr(value)

    def settle(self, value):
        """What a name holds: literals become runtime values of their own dtype (bool, i64, f64)."""
        return map_leaves(lambda leaf: self.builder.materialize(leaf) if is_literal(leaf) else leaf, value)

    def static_int(self, value, what: str, node) -> int:
        """A compile-time integer for `what`."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, core.Operand):
            if value.is_poison:
                raise Failure
            known = self.builder.static_int(value)
            if known is not None:
                return known
            if value.is_constexpr:
                raise NeedBinding
        self.fail("E0701", f"{what} must be a compile-time integer, not {self.describe(value)}", node)

    def static_bool(self, value, what: str, node) -> bool:
        """A compile-time flag that shapes types."""
        if isinstance(value, bool):
            return value
        if isinstance(value, core.Operand):
            if value.is_poison:
                raise Failure
            if value.is_constexpr:
                raise NeedBinding
        self.fail("E0701", f"{what} must be a compile-time bool, not {self.describe(value)}", node)

    def flag(self, value, what: str, node):
        """A compile-time flag that may stay a constexpr."""
        if isinstance(value, bool):
            return value
        if isinstance(value, core.Operand):
            if value.is_poison:
                raise Failure
            if value.is_constexpr:
                return value
        self.fail("E0701", f"{what} must be known at compile time: a literal or a constexpr bool", node)

    def operand(self, value, what: str, node):
        """A leaf for the builder; domains, products and the like are refused."""
        if is_leaf(value):
            return value
        hint = _INSTEAD.get(type(value), "")
        self.fail("E0204", f"{what} must be a scalar or tensor, not {self.describe(value)}{hint}", node)

    def index_operand(self, value, what: str, node):
        """A leaf in a place for integers; constants lose their dtype there."""
        leaf = self.operand(value, what, node)
        if isinstance(leaf, core.Operand) and leaf.is_value and self.kind(leaf) == "scalar":
            known = self.builder.static_int(leaf)
            if known is not None:
                return known
        return leaf

    # Products for the builder's structured operations.

    def pack(self, value, node):
        """One operand for a product: tuples and records become operations."""
        if is_leaf(value):
            return value
        if has_poison(value):
            return POISON
        if isinstance(value, Record):
            fields = [self.pack(field, node) for field in value.fields]
            self.at(node)
            return self.builder.make_record(list(value.names), fields)
        if isinstance(value, tuple):
            for place, item in enumerate(value):
                if self.is_resource(item):
                    what = f"component {place} of the tuple is {self.describe(item)}"
                    self.fail(
                        "E0504", f"{what}, which is storage; read it with an index to get a tensor", node
                    )
            fields = [self.pack(item, node) for item in value]
            self.at(node)
            return self.builder.make_tuple(fields)
        return self.operand(value, "a member of a product", node)
