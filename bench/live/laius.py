#!/usr/bin/env python3
"""Laius on a real GPU: six services, each beside eight batch programs, under each policy.

First each program is profiled on parts of the GPU, and measured alone. Then, batch program by batch program, the
policies get the same arrivals and the same target for each service. Starts run as many as fit into --budget; what is
there already is not measured again: go on with the same --out, or with --from. Then merges all. See
docs/bench-live.md.
"""
import shlex
import sys
from functools import partial

import targets
from livebench import cells as plan
from livebench import document, pairs, pairtable, session


def words(allowed):
    def parse_words(text):
        found = tuple(w for w in text.split(",") if w)
        unknown = [w for w in found if w not in allowed]
        if unknown:
            raise ValueError(unknown[0])
        return found
    parse_words.__name__ = "name"
    return parse_words


def parse(argv):
    p = session.parser(__doc__.split("\n", maxsplit=1)[0], 8, "build/laius")
    p.add_argument("--settle", type=float, default=2, metavar="SECONDS", help="after a change of the policy")
    p.add_argument("--services", type=words(pairs.SERVICES), default=tuple(pairs.SERVICES), metavar="NAME[,..]")
    p.add_argument("--batch", type=words(pairs.BATCH), default=pairs.BATCH, metavar="NAME[,..]")
    p.add_argument("--ways", type=words(pairs.POLICIES), default=pairs.POLICIES, metavar="POLICY[,..]")
    p.add_argument("--loads", type=targets.numbers, default=(pairs.LOAD,), metavar="LOAD[,..]",
                   help="of a service, in parts of all that it can answer alone")
    p.add_argument("--factors", type=targets.numbers, default=(pairs.FACTOR,), metavar="FACTOR[,..]",
                   help="targets, in times the p99 alone")
    p.add_argument("--parts", type=lambda text: [int(x) for x in text.split(",")], metavar="SMS,..",
                   default=[8, 16, 32, 48, 64, 80, 96, 112, 132], help="on which the programs are profiled")
    p.add_argument("--sizes", type=lambda text: [int(x) for x in text.split(",") if x], metavar="N,..",
                   default=[128, 144, 160, 180, 200, 224, 250, 280, 320, 360, 400, 450],
                   help="of requests, in blocks, for how far predictions are off; '': none")
    p.add_argument("--requests", type=int, default=100, help="for a figure of a profile")
    p.add_argument("--dram", type=float, default=4000, metavar="GB/S", help="what the GPU's memory reaches")
    p.add_argument("--doc", metavar="FILE", help="puts the summary between its lines '<!-- laius-live -->' and "
                   "'<!-- end -->'")
    p.add_argument("--repair", action="store_true", help="only windows of which no measurement is good")
    p.add_argument("--plan", action="store_true", help="only show the starts, and how long they take")
    options = p.parse_args(argv)
    options.command = " ".join(shlex.quote(a) for a in ["bench/live/laius.py", *argv])
    options.cells = options.cells or f"{options.out}/cells"
    options.fixed_seconds = None
    options.low_seconds = None
    return options


def choose(options):
    only = [o for o in options.only.split(",") if o]
    cells = plan.choose(pairs.make_starts(options), only)
    return pairs.repairs(cells, session.load_cells(options)) if options.repair else cells


def show_plan(options):
    total = 0.0
    for cell in choose(options):
        seconds = pairs.estimate_s(cell, len(options.parts), len(options.sizes))
        total += seconds
        print(f"{cell.id:<34} {seconds:5.0f} s {total:6.0f}  [{' '.join(w.label for w, _ in cell.windows)}]")


class Session(targets.Session):
    """What later starts need comes from the files of earlier ones."""

    def known(self, cell):
        return pairs.Known(session.load_cells(self.options), cell)

    def lacks(self, cell, tools):
        if cell.group == pairs.KNOW or cell.start == "alone":
            return None
        asked = [name for name, program in cell.tenants() if program.role == "latency"]
        if not self.known(cell).knows(asked, {w.load for w, _ in cell.windows if w.load}):
            return f"needs {pairs.ROWS}.alone of its services at these loads"
        files = pairs.knowledge(session.load_cells(self.options))
        missing = [name for _, p in cell.tenants() if (name := p.spec.partition("@")[0]) not in files]
        if missing and cell.topology == pairs.LAIUS:
            return f"needs {pairs.KNOW}.{missing[0]}"
        return None

    def run_cell(self, cell, tools, mark, runner_options):
        if cell.group == pairs.KNOW:
            return pairs.profile(cell, tools, mark, self.options)
        known = None if cell.start == "alone" else self.known(cell)
        files = pairs.knowledge(session.load_cells(self.options))
        return pairs.Runner(tools, mark, runner_options, known, files, self.options.dram).run(cell)


def merge(options, facts):
    """All cells into result.json, table.md and cells.json.gz, and the summary into --doc."""
    cells = session.load_cells(options)
    facts, runs = session.provenance(cells, facts)
    result = {"schema": "cotenant-laius/1", "machine": facts, "runs": runs, **pairtable.make(cells),
              "cells": session.without_raw(cells)}
    text = pairtable.markdown(result)
    session.write_result(options, result, text, {}, cells)
    if options.doc:
        document.rewrite(options.doc, "laius-live", lambda _: pairtable.summary(result))
    return text


def main(argv):
    options = parse(argv)
    try:
        if options.plan:
            show_plan(options)
            return 0
        bench = Session(options)
        estimate_s = partial(pairs.estimate_s, n_parts=len(options.parts), n_sizes=len(options.sizes))
        return session.conduct(session.Bench("laius", estimate_s, bench.run_cell, merge, bench.lacks),
                               lambda: choose(options), options)
    except ValueError as e:
        print(f"laius: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
