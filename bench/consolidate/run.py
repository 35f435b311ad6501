#!/usr/bin/env python3
"""Whether kernels should run together: sets measured on this machine's GPU, and what the models say of them.

First what a launch costs, and each kernel alone. Then each set runs apart, at the same time in streams, and merged into
one launch where a pass can (bench_consolidate). `cotenant model consolidate` decides by what each kernel took alone, and
by counts that `kernels-run --pass count` made. What is in OUT/sets.jsonl already is not run again. Writes
OUT/result.json and OUT/table.md. See docs/consolidate.md.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

from predict import ROOT, predict
from report import judge, summarise, table
from sets import CALIBRATION, CATEGORIES, LAUNCHES, category_of, each_alone, few_blocks, interleaved, parts_of

START_S = 1.5  # of a process
OF_SET_S = 0.6
SET_LIMIT_S = 90
AT_ONCE = 120  # sets a process: what launches cost is another time in each


class Failed(Exception):
    """With one sentence."""


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--out", default="build/consolidate", metavar="DIR")
    p.add_argument("--budget", type=float, default=300, metavar="SECONDS", help="begin nothing that would end later")
    p.add_argument("--seconds", type=float, default=1.0, help="length of each measurement")
    p.add_argument("--repeats", type=int, default=3, help="each measurement in so many, the ways of a set in turn")
    p.add_argument("--only", default="", metavar="SET[,..]", help="these sets, or categories of --list, instead of all")
    p.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), metavar="DIR",
                   help="folder of cotenant, bench_consolidate and kernels-run")
    p.add_argument("--commit", metavar="HASH", help="what is measured, where this is not its checkout")
    p.add_argument("--counts", metavar="FILE", help="counts.json of another run: what is in it is not counted again")
    p.add_argument("--emulate", action="store_true", help="try it on the emulated GPU: few blocks, little work")
    p.add_argument("--list", action="store_true", help="list the sets")
    return p.parse_args(argv)


class Bench:
    def __init__(self, args):
        self.args = args
        self.begin = time.monotonic()
        self.raw = os.path.join(args.out, "sets.jsonl")
        self.size = "test" if args.emulate else "gpu"

    def left(self):
        return self.args.budget - (time.monotonic() - self.begin)

    def path(self, name):
        return os.path.join(self.args.bin, name)

    def command(self, name, *args):
        command = (self.path(name),) + args
        return (self.path("cotenant"), "run", "--emulate", "h200", "--") + command if self.args.emulate else command

    def run(self, *command, limit=SET_LIMIT_S):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired as e:
            raise Failed(f"{os.path.basename(command[0])}: took longer than {limit} s") from e
        except OSError as e:
            raise Failed(f"{command[0]}: {e.strerror}") from e
        if done.returncode:
            raise Failed((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
        return done.stdout

    def lines(self):
        """What is there already: {set: line}, and the machine's line."""
        there, machine = {}, {}
        if os.path.exists(self.raw):
            with open(self.raw, encoding="utf-8") as f:
                for line in f:
                    o = json.loads(line)
                    if "idle_w" in o:
                        machine = o
                    elif o.get("size") == self.size:
                        there[o["name"]] = o
        return there, machine

    def keep(self, line, names):
        o = json.loads(line)
        with open(self.raw, "a", encoding="utf-8") as f:
            for name in names[o["set"]] if "set" in o else [None]:
                if name:
                    o["name"] = name
                    print(name, file=sys.stderr)
                f.write(json.dumps(o) + "\n")

    def measure(self, names):
        """Sets in one process. Each line is kept as it comes."""
        of = {}  # {set: what it is called}; on the emulated GPU several are the same
        for name in names:
            of.setdefault(few_blocks(name) if self.args.emulate else name, []).append(name)
        command = self.command("bench_consolidate", "--size", self.size, "--seconds", str(self.args.seconds),
                               "--repeats", str(self.args.repeats), *of)
        limit = SET_LIMIT_S * len(names) if self.args.emulate else max(self.left(), 1)
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                timer = threading.Timer(limit, child.terminate)
                timer.start()
                try:
                    for line in child.stdout:
                        self.keep(line, of)
                except BaseException:
                    child.terminate()
                    raise
                finally:
                    timer.cancel()
        except OSError as e:
            raise Failed(f"{command[0]}: {e.strerror}") from e

    def set_s(self, name):
        return (2 + (sum(n for _, _, n in parts_of(name)) > 1)) * 1.4 * self.args.seconds + OF_SET_S

    def measure_all(self, names):
        """What a failure took with it is tried again in a process of its own."""
        for at_once in (AT_ONCE, 1):
            there = self.lines()[0]
            self.measure_groups([name for name in names if name not in there], at_once)

    def measure_groups(self, waiting, at_once):
        while waiting:
            group, seconds = [], START_S
            for name in waiting[:at_once]:
                seconds += self.set_s(name)
                if seconds < self.left():
                    group.append(name)
            if not group:
                print(
                    f"no time is left for {waiting[0]} and those behind it; the same command goes on", file=sys.stderr)
                return
            self.measure(group)
            waiting = [name for name in waiting if name not in group]

    def counts(self, names):
        """{kernel/blocks/size: what `plain` and `count` say}, as far as kernels can be counted."""
        path, found = os.path.join(self.args.out, "counts.json"), {}
        for source in (self.args.counts, path):
            if source and os.path.exists(source):
                with open(source, encoding="utf-8") as f:
                    found.update(json.load(f))
        for kernel, blocks in {part[:2] for name in names for part in parts_of(name)}:
            key = f"{kernel}/{blocks}/{self.size}"
            if key in found:
                continue
            try:
                out = self.run(*self.command("kernels-run", kernel, "--size", self.size, "--blocks", str(blocks), "--pass",
                                             "count", "--no-reference"))
            except Failed as e:
                print(f"{kernel}/{blocks} is not counted: {e}", file=sys.stderr)
                continue
            of = {o["pass"]: o for o in map(json.loads, out.splitlines()) if "pass" in o}
            found[key] = None if "refused" in of["count"] else {"plain": of["plain"], "count": of["count"]}
            if not found[key]:
                print(f"{kernel}/{blocks} is not counted: {of['count']['refused']}", file=sys.stderr)
            write(path, json.dumps(found))
        write(path, json.dumps(found))
        return found


def commit():
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "not known"


def write(path, text):
    with open(path + ".part", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".part", path)


def conclude(bench, names):
    there, machine = bench.lines()
    rows, counts = [], bench.counts([name for name in names if name in there])
    idle_w = machine["idle_w"] if machine.get("idle_w", -1) > 0 else None  # -1: it could not be read
    for name in names:
        if name not in there:
            continue
        said, missing = {}, [n for n in LAUNCHES + each_alone([name]) if n not in there]
        if missing:
            print(f"{name}: no prediction: {missing[0]} was not measured", file=sys.stderr)
        else:
            said = predict(name, there, counts, idle_w,
                           lambda *args: bench.run(bench.path("cotenant"), *args))
        rows.append(judge(there[name], said))
    if not rows:
        raise Failed("nothing was measured")
    result = {"schema": "cotenant.bench.consolidate.result/2", "gpu": next(iter(there.values()))["gpu"],
              "machine": machine, "command": " ".join(sys.argv), "commit": bench.args.commit or commit(), "sets": rows,
              "summary": summarise(rows)}
    write(os.path.join(bench.args.out, "result.json"), json.dumps(result, indent=1) + "\n")
    write(os.path.join(bench.args.out, "table.md"), table(result))
    print(f"{result['summary']['right']} of {result['summary']['judged']} decisions are right; "
          f"{bench.args.out}/table.md has all")


def main(argv):
    args = parse(argv)
    asked = [name for one in args.only.split(",")
             for name in CATEGORIES.get(one, [one])] if args.only else interleaved()
    names = list(dict.fromkeys(asked))
    if args.list:
        print("\n".join(f"{category_of(name)}: {name}" for name in names))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    os.makedirs(args.out, exist_ok=True)
    bench = Bench(args)
    try:
        bench.measure_all(list(dict.fromkeys(CALIBRATION + each_alone(names) + names)))
        conclude(bench, names)
    except Failed as e:
        print(f"run.py: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("run.py: interrupted; the same command goes on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
