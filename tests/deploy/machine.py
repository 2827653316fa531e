"""Where an operator installs Millrace: a machine with a bare Debian 12 and the packages that deploy/runtime-packages lists.
Where there can be none, this one, which has more.
"""

import os
import pathlib
import subprocess

import bare_debian
from millrace_process import ROOT
from notify_socket import NotifySocket

# The folders that systemd makes for the service.
_ETC, _LEARNED, _RUN = "etc/millrace", "var/lib/millrace", "run/millrace"
# As systemd's DynamicUser, who owns nothing.
_USER = 61184


class Machine:
    """One such machine, in `folder`."""

    def __init__(self, folder: pathlib.Path):
        self._debian = None if bare_debian.why_not() else bare_debian.BareDebian(folder / "debian")
        self._root = self._debian.root if self._debian else folder
        for name in (_ETC, _LEARNED, _RUN):
            (self._root / name).mkdir(parents=True)
        if self._debian:
            os.chown(self._root / _LEARNED, _USER, _USER)

    def install(self) -> None:
        """The tree, moved from where it was put, and the packages that it needs."""
        put = self._root / "package"
        subprocess.run([ROOT / "tools/install", "/opt/millrace"], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": str(put)})
        (self._root / "srv").mkdir(exist_ok=True)
        tree = (put / "opt/millrace").rename(self._root / "srv/millrace")
        if self._debian:
            named = subprocess.run([ROOT / "deploy/runtime-packages", tree], check=True,
                                   capture_output=True, text=True)
            self._debian.read_package_lists()
            self._debian.install(*named.stdout.split())

    def path(self, path: str) -> str:
        """What `path` of the bare Debian is called by a program that is started."""
        return f"/{path}" if self._debian else str(self._root / path)

    @property
    def weights(self) -> str:
        return self.path("srv/millrace/share/millrace/weights/flow-start.safetensors")

    @property
    def learned(self) -> str:
        return self.path(_LEARNED)

    def start(self, configuration: str, systemd: NotifySocket) -> subprocess.Popen:
        """The server, as its unit starts it, but with this machine's network."""
        (self._root / _ETC / "millrace.yaml").write_text(configuration)
        command = [self.path("srv/millrace/bin/millrace"), "serve", "--config",
                   self.path(f"{_ETC}/millrace.yaml"), "--no-progress"]
        environment = {**os.environ, **systemd.told()}
        if self._debian:
            os.chmod(systemd.path, 0o777)
            command = self._debian.command(
                *command, options=(f"--user={_USER}:{_USER}",), folder=self.learned,
                environment=systemd.told(f"/{_RUN}/{systemd.path.name}"))
        return subprocess.Popen(command, cwd="/", env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def notify_socket(self) -> NotifySocket:
        """What starts it, and is told how it is."""
        return NotifySocket(self._root / _RUN)
