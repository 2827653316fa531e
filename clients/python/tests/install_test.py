"""The package installs with pip from a checkout, as its README says, and its example runs.

Nothing is downloaded: the installation uses the packages of this test's Python.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import unittest

import millrace
from millrace_testing import fake_server
import numpy as np
from prediction_test import tensor

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
ADDRESS = "127.0.0.1:50051"


def copy_of_checkout(folder: pathlib.Path) -> pathlib.Path:
    """Copies the files that pip needs, so that the build leaves nothing in the checkout. Returns
    the package's folder."""
    shutil.copytree(ROOT / "proto", folder / "proto")
    leave_out = shutil.ignore_patterns("build", "*.egg-info", "*_pb2*", "__pycache__")
    return shutil.copytree(PACKAGE, folder / "clients/python", ignore=leave_out)


def fresh_python(folder: pathlib.Path) -> pathlib.Path:
    """A Python without our package, but with this Python's installed packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    dependencies = folder / "lib" / version / "site-packages/dependencies.pth"
    dependencies.write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin/python"


def pip(python: pathlib.Path, command: str, *arguments: object) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", command,
         "--quiet", "--no-index", "--no-deps", "--no-build-isolation", *arguments],
        check=True, env=environment())


def environment() -> dict[str, str]:
    """This process's environment, without the package that this test itself imports."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def example() -> str:
    [block] = re.findall(r"^```python\n(.*?)^```", (PACKAGE / "README.md").read_text(),
                         re.MULTILINE | re.DOTALL)
    return block


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.package = copy_of_checkout(folder / "checkout")
        cls.python = fresh_python(folder / "venv")
        pip(cls.python, "install", cls.package)
        cls.folder = folder

    def run_python(self, code: str) -> str:
        return subprocess.run([self.python, "-c", code], check=True, cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, env=environment()).stdout

    def test_the_example_prints_predictions(self):
        with fake_server.FakeServer() as server:
            server.publish(3, flow=tensor(np.full((2, 2, 2), 0.5, np.float32)),
                           delay={"nanos": 134_000_000})
            with subprocess.Popen(
                [self.python, "-c", example().replace(ADDRESS, server.address)], cwd=self.folder,
                text=True, stdout=subprocess.PIPE, env=environment()) as process:
                lines = [process.stdout.readline() for _ in range(3)]
                process.terminate()
        self.assertEqual(lines[0], "frame 1  0:00:00.134000  +0.500 +0.500\n")
        self.assertEqual(len(set(lines)), 3)

    def test_it_is_the_installed_one_with_its_types(self):
        printed = self.run_python("import millrace; print(millrace.__file__)").strip()
        self.assertTrue(printed.startswith(str(self.folder / "venv")), printed)
        folder = pathlib.Path(printed).parent
        self.assertTrue((folder / "py.typed").exists())
        self.assertTrue((folder / "v1/prediction_pb2.pyi").exists())

    def test_it_says_its_version_and_hides_its_modules(self):
        version, listed = self.run_python(
            "import importlib.metadata, millrace; print(millrace.__version__, "
            "importlib.metadata.version('millrace')); print(*vars(millrace))").splitlines()
        self.assertEqual(*version.split())
        self.assertEqual({name for name in listed.split() if not name.startswith("_")},
                         {*millrace.__all__, "v1"} - {"__version__"})

    def test_an_sdist_builds_without_the_checkout(self):
        subprocess.run([self.python, "setup.py", "--quiet", "sdist", "--dist-dir", self.folder],
                       cwd=self.package, check=True, env=environment(), stderr=subprocess.DEVNULL)
        [sdist] = self.folder.glob("*.tar.gz")
        pip(self.python, "wheel", "--wheel-dir", self.folder, sdist)
        self.assertEqual(len(list(self.folder.glob("*.whl"))), 1)


class PinsTest(unittest.TestCase):
    def setUp(self):
        self.project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())
        pinned = (ROOT / "tools/requirements-test.txt").read_text()
        self.pins = dict(re.findall(r"^([a-z-]+)==([^ ]+)", pinned, re.MULTILINE))

    def test_it_is_built_with_what_the_tests_are_run_with(self):
        for requirement in self.project["build-system"]["requires"]:
            name, version = requirement.split("==")
            self.assertEqual(version, self.pins[name], name)

    def test_it_has_the_servers_version(self):
        cmake = (ROOT / "CMakeLists.txt").read_text()
        self.assertIn(f"project(millrace VERSION {millrace.__version__} ", cmake)


if __name__ == "__main__":
    unittest.main()
