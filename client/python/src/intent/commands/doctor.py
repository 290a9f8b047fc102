"""`doctor`: what there is to compile with, and what is missing."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from importlib import metadata

from ..errors import IntentError
from . import paint

NEEDED = ("numpy", "ml_dtypes", "grpcio", "protobuf")


def add(parsers):
    """Adds the command to the command line."""
    parser = parsers.add_parser(
        "doctor",
        help="versions, the daemon and its targets, the cache, and what is missing",
        description="Looks at everything that a compile needs, starts your own daemon where a compile would, and runs "
        "a kernel. The exit status is 0 if kernels compile and run here, otherwise 1.",
    )
    parser.add_argument(
        "--compiler", metavar="ADDRESS", help="ask this daemon instead of the one a compile would"
    )
    parser.add_argument("--no-start", action="store_true", help="do not start a daemon")
    parser.add_argument("--json", action="store_true", help="the same facts as JSON")
    return parser


class _Report:
    """What was found, by section; printed as it is found, unless it shall become JSON."""

    def __init__(self, quiet=False):
        self.quiet = quiet
        self.sections: dict[str, dict[str, str]] = {}
        self.missing: list[dict[str, str]] = []

    @property
    def well(self) -> bool:
        return not self.missing

    def section(self, name):
        self.sections[name] = {}
        self._print(name)

    def fact(self, name, text):
        self.sections[list(self.sections)[-1]][name] = str(text)
        self._print(f"  {name:14} {text}")

    def wrong(self, name, text, advice):
        self.missing.append({"name": name, "problem": str(text), "advice": str(advice)})
        below = "\n".join(f"  {'':14} {line.strip()}" for line in str(advice).splitlines())
        self._print(paint.bad(f"! {name:14} {text}", sys.stdout) + "\n" + below)

    def _print(self, text):
        if not self.quiet:
            print(text)


def run(arguments) -> int:
    """Prints what was found; 1 if something that a compile needs is missing."""
    report = _Report(quiet=arguments.json)
    _package(report)
    ran = False
    if report.well:
        compiler = _daemon(report, arguments)
        if compiler is not None and _capabilities(report, compiler):
            ran = _try(report, compiler)
    if arguments.json:
        print(json.dumps({**report.sections, "missing": report.missing, "ran": ran}, indent=2))
    elif not report.well:
        print(paint.bad("something is missing: see the lines marked !", sys.stdout))
    else:
        verdict = "kernels compile and run here" if ran else "nothing is missing; no kernel was tried"
        print(paint.good(verdict, sys.stdout))
    return 0 if report.well else 1


def _package(report):
    from .. import __file__ as place
    from .. import __version__

    report.section("package")
    report.fact("intent", f"{__version__}, {os.path.dirname(place)}")
    report.fact("python", f"{platform.python_version()}, {sys.executable}")
    for name in NEEDED:
        try:
            report.fact(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            report.wrong(name, "not installed", f"pip install {name}")
    for module, advice in (
        (
            "intent._core",
            "the package was not built: pip install ./client/python, or build the target intent_python",
        ),
        (
            "intent_proto.compile.v1.compile_pb2",
            "the package was not built: build the target intent_proto_python",
        ),
    ):
        try:
            importlib.import_module(module)
        except ImportError as error:
            report.wrong(module, str(error), advice)


def _daemon(report, arguments):
    """The daemon that a compile would ask, or None."""
    from .. import embedded
    from ..client import Compiler

    report.section("daemon")
    address = arguments.compiler or os.environ.get("INTENT_COMPILER")
    if address:
        report.fact("address", f"{address} ({'--compiler' if arguments.compiler else 'INTENT_COMPILER'})")
        return Compiler(address, timeout=30)
    try:
        report.fact("program", embedded.find_binary())
        if arguments.no_start:
            address = embedded.running()
            if address is None:
                report.fact("address", "none is running; the first compile starts one")
                return None
        else:
            address = embedded.address()
    except IntentError as error:
        report.wrong("program", error, "")
        return None
    report.fact("address", f"{address} (your own)")
    return Compiler(address, timeout=30)


def _capabilities(report, compiler) -> bool:
    from ..client import PROTOCOL

    try:
        found, config = compiler.capabilities(), compiler.config()
    except IntentError as error:
        report.wrong("reachable", "no", error)
        return False
    report.fact("version", f"{found.version}, compiler {found.fingerprint[:16]}")
    protocol = (
        f"{found.protocol_major}.{found.protocol_minor_min} to {found.protocol_major}.{found.protocol_minor}"
    )
    major, minor = PROTOCOL
    if found.protocol_major == major and found.protocol_minor_min <= minor <= found.protocol_minor:
        report.fact("protocol", f"{protocol}; this package speaks {major}.{minor}")
    else:
        report.wrong(
            "protocol", f"{protocol}, but this package speaks {major}.{minor}", "use a daemon of this version"
        )
    report.fact("compiles for", ", ".join(found.targets))
    if found.HasField("cuda"):
        version, missing = found.cuda.nvrtc_version, found.cuda.missing
        report.fact("cuda", f"NVRTC {version}" if version else f"no: {missing}")
    report.fact("runs", ", ".join(found.execute_targets) or "nothing")
    report.fact("native is", found.host_target)
    devices = [f"{d.index}: {d.name}, {d.architecture}, {d.uuid}" for d in found.cuda_devices]
    report.fact("GPUs", "; ".join(devices) or f"none: {found.cuda_devices_missing}")
    report.fact(
        "sandbox", f"level {found.sandbox_level}" if found.HasField("sandbox_level") else "incomplete"
    )
    report.fact("cache", ", ".join(config.get("cache-dir", [])) or "in memory only")
    return True


TRIAL = """
def trial(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
    out[:] = x[:] * 2.0
"""


def _try(report, compiler) -> bool:
    """Compiles and runs a kernel for the interpreter and for the daemon's own CPU."""
    import numpy as np

    import intent
    import intent.language

    scope: dict = {"I": intent.language}
    exec(TRIAL, scope)
    kernel = intent.kernel(scope["trial"], source=TRIAL)
    report.section("trial")
    for target in (intent.InterpreterTarget(), intent.CpuTarget()):
        try:
            artifact = intent.compile(kernel, compiler=compiler, target=target)
            result = artifact.run(np.arange(4, dtype=np.float32))
        except IntentError as error:
            report.wrong(target.name, error, "the daemon's log says more")
            continue
        if result.tolist() == [0, 2, 4, 6]:
            where = "in this process" if artifact.executes == "local" else "in the service"
            report.fact(target.name, f"ran ({artifact.cache['where']}, {where})")
        else:
            report.wrong(target.name, f"a wrong result: {result.tolist()}", "please report this")
    return report.well
