#!/usr/bin/env python3
"""SMGuard's evaluation on this machine's GPU: pairs of programs under MPS and under cotenant.

Measures the kernels alone and chooses their sizes; then runs cells in the order of how much they
tell, as many as fit into --budget, one JSON file each; cells that are there already are not run
again. Then merges all into result.json, table.md and figures. See docs/smguard.md.
"""
import argparse
import glob
import gzip
import json
import os
import shlex
import signal
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "live"))

# pylint: disable=wrong-import-position
from livebench import machine, process  # noqa: E402
from livebench.process import Failed  # noqa: E402
from livebench.ways import Tools  # noqa: E402
from smguardbench import figures, measure, plan, report, svg  # noqa: E402
from smguardbench.ways import WAYS  # noqa: E402

WRAP_UP_S = 5
GRACE_S = 45


class Enough(Exception):
    """The time is up, or the user wants an end."""


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--only", default="", metavar="CELL[,..]", help="groups, or ids with * and ?")
    p.add_argument("--budget", type=float, default=360, metavar="SECONDS")
    p.add_argument("--out", default="build/smguard", metavar="DIR")
    p.add_argument("--repeats", type=int, default=20)
    p.add_argument("--ways", metavar="WAY[,..]",
                   default="mps,smguard,effisha,fixed,capsm,gathered,retreat",
                   help=", ".join(WAYS))
    p.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), metavar="DIR",
                   help="folder of cotenant, cotenantd and smguard-app")
    p.add_argument("--gap-ms", type=float, default=1.0,
                   help="from the batch program's request to the other's")
    p.add_argument("--short-task-us", type=int, default=1000, metavar="US",
                   help="batch kernels of such tasks may have what is reserved meanwhile")
    p.add_argument("--from", dest="imports", action="append", default=[], metavar="FILE",
                   help="a cells.json.gz of an earlier run, to go on from")
    p.add_argument("--no-reference", dest="reference", action="store_false",
                   help="don't compute results on the CPU; compare them with the first ones only")
    p.add_argument("--again", action="store_true", help="run cells that are there already")
    p.add_argument("--merge", action="store_true", help="measure nothing, write the results anew")
    p.add_argument("--list", action="store_true", help="only show the cells")
    p.add_argument("--emulate", action="store_true",
                   help="a trial with tiny kernels on the emulated GPU; the times mean nothing")
    p.add_argument("--keep", action="store_true", help="leave the logs of the programs")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--commit", help="to note in the result; default: git's")
    options = p.parse_args(argv)
    options.command = " ".join(shlex.quote(a) for a in ["bench/smguard/run.py", *argv])
    options.cells = os.path.join(options.out, "cells")
    options.bin = os.path.abspath(options.bin)
    options.tiny = options.emulate
    options.patience_s, options.start_s = (120, 240) if options.emulate else (15, 60)
    options.lead_ns = measure.LEAD_NS
    options.torch, options.python = False, None  # for machine.facts
    options.way_names = tuple(w for w in options.ways.split(",") if w)
    for name in options.way_names:
        if name not in WAYS:
            p.error(f"there is no way '{name}'; expected {', '.join(WAYS)}")
    return options


# ---- files ----

def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".new", path)


def read_json(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def cell_path(options, cell_id):
    return os.path.join(options.cells, cell_id + ".json")


def import_cells(options):
    for path in options.imports:
        with gzip.open(path, "rt") as f:
            saved = json.load(f)
        for cell in saved["cells"]:
            target = cell_path(options, cell["id"])
            if (read_json(target) or {}).get("status") != "ok":
                write(target, json.dumps(cell))
        sizes = os.path.join(options.out, "sizes.json")
        if saved.get("sizes") and not os.path.exists(sizes):
            write(sizes, json.dumps(saved["sizes"]))


def load_cells(options):
    cells = [read_json(p) for p in sorted(glob.glob(os.path.join(options.cells, "*.json")))]
    return [c for c in cells if c]


def merge(options, facts):
    cells = load_cells(options)
    machines = sorted((c["machine"] for c in cells if c.get("machine")),
                      key=lambda m: m.get("date") or "")
    if machines:
        facts = {**machines[-1], **{k: v for k, v in facts.items() if v is not None}}
    saved = read_json(os.path.join(options.out, "sizes.json"))
    result = {"schema": "cotenant-smguard/1", "machine": facts, "sizes": saved,
              **figures.make(cells)}
    write(os.path.join(options.out, "result.json"), json.dumps(result, indent=1) + "\n")
    table = report.markdown(result)
    write(os.path.join(options.out, "table.md"), table)
    for name, text in svg.draw_all(result).items():
        write(os.path.join(options.out, name), text)
    with gzip.open(os.path.join(options.out, "cells.json.gz"), "wt") as f:
        json.dump({"machine": facts, "sizes": saved, "cells": cells}, f)
    return table


# ---- running ----

def emulate(options):
    """The environment of the emulated GPU, for everything that is started from here on."""
    emu = os.path.join(os.path.dirname(options.bin), "lib", "emu")
    if not os.path.exists(os.path.join(emu, "libcuda.so.1")):
        raise Failed(f"there is no emulated GPU in {emu}; ./dev build makes it")
    folder = tempfile.mkdtemp(prefix="cse-")
    old = os.environ.get("LD_LIBRARY_PATH")
    os.environ.update(COTENANT_EMU_DIR=folder, COTENANT_GPUS="1",
                      COTENANT_EMU_SMS=os.environ.get("COTENANT_EMU_SMS", "8"),
                      COTENANT_MPS_CONTROL=os.path.join(emu, "nvidia-cuda-mps-control"),
                      LD_LIBRARY_PATH=emu + (":" + old if old else ""))
    return folder


def sizes_of(tools, mark, options):
    path = os.path.join(options.out, "sizes.json")
    saved = read_json(path)
    if not saved:
        begin = time.monotonic()
        sizes, sms = measure.calibrate(tools, mark, options)
        saved = {"sms": sms, "kernels": sizes}
        write(path, json.dumps(saved, indent=1) + "\n")
        print(f"run: sizes chosen in {time.monotonic() - begin:.1f} s: " + ", ".join(
            f"{n} {s['ms']:.3g} ms" if "ms" in s else f"{n} (scaled)"
            for n, s in sizes.items()), flush=True)
    return saved["kernels"], saved["sms"]


class Budget:
    def __init__(self, seconds):
        self.begin = time.monotonic()
        self.end = self.begin + seconds - WRAP_UP_S
        self.factors = []

    def fits(self, estimate_s):
        factor = statistics.median(self.factors) if self.factors else 1.0
        return time.monotonic() + factor * estimate_s <= self.end

    def learn(self, estimate_s, seconds):
        self.factors.append(seconds / estimate_s)


def show(result):
    if result["status"] != "ok":
        return f"{result['status'].upper()}: " + result.get("why", "")[:400]
    if result["group"] == "remap":
        row = figures.remap_row(result)
        return (f"plain {row['plain_us']:.0f} us, workers {100 * (row['overhead'] - 1):+.1f} %" +
                (f", remapped {row['remap']['mean']:.2f}" if "remap" in row else ""))
    if result["group"] == "alone":
        row = figures.make_alone([result])[0]
        return "  ".join(f"{w} {row[w]['us']['mean']:.0f} us" for w in ("mps", "smguard")
                         if w in row)
    if result["group"] == "burst":
        return " ".join(f"{p['reserve']}:{p['slowdown']:.2f}"
                        for p in figures.make_burst([result])[0]["points"])
    row = figures.pair_row(result, "capsm" if result["group"] == "reserve" else "mps")
    return "  ".join(f"{w} {o['ls']['mean']:.0f}/{o['batch']['mean']:.0f} us" +
                     (f" STP {o['stp']:.2f}" if "stp" in o else "")
                     for w, o in row["ways"].items())


def measure_cells(chosen, runner, options, facts, sizes, budget):
    skipped = []
    todo = [c for c in chosen if options.again or
            (read_json(cell_path(options, c.id)) or {}).get("status") != "ok"]
    for cell in todo:
        runner.later.setdefault(cell.group, []).append(cell.names)
    for cell in todo:
        path = cell_path(options, cell.id)
        estimate_s = plan.estimate_s(cell, sizes)
        if not budget.fits(estimate_s):
            skipped.append(cell.id)
            runner.later[cell.group].remove(cell.names)
            continue
        result = runner.run(cell)
        if result["status"] == "ok":  # how long a failure took says nothing of the next cell
            budget.learn(estimate_s, result["seconds"])
        result["machine"] = facts
        write(path, json.dumps(result))
        print(f"[{time.monotonic() - budget.begin:5.0f} s] {cell.id}: {result['seconds']:.1f} s "
              f"(expected {estimate_s:.0f})  {show(result)}", flush=True)
    return skipped


def handle_signals(handler):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, handler)


def stop(number, _):
    raise Enough(f"signal {number}")


def run_all(options, chosen):
    mark = f"{os.getpid()}-{time.time_ns():x}"
    facts, skipped, status, runner, folder = {}, [], 0, None, None
    handle_signals(stop)
    signal.alarm(int(options.budget + GRACE_S))
    try:
        budget = Budget(options.budget)
        folder = emulate(options) if options.emulate else None
        tools = Tools(HERE, ROOT, cotenant=options.bin)
        # On the emulated GPU a task takes as long as the interpreter takes.
        tools.short_task_us = 1000000 if options.emulate else options.short_task_us
        facts = machine.facts(tools, options)
        if options.emulate:
            facts["gpu"] = "EMULATED GPU: the times mean nothing"
        print(f"run: {facts.get('gpu')}, {facts.get('cotenant')}", flush=True)
        sizes, tools.sms = sizes_of(tools, mark, options)
        runner = measure.Runner(tools, mark, options, sizes)
        skipped = measure_cells(chosen, runner, options, facts, sizes, budget)
    except (Enough, Failed) as e:
        print(f"run: ended early: {e}", file=sys.stderr)
        status = 1
    finally:
        handle_signals(signal.SIG_IGN)
        if runner:
            runner.close()
        n = process.sweep(mark)
        if n:
            print(f"run: {n} processes were left and have been ended")
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    if skipped:
        print("run: no time for: " + ", ".join(skipped))
    print(merge(options, facts))
    failed = [c for c in load_cells(options) if c["status"] != "ok"]
    return 1 if failed else status


def main(argv):
    options = parse(argv)
    try:
        chosen = plan.choose(plan.make_cells(options.repeats, options.way_names),
                             [o for o in options.only.split(",") if o])
    except ValueError as e:
        print(f"run: {e}", file=sys.stderr)
        return 2
    if options.list:
        for cell in chosen:
            print(f"{cell.id:<18} {plan.estimate_s(cell, {}):5.1f} s  {plan.GROUPS[cell.group]}")
        return 0
    os.makedirs(options.cells, exist_ok=True)
    import_cells(options)
    if options.merge:
        print(merge(options, {}))
        return 0
    return run_all(options, chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
