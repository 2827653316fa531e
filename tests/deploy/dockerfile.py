"""Reads a Dockerfile."""

import dataclasses
import json
import pathlib
import re
import string


@dataclasses.dataclass(frozen=True)
class Instruction:
    word: str  # RUN
    rest: str  # Its lines joined, without comments.

    def arguments(self) -> tuple[list[str], list[str]]:
        """Its options, and what follows them."""
        words = self.rest.split()
        options = [word for word in words if word.startswith("--")]
        return options, words[len(options):]

    def command(self) -> list[str]:
        """What to run, of an instruction that may say it as JSON or as a line for the shell."""
        if self.rest.startswith("["):
            return json.loads(self.rest)
        return ["/bin/sh", "-c", self.rest]


@dataclasses.dataclass(frozen=True)
class Stage:
    base: str
    name: str  # Empty where it has none.
    instructions: tuple[Instruction, ...]


@dataclasses.dataclass(frozen=True)
class Dockerfile:
    arguments: dict[str, str]  # Those before the first stage, as they are unless told otherwise.
    stages: tuple[Stage, ...]


def instructions(text: str) -> list[Instruction]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def read(path: pathlib.Path) -> Dockerfile:
    arguments: dict[str, str] = {}
    stages: list[tuple[str, str, list[Instruction]]] = []
    for each in instructions(path.read_text()):
        if each.word == "FROM":
            base, *name = each.rest.split()
            stages.append((base, name[1] if name else "", []))
        elif stages:
            stages[-1][2].append(each)
        else:
            name, _, value = each.rest.partition("=")
            arguments[name] = value
    return Dockerfile(arguments, tuple(Stage(base, name, tuple(steps)) for base, name, steps in stages))


def filled_in(text: str, values: dict[str, str]) -> str:
    """With `$NAME` and `${NAME}` replaced. Fails for a name that has no value."""
    return string.Template(text).substitute(values)
