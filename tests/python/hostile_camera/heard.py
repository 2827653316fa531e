"""The data that a client has received from a camera, for tests: raw, and parsed as far as they are honest."""

import asyncio
import dataclasses
import functools
import math
import re
import struct

from hostile_camera import rtp
from hostile_camera.camera import Camera
from hostile_camera.conversation import DESCRIBE, OPTIONS, PLAY, SETUP, STEPS
from hostile_camera.lie import Lie


@dataclasses.dataclass(frozen=True)
class HeardPacket:
    """RTP, as its header says it."""

    version: int
    has_padding: bool
    has_extension: bool
    csrc_count: int
    marker: bool
    payload_type: int
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes  # With whatever belongs to the header.


@dataclasses.dataclass(frozen=True)
class Heard:
    raw: bytes
    pauses: tuple[float, ...]  # Seconds in which nothing was sent, as the camera says.
    end: str  # closed, reset, or limit: the client had heard enough.

    def since(self, step: str) -> bytes:
        """All bytes since that step, instead of an honest answer."""
        at = 0
        for _ in STEPS[1:STEPS.index(step)]:
            at += len(_honest_answer(self.raw[at:]))
        return self.raw[at:]

    def head(self, step: str) -> str:
        return self.since(step).partition(b"\r\n\r\n")[0].decode("latin-1")

    def header(self, name: str, step: str) -> list[str]:
        return re.findall(rf"^{name}: (.*?)\r?$", self.head(step), re.MULTILINE)

    @property
    def sdp(self) -> bytes:
        return _honest_answer(self.since(DESCRIBE)).partition(b"\r\n\r\n")[2]

    @functools.cached_property
    def stream(self) -> bytes:
        """All bytes after the answer to PLAY."""
        answer = self.since(PLAY)
        return answer[len(_honest_answer(answer)):]

    @functools.cached_property
    def frames(self) -> list[tuple[int, bytes]]:
        """Channel and data, as far as the stream is made of frames."""
        found, at, stream = [], 0, self.stream
        while at + 4 <= len(stream) and stream[at:at + 1] == b"$":
            channel, length = struct.unpack_from("!BH", stream, at + 1)
            if at + 4 + length > len(stream):
                break
            found.append((channel, stream[at + 4:at + 4 + length]))
            at += 4 + length
        return found

    @functools.cached_property
    def packets(self) -> list[HeardPacket]:
        return [_packet(data) for channel, data in self.frames if channel == rtp.RTP_CHANNEL and len(data) >= 12]

    @functools.cached_property
    def reports(self) -> list[bytes]:
        return [data for channel, data in self.frames if channel == rtp.RTCP_CHANNEL]

    @functools.cache
    def units(self, codec: str = "h264") -> list[bytes]:
        """NAL units, with fragments put together."""
        whole: list[bytes] = []
        for packet in self.packets:
            payload = packet.payload
            if codec == "h264" and payload[0] & 31 == 28:
                header, flags, rest = bytes([payload[0] & 0xE0 | payload[1] & 31]), payload[1], payload[2:]
            elif codec == "h265" and payload[0] >> 1 & 63 == 49:
                header, flags, rest = bytes([(payload[2] & 63) << 1, payload[1]]), payload[2], payload[3:]
            else:
                whole.append(payload)
                continue
            if flags & 0x80:
                whole.append(header + rest)
            else:
                whole[-1] += rest
        return whole


def _honest_answer(raw: bytes) -> bytes:
    head, end, rest = raw.partition(b"\r\n\r\n")
    length = re.search(rb"^Content-Length: (\d+)\r?$", head, re.MULTILINE)
    return head + end + rest[:int(length[1]) if length else 0]


def _packet(data: bytes) -> HeardPacket:
    first, second, sequence, timestamp, ssrc = struct.unpack_from("!BBHII", data)
    return HeardPacket(version=first >> 6,
                       has_padding=bool(first & 32),
                       has_extension=bool(first & 16),
                       csrc_count=first & 15,
                       marker=bool(second & 128),
                       payload_type=second & 127,
                       sequence=sequence,
                       timestamp=timestamp,
                       ssrc=ssrc,
                       payload=data[12:])


async def listen(lie: Lie, max_bytes: int = 300_000) -> tuple[Heard, int]:
    """Asks a camera for all that there is, without waiting for its answers, and without any pause. Also
    returns how often the camera said that its lie was told."""
    raw, pauses, told, end = bytearray(), [], 0, "closed"

    def count(_: Lie) -> None:
        nonlocal told
        told += 1

    async def skip(seconds: float) -> None:
        pauses.append(seconds)
        if math.isinf(seconds):
            (await connection)[1].write_eof()  # Enough: the camera hears that, and ends it, too.

    async with Camera(lie, told=count, sleep=skip) as camera:
        port = int(camera.url.rpartition(":")[2].partition("/")[0])
        connection = asyncio.create_task(asyncio.open_connection("127.0.0.1", port))
        reader, writer = await connection
        try:
            writer.write("".join(f"{method} {camera.url} RTSP/1.0\r\nCSeq: {number}\r\n\r\n"
                                 for number, method in enumerate((OPTIONS, DESCRIBE, SETUP, PLAY), 1)).encode())
            while piece := await reader.read(1 << 16):
                raw += piece
                if len(raw) >= max_bytes:
                    end = "limit"
                    break
        except ConnectionResetError:
            end = "reset"
        writer.close()
    return Heard(raw=bytes(raw), pauses=tuple(pauses), end=end), told
