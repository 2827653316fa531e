"""The other end of systemd's protocol for services, sd_notify(3)."""

import os
import pathlib
import queue
import socket
import threading

from millrace_testing import millrace_process

WATCHDOG_S = 2


class NotifySocket:
    """Plays systemd: starts a service, and receives its messages. A context manager.

    A thread reads, so that the service never waits for the test: Linux keeps about ten unread
    messages, and a sender of one more has to wait. All other functions are for the test's thread.
    """

    def __init__(self, folder: pathlib.Path):
        self.path = folder / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))
        self._messages: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self.said: list[str] = []  # The messages until the last awaited one.

    def __enter__(self) -> "NotifySocket":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._send("")
        self._thread.join()
        self._socket.close()

    def await_line(self, line: str) -> None:
        while line not in self._hear():
            pass

    def await_status(self) -> None:
        """Waits for the next status line, which comes every few seconds."""
        while not any(line.startswith("STATUS=") for line in self._hear()):
            pass

    def forget(self) -> None:
        """Drops all messages so far, also unread ones."""
        mark = "X_FORGET=1"  # Messages come in the order in which they were sent.
        self._send(mark)
        self.await_line(mark)
        self.said.clear()

    def _send(self, message: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(message.encode(), str(self.path))

    def _read(self) -> None:
        """Until an empty message comes, which no service sends."""
        while lines := self._socket.recv(4096).decode().splitlines():
            self._messages.put(lines)

    def _hear(self) -> list[str]:
        try:
            lines = self._messages.get(timeout=millrace_process.PATIENCE_S)
        except queue.Empty:
            raise AssertionError(f"the service says nothing any more after {self.said}") from None
        self.said += lines
        return lines

    def told(self, path: str | None = None) -> dict[str, str]:
        """What it tells a service, which sees the socket as `path` where files have other names."""
        return {"NOTIFY_SOCKET": path or str(self.path), "WATCHDOG_USEC": str(WATCHDOG_S * 1_000_000)}

    def environment(self, pid: int | None = None) -> dict[str, str]:
        return {**os.environ, **self.told(), **({"WATCHDOG_PID": str(pid)} if pid else {})}
