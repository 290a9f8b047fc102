"""Whether this machine has a GPU, asked of the driver."""

import ctypes


def missing():
    """What is missing; empty if nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    count = ctypes.c_int()
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return f"the CUDA driver answers {status}" if status else "" if count.value else "no device is visible"
