#!/usr/bin/env python3
"""Two bounds of memory side by side: cotenant's shim (`cotenant run --memory`) and MPS's own
(CUDA_MPS_PINNED_DEVICE_MEM_LIMIT). A program takes memory in steps of 64 MiB in each way that there is, until it is refused:
how much did it get, what does cuMemGetInfo say is left, and what did NVML see? Writes OUT/memory.json and OUT/table.txt.
The build has release/progs/memory, too; the emulated GPU has no bound of MPS. Status 1: the shim let more pass than the bound
in some way, or a step failed."""
import argparse
import os
import subprocess
import sys
import time

from livebench import chains, ways
from livebench.process import Failed

LIMIT_S = 60


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    chains.options(p, "memory")
    p.add_argument("--mib", type=int, default=2048, help="the bound")
    return p.parse_args()


def driver_folder():
    """Where the real libcuda.so.1 is."""
    done = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.split()[:1] == ["libcuda.so.1"] and "x86-64" in line:
            return os.path.dirname(os.path.realpath(line.split("=>")[1].strip()))
    raise Failed("there is no libcuda.so.1 here")


def rows_of(text):
    """{way: (got, left)}; what the driver has not is left out."""
    rows = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] == "free" and words[1].isdigit():
            rows[words[0]] = (int(words[1]), int(words[3]))
        elif len(words) == 2 and "+" in words[0]:
            rows[words[0]] = (int(words[1]), None)
        elif words[:1] == ["failed"]:
            rows["failed"] = line
    return rows


def run(argv, env):
    begin = time.monotonic()
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return {"status": done.returncode, "rows": rows_of(done.stdout), "said": (done.stdout + done.stderr)[-2000:],
            "seconds": round(time.monotonic() - begin, 2)}


def measure(a, machine):
    program = [os.path.join(os.path.abspath(a.build), "release", "progs", "memory"), "--others", "1"]
    out = {}
    daemon = chains.Daemon(machine, "pools")
    daemon.start()
    try:
        out["shim"] = run([*machine.tools.cotenant, "run", "--required", "--memory", f"{a.mib}MiB", "--name", "bounded", "--",
                           *program], daemon.env)
    finally:
        daemon.stop()
    mps = ways.Mps(machine.tools, os.path.join(machine.folder, "mps"), machine.env)
    os.makedirs(mps.folder)
    mps.start()
    try:
        out["mps"] = run(program, {**mps.env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={a.mib}M"})
    finally:
        mps.stop()
    return out


def table(a, result):
    text = f"# {result['date']}, {result['gpu']}, {result['cotenant']}: bench/live/memory.py, a bound of {a.mib} MiB\n"
    text += f"{'way':<18} {'shim got':>9} {'left':>6} {'MPS got':>9} {'left':>6}   (MiB)\n"
    for way in result["shim"]["rows"]:
        cells = []
        for who in ("shim", "mps"):
            got, left = result[who]["rows"].get(way, (None, None)) if way != "failed" else (None, None)
            cells += ["-" if got is None else got, "-" if left is None else left]
        text += f"{way:<18} {cells[0]:>9} {cells[1]:>6} {cells[2]:>9} {cells[3]:>6}\n"
    for who in ("shim", "mps"):
        text += f"{who}: status {result[who]['status']}, {result[who]['seconds']} s"
        text += f", {result[who]['rows']['failed']}\n" if "failed" in result[who]["rows"] else "\n"
    return text


def check(a, machine):
    if not a.emulate:
        machine.env["LD_LIBRARY_PATH"] = ":".join(filter(None, (driver_folder(), machine.env.get("LD_LIBRARY_PATH"))))
    result = {"schema": "cotenant.memory/1", **machine.facts(), "mib": a.mib, **measure(a, machine)}
    chains.write(os.path.join(a.out, "memory.json"), result)
    text = table(a, result)
    chains.write_text(os.path.join(a.out, "table.txt"), text)
    print(text)
    kept = [row[0] <= a.mib for way, row in result["shim"]["rows"].items() if way != "failed"]
    return 0 if kept and all(kept) and not result["shim"]["status"] else 1


if __name__ == "__main__":
    arguments = parse()
    sys.exit(chains.run("memory", arguments, lambda machine: check(arguments, machine)))
