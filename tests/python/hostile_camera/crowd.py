"""All lies at once, in their own processes, for tests: `python3 -m hostile_camera --all`."""

import collections
import contextlib
import subprocess
import sys
import threading

from hostile_camera.lies import LIES


class Crowd:
    """A camera for every lie, or for `names`. A context manager."""

    def __init__(self, names: list[str] | None = None, behave_for: int = 0):
        self.urls: dict[str, str] = {}
        self._told: collections.Counter[str] = collections.Counter()
        which = [f"--lie={name}" for name in names or LIES]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hostile_camera", f"--behave-for={behave_for}", *which], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "Crowd":
        for _ in self._process.args[4:]:
            name, url = self._process.stdout.readline().split()
            self.urls[name] = url
        self._reader.start()
        return self

    def __exit__(self, *_) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def told(self, name: str) -> int:
        """How many sessions came so far that they heard the lie."""
        return self._told[name]

    def _read(self) -> None:
        for line in self._process.stdout:
            self._told[line.removeprefix("told ").strip()] += 1
