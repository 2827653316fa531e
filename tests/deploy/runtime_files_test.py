"""deploy/runtime-files collects all that the program needs beside Debian's packages."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from millrace_process import ROOT, program


class RuntimeFilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        # Links instead of copies: LibTorch is half a gigabyte.
        (cls.folder / "bin").mkdir()
        link = cls.folder / "bin/cp"
        link.write_text('#!/bin/sh\nexec /usr/bin/cp --symbolic-link "$@"\n')
        link.chmod(0o755)
        cls.result = subprocess.run(
            [ROOT / "deploy/runtime-files", program(), cls.folder / "runtime"],
            text=True,
            capture_output=True,
            check=False,
            env={**os.environ, "PATH": f"{cls.folder / 'bin'}:{os.environ['PATH']}"},
        )

    def test_succeeds_silently(self):
        self.assertEqual(
            (self.result.returncode, self.result.stdout, self.result.stderr), (0, "", "")
        )

    def test_takes_the_program_and_libtorch_but_no_cuda_kernels(self):
        root = self.folder / "runtime/root"
        names = {path.name for path in root.rglob("*") if not path.is_dir()}
        self.assertIn("millrace", names)
        self.assertIn("libtorch_cpu.so", names)
        self.assertNotIn("libtorch_cuda.so", names)
        for path in root.rglob("*"):
            self.assertTrue(path.exists())

    def test_takes_every_library_of_the_checkout_under_the_name_that_is_loaded(self):
        loaded = subprocess.run(["ldd", program()], text=True, capture_output=True, check=True)
        libraries = re.findall(rf"=> ({ROOT}/\S+)", loaded.stdout)
        self.assertGreater(len(libraries), 1)
        for library in map(os.path.normpath, libraries):
            self.assertTrue((self.folder / f"runtime/root{library}").exists(), library)

    def test_names_packages_that_run_it_and_none_that_build_it(self):
        packages = set((self.folder / "runtime/packages").read_text().split())
        self.assertLessEqual({"libc6", "gstreamer1.0-libav", "libgrpc++1.51"}, packages)
        self.assertFalse({name for name in packages if name.endswith("-dev")})
        installed = subprocess.run(
            ["dpkg-query", "--show", *packages], check=False, capture_output=True
        )
        self.assertEqual(installed.returncode, 0, installed.stderr)


if __name__ == "__main__":
    unittest.main()
