"""What run.py and targets.py have in common: the files of the cells, the budget, and the course of a run."""
import argparse
import glob
import gzip
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

from . import control, machine, process
from .process import Failed, Tenant
from .programs import PROGRAMS
from .ways import Tools

LIVE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(LIVE))
WRAP_UP_S = 4      # to merge and write
GRACE_S = 60       # after the budget everything is ended


class Enough(Exception):
    """The time is up, or the user wants an end."""


@dataclass(frozen=True)
class Bench:
    """What is another in each benchmark."""
    name: str
    estimate_s: Callable  # (cell): about how long it takes
    run_cell: Callable    # (cell, tools, mark, runner_options) -> its result
    merge: Callable       # (options, facts): writes the results, returns the table
    lacks: Callable = lambda cell, tools: None  # what it needs that is not there, or None


def parser(description, seconds, out):
    p = argparse.ArgumentParser(description=description,
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--only", default="", metavar="CELL[,..]", help="groups, GROUP.START, or ids")
    p.add_argument("--budget", type=float, default=480, metavar="SECONDS")
    p.add_argument("--out", default=out, metavar="DIR")
    p.add_argument("--cells", metavar="DIR", help="files of the cells; default: OUT/cells")
    p.add_argument("--from", dest="imports", action="append", default=[], metavar="FILE",
                   help="a cells.json.gz of an earlier run, to go on from")
    p.add_argument("--take", default="", metavar="CELL[,..]", help="of --from only these: groups, GROUP.START, or ids; "
                   "START alone for those of all groups")
    p.add_argument("--seconds", type=float, default=seconds, help="length of a window")
    p.add_argument("--doctor", action="store_true", help="only show what is missing here")
    p.add_argument("--merge", action="store_true", help="measure nothing, write the results anew")
    p.add_argument("--again", action="store_true", help="run cells that are there already; "
                   "with --merge: mixes and ways of later --from replace those of the first")
    p.add_argument("--no-torch", dest="torch", action="store_false", help="no PyTorch programs")
    p.add_argument("--own-models", action="store_true",
                   help="not those of torchvision and transformers")
    p.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    p.add_argument("--bin", metavar="DIR", help="folder of cotenant and cotenantd; default: "
                   "build/bin")
    p.add_argument("--commit", help="to note in the result; default: git's")
    p.add_argument("--gpu", metavar="N", help="on this one alone, an index or a UUID: two runs on two GPUs may go on at the "
                   "same time, each with its own --out; default: CUDA_VISIBLE_DEVICES, or the first")
    p.add_argument("--dry-run", action="store_true", help="stand-ins instead of programs and GPU")
    p.set_defaults(smoke=False, seeds=1)
    return p


# ---- files ----

def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".new", path)


def cell_path(options, cell_id):
    return os.path.join(options.cells, cell_id + ".json")


def forget_way(options, cell):
    """All that is there of this mix in this way, whatever run it is of."""
    for path in glob.glob(cell_path(options, f"{cell['group']}.{cell['start']}.r*")):
        os.remove(path)


def number_on(cells, n_repeats):
    """Repeats behind those of the files before; the ways of a mix keep a number in common."""
    before = dict(n_repeats)
    for cell in cells:
        group, rep = cell["group"], cell["rep"] + before.get(cell["group"], 0)
        cell.update(rep=rep, id=f"{group}.{cell['start']}.r{rep}")
        n_repeats[group] = max(n_repeats.get(group, 0), rep + 1)


def is_taken(options, cell):
    """By --take: all, if nothing is said."""
    names = [n for n in options.take.split(",") if n]
    own = {cell["group"], cell["start"], f"{cell['group']}.{cell['start']}", cell["id"]}
    return not names or any(name in own for name in names)


def import_cells(options):
    """The longer windows of a cell stay. With --merge --again what the files after the first have
    measured well does, as repeats of each other; of the first, the other mixes and ways."""
    n_repeats, replaced = {}, set()
    for i, path in enumerate(options.imports):
        with gzip.open(path, "rt") as f:
            cells = [c for c in json.load(f)["cells"] if is_taken(options, c)]
        if i and options.merge and options.again:
            good = [c for c in cells if c.get("status") == "ok"]
            number_on(good, n_repeats)
            for cell in good:
                if (cell["group"], cell["start"]) not in replaced:
                    forget_way(options, cell)
                    replaced.add((cell["group"], cell["start"]))
        for cell in cells:
            target = cell_path(options, cell["id"])
            if not is_done(target, cell.get("window_s", 0)):
                write(target, json.dumps(cell))


def load_cells(options):
    found = []
    for path in sorted(glob.glob(os.path.join(options.cells, "*.json"))):
        try:
            with open(path) as f:
                found.append(json.load(f))
        except (OSError, ValueError):
            print(f"{path} cannot be read; left out", file=sys.stderr)
    return found


def is_done(path, window_s):
    """Whether it was measured well, in windows at least so long."""
    try:
        with open(path) as f:
            cell = json.load(f)
            return cell.get("status") == "ok" and cell.get("window_s", 0) >= window_s
    except (OSError, ValueError):
        return False


def without_raw(value):
    if isinstance(value, dict):
        return {k: without_raw(v) for k, v in value.items()
                if not k.startswith("raw_") and k != "logs"}
    return [without_raw(v) for v in value] if isinstance(value, list) else value


def provenance(cells, facts):
    """The machine of the newest cell, and all runs that the cells are from."""
    machines = sorted((c["machine"] for c in cells if c.get("machine", {}).get("date")),
                      key=lambda m: m["date"])
    if machines:
        facts = {**machines[-1], **{k: v for k, v in facts.items() if v is not None}}
    keys = ("date", "commit", "command")
    runs = list(dict.fromkeys(tuple(m.get(k) for k in keys) for m in machines))
    return facts, [dict(zip(keys, r)) for r in runs]


def write_result(options, result, table, pictures, cells):
    """result.json, table.md, the pictures, and cells.json.gz (with raw latencies)."""
    os.makedirs(options.out, exist_ok=True)  # the cells may lie elsewhere
    write(os.path.join(options.out, "result.json"), json.dumps(result, indent=1) + "\n")
    write(os.path.join(options.out, "table.md"), table)
    for name, picture in pictures.items():
        write(os.path.join(options.out, name), picture)
    with gzip.open(os.path.join(options.out, "cells.json.gz"), "wt") as f:
        json.dump({"machine": result["machine"], "cells": cells}, f)


# ---- running ----

class Budget:
    """How much time is left, and how wrong the estimates were so far."""

    def __init__(self, seconds, estimate_s):
        self.end = time.monotonic() + seconds - WRAP_UP_S
        self.begin = time.monotonic()
        self.estimate_s = estimate_s
        self.factors = {True: [], False: []}

    def spent_s(self):
        return time.monotonic() - self.begin

    def fits(self, cell):
        factors = self.factors[cell.torch]
        factor = statistics.median(factors) if factors else 1.0
        return time.monotonic() + factor * self.estimate_s(cell) <= self.end

    def learn(self, cell, seconds):
        self.factors[cell.torch].append(seconds / self.estimate_s(cell))


def _calibrate(tools, mark):
    """How many iterations make a request of 100 us, once for all cells: with the GPU for itself."""
    with tempfile.TemporaryDirectory(prefix="cl-") as folder:
        tenant = Tenant("calibrate", PROGRAMS["req"], folder)
        go = os.path.join(folder, "go")
        tenant.start([*tools.programs["req"], *tenant.program.arguments],
                     tools.environment(mark), go, 20)
        try:
            process.wait_until_ready([tenant], 20)
            with open(go, "w"):
                pass
            time.sleep(0.05)
        finally:
            process.end([tenant.child])
        result = tenant.result()
        print(f"run: {result['iters']} iterations make a request; a kernel takes "
              f"{result.get('kernel_us', 0):.1f} us", flush=True)
        return result["iters"]


def _earlier_iters(options):
    for cell in load_cells(options):
        for tenant in cell.get("tenants", {}).values():
            if tenant.get("program") == "req" and tenant.get("iters"):
                return tenant["iters"]
    return None


def _window_text(window):
    parts = []
    for name, f in window.get("programs", {}).items():
        if f.get("p50_us"):
            p99 = "-" if f["p99_us"] is None else f"{f['p99_us']:.0f}"
            parts.append(f"{name} {f['p50_us']:.0f}/{p99} us")
        else:
            parts.append(f"{name} {f.get('rate', 0):.2f}/s")
    for pool in window.get("look", {}).get("pools", []):
        parts.append(f"[{pool['name']} {pool.get('slice_read_back_us')} us {pool.get('mode')}]")
    for name, part in window.get("parts", {}).items():
        parts.append(f"[{name}: {control.has_text(part)}; {part['coverage'] or 0:.4f}]")
    return f"\n    {window['label']:<14} " + "  ".join(parts)


def _summary(result):
    """One line per window, for who watches."""
    if result["status"] != "ok":
        return "\n    FAILED: " + result.get("why", "")[:400]
    return "".join(map(_window_text, result.get("windows", [])))


def _measure_cells(bench, chosen, check, tools, mark, options, facts, budget):
    runner_options = {"torch_arguments": ["--own-models"] if options.own_models else []}
    skipped = []
    for cell in chosen:
        path = cell_path(options, cell.id)
        if is_done(path, options.seconds) and not options.again:
            continue
        why = check.allows(cell)
        if not why and cell.torch and not options.torch:
            why = "--no-torch"
        why = why or bench.lacks(cell, tools)
        if why or not budget.fits(cell):
            skipped.append((cell.id, why or "time"))
            continue
        if not runner_options.get("req_iters") and "req" in {p.tool for _, p in cell.tenants()}:
            runner_options["req_iters"] = _earlier_iters(options) or _calibrate(tools, mark)
        result = bench.run_cell(cell, tools, mark, runner_options)
        budget.learn(cell, result["seconds"])
        result.update(machine=facts, window_s=options.seconds)
        write(path, json.dumps(result))
        print(f"[{budget.spent_s():5.0f} s] {cell.id}: {result['seconds']:.1f} s "
              f"(expected {bench.estimate_s(cell):.0f})" + _summary(result), flush=True)
        if result["left_over"]:
            print(f"    {result['left_over']} processes had to be ended", flush=True)
    return skipped


def _install_signals(budget_s):
    def stop(number, _):
        raise Enough(f"signal {number}")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, stop)
    signal.alarm(int(budget_s + GRACE_S))


def _ignore_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def _preflight(tools, options, mark, chosen):
    facts = machine.facts(tools, options)
    check = machine.preflight(tools, LIVE, facts, options, chosen)
    print("\n".join(check.lines), flush=True)
    usable = not tools.fake and "cotenant" not in check.missing and "gpu" not in check.missing
    if usable and (options.doctor or options.smoke):
        rc, text = machine.doctor(tools, mark)
        print(f"cotenant doctor (status {rc}):\n{text}", flush=True)
        facts["doctor"] = text
    return facts, check


def conduct(bench, choose, options):
    """Runs the cells of choose() that are not there yet and fit into the budget; then merges all. Returns
    the exit status."""
    begin = time.monotonic()
    if options.gpu:
        process.choose_gpu(options.gpu)
    os.makedirs(options.cells, exist_ok=True)
    import_cells(options)
    chosen = choose()
    if options.merge:
        print(bench.merge(options, {}))
        return 0
    tools = Tools(LIVE, ROOT, options.dry_run, options.bin and os.path.abspath(options.bin),
                  options.python)
    mark = f"{os.getpid()}-{time.time_ns():x}"
    _install_signals(options.budget)
    facts, skipped, status = {}, [], 0
    try:
        facts, check = _preflight(tools, options, mark, chosen)
        if options.doctor:
            return 1 if check.missing else 0
        budget = Budget(options.budget - (time.monotonic() - begin), bench.estimate_s)
        skipped = _measure_cells(bench, chosen, check, tools, mark, options, facts, budget)
    except (Enough, Failed) as e:
        print(f"{bench.name}: ended early: {e}", file=sys.stderr)
        status = 1
    finally:
        _ignore_signals()
        n = process.sweep(mark)
        print(f"{bench.name}: {n} processes were left and have been ended" if n else
              f"{bench.name}: nothing of ours is left running", flush=True)
    if skipped:
        print(f"{bench.name}: not run: " + ", ".join(f"{i} ({why})" for i, why in skipped))
    print(bench.merge(options, facts))
    return status
