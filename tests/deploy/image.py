"""Makes an image as a Docker daemon would: follows the instructions of a Dockerfile in a bare Debian.

It refuses unknown instructions: a new instruction in the Dockerfile needs its line here.
"""

import dataclasses
import pathlib
import shlex
import subprocess
import time
from collections.abc import Callable

from bare_debian import BareDebian
from dockerfile import Instruction, Stage
import dockerfile
from millrace_testing.millrace_process import ROOT

FILE = ROOT / "deploy/Dockerfile"
# The one base that a bare Debian stands for.
_BASE = "debian:12-slim"


@dataclasses.dataclass
class Image:
    """The result of the instructions so far."""

    debian: BareDebian
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)  # Of building alone.
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = dataclasses.field(default_factory=list)
    command: list[str] = dataclasses.field(default_factory=list)
    health: list[str] = dataclasses.field(default_factory=list)

    def size_mb(self) -> int:
        listed = subprocess.run(["du", "--summarize", "--block-size=1000000", self.debian.root],
                                capture_output=True, text=True, check=True)
        return int(listed.stdout.split()[0])

    def values(self) -> dict[str, str]:
        return {**self.arguments, **self.environment}

    def path(self, path: str) -> pathlib.Path:
        """What `path` in an instruction means, as this machine sees it."""
        return self.debian.at(str(pathlib.PurePosixPath(self.folder) / path))


class Build:
    """One `docker build`, with the checkout as its context."""

    def __init__(self, folder: pathlib.Path, arguments: dict[str, str] | None = None,
                 machine: dict[str, str] | None = None,
                 instead: Callable[[str, Image], bool] = lambda line, image: False):
        """Stages are made below `folder`. `arguments` are those of --build-arg; `machine` is what else RUN finds in
        its environment, for networks that need it; `instead` may do what a RUN would, and says whether it did."""
        self._folder = folder
        self._file = dockerfile.read(FILE)
        self._arguments = arguments or {}
        self._machine = machine or {}
        self._instead = instead
        self._roots: dict[str, pathlib.Path] = {}  # Of stages that are made.
        self.steps: list[tuple[str, int, float]] = []  # What each did: its line, MB, seconds.

    def stage(self, name: str) -> Stage:
        """The one of that name; the last one has none."""
        [stage] = [stage for stage in self._file.stages if stage.name == name]
        return stage

    def stands_for(self, name: str, root: pathlib.Path) -> None:
        """Instead of making the stage, takes what is below `root`."""
        self._roots[name] = root

    def make(self, name: str) -> Image:
        """Makes the stage, after the stages that it copies from."""
        stage = self.stage(name)
        if stage.base != _BASE:
            raise AssertionError(f"{stage.base} is not {_BASE}, which is all that can be had here")
        for step in stage.instructions:
            for option in step.arguments()[0] if step.word == "COPY" else []:
                source = option.removeprefix("--from=")
                if source not in self._roots:
                    self.make(source)
        image = Image(BareDebian(self._folder / (name or "image")))
        for step in stage.instructions:
            self._follow(step, image)
        self._roots[name] = image.debian.root
        return image

    def _follow(self, step: Instruction, image: Image) -> None:
        begin, before = time.monotonic(), image.size_mb()
        getattr(self, f"_{step.word.lower()}", self._unknown)(step, image)
        self.steps.append((f"{step.word} {step.rest}", image.size_mb() - before, time.monotonic() - begin))

    def _unknown(self, step: Instruction, image: Image) -> None:
        raise AssertionError(f"tests/deploy/image.py does not know {step.word}")

    def _run(self, step: Instruction, image: Image) -> None:
        if self._instead(step.rest, image):
            return
        image.debian.run(*step.command(), folder=image.folder, options=(f"--user={image.user}",),
                         environment={**self._machine, **image.values()})

    def _copy(self, step: Instruction, image: Image) -> None:
        options, (*sources, target) = step.arguments()
        root = ROOT
        for option in options:
            if not option.startswith("--from="):
                raise AssertionError(f"tests/deploy/image.py does not know COPY {option}")
            root = self._roots[option.removeprefix("--from=")]
        to = image.path(target)
        into = target.endswith("/") or len(sources) > 1 or to.is_dir()
        (to if into else to.parent).mkdir(parents=True, exist_ok=True)
        for source in sources:
            path = root / source.lstrip("/")
            whole = path.is_dir() or not into
            subprocess.run(["cp", "--recursive", "--preserve=mode,links",
                            *(("--no-target-directory",) if whole else ()), path, to], check=True)

    def _workdir(self, step: Instruction, image: Image) -> None:
        image.folder = step.rest
        image.path(".").mkdir(parents=True, exist_ok=True)

    def _arg(self, step: Instruction, image: Image) -> None:
        name, _, value = step.rest.partition("=")
        known = {**self._file.arguments, **({name: value} if value else {}), **self._arguments}
        image.arguments[name] = known[name]

    def _env(self, step: Instruction, image: Image) -> None:
        image.environment.update(self._pairs(step, image))

    def _label(self, step: Instruction, image: Image) -> None:
        image.labels.update(self._pairs(step, image))

    @staticmethod
    def _pairs(step: Instruction, image: Image) -> dict[str, str]:
        pairs = [word.partition("=") for word in shlex.split(step.rest)]
        return {name: dockerfile.filled_in(value, image.values()) for name, _, value in pairs}

    def _user(self, step: Instruction, image: Image) -> None:
        image.user = step.rest

    def _expose(self, step: Instruction, image: Image) -> None:
        pass

    def _healthcheck(self, step: Instruction, image: Image) -> None:
        image.health = Instruction("CMD", step.rest.split(" CMD ", 1)[1]).command()

    def _entrypoint(self, step: Instruction, image: Image) -> None:
        image.entrypoint = step.command()

    def _cmd(self, step: Instruction, image: Image) -> None:
        image.command = step.command()
