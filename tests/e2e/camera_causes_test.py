"""Every cause of a camera without pictures, made for real: the messages are those of docs/cameras.md.

Cameras are real RTSP servers, and sockets that answer like bad ones, in the test's own network.
"""

import contextlib
import pathlib
import re
import socket
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator

import millrace
from millrace_testing import certificates, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
from network_namespace import NetworkNamespace

PAGE = (millrace_process.ROOT / "docs/cameras.md").read_text()
PICTURE = ["--width", "64", "--height", "64", "--fps", "5", "--gop", "5"]
WORD = "geheim"


def setUpModule():
    NetworkNamespace(hosts={"camera.local": "127.0.0.1"}, name_server="127.0.0.1").enter()


@contextlib.contextmanager
def name_server() -> Iterator[None]:
    """Knows no name, but fails where it is asked for one that begins with "broken"."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    question, client = server.recvfrom(4096)
                    if not question:
                        return
                    code = 2 if b"\x06broken" in question else 3  # SERVFAIL or NXDOMAIN.
                    server.sendto(question[:2] + bytes([0x81, 0x80 | code]) + question[4:], client)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
                end.sendto(b"", ("127.0.0.1", 53))
            thread.join()


@contextlib.contextmanager
def port(answer: Callable[[socket.socket], None] | None = None) -> Iterator[int]:
    """A port at which `answer` does what a camera should not. None: it is silent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        silent: list[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    if answer is None:
                        silent.append(client)
                        continue
                    with client, contextlib.suppress(OSError):
                        answer(client)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for client in silent:
                client.close()


def web_server(client: socket.socket) -> None:
    client.recv(4096)
    client.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


def hang_up(client: socket.socket) -> None:
    client.recv(4096)


def answers(status: str) -> Callable[[socket.socket], None]:
    """Takes OPTIONS well, and answers so to all else."""

    def answer(client: socket.socket) -> None:
        while request := client.recv(4096).decode():
            number = re.search(r"^CSeq: \d+", request, re.MULTILINE)[0]
            good = request.startswith("OPTIONS")
            client.sendall(f"RTSP/1.0 {'200 OK' if good else status}\r\n{number}\r\n"
                           f"{'Public: OPTIONS, DESCRIBE, SETUP, PLAY' if good else 'X: y'}\r\n\r\n".encode())

    return answer


def rows() -> dict[str, str]:
    """What to do, by what the log says, of the table "When something goes wrong"."""
    table = PAGE[PAGE.index("## When something goes wrong"):]
    cells = re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    return {words: remedy for said, remedy in cells for words in re.findall(r"`([^`]+)`", said)}


class CausesTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        self.streams: list[dict] = []
        self.expected: dict[str, str] = {}

    def expect(self, words: str, uri: str, **keys) -> None:
        name = f"c{len(self.streams)}"
        self.streams.append({"name": name, "source": {"uri": uri, "connect_timeout_ms": 4000, **keys}})
        self.expected[name] = words

    def camera(self, *arguments: str) -> str:
        """The port of a camera, which by default needs no password."""
        camera = self.enterContext(RtspCamera(*PICTURE, *arguments))
        return re.search(r":(\d+)/", camera.url)[1]

    def port(self, answer: Callable[[socket.socket], None] | None = None) -> int:
        return self.enterContext(port(answer))

    def judge(self) -> None:
        """Each stream's cause is the one expected, with the remedy of the page."""
        configuration = millrace_process.config(streams=self.streams, schedule={"kind": "sequential"})
        with millrace_process.serve(configuration) as server, millrace.Client(server.grpc) as client:
            found: dict[str, str] = {}

            def all_told() -> bool:
                for stream in client.streams():
                    if stream.message.source_cause:
                        found.setdefault(stream.name, stream.message.source_cause)
                return found.keys() == self.expected.keys()

            with contextlib.suppress(AssertionError):
                millrace_process.wait_for("the causes", all_told)
        remedies = rows()
        for stream in self.streams:
            words, uri = self.expected[stream["name"]], stream["source"]["uri"]
            with self.subTest(words, uri=uri):
                cause = found.get(stream["name"], "")
                self.assertIn(f": {words}", cause)
                said = cause[cause.index(words) + len(words):]
                self.assertIn("; ", said)
                self.assertTrue(remedies[words].startswith(said.split("; ", 1)[1]), (said, remedies[words]))
                self.assertNotIn(WORD, cause)
        log = "".join(server.output)
        self.assertNotIn(WORD, log)
        self.assertNotIn("Generic error", log)

    def test_of_the_network(self):
        self.enterContext(name_server())
        self.expect("no DNS server answers to its name", "rtsp://broken.example/live")
        self.expect("this machine knows no such host", f"rtsp://me:{WORD}@nowhere.example/live")
        self.expect("this machine knows no such host", f"rtsps://me:{WORD}@nowhere.example/live")
        self.expect("connection refused: nothing listens at its port", "rtsp://camera.local/live")
        self.expect("connection refused: nothing listens at its port", "rtsp://[::1]/live")
        self.expect("connection refused: nothing listens at its port", "rtsps://camera.local/live")
        self.expect("no route leads to its address", f"rtsp://me:{WORD}@192.168.1.64/live")
        self.expect("no route leads to its address", "rtsp://[fd00::64]/live")
        self.judge()

    def test_of_what_answers(self):
        self.expect("it accepts the connection and says nothing",
                    f"rtsp://me:{WORD}@camera.local:{self.port()}/live")
        self.expect("it ends the connection without an answer",
                    f"rtsp://camera.local:{self.port(hang_up)}/live")
        self.expect("its port does not speak RTSP", f"rtsp://camera.local:{self.port(web_server)}/live")
        for without_tls in (self.port(web_server), self.camera()):
            self.expect("no TLS connection to its port comes about",
                        f"rtsps://camera.local:{without_tls}/live")
        self.judge()

    def test_of_tls(self):
        certificates.make_certificate(self.folder, "camera.local")
        both = self.folder / "both.pem"
        both.write_text("".join((self.folder / f"{name}.pem").read_text() for name in ("certificate", "key")))
        encrypted = self.camera("--tls", str(both))
        self.expect("the camera's certificate is refused", f"rtsps://camera.local:{encrypted}/live")
        self.expect("it ends the connection without an answer", f"rtsp://camera.local:{encrypted}/live")
        self.judge()

    def test_of_the_cameras_answers(self):
        asks = self.camera("--user", "me", "--password", "word", "--digest")
        self.expect("401 Unauthorized: it does not accept this user and password",
                    f"rtsp://me:{WORD}@camera.local:{asks}/live")
        self.expect("401 Unauthorized: it needs a user and a password, and no user is configured",
                    f"rtsp://camera.local:{asks}/live")
        self.expect("404 Not Found: it has no such path", f"rtsp://me:word@camera.local:{asks}/no")
        for status, words in {
            "403 Forbidden": "403 Forbidden: this user may not watch",
            "453 Not Enough Bandwidth": "it has no room for another viewer",
            "503 Service Unavailable": "it has no room for another viewer",
            "500 Internal Server Error": "it answers with an error",
        }.items():
            self.expect(words, f"rtsp://me:{WORD}@camera.local:{self.port(answers(status))}/live")
        self.judge()

    def test_of_what_it_sends(self):
        self.expect("it sends no video", f"rtsp://camera.local:{self.camera('--codec', 'pcma')}/live")
        udp = self.camera("--transport", "udp")
        self.expect("it sends its video by no transport that source.transport allows",
                    f"rtsp://camera.local:{udp}/live")
        self.judge()

    def test_a_codec_that_nobody_has(self):
        uri = f"rtsp://camera.local:{self.camera('--codec', 'unknown')}/live"
        configuration = millrace_process.config(streams=[{"name": "c", "source": {"uri": uri}}])
        with millrace_process.serve(configuration) as server, millrace.Client(server.grpc) as client:
            cause = millrace_process.wait_for("the cause", lambda: client.stream("c").message.source_cause)
        self.assertRegex(cause, "this machine's GStreamer has no .*; set H.264 or H.265 where the video comes from, or install the plugin that has it")


if __name__ == "__main__":
    unittest.main(verbosity=2)
