"""From the windows of targets.py to verdicts: which arrangements keep which target, and at what price.

A target is a multiple of the p99 alone, from arrival to answer, at the same load and the same arrivals.
An arrangement keeps it if each latency program does. Its price is what the batch programs get: the sum of
their rates, each in parts of its rate alone.
"""
import math
import statistics

from . import events
from .mixes import AIMED, FIXED, LEARNED, MIXES, SLO, STEPS_FACTOR, TOPOLOGIES

CLOSE = 0.95  # of the best fixed arrangement
STEP_S = 0.1  # how exactly it is told when a trial has settled
SOON_S = 2    # in which it should have


def good_windows(cells, mix=None):
    """(cell, window) of all that may be judged: what did not run through is left out."""
    for cell in cells:
        if cell.get("status") == "ok" and mix in (None, cell["group"]):
            for window in cell.get("windows", []):
                if not window.get("problems") and "way" in window:
                    yield cell, window


def _median(values):
    """None, too long to be measured, is more than every number."""
    values = [math.inf if v is None else v for v in values]
    middle = statistics.median(values) if values else math.inf
    return None if middle == math.inf else middle


class Known:
    """What was measured of the programs of a mix alone."""

    def __init__(self, cells, mix):
        self.service_us, self._p99, self._service, self._rates = {}, {}, {}, {}
        self._lessons, self._said = {}, {}
        for cell in cells:
            if cell.get("status") != "ok" or cell["group"] != mix:
                continue
            if cell["start"] == "alone":
                self.service_us = self.service_us or cell.get("service_us", {})
            if cell.get("lessons"):
                self._lessons[cell["start"]] = cell["lessons"]
        for cell, window in good_windows(cells, mix):
            if window["way"] == SLO and "lessons" in window:
                self._said[window["label"]] = window
            if window["way"] == "alone" and "changes" not in window:
                for name, figures in window["programs"].items():
                    self._add(cell, window, name, figures)

    def _add(self, cell, window, name, figures):
        if cell["tenants"][name]["role"] == "latency":
            self._p99.setdefault((name, window["load"]), []).append(figures["p99_us"])
            self._service.setdefault((name, window["load"]), []).append(figures.get("service_p99_us"))
        else:
            self._rates.setdefault(cell["tenants"][name]["spec"], []).append(figures["rate"])

    def p99_us(self, name, load):
        return _median(self._p99.get((name, load), []))

    def service_p99_us(self, name, load):
        """Without the time that a request waits until work on it begins."""
        return _median(self._service.get((name, load), []))

    def rate(self, spec):
        rates = self._rates.get(spec)
        return statistics.median(rates) if rates else None

    def lessons(self, start):
        """Files of the daemon, by name, in base64; None: there was no such start."""
        return self._lessons.get(start)

    def lessons_of(self, label):
        """The same, as they were at the end of the window of `slo` for the same case."""
        return self._said[_first_run(label)]["lessons"]

    def wanted(self, label):
        """The topology that a next start would have, as the policy said at the end of that window; None."""
        window = self._said.get(_first_run(label))
        return next_topology(window.get("explain", {}).get("L1", "")) if window else None

    def loads(self, name):
        return sorted(load for n, load in self._p99 if n == name and self.p99_us(n, load))

    def highest_load(self, name):
        return self.loads(name)[-1]

    def knows(self, names, loads):
        return all(self.p99_us(name, load) for name in names for load in loads)


def _first_run(label):
    return label.replace(LEARNED, SLO)


def next_topology(text):
    """What `cotenant explain` says of it: that the next start would be another one, or what it is now."""
    said = {line.split("  ")[0]: line.split("  ", 1)[1].strip() for line in map(str.strip, text.splitlines())
            if "  " in line}
    answer = said.get("at the next start") or said.get("arrangement", "")
    return next((t for t in TOPOLOGIES if answer.startswith(t)), None)


# ---- one arrangement at one load ----

def _figures(cell, window, known):
    """p99s in order of the latency programs, from arrival and of service, what each batch program gets, and how
    many requests the latency program had that had fewest."""
    p99, service, parts, requests = {}, {}, [], []
    for name, figures in window.get("programs", {}).items():
        tenant = cell["tenants"].get(name)
        if not tenant:
            continue
        if tenant["role"] == "latency":
            p99[name], service[name] = figures.get("p99_us"), figures.get("service_p99_us")
            requests.append(figures.get("n", 0))
        else:
            alone = known.rate(tenant["spec"])
            parts.append(figures["rate"] / alone if alone else None)
    return p99, service, parts, min(requests, default=0)


def _merge(found):
    """Repeats of one arrangement: medians, and all of their requests."""
    p99s, services, shares, requests = zip(*found)
    names = list(p99s[0])
    parts = [statistics.median(of_one) for of_one in zip(*shares)]
    return {"p99_us": {name: _median([p[name] for p in p99s]) for name in names},
            "service_p99_us": {name: _median([s[name] for s in services]) for name in names},
            "parts": parts, "sum": sum(parts), "n": len(found), "requests": sum(requests)}


def arrangements(cells, mix, beside, load, factor, known):
    """way -> figures, of the fixed arrangements and of those for this target."""
    found = {}
    for cell, window in good_windows(cells, mix.name):
        if window["way"] == "alone" or "changes" in window or window["load"] != load or \
                window["factor"] not in (0, factor) or tuple(window["beside"]) != beside:
            continue
        figures = p99, _, parts, _ = _figures(cell, window, known)
        if p99 and parts and None not in parts:
            found.setdefault(window["way"], []).append(figures)
    return {way: _merge(found[way]) for way in (*FIXED, *AIMED) if way in found}


# ---- cases ----

def _against(target_us, figures):
    """The worst p99 over its target; None: not even answered."""
    ratios = [figures["p99_us"][name] / target if figures["p99_us"].get(name) else None
              for name, target in target_us.items()]
    return None if None in ratios else max(ratios)


def _case(mix, beside, load, factor, ways, known):
    alone = {f"L{i + 1}": known.p99_us(f"L{i + 1}", load) for i in range(len(mix.latency))}
    if not ways or None in alone.values():
        return None
    target_us = {name: factor * p99 for name, p99 in alone.items()}
    rows = {way: {**figures, "against": _against(target_us, figures)} for way, figures in ways.items()}
    for row in rows.values():
        row["kept"] = row["against"] is not None and row["against"] <= 1
    kept = [way for way in rows if way in FIXED and rows[way]["kept"]]
    best = max(kept, key=lambda way: rows[way]["sum"], default=None)
    case = {"mix": mix.name, "title": mix.title, "beside": list(beside), "load": load, "factor": factor,
            "alone_p99_us": alone, "target_us": target_us,
            "alone_service_p99_us": {name: known.service_p99_us(name, load) for name in alone}, "ways": rows, "best": best,
            "fixed_missing": [way for way in mix.fixed if way not in rows]}
    for way in AIMED:
        if best and way in rows and rows[best]["sum"]:
            case[f"{way} of best"] = rows[way]["sum"] / rows[best]["sum"]
    return case


def make_cases(cells):
    cases = []
    for mix in MIXES:
        known = Known(cells, mix.name)
        windows = [w for _, w in good_windows(cells, mix.name)]
        loads = sorted({w["load"] for w in windows if w["load"]})
        factors = sorted({w["factor"] for w in windows if w["factor"] and "changes" not in w} | set(mix.factors))
        for beside in mix.besides():
            for load in loads:
                for factor in factors:
                    ways = arrangements(cells, mix, beside, load, factor, known)
                    cases.append(_case(mix, beside, load, factor, ways, known))
    return [case for case in cases if case]


# ---- all of them together ----

def _worth(case, way):
    """A target that is missed is worth nothing."""
    row = case["ways"].get(way)
    return row["sum"] if row and row["kept"] else 0.0


def summary(cases, way=SLO):
    """The figures of issue and README: in how many cases the policy keeps the target where some fixed
    arrangement does, how near it comes to the best of these, and what choosing is worth: its mean against
    that of the one fixed arrangement that is best if it must serve in all cases."""
    possible = [c for c in cases if c["best"]]
    out = {"cases": len(cases), "possible": len(possible)}
    every = [w for w in FIXED if possible and all(w in c["ways"] for c in possible)]
    means = {w: statistics.fmean(_worth(c, w) for c in possible) for w in every}
    out["fixed"] = {w: {"kept": sum(c["ways"][w]["kept"] for c in possible), "mean": means[w]} for w in every}
    out["single"] = max(means, key=means.get, default=None)
    if possible:
        out["best mean"] = statistics.fmean(_worth(c, c["best"]) for c in possible)
    measured = [c for c in possible if way in c["ways"]]
    out["measured"] = len(measured)
    if not measured:
        return out
    near = [c for c in measured if c.get(f"{way} of best", 0) >= CLOSE and c["ways"][way]["kept"]]
    kept = [c for c in measured if c["ways"][way]["kept"]]
    out.update(kept=len(kept), near=len(near), mean=statistics.fmean(_worth(c, way) for c in measured),
               missed=[name_of(c) for c in measured if not c["ways"][way]["kept"]])
    if out["single"]:
        single = statistics.fmean(_worth(c, out["single"]) for c in measured)
        out["against single"] = out["mean"] / single if single else None
    out["impossible kept"] = [name_of(c) for c in cases
                              if not c["best"] and way in c["ways"] and c["ways"][way]["kept"]]
    return out


def name_of(case):
    beside = f" beside {case['beside'][0]}" if len(case["beside"]) == 1 and case["mix"] in IN_TURN else ""
    return f"{case['mix']}{beside} at {case['load']:g}, {case['factor']:g}x"


IN_TURN = tuple(mix.name for mix in MIXES if mix.in_turn)


def means_in_turn(cases):
    """(mix, load, way, factor) -> means over the batch programs that came in turn: of a p99 over that alone, from
    arrival and of service, and of the batch program's rate; how many, and how many kept the target. Of a fixed
    arrangement, which knows no target, once for each. None: in some cell it could not be measured."""
    found = {}
    for case in cases:
        for way, row in case["ways"].items():
            found.setdefault((case["mix"], case["load"], way, case["factor"]), []).append((case, row))
    return {key: {"arrival": _mean([_over(row["p99_us"], case["alone_p99_us"]) for case, row in rows]),
                  "service": _mean([_over(row["service_p99_us"], case["alone_service_p99_us"]) for case, row in rows]),
                  "batch": _mean([row["sum"] for _, row in rows]),
                  "n": len(rows), "kept": sum(row["kept"] for _, row in rows),
                  "seeds": min(row["n"] for _, row in rows), "requests": min(row["requests"] for _, row in rows)}
            for key, rows in found.items()}


def _over(values, alone):
    ratios = [values[name] / alone[name] if values.get(name) and alone.get(name) else None for name in alone]
    return None if None in ratios else max(ratios)


def _mean(values):
    return None if None in values else statistics.fmean(values)


# ---- the trial with steps ----

def settled_s(arrivals_s, over, begin_s, end_s):
    """How long after `begin_s` it takes until, from then to `end_s`, at most 1 % of the requests miss the
    target; None: never. Without requests it is settled."""
    chosen = [(at, missed) for at, missed in zip(arrivals_s, over) if begin_s <= at < end_s]
    n_steps = max(1, math.ceil((end_s - begin_s) / STEP_S - 1e-9))
    for i in range(n_steps):
        rest = [missed for at, missed in chosen if at >= begin_s + i * STEP_S]
        if sum(rest) * 100 <= len(rest):
            return round(i * STEP_S, 3)
    return None


def _step_rows(window, figures, target_us):
    arrivals = [at / 1e5 for at in events.unpack(figures["raw_at_10us"])]
    over = [t / 10 > target_us for t in events.unpack(figures["raw_100ns"])]
    changes = [((c["at_ns"] - window["t0_ns"]) / 1e9, c["what"], c.get("burst", False)) for c in window["changes"]]
    ends = [at for at, _, _ in changes[1:]] + [(window["t1_ns"] - window["t0_ns"]) / 1e9]
    rows = []
    for i, (begin, what, burst) in enumerate(changes):
        end = ends[min(i + burst, len(ends) - 1)]  # a burst, and what follows it
        rows.append({"what": what, "begin_s": begin, "end_s": end,
                     "n": sum(begin <= at < end for at in arrivals),
                     "missed": sum(m for at, m in zip(arrivals, over) if begin <= at < end),
                     "settled_s": settled_s(arrivals, over, begin, end)})
    return rows


def make_steps(cells):
    """Trials with steps: for each change the requests until the next one, the misses, and when it settled."""
    trials = []
    for cell, window in good_windows(cells):
        if "changes" not in window:
            continue
        known = Known(cells, cell["group"])
        for name, figures in window["programs"].items():
            if "raw_at_10us" in figures and known.loads(name):
                target_us = STEPS_FACTOR * known.p99_us(name, known.highest_load(name))
                trials.append({"mix": cell["group"], "way": window["way"], "program": name,
                               "label": window["label"], "start": cell["start"], "target_us": target_us,
                               "rows": _step_rows(window, figures, target_us)})
    return trials


def settled_soon(trials):
    """(mix, way) -> (in how many changes all programs had settled in time, how many changes)"""
    worst = {}
    for trial in trials:
        for row in trial["rows"]:
            late = row["settled_s"] is None or row["settled_s"] > SOON_S
            key = trial["mix"], trial["way"], trial["start"], row["what"]
            worst[key] = worst.get(key, False) or late
    found = {}
    for (mix, way, _, _), late in worst.items():
        soon, n = found.get((mix, way), (0, 0))
        found[mix, way] = soon + (not late), n + 1
    return found
