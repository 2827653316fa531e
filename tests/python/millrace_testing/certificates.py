"""Certificates of servers, for tests."""

import pathlib
import subprocess


def make_certificate(folder: pathlib.Path, name: str) -> None:
    """Writes `certificate.pem` and `key.pem`, self-signed, for a server of that name."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
         "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
        check=True, capture_output=True)
