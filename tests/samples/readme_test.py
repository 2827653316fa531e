"""The Python that the documentation shows runs as it stands."""

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
    """The one block of Python in a page."""
    [block] = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    return block


class ReadmeTest(unittest.TestCase):
    def test_python_of_the_readme_prints_predictions(self):
        lines = self.output_of("README.md", millrace_process.config(), lines=3)
        for line in lines:
            self.assertRegex(line, r"^\d+ \d:\d\d:\d\d\.\d+ \d+\.\d+ -?\d")

    def test_python_of_learning_from_labels_adds_one(self):
        model = {"task": "classification", "classes": ["shut", "open"], "input": [8, 8], "window": 512}
        configuration = millrace_process.config(streams=[millrace_process.test_stream("door", model=model)],
                                                model={})
        (line,) = self.output_of("docs/learning-labels.md", configuration, lines=1, says="open\n")
        self.assertRegex(line, r"^frame \d+: (shut|open), is it\? ADDED \n")

    def output_of(self, page: str, configuration: dict, lines: int, says: str = "") -> list[str]:
        """The first lines that the page's Python prints, which reads what the test says."""
        code = python_in(millrace_process.ROOT / page)
        self.assertIn(ADDRESS, code)
        with tempfile.TemporaryDirectory() as name, millrace_process.serve(configuration) as server:
            folder = pathlib.Path(name)
            (folder / "example.py").write_text(code.replace(ADDRESS, server.grpc))
            with subprocess.Popen(
                [sys.executable, "-u", "example.py"],
                cwd=folder,
                text=True,
                env={**os.environ, "PYTHONPATH": os.environ["MILLRACE_PYTHON_CLIENT"]},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as process:
                process.stdin.write(says)
                process.stdin.flush()
                printed = [process.stdout.readline() for _ in range(lines)]
                process.terminate()
        return printed


if __name__ == "__main__":
    unittest.main()
