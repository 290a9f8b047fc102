"""`compile`: a kernel for a target, and the parts of what was made."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from . import kernels
from .usage import UsageError

PARTS = ("kir", "report", "source", "object", "so", "header")
BINARY = ("object", "so")


def add(parsers):
    """Adds the command to the command line."""
    parser = parsers.add_parser(
        "compile",
        help="compile a kernel and show or keep what was made",
        description="Compiles a kernel by the daemon of --compiler or INTENT_COMPILER, otherwise by one of your own "
        "that is started on demand. Without --emit, prints what was made and how long each stage took.",
    )
    parser.add_argument("kernel", help=kernels.WHERE)
    parser.add_argument(
        "--target",
        default="native",
        help="native (the default), a CPU level such as x86-64-v3 or aarch64, an architecture such as sm_90a, cuda "
        "(this machine's GPU), or interp; "
        "interp+check reports what the language calls invalid when it runs, interp+check+laws broken laws too",
    )
    parser.add_argument(
        "--constexpr", action="append", default=[], metavar="NAME=VALUE", help="bind a constexpr parameter"
    )
    parser.add_argument(
        "--emit",
        choices=PARTS,
        help="kir: the specialised canonical KIR; report: what the compiler decided; source: the LLVM IR or CUDA C++; "
        "object: ELF or cubin; so, header: an ELF shared object, and a C header for it",
    )
    parser.add_argument("--json", action="store_true", help="what was made, as JSON")
    parser.add_argument("-o", "--output", metavar="FILE", help="where that goes instead of standard output")
    parser.add_argument("--opt-level", type=int, choices=(0, 1, 2), default=2, help="2 by default")
    parser.add_argument(
        "--numerics",
        choices=("source", "relaxed_normalization"),
        default="source",
        help="relaxed_normalization licenses the online-softmax rewrite",
    )
    parser.add_argument("--compiler", metavar="ADDRESS", help="unix:///path or dns:///host:port")
    return parser


def run(arguments) -> int:
    """Compiles, and prints or writes the part that was asked for."""
    from .. import CompileOptions
    from ..compiling import compile

    to_terminal = arguments.output is None and sys.stdout.isatty()
    if arguments.emit in BINARY and to_terminal:
        raise UsageError("an object is binary: name a file with -o")
    if arguments.output and not arguments.emit:
        raise UsageError("-o needs --emit, which says what goes there")
    if arguments.json and arguments.emit:
        raise UsageError("--json tells what was made, --emit gives a part of it: take one")
    kernel = kernels.load(arguments.kernel)
    artifact = compile(
        kernel,
        compiler=arguments.compiler,
        target=kernels.target(arguments.target),
        constexprs=kernels.bindings(kernel, arguments.constexpr),
        options=CompileOptions(
            opt_level=arguments.opt_level,
            numerics=arguments.numerics,
            keep_source=arguments.emit == "source",
        ),
    )
    if arguments.json:
        print(json.dumps(summary(kernel, artifact), indent=2))
        return 0
    if arguments.emit is None:
        facts = summary(kernel, artifact)
        print(f"{facts['name']} for {facts['target']}: {facts['cache']['where']}")
        for stage, seconds in facts["seconds"].items():
            print(f"  {stage:24} {seconds * 1e3:9.3f} ms")
        for name, size in facts["payloads"].items():
            print(f"  {name:24} {size:9} bytes")
        return 0
    data = part(artifact, arguments.emit)
    if arguments.output:
        Path(arguments.output).write_bytes(data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return 0


def summary(kernel, artifact) -> dict:
    """What was made, from where it came, and how long each stage took."""
    return {
        "name": kernel.function.__qualname__,
        "target": artifact.target,
        "id": artifact.id.hex(),
        "cache": artifact.cache,
        "seconds": artifact.timings,
        "payloads": artifact.payload_sizes,
    }


def part(artifact, name: str) -> bytes:
    """A part of an artifact as the bytes of a file."""
    code = {
        "object": lambda: artifact.object_code,
        "so": lambda: artifact._shared_object(),
        "header": lambda: artifact.c_header().encode(),
    }
    if name in code:
        try:
            return code[name]()
        except KeyError as error:
            raise UsageError(error.args[0]) from None
    text = {
        "kir": lambda: artifact.kir,
        "source": lambda: artifact.source,
        "report": lambda: str(artifact.report),
    }
    return (text[name]().rstrip("\n") + "\n").encode()
