#!/usr/bin/env python3
"""What does it give when the part of a batch program follows the requests of another, with a pace
and without?

A latency program raises a flag while it works on a request. A stand-in for the daemon keeps the
batch program on some SMs while the flag is up, and on all of them otherwise; both programs are in one
MPS server. All windows are measured in the same processes, --rounds times in turn. Writes follow.json
and follow.md. See docs/bench-live.md.
"""
import argparse
import json
import mmap
import os
import shlex
import shutil
import statistics
import struct
import sys
import tempfile
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "live"))

from livebench import events, machine, process  # noqa: E402
from livebench.process import Failed, Tenant  # noqa: E402
from livebench.programs import PROGRAMS  # noqa: E402
from livebench.report import table  # noqa: E402
from livebench.ways import Mps, Tools  # noqa: E402

LATENCY, BATCH = "latency", "batch"
TICK_US = 20  # from look to look at the flag
READY_S = 90
SETTLE_S = 0.4


@dataclass(frozen=True)
class Window:
    label: str
    busy_sms: int = 0   # of the batch program while a request is worked on; 0: all
    idle_sms: int = 0   # and otherwise
    pace_us: int = 0
    programs: tuple = (LATENCY, BATCH)


def windows(options):
    n, paces = options.sms, options.paces
    return [Window("latency alone", programs=(LATENCY,)),
            Window("batch alone", programs=(BATCH,)),
            *(Window(f"batch alone, pace {us} us", 0, 0, us, (BATCH,)) for us in paces),
            Window("all SMs"),
            Window(f"always {n} SMs", n, n),
            Window(f"{n} SMs, following", n),
            *(Window(f"{n} SMs, following, pace {us} us", n, 0, us) for us in paces)]


class Board:
    """What the programs read: the flag, and what the placer is to do."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "board")
        with open(self.path, "wb") as f:
            f.write(bytes(4096))
        with open(self.path, "r+b") as f:
            self.words = mmap.mmap(f.fileno(), 4096)

    def set(self, window):
        self.words[4:16] = struct.pack("3I", window.busy_sms, window.idle_sms, window.pace_us)


class Bench:
    def __init__(self, options):
        self.options, self.mark = options, f"{os.getpid()}-{time.time_ns():x}"
        self.tools = Tools(os.path.join(ROOT, "bench", "live"), ROOT, fake=options.dry_run,
                           cotenant=options.bin and os.path.abspath(options.bin),
                           python=options.python)
        self.folder = tempfile.mkdtemp(prefix="pf-")
        self.board = Board(self.folder)
        self.socket = os.path.join(self.folder, "socket")
        self.placer = None

    def start_placer(self):
        env = {**self.tools.environment(self.mark), "FOLLOW": self.board.path}
        log = os.path.join(self.folder, "placer.log")
        self.placer = process.spawn([os.path.join(self.options.progs, "placer"), self.socket,
                                     str(TICK_US)], env, log)
        if not process.wait_for(lambda: os.path.exists(self.socket), 5):
            raise Failed(f"the placer did not start: {process.tail(log)}")

    def launch(self, tenant, way, go):
        program = tenant.program
        argv = [*self.tools.programs[program.tool], *program.arguments]
        argv, env = way.launch(tenant.name, program, argv)
        if tenant.name == LATENCY:
            argv = [*argv, "--flag", self.board.path]
        else:
            shim = os.path.join(os.path.dirname(self.tools.library), "shim", "libcuda.so.1")
            paths = [os.path.dirname(shim), env.get("LD_LIBRARY_PATH")]
            env.update(COTENANT_SOCKET=self.socket, COTENANT_PARTS="1",
                       LD_LIBRARY_PATH=":".join(p for p in paths if p))
            if not self.options.dry_run:
                env["LD_PRELOAD"] = shim
        tenant.start(argv, env, go, READY_S + self.options.budget)

    def measure(self, window, tenants):
        self.board.set(window)
        for tenant in tenants:
            tenant.pause(tenant.name not in window.programs)
        time.sleep(SETTLE_S)
        begin = time.monotonic_ns()
        time.sleep(self.options.seconds)
        for tenant in tenants:
            tenant.check()
        return {"label": window.label, "programs": window.programs, "begin_ns": begin,
                "end_ns": time.monotonic_ns()}

    def run(self):
        way = Mps(self.tools, self.folder, self.tools.environment(self.mark))
        tenants = [Tenant(LATENCY, PROGRAMS[self.options.latency], self.folder),
                   Tenant(BATCH, PROGRAMS[self.options.batch], self.folder)]
        go, measured = os.path.join(self.folder, "go"), []
        end = time.monotonic() + self.options.budget
        try:
            self.start_placer()
            way.start()
            for tenant in tenants:
                self.launch(tenant, way, go)
            process.wait_until_ready(tenants, READY_S)
            with open(go, "w"):
                pass
            for _ in range(self.options.rounds):
                for window in windows(self.options):
                    if time.monotonic() + self.options.seconds + SETTLE_S + 8 < end:
                        measured.append(self.measure(window, tenants))
            for tenant in tenants:
                tenant.pause(False)
        finally:
            process.end([t.child for t in tenants if t.child], 15)
            way.stop()
            if self.placer:
                process.wait_for(lambda: self.placer.poll() is not None, 2)
                process.end([self.placer])
        return measured, tenants

    def read(self, measured, tenants):
        """The figures of each window, in its rows."""
        every = {t.name: events.load(t.path("out.bin")) for t in tenants}
        for window in measured:
            begin, end = window["begin_ns"], window["end_ns"]
            if LATENCY in window["programs"]:
                window["latency"] = events.latency(every[LATENCY], begin, end, raw=False)
            if BATCH in window["programs"]:
                window["batch"] = events.rate(every[BATCH], begin, end)
        with open(os.path.join(self.folder, "placer.log")) as f:
            return measured, f.read().strip()


# ---- what came of it ----

def _median(rounds, program, key):
    values = [r[program][key] for r in rounds if r.get(program, {}).get(key)]
    return statistics.median(values) if values else None


def rows_of(measured):
    """A row for each window: medians of its rounds; rates as parts of that alone."""
    labels = list(dict.fromkeys(w["label"] for w in measured))
    rows = []
    for label in labels:
        rounds = [w for w in measured if w["label"] == label]
        rows.append({"label": label, "rounds": len(rounds),
                     "p50_us": _median(rounds, "latency", "p50_us"),
                     "p99_us": _median(rounds, "latency", "p99_us"),
                     "rate": _median(rounds, "batch", "rate")})
    alone = next((r["rate"] for r in rows if r["label"] == "batch alone"), None)
    for row in rows:
        row["kept"] = row["rate"] / alone if row["rate"] and alone else None
    return rows


def _number(value, digits, scale=1.0):
    return "-" if value is None else f"{value * scale:.{digits}f}"


def markdown(result):
    facts = result["machine"]
    head = ", ".join(str(facts[k]) for k in ("gpu", "driver", "cuda", "torch") if facts.get(k))
    body = [[r["label"], r["rounds"], _number(r["p50_us"], 3, 1e-3), _number(r["p99_us"], 3, 1e-3),
             _number(r["kept"], 2)] for r in result["rows"]]
    return (f"# A part that follows requests\n\n{head or 'DRY RUN, invented figures'}. "
            f"{facts['date']}, commit {facts['commit'] or 'not given'}: `{facts['command']}`\n\n"
            f"`{result['latency']}` beside `{result['batch']}`.\n\n"
            + table(["batch program on", "rounds", "p50 ms", "p99 ms", "its rate"], body) +
            f"\n\nThe placer: {result['placer'] or '-'}\n")


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--latency", default="resnet-graph@low", choices=PROGRAMS, metavar="PROGRAM")
    p.add_argument("--batch", default="resnet-train", choices=PROGRAMS, metavar="PROGRAM")
    p.add_argument("--sms", type=int, default=64, help="of the batch program during requests")
    p.add_argument("--paces", default="250,500,1000", metavar="US[,..]",
                   type=lambda text: [int(us) for us in text.split(",") if us])
    p.add_argument("--seconds", type=float, default=3, help="length of a window")
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--budget", type=float, default=150, metavar="SECONDS")
    p.add_argument("--out", default="build/follow", metavar="DIR")
    p.add_argument("--bin", metavar="DIR", help="folder of cotenant and cotenantd; default: "
                   "build/bin")
    p.add_argument("--progs", default=os.path.join(ROOT, "build", "release", "progs"),
                   metavar="DIR", help="folder of placer")
    p.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    p.add_argument("--commit", help="to note in the result; default: git's")
    p.add_argument("--dry-run", action="store_true", help="stand-ins instead of programs and GPU")
    options = p.parse_args(argv)
    options.command = " ".join(shlex.quote(a) for a in ["bench/parts/follow.py", *argv])
    options.torch = not options.dry_run
    return options


def main(argv):
    options = parse(argv)
    bench = Bench(options)
    facts = machine.facts(bench.tools, options)
    try:
        measured, placer = bench.read(*bench.run())
    finally:
        process.sweep(bench.mark)
        shutil.rmtree(bench.folder, ignore_errors=True)
    result = {"schema": "cotenant-parts-follow/1", "machine": facts, "latency": options.latency,
              "batch": options.batch, "sms": options.sms, "placer": placer,
              "rows": rows_of(measured), "windows": measured}
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "follow.json"), "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    text = markdown(result)
    with open(os.path.join(options.out, "follow.md"), "w") as f:
        f.write(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
