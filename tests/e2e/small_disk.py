"""A disk that is soon full, for this process and its children."""

import contextlib
import pathlib
import subprocess
import unittest
from collections.abc import Iterator

from network_namespace import own_mounts


@contextlib.contextmanager
def mounted(folder: pathlib.Path, size_bytes: int) -> Iterator[None]:
    """A private disk of this size at `folder` while the block runs. REQUIRES: there are no threads yet.
    Raises unittest.SkipTest where it is not permitted."""
    own_mounts()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "millrace-small", folder],
                           capture_output=True, text=True, check=False)
    if mount.returncode != 0:
        raise unittest.SkipTest(f"nothing can be mounted here: {mount.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: pathlib.Path) -> pathlib.Path:
    """Takes what is left of the disk. Returns the file that took it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass  # It is full.
    return filler
