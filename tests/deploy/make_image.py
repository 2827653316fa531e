"""Makes the image of deploy/Dockerfile without Docker: both stages, each in its own bare Debian. Prints the size that each
step adds. Then starts the image, and waits until it is healthy and predicts. Needs root, and `tools/setup test`.

    .deps/venv/bin/python tests/deploy/make_image.py FOLDER                  all of it, compiling included
    .deps/venv/bin/python tests/deploy/make_image.py FOLDER --built TREE     TREE is a tree of tools/install
    ... --build-arg MILLRACE_WITH_CUDA=1                                     as for docker build
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "python")]

import bare_debian  # noqa: E402
from container import Container  # noqa: E402
from image import Build, Image  # noqa: E402
from millrace_testing.millrace_process import wait_for  # noqa: E402

# RUN uses this network; the image does not contain the settings.
_NETWORK = ("http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT", "JOBS")
_CERTIFICATES = "/run/certificates.pem"


def machine() -> dict[str, str]:
    known = {name: os.environ[name] for name in _NETWORK if name in os.environ}
    return {**known, "PIP_CERT": _CERTIFICATES} if "PIP_CERT" in os.environ else known


class Instead:
    """Runs a RUN instruction that needs settings of this machine."""

    def __init__(self, tree: pathlib.Path | None):
        self._tree = tree

    def __call__(self, line: str, image: Image) -> bool:
        if "PIP_CERT" in os.environ:
            shutil.copyfile(os.environ["PIP_CERT"], image.debian.at(_CERTIFICATES))
        if self._tree is None or not line.startswith("tools/build "):
            return False
        target = image.debian.at("/runtime/opt/millrace")
        target.parent.mkdir(parents=True)
        subprocess.run(["cp", "--recursive", "--preserve=mode,links", self._tree, target], check=True)
        return True


def serve(image: Image, folder: pathlib.Path) -> None:
    learned = folder / "learned"
    learned.mkdir()
    os.chown(learned, *map(int, image.user.split(":")))
    with Container(image, learned, folder / "log") as container:
        wait_for("it to be healthy", container.is_healthy)
        watched = container.inside("/opt/millrace/bin/millrace", "watch", "--json", "--count", "1")
        print(watched.stdout or watched.stderr + container.said())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--built", type=pathlib.Path)
    parser.add_argument("--build-arg", action="append", default=[])
    arguments = parser.parse_args()
    if reason := bare_debian.why_not():
        sys.exit(reason)
    arguments.folder.mkdir()
    arguments.folder.chmod(0o711)
    build = Build(arguments.folder, dict(each.split("=", 1) for each in arguments.build_arg),
                  machine(), Instead(arguments.built))
    try:
        image = build.make("")
    finally:
        for line, added_mb, took_s in build.steps:
            print(f"{added_mb:+6} MB {took_s:5.0f} s  {line[:100]}")
    print(f"{image.size_mb():6} MB in all")
    serve(image, arguments.folder)


if __name__ == "__main__":
    main()
