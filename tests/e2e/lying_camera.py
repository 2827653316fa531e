"""A camera that behaves for a while, and then lies: a relay before a real one.

    with RtspCamera(...) as real, LyingCamera(real.url, "random_sequence") as camera:
        ...  # camera.url

What it may say is in LIES. It goes on with its lie for as long as anybody listens.
"""

import contextlib
import random
import re
import socket
import struct
import threading
from collections.abc import Callable

_PLACE = re.compile(r"rtsp://(?P<host>[^:/]+):(?P<port>\d+)(?P<path>/\S*)")
_LENGTH = re.compile(rb"^content-length: *(\d+)\r?$", re.IGNORECASE | re.MULTILINE)
_CSEQ = re.compile(rb"^cseq: *(\d+)", re.IGNORECASE | re.MULTILINE)

# So many packets of the camera's are passed on as they are. A prediction takes two frames.
BEHAVES_FOR = 100
_PIECE = 1 << 16


def _header(cseq: bytes, lines: bytes) -> tuple[bytes, bytes]:
    """The beginning of an answer, and what follows for ever."""
    more = lines or b"and on "
    return (b"RTSP/1.0 200 OK\r\nCSeq: " + cseq + b"\r\nContent-Type: application/sdp\r\n" + lines,
            more * (_PIECE // len(more)))  # fmt: skip


def _unit(packet: bytes) -> tuple[bytes, bytes]:
    """Fragments of one picture (FU-A), of which none is the last, in order, after the camera's `packet`."""
    first, kind, number, at, source = struct.unpack("!4xBBHI4s", packet[:16])
    fragments = []
    for further in range(1 << 16):
        rtp = struct.pack("!BBHI4s", first, kind & 0x7F, (number + 1 + further) % (1 << 16), at + 1, source)
        fragments.append(rtp + b"\x7c\x05" + bytes(1400))
    return b"", b"".join(b"$\x00" + struct.pack("!H", len(each)) + each for each in fragments)


# By name: what takes the place of the answer to DESCRIBE, or of the packets after BEHAVES_FOR, given the
# number of the request and the message: the first part once, the second for ever. None: packets go on,
# each with a random sequence number.
_ON_AND_ON = b"X-Lie: on and on\r\n"
LIES: dict[str, tuple[str, Callable[[bytes, bytes], tuple[bytes, bytes]] | None]] = {
    "random_sequence": ("packets", None),
    "header_without_end": ("packets", lambda cseq, _: _header(cseq, _ON_AND_ON)),
    "line_without_end": ("packets", lambda cseq, _: _header(cseq, b"")),
    "unit_without_end": ("packets", lambda _, packet: _unit(packet)),
    "description_header_without_end": ("description", lambda cseq, _: _header(cseq, _ON_AND_ON)),
    "description_line_without_end": ("description", lambda cseq, _: _header(cseq, b"")),
    "description_of_2_gigabytes":
        ("description", lambda cseq, _: _header(cseq, b"Content-Length: 2000000000\r\n\r\n")),
}  # fmt: skip


class _Reader:
    """Reads a connection piece by piece. Its end is an EOFError."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._buffer = b""

    def take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._more()
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def take_message(self) -> bytes:
        """A packet, or an RTSP message with its body."""
        if (first := self.take(1)) == b"$":
            header = first + self.take(3)
            return header + self.take(int.from_bytes(header[2:], "big"))
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head = first + self.take(self._buffer.index(b"\r\n\r\n") + 4)
        length = _LENGTH.search(head)
        return head + self.take(int(length[1]) if length else 0)

    def _more(self) -> None:
        more = self._connection.recv(_PIECE)
        if not more:
            raise EOFError
        self._buffer += more


class LyingCamera:
    """Listens at `url` until it is closed. A context manager."""

    def __init__(self, real_url: str, lie: str):
        self.lies_told = 0
        self._where, self._say = LIES[lie]
        self._real = _PLACE.fullmatch(real_url)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"rtsp://127.0.0.1:{self._socket.getsockname()[1]}{self._real['path']}"
        self._connections: set[socket.socket] = set()
        self._closed = False
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "LyingCamera":
        return self

    def __exit__(self, *_) -> None:
        with self._lock:
            self._closed = True
            for each in (self._socket, *self._connections):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        real = socket.create_connection((self._real["host"], int(self._real["port"])))
        with self._lock:
            self._connections |= {client, real}
            if self._closed:
                return
        with client, real, contextlib.suppress(OSError, EOFError):
            threading.Thread(target=self._pass_on_requests, args=(client, real), daemon=True).start()
            self._answer(client, _Reader(real))
        with self._lock:
            self._connections -= {client, real}

    def _pass_on_requests(self, client: socket.socket, real: socket.socket) -> None:
        """And ends the connection to the camera with that to the client."""
        with contextlib.suppress(OSError):
            while request := client.recv(_PIECE):
                real.sendall(request)
        with contextlib.suppress(OSError):
            real.shutdown(socket.SHUT_RDWR)

    def _answer(self, client: socket.socket, real: _Reader) -> None:
        packets = 0
        while True:
            message = real.take_message()
            packets += message.startswith(b"$")
            pictures = message.startswith(b"$\x00")
            lies = pictures and packets > BEHAVES_FOR if self._where == "packets" else b"application/sdp" in message
            if lies and self._say is None:
                message = self._renumbered(message)
            elif lies:
                self._lie_on(client, message)
            client.sendall(message)

    def _renumbered(self, message: bytes) -> bytes:
        if message[:2] != b"$\x00":  # The channel of the camera's pictures.
            return message
        self.lies_told += 1
        return message[:6] + random.randbytes(2) + message[8:]

    def _lie_on(self, client: socket.socket, message: bytes) -> None:
        cseq = _CSEQ.search(message)
        once, for_ever = self._say(cseq[1] if cseq else b"1", message)
        client.sendall(once)
        while True:
            client.sendall(for_ever)
            self.lies_told += 1
