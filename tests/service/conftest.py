import shutil
import tempfile

import pytest

from harness import BUILD, Daemon, chain_text, encode


@pytest.fixture
def folder():
    """A short path: a socket's must fit into 107 bytes."""
    path = tempfile.mkdtemp(prefix="intent-")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start(folder):
    """Starts daemons and ends them with the test."""
    daemons = []

    def run(*flags, **keywords):
        daemons.append(Daemon(folder, *flags, **keywords))
        return daemons[-1]

    yield run
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def daemon(start):
    return start()


@pytest.fixture
def failing(daemon):
    """A daemon whose workers can be made to fail."""
    if not daemon.has_failpoints():
        pytest.skip(f"no daemon with failpoints in {BUILD}: worker failures are not tested")
    return daemon


@pytest.fixture(scope="session")
def chain(tmp_path_factory):
    """Serialised kernels by number (harness.chain_text)."""
    made = {}
    path = tmp_path_factory.mktemp("modules")

    def module(number):
        if number not in made:
            made[number] = encode(path, chain_text(number), f"chain{number}")
        return made[number]

    return module
