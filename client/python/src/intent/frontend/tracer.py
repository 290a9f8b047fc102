"""From a kernel's source to a KIR program."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from dataclasses import dataclass
from typing import Any

from ..errors import CompileError, Diagnostic, IntentWarning, Note
from . import signature, statements, syntax
from .origins import Origins
from .state import Abort, Failure, Frame, NeedBinding, State

# Long chains of elif nest. Since Python 3.11 a call from Python to Python takes none of C's stack.
RECURSION = 10_000 if sys.version_info >= (3, 11) else 3_000

# One trace at a time: tracing is all Python, and the recursion limit is the whole process's.
_tracing = threading.Lock()


def _after_fork():
    global _tracing
    _tracing = threading.Lock()  # whoever held it is not in the child


os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True)
class Trace:
    """What the front end makes of a kernel."""

    program: Any  # core.Program
    module: bytes  # the serialised KIR
    source_map: bytes
    parameters: tuple  # signature.Parameter, in the order of the signature
    sources: tuple  # every definition whose text went in

    def place(self, ordinal: int | None) -> tuple[str, int, int, int, int]:
        """(file, line, column, end line, end column) of an operation; line 0 where it is not known."""
        if ordinal is None:
            return "", 0, 0, 0, 0
        file, line, *rest = self.program.span(ordinal)
        files = self.program.files
        return (files[file] if line and file < len(files) else "", line, *rest)

    def source_line(self, file: str, line: int) -> str:
        """The author's text of a line; empty where it is not known."""
        return _source_line(self.sources, file, line)

    def diagnostic(self, code, message, ordinal, notes=(), severity="error") -> Diagnostic:
        """A compiler's diagnostic in the author's terms; `notes` are (text, ordinal or None)."""
        file, line, column, end_line, end_column = self.place(ordinal)
        found = []
        for text, at in notes:
            note_file, note_line, note_column, _, _ = self.place(at)
            found.append(Note(text, note_file, note_line, note_column))
        source = _source_line(self.sources, file, line)
        return Diagnostic(
            code, message, file, line, column, end_line, end_column, severity, tuple(found), source
        )


def trace(kernel, bindings: dict) -> Trace:
    """Traces a kernel. `bindings` (constexprs by name) matter only where they shape types.

    Raises CompileError with everything that was found.
    """
    with _tracing:
        return _cached_trace(kernel, bindings)


def _cached_trace(kernel, bindings) -> Trace:
    for entry in list(kernel.traces):
        fixed, made, read = entry
        if not all(_unchanged(*outside) for outside in read):
            kernel.traces.remove(entry)
        elif all(_resolved(made, bindings, name) == value for name, value in fixed.items()):
            return made
    early: dict = {}
    try:
        made, read = _trace(kernel, early)
    except (NeedBinding, CompileError) as problem:
        # Bound early, integers may decide what could not be proven of them.
        early = _early_bindings(kernel, bindings, isinstance(problem, NeedBinding))
        if not early:
            raise
        try:
            made, read = _trace(kernel, early)
        except CompileError:
            if isinstance(problem, CompileError):
                raise problem from None  # in the author's terms
            raise
    kernel.traces.append((early, made, read))
    return made


def _resolved(made, bindings, name):
    """The value that a call binds a constexpr to."""
    return bindings.get(name, next(p.default for p in made.parameters if p.name == name))


def _unchanged(definition, name, value) -> bool:
    """Whether an outside name still means what it meant when it was read."""
    found, now = definition.variable(name)
    return found and (
        now is value or (type(now) is type(value) and isinstance(now, (int, float, tuple)) and now == value)
    )


def _early_bindings(kernel, bindings, needed: bool) -> dict:
    """Values for the constexprs that can shape types. If not `needed`, none unless all are known."""
    fixed = {}
    for parameter in signature.read(kernel):
        if parameter.kind != "constexpr" or not (needed or parameter.type is int):
            continue
        value = bindings.get(parameter.name, parameter.default)
        if value is None or signature.check_binding(parameter.name, parameter.type, value):
            if needed:
                raise CompileError([unbound(kernel, parameter)])
            return {}
        fixed[parameter.name] = value
    return fixed


def unbound(kernel, parameter) -> Diagnostic:
    """The mistake of not binding a constexpr parameter that has no default."""
    return Diagnostic(
        "E0702",
        f"the constexpr parameter {parameter.name!r} is not bound and has no default; bind it by "
        f"constexprs={{{parameter.name!r}: ...}}",
        kernel.file,
        parameter.line,
        parameter.column,
        source_line=kernel.source_line(parameter.line),
    )


def _trace(kernel, fixed):
    state = State(kernel, fixed)
    tree = kernel.tree()
    state.frame = Frame(kernel, tree.body, is_kernel=True)
    state.frames.append(state.frame)
    program: Any = None
    parameters: list = []
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))
    try:
        parameters = signature.declare(state, tree)
        statements.run(state, tree.body)
    except (Failure, Abort):
        pass
    except RecursionError:
        state.error("E0901", "an expression or statement is nested too deeply", tree)
    finally:
        sys.setrecursionlimit(limit)
    if state.builder.ok:
        program = state.builder.finish()
    definitions = {kernel: None}
    definitions.update({value: None for _, _, value in state.read if hasattr(value, "source_line")})
    if program is None:
        raise CompileError(_diagnostics(state, list(definitions)))
    _warn_of_unwritten(state, tree, parameters)
    return Trace(
        program, program.module, program.source_map, tuple(parameters), tuple(definitions)
    ), state.read


def _warn_of_unwritten(state, tree, parameters):
    """Nothing writes an Out view of which a kernel uses at most the name, to give it to something else."""
    bound = syntax.assigned(tree.body)
    for p in parameters:
        if p.access == "Out" and not state.frames[0].loads[p.name]:
            place = bound.get(p.name, p.node)
            given_away = f": `{p.name} = ...` gives the name to something else" if p.name in bound else ""
            write = f"{p.name}[{', '.join(':' * len(p.shape)) or '()'}] = ..."
            message = f"nothing writes the Out view {p.name!r}{given_away}; a write has an index, {write}"
            warnings.warn_explicit(message, IntentWarning, state.kernel.file, place.lineno)


def _diagnostics(state, definitions) -> list:
    """The builder's diagnostics with the author's places and lines; each mistake once."""
    names = {index: name for name, index in state.files.items()}
    origins = Origins(state)
    found: dict = {}
    for code, message, span, notes, is_error in state.builder.diagnostics():
        file, line, column, end_line, end_column = span
        name, message = names.get(file, ""), origins.message(message)
        remarks = [Note(text, names.get(s[0], "") if s[1] else "", s[1], s[2]) for text, s in notes]
        remarks += origins.notes(code, message, name, line, end_line)
        found.setdefault(
            (code, file, line, column),
            Diagnostic(
                code,
                message,
                name,
                line,
                column,
                end_line,
                end_column,
                "error" if is_error else "warning",
                tuple(remarks),
                _source_line(definitions, name, line),
            ),
        )
    return list(found.values())


def _source_line(definitions, file: str, line: int) -> str:
    for definition in definitions:
        if definition.file == file:
            text = definition.source_line(line)
            if text:
                return text
    return ""
