"""What `cotenant model consolidate` says of a set, by what was measured of each of its kernels alone."""
import json
import os
import statistics
import tempfile

from sets import LAUNCHES, SMALLEST, alone, parts_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
POWER = os.path.join(ROOT, "scenarios", "models", "h200.yaml")
BYTES_OF_ACCESS = 128  # of a warp whose threads read four bytes each, side by side
WAYS = ("apart", "streams", "merged")


def line_fit(points):
    """(where it begins, how it rises) of a line through [(x, y)], by least squares of the relative error."""
    weights = [1 / y ** 2 for _, y in points]
    mean_x = sum(w * x for w, (x, _) in zip(weights, points)) / sum(weights)
    mean_y = sum(w * y for w, (_, y) in zip(weights, points)) / sum(weights)
    rise = (sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points)) /
            sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points)))
    return mean_y - rise * mean_x, rise


class Launches:
    """What launches cost here, by copies of a kernel that does nearly nothing. Microseconds."""

    def __init__(self, there):
        n = {name: parts_of(name)[0][2] for name in LAUNCHES}
        points = {way: [(n[name], there[name][way]["s"] * 1e6) for name in LAUNCHES if "s" in there[name].get(way, {})]
                  for way in WAYS}
        self.end_us, self.call_us = line_fit(points["apart"])
        self.instance_us = line_fit(points["merged"])[1]
        self.end_beside_us = statistics.mean(us - self.call_us * n for n, us in points["streams"])
        # The thread's time for a launch is measured for each kernel; the launches of one follow each other that fast.
        self.per_issued = self.call_us / (there[f"{SMALLEST}*1"]["apart"]["issued_s"] * 1e6)

    def yaml(self):
        return (f"launch: {{call_us: {self.call_us:.6g}, end_us: {max(self.end_us, 0):.6g}, "
                f"end_beside_us: {max(self.end_beside_us, 0):.6g}, instance_us: {max(self.instance_us, 0):.6g}}}\n")


def kernel_yaml(number, part, there, counts, launches):
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
    call_us = apart["issued_s"] * 1e6 / instance["launches"] * launches.per_issued
    return (f"  - name: k{number}\n    blocks: {blocks}\n    threads_per_block: {threads}\n"
            f"    regs_per_block: {registers}\n    shmem_per_block: {shared}\n"
            f"    comp: {comp:.6g}\n    coalesced: {accesses:.6g}\n    launches: {instance['launches']}\n"
            f"    call_us: {call_us:.6g}\n    alone_us: {apart['s'] * 1e6:.6g}\n    count: {n}\n")


def predict(name, there, counts, run):
    """{way: candidate}; `run`(command...) runs cotenant and returns what it says."""
    parts = parts_of(name)
    launches = Launches(there)
    with open(POWER, encoding="utf-8") as f:
        power = f.read().partition("power:")[2].partition("kernels:")[0]
    text = "schema: cotenant.kernels/1\ngpu: h200\n" + launches.yaml() + "power:" + power + "kernels:\n"
    for number, part in enumerate(parts):
        text += kernel_yaml(number, part, there, counts, launches)
    wanted = {f"k{number}": part[2] for number, part in enumerate(parts)}
    said = {}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        for way, options in (("streams", ["--concurrent"]), ("merged", [])):
            out = run("model", "consolidate", f.name, "--json", *options)
            for candidate in json.loads(out)["candidates"]:
                if candidate["kernels"] == wanted:
                    said[way] = candidate
    return said
