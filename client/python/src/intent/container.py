"""Artifacts in files.

A file is MAGIC, a u32 version, a u32 number of sections, the sections, and SHA-256 over all of that.
A section is a u16 length and a name in ASCII, then a u64 length and bytes; integers are little endian.
Sections: "facts" (JSON: names and types of the author's), "request" (an intent.compile.v1.CompileRequest:
module, source map, bindings, options), "artifact" (an intent.compile.v1.Artifact: id, manifest, times)
and "payload:NAME" for each payload.

A file is untrusted: it is checked as a whole before anything is made of it, its machine code never
enters this process, and what a service receives of it the service checks again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import tempfile
from pathlib import Path

from . import dtypes
from .artifact import Artifact
from .errors import Diagnostic, LoadError, Note
from .frontend.signature import Parameter
from .generated import Generated, Made

MAGIC = b"INTENT ARTIFACT\n"
VERSION = 1
MAX_BYTES = 1 << 30
MAX_SECTIONS = 64
MAX_NAME = 64

_HEADER = struct.Struct("<II")
_DIGEST = hashlib.sha256().digest_size
_KINDS = {"artifact": Artifact, "generated": Generated}


def save(artifact: Generated, path) -> None:
    """Writes the file, whole or not at all. Fetches what the service still has of the artifact."""
    payloads = {f"payload:{name}": artifact.payload(name) for name in artifact.payload_names}
    made = artifact._made
    request = type(artifact._request)()
    request.CopyFrom(artifact._request)
    request.ClearField("client")
    request.ClearField("inline_payloads")
    request.target = artifact.target  # what "native" was: another host shall not make something else of it
    reply = type(made.reply)()
    reply.CopyFrom(made.reply)
    for payload in reply.payloads:
        payload.ClearField("data")
    sections = {
        "facts": json.dumps(_facts(artifact), separators=(",", ":")).encode(),
        "request": request.SerializeToString(deterministic=True),
        "artifact": reply.SerializeToString(deterministic=True),
        **payloads,
    }
    path = Path(path)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(_encode(sections))
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def load(path, *, compiler=None, exact: bool = True) -> Artifact:
    """The artifact of a file that `artifact.save` wrote.

    Its source, KIR, report, timings and machine code are those that were saved; no service is needed
    to look at them. Its first call has the service of `compiler` (as in `intent.compile`) compile the
    stored request, usually a hit, and raises ServiceError if the result is not the saved artifact:
    then that service's compiler is of another version. With `exact=False` what it makes is taken.

    Raises LoadError if the file is damaged, forged beyond its digest, or of a version not known here.
    """
    sections = _decode(_read(Path(path)))
    try:
        return _restore(sections, compiler, exact)
    except LoadError:
        raise
    except Exception as error:  # whatever a parser makes of bytes that are not its own
        raise LoadError(f"{path}: {type(error).__name__}: {error}") from None


def _facts(artifact) -> dict:
    parameters = [
        {
            "name": p.name,
            "kind": p.kind,
            "line": p.line,
            "column": p.column,
            "dtype": p.dtype,
            "access": p.access,
            "shape": list(p.shape),
            "alias": p.alias,
            "noalias": p.noalias,
        }
        for p in artifact._trace.parameters
        if p.kind != "constexpr"
    ]
    kind = "artifact" if isinstance(artifact, Artifact) else "generated"
    kernel = artifact._kernel
    return {
        "kind": kind,
        "kernel": kernel.name,
        "file": kernel.file,
        "parameters": parameters,
        "ordinals": artifact._own_ordinals(),
    }


def _encode(sections: dict) -> bytes:
    parts = [MAGIC, _HEADER.pack(VERSION, len(sections))]
    for name, data in sections.items():
        raw = name.encode("ascii")
        parts += [struct.pack("<H", len(raw)), raw, struct.pack("<Q", len(data)), data]
    body = b"".join(parts)
    if len(body) + _DIGEST > MAX_BYTES:
        raise ValueError(f"the artifact has {len(body)} bytes; files hold at most {MAX_BYTES}")
    return body + hashlib.sha256(body).digest()


def _read(path: Path) -> bytes:
    with open(path, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise LoadError(f"{path} is not a regular file")
        if facts.st_size > MAX_BYTES:
            raise LoadError(f"{path} has {facts.st_size} bytes; artifacts have at most {MAX_BYTES}")
        return file.read(MAX_BYTES + 1)


def _decode(data: bytes) -> dict:
    if not data.startswith(MAGIC):
        raise LoadError("the file is not a saved artifact")
    at = len(MAGIC) + _HEADER.size
    if len(data) < at + _DIGEST:
        raise LoadError("the file is cut short")
    version, count = _HEADER.unpack_from(data, len(MAGIC))
    if version != VERSION:
        raise LoadError(f"the file has version {version}; this package reads version {VERSION}")
    end = len(data) - _DIGEST
    if hashlib.sha256(data[:end]).digest() != data[end:]:
        raise LoadError("the file is damaged: its digest does not match")
    if count > MAX_SECTIONS:
        raise LoadError(f"the file has {count} sections; at most {MAX_SECTIONS} are read")

    def take(size):
        nonlocal at
        if size > end - at:
            raise LoadError("a section of the file is cut short")
        at += size
        return data[at - size : at]

    sections = {}
    for _ in range(count):
        size = int.from_bytes(take(2), "little")
        name = take(size)
        content = take(int.from_bytes(take(8), "little"))
        if size > MAX_NAME or not name.isascii() or name in sections:
            raise LoadError("a section of the file has no proper name of its own")
        sections[name] = content
    if at != end:
        raise LoadError("the file goes on behind its sections")
    return {name.decode("ascii"): content for name, content in sections.items()}


def _restore(sections, compiler, exact):
    from intent_proto.compile.v1 import compile_pb2
    from intent_proto.kir.v1 import kir_pb2

    from .client import client_info

    missing = [name for name in ("facts", "request", "artifact") if name not in sections]
    if missing:
        raise LoadError(f"the file has no section {missing[0]!r}")
    request = compile_pb2.CompileRequest.FromString(sections["request"])
    request.client.CopyFrom(client_info())
    reply = compile_pb2.Artifact.FromString(sections["artifact"])
    payloads = {
        name.removeprefix("payload:"): data for name, data in sections.items() if name.startswith("payload:")
    }
    if len(payloads) + 3 != len(sections):
        raise LoadError("the file has a section that is not known here")
    if len(reply.payloads) != len(payloads) or any(
        p.data or len(payloads.get(p.name, b"")) != p.size or p.name not in payloads for p in reply.payloads
    ):
        raise LoadError("the payloads of the file are not those of its artifact")
    if len(reply.id) != _DIGEST:
        raise LoadError("the artifact of the file has no id")
    made = Made(reply, payloads, stored=True)
    if request.target != made.manifest.target:
        raise LoadError("the target of the file's request is not that of its artifact")
    facts = _Facts(json.loads(sections["facts"].decode()))
    _check_parameters(facts.parameters, made.manifest)
    source_map = kir_pb2.SourceMap.FromString(request.source_map)
    trace = StoredTrace(facts.parameters, source_map)
    kernel = StoredKernel(facts.kernel, facts.file)
    artifact = facts.kind(kernel, trace, compiler, request, made)
    artifact._ordinals = facts.ordinals
    artifact._required = reply.id if exact else None
    return artifact


class _Facts:
    """What the section "facts" says, checked."""

    def __init__(self, facts):
        self.kind = _KINDS[_text(facts["kind"])]
        self.kernel = _text(facts["kernel"])
        self.file = _text(facts["file"])
        self.parameters = tuple(_parameter(p) for p in _list(facts["parameters"]))
        self.ordinals = [_number(n) for n in _list(facts["ordinals"])]


def _parameter(facts) -> Parameter:
    kind, dtype = _text(facts["kind"]), dtypes.dtype(_text(facts["dtype"])).name
    name, line, column = _text(facts["name"]), _number(facts["line"]), _number(facts["column"])
    if not name.isidentifier():
        raise LoadError(f"{name!r} cannot be the name of a parameter")
    if kind == "scalar":
        return Parameter(name, kind, line, column, None, dtype=dtype)
    access, alias, noalias = _text(facts["access"]), facts["alias"], facts["noalias"]
    shape = tuple(s if isinstance(s, str) else _number(s) for s in _list(facts["shape"]))
    if kind != "view" or access not in ("In", "Out", "InOut") or not isinstance(noalias, bool):
        raise LoadError(f"the parameter {name!r} is of a kind that is not known here")
    if alias is not None:
        alias = _text(alias)
    return Parameter(
        name, kind, line, column, None, dtype=dtype, access=access, shape=shape, alias=alias, noalias=noalias
    )


def _check_parameters(parameters, manifest):
    """What the author wrote must be what the artifact takes."""
    if len(parameters) != len(manifest.parameters):
        raise LoadError("the parameters of the file are not those of its artifact")
    for parameter, made in zip(parameters, manifest.parameters):
        kind = made.WhichOneof("kind")
        same = parameter.kind == kind and parameter.dtype == getattr(made, kind).dtype
        if same and kind == "view":
            access = {0: "In", 1: "Out", 2: "InOut"}.get(made.view.access)
            constants = [a.constant if a.WhichOneof("extent") == "constant" else None for a in made.view.axes]
            same = parameter.access == access and len(parameter.shape) == len(constants)
            same = same and all(
                extent == constant
                for extent, constant in zip(parameter.shape, constants)
                if constant is not None
            )
        if not same:
            raise LoadError(f"the parameter {parameter.name!r} of the file is not that of its artifact")


def _text(value) -> str:
    if not isinstance(value, str):
        raise LoadError(f"text is needed where the file has {type(value).__name__}")
    return value


def _number(value) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise LoadError("a natural number is needed where the file has something else")
    return value


def _list(value) -> list:
    if not isinstance(value, list):
        raise LoadError(f"a list is needed where the file has {type(value).__name__}")
    return value


class StoredKernel:
    """Stands for the kernel of a loaded artifact: its name and its file, without its text."""

    def __init__(self, name: str, file: str):
        self.name = name
        self.file = file

    def source_line(self, line: int) -> str:
        return ""


class StoredTrace:
    """Stands for the trace of a loaded artifact's kernel: parameters, and places of operations."""

    def __init__(self, parameters: tuple, source_map):
        self.parameters = parameters
        self._map = source_map  # an intent.kir.v1.SourceMap

    def place(self, ordinal: int | None) -> tuple[str, int, int, int, int]:
        """As `frontend.Trace.place`."""
        if ordinal is None or ordinal >= len(self._map.spans):
            return "", 0, 0, 0, 0
        span = self._map.spans[ordinal]
        known = span.line and span.file < len(self._map.files)
        file = self._map.files[span.file] if known else ""
        return file, span.line, span.column, span.end_line, span.end_column

    def diagnostic(self, code, message, ordinal, notes=(), severity="error") -> Diagnostic:
        """As `frontend.Trace.diagnostic`, without lines of source."""
        file, line, column, end_line, end_column = self.place(ordinal)
        found = []
        for text, at in notes:
            note_file, note_line, note_column, _, _ = self.place(at)
            found.append(Note(text, note_file, note_line, note_column))
        return Diagnostic(code, message, file, line, column, end_line, end_column, severity, tuple(found))
