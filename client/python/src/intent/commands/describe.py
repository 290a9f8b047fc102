"""`describe`: a kernel's parameters and size, without compiling it."""

from __future__ import annotations

import json

from . import kernels


def add(parsers):
    """Adds the command to the command line."""
    parser = parsers.add_parser(
        "describe",
        help="a kernel's parameters, shapes, constexprs and size",
        description="What a kernel takes and how large its KIR is. No daemon is asked.",
    )
    parser.add_argument("kernel", help=kernels.WHERE)
    parser.add_argument(
        "--constexpr",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="bind a constexpr parameter; only those that shape types are needed here",
    )
    parser.add_argument("--json", action="store_true", help="the same facts as JSON")
    return parser


def run(arguments) -> int:
    """Prints the description."""
    kernel = kernels.load(arguments.kernel)
    facts = describe(kernel, kernels.bindings(kernel, arguments.constexpr))
    if arguments.json:
        print(json.dumps(facts, indent=2))
        return 0
    print(f"kernel {facts['name']} ({facts['file']}:{facts['line']})")
    if facts["summary"]:
        print(f"  {facts['summary']}")
    print()
    rows = [(p["name"], p["kind"], p["type"], p["note"]) for p in facts["parameters"]]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    for *columns, note in rows:
        line = "  ".join(text.ljust(width) for text, width in zip(columns, widths))
        print(f"  {line}  {note}".rstrip())
    if facts["symbols"]:
        print("\nsymbols")
        for symbol, places in facts["symbols"].items():
            print(f"  {symbol} = {' = '.join(places)}")
    print(f"\nKIR: {facts['operations']} operations, {facts['bytes']} bytes")
    return 0


def describe(kernel, bindings) -> dict:
    """The facts that the command prints."""
    from ..compiling import lower

    trace = lower(kernel, constexprs=bindings)
    symbols: dict[str, list[str]] = {}
    for p in trace.parameters:
        for axis, extent in enumerate(p.shape):
            if isinstance(extent, str):
                symbols.setdefault(extent, []).append(f"{p.name}.shape[{axis}]")
    return {
        "name": kernel.function.__qualname__,
        "file": kernel.file,
        "line": kernel.tree().lineno,
        "summary": (kernel.__doc__ or "").strip().partition("\n")[0],
        "parameters": [parameter(p) for p in trace.parameters],
        "symbols": symbols,
        "operations": operations(trace.program.text),
        "bytes": len(trace.module),
    }


def operations(text: str) -> int:
    """How many operations a module's text holds."""
    body = text.partition("{\n")[2]
    return sum(line.strip()[:1] not in ("", "}", "/") for line in body.splitlines())


def parameter(p) -> dict:
    """What was written about a parameter: its name, kind, type and a note."""
    note = ""
    if p.kind == "view":
        kind, shape = p.access, ", ".join(map(str, p.shape)) + ("," if len(p.shape) == 1 else "")
        what = f"{p.dtype} ({shape})"
        note = "noalias" if p.noalias else f"alias {p.alias!r}" if p.alias else ""
    elif p.kind == "scalar":
        kind, what = "scalar", p.dtype
    else:
        kind, what = "constexpr", p.type.__name__
        members = getattr(p.type, "__members__", None)
        if members:
            what += f" ({', '.join(members)})"
        default = getattr(p.default, "name", p.default)
        note = "must be bound" if p.default is None else f"default {default}"
    return {"name": p.name, "kind": kind, "type": what, "note": note}
