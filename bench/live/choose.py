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
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(<!-- choose ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
WAYS = (("timeslice", "time slicing"), ("mps", "MPS"), ("mps70", "MPS, batch 70 %"),
        ("rotate", "`rotate`"), ("pools", "`pools`"), ("parts", "`parts`"))
# Which of the parts that were measured stand for `parts`, the first that there is, and on which SMs that is.
PARTS = {"parts24-40-68": "24, 40 and 68 SMs asked for", "parts64": "batch on 64 SMs",
         "parts64-rest": "batch on 64 SMs, the others on the rest", "parts": "by the policy itself"}
# What a user has, the mix that stands for it, and what is best then.
ROWS = (("requests now and then, one batch program", "b1", "`pools`"),
        ("the same with several batch programs or trainings", "b3", "`pools`"),
        ("requests of 0.1 ms", "a2", "`pools`"),
        ("requests half of the time or more", "b1-high", "`parts`"),
        ("the same, beside trainings", "b2-high", "`pools`; `parts` if batch programs matter more"),
        ("two latency programs", "c3", "`parts`, each on SMs of its own"),
        ("two latency programs, beside a training as well", "c2", "`pools` or `parts`"),
        ("many small kernels most of the time", "g2", "`parts`"),
        ("no MPS here, or users who must not share one", "b4", "`rotate`"))


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


def find(rows, mix, way):
    ways = PARTS if way == "parts" else (way,)
    return next((rows[mix, w] for w in ways if (mix, w) in rows), None)


def table(names):
    rows = read_rows(names)
    ways = [(way, title) for way, title in WAYS if any(find(rows, mix, way) for _, mix, _ in ROWS)]
    lines = ["| " + " | ".join(["you have", "measured with", *(t for _, t in ways), "then"]) + " |",
             "|---" * (3 + len(ways)) + "|"]
    for have, mix, then in ROWS:
        measured = [find(rows, mix, way) for way, _ in ways]
        title = next((r["title"] for r in measured if r), None)
        if title:
            lines.append("| " + " | ".join([have, title, *map(cell, measured), then]) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("document")
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    args = parser.parse_args()
    with open(args.document, encoding="utf-8") as f:
        old = f.read()
    if not BLOCK.search(old):
        sys.exit(f"choose: {args.document} has no lines '<!-- choose FILE.. -->' and '<!-- end -->'")
    new = BLOCK.sub(lambda m: m[1] + table(m[2].split()) + m[3], old)
    if args.check:
        sys.exit(f"choose: {args.document} is not what its results say" if new != old else 0)
    with open(args.document, "w", encoding="utf-8") as f:
        f.write(new)


if __name__ == "__main__":
    main()
