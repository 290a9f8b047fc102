"""An intent-compiled of the demo's own, on a Unix socket in a temporary folder."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import intent

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60


class Daemon:
    """A running daemon; `with` ends it, also when the demo fails."""

    def __init__(self, folder: Path, cache: Path):
        self.log_path = folder / "daemon.log"
        self.address = f"unix:{folder / 'daemon.sock'}"
        program = ROOT / "build" / "bin" / "intent-compiled"
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(
                [program, "--listen", self.address, "--cache-dir", cache],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.compiler = intent.Compiler(self.address)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self._process.poll() is not None:
                raise RuntimeError(f"the daemon ended with status {self._process.returncode}")
            try:
                return self.compiler.capabilities()
            except intent.ServiceError:
                if time.monotonic() > deadline:
                    raise
                self.compiler.close()  # connect anew at once, without the channel's back-off
                time.sleep(0.05)

    def __enter__(self) -> Daemon:
        try:
            self.wait_until_ready()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *failure):
        self._end()

    def _end(self):
        self.compiler.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
