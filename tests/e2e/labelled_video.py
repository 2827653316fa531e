"""A video whose classes are known: scikit-learn's handwritten digits, one after the other."""

import gzip
import pathlib
import struct

from millrace_testing import millrace_process

DIGITS = millrace_process.ROOT / ".deps/digits/digits.csv.gz"
SIDE = 8  # Pixels of a digit.
ZOOM = 4  # Pixels of the video for each of them.


def digits(classes: int) -> list[tuple[list[int], int]]:
    """Pictures of the first digits, as 64 values of 0 to 16, each with its digit."""
    rows = gzip.decompress(DIGITS.read_bytes()).decode().splitlines()
    samples = [[int(float(value)) for value in row.split(",")] for row in rows]
    return [(sample[:-1], sample[-1]) for sample in samples if sample[-1] < classes]


def grey_picture(values: list[int]) -> bytes:
    """As I420: brightness, and no colour."""
    rows = (bytes(min(255, value * 16) for value in values[row:row + SIDE] for _ in range(ZOOM))
            for row in range(0, SIDE * SIDE, SIDE))
    side = SIDE * ZOOM
    return b"".join(row * ZOOM for row in rows) + bytes([128]) * (side * side // 2)


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _list(name: bytes, *chunks: bytes) -> bytes:
    return _chunk(b"LIST", name + b"".join(chunks))


def write_avi(path: pathlib.Path, pictures: list[bytes], frames_per_second: int) -> None:
    """An AVI file of pictures as they are."""
    side, size = SIDE * ZOOM, len(pictures[0])
    main = struct.pack("<14I", 1_000_000 // frames_per_second, size * frames_per_second, 0, 0x10,
                       len(pictures), 0, 1, size, side, side, 0, 0, 0, 0)
    stream = struct.pack("<4s4sIHHIIIIIIII4H", b"vids", b"I420", 0, 0, 0, 0, 1, frames_per_second, 0,
                         len(pictures), size, 0xffffffff, 0, 0, 0, side, side)
    form = struct.pack("<IiiHH4sIiiII", 40, side, side, 1, 12, b"I420", size, 0, 0, 0, 0)
    index = b"".join(struct.pack("<4sIII", b"00db", 0x10, 4 + i * (size + 8), size)
                     for i in range(len(pictures)))
    path.write_bytes(_chunk(b"RIFF", b"AVI " + _list(
        b"hdrl", _chunk(b"avih", main), _list(b"strl", _chunk(b"strh", stream), _chunk(b"strf", form))
    ) + _list(b"movi", *(_chunk(b"00db", picture) for picture in pictures)) + _chunk(b"idx1", index)))
