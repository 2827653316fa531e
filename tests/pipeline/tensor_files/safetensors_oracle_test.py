"""Our files of tensors beside the library of the format. Usage: safetensors_oracle_test.py PROGRAM"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import safetensors
import safetensors.numpy

from millrace_testing.fnv import checksum

PROGRAM = sys.argv.pop(1)
TENSORS = {
    "weight": np.random.default_rng(1).standard_normal((3, 2, 5)).astype(np.float32),
    "exact": np.array([0.1, -np.inf, np.nan], np.float64),
    "count": np.array(-(2**63), np.int64),
    "picture": np.arange(7, dtype=np.uint8),
    "none": np.zeros((0, 4), np.float32),
    'a "name" of 1/8\n\u20ac': np.ones(1, np.float32),
}
METADATA = {"updates": "12", "text": '{"a": "\u20ac"}'}


def data_of(file: bytes) -> bytes:
    return file[8 + int.from_bytes(file[:8], "little") :]


class SafeTensorsOracleTest(unittest.TestCase):
    def copied(self, tensors: dict, metadata: dict) -> pathlib.Path:
        """A file that the library writes, read and written again by our code."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        sealed = {**metadata, "checksum": checksum(data_of(safetensors.numpy.save(tensors)))}
        safetensors.numpy.save_file(tensors, folder / "from", sealed)
        subprocess.run([PROGRAM, folder / "from", folder / "to"], check=True)
        return folder / "to"

    def test_each_reads_what_the_other_has_written(self):
        with safetensors.safe_open(self.copied(TENSORS, METADATA), "np") as file:
            self.assertEqual(set(file.keys()), set(TENSORS))
            for name, tensor in TENSORS.items():
                found = file.get_tensor(name)
                self.assertEqual((found.dtype, found.shape), (tensor.dtype, tensor.shape), name)
                self.assertEqual(found.tobytes(), tensor.tobytes(), name)
            metadata = file.metadata()
        self.assertRegex(metadata.pop("checksum"), "^[0-9a-f]{16}$")
        self.assertEqual(metadata, METADATA)

    def test_so_is_a_file_without_tensors(self):
        self.assertEqual(safetensors.numpy.load_file(self.copied({}, METADATA)), {})


if __name__ == "__main__":
    unittest.main()
