"""PyTorch for a test, in a process of its own."""

import subprocess

# Debian's, of another version than the LibTorch that Millrace is built with.
PYTHON = "/usr/bin/python3"


def in_pytorch(code: str, **options) -> str:
    """What Debian's Python, with Debian's PyTorch, prints. `options` are subprocess.run()'s."""
    result = subprocess.run([PYTHON, "-c", code], text=True, capture_output=True, check=False,
                            **options)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result.stdout.strip()
