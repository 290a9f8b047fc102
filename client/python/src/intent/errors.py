"""What can go wrong, as Python exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Note:
    """A remark that belongs to a diagnostic."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class Diagnostic:
    """One mistake in a kernel. Lines and columns count from 1; line 0: no place is known."""

    code: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    severity: str = "error"
    notes: tuple[Note, ...] = ()
    source_line: str = field(default="", compare=False)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        lines = [f"{where}{self.severity} {self.code}: {self.message}"]
        if self.source_line:
            lines += _excerpt(self)
        for note in self.notes:
            place = f"{note.file}:{note.line}: " if note.line else ""
            lines.append(f"  note: {place}{note.message}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from . import display

        return display.diagnostic(self)


def _excerpt(diagnostic: Diagnostic) -> list[str]:
    """The line of source with a caret below; columns are UTF-8 bytes."""
    text = diagnostic.source_line.rstrip("\n")
    raw = text.encode()
    start = min(max(diagnostic.column - 1, 0), len(raw))
    end = diagnostic.end_column - 1 if diagnostic.end_line == diagnostic.line else len(raw.rstrip())
    before = raw[:start].decode(errors="ignore")
    marked = raw[start : max(end, start)].decode(errors="ignore")
    pad = "".join(c if c == "\t" else " " for c in before)
    gutter = f"{diagnostic.line:5} | "
    return [gutter + text, " " * (len(gutter) - 2) + "| " + pad + "^" + "~" * (len(marked) - 1)]


class IntentWarning(UserWarning):
    """A kernel is legal, and probably not what its author means."""


class IntentError(Exception):
    """Base of every error of this package."""


class CompileError(IntentError):
    """The kernel is not a legal program, or the target cannot compile it.

    `diagnostics` lists every mistake that was found, in source order.
    """

    def __init__(self, diagnostics):
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))

    @property
    def advice(self) -> str:
        """The command that explains the codes of the mistakes."""
        return " ".join(["python -m intent explain", *sorted({d.code for d in self.diagnostics})])

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback, which would lead into this package."""
        return [f"{type(self).__name__}: {len(self.diagnostics)} found", str(self), self.advice]


class CompileErrors(CompileError):
    """What went wrong with some kernels of `intent.compile_many`.

    `errors` has (position among the kernels, its CompileError or ServiceError) for each that failed,
    `artifacts` the others' artifacts at their positions and None at those.
    """

    def __init__(self, errors, artifacts):
        self.errors = tuple(errors)
        self.artifacts = list(artifacts)
        super().__init__(d for _, error in self.errors for d in getattr(error, "diagnostics", ()))
        count = f"{len(self.errors)} of {len(self.artifacts)} kernels failed"
        self.args = ("\n".join([count, *(f"[{position}] {error}" for position, error in self.errors)]),)


class LoadError(IntentError):
    """A file does not hold an artifact that this package can load."""


class RunError(IntentError):
    """A kernel ended with an error, for example an access out of bounds.

    `code` is that of the rule that was broken ("E1112"; docs/checked-mode.md lists them), or "".
    `parameter`, `axis`, `file` and `line` are None where they are not known. `notes` name other
    places, such as the other access of a race.
    """

    def __init__(
        self, message, *, status="", code="", parameter=None, axis=None, file=None, line=None, notes=()
    ):
        super().__init__(message)
        self.status = status
        self.code = code
        self.notes = tuple(notes)
        self.parameter = parameter
        self.axis = axis
        self.file = file
        self.line = line


class ServiceError(IntentError):
    """The compile service could not do its work: unreachable, overloaded, out of time, broken.

    `status` is the name of the gRPC status, `advice` says what to do, and `request_id` finds the
    request in the daemon's log.
    """

    def __init__(self, message, *, status="", advice="", request_id=""):
        text = message
        if advice:
            text += f"\n  {advice}"
        if request_id and request_id not in message:
            text += f"\n  request {request_id}"
        super().__init__(text)
        self.status = status
        self.advice = advice
        self.request_id = request_id

    def about(self, subject: str) -> ServiceError:
        """The same error, said to be about something."""
        error = ServiceError(f"{subject}: {self}", status=self.status)
        error.advice, error.request_id = self.advice, self.request_id
        return error
