#!/usr/bin/env python3
"""Two GPUs under one daemon and policy: do one GPU's tenants slow the other's?

On each of the two GPUs a service and a batch program run (chain.py). In turn: the first GPU's alone on the machine, the
second's alone, then both, while on the other one of the two there is a storm as well: more batch programs, others that come
and go, freezes and thaws. A window ends before the storm does. Writes after every round OUT/gpus.json and OUT/table.txt, and
OUT/requests.json.gz: every request of the services, where its time went, and when the storm did what. Status 1: beside the
storm a service's p99 is more than 1.1 times what it was alone and 0.1 ms, a batch program has less than 0.97 of its rate, or a
step failed. OUT/table.txt says of the requests beyond that where they, or one that they were queued behind, lost the
time: until the program was run (woken), on the GPU (gpu), between the two (driver), or only behind others that were as
always (queued); and how many came just after an event of the storm.
"""
import argparse
import bisect
import gzip
import json
import os
import sys
import threading
import time

from livebench import chains, process
from livebench.process import Failed

P99_TIMES, P99_MORE_US, RATE = 1.1, 100, 0.97
SERVICE = ("--us", 300, "--per-s", 150, "--parts")
BATCH = ("--us", 4000, "--waves", 4)
STORM, SETTLE_S = 3, 1
# What chain.py --parts says of a request.
AT, RESPONSE, QUEUED, WOKEN, GPU, WAITED = range(6)
PARTS = ("queued", "woken", "gpu", "driver")
EVENT_US = 20_000


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    chains.options(p, "gpus")
    p.add_argument("--seconds", type=float, default=8, help="of each window beside a storm; two thirds of it alone")
    p.add_argument("--rounds", type=int, default=3, help="so many windows of each kind, in turn")
    p.add_argument("--budget", type=float, default=130, metavar="SECONDS", help="no further round is begun with less than "
                   "the longest has taken left")
    p.add_argument("--policy", default="pools")
    return p.parse_args()


# ---- what runs ----

class Tenants:
    """A service and a batch program on one GPU."""

    def __init__(self, daemon, machine, gpu):
        self.programs, self.marks = {}, {}
        for what, cls, options in (("service", "latency", SERVICE), ("batch", "batch", BATCH)):
            argv = machine.argv(what, *options)
            self.programs[f"{what}{gpu}"] = daemon.begin(f"{what}{gpu}", argv, "--class", cls, "--gpu", str(gpu))
        daemon.wait_ready(self.programs.values())

    def next_window(self, window):
        self.marks[window] = {name: p.next_window() for name, p in self.programs.items()}

    def end(self):
        """Of each window what each did in it."""
        process.end([p.child for p in self.programs.values()], chains.END_S)
        said = {name: p.windows() for name, p in self.programs.items()}
        return {window: {name: said[name][i] for name, i in marks.items()} for window, marks in self.marks.items()}


class Storm(threading.Thread):
    """Programs on one GPU that come and go, and orders to those that stay."""

    def __init__(self, daemon, gpu, machine):
        super().__init__(daemon=True)
        self.d, self.gpu, self.machine, self.over = daemon, gpu, machine, threading.Event()
        argv = machine.argv("batch", *BATCH)
        self.stay = [daemon.begin(f"storm{i}", argv, "--gpu", str(gpu)) for i in range(STORM)]
        self.visitors, self.events, self.n_orders = [], [], 0
        daemon.wait_ready(self.stay)

    def note(self, what):
        self.events.append((time.monotonic(), what))

    def visit(self):
        argv = self.machine.argv("service", "--us", 500, "--life", 0.5)
        self.visitors.append(self.d.begin(f"visitor{len(self.visitors)}", argv, "--class", "latency", "--gpu",
                                          str(self.gpu)))
        self.note("visitor begins")

    def order(self):
        for order in ("freeze", "thaw"):
            self.d.ask(order, f"pool:batch:{self.gpu}")
            self.note(order)
            self.n_orders += 1

    def run(self):
        there, due = [], time.monotonic()
        while not self.over.wait(0.02):
            for v in [v for v in there if v.child.poll() is not None]:
                there.remove(v)
                self.note("visitor ends")
            if time.monotonic() >= due:
                due += 0.4
                self.visit()
                there.append(self.visitors[-1])
                self.order()

    def stop(self):
        self.over.set()
        self.join()
        process.end([p.child for p in self.stay], chains.END_S)
        process.wait_for(lambda: all(v.child.poll() is not None for v in self.visitors), 10, 0.05)
        process.end([v.child for v in self.visitors])

    def said(self):
        return {"visitors": len(self.visitors), "orders": self.n_orders}


def stolen_s():
    """For how long, over all processors, the host had them although somebody here wanted to run."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class Round:
    """Four windows; the tenants of one GPU stay from one to the next."""

    def __init__(self, a, daemon, machine):
        self.a, self.daemon, self.machine = a, daemon, machine
        self.here, self.storm, self.windows = {}, None, {}

    def begin(self, gpu):
        self.here[gpu] = Tenants(self.daemon, self.machine, gpu)

    def end(self, gpu):
        for name, said in self.here.pop(gpu).end().items():
            if name:
                self.windows[name].update(said)

    def measure(self, name, seconds):
        time.sleep(SETTLE_S)
        stolen = stolen_s()
        for window, after in ((name, seconds), ("", 0)):
            for tenants in self.here.values():
                tenants.next_window(window)
            time.sleep(after)
        self.windows[name] = {"stolen_s": round(stolen_s() - stolen, 2), "load": os.getloadavg()[0]}

    def measure_beside_storm(self, gpu):
        self.storm = Storm(self.daemon, gpu, self.machine)
        self.storm.start()
        self.measure(f"storm{gpu}", self.a.seconds)
        self.storm.stop()
        self.windows[f"storm{gpu}"].update(storm=self.storm.said(), events=self.storm.events)
        self.storm = None

    def play(self):
        try:
            for gpu in (0, 1):
                if gpu not in self.here:
                    self.begin(gpu)
                self.measure(f"alone{gpu}", self.a.seconds * 2 / 3)
                self.begin(1 - gpu)
                self.measure_beside_storm(1 - gpu)
                self.end(gpu)
            self.end(0)
            return self.windows
        finally:
            if self.storm:
                self.storm.stop()
            process.end([p.child for t in self.here.values() for p in t.programs.values()], chains.END_S)


# ---- what it says ----

def parts_of(request):
    driver = request[RESPONSE] - request[QUEUED] - request[WOKEN] - request[GPU]
    return {"woken": request[WOKEN], "gpu": request[GPU], "driver": driver}


def reasons_of(requests, usual):
    """Of each request the part that had most more than usual, of it or of one that it was queued behind; none: queued."""
    out, worst = [], (P99_MORE_US, "queued")
    for r in requests:
        if not r[QUEUED]:
            worst = (P99_MORE_US, "queued")
        worst = max(worst, *((us - usual[part], part) for part, us in parts_of(r).items()))
        out.append(worst[1])
    return out


def after_event(window, program, request):
    """Did the storm do something in the time before its answer, or shortly before it came?"""
    at_us = window[program]["began_s"] * 1e6 + request[AT]
    times = [t * 1e6 for t, _ in window.get("events", ())]
    i = bisect.bisect_right(times, at_us + request[RESPONSE])
    return i > 0 and times[i - 1] >= at_us - EVENT_US


def slow_of(alone, beside, program, bound_us):
    """Of the windows beside a storm: how many were slow, by which part, and how many just after an event."""
    usual = [parts_of(r) for w in alone for r in w[program]["requests"]]
    usual = {part: chains.median([u[part] for u in usual]) for part in PARTS if part != "queued"}
    out = []
    for w in beside:
        requests = w[program]["requests"]
        slow = [r for r in requests if r[RESPONSE] > bound_us]
        why = dict.fromkeys(PARTS, 0)
        for r, reason in zip(requests, reasons_of(requests, usual)):
            why[reason] += r[RESPONSE] > bound_us
        out.append({"n": len(requests), "p99_us": w[program]["p99_us"], "slow": len(slow), "why": why,
                    "slow_after_event": sum(after_event(w, program, r) for r in slow),
                    "all_after_event": sum(after_event(w, program, r) for r in requests),
                    "slow_waited": sum(r[WAITED] > r[RESPONSE] / 4 for r in slow),
                    "stolen_s": w["stolen_s"]})
    return out


def rows_of(rounds):
    """Of each program: alone on the machine, and beside the storm on the other GPU; medians over the rounds."""
    rows = []
    for gpu in (0, 1):
        alone, beside = [r[f"alone{gpu}"] for r in rounds], [r[f"storm{1 - gpu}"] for r in rounds]
        for what, key, unit in (("service", "p99_us", "p99, us"), ("batch", "per_s", "kernels a second")):
            program = f"{what}{gpu}"
            values = [chains.median([w[program][key] for w in part]) for part in (alone, beside)]
            row = {"program": program, "gpu": gpu, "what": unit, "alone": values[0], "beside_storm": values[1]}
            if what == "service":
                bound = P99_TIMES * values[0] + P99_MORE_US
                row.update(holds=values[1] <= bound, bound=bound, alone_windows=slow_of(alone, alone, program, bound),
                           windows=slow_of(alone, beside, program, bound))
            else:
                row["holds"] = values[1] >= RATE * values[0]
            rows.append(row)
    return rows


def text_of(a, result):
    text = f"# {result['date']}, {result['gpu']}, {result['cotenant']}: bench/live/gpus.py, policy {a.policy}, "
    text += f"{len(result['rounds'])} rounds, {a.seconds:g} s beside a storm\n"
    text += f"{'program':<10} {'GPU':<4} {'what':<17} {'alone':>10} {'storm on the other':>19}\n"
    for r in result["rows"]:
        text += (f"{r['program']:<10} {r['gpu']:<4} {r['what']:<17} {r['alone']:10.1f} {r['beside_storm']:19.1f}"
                 f"{'' if r['holds'] else '  SLOWED'}\n")
    text += "\nRequests that took longer than 1.1 times the p99 alone and 0.1 ms, by the part that had most more than usual, "
    text += f"of\nthem or of those that they were queued behind; after: within {EVENT_US // 1000} ms after an event of the storm, "
    text += "of the slow ones and of all\n"
    text += f"{'program':<10} {'window':<9} {'p99, us':>8} {'slow':>12} {'queued':>7} {'woken':>6} {'gpu':>5} {'driver':>7}  after\n"
    for r in result["rows"]:
        for kind, windows in (("alone", r.get("alone_windows", ())), ("storm", r.get("windows", ()))):
            for n, w in enumerate(windows, 1):
                why = w["why"]
                text += (f"{r['program']:<10} {kind} {n:<3} {w['p99_us']:8.0f} {w['slow']:4} of {w['n']:4} {why['queued']:6} "
                         f"{why['woken']:6} {why['gpu']:5} {why['driver']:7}")
                if kind == "storm":
                    text += f"  {w['slow_after_event']} of {w['slow']}; {w['all_after_event']} of {w['n']}"
                text += "\n"
    return text


def write(a, result):
    result["rows"] = rows_of(result["rounds"])
    raw = [{"round": n, "window": name, "events": window.get("events", []), "programs": {
        p: {"began_s": said["began_s"], "requests": said["requests"]} for p, said in window.items()
        if isinstance(said, dict) and "requests" in said}} for n, r in enumerate(result["rounds"]) for name, window in r.items()]
    with gzip.open(os.path.join(a.out, "requests.json.gz"), "wt", encoding="utf-8") as f:
        json.dump({"schema": "cotenant.gpus-requests/1", "columns": ["at_us", "response_us", "queued_us", "woken_us", "gpu_us",
                                                                     "waited_us"], "windows": raw}, f)
    rounds = [{name: {key: {k: v for k, v in value.items() if k != "requests"} if isinstance(value, dict) else value
                      for key, value in window.items() if key != "events"} for name, window in r.items()}
              for r in result["rounds"]]
    chains.write(os.path.join(a.out, "gpus.json"), {**result, "rounds": rounds})
    text = text_of(a, result)
    chains.write_text(os.path.join(a.out, "table.txt"), text)
    return text


def check(a, machine):
    began, longest, text = time.monotonic(), 0, ""
    result = {"schema": "cotenant.gpus/2", **machine.facts(), "rounds": []}
    machine.calibrate()
    daemon = chains.Daemon(machine, a.policy)
    daemon.start()
    try:
        n_gpus = len(daemon.look()["gpus"])
        if n_gpus < 2:
            raise Failed(f"the daemon serves {n_gpus} GPU; expected 2")
        for n in range(a.rounds):
            begin = time.monotonic()
            if begin - began + longest > a.budget:
                print(f"gpus: no time is left for round {n + 1}", file=sys.stderr)
                break
            result["rounds"].append(Round(a, daemon, machine).play())
            longest = max(longest, time.monotonic() - begin)
            text = write(a, result)
    finally:
        daemon.stop()
    print(text)
    return 0 if all(r["holds"] for r in result["rows"]) else 1


if __name__ == "__main__":
    arguments = parse()
    sys.exit(chains.run("gpus", arguments, lambda machine: check(arguments, machine), 2))
