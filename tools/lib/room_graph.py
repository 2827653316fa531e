"""Which arrows between rooms are drawn, and in which row each room stands.

A graph maps each room to the rooms that it includes.
"""

from room_tree import Room

Graph = dict[str, set[str]]


def arrows_of(rooms: dict[str, Room]) -> Graph:
    """Room -> rooms that it includes, without base, which all rooms may include."""
    return {folder: set(room.includes) - {"base"}
            for folder, room in sorted(rooms.items()) if folder != "base"}


def reachable(graph: Graph) -> Graph:
    """Room -> all rooms below it; a room of a circle is below itself."""
    below: Graph = {}
    for start in graph:
        found: set[str] = set()
        left = [start]
        while left:
            new = graph[left.pop()] - found
            found |= new
            left += new
        below[start] = found
    return below


def circles_of(graph: Graph) -> list[list[str]]:
    """Groups of rooms that all include each other, directly or not."""
    below = reachable(graph)
    groups = {tuple(sorted(other for other in below[room] if room in below[other]))
              for room in graph if room in below[room]}
    return [list(group) for group in sorted(groups)]


def transitive_reduction(graph: Graph) -> Graph:
    """Only the arrows that no other path implies. REQUIRES: no circle."""
    below = reachable(graph)
    return {room: {target for target in targets
                   if not any(target in below[other] for other in targets - {target})}
            for room, targets in graph.items()}


def users_of(graph: Graph) -> Graph:
    return {room: {user for user in graph if room in graph[user]} for room in graph}


def rows_of(graph: Graph) -> dict[str, int]:
    """Room -> row, 0 being the lowest.

    Each room stands above all that it includes, and right below its users if that makes arrows shorter in total.
    REQUIRES: no circle.
    """
    below = reachable(graph)
    upwards = sorted(graph, key=lambda room: (len(below[room]), room))
    rows: dict[str, int] = {}
    for room in upwards:
        rows[room] = 1 + max((rows[target] for target in graph[room]), default=-1)
    users = users_of(graph)
    for room in reversed(upwards):
        if len(users[room]) > len(graph[room]):
            rows[room] = min(rows[user] for user in users[room]) - 1
    return rows
