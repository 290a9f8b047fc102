"""What the assembler makes of kernels for CUDA: a table of registers, occupancy and instructions by kind.

    build/venv/bin/python tests/bench/sass_table.py [--build DIR] [--nvrtc PATH] [--arch NAME] [--tools DIR] [--keep DIR] [KERNEL ...]

Needs no GPU, but `cuobjdump` and `nvdisasm` of a toolkit. Compiles kernels of `tests/bench/gpu/kernels.py` and counts
for each entry: the whole, and the loops in which memory is touched, innermost first. A loop is what lies between a
branch backwards and its target. Nothing is asserted.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = ["softmax", "layer_norm", "row_sums", "arg_max", "softmax_bf16", "layer_norm_bf16"]
KINDS = {
    "memory": r"(LD|ST|ATOM|RED)\w*",
    "shuffle": r"SHFL|REDUX|VOTE|MATCH",
    "barrier": r"BAR|WARPSYNC|DEPBAR|MEMBAR|ERRBAR",
    "float": r"FADD|FMUL|FFMA|FMNMX\w*|FSEL|FSETP|FSET|FCHK|MUFU|DADD|DMUL|DFMA|DSETP|F2F\w*|I2F\w*|F2I\w*|H\w+2\w*",
    "branch": r"BRA|BRX|BSSY|BSYNC|BREAK|CALL|RET|EXIT|JMP|YIELD|NOP|BMOV|WARPSYNC",
    "predicate": r"ISETP|PLOP3|P2R|R2P|PSETP",
}
REGISTERS, THREADS, MOST_THREADS = 65536, 256, 2048


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--nvrtc", default="/usr/local/cuda/lib64/libnvrtc.so.13")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--tools", default="/usr/local/cuda/bin", help="the folder of cuobjdump and nvdisasm")
    parser.add_argument("--keep", help="a folder for sources, cubins and their disassembly")
    parser.add_argument("kernels", nargs="*", default=ROWS)
    return parser.parse_args()


def kind_of(opcode):
    """The kind of an instruction; arithmetic on integers, moves and the rest are "integer"."""
    name = opcode.split(".")[0]
    return next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, name)), "integer")


def entries(disassembly):
    """Of each entry, its instructions as (label or None, opcode, target or None)."""
    found, lines, label = {}, None, None
    for line in disassembly.splitlines():
        if header := re.match(r"\.text\.(\w+):", line):
            lines = found.setdefault(header[1], [])
        elif mark := re.match(r"(\.L_x_\d+):", line):
            label = mark[1]
        elif lines is not None and (code := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)", line)):
            target = re.search(r"\((\.L_x_\d+)\)", code[2])
            lines.append((label, code[1], target and target[1]))
            label = None
    return found


def loops(lines):
    """Ranges between backward branches and their targets, shortest first; one for each target."""
    place = {label: at for at, (label, _, _) in enumerate(lines) if label}
    longest = {}
    for at, (_, opcode, target) in enumerate(lines):
        if opcode.startswith("BRA") and target in place and place[target] < at:
            longest[place[target]] = at
    return sorted(longest.items(), key=lambda loop: loop[1] - loop[0])


def counts(lines):
    """How many instructions there are of each kind, and of 16 bytes a thread to or from memory."""
    row = dict.fromkeys(["all", *KINDS, "integer", "wide"], 0)
    for _, opcode, _ in lines:
        row["all"] += 1
        row[kind_of(opcode)] += 1
        row["wide"] += opcode.startswith(("LDG", "STG", "LD.", "ST.")) and ".128" in opcode
    return row


def report(name, lines, usage):
    """Rows of the table: the entry, then its loops."""
    registers, stack = usage
    blocks = min(REGISTERS // (-(-registers // 8) * 8 * THREADS), MOST_THREADS // THREADS)
    columns = ["all", *KINDS, "integer", "wide"]
    print(f"{name}: {registers} registers, {stack} bytes of stack, {blocks} blocks of {THREADS} a multiprocessor")
    print(f"  {'':28}" + "".join(f"{column:>10}" for column in columns))

    def row(title, part):
        of = counts(part)
        print(f"  {title:28}" + "".join(f"{of[column]:>10}" for column in columns))

    row("whole", lines)
    for begin, end in loops(lines):
        part = lines[begin : end + 1]
        if counts(part)["memory"] and end > begin:
            row(f"loop at {begin}", part)


def main():
    options = arguments()
    sys.path[:0] = [f"{options.build}/python", f"{options.build}/python_proto"]
    from bench import Daemon

    sys.path.append(str(ROOT / "tests/bench/gpu"))
    import kernels

    import intent

    folder = Path(options.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    tool = lambda name, *flags: subprocess.run(  # noqa: E731
        [f"{options.tools}/{name}", *flags], check=True, capture_output=True, text=True
    ).stdout
    with Daemon(options.build, "--cuda-workers", "1", "--nvrtc", options.nvrtc) as daemon:
        compiler = intent.Compiler(daemon.address)
        for name in options.kernels:
            artifact = intent.compile(
                getattr(kernels, name),
                compiler=compiler,
                target=intent.CudaTarget(options.arch),
                options=intent.CompileOptions(keep_source=True),
            )
            cubin = folder / f"{name}.cubin"
            cubin.write_bytes(artifact.cubin)
            (folder / f"{name}.cu").write_text(artifact.source)
            disassembly = tool("nvdisasm", "-c", str(cubin))
            (folder / f"{name}.sass").write_text(disassembly)
            used = tool("cuobjdump", "-res-usage", str(cubin))
            usage = {
                entry: (int(registers), int(stack))
                for entry, registers, stack in re.findall(r"Function (\w+):\s+REG:(\d+) STACK:(\d+)", used)
            }
            for entry, lines in entries(disassembly).items():
                report(f"{name}, {entry}", lines, usage[entry])


if __name__ == "__main__":
    main()
