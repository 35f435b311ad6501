"""What laius.py measures: services, each beside batch programs one at a time, under policies that know them.

A start has all services and one batch program, a *row* of pairs: starts take longer than windows. In a window one
service is asked; the others have no target and no requests, and what is seen of them in it sets it aside. Of a row most
policies are windows of one start: all programs of these are in one MPS server, and what changes is the policy. `slo`
chooses where programs are when they start, so it has a start of its own. What policies know of a program is measured
before, by `cotenant profile`. Whoever stops half-way has the most telling: starts are in that order.
"""
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace

from . import events, judge, process, steer
from .mixes import Maker, Mix, Start, Step
from .mixes import estimate_s as estimate_start_s
from .process import Failed
from .programs import PROGRAMS
from .ways import LAIUS, WAYS

SLO = "slo"
IN_ONE = ("baymax", "laius", "laius-paper", "mps-even", "mps-priority", "laius-nb", "laius-nc")
POLICIES = (*IN_ONE, SLO)
# Beside all; what tells less comes after all of these, in starts of its own
FIRST = ("laius", "baymax", "mps-priority")
# And as what they are profiled: asked by themselves, nearly all the time. The first of each kind first: PyTorch with a
# CUDA graph for each request, CUDA with PTX, PyTorch launch by launch. What takes its time on the CPU is asked as often as
# later, in the mean: a process that has slept launches more slowly.
SERVICES = {"resnet-graph": "resnet-graph@busy", "req": "req@300us", "gpt": "gpt@medium", "bert-graph": "bert-graph@busy",
            "resnet-eager": "resnet-eager@medium", "req-graph": "req-graph"}
# What computes, what moves memory, then trainings.
BATCH = ("gemm", "copy", "resnet-train", "bert-train", "gpt2-train", "jax-train", "whisper-train", "pegasus-train")
SIZED, SIZED_OF = "req-sizes", "req"  # a service whose requests have sizes; profiled where that one is measured
LOAD, FACTOR = 0.3, 2.0
BASE = "base"          # a program alone, in the same MPS server, with all SMs: what is left of the cost is the policy's
OVERHEAD = "over"      # a program alone, under the policy
ROWS = "rows"          # the group of all starts but those that profile
KNOW = "know"          # and of those
ASK_WHY_S = 0.6        # in windows of a pair
PROFILE_S = 4.0        # of a program on one size of part
PROFILE_LIMIT_S = 400
# What a way gives each of the two programs at work, where the policy would count those that are not.
SHARES = {BASE: "100%", "mps-priority": "100%", "mps-even": "50%"}
POLICY_OF = {BASE: "parts", OVERHEAD: LAIUS}  # of the ways that are not called as their policy


# ---- the starts ----

def _know(spec, role):
    own = (spec,)
    return Start(KNOW, spec.partition("@")[0], own if role == "latency" else (), () if role == "latency" else own,
                 (), 0, topology="parts")


@dataclass(frozen=True)
class Pair(Step):
    """A window of one service, or of a batch program alone."""
    share: str = ""  # of the SMs, for each program at work; "": the policy's


class Rows:
    """The starts of all services beside one batch program."""

    def __init__(self, options):
        specs = tuple(f"{s}@open" for s in options.services)
        self.options, self.names = options, tuple(f"L{i + 1}" for i in range(len(specs)))
        self.maker = Maker(Mix(ROWS, ROWS, specs, (), options.loads, options.factors, True, ()), options)

    def _window(self, way, load, active, factor):
        more = "+B1" if len(active) > 1 else ""
        label = f"{way}{factor:g}:{active[0]}@{load:g}{more}" if load else f"{way}:{active[0]}"
        return Pair(label, tuple(active), way=way, load=load, factor=factor, policy=POLICY_OF.get(way, way),
                    share=SHARES.get(way, ""), settle_s=self.options.settle), self.options.seconds

    def _pairs(self, ways):
        return [self._window(way, load, (name, "B1"), factor) for name in self.names for load in self.options.loads
                for factor in self.options.factors for way in ways]

    def _alone(self, spec):
        """Of the batch program and, in another row each, of the services: what the policy itself costs. Which row that is
        does not depend on which are asked for, so that two halves do not measure the same."""
        load, factor, place = self.options.loads[0], self.options.factors[0], BATCH.index(spec)
        services = [name for name, service in zip(self.names, self.options.services)
                    if list(SERVICES).index(service) == place]
        over = (OVERHEAD,) if LAIUS in self.options.ways else ()
        return [self._window(way, load if name != "B1" else 0, (name,), factor)
                for name in ("B1", *services) for way in (BASE, *over)]

    def start(self, name, spec, windows, topology=LAIUS):
        return Start(ROWS, f"{name}-{spec}", self.maker.mix.latency, (spec,), tuple(windows), 0, topology=topology)

    def alone(self):
        cell = self.maker.alone("", ())
        return replace(cell, windows=tuple(w for w in cell.windows if w[0].way == "alone"))

    def row(self, spec, ways):
        own = [w for w in FIRST if w in ways]
        return [self.start("row", spec, self._pairs(own) + self._alone(spec))] if own else []

    def more(self, spec, ways):
        own = [w for w in IN_ONE if w in ways and w not in FIRST]
        return [self.start("more", spec, self._pairs(own))] if own else []

    def slo(self, spec, ways):
        return [self.start(SLO, spec, self._pairs((SLO,)), SLO)] if SLO in ways else []


def make_starts(options):
    """Services alone; then each batch program, what others need of it first, beside all services."""
    rows, ways = Rows(options), options.ways
    cells = [_know(SERVICES[spec], "latency") for spec in options.services] + [rows.alone()]
    for spec in options.batch:
        cells += [_know(spec, "batch"), *rows.row(spec, ways)]
    for spec in options.batch:
        cells += rows.slo(spec, ways)
    if options.sizes and SIZED_OF in options.services:
        cells.append(_know(SIZED, "latency"))
    for spec in options.batch:
        cells += rows.more(spec, ways)
    return [replace(cell, priority=i) for i, cell in enumerate(cells)]


def repairs(cells, measured):
    """Of starts that were measured those windows that were always set aside, as repeats."""
    found = []
    for cell in cells:
        own = [c for c in measured if (c["group"], c["start"], c.get("status")) == (cell.group, cell.start, "ok")]
        good = {w["label"] for _, w in judge.good_windows(own)}
        windows = tuple(w for w in cell.windows if w[0].label not in good)
        if own and windows:
            found.append(replace(cell, windows=windows, rep=1 + max(c["rep"] for c in own)))
    return found


def estimate_s(cell, n_parts=9, n_sizes=1):
    if cell.group == KNOW:
        return 8.0 + PROFILE_S * n_parts * (n_sizes if cell.start == SIZED else 1)
    return estimate_start_s(cell)


# ---- what is known of a program ----

def _profile_argv(tools, program, path, options):
    own = [*tools.programs[program.tool], *program.arguments, "--out", os.path.join(os.path.dirname(path), "out"),
           "--life", str(PROFILE_LIMIT_S)]
    return [*tools.cotenant, "profile", "--class", program.role, "--parts", ",".join(map(str, options.parts)),
            "--requests", str(options.requests), "--output", path,
            *(("--sizes", ",".join(map(str, options.sizes))) if program.spec == SIZED else ()), "--", *own]


def _profiled(cell, tools, way, folder, options):
    path, said = os.path.join(folder, "knowledge"), os.path.join(folder, "profile.log")
    (_, program), = cell.tenants()
    child = process.spawn(_profile_argv(tools, program, path, options), way.env, said)
    try:
        child.wait(PROFILE_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Failed(f"cotenant profile took more than {PROFILE_LIMIT_S} s") from None
    finally:
        process.end([child])
    if child.returncode:
        raise Failed(f"cotenant profile: {process.tail(said)}")
    with open(path, encoding="utf-8") as f:
        return {"knowledge": f.read(), "said": process.tail(said, 4000)}


def profile(cell, tools, mark, options):
    """Runs the program of the cell on parts; its result."""
    begin, folder = time.monotonic(), tempfile.mkdtemp(prefix="cl-")
    result = {"id": cell.id, "group": cell.group, "start": cell.start, "rep": cell.rep, "latency": cell.latency,
              "batch": cell.batch, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "windows": []}
    way = WAYS[cell.topology](tools, folder, tools.environment(mark))
    try:
        way.start()
        result.update(_profiled(cell, tools, way, folder, options), status="ok")
    except Failed as e:
        result.update(status="failed", why=str(e)[:1000])
    finally:
        way.stop()
        result["left_over"] = process.sweep(mark)
        shutil.rmtree(folder, ignore_errors=True)
        result["seconds"] = round(time.monotonic() - begin, 2)
    return result


def knowledge(cells):
    """Text of the files, by the program's name without how it is asked."""
    return {cell["start"]: cell["knowledge"] for cell in cells
            if cell["group"] == KNOW and cell.get("status") == "ok"}


# ---- what was measured alone ----

class Known:
    """Of services, by the names that they have in a start: what was measured alone, whatever they were called there."""

    def __init__(self, cells, cell):
        self.service_us, self._p99 = {}, {}
        mine = {program.spec: name for name, program in cell.tenants()}
        for other in cells:
            if other["start"] != "alone" or other.get("status") != "ok":
                continue
            known = judge.Known([other], other["group"])
            for theirs, tenant in other["tenants"].items():
                name = mine.get(tenant["spec"])
                if name and known.loads(theirs):
                    self.service_us[name] = known.service_us[theirs]
                    self._p99.update({(name, load): known.p99_us(theirs, load) for load in known.loads(theirs)})

    def p99_us(self, name, load):
        return self._p99[name, load]

    def highest_load(self, name):
        return max(load for n, load in self._p99 if n == name)

    def knows(self, names, loads):
        return all((name, load) in self._p99 for name in names for load in loads)


# ---- running ----

class Runner(steer.Steered):
    """Programs with a target, under policies that change."""

    def __init__(self, tools, mark, options, known, files, dram_gb_per_s):
        super().__init__(tools, mark, options, known)
        self.files, self.dram_gb_per_s = files, dram_gb_per_s

    def _asked(self, active):
        """One service at a time has all of the load."""
        return [name for name in self.boards if name in active]

    def _aim(self, name, step):
        return "--p99", self._target(name, step)

    def _way(self, cell, folder):
        way = super()._way(cell, folder)
        if cell.topology == LAIUS:
            way.dram_gb_per_s = self.dram_gb_per_s
            way.knowledge = {name: self._file(folder, name, program) for name, program in cell.tenants()}
        if cell.topology in (LAIUS, SLO):  # where a program starts may depend on it
            way.options = {name: self._aim(name, cell.windows[0][0]) for name in self.boards}
        return way

    def _file(self, folder, name, program):
        path = os.path.join(folder, f"{name}.knowledge")
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.files[program.spec.partition("@")[0]])
        return path

    def _prepare(self, window, way, tenants):
        """Who is not asked has no target: a policy would expect requests of it."""
        for name in self.boards if window.policy else ():
            way.command(f"{name} --p99 {self._target(name, window) if name in window.active else 'none'}")
        for tenant in tenants if self.cell.topology == LAIUS else ():
            way.command(f"{tenant.name} --sms {window.share if window.share and tenant.name in window.active else 'none'}")
        return super()._prepare(window, way, tenants)

    def _pass(self, window, seconds, way, out):
        """What the policy says meanwhile, too: one answer at the end of a window is chance."""
        if not window.policy or window.way == BASE:
            super()._pass(window, seconds, way, out)
            return
        end = time.monotonic() + seconds
        names = sorted({*window.active, *(name for name, program in self.cell.tenants() if program.role == "batch")})
        out["said"] = []
        while (left := end - time.monotonic()) > ASK_WHY_S:
            time.sleep(ASK_WHY_S)
            out["said"].append({"at_ns": time.monotonic_ns(), **{name: way.explain(name) for name in names}})
        time.sleep(max(0, left))

    def _figures(self, tenant, all_events, begin, end):
        return {**super()._figures(tenant, all_events, begin, end), **_raw(tenant, all_events, begin, end)}

    def _say(self, out, window, way, tenants):
        out = super()._say(out, window, way, tenants)
        if window.policy:
            asked = self._asked(out["active"])
            out["target_us"] = {name: int(self._target(name, window)[:-2]) for name in asked}
            out["explain"] = {name: text for name in out["active"] if (text := way.explain(name))}
        return out

    def _read(self, cell, tenants, result):
        super()._read(cell, tenants, result)
        for window in result["windows"]:
            strays = [text for tenant in tenants if tenant.name not in window["active"]
                      if (text := stray(tenant, window))]
            if strays:
                window["problems"] = window.get("problems", []) + strays


def _raw(tenant, all_events, begin, end):
    """When each request came, and how long it then waited for those before; of a batch program, when each piece of
    work began and how long it took."""
    name = "raw_wait_100ns" if tenant.program.role == "latency" else "raw_100ns"
    return {"raw_at_10us": events.arrivals(all_events, begin, end),
            name: events.pack([min(events.NEVER, max(0, e[1] - e[0]) // 100) for e in all_events if begin <= e[0] < end])}


def stray(tenant, window):
    """Whether a program that was to rest worked in the window; None: it did not."""
    n = sum(begin and begin < window["t1_ns"] and end > window["t0_ns"] for _, begin, end in _worked(tenant))
    return f"{tenant.name} was to rest and did {n} things" if n else None


def _worked(tenant):
    """(arrival, begin, end) of all that it did; begin is 0 where a request was given up."""
    if tenant.program.role == "latency":
        return tenant.events
    return [(begin, begin, end) for begin, end, _ in tenant.events]


assert all(spec in PROGRAMS for spec in (*SERVICES.values(), *BATCH, SIZED, *(f"{s}@open" for s in SERVICES)))
