"""Damaged modules against a live daemon: each is answered, what verifies means the same on the
interpreter and on the CPU, and the daemon is as it was before.

INTENT_MUTATIONS sets how many (10,000 when unset).
"""

import itertools
import os
import re
import struct
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import ml_dtypes
import numpy as np
import pytest
from harness import BUILD, CLIENT, ROOT, compile_pb2, compile_request, execute_pb2

HERE = Path(__file__).parent
MUTATIONS = int(os.environ.get("INTENT_MUTATIONS", "10000"))
WARM_UP = MUTATIONS // 5
SEED = 20261130

UNDECODED, DECODED, VERIFIED = 0, 1, 2  # mutation_corpus.cc

DTYPES = {
    "bool": np.uint8,
    "index": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
} | {f"{s}{b}": np.dtype(f"{'int' if s == 'i' else 'uint'}{b}").type for s in "iu" for b in (8, 16, 32, 64)}
TOLERANCE = {np.float32: 1e-4, np.float64: 1e-9}  # of what may be summed in any order
EXTENTS = (3, 4, 2, 5)  # by symbol
MOST_BYTES = 1 << 19  # of a call's arguments

Opcode = compile_pb2.Instruction
Error = execute_pb2.RunError

# Where the meaning leaves a value open (docs/kir.md): invalid arithmetic input, what no one wrote,
# what two points write.
OPEN = re.compile(
    r"binary (div|floordiv|mod|shl|shr|pow|ipow_trunc|float_floor_div|float_floor_mod)|\bcast|"
    r"bitcast|scatter_unique|buffer :|parallel|approximate|sparse|quantized|histogram"
)


def corpus(program, count):
    """(verdict, bytes) of damaged modules."""
    seeds = sorted((HERE / "hostile").glob("*.kir"))
    data = subprocess.run([program, str(count), str(SEED), *seeds], capture_output=True, check=True).stdout
    modules, at = [], 0
    while at < len(data):
        verdict, size = struct.unpack_from("<BI", data, at)
        modules.append((verdict, data[at + 5 : at + 5 + size]))
        at += 5 + size
    return modules


def evaluate(program, symbols):
    """The number that a program of a manifest computes; None where it uses more than symbols."""
    stack = []
    for step in program.instructions:
        code = step.opcode
        if code == Opcode.OPCODE_CONSTANT:
            stack.append(step.value)
        elif code == Opcode.OPCODE_SYMBOL:
            stack.append(symbols(step.index))
        else:
            right, left = stack.pop(), stack.pop()
            if code in (Opcode.OPCODE_FLOORDIV, Opcode.OPCODE_CEILDIV, Opcode.OPCODE_MOD) and not right:
                return None
            operation = {
                Opcode.OPCODE_ADD: lambda: left + right,
                Opcode.OPCODE_SUB: lambda: left - right,
                Opcode.OPCODE_MUL: lambda: left * right,
                Opcode.OPCODE_FLOORDIV: lambda: left // right,
                Opcode.OPCODE_CEILDIV: lambda: -(-left // right),
                Opcode.OPCODE_MOD: lambda: left % right,
                Opcode.OPCODE_MIN: lambda: min(left, right),
                Opcode.OPCODE_MAX: lambda: max(left, right),
            }.get(code)
            if operation is None:
                return None
            stack.append(operation())
    return stack[0]


def extent_of(axis):
    kind = axis.WhichOneof("extent")
    if kind == "constant":
        return axis.constant
    if kind == "symbol":
        return EXTENTS[axis.symbol % len(EXTENTS)]
    return evaluate(axis.expression, lambda symbol: EXTENTS[symbol % len(EXTENTS)])


def random_array(random, dtype, shape):
    kind = np.dtype(DTYPES[dtype])
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        return random.integers(0, 3, shape).astype(kind)
    return random.uniform(-2, 2, shape).astype(kind)


def make_call(artifact, random):
    """A call of an artifact with arguments that fit its manifest; None where none of a fair size does."""
    manifest = compile_pb2.Manifest.FromString(artifact.manifest)
    request = execute_pb2.ExecuteRequest(client=CLIENT, artifact_id=artifact.id, max_threads=2)
    total, groups = 0, {}
    for position, parameter in enumerate(manifest.parameters):
        if parameter.WhichOneof("kind") == "scalar":
            bits = random_array(random, parameter.scalar.dtype, ()).tobytes()
            request.arguments.add(scalar_bits=int.from_bytes(bits, "little"))
            continue
        view = parameter.view
        shape = [extent_of(axis) for axis in view.axes]
        if any(extent is None or extent < 0 for extent in shape):
            return None
        count = int(np.prod([int(extent) for extent in shape], dtype=object)) if shape else 1
        total += count * np.dtype(DTYPES[view.dtype]).itemsize
        if total > MOST_BYTES:
            return None
        argument = request.arguments.add().view
        argument.extents.extend(shape)
        argument.strides.extend([1] * len(shape))
        for axis in reversed(range(len(shape) - 1)):
            argument.strides[axis] = argument.strides[axis + 1] * max(shape[axis + 1], 1)
        data = random_array(random, view.dtype, shape).tobytes()
        group = view.alias_group if view.HasField("alias_group") else None
        allocation = groups.get(group) if group is not None else None
        if allocation is None:
            allocation = request.allocations.add(id=position, returned=True)
            if group is not None:
                groups[group] = allocation
        argument.allocation = allocation.id
        padding = -len(allocation.data) % 64
        argument.offset = (len(allocation.data) + padding) // np.dtype(DTYPES[view.dtype]).itemsize
        allocation.data += bytes(padding) + (bytes(len(data)) if view.access == compile_pb2.ACCESS_OUT else data)
        allocation.size = len(allocation.data)
    return request


def differ(manifest, request, one, other):
    """What two completed calls disagree about; empty: nothing."""
    first = {a.id: a.data for a in one.completed.allocations}
    second = {a.id: a.data for a in other.completed.allocations}
    for position, (parameter, argument) in enumerate(zip(manifest.parameters, request.arguments)):
        if argument.WhichOneof("kind") != "view":
            continue
        kind = DTYPES[parameter.view.dtype]
        count = int(np.prod(argument.view.extents, dtype=np.int64)) if argument.view.extents else 1
        offset = argument.view.offset * np.dtype(kind).itemsize
        a, b = (
            np.frombuffer(data[argument.view.allocation], kind, count, offset) if count else np.zeros(0, kind)
            for data in (first, second)
        )
        if kind in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
            a, b = a.astype(np.float64), b.astype(np.float64)
            tolerance = TOLERANCE.get(kind, 2e-2)
            with np.errstate(all="ignore"):
                same = np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True).all()
        else:
            same = np.array_equal(a, b) or a.tobytes() == b.tobytes()
        if not same:
            return f"parameter {position}: {a[:8]} and {b[:8]}"
    return ""


def resident(pids):
    """Bytes in memory of each process that is there."""
    sizes = {}
    for pid in pids:
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError, IndexError):
            continue
        sizes[pid] = pages * os.sysconf("SC_PAGESIZE")
    return sizes


class Judge:
    """Sends damaged modules and keeps account of what came back."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.count = Counter()
        self.wrong = []

    def run(self, modules):
        with ThreadPoolExecutor(4) as pool:
            for number, problem in zip(itertools.count(), pool.map(self.judge, itertools.count(), modules)):
                if problem:
                    self.wrong.append(f"{number}: {problem}")

    def judge(self, number, verdict_and_module):
        verdict, module = verdict_and_module
        options = compile_pb2.CompileOptions(opt_level=number % 3)
        cpu = self.compile(compile_request(module, options=options, inline_payloads=["kir"]))
        interp = self.compile(compile_request(module, target="interp"))
        self.count[("undecoded", "decoded", "verified")[verdict]] += 1
        if isinstance(cpu, str) or isinstance(interp, str):
            return f"{cpu} {interp}"
        codes = [d.code for d in interp.diagnostics.diagnostics]
        if interp.HasField("artifact") != (verdict == VERIFIED):
            return f"verdict {verdict}, but the daemon says {codes or 'yes'}"
        if not interp.HasField("artifact"):
            cpu_codes = [d.code for d in cpu.diagnostics.diagnostics]
            return "" if codes and codes == cpu_codes else f"{codes} and {cpu_codes}"
        if not cpu.HasField("artifact"):
            return f"verified, but the CPU says {[d.code for d in cpu.diagnostics.diagnostics]}"
        return self.compare(number, interp.artifact, cpu.artifact)

    def compile(self, request):
        try:
            return self.daemon.compile_service.Compile(request, timeout=60)
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}"

    def execute(self, request, timeout=5):
        try:
            return self.daemon.execute_service.Execute(request, timeout=timeout)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                return None
            return f"{error.code().name}: {error.details()}"

    def compare(self, number, interp, cpu):
        request = make_call(cpu, np.random.default_rng(number))
        if request is None:
            self.count["no arguments"] += 1
            return ""
        other = execute_pb2.ExecuteRequest()
        other.CopyFrom(request)
        other.artifact_id = interp.id
        compiled, meaning = self.execute(request), self.execute(other)
        # A busy machine is no disagreement.
        if compiled is None and meaning is not None:
            compiled = self.execute(request, timeout=60)
        if meaning is None and compiled is not None:
            meaning = self.execute(other, timeout=60)
        for answer in (compiled, meaning):
            if isinstance(answer, str):
                return answer
        self.count["executed"] += 1
        problem = self.disagreement(cpu, request, meaning, compiled)
        text = ""
        if problem:
            import intent._core as core

            text = core.print_module(next(p.data for p in cpu.payloads if p.name == "kir"))
            if OPEN.search(text):
                self.count["left open"] += 1
                return ""
        return problem and f"{problem}\n{text}"

    def disagreement(self, cpu, request, meaning, compiled):
        if meaning is None or compiled is None:
            return "" if meaning is compiled else "one of two does not end"
        failures = [answer.error for answer in (meaning, compiled) if answer.HasField("error")]
        if failures:
            self.count["run errors"] += 1
            if any(error.kind == Error.KIND_NO_MEMORY for error in failures):
                return ""
            if len(failures) == 1:
                return f"one of two fails: {failures[0]}"
            one, other = failures
            if one.kind == other.kind == Error.KIND_OUT_OF_BOUNDS and one.ordinal != other.ordinal:
                return f"different accesses fail: {one} {other}"
            return ""
        return differ(compile_pb2.Manifest.FromString(cpu.manifest), request, meaning, compiled)


@pytest.fixture(scope="module")
def program():
    for path in (BUILD / "tests" / "mutation_corpus", ROOT / "build" / "tests" / "mutation_corpus"):
        if path.exists():
            return path
    pytest.skip("mutation_corpus is not built")


def test_damaged_modules_are_answered_and_what_verifies_agrees(start, program):
    pytest.importorskip("intent._core")
    # A small memory cache: what the daemon keeps for good use is not what this test measures.
    daemon = start("--cache-memory", "1MB", "--executors", "2")
    modules = corpus(program, MUTATIONS)
    judge = Judge(daemon)
    judge.run(modules[:WARM_UP])
    before, front_before = resident(daemon.children()), resident([daemon.process.pid])
    judge.run(modules[WARM_UP:])
    after, front_after = resident(daemon.children()), resident([daemon.process.pid])
    counters = daemon.statistics()
    print(dict(judge.count), before, after, front_before, front_after)

    assert not judge.wrong, f"{len(judge.wrong)} of {MUTATIONS}:\n" + "\n".join(judge.wrong[:10])
    assert sum(judge.count[k] for k in ("undecoded", "decoded", "verified")) == MUTATIONS
    assert judge.count["undecoded"] <= MUTATIONS / 2, "at least half reach the verifier"
    assert judge.count["executed"] >= MUTATIONS / 20
    assert judge.count["left open"] <= judge.count["executed"] / 20
    assert daemon.process.poll() is None
    assert (counters.worker_crashes, counters.executor_crashes, counters.worker_memory_kills) == (0, 0, 0)
    assert max(front_after.values()) <= 1.05 * max(front_before.values())
    assert max(after.values()) <= 1.05 * max(before.values())
