"""tools/rooms: the folders of this checkout keep the rules, and each fault is found in a small tree that has it."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Folder -> files, each with the headers that it includes.
TREE = {
    "base": {"clock.h": []},
    "ingest/frame": {"frame.h": ["base/clock.h"]},
    "pipeline/learner": {"learner.h": []},
    "pipeline/flow": {"flow.h": ["pipeline/learner/learner.h"], "flow.cc": ["pipeline/flow/flow.h", "base/clock.h"]},
    "service/stream": {"stream.h": ["ingest/frame/frame.h"], "stream.cc": ["pipeline/learner/learner.h"]},
    "service/server": {"server.cc": ["pipeline/flow/flow.h", "service/stream/stream.h"]},
}
# Folder -> DEPENDS and USES.
LISTS = {
    "ingest/frame": ("base", ""),
    "pipeline/flow": ("pipeline/learner", "base"),
    "service/stream": ("ingest/frame", "pipeline/learner"),
    "service/server": ("", "pipeline/flow service/stream"),
}
STRICT = {"ingest": ["frame"], "pipeline": ["learner"], "service": ["stream"]}


class RoomsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-rooms.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(SOURCE / "tools", self.root / "tools")
        (self.root / "docs").mkdir()
        for layer, names in STRICT.items():
            self.write(f"{layer}/CMakeLists.txt", "".join(f"add_subdirectory({name})\n" for name in names)
                       + "if(MILLRACE_STRICT_TARGETS_ONLY)\n  return()\nendif()\n")
        for folder, files in TREE.items():
            self.add_room(folder, files, *LISTS.get(folder, ("", "")))

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def include(self, file: str, header: str) -> None:
        with (self.root / file).open("a") as opened:
            opened.write(f'#include "{header}"\n')

    def list_folders(self, folder: str, depends: str, uses: str) -> None:
        self.write(f"{folder}/CMakeLists.txt",
                   f"# A (comment).\nmillrace_library({folder}\n  SOURCES a.cc\n"
                   f"  DEPENDS {depends}\n  USES {uses}\n  LINKS ZLIB::ZLIB)\n")

    def add_room(self, folder: str, files: dict[str, list[str]], depends: str = "", uses: str = "") -> None:
        self.list_folders(folder, depends, uses)
        self.write(f"{folder}/README.md", f"# {folder}\n")
        for name, headers in files.items():
            self.write(f"{folder}/{name}", "#include <vector>\n")
            for header in headers:
                self.include(f"{folder}/{name}", header)

    def rooms(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.root / "tools/rooms", *options], capture_output=True, text=True)

    def assert_fault(self, *faults: str) -> None:
        """Finds these faults and no other, and draws nothing."""
        run = self.rooms()
        self.assertEqual((run.stdout.splitlines(), run.stderr, run.returncode), (list(faults), "", 1))
        self.assertFalse((self.root / "docs/rooms.svg").exists())

    def picture(self) -> str:
        run = self.rooms()
        self.assertEqual((run.returncode, run.stdout + run.stderr), (0, "6 folders keep the rules\n"))
        return (self.root / "docs/rooms.svg").read_text()

    def test_finds_no_fault_in_this_checkout_and_its_picture_is_up_to_date(self):
        run = subprocess.run([SOURCE / "tools/rooms", "--check"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_draws_each_folder_once_and_only_arrows_that_no_other_path_implies(self):
        picture = self.picture()
        labels = re.findall(r'>([a-z/]+)</text>', picture)
        self.assertEqual(sorted(labels),
                         ["flow", "frame", "ingest", "learner", "pipeline", "server", "service", "stream"])
        # Server to flow and stream, stream to frame and learner, flow to learner; two in the legend.
        self.assertEqual(picture.count("marker-end"), 5 + 2)
        self.include("service/server/server.cc", "pipeline/learner/learner.h")
        self.list_folders("service/server", "", "pipeline/flow pipeline/learner service/stream")
        self.assertEqual(self.picture(), picture)

    def test_draws_a_folder_above_all_that_it_includes(self):
        height = {label: int(y) for y, label in re.findall(r'y="(\d+)"[^>]*>([a-z/]+)</text>', self.picture())}
        for upper, lower in (("server", "flow"), ("server", "stream"), ("stream", "frame"), ("flow", "learner")):
            self.assertLess(height[upper], height[lower], f"{upper} includes {lower}")

    def test_check_fails_until_the_picture_is_drawn_again(self):
        self.assertEqual(self.rooms("--check").stdout,
                         "docs/rooms.svg is out of date. Run tools/rooms and commit it.\n")
        self.picture()
        self.assertEqual(self.rooms("--check").returncode, 0)
        self.add_room("ingest/gst", {"gst.cc": ["ingest/frame/frame.h"]}, uses="ingest/frame")
        self.assertEqual(self.rooms("--check").returncode, 1)

    def test_finds_a_circle(self):
        self.include("pipeline/learner/learner.h", "pipeline/flow/flow.h")
        self.list_folders("pipeline/learner", "pipeline/flow", "")
        self.assert_fault("circle pipeline/flow -> pipeline/learner -> pipeline/flow: "
                          "pipeline/flow/flow.h:2 includes pipeline/learner/learner.h, "
                          "pipeline/learner/learner.h:2 includes pipeline/flow/flow.h")

    def test_finds_an_include_of_a_folder_that_is_not_listed(self):
        self.include("service/stream/stream.cc", "base/clock.h")
        self.assert_fault("service/stream/stream.cc:3 includes base/clock.h, "
                          "but service/stream/CMakeLists.txt does not list base")

    def test_finds_a_listed_folder_that_no_include_needs(self):
        self.list_folders("service/server", "base", "pipeline/flow service/stream")
        self.assert_fault("service/server/CMakeLists.txt lists base, but no include needs it")

    def test_finds_a_header_that_includes_what_only_sources_may_include(self):
        self.list_folders("pipeline/flow", "", "base pipeline/learner")
        self.assert_fault("pipeline/flow/flow.h:2 includes pipeline/learner/learner.h, "
                          "but pipeline/flow/CMakeLists.txt lists pipeline/learner under USES, not DEPENDS")

    def test_finds_a_folder_with_too_many_files(self):
        for number in range(39):
            self.write(f"base/file{number}.cc", "")
        self.picture()
        (self.root / "docs/rooms.svg").unlink()
        self.write("base/one_more.cc", "")
        self.assert_fault("base has 41 source files, more than 40")

    def test_finds_a_folder_without_readme(self):
        (self.root / "ingest/frame/README.md").unlink()
        self.assert_fault("ingest/frame has no README.md")

    def test_finds_a_file_in_no_folder_with_a_library(self):
        self.write("service/lost.cc", "")
        self.assert_fault("service/lost.cc lies in no folder that has a millrace_library()")

    def test_finds_that_a_stream_sees_networks(self):
        self.include("service/stream/stream.cc", "pipeline/flow/flow.h")
        self.list_folders("service/stream", "ingest/frame", "pipeline/flow pipeline/learner")
        self.assert_fault("service/stream/stream.cc:3 includes pipeline/flow/flow.h, "
                          "but service/stream may not see pipeline/flow")

    def test_finds_that_the_pipeline_knows_cameras(self):
        self.include("pipeline/flow/flow.cc", "ingest/frame/frame.h")
        self.list_folders("pipeline/flow", "pipeline/learner", "base ingest/frame")
        self.assert_fault("pipeline/flow/flow.cc:4 includes ingest/frame/frame.h, "
                          "but pipeline/flow may not see ingest/frame")


if __name__ == "__main__":
    unittest.main()
