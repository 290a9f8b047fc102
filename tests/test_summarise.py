"""tests/summarise.py counts what suites report, and never loses a failure."""

import pytest

import summarise  # noqa: E402

GOOD = '<testsuite><testcase classname="a" name="one" status="run"/></testsuite>'
BAD = (
    '<testsuite><testcase classname="a" name="one" status="run"/>'
    '<testcase classname="a" name="two" status="run"><failure message="no"/></testcase></testsuite>'
)
SKIPPED = '<testsuite><testcase classname="a" name="one"><skipped message="no device"/></testcase></testsuite>'


@pytest.fixture
def results(tmp_path, capsys):
    """results(files) gives (exit status, lines printed)."""

    def run(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        status = summarise.main(tmp_path)
        return status, capsys.readouterr().out.splitlines()

    return run


def test_the_last_line_is_the_sum(results):
    status, lines = results(first_status="0", first_xml=GOOD, second_status="1", second_xml=BAD)
    assert status == 1
    assert lines[-1] == "2 passed, 1 failed"
    assert any(line.startswith("FAILED") and "a.two" in line for line in lines)


def test_everything_passed(results):
    status, lines = results(first_status="0", first_xml=GOOD)
    assert (status, lines[-1]) == (0, "1 passed, 0 failed")


def test_a_skipped_test_is_said_with_its_reason(results):
    status, lines = results(first_status="0", first_xml=SKIPPED)
    assert (status, lines[-1]) == (0, "0 passed, 0 failed")
    assert lines[0] == "skipped  first: a.one: no device"


@pytest.mark.parametrize("report", [{}, {"first_xml": "<testsuite>"}, {"first_xml": GOOD}])
def test_a_suite_that_fails_without_saying_where_is_a_failure(results, report):
    status, lines = results(first_status="139", **report)
    assert status == 1
    assert lines[-1].endswith("1 failed")


def test_a_binary_that_died_is_a_failure(results):
    ctest = (
        '<testsuite><testcase name="lives" status="run"/>'
        '<testcase name="dies" status="fail"><failure/></testcase></testsuite>'
    )
    status, lines = results(unit_status="8", unit_ctest_xml=ctest, unit__lives_xml=BAD.replace("<failure message=\"no\"/>", ""))
    assert status == 1
    assert lines[-1] == "2 passed, 1 failed"


def test_no_suite_is_a_failure(results):
    assert results() == (1, ["0 passed, 1 failed"])
