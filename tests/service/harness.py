"""A daemon of one's own, modules to send to it, and requests in their wire form."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("INTENT_BUILD", "build"))
if not BUILD.is_absolute():
    BUILD = ROOT / BUILD
sys.path.insert(0, str(BUILD / "python_proto"))
# The daemon whose workers can be made to fail, where it is built.
DAEMON = BUILD / "failpoints" / "bin" / "intent-compiled"
if not DAEMON.exists():
    DAEMON = BUILD / "bin" / "intent-compiled"

import grpc
import numpy as np
from intent_proto.admin.v1 import admin_pb2, admin_pb2_grpc
from intent_proto.compile.v1 import compile_pb2, compile_pb2_grpc
from intent_proto.execute.v1 import execute_pb2, execute_pb2_grpc

CLIENT = compile_pb2.ClientInfo(protocol_major=1, protocol_minor=0, producer="service-tests")

Where = compile_pb2.CacheInfo


class Daemon:
    """An intent-compiled in `folder`; `failpoint` sets what its workers do wrong."""

    def __init__(self, folder, *flags, cache=None, environment=None):
        self.folder = Path(folder)
        self.socket = self.folder / "socket"
        self.log_path = self.folder / "log"
        self._failpoints = self.folder / "failpoints"
        self._failpoints.write_text("")
        environment = {**os.environ, "INTENT_FAILPOINT": f"@{self._failpoints}", **(environment or {})}
        self.cache = Path(cache if cache is not None else self.folder / "cache")
        command = [
            DAEMON,
            "--listen",
            f"unix:{self.socket}",
            "--cache-dir",
            str(self.cache),
            "--workers",
            "2",
            *flags,
        ]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.channel = grpc.insecure_channel(
            f"unix:{self.socket}",
            options=[
                ("grpc.max_send_message_length", -1),
                ("grpc.max_receive_message_length", -1),
                # A connection of its own, not one that a daemon which has died left at this address.
                ("grpc.use_local_subchannel_pool", 1),
            ],
        )
        self.compile_service = compile_pb2_grpc.CompileServiceStub(self.channel)
        self.execute_service = execute_pb2_grpc.ExecuteServiceStub(self.channel)
        self.admin_service = admin_pb2_grpc.AdminServiceStub(self.channel)
        self._wait_until_ready()

    def _wait_until_ready(self):
        """Waits for an answer: a channel that is merely watched can go idle unseen, and stays so."""
        answer = self.admin_service.GetCapabilities.future(
            admin_pb2.GetCapabilitiesRequest(), timeout=60, wait_for_ready=True
        )
        while not answer.done():
            assert self.process.poll() is None, f"the daemon has ended: {self.log()}"
            time.sleep(0.01)
        assert answer.code() == grpc.StatusCode.OK, f"the daemon does not answer: {answer}: {self.log()}"

    def log(self):
        return self.log_path.read_text(errors="replace")

    def failpoint(self, setting=""):
        self._failpoints.write_text(setting)

    def has_failpoints(self):
        return "failpoints" in self.capabilities().features

    def compile(self, module, timeout=60, **fields):
        return self.compile_service.Compile(compile_request(module, **fields), timeout=timeout)

    def capabilities(self):
        return self.admin_service.GetCapabilities(admin_pb2.GetCapabilitiesRequest())

    def statistics(self):
        """The counters, once no request is in flight any more."""
        deadline = time.monotonic() + 10
        while True:
            counters = self.admin_service.GetStatistics(admin_pb2.GetStatisticsRequest())
            if counters.in_flight == 0 or time.monotonic() > deadline:
                return counters
            time.sleep(0.01)

    def children(self):
        """Process ids of the zygote and of what it forked."""
        found, pending = [], [self.process.pid]
        while pending:
            parent = pending.pop()
            for task in Path(f"/proc/{parent}/task").glob("*/children"):
                children = [int(pid) for pid in task.read_text().split()]
                found += children
                pending += children
        return found

    def terminate(self, timeout=30):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def close(self):
        self.channel.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def compile_request(module, target="native", **fields):
    return compile_pb2.CompileRequest(client=CLIENT, module=module, target=target, **fields)


def intentc(*arguments, check=True, environment=None):
    return subprocess.run(
        [BUILD / "bin" / "intentc", *map(str, arguments)],
        check=check,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        timeout=120,
    )


def encode(folder, text, name="module"):
    """The serialised form of a textual module."""
    source, output = Path(folder) / f"{name}.kir", Path(folder) / f"{name}.bin"
    source.write_text(text)
    intentc("encode", source, "-o", output)
    return output.read_bytes()


def chain_text(number):
    """y = a chain of ten operations on x, picked by the bits of `number`: 1024 different kernels."""
    lines = ["kernel (%x: view<in, f32, [s0]>, %y: view<out, f32, [s0]>) {", "  %v0 = view_load %x [:] : tensor<f32, [s0]>"]
    for bit in range(10):
        operation = "mul" if number >> bit & 1 else "add"
        lines.append(f"  %v{bit + 1} = binary {operation} %v{bit}, %v0 : tensor<f32, [s0]>")
    return "\n".join([*lines, "  view_store %y [:] = %v10", "  return", "}", ""])


def chain_result(number, x):
    value = x
    for bit in range(10):
        value = value * x if number >> bit & 1 else value + x
    return value


BAD_TEXT = """kernel (%a: view<in, f32, [4, 6]>, %y: view<out, f32, [5, 5]>) {
  %x = view_load %a [:, :] : tensor<f32, [4, 6]>
  %z = reshape %x : tensor<f32, [5, 5]>
  view_store %y [:, :] = %z
  return
}
"""

ENDLESS_TEXT = """kernel (%x: view<in, bool, []>, %y: view<out, bool, []>) {
  %a = view_load %x [] : bool
  %b = while (%c = %a : bool) {
    yield %c
  } do (%d : bool) {
    yield %d
  } : tuple<bool>
  %e = extract %b axis 0 : bool
  view_store %y [] = %e
  return
}
"""


def contiguous(shape):
    strides, stride = [], 1
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride *= max(extent, 1)
    return strides


def execute_request(artifact_id, inputs, outputs, streamed=False):
    """A call with one allocation per array: inputs first, then zero-filled outputs that come back."""
    request = execute_pb2.ExecuteRequest(client=CLIENT, artifact_id=artifact_id)
    for position, array in enumerate([*inputs, *outputs]):
        allocation = request.allocations.add(id=position, size=array.nbytes)
        if position >= len(inputs):
            allocation.zero.SetInParent()
            allocation.returned = True
        elif streamed:
            allocation.streamed.SetInParent()
        else:
            allocation.data = array.tobytes()
        view = request.arguments.add().view
        view.allocation = position
        view.extents.extend(array.shape)
        view.strides.extend(contiguous(array.shape))
    return request


def execute(daemon, artifact_id, inputs, outputs, timeout=60):
    """Runs a call inline and fills `outputs`; returns the response."""
    response = daemon.execute_service.Execute(execute_request(artifact_id, inputs, outputs), timeout=timeout)
    for item in response.completed.allocations:
        array = outputs[item.id - len(inputs)]
        array[...] = np.frombuffer(item.data, array.dtype).reshape(array.shape)
    return response


def status_of(call, *arguments, **keywords):
    """The status code and message of a call that must fail."""
    try:
        call(*arguments, **keywords)
    except grpc.RpcError as error:
        return error.code(), error.details(), dict(error.trailing_metadata() or ())
    raise AssertionError("the call should have failed")


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_gone(pids, seconds=10):
    deadline = time.monotonic() + seconds
    while not all(gone(pid) for pid in pids):
        assert time.monotonic() < deadline, "processes are left"
        time.sleep(0.02)
