#!/usr/bin/env python3
"""Two GPUs under one daemon and policy: do one GPU's tenants slow the other's?

On each of the two GPUs a service and a batch program run (chain.py). In turn: the first GPU's alone on the machine, the
second's alone, then both, while on the other one of the two there is a storm as well: more batch programs, others that come
and go, freezes and thaws. Writes OUT/gpus.json and OUT/table.txt after every step. Status 1: beside the storm a service's
p99 is more than 1.1 times what it was alone and 0.1 ms, a batch program has less than 0.97 of its rate, or a step failed.
"""
import argparse
import os
import shutil
import sys
import tempfile
import threading
import time

from livebench import chains, process
from livebench.process import Failed

P99_TIMES, P99_MORE_US, RATE = 1.1, 100, 0.97
SERVICE = ("--us", 300, "--per-s", 150)
BATCH = ("--us", 4000, "--waves", 4)
STORM = 3


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--out", default="build/gpus", metavar="DIR")
    p.add_argument("--build", default=os.path.join(chains.ROOT, "build"), metavar="DIR", help="has bin and lib")
    p.add_argument("--seconds", type=float, default=8, help="of each window")
    p.add_argument("--rounds", type=int, default=2, help="so many windows of each kind, in turn")
    p.add_argument("--policy", default="pools")
    p.add_argument("--emulate", action="store_true", help="on two emulated GPUs")
    return p.parse_args()


class Storm(threading.Thread):
    """Programs on one GPU that come and go, and orders to those that stay."""

    def __init__(self, daemon, gpu, machine):
        super().__init__(daemon=True)
        self.d, self.gpu, self.machine, self.over = daemon, gpu, machine, threading.Event()
        argv = machine.argv("batch", *BATCH)
        self.stay = [daemon.begin(f"storm{i}", argv, "--gpu", str(gpu)) for i in range(STORM)]
        self.visitors, self.n_orders = [], 0

    def run(self):
        while not self.over.wait(0.4):
            argv = self.machine.argv("service", "--us", 500, "--life", 0.5)
            self.visitors.append(self.d.begin(f"visitor{len(self.visitors)}", argv, "--class", "latency", "--gpu",
                                              str(self.gpu)))
            for order in ("freeze", "thaw"):
                self.d._run(order, f"pool:batch:{self.gpu}")
                self.n_orders += 1

    def stop(self):
        self.over.set()
        self.join()
        for p in self.stay:
            p.windows()
        process.wait_for(lambda: all(v.child.poll() is not None for v in self.visitors), 10, 0.05)
        process.end([v.child for v in self.visitors])


def window(daemon, machine, gpus, seconds, storm_on=None):
    """Service and batch program on each of `gpus`; what each did in the time that counts."""
    programs = {}
    for gpu in gpus:
        for what, cls, options in (("service", "latency", SERVICE), ("batch", "batch", BATCH)):
            argv = machine.argv(what, *options)
            programs[f"{what}{gpu}"] = daemon.begin(f"{what}{gpu}", argv, "--class", cls, "--gpu", str(gpu))
    storm = None
    try:
        daemon.wait_ready(programs.values())
        if storm_on is not None:
            storm = Storm(daemon, storm_on, machine)
            daemon.wait_ready(storm.stay)
            storm.start()
        time.sleep(1)
        for p in programs.values():
            p.next_window()
        time.sleep(seconds)
        out = {name: p.windows()[-1] for name, p in programs.items()}
        return out, {"visitors": len(storm.visitors), "orders": storm.n_orders} if storm else None
    finally:
        if storm:
            storm.stop()
        process.end([p.child for p in programs.values()], chains.END_S)


def rows_of(rounds):
    """Of each program: alone on the machine, and beside the storm on the other GPU; medians over the rounds."""
    rows = []
    for gpu in (0, 1):
        alone = [r[f"alone{gpu}"] for r in rounds if f"alone{gpu}" in r]
        beside = [r[f"storm{1 - gpu}"] for r in rounds if f"storm{1 - gpu}" in r]
        for what, key, unit in (("service", "p99_us", "p99, us"), ("batch", "per_s", "kernels a second")):
            values = [chains.median([w[f"{what}{gpu}"][key] for w in part]) for part in (alone, beside)]
            if None in values:
                continue
            good = values[1] <= P99_TIMES * values[0] + \
                P99_MORE_US if what == "service" else values[1] >= RATE * values[0]
            rows.append({"program": f"{what}{gpu}", "gpu": gpu, "what": unit, "alone": values[0], "beside_storm": values[1],
                         "holds": good})
    return rows


def write(a, result):
    result["rows"] = rows_of(result["rounds"])
    chains.write(os.path.join(a.out, "gpus.json"), result)
    text = f"# {result['date']}, {result['gpu']}, {result['cotenant']}: bench/live/gpus.py, policy {a.policy}, "
    text += f"{len(result['rounds'])} rounds of {a.seconds:g} s\n"
    text += f"{'program':<10} {'GPU':<4} {'what':<17} {'alone':>10} {'storm on the other':>19}\n"
    for r in result["rows"]:
        text += (f"{r['program']:<10} {r['gpu']:<4} {r['what']:<17} {r['alone']:10.1f} {r['beside_storm']:19.1f}"
                 f"{'' if r['holds'] else '  SLOWED'}\n")
    with open(os.path.join(a.out, "table.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    return text


def main():
    a, began = parse(), time.monotonic()
    os.makedirs(a.out, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="cot-gpus-")
    machine = chains.Machine(folder, a.build, a.emulate, 2)
    result, status, daemon = {"schema": "cotenant.gpus/1", **machine.facts(), "rounds": []}, 1, None
    try:
        machine.calibrate()
        daemon = chains.Daemon(machine, a.policy)
        daemon.start()
        n_gpus = len(daemon.look()["gpus"])
        if n_gpus < 2:
            raise Failed(f"the daemon serves {n_gpus} GPU; expected 2")
        for _ in range(a.rounds):
            result["rounds"].append({})
            for name, gpus, storm_on in (("alone0", (0,), None), ("alone1", (1,), None), ("storm1", (0, 1), 1),
                                         ("storm0", (0, 1), 0)):
                result["rounds"][-1][name], storm = window(daemon, machine, gpus, a.seconds, storm_on)
                result["rounds"][-1][name].update({"storm": storm} if storm else {})
                text = write(a, result)
        print(text)
        status = 0 if all(r["holds"] for r in result["rows"]) else 1
    except (Failed, KeyboardInterrupt) as e:
        print(f"gpus: {e or 'interrupted'}", file=sys.stderr)
    finally:
        if daemon:
            daemon.stop()
        process.sweep(machine.mark)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"gpus: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
