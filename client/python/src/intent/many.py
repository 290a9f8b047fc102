"""Many kernels at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from . import client, compiling
from .artifact import Artifact
from .errors import CompileError, CompileErrors, ServiceError


def compile_many(
    kernels: Iterable,
    *,
    compiler=None,
    target=None,
    options=None,
    progress: bool | Callable[[int, int, str], object] = False,
) -> list[Artifact]:
    """Compile kernels side by side; gives their artifacts in order.

    Each item is a kernel, a kernel specialised with `kernel.specialize(...)`, or a pair of one and a
    mapping of constexprs. `progress=True` draws a bar on the standard error stream; a function is
    called as progress(done, total, name).

    Raises CompileErrors if there are mistakes in any kernel, after all have been tried, and
    ServiceError where only the service failed.
    """
    items = [item if isinstance(item, tuple) else (item, None) for item in kernels]
    report = _Progress(progress, len(items))
    errors: dict[int, Exception] = {}
    prepared: dict[int, Artifact] = {}
    for position, (kernel, constexprs) in enumerate(items):
        try:
            prepared[position] = compiling.prepare(Artifact, kernel, target, constexprs, options)
        except CompileError as error:
            errors[position] = error
            report.done(kernel)
    if prepared:
        service = client.resolve(compiler)
        positions = list(prepared)
        requests = [prepared[position].at(service)._request for position in positions]
        outcomes = service.compile_many(requests, lambda i: report.done(items[positions[i]][0]))
        for position, outcome in zip(positions, outcomes):
            try:
                if isinstance(outcome, ServiceError):
                    raise outcome
                prepared[position]._take(outcome)
            except (CompileError, ServiceError) as error:
                errors[position] = error
    if errors:
        failed = sorted(errors.items())
        if not any(isinstance(error, CompileError) for error in errors.values()):
            raise failed[0][1]
        raise CompileErrors(failed, [None if i in errors else prepared[i] for i in range(len(items))])
    return [prepared[position] for position in range(len(items))]


class _Progress:
    """Counts what is done and tells it."""

    WIDTH = 30

    def __init__(self, progress, total: int):
        self._tell = progress if callable(progress) else self._draw if progress else None
        self._total = total
        self._done = 0

    def done(self, kernel):
        self._done += 1
        if self._tell:
            self._tell(self._done, self._total, kernel.name)

    def _draw(self, done, total, name):
        filled = "#" * (self.WIDTH * done // total)
        line = f"[{filled:<{self.WIDTH}}] {done}/{total} {name}"
        if sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr)
