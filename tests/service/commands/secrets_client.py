"""Gives the Python client each file that standard input names, one path a line, as a token, an authority, a certificate
and a key, and prints its errors.   secrets_client.py ADDRESS"""

import pathlib
import sys
import traceback

import millrace

# What a client may say; anything else ends this program.
EXPECTED = (millrace.MillraceError, ValueError, OSError)


def try_client(name: str, address: str, **options) -> None:
    try:
        with millrace.Client(address, timeout=5, **options) as client:
            print(f"{name}: {client.streams()}")
    except EXPECTED:
        traceback.print_exc(file=sys.stdout)


def text_of(path: str) -> str:
    """As a program reads it that expects a token there."""
    file = pathlib.Path(path)
    return file.read_bytes()[:100_000].decode("latin-1") if file.is_file() else ""


def main(address: str) -> None:
    files = sys.stdin.read().splitlines()
    for path in files:
        try_client(path, address, token_file=path)
        try:
            text = text_of(path)
        except OSError:
            text = ""
        try_client(path, address, token=text)
        try_client(path, address, token=lambda text=text: text)
        try_client(path, address, tls=millrace.Tls(ca_file=path))
        try_client(path, address, tls=millrace.Tls(certificate_file=path, key_file=path))
    print(f"looked at {len(files)} files")


main(sys.argv[1])
