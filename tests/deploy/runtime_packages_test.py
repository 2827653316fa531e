"""deploy/runtime-packages names all packages of Debian that an installed program needs."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from millrace_testing.millrace_process import ROOT


def packages_of(tree: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "deploy/runtime-packages", tree], text=True, capture_output=True, check=False)


class RuntimePackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(suffix=" of mine")))
        subprocess.run([ROOT / "tools/install", "/opt/millrace"], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": str(cls.folder)})
        cls.tree = cls.folder / "opt/millrace"
        cls.run_ = packages_of(cls.tree)

    def test_names_packages_that_run_it_and_none_that_build_it(self):
        self.assertEqual((self.run_.returncode, self.run_.stderr), (0, ""))
        packages = self.run_.stdout.split()
        self.assertEqual(packages, sorted(set(packages)))
        self.assertLessEqual({"libc6", "gstreamer1.0-libav", "libgrpc++1.51"}, set(packages))
        self.assertFalse([name for name in packages if name.endswith("-dev")])

    def test_names_the_owner_of_every_library_that_is_loaded(self):
        loaded = subprocess.run(["ldd", self.tree / "bin/millrace"], text=True, capture_output=True, check=True)
        libraries = [path for path in re.findall(r"=> (/.+) \(0x", loaded.stdout)
                     if not path.startswith(str(self.tree))]
        self.assertGreater(len(libraries), 20)
        owners = subprocess.run(
            ["dpkg-query", "--search", *(os.path.realpath(path).removeprefix("/usr") for path in libraries),
             *map(os.path.realpath, libraries)], text=True, capture_output=True, check=False)
        self.assertLessEqual({line.split(":")[0] for line in owners.stdout.splitlines()},
                             set(self.run_.stdout.split()))

    def test_fails_where_a_library_is_missing(self):
        [library] = self.tree.rglob("libc10.so")
        moved = library.rename(self.folder / library.name)
        self.addCleanup(shutil.move, moved, library)
        run = packages_of(self.tree)
        self.assertEqual(run.returncode, 1)
        self.assertIn("libc10.so => not found", run.stderr)

    def test_wants_a_tree(self):
        run = packages_of(self.folder)
        self.assertEqual(run.returncode, 2)
        self.assertIn("usage: deploy/runtime-packages TREE", run.stderr)


if __name__ == "__main__":
    unittest.main()
