"""The warm start of the network flow with other weights, as after a training that went wrong."""

import json
import pathlib
import struct

import numpy as np

from millrace_testing import millrace_process
from millrace_testing.fnv import checksum

START = millrace_process.ROOT / "samples/weights/flow-start.safetensors"


def write(path: pathlib.Path, factors: dict[str, float]) -> None:
    """Writes it with each tensor whose name begins with one of the keys times that key's factor."""
    content = START.read_bytes()
    [header_bytes] = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + header_bytes])
    data = np.frombuffer(content[8 + header_bytes:], "<f4").copy()
    for name, tensor in header.items():
        for beginning, factor in factors.items():
            if name.startswith(beginning):
                begin, end = (offset // 4 for offset in tensor["data_offsets"])
                data[begin:end] *= np.float32(factor)
    header["__metadata__"]["checksum"] = checksum(data.tobytes())  # As earlier files have it.
    written = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(written)) + written + data.tobytes())
