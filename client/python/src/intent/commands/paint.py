"""Colours for a terminal: none where the output goes elsewhere, or where NO_COLOR or TERM=dumb ask for none."""

from __future__ import annotations

import os
import re

_RED, _GREEN, _CYAN = 31, 32, 36

_HEADING = re.compile(r"^(\S*:\d+:\d+: )?((?:error|warning) E\d+:)", re.MULTILINE)
_CARET = re.compile(r"^( +\| *)(\^~*)$", re.MULTILINE)
_NOTE = re.compile(r"^( +)(note:)", re.MULTILINE)


def wanted(stream) -> bool:
    """Whether text for this stream has colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream.isatty()


def _painted(text: str, colour: int) -> str:
    return f"\x1b[1;{colour}m{text}\x1b[0m"


def diagnostics(text: str, stream) -> str:
    """The text of diagnostics: their codes, carets and notes stand out."""
    if not wanted(stream):
        return text
    text = _HEADING.sub(lambda match: (match[1] or "") + _painted(match[2], _RED), text)
    text = _CARET.sub(lambda match: match[1] + _painted(match[2], _GREEN), text)
    return _NOTE.sub(lambda match: match[1] + _painted(match[2], _CYAN), text)


def good(text: str, stream) -> str:
    """What is as it should be."""
    return _painted(text, _GREEN) if wanted(stream) else text


def bad(text: str, stream) -> str:
    """What is missing or wrong."""
    return _painted(text, _RED) if wanted(stream) else text
