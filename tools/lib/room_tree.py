"""Reads the rooms of a checkout: folders with a millrace_library(), their link lists and their #include lines."""

import collections
import dataclasses
import pathlib
import re

LAYERS = ("base", "ingest", "pipeline", "service")
HEADERS = (".h", ".cuh", ".inl")
SOURCES = (".cc", ".cu", ".in")  # .in: a source that CMake fills in.

INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
LIBRARY = re.compile(r"millrace_library\(([^)]*)\)")
LISTS = ("SOURCES", "DEPENDS", "USES", "LINKS", "PRIVATE_LINKS")
STRICT_ENDS = "if(MILLRACE_STRICT_TARGETS_ONLY)"


@dataclasses.dataclass(frozen=True)
class Include:
    """One #include line of a room's file that names a header of ours."""

    file: str
    line: int
    header: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} includes {self.header}"


@dataclasses.dataclass
class Room:
    """One folder with a library. `includes` has the includes of other rooms, by room."""

    folder: str
    depends: list[str]
    uses: list[str]
    strict: bool
    files: list[str] = dataclasses.field(default_factory=list)
    includes: dict[str, list[Include]] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list))

    @property
    def layer(self) -> str:
        return self.folder.split("/")[0]


def link_lists(text: str) -> tuple[str, dict[str, list[str]]] | None:
    """The folder and the lists of the millrace_library() of a CMakeLists.txt, or None."""
    call = LIBRARY.search(re.sub(r"#[^\n]*", "", text))
    if call is None:
        return None
    folder, *words = call[1].split()
    lists: dict[str, list[str]] = {name: [] for name in LISTS}
    for word in words:
        if word in lists:
            name = word
        else:
            lists[name].append(word)
    return folder, lists


def strict_folders(root: pathlib.Path) -> set[str]:
    """Folders that each layer's list names before its guard: they link no LibTorch, GStreamer or gRPC."""
    strict = {"base"}
    for layer in LAYERS[1:]:
        lists = root / layer / "CMakeLists.txt"
        text = lists.read_text().split(STRICT_ENDS)[0] if lists.exists() else ""
        strict |= {f"{layer}/{name}" for name in re.findall(r"add_subdirectory\((\S+)\)", text)}
    return strict


def nearest_room(path: str, rooms: dict[str, Room]) -> str | None:
    """The room that a file lies in: the nearest folder above it that is one."""
    for folder in pathlib.PurePosixPath(path).parents:
        if str(folder) in rooms:
            return str(folder)
    return None


def code_files(root: pathlib.Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for layer in LAYERS
                  for path in (root / layer).rglob("*") if path.suffix in HEADERS + SOURCES)


class Tree:
    """All rooms of a checkout, by folder. `stray` has the files that lie in no room."""

    def __init__(self, root: pathlib.Path):
        self.rooms: dict[str, Room] = {}
        self.stray: list[str] = []
        self._read_lists(root)
        for file in code_files(root):
            self._read_file(root, file)

    def _read_lists(self, root: pathlib.Path) -> None:
        strict = strict_folders(root)
        for layer in LAYERS:
            for path in sorted((root / layer).rglob("CMakeLists.txt")):
                found = link_lists(path.read_text())
                if found:
                    folder, lists = found
                    self.rooms[folder] = Room(folder, lists["DEPENDS"], lists["USES"], folder in strict)

    def _read_file(self, root: pathlib.Path, file: str) -> None:
        folder = nearest_room(file, self.rooms)
        if folder is None:
            self.stray.append(file)
            return
        room = self.rooms[folder]
        room.files.append(file)
        for number, line in enumerate((root / file).read_text().splitlines(), start=1):
            match = INCLUDE.match(line)
            target = nearest_room(match[1], self.rooms) if match else None
            if match and target and target != folder:
                room.includes[target].append(Include(file, number, match[1]))
