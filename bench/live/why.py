#!/usr/bin/env python3
"""How soon a miss of `slo` or `laius` could be told from chance, and where it was then, for each window with a target.

  bench/live/why.py cells.json.gz > why.txt

1 % of the requests may miss. A miss is sure at the first request by which two standard deviations more than that
have missed; that is given in seconds at the window's mean rate, and is the least that any policy would need. Of `laius` it is
also said how many requests took half as long again as the median once their program had taken them up: those had something in
their way, the others only waited behind them.
"""
import argparse
import gzip
import json
import re

from livebench import events

MAY_MISS = 0.01
DEVIATIONS = 2
FEWEST = 20  # requests, before misses count
SLOW = 1.5  # times the median
AIMED = ("slo", "slo-learned", "laius")


def sure_after(responses_us, target_us):
    """The number of requests after which misses are no chance; None: they never are."""
    missed = 0
    for n, response in enumerate(responses_us, 1):
        missed += response > target_us
        chance = DEVIATIONS * (n * MAY_MISS * (1 - MAY_MISS)) ** 0.5
        if n >= FEWEST and missed > n * MAY_MISS + chance:
            return n
    return None


def fact(text, name):
    found = re.search(rf"^ *{name} +(.*)$", text, re.M)
    return found.group(1).strip() if found else ""


def arrangement(text):
    run = fact(text, "batch programs run for")
    if run:
        return f"{run.split(',')[0]} in {fact(text, 'once in')}"
    return "usual slices" if fact(text, "batch slice") else fact(text, "arrangement") or fact(text, "SMs")


def slow_share(program):
    """Of the requests, in per cent as text; '' where it is not known when they were taken up."""
    if not program.get("raw_wait_100ns"):
        return ""
    responses, waits = (events.unpack(program[key]) for key in ("raw_100ns", "raw_wait_100ns"))
    took = sorted(r - w for r, w in zip(responses, waits) if r != events.NEVER)
    slow = sum(t > SLOW * took[len(took) // 2] for t in took)
    return f"{100 * slow / len(took):.2f}"


def rows_of(cell, window):
    for name, target_us in window["target_us"].items():
        program = window["programs"].get(name)
        text = window["explain"].get(name, "")
        if not program or not program.get("raw_100ns"):
            continue
        responses = [x / 10 for x in events.unpack(program["raw_100ns"])]
        missed = sum(r > target_us for r in responses)
        after = sure_after(responses, target_us)
        yield (cell["id"], window["label"], name, str(len(responses)), f"{100 * missed / len(responses):.2f}",
               f"{program['p99_us'] / target_us:.2f}" if program["p99_us"] else "never", slow_share(
                   program), f"{after / program['rate']:.1f}" if after else "-",
               arrangement(text), fact(text, "since"), fact(text, "because"))


def table(cells):
    rows = [("start", "window", "program", "requests", "missed %", "p99 / target", "slow %", "sure after s", "at the end",
             "since", "because")]
    for cell in cells:
        for window in cell["windows"]:
            if window["way"] in AIMED and window.get("target_us") and window.get("explain"):
                rows.extend(rows_of(cell, window))
    wide = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(x.ljust(n) for x, n in zip(row, wide)).rstrip() for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cells", metavar="cells.json.gz")
    args = parser.parse_args()
    with gzip.open(args.cells, "rt") as file:
        print(table(json.load(file)["cells"]))


if __name__ == "__main__":
    main()
