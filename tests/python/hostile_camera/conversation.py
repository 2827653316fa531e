"""An honest camera's answers, request by request, and the actions of a lying camera on the wire."""

import base64
import dataclasses
import math
from collections.abc import Iterable, Iterator

from hostile_camera import material

# The steps of a session, in order: a lie is told at one of them.
CONNECT, OPTIONS, DESCRIBE, SETUP, PLAY = STEPS = ("CONNECT", "OPTIONS", "DESCRIBE", "SETUP", "PLAY")


@dataclasses.dataclass(frozen=True)
class Pause:
    """Nothing is sent for so long. Infinite: nothing any more, and the connection stays open."""

    seconds: float = math.inf


@dataclasses.dataclass(frozen=True)
class Close:
    """The connection ends: by a FIN, or by a RST, which discards unread data."""

    reset: bool = False


@dataclasses.dataclass(frozen=True)
class HalfClose:
    """The camera closes its sending side, and continues to read."""


# What a session does, one after the other. Bytes are sent.
Action = bytes | Pause | Close | HalfClose
Actions = Iterable[Action]


@dataclasses.dataclass(frozen=True)
class Request:
    """A request of the client."""

    method: str
    cseq: str
    url: str  # Of this camera.
    number: int  # From 0, on this connection.


@dataclasses.dataclass(frozen=True)
class Answer:
    """A response that a liar may change."""

    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    status: str = "RTSP/1.0 200 OK"

    def with_header(self, name: str, value: str) -> "Answer":
        """In place of those of that name, if there are any."""
        kept = tuple(header for header in self.headers if header[0] != name)
        return dataclasses.replace(self, headers=(*kept, (name, value)))

    def without(self, name: str) -> "Answer":
        return dataclasses.replace(self, headers=tuple(h for h in self.headers if h[0] != name))

    def head(self) -> bytes:
        """Without the blank line that ends it."""
        lines = [self.status, *(f"{name}: {value}" for name, value in self.headers)]
        return "".join(f"{line}\r\n" for line in lines).encode("latin-1")

    def to_bytes(self) -> bytes:
        return self.head() + b"\r\n" + self.body


def description(codec: str) -> str:
    """The SDP of an honest camera."""
    fmtp = {"h264": _h264_fmtp, "h265": _h265_fmtp, "jpeg": lambda: ""}[codec]()
    payload_type = 26 if codec == "jpeg" else 96
    return ("v=0\r\n"
            "o=- 1 1 IN IP4 127.0.0.1\r\n"
            "s=camera\r\n"
            "c=IN IP4 0.0.0.0\r\n"
            "t=0 0\r\n"
            "a=range:npt=now-\r\n"
            f"m=video 0 RTP/AVP {payload_type}\r\n"
            f"a=rtpmap:{payload_type} {codec.upper()}/90000\r\n"
            f"{fmtp}"
            "a=control:track1\r\n")


def _h264_fmtp() -> str:
    sets = ",".join(base64.b64encode(unit).decode() for unit in material.parameter_sets("h264"))
    return f"a=fmtp:96 packetization-mode=1;sprop-parameter-sets={sets}\r\n"


def _h265_fmtp() -> str:
    names = ("sprop-vps", "sprop-sps", "sprop-pps")
    sets = ";".join(f"{name}={base64.b64encode(unit).decode()}"
                    for name, unit in zip(names, material.parameter_sets("h265"), strict=True))
    return f"a=fmtp:96 {sets}\r\n"


def honest_answer(request: Request, sdp: bytes) -> Answer:
    """`sdp` may be a lie: this is the part that is not."""
    answer = Answer(headers=(("CSeq", request.cseq), ("Server", "camera")))
    if request.method == OPTIONS:
        return answer.with_header("Public", "OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN")
    if request.method == DESCRIBE:
        answer = answer.with_header("Content-Type", "application/sdp")
        answer = answer.with_header("Content-Base", f"{request.url}/")
        return dataclasses.replace(answer.with_header("Content-Length", str(len(sdp))), body=sdp)
    answer = answer.with_header("Session", "12345678")
    if request.method == SETUP:
        return answer.with_header("Transport", "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=00C0FFEE")
    if request.method == PLAY:
        return answer.with_header("RTP-Info", f"url={request.url}/track1;seq=0;rtptime=0")
    return answer


def endlessly(piece: bytes) -> Iterator[bytes]:
    while True:
        yield piece
