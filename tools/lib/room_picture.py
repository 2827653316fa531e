"""Draws the rooms of a checkout as SVG. The same rooms and includes give the same bytes."""

from room_graph import arrows_of
from room_layout import BANDS, Layout, Place
from room_tree import LAYERS, Tree

WIDTH, MARGIN, PANEL_TOP, TITLE = 1200, 16, 12, 34
BOX_HEIGHT, ROW_HEIGHT = 24, 64
STRICT, OTHER = ("#d8e9fb", "#3c76b0"), ("#fde2c4", "#b8752f")
TEXT, ARROWS = "#1c2128", {"within": "#767f89", "across": "#8a4fa8"}
PAGE, PANEL = ("#ffffff", "#d0d7de"), ("#f6f8fa", "#e1e5ea")
PORT = 9


class Picture:
    """Turns a layout into lines of SVG."""

    def __init__(self, tree: Tree):
        self.tree = tree
        self.layout = Layout(arrows_of(tree.rooms), WIDTH - 2 * MARGIN)
        self.bottom = PANEL_TOP + TITLE + self.layout.height * ROW_HEIGHT - 14
        self.height = self.bottom + 96
        self.lines: list[str] = []

    def top_of(self, place: Place) -> float:
        return PANEL_TOP + TITLE + (self.layout.height - 1 - place.row) * ROW_HEIGHT

    def draw(self) -> str:
        self.lines.append(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" '
            f'viewBox="0 0 {WIDTH} {self.height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="13">')
        self.lines.append("<title>Folders, and which of them include which</title>")
        self._markers()
        self._rectangle(0, 0, WIDTH, self.height, PAGE)
        self._panels()
        for arrow in self.layout.arrows:
            self._arrow(arrow)
        for room, box in self.layout.boxes.items():
            self._box(box, self.tree.rooms[room].strict)
        self._base()
        self._legend()
        return "\n".join([*self.lines, "</svg>", ""])

    def _markers(self) -> None:
        for name, colour in ARROWS.items():
            self.lines.append(
                f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
                f'orient="auto"><path d="M0 1L8 4L0 7z" fill="{colour}"/></marker>')

    def _rectangle(self, x: float, y: float, width: float, height: float, colours: tuple[str, str]) -> None:
        fill, stroke = colours
        self.lines.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="4" '
                          f'fill="{fill}" stroke="{stroke}"/>')

    def _text(self, x: float, y: float, text: str, more: str = "") -> None:
        self.lines.append(f'<text x="{x:.0f}" y="{y:.0f}" fill="{TEXT}"{more}>{text}</text>')

    def _panels(self) -> None:
        for name, (left, right) in zip(BANDS, self.layout.bands):
            if name in LAYERS:
                self._rectangle(MARGIN + left, PANEL_TOP, right - left, self.bottom - PANEL_TOP, PANEL)
                self._text(MARGIN + (left + right) / 2, PANEL_TOP + 21, name,
                           ' text-anchor="middle" font-size="14" font-weight="bold"')

    def _box(self, box: Place, strict: bool) -> None:
        top = self.top_of(box)
        self._rectangle(MARGIN + box.x - box.width / 2, top, box.width, BOX_HEIGHT, STRICT if strict else OTHER)
        self._text(MARGIN + box.x, top + 16, box.label, ' text-anchor="middle"')

    @staticmethod
    def _port(place: Place, neighbour: Place, neighbours: list[Place]) -> float:
        """Where an arrow meets a box: side by side with the others, in the order of their other ends."""
        if not place.is_box:
            return place.x
        ordered = sorted(neighbours, key=lambda other: other.x)
        step = min(PORT, (place.width - PORT) / len(ordered))
        return place.x + (ordered.index(neighbour) - (len(ordered) - 1) / 2) * step

    def _arrow(self, arrow: list[Place]) -> None:
        path = ""
        for above, under in zip(arrow, arrow[1:]):
            start = MARGIN + self._port(above, under, above.down)
            end = MARGIN + self._port(under, above, under.up)
            from_, to = self.top_of(above) + BOX_HEIGHT, self.top_of(under)
            middle = (from_ + to) / 2
            path += f"L{start:.1f} {from_:.1f}" if path else f"M{start:.1f} {from_:.1f}"
            path += f"C{start:.1f} {middle:.1f} {end:.1f} {middle:.1f} {end:.1f} {to:.1f}"
        self._line(path, "within" if arrow[0].band == arrow[-1].band else "across")

    def _line(self, path: str, kind: str) -> None:
        self.lines.append(f'<path d="{path}" fill="none" stroke="{ARROWS[kind]}" stroke-width="1.1" '
                          f'marker-end="url(#{kind})"/>')

    def _base(self) -> None:
        top = self.bottom + 14
        self._rectangle(MARGIN, top, WIDTH - 2 * MARGIN, 28, STRICT)
        self._text(WIDTH / 2, top + 19, "base: all folders may include it", ' text-anchor="middle"')

    def _legend(self) -> None:
        y, x = self.bottom + 60, MARGIN
        for colours, text, width in ((STRICT, "links no LibTorch, GStreamer or gRPC", 310),
                                     (OTHER, "links one of them", 175)):
            self._rectangle(x, y, 22, 16, colours)
            self._text(x + 30, y + 13, text)
            x += width
        for kind, text, width in (("within", "includes, in its own column", 245),
                                  ("across", "includes, in another column", 235)):
            self._line(f"M{x} {y + 8}H{x + 30}", kind)
            self._text(x + 40, y + 13, text)
            x += width
        self._text(x, y + 13, "Implied arrows are left out.")


def picture_of(tree: Tree) -> str:
    """REQUIRES: no circle."""
    return Picture(tree).draw()
