"""Whether programs were on their parts: what the daemon says before and after a window."""
COUNTS = ("launches_followed", "launches_stayed", "changes")


def _since(before, after):
    return {k: after.get(k, 0) - before.get(k, 0) for k in after}


def _of_program(before, after, wanted):
    old, new = before.get("part") or {}, after.get("part") or {}
    counts = _since({k: old.get(k, 0) for k in COUNTS}, {k: new.get(k, 0) for k in COUNTS})
    n = counts["launches_followed"] + counts["launches_stayed"]
    return {
        "class": after.get("class"), "asked": after.get("sms"),
        "first": new.get("first"), "sms": new.get("sms"), "gpu_sms": new.get("gpu_sms"),
        "wanted": wanted if after.get("class") == "batch" else None,
        "steady": [old.get(k) for k in ("first", "sms")] == [new.get(k) for k in ("first", "sms")],
        **counts, "coverage": counts["launches_followed"] / n if n else None,
        "stayed": {k: v for k, v in _since(old.get("stayed") or {},
                                           new.get("stayed") or {}).items() if v},
        "says": after.get("part_effect")}


def of_window(before, after, wanted):
    """For each program: the part that it has, and how many of the launches in the window were on
    it. `wanted`: how many SMs all batch programs should have together, or None."""
    old = {t["name"]: t for t in before.get("tenants", [])}
    as_wanted = batch_end(after) == wanted
    return {t["name"]: _of_program(old.get(t["name"], {}), t, None if as_wanted else wanted)
            for t in after.get("tenants", [])}


def batch_end(look):
    """Where the SMs end that batch programs have; they have theirs from SM 0 on."""
    parts = [t.get("part") or {} for t in look.get("tenants", []) if t.get("class") == "batch"]
    if not parts or any(p.get("sms") is None for p in parts):
        return None
    return max((p.get("first") or 0) + p["sms"] for p in parts)


def has_text(part):
    """What it had, and what is wrong with that."""
    if part["sms"] is None:
        return "cannot be placed"
    text = f"all {part['sms']}" if part["sms"] == part["gpu_sms"] else \
        f"{part['sms']} of {part['gpu_sms']}, from {part['first']}"
    if part["wanted"]:
        text += f", NOT {part['wanted']}"
    return text if part["steady"] else text + ", not all the time"
