"""Machines with only a bare Debian 12: each is a folder, which programs take for the root of all files.

They share kernel, clock and, by default, network with this machine. `tools/setup test` makes their archive.
"""

import os
import pathlib
import shutil
import subprocess
import unittest

from millrace_testing.millrace_process import ROOT

PACKED = ROOT / ".deps/debian/bookworm.tar"
_IN_DEBIAN = pathlib.Path(__file__).with_name("in_debian")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What a program there has no other way to know.
_ENVIRONMENT = {"PATH": _PATH, "LANG": "C.UTF-8"}


def why_not() -> str | None:
    """Why there can be none here."""
    if os.geteuid() != 0:
        return "a bare Debian needs root"
    if not PACKED.exists():
        return f"{PACKED.relative_to(ROOT)} is not there: tools/setup test makes it, and says why it cannot"
    tried = subprocess.run(["unshare", "--mount", "--net", "mount", "--bind", "/", "/"],
                           capture_output=True, text=True, check=False)
    return f"namespaces are not allowed here: {tried.stderr.strip()}" if tried.returncode else None


def need_bare_debian() -> None:
    """Skips the test that calls it where there can be none."""
    if reason := why_not():
        raise unittest.SkipTest(reason)


class BareDebian:
    """One of them. It is gone when its folder is."""

    def __init__(self, folder: pathlib.Path):
        """Makes it in `folder`, which does not exist yet."""
        self.root = folder
        folder.mkdir()
        folder.chmod(0o755)
        subprocess.run(["tar", "-C", folder, "--numeric-owner", "-xf", PACKED], check=True)
        for file in ("resolv.conf", "hosts"):
            shutil.copyfile(f"/etc/{file}", folder / "etc" / file)

    def at(self, path: str) -> pathlib.Path:
        """Where this machine sees what is `path` there."""
        return self.root / path.lstrip("/")

    def command(self, *command: str, options: tuple[str, ...] = (), folder: str = "/",
                environment: dict[str, str] | None = None) -> list[str]:
        """What runs `command` there, by in_debian with `options`."""
        variables = [f"{name}={value}"
                     for name, value in {**_ENVIRONMENT, **(environment or {})}.items()]
        return [str(_IN_DEBIAN), *options, str(self.root),
                "env", "-i", f"--chdir={folder}", *variables, *command]

    def run(self, *command: str, **how) -> str:
        """Runs it to its end, which must be a good one; returns what it printed."""
        run = subprocess.run(self.command(*command, **how), stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if run.returncode:
            raise AssertionError(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout[-4000:]}")
        return run.stdout

    def read_package_lists(self) -> None:
        """Skips the test where they cannot be reached."""
        try:
            self.run("apt-get", "update", "-q", "--error-on=any")
        except AssertionError as error:
            raise unittest.SkipTest(f"Debian's packages cannot be reached: {error}") from None

    def install(self, *packages: str) -> None:
        """Installs Debian's packages and what they need, once the lists are read."""
        self.run("apt-get", "install", "-q", "-y", "--no-install-recommends", *packages,
                 environment={"DEBIAN_FRONTEND": "noninteractive"})
