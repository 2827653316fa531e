"""The documentation's Python code runs unchanged."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from millrace_testing import millrace_process

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


class StubsTest(unittest.TestCase):
    """The commands of proto/README.md make code for clients."""

    def setUp(self):
        text = (millrace_process.ROOT / "proto/README.md").read_text()
        self.blocks = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "proto").symlink_to(millrace_process.ROOT / "proto")

    def made_by(self, tool: str) -> set[str]:
        """The names of the files that the block with that tool makes. Nothing is installed for it."""
        [block] = [block for block in self.blocks if tool in block]
        commands = [line for line in block.splitlines() if "-m venv" not in line]
        self.assertGreaterEqual(len(commands), 2)
        code = "\n".join(commands).replace(".venv/bin/python", sys.executable)
        subprocess.run(["bash", "-euc", code], cwd=self.folder, check=True)
        return {file.name for file in (self.folder / "stubs/millrace/v1").iterdir()}

    def test_in_python_with_types(self):
        self.assertLessEqual({"stream_service_pb2.py", "stream_service_pb2.pyi", "stream_service_pb2_grpc.py",
                              "prediction_pb2.py"}, self.made_by("grpc_tools.protoc"))
        subprocess.run([sys.executable, "-c", "import millrace.v1.prediction_service_pb2_grpc"], check=True,
                       env={**os.environ, "PYTHONPATH": str(self.folder / "stubs")})

    def test_in_cpp(self):
        self.assertLessEqual({"stream_service.pb.h", "stream_service.grpc.pb.cc", "prediction.pb.cc"},
                             self.made_by("grpc_cpp_plugin"))

    def test_the_pinned_tool_is_the_one_that_is_tested(self):
        pins = (millrace_process.ROOT / "tools/requirements-test.txt").read_text()
        for pinned in re.findall(r"grpcio-tools==[0-9.]+", "".join(self.blocks)):
            self.assertIn(pinned + " ", pins)


if __name__ == "__main__":
    unittest.main()
