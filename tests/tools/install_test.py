"""`make install` makes a tree that runs anywhere, without the checkout."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from millrace_testing import millrace_process

ROOT = millrace_process.ROOT
PREFIX = "/opt/millrace"


def install(prefix: str, destination: pathlib.Path, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "tools/install", prefix], capture_output=True, text=True, check=False,
                          env={**os.environ, "DESTDIR": str(destination), **variables})


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.installed = install(PREFIX, folder / "package")
        # Somebody moves it.
        cls.tree = folder / "elsewhere"
        if cls.installed.returncode == 0:
            (folder / f"package{PREFIX}").rename(cls.tree)
        cls.program = cls.tree / "bin/millrace"

    def run_program(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *arguments], cwd="/", capture_output=True, text=True,
                              check=False, timeout=millrace_process.PATIENCE_S)

    def test_says_where_it_has_put_it(self):
        self.assertEqual(self.installed.returncode, 0, self.installed.stdout + self.installed.stderr)
        self.assertIn(f"{PREFIX}/bin/millrace", self.installed.stdout)

    def test_finds_every_library_and_none_in_the_checkout(self):
        loaded = subprocess.run(["ldd", self.program], capture_output=True, text=True, check=True)
        self.assertNotIn("not found", loaded.stdout)
        self.assertNotIn(str(ROOT), loaded.stdout)
        self.assertIn(f"{self.tree}/", loaded.stdout)

    def test_takes_libtorch_but_nothing_that_only_gpus_need(self):
        names = {path.name for path in (self.tree / "lib/millrace/torch").rglob("*.so*")}
        self.assertIn("libtorch_cpu.so", names)
        self.assertNotIn("libtorch_cuda.so", names)

    def test_learns_where_it_was_moved_to(self):
        self.assertRegex(self.run_program("--version").stdout, r"^millrace \d")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(millrace_process.config([millrace_process.test_stream("ball")]), file)
            file.flush()
            served = self.run_program("serve", "--config", file.name, "--frames", "20")
        self.assertEqual(served.returncode, 0, served.stdout + served.stderr)

    def test_its_sample_is_a_configuration_of_what_is_there(self):
        text = (self.tree / "share/millrace/millrace.yaml").read_text()
        self.assertIn("weights: weights/refine-start.safetensors", text)
        self.assertTrue((self.tree / "share/millrace/weights/refine-start.safetensors").exists())
        self.assertIn("Dan Vanderkam", (self.tree / "share/doc/millrace/dygraphs-copyright").read_text())
        checked = self.run_program("check-config", str(self.tree / "share/millrace/millrace.yaml"))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_manual_and_the_completion_are_there(self):
        page = (self.tree / "share/man/man1/millrace.1").read_text()
        self.assertTrue(page.startswith(".TH MILLRACE 1"))
        completion = self.tree / "share/bash-completion/completions/millrace"
        subprocess.run(["bash", "-n", completion], check=True)

    def test_the_unit_names_the_program(self):
        unit = (self.tree / "lib/systemd/system/millrace.service").read_text()
        self.assertIn(f"ExecStart={PREFIX}/bin/millrace serve", unit)

    def test_what_names_the_prefix_says_so(self):
        self.assertRegex((self.tree / "lib/systemd/system/millrace.service").read_text(), "(?i)move")
        naming = [path for path in self.tree.rglob("*") if path.is_file() and path.suffix != ".so" and
                  f"{PREFIX}/".encode() in path.read_bytes()]
        self.assertEqual(sorted(path.name for path in naming), ["millrace.service"])

    def test_drop_ins_for_devices_lie_beside_the_samples(self):
        names = sorted(path.name for path in (self.tree / "share/millrace/systemd").iterdir())
        self.assertEqual(names, ["camera.conf", "gpu.conf"])

    def test_a_prefix_that_others_would_misread_is_refused(self):
        for prefix in ("/opt/my own", "/opt/a&b", "/opt/a|b", "/opt/100%", "/opt/a:b", "/opt/$HOME"):
            with self.subTest(prefix), tempfile.TemporaryDirectory() as folder:
                refused = install(prefix, pathlib.Path(folder))
                self.assertEqual(refused.returncode, 1)
                self.assertIn("may have letters, digits and", refused.stderr)
                self.assertEqual(os.listdir(folder), [])

    def test_a_prefix_that_is_not_absolute_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            refused = install("here", pathlib.Path(folder))
            self.assertEqual(refused.returncode, 1)
            self.assertIn("is not absolute", refused.stderr)
            self.assertEqual(os.listdir(folder), [])


class OwnLibTorchTest(unittest.TestCase):
    """LibTorch is not where set-up unpacks it, but in a folder of the user's, among other things."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Its own LibTorch is one folder, not `torch` in another, and its path has a space.
        self.own = self.folder / "my own"
        parts = {"libtorch/lib": "torch/lib", "nvidia/cu13/lib": "nvidia/cu13/lib"}
        for there, here in parts.items():
            (self.own / there).mkdir(parents=True)
            for library in (ROOT / ".deps/libtorch" / here).glob("*.so*"):
                (self.own / there / library.name).symlink_to(library)
        (self.own / "another/lib").mkdir(parents=True)
        (self.own / "another/lib/another.so").touch()
        (self.own / "nvidia/tool/target/linux/lib").mkdir(parents=True)
        (self.own / "nvidia/tool/target/linux/lib/tool.so").touch()
        # As linked with it: looked at before what the program was linked with.
        self.linked = {"LD_LIBRARY_PATH": ":".join(str(self.own / part) for part in parts)}

    def assert_installs(self, **variables: str) -> set[str]:
        """Returns what lies below lib/millrace."""
        installed = install(PREFIX, self.folder / "to", **self.linked, **variables)
        self.assertEqual(installed.returncode, 0, installed.stdout + installed.stderr)
        tree = self.folder / f"to{PREFIX}"
        libraries = tree / "lib/millrace"
        said = subprocess.run([tree / "bin/millrace", "--version"], cwd="/", capture_output=True, text=True,
                              check=False)
        self.assertRegex(said.stdout, r"^millrace \d", said.stderr)
        loaded = subprocess.run(["ldd", tree / "bin/millrace"], capture_output=True, text=True, check=True)
        self.assertIn(f"{libraries}/torch/lib/libtorch_cpu.so", os.path.normpath(loaded.stdout))
        return {str(path.relative_to(libraries)) for path in libraries.rglob("*.so*")}

    def test_it_is_installed_where_the_program_looks(self):
        files = self.assert_installs()
        self.assertLessEqual({"torch/lib/libc10.so", "nvidia/cu13/lib/libcudart.so.13"}, files)

    def test_for_gpus_nothing_else_comes_along(self):
        (self.own / "nvidia/cu13/lib/libcublas.so.13").touch()
        files = self.assert_installs(MILLRACE_INSTALL_GPU="1")
        self.assertIn("nvidia/cu13/lib/libcublas.so.13", files)
        self.assertEqual([file for file in files if "another" in file or "tool" in file or "nvperf" in file], [])

    def test_a_library_that_is_nowhere_is_named(self):
        (self.own / "libtorch/lib/libc10.so").unlink()
        (self.own / "elsewhere").mkdir()
        (self.own / "elsewhere/libc10.so").symlink_to(ROOT / ".deps/libtorch/torch/lib/libc10.so")
        self.linked["LD_LIBRARY_PATH"] += f":{self.own / 'elsewhere'}"
        refused = install(PREFIX, self.folder / "to", **self.linked)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("cannot start: it finds no libc10.so", refused.stderr)


if __name__ == "__main__":
    unittest.main()
