"""Access units in RTP packets (RFC 3550, 6184, 7798), and these in RTSP's connection."""

import dataclasses
import struct
from collections.abc import Iterable, Iterator

from hostile_camera.conversation import Action, Pause
from hostile_camera.material import RATE, AccessUnit

SSRC = 0x00C0FFEE
RTP_CHANNEL, RTCP_CHANNEL = 0, 1
CLOCK = 90000
_LARGEST = 1200  # Bytes of a payload.


@dataclasses.dataclass(frozen=True)
class Packet:
    """Each field as it is sent, true or false."""

    payload: bytes
    sequence: int
    timestamp: int
    marker: bool = False
    payload_type: int = 96
    ssrc: int = SSRC
    version: int = 2
    has_padding: bool = False  # The payload's last byte says how much.
    has_extension: bool = False  # The payload begins with it.
    csrc_count: int = 0

    def to_bytes(self) -> bytes:
        first = self.version << 6 | self.has_padding << 5 | self.has_extension << 4 | self.csrc_count
        return struct.pack("!BBHII", first, self.marker << 7 | self.payload_type, self.sequence & 0xFFFF,
                           self.timestamp & 0xFFFFFFFF, self.ssrc) + self.payload


@dataclasses.dataclass(frozen=True)
class Frame:
    """An interleaved frame of an RTSP connection; `length` is the length that its header gives."""

    data: bytes
    channel: int = RTP_CHANNEL
    length: int | None = None

    def to_bytes(self) -> bytes:
        length = len(self.data) if self.length is None else self.length
        return struct.pack("!cBH", b"$", self.channel, length) + self.data


def payloads(codec: str, unit: bytes) -> list[bytes]:
    """A NAL unit as it is, or, where it is too long for a packet, in fragments."""
    if len(unit) <= _LARGEST:
        return [unit]
    header = 1 if codec == "h264" else 2
    pieces = [unit[i:i + _LARGEST] for i in range(header, len(unit), _LARGEST)]
    last = len(pieces) - 1
    return [fragment_header(codec, unit, start=i == 0, end=i == last) + piece for i, piece in enumerate(pieces)]


def fragment_header(codec: str, unit: bytes, start: bool, end: bool) -> bytes:
    """FU-A's of H.264, FU's of H.265."""
    flags = start << 7 | end << 6
    if codec == "h264":
        return bytes([unit[0] & 0xE0 | 28, flags | unit[0] & 31])
    return bytes([unit[0] & 0x81 | 49 << 1, unit[1], flags | unit[0] >> 1 & 63])


def packets(codec: str, pictures: Iterable[AccessUnit | Pause], sequence: int = 0,
            first: int = 0) -> Iterator[Packet | Pause]:
    """In the camera's own time: a Pause follows each picture. The first packet and the first picture have
    these numbers."""
    for number, picture in enumerate(pictures, first):
        if isinstance(picture, Pause):
            yield picture
            continue
        parts = [part for unit in picture for part in payloads(codec, unit)]
        for part in parts:
            yield Packet(part, sequence, number * CLOCK // RATE, marker=part is parts[-1])
            sequence += 1
        yield Pause(1 / RATE)


def frames(of: Iterable[Packet | Frame | Action]) -> Iterator[Frame | Action]:
    for item in of:
        yield Frame(item.to_bytes()) if isinstance(item, Packet) else item


def actions(of: Iterable[Frame | Action]) -> Iterator[Action]:
    for item in of:
        yield item.to_bytes() if isinstance(item, Frame) else item


def sender_report(ntp_seconds: int, timestamp: int) -> bytes:
    return struct.pack("!BBHIIIIII", 0x80, 200, 6, SSRC, ntp_seconds & 0xFFFFFFFF, 0, timestamp & 0xFFFFFFFF, 1, 1)


def goodbye() -> bytes:
    return struct.pack("!BBHI", 0x81, 203, 1, SSRC)
