"""One small picture per mix: p99 against alone over the batch programs' sum, parts as a curve."""
import math

from .cells import DEALS
from .figures import WAY_ORDER
from .svg import COLOURS, Page, mid

PANEL, HEIGHT, MARGIN, IN_ROW = 300, 210, 44, 3
RATIO_MAX = 10.0
RATIOS = (1, 1.25, 1.5, 2, 3, 5, 10)
CURVE = [label for label, deal in DEALS.items() if deal.batch_sms and not deal.rest]


def _points(rows):
    """way -> (sum, worst ratio) of one mix."""
    points = {}
    for row in rows:
        ratios = [r for r in (mid(x.get("ratio")) for x in row["latency"]) if r]
        if ratios and mid(row["sum"]) is not None:
            points[row["way"]] = (mid(row["sum"]), max(ratios))
    return points


class _Panel:
    def __init__(self, page, x, y, sum_max):
        self.page, self.x, self.y, self.sum_max = page, x + MARGIN, y, sum_max

    def place(self, point):
        ratio = min(max(point[1], 1.0), RATIO_MAX)
        return (self.x + (PANEL - 2 * MARGIN) * point[0] / self.sum_max,
                self.y + (HEIGHT - 2 * MARGIN) * (1 - math.log(ratio) / math.log(RATIO_MAX)))

    def axes(self, title):
        self.page.text(self.x, self.y - 10, title, 12, weight="bold")
        for ratio in RATIOS:
            (left, y), (right, _) = self.place((0, ratio)), self.place((self.sum_max, ratio))
            self.page.line(left, y, right, y)
            self.page.text(left - 4, y + 3, f"{ratio:g}", 9, "end", colour="#666")
        for i in range(5):
            x, bottom = self.place((self.sum_max * i / 4, 1))
            self.page.line(x, bottom, x, self.y)
            self.page.text(x, bottom + 12, f"{self.sum_max * i / 4:g}", 9, "middle", colour="#666")

    def draw(self, points):
        curve = [self.place(points[way]) for way in CURVE if way in points]
        for begin, end in zip(curve, curve[1:]):
            self.page.line(*begin, *end, COLOURS["parts"])
        for way, point in points.items():
            x, y = self.place(point)
            self.page.bar(x - 3, y - 3, 6, 6, COLOURS[way])
            self.page.text(x + 5, y - 3, way, 8, colour="#444")


def draw(rows, title):
    """The mixes that were measured on parts of the GPU; the empty picture if there are none."""
    mixes = {}
    for row in rows:
        mixes.setdefault(row["group"], []).append(row)
    mixes = {name: points for name, group in mixes.items()
             if set(points := _points(group)) & set(DEALS)}
    page = Page()
    page.text(14, 24, title, 15, weight="bold")
    page.text(14, 42, "p99 of the worst latency program, times alone (log), over the batch "
              "programs' sum, in programs alone. Better: right and down.", 11)
    for i, (name, points) in enumerate(mixes.items()):
        largest = max(value for value, _ in points.values())
        panel = _Panel(page, PANEL * (i % IN_ROW), 80 + HEIGHT * (i // IN_ROW),
                       max(1, math.ceil(largest)))
        panel.axes(name)
        panel.draw({way: points[way] for way in WAY_ORDER if way in points})
    return page.svg(PANEL * IN_ROW + MARGIN, 70 + HEIGHT * -(-len(mixes) // IN_ROW))
