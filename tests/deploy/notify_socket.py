"""The other end of systemd's protocol for services, sd_notify(3)."""

import os
import pathlib
import socket

import millrace_process

WATCHDOG_S = 2


class NotifySocket:
    """What started a service, and hears how it is. A context manager."""

    def __init__(self, folder: pathlib.Path):
        self.path = folder / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))
        self._socket.settimeout(millrace_process.PATIENCE_S)
        self.said: list[str] = []

    def __enter__(self) -> "NotifySocket":
        return self

    def __exit__(self, *_) -> None:
        self._socket.close()

    def await_line(self, line: str) -> None:
        while line not in self._hear():
            pass

    def await_status(self) -> None:
        """Waits for the next line for people, of which one comes every few seconds."""
        while not any(line.startswith("STATUS=") for line in self._hear()):
            pass

    def forget(self) -> None:
        """Drops what was said so far, and what came and was not heard yet."""
        self._socket.setblocking(False)
        try:
            while True:
                self._hear()
        except BlockingIOError:
            self._socket.settimeout(millrace_process.PATIENCE_S)
        self.said.clear()

    def _hear(self) -> list[str]:
        lines = self._socket.recv(4096).decode().splitlines()
        self.said += lines
        return lines

    def told(self, path: str | None = None) -> dict[str, str]:
        """What it tells a service, which sees the socket as `path` where files have other names."""
        return {"NOTIFY_SOCKET": path or str(self.path), "WATCHDOG_USEC": str(WATCHDOG_S * 1_000_000)}

    def environment(self, pid: int | None = None) -> dict[str, str]:
        return {**os.environ, **self.told(), **({"WATCHDOG_PID": str(pid)} if pid else {})}
