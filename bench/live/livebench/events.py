"""From the events that programs leave to numbers. All times in ns unless a name says otherwise."""
import array
import base64
import zlib


def load(path):
    """The triples of common.cuh as a list of tuples."""
    values = array.array("q")
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        return []
    values.frombytes(data[:len(data) // 24 * 24])
    return list(zip(values[0::3], values[1::3], values[2::3]))


def nearest_rank(ordered, p):
    """The smallest value that at least p percent of all do not exceed."""
    if not ordered:
        return None
    rank = -(-len(ordered) * p // 100)  # rounded up
    return ordered[min(len(ordered), max(1, int(rank))) - 1]


def pack(values):
    """Whole numbers, compressed; unpack() undoes it."""
    return base64.b64encode(zlib.compress(array.array("I", values).tobytes(), 9)).decode()


def unpack(text):
    values = array.array("I")
    values.frombytes(zlib.decompress(base64.b64decode(text)))
    return list(values)


APART_NS = 500_000
NEVER = 2**32 - 1


def _apart(events, begin, end):
    """The latencies of requests that arrived some time after the answer before: the GPU had gone
    back to others by then, entirely."""
    return sorted(e[2] - e[0] for last, e in zip(events, events[1:])
                  if begin <= e[0] < end and e[0] - last[2] >= APART_NS)


def latency(events, begin, end, raw=True):
    """Of the requests that arrived in the window: from arrival to answer."""
    chosen = [e for e in events if begin <= e[0] < end]
    times = sorted(e[2] - e[0] for e in chosen)
    service = sorted(e[2] - e[1] for e in chosen)
    if not times:
        return {"n": 0}
    seconds = (end - begin) / 1e9
    out = {"n": len(times), "rate": len(times) / seconds, "mean_us": sum(times) / len(times) / 1e3,
           "max_us": times[-1] / 1e3, "service_p50_us": nearest_rank(service, 50) / 1e3,
           "service_p99_us": nearest_rank(service, 99) / 1e3}
    for p, key in ((50, "p50_us"), (90, "p90_us"), (99, "p99_us"), (99.9, "p999_us")):
        out[key] = nearest_rank(times, p) / 1e3
    apart = _apart(events, begin, end)
    out["apart_n"], out["apart_p99_us"] = len(apart), (nearest_rank(apart, 99) or 0) / 1e3
    if raw:  # in tenths of a microsecond, in order of arrival
        out["raw_100ns"] = pack([min(2**32 - 1, (e[2] - e[0]) // 100) for e in chosen])
    return out


def open_loop(events, begin, end, raw=True):
    """As latency(), of a program whose requests come whether or not it answers. One that was given up (it
    begins at 0) has taken longer than all others: a percentile that falls among these is None."""
    chosen = [e for e in events if begin <= e[0] < end]
    answered = [e for e in chosen if e[1]]
    times = sorted(e[2] - e[0] for e in answered)
    service = sorted(e[2] - e[1] for e in answered)
    out = {"n": len(chosen), "unanswered": len(chosen) - len(answered),
           "rate": len(chosen) / ((end - begin) / 1e9)}
    for p, key in ((50, "p50_us"), (90, "p90_us"), (99, "p99_us"), (99.9, "p999_us")):
        rank = min(len(chosen), max(1, int(-(-len(chosen) * p // 100))))
        out[key] = times[rank - 1] / 1e3 if 0 < rank <= len(times) else None
    for p, key in ((50, "service_p50_us"), (99, "service_p99_us")):
        out[key] = (nearest_rank(service, p) or 0) / 1e3 or None
    if raw:  # in tenths of a microsecond, in order of arrival; the greatest number: given up
        out["raw_100ns"] = pack([min(NEVER, (e[2] - e[0]) // 100) if e[1] else NEVER for e in chosen])
    return out


def arrivals(events, begin, end):
    """When those of the window came, in hundredths of a millisecond from its begin; packed, in the order of raw_100ns."""
    return pack([(e[0] - begin) // 10_000 for e in events if begin <= e[0] < end])


def ran_through(events, begin, end):
    """Which part of the window a batch program was at work in: its iterations follow each other."""
    covered, last = 0, begin
    for start, stop, _ in sorted(events):
        start, stop = max(start, last), min(stop, end)
        if stop > start:
            covered, last = covered + stop - start, stop
    return covered / (end - begin)


def rate(events, begin, end):
    """Units of work per second: one that lies partly in the window counts in part."""
    work, longest = 0.0, 0
    for start, stop, units in events:
        inside = min(stop, end) - max(start, begin)
        if inside > 0 and stop > start:
            work += units * inside / (stop - start)
            longest = max(longest, stop - start)
    seconds = (end - begin) / 1e9
    return {"rate": work / seconds, "longest_ms": longest / 1e6,
            "n": sum(1 for e in events if begin <= e[1] < end)}


def parts(requests, begin, end):
    """Of requests (begin, total, on the GPU, longest pause between kernels) in the window."""
    chosen = [r for r in requests if begin <= r[0] < end]
    columns = {"total": [r[1] for r in chosen], "on_gpu": [r[2] for r in chosen],
               "longest_pause": [r[3] for r in chosen],
               "before_and_after": [r[1] - r[2] for r in chosen]}
    out = {"n": len(chosen)}
    for name, values in columns.items():
        for p in (50, 99):
            out[f"{name}_p{p}_us"] = (nearest_rank(sorted(values), p) or 0) / 1e3
    return out
