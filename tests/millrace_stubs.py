"""Makes the Python stubs of proto/, as a client would."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def generate(folder: pathlib.Path) -> None:
    """Writes the package `millrace.v1` into `folder`; add that to the path to import it."""
    protos = sorted(str(path) for path in (ROOT / "proto").rglob("millrace/v1/*.proto"))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"-I{ROOT / 'proto'}",
            f"--python_out={folder}",
            f"--grpc_python_out={folder}",
            *protos,
        ],
        check=True,
    )
