"""Files with a token, a certificate or a key. Error messages never contain a file's content."""

import os
import pathlib
import stat

# More than any valid file has; at most this much is read.
_MAX_BYTES = 1 << 20
# O_NONBLOCK opens a pipe without waiting for its other end. Not every system has these flags.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_file(path: str | pathlib.Path) -> bytes:
    """A file's content. Raises OSError if it cannot be read, and ValueError if it is a folder, a
    pipe or a device, or far too long. Never blocks."""
    path = pathlib.Path(path)
    _refuse_others_than_files(path, path.stat())  # First: opening a device may have effects.
    descriptor = os.open(path, _FLAGS)
    try:
        _refuse_others_than_files(path, os.fstat(descriptor))  # It may have been replaced.
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(_MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"{path} is too long: it has more than a megabyte")
    return data


def _refuse_others_than_files(path: pathlib.Path, seen: os.stat_result) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise ValueError(f"{path} is no file")
