"""A private network of a test, with names, addresses and ports below 1024.

    def setUpModule():
        NetworkNamespace(hosts={"camera.local": "127.0.0.1", "garage": "::1"}).enter()

    with RtspCamera("--port", "554", "--path", "/stream1", "--user", "user", "--password", "word"):
        ...  # rtsp://user:word@camera.local/stream1 plays, for this process and those it starts.

The process enters its own namespace and stays there: there is nothing to clean up. The namespace has
only the loopback device. Only the names of `hosts` resolve there. The process needs the right to make
namespaces, which root has on most machines. Without it, the tests of the module are skipped with the
reason.
"""

import ctypes
import fcntl
import ipaddress
import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import unittest

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_MS_BIND = 0x1000
_MS_REC_PRIVATE = 0x4000 | 0x40000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1

_libc = ctypes.CDLL(None, use_errno=True)


class NetworkNamespace:
    """`hosts` has the addresses of names. Addresses outside 127.0.0.0/8 and ::1 become this machine's
    addresses, and so do `addresses`, which have no name. `elsewhere` has the names of other hosts. The
    address `name_server` resolves other names; empty: no server does."""

    def __init__(self, hosts: dict[str, str] | None = None, addresses: tuple[str, ...] = (),
                 elsewhere: dict[str, str] | None = None, name_server: str = ""):
        self._hosts = {"localhost": "127.0.0.1"} | (hosts or {})
        self._names = self._hosts | (elsewhere or {})
        self._addresses = {*self._hosts.values(), *addresses}
        self._name_server = name_server

    def enter(self) -> None:
        """Moves this process there, and all that it starts from now on. Before it has threads. Raises
        unittest.SkipTest where namespaces are not permitted."""
        try:
            _unshare(_CLONE_NEWNET)
            self._replace("/etc/hosts", "".join(f"{address} {name}\n"
                                                for name, address in self._names.items()))
            self._replace("/etc/nsswitch.conf", f"hosts: files {'dns' if self._name_server else ''}\n")
            self._replace("/etc/resolv.conf", f"nameserver {self._name_server or '127.0.0.1'}\n"
                                              "options attempts:1 timeout:1\n")
        except PermissionError as error:
            raise unittest.SkipTest(f"a network namespace is not permitted here: {error}") from error
        self._bring_up_loopback()
        for address in self._addresses:
            self._add(address)

    @staticmethod
    def _replace(file: str, text: str) -> None:
        """For those in the namespace only."""
        with tempfile.NamedTemporaryFile("w", prefix="millrace.") as mine:
            mine.write(text)
            mine.flush()
            os.chmod(mine.name, 0o644)
            _call(_libc.mount, mine.name.encode(), file.encode(), None, _MS_BIND, None)

    @staticmethod
    def _bring_up_loopback() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            request = struct.pack("16sh22x", b"lo", 0)
            flags = struct.unpack("16sh22x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))

    @staticmethod
    def _add(address: str) -> None:
        if ipaddress.ip_address(address).is_loopback:
            return
        subprocess.run(["ip", "address", "add", address, "dev", "lo"], check=True)


def own_mounts() -> None:
    """From now on only this process and its children see its mounts. REQUIRES: it has no threads yet.
    Raises unittest.SkipTest where namespaces are not permitted."""
    try:
        _unshare(0)
    except OSError as error:  # EINVAL for an ordinary user's process that has threads.
        raise unittest.SkipTest(f"a mount namespace is not permitted here: {error}") from error


def _unshare(more: int) -> None:
    """Enters a mount namespace, and those of the flags `more`, as root of its own if need be."""
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        _call(_libc.unshare, _CLONE_NEWNS | more)
    else:
        _call(_libc.unshare, _CLONE_NEWUSER | _CLONE_NEWNS | more)
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _call(_libc.mount, b"none", b"/", None, _MS_REC_PRIVATE, None)


def _call(function, *arguments) -> None:
    if function(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
