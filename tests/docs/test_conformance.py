"""docs/conformance.md has a row for every chapter, and every row names tests that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "conformance.md"

# Chapters of seed 000, and of language.md by an L before the number.
SEED = "1 2 3 4 5 5.1 5.2 5.3 5.4 5.5 5.6 6 7 8 9 10 11 12 13".split()
LANGUAGE = "L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 L11 L12 L13 L14 L15 L16".split()

SECTIONS = {"run": ROOT / "tests" / "conformance" / "run", "kir": ROOT / "tests" / "kir"}


def rows():
    """(line number, cells) of every row of a table."""
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        if line.startswith("|") and not re.fullmatch(r"[|\- ]+", line):
            yield number, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def proofs():
    return [(number, cells) for number, cells in rows() if cells[0]]


def google_tests():
    """Suite.Name of every GoogleTest."""
    names = set()
    for folder in ("compiler", "cache", "server", "client", "tests"):
        for path in (ROOT / folder).rglob("*.cc"):
            for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", path.read_text(), re.MULTILINE):
                names.add(f"{suite}.{name}")
    return names


def titles(folder, file):
    path = SECTIONS[folder] / file
    return re.findall(r"^// --- (.*)$", path.read_text(), re.MULTILINE) if path.is_file() else []


def python_tests(file):
    path = ROOT / file
    if not path.is_file():
        return set()
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def problem(reference, known):
    """What is wrong with the name of a test; None: it exists."""
    if match := re.fullmatch(r"(run|kir)/(\w+\.kir): (.+)", reference):
        folder, file, title = match.groups()
        found = titles(folder, file)
        if title.endswith("…"):
            found = [t for t in found if t.startswith(title[:-1])]
            return None if len(found) == 1 else f"{len(found)} sections begin so"
        return None if title in found else "no such section"
    if match := re.fullmatch(r"([\w/]+\.py)::(test_\w+)", reference):
        return None if match[2] in python_tests(match[1]) else "no such test"
    if re.fullmatch(r"\w+\.\w+", reference):
        return None if reference in known else "no such GoogleTest"
    return "names no test"


def test_every_row_is_whole():
    header = ["", "rule", "proven by"]
    bad = [n for n, cells in rows() if cells != header and (len(cells) != 3 or not all(cells))]
    assert not bad
    repeated = [cells[1] for _, cells in proofs()]
    assert len(repeated) == len(set(repeated)), "a rule stands twice"


def test_every_test_that_is_named_exists():
    known = google_tests()
    bad = []
    for number, (_, _, tests) in proofs():
        names = re.findall(r"`([^`]+)`", tests)
        if not names or re.sub(r"`[^`]+`|[, ]", "", tests):
            bad.append(f"line {number}: {tests!r} is no list of tests")
        for name in names:
            if wrong := problem(name, known):
                bad.append(f"line {number}: {name}: {wrong}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("chapters", [SEED, LANGUAGE], ids=["seed", "language"])
def test_every_chapter_has_a_row(chapters):
    there = {cells[0] for _, cells in proofs()}
    assert not [chapter for chapter in chapters if chapter not in there]
    assert there <= {*SEED, *LANGUAGE}


def test_what_does_not_exist_is_found():
    known = google_tests()
    assert problem("TypeRules.BinaryOperations", known) is None
    for wrong in (
        "TypeRules.NoSuchRule",
        "run/integers.kir: no such title",
        "run/integers.kir: …",
        "run/nowhere.kir: sums…",
        "tests/docs/test_conformance.py::test_nothing",
        "words",
    ):
        assert problem(wrong, known)


# What the language leaves out, so that no test of behaviour can show it.


def declared(text, message):
    """Names of the fields of a message of the wire schema, nested messages included."""
    start = re.search(rf"^message {message} {{", text, re.MULTILINE).end()
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    body = re.sub(r"//.*", "", text[start:end])
    return set(re.findall(r"^\s*(?:repeated |optional )?[\w.]+ (\w+) = \d+;", body, re.MULTILINE))


KIR = (ROOT / "proto" / "intent" / "kir" / "v1" / "kir.proto").read_text()


def test_kir_has_no_physical_facts():
    names = {name for message in re.findall(r"^message (\w+)", KIR, re.MULTILINE) for name in declared(KIR, message)}
    words = {word for name in names for word in name.split("_")}
    physical = "lane lanes layout padding alignment tile grid block warp pipeline address register scope vector".split()
    assert not words & set(physical)


def test_there_are_two_kinds_of_constraints():
    operations = (ROOT / "compiler" / "ir" / "ops.def").read_text()
    assert re.findall(r'^INTENT_OP\(k\w+, "(\w+)", \w+, kAssume', operations, re.MULTILINE) == ["assume_in_bounds"]
    assert declared(KIR, "Parameter") == {"alias_group", "noalias"}
