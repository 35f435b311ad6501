#!/usr/bin/env python3
"""Whether kernels should run together: 50 sets measured on this machine's GPU, and what the models say of them.

Each set runs apart, at the same time in streams, and merged into one launch where a pass can (bench_consolidate). Then
`cotenant model consolidate` decides by counts that `kernels-run --pass count` made. Sets that are in OUT/sets.jsonl
already are not run again. Writes OUT/result.json and OUT/table.md. See docs/consolidate.md.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
POWER = os.path.join(ROOT, "scenarios", "models", "h200.yaml")
START_S = 4  # of a set: the program's start, inputs and compiling
SET_LIMIT_S = 90
BYTES_OF_ACCESS = 128  # of a warp whose threads read four bytes each, side by side
DOUBLES = ("lavaMD", "LULESH")

# The patent's: BlackScholes, and md5hash and nn in the places of encryption and search, in 2 to 9 copies.
COPIES = [f"{kernel}/33*{n}" for n in range(2, 10) for kernel in ("md5hash", "BlackScholes", "nn")]
OTHERS = ["matrixMul/132*3", "vectorAdd/2000*3", "pathfinder/132*3", "myocyte/24*3", "lavaMD/64*3",
          "particlefilter/200*3", "bfs/500*3", "LULESH/123*2", "md5hash/1056*2", "BlackScholes/40000*2",
          "matrixMul/4096*2"]
PAIRS = ["md5hash/33+BlackScholes/33", "md5hash/66+nn/2000", "matrixMul/132+vectorAdd/20000",
         "lavaMD/64+vectorAdd/20000", "myocyte/24+md5hash/33", "pathfinder/132+BlackScholes/2000",
         "matrixMul/66+lavaMD/64", "nn/20000+vectorAdd/20000", "md5hash/528+matrixMul/2048", "bfs/500+md5hash/66"]
MORE = ["md5hash/33*2+BlackScholes/33*2", "md5hash/33+BlackScholes/33+nn/33",
        "myocyte/24+md5hash/33+lavaMD/64+vectorAdd/2000", "matrixMul/66+md5hash/33*2",
        "particlefilter/200+pathfinder/132+md5hash/33"]
CATEGORIES = {"copies": COPIES, "other copies": OTHERS, "pairs": PAIRS, "more": MORE}


class Failed(Exception):
    """With one sentence."""


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--out", default="build/consolidate", metavar="DIR")
    p.add_argument("--budget", type=float, default=300, metavar="SECONDS", help="begin nothing that would end later")
    p.add_argument("--seconds", type=float, default=1.0, help="length of each measurement")
    p.add_argument("--only", default="", metavar="SET[,..]", help="these sets instead of all")
    p.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), metavar="DIR",
                   help="folder of cotenant, bench_consolidate and kernels-run")
    p.add_argument("--emulate", action="store_true", help="try it on the emulated GPU: few blocks, little work")
    p.add_argument("--list", action="store_true", help="list the sets")
    return p.parse_args(argv)


def category_of(name):
    for category, sets in CATEGORIES.items():
        if name in sets:
            return category
    return "others"


def interleaved():
    """A run that ends early has some of each kind."""
    left = [list(sets) for sets in CATEGORIES.values()]
    while any(left):
        for sets in left:
            if sets:
                yield sets.pop(0)


def parts_of(name):
    """[(benchmark, blocks, instances)]"""
    parts = []
    for text in name.split("+"):
        kernel, _, n = text.partition("*")
        kernel, _, blocks = kernel.partition("/")
        parts.append((kernel, int(blocks), int(n or 1)))
    return parts


def few_blocks(name):
    return "+".join(f"{kernel}/{min(blocks, 8)}*{n}" for kernel, blocks, n in parts_of(name))


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

    def run(self, *command, on_gpu=True, limit=SET_LIMIT_S):
        if on_gpu and self.args.emulate:
            command = (self.path("cotenant"), "run", "--emulate", "h200", "--") + command
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

    def measure(self, name):
        text = few_blocks(name) if self.args.emulate else name
        out = self.run(self.path("bench_consolidate"), "--size", self.size, "--seconds", str(self.args.seconds), text)
        with open(self.raw, "a", encoding="utf-8") as f:
            for line in out.splitlines():
                o = json.loads(line)
                if "set" in o:
                    o["name"] = name
                f.write(json.dumps(o) + "\n")

    def measure_all(self, names):
        for name in names:
            if name in self.lines()[0]:
                continue
            if self.left() < 3 * self.args.seconds + START_S:
                print(f"no time is left for {name} and those behind it; the same command goes on", file=sys.stderr)
                return
            print(name, file=sys.stderr)
            try:
                self.measure(name)
            except Failed as e:
                print(f"{name}: {e}", file=sys.stderr)

    # ---- what the model is told ----

    def counts(self, kernel, blocks, cache):
        """Of a warp, as the file of kernels has them."""
        key = f"{kernel}/{blocks}/{self.size}"
        if key not in cache:
            out = self.run(self.path("kernels-run"), kernel, "--size", self.size, "--blocks", str(blocks),
                           "--pass", "count", "--no-reference")
            found = {o["pass"]: o for o in map(json.loads, out.splitlines()) if "pass" in o}
            if "refused" in found["count"]:
                raise Failed(found["count"]["refused"])
            cache[key] = {"plain": found["plain"], "count": found["count"]}
        return cache[key]

    def kernel_yaml(self, number, part, threads, cache):
        kernel, blocks, n = part
        found = self.counts(kernel, blocks, cache)
        plain, count = found["plain"], found["count"]
        warps = blocks * ((threads + 31) // 32)
        accesses = (count["read_bytes"] + count["written_bytes"]) / BYTES_OF_ACCESS / warps
        return (f"  - name: k{number}\n    blocks: {blocks}\n    threads_per_block: {threads}\n"
                f"    regs_per_block: {plain['registers'] * threads}\n    shmem_per_block: {plain['shared_bytes']}\n"
                f"    comp: {max(count['warp_insns'] / warps - accesses, 1):.6g}\n    coalesced: {accesses:.6g}\n"
                f"    count: {n}\n")

    def model(self, line, cache):
        """{"apart_s":, "streams_s":, "merged_s":, ...} by the models."""
        parts = parts_of(line["set"])
        threads = {i["benchmark"]: i["threads"] for i in line["instances"]}
        with open(POWER, encoding="utf-8") as f:
            power = f.read().partition("power:")[2].partition("kernels:")[0]
        text = "schema: cotenant.kernels/1\ngpu: h200\npower:" + power + "kernels:\n"
        for number, part in enumerate(parts):
            text += self.kernel_yaml(number, part, threads[part[0]], cache)
        wanted = {f"k{number}": part[2] for number, part in enumerate(parts)}
        said = {}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            for way, options in (("streams", ["--concurrent"]), ("merged", [])):
                out = self.run(self.path("cotenant"), "model", "consolidate", f.name, "--json", *options, on_gpu=False)
                for candidate in json.loads(out)["candidates"]:
                    if candidate["kernels"] == wanted:
                        said[way] = candidate
        return said


# ---- what it comes to ----

def cpu_s(line):
    """On one thread, by the reference; where that computes a part only, in proportion."""
    total = 0
    for i in line["instances"]:
        values = i["output_bytes"] / (8 if i["benchmark"] in DOUBLES else 4)
        total += i["check_s"] * max(1, values / max(i["n_checked"], 1))
    return total


def has_energy(line):
    ways = [w for w in (line["apart"], line["streams"], line.get("merged")) if w and "s" in w]
    return all("j" in w for w in ways)


def best_together(line):
    """The way that takes least of what is launched at the same time."""
    ways = [way for way in ("merged", "streams") if "s" in line.get(way, {}) and line[way]["same"]]
    what = "j" if has_energy(line) else "s"
    return min(ways, key=lambda way: line[way][what]) if ways else None


def judge(line, said):
    """Fig. 4 of the patent: less time and less energy than apart. None: not known."""
    merged = line.get("merged", {})
    way = "merged" if "s" in merged and merged["same"] else "streams"
    saves = line[way]["s"] < line["apart"]["s"]
    if has_energy(line):
        saves = saves and line[way]["j"] < line["apart"]["j"]
    row = {"set": line["name"], "category": category_of(line["name"]), "way": way, "saves": saves,
           "best": best_together(line), "cpu_s": cpu_s(line),
           "right_results": all(i["right"] for i in line["instances"]) and line["apart"]["same"] and
           all(line[w]["same"] for w in ("streams", "merged") if "same" in line.get(w, {}))}
    for w in ("apart", "streams", "merged"):
        row[w] = {k: line.get(w, {}).get(k) for k in ("s", "j", "w", "by", "refused")}
    if way in said:
        row["model_consolidates"] = said[way]["consolidate"]
        row["right"] = said[way]["consolidate"] == saves
        row["model"] = {"apart_s": said[way]["apart_s"], "apart_j": said[way]["apart_j"],
                        "streams_s": said["streams"]["together_s"] if "streams" in said else None,
                        "merged_s": said["merged"]["together_s"] if "merged" in said else None,
                        "together_j": said[way]["together_j"]}
    return row


def errors(rows, way):
    found = [row["model"][f"{way}_s"] / row[way]["s"] - 1 for row in rows
             if row.get("model") and row["model"][f"{way}_s"] and row[way]["s"]]
    if not found:
        return None
    return {"n": len(found), "median": statistics.median(map(abs, found)), "mean": statistics.mean(map(abs, found)),
            "worst": max(found, key=abs)}


def summarise(rows):
    judged = [row for row in rows if "right" in row]
    energy = [row for row in judged if row["apart"]["j"] is not None]
    return {
        "n": len(rows), "judged": len(judged), "right": sum(row["right"] for row in judged),
        "with_energy": len(energy), "saves": sum(row["saves"] for row in judged),
        "together_by_model": sum(row["model_consolidates"] for row in judged),
        "merged_beats_streams": sum(row["best"] == "merged" for row in rows if row["merged"]["s"]),
        "merged": sum(bool(row["merged"]["s"]) for row in rows),
        "errors": {category: {way: errors([row for row in rows if row["category"] == category], way)
                              for way in ("apart", "streams", "merged")}
                   for category in [*CATEGORIES, "others"] if any(row["category"] == category for row in rows)},
    }


def shown(value, scale=1.0, digits=3):
    return "-" if value is None else f"{value * scale:.{digits}g}"


def commit():
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "not known"


def table(result):
    s = result["summary"]
    out = ["# Kernels together and apart", "",
           f"GPU: {result['gpu']}. Driver: {result['machine'].get('driver', 'not known')}. "
           f"Idle: {shown(result['machine'].get('idle_w'))} W. Command: `{result['command']}`. "
           f"Commit: {result['commit']}.", "",
           f"* Decisions of `cotenant model consolidate` right: {s['right']} of {s['judged']}"
           f" ({s['with_energy']} of them by time and energy, the others by time alone).",
           f"* Together saves in {s['saves']} of {s['judged']}; the model says so of {s['together_by_model']}.",
           f"* Merged is better than streams in {s['merged_beats_streams']} of {s['merged']}.", "",
           "Errors of the times that the model predicts:", "",
           "| sets | way | n | median | mean | worst |", "|---|---|---|---|---|---|"]
    for category, ways in s["errors"].items():
        for way, e in ways.items():
            if e:
                out.append(f"| {category} | {way} | {e['n']} | {100 * e['median']:.0f} % | {100 * e['mean']:.0f} % "
                           f"| {100 * e['worst']:+.0f} % |")
    out += ["", "Milliseconds and joules of one run of the set; CPU: one thread, in ms; `*`: results differ.", "",
            "| set | apart | streams | merged | CPU | model: apart, together | saves | model says | |",
            "|---|---|---|---|---|---|---|---|---|"]
    for row in result["sets"]:
        cells = [f"{shown(row[w]['s'], 1e3)} ms, {shown(row[w]['j'])} J" if row[w]["s"] else "-"
                 for w in ("apart", "streams", "merged")]
        model = row.get("model")
        together = model and model[f"{row['way']}_s"]
        out.append(f"| {row['set']}{'' if row['right_results'] else ' *'} | {' | '.join(cells)} "
                   f"| {shown(row['cpu_s'], 1e3)} | "
                   f"{shown(model and model['apart_s'], 1e3)}, {shown(together, 1e3)} "
                   f"| {'yes' if row['saves'] else 'no'} "
                   f"| {'-' if not model else 'together' if row['model_consolidates'] else 'apart'} "
                   f"| {'' if row.get('right', True) else 'wrong'} |")
    return "\n".join(out) + "\n"


def write(path, text):
    with open(path + ".part", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".part", path)


def conclude(bench, names):
    there, machine = bench.lines()
    cache_path = os.path.join(bench.args.out, "counts.json")
    cache = {}
    if os.path.exists(cache_path):
        with open(cache_path, encoding="utf-8") as f:
            cache = json.load(f)
    rows = []
    for name in names:
        if name not in there:
            continue
        said = {}
        try:
            said = bench.model(there[name], cache)
        except Failed as e:
            print(f"{name}: no prediction: {e}", file=sys.stderr)
        rows.append(judge(there[name], said))
        write(cache_path, json.dumps(cache))
    if not rows:
        raise Failed("nothing was measured")
    result = {"schema": "cotenant.bench.consolidate.result/1", "gpu": next(iter(there.values()))["gpu"],
              "machine": machine, "command": " ".join(sys.argv), "commit": commit(), "sets": rows,
              "summary": summarise(rows)}
    write(os.path.join(bench.args.out, "result.json"), json.dumps(result, indent=1) + "\n")
    write(os.path.join(bench.args.out, "table.md"), table(result))
    print(f"{result['summary']['right']} of {result['summary']['judged']} decisions are right; "
          f"{bench.args.out}/table.md has all")


def main(argv):
    args = parse(argv)
    names = args.only.split(",") if args.only else list(interleaved())
    if args.list:
        print("\n".join(f"{category_of(name)}: {name}" for name in names))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    os.makedirs(args.out, exist_ok=True)
    bench = Bench(args)
    try:
        bench.measure_all(names)
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
