#!/usr/bin/env python3
"""Writes the table of docs/live.md that says how to choose.

The table lies between a line "<!-- choose FILE.. -->" and "<!-- end -->". The files are results of run.py
(result.json.gz), from the top of the repository; of each mix and way the last file that has it counts. To add
measurements, add their file there and run this:  bench/live/choose.py docs/live.md
"""
import argparse
import gzip
import json
import os

from livebench.document import rewrite

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAYS = (("timeslice", "time slicing"), ("mps", "MPS"), ("mps70", "MPS, batch 70 %"),
        ("rotate", "`rotate`"), ("pools", "`pools`"), ("parts", "`parts`"))
# On which SMs programs are in the ways that may stand for `parts`.
PARTS = {"parts24-40-68": "24, 40 and 68 SMs asked for", "parts32": "batch on 32 SMs",
         "parts64": "batch on 64 SMs", "parts96": "batch on 96 SMs", "parts112": "batch on 112 SMs"}
# What a user has, the mix that stands for it, the way that stands for `parts`, and what is best then. Ways and
# advice were chosen when the results were known.
ROWS = (("requests now and then, one batch program", "b1", "parts64", "`pools`"),
        ("the same with several batch programs or trainings", "b3", "parts64", "`pools`"),
        ("requests of 0.1 ms", "a2", "parts112", "`parts`"),
        ("the same beside memory copies", "m1", "parts112", "`parts`"),
        ("requests half of the time or more", "b1-high", "parts64", "`parts`"),
        ("the same, beside trainings", "b2-high", "parts64",
         "`pools`; `parts` if batch programs matter more"),
        ("two latency programs", "c3", "parts64", "`parts`, each on SMs of its own"),
        ("two latency programs, beside a training as well", "c2", "parts64", "`pools` or `parts`"),
        ("three latency programs", "c4", "parts32", "`pools` or `parts`"),
        ("many small kernels now and then", "g1", "parts112", "`pools` or `parts`"),
        ("many small kernels most of the time", "g2", "parts64", "`parts`"),
        ("no MPS here, or users who must not share one", "b4", "parts64", "`rotate`"))


def read_rows(names):
    """(mix, way) -> row, of the last file that has it."""
    found = {}
    for name in names:
        with gzip.open(os.path.join(ROOT, name), "rt") as f:
            found.update({(r["group"], r["way"]): r for r in json.load(f)["rows"]})
    return found


def cell(row):
    """The worst p99 of the latency programs, and what batch programs do, both of that alone."""
    if not row:
        return ""
    ratios = [x["ratio"]["median"] for x in row["latency"] if x.get("ratio")]
    if not ratios or not row["sum"]:
        return ""
    where = f" ({PARTS[row['way']]})" if row["way"] in PARTS else ""
    return f"{max(ratios):.{2 if max(ratios) < 10 else 0}f}x, {row['sum']['median']:.2f}{where}"


def table(names):
    rows = read_rows(names)

    def find(way, mix, parts):
        return rows.get((mix, parts if way == "parts" else way))
    ways = [(way, title) for way, title in WAYS if any(find(way, m, p) for _, m, p, _ in ROWS)]
    lines = ["| " + " | ".join(["you have", "measured with", *(t for _, t in ways), "then"]) + " |",
             "|---" * (3 + len(ways)) + "|"]
    for have, mix, parts, then in ROWS:
        measured = [find(way, mix, parts) for way, _ in ways]
        title = next((r["title"] for r in measured if r), None)
        if title:
            lines.append("| " + " | ".join([have, title, *map(cell, measured), then]) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("document")
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    args = parser.parse_args()
    rewrite(args.document, "choose", table, args.check)


if __name__ == "__main__":
    main()
