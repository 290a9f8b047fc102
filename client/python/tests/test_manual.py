"""intent-manual, asked by the protocol's own client."""

import asyncio
import os
import re
import subprocess
import sys

import pytest

import intent
from intent import explain
from intent.manual import pages, reference, search

pytest.importorskip("mcp", reason="the manual's server needs the package mcp")

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from intent.manual import server
from intent.manual.server import LONGEST


def session(work):
    """Runs work(session) against a server of its own; gives what it returns."""

    async def run():
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "intent.manual"],
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        async with stdio_client(server) as streams, ClientSession(*streams) as client:
            info = await client.initialize()
            return await work(client, info)

    return asyncio.run(asyncio.wait_for(run(), 60))


def ask(calls):
    """Calls tools in one session; gives (is an error, text) of each."""

    async def work(client, info):
        found = []
        for tool, arguments in calls:
            result = await client.call_tool(tool, arguments)
            found.append((bool(result.is_error), "".join(part.text for part in result.content)))
        return found

    return session(work)


def test_it_offers_search_api_and_read():
    async def work(client, info):
        return info, (await client.list_tools()).tools

    info, tools = session(work)
    assert info.server_info.name == "intent-manual" and info.server_info.version == intent.__version__
    assert "`search` finds" in info.instructions
    assert [tool.name for tool in tools] == ["search", "api", "read"]
    for tool, required in zip(tools, (["query"], ["name"], ["id"])):
        assert tool.description and tool.annotations.read_only_hint
        assert tool.input_schema["required"] == required


QUESTIONS = [
    ("sum along an axis", "I.reduce.sum"),
    ("parallel loop break", "E0404"),
    ("carry changes type in loop", "E0402"),
    ("prefix sums", "I.cumsum"),
    ("matrix product with transposed operand", "I.matmul"),
    ("operands of different dtypes cast", "E0201"),
    ("index out of bounds at run time", "out_of_bounds"),
    ("compile kernel target constexprs", "intent.compile"),
    ("disk cache damaged entry", "cache.md#what-happens-on-damage"),
    ("random numbers seed counter", "I.random"),
]


def test_search_finds_concepts_names_and_diagnostics():
    answers = ask([("search", {"query": query, "limit": 5}) for query, _ in QUESTIONS])
    for (query, wanted), (is_error, text) in zip(QUESTIONS, answers):
        ids = [line.split()[0] for line in text.splitlines() if line and not line.startswith(" ")]
        assert not is_error and wanted in ids and len(ids) <= 5, (query, ids)


def test_api_gives_declarations_rules_and_examples():
    names = ["I.reduce.sum", "reduce.sum", "exp2", "I.f32", "I.inf", "intent.compile", "CompileOptions"]
    answers = ask([("api", {"name": name}) for name in names])
    for name, (is_error, text) in zip(names, answers):
        assert not is_error and name.split(".")[-1] in text.partition("\n")[0], text
    reduce_sum = answers[0][1]
    assert reduce_sum.startswith("I.reduce.sum(value, *, axis, acc_dtype=None)")
    assert "i8 and i16 become i32" in reduce_sum and "@intent.kernel" in reduce_sum


def test_read_gives_pages_in_parts():
    whole = pages.all_pages()["kir.md"].text
    section = next(id for id in pages.all_pages() if id.startswith("kir.md#"))
    offsets = range(0, len(whole), LONGEST)
    ids = [f"docs/{section}", "e0201", "out_of_bounds", "index"]
    answers = ask(
        [("read", {"id": id}) for id in ids] + [("read", {"id": "kir.md", "offset": o}) for o in offsets]
    )
    assert not any(is_error for is_error, _ in answers)
    texts = [text for _, text in answers]
    assert texts[0] == pages.all_pages()[section].text
    assert texts[1] == explain.page("E0201").text.strip()
    assert texts[2].startswith("# out_of_bounds")
    assert "kir.md: " in texts[3] and "examples/" in texts[3]
    assert "".join(text[:LONGEST] for text in texts[4:-1]) + texts[-1] == whole
    for text, following in zip(texts[4:], offsets[1:]):
        assert text.endswith(f"more characters: offset {following}]")


def test_what_is_not_there_is_an_error_that_helps():
    wrong = [
        ("api", {"name": "I.where"}, "use I.select"),
        ("api", {"name": "torch.einsum"}, "use I.contract"),
        ("api", {"name": "I.reduce.summ"}, "I.reduce.sum"),
        ("api", {"name": "xyzzy"}, "search finds names"),
        ("read", {"id": "E0299"}, "E02"),
        ("read", {"id": "kir.md", "offset": 10**9}, "offset is from 0"),
        ("search", {"query": "zzzzz qqqqq"}, "nothing was found"),
        ("search", {"query": "sum", "limit": 0}, "from 1 to 50"),
        ("search", {}, "query"),
        ("erase", {}, "erase"),
    ]

    async def work(client, info):
        found = []
        for tool, arguments, _ in wrong:
            try:
                result = await client.call_tool(tool, arguments)
                found.append("".join(p.text for p in result.content) if result.is_error else "no error")
            except Exception as error:  # the protocol's own errors
                found.append(str(error))
        return found

    for (tool, arguments, words), text in zip(wrong, session(work)):
        assert words in text, (tool, arguments, text)


def test_every_page_has_a_text_and_is_found_by_its_title():
    for page in pages.all_pages().values():
        assert page.text.strip() and page.title.strip(), page.id
    for name in reference.names():
        assert f"I.{name}" in pages.all_pages()
    for code in explain.codes():
        hits = search.search(pages.all_pages()[code].title, 3)
        assert code in [hit.page.id for hit in hits]


def test_without_the_library_it_says_what_to_install():
    code = "import sys; sys.modules['mcp'] = None; from intent.manual import main; sys.exit(main())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "pip install 'intent[manual]'" in result.stderr


def test_the_ids_that_its_descriptions_name_exist():
    for name in re.findall(r"\b(?:kir\.md#[\w-]+|examples/\w+\.py|E\d{4}|I\.\w+)", server.read.__doc__):
        assert name in pages.all_pages()
