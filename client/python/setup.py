"""`pip install ./client/python`: the package with the extension module, the wire modules and the daemon.

What CMake builds is taken from the repository's build folder (INTENT_BUILD_DIR, otherwise build/),
which is configured and built here where that has not happened.
"""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("INTENT_BUILD_DIR", ROOT / "build"))
PROGRAMS = ("intent-compiled", "intent-worker", "intentc")


class BuildPackage(build_py):
    """Copies what was built into the package."""

    def run(self):
        super().run()
        extension = "_core" + sysconfig.get_config_var("EXT_SUFFIX")
        built = BUILD / "python" / "intent" / extension
        if not built.exists() or not all((BUILD / "bin" / name).exists() for name in PROGRAMS):
            if not (BUILD / "build.ninja").exists():
                subprocess.run(
                    ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"],
                    check=True,
                )
            subprocess.run(["cmake", "--build", BUILD, "--target", "intent_python", *PROGRAMS], check=True)
        if not built.exists():
            raise SystemExit(f"{built} is not there: build/venv is of another Python than this one")
        package = Path(self.build_lib) / "intent"
        shutil.copy2(built, package / extension)
        shutil.copytree(
            BUILD / "python_proto" / "intent_proto", Path(self.build_lib) / "intent_proto", dirs_exist_ok=True
        )
        for pattern in ("*.md", "tutorials/*.md", "examples/*.py"):  # what intent-manual reads
            for path in (ROOT / "docs").glob(pattern):
                copy = package / "manual" / "docs" / path.relative_to(ROOT / "docs")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)
        (package / "bin").mkdir(exist_ok=True)
        for name in PROGRAMS:
            shutil.copy2(BUILD / "bin" / name, package / "bin" / name)


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True  # the wheel belongs to one platform and Python


setup(
    package_dir={"": "src"},
    packages=[
        "intent",
        "intent.commands",
        "intent.explain",
        "intent.frontend",
        "intent.intrinsics",
        "intent.manual",
    ],
    package_data={"intent": ["*.pyi", "py.typed"], "intent.explain": ["*.md"]},
    cmdclass={"build_py": BuildPackage},
    distclass=BinaryDistribution,
    options={"build": {"build_base": str(BUILD / "pip")}},
)
