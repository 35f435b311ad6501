#!/usr/bin/env python3
"""The policy consolidate on this machine's GPU, beside other ways to share it.

Four batch programs (chain.py): a product that fills the GPU with computing, copies that fill its memory, and two
solvers of few blocks; or, with --library, their like of a vendor's library (library.py). Each kind is profiled on parts
of the GPU (`cotenant profile`); what it does alone and what the GPU then draws are measured meanwhile. Then all four
run together for the same time under each policy: consolidate, which knows these files, static (all on the SMs of one
MPS server), parts, and rotate (turns, no MPS). Written after every start: OUT/gangs.json, OUT/table.txt; what is there
already, with the same options, is not measured again.

`time` is how long it takes until all have done what each does alone in a second: 1 / the least rate. Status 1:
consolidate starves a program or has one in no gang, a gang of several takes much longer than predicted, there was no
time for a way, or a step failed.
"""
import argparse
import json
import os
import re
import signal
import sys
import time

from livebench import chains, process
from livebench.machine import commit
from livebench.process import Failed

# Kinds of programs: what chain.py does, and sizes of part to profile. What happens between two sizes is not known then,
# so solvers have one on which their blocks just do not fit. A size takes 5 s. 999: all SMs, which is enough for a
# product, since below its first size a program is taken to be as fast as it has SMs. Then those for the emulated GPU.
KINDS = {
    "product": (("--waves", 4), "999", "999"),
    "copies": (("--copies",), "16,48,999", "48,999"),
    "solver": (("--blocks", 40), "32,40,999", "40,999"),
}
LIBRARY_PRODUCT = "48,999"
PROGRAMS = {"product": "product", "copies": "copies", "solver": "solver", "solver-2": "solver"}
# Those of a line have one start: the policy changes while they run.
STARTS = (("consolidate", "static", "parts"), ("rotate",))
WAYS = [way for start in STARTS for way in start]
SETTLE_S, POLL_S, PROFILE_S, START_S = 1.2, 0.2, 120, 4
# A rate below that part of what a program would have in turns is starving; a gang may take so many times what was
# predicted.
STARVED, AS_SAID = 0.5, 1.25
# Of a program whose work takes a second alone: rotation_ms, as it is without a configuration.
TURN_US = 50_000


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    chains.options(p, "gangs")
    p.add_argument("--ways", type=chains.some_of(WAYS, "way"), default=",".join(WAYS), metavar="WAY[,..]")
    p.add_argument("--parts", metavar="SMS,..",
                   help="sizes to profile, the last the whole GPU; default: some for each kind")
    p.add_argument("--us", type=int, default=1000, help="about as long as a kernel of chain.py takes alone")
    p.add_argument("--library", action="store_true",
                   help="PyTorch programs, whose kernels are cuBLAS' and PyTorch's own")
    p.add_argument("--seconds", type=float, default=8, help="of each way")
    p.add_argument("--aim", choices=("energy", "time"), default="energy", help="of consolidate")
    p.add_argument("--commit", help="to note in the result; default: git's")
    p.add_argument("--budget", type=float, default=100, metavar="SECONDS",
                   help="no further way is begun with less than it takes left")
    a = p.parse_args()
    if a.library and a.emulate:
        p.error("--library is not for the emulated GPU, which has no such libraries")
    return a


def program(a, machine, kind):
    """What runs it."""
    if a.library:
        return [sys.executable, os.path.join(chains.LIVE, "library.py"), "--what", kind]
    return machine.argv("batch", "--us", a.us, *KINDS[kind][0])


def parts_of(a, kind):
    """Sizes to profile. cuBLAS' product alone is at the power limit, so a part of the SMs gives more than its part of the
    rate."""
    if a.library and kind == "product":
        return LIBRARY_PRODUCT
    return KINDS[kind][2 if a.emulate else 1]


# ---- alone ----

class Study:
    """One kind: profiled, and watched while it has all SMs."""

    def __init__(self, check, kind, daemon):
        self.kind, self.daemon, self.path = kind, daemon, check.file_of(kind)
        parts = check.a.parts or parts_of(check.a, kind)
        argv = [*check.machine.tools.cotenant, "profile", "--class", "batch", "--parts", parts, "--kernel-seconds", "0",
                "-o", os.path.abspath(self.path), "--", *program(check.a, check.machine, kind)]
        self.profile = chains.Chain(f"profile-{kind}", argv, daemon.env, daemon.folder)
        self.whole_since, self.pid, self.energy, self.why_no_energy = None, None, [], None

    def step(self):
        """Has it ended? In the last part, all SMs, a window of the program's begins."""
        if self.profile.child.poll() is not None:
            return True
        look = self.daemon.look()
        tenant = next(iter(look["tenants"]), {})
        part = tenant.get("part") or {}
        if not part.get("gpu_sms") or part.get("sms") != part["gpu_sms"] or not self.profile.is_ready():
            self.whole_since, self.pid = None, None
            return False
        self.whole_since = self.whole_since or time.monotonic()
        if time.monotonic() - self.whole_since < SETTLE_S:
            return False
        if not self.pid:
            self.pid, self.energy = tenant["pid"], []
            os.kill(self.pid, signal.SIGUSR1)
        if energy_of(look):
            self.energy.append(energy_of(look))
        self.why_no_energy = look.get("energy_reason")
        return False

    def end(self):
        process.end([self.profile.child], chains.END_S)

    def result(self):
        said = self.profile.said()
        if self.profile.child.returncode:
            raise Failed(f"cotenant profile of {self.kind}: {said.strip()[-400:]}")
        windows = self.profile.windows()
        if len(windows) < 2 or not windows[-1]["n"]:
            raise Failed(f"{self.kind} had no time alone on all SMs: {said.strip()[-400:]}")
        with open(self.path, encoding="utf-8") as f:
            # Without the folders of this machine.
            known = f.read().replace(chains.ROOT + os.sep, "").replace(sys.executable, "python3")
        moved = re.search(r"bytes_per_s: \[(.*)\]", known)
        took = taken(self.energy[0], self.energy[-1]) if self.energy else None
        why = None if took else self.why_no_energy or f"{len(self.energy)} looks at a counter of energy, without a step"
        return {"alone": windows[-1], "power_w": took and round(took["mean_w"]), "why_no_power": why,
                "bytes_per_s": max(map(int, moved[1].split(","))) if moved else None, "knowledge": known}


def energy_of(look):
    """Of the GPU that the programs are on, so far."""
    used = {index for tenant in look["tenants"] for index in tenant["gpus"]}
    return next((gpu["energy"] for gpu in look["gpus"] if gpu["index"] in used), None)


def taken(before, after):
    """Between two looks at a counter of energy; None: there is none, or it made no step."""
    if not before or not after or after["seconds"] <= before["seconds"]:
        return None
    joules, seconds = after["joules"] - before["joules"], after["seconds"] - before["seconds"]
    return {"joules": round(joules, 3), "seconds": round(seconds, 3), "mean_w": round(joules / seconds, 1)}


# ---- together ----

def facts_of(explained):
    return {f["name"]: f["text"] if f["unit"] == "text" else f["value"] for f in explained["facts"]}


def gangs_of(facts):
    """[{programs, turn_us, ...}], by their numbers; `saved` is in 1/1000."""
    gangs = {}
    for name, said in facts.items():
        if "gang" in said:
            gang = gangs.setdefault(said["gang"], {
                "programs": [], "saved": said.get("saved by it", 0), "turn_us": said.get("turn"),
                "predicted_w": said.get("predicted power"), "because": said.get("because")})
            gang["programs"].append(name)
    return [gangs[number] for number in sorted(gangs)]


def inhabit(machine, env):
    """A program that does next to nothing, until all is over. An emulated GPU that nobody uses is made anew by the next
    program, and whoever looks for its counter of energy just then may not find it."""
    keeper = chains.Chain("keeper", machine.argv("service", "--us", 1, "--per-s", 1e-3), env, machine.folder)
    if not process.wait_for(keeper.is_ready, chains.READY_S, 0.02):
        raise Failed(f"the emulated GPU does not begin: {process.tail(keeper.log)}")


class Check:
    def __init__(self, a, machine):
        self.a, self.machine = a, machine
        self.path = os.path.join(a.out, "gangs.json")
        self.options = {"seconds": a.seconds, "us": a.us, "parts": a.parts, "aim": a.aim, "emulate": a.emulate,
                        "library": a.library}
        self.result = {"schema": "cotenant.gangs/1", **machine.facts(), "commit": a.commit or commit(chains.ROOT),
                       "command": " ".join(["bench/live/gangs.py", *sys.argv[1:]]),
                       "options": self.options, "kinds": {}, "ways": {}}
        chains.go_on(machine, self.path, self.result, ("kinds", "ways", "steps_per_us", "sms"))

    def file_of(self, kind):
        return os.path.join(self.a.out, f"{kind}.knowledge")

    # ---- alone ----

    def learn(self):
        """One after the other; emulated all at once, each on a GPU of its own."""
        kinds = [kind for kind in KINDS if kind not in self.result["kinds"]]
        if self.a.emulate:
            self.learn_on([(kind, self.own_machine(kind)) for kind in kinds])
        elif kinds:
            daemon = chains.Daemon(self.machine, "parts")
            for kind in kinds:
                self.learn_on([(kind, daemon)], kind == kinds[-1])
        for kind in KINDS:
            self.write_file(kind)

    def own_machine(self, kind):
        daemon = chains.Daemon(self.machine, "parts")
        daemon.env["COTENANT_EMU_DIR"] = os.path.join(daemon.folder, f"emu-{kind}")
        os.makedirs(daemon.env["COTENANT_EMU_DIR"])
        inhabit(self.machine, daemon.env)
        return daemon

    def learn_on(self, places, stop=True):
        studies, done = [], False
        try:
            for kind, daemon in places:
                if not daemon.daemon:
                    daemon.start()
                studies.append(Study(self, kind, daemon))
            if not process.wait_for(lambda: all([s.step() for s in studies]), PROFILE_S, POLL_S):
                raise Failed(f"cotenant profile does not end: {', '.join(s.kind for s in studies)}")
            self.result["kinds"].update({s.kind: s.result() for s in studies})
            self.write()
            done = True
        finally:
            for s in studies:
                s.end()
            for _, daemon in places:
                if stop or not done:
                    daemon.stop()

    def write_file(self, kind):
        """What the policy reads: with the power, which `cotenant profile` does not measure."""
        known = self.result["kinds"][kind]
        more = f"  power_w: {known['power_w']}\n" if known["power_w"] else ""
        chains.write_text(self.file_of(kind), known["knowledge"] + more)

    # ---- together ----

    def configuration(self):
        """The bandwidth is that of the copies, if it is known."""
        reached = self.result["kinds"]["copies"]["bytes_per_s"]
        text = f"gangs: {{aim: {self.a.aim}}}\n"
        if reached:
            text += f"dram_gb_per_s: {reached // 10**9}\n"
        return text + "knowledge:\n" + "".join(f"  - {{name: {name}, file: {os.path.abspath(self.file_of(kind))}}}\n"
                                               for name, kind in PROGRAMS.items())

    def play(self, start, ways, left):
        """Those of one start, as far as there is time. It begins with the first policy: then programs can be placed."""
        daemon = chains.Daemon(self.machine, start[0], self.configuration())
        daemon.start()
        programs, windows = [], {}
        try:
            for name, kind in PROGRAMS.items():
                programs.append(daemon.begin(name, program(self.a, self.machine, kind), "--class", "batch"))
            daemon.wait_ready(programs)
            for way in ways:
                if windows and left() < self.a.seconds + SETTLE_S + 2:
                    break
                daemon.change_policy(way)
                time.sleep(SETTLE_S)
                windows[way] = self.window(daemon, programs)
            return self.rates_of(programs, windows)
        finally:
            process.end([p.child for p in programs], chains.END_S)
            daemon.stop()

    def window(self, daemon, programs):
        """What is said of it; `index` is the programs' window."""
        before, asked = daemon.look(), self.explain(daemon, programs)
        index = [p.next_window() for p in programs]
        time.sleep(self.a.seconds)
        again, after = self.explain(daemon, programs), daemon.look()
        for p in programs:
            p.next_window()
        gangs = gangs_of(again)
        for gang in gangs:
            gang["energy"] = self.gang_took(gang["programs"], before, after)
        parts = {t["name"]: [t["part"]["first"], t["part"]["sms"]] if t.get("part") else None for t in after["tenants"]}
        return {"index": index, "energy": taken(energy_of(before), energy_of(after)), "parts": parts, "gangs": gangs,
                "changed": [g["programs"] for g in gangs_of(asked)] != [g["programs"] for g in gangs], "explain": again}

    @staticmethod
    def explain(daemon, programs):
        said = {}
        for p in programs:
            done = daemon.ask("explain", p.name, "--json")
            try:
                said[p.name] = facts_of(json.loads(done.stdout))
            except (ValueError, KeyError):
                said_instead = (done.stderr or done.stdout).strip()[:200]
                raise Failed(f"cotenant explain {p.name}: {said_instead}") from None
        return said

    @staticmethod
    def gang_took(names, before, after):
        """Its programs' shares while they were that gang; the daemon has the names in its own order."""
        def of(look):
            return next((g for g in look["gangs"] if sorted(g["programs"].split("+")) == sorted(names)),
                        {"joules": 0, "seconds": 0})
        return taken(of(before), of(after))

    def rates_of(self, programs, windows):
        said = {p.name: p.windows() for p in programs}
        for window in windows.values():
            index = window.pop("index")
            window["programs"] = {}
            for p, i in zip(programs, index):
                w = said[p.name][i]
                alone = self.result["kinds"][PROGRAMS[p.name]]["alone"]["per_s"]
                window["programs"][p.name] = {**w, "rate": round(w["per_s"] / alone, 4)}
        return windows

    # ---- the verdict ----

    def judge(self, window):
        """work: what all did in a second, in what each does in a second alone."""
        rates = {name: p["rate"] for name, p in window["programs"].items()}
        work, least, watts = sum(rates.values()), min(rates.values()), window["energy"] and window["energy"]["mean_w"]
        window.update(time_s=round(1 / least, 3) if least > 0 else None, work=round(work, 3), watts=watts,
                      j_per_work=round(watts / work, 1) if watts and work else None,
                      starved=[name for name, rate in rates.items() if rate < STARVED / len(rates)])
        self.judge_gangs(window)

    def judge_gangs(self, window):
        """A gang has its turn's part of the time; measured is how long its work would take it with all of the time."""
        for gang in window["gangs"]:
            gang["predicted_s"] = self.predicted_s(gang)
        all_s = sum(g["predicted_s"] for g in window["gangs"])
        for gang in window["gangs"]:
            least = min(window["programs"][name]["rate"] for name in gang["programs"])
            gang["measured_s"] = round(gang["predicted_s"] / all_s / least, 3) if least > 0 else None
            gang["as_said"] = least > 0 and gang["measured_s"] <= AS_SAID * gang["predicted_s"]

    def predicted_s(self, gang):
        """From its turn; if it has all of the time, from what it saves. Programs of weight 1 take n seconds apart."""
        n, left = len(gang["programs"]), 1 - gang["saved"] / 1000
        if gang["turn_us"]:
            return round(gang["turn_us"] / TURN_US, 3)
        powers = [self.result["kinds"][PROGRAMS[name]]["power_w"] for name in gang["programs"]]
        if self.a.aim == "energy" and gang["predicted_w"] and all(powers):
            return round(left * sum(powers) / gang["predicted_w"], 3)
        return round(left * n, 3)

    def is_good(self):
        window = self.result["ways"].get("consolidate")
        if not window:
            return True
        in_gangs = sorted(name for g in window["gangs"] for name in g["programs"])
        return in_gangs == sorted(PROGRAMS) and not window["starved"] and all(
            g["as_said"] for g in window["gangs"] if len(g["programs"]) > 1)

    # ---- what is written ----

    def write(self):
        chains.write(self.path, self.result)
        chains.write_text(os.path.join(self.a.out, "table.txt"), self.table())

    def table(self):
        r = self.result
        text = f"# {r['date']}, {r['gpu']}, {r['cotenant']}, {r['commit'] or 'commit not given'}: {r['command']}\n\n"
        text += f"{'alone':<12} {'kernels a second':>16} {'GPU, W':>7}\n"
        for kind, known in r["kinds"].items():
            text += f"{kind:<12} {known['alone']['per_s']:16.1f} {cell(known['power_w'], 0):>7}\n"
            text += f"{'':<12} no power: {known['why_no_power']}\n" if known["why_no_power"] else ""
        return text + (self.way_table() + self.gang_table() if r["ways"] else "")

    def way_table(self):
        text = ("\nRates are parts of those alone. time: until all have done what each does alone in a second; work:\n"
                "of all in a second; J: of the GPU for each unit of it. apart: one after the other, from what each\n"
                "took alone\n")
        names = " ".join(f"{name:>8}" for name in PROGRAMS)
        text += f"{'way':<12} {names} {'time':>6} {'work':>6} {'W':>7} {'J':>7}\n"
        powers = [self.result["kinds"][kind]["power_w"] for kind in PROGRAMS.values()]
        n, watts = len(powers), sum(powers) / len(powers) if all(powers) else None
        apart = {"programs": dict.fromkeys(PROGRAMS, {"rate": 1 / n}), "time_s": n, "work": 1, "watts": watts,
                 "j_per_work": watts, "starved": []}
        for way, w in {"apart": apart, **{way: self.result["ways"].get(way) for way in WAYS}}.items():
            if not w:
                continue
            rates = " ".join(f"{w['programs'][name]['rate']:8.3f}" for name in PROGRAMS)
            text += f"{way:<12} {rates} {cell(w['time_s'], 2):>6} {w['work']:6.2f} {cell(w['watts']):>7} "
            text += f"{cell(w['j_per_work']):>7}{'  starved: ' if w['starved'] else ''}{', '.join(w['starved'])}\n"
        return text

    def gang_table(self):
        window = self.result["ways"].get("consolidate")
        if not window:
            return ""
        text = "\nThe gangs of consolidate, predicted and measured: seconds for the same work, and watts of the GPU\n"
        heads = ("turn, ms", "saved", "pred. s", "meas. s", "pred. W", "meas. W")
        text += f"{'gang':<34} " + " ".join(f"{head:>8}" for head in heads) + "\n"
        for g in window["gangs"]:
            turn, watts = g["turn_us"] and g["turn_us"] / 1e3, g["energy"] and g["energy"]["mean_w"]
            text += f"{'+'.join(g['programs']):<34} {cell(turn):>8} {g['saved'] / 10:7.1f}% {g['predicted_s']:8.2f} "
            text += f"{cell(g['measured_s'], 2):>8} {cell(g['predicted_w'], 0):>8} {cell(watts, 0):>8}"
            text += "\n" if g["as_said"] else "  LONGER\n"
        if window["changed"]:
            text += "the gangs changed while it ran\n"
        return text + "".join(f"{name}: {said.get('because')}\n" for name, said in window["explain"].items())


def cell(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def check_all(a, machine):
    began, status = time.monotonic(), 0
    if a.emulate:
        machine.env["COTENANT_NVML"] = os.path.join(os.path.abspath(a.build), "lib", "emu", "libnvidia-ml.so.1")
        inhabit(machine, machine.env)
    check = Check(a, machine)
    check.learn()
    for start in STARTS:
        ways = [way for way in start if way in a.ways and way not in check.result["ways"]]
        if ways and a.budget - (time.monotonic() - began) > START_S + SETTLE_S + a.seconds:
            windows = check.play(start, ways, lambda: a.budget - (time.monotonic() - began))
            for window in windows.values():
                check.judge(window)
            check.result["ways"].update(windows)
            check.write()
    missing = [way for way in a.ways if way not in check.result["ways"]]
    if missing:
        print(f"gangs: no time is left for {', '.join(missing)}; the same command goes on with it", file=sys.stderr)
        status = 1
    check.write()
    print(check.table())
    return status or int(not check.is_good())


if __name__ == "__main__":
    arguments = parse()
    sys.exit(chains.run("gangs", arguments, lambda machine: check_all(arguments, machine)))
