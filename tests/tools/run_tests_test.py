"""tools/run-tests with a real ctest: the failures that it tries a second time, and its report."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PRESETS = {
    "version": 3,
    "configurePresets": [{"name": "release", "binaryDir": "${sourceDir}/build/release", "generator": "Ninja"}],
    "testPresets": [{"name": "release", "configurePreset": "release"}],
}
PASSES, FAILS = "true", "false"


class RunTestsTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace-tests.")))
        (self.root / "tools").mkdir()
        shutil.copy(SOURCE / "tools/run-tests", self.root / "tools")
        (self.root / "CMakePresets.json").write_text(json.dumps(PRESETS))
        (self.root / "build/release").mkdir(parents=True)

    def passes_at_the_second_try(self, name: str) -> str:
        mark = self.root / name
        return f"test -e {mark} || {{ touch {mark}; false; }}"

    def run_tests(self, *options: str, slow: list[str] = [], **commands: str) -> subprocess.CompletedProcess:
        (self.root / "build/release/CTestTestfile.cmake").write_text("".join(
            f'add_test({name} /bin/sh -c "{command}")\n' for name, command in commands.items()) + "".join(
            f"set_tests_properties({name} PROPERTIES LABELS slow)\n" for name in slow))
        return subprocess.run([self.root / "tools/run-tests", "release", *(options or ["--second-try"])], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)

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


if __name__ == "__main__":
    unittest.main()
