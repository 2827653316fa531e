"""An include of a folder that is not linked does not compile.

Compiles copies of small sources by their own compile commands, without making an object."""

import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["MILLRACE_BUILT"])
ROOT = pathlib.Path(__file__).resolve().parents[2]


def command_of(source: str) -> tuple[list[str], str]:
    """The compiler's command for the library of a source, without source and object; and where it runs."""
    library = "millrace_" + str(pathlib.PurePath(source).parent).replace("/", "_")
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if f"CMakeFiles/{library}.dir/" in entry["command"]:
            break
    else:
        raise AssertionError(f"{library} has no compile command")
    command = shlex.split(entry["command"])
    while not pathlib.Path(command[0]).name.startswith(("c++", "g++", "clang++")):
        del command[0]  # Words before the compiler: ccache and its environment.
    for option, count in (("-o", 2), ("-c", 2)):
        at = command.index(option)
        del command[at:at + count]
    return [*command, "-fsyntax-only"], entry["directory"]


def compile_with(source: str, include: str) -> subprocess.CompletedProcess[str]:
    """Compiles a copy of `source` that has one include more."""
    command, directory = command_of(source)
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / pathlib.Path(source).name
        copy.write_text(f'#include "{include}"\n' + (ROOT / source).read_text())
        return subprocess.run([*command, copy], cwd=directory, capture_output=True, text=True)


class WallsTest(unittest.TestCase):
    def assert_seen(self, source: str, include: str):
        self.assertTrue((ROOT / include).is_file(), include)
        compiled = compile_with(source, include)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)

    def assert_not_seen(self, source: str, include: str):
        self.assertTrue((ROOT / include).is_file(), f"{include}: the test would pass for another reason")
        compiled = compile_with(source, include)
        self.assertNotEqual(compiled.returncode, 0, f"{source} sees {include}")
        self.assertIn(f"{include}: No such file", compiled.stderr.replace("' file not found", ": No such file").replace("'", ""))

    def test_a_folder_sees_itself_and_what_it_links(self):
        self.assert_seen("pipeline/plan/reduced_dependencies.cc", "pipeline/plan/plan_checker.h")
        self.assert_seen("pipeline/plan/reduced_dependencies.cc", "base/check.h")
        self.assert_seen("pipeline/planner/cost_watch.cc", "pipeline/plan/plan.h")

    def test_a_plan_knows_no_planner_and_no_engine(self):
        self.assert_not_seen("pipeline/plan/reduced_dependencies.cc", "pipeline/planner/planner.h")
        self.assert_not_seen("pipeline/plan/reduced_dependencies.cc", "pipeline/engine/engine.h")

    def test_sources_of_frames_know_nothing_of_learning_and_the_reverse(self):
        self.assert_not_seen("ingest/frame/gap_detector.cc", "pipeline/learner/learner.h")
        self.assert_not_seen("pipeline/decisions/flow_motion.cc", "ingest/frame/frame.h")

    def test_what_serves_sees_of_the_pipeline_the_learner_but_not_its_networks(self):
        self.assert_seen("service/stream/plan_text.cc", "pipeline/learner/learner.h")
        self.assert_not_seen("service/stream/plan_text.cc", "pipeline/flow/flow_learner.h")
        self.assert_not_seen("service/registry/claims.cc", "pipeline/nn/layer.h")

    def test_the_root_of_the_checkout_is_not_searched(self):
        self.assert_not_seen("base/clock.cc", "tests/base/temporary_folder.h")


if __name__ == "__main__":
    unittest.main()
