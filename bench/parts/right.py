#!/usr/bin/env python3
"""Are results the same, bit by bit, while the part of the GPU that a program has changes all the time?

Runs each program alone, and then while it is moved: by a stand-in for the daemon, every millisecond,
to a part drawn at random (--by placer), or by a real cotenantd and `cotenant set --sms`, as fast as
that goes (--by daemon). Writes right.json and right.md. See docs/bench-live.md.
"""
import argparse
import json
import os
import random
import re
import shlex
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "live"))

from livebench import machine, process  # noqa: E402
from livebench.process import Failed  # noqa: E402
from livebench.programs import Program  # noqa: E402
from livebench.report import table  # noqa: E402
from livebench.ways import Parts, Tools  # noqa: E402

# About 9 s each alone on an H200: all seven at once, a minute.
STEPS = {"jax": 36000, "resnet": 360, "gpt": 300, "bert": 300, "graph": 6000, "gemm": 2100,
         "compile": 26000, "random": 3000}
DEFAULT = [kind for kind in STEPS if kind != "random"]
WORST_ERROR = 0.05  # of a bf16 product, in units of the root of its inner dimension
SHARES = ("8", "16", "32", "64", "96", "none")
LOOK_S = 0.2  # what happens after the last look is not counted
COUNTS = ("placed", "failed", "followed", "stayed")


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--only", default=",".join(DEFAULT), metavar="KIND[,..]",
                   help="of " + " ".join(STEPS) + "; random: progs/parts, which needs no Python")
    p.add_argument("--by", choices=["placer", "daemon"], default="placer")
    p.add_argument("--period-us", type=int, default=1000, help="from change to change, by placer")
    p.add_argument("--scale", type=float, default=1, help="times the usual number of steps")
    p.add_argument("--together", action="store_true",
                   help="all programs at once, first all alone, then all moved")
    p.add_argument("--budget", type=float, default=600, metavar="SECONDS")
    p.add_argument("--out", default="build/parts", metavar="DIR")
    p.add_argument("--bin", metavar="DIR", help="folder of cotenant and cotenantd; default: "
                   "build/bin")
    p.add_argument("--progs", default=os.path.join(ROOT, "build", "release", "progs"),
                   metavar="DIR", help="folder of placer and parts")
    p.add_argument("--python", default=sys.executable, help="one that has PyTorch and JAX")
    p.add_argument("--commit", help="to note in the result; default: git's")
    p.add_argument("--dry-run", action="store_true", help="the emulated GPU, and only `random`")
    options = p.parse_args(argv)
    options.command = " ".join(shlex.quote(a) for a in ["bench/parts/right.py", *argv])
    options.torch = False  # the programs say their versions
    options.kinds = ["random"] if options.dry_run else [k for k in options.only.split(",") if k]
    unknown = [k for k in options.kinds if k not in STEPS]
    if unknown:
        p.error(f"no program is called '{unknown[0]}'")
    return options


# ---- who moves the programs ----

class Nobody:
    """The program alone."""

    def __init__(self, bench, kind):
        self.bench, self.kind = bench, kind

    def start(self):
        pass

    def launch(self, argv):
        return argv, self.bench.environment()

    def move(self):
        pass

    def stop(self):
        """What became of the changes and launches; None: there were none."""
        return None


class Placer(Nobody):
    """The stand-in for the daemon: draws a part every so often. It ends after the program."""

    def start(self):
        self.folder = tempfile.mkdtemp(prefix="pr-")
        self.socket, self.log = (os.path.join(self.folder, n) for n in ("socket", "log"))
        argv = [os.path.join(self.bench.options.progs, "placer"), self.socket,
                str(self.bench.options.period_us)]
        self.child = process.spawn(argv, self.bench.environment(), self.log)
        if not process.wait_for(lambda: os.path.exists(self.socket), 5):
            raise Failed(f"the placer did not start: {process.tail(self.log)}")

    def launch(self, argv):
        env, shim = self.bench.environment(), self.bench.shim
        paths = [os.path.dirname(shim), env.get("LD_LIBRARY_PATH")]
        env.update(COTENANT_SOCKET=self.socket, COTENANT_PARTS="1", LD_PRELOAD=shim,
                   LD_LIBRARY_PATH=":".join(p for p in paths if p))
        return argv, env

    def stop(self):
        process.wait_for(lambda: self.child.poll() is not None, 2)
        process.end([self.child])
        counts = dict.fromkeys(COUNTS, 0)
        for line in process.tail(self.log, 4000).splitlines():
            for name, n in re.findall(r"(\w+) (\d+)", line):
                counts[name] = counts.get(name, 0) + int(n)
        shutil.rmtree(self.folder, ignore_errors=True)
        return counts


class Daemon(Nobody):
    """A real cotenantd with the policy `parts`, and `cotenant set` again and again."""

    def start(self):
        self.folder = tempfile.mkdtemp(prefix="pr-")
        self.way = Parts(self.bench.tools, self.folder, self.bench.environment())
        self.way.start()
        self.random, self.part, self.seen_s = random.Random(1), {}, 0.0

    def launch(self, argv):
        return self.way.launch(self.kind, Program(self.kind, "batch", "", ()), argv)

    def move(self):
        try:
            self.way.command(f"{self.kind} --sms {self.random.choice(SHARES)}")
        except Failed:  # it cannot be placed yet
            time.sleep(0.02)
        if time.monotonic() - self.seen_s > LOOK_S:
            self.seen_s = time.monotonic()
            tenants = self.way.look().get("tenants", [])
            self.part = next((t["part"] for t in tenants if t.get("part")), self.part)

    def stop(self):
        self.way.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        part = self.part
        return {"placed": part.get("placed", 0), "failed": part.get("place_failed", 0),
                "followed": part.get("launches_followed", 0),
                "stayed": part.get("launches_stayed", 0), "reasons": part.get("stayed", {})}


class Run:
    """One program, once."""

    def __init__(self, bench, kind, mover):
        self.bench, self.kind, self.mover = bench, kind, mover(bench, kind)
        self.log, self.child, self.result = None, None, None

    def start(self):
        self.log = os.path.join(self.bench.folder, f"{self.kind}-{time.monotonic_ns()}.log")
        try:
            self.mover.start()
            argv, env = self.mover.launch(self.bench.argv(self.kind))
            with open(self.log + ".out", "wb") as out:
                self.child = process.spawn(argv, env, self.log, stdout=out)
        except (Failed, OSError) as e:
            self.result = {"error": str(e)[:500]}

    def is_over(self):
        return self.result is not None or self.child.poll() is not None

    def end(self, late):
        """What it printed, or why it did not."""
        if self.child:
            process.end([self.child])
            self.result = self._read(late)
        self.result["changes"] = self.mover.stop() if self.child else None
        return self.result

    def _read(self, late):
        try:
            with open(self.log + ".out") as f:
                lines = f.read().strip().splitlines()
            if self.child.returncode == 0 and lines:
                return self.bench.read(self.kind, lines[-1])
        except ValueError:
            pass
        why = "the time was up" if late else f"status {self.child.returncode}"
        return {"error": f"{why}: {process.tail(self.log, 400)}"}


class Bench:
    def __init__(self, options):
        self.options, self.mark = options, f"{os.getpid()}-{time.time_ns():x}"
        self.tools = Tools(os.path.join(ROOT, "bench", "live"), ROOT,
                           cotenant=options.bin and os.path.abspath(options.bin))
        folder = os.path.dirname(self.tools.library)
        self.shim = os.path.join(folder, "shim", "libcuda.so.1")
        self.emulator = os.path.join(folder, "emu")
        self.end_s = time.monotonic() + options.budget
        self.folder = tempfile.mkdtemp(prefix="pr-")

    def environment(self):
        env = self.tools.environment(self.mark)
        if self.options.dry_run:
            env.update(LD_LIBRARY_PATH=self.emulator, COTENANT_EMU_DIR=self.folder,
                       COTENANT_MPS_CONTROL=os.path.join(self.emulator, "nvidia-cuda-mps-control"))
        return env

    def steps(self, kind):
        return max(1, round(STEPS[kind] * self.options.scale))

    def argv(self, kind):
        if kind == "random":
            return [os.path.join(self.options.progs, "parts"), "--operations",
                    str(self.steps(kind))]
        return [self.options.python, os.path.join(HERE, "programs.py"), kind,
                str(self.steps(kind))]

    def read(self, kind, line):
        if kind == "random":  # it knows what is right
            wrong = re.search(r"wrong (\d+)", line)
            return {"kind": kind, "steps": self.steps(kind),
                    "hash": f"{wrong[1]} wrong" if wrong else None}
        return json.loads(line)

    def run(self, kinds, mover):
        """Each once, all at the same time."""
        runs = {kind: Run(self, kind, mover) for kind in kinds}
        for run in runs.values():
            run.start()
        while any(not r.is_over() for r in runs.values()) and time.monotonic() < self.end_s:
            for run in runs.values():
                if not run.is_over():
                    run.mover.move()
            time.sleep(0.005)
        late = time.monotonic() >= self.end_s
        return {kind: run.end(late) for kind, run in runs.items()}

    def pair(self, kinds):
        mover = Daemon if self.options.by == "daemon" else Placer
        alone = self.run(kinds, Nobody)
        moved = self.run([k for k in kinds if "error" not in alone[k]], mover)
        rows = []
        for kind in kinds:
            row = {"kind": kind, "steps": self.steps(kind), "alone": alone[kind],
                   "moved": moved.get(kind, {})}
            if is_other(row):
                row["again"] = self.run([kind], Nobody)[kind]
            row["verdict"] = judge(row)
            print(f"{kind}: {row['verdict']}", flush=True)
            rows.append(row)
        return rows


# ---- what came of it ----

def is_other(row):
    return "error" not in row["moved"] and row["moved"].get("hash") != row["alone"].get("hash")


def judge(row):
    for name in ("alone", "moved"):
        if "error" in row[name]:
            return f"not run ({name}): {row[name]['error']}"
    if not row["moved"]:
        return "not run"
    if is_other(row):
        steady = row.get("again", {}).get("hash") == row["alone"]["hash"]
        return "DIFFERENT" if steady else "not steady alone"
    if row["moved"].get("worst_error", 0) > WORST_ERROR:
        return f"WRONG: an error of {row['moved']['worst_error']:.3f}"
    changes = row["moved"].get("changes") or {}
    if not changes.get("placed") or not changes.get("followed"):
        return "same, but it was NOT MOVED"
    return "same"


def is_right(row):
    return row["verdict"] == "same"


def _ms(result):
    return f"{result['ms_per_step']:.3f}" if result.get("ms_per_step") is not None else "-"


def markdown(result):
    facts = result["machine"]
    body = []
    for row in result["rows"]:
        changes = row["moved"].get("changes") or {}
        launches = changes.get("followed", 0) + changes.get("stayed", 0)
        body.append([row["kind"], row["steps"], _ms(row["alone"]), _ms(row["moved"]),
                     *(changes.get(name, "-") for name in COUNTS),
                     f"{changes['followed'] / launches:.4f}" if launches else "-",
                     row["verdict"].splitlines()[0][:60]])
    head = ", ".join(str(facts[k]) for k in ("gpu", "driver", "cuda", "torch", "jax")
                     if facts.get(k))
    return (f"# Results while the part of the GPU changes\n\n{head or 'Emulated GPU'}. "
            f"{facts['date']}, commit {facts['commit'] or 'not given'}: `{facts['command']}`\n\n"
            "Each program alone, and while it is moved from part to part: `same` is bit by bit.\n\n"
            + table(["program", "steps", "ms alone", "ms moved", "changes", "refused", "followed",
                     "stayed", "coverage", "result"], body) + "\n")


def write(options, facts, rows):
    os.makedirs(options.out, exist_ok=True)
    for row in rows:
        for name in ("alone", "moved"):
            facts.update(row[name].get("versions", {}))
    result = {"schema": "cotenant-parts-right/1", "machine": facts, "by": options.by,
              "period_us": options.period_us if options.by == "placer" else None, "rows": rows}
    with open(os.path.join(options.out, "right.json"), "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    text = markdown(result)
    with open(os.path.join(options.out, "right.md"), "w") as f:
        f.write(text)
    return text


def main(argv):
    options = parse(argv)
    bench, rows = Bench(options), []
    facts = machine.facts(bench.tools, options)
    if options.dry_run:
        facts.update(gpu=None, driver=None)
    try:
        for kinds in [options.kinds] if options.together else [[k] for k in options.kinds]:
            rows += bench.pair(kinds)
            text = write(options, facts, rows)
    finally:
        process.sweep(bench.mark)
        shutil.rmtree(bench.folder, ignore_errors=True)
    print(text)
    return 0 if all(map(is_right, rows)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
