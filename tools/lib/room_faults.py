"""The rules that folders and their includes keep. Each function returns a line for each fault."""

import pathlib

from room_tree import HEADERS, Room, Tree

MAX_FILES = 40

# Service rooms see these rooms of the pipeline. Only the server and the commands put learners together,
# and see all.
SEEN_BY_SERVICE = {"pipeline/learner", "pipeline/plan", "pipeline/checkpoint", "pipeline/timeline",
                   "pipeline/decisions", "pipeline/schedules"}
SEES_ALL = ("service/server", "service/commands")

MAY_SEE = {"base": {"base"}, "ingest": {"base", "ingest"}, "pipeline": {"base", "pipeline"},
           "service": {"base", "ingest", "pipeline", "service"}}


def first_circle(rooms: dict[str, Room]) -> list[str]:
    """Rooms that include each other in turn, the first one again at the end; empty if there are none."""
    done: set[str] = set()

    def walk(path: list[str]) -> list[str]:
        for target in sorted(rooms[path[-1]].includes):
            if target in path:
                return path[path.index(target):] + [target]
            if target not in done:
                circle = walk([*path, target])
                if circle:
                    return circle
        done.add(path[-1])
        return []

    for folder in sorted(rooms):
        circle = walk([folder]) if folder not in done else []
        if circle:
            return circle
    return []


def circles(tree: Tree) -> list[str]:
    circle = first_circle(tree.rooms)
    steps = zip(circle, circle[1:])
    includes = [str(tree.rooms[room].includes[target][0]) for room, target in steps]
    return [f"circle {' -> '.join(circle)}: {', '.join(includes)}"] if circle else []


def unlisted_includes(tree: Tree) -> list[str]:
    return [f"{includes[0]}, but {room.folder}/CMakeLists.txt does not list {target}"
            for room in tree.rooms.values() for target, includes in sorted(room.includes.items())
            if target not in room.depends + room.uses]


def needless_entries(tree: Tree) -> list[str]:
    return [f"{room.folder}/CMakeLists.txt lists {target}, but no include needs it"
            for room in tree.rooms.values() for target in sorted(room.depends + room.uses)
            if target not in room.includes]


def hidden_includes(tree: Tree) -> list[str]:
    """A header's includes under USES: users of the header cannot see them."""
    return [f"{include}, but {room.folder}/CMakeLists.txt lists {target} under USES, not DEPENDS"
            for room in tree.rooms.values() for target in sorted(room.uses)
            for include in room.includes.get(target, [])
            if include.file.endswith(HEADERS)]


def crowded_folders(tree: Tree) -> list[str]:
    counts = {room.folder: sum(not file.endswith(".in") for file in room.files)
              for room in tree.rooms.values()}
    return [f"{folder} has {count} source files, more than {MAX_FILES}"
            for folder, count in counts.items() if count > MAX_FILES]


def rooms_without_readme(tree: Tree, root: pathlib.Path) -> list[str]:
    return [f"{folder} has no README.md" for folder in tree.rooms
            if not (root / folder / "README.md").exists()]


def may_see(room: Room, target: Room) -> bool:
    if target.layer not in MAY_SEE[room.layer]:
        return False
    if room.layer != "service" or target.layer != "pipeline":
        return True
    return room.folder.startswith(SEES_ALL) or target.folder in SEEN_BY_SERVICE


def forbidden_sights(tree: Tree) -> list[str]:
    return [f"{includes[0]}, but {room.folder} may not see {target}"
            for room in tree.rooms.values() for target, includes in sorted(room.includes.items())
            if not may_see(room, tree.rooms[target])]


def faults_of(tree: Tree, root: pathlib.Path) -> list[str]:
    stray = [f"{file} lies in no folder that has a millrace_library()" for file in tree.stray]
    return [*stray, *circles(tree), *unlisted_includes(tree), *needless_entries(tree), *hidden_includes(tree),
            *crowded_folders(tree), *rooms_without_readme(tree, root), *forbidden_sights(tree)]
