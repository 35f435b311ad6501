"""Programs of chain.py under one daemon of ours, on the machine's GPUs or on emulated ones."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from . import process
from .process import Failed
from .ways import Cotenant, Tools

LIVE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(LIVE))
READY_S, END_S = 40, 20


class Chain:
    """A running program; its windows are known when it has ended."""

    def __init__(self, name, argv, env, folder):
        self.name, self.log = name, os.path.join(folder, f"{name}.{time.monotonic_ns()}.log")
        self.child, self.n_windows = process.spawn(argv, env, self.log, cwd=folder), 1

    def said(self):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def is_ready(self):
        if "ready\n" in self.said():
            return True
        if self.child.poll() is not None:
            raise Failed(f"{self.name} ended with status {self.child.returncode}: {process.tail(self.log)}")
        return False

    def next_window(self):
        """The number of the one that begins, in windows()."""
        self.child.send_signal(signal.SIGUSR1)
        self.n_windows += 1
        return self.n_windows - 1

    def windows(self):
        """Ends it, unless that is done."""
        process.end([self.child], END_S)
        found = [json.loads(line) for line in self.said().splitlines() if line.startswith("{")]
        if self.child.returncode or not found:
            raise Failed(f"{self.name} ended with status {self.child.returncode}: {process.tail(self.log)}")
        return found


class Machine:
    """Where the programs and the driver are."""

    def __init__(self, folder, build, emulate, n_gpus=1):
        self.folder, self.emulate, self.n_gpus = folder, emulate, n_gpus
        build = os.path.abspath(build)
        self.tools = Tools(LIVE, ROOT, cotenant=os.path.join(build, "bin"))
        self.mark = f"{os.getpid()}-{time.time_ns():x}"
        self.env = self.tools.environment(self.mark)
        if emulate:
            emu, state = os.path.join(build, "lib", "emu"), os.path.join(folder, "emu")
            os.makedirs(state, exist_ok=True)
            self.env.update(LD_LIBRARY_PATH=emu, COTENANT_EMU_DIR=state, COTENANT_GPUS=str(n_gpus),
                            COTENANT_EMU_GPUS=str(n_gpus),
                            COTENANT_MPS_CONTROL=os.path.join(emu, "nvidia-cuda-mps-control"))
            self.tools.mps = [self.env["COTENANT_MPS_CONTROL"]]
        self.steps_per_us = None

    def argv(self, what, *options):
        out = [sys.executable, os.path.join(LIVE, "chain.py"), what, *map(str, options)]
        if self.emulate:
            out.append("--emulated")
        if self.steps_per_us:
            out += ["--steps-per-us", repr(self.steps_per_us)]
        return out

    def calibrate(self):
        done = subprocess.run(self.argv("calibrate"), env=self.env,
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise Failed(f"chain.py calibrate: {(done.stderr or done.stdout).strip()[-300:]}")
        answer = json.loads(done.stdout.splitlines()[-1])
        self.steps_per_us = answer["steps_per_us"]
        return answer

    def facts(self):
        """Of what was measured where."""
        out = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "cpus": len(os.sched_getaffinity(0)),
               "kernel": os.uname().release, "gpu": "emulated H200" if self.emulate else None}
        if not self.emulate:
            done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], text=True,
                                  capture_output=True, check=False)
            out["gpu"] = done.stdout.strip().splitlines() if not done.returncode else None
        done = subprocess.run([*self.tools.cotenant, "--version"], env=self.env,
                              text=True, capture_output=True, check=False)
        out["cotenant"] = done.stdout.splitlines()[0] if done.stdout else None
        return out

    def alone(self, name, argv, seconds):
        """What a program does without anybody beside it, and without control."""
        p = Chain(name, argv, self.env, self.folder)
        if not process.wait_for(p.is_ready, READY_S, 0.02):
            raise Failed(f"{name} does not begin: {process.tail(p.log)}")
        time.sleep(0.5)
        p.next_window()
        time.sleep(seconds)
        return p.windows()[-1]


class Daemon(Cotenant):
    """One policy for all GPUs of the machine."""

    def __init__(self, machine, policy, more=""):
        folder = os.path.join(machine.folder, f"d{time.monotonic_ns():x}")
        os.makedirs(folder)
        super().__init__(machine.tools, folder, machine.env)
        self.machine, self.policy, self.more = machine, policy, more

    def configure(self, more=""):
        return super().configure(self.more + more)

    def begin(self, name, argv, *options):
        run = [*self.tools.cotenant, "run", "--required", "--name", name, *options, "--", *argv]
        return Chain(name, run, self.env, self.folder)

    def wait_ready(self, programs):
        if not process.wait_for(lambda: all(p.is_ready() for p in programs), READY_S, 0.02):
            late = next(p for p in programs if not p.is_ready())
            raise Failed(f"{late.name} does not begin: {process.tail(late.log)} {process.tail(self.log)}")


def some_of(known, what):
    """The type of an option that names some of these, with commas between them."""
    def names(text):
        chosen = [name for name in text.split(",") if name]
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {what} '{name}'; expected {', '.join(known)}")
        return chosen
    return names


def options(parser, name):
    """Those that every check has."""
    parser.add_argument("--out", default=f"build/{name}", metavar="DIR")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="DIR", help="has bin and lib")
    parser.add_argument("--bin", dest="build", type=lambda path: os.path.dirname(os.path.abspath(path)), metavar="DIR",
                        default=argparse.SUPPRESS, help="the same: DIR/.. is --build")
    parser.add_argument("--emulate", action="store_true", help="on the emulated GPU")


def run(name, a, check, n_gpus=1):
    """check(machine) in a folder of its own; its status, or 1 with a sentence. Nothing that it has begun is left."""
    began = time.monotonic()
    os.makedirs(a.out, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=f"cot-{name}-")
    machine, status = Machine(folder, a.build, a.emulate, n_gpus), 1
    try:
        status = check(machine)
    except (Failed, subprocess.TimeoutExpired, KeyboardInterrupt) as e:
        print(f"{name}: {e or 'interrupted'}", file=sys.stderr)
    finally:
        process.sweep(machine.mark)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return status


def median(values):
    return statistics.median(values) if values else None


def write_text(path, text):
    """Whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".new", path)


def write(path, value):
    write_text(path, json.dumps(value, indent=1) + "\n")


def go_on(machine, path, result, keys):
    """Into `result` what an earlier run with the same options measured, and how fast kernels are here."""
    try:
        with open(path, encoding="utf-8") as f:
            old = json.load(f)
        if old["options"] == result["options"]:
            result.update({key: old[key] for key in keys})
    except (OSError, ValueError, KeyError):
        pass
    if "steps_per_us" in result:
        machine.steps_per_us = result["steps_per_us"]
    else:
        result.update(machine.calibrate())
