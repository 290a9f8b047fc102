"""Tests here need a GPU: without one they are skipped, out loud."""

import ctypes

import pytest


def missing():
    """What is missing on this machine; empty if nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    count = ctypes.c_int()
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return f"the CUDA driver answers {status}" if status else "" if count.value else "no device is visible"


def pytest_collection_modifyitems(items):
    reason = missing()
    if reason:
        for item in items:
            if "/tests/gpu/" in str(item.path):
                item.add_marker(pytest.mark.skip(reason=f"no GPU: {reason}"))
