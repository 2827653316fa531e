"""tools/tidy with a clang-tidy that only records its files: the files that it checks again, and when."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Finds fault with every file that says so.
CLANG_TIDY = """#!/bin/bash
echo "${!#}" >>"$LOOKED_AT"
! grep -H fault "${!#}"
"""
NINJA = """#!/bin/bash
printf '%s\\n' 'a.o: #deps 2, deps mtime 1 (VALID)' '    ../../base/a.cc' '    ../../base/a.h' ''
printf '%s\\n' 'b.o: #deps 1, deps mtime 1 (VALID)' '    ../../base/b.cc' ''
"""


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-tidy.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        shutil.copytree(SOURCE / "tools", self.root / "tools")
        for name in ("base/a.cc", "base/a.h", "base/b.cc", "tests/c.cc", ".clang-tidy", "tests/.clang-tidy"):
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).touch()
        for name, text in (("clang-tidy-16", CLANG_TIDY), ("ninja", NINJA)):
            (self.root / "bin").mkdir(exist_ok=True)
            (self.root / "bin" / name).write_text(text)
            (self.root / "bin" / name).chmod(0o755)
        self.build = self.root / "build/clang"
        self.build.mkdir(parents=True)
        self.compile({"a": "base", "b": "base"})

    def compile(self, folders: dict[str, str]) -> None:
        """The build compiles these sources, each for two programs."""
        entries = [{"file": str(self.root / f"{folder}/{name}.cc"), "command": f"c++ -D{program} -o {name}.o"}
                   for name, folder in folders.items() for program in ("X", "Y")]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))

    def tidy(self, **variables: str) -> tuple[int, list[str]]:
        """Its exit code, and the names of the sources that it looked at."""
        looked_at = self.root / "looked_at"
        looked_at.write_text("")
        run = subprocess.run(
            [self.root / "tools/tidy", self.build], capture_output=True, text=True,
            env={**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
                 "LOOKED_AT": str(looked_at), **variables})
        return run.returncode, sorted(pathlib.Path(line).name
                                      for line in looked_at.read_text().splitlines())

    def test_looks_only_once_at_what_passes_and_stays_as_it_is(self):
        self.assertEqual(self.tidy(), (0, ["a.cc", "b.cc"]))
        self.assertEqual(self.tidy(), (0, []))

    def test_looks_again_when_a_header_changes(self):
        self.tidy()
        (self.root / "base/a.h").write_text("changed")
        self.assertEqual(self.tidy(), (0, ["a.cc"]))

    def test_looks_again_at_everything_when_the_rules_change(self):
        self.tidy()
        (self.root / ".clang-tidy").write_text("changed")
        self.assertEqual(self.tidy(), (0, ["a.cc", "b.cc"]))

    def test_looks_again_at_tests_alone_when_their_rules_change(self):
        self.compile({"a": "base", "b": "base", "c": "tests"})
        self.assertEqual(self.tidy(), (0, ["a.cc", "b.cc", "c.cc"]))
        (self.root / "tests/.clang-tidy").write_text("changed")
        self.assertEqual(self.tidy(), (0, ["c.cc"]))

    def test_looks_at_united_sources_and_at_what_they_include(self):
        unit = self.build / "base/CMakeFiles/base.dir/Unity/unity_0_cxx.cxx"
        unit.parent.mkdir(parents=True)
        unit.write_text('#include "base/a.cc"\n')
        generated = self.build / "proto/a.pb.cc"
        entries = [{"file": str(file), "command": f"c++ -o {name}.o"} for name, file in (("a", unit), ("p", generated))]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))
        self.assertEqual(self.tidy(), (0, [unit.name]))
        self.assertEqual(self.tidy(), (0, []))
        (self.root / "base/a.cc").write_text("changed")
        self.assertEqual(self.tidy(), (0, [unit.name]))

    def test_finds_the_rules_of_tests_above_a_united_test(self):
        (self.root / "tests/.clang-tidy").write_text("rules")
        self.tidy()
        self.assertEqual((self.build / "tests/.clang-tidy").read_text(), "rules")

    def test_fails_until_what_it_found_is_mended(self):
        (self.root / "base/b.cc").write_text("fault")
        self.assertEqual(self.tidy(), (1, ["a.cc", "b.cc"]))
        self.assertEqual(self.tidy(), (1, ["b.cc"]))
        (self.root / "base/b.cc").write_text("")
        self.assertEqual(self.tidy(), (0, ["b.cc"]))

    def test_says_that_it_is_incomplete_when_time_is_up(self):
        self.assertEqual(self.tidy(STEP_ENDS_AT="0"), (75, []))


if __name__ == "__main__":
    unittest.main()
