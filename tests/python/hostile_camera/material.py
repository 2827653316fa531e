"""Video to lie with: a test picture, encoded by ffmpeg once in the life of the process."""

import functools
import re
import subprocess
from collections.abc import Iterator

RATE = 25
SIZE = (64, 64)
_FRAMES = 50
_ENCODERS = {
    "h264": ("-c:v", "libx264", "-threads", "1", "-f", "h264"),
    "h265": ("-c:v", "libx265", "-x265-params",
             "log-level=none:pools=none:frame-threads=1:keyint=10:repeat-headers=1", "-f", "hevc"),
}
_START_CODE = re.compile(rb"\x00{2,}\x01")
_PARAMETER_SETS = {"h264": (7, 8), "h265": (32, 33, 34)}

# The NAL units of one picture, the parameter sets before a key frame among them.
AccessUnit = tuple[bytes, ...]


def kind(codec: str, unit: bytes) -> int:
    """nal_unit_type."""
    return unit[0] & 31 if codec == "h264" else unit[0] >> 1 & 63


def is_picture(codec: str, unit: bytes) -> bool:
    return kind(codec, unit) < 6 if codec == "h264" else kind(codec, unit) < 32


@functools.cache
def access_units(codec: str, size: tuple[int, int] = SIZE) -> tuple[AccessUnit, ...]:
    """Two seconds with a key frame every ten frames: one slice a picture, no B-frames."""
    stream = subprocess.run([
        "ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", f"testsrc2=size={size[0]}x{size[1]}:rate={RATE}",
        "-frames:v",
        str(_FRAMES), "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-tune", "zerolatency", "-bf", "0", "-g",
        "10", *_ENCODERS[codec], "-"
    ],
                            stdout=subprocess.PIPE,
                            check=True).stdout
    pictures, units = [], []
    for unit in filter(None, _START_CODE.split(stream)):
        units.append(unit)
        if is_picture(codec, unit):
            pictures.append(tuple(units))
            units = []
    return tuple(pictures)


def parameter_sets(codec: str) -> tuple[bytes, ...]:
    first = access_units(codec)[0]
    return tuple(unit for unit in first if kind(codec, unit) in _PARAMETER_SETS[codec])


def endless(codec: str) -> Iterator[AccessUnit]:
    """A camera's pictures."""
    while True:
        yield from access_units(codec)
