"""Awaiting what waits for the service: such calls run in threads of the package's own."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor

THREADS = 64  # they wait far more than they work

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def _after_fork():
    global _lock, _pool
    _lock, _pool = threading.Lock(), None  # the parent's threads are not here


os.register_at_fork(after_in_child=_after_fork)


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(THREADS, "intent")
        return _pool


async def call(function, *args, **keywords):
    """What the function returns or raises, called in another thread with the caller's context."""
    context = contextvars.copy_context()
    work = functools.partial(context.run, function, *args, **keywords)
    return await asyncio.get_running_loop().run_in_executor(_threads(), work)
