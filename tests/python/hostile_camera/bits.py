"""Parameter sets that no encoder writes: pictures of any size, in H.264 and H.265."""


class BitWriter:

    def __init__(self):
        self._bits: list[int] = []

    def u(self, width: int, value: int) -> "BitWriter":
        self._bits += [value >> i & 1 for i in reversed(range(width))]
        return self

    def golomb(self, *values: int) -> "BitWriter":
        """Each as an Exp-Golomb code."""
        for value in values:
            length = (value + 1).bit_length()
            self.u(length - 1, 0).u(length, value + 1)
        return self

    def payload(self) -> bytes:
        """With the stop bit, and with the bytes that keep start codes out."""
        bits = [*self._bits, 1]
        bits += [0] * (-len(bits) % 8)
        raw = bytes(int("".join(map(str, bits[i:i + 8])), 2) for i in range(0, len(bits), 8))
        return _escaped(raw)


def _escaped(raw: bytes) -> bytes:
    out = bytearray()
    for byte in raw:
        if byte <= 3 and out[-2:] == b"\0\0":
            out.append(3)
        out.append(byte)
    return bytes(out)


def h264_sps(width_in_blocks: int,
             height_in_blocks: int,
             *,
             sps_id: int = 0,
             reference_frames: int = 1,
             crop: tuple[int, int, int, int] | None = None) -> bytes:
    """Of blocks of 16x16 pixels; `crop` takes units of two pixels off the left, right, top, bottom."""
    bits = BitWriter().u(8, 66).u(8, 0xC0).u(8, 51)  # Baseline, level 5.1.
    bits.golomb(sps_id, 0, 2, reference_frames).u(1, 0).golomb(width_in_blocks - 1, height_in_blocks - 1)
    bits.u(1, 1).u(1, 1).u(1, crop is not None)
    if crop is not None:
        bits.golomb(*crop)
    return b"\x67" + bits.u(1, 0).payload()


def h265_sps(width: int, height: int) -> bytes:
    """In pixels."""
    bits = BitWriter().u(4, 0).u(3, 0).u(1, 1)
    bits.u(8, 1).u(32, 0x60000000).u(48, 0x900000000000).u(8, 153)  # Main, level 5.1.
    bits.golomb(0, 1, width, height).u(1, 0).golomb(0, 0, 4).u(1, 1).golomb(1, 0, 0)
    bits.golomb(0, 3, 0, 3, 0, 0).u(4, 0).golomb(0).u(3, 0).u(1, 0).u(1, 0)
    return b"\x42\x01" + bits.payload()


class BitReader:
    """Reads the bits of a BitWriter, for tests."""

    def __init__(self, payload: bytes):
        raw = payload.replace(b"\0\0\3", b"\0\0")
        self._bits = "".join(f"{byte:08b}" for byte in raw)
        self._at = 0

    def u(self, width: int) -> int:
        self._at += width
        return int(self._bits[self._at - width:self._at], 2)

    def golomb(self) -> int:
        zeros = self._bits.index("1", self._at) - self._at
        self._at += zeros
        return self.u(zeros + 1) - 1


def h264_size(sps: bytes) -> tuple[int, int]:
    """Of pixels that such an SPS says, cropped."""
    reader = BitReader(sps[4:])
    for _ in range(4):
        reader.golomb()
    reader.u(1)
    width, height = (reader.golomb() + 1) * 16, (reader.golomb() + 1) * 16
    if reader.u(3) & 1:
        left, right, top, bottom = (2 * reader.golomb() for _ in range(4))
        width, height = width - left - right, height - top - bottom
    return width, height


def h265_size(sps: bytes) -> tuple[int, int]:
    reader = BitReader(sps[2:])
    reader.u(8 + 96)
    reader.golomb()
    reader.golomb()
    return reader.golomb(), reader.golomb()
