"""What the Python package costs before a kernel runs: its import, the front end, a request that hits.

    build/venv/bin/python tests/bench/frontend.py [--build DIR] [--rounds N] [--profile NAME] [EXAMPLE ...]

The kernels are those of docs/examples. `trace` is the front end on a definition that it has not seen, `compile`
the same with the request to a daemon that holds the artifact in memory, `again` a further compile of the same
definition, and `call` an exchange of bytes alone. Lines are those of the kernel and its helpers, without empty
ones. Each figure is the best of its rounds, in ms; nothing is asserted.
"""

import argparse
import cProfile
import gc
import importlib.util
import pstats
import subprocess
import sys
import time
from pathlib import Path

from bench import Daemon

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("optimizers", "viterbi", "cross_entropy", "attention")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", nargs="*", default=EXAMPLES, metavar="EXAMPLE")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--profile", metavar="EXAMPLE", help="print where the front end's time goes, and stop")
    return parser.parse_args()


def best_ms(action, rounds):
    times = []
    for _ in range(rounds):
        prepared = action()
        gc.collect()
        start = time.perf_counter()
        prepared()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def definitions(name):
    """The kernels of an example, defined anew: no trace of them is kept."""
    import intent
    from intent.kernel import Kernel

    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [value for value in vars(module).values() if isinstance(value, Kernel)], intent


def bindings(kernel):
    """Some value for each constexpr that has no default."""
    from intent.frontend import signature

    def some(kind):
        return {int: 8, float: 1.0, bool: True}.get(kind) or next(iter(kind))

    found = [p for p in signature.read(kernel) if p.kind == "constexpr" and p.default is None]
    return {p.name: some(p.type) for p in found}


def imports(python, path, rounds):
    def started(text):
        command = [python, "-c", f"import sys; sys.path[:0] = {path!r}; {text}"]
        return best_ms(lambda: lambda: subprocess.run(command, check=True), rounds)

    bare = started("pass")
    for name, text in (
        ("intent and its language", "import intent, intent.language"),
        ("what a compile loads", "import intent.compiling, intent.client"),
    ):
        print(f"import: {name:32} {started(text) - bare:9.1f} ms")


def rows(compiler, names, rounds):
    def call():
        compiler.config()

    print(f"{'call: an exchange of bytes':40} {best_ms(lambda: call, rounds):9.2f} ms\n")
    print(f"{'kernel':40} {'lines':>6} {'trace ms':>9} {'compile ms':>11} {'again ms':>9}")
    for name in names:
        kernels, intent = definitions(name)
        for position, kernel in enumerate(kernels):
            constexprs = bindings(kernel)

            def fresh():
                return definitions(name)[0][position]

            def trace():
                one = fresh()
                return lambda: intent.lower(one, constexprs=constexprs)

            def compiled(one=None):
                one = one or fresh()
                return lambda: intent.compile(one, compiler=compiler, constexprs=constexprs)

            compiled(kernel)()
            sources = intent.lower(kernel, constexprs=constexprs).sources
            lines = sum(bool(line.strip()) for source in sources for line in source.lines)
            figures = [best_ms(action, rounds) for action in (trace, compiled, lambda: compiled(kernel))]
            print(f"{name + '.' + kernel.name:40} {lines:6} {figures[0]:9.2f} {figures[1]:11.2f} {figures[2]:9.2f}")


def profile(name, rounds):
    profiler = cProfile.Profile()
    for _ in range(rounds):
        kernels, intent = definitions(name)
        for kernel in kernels:
            constexprs = bindings(kernel)
            profiler.enable()
            intent.lower(kernel, constexprs=constexprs)
            profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(35)


def main():
    options = arguments()
    path = [f"{options.build}/python", f"{options.build}/python_proto"]
    sys.path[:0] = [*path, str(ROOT / "docs" / "examples")]
    if options.profile:
        profile(options.profile, options.rounds)
        return
    import intent

    imports(sys.executable, path, options.rounds)
    with Daemon(options.build) as daemon:
        rows(intent.Compiler(daemon.address), options.examples, options.rounds)


if __name__ == "__main__":
    main()
