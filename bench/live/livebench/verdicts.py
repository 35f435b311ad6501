"""The table and pictures of targets.py."""
import math

from . import control, curves, events, judge
from .judge import IN_TURN, name_of
from .mixes import AIMED, CHANGES, FIXED, LEARNED, MIX_OF, MIXES, SLO, SLOWDOWN, SMQOS, SOLO, TRIAL_MIX
from .report import table
from .svg import COLOURS, Page

AIMED_COLOURS = {SLO: "#111111", LEARNED: "#6a1b9a", SOLO: "#ad1457", SLOWDOWN: "#00796b", SMQOS: "#9e7d0a"}


def _number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def _ms(us):
    return "never" if us is None else f"{us / 1e3:.3f}"


def _yes(kept):
    return "yes" if kept else "NO"


def _case_row(case):
    best = case["best"]
    row = [name_of(case), ", ".join(_ms(us) for us in case["target_us"].values()),
           f"{best} {case['ways'][best]['sum']:.2f}" if best else "none"]
    for way in AIMED:
        figures = case["ways"].get(way)
        if not figures:
            row += ["", "", "", ""]
            continue
        row += [_yes(figures["kept"]), _number(figures["against"]), _number(figures["sum"]),
                _number(case.get(f"{way} of best"))]
    return row


def _cases(cases):
    head = ["case", "target ms", "best fixed that keeps it"] + \
        [f"{way}: {what}" for way in AIMED for what in ("kept", "p99 / target", "sum", "of best")]
    body = [_case_row(c) for c in cases]
    keep = [i for i in range(len(head)) if i < 3 or any(row[i] for row in body)]
    return table([head[i] for i in keep], [[row[i] for i in keep] for row in body])


def _fixed(cases):
    """One row for each mix, load and way: it does not depend on the target."""
    body, seen = [], set()
    for case in cases:
        for way, figures in case["ways"].items():
            key = (case["mix"], tuple(case["beside"]), case["load"], way)
            if way not in FIXED or key in seen:
                continue
            seen.add(key)
            alone = case["alone_p99_us"]
            ratios = [_number(figures["p99_us"][n] / alone[n] if figures["p99_us"][n] else None)
                      for n in alone]
            body.append([name_of(case).rpartition(",")[0], way,
                         ", ".join(_ms(figures["p99_us"][n]) for n in alone), ", ".join(ratios),
                         ", ".join(_number(p) for p in figures["parts"]), _number(figures["sum"])])
    return table(["mix", "way", "p99 ms", "p99 / alone", "batch, each of its rate alone", "sum"], body)


def _summary(summary, way):
    if not summary["possible"]:
        return "No fixed arrangement keeps the target in any case."
    lines = [f"- In {summary['possible']} of {summary['cases']} cases some fixed arrangement keeps the target."]
    if summary["measured"]:
        lines += [f"- `{way}` keeps it in {summary['kept']} of the {summary['measured']} of these that were "
                  f"measured with it; its batch sum is at least {judge.CLOSE} of the best in {summary['near']}.",
                  *([f"- Missed: {'; '.join(summary['missed'])}."] if summary["missed"] else [])]
        if summary["impossible kept"]:
            lines.append("- Kept although no fixed arrangement does: "
                         f"{'; '.join(summary['impossible kept'])}.")
    if summary["single"]:
        lines.append(
            f"- One arrangement for all these cases: `{summary['single']}` is best (mean batch sum "
            f"{summary['fixed'][summary['single']]['mean']:.2f}, a missed target counted as 0). The best one "
            f"in each case would have {summary['best mean']:.2f}."
            + (f" `{way}` has {summary['mean']:.2f}: {_number(summary.get('against single'))} times that of "
               "the one." if summary["measured"] else ""))
        lines.append("\n" + table(["arrangement", "keeps the target in", "mean sum, misses as 0"],
                                  [[w, f["kept"], _number(f["mean"])] for w, f in summary["fixed"].items()]))
    return "\n".join(lines)


def _means(cases):
    """A row for each way and target, over all batch programs that came in turn."""
    rows = [[f"{mix} at {load:g}, {factor:g}x", way, f"{m['kept']} of {m['n']}", _number(m["arrival"]),
             _number(m["service"]), _number(m["batch"]), m["requests"], m["seeds"]]
            for (mix, load, way, factor), m in judge.means_in_turn(cases).items()]
    return ("Means over the batch programs. Tally's own p99 is one of service: it leaves out how long requests wait.\n\n"
            + table(["case", "way", "keeps the target beside", "p99 / alone, from arrival", "p99 / alone, of service",
                     "batch rate", "requests, at least", "seeds"], sorted(rows)))


def _facts(text):
    """What `cotenant explain` says that the policy does, in one line."""
    lines = text.partition("\npolicy ")[2].splitlines()[1:]
    pairs = [line.strip().split("  ", 1) for line in lines if "  " in line.strip()]
    return "; ".join(f"{key} {value.strip()}" for key, value in pairs if key not in ("target", "p99"))


def _explained(cells):
    body = []
    for cell in cells:
        for window in cell.get("windows", []):
            for name, text in window.get("explain", {}).items():
                if name in window.get("target_us", {}) and _facts(text):
                    body.append([cell["id"], window["label"], name, _facts(text)])
    return ["### What the policies did, at the end of each window\n\n"
            + table(["start", "window", "program", "by cotenant explain"], body)] if body else []


def _steps(trials):
    parts = []
    if trials:
        body = [[mix, way, f"{soon} of {n}"] for (mix, way), (soon, n) in judge.settled_soon(trials).items()]
        parts.append(f"### Changes of load and programs: all settled within {judge.SOON_S} s\n\n"
                     + table(["mix", "way", "changes"], body))
    for trial in trials:
        body = [[r["what"], _number(r["begin_s"], 1), r["n"], r["missed"],
                 "-" if r["settled_s"] is None else f"{r['settled_s']:.1f}"] for r in trial["rows"]]
        parts.append(f"### {trial['mix']}, {trial['label']}: {trial['way']}, {trial['program']}, target "
                     f"{_ms(trial['target_us'])} ms\n\n"
                     + table(["change", "at s", "requests until the next", "missed", "settled after s"], body))
    return parts


def _not_as_wanted(cells):
    """Windows in which a program was not on the part that the arrangement says."""
    lines = [f"- {c['id']}, {w['label']}: {name} on {control.has_text(part)}"
             for c in cells for w in c.get("windows", []) for name, part in w.get("parts", {}).items()
             if part["wanted"] or not part["steady"]]
    return ["### Parts that were others\n\n" + "\n".join(lines)] if lines else []


def _steps_missing(mix, trials):
    """Of the trial with steps: which changes nobody measured with the policy."""
    for way in (SLO, LEARNED):
        seen = {row["what"] for t in trials if (t["mix"], t["way"]) == (mix.name, way) for row in t["rows"]}
        missing = [c.what for c in CHANGES if c.what not in seen]
        if mix.more and missing:
            yield f"steps of {way}" + (f" ({', '.join(missing)})" if seen else "")


def _gaps(cases, trials):
    """What the mixes have and nobody measured."""
    lines = []
    for mix in MIXES:
        if mix.name == TRIAL_MIX:
            continue
        own = [c for c in cases if c["mix"] == mix.name]
        if not own:
            lines.append(f"- {mix.name}: nothing")
            continue
        loads = [x for x in mix.loads if x not in {c["load"] for c in own}]
        fixed = {w for c in own for w in c["fixed_missing"]}
        parts = [f"loads {', '.join(f'{x:g}' for x in loads)}"] if loads else []
        parts += [f"{w} in some cases" for w in FIXED if w in fixed]
        for way in (SLO, LEARNED):
            aimed = [f"{c['load']:g} {c['factor']:g}x" for c in own if way not in c["ways"]]
            parts += [f"{way} at {', '.join(dict.fromkeys(aimed))}"] if aimed else []
        parts += _steps_missing(mix, trials)
        if parts:
            lines.append(f"- {mix.name}: {'; '.join(parts)}")
    return ["### No time for\n\n" + "\n".join(lines)] if lines else []


def _left_out(cells):
    lines = [f"- {c['id']}: {c.get('why', 'unknown')[:300]}".replace("\n", " ")
             for c in cells if c.get("status") != "ok"]
    lines += [f"- {c['id']}, {w['label']}: {'; '.join(w['problems'])}"
              for c in cells for w in c.get("windows", []) if w.get("problems")]
    return ["### Not measured\n\n" + "\n".join(lines)] if lines else []


def markdown(result, cells):
    facts, cases = result["machine"], result["cases"]
    plain = [c for c in cases if c["mix"] not in IN_TURN]
    turns = [c for c in cases if c["mix"] in IN_TURN]
    head = ["# Targets" + (": DRY RUN, invented figures" if facts.get("fake") else ""), "",
            ", ".join(str(facts.get(k)) for k in ("gpu", "driver", "cuda", "torch", "cotenant")
                      if facts.get(k)) + ". Merged from:", "",
            *(f"- {r['date']}, commit {r['commit'] or 'not given'}: `{r['command']}`"
              for r in result["runs"] or [facts] if r.get("date")), "",
            "A p99 is from arrival to answer, of open-loop Poisson arrivals that are the same in all ways; a "
            "target is a multiple of the p99 alone at the same load. `sum`: the batch programs' rates, each in "
            "parts of its rate alone."]
    mixes = [f"- {name}: {MIX_OF[name].title}" for name in dict.fromkeys(c["mix"] for c in cases)]
    parts = []
    for title, some in (("", plain), ("In the shape of Tally's table", turns)):
        if some:
            parts += ([f"## {title}", _means(some)] if title else []) + [_cases(some)]
            for way in AIMED:
                if way == SLO or any(way in c["ways"] for c in some):
                    parts.append(f"### All cases together: `{way}`\n\n"
                                 + _summary(judge.summary(some, way), way))
            parts.append("### The fixed arrangements\n\n" + _fixed(some))
    parts += _steps(result["steps"]) + _explained(cells) + _not_as_wanted(cells) + _left_out(cells) + \
        _gaps(cases, result["steps"])
    return "\n".join(head) + "\n\n" + "\n".join(mixes) + "\n\n" + "\n\n".join(parts) + "\n"


# ---- pictures ----

def _rows(cases):
    """As curves.draw() wants them: a panel for each mix and load."""
    rows, seen = [], set()
    for case in cases:
        group = name_of(case).rpartition(",")[0]
        for way, figures in case["ways"].items():
            name = way if way in FIXED else f"{way} {case['factor']:g}x"
            if (group, name) in seen or None in figures["p99_us"].values():
                continue
            seen.add((group, name))
            rows.append({"group": group, "title": case["title"], "way": name,
                         "latency": [{"ratio": {"median": figures["p99_us"][n] / us}}
                                     for n, us in case["alone_p99_us"].items()],
                         "sum": {"median": figures["sum"]}})
    return rows


def picture(cases, title):
    rows = _rows(cases)
    ours = [w for w in dict.fromkeys(r["way"] for r in rows) if w not in FIXED]
    colours = {**COLOURS, **{w: AIMED_COLOURS[w.partition(" ")[0]] for w in ours}}
    return curves.draw(rows, title, (*FIXED, *ours), colours)


STEP_WIDTH, STEP_HEIGHT, LEFT, TOP = 900, 190, 60, 46
BIN_S, SPAN = 0.1, (0.1, 100.0)  # of the picture of a trial: p99s of so long; response over target


def _bins(arrivals, responses_us, target_us):
    """(when, worst response of a tenth of a second over the target)"""
    worst = {}
    for at, us in zip(arrivals, responses_us):
        worst[int(at / BIN_S)] = max(worst.get(int(at / BIN_S), 0), us / target_us)
    return [(i * BIN_S, value) for i, value in sorted(worst.items())]


def _step_panel(page, top, trial, window, figures):
    length = (window["t1_ns"] - window["t0_ns"]) / 1e9

    def x(s):
        return LEFT + (STEP_WIDTH - LEFT - 20) * s / length

    def y(ratio):
        low, high = map(math.log, SPAN)
        return top + STEP_HEIGHT - 40 - (STEP_HEIGHT - 70) * \
            (math.log(min(max(ratio, SPAN[0]), SPAN[1])) - low) / (high - low)
    page.text(14, top + 8, f"{trial['mix']}: {trial['label']}, {trial['way']}", 12, weight="bold")
    for ratio in (0.1, 1, 10, 100):
        page.line(x(0), y(ratio), x(length), y(ratio), "#d33" if ratio == 1 else "#ddd",
                  "4 3" if ratio == 1 else "")
        page.text(x(0) - 5, y(ratio) + 3, f"{ratio:g}x", 9, "end", colour="#666")
    for i, row in enumerate(trial["rows"]):
        page.line(x(row["begin_s"]), y(SPAN[1]), x(row["begin_s"]), y(SPAN[0]))
        late = row["begin_s"] > 0.8 * length
        page.text(x(row["begin_s"]) + (-2 if late else 2), y(SPAN[0]) + 11 + 10 * (i % 3),
                  f"{row['what']}: {row['missed']} of {row['n']}", 8, "end" if late else "start",
                  colour="#555")
    arrivals = [at / 1e5 for at in events.unpack(figures["raw_at_10us"])]
    responses = [t / 10 for t in events.unpack(figures["raw_100ns"])]
    for at, value in _bins(arrivals, responses, trial["target_us"]):
        page.bar(x(at) - 1, y(value) - 1, 2, 2, "#d33" if value > 1 else "#1f6fb2")


def steps_picture(cells, trials, title):
    page = Page()
    page.text(14, 24, title, 15, weight="bold")
    page.text(14, 40, "The slowest response of each tenth of a second, over the target (log; red: missed).", 11)
    found = {(c["start"], c["group"], w["label"]): w for c, w in judge.good_windows(cells) if "changes" in w}
    for i, trial in enumerate(trials):
        window = found[trial["start"], trial["mix"], trial["label"]]
        _step_panel(page, TOP + 10 + STEP_HEIGHT * i, trial, window,
                    window["programs"][trial["program"]])
    return page.svg(STEP_WIDTH, TOP + 20 + STEP_HEIGHT * len(trials))
