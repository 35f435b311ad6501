"""What targets.py measures, and in which order.

A *case* is a mix of programs, a load and a target. What is run is a *start*: a mix whose programs are
started in one topology (each alone, in one MPS server, in the pools, on parts, as the policy `slo` likes).
Everything that can change while programs run, loads, slices, parts, policies, targets, are windows of it.
A fixed arrangement does not know the target: it is measured once for each load, and judged for all targets.
"""
from dataclasses import dataclass, replace

from .cells import DEALS, Cell, Window
from .programs import PROGRAMS

LOADS, FACTORS = (0.1, 0.3, 0.6), (1.3, 1.5, 2, 4)
SHARES = (100, 70, 50, 30)  # of the batch programs, in one MPS server
PARTS = ("parts32", "parts64", "parts96", "parts112")
SLO, LEARNED, SOLO, SLOWDOWN, SMQOS = "slo", "slo-learned", "slo-solo", "slowdown", "smqos"
AIMED = (SLO, LEARNED, SOLO, SLOWDOWN, SMQOS)  # ways that get the target
FIXED = ("timeslice", "rotate", "mps", "mps70", "mps50", "mps30", "pools", *PARTS)
SETTLE_S = 0.7
BATCH_ALONE_S = 3.0
BETWEEN_S = 0.5       # to set a window up, and to answer what still waits after it


@dataclass(frozen=True)
class Mix:
    name: str
    title: str
    latency: tuple
    batch: tuple
    loads: tuple = LOADS
    factors: tuple = FACTORS
    in_turn: bool = False  # each batch program has its own case beside the latency programs
    fixed: tuple = FIXED
    more: str = ""         # a batch program that comes and goes in the trial with steps

    def besides(self):
        """The batch programs of each of its cases."""
        return [(spec,) for spec in self.batch] if self.in_turn else [self.batch]

    def started_at_once(self):
        """(end of the start's name, batch programs): a GPU of 80 GB has memory for them."""
        half = len(self.batch) // 2
        return [("", self.batch[:half]), ("-2", self.batch[half:])] if self.in_turn else [("", self.batch)]


TRAININGS = ("resnet-train", "bert-train", "gpt2-train", "pegasus-train", "whisper-train",
             "pointnet-train")  # the same or of the same kind as those of Tally's table
TALLY_WAYS = ("timeslice", "mps", "pools", "parts64")

MIXES = [
    Mix("t1", "ResNet-50 graph; GEMM", ("resnet-graph@open",), ("gemm",), more="resnet-train"),
    Mix("t2", "BERT graph; ResNet-50 training, BERT training", ("bert-graph@open",),
        ("resnet-train", "bert-train"), more="gemm"),
    Mix("t3", "GPT decoder; memory copies by a kernel", ("gpt@open",), ("copy",), more="gemm"),
    Mix("t4", "ResNet-50 and BERT graphs; GEMM, ResNet-50 training",
        ("resnet-graph@open", "bert-graph@open"), ("gemm", "resnet-train"), more="copy"),
    Mix("t5", "ResNet-50 eager; ResNet-50 training, BERT training, JAX training, memory copies",
        ("resnet-eager@open",), ("resnet-train", "bert-train", "jax-train", "copy"), more="gemm"),
    Mix("t6", "100 us requests, ResNet-50 graph, GPT decoder; 40 ms-kernel program, JAX training",
        ("req@open", "resnet-graph@open", "gpt@open"), ("hog", "jax-train"), more="copy"),
    Mix("c1", "100 us requests; 40 ms-kernel program (no PyTorch)", ("req@open",), ("hog",),
        more="copy"),
    Mix("bert", "BERT graph, load 0.5; six trainings, one at a time", ("bert-graph@open",), TRAININGS,
        (0.5,), (1.1, 1.3), True, TALLY_WAYS),
    Mix("gpt", "GPT decoder, load 0.5; six trainings, one at a time", ("gpt@open",), TRAININGS,
        (0.5,), (1.1, 1.3), True, TALLY_WAYS),
]
TRIAL_MIX = "c1"  # it is part of none of the figures
MIX_OF = {mix.name: mix for mix in MIXES}


@dataclass(frozen=True)
class Step(Window):
    way: str = ""
    load: float = 0    # of all latency programs together, each as much; 0: no request comes
    factor: float = 0  # the target, times the p99 alone; 0: none is stated
    policy: str = ""   # that the daemon is to have
    draw: int = 0      # which arrivals: how often the window was measured before


@dataclass(frozen=True)
class Change:
    """Of the trial with steps."""
    what: str
    load: float
    seconds: float
    comes: bool = False  # one more batch program starts
    goes: bool = False   # it ends
    burst: bool = False  # too short to settle in: what follows is looked at as well


CHANGES = (Change("load 10 %", 0.1, 6), Change("load 60 %", 0.6, 10), Change("load 10 % again", 0.1, 6),
           Change("a batch program starts", 0.1, 8, comes=True),
           Change("it ends", 0.1, 6, goes=True),
           Change("a burst of half a second", 0.9, 0.5, burst=True), Change("load 10 % after the burst", 0.1, 5))
STEPS_FACTOR, STEPS_LOAD = 1.5, 0.6  # the one target of the trial: times alone at this load
STEPS_WAYS = ("slo", "pools", "parts64")
LOAD_CHANGES = 3  # the first of them change the load and nothing else
TOPOLOGIES = ("pools", "parts", "solo", "rotate")
LOW = 0.3         # at loads below, few requests come
MORE_START_S = 8.0


@dataclass(frozen=True)
class Start(Cell):
    topology: str = "alone"  # in ways.WAYS
    shares: tuple = ()       # percentages that each batch program is started with, once for each
    changes: tuple = ()      # the trial with steps, instead of plain windows
    more: str = ""
    learned: bool = False    # begins with what an earlier start of the mix has learned
    later: bool = False      # its programs have no target before the first window
    wants: str = ""          # only those windows for which the policy then chooses this topology

    @property
    def way(self):
        return self.topology

    @property
    def before(self):
        """The start that learned what this one knows."""
        if self.wants or self.start == f"steps-{LEARNED}":
            return SLO
        return self.start.replace(LEARNED, SLO)

    def tenants(self):
        plain = super().tenants()
        if not self.shares:
            return plain
        batch = [(name, program) for name, program in plain if program.role == "batch"]
        return [(name, program) for name, program in plain if program.role == "latency"] + \
            [(shared_name(name, share), program) for share in self.shares for name, program in batch]


def shared_name(name, share):
    return name if share == 100 else f"{name}%{share}"


def _latency_names(mix):
    return tuple(f"L{i + 1}" for i in range(len(mix.latency)))


class Maker:
    """The starts of one mix."""

    def __init__(self, mix, options):
        self.mix, self.options = mix, options
        self.loads = [x for x in options.loads or mix.loads] if not mix.in_turn else mix.loads
        self.factors = options.factors or mix.factors
        self.latency = _latency_names(mix)

    def _start(self, name, topology, windows, batch=None, **more):
        mix = self.mix
        return Start(mix.name, name, mix.latency, mix.batch if batch is None else batch,
                     tuple(windows), 0, topology=topology, **more)

    def step(self, way, load, active, seconds=None, **more):
        more = {"settle_s": SETTLE_S, **more}
        beside = "" if not self.mix.in_turn or way == "alone" else f"+{active[-1].partition('%')[0]}"
        factor = f"{more['factor']:g}" if more.get("factor") else ""
        label = more.pop("label", f"{way}{factor}@{load:g}{beside}")
        return Step(label, tuple(active), way=way, load=load, **more), seconds or self._fixed_seconds(load)

    def _fixed_seconds(self, load):
        usual = self.options.fixed_seconds or self.options.seconds
        return self.options.low_seconds or usual if load < LOW else usual

    def _seeds(self, windows):
        """Each as often as there are to be seeds; what changes with a window has settled when it comes again."""
        return [(replace(step, draw=draw, settle_s=step.settle_s if not draw else SETTLE_S), seconds)
                for step, seconds in windows for draw in range(self.options.seeds)]

    def _sides(self, share=100, batch=None):
        """The names of the batch programs of each case."""
        names = [shared_name(f"B{i + 1}", share) for i in range(len(batch or self.mix.batch))]
        return [(name,) for name in names] if self.mix.in_turn else [tuple(names)]

    def _windows(self, way, share=100, batch=None, **more):
        return self._seeds([self.step(way, load, self.latency + side, **more)
                            for side in self._sides(share, batch) for load in self.loads])

    def alone(self, end="", batch=None):
        batch = self.mix.batch if batch is None else batch
        windows = [self.step("alone", 0, (f"B{i + 1}",), BATCH_ALONE_S, label=f"alone:B{i + 1}")
                   for i in range(len(batch))]
        for load in self.loads if not end else ():
            windows += self._seeds([self.step("alone", load, (name,), self.options.seconds,
                                              label=f"alone:{name}@{load:g}") for name in self.latency])
        windows += self._windows("timeslice", batch=batch, policy="timeslice")
        windows += self._windows("rotate", batch=batch, policy="rotate")
        return self._start(f"alone{end}", "alone", windows, batch)

    def mps(self, end, batch):
        shares = [s for s in SHARES if _mps_way(s) in self.mix.fixed]
        windows = [w for share in shares for w in self._windows(_mps_way(share), share, batch)]
        return self._start(f"mps{end}", "mps-shares", windows, batch, shares=tuple(shares))

    def pools(self, end, batch):
        return self._start(f"pools{end}", "pools", self._windows("pools", batch=batch), batch)

    def parts(self):
        for name, batch in self._one_by_one("parts"):
            yield self._start(name, "parts", [
                w for way in PARTS for w in self._windows(way, batch=batch, deal=DEALS[way])], batch)

    def _one_by_one(self, name):
        """A policy that shares SMs among batch programs must not see those of other cases."""
        for i, batch in enumerate(self.mix.besides()):
            yield (f"{name}-{i + 1}" if self.mix.in_turn else name), batch

    def together(self, way):
        """All targets in one start. What it learned in each window says for which topology a later one would be;
        one of a mix whose batch programs come in turn has the topology that the first target gets."""
        for name, batch in self._one_by_one(way):
            windows = self._seeds([self.step(way, load, self.latency + self._sides(batch=batch)[0], self.options.seconds,
                                             factor=factor, settle_s=self.options.settle)
                                   for load in self.loads for factor in self.factors])
            if way != LEARNED or self.mix.in_turn:
                later = way != LEARNED and not self.options.given
                yield self._start(name, SOLO if way == SOLO else "slo", windows, batch, later=later,
                                  learned=way == LEARNED)
                continue
            for topology in TOPOLOGIES:
                yield self._start(f"{name}-{topology}", "slo", windows, learned=True, wants=topology)

    def aimed(self, way):
        if self.options.together and way in (SLO, LEARNED, SOLO):
            yield from self.together(way)
            return
        for factor in self.factors:
            for name, batch in self._one_by_one(f"{way}{factor:g}"):
                yield self._start(name, way if way in (SMQOS, SOLO) else "slo", self._windows(
                    way, batch=batch, seconds=self.options.seconds, factor=factor,
                    settle_s=self.options.settle), batch, learned=way == LEARNED)

    def steps(self):
        only_load = self.options.only_load
        changes = CHANGES[:LOAD_CHANGES] if only_load else CHANGES
        ways = STEPS_WAYS + ((LEARNED,) if self.options.together else ())
        for way in ways if self.mix.more or only_load else ():
            window = Step("steps", way=way, factor=STEPS_FACTOR, deal=DEALS.get(way))
            seconds = sum(c.seconds for c in changes) + (0 if only_load else MORE_START_S)
            quiet = Step("steps:alone", self.latency, way="alone", factor=STEPS_FACTOR)
            quiet_s = sum(c.seconds for c in changes if not c.comes and not c.goes)
            topology = "slo" if way == LEARNED else way.rstrip("0123456789")
            yield self._start(f"steps-{way}", topology,
                              ([(quiet, quiet_s)] if way == "slo" else []) + [(window, seconds)],
                              changes=changes, more="" if only_load else self.mix.more, learned=way == LEARNED)

    def all(self):
        at_once = self.mix.started_at_once()
        yield from (self.alone(*some) for some in at_once)
        yield from (self.pools(*some) for some in at_once)
        yield from self.parts()
        yield from self.aimed(SLO)
        yield from (self.mps(*some) for some in at_once)
        yield from self.aimed(LEARNED)
        yield from self.steps()
        yield from self.aimed(SOLO)
        if not self.mix.in_turn:
            yield from self.aimed(SLOWDOWN)
            yield from self.aimed(SMQOS)


def _mps_way(share):
    return "mps" if share == 100 else f"mps{share}"


def _wanted(cell, options):
    """The start with those of its windows that `options` ask for, or None."""
    def is_wanted(way):
        return way in (options.ways or (*FIXED, SLO, LEARNED)) and \
            (cell.changes or way not in FIXED or way in MIX_OF[cell.group].fixed)
    if cell.changes:
        return cell if is_wanted(cell.windows[-1][0].way) else None
    windows = tuple(w for w in cell.windows if w[0].way == "alone" or is_wanted(w[0].way))
    return replace(cell, windows=windows) if windows else None


def _phase(cell):
    """What tells less comes after all that tells more."""
    way = cell.windows[-1][0].way
    later = way in (SOLO, SLOWDOWN, SMQOS) and not cell.changes
    # Together, pools are what the start before was in as well, as long as nothing was known.
    again = cell.wants == "pools" or (bool(cell.changes) and way not in (SLO, LEARNED))
    in_turn = MIX_OF[cell.group].in_turn  # there the question is what the policy does
    fixed = in_turn and way in FIXED and cell.topology != "alone"
    return (later, in_turn, fixed, again, bool(cell.changes), way == LEARNED)


def make_starts(options):
    """All of them, mix by mix in each phase."""
    cells = [c for mix in MIXES for c in Maker(mix, options).all()]
    cells = sorted((c for c in (_wanted(c, options) for c in cells) if c), key=_phase)
    return [replace(c, priority=i) for i, c in enumerate(cells)]


def estimate_s(cell):
    """About how long a start takes: PyTorch's own start is most of it, and grows with the programs."""
    n_torch = sum(p.torch for _, p in cell.tenants())
    begin = 4.0 + 2.2 * n_torch if n_torch else 1.5
    begin += {"alone": 1.0, "mps-shares": 1.5}.get(cell.topology, 3.0)
    if cell.topology == "alone":
        begin += len(cell.latency)
    return begin + 2.0 + sum(w.settle_s + s + BETWEEN_S for w, s in cell.windows)


assert all(spec in PROGRAMS for mix in MIXES for spec in mix.latency + mix.batch)
