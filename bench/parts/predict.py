#!/usr/bin/env python3
"""What the simulator predicts of parts, beside what was measured: the table of docs/simulator.md.

The table lies between a line "<!-- predict FILE.. -->" and "<!-- end -->". The files are results of
bench/live/run.py (result.json.gz), from the top of the repository; measured.csv is always there. To write it anew:
bench/parts/predict.py docs/simulator.md
"""
import argparse
import csv
import gzip
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "live"))

from livebench.document import rewrite  # noqa: E402

LATE_US = 10**9  # after the end
# Its name in bench/live, a title, its scenario, what is changed in it, whether its responses are requests.
NOW_AND_THEN = (("    program:\n      - cpu_us: 200\n",
                 "    arrivals: {per_s: 125, gaps: after}\n    program:\n"),)
MIXES = (("b1-high", "ResNet-50 graph, high load; GEMM", "parts", (), True),
         ("b1", "ResNet-50 graph, low load; GEMM", "parts", NOW_AND_THEN, True),
         ("c3", "ResNet-50 and BERT graphs; GEMM", "parts-two", (), True),
         ("g2", "GPT decoder, kernel by kernel; memory copies", "parts-decoder", (), False))
# The policy, the batch program's SMs, and the latency programs': of all of them together, or of each.
WAYS = {"timeslice": ("timeslice", 0, 0), "pools": ("pools", 0, 0), "parts24": ("parts", 24, 0),
        "parts32": ("parts", 32, 0), "parts64": ("parts", 64, 0), "parts96": ("parts", 96, 0),
        "parts112": ("parts", 112, 0), "parts64-rest": ("parts", 64, 64),
        "parts24-40-68": ("parts", 24, (40, 68))}
TITLES = {"timeslice": "time slicing", "pools": "pools", "parts24": "parts, batch on 24",
          "parts32": "parts, batch on 32", "parts112": "parts, batch on 112",
          "parts24-40-68": "parts, batch on 24, latency on 40 and 68",
          "parts64": "parts, batch on 64", "parts96": "parts, batch on 96",
          "parts64-rest": "parts, batch on 64, latency on others"}


def app_names(text):
    """All of them, and those of class latency."""
    blocks = re.split(r"\n  - name: ", text)[1:]
    return ([b.split("\n", 1)[0] for b in blocks],
            [b.split("\n", 1)[0] for b in blocks if "class: latency" in b])


def with_line(text, name, line):
    return text.replace(f"- name: {name}\n", f"- name: {name}\n    {line}\n")


def play(cotenant, text):
    done = subprocess.run([cotenant, "sim", "-", "--json", "-"], input=text, text=True, check=True,
                          capture_output=True)
    return {app["name"]: app for app in json.loads(done.stdout)["apps"]}


def arrange(text, way):
    policy, batch_sms, latency_sms = WAYS[way]
    names, latency = app_names(text)
    text = re.sub(r"policy: \w+", f"policy: {policy}", re.sub(r" +sms: .*\n", "", text))
    each = latency_sms if isinstance(latency_sms, tuple) else \
        [latency_sms // len(latency)] * len(latency)
    for name in names:
        sms = each[latency.index(name)] if name in latency else batch_sms
        if sms:
            text = with_line(text, name, f"sms: {sms}sm")
    return text


def alone(cotenant, text):
    """Each app when the others never start."""
    names, _ = app_names(text)
    apps = {}
    for name in names:
        single = arrange(text, "timeslice")
        for other in names:
            if other != name:
                single = with_line(single, other, f"start_us: {LATE_US}")
        apps[name] = play(cotenant, single)[name]
    return apps


def predict(cotenant, mix, ways):
    """way -> (p99 of the worst latency program in times alone, or None; the batch program's rate)."""
    _, _, scenario, changes, are_requests = mix
    with open(os.path.join(ROOT, "scenarios", scenario + ".yaml"), encoding="utf-8") as f:
        text = f.read()
    for old, new in changes:
        text = text.replace(old, new)
    single = alone(cotenant, text)
    names, latency = app_names(text)
    batch = next(name for name in names if name not in latency)
    found = {}
    for way in ways:
        apps = play(cotenant, arrange(text, way))
        ratios = [apps[name]["response_us"]["p99"] / single[name]["response_us"]["p99"]
                  for name in latency]
        found[way] = (max(ratios) if are_requests else None,
                      apps[batch]["runs"] / single[batch]["runs"])
    return found


def read_probes():
    with open(os.path.join(HERE, "measured.csv"), encoding="utf-8") as f:
        rows = csv.DictReader(line for line in f if not line.startswith("#"))
        return {(r["mix"], r["way"]): (float(r["p99"]) if r["p99"] else None, float(r["rate"]))
                for r in rows}


def read_results(names):
    found = {}
    for name in names:
        with gzip.open(os.path.join(ROOT, name), "rt") as f:
            for row in json.load(f)["rows"]:
                ratios = [x["ratio"]["median"] for x in row["latency"] if x.get("ratio")]
                if ratios and row["sum"]:
                    found[row["group"], row["way"]] = (max(ratios), row["sum"]["median"])
    return found


def cells(pair):
    p99, rate = pair or (None, None)
    return (f"{p99:.2f}x" if p99 else "", f"{rate:.2f}" if rate is not None else "")


def table(cotenant, names, only):
    probes, results = read_probes(), read_results(names)
    lines = ["| mix | way | p99: probes | p99: cotenant | p99: predicted | rate: probes | "
             "rate: cotenant | rate: predicted |", "|---" * 8 + "|"]
    for mix in (m for m in MIXES if only in ("", m[0])):
        ways = [w for w in WAYS if (mix[0], w) in probes or (mix[0], w) in results]
        for way, found in predict(cotenant, mix, ways).items():
            triples = zip(*(cells(pair) for pair in (probes.get((mix[0], way)),
                                                     results.get((mix[0], way)), found)))
            lines.append("| " + " | ".join([mix[1] if way == ways[0] else "", TITLES[way],
                                            *(c for triple in triples for c in triple)]) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("document")
    parser.add_argument("--cotenant", default=os.path.join(ROOT, "build", "bin", "cotenant"))
    parser.add_argument("--only", default="", metavar="MIX", help="no others, as bench/live calls it")
    args = parser.parse_args()
    rewrite(args.document, "predict", lambda names: table(args.cotenant, names, args.only))


if __name__ == "__main__":
    main()
