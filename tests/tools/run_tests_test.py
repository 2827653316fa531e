"""tools/run-tests with a real ctest: the tests that it skips, the failures that it tries a second time, and its report."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PRESETS = {
    "version": 3,
    "configurePresets": [{"name": "release", "binaryDir": "${sourceDir}/build/release", "generator": "Ninja"}],
    "testPresets": [{"name": "release", "configurePreset": "release"}],
}
PASSES, FAILS = "true", "false"


class Checkout(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace-tests.")))
        (self.root / "tools/lib").mkdir(parents=True)
        for name in ("run-tests", "lib/test_stamps.py"):
            shutil.copy(SOURCE / "tools" / name, self.root / "tools" / name)
        (self.root / "CMakePresets.json").write_text(json.dumps(PRESETS))
        self.built = self.root / "build/release"
        self.built.mkdir(parents=True)
        (self.built / "CMakeCache.txt").write_text("MILLRACE_LIBTORCH:PATH=\n")
        (self.built / "compile_commands.json").write_text("[]")

    def passes_at_the_second_try(self, name: str) -> str:
        mark = self.root / name
        return f"test -e {mark} || {{ touch {mark}; false; }}"

    def run_tests(self, *options: str, slow: list[str] = [], **commands: str) -> subprocess.CompletedProcess:
        return self.run_listed("".join(
            f'add_test({name} /bin/sh -c "{command}")\n' for name, command in commands.items()) + "".join(
            f"set_tests_properties({name} PROPERTIES LABELS slow)\n" for name in slow), *(options or ["--second-try"]))

    def run_listed(self, tests: str, *options: str, **variables: str) -> subprocess.CompletedProcess:
        (self.built / "CTestTestfile.cmake").write_text(tests)
        return subprocess.run([self.root / "tools/run-tests", "release", *options], stdin=subprocess.DEVNULL,
                              env={**os.environ, **variables}, capture_output=True, text=True, check=False)


class SecondTryTest(Checkout):
    def test_what_passes_is_not_tried_again(self):
        run = self.run_tests(good=PASSES)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertNotIn("second try", run.stdout)

    def test_what_fails_twice_fails(self):
        run = self.run_tests(good=PASSES, bad=FAILS, shaky=self.passes_at_the_second_try("shaky"))
        self.assertNotEqual(run.returncode, 0)
        self.assertNotIn("second try", run.stdout)

    def test_what_passes_at_the_second_try_is_named(self):
        run = self.run_tests(good=PASSES, shaky=self.passes_at_the_second_try("shaky"))
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertTrue(run.stdout.endswith("Passed at the second try only:\n  shaky\n"), run.stdout)

    def test_a_program_runs_as_a_whole(self):
        run = self.run_tests(**{"plan.shard_1": PASSES, "plan.Plan.Has": FAILS, "plan.Each/Plan.Has/0": FAILS, "e2e.rtsp": PASSES})
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("out of 2", run.stdout)

    def test_quick_leaves_out_what_is_slow(self):
        run = self.run_tests("--quick", good=PASSES, lengthy=FAILS)
        self.assertNotEqual(run.returncode, 0)
        run = self.run_tests("--quick", slow=["lengthy"], good=PASSES, lengthy=FAILS)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_a_single_test_runs_by_its_name(self):
        run = self.run_tests("-R", "plan", **{"plan.shard_1": FAILS, "plan.Plan.Has": PASSES})
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("out of 1", run.stdout)

    def test_the_second_try_is_of_the_tests_that_failed(self):
        singles = {f"plan.Plan.Has{number}": PASSES for number in range(3)}
        run = self.run_tests(**singles, **{"plan.shard_1": FAILS, "e2e.rtsp+more": PASSES})
        self.assertNotEqual(run.returncode, 0, run.stdout)
        run = self.run_tests(**singles, **{"plan.shard_1": self.passes_at_the_second_try("plan"), "e2e.rtsp+more": PASSES})
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertTrue(run.stdout.endswith("only:\n  plan.shard_1\n"), run.stdout)

    def test_without_the_option_nothing_is_tried_again(self):
        run = self.run_tests("--stop-on-failure", shaky=self.passes_at_the_second_try("shaky"), bad=FAILS)
        self.assertNotEqual(run.returncode, 0)

    def test_many_failures_are_not_tried_again(self):
        names = [f"shaky{number}" for number in range(4)]
        run = self.run_tests(**{name: self.passes_at_the_second_try(name) for name in names})
        self.assertNotEqual(run.returncode, 0)

    def test_a_failure_of_before_does_not_count(self):
        self.run_tests(good=PASSES, bad=FAILS)
        run = self.run_tests(good=PASSES)
        self.assertEqual(run.returncode, 0, run.stdout)


NOT_AGAIN = "passed before with the same inputs, not run again"


class PassedBeforeTest(Checkout):
    """A checkout with a program of the product, a C++ test and a Python test. Each test counts its runs."""

    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write(".gitignore", "/build/\n/.deps/\n/runs*\n")
        self.program("millrace", "exit 0")
        self.program("plan_test", f"echo x >>{self.root}/runs-plan")
        self.program("uses_test", f"echo x >>{self.root}/runs-uses")
        self.write("tests/e2e/rtsp_test.py", f"open('{self.root}/runs-rtsp', 'a').write('x\\n')")
        self.write("plan/plan.cc", "")
        self.write("data/costs.yaml", "a")
        self.write("docs/page.md", "a")
        self.define("uses_test", self.root / "data")
        self.tests = f"""
add_test(plan.shard_1 {self.built}/plan_test)
add_test(uses.shard_1 {self.built}/uses_test)
add_test(e2e.rtsp {sys.executable} {self.root}/tests/e2e/rtsp_test.py)
set_tests_properties(e2e.rtsp PROPERTIES ENVIRONMENT "MILLRACE_PROGRAM={self.built}/millrace")
"""

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def program(self, name: str, script: str) -> None:
        self.write(f"build/release/{name}", f"#!/bin/sh\n{script}\n").chmod(0o755)

    def define(self, program: str, path: pathlib.Path) -> None:
        command = f'c++ -DMILLRACE_PATH=\\"{path}\\" -o CMakeFiles/{program}.dir/one.cc.o -c one.cc'
        self.write("build/release/compile_commands.json", json.dumps([{"command": command}]))

    def ran(self, *options: str, **variables: str) -> list[str]:
        """The tests that one more run runs."""
        self.run = self.run_listed(self.tests, *options, **variables)
        ran = []
        for path in sorted(self.root.glob("runs-*")):
            ran.append(path.name.removeprefix("runs-"))
            path.unlink()
        return ran

    def test_nothing_runs_again_without_a_change(self):
        self.assertEqual(self.ran(), ["plan", "rtsp", "uses"])
        self.assertNotIn(NOT_AGAIN, self.run.stdout)
        self.assertEqual(self.ran(), [])
        self.assertEqual(self.run.returncode, 0, self.run.stderr)
        self.assertEqual(self.run.stdout, f"3 tests {NOT_AGAIN}\n")

    def test_all_runs_everything(self):
        self.ran()
        self.assertEqual(self.ran("--all"), ["plan", "rtsp", "uses"])
        self.assertNotIn(NOT_AGAIN, self.run.stdout)

    def test_a_test_that_is_asked_for_by_name_runs(self):
        self.ran()
        self.assertEqual(self.ran("-R", "rtsp"), ["rtsp"])

    def test_a_changed_program_runs_its_tests(self):
        self.ran()
        self.program("plan_test", f"echo y >>{self.root}/runs-plan")
        self.assertEqual(self.ran(), ["plan"])
        self.program("millrace", "exit 1")
        self.assertEqual(self.ran(), ["rtsp"])

    def test_changed_files_run_the_tests_that_may_read_them(self):
        self.ran()
        self.write("data/costs.yaml", "b")
        self.assertEqual(self.ran(), ["rtsp", "uses"])
        self.write("docs/page.md", "b")
        self.assertEqual(self.ran(), ["rtsp"])
        self.write("data/new.yaml", "a")
        self.assertEqual(self.ran(), ["rtsp", "uses"])
        self.write("plan/plan.cc", "int plan;")
        self.assertEqual(self.ran(), [])

    def test_changed_cpp_runs_the_tests_of_tools(self):
        script = self.write("tests/tools/rooms_test.py", f"open('{self.root}/runs-rooms', 'a').write('x\\n')")
        self.tests += f"add_test(tools.rooms {sys.executable} {script})\n"
        self.ran()
        self.write("plan/plan.cc", "int plan;")
        self.assertEqual(self.ran(), ["rooms"])

    def test_a_library_or_another_set_up_runs_everything(self):
        for changed in ("build/release/lib/kernels.so", ".deps/stamps/libtorch", "CMakePresets.json"):
            self.ran()
            self.write(changed, json.dumps(PRESETS, indent=1))
            self.assertEqual(self.ran(), ["plan", "rtsp", "uses"], changed)

    def test_a_variable_of_a_test_runs_everything(self):
        self.ran()
        for variable in ("MILLRACE_TEST_KILLS", "GTEST_FILTER", "LD_PRELOAD", "ASAN_OPTIONS"):
            self.assertEqual(self.ran(**{variable: ""}), ["plan", "rtsp", "uses"], variable)
        self.assertEqual(self.ran(), [])

    def test_a_failing_test_runs_again_also_after_a_second_try(self):
        self.tests += f'add_test(shaky.shard_1 /bin/sh -c "{self.passes_at_the_second_try("runs-shaky")}")\n'
        self.ran("--second-try")
        self.assertEqual(self.run.returncode, 0, self.run.stdout)
        self.assertEqual(self.ran(), ["shaky"])
        self.assertNotEqual(self.run.returncode, 0)

    def test_a_failure_of_a_test_that_passed_before_is_remembered(self):
        fails = self.root / "fails"
        self.program("shaky_test", f"echo x >>{self.root}/runs-shaky; [ ! -e {fails} ]")
        self.tests = f"add_test(shaky.shard_1 {self.built}/shaky_test)\n"
        self.ran()
        fails.touch()
        self.assertEqual(self.ran(), [])
        self.assertEqual(self.ran("--all"), ["shaky"])
        fails.unlink()
        self.assertEqual(self.ran(), ["shaky"])

    def test_a_program_that_is_not_built_is_named(self):
        self.tests += "add_test(missing.shard_1 missing_test)\n"
        self.assertEqual(self.ran(), ["plan", "rtsp", "uses"])
        self.assertIn("missing", self.run.stdout + self.run.stderr)

    def test_a_test_that_skips_itself_runs_again(self):
        self.tests += f"""
add_test(deploy.image /bin/sh -c "echo skipped >>{self.root}/runs-image; echo skipped")
set_tests_properties(deploy.image PROPERTIES SKIP_REGULAR_EXPRESSION skipped)
"""
        self.ran()
        self.assertEqual(self.ran(), ["image"])

    def test_a_test_of_the_whole_build_or_with_an_own_libtorch_runs_always(self):
        self.tests += f'set_tests_properties(e2e.rtsp PROPERTIES ENVIRONMENT "MILLRACE_BUILT={self.built}")\n'
        self.ran()
        self.assertEqual(self.ran(), ["rtsp"])
        self.write("build/release/CMakeCache.txt", "MILLRACE_LIBTORCH:PATH=/opt/torch\n")
        self.assertEqual(self.ran(), ["plan", "rtsp", "uses"])

    def test_a_file_that_changes_during_the_run_leaves_no_stamp(self):
        page = self.root / "docs/page.md"
        self.program("plan_test", f"echo x >>{self.root}/runs-plan; echo b >{page}")
        self.ran()
        self.assertEqual(self.ran(), ["rtsp"])
        page.write_text("a")
        self.assertEqual(self.ran(), ["rtsp"])


if __name__ == "__main__":
    unittest.main()
