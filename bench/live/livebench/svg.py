"""One picture: for each mix, p99 against alone and the batch programs' sum, for each way."""
from xml.sax.saxutils import escape
import math

from .figures import OURS, WAY_ORDER

COLOURS = {"timeslice": "#9a9a9a", "mps": "#c9a15b", "mps70": "#e0cfa3", "pools": "#1f6fb2",
           "latency-only": "#b7a6d9", "pools-drain": "#7fb3dc", "pools-solo": "#12406a",
           "rotate": "#3a9a6b", "mps50": "#ead9b0", "mps30": "#f0e6cd", "parts": "#b3452f",
           "parts24": "#f7d8cd", "parts24-40-68": "#5c1f10", "parts32": "#f0b9a8",
           "parts64": "#dd8468", "parts96": "#c9613f", "parts112": "#a8492a",
           "parts64-rest": "#7a2e1a", "mps-latency-only": "#d6c9e8",
           "parts-latency-only": "#8f78c9"}
LEFT, BAR, GAP, WIDTH, TEXT = 230, 13, 24, 330, 60
NAMED = 9  # ways in a line of the legend
RATIO_MAX, SUM_MAX = 300.0, 3.0
# Colours that are others where the reader wants a dark page; the values are for programs that know no styles.
DARK = {"white": ("page", "#16181b"), "#222": ("ink", "#e8e8e8"), "#444": ("name", "#cfcfcf"),
        "#555": ("note", "#b0b0b0"), "#666": ("scale", "#a0a0a0"), "#ddd": ("grid", "#3a3d41")}


def mid(value):
    return value["median"] if value else None


def _colour(attribute, colour):
    name = DARK.get(colour, (None,))[0]
    return f'{attribute}="{colour}"' + (f' class="{name}"' if name else "")


def _style():
    rules = "".join(f".{name}{{{'stroke' if name == 'grid' else 'fill'}:{colour}}}"
                    for name, colour in DARK.values())
    return f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"


class Page:
    def __init__(self):
        self.parts = []

    def text(self, x, y, text, size=12, anchor="start", weight="normal", colour="#222"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" {_colour("fill", colour)} '
                          f'text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>')

    def bar(self, x, y, w, h, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(w, 1):.1f}" '
                          f'height="{h:.1f}" fill="{colour}"/>')

    def line(self, x1, y1, x2, y2, colour="#ddd", dash=""):
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'{_colour("stroke", colour)}{extra}/>')

    def svg(self, width, height):
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
                f'{_style()}\n<rect width="100%" height="100%" {_colour("fill", "white")}/>\n'
                f'{body}\n</svg>\n')


def _ratio_x(ratio):
    ratio = min(max(ratio, 1.0), RATIO_MAX)
    return WIDTH * math.log(ratio) / math.log(RATIO_MAX)


def _axes(page, top, bottom, right):
    for ratio in (1, 1.25, 2, 5, 10, 30, 100, 300):
        x = LEFT + _ratio_x(ratio)
        page.line(x, top, x, bottom, "#d33" if ratio == 1.25 else "#ddd",
                  "4 3" if ratio == 1.25 else "")
        if ratio != 1.25:
            page.text(x, top - 5, f"{ratio:g}", 10, "middle", colour="#666")
    for value in (0, 0.5, 1, 1.5, 2, 2.5, 3):
        x = right + WIDTH * value / SUM_MAX
        page.line(x, top, x, bottom)
        page.text(x, top - 5, f"{value:g}", 10, "middle", colour="#666")


def draw(rows, title):
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    ways = [w for w in WAY_ORDER if any(r["way"] == w for r in rows)]
    right, top = LEFT + WIDTH + TEXT, 84 + 16 * -(-len(ways) // NAMED)
    height = top + sum(len(g) * BAR + GAP for g in groups.values()) + 20
    page = Page()
    page.text(14, 24, title, 15, weight="bold")
    for i, way in enumerate(ways):
        x, y = 14 + 105 * (i % NAMED), 34 + 16 * (i // NAMED)
        page.bar(x, y, 10, 10, COLOURS[way])
        page.text(x + 14, y + 9, way, 11)
    page.text(LEFT, top - 20, "p99 of requests, times alone (log; dashed: 1.25)", 11, weight="bold")
    page.text(right, top - 20, "batch programs' sum, in programs alone", 11, weight="bold")
    _axes(page, top, height - 16, right)
    y = top + 8
    for name, group in groups.items():
        page.text(14, y + 11, name, 12, weight="bold")
        for i, line in enumerate(_wrap(group[0]["title"], 34)[:3]):
            page.text(14, y + 24 + 12 * i, line, 10, colour="#555")
        for row in group:
            _bars(page, row, y, right)
            y += BAR
        y += GAP
    return page.svg(right + WIDTH + TEXT, height)


def _bars(page, row, y, right):
    colour, weight = COLOURS[row["way"]], "bold" if row["way"] in OURS else "normal"
    ratios = [mid(x.get("ratio")) for x in row["latency"]]
    ratios = [r for r in ratios if r]
    if ratios:
        worst = max(ratios)
        page.bar(LEFT, y, _ratio_x(worst), BAR - 3, colour)
        page.text(LEFT + _ratio_x(worst) + 4, y + BAR - 4, f"{worst:.2f}", 10, weight=weight)
    total = mid(row["sum"])
    if total is not None:
        x = WIDTH * min(total, SUM_MAX) / SUM_MAX
        page.bar(right, y, x, BAR - 3, colour)
        page.text(right + x + 4, y + BAR - 4, f"{total:.2f}", 10, weight=weight)
    if row["ours"] and row["sum_wanted"]:
        x = right + WIDTH * max(0, min(row["sum_wanted"], SUM_MAX)) / SUM_MAX
        page.line(x, y - 1, x, y + BAR - 2, "#d33")


def _wrap(text, width):
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
