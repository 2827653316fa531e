"""Files that a user names as a token, password, certificate or key, but that are none. Some hold a secret, which no output
may contain.

    for file in bad_files.make(folder):
        file.name, file.path
    bad_files.leaks(output)  # The parts of the secrets that it shows.
"""

import base64
import dataclasses
import os
import pathlib
import socket
import subprocess

SECRET = "q7Rt2vXz9LmK4pWs8YbN3cHd6FgJ1aQe5UoT0iEx"
ANOTHER = "Zk3nVb8sQw5yTf1rLp9dXc6gHj2mAe7uCo4iRv0t"
# The number of a secret's characters in a row that is no accident.
_WINDOW = 10


@dataclasses.dataclass(frozen=True)
class BadFile:
    name: str
    path: pathlib.Path


def key_of(folder: pathlib.Path) -> str:
    """A private key in PEM. What is in its lines is a secret, too."""
    path = folder / "made.key"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path], check=True)
    return path.read_text(encoding="ascii")


def certificate_of(folder: pathlib.Path) -> str:
    """A certificate that is one, of the key above."""
    path = folder / "made.pem"
    subprocess.run(["openssl", "req", "-x509", "-key", folder / "made.key", "-days", "2", "-subj", "/CN=made",
                    "-out", path], check=True)
    return path.read_text(encoding="ascii")


def _texts(key: str, real: str) -> dict[str, str]:
    certificate = f"-----BEGIN CERTIFICATE-----\n{SECRET}\n{ANOTHER}\n-----END CERTIFICATE-----\n"
    return {
        "the token": f"{SECRET}\n",
        "the server's list": f"view {SECRET}\ncontrol {ANOTHER}\n",
        "the server's list with comments": f"# who may look\n\nview     {SECRET}\n  # others\ncontrol\t{ANOTHER}\n",
        "one line of the list": f"control {SECRET}",
        "a list with an unknown role": f"admin {SECRET}\n",
        "two tokens": f"{SECRET}\n{ANOTHER}\n",
        "a header": f"authorization: Bearer {SECRET}\n",
        "bearer": f"Bearer {SECRET}\n",
        "quoted": f'"{SECRET}"\n',
        "an environment": f"MILLRACE_TOKEN={SECRET}\nPASSWORD='{ANOTHER}'\n",
        "JSON": f'{{"token": "{SECRET}", "role": "view"}}\n',
        "JSON of several lines": f'{{\n  "token": "{SECRET}"\n}}\n',
        "YAML": f"token: {SECRET}\nstreams:\n- name: {ANOTHER}\n",
        "a configuration": f"version: 1\nlisten: {{tokens_file: {SECRET}}}\nstreams: [{ANOTHER}]\n",
        "a URI": f"rtsp://admin:{SECRET}@camera.local/1\n",
        "a key": key,
        "a key without its end": key[:len(key) // 2],
        "a key and a token": key + SECRET + "\n",
        "a certificate that is none": certificate,
        "a certificate and a key": certificate + key,
        "a real certificate and one that is none": real + certificate,
        "a real certificate and a token": real + SECRET,
        "a real certificate and its key": real + key,
        "an encrypted key": key.replace("BEGIN EC", "BEGIN ENCRYPTED").replace("END EC", "END ENCRYPTED"),
    }


def _transformed(text: str) -> dict[str, bytes]:
    plain = text.encode("ascii")
    return {
        "": plain,
        "CRLF": plain.replace(b"\n", b"\r\n"),
        "CR": plain.replace(b"\n", b"\r"),
        "BOM": b"\xef\xbb\xbf" + plain,
        "UTF-16": text.encode("utf-16"),
        "UTF-16 without a mark": text.encode("utf-16-be"),
        "NUL before": b"\0" + plain,
        "NUL after": plain.rstrip() + b"\0\n",
        "tabs": plain.replace(b" ", b"\t"),
        "not ASCII": plain.rstrip() + "ä€\n".encode(),
        "no UTF-8": plain.rstrip() + b"\xff\xfe\xc0\n",
        "escapes": b"\x1b[31m" + plain.rstrip() + b"\x1b[0m\x07\n",
    }


def _special(folder: pathlib.Path) -> list[BadFile]:
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
    for name, mode in (("unreadable", 0o000), ("open to all", 0o644)):
        (folder / name).write_text(f"{SECRET}\n", encoding="ascii")
        (folder / name).chmod(mode)
    files = {name: folder / name for name in ("folder", "pipe", "loop", "dangling", "socket", "unreadable",
                                              "open to all", "absent", "x" * 300)}
    devices = {path: pathlib.Path(path) for path in ("/dev/zero", "/dev/null", "/dev/full", "/proc/self/mem")}
    return [BadFile(name, path) for name, path in (files | devices).items()]


def make(folder: pathlib.Path) -> list[BadFile]:
    """Makes them, some 300, in `folder`."""
    key = key_of(folder)
    real = certificate_of(folder)
    _windows.update(window for line in key.splitlines() if not line.startswith("-") for window in _windows_of(line))
    contents = {f"{name} ({kind})" if kind else name: data for name, text in _texts(key, real).items()
                for kind, data in _transformed(text).items()}
    contents |= {"empty": b"", "blank": b" \r\n\t\n", "NUL": b"\0", "bytes": bytes(range(256)) + SECRET.encode(),
                 "long": SECRET.encode() * 110, "longer": SECRET.encode() * 2000, "huge": SECRET.encode() * 60_000,
                 "many lines": f"{SECRET}\n".encode() * 20_000}
    files = []
    for number, (name, data) in enumerate(contents.items()):
        path = folder / f"{number}.txt"
        path.write_bytes(data)
        path.chmod(0o600)
        files.append(BadFile(name, path))
    return files + _special(folder)


def _windows_of(secret: str) -> set[str]:
    return {secret[begin:begin + _WINDOW] for begin in range(len(secret) - _WINDOW + 1)}


_windows = {window for secret in (SECRET, ANOTHER, *(base64.b64encode(each.encode()).decode()
                                                     for each in (SECRET, ANOTHER)))
            for window in _windows_of(secret)}


def leaks(output: bytes) -> set[str]:
    """What of the secrets the output shows, also between NULs, as of UTF-16, and as bytes in hex."""
    text = output.replace(b"\0", b"").decode("latin-1")
    numbers = text.replace(" ", "").lower()
    return {window for window in _windows if window in text or window.encode().hex() in numbers}
