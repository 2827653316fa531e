"""Builds the package: its own sources, and `millrace.v1`, generated from the protos.

The protos are those of the checkout, so client and protos always agree. An sdist contains the
protos.
"""

import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

_HERE = pathlib.Path(__file__).resolve().parent
_FOLDERS = (_HERE / "proto", _HERE.parent.parent / "proto")  # For an sdist, and for a checkout.
_PROTOS = "millrace/v1/*.proto"


def _proto_folder() -> pathlib.Path:
    for folder in _FOLDERS:
        if any(folder.glob(_PROTOS)):
            return folder
    raise SystemExit(f"there are no protos in {_FOLDERS[1]}: install from a whole checkout")


def _generate(out: pathlib.Path) -> None:
    import grpc_tools  # Imported only for a build.
    from grpc_tools import protoc

    protos = _proto_folder()
    standard = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    failed = protoc.main(["protoc", f"-I{protos}", f"-I{standard}", f"--python_out={out}",
                          f"--pyi_out={out}", f"--grpc_python_out={out}",
                          *sorted(str(proto) for proto in protos.glob(_PROTOS))])
    if failed:
        raise SystemExit("the protos could not be compiled")


class BuildWithStubs(build_py):
    """Also generates `millrace.v1`: into the sources if they are used in place (pip -e)."""

    def run(self) -> None:
        super().run()
        _generate(_HERE / "src" if self.editable_mode else pathlib.Path(self.build_lib))


class SdistWithProtos(sdist):
    """Also packs the protos."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        target = pathlib.Path(base_dir) / "proto/millrace/v1"
        target.mkdir(parents=True)
        for proto in _proto_folder().glob(_PROTOS):
            shutil.copy(proto, target)


setup(cmdclass={"build_py": BuildWithStubs, "sdist": SdistWithProtos})
