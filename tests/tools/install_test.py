"""`make install` puts there what runs anywhere: nothing of the checkout is needed any more."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import millrace_process

ROOT = millrace_process.ROOT
PREFIX = "/opt/millrace"


def install(prefix: str, destination: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "tools/install", prefix], capture_output=True, text=True,
                          check=False, env={**os.environ, "DESTDIR": str(destination)})


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
        self.assertIn(f"{PREFIX}/share/millrace/weights/flow-start.safetensors", text)
        self.assertTrue((self.tree / "share/millrace/weights/flow-start.safetensors").exists())
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text.replace(PREFIX, str(self.tree)))
            file.flush()
            checked = self.run_program("check-config", file.name)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_manual_and_the_completion_are_there(self):
        page = (self.tree / "share/man/man1/millrace.1").read_text()
        self.assertTrue(page.startswith(".TH MILLRACE 1"))
        completion = self.tree / "share/bash-completion/completions/millrace"
        subprocess.run(["bash", "-n", completion], check=True)

    def test_the_unit_names_the_program(self):
        unit = (self.tree / "lib/systemd/system/millrace.service").read_text()
        self.assertIn(f"ExecStart={PREFIX}/bin/millrace serve", unit)

    def test_a_prefix_that_is_not_absolute_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            refused = install("here", pathlib.Path(folder))
            self.assertEqual(refused.returncode, 1)
            self.assertIn("is not absolute", refused.stderr)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
