"""tests/gpu_check/pack packs all files for another machine; check names missing parts there."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = pathlib.Path(os.environ["MILLRACE_BUILT"])
LIBTORCH = pathlib.Path(os.environ["MILLRACE_LIBTORCH_LIB"])


class PackTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="millrace-gpu-check."))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([ROOT / "tests/gpu_check/pack", BUILT, cls.folder / "packed"], check=True,
                       capture_output=True)  # fmt: skip
        # As on another machine: nothing but what was packed.
        elsewhere = cls.folder / "elsewhere"
        elsewhere.mkdir()
        subprocess.run(["tar", "xf", cls.folder / "packed.tar.gz", "-C", elsewhere], check=True)
        cls.check = elsewhere / "packed/check"

    def run_check(self, *arguments):
        return subprocess.run([self.check, *arguments], capture_output=True, text=True, check=False)

    def symbols(self, library):
        return subprocess.run(["nm", "-D", "--defined-only", self.check.parent / "lib" / library],
                              capture_output=True, text=True, check=True).stdout  # fmt: skip

    def libtorch(self, with_cuda):
        """As wheels lie: CUDA's libraries beside it, which only a machine with CUDA has elsewhere."""
        wheels = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        folder = wheels / "torch"
        (folder / "lib").mkdir(parents=True)
        if (of_cuda := LIBTORCH.parents[1] / "nvidia").exists():
            (wheels / "nvidia").symlink_to(of_cuda)
        for library in LIBTORCH.iterdir():
            (folder / "lib" / library.name).symlink_to(library)
        if with_cuda and not (folder / "lib/libtorch_cuda.so").exists():
            (folder / "lib/libtorch_cuda.so").touch()
        return folder

    def test_kernels_come_along_where_they_are_built(self):
        self.assertIn("MillraceNewCudaGraphPool", self.symbols("libmillrace_cuda.so"))
        packed = (self.check.parent / "lib/libmillrace_cuda_kernels.so").exists()
        self.assertEqual(packed, os.environ["MILLRACE_KERNELS"] == "1")
        if packed:
            self.assertIn("MillraceCudaKernels", self.symbols("libmillrace_cuda_kernels.so"))

    def test_it_asks_for_a_libtorch_with_cuda(self):
        self.assertIn("which LibTorch?", self.run_check().stderr)
        result = self.run_check(tempfile.gettempdir())
        self.assertEqual(result.returncode, 1)
        self.assertIn("name a LibTorch 2.11 with CUDA", result.stderr)

    def test_the_tests_start_and_without_a_gpu_they_have_not_passed(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("this machine has a GPU")
        result = self.run_check(self.libtorch(with_cuda=True))
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("no NVIDIA driver", result.stdout)
        self.assertIn("there is no GPU, or there are no kernels", result.stderr)

    def test_the_benchmark_starts_and_says_what_is_missing(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("this machine has a GPU")
        packed = self.check.parent
        result = subprocess.run(
            [packed / "bin/gpu_benchmark"], capture_output=True, text=True, check=False,
            env={"LD_LIBRARY_PATH": f"{packed}/lib:{LIBTORCH}"})  # fmt: skip
        self.assertEqual(result.returncode, 1)
        self.assertIn("no NVIDIA driver", result.stderr)


if __name__ == "__main__":
    unittest.main()
