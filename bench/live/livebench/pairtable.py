"""From the windows of laius.py to figures and tables: which policy keeps the target of how many services, what the
batch programs get beside them, how far predictions are off, and what the policy itself costs."""
import re
import statistics

from . import judge
from .pairs import BASE, IN_ONE, KNOW, OVERHEAD, POLICIES, SIZED, knowledge


def _named(cell, window, role):
    """The program of that role that was at work in the window, or None: (name, its spec)."""
    return next(((name, cell["tenants"][name]["spec"]) for name in window.get("programs", {})
                 if cell["tenants"][name]["role"] == role), (None, None))


def _service(spec):
    return spec.partition("@")[0]


# ---- pairs ----

def _alone_rate(cells, spec):
    """Of a batch program alone, with the GPU for itself; where that was not measured, alone in the policies' MPS server."""
    for way in ("alone", BASE):
        rates = [w["programs"][name]["rate"] for c, w in judge.good_windows(cells) if w["way"] == way
                 for name, own in (_named(c, w, "batch"),) if own == spec and w["programs"][name].get("rate")]
        if rates:
            return statistics.median(rates)
    return None


def _row(cells, cell, window):
    (service, asked), (batch, spec) = _named(cell, window, "latency"), _named(cell, window, "batch")
    if not service or not batch or service not in window.get("target_us", {}):
        return None
    rate = _alone_rate(cells, spec)
    if not rate:
        return None
    target_us, p99_us = window["target_us"][service], window["programs"][service]["p99_us"]
    rate = window["programs"][batch]["rate"] / rate
    return {"service": _service(asked), "batch": spec, "load": window["load"], "factor": window["factor"],
            "way": window["way"], "target_us": target_us, "p99_us": p99_us,
            "kept": p99_us is not None and p99_us <= target_us, "rate": rate, "of_left": rate / (1 - window["load"])}


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
        row = _row(cells, cell, window) if window["way"] in POLICIES else None
        if row:
            key = tuple(row[k] for k in ("service", "batch", "load", "factor", "way"))
            found.setdefault(key, []).append(row)
    return [_merged(rows) for _, rows in sorted(found.items())]


def _kept_rate(row):
    """What the batch program gets counts where the target is kept, as in targets.py."""
    return row["rate"] if row["kept"] else 0


def _of_way(rows):
    """One line of the summary."""
    answered = [row["p99_us"] / row["target_us"] for row in rows if row["p99_us"]]
    return {"pairs": len(rows), "kept": sum(row["kept"] for row in rows),
            "rate": statistics.fmean(row["rate"] for row in rows),
            "rate_kept": statistics.fmean(_kept_rate(row) for row in rows),
            "of_left": statistics.fmean(row["of_left"] for row in rows),
            "worst": max(answered) if len(answered) == len(rows) else None}


def _points_over(rows, way, other):
    """Of the batch programs' rates, in pairs that were measured under both; and of those where the target is kept."""
    pairs = {}
    for row in rows:
        pairs.setdefault((row["service"], row["batch"], row["load"], row["factor"]), {})[row["way"]] = row
    both = [(pair[way], pair[other]) for pair in pairs.values() if way in pair and other in pair]
    if not both:
        return None
    return {"pairs": len(both), "points": 100 * statistics.fmean(a["rate"] - b["rate"] for a, b in both),
            "points_kept": 100 * statistics.fmean(_kept_rate(a) - _kept_rate(b) for a, b in both)}


def _aside(cells, rows):
    """Windows that no measurement of is good, and why."""
    keys, found = ("service", "batch", "load", "factor", "way"), {}
    good = {tuple(row[k] for k in keys) for row in rows}
    for cell in cells:
        for window in cell.get("windows", []) if cell.get("status") == "ok" else ():
            (_, asked), (_, spec) = _named(cell, window, "latency"), _named(cell, window, "batch")
            if not window.get("problems") or window.get("way") not in POLICIES or not asked or not spec:
                continue
            row = {"service": _service(asked), "batch": spec, **{k: window[k] for k in keys[2:]},
                   "why": "; ".join(window["problems"])}
            if tuple(row[k] for k in keys) not in good:
                found[tuple(row[k] for k in keys)] = row
    return list(found.values())


# ---- predictions ----

def _whole_ns(text):
    """The time of a request on all SMs, of a knowledge file."""
    found = re.search(r"inputs:.*?time_ns: \[([0-9, ]+)\]", text, re.DOTALL)
    return int(found[1].split(",")[-1]) if found else None


def _service_us(cells, way, service):
    """Medians of a service's requests in the windows of it alone in this way, by load."""
    found = {}
    for cell, window in judge.good_windows(cells):
        name, spec = _named(cell, window, "latency")
        if window["way"] == way and name and _service(spec) == service and \
                (us := window["programs"][name].get("service_p50_us")):
            found.setdefault(window["load"], []).append(us)
    return {load: statistics.median(us) for load, us in found.items()}


def _predictions(cells):
    """What a service's request takes alone: as profiled, and as measured where predictions are used, in the MPS server
    of the policy (`base`, or under the policy where that is not there); and where it has the GPU for itself."""
    rows = []
    for name, text in knowledge(cells).items():
        known_ns = _whole_ns(text)
        there = _service_us(cells, BASE, name) or _service_us(cells, OVERHEAD, name)
        alone = _service_us(cells, "alone", name)
        for load, us in sorted(there.items() if known_ns else ()):
            rows.append({"service": name, "load": load, "profiled_us": known_ns / 1e3, "measured_us": us,
                         "error": abs(known_ns / 1e3 - us) / us, "alone_us": alone.get(load)})
    return rows


def _predictors(cells):
    """Errors for times that predictors have not seen, as `cotenant profile` says them: drawn at random, and by inputs."""
    own = [c for c in cells if c["group"] == KNOW and c["start"] == SIZED and c.get("status") == "ok"]
    said = own[0]["said"] if own else ""
    found = re.findall(r"^(tree|3 nearest|linear) +([0-9.]+) % +([0-9.]+) % +([0-9.]+) % +([0-9.]+) %", said, re.M)
    return [{"by": f[0], "random": float(f[1]), "random_worst": float(f[2]), "by_input": float(f[3]),
             "by_input_worst": float(f[4])} for f in found]


def _said_off(text):
    """(by the profile, with what was learned), as `cotenant explain` has them; None: it says nothing of it."""
    found = [re.search(rf"^ +{name} +([0-9.]+) %", text, re.M) for name in ("profile off", "predictions off")]
    return tuple(float(f[1]) for f in found) if all(found) else None


def _predicted(cells):
    """Beside batch programs: how far requests are from what was predicted for the size of part that they are on, by what the
    policy says at the end of each window; in the mean over a service's windows."""
    said = {}
    for cell, window in judge.good_windows(cells):
        name, spec = _named(cell, window, "latency")
        off = _said_off(window.get("explain", {}).get(name, "")) if name and window["way"] == "laius" else None
        if off:
            said.setdefault(_service(spec), []).append(off)
    return [{"service": name, "windows": len(rows), "profile_off": statistics.fmean(r[0] for r in rows),
             "off": statistics.fmean(r[1] for r in rows)} for name, rows in sorted(said.items())]


# ---- overhead ----

def _figure(cell, window, key="p50_us"):
    """What a program alone needs, and its spec: the median of a request, or the time of an iteration."""
    name, spec = _named(cell, window, "latency")
    if name:
        return window["programs"][name].get(key), spec
    name, spec = _named(cell, window, "batch")
    rate = window["programs"][name].get("rate") if name else None
    return 1 / rate if rate else None, spec


def _alone_figure(cells, spec, load):
    found = [us for c, w in judge.good_windows(cells) if w["way"] == "alone" and w["load"] in (0, load)
             for us, own in (_figure(c, w),) if own == spec and us]
    return statistics.median(found) if found else None


def _of_policy(cell, window, key="p50_us"):
    """How much longer it takes than in the same start with MPS and parts, but without the policy."""
    under, spec = _figure(cell, window, key)
    base = next((figure for c, w in judge.good_windows([cell]) if w["way"] == BASE and w["load"] == window["load"]
                 for figure, own in (_figure(c, w, key),) if own == spec and figure), None)
    return under / base - 1 if under and base else None


def _mean_of_known(values):
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _overhead(cells):
    """Of a program alone under the policy: how much longer it takes than where it has the GPU for itself, and which part
    of that is the policy's, for it has MPS and parts with the policy `parts`, too; of services also without the time in
    their own queue. In the mean of the starts in which that was measured."""
    found = {}
    for cell, window in judge.good_windows(cells):
        under, spec = _figure(cell, window) if window["way"] == OVERHEAD else (None, None)
        alone = _alone_figure(cells, spec, window["load"]) if under else None
        if under:
            found.setdefault(_service(spec), []).append({
                "cost": under / alone - 1 if alone else None, "of_policy": _of_policy(cell, window),
                "of_service": _of_policy(cell, window, "service_p50_us") if window["load"] else None})
    return [{"program": program, "n": len(own), **{key: _mean_of_known(o[key] for o in own) for key in own[0]}}
            for program, own in sorted(found.items())]


def make(cells):
    rows = _pairs(cells)
    ways = {way: _of_way(own) for way in POLICIES if (own := [row for row in rows if row["way"] == way])}
    return {"pairs": rows, "ways": ways,
            "over_baymax": {way: _points_over(rows, way, "baymax") for way in (*IN_ONE[1:], POLICIES[-1])},
            "aside": _aside(cells, rows), "predictions": _predictions(cells), "predicted": _predicted(cells),
            "predictors": _predictors(cells), "overhead": _overhead(cells),
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
                     f"{f['rate']:.3f}", f"{f['of_left']:.3f}", f"{f['rate_kept']:.3f}",
                     f"{over['points']:+.1f}, {over['points_kept']:+.1f}" if over else "-"])
    text = _table(["policy", "targets kept", "worst p99 to its target", "batch programs get, of their rates alone",
                   "of what the service leaves", "of their rates, 0 where the target is missed",
                   "points over Baymax: of the first, of the last of these"], rows)
    if result["predictions"]:
        mean = statistics.fmean(row["error"] for row in result["predictions"])
        text += f"\nPredictions of a request alone: {100 * mean:.1f} % off in the mean"
        text += f" ({len(result['predictions'])} services and loads).\n"
    for row in (row for row in result["predictors"] if row["by"] == "tree"):
        text += f"\nA tree's, for requests of {SIZED} that it has not seen: {row['random']:.1f} % drawn at random, "
        text += f"{row['by_input']:.1f} % by inputs.\n"
    said = [_most(result["overhead"], *own) for own in (("cost", "with MPS and parts"),
                                                        ("of_policy", "for the policy itself"))]
    if any(said):
        text += f"\nA program alone pays {'; '.join(filter(None, said))}.\n"
    return text


def _most(rows, key, what):
    row = max((r for r in rows if r[key] is not None), key=lambda r: r[key], default=None)
    return f"{100 * row[key]:.1f} % at most ({row['program']}), {what}" if row else ""


def _cell_text(row, aside):
    if not row:
        return f"set aside: {aside['why']}" if aside else "-"
    p99 = "never" if row["p99_us"] is None else f"{row['p99_us'] / row['target_us']:.2f}"
    return f"{'' if row['kept'] else '**missed** '}{p99}, {row['rate']:.2f}"


def _pair_table(result):
    keys = dict.fromkeys((r["service"], r["batch"], r["load"], r["factor"])
                         for r in sorted((*result["pairs"], *result["aside"]), key=lambda r: (r["service"], r["batch"])))
    found, aside = ({(r["service"], r["batch"], r["load"], r["factor"], r["way"]): r for r in result[kind]}
                    for kind in ("pairs", "aside"))
    ways = [way for way in POLICIES if way in {row["way"] for row in (*result["pairs"], *result["aside"])}]
    rows = [[key[0], key[1], f"{key[2]:g}", f"{key[3]:g}",
             *(_cell_text(found.get((*key, way)), aside.get((*key, way))) for way in ways)] for key in keys]
    return _table(["service", "batch program", "load", "target, times alone", *(f"`{w}`" for w in ways)], rows)


def markdown(result):
    """table.md: the summary, and all that it is made of."""
    machine = result["machine"]
    text = f"# Laius beside others\n\n{machine.get('gpu') or 'No GPU: a dry run'}; {machine.get('date', '')}\n\n"
    text += summary(result)
    text += "\n## Pairs\n\np99 in parts of the target, and the batch program's rate in parts of its rate alone.\n\n"
    text += _pair_table(result)
    text += "\n## Predictions\n\nMeasured in the MPS server of the policy; alone: with the GPU for itself.\n\n" + _table(
        ["service", "load", "profiled, us", "measured, us", "off", "alone, us"],
        [[r["service"], f"{r['load']:g}", f"{r['profiled_us']:.1f}", f"{r['measured_us']:.1f}",
          f"{100 * r['error']:.1f} %", f"{r['alone_us']:.1f}" if r["alone_us"] else "-"] for r in result["predictions"]])
    if result["predicted"]:
        text += "\nBeside batch programs, on the size of part that they were on, as `cotenant explain` says it:\n\n" + _table(
            ["service", "windows", "by the profile", "with what was learned"],
            [[r["service"], str(r["windows"]), *(f"{r[k]:.1f} %" for k in ("profile_off", "off"))] for r in result["predicted"]])
    if result["predictors"]:
        text += f"\nOf times of `{SIZED}` that were not seen, off in the mean and at worst:\n\n" + _table(
            ["predicted by", "drawn at random", "worst", "by inputs", "worst"],
            [[r["by"], *(f"{r[k]:.1f} %" for k in ("random", "random_worst", "by_input", "by_input_worst"))]
             for r in result["predictors"]])
    text += "\n## Overhead\n\nIn the mean of the starts. Without its queue: the time from when the program takes up a request.\n\n"
    text += _table(["program alone", "starts", "costs", "of it the policy", "the same without its queue"], [
        [r["program"], str(r["n"]), *("-" if r[key] is None else f"{100 * r[key]:.1f} %"
                                      for key in ("cost", "of_policy", "of_service"))] for r in result["overhead"]])
    return text
