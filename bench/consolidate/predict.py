"""What `cotenant model consolidate` says of a set, by what was measured of each of its kernels alone."""
import json
import os
import re
import statistics
import tempfile

from sets import BLOCKS, GAP, LAUNCHES, MANY_BLOCKS, SMALLEST, alone, parts_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
POWER = os.path.join(ROOT, "scenarios", "models", "h200.yaml")
BYTES_OF_ACCESS = 128  # of a warp whose threads read four bytes each, side by side
WAYS = ("apart", "streams", "merged")
MIN_GAIN_PCT = 1  # of energy; chosen by the first 80 sets, of which it has 72 right instead of 69


def line_fit(points):
    """(where it begins, how it rises) of a line through [(x, y)], by least squares of the relative error."""
    return weighted_line_fit(points, [1 / y ** 2 for _, y in points])


def plain_line_fit(points):
    """The same of the error itself: for what lies near 0."""
    return weighted_line_fit(points, [1] * len(points))


def weighted_line_fit(points, weights):
    mean_x = sum(w * x for w, (x, _) in zip(weights, points)) / sum(weights)
    mean_y = sum(w * y for w, (_, y) in zip(weights, points)) / sum(weights)
    rise = (sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points)) /
            sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points)))
    return mean_y - rise * mean_x, rise


class Launches:
    """What launches cost here, by copies of a kernel that does nearly nothing, of a longer one, and of one with many small
    blocks. Microseconds."""

    def __init__(self, there, idle_w):
        n = {name: parts_of(name)[0][2] for name in LAUNCHES}
        points = {way: [(n[name], there[name][way]["s"] * 1e6) for name in LAUNCHES if "s" in there[name].get(way, {})]
                  for way in WAYS}
        self.end_us, self.call_us = line_fit(points["apart"])
        self.call_us = max(self.call_us, 1e-3)  # on a machine so busy that more launches took no longer
        self.instance_us = line_fit(points["merged"])[1]
        # Each end is waited for, however late the others are.
        ends = [(n, us - self.call_us * n) for n, us in points["streams"]]
        self.end_stream_us = max(plain_line_fit(ends)[1], 0)
        self.end_beside_us = statistics.mean(us - self.end_stream_us * (n - 1) for n, us in ends)
        # The thread's time for a launch is measured for each kernel; the launches of one follow each other that fast.
        self.per_issued = self.call_us / (there[f"{SMALLEST}*1"]["apart"]["issued_s"] * 1e6)
        self.gap_us = self.gap(there)
        self.block_ns, self.block_nj = self.blocks(there, idle_w)
        self.blocks_most_us = self.blocks_most(there)

    def call_of(self, line):
        return line["apart"]["issued_s"] * 1e6 / line["instances"][0]["launches"] * self.per_issued

    def gpu_us(self, line):
        """Of a kernel of one launch."""
        return line["apart"]["s"] * 1e6 - self.end_us - self.call_of(line)

    def gap(self, there):
        one = there.get(GAP[0], {}).get("apart", {})
        found = [((there[name]["apart"]["s"] - one["s"]) * 1e6 / (n - 1) - self.gpu_us(there[GAP[0]]))
                 for n, name in enumerate(GAP, 1) if n > 1 and one and "s" in there.get(name, {}).get("apart", {})]
        return max(statistics.mean(found), 0) if found else 0

    def more_merged_us(self, there, name):
        """How much longer a merged launch is than its copies, which fill the GPU one after the other. None: not measured."""
        (kernel, blocks, n), = parts_of(name)
        one, merged = there.get(alone(kernel, blocks)), there.get(name, {}).get("merged", {})
        if not one or "s" not in merged:
            return None
        own_us = merged["s"] * 1e6 - self.end_us - self.call_of(one) - max(self.instance_us, 0) * n
        return max(own_us - self.gpu_us(one) * n, 0)

    def blocks_most(self, there):
        """Microseconds, 0: no bound is known. What was measured to be nothing bounds it, too."""
        more_us = self.more_merged_us(there, MANY_BLOCKS)
        return 0 if more_us is None else max(more_us, 1e-3)

    def blocks(self, there, idle_w):
        """Nanoseconds and nanojoules a block, beyond one launch with as many, and beyond the same work apart."""
        more_us = self.more_merged_us(there, BLOCKS)
        if more_us is None:
            return 0, 0
        (_, blocks, n), = parts_of(BLOCKS)
        merged, apart = there[BLOCKS]["merged"], there[BLOCKS]["apart"]
        block_ns = more_us * 1e3 / (blocks * n)
        if idle_w is None or "j" not in merged or "j" not in apart:
            return block_ns, 0
        more_j = (merged["j"] - idle_w * merged["s"]) - (apart["j"] - idle_w * apart["s"])
        return block_ns, max(more_j * 1e9 / (blocks * n), 0)

    def yaml(self):
        return (f"launch: {{call_us: {self.call_us:.6g}, end_us: {max(self.end_us, 0):.6g}, "
                f"end_beside_us: {max(self.end_beside_us, 0):.6g}, end_stream_us: {self.end_stream_us:.6g}, "
                f"instance_us: {max(self.instance_us, 0):.6g}, gap_us: {self.gap_us:.6g}, "
                f"block_ns: {self.block_ns:.6g}, blocks_most_us: {self.blocks_most_us:.6g}, block_nj: {self.block_nj:.6g}}}\n")


def kernel_yaml(number, part, there, counts, launches, with_joules):
    kernel, blocks, n = part
    line = there[alone(kernel, blocks)]
    instance, apart = line["instances"][0], line["apart"]
    threads = instance["threads"]
    warps = blocks * ((threads + 31) // 32)
    found = counts.get(f"{kernel}/{blocks}/{line['size']}")
    accesses, comp, registers, shared = 0, 1, 0, 0  # of unknown counts: as if it only computed
    if found:
        count = found["count"]
        accesses = (count["read_bytes"] + count["written_bytes"]) / BYTES_OF_ACCESS / warps
        comp = max(count["warp_insns"] / warps - accesses, 1)
        registers, shared = found["plain"]["registers"] * threads, found["plain"]["shared_bytes"]
    call_us = launches.call_of(line)
    joules = f"    alone_j: {apart['j']:.6g}\n" if with_joules else ""
    return (f"  - name: k{number}\n    blocks: {blocks}\n    threads_per_block: {threads}\n"
            f"    regs_per_block: {registers}\n    shmem_per_block: {shared}\n"
            f"    comp: {comp:.6g}\n    coalesced: {accesses:.6g}\n    launches: {instance['launches']}\n"
            f"    call_us: {call_us:.6g}\n    alone_us: {apart['s'] * 1e6:.6g}\n{joules}    count: {n}\n")


def predict(name, there, counts, idle_w, run):
    """{way: candidate}; `run`(command...) runs cotenant and returns what it says. idle_w: as measured, or None."""
    parts = parts_of(name)
    if sum(n for _, _, n in parts) < 2:
        return {}  # it is not a set
    launches = Launches(there, idle_w)
    # All or none: measured joules and those of the power model's counts cannot be compared.
    with_joules = all("j" in there[alone(kernel, blocks)]["apart"] for kernel, blocks, _ in parts)
    with open(POWER, encoding="utf-8") as f:
        power = f.read().partition("power:")[2].partition("kernels:")[0]
    if idle_w is not None:
        power = re.sub(r"idle_w: *[0-9.]+", f"idle_w: {idle_w:.6g}", power)
    text = "schema: cotenant.kernels/1\ngpu: h200\n" + launches.yaml() + "power:" + power + "kernels:\n"
    for number, part in enumerate(parts):
        text += kernel_yaml(number, part, there, counts, launches, with_joules)
    said = {}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        for way, options in (("streams", ["--concurrent"]), ("merged", [])):
            out = run("model", "consolidate", f.name, "--whole", "--json", "--min-gain", str(MIN_GAIN_PCT), *options)
            said[way], = json.loads(out)["candidates"]
    return said
