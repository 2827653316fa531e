"""The machine's wall clock, for servers that are started inside a Clock.

libfaketime sets the clock for them only. Like the kernel, it does not change the monotonic clock.
"""

import os
import pathlib
from unittest import mock

# With glibc's allocator: the program's own, jemalloc, asks for the time as it begins, and libfaketime for memory.
_LIBRARIES = "/usr/$LIB/faketime/libfaketime.so.1:libstdc++.so.6:libc.so.6"


class Clock:
    """A clock with an offset that the test sets. A context manager: servers started inside see it."""

    def __init__(self, folder: str):
        self._file = pathlib.Path(folder, "clock")
        self.step_to(0)
        self._environment = mock.patch.dict(os.environ, {
            "LD_PRELOAD": _LIBRARIES, "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1"})

    def step_to(self, seconds: int) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.rename(self._file)

    def __enter__(self) -> "Clock":
        self._environment.start()
        return self

    def __exit__(self, *_) -> None:
        self._environment.stop()
