"""What the measurements and predictions come to: decisions, errors, the table."""
import statistics

from predict import MIN_GAIN_PCT
from sets import CATEGORIES, LATER, category_of

DOUBLES = ("lavaMD", "LULESH")
WAYS = ("apart", "streams", "merged")
NEAR = 0.02  # a way that takes so much longer than the shortest is as good: launches scatter more. Chosen after the first 130


def cpu_s(line):
    """On one thread, by the reference; where that computes a part only, in proportion."""
    total = 0
    for i in line["instances"]:
        values = i["output_bytes"] / (8 if i["benchmark"] in DOUBLES else 4)
        total += i["check_s"] * max(1, values / max(i["n_checked"], 1))
    return total


def has_energy(line):
    ways = [w for w in (line["apart"], line["streams"], line.get("merged")) if w and "s" in w]
    return all("j" in w for w in ways)


def best_together(line):
    """The way that takes least of what is launched at the same time."""
    ways = [way for way in ("merged", "streams") if "s" in line.get(way, {}) and line[way]["same"]]
    what = "j" if has_energy(line) else "s"
    return min(ways, key=lambda way: line[way][what]) if ways else None


def choose(said):
    """The way that is predicted to take least time."""
    times = {"apart": next(iter(said.values()))["apart_s"]}
    times.update({way: of["together_s"] for way, of in said.items() if of["together_s"]})
    return min(times, key=times.get)


def more_than_best(row, way):
    """How much longer that way takes than the shortest."""
    times = {w: row[w]["s"] for w in WAYS if row[w]["s"]}
    return times[way if way in times else "streams"] / min(times.values()) - 1


def does_save(apart, together, by_energy, margin_pct):
    """Fig. 4 of the patent: less time and less energy than apart, the latter (without it, the time) by the margin that the model is
    asked for."""
    what, part = "j" if by_energy else "s", 1 - margin_pct / 100
    return together["s"] < apart["s"] and together[what] < apart[what] * part


def judge(line, said):
    merged = line.get("merged", {})
    way = "merged" if "s" in merged and merged["same"] else "streams"
    saves = does_save(line["apart"], line[way], has_energy(line), MIN_GAIN_PCT)
    row = {"set": line["name"], "category": category_of(line["name"]), "way": way, "saves": saves,
           "saves_at_all": does_save(line["apart"], line[way], has_energy(line), 0),
           "by_energy": has_energy(line), "best": best_together(line), "cpu_s": cpu_s(line),
           "right_results": all(i["right"] for i in line["instances"]) and line["apart"]["same"] and
           all(line[w]["same"] for w in ("streams", "merged") if "same" in line.get(w, {}))}
    for w in ("apart", "streams", "merged"):
        row[w] = {k: line.get(w, {}).get(k) for k in ("s", "j", "w", "by", "refused")}
    if way in said:
        row["model_consolidates"] = said[way]["consolidate"]
        row["right"] = said[way]["consolidate"] == saves
        row["right_at_all"] = said[way]["consolidate"] == row["saves_at_all"]
        row["chosen"] = choose(said)
        row["model"] = {"apart_s": said[way]["apart_s"], "apart_j": said[way]["apart_j"],
                        "streams_s": said["streams"]["together_s"] if "streams" in said else None,
                        "merged_s": said["merged"]["together_s"] if "merged" in said else None,
                        "together_j": said[way]["together_j"]}
    return row


def errors(rows, way):
    found = [row["model"][f"{way}_s"] / row[way]["s"] - 1 for row in rows
             if row.get("model") and row["model"][f"{way}_s"] and row[way]["s"]]
    if not found:
        return None
    return {"n": len(found), "median": statistics.median(map(abs, found)), "mean": statistics.mean(map(abs, found)),
            "worst": max(found, key=abs)}


def summarise(rows):
    judged = [row for row in rows if "right" in row]
    energy = [row for row in judged if row["by_energy"]]
    categories = [c for c in [*CATEGORIES, "others"] if any(row["category"] == c for row in rows)]
    of = {category: [row for row in rows if row["category"] == category] for category in categories}
    return {
        "n": len(rows), "judged": len(judged), "right": sum(row["right"] for row in judged),
        "right_at_all": sum(row["right_at_all"] for row in judged),
        "with_energy": len(energy), "saves": sum(row["saves"] for row in judged),
        "together_by_model": sum(row["model_consolidates"] for row in judged),
        "merged_beats_streams": sum(row["best"] == "merged" for row in rows if row["merged"]["s"]),
        "merged": sum(bool(row["merged"]["s"]) for row in rows),
        "right_of": {category: [sum(row.get("right", False) for row in found), sum("right" in row for row in found)]
                     for category, found in of.items()},
        "regret": {way: statistics.mean(more_than_best(row, way) for row in judged)
                   for way in ("apart", "streams")} if judged else {},
        "near_best": sum(more_than_best(row, row["chosen"]) <= NEAR for row in judged),
        "regret_of_model": statistics.mean(more_than_best(row, row["chosen"]) for row in judged) if judged else None,
        "errors": {category: {way: errors(found, way) for way in WAYS} for category, found in {**of, "all": rows}.items()},
    }


def shown(value, scale=1.0, digits=3):
    return "-" if value is None else f"{value * scale:.{digits}g}"


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def table(result):
    s = result["summary"]
    out = ["# Kernels together and apart", "",
           f"GPU: {result['gpu']}. Driver: {result['machine'].get('driver', 'not known')}. "
           f"Idle: {shown(result['machine'].get('idle_w'))} W. Command: `{result['command']}`. "
           f"Commit: {result['commit']}.", "",
           f"* Decisions of `cotenant model consolidate` right: {s['right']} of {s['judged']}"
           f" ({s['with_energy']} of them by time and energy, the others by time alone). Right is who says that together takes less "
           f"time and at least {MIN_GAIN_PCT} % less energy where it does: what the model is asked. Of whether it takes less at all, "
           f"however little, {s['right_at_all']} are.",
           f"* Together saves in {s['saves']} of {s['judged']}; the model says so of {s['together_by_model']}.",
           "* By category: " + ", ".join(f"{category} {right} of {n}" for category, (right, n) in s["right_of"].items()) +
           f". {', '.join(LATER)}: written down before any of them was measured.",
           f"* Merged is better than streams in {s['merged_beats_streams']} of {s['merged']}.",
           f"* The way that the model says is shortest is that, or within {100 * NEAR:.0f} % of it, in {s['near_best']} of {s['judged']}.",
           f"* The way that the model says is shortest takes {percent(s['regret_of_model'])} longer than the shortest, in "
           f"the mean; always apart {percent(s['regret'].get('apart'))}, always streams (as under MPS) "
           f"{percent(s['regret'].get('streams'))}.", "",
           "Errors of the times that the model predicts:", "",
           "| sets | way | n | median | mean | worst |", "|---|---|---|---|---|---|"]
    for category, ways in s["errors"].items():
        for way, e in ways.items():
            if e:
                out.append(f"| {category} | {way} | {e['n']} | {100 * e['median']:.0f} % | {100 * e['mean']:.0f} % "
                           f"| {100 * e['worst']:+.0f} % |")
    out += ["", "Milliseconds and joules of one run of the set; CPU: one thread, in ms; `*`: results differ.", "",
            "| set | apart | streams | merged | CPU | model: apart, together | saves | model says | |",
            "|---|---|---|---|---|---|---|---|---|"]
    for row in result["sets"]:
        cells = [f"{shown(row[w]['s'], 1e3)} ms, {shown(row[w]['j'])} J" if row[w]["s"] else "-"
                 for w in ("apart", "streams", "merged")]
        model = row.get("model")
        together = model and model[f"{row['way']}_s"]
        out.append(f"| {row['set']}{'' if row['right_results'] else ' *'} | {' | '.join(cells)} "
                   f"| {shown(row['cpu_s'], 1e3)} | "
                   f"{shown(model and model['apart_s'], 1e3)}, {shown(together, 1e3)} "
                   f"| {'yes' if row['saves'] else 'no'} "
                   f"| {'-' if not model else 'together' if row['model_consolidates'] else 'apart'} "
                   f"| {'' if row.get('right', True) else 'wrong'} |")
    return "\n".join(out) + "\n"
