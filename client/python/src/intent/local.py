"""Running CPU artifacts in this process, on the arrays' own memory.

The code is the artifact's shared object. It is taken from a daemon of the user's own only: one at a Unix
socket whose process has the user's uid, asked just before. Code of other daemons, and of files, never runs here.
"""

from __future__ import annotations

import os

from . import marshal
from .errors import ServiceError

PAYLOAD = "shared_object"
CHOICES = ("auto", "local", "remote")


def choice(execute: str | None, default: str) -> str:
    """What a call, else its artifact, else INTENT_EXECUTE says of where to run."""
    for said, by in (
        (execute, "execute"),
        (default, "execute"),
        (os.environ.get("INTENT_EXECUTE"), "INTENT_EXECUTE"),
    ):
        if said and said not in CHOICES:
            raise ValueError(f"{by} is 'auto', 'local' or 'remote', not {said!r}")
        if said and said != "auto":
            return said
    return "auto"


def load(artifact):
    """(the artifact's LocalKernel, "") or (None, why it cannot run in this process)."""
    from . import _core

    if PAYLOAD not in artifact.payload_names:
        return None, f"an artifact for {artifact.target} has no code for this process"
    missing = _core.missing_on_host(artifact.target)
    if missing:
        host = _core.host_target()
        return None, f"the artifact is for {artifact.target}, this host is {host}: it lacks {missing}"
    if not artifact._compiler.is_own():
        return None, f"the daemon at {artifact._compiler.address} is not one of your own on this host"
    if artifact._made.stored:
        artifact.compiled()  # a file's manifest is not to be trusted with memory
    made, code = _code(artifact)
    try:
        return _core.LocalKernel(made.reply.manifest, code, _facts(artifact.parameters)), ""
    except ValueError as error:
        return None, f"this process cannot load the artifact: {error}"


def _code(artifact):
    """What was made, and its shared object as the daemon sent it."""
    for attempt in range(2):
        made = artifact._made
        for payload in made.reply.payloads:
            if payload.name == PAYLOAD and len(payload.data) == payload.size:
                return made, payload.data
        try:
            return made, artifact._compiler.payload(made.reply.id, PAYLOAD)
        except ServiceError as error:
            if error.status != "NOT_FOUND" or attempt:
                raise
        artifact.compiled()
    raise AssertionError("unreachable")


def _facts(parameters) -> list[tuple]:
    """The runtime parameters as the core takes them."""
    from .numbers import carrier_dtype, numpy_dtype

    return [
        (p.dtype,)
        if p.kind == "scalar"
        else (p.dtype, p.access, p.shape, p.alias, numpy_dtype(p.dtype), carrier_dtype(p.dtype))
        for p in parameters
    ]


def bind(artifact, kernel, values):
    """A LocalCall of arguments that needed another look. Raises what is wrong with them."""
    parameters = artifact.parameters
    if len(values) == len(parameters):
        values = [marshal.as_array(p, v) if p.kind == "view" else v for p, v in zip(parameters, values)]
    marshal.lay_out(parameters, values)
    call = kernel.bind(values)
    if type(call) is bytes:
        artifact._fail_as(call)
    if call is NotImplemented:
        raise ValueError("an argument cannot be used in this process; run with execute='remote'")
    return call
