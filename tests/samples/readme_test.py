"""The Python that the READMEs show runs as it stands."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import millrace_process

ADDRESS = "127.0.0.1:50051"


def python_in(path: pathlib.Path) -> str:
    """The one block of Python in a README."""
    [block] = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    return block


class ReadmeTest(unittest.TestCase):
    def test_python_of_the_readme_prints_predictions(self):
        code = python_in(millrace_process.ROOT / "README.md")
        self.assertIn(ADDRESS, code)
        with tempfile.TemporaryDirectory() as name, millrace_process.serve(
            millrace_process.config()
        ) as server:
            folder = pathlib.Path(name)
            (folder / "samples").mkdir()
            (folder / "samples/python").symlink_to(os.environ["MILLRACE_STUBS"])
            (folder / "example.py").write_text(code.replace(ADDRESS, server.grpc))
            with subprocess.Popen(
                [sys.executable, "-u", "example.py"],
                cwd=folder,
                text=True,
                env={**os.environ, "PYTHONPATH": ""},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as process:
                lines = [process.stdout.readline() for _ in range(3)]
                process.terminate()
        for line in lines:
            self.assertRegex(line, r"^\d+ \d:\d\d:\d\d\.\d+ \d+\.\d+ -?\d")


if __name__ == "__main__":
    unittest.main()
