"""A real RTSP camera that a test can kill, freeze and bring back.

The environment variable MILLRACE_RTSP_CAMERA names the program.
"""

import os
import re
import signal
import socket
import subprocess

from millrace_testing import millrace_process

_URL = re.compile(r"rtsps?://[^/]+:(?P<port>\d+)/\S*")


class RtspCamera:
    """A camera at `url`, which stays the same for its life. A context manager. `arguments` are those
    of the program; `--port` among them is where it is, once killed, too."""

    def __init__(self, *arguments: str):
        self._arguments = arguments
        self._process: subprocess.Popen | None = None
        self._port = "0"
        self._holder: socket.socket | None = None
        self.url = ""
        self.come_back()

    def __enter__(self) -> "RtspCamera":
        return self

    def __exit__(self, *_) -> None:
        self.kill()
        self._let_go()

    def kill(self) -> None:
        """SIGKILL: no goodbye on the wire but what the kernel says. Nothing if it is not there."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._process = None
        if self._port != "0":
            self._hold()

    def _hold(self) -> None:
        """Keeps the port without a listener. Otherwise another process could have the port when the
        camera comes back, or a connection that tries to reach it."""
        holder = socket.socket()
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", int(self._port)))
        self._holder = holder

    def _let_go(self) -> None:
        if self._holder is not None:
            self._holder.close()
            self._holder = None

    def freeze(self) -> None:
        """Connections stay open, and new ones are even accepted by the kernel; nothing comes."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def come_back(self, *arguments: str) -> None:
        """Starts the camera, under its earlier URL if it ran before. New arguments replace the earlier
        ones."""
        assert self._process is None, "the camera is there"
        self._arguments = arguments or self._arguments
        self._let_go()
        millrace_process.wait_for("the camera's port to be free", self._started)

    def _same_port(self) -> list[str]:
        return [] if self._port == "0" else ["--port", self._port]

    def _started(self) -> bool:
        self._process = subprocess.Popen(
            [os.environ["MILLRACE_RTSP_CAMERA"], *self._arguments, *self._same_port()],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = _URL.match(self._process.stdout.readline())
        if line is None:
            self.kill()
            return False
        self.url, self._port = line.group(), line["port"]
        return True
