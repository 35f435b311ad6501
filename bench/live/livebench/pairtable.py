"""From the windows of laius.py to figures and tables: which policy keeps the target of how many services, what the
batch programs get beside them, how far predictions are off, and what the policy itself costs."""
import re
import statistics

from . import judge
from .pairs import IN_ONE, KNOW, OVERHEAD, POLICIES, knowledge


# ---- pairs ----

def _row(cell, window, known):
    service = window["programs"].get("L1")
    batch = window["programs"].get("B1")
    if not service or not batch or "target_us" not in window:
        return None
    target_us, spec = window["target_us"]["L1"], cell["tenants"]["B1"]["spec"]
    rate = known.rate(spec)
    if not rate:
        return None
    return {"service": cell["group"][2:], "batch": spec, "load": window["load"], "factor": window["factor"],
            "way": window["way"], "target_us": target_us, "p99_us": service["p99_us"],
            "kept": service["p99_us"] is not None and service["p99_us"] <= target_us,
            "rate": batch["rate"] / rate, "of_left": batch["rate"] / rate / (1 - window["load"])}


def _merged(rows):
    """Repeats of a pair under a policy: medians."""
    first = dict(rows[0])
    p99 = [float("inf") if row["p99_us"] is None else row["p99_us"] for row in rows]
    middle = statistics.median(p99)
    first.update(p99_us=None if middle == float("inf") else middle, n=len(rows),
                 rate=statistics.median(row["rate"] for row in rows),
                 of_left=statistics.median(row["of_left"] for row in rows))
    first["kept"] = first["p99_us"] is not None and first["p99_us"] <= first["target_us"]
    return first


def _pairs(cells):
    found = {}
    for cell, window in judge.good_windows(cells):
        row = _row(cell, window, judge.Known(cells, cell["group"])) if window["way"] in POLICIES else None
        if row:
            key = tuple(row[k] for k in ("service", "batch", "load", "factor", "way"))
            found.setdefault(key, []).append(row)
    return [_merged(rows) for _, rows in sorted(found.items())]


def _of_way(rows):
    """One line of the summary."""
    answered = [row["p99_us"] / row["target_us"] for row in rows if row["p99_us"]]
    return {"pairs": len(rows), "kept": sum(row["kept"] for row in rows),
            "rate": statistics.fmean(row["rate"] for row in rows),
            "of_left": statistics.fmean(row["of_left"] for row in rows),
            "worst": max(answered) if len(answered) == len(rows) else None}


def _points_over(rows, way, other):
    """Of the batch programs' rates, in pairs that were measured under both."""
    rates = {}
    for row in rows:
        rates.setdefault((row["service"], row["batch"], row["load"], row["factor"]), {})[row["way"]] = row["rate"]
    both = [100 * (r[way] - r[other]) for r in rates.values() if way in r and other in r]
    return {"pairs": len(both), "points": statistics.fmean(both)} if both else None


# ---- predictions ----

def _whole_ns(text):
    """The time of a request on all SMs, of a knowledge file."""
    found = re.search(r"inputs:.*?time_ns: \[([0-9, ]+)\]", text, re.DOTALL)
    return int(found[1].split(",")[-1]) if found else None


def _predictions(cells):
    """What a service's request takes alone: as profiled, and as measured in its window."""
    files, rows = knowledge(cells), []
    for cell, window in judge.good_windows(cells):
        name = cell["group"][2:]
        known_ns = _whole_ns(files.get(name, ""))
        figures = window["programs"].get("L1")
        if window["way"] != "alone" or not figures or not figures.get("service_p50_us") or not known_ns:
            continue
        measured_us = figures["service_p50_us"]
        rows.append({"service": name, "load": window["load"], "profiled_us": known_ns / 1e3,
                     "measured_us": measured_us, "error": abs(known_ns / 1e3 - measured_us) / measured_us})
    return rows


# ---- overhead ----

def _overhead(cells):
    """Of a program alone under the policy, against alone without: how much longer a request takes in the median, or how
    much less a batch program gets done."""
    rows = []
    for cell, window in judge.good_windows(cells):
        if window["way"] != OVERHEAD:
            continue
        (name, figures), = window["programs"].items()
        known = judge.Known(cells, cell["group"])
        if name == "L1":
            alone = [w["programs"]["L1"]["p50_us"] for c, w in judge.good_windows(cells, cell["group"])
                     if w["way"] == "alone" and w["load"] == window["load"] and "L1" in w["programs"]]
            alone = [us for us in alone if us]
            cost = figures["p50_us"] / statistics.median(alone) - 1 if alone and figures["p50_us"] else None
            spec = cell["group"][2:]
        else:
            spec = cell["tenants"][name]["spec"]
            cost = 1 - figures["rate"] / known.rate(spec) if known.rate(spec) else None
        if cost is not None:
            rows.append({"program": spec, "cost": cost})
    return rows


def make(cells):
    rows = _pairs(cells)
    ways = {way: _of_way(own) for way in POLICIES if (own := [row for row in rows if row["way"] == way])}
    return {"pairs": rows, "ways": ways,
            "over_baymax": {way: _points_over(rows, way, "baymax") for way in (*IN_ONE[1:], POLICIES[-1])},
            "predictions": _predictions(cells), "overhead": _overhead(cells),
            "profiles": sorted(c["start"] for c in cells if c["group"] == KNOW and c.get("status") == "ok")}


# ---- tables ----

def _table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def summary(result):
    """One line for each policy, and what else there are goals for."""
    rows = []
    for way, f in result["ways"].items():
        over = result["over_baymax"].get(way)
        rows.append([f"`{way}`", f"{f['kept']} of {f['pairs']}", "-" if f["worst"] is None else f"{f['worst']:.2f}",
                     f"{f['rate']:.3f}", f"{f['of_left']:.3f}", f"{over['points']:+.1f}" if over else "-"])
    text = _table(["policy", "targets kept", "worst p99 to its target", "batch programs get, of their rates alone",
                   "of what the service leaves", "points over Baymax"], rows)
    if result["predictions"]:
        mean = statistics.fmean(row["error"] for row in result["predictions"])
        text += f"\nPredictions of a request alone: {100 * mean:.1f} % off in the mean"
        text += f" ({len(result['predictions'])} services and loads).\n"
    if result["overhead"]:
        worst = max(result["overhead"], key=lambda row: row["cost"])
        text += f"\nThe policy itself costs a program alone {100 * worst['cost']:.1f} % at most ({worst['program']}).\n"
    return text


def _cell_text(row):
    if not row:
        return "-"
    p99 = "never" if row["p99_us"] is None else f"{row['p99_us'] / row['target_us']:.2f}"
    return f"{'' if row['kept'] else '**missed** '}{p99}, {row['rate']:.2f}"


def _pair_table(result):
    keys = dict.fromkeys((r["service"], r["batch"], r["load"], r["factor"]) for r in result["pairs"])
    found = {(r["service"], r["batch"], r["load"], r["factor"], r["way"]): r for r in result["pairs"]}
    ways = list(result["ways"])
    rows = [[key[0], key[1], f"{key[2]:g}", f"{key[3]:g}", *(_cell_text(found.get((*key, way))) for way in ways)]
            for key in keys]
    return _table(["service", "batch program", "load", "target, times alone", *(f"`{w}`" for w in ways)], rows)


def markdown(result):
    """table.md: the summary, and all that it is made of."""
    machine = result["machine"]
    text = f"# Laius beside others\n\n{machine.get('gpu') or 'No GPU: a dry run'}; {machine.get('date', '')}\n\n"
    text += summary(result)
    text += "\n## Pairs\n\np99 in parts of the target, and the batch program's rate in parts of its rate alone.\n\n"
    text += _pair_table(result)
    text += "\n## Predictions\n\n" + _table(
        ["service", "load", "profiled, us", "measured, us", "off"],
        [[r["service"], f"{r['load']:g}", f"{r['profiled_us']:.1f}", f"{r['measured_us']:.1f}",
          f"{100 * r['error']:.1f} %"] for r in result["predictions"]])
    text += "\n## Overhead\n\n" + _table(["program alone", "costs"], [
        [r["program"], f"{100 * r['cost']:.1f} %"] for r in result["overhead"]])
    return text
