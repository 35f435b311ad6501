"""What is measured, in order of how much it tells.

A cell is one start of a mix of programs in one way of sharing. It has windows: stretches of time in
which the same processes run with some of them paused, or with another slice or mode. So the figures
of a program alone come from the same processes as those of default time slicing, minutes at most
from the other ways.
"""
from dataclasses import dataclass, replace
from typing import Optional

from .programs import PROGRAMS

# How the programs of a cell are started.
STARTS = ("plain", "mps", "mps70", "mps50", "mps30", "pools", "pools-solo", "rotate", "parts")

SLICES_US = (1, 5, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
# Whether other slices of one pool help two programs in the other.
PAIR_SLICES_US = (("batch", 1000), ("batch", 100), ("latency", 2000), ("latency", 1000),
                  ("latency", 500), ("latency", 100))
CYCLED_BLOCKS = 5     # of hog blocks --cycle
CONTEXT_VARIANTS = 10  # of hog context


@dataclass(frozen=True)
class Deal:
    """Who gets which SMs under the policy `parts`."""
    batch_sms: int = 0  # the first so many for the batch programs; 0: as the policy likes
    rest: bool = False  # a latency program has to stay on the others
    latency: tuple = ()  # of each latency program; only for mixes of so many


# The label of a window, and how the SMs are dealt out in it.
DEALS = {"parts": Deal(), "parts32": Deal(32), "parts64": Deal(64), "parts96": Deal(96),
         "parts112": Deal(112), "parts64-rest": Deal(64, True), "parts24": Deal(24),
         "parts24-40-68": Deal(24, latency=(40, 68))}
SIZES = (16, 24, 32, 40, 48, 64, 80, 96, 112, 132)


@dataclass(frozen=True)
class Window:
    label: str
    active: tuple = ()   # names of tenants; () = all
    commands: tuple = ()  # of `cotenant set`
    scale: float = 1     # of the usual length
    settle_s: float = 0.7
    deal: Optional[Deal] = None


@dataclass(frozen=True)
class Cell:
    group: str
    start: str
    latency: tuple  # specs
    batch: tuple
    windows: tuple  # (Window, seconds)
    priority: float
    each_s: float = 0  # for programs that cycle through variants
    rep: int = 0

    @property
    def id(self):
        return f"{self.group}.{self.start}.r{self.rep}"

    @property
    def way(self):
        """Its name in ways.WAYS."""
        return self.start

    @property
    def torch(self):
        return any(PROGRAMS[s].torch for s in self.latency + self.batch)

    def tenants(self):
        """(name, Program), latency programs first."""
        return [(f"L{i + 1}", PROGRAMS[s]) for i, s in enumerate(self.latency)] + \
            [(f"B{i + 1}", PROGRAMS[s]) for i, s in enumerate(self.batch)]


ALL_WAYS = ("plain", "mps", "mps70", "pools", "parts", "rotate", "mps50", "mps30")
WITH_SOLO = ALL_WAYS + ("pools-solo",)  # the latency program outside the pools
# What a way itself costs: the latency programs in it, while the batch programs are paused.
QUIET = {"mps": "mps-latency-only", "pools": "latency-only", "parts": "parts-latency-only"}
# These ways tell less than the others: their cells come later.
LATER = {"pools-solo": 9, "mps50": 9, "mps30": 9}


@dataclass
class Group:
    name: str
    title: str
    latency: tuple
    batch: tuple
    starts: tuple = ALL_WAYS
    kind: str = "mix"


def _names(prefix, specs):
    return [f"{prefix}{i + 1}" for i in range(len(specs))]


def _first_of_each(prefix, specs):
    """One tenant of each spec, as (name, spec)."""
    seen = {}
    for name, spec in zip(_names(prefix, specs), specs):
        seen.setdefault(spec, name)
    return [(name, spec) for spec, name in seen.items()]


def _windows(group, start, rounds):
    """What tells of batch programs alone is measured once, the rest in rounds."""
    batch = tuple(_names("B", group.batch))
    once = again = last = ()
    quiet = (Window(QUIET.get(start), tuple(_names("L", group.latency))),)
    if start == "plain":
        once = tuple(Window(f"alone:{n}", (n,)) for n, _ in _first_of_each("B", group.batch))
        again = tuple(Window(f"alone:{n}", (n,)) for n, _ in _first_of_each("L", group.latency)) + \
            (Window("timeslice"),)
    elif start == "pools":
        once = quiet
        again = (Window(start),)
        if group.starts == ALL_WAYS or group.starts == WITH_SOLO:
            last = (Window("pools-drain", commands=("pool:batch --mode drain",)),)
    elif start == "parts":
        once = quiet
        again = tuple(Window(label, deal=deal) for label, deal in DEALS.items()
                      if not deal.latency or len(deal.latency) == len(group.latency))
    else:
        if start == "mps":
            once = quiet + ((Window("mps-batch", batch),) if len(batch) > 1 else ())
        again = (Window(start),)
    return once + again * rounds + last


GROUPS = [
    Group("a1", "100 us requests; one 40 ms-kernel program", ("req",), ("hog",)),
    Group("b1", "ResNet-50 graph; GEMM", ("resnet-graph@low",), ("gemm",)),
    Group("a2", "100 us requests; two 40 ms-kernel programs", ("req",), ("hog",) * 2, WITH_SOLO),
    Group("b3", "ResNet-50 graph; GEMM, ResNet-50 training, BERT training",
          ("resnet-graph@low",), ("gemm", "resnet-train", "bert-train"), WITH_SOLO),
    Group("slices", "100 us requests; two 40 ms-kernel programs; the batch pool's slice",
          ("req",), ("hog",) * 2, ("pools",), "slices"),
    Group("blocks", "100 us requests; blocks of 20 us to 40 ms, switched and drained",
          ("req",), ("blocks",), ("pools",), "blocks"),
    Group("context", "100 us requests; kernels with more and more state",
          ("req",), ("context",), ("pools",), "context"),
    Group("parts", "requests of 40 kernels in 800 us; one 40 ms-kernel program", ("req-parts",),
          ("hog",), ("pools", "pools-solo"), "parts"),
    Group("parts-gemm", "requests of 40 kernels in 800 us; GEMM", ("req-parts",), ("gemm",),
          ("pools",), "parts"),
    Group("pair", "two times requests of 40 kernels in 800 us; one 40 ms-kernel program",
          ("req-parts@1ms",) * 2, ("hog",), ("mps", "pools"), "pair"),
    Group("pair-first", "the same, on streams of the highest priority",
          ("req-parts-first@1ms",) * 2, ("hog",), ("mps", "pools"), "pair"),
    Group("cold", "ResNet-50 graph alone, with and without what it left in the caches",
          ("resnet-graph@low", "resnet-graph-cold"), (), ("plain",), "cold"),
    Group("sizes", "latency programs alone, on more and more SMs",
          ("resnet-graph@high", "bert-graph@low", "gpt@low"), (), ("parts",), "sizes"),
    Group("cost", "what control costs a program that has the GPU alone", (), (), ("cost",), "cost"),
    Group("a4", "100 us requests; four 40 ms-kernel programs", ("req",), ("hog",) * 4),
    Group("c1", "two times 100 us requests; two 40 ms-kernel programs",
          ("req",) * 2, ("hog",) * 2),
    Group("c2", "ResNet-50 and BERT graphs; GEMM, ResNet-50 training",
          ("resnet-graph@low", "bert-graph@low"), ("gemm", "resnet-train")),
    Group("m1", "100 us requests; memory copies by a kernel", ("req",), ("copy",)),
    Group("b2", "BERT graph; ResNet-50 training, BERT training",
          ("bert-graph@low",), ("resnet-train", "bert-train")),
    Group("g1", "GPT decoder; GEMM", ("gpt@low",), ("gemm",)),
    Group("e1", "ResNet-50 eager; GEMM", ("resnet-eager@low",), ("gemm",)),
    Group("b1-medium", "ResNet-50 graph, medium load; GEMM",
          ("resnet-graph@medium",), ("gemm",)),
    Group("b1-high", "ResNet-50 graph, high load; GEMM",
          ("resnet-graph@high",), ("gemm",)),
    Group("c3", "ResNet-50 and BERT graphs; GEMM", ("resnet-graph@low", "bert-graph@low"),
          ("gemm",)),
    Group("g2", "GPT decoder, 80 % of the time; memory copies by a kernel",
          ("gpt@busy",), ("copy",)),
    Group("c4", "ResNet-50 and BERT graphs, GPT decoder; GEMM",
          ("resnet-graph@low", "bert-graph@low", "gpt@low"), ("gemm",)),
    Group("b2-medium", "BERT graph, medium load; ResNet-50 training, BERT training",
          ("bert-graph@medium",), ("resnet-train", "bert-train")),
    Group("b2-high", "BERT graph, high load; ResNet-50 training, BERT training",
          ("bert-graph@high",), ("resnet-train", "bert-train")),
    Group("g1-medium", "GPT decoder, medium load; GEMM", ("gpt@medium",), ("gemm",)),
    Group("e1-medium", "ResNet-50 eager, medium load; GEMM", ("resnet-eager@medium",), ("gemm",)),
    Group("e1-high", "ResNet-50 eager, high load; GEMM", ("resnet-eager@high",), ("gemm",)),
    Group("a1-1ms", "100 us requests, gaps of 1 ms; one 40 ms-kernel program",
          ("req@1ms",), ("hog",)),
    Group("a1-300us", "100 us requests, gaps of 0.3 ms; one 40 ms-kernel program",
          ("req@300us",), ("hog",)),
    Group("a1-open", "100 us requests, Poisson arrivals; one 40 ms-kernel program",
          ("req-open",), ("hog",)),
    Group("a1-graph", "100 us requests of ten kernels as a graph; one 40 ms-kernel program",
          ("req-graph",), ("hog",)),
    Group("m2", "100 us requests; memory copies by copy engines", ("req",), ("dma",)),
    Group("g1-high", "GPT decoder, high load; GEMM, BERT training",
          ("gpt@high",), ("gemm", "bert-train")),
    Group("b4", "BERT graph; two GEMM, ResNet-50 training, BERT training",
          ("bert-graph@low",), ("gemm", "gemm", "resnet-train", "bert-train")),
    Group("a8", "100 us requests; eight 40 ms-kernel programs", ("req",), ("hog",) * 8,
          ("plain", "pools")),
]
GROUP_OF = {group.name: group for group in GROUPS}

# The first run of everything that matters comes before the second of anything.
REPEAT_AFTER = 11


def _sweep(group, start):
    alone = Window("alone:L1", ("L1",))
    if group.kind == "parts":
        return (alone, Window("pools"),
                Window("slice:1", commands=("pool:batch --slice 1us",)),
                Window("slice:100", commands=("pool:batch --slice 100us",)),
                Window("drain", commands=("pool:batch --slice auto --mode drain",))), 0
    if group.kind == "pair":
        both = Window("latency-only", ("L1", "L2"))
        steps = [Window(f"{pool}:{us}", commands=(f"pool:{pool} --slice {us}us",))
                 for pool, us in PAIR_SLICES_US]
        return (alone, both) + ((Window(start), *steps) if start == "pools" else ()), 0
    if group.kind == "cold":
        return (alone, Window("alone:L2", ("L2",))), 0
    if group.kind == "sizes":
        return tuple(Window(f"size:{n}", (name,), (f"{name} --sms {n}",), 0.5, 0.3)
                     for name, _ in _first_of_each("L", group.latency) for n in SIZES), 0
    if group.kind == "slices":
        steps = tuple(Window(f"slice:{us}", commands=(f"pool:batch --slice {us}us",),
                             scale=0.6, settle_s=0.4) for us in SLICES_US)
        return (alone,) + steps, 0
    if group.kind == "blocks":
        n = CYCLED_BLOCKS
        return (alone, Window("cycle:batch-alone", ("B1",), scale=0),
                Window("cycle:switch", commands=("pool:batch --mode switch",), scale=0),
                Window("cycle:drain", commands=("pool:batch --mode drain",), scale=0)), n
    return (alone, Window("cycle:switch", commands=("pool:batch --mode switch",), scale=0)), \
        CONTEXT_VARIANTS


def only_ways(cells, ways):
    """The same cells, without the windows of other ways of sharing; all of them if it names none."""
    if not ways:
        return cells
    labels = {w.label for c in cells if GROUP_OF[c.group].kind == "mix" for w, _ in c.windows}
    unknown = [w for w in ways if w not in labels or w.startswith("alone:")]
    if unknown:
        raise ValueError(f"no way is called '{unknown[0]}'; --list shows them in brackets")

    def keep(cell):
        return GROUP_OF[cell.group].kind != "mix" or any(w.label in ways for w, _ in cell.windows)

    def cut(cell):
        if GROUP_OF[cell.group].kind != "mix":
            return cell
        return replace(cell, windows=tuple(
            (w, s) for w, s in cell.windows if w.label in ways or w.label.startswith("alone:")))
    return [cut(c) for c in cells if c.start == "plain" or keep(c)]


def make_cells(seconds, repeats, torch_seconds=None, rounds=1):
    """All cells, most telling first. `seconds` is the usual length of a window, `rounds` how often
    the windows of a mix are measured in a cell."""
    cells = []
    for index, group in enumerate(GROUPS):
        for rep in range(repeats):
            # The ways in another order each time: what drifts hits all of them.
            starts = group.starts[rep % len(group.starts):] + \
                group.starts[:rep % len(group.starts)]
            for i, start in enumerate(starts):
                priority = index + REPEAT_AFTER * rep + 0.01 * i
                priority += LATER.get(start, 0)
                cells.append(_make(group, start, rep, priority, seconds, torch_seconds,
                                   rounds))
    return sorted(cells, key=lambda c: c.priority)


def _make(group, start, rep, priority, seconds, torch_seconds, rounds):
    if group.kind == "cost":
        return Cell(group.name, start, (), (), (), priority, rep=rep)
    if group.kind == "mix":
        windows, n_variants = _windows(group, start, rounds), 0
    else:
        windows, n_variants = _sweep(group, start)
    each_s = max(0.3, 0.35 * seconds)
    cell = Cell(group.name, start, group.latency, group.batch, windows, priority,
                each_s=each_s if n_variants else 0, rep=rep)
    usual = (torch_seconds or 1.4 * seconds) if cell.torch else seconds
    lengths = tuple((w, usual * w.scale if w.scale else n_variants * each_s + 0.5)
                    for w in windows)
    return replace(cell, windows=lengths)


def choose(cells, only):
    """Those that `only` names: groups, group.start, or ids; all if it is empty."""
    if not only:
        return cells
    unknown = [o for o in only if not any(_named(c, o) for c in cells)]
    if unknown:
        raise ValueError(f"no cell is called '{unknown[0]}'; --list shows them")
    return [c for c in cells if any(_named(c, o) for o in only)]


def _named(cell, name):
    return name in (cell.group, f"{cell.group}.{cell.start}", cell.id)


def estimate_s(cell):
    """About how long a cell takes."""
    if cell.group == "cost":
        return 45.0
    start = 11.0 if cell.torch else 1.5
    start += {"plain": 0, "mps": 1.5, "mps70": 1.5, "mps50": 1.5, "mps30": 1.5,
              "rotate": 0.5}.get(cell.start, 3.0)
    return start + 2.0 + sum(w.settle_s + s for w, s in cell.windows)
