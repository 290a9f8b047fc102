"""The daemon of the user's own: found by every process of the user, started by the first that needs it.

Its socket lies in $XDG_RUNTIME_DIR/intent/<build id>, or in /tmp/intent-<uid>/<build id>; the folder
must belong to the user alone. A lock file settles which process starts it. The daemon is detached
and ends by itself when idle.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

from . import peer
from .errors import ServiceError

IDLE_SECONDS = 900
START_SECONDS = 30.0


def address() -> str:
    """The address of a running daemon; starts one if there is none."""
    binary = find_binary()
    folder = _folder() / _build_id(binary)
    _make_private(folder)
    path = folder / "daemon.sock"
    if not _answers(path):
        _start(binary, folder, path)
    return f"unix:{path}"


def running() -> str | None:
    """The address of the daemon that `address` would give without starting one."""
    path = _folder() / _build_id(find_binary()) / "daemon.sock"
    return f"unix:{path}" if _answers(path) else None


def find_binary() -> Path:
    """intent-compiled: $INTENT_BIN, beside the package, in the build's folder, or on the path."""
    given = os.environ.get("INTENT_BIN")
    package = Path(__file__).resolve().parent
    candidates = [Path(given), Path(given) / "intent-compiled"] if given else []
    candidates += [package / "bin" / "intent-compiled"]
    staged = Path(os.path.abspath(__file__)).parent  # symbolic links of a build kept: <build>/python/intent
    candidates += [staged.parent.parent / "bin" / "intent-compiled"]
    candidates += [parent / "build" / "bin" / "intent-compiled" for parent in package.parents[:5]]
    on_path = shutil.which("intent-compiled")
    candidates += [Path(on_path)] if on_path else []
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    raise ServiceError(
        "there is no compile service and the daemon intent-compiled is not found",
        status="UNAVAILABLE",
        advice="give intent.compile a compiler=intent.Compiler(address), set INTENT_COMPILER to an address, or set "
        "INTENT_BIN to the folder of intent-compiled",
    )


def _build_id(binary: Path) -> str:
    """Names this build of the daemon: another build gets a daemon of its own."""
    facts = binary.stat()
    return hashlib.sha256(f"{binary}\0{facts.st_size}\0{facts.st_mtime_ns}".encode()).hexdigest()[:16]


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir() and os.access(runtime, os.W_OK):
        return Path(runtime) / "intent"
    return Path(f"/tmp/intent-{os.getuid()}")


def _make_private(folder: Path):
    """Makes the folder, or checks that it and its parent are the user's alone."""
    for path in (folder.parent, folder):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            pass
        facts = path.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            raise ServiceError(
                f"{path} must be a folder that belongs to you alone (mode 0700)",
                status="PERMISSION_DENIED",
                advice="remove it, or set XDG_RUNTIME_DIR to a folder of your own",
            )


def _answers(path: Path) -> bool:
    """Whether a daemon of this user accepts connections."""
    uid = peer.uid_of(str(path))
    if uid is None:
        return False
    if uid not in (os.getuid(), 0):
        raise ServiceError(f"the daemon at {path} belongs to another user", status="PERMISSION_DENIED")
    return True


def _start(binary: Path, folder: Path, path: Path):
    lock = os.open(folder / "start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _answers(path):
            return
        path.unlink(missing_ok=True)  # of a daemon that was killed: under the lock nobody else binds it
        log_path = folder / "daemon.log"
        with open(log_path, "ab", opener=lambda p, flags: os.open(p, flags | os.O_NOFOLLOW, 0o600)) as log:
            process = subprocess.Popen(
                [binary, "--listen", f"unix:{path}", "--idle-exit", str(IDLE_SECONDS), *_nvrtc_flags()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if _answers(path):
                process.returncode = 0  # detached: it outlives this process, which does not wait for it
                return
            if process.poll() is not None:
                break
            time.sleep(0.01)
        else:
            process.kill()
            process.wait()
        raise ServiceError(
            f"the daemon {binary} did not start",
            status="UNAVAILABLE",
            advice=f"its log is {log_path}: {_tail(log_path)}",
        )
    finally:
        os.close(lock)


def _nvrtc_flags() -> list[str]:
    """Where the daemon finds NVRTC if it came with a Python package and the machine has none."""
    if os.environ.get("INTENT_NVRTC") or any(Path("/usr/local/cuda/lib64").glob("libnvrtc.so.1[23]")):
        return []
    try:
        namespace = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    found = _nvrtc_in((namespace.submodule_search_locations or ()) if namespace else ())
    return ["--nvrtc", str(found)] if found else []


def _nvrtc_in(folders) -> Path | None:
    """The folder of NVRTC within folders of the packages that NVIDIA makes."""
    for folder in folders:
        for part in ("cu13/lib", "cuda_nvrtc/lib"):
            if any((Path(folder) / part).glob("libnvrtc.so.1[23]")):
                return Path(folder) / part
    return None


def _tail(path: Path) -> str:
    try:
        return path.read_text(errors="replace")[-400:].strip() or "empty"
    except OSError:
        return "unreadable"
