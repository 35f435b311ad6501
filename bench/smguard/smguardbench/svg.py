"""The figures as SVG: bars by pair or kernel, lines by what is reserved."""
from xml.sax.saxutils import escape
import math

COLOURS = {"mps": "#c9a15b", "smguard": "#1f6fb2", "effisha": "#9a9a9a",
           "capsm": "#7fb3dc", "gathered": "#6b5bb5",
           "retreat": "#3a9a6b", "remap": "#1f6fb2", "relaunch": "#9a9a9a"}
LINES = ("#1f6fb2", "#c9a15b", "#3a9a6b", "#b0486a", "#6b5bb5", "#777777")
HEIGHT, TOP, BOTTOM, LEFT, BAR, GAP = 180, 46, 64, 52, 11, 10


class Page:
    def __init__(self):
        self.parts = []

    def text(self, x, y, text, size=11, anchor="start", turn=0, weight="normal"):
        extra = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="#222" '
                          f'text-anchor="{anchor}" font-weight="{weight}"{extra}>'
                          f'{escape(text)}</text>')

    def bar(self, x, y, w, h, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" '
                          f'height="{max(h, 0.5):.1f}" fill="{colour}"/>')

    def line(self, points, colour="#ddd", dash="", width=1):
        at = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{at}" fill="none" stroke="{colour}" '
                          f'stroke-width="{width}"{extra}/>')

    def whole(self, width, height):
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
                f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
                f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n'
                f'{body}\n</svg>\n')


class Scale:
    """From values to heights; logarithmic where they are far apart."""

    def __init__(self, values, low):
        most = max([*values, low * 1.1])
        self.low, self.is_log = low, low > 0 and most / low > 8
        self.top = most * 1.05

    def y(self, value):
        value = min(max(value, self.low), self.top)
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.top / self.low)
        else:
            share = (value - self.low) / (self.top - self.low)
        return TOP + HEIGHT * (1 - share)

    def ticks(self):
        if self.is_log:
            steps = [self.low * 10 ** (i / 2) for i in range(12)]
            return [float(f"{s:.2g}") for s in steps if s <= self.top]
        step = 10 ** math.floor(math.log10(self.top - self.low))
        for part in (0.1, 0.2, 0.5, 1):
            if (self.top - self.low) / (step * part) <= 8:
                step *= part
                break
        first = math.ceil(self.low / step)
        return [k * step for k in range(first, int(self.top / step) + 1)]


def _frame(page, title, scale, width, marks):
    page.text(12, 18, title, 13, weight="bold")
    for tick in scale.ticks():
        page.line([(LEFT, scale.y(tick)), (width - 8, scale.y(tick))])
        page.text(LEFT - 5, scale.y(tick) + 4, f"{tick:g}", 10, "end")
    for value, what in marks:
        if scale.low <= value <= scale.top:
            page.line([(LEFT, scale.y(value)), (width - 8, scale.y(value))], "#d33", "4 3")
            page.text(width - 8, scale.y(value) - 3, what, 9, "end")


def _legend(page, entries):
    x = LEFT
    for name, colour in entries:
        page.bar(x, 27, 9, 9, colour)
        page.text(x + 13, 35, name, 10)
        x += 28 + 6.2 * len(name)


def bars(title, rows, series, low=0.0, marks=()):
    """rows: [(label, {series: value})]; series: {name: text}. marks: [(value, what)]."""
    values = [v for _, by in rows for v in by.values() if v is not None]
    if not values:
        return None
    group = len(series) * BAR + GAP
    width = max(LEFT + len(rows) * group + 16, 420)
    page, scale = Page(), Scale([*values, *(v for v, _ in marks)], low)
    _frame(page, title, scale, width, marks)
    _legend(page, [(text, COLOURS[name]) for name, text in series.items()])
    for i, (label, by) in enumerate(rows):
        x = LEFT + 6 + i * group
        for k, name in enumerate(series):
            value = by.get(name)
            if value is not None:
                y = scale.y(value)
                page.bar(x + k * BAR, y, BAR - 2, TOP + HEIGHT - y, COLOURS[name])
        page.text(x + len(series) * BAR / 2, TOP + HEIGHT + 12, label, 10, "end", -45)
    return page.whole(width, TOP + HEIGHT + BOTTOM)


def lines(title, rows, low, x_title, marks=()):
    """rows: [(label, [(x, y)])]."""
    rows = [(label, points) for label, points in rows if points]
    if not rows:
        return None
    width = 460
    xs = sorted({x for _, points in rows for x, _ in points})
    scale = Scale([y for _, points in rows for _, y in points], low)
    page = Page()
    _frame(page, title, scale, width, marks)
    _legend(page, [(label, LINES[i % len(LINES)]) for i, (label, _) in enumerate(rows)])

    def place(x):
        return LEFT + 14 + (width - LEFT - 40) * (x - xs[0]) / max(xs[-1] - xs[0], 1)

    for x in xs:
        page.text(place(x), TOP + HEIGHT + 14, f"{x:g}", 10, "middle")
    page.text(width / 2, TOP + HEIGHT + 32, x_title, 10, "middle")
    for i, (_, points) in enumerate(rows):
        page.line([(place(x), scale.y(y)) for x, y in points], LINES[i % len(LINES)], width=1.8)
    return page.whole(width, TOP + HEIGHT + 44)


def _by_pair(pairs, key, ways):
    return [(p["pair"], {w: p["ways"].get(w, {}).get(key) for w in ways}) for p in pairs]


def _costs(remap, alone):
    kernels = {r["kernel"]: {"remap": r["overhead"]} for r in remap}
    for r in alone:
        kernels.setdefault(r["kernel"], {})["capsm"] = r.get("turnaround")
    return list(kernels.items())


def draw_all(result):
    """{file: text}; a figure without values is left out."""
    pairs, remap = result["pairs"], result["remap"]
    ways = {"mps": "MPS", "smguard": "smguard", "effisha": "effisha"}
    ours = {w: ways[w] for w in ways if w != "mps"}
    out = {
        "figure10.svg": bars("Figure 10: LS time beside CapSMs over that beside whole SMs",
                             [(r["pair"], {w: r.get(f"{w}_over_sm")
                                           for w in ("capsm", "gathered")})
                              for r in result["reserve"]],
                             {"capsm": "CapSMs / SMs", "gathered": "on whole SMs / SMs"},
                             marks=[(1.049, "paper's average")]),
        "figure11.svg": lines("Figure 11: slowdown of bursty requests",
                              [(r["pair"], [(p["reserve"], p["slowdown"]) for p in r["points"]])
                               for r in result["burst"]], 1.0,
                              "reserved, 13ths of the SMs", [(2.0, "2x")]),
        "figure12.svg": bars("Figure 12: speed-up of the LS program over MPS",
                             _by_pair(pairs, "speedup", ours), ours, 0.5,
                             [(9.8, "paper's average")]),
        "figure13.svg": bars("Figure 13: ANTT", _by_pair(pairs, "antt", ways), ways, 0.8,
                             [(1.56, "paper's average")]),
        "figure14.svg": bars("Figure 14: STP", _by_pair(pairs, "stp", ways), ways, 0.0,
                             [(1.57, "paper's average")]),
        "figure15.svg": bars("Figure 15: until all workers have left, us",
                             [(r["kernel"], {"remap": r["delay_us"]["median"],
                                             "relaunch": r["longest_us"]}) for r in remap
                              if "delay_us" in r],
                             {"remap": "median", "relaunch": "longest task"}, 1.0),
        "figure16.svg": bars("Figure 16: time of an evicted kernel over ideal",
                             [(r["kernel"], {w: r[w]["mean"] for w in
                                             ("remap", "relaunch") if w in r})
                              for r in remap],
                             {"remap": "remapped", "relaunch": "launched again"}, 0.5,
                             [(1.2, "paper, remapped")]),
        "figure17.svg": bars("Figure 17: rewritten over plain",
                             _costs(remap, result["alone"]),
                             {"remap": "kernel", "capsm": "request"}, 0.5,
                             [(1.0387, "paper's average")]),
    }
    return {name: text for name, text in out.items() if text}
