"""The table: the paper's values beside ours, then every pair and kernel."""
from . import plan

TITLES = {"mps": "MPS", "smguard": "smguard", "effisha": "effisha",
          "capsm": "CapSMs", "gathered": "CapSMs on whole SMs",
          "retreat": "filling and retreating"}


def number(value, digits=2):
    if value is None:
        return "-"
    return f"{value:.{digits}f}" if abs(value) < 100 else f"{value:.0f}"


def times(value):
    return "-" if value is None else number(value) + "x"


def ms(us):
    return "-" if us is None else f"{us * 1e-3:.3g}"


def percent(ratio):
    return "-" if ratio is None else f"{100 * (ratio - 1):+.1f} %"


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def head(*cells):
    return [row(*cells), "|" + "---|" * len(cells)]


def _at_most(found):
    return f"{times(found['mean'])}, {times(found['max'])} at most" if found else "-"


def _summary(s):
    def of(way, key):
        return s.get(way, {}).get(key)

    late = s.get("delay_beyond_task_us")
    lines = [f"Averages over {s['n_pairs']} of {len(plan.LS) * len(plan.BATCH)} pairs.", "",
             *head("figure", "what", "paper", "goal", "smguard", "effisha", "MPS")]

    def others(key, show, mps=None):
        return show(of("effisha", key)), show(of("mps", key)) if mps is None else mps

    def least_and_most(way):
        if of(way, "speedup_min") is None:
            return "-"
        return f"{times(of(way, 'speedup_min'))}, {times(of(way, 'speedup_max'))}"

    empty = ("", "")
    lines += [
        row(12, "speed-up of the latency-sensitive program over MPS", "9.8x", ">= 9.8x",
            times(of("smguard", "speedup")), *others("speedup", times, "1x")),
        row("", "least and most", "1.9x, 55.2x", "", least_and_most("smguard"),
            least_and_most("effisha"), ""),
        row(13, "ANTT (lower is better)", "1.56 (MPS 6.5)", "<= 1.56",
            number(of("smguard", "antt")), *others("antt", number)),
        row(14, "STP (higher is better)", "1.57 (MPS 1.22)", ">= 1.57",
            number(of("smguard", "stp")), *others("stp", number)),
        row(10, "its time beside CapSMs over that beside whole SMs", "1.049x", "",
            times(s.get("capsm_over_sm")), *empty),
        row("", "the same, of workers that begin on whole SMs", "-", "",
            times(s.get("gathered_over_sm")), *empty),
        row(15, "until all have left, beyond the longest task: median, longest", "-", "<= 50 us",
            f"{late['median']:.0f} us, {late['max']:.0f} us" if late else "-",
            *empty),
        row(16, "an evicted kernel's time over ideal, remapped", "1.2x, 1.7x at most",
            "<= 1.2x", _at_most(s.get("remap")), *empty),
        row("", "the same, ended and launched again", "1.8x, 2.9x at most (F&R)", "",
            _at_most(s.get("relaunch")), *empty),
        row(17, "cost of rewriting, kernel", "+3.87 %", "", percent(s.get("overhead")), *empty),
        row("", "the same, request of a program alone, median", "+1.58 %", "",
            f"{percent(s.get('turnaround'))}, {percent(s.get('turnaround_max'))} at most; "
            f"n = {s['turnaround_n']}" if "turnaround" in s else "-", *empty),
        row("", "LULESH: speed-up over MPS beside the batch programs",
            "7.6x", "", times(s["larger"]["speedup"]), *empty),
        row("", "LULESH: a request alone, median", "+5.7 %", "", percent(s["larger"]["turnaround"]), *empty),
    ]
    return lines


def _pairs(pairs):
    ways = [w for w in TITLES if any(w in p["ways"] for p in pairs)]
    ours = [w for w in ways if w != "mps"]
    lines = head("pair", "alone, ms", *(f"LS NTT {TITLES[w]}" for w in ways),
                 *(f"speed-up {TITLES[w]}" for w in ours),
                 *(f"ANTT {TITLES[w]}" for w in ways), *(f"STP {TITLES[w]}" for w in ways),
                 "evictions", "delay, us (median, longest)")
    for p in pairs:
        def each(key, names, p=p):
            return [number(p["ways"].get(w, {}).get(key)) for w in names]
        alone = f"{ms(p['alone_us']['ls'])} + {ms(p['alone_us']['batch'])}"
        evicted = p["ways"].get("smguard", {}).get("evictions", {})
        delay = evicted.get("eviction_us") or {}
        lines.append(row(p["pair"], alone, *each("ntt_ls", ways), *each("speedup", ours),
                         *each("antt", ways), *each("stp", ways),
                         evicted.get("evictions", "-"),
                         f"{delay['p50']:.0f}, {delay['max']:.0f}" if delay.get("n") else "-"))
    return lines


def _remap(rows):
    lines = head("kernel", "plain, ms", "workers", "tasks per worker", "a task, us",
                 "longest task, us", "all leave, us (median, longest)", "remapped / ideal",
                 "launched again / ideal")
    for r in rows:
        delay = r.get("delay_us")
        lines.append(row(r["kernel"], ms(r["plain_us"]), percent(r["overhead"]),
                         number(r["tasks_per_worker"], 1), number(r["task_us"], 1),
                         number(r["longest_us"], 1),
                         f"{delay['median']:.0f}, {delay['max']:.0f}" if delay else "-",
                         *(f"{number(r[w]['mean'])} ({number(r[w]['max'])})" if w in r else "-"
                           for w in ("remap", "relaunch"))))
    return lines


def _request_times(us):
    return (f"{ms(us['median'])} ({ms(us['quarter'])} to {ms(us['three_quarters'])}; "
            f"{ms(us['max'])})")


def _alone(rows):
    lines = head("kernel", "requests each", "as it is, ms: median (middle half; longest)",
                 "under smguard, ms", "cost")
    for r in rows:
        ways = [r[w]["us"] if w in r else None for w in ("mps", "smguard")]
        lines.append(row(r["kernel"], min(us["n"] for us in ways if us),
                         *(_request_times(us) if us else "-" for us in ways),
                         percent(r.get("turnaround"))))
    return lines


def _burst(rows):
    shares = [p["reserve"] for p in rows[0]["points"]]
    lines = head("pair", *(f"{s}/{plan.OF_SMS}" for s in shares))
    for r in rows:
        by = {p["reserve"]: p["slowdown"] for p in r["points"]}
        lines.append(row(r["pair"], *(number(by.get(s)) for s in shares)))
    return lines


def _reserve(rows):
    lines = head("pair", "alone, ms", "CapSMs, ms", "CapSMs on whole SMs, ms",
                 "filling and retreating, ms", "CapSMs: ratio", "on whole SMs: ratio")
    for r in rows:
        times = [ms(r["ways"][w]["ls"]["mean"]) if w in r["ways"] else "-"
                 for w in ("capsm", "gathered", "retreat")]
        lines.append(row(r["pair"], ms(r["alone_us"]["ls"]), *times,
                         number(r.get("capsm_over_sm")), number(r.get("gathered_over_sm"))))
    return lines


def markdown(result):
    machine = result.get("machine", {})
    where = machine.get("gpu") or "no GPU"
    lines = [f"# Quotas, reservations and eviction: {where}", "",
             f"{machine.get('date', '')}, driver {machine.get('driver', '-')}, commit "
             f"{machine.get('commit', '-')}.", "", "## The paper beside ours", "",
             *_summary(result["summary"])]
    for title, rows, make in (
            ("Pairs: requests 1 ms after the batch kernel", result["pairs"] + result["larger"], _pairs),
            ("Programs alone, request by request", result["alone"], _alone),
            ("Kernels as workers that leave", result["remap"], _remap),
            ("Bursty requests: slowdown by what is reserved", result["burst"], _burst),
            ("The latency-sensitive kernel beside a batch kernel on 5/13 of the GPU",
             result["reserve"], _reserve)):
        if rows:
            lines += ["", f"## {title}", "", *make(rows)]
    if result["failed"]:
        lines += ["", "## Failed", ""]
        lines += [f"* {f['id']}: {f['why']}" for f in result["failed"]]
    return "\n".join(lines) + "\n"
