"""tools/setup on a machine of fakes: its installations, stops and refusals."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from scratch_checkout import ScratchCheckout

NOBODY = 65534


class SetupTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="millrace-venv.")
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        cls.venv = pathlib.Path(folder.name) / "venv"
        subprocess.run(["/usr/bin/python3", "-m", "venv", cls.venv], check=True)

    def setUp(self):
        self.checkout = ScratchCheckout(self.venv)
        self.addCleanup(self.checkout.close)
        self.checkout.have(self.checkout.packages("build", "run"))
        self.libtorch = self.checkout.deps / "libtorch/torch/lib/libtorch_cpu.so"

    def setup_succeeds(self, *arguments, **variables) -> str:
        run = self.checkout.setup(*arguments, **variables)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def setup_fails(self, *arguments, **variables) -> str:
        run = self.checkout.setup(*arguments, **variables)
        self.assertNotEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def test_says_the_exact_command_and_stops_where_it_must_not_install(self):
        self.checkout.have([name for name in self.checkout.packages("build", "run")
                            if name not in ("cmake", "g++")])
        output = self.setup_fails(MILLRACE_SETUP="never")

        sudo = "" if os.geteuid() == 0 else "sudo "
        self.assertIn(f"\n  {sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends "
                      "cmake g++\n", output)
        self.assertIn("compiles Millrace", output)  # The reason for g++, from the table.
        self.assertEqual(self.checkout.calls(), [])
        self.assertFalse(self.libtorch.exists())

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become somebody else")
    def test_says_the_command_where_sudo_wants_a_password_and_nobody_can_type_it(self):
        self.checkout.have([])
        for path in [self.checkout.deps, *self.checkout.deps.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        output = self.setup_fails(user=NOBODY)

        packages = " ".join(self.checkout.packages("build", "run"))
        self.assertIn("sudo apt-get update && sudo apt-get install -y --no-install-recommends "
                      f"{packages}\n", output)
        self.assertEqual(self.checkout.calls(), ["sudo -n true"])

    @unittest.skipUnless(os.geteuid() == 0, "installs as root, without sudo")
    def test_installs_what_is_missing_and_nothing_else(self):
        self.checkout.have([name for name in self.checkout.packages("build", "run")
                            if name != "ccache"])
        self.setup_succeeds()

        [install] = self.checkout.installs()
        self.assertTrue(install.endswith(" install -y --no-install-recommends ccache"), install)

    def test_a_second_run_does_nothing_and_says_nothing(self):
        self.setup_succeeds()
        calls = self.checkout.calls()
        output = self.setup_succeeds()

        self.assertEqual(self.checkout.calls(), calls)
        self.assertEqual(output, "")

    def test_running_asks_for_nothing_that_only_tests_or_checks_need(self):
        self.setup_succeeds("run", MILLRACE_SETUP="never")
        output = self.setup_fails("test", MILLRACE_SETUP="never")
        self.assertIn("libgtest-dev", output)
        self.assertNotIn("clang-16", output)
        self.assertIn("clang-16", self.setup_fails("check", MILLRACE_SETUP="never"))

    def test_unpacks_the_parts_of_libtorch_that_a_cpu_needs(self):
        self.setup_succeeds()

        folder = self.checkout.deps / "libtorch"
        self.assertTrue(self.libtorch.exists())
        self.assertTrue((folder / "torch/include/ATen/ATen.h").exists())
        self.assertTrue((folder / "nvidia/cu13/lib/libcudart.so.13").exists())
        self.assertFalse((folder / "torch/lib/libtorch_cuda.so").exists())
        self.assertFalse((folder / "torch/nn").exists())

    def test_gets_what_cuda_needs_where_there_is_a_driver_or_it_is_told_to(self):
        cuda = [self.checkout.deps / "libtorch" / file
                for file in ("torch/lib/libtorch_cuda.so", "nvidia/cudnn/lib/libcudnn.so.9")]
        self.checkout.have_nvidia_driver()
        self.assertIn("set it to 1 or 0", self.setup_fails(MILLRACE_WITH_CUDA="yes"))
        self.assertIn("(cpu)", self.setup_succeeds(MILLRACE_WITH_CUDA="0"))
        self.assertFalse(any(file.exists() for file in cuda))
        self.assertIn("(cuda): 2.6 GB", self.setup_succeeds())
        self.assertTrue(all(file.exists() for file in cuda))
        self.assertEqual(self.setup_succeeds(MILLRACE_WITH_CUDA="0"), "")  # It serves both.

    def test_refuses_a_wheel_whose_checksum_is_not_the_pinned_one(self):
        table = self.checkout.wheel_table
        right = table.read_text()
        digest = right.split("sha256:")[1].split()[0]
        table.write_text(right.replace(digest, "0" * 64))
        output = self.setup_fails()

        self.assertIn("DO NOT MATCH THE HASHES", output)
        self.assertFalse((self.checkout.deps / "libtorch").exists())
        self.assertFalse((self.checkout.deps / "stamps/libtorch").exists())

        table.write_text(right)  # What was left half done does not stand in the way.
        self.setup_succeeds()
        self.assertTrue(self.libtorch.exists())
        self.assertEqual(list(self.checkout.deps.rglob("*.whl")), [])

    def test_unpacks_libtorch_again_when_it_is_gone_or_another_one_is_pinned(self):
        self.setup_succeeds()
        self.libtorch.unlink()
        self.setup_succeeds()
        self.assertTrue(self.libtorch.exists())

        self.checkout.wheel_table.write_text("# other\n" + self.checkout.wheel_table.read_text())
        self.assertIn("LibTorch", self.setup_succeeds())

    def test_takes_a_libtorch_of_ones_own(self):
        own = self.checkout.base / "own"
        for file in ("lib/libtorch_cpu.so", "lib/libc10.so", "include/ATen/ATen.h"):
            (own / file).parent.mkdir(parents=True, exist_ok=True)
            (own / file).touch()
        self.setup_succeeds(MILLRACE_LIBTORCH=str(own))
        self.assertFalse((self.checkout.deps / "libtorch").exists())

        (own / "include/ATen/ATen.h").unlink()
        self.assertIn("has no include/ATen/ATen.h", self.setup_fails(MILLRACE_LIBTORCH=str(own)))

    def test_refuses_another_video_than_the_one_that_was_measured(self):
        self.checkout.set_video(b"other pictures", pin=False)
        self.assertIn("vtest.avi", self.setup_fails())
        self.assertFalse((self.checkout.deps / "video/vtest.avi").exists())

    def test_keeps_the_digits_alone_of_the_wheel_that_has_them(self):
        self.checkout.have(self.checkout.packages("build", "run", "test"))
        output = self.setup_fails("test")  # No wheel here is what the Python tests import.

        self.assertIn("requirements-test.txt", output)
        digits = self.checkout.deps / "digits"
        self.assertEqual([path.name for path in digits.iterdir()], ["digits.csv.gz"])

    def test_every_package_has_a_use_and_a_reason(self):
        rows = [line.split(maxsplit=2) for line in
                (self.checkout.root / "tools/packages.txt").read_text().splitlines()
                if line and not line.startswith("#")]
        self.assertGreater(len(rows), 30)
        for row in rows:
            self.assertEqual(len(row), 3, row)
            self.assertIn(row[1], ("build", "run", "test", "check"), row)
        names = [row[0] for row in rows]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
