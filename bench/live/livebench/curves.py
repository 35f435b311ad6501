"""One small picture per mix: p99 against alone over the batch programs' sum, parts as a curve."""
import math

from .cells import DEALS
from .figures import WAY_ORDER
from .svg import COLOURS, Page, mid

PANEL, HEIGHT, IN_ROW = 440, 300, 2
LEFT, RIGHT, TOP, BOTTOM = 52, 34, 30, 46  # around the axes of a panel
RATIO_MAX = 10.0
RATIOS = (1, 1.25, 1.5, 2, 3, 5, 10)
CURVE = sorted((label for label, deal in DEALS.items()
                if deal.batch_sms and not deal.rest and not deal.latency),
               key=lambda label: DEALS[label].batch_sms)
LETTER, LINE = 5.4, 10  # of the names: the width of a letter, and the height


def _points(rows):
    """way -> (sum, worst ratio) of one mix."""
    points = {}
    for row in rows:
        ratios = [r for r in (mid(x.get("ratio")) for x in row["latency"]) if r]
        if ratios and mid(row["sum"]) is not None:
            points[row["way"]] = (mid(row["sum"]), max(ratios))
    return points


def _overlap(a, b):
    """How much of two boxes (left, top, right, bottom) is the same."""
    return (max(0, min(a[2], b[2]) - max(a[0], b[0])) *
            max(0, min(a[3], b[3]) - max(a[1], b[1])))


class _Names:
    """Puts names beside their points, where nothing is yet."""

    def __init__(self, bounds):
        self.bounds, self.taken = bounds, []

    def take(self, box):
        self.taken.append(box)

    def take_line(self, begin, end):
        for i in range(17):
            x, y = (a + (b - a) * i / 16 for a, b in zip(begin, end))
            self.take((x - 1, y - 1, x + 1, y + 1))

    def place(self, x, y, text):
        """Where it begins, its base line, and how far away it is."""
        best = None
        for distance in range(0, 6 * LINE, LINE // 2):
            for left, base in self._around(x, y, LETTER * len(text), distance):
                box = (left, base - LINE + 2, left + LETTER * len(text), base + 2)
                cost = sum(_overlap(box, other) for other in self.taken) + distance / 100
                cost += 100 * (box[0] < self.bounds[0] or box[1] < self.bounds[1] or
                               box[2] > self.bounds[2] or box[3] > self.bounds[3])
                if best is None or cost < best[0]:
                    best = (cost, box, left, base, distance)
        self.take(best[1])
        return best[2:]

    @staticmethod
    def _around(x, y, width, distance):
        for down in (-distance, distance):
            yield x + 7, y + 3 + down
            yield x - 7 - width, y + 3 + down
            yield x - width / 2, y + (16 if down > 0 else -7) + down


class _Panel:
    def __init__(self, page, x, y, sum_max):
        self.page, self.x, self.y, self.sum_max = page, x + LEFT, y + TOP, sum_max
        self.width, self.height = PANEL - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(self, point):
        ratio = min(max(point[1], 1.0), RATIO_MAX)
        return (self.x + self.width * point[0] / self.sum_max,
                self.y + self.height * (1 - math.log(ratio) / math.log(RATIO_MAX)))

    def axes(self, name, title):
        self.page.text(self.x, self.y - 12, name, 12, weight="bold")
        self.page.text(self.x + 8 * len(name) + 6, self.y - 12, title, 10, colour="#555")
        for ratio in RATIOS:
            (left, y), (right, _) = self.place((0, ratio)), self.place((self.sum_max, ratio))
            self.page.line(left, y, right, y)
            self.page.text(left - 5, y + 3, f"{ratio:g}x", 9, "end", colour="#666")
        for i in range(5):
            x, bottom = self.place((self.sum_max * i / 4, 1))
            self.page.line(x, bottom, x, self.y)
            self.page.text(x, bottom + 13, f"{self.sum_max * i / 4:g}", 9, "middle", colour="#666")

    def draw(self, points, colours):
        places = {way: self.place(point) for way, point in points.items()}
        names = _Names((self.x, self.y - 6, self.x + self.width + RIGHT, self.y + self.height))
        curve = [places[way] for way in CURVE if way in places]
        for begin, end in zip(curve, curve[1:]):
            self.page.line(*begin, *end, COLOURS["parts"])
            names.take_line(begin, end)
        for way, (x, y) in places.items():
            self.page.bar(x - 4, y - 4, 8, 8, colours[way])
            names.take((x - 4, y - 4, x + 4, y + 4))
        for way, (x, y) in places.items():
            beyond = points[way][1] > RATIO_MAX
            text = f"{way} ({points[way][1]:.0f}x)" if beyond else way
            left, base, away = names.place(x, y, text)
            if away > LINE:
                near = left if left > x else min(left + LETTER * len(text), x)
                self.page.line(x, y, near, base - LINE / 2, colours[way])
            self.page.text(left, base, text, 9, colour="#444")


def draw(rows, title, order=WAY_ORDER, colours=None):
    """The mixes that were measured on parts of the GPU; the empty picture if there are none."""
    mixes = {}
    for row in rows:
        mixes.setdefault(row["group"], []).append(row)
    mixes = {name: (points, group[0]["title"]) for name, group in mixes.items()
             if set(points := _points(group)) & set(DEALS)}
    page = Page()
    page.text(14, 24, title, 15, weight="bold")
    page.text(14, 42, "Up: p99 of the worst latency program, times alone (log). Right: the batch "
              "programs' rates, each of its rate alone, summed. Better: down and right.", 11)
    page.text(14, 58, "The line: batch programs on a part of that many SMs, the latency programs on "
              "all. What is above 10x has its value beside it.", 11)
    for i, (name, (points, mix)) in enumerate(mixes.items()):
        largest = max(value for value, _ in points.values())
        panel = _Panel(page, PANEL * (i % IN_ROW), 72 + HEIGHT * (i // IN_ROW),
                       max(1, math.ceil(largest)))
        panel.axes(name, mix)
        panel.draw({way: points[way] for way in order if way in points}, colours or COLOURS)
    return page.svg(PANEL * IN_ROW, 72 + HEIGHT * -(-len(mixes) // IN_ROW))
