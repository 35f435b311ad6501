#!/usr/bin/env python3
"""Trials of cotenant with real processes on this machine's GPU, or on the emulated one.

Each says pass or fail: first runs at the same moment (race), programs that set channels up all the
time while others are frozen (churn), several users under one daemon (users). The status is 1 when
one failed. Nothing of the GPU is set; everything that was started is ended.
"""
import argparse
import os
import shlex
import sys
import tempfile

from livebench import machine, trials
from livebench.ways import Tools

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("trials", nargs="*", default=list(trials.TRIALS), metavar="TRIAL",
                   help=", ".join(trials.TRIALS))
    p.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="DIR",
                   help="has bin, lib and release/progs")
    p.add_argument("--out", default="build/check", metavar="DIR", help="check.log goes there")
    p.add_argument("--rounds", type=int, default=20, help="of the race")
    p.add_argument("--programs", type=int, default=6, help="at once in the race")
    p.add_argument("--emulate", action="store_true", help="on the emulated GPU")
    p.add_argument("--commit", help="to note in the log; default: git's")
    options = p.parse_args(argv)
    for name in options.trials:
        if name not in trials.TRIALS:
            p.error(f"there is no trial '{name}'; expected {', '.join(trials.TRIALS)}")
    options.command = " ".join(shlex.quote(a) for a in ["bench/live/check.py", *argv])
    options.torch, options.python = False, sys.executable  # for machine.facts
    return options


class Setup:
    """Where programs and driver are."""

    def __init__(self, options):
        self.build, self.emulate = os.path.abspath(options.build), options.emulate
        self.tools = Tools(HERE, ROOT, cotenant=os.path.join(self.build, "bin"))

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def prog(self, name):
        return os.path.join(self.build, "release", "progs", name)

    def seconds(self, on_gpu):
        return on_gpu

    def variables(self, folder):
        if not self.emulate:
            return {k: v for k, v in self.tools.environment("").items()
                    if k in ("COTENANT_MPS_CONTROL", "LD_LIBRARY_PATH")}
        emu, machine_folder = os.path.join(self.build, "lib", "emu"), os.path.join(folder, "emu")
        os.mkdir(machine_folder)
        self.shared = machine_folder
        return {"LD_LIBRARY_PATH": emu, "COTENANT_EMU_DIR": machine_folder, "COTENANT_GPUS": "1",
                "COTENANT_MPS_CONTROL": os.path.join(emu, "nvidia-cuda-mps-control")}

    def open_to_users(self):
        """An emulated machine is a folder; a GPU's devices are open already."""
        if self.emulate:
            for folder, _, files in os.walk(self.shared):
                os.chmod(folder, 0o777)
                for name in files:
                    os.chmod(os.path.join(folder, name), 0o666)


def main(argv):
    options = parse(argv)
    setup = Setup(options)
    os.makedirs(options.out, exist_ok=True)
    report = trials.Report(os.path.join(options.out, "check.log"))
    facts = machine.facts(setup.tools, options)
    if options.emulate:
        facts.update(gpu="emulated", driver=None)
    report.info(", ".join(f"{k} {facts[k]}" for k in ("date", "gpu", "driver", "kernel", "cpus",
                                                      "cotenant", "commit", "command")
                          if facts.get(k)))
    mark = os.path.basename(tempfile.mkdtemp(prefix="cot-check-"))
    os.rmdir(os.path.join(tempfile.gettempdir(), mark))
    for name in options.trials:
        trials.TRIALS[name](setup, report, mark, options)
    report.info(f"{report.n_failed} failed")
    return 1 if report.n_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
