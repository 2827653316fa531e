"""A checkout in a temporary folder that holds only tools/, on a machine made of fakes.

apt-get, dpkg and sudo are small scripts that come first in PATH: they record their arguments and
pretend to work. pip is real, but finds only the wheels that a test makes.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]

FAKES = {
    "dpkg-query": """
shift 3
for package in "$@"; do
  if grep -qx -- "$package" "$FAKES/installed"; then echo "$package installed"; fi
done
""",
    "apt-get": """
echo "apt-get $*" >>"$FAKES/calls"
case " $* " in
*" --print-uris "*) ;;
*" indextargets "*) printf 'deb http://mirror/%s main\\n' 'debian trixie' 'debian bookworm' 'security bookworm-security' ;;
*" install "*) for word in "$@"; do echo "$word" >>"$FAKES/installed"; done ;;
*" download "*) touch "${!#}_1_all.deb" ;;
esac
""",
    "apt-cache": "exit 0",
    "dpkg": """
docs=$3/usr/share/doc/opencv-doc
mkdir -p "$docs/examples/data" "$docs/opencv4/html" "$3/usr/bin"
cp "$FAKES/video" "$docs/examples/data/vtest.avi"
touch "$docs"/examples/data/{aloeL.jpg,left01.jpg,fruits.jpg,graf1.png}
gzip --stdout "$FAKES/video" >"$docs/opencv4/html/box.mp4.gz"
touch "$3/usr/bin/prometheus"
""",
    "ldconfig": 'cat "$FAKES/libraries"',
    "apt-config": """
case " $* " in
*Proxy*) echo http://proxy:3142 ;;
*) echo 'Acquire::Check-Date "false";' ;;
esac
""",
    "debootstrap": """
echo "debootstrap $* through $http_proxy" >>"$FAKES/calls"
mkdir -p "$3"/etc/apt/apt.conf.d "$3"/etc/dpkg/dpkg.cfg.d "$3"/usr/share/doc/apt "$3"/var/cache/apt/archives
if [[ -e $FAKES/debootstrap-fails ]]; then echo "cannot mknod" >&2; exit 1; fi
""",
    # One that wants a password, and gets none.
    "sudo": 'echo "sudo $*" >>"$FAKES/calls"; exit 1',
}

WHEELS = {
    "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64": [
        "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libtorch_cuda.so",
        "torch/include/ATen/ATen.h", "torch/share/cmake/Torch.cmake", "torch/nn/module.py"],
    "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64": ["nvidia/cu13/lib/libcupti.so.13"],
    "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64": ["nvidia/cu13/lib/libcudart.so.13"],
}
CUDA_WHEELS = {
    "nvidia_cudnn_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64": ["nvidia/cudnn/lib/libcudnn.so.9"],
}
DIGITS_WHEEL = {
    "scikit_learn-1.9.1-cp311-cp311-manylinux_2_28_x86_64": [
        "sklearn/datasets/data/digits.csv.gz", "sklearn/__init__.py"],
}

_PART = """set -euo pipefail
shopt -s inherit_errexit
root=$1 deps=$1/.deps partial=$1/.deps/partial
for part in say stamp packages debian; do . "$root/tools/lib/$part.sh"; done
mkdir -p "$partial"
"$2"
"""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class ScratchCheckout:
    """One checkout and its fakes. `venv` is a Python environment that it borrows. close() removes it."""

    def __init__(self, venv: pathlib.Path):
        self._folder = tempfile.TemporaryDirectory(prefix="millrace-setup.")
        self.base = pathlib.Path(self._folder.name)
        self.base.chmod(0o777)
        self.root = self.base / "checkout"
        self.deps = self.root / ".deps"
        self.fakes = self.base / "fakes"
        shutil.copytree(SOURCE / "tools", self.root / "tools")
        self._borrow(venv)
        self._make_fakes()
        (self.base / "wheels").mkdir()
        self._make_wheels(WHEELS, self.wheel_table)
        self._make_wheels(CUDA_WHEELS, self.root / "tools/wheels-cuda.txt")
        self._make_wheels(DIGITS_WHEEL, self.root / "tools/wheel-digits.txt")
        self.set_video(b"moving pictures", pin=True)

    def close(self) -> None:
        self._folder.cleanup()

    def _borrow(self, venv: pathlib.Path) -> None:
        version = subprocess.run([venv / "bin/python3", "--version"],
                                 check=True, capture_output=True, text=True).stdout.strip()
        (self.deps / "stamps").mkdir(parents=True)
        (self.deps / "venv").symlink_to(venv)
        (self.deps / "stamps/venv").write_text(f"{version} in {self.root}\n")

    def _make_fakes(self) -> None:
        (self.fakes / "bin").mkdir(parents=True)
        for name, body in FAKES.items():
            program = self.fakes / "bin" / name
            program.write_text(f"#!/bin/bash\n{body}\n")
            program.chmod(0o755)
        for name in ("calls", "installed", "libraries"):
            (self.fakes / name).touch()
            (self.fakes / name).chmod(0o666)

    def _make_wheels(self, wheels: dict[str, list[str]], table: pathlib.Path) -> None:
        pins = []
        for name, files in wheels.items():
            project, version = name.split("-")[:2]
            path = self.base / "wheels" / f"{name}.whl"
            with zipfile.ZipFile(path, "w") as wheel:
                for file in files:
                    wheel.writestr(file, file)
                info = f"{project}-{version}.dist-info"
                wheel.writestr(f"{info}/METADATA",
                               f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n")
                wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: " + "-".join(name.split("-")[2:]))
                wheel.writestr(f"{info}/RECORD", "")
            pins.append(f"{project}=={version} --hash=sha256:{sha256(path.read_bytes())}\n")
        table.write_text("".join(pins))

    @property
    def wheel_table(self) -> pathlib.Path:
        return self.root / "tools/wheels-cpu.txt"

    def set_video(self, content: bytes, pin: bool) -> None:
        """What the package of the sample videos holds; `pin` makes it the right one."""
        (self.fakes / "video").write_bytes(content)
        if pin:
            script = self.root / "tools/lib/files.sh"
            sums = re.compile(r"[0-9a-f]{64}(?=  (?:vtest\.avi|box\.mp4))")
            script.write_text(sums.sub(sha256(content), script.read_text()))

    def packages(self, *needed_for: str) -> list[str]:
        """The packages of the table."""
        rows = [line.split() for line in (self.root / "tools/packages.txt").read_text().splitlines()]
        return sorted(row[0] for row in rows if row and row[0] != "#" and row[1:2] and
                      row[1] in needed_for)

    def have_nvidia_driver(self) -> None:
        (self.fakes / "libraries").write_text("\tlibcuda.so.1 (libc6,x86-64) => /lib/libcuda.so.1\n" * 5000)

    def have(self, packages: list[str]) -> None:
        (self.fakes / "installed").write_text("".join(f"{name}\n" for name in packages))

    def calls(self) -> list[str]:
        return (self.fakes / "calls").read_text().splitlines()

    def installs(self) -> list[str]:
        """What apt-get was told to install, one string a call."""
        return [call for call in self.calls()
                if " install " in call and call.startswith("apt-get") and "--print-uris" not in call]

    def setup(self, what: str = "run", user: int | None = None,
              **variables: str) -> subprocess.CompletedProcess:
        """Runs tools/setup; `user` is for tests that run as root and must not."""
        return self._run([self.root / "tools/setup", what], user, variables)

    def part_of_setup(self, function: str, user: int | None = None,
                      **variables: str) -> subprocess.CompletedProcess:
        """Runs one part of it alone."""
        return self._run(["bash", "-c", _PART, "bash", self.root, function], user, variables)

    def _run(self, command: list, user: int | None, variables: dict[str, str]) -> subprocess.CompletedProcess:
        environment = {
            "PATH": f"{self.fakes / 'bin'}:/usr/bin:/bin", "HOME": str(self.base),
            "FAKES": str(self.fakes), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": str(self.base / "wheels"), **variables}
        return subprocess.run(command, env=environment, user=user,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
