#!/usr/bin/env python3
"""SMQoS in simulated hardware, as a policy over parts, and parts of a fixed size: the table of docs/parts.md.

The table lies between a line "<!-- smqos -->" and "<!-- end -->". To write it anew:
bench/parts/smqos.py docs/parts.md
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "live"))

from livebench.document import rewrite  # noqa: E402

SMS, UNIT, TOP = 132, 8, 12  # of an H200: 15 units, and 12 SMs at the top
TARGETS = (50, 80, 90)       # percent
LONG_S, SHORT_S, ALONE_S = 120, 4, 4
EPOCH_US = 10_000_000 / 1755  # of the hardware, below: 200 epochs, as in the paper

KERNELS = {
    "compute": "{name: step, blocks: 2640, blocks_per_sm: 1, warps_per_block: 8, insts_per_warp: 60000, cpi: 16, "
               "mem_fraction: 0.05, dram_bytes: 64, mlp: 8, regs_per_block: 65536}",
    "memory": "{name: copy, blocks: 2640, blocks_per_sm: 1, warps_per_block: 32, insts_per_warp: 16000, cpi: 2, "
              "mem_fraction: 0.5, dram_bytes: 128, mlp: 8, regs_per_block: 65536}",
}


def scenario(scheduler, end_us, *apps):
    lines = ["schema: cotenant.scenario/1", "gpu: h200", scheduler, "seed: 1", "epoch_cycles: 10000000",
             f"stop: {{at_us: {int(end_us)}}}", "apps:"]
    for i, (kind, *keys) in enumerate(apps):
        lines += [f"  - name: app{i}", *(f"    {key}" for key in keys), "    program:",
                  f"      - kernel: {KERNELS[kind]}", "      - sync"]
    return "\n".join(lines) + "\n"


def play(cotenant, text):
    done = subprocess.run([cotenant, "sim", "-", "--json", "-"], input=text, text=True, check=True,
                          capture_output=True)
    return json.loads(done.stdout)


def insts_per_us(cotenant, kind):
    """Alone on all SMs."""
    found = play(cotenant, scenario("scheduler: fcfs", SHORT_S * 1e6, (kind,)))
    return found["counted"]["apps"][0]["insts"] / found["end_us"]


def fixed(cotenant, pair, alone):
    """For each size of the first one's part: the rates of both."""
    rates = {}
    for rest in range(UNIT, SMS - TOP + 1, UNIT):
        text = scenario("scheduler: timeslice\npolicy: parts", SHORT_S * 1e6,
                        (pair[0], "class: latency", f"sms: {SMS - rest}sm"), (pair[1], f"sms: {rest}sm"))
        counted = play(cotenant, text)["counted"]["apps"]
        rates[SMS - rest] = [counted[i]["insts"] / (SHORT_S * 1e6) / alone[pair[i]] for i in (0, 1)]
    return rates


def software(cotenant, pair, alone, target):
    """The rates since the second one began, and the SMs that nobody had in the end."""
    text = scenario("scheduler: timeslice\npolicy: smqos", LONG_S * 1e6, (pair[0], f"rate: {target}%"),
                    (pair[1], f"start_us: {int(ALONE_S * 1e6)}"))
    found = play(cotenant, text)
    insts = [app["insts"] for app in found["counted"]["apps"]]
    insts[0] -= alone[pair[0]] * ALONE_S * 1e6
    rates = [insts[i] / ((LONG_S - ALONE_S) * 1e6) / alone[pair[i]] for i in (0, 1)]
    return rates, SMS - sum(app["part"]["sms"] for app in found["apps"])


def hardware(cotenant, pair, alone, target):
    text = scenario("scheduler: smqos", 200 * EPOCH_US, (pair[0], f"qos: {{percent: {target}}}"), (pair[1],))
    found = play(cotenant, text)
    counted = found["counted"]
    rates = [counted["apps"][i]["insts"] / found["end_us"] / alone[pair[i]] for i in (0, 1)]
    return rates, int(counted["epoch_gated_sms"][-1])


def row(cotenant, pair, alone, rates, target):
    keeping = [sms for sms, (rate, _) in rates.items() if rate * 100 >= target]
    cells = [f"{pair[0]} beside {pair[1]}", f"{target / 100:.2f}"]
    cells.append(f"{rates[min(keeping)][0]:.2f}, {rates[min(keeping)][1]:.2f} ({min(keeping)} SMs)"
                 if keeping else "none keeps it")
    for way in (hardware, software):
        (first, second), idle = way(cotenant, pair, alone, target)
        cells.append(f"{first:.2f}, {second:.2f} ({idle} idle)")
    return "| " + " | ".join(cells) + " |"


def table(cotenant, only):
    alone = {kind: insts_per_us(cotenant, kind) for kind in KERNELS}
    lines = ["| programs | target | the smallest fixed part that keeps it | hardware | policy |",
             "|---|---|---|---|---|"]
    for pair in ((a, b) for a in KERNELS for b in KERNELS):
        if only in ("", "-".join(pair)):
            rates = fixed(cotenant, pair, alone)
            lines += [row(cotenant, pair, alone, rates, target) for target in TARGETS]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("document")
    parser.add_argument("--cotenant", default=os.path.join(ROOT, "build", "bin", "cotenant"))
    parser.add_argument("--only", default="", metavar="PAIR", help="such as compute-memory")
    args = parser.parse_args()
    rewrite(args.document, "smqos", lambda _: table(args.cotenant, args.only))


if __name__ == "__main__":
    main()
