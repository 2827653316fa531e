"""CUDA's headers of set-up are complete: a machine without CUDA has no others."""

import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".deps/libtorch/nvidia/cu13/include"
# Where sources of ours come in.
WAYS_IN = ("cuda_runtime.h", "cuda_runtime_api.h")
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([\w/]+\.h(?:pp)?)[>"]', re.MULTILINE)


@unittest.skipIf(os.environ.get("MILLRACE_LIBTORCH"), "LibTorch is one's own")
class CudaHeadersTest(unittest.TestCase):
    def test_what_they_include_of_each_other_is_there(self):
        to_read, seen = list(WAYS_IN), set()
        while to_read:
            name = to_read.pop()
            if name in seen:
                continue
            seen.add(name)
            with self.subTest(name):
                text = (FOLDER / name).read_text(errors="replace")
                to_read += [included for included in _INCLUDE.findall(text)
                            if included.startswith("crt/") or (FOLDER / included).exists()]
        self.assertIn("crt/host_config.h", seen)


if __name__ == "__main__":
    unittest.main()
