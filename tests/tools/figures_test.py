"""tools/figures: what it counts in a small checkout."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/lib"))

from function_lengths import function_lengths  # noqa: E402

CODE = """
namespace millrace {  // A comment with { braces (
constexpr int kTable[] = {
  1'000, '{'};

class Clock final : public Base {
 public:
  Clock() : a_{1}, b_(2) {}
  [[nodiscard]] int Now() const { return a_; }

 private:
  int a_{0};
};

template <class Value>
std::string Text(const Value& value,
                 Options options = {}) {
  const auto add = [&](int x) {
    return x;
  };
  if (value) {
    return "}";
  }
  return R"(})";
}

}  // namespace millrace
"""

LOG = """# ninja log v5
0\t900\t1\tbase/CMakeFiles/millrace_base.dir/clock.cc.o\tabc
0\t2000\t1\tbase/CMakeFiles/millrace_base.dir/clock.cc.o\tabc
0\t30\t1\tbase/CMakeFiles/millrace_base.dir/clock.cc.o\tabc
0\t5000\t1\tbase/CMakeFiles/millrace_base.dir/gone.cc.o\tabc
0\t100\t1\ttests/base/CMakeFiles/base_test.dir/clock_test.cc.o\tabc
0\t7000\t1\tservice/millrace\tabc
"""


class FunctionLengthsTest(unittest.TestCase):
    def test_counts_functions_and_nothing_else_in_braces(self):
        self.assertEqual(function_lengths(CODE), [1, 1, 9])


class FiguresTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-figures.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(SOURCE / "tools", self.root / "tools")
        self.write("base/clock.h", "#include <vector>\n")
        self.write("base/clock.cc", '#include "base/clock.h"\nint Now() {\n  return 1;\n}\n')
        self.write("service/stream/stream.h", '#include "base/clock.h"\n')
        self.write("tests/base/clock_test.cc", "")

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def figures(self, *options: str) -> list[str]:
        run = subprocess.run([self.root / "tools/figures", *options], capture_output=True, text=True)
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        return run.stdout.splitlines()

    def test_counts_by_folder(self):
        lines = self.figures()
        for line in ("| folders with code | 2 |", "| files | 3 |", "| lines | 6 |", "| circles of folders | none |",
                     "| base | 2 | 5 | 0 | 3 |", "| service | 1 | 1 | 1 | 0 |",
                     "| service/stream | 1 | 1 | 1 | 0 |"):
            self.assertIn(line, lines)

    def test_finds_a_circle(self):
        self.write("base/mutex.h", '#include "service/stream/stream.h"\n')
        self.assertIn("| circles of folders | base service/stream |", self.figures())

    def test_takes_the_last_compilation_without_the_cache_of_each_source_that_exists(self):
        self.write("log", LOG)
        lines = self.figures("--ninja-log", str(self.root / "log"))
        for line in ("| compile seconds, product | 2 |", "| compile seconds, tests | 0 |",
                     "| base | 2 | 5 | 0 | 3 | 2 |", "| of these from the compiler cache alone | 1 of 2 |"):
            self.assertIn(line, lines)


if __name__ == "__main__":
    unittest.main()
