"""What laius.py measures: services, each beside batch programs one at a time, under policies that know them.

A service is a mix of its own (mixes.py). Its programs alone say what a target is worth. Of each pair most policies
are windows of one start: all programs of these are in one MPS server, and what changes is the policy. `slo` chooses
where programs are when they start, so it has a start of its own. What the policies know of a program is
measured before, by `cotenant profile`. Whoever stops half-way has the most telling: starts are in that order.
"""
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace

from . import process, steer
from .mixes import Maker, Mix, Start
from .mixes import estimate_s as estimate_start_s
from .process import Failed
from .programs import PROGRAMS
from .ways import LAIUS, WAYS

SLO = "slo"
IN_ONE = ("baymax", "laius", "laius-paper", "mps-even", "mps-priority", "laius-nb", "laius-nc")
POLICIES = (*IN_ONE, SLO)
# And as what they are profiled: asked by themselves, nearly all the time. The first of each kind first: PyTorch with a
# CUDA graph for each request, CUDA with PTX, PyTorch launch by launch.
SERVICES = {"resnet-graph": "resnet-graph@busy", "req": "req@300us", "gpt": "gpt@busy", "bert-graph": "bert-graph@busy",
            "resnet-eager": "resnet-eager@busy", "req-graph": "req-graph"}
# What computes, what moves memory, then trainings.
BATCH = ("gemm", "copy", "resnet-train", "bert-train", "gpt2-train", "jax-train", "whisper-train", "pegasus-train")
SIZED, SIZED_OF = "req-sizes", "req"  # a service whose requests have sizes; profiled where that one is measured
LOAD, FACTOR = 0.3, 2.0
BASE = "base"          # a program alone, in the same MPS server, with all SMs: what is left of the cost is the policy's
OVERHEAD = "over"      # a program alone, under the policy
KNOW = "know"          # the group of the starts that profile
PROFILE_S = 4.0        # of a program on one size of part
PROFILE_LIMIT_S = 400


def mixes(options):
    return [Mix(f"p-{spec}", spec, (f"{spec}@open",), options.batch, options.loads, options.factors, True, ())
            for spec in options.services]


# ---- the starts ----

def _know(spec, role):
    own = (spec,)
    return Start(KNOW, spec.partition("@")[0], own if role == "latency" else (), () if role == "latency" else own,
                 (), 0, topology="parts")


def _windows(maker, policies, options, more=()):
    """(Step, seconds) under each of the policies, and alone under `laius` where `more` says so."""
    for load in maker.loads:
        for factor in maker.factors:
            for policy in policies:
                yield maker.step(policy, load, ("L1", "B1"), factor=factor, policy=policy, settle_s=options.settle)
    for name, (way, policy) in itertools.product(more, ((BASE, "parts"), (OVERHEAD, LAIUS))):
        load = maker.loads[0] if name == "L1" else 0
        yield maker.step(way, load, (name,), factor=maker.factors[0], policy=policy, label=f"{way}:{name}",
                         settle_s=options.settle)


def _pair(mix, options, spec, first):
    """`first` of the services: there the batch programs are measured alone under the policy, too."""
    maker = Maker(mix, options)
    in_one = [way for way in IN_ONE if way in options.ways]
    over = (("L1",) if spec == mix.batch[0] else ()) + (("B1",) if first else ()) if LAIUS in in_one else ()
    if in_one:
        yield Start(mix.name, f"pair-{spec}", mix.latency, (spec,), tuple(_windows(maker, in_one, options, over)),
                    0, topology=LAIUS)
    if SLO in options.ways:
        yield Start(mix.name, f"slo-{spec}", mix.latency, (spec,), tuple(_windows(maker, (SLO,), options)), 0,
                    topology=SLO)


def _alone(mix, options):
    cell = Maker(mix, options).alone()
    return replace(cell, windows=tuple(w for w in cell.windows if w[0].way == "alone"))


def make_starts(options):
    """Services alone; then each batch program, what others need of it first, beside all services."""
    all_mixes = mixes(options)
    cells = [_know(SERVICES[spec], "latency") for spec in options.services]
    cells += [_alone(mix, options) for mix in all_mixes]
    if options.sizes and SIZED_OF in options.services:
        cells.append(_know(SIZED, "latency"))
    for spec in options.batch:
        cells.append(_know(spec, "batch"))
        for i, mix in enumerate(all_mixes):
            cells += _pair(mix, options, spec, not i)
    return [replace(cell, priority=i) for i, cell in enumerate(cells)]


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


# ---- running ----

class Runner(steer.Steered):
    """Programs with a target, under policies that change."""

    def __init__(self, tools, mark, options, known, files, dram_gb_per_s):
        super().__init__(tools, mark, options, known)
        self.files, self.dram_gb_per_s = files, dram_gb_per_s

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
        for name in self.boards if window.policy else ():
            way.command(f"{name} --p99 {self._target(name, window)}")
        return super()._prepare(window, way, tenants)

    def _say(self, out, window, way, tenants):
        out = super()._say(out, window, way, tenants)
        if window.policy:
            out["target_us"] = {name: int(self._target(name, window)[:-2]) for name in self.boards}
            out["explain"] = {name: text for name in out["active"] if (text := way.explain(name))}
        return out


assert all(spec in PROGRAMS for spec in (*SERVICES.values(), *BATCH, SIZED, *(f"{s}@open" for s in SERVICES)))
