"""Cold compile times of the shared cases, worst first.

    build/venv/bin/python tests/bench/compile_times.py [--build DIR] [--cases DIR] [--target NAME] [--worst N]

Starts a daemon of its own with an empty cache; times are the compiler's, without the queue. Nothing is asserted.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("llvm_ir", "llvm_passes", "llvm_codegen")  # of "emit"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--cases", default=str(ROOT.parent / "shared" / "cases"))
    parser.add_argument("--target", default="native")
    parser.add_argument("--worst", type=int, default=5)
    return parser.parse_args()


def main():
    options = arguments()
    sys.path[:0] = [f"{options.build}/python", f"{options.build}/python_proto", options.cases]
    sys.dont_write_bytecode = True
    import run
    from bench import Daemon

    import intent

    rows = []
    with Daemon(options.build) as daemon:
        compiler = intent.Compiler(daemon.address)
        for item in run.collect([options.cases]):
            if item.name.startswith("rejects."):
                continue
            case = item.case()
            artifact = intent.compile(
                case.kernel,
                compiler=compiler,
                target=intent.CpuTarget(options.target),
                constexprs=dict(case.constexprs),
                options=intent.CompileOptions(**case.options),
            )
            stages = artifact.timings
            total = sum(seconds for stage, seconds in stages.items() if stage not in PARTS)
            rows.append((total, item.name, stages))
    rows.sort(key=lambda row: -row[0])
    for total, name, stages in rows[: options.worst]:
        parts = ", ".join(f"{part} {stages.get(part, 0) * 1e3:.0f}" for part in ("lower", *PARTS))
        print(f"{total * 1e3:6.0f} ms  {name:32}  {parts}")
    print(f"{sum(row[0] for row in rows) * 1e3:6.0f} ms  all {len(rows)}")


if __name__ == "__main__":
    main()
