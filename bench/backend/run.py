#!/usr/bin/env python3
"""What a backend (docs/backend.md) costs and is worth: copies of one program, apart and merged.

One, two and nine copies of a program that launches a small kernel and waits, again and again: as they are, in the
batch pool, and with `cotenant run --backend`, by the model and always. And one copy with several streams, as it is and with
`cotenant run --merge`. One line of JSON for each run: how long a
launch and its wait took in each copy, whether its words are right, and how many launches were merged. Runs that are
in the output already are not repeated. Takes less than --budget seconds.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

LIMIT_S = 12  # for a program to end, from when all should have
TAIL = 600  # characters of what a program that failed has said
LOG_LINES = 12  # of the backend, at the begin and at the end

# way: options of cotenant run, environment, options of the program
WAYS = {
    "own": ([], {}, []),
    "backend": (["--backend", "it"], {}, []),
    "always": (["--backend", "it"], {"COTENANT_MERGE": "always"}, []),
    "merge": (["--merge"], {}, []),
    # Four kernels, one in each stream in turn.
    "own4": ([], {}, ["--kernels", "4"]),
    "merge4": (["--merge"], {}, ["--kernels", "4"]),
}


def runs():
    """Copies, way, rounds of the kernel, launches before a wait, streams: the most telling first."""
    for rounds in (1000, 20000):
        for copies in (1, 2, 9):
            for way in ("own", "always", "backend"):
                yield copies, way, rounds, 1, 1
    for way in ("own", "always"):
        yield 9, way, 1000, 8, 1
    # Within a process: what `cotenant run --merge` is worth.
    for rounds in (1000, 20000):
        for streams in (2, 9):
            for way in ("own", "merge"):
                yield 1, way, rounds, 1, streams
        for way in ("own4", "merge4"):
            yield 1, way, rounds, 1, 4


def chosen(args):
    if not args.only:
        return list(runs())
    names = {".".join(map(str, key)): key for key in runs()}
    unknown = [name for name in args.only.split(",") if name not in names]
    if unknown:
        sys.exit(f"run.py: no run is called '{unknown[0]}'; they are {', '.join(names)}")
    return [names[name] for name in args.only.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where the lines go")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), metavar="FOLDER",
                        help="with cotenant, cotenantd, cotenant-backend and backend-copies")
    parser.add_argument("--seconds", type=float, default=0.6, metavar="S", help="how long each run launches")
    parser.add_argument("--budget", type=float, default=85, metavar="S", help="no run begins that could end later")
    parser.add_argument("--most", type=int, default=100, metavar="N", help="so many runs at most")
    parser.add_argument("--only", default="", metavar="RUN[,..]",
                        help="these runs alone, as COPIES.WAY.ROUNDS.DEPTH.STREAMS, in this order")
    parser.add_argument("--driver", metavar="FOLDER", help="with libcuda.so.1, if the linker does not find it")
    return parser.parse_args()


class Machine:
    """A daemon of its own, in a folder of its own."""

    def __init__(self, args):
        self.args = args
        self.folder = tempfile.mkdtemp(prefix="backend-bench-")
        self.env = dict(os.environ, COTENANT_RUNTIME_DIR=self.folder, XDG_CACHE_HOME=self.folder,
                        COTENANT_SOCKET=os.path.join(self.folder, "cotenantd.sock"), COTENANT_LOG="info")
        if args.driver:
            path = os.environ.get("LD_LIBRARY_PATH")
            self.env["LD_LIBRARY_PATH"] = args.driver + (":" + path if path else "")
            self.env["COTENANT_SHIM_DRIVER"] = os.path.join(args.driver, "libcuda.so.1")
        self.log = open(os.path.join(self.folder, "daemon.log"), "w", encoding="utf-8")
        self.daemon = subprocess.Popen([self.program("cotenantd")], env=self.env, stdout=self.log, stderr=self.log)
        end = time.time() + 10
        while time.time() < end and subprocess.run([self.program("cotenant"), "ps"], env=self.env, check=False,
                                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            time.sleep(0.05)

    def program(self, name):
        return os.path.join(self.args.bin, name)

    def say(self):
        self.log.flush()
        for name in os.listdir(self.folder):
            if name.endswith(".log"):
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as log:
                    sys.stderr.write("".join(log.readlines()[-15:]))

    def end_pools(self):
        """They outlive their daemon."""
        control = os.environ.get("COTENANT_MPS_CONTROL", "nvidia-cuda-mps-control")
        for place, folders, _ in os.walk(self.folder):
            if "pipe" in folders:
                env = dict(self.env, CUDA_MPS_PIPE_DIRECTORY=os.path.join(place, "pipe"))
                try:
                    subprocess.run([control], input="quit -t 1\n", text=True, env=env, timeout=6, check=False,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                except (OSError, subprocess.TimeoutExpired):
                    pass

    def close(self):
        self.daemon.terminate()
        self.daemon.wait(10)
        self.end_pools()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def result_of(process, until):
    try:
        out, err = process.communicate(timeout=max(until - time.time(), 0.1))
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return {"error": "it did not end in time", "tail": err[-TAIL:]}
    try:
        result = json.loads(out)
    except ValueError:
        return {"error": "no result", "status": process.returncode, "tail": (out + err)[-TAIL:]}
    found = re.search(r"merged (\d+) launches into (\d+); (\d+) went", err)
    if found:
        result["merged"], result["not"] = int(found.group(1)), int(found.group(3))
        result["why_not"] = {m.group(1): int(m.group(2)) for m in re.finditer(r"info: (merge-[a-z]+): (\d+)", err)}
    found = re.search(r"a launch took (\d+) ns, handed over (\d+) ns", err)
    if found:
        result["own_ns"], result["hand_ns"] = int(found.group(1)), int(found.group(2))
    # That it is attached, or why not; which calls the driver did not take.
    said = [re.sub(r"^.*?(info|warning|warn|error): ", "", line) for line in err.splitlines() if "backend" in line]
    if said:
        result["said"] = said[:8]
    return result


def run(machine, key, seconds):
    copies, way, rounds, depth, streams = key
    options, env, of_program = WAYS[way]
    at = time.time() + 1.5 + 0.25 * copies  # when all have their contexts
    processes = []
    for seed in range(copies):
        command = [machine.program("cotenant"), "run", "--required", "--name", f"copy{seed}", *options, "--",
                   machine.program("backend-copies"), "--seconds", str(seconds), "--rounds", str(rounds), "--depth",
                   str(depth), "--streams", str(streams), "--seed", str(seed + 1), "--at", f"{at:.3f}", *of_program]
        processes.append(subprocess.Popen(command, env=dict(machine.env, **env), text=True, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE))
    until = at + seconds + LIMIT_S
    return [result_of(p, until) for p in processes]


def backend_log(machine):
    """What the backend of this run has said; the next one begins a new file."""
    path = os.path.join(machine.folder, "backend-it.log")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as log:
        lines = [line.strip().replace("cotenant-backend: ", "") for line in log]
    os.unlink(path)
    return lines[:LOG_LINES] + lines[LOG_LINES:][-LOG_LINES:]


def summary(results):
    good = [r for r in results if "mean_us" in r]
    if len(good) < len(results):
        return {"failed": len(results) - len(good)}
    return {"wrong": sum(r["wrong"] for r in good),
            "mean_us": round(sum(r["mean_us"] for r in good) / len(good), 2),
            "p50_us": round(sum(r["p50_us"] for r in good) / len(good), 2),
            "launches_per_s": round(sum(r["steps"] * r["depth"] * r["streams"] / r["seconds"] for r in good)),
            "late_ms": max(r["late_ms"] for r in good),  # so long not all copies were there
            "own_ns": max(r.get("own_ns", 0) for r in good), "hand_ns": max(r.get("hand_ns", 0) for r in good),
            "merged": sum(r.get("merged", 0) for r in good)}


def main():
    args = arguments()
    begin, done = time.time(), set()
    if os.path.exists(args.output):
        with open(args.output, encoding="utf-8") as lines:
            done = {tuple(json.loads(line)["key"]) for line in lines}
    machine, failed = None, False
    with open(args.output, "a", encoding="utf-8") as output:
        for key in [k for k in chosen(args) if k not in done][:args.most]:
            if time.time() - begin > args.budget - 8:
                print("no time is left for the other runs; the same command goes on", file=sys.stderr)
                break
            machine = machine or Machine(args)
            results = run(machine, key, args.seconds)
            total = summary(results)
            end_backends(machine)  # each way begins without one that another has left
            line = json.dumps({"key": key, "copies": key[0], "way": key[1], "rounds": key[2], "depth": key[3],
                               "streams": key[4], "total": total, "programs": results, "log": backend_log(machine)})
            output.write(line.replace(machine.folder + "/", "") + "\n")
            output.flush()
            print(*key, total, flush=True)
            if "failed" in total or total["wrong"]:
                failed = True
                machine.say()
    if machine:
        machine.close()
    return failed


def end_backends(machine):
    """By its socket's lock: the process that holds it is ours, for the folder is."""
    socket = os.path.join(machine.folder, "backend-it.sock")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if os.path.basename(words[0]) == b"cotenant-backend" and socket.encode() in words:
            os.kill(int(pid), 15)
            until = time.time() + 3
            while os.path.exists(f"/proc/{pid}") and time.time() < until:
                time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())
