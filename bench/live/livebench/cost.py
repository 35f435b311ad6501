"""What control costs a program that has the GPU alone: launches and the start."""
import json
import os
import shutil
import statistics
import tempfile
import time

from . import measure, process
from .process import Failed
from .programs import Program
from .ways import WAYS

LAUNCH_ROUNDS, START_ROUNDS = 3, 6
LAUNCH_KEYS = ("launch_ns", "launch_min_ns", "one_ns", "one_p99_ns", "graph_ns", "graph_p99_ns")
IDLE_S = 2.0
PART = "64"
ON_PART = f"cotenant run --sms {PART}"
# Changes while kernels of 400 ms are queued: to a part that is made before the first launch, and to new ones.
SET_AHEAD, SET_NEW, SET_S = "96", ("40", "48", "56"), 10

PROBE = Program("cost", "batch", "cost", ())


def _once(argv, env, folder, timeout_s=40):
    out = os.path.join(folder, "cost.out")
    for stale in (out, out + ".bin"):
        if os.path.exists(stale):
            os.unlink(stale)
    log = os.path.join(folder, "cost.log")
    begin = time.monotonic_ns()
    child = process.spawn([*argv, "--out", out], env, log)
    try:
        if not process.wait_for(lambda: child.poll() is not None, timeout_s, 0.002):
            raise Failed(f"{argv} takes longer than {timeout_s} s")
    finally:
        process.end([child])
    try:
        with open(out) as f:
            result = json.load(f)
    except (OSError, ValueError):
        raise Failed(f"cost left no result: {process.tail(log)}") from None
    if result.get("error"):
        raise Failed(f"cost: {result['error']}")
    result["t_spawn_ns"] = begin
    return result


def _variants(tools, way, env):
    """Name: function from argv to (argv, environment). The same program four ways."""
    def controlled(argv):
        return way.launch("cost", PROBE, argv)

    def on_part(argv):
        argv, own_env = controlled(argv)
        begin = argv.index("run") + 1
        return [*argv[:begin], "--sms", PART, *argv[begin:]], own_env
    return {"without": lambda argv: (argv, env),
            "library only": lambda argv: (argv, {**env, "LD_PRELOAD": tools.library}),
            "cotenant run": controlled, ON_PART: on_part}


def _rounds(kind, n, variants, tools, folder):
    runs = {name: [] for name in variants}
    for i in range(n):
        first = i % len(variants)
        for name, make in list(variants.items())[first:] + list(variants.items())[:first]:
            argv, env = make([*tools.programs["cost"], kind])
            runs[name].append(_once(argv, env, folder))
    return runs


def _start_ms(run):
    begin = run["t_spawn_ns"]
    return {"main_ms": (run["t_begin_ns"] - begin) / 1e6,
            "init_ms": (run["t_init_ns"] - begin) / 1e6,
            "context_ms": (run["t_context_ns"] - begin) / 1e6,
            "kernel_ms": (run["t_kernel_ns"] - begin) / 1e6,
            "used_mib": run["used_bytes"] / 2**20}


def _set_ms(tools, way, folder):
    """Until the program is where `cotenant set` wants it, as the daemon says, and what its shim says of that."""
    ready, rows = os.path.join(folder, "ready"), {"ahead": [], "new": []}
    argv, env = way.launch("cost", PROBE, [*tools.programs["cost"], "queued", "--ready", ready, "--out",
                                           os.path.join(folder, "queued.out"), "--life", "60"])
    begin = argv.index("run") + 1
    child = process.spawn([*argv[:begin], "--sms", PART, *argv[begin:]], env, os.path.join(folder, "cost.log"))

    def part():
        return next((t.get("part") or {} for t in way.look().get("tenants", []) if t["name"] == "cost"), {})
    try:
        process.wait_for(lambda: os.path.exists(ready) or child.poll() is not None, 20)
        for kind, sms in [x for new in SET_NEW for x in (("ahead", SET_AHEAD), ("new", new))]:
            since, before, acts = time.monotonic(), part().get("sms"), []

            def is_there(sms=sms, before=before, acts=acts, since=since):
                here = part().get("sms")
                if not acts and here != before:  # or a smaller part, until the new one is made
                    acts.append(round((time.monotonic() - since) * 1e3, 2))
                return str(here) == sms
            way.command(f"cost --sms {sms}")
            process.wait_for(is_there, SET_S, 0.002)
            rows[kind].append({"ms": round((time.monotonic() - since) * 1e3, 2), "acts_ms": acts[0] if acts else None,
                               "shim_us": part().get("place_last_us"), "sms": part().get("sms")})
    finally:
        process.end([child])
    return rows


def _medians(rows):
    return {key: round(statistics.median(r[key] for r in rows), 3) for key in rows[0]}


def run(cell, tools, mark):
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="cl-")
    env = tools.environment(mark)
    way = WAYS["cost"](tools, folder, env)
    result = {"id": cell.id, "group": "cost", "start": "cost", "rep": cell.rep,
              "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    try:
        way.start()
        cpu, since = way.cpu_s(), time.monotonic()
        time.sleep(IDLE_S)
        result["daemon_idle_cpu"] = ((way.cpu_s() or 0) - (cpu or 0)) / (time.monotonic() - since)
        result["daemon_rss_kib"] = _rss_kib(way.daemon.pid)
        variants = _variants(tools, way, env)
        _rounds("start", 1, variants, tools, folder)  # files come into memory
        starts = _rounds("start", START_ROUNDS, variants, tools, folder)
        rows = {name: [_start_ms(r) for r in runs] for name, runs in starts.items()}
        result["start_ms"] = {name: {"median": _medians(r), "context_ms": [
            round(x["context_ms"], 2) for x in r]} for name, r in rows.items()}
        launches = _rounds("launch", LAUNCH_ROUNDS, variants, tools, folder)
        result["launch_ns"] = {
            name: {"median": _medians([{k: r[k] for k in LAUNCH_KEYS} for r in runs]),
                   "launch_ns": [r["launch_ns"] for r in runs]} for name, runs in launches.items()}
        result["set"] = _set_ms(tools, way, folder)
        result["library_kib"] = _library(tools, way, folder, mark)
        result["status"] = "ok"
    except Failed as e:
        result.update(status="failed", why=str(e)[:1000])
    finally:
        way.stop()
        result["left_over"] = process.sweep(mark)
        shutil.rmtree(folder, ignore_errors=True)
        result["seconds"] = round(time.monotonic() - begin, 2)
    return result


def _library(tools, way, folder, mark):
    """In a program that sits there with its context made."""
    ready, go = os.path.join(folder, "ready"), os.path.join(folder, "never")
    argv, env = way.launch("cost", PROBE, [*tools.programs["cost"], "launch", "--ready", ready,
                                           "--go", go, "--life", "30"])
    child = process.spawn(argv, env, os.path.join(folder, "cost.log"))
    try:
        process.wait_for(lambda: os.path.exists(ready) or child.poll() is not None, 20)
        return measure.library_kib(child.pid)
    finally:
        process.end([child])


def _rss_kib(pid):
    try:
        with open(f"/proc/{pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))
    except (OSError, StopIteration, ValueError):
        return None
