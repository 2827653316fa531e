"""Where the rooms and the arrows of the picture lie: a layered drawing (Sugiyama) in columns that keep their order.

An arrow that passes rows has a point in each of them, so that it goes around boxes. An arrow within a column has its
points in that column. Other arrows have them in the alley between two columns:

    ingest | alley | service | alley | pipeline
"""

import dataclasses
import math

from room_graph import Graph, rows_of, transitive_reduction

BANDS = ("ingest", "ingest|service", "service", "service|pipeline", "pipeline")
CHARACTER_WIDTH = 8.0
POINT_WIDTH = 2
SPACE = 14


@dataclasses.dataclass(eq=False)
class Place:
    """A box, or the point of an arrow in a row that it passes. `x` is its middle."""

    label: str
    row: int
    band: int
    width: float
    x: float = 0
    up: list["Place"] = dataclasses.field(default_factory=list, repr=False)
    down: list["Place"] = dataclasses.field(default_factory=list, repr=False)

    @property
    def is_box(self) -> bool:
        return self.label != ""


class Layout:
    """`boxes` by room, `arrows` as places from the user to the room that it includes, `bands` as (left, right)."""

    def __init__(self, graph: Graph, width: float):
        reduced = transitive_reduction(graph)
        self.boxes = {room: box_of(room, row) for room, row in sorted(rows_of(reduced).items())}
        self.height = 1 + max(box.row for box in self.boxes.values())
        self.rows: list[list[Place]] = [[] for _ in range(self.height)]
        for box in self.boxes.values():
            self.rows[box.row].append(box)
        self.arrows = [self._join(self.boxes[user], self.boxes[target])
                       for user, targets in sorted(reduced.items()) for target in sorted(targets)]
        order_rows(self.rows)
        self.bands = band_limits(self.rows, width)
        place_rows(self.rows, self.bands)
        for arrow in self.arrows:
            straighten(arrow[1:-1], self.rows)

    def _join(self, user: Place, target: Place) -> list[Place]:
        band = (user.band + target.band) // 2
        if abs(user.band - target.band) == 4:
            band = 1
        points = [Place("", row, band, POINT_WIDTH) for row in range(user.row - 1, target.row, -1)]
        for point in points:
            self.rows[point.row].append(point)
        arrow = [user, *points, target]
        for above, under in zip(arrow, arrow[1:]):
            above.down.append(under)
            under.up.append(above)
        return arrow


def box_of(room: str, row: int) -> Place:
    layer, _, label = room.partition("/")
    return Place(label, row, BANDS.index(layer), CHARACTER_WIDTH * len(label) + SPACE)


def crossings_between(upper: list[Place], lower: list[Place]) -> int:
    """How many pairs of arrows cross between two neighbouring rows."""
    position = {place: index for index, place in enumerate(lower)}
    ends = [sorted(position[under] for under in place.down) for place in upper]
    return sum(other > end for index, own in enumerate(ends) for end in own
               for before in ends[:index] for other in before)


def crossings(rows: list[list[Place]]) -> int:
    return sum(crossings_between(upper, lower) for lower, upper in zip(rows, rows[1:]))


def sort_by_neighbours(row: list[Place], neighbours: str, position: dict[Place, float]) -> None:
    def middle(place: Place) -> float:
        found = [position[other] for other in getattr(place, neighbours)]
        return math.fsum(found) / len(found) if found else position[place]

    row.sort(key=lambda place: (place.band, middle(place)))


def relative_positions(rows: list[list[Place]]) -> dict[Place, float]:
    return {place: (index + 0.5) / len(row) for row in rows for index, place in enumerate(row)}


def order_rows(rows: list[list[Place]]) -> None:
    """Orders each row within its bands so that few arrows cross: by the neighbours' middle, then by swaps."""
    for row in rows:
        row.sort(key=lambda place: (place.band, place.label))
    best, fewest = [list(row) for row in rows], crossings(rows)
    for sweep in range(24):
        neighbours, walk = ("up", reversed(rows)) if sweep % 2 == 0 else ("down", iter(rows))
        for row in walk:
            sort_by_neighbours(row, neighbours, relative_positions(rows))
        swap_while_better(rows)
        if crossings(rows) < fewest:
            best, fewest = [list(row) for row in rows], crossings(rows)
    for row, ordered in zip(rows, best):
        row[:] = ordered


def swap_while_better(rows: list[list[Place]]) -> None:
    better = True
    while better:
        better = False
        for number, row in enumerate(rows):
            near = rows[max(number - 1, 0):number + 2]
            for index in range(len(row) - 1):
                if row[index].band != row[index + 1].band:
                    continue
                before = crossings(near)
                row[index], row[index + 1] = row[index + 1], row[index]
                if crossings(near) < before:
                    better = True
                else:
                    row[index], row[index + 1] = row[index + 1], row[index]


def needed_width(places: list[Place]) -> float:
    return math.fsum(place.width + SPACE for place in places)


def band_limits(rows: list[list[Place]], width: float) -> list[tuple[float, float]]:
    """Left and right of each band: as much as its widest row needs, the columns sharing what is left."""
    needs = [max(needed_width([place for place in row if place.band == band]) for row in rows) + SPACE
             for band in range(len(BANDS))]
    factor = 1 + (width - math.fsum(needs)) / math.fsum(needs[0::2])
    limits, left = [], 0.0
    for band, need in enumerate(needs):
        right = left + (need * factor if band % 2 == 0 else need)
        limits.append((left, right))
        left = right
    return limits


def pull(place: Place, other: Place) -> float:
    """How strongly an arrow pulls straight: long ones most, those to another column not at all."""
    if place.band != other.band and place.is_box:
        return 0
    return {0: 8, 1: 2, 2: 1}[place.is_box + other.is_box]


def wish(place: Place, middle: float) -> tuple[float, float]:
    """Where the neighbours and the middle of the band pull a place, and how strongly."""
    pulls = [(pull(place, other), other.x) for other in place.up + place.down] + [(0.05, middle)]
    strength = math.fsum(weight for weight, _ in pulls)
    return math.fsum(weight * x for weight, x in pulls) / strength, strength


def spread(places: list[Place], wishes: list[tuple[float, float]], left: float, right: float) -> None:
    """The nearest positions to the wishes that keep the order and the space between places (isotonic regression)."""
    offsets, at = [], left + SPACE
    for place in places:
        offsets.append(at + place.width / 2)
        at += place.width + SPACE
    slack = max(right - at, 0.0)
    blocks: list[list[float]] = []  # Mean, weight, number of places.
    for (x, weight), offset in zip(wishes, offsets):
        blocks.append([min(max(x - offset, 0.0), slack), weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, strength, count = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + mean * strength) / (last[1] + strength)
            last[1] += strength
            last[2] += count
    shifts = [mean for mean, _, count in blocks for _ in range(int(count))]
    for place, offset, shift in zip(places, offsets, shifts):
        place.x = offset + shift


def place_rows(rows: list[list[Place]], limits: list[tuple[float, float]]) -> None:
    in_bands = [([place for place in row if place.band == band], *limits[band])
                for row in rows for band in range(len(BANDS))]
    for places, left, right in in_bands:
        for place in places:
            place.x = (left + right) / 2
    for sweep in range(120):
        for places, left, right in in_bands if sweep % 2 else reversed(in_bands):
            spread(places, [wish(place, (left + right) / 2) for place in places], left, right)


def room_beside(place: Place, row: list[Place]) -> tuple[float, float]:
    """How far to the left and right a point may move without coming near its neighbours."""
    index = row.index(place)
    before, after = row[max(index - 1, 0):index], row[index + 1:index + 2]
    left = max([other.x + (other.width + place.width) / 2 + SPACE / 2 for other in before], default=-math.inf)
    right = min([other.x - (other.width + place.width) / 2 - SPACE / 2 for other in after], default=math.inf)
    return min(left, place.x), max(right, place.x)


def straighten(points: list[Place], rows: list[list[Place]]) -> None:
    """Moves an arrow's points on to vertical lines, as few as there is room for."""
    run: list[Place] = []
    left, right = -math.inf, math.inf
    for point in [*points, None]:
        low, high = room_beside(point, rows[point.row]) if point else (math.inf, -math.inf)
        if max(left, low) > min(right, high):
            middle = math.fsum(place.x for place in run) / len(run) if run else 0.0
            for place in run:
                place.x = min(max(middle, left), right)
            run, left, right = [], -math.inf, math.inf
        if point:
            run.append(point)
            left, right = max(left, low), min(right, high)
