#!/usr/bin/env python3
"""Targets on a real GPU: what keeps which p99, at what price for the batch programs.

For mixes of programs, loads and targets: every fixed arrangement, and the policy that gets the target, with
the same arrivals. Runs starts in order of how much they tell, as many as fit into --budget; windows that are
there already are not measured again. Then merges all. See docs/bench-live.md.
"""
import os
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import replace

from livebench import cells as plan
from livebench import judge, mixes, session, steer, verdicts


def numbers(text):
    return tuple(float(x) for x in text.split(",") if x)


def parse(argv):
    p = session.parser(__doc__.split("\n", maxsplit=1)[0], 10, "build/targets")
    p.add_argument("--fixed-seconds", type=float, metavar="SECONDS",
                   help="length of the windows of fixed arrangements; default: --seconds")
    p.add_argument("--low-seconds", type=float, metavar="SECONDS",
                   help=f"the same at loads below {mixes.LOW:g}, where fewer requests come")
    p.add_argument("--together", action="store_true", help="all targets of a mix in one start of slo: the topology "
                   "is that of the first; slo-learned then has one start for each topology that they want")
    p.add_argument("--given", action="store_true", help="with --together programs are started with the first target; "
                   "otherwise it is stated when the first window begins, and nothing is decided by it before")
    p.add_argument("--only-load", action="store_true", help="in the trials with steps only the load changes")
    p.add_argument("--settle", type=float, default=3, metavar="SECONDS",
                   help="for policies that get the target, after a change of load or target")
    p.add_argument("--loads", type=numbers, metavar="LOAD[,..]", help="only these, as in 0.1,0.6")
    p.add_argument("--factors", type=numbers, metavar="FACTOR[,..]",
                   help="targets, in times the p99 alone")
    p.add_argument("--ways", default="", metavar="WAY[,..]", help="besides programs alone only these: "
                   + ", ".join((*mixes.FIXED, *mixes.AIMED)))
    p.add_argument("--seeds", type=int, default=1, metavar="N",
                   help="each window N times, with other arrivals: a case's p99 is the median of theirs")
    p.add_argument("--plan", action="store_true", help="only show what is left to do, and how long "
                   "each start takes")
    options = p.parse_args(argv)
    options.command = " ".join(shlex.quote(a) for a in ["bench/live/targets.py", *argv])
    options.cells = options.cells or os.path.join(options.out, "cells")
    options.ways = [w for w in options.ways.split(",") if w]
    if options.seeds < 1:
        p.error(f"--seeds: {options.seeds} is less than 1")
    unknown = [w for w in options.ways if w not in (*mixes.FIXED, *mixes.AIMED)]
    if unknown:
        p.error(f"no way is called '{unknown[0]}'")
    return options


# ---- what is left to do ----

def left_to_do(cells, options):
    """The starts with those windows that were not measured well before, or again, as further repeats."""
    measured, repeats = {}, {}
    for cell in session.load_cells(options):
        if cell.get("status") != "ok":
            continue
        key = (cell["group"], cell["start"])
        repeats[key] = max(repeats.get(key, 0), cell["rep"] + 1)
        if cell.get("window_s", 0) >= options.seconds:
            measured.setdefault(key, Counter()).update(
                w["label"] for w in cell["windows"] if not w.get("problems"))
    left = []
    for cell in cells:
        key = (cell.group, cell.start)
        done = measured.get(key, {})
        windows = tuple((replace(step, draw=step.draw + (done.get(step.label, 0) if options.again else 0)), seconds)
                        for step, seconds in cell.windows if options.again or step.draw >= done.get(step.label, 0))
        if windows:
            left.append(replace(cell, windows=windows, rep=repeats.get(key, 0)))
    return left


def choose(options):
    only = [o for o in options.only.split(",") if o]
    chosen = plan.choose(mixes.make_starts(options), only)
    if not only:
        chosen = [c for c in chosen if c.group != mixes.TRIAL_MIX]
    return left_to_do(chosen, options)


def show_plan(cells):
    total, of_mix = 0.0, {}
    for cell in cells:
        seconds = mixes.estimate_s(cell)
        total += seconds
        of_mix[cell.group] = of_mix.get(cell.group, 0) + seconds
        labels = Counter(w.label for w, _ in cell.windows)
        print(f"{cell.id:<22} {seconds:5.0f} s {total:6.0f}  "
              f"[{' '.join(label + (f' x{n}' if n > 1 else '') for label, n in labels.items())}]")
    for name, seconds in of_mix.items():
        print(f"{name:<6} {seconds:5.0f} s  {mixes.MIX_OF[name].title}")


# ---- running and merging ----

class Session:
    """What one run knows: results that later starts need come from the files of earlier ones."""

    def __init__(self, options):
        self.options, self.policies = options, None

    def has_policy(self, tools, name):
        if self.policies is None:
            done = subprocess.run([*tools.cotenant, "list", "policies"], capture_output=True, text=True,
                                  env=tools.environment("policies"), timeout=20, check=False)
            self.policies = [line.split()[0] for line in done.stdout.splitlines() if line.split()]
        return name in self.policies

    def known(self, cell):
        return judge.Known(session.load_cells(self.options), cell.group)

    def lacks(self, cell, tools):
        policy = mixes.SLO if cell.topology == mixes.SOLO else cell.topology
        if policy in (mixes.SLO, mixes.SMQOS) and not self.has_policy(tools, policy):
            return f"this cotenant has no policy {policy}"
        if cell.start == "alone":
            return None
        known = self.known(cell)
        if not known.service_us:
            return f"needs {cell.group}.alone"
        if cell.windows[-1][0].way not in mixes.AIMED and not cell.changes:
            return None
        loads = {w.load for w, _ in cell.windows if w.load}
        names = [name for name, program in cell.tenants() if program.role == "latency"]
        if not known.knows(names, loads) or not known.loads(names[0]):
            return f"needs {cell.group}.alone at these loads"
        if cell.learned and known.lessons(cell.before) is None:
            return f"needs {cell.group}.{cell.before}, and lessons of it"
        return None if self.cut(cell).windows else f"no case is for {cell.wants}"

    def cut(self, cell):
        """Without the windows that are for the other topology, by what the start before has learned."""
        if not cell.wants:
            return cell
        known = self.known(cell)
        return replace(cell, windows=tuple(w for w in cell.windows if known.wanted(w[0].label) == cell.wants))

    def estimate_s(self, cell):
        return mixes.estimate_s(self.cut(cell))

    def run_cell(self, cell, tools, mark, runner_options):
        cell = self.cut(cell)
        known = None if cell.start == "alone" and not self.known(cell).service_us else self.known(cell)
        return steer.Steered(tools, mark, runner_options, known).run(cell)


def merge(options, facts):
    """All cells into result.json, table.md, plot.svg, steps.svg and cells.json.gz."""
    cells = session.load_cells(options)
    facts, runs = session.provenance(cells, facts)
    cases, trials = judge.make_cases(cells), judge.make_steps(cells)
    plain = [c for c in cases if c["mix"] not in (*judge.IN_TURN, mixes.TRIAL_MIX)]
    result = {"schema": "cotenant-targets/1", "machine": facts, "runs": runs, "cases": cases,
              "summary": {way: judge.summary(plain, way) for way in mixes.AIMED},
              "steps": trials, "cells": session.without_raw(cells)}
    text = verdicts.markdown(result, cells)
    title = f"{facts.get('gpu') or 'DRY RUN, invented figures'}, {facts.get('date', '')}"
    session.write_result(options, result, text, {
        "plot.svg": verdicts.picture(cases, title),
        "steps.svg": verdicts.steps_picture(cells, trials, title)}, cells)
    return text


def main(argv):
    options = parse(argv)
    try:
        if options.plan:
            os.makedirs(options.cells, exist_ok=True)
            session.import_cells(options)
            show_plan(choose(options))
            return 0
        bench = Session(options)
        return session.conduct(session.Bench("targets", bench.estimate_s, bench.run_cell, merge, bench.lacks),
                               lambda: choose(options), options)
    except ValueError as e:
        print(f"targets: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
