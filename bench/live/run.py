#!/usr/bin/env python3
"""The live benchmark: latency and batch programs share a real GPU, in several ways.

Runs cells in order of how much they tell, as many as fit into --budget, one JSON file each; cells
that are there already are not run again. Then merges all of them into result.json, table.md and
plot.svg. See docs/bench-live.md.
"""
import os
import shlex
import sys

from livebench import cells as plan
from livebench import cost, curves, figures, measure, report, session, svg

SMOKE_S = 1.5
SMOKE = ("a1", "b1.plain", "b1.pools", "a2.plain", "a2.pools", "a2.rotate", "slices", "blocks",
         "context")


def parse(argv):
    p = session.parser(__doc__.split("\n", maxsplit=1)[0], 4, "build/live")
    p.add_argument("--ways", default="", metavar="WAY[,..]", help="of the mixes' windows only these, "
                   "and programs alone")
    p.add_argument("--repeats", type=int, default=1)
    p.add_argument("--rounds", type=int, default=1, metavar="N",
                   help="measure the windows of a mix N times in turn, in the same processes")
    p.add_argument("--torch-seconds", type=float, metavar="SECONDS",
                   help="of windows with PyTorch programs; default: 1.4 times --seconds")
    p.add_argument("--smoke", action="store_true", help="a few short cells of each kind")
    p.add_argument("--list", action="store_true", help="only show the cells")
    options = p.parse_args(argv)
    options.command = " ".join(shlex.quote(a) for a in ["bench/live/run.py", *argv])
    options.cells = options.cells or os.path.join(options.out, "cells")
    if options.smoke:
        options.seconds = min(options.seconds, SMOKE_S)
    return options


def merge(options, facts):
    """All cells into result.json, table.md, plot.svg, curves.svg and cells.json.gz."""
    cells = session.load_cells(options)
    facts, runs = session.provenance(cells, facts)
    rows = figures.make_rows(cells)
    result = {"schema": "cotenant-live/1", "machine": facts, "runs": runs, "rows": rows,
              "slices": figures.make_slices(cells), "cost": figures.make_cost(cells),
              "blocks": figures.make_blocks(cells)[0],
              "context": figures.make_context(cells)[0], "cells": session.without_raw(cells)}
    table = report.markdown(result)
    title = f"{facts.get('gpu') or 'DRY RUN, invented figures'}, {facts.get('date', '')}"
    session.write_result(options, result, table, {"plot.svg": svg.draw(rows, title),
                                                  "curves.svg": curves.draw(rows, title)}, cells)
    return table


def run_cell(cell, tools, mark, runner_options):
    if cell.group == "cost":
        return cost.run(cell, tools, mark)
    return measure.Runner(tools, mark, runner_options).run(cell)


def show_list(cells):
    total = 0.0
    for cell in cells:
        seconds = plan.estimate_s(cell)
        total += seconds
        print(f"{cell.id:<20} {seconds:5.0f} s {total:6.0f}  "
              f"{plan.GROUP_OF[cell.group].title}  [{' '.join(w.label for w, _ in cell.windows)}]")


def main(argv):
    options = parse(argv)
    only = [o for o in options.only.split(",") if o] or (SMOKE if options.smoke else ())
    try:
        chosen = plan.choose(plan.make_cells(options.seconds, options.repeats,
                                             options.torch_seconds, options.rounds), only)
        chosen = plan.only_ways(chosen, [w for w in options.ways.split(",") if w])
    except ValueError as e:
        print(f"run: {e}", file=sys.stderr)
        return 2
    if options.list:
        show_list(chosen)
        return 0
    return session.conduct(session.Bench("run", plan.estimate_s, run_cell, merge),
                           lambda: chosen, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
