#!/usr/bin/env python3
"""Three plans of `cotenant plan`, each checked on this machine's GPU.

Each kind of program is measured alone and profiled (`cotenant profile`); `cotenant plan` says for three lists of jobs,
from these files, whether they fit one GPU, and with what p99 and rates. What it puts on the GPU then runs there under
the policy slo, with the same targets. Written after every step: OUT/plans.json, OUT/table.txt; what is there already, with
the same options, is not measured again. Status 1: a target that the plan promised was missed, or a step failed.
"""
import argparse
import json
import os
import subprocess
import sys
import time

from livebench import chains, process
from livebench.process import Failed

# Kinds of programs: what chain.py does, the class, and requests a second of a service.
KINDS = {
    "search": ("service", "latency", ("--us", 800), 80),
    "chat": ("service", "latency", ("--us", 4000, "--waves", 2), 30),
    "train": ("batch", "batch", ("--us", 6000, "--waves", 8), 0),
    "index": ("batch", "batch", ("--us", 1200, "--waves", 4), 0),
}
# Lists of jobs: kind, how many, target.
PLANS = {
    "one-service": (("search", 1, "p99: 6ms"), ("train", 1, "rate: 40%")),
    "two-services": (("search", 1, "p99: 8ms"), ("chat", 1, "p99: 40ms"), ("train", 1, "rate: 30%")),
    "too-much": (("chat", 1, "p99: 40ms"), ("train", 1, "rate: 50%"), ("index", 1, "rate: 40%")),
}
PROFILE_PARTS = "64,132"


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    chains.options(p, "plans")
    p.add_argument("--only", type=chains.some_of(PLANS, "plan"), default=",".join(PLANS), metavar="PLAN[,..]")
    p.add_argument("--settle", type=float, default=10, metavar="SECONDS", help="before the window that counts")
    p.add_argument("--seconds", type=float, default=12, help="that count")
    p.add_argument("--requests", type=int, default=100, help="for a figure of a profile")
    p.add_argument("--budget", type=float, default=150, metavar="SECONDS", help="no further plan is begun with less than "
                   "it takes left")
    return p.parse_args()


class Check:
    def __init__(self, a, machine):
        self.a, self.machine = a, machine
        self.path = os.path.join(a.out, "plans.json")
        self.options = {"settle": a.settle, "seconds": a.seconds, "emulate": a.emulate}
        self.result = {"schema": "cotenant.plans/1", **machine.facts(), "options": self.options,
                       "kinds": {}, "plans": {}}
        chains.go_on(machine, self.path, self.result, ("kinds", "plans", "steps_per_us"))

    def file_of(self, kind):
        return os.path.join(self.a.out, f"{kind}.knowledge")

    def learn(self, kind):
        """Alone, without control; then what `cotenant profile` says of it."""
        what, cls, options, per_s = KINDS[kind]
        if kind in self.result["kinds"] and os.path.exists(self.file_of(kind)):
            return
        alone = self.machine.alone(kind, self.machine.argv(what, *options, "--per-s", per_s), 2)
        daemon = chains.Daemon(self.machine, "pools")
        daemon.start()
        try:
            done = subprocess.run([*self.machine.tools.cotenant, "profile", "--class", cls, "--parts", PROFILE_PARTS,
                                   "--requests", str(self.a.requests), "-o", os.path.abspath(self.file_of(kind)), "--",
                                   *self.machine.argv(what, *options)], env=daemon.env, capture_output=True, text=True,
                                  timeout=120, check=False)
        finally:
            daemon.stop()
        if done.returncode:
            raise Failed(f"cotenant profile of {kind}: {(done.stderr or done.stdout).strip()[-400:]}")
        self.result["kinds"][kind] = {"alone": alone}
        self.write()

    def plan(self, name):
        """The list of jobs, and what `cotenant plan` says of it."""
        text = "schema: cotenant.jobs/1\ngpu: h200\njobs:\n"
        for kind, count, target in PLANS[name]:
            per_s = KINDS[kind][3]
            arrivals = f", arrivals: {{per_s: {per_s}}}" if per_s else ""
            text += (f"  - {{name: {kind}, count: {count}, class: {KINDS[kind][1]}, {target}{arrivals}, "
                     f"knowledge: {kind}.knowledge}}\n")
        path = os.path.join(self.a.out, f"{name}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([*self.machine.tools.cotenant, "plan", path, "--gpus", "1", "--json"], env=self.machine.env,
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode not in (0, 1):
            raise Failed(f"cotenant plan {path}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def play(self, name, plan):
        """What is on the GPU by the plan, live."""
        kinds = {kind: target for kind, _, target in PLANS[name]}
        daemon = chains.Daemon(self.machine, "slo")
        daemon.start()
        programs = []
        try:
            for n, p in enumerate(plan["gpus"][0]["programs"]):
                kind = p["name"].partition(".")[0]
                what, cls, options, per_s = KINDS[kind]
                key, _, amount = kinds[kind].partition(": ")
                argv = self.machine.argv(what, *options, "--per-s", per_s, "--seed", n + 1)
                programs.append(daemon.begin(p["name"], argv, "--class", cls, f"--{key}", amount))
            daemon.wait_ready(programs)
            time.sleep(self.a.settle)
            for p in programs:
                p.next_window()
            time.sleep(self.a.seconds)
            why = {p.name: daemon.explain(p.name) for p in programs}
            return [{"name": p.name, **p.windows()[-1], "explain": why[p.name]} for p in programs]
        finally:
            process.end([p.child for p in programs], chains.END_S)
            daemon.stop()

    def judge(self, name, plan, live):
        """Rows: planned and measured, side by side."""
        rows, targets = [], {kind: target for kind, _, target in PLANS[name]}
        planned = {p["name"]: p for p in plan["gpus"][0]["programs"]}
        for p in live:
            kind = p["name"].partition(".")[0]
            key, _, amount = targets[kind].partition(": ")
            row = {"name": p["name"], "target": f"{key} {amount}", "n": p["n"]}
            if key == "p99":
                limit = float(amount.removesuffix("ms"))
                row.update(planned=planned[p["name"]]["p99_us"] / 1e3,
                           measured=p.get("p99_us", float("inf")) / 1e3, unit="ms")
                row["kept"] = row["measured"] <= limit
            else:
                alone = self.result["kinds"][kind]["alone"]["per_s"]
                row.update(planned=planned[p["name"]]["rate"], measured=p["per_s"] / alone, unit="of alone")
                row["kept"] = row["measured"] >= float(amount.removesuffix("%")) / 100
            rows.append(row)
        return rows

    def check(self, name):
        plan = self.plan(name)
        without = [p["job"] for p in plan["not_placed"]]
        live = self.play(name, plan)
        rows = self.judge(name, plan, live)
        self.result["plans"][name] = {"rows": rows, "without_place": without, "plan": plan, "live": live,
                                      "kept": all(r["kept"] for r in rows)}
        self.write()

    def write(self):
        chains.write(self.path, self.result)
        chains.write_text(os.path.join(self.a.out, "table.txt"), self.table())

    def table(self):
        r = self.result
        out = f"# {r['date']}, {r['gpu']}, {r['cotenant']}: bench/live/plans.py, {self.options}\n"
        for name, plan in r["plans"].items():
            out += f"\n{name}: " + ("every target was kept" if plan["kept"] else "a target was MISSED")
            out += f"; without a place: {', '.join(map(str, plan['without_place']))}\n" if plan["without_place"] else "\n"
            out += f"{'program':<12} {'target':<10} {'planned':>9} {'measured':>9}             n\n"
            for row in plan["rows"]:
                out += (f"{row['name']:<12} {row['target']:<10} {row['planned']:9.2f} {row['measured']:9.2f} {row['unit']:<8} "
                        f"{row['n']:6}{'' if row['kept'] else '  MISSED'}\n")
        return out


def check_all(a, machine):
    began, longest, status = time.monotonic(), a.settle + a.seconds + 8, 0
    check = Check(a, machine)
    for kind in dict.fromkeys(kind for name in a.only for kind, _, _ in PLANS[name]):
        check.learn(kind)
    for name in a.only:
        if name in check.result["plans"]:
            continue
        if time.monotonic() - began + longest > a.budget:
            print(f"plans: no time is left for {name}; the same command goes on with it", file=sys.stderr)
            status = 1
            break
        check.check(name)
    print(check.table())
    return status or int(not all(p["kept"] for p in check.result["plans"].values()))


if __name__ == "__main__":
    arguments = parse()
    sys.exit(chains.run("plans", arguments, lambda machine: check_all(arguments, machine)))
