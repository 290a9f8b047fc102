# The extension module of client/python/core: its classes are the core's own, and are not typed here.
from typing import Any

def __getattr__(name: str) -> Any: ...
