#!/usr/bin/env python3
"""The first table and picture of the README: one mix, as each way leaves it.

The table lies between a line "<!-- headline FILE MIX -->" and "<!-- end -->"; FILE is a result of run.py
(result.json.gz), from the top of the repository. With "<!-- headline FILE MIX LOAD FACTOR -->" FILE has the cells of
targets.py (cells.json.gz), and the table says who keeps that target. To write both anew:
bench/live/headline.py README.md --picture docs/headline.svg
"""
import argparse
import gzip
import json
import math
import os
import sys
from dataclasses import dataclass
from typing import Optional

from livebench import judge
from livebench.document import rewrite
from livebench.mixes import LEARNED, SLO
from livebench.svg import COLOURS, Page

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAYS = (("timeslice", "time slicing, the driver's default"), ("mps", "MPS"),
        ("pools", "cotenant, policy `pools`"), ("rotate", "cotenant, policy `rotate`"))
AIMED = ((SLO, "cotenant, policy `slo`"), (LEARNED, "the same, when it has learned"))
AIMED_COLOURS = {SLO: "#1f6fb2", LEARNED: "#12406a"}
NAME, WIDTH, BAR, GAP, TOP, PANEL = 200, 860, 22, 12, 64, 280
LEAST_MS, MOST_MS = 0.5, 500.0  # of the logarithmic scale


@dataclass(frozen=True)
class Row:
    way: str
    name: str
    p99_ms: Optional[float]  # None: more than 1 % were never answered
    batch: Optional[float]   # what the batch programs do, in programs alone


@dataclass(frozen=True)
class Figures:
    title: str
    rows: list               # alone is first
    target_ms: Optional[float] = None


def _read_json(name):
    with gzip.open(os.path.join(ROOT, name), "rt") as f:
        return json.load(f)


def _of_ways(name, mix):
    rows = {r["way"]: r for r in _read_json(name)["rows"] if r["group"] == mix}
    missing = [way for way, _ in WAYS if way not in rows]
    if missing:
        sys.exit(f"headline: {name} has no {mix} under {', '.join(missing)}")
    first = rows[WAYS[0][0]]
    found = [Row("alone", "alone", first["latency"][0]["alone_p99_us"]["median"] / 1000, None)]
    for way, title in WAYS:
        row = rows[way]
        found.append(Row(way, title, row["latency"][0]["p99_us"]["median"] / 1000, row["sum"]["median"]))
    return Figures(first["title"], found)


def _wanted(case):
    """Time slicing and MPS, the best fixed arrangement where it is another one, and the policies with the target."""
    best = case["best"]
    fixed = [(best, f"`{best}`, the best that is fixed")] if best and best not in ("timeslice", "mps") else []
    return [*WAYS[:2], *fixed, *(a for a in AIMED if a[0] in case["ways"])]


def _of_case(name, mix, load, factor):
    case = next((c for c in judge.make_cases(_read_json(name)["cells"])
                 if (c["mix"], c["load"], c["factor"]) == (mix, float(load), float(factor))), None)
    if not case:
        sys.exit(f"headline: {name} has no {mix} at a load of {load} and a target of {factor} times alone")
    if len(case["target_us"]) > 1:
        sys.exit(f"headline: {mix} has several latency programs; one is expected")
    missing = [way for way in ("timeslice", "mps", SLO) if way not in case["ways"]]
    if missing:
        sys.exit(f"headline: {name} has no {judge.name_of(case)} under {', '.join(missing)}")
    found = [Row("alone", "alone", case["alone_p99_us"]["L1"] / 1000, None)]
    for way, title in _wanted(case):
        row = case["ways"][way]
        p99_us = row["p99_us"]["L1"]
        found.append(Row(way, title, p99_us and p99_us / 1000, row["sum"]))
    return Figures(f"{case['title']}; target {ms(case['target_us']['L1'] / 1000)}", found,
                   case["target_us"]["L1"] / 1000)


def read(name, mix, *case):
    return _of_case(name, mix, *case) if case else _of_ways(name, mix)


def ms(value):
    if value is None:
        return "never"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"


def _batch(row):
    return "" if row.batch is None else f"{row.batch:.2f}"


def _against(row, figures):
    """Times alone, or whether it keeps the target."""
    if not figures.target_ms:
        return f"{row.p99_ms / figures.rows[0].p99_ms:.3g}x"
    if row.p99_ms is None:
        return "missed"
    return "kept" if row.p99_ms <= figures.target_ms else f"missed: {row.p99_ms / figures.target_ms:.2g}x"


def table(words):
    figures = read(*words)
    head = f"target {ms(figures.target_ms)}" if figures.target_ms else "times alone"
    lines = [f"| | p99 of the requests | {head} | what the batch programs do, in programs alone |",
             "|---|---|---|---|"]
    for row in figures.rows:
        lines.append(f"| {row.name} | {ms(row.p99_ms)} | {_against(row, figures)} | {_batch(row)} |")
    return "\n".join(lines) + "\n"


def _length(value_ms):
    value_ms = min(MOST_MS, MOST_MS if value_ms is None else value_ms)
    return PANEL * math.log(max(value_ms, LEAST_MS) / LEAST_MS) / math.log(MOST_MS / LEAST_MS)


def picture(words):
    figures = read(*words)
    page = Page()
    page.text(14, 24, figures.title.replace("; ", " beside ", 1), 15, weight="bold")
    page.text(NAME, 50, "p99 of the requests (log)", 12, colour="#444")
    page.text(NAME + PANEL + 90, 50, "batch programs, in programs alone", 12, colour="#444")
    y = TOP
    for row in figures.rows:
        name = row.name.replace("`", "").replace(", the driver's default", "").replace(", the best that is fixed", "")
        page.text(NAME - 8, y + BAR * 0.7, name, 12, anchor="end")
        length, colour = _length(row.p99_ms), {**COLOURS, **AIMED_COLOURS}.get(row.way, "#b7a6d9")
        page.bar(NAME, y, length, BAR, colour)
        page.text(NAME + length + 6, y + BAR * 0.7, ms(row.p99_ms), 12)
        if row.batch is not None:
            page.bar(NAME + PANEL + 90, y, 200 * row.batch, BAR, colour)
            page.text(NAME + PANEL + 96 + 200 * row.batch, y + BAR * 0.7, f"{row.batch:.2f}", 12)
        y += BAR + GAP
    if figures.target_ms:
        x = NAME + _length(figures.target_ms)
        page.line(x, TOP - 6, x, y - GAP + 6, "#444", "4 3")
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
