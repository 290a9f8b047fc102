"""Who is at the other end of a Unix socket."""

from __future__ import annotations

import socket


def path_of(address: str) -> str | None:
    """The path of a gRPC address that names a Unix socket."""
    if not address.startswith("unix:"):
        return None
    path = address.removeprefix("unix:")
    return path.removeprefix("//") if path.startswith("///") else path


def uid_of(path: str) -> int | None:
    """The user whose process accepts connections at a path; None if none does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(path)
        except OSError:
            return None
        peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # pid, uid, gid
    return int.from_bytes(peer[4:8], "little")
