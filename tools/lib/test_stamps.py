#!/usr/bin/env python3
"""Remembers the tests of a preset that passed, by their inputs. Called by tools/run-tests.

    tools/lib/test_stamps.py known BUILT            prints the tests that passed before with the same inputs
    tools/lib/test_stamps.py passed BUILT JUNIT     remembers those that passed in the run that `known` began, and
                                                    forgets those that failed

Both read the list of tests from standard input, as `ctest --show-only=json-v1` prints it. A stamp is an empty file in
BUILT/test-stamps whose name is a checksum of all inputs of a test:

- its command, its properties, the machine, the user, and the variables of the environment that programs of tests read;
- the programs, files and folders of its command, of its environment and of its programs' compile definitions;
- a Python test: all files of the checkout but C++, whose inputs are the programs; a test of tools/: all files;
- the versions of Debian's packages, the stamps of set-up, the presets and the shared libraries of BUILT.

A test without a known set of inputs has no stamp: it gets BUILT itself or a folder of another place, needs a GPU, or
LibTorch is the user's own.
"""

import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = {".cc", ".h", ".cu"}
DEBIAN = pathlib.Path("/var/lib/dpkg/status")
VARIABLES = re.compile("(MILLRACE|GTEST|LD|OMP|MKL)_.*|.*_OPTIONS")


class Unknown(Exception):
    """The inputs of a test cannot be known."""


def paths_in(text: str) -> Iterator[pathlib.Path]:
    """The existing paths in a list such as PYTHONPATH, or in a single word."""
    for word in text.split(":"):
        if word.startswith("/") and os.path.exists(word):
            yield pathlib.Path(os.path.normpath(word))


def files_below(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def files_of_checkout() -> list[pathlib.Path]:
    try:
        run = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unknown from error
    return sorted(ROOT / name for name in set(run.stdout.split("\0")) if name)


def definitions_by_program(built: pathlib.Path) -> dict[str, set[pathlib.Path]]:
    """The paths in the compile definitions of a program's own sources. Those of libraries are all in .deps."""
    found: dict[str, set[pathlib.Path]] = {}
    for entry in json.loads((built / "compile_commands.json").read_text()):
        if program := re.search(r"CMakeFiles/([^/]+)\.dir/", entry["command"]):
            texts = re.findall(r'-D\w+=\\"([^"\\]*)', entry["command"])
            found.setdefault(program[1], set()).update(path for text in texts for path in paths_in(text))
    return found


class Inputs:
    """What the tests of one build depend on. Raises Unknown if that is not known of any test."""

    def __init__(self, built: pathlib.Path):
        self._built = built
        self._checkout = files_of_checkout()
        self._definitions = definitions_by_program(built)
        if re.search(r"^MILLRACE_LIBTORCH:\w+=.", (built / "CMakeCache.txt").read_text(), re.MULTILINE):
            raise Unknown
        variables = sorted(f"{name}={value}" for name, value in os.environ.items() if VARIABLES.fullmatch(name))
        files = [DEBIAN, ROOT / "CMakePresets.json", ROOT / "tools/lsan.supp", ROOT / "tools/run-tests",
                 *files_below(ROOT / ".deps/stamps"), *files_below(built / "lib")]
        self._common = [*os.uname(), str(os.cpu_count()), str(os.getuid()), *variables, self._digest_of_all(tuple(files))]

    def key(self, test: dict) -> str:
        """A checksum of all inputs. Raises Unknown."""
        properties = {each["name"]: each["value"] for each in test["properties"]}
        if "gpu" in properties.get("LABELS", []) or "command" not in test:  # ctest knows no command of what is not built.
            raise Unknown
        digests: dict[pathlib.Path, str] = {}
        for word in test["command"] + [each.partition("=")[2] for each in properties.get("ENVIRONMENT", [])]:
            for path in paths_in(word):
                self._add(path, digests)
        scripts = [pathlib.Path(word) for word in test["command"] if word.endswith(".py")]
        read = [self._digest_read_by(script.is_relative_to(ROOT / "tests/tools")) for script in scripts]
        text = [self._common, test["name"], test["command"], properties, read,
                sorted((str(path), digest) for path, digest in digests.items())]
        return hashlib.sha256(json.dumps(text, sort_keys=True).encode()).hexdigest()

    def _add(self, path: pathlib.Path, digests: dict[pathlib.Path, str]) -> None:
        """Adds a file or folder, and what the program `path` has in its compile definitions."""
        if path in digests or path.is_relative_to(ROOT / ".deps"):  # The stamps of set-up stand for .deps.
            return
        if path.is_file():
            digests[path] = self._digest(path)
            if path.is_relative_to(self._built):
                for used in self._definitions.get(path.name, ()):
                    self._add(used, digests)
        elif path == ROOT:
            digests[path] = self._digest_read_by(True)
        elif self._built.is_relative_to(path) or not path.is_relative_to(ROOT):
            raise Unknown
        elif path.is_relative_to(self._built):
            digests[path] = self._digest_of_all(tuple(files_below(path)))
        else:
            digests[path] = self._digest_of_all(tuple(each for each in self._checkout if each.is_relative_to(path)))

    @functools.cache
    def _digest_read_by(self, cpp: bool) -> str:
        """Of the checkout, with its C++ or without."""
        return self._digest_of_all(tuple(path for path in self._checkout if cpp or path.suffix not in CPP))

    @functools.cache
    def _digest_of_all(self, files: tuple[pathlib.Path, ...]) -> str:
        return hashlib.sha256("".join(f"{path} {self._digest(path)}\n" for path in files).encode()).hexdigest()

    @functools.cache
    def _digest(self, path: pathlib.Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"


def keys_of(built: pathlib.Path, tests: list[dict]) -> dict[str, str]:
    """The keys of the tests whose inputs are known, by name."""
    keys = {}
    try:
        inputs = Inputs(built)
    except Unknown:
        return keys
    for test in tests:
        try:
            keys[test["name"]] = inputs.key(test)
        except Unknown:
            pass
    return keys


def main(what: str, built: pathlib.Path, tests: list[dict], junit: str = "") -> None:
    stamps = built / "test-stamps"
    stamps.mkdir(exist_ok=True)
    begun = stamps / "begun.json"  # The inputs when the run began: who changes files meanwhile gets no stamp.
    keys = keys_of(built, tests)
    if what == "known":
        begun.write_text(json.dumps(keys))
        print("".join(f"{name}\n" for name, key in keys.items() if (stamps / key).exists()), end="")
        return
    before = json.loads(begun.read_text())
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        key = keys.get(case.attrib["name"])
        if case.attrib["status"] == "fail" and key:
            (stamps / key).unlink(missing_ok=True)
        elif case.attrib["status"] == "run" and key and key == before.get(case.attrib["name"]):
            (stamps / key).touch()


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), json.load(sys.stdin)["tests"], *sys.argv[3:])
