#!/usr/bin/env python3
"""The first table and picture of the README: one mix, as each way leaves it.

The table lies between a line "<!-- headline FILE MIX -->" and "<!-- end -->"; FILE is a result of run.py
(result.json.gz), from the top of the repository. To write both anew:
bench/live/headline.py README.md --picture docs/headline.svg
"""
import argparse
import gzip
import json
import math
import os
import sys

from livebench.document import rewrite
from livebench.svg import COLOURS, Page

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAYS = (("timeslice", "time slicing, the driver's default"), ("mps", "MPS"),
        ("pools", "cotenant, policy `pools`"), ("rotate", "cotenant, policy `rotate`"))
NAME, WIDTH, BAR, GAP, TOP, PANEL = 200, 860, 22, 12, 64, 280
LEAST_MS, MOST_MS = 0.5, 500.0  # of the logarithmic scale


def read(name, mix):
    """The title, and for each way: its name, p99 in ms, batch programs' sum in programs alone; alone is first."""
    with gzip.open(os.path.join(ROOT, name), "rt") as f:
        rows = {r["way"]: r for r in json.load(f)["rows"] if r["group"] == mix}
    missing = [way for way, _ in WAYS if way not in rows]
    if missing:
        sys.exit(f"headline: {name} has no {mix} under {', '.join(missing)}")
    first = rows[WAYS[0][0]]
    figures = [("alone", "alone", first["latency"][0]["alone_p99_us"]["median"] / 1000, None)]
    for way, title in WAYS:
        row = rows[way]
        figures.append((way, title, row["latency"][0]["p99_us"]["median"] / 1000, row["sum"]["median"]))
    return first["title"], figures


def ms(value):
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"


def table(words):
    _, figures = read(*words)
    alone = figures[0][2]
    lines = ["| | p99 of the requests | times alone | what the batch programs do, in programs alone |",
             "|---|---|---|---|"]
    for _, title, p99, batch in figures:
        lines.append(f"| {title} | {ms(p99)} | {p99 / alone:.3g}x | {'' if batch is None else f'{batch:.2f}'} |")
    return "\n".join(lines) + "\n"


def picture(words):
    title, figures = read(*words)
    page = Page()
    page.text(14, 24, title.replace("; ", " beside "), 15, weight="bold")
    page.text(NAME, 50, "p99 of the requests (log)", 12, colour="#444")
    page.text(NAME + PANEL + 90, 50, "batch programs, in programs alone", 12, colour="#444")
    y = TOP
    for way, name, p99, batch in figures:
        page.text(NAME - 8, y + BAR * 0.7, name.replace("`", "").replace(", the driver's default", ""), 12,
                  anchor="end")
        length = PANEL * math.log(p99 / LEAST_MS) / math.log(MOST_MS / LEAST_MS)
        page.bar(NAME, y, length, BAR, COLOURS.get(way, "#b7a6d9"))
        page.text(NAME + length + 6, y + BAR * 0.7, ms(p99), 12)
        if batch is not None:
            page.bar(NAME + PANEL + 90, y, 200 * batch, BAR, COLOURS[way])
            page.text(NAME + PANEL + 96 + 200 * batch, y + BAR * 0.7, f"{batch:.2f}", 12)
        y += BAR + GAP
    return page.svg(WIDTH, y + 4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("document")
    parser.add_argument("--picture", metavar="FILE", help="writes the picture there, too")
    args = parser.parse_args()
    seen = []

    def table_and_note(words):
        seen.append(words)
        return table(words)
    rewrite(args.document, "headline", table_and_note)
    if args.picture:
        with open(f"{args.picture}.new", "w", encoding="utf-8") as f:
            f.write(picture(seen[0]))
        os.replace(f"{args.picture}.new", args.picture)


if __name__ == "__main__":
    main()
