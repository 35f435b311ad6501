"""The kernels, their sizes, and the cells: what is measured, in the order of how much it tells."""
import dataclasses
import fnmatch

LS = ("nn", "pf", "va", "bfs")
BATCH = ("pl", "mc", "md", "mm", "bs", "md5")
LARGER = ("lu",)  # the paper's larger program, latency-sensitive; in none of its averages

# The paper reserves 8 of 13 SMs for the latency-sensitive program.
RESERVE, OF_SMS = 8, 13
N_ALONE = 4  # requests of each program alone, in a cell of two
BURST_RESERVES = (1, 2, 4, 6, 8, 10, 12)
BURST_PAIRS = (("nn", "md5"), ("nn", "mm"), ("bfs", "md5"), ("va", "bs"), ("pf", "md"))

GROUPS = {
    "pair": "a latency-sensitive and a batch program, 1 ms apart (figures 12, 13, 14)",
    "alone": "a program alone, as it is and under smguard (figure 17)",
    "remap": "one kernel as workers that leave (figures 15, 16, 17)",
    "reserve": "a batch kernel that keeps to CapSMs, or to SMs (figure 10)",
    "burst": "requests at random beside a batch program in a loop (figure 11)",
}


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A benchmark. Its time grows with blocks (or work) to the power of `exponent`."""
    name: str              # of the benchmark in kernels/
    paper_ms: tuple        # table 3: alone on a GTX 970, small and large input
    target_ms: float       # alone, here
    blocks: int            # on an H200 about target_ms
    work: int = 0          # 0: the benchmark's own
    by_work: bool = False  # what is scaled
    exponent: float = 1.0  # 0: not scaled
    most: int = 2**31      # blocks, for memory or for the benchmark
    tiny: int = 0          # blocks on the emulated GPU, for a trial of the bench itself
    tiny_work: int = 0


# Grids are the paper's, times 132 / 13 SMs, where that lasts 5 to 60 ms on an H200 (the smaller
# input of pl, the larger ones of mc and bs). Otherwise blocks or the work in each are such that the
# kernel lasts about as long as in the paper, or 40 ms.
KERNELS = {
    "nn": Kernel("nn", (0.65,), 0.65, 716000, most=1400000, tiny=19),
    "pf": Kernel("pathfinder", (3.7,), 2.0, 38000, most=46298, tiny=9, tiny_work=26),
    "va": Kernel("vectorAdd", (3.15,), 1.1, 1200000, most=1200000, tiny=23),
    "bfs": Kernel("bfs", (2.01,), 2.9, 3907, exponent=0, tiny=4),
    "pl": Kernel("particlefilter", (2.81, 312.51), 8, 802, exponent=0, tiny=8),
    "mc": Kernel("myocyte", (531.73, 2123.46), 40, 975, 4500, by_work=True, tiny=7, tiny_work=2),
    "md": Kernel("lavaMD", (6.74, 143.61), 40, 29000, tiny=6),
    "mm": Kernel("matrixMul", (4.12, 236.91), 40, 30976, exponent=1.5, tiny=24, tiny_work=32),
    "bs": Kernel("BlackScholes", (1.34, 13.33), 5, 3966346, exponent=0, tiny=120),
    "lu": Kernel("LULESH", (), 3, 6000, exponent=0, tiny=4),
    "md5": Kernel("md5hash", (1.67, 39.13), 39.13, 94000, most=96394, tiny=24),
}


@dataclasses.dataclass(frozen=True)
class Cell:
    group: str
    names: tuple   # kernels: latency-sensitive, batch; one in the group remap
    ways: tuple
    repeats: int

    @property
    def id(self):
        return ".".join((self.group, *self.names))


PAIR_WAYS = ("mps", "smguard", "effisha")
ALONE_WAYS = ("mps", "smguard")
RESERVE_WAYS = ("capsm", "gathered", "retreat")


def make_cells(repeats, ways):
    def of(wanted):
        return tuple(w for w in wanted if w in ways)

    pairs = [(ls, batch) for ls in LS for batch in BATCH]
    larger = [(program, batch) for program in LARGER for batch in BATCH]
    cells = [Cell("pair", p, of(PAIR_WAYS), repeats) for p in pairs + larger]
    cells += [Cell("remap", (k,), (), max(1, repeats // 2)) for k in KERNELS]
    cells += [Cell("alone", (k,), of(ALONE_WAYS), repeats) for k in KERNELS]
    cells += [Cell("burst", p, of(("fixed",)), max(1, repeats // 2)) for p in BURST_PAIRS]
    cells += [Cell("reserve", p, of(RESERVE_WAYS), max(1, repeats // 4)) for p in pairs]
    return [c for c in cells if c.ways or c.group == "remap"]


def role(kernel, group):
    """A program alone may have all of the GPU, as a batch program may that no other disturbs."""
    return "latency" if kernel in LS + LARGER and group != "alone" else "batch"


def choose(cells, only):
    """Those whose id matches one of the patterns; a group alone means all of it."""
    if not only:
        return cells
    chosen = []
    for pattern in only:
        found = [c for c in cells if c.group == pattern or fnmatch.fnmatch(c.id, pattern)]
        if not found:
            raise ValueError(f"no cell is called '{pattern}'; --list shows them")
        chosen += [c for c in found if c not in chosen]
    return [c for c in cells if c in chosen]


def estimate_s(cell, sizes):
    """From the times alone, in ms, as far as they are known."""
    alone = [sizes.get(n, {}).get("ms") or KERNELS[n].target_ms for n in cell.names]
    if cell.group == "remap":
        return 2.0 + alone[0] * 1e-3 * cell.repeats * 5
    both = sum(alone) * 1e-3
    if cell.group == "alone":
        return 0.5 + 2 * cell.repeats * len(cell.ways) * (both + 0.008)
    if cell.group == "burst":
        return 1.0 + len(BURST_RESERVES) * cell.repeats * (both + 0.01)
    factor = 2.6 if cell.group == "reserve" else 1.2
    requests = cell.repeats + min(N_ALONE, cell.repeats)
    return 0.5 + len(cell.ways) * requests * (factor * both + 0.008)
