#!/usr/bin/env python3
"""Tests of follow.py that need no GPU. PROGS may name the folder of progs."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import follow

HERE = os.path.dirname(os.path.abspath(__file__))


def window(label, p99_us=None, rate=None):
    out = {"label": label}
    if p99_us:
        out["latency"] = {"p50_us": p99_us / 2, "p99_us": p99_us}
    if rate:
        out["batch"] = {"rate": rate}
    return out


class Rows(unittest.TestCase):
    def test_medians_and_parts_of_the_rate_alone(self):
        rows = follow.rows_of([window("batch alone", rate=10), window("all SMs", 4000, 9),
                               window("batch alone", rate=20), window("all SMs", 2000, 6)])
        self.assertEqual([r["label"] for r in rows], ["batch alone", "all SMs"])
        self.assertEqual(rows[0]["kept"], 1)
        self.assertEqual((rows[1]["rounds"], rows[1]["p99_us"], rows[1]["kept"]), (2, 3000, 0.5))

    def test_without_a_run_alone_no_part_is_known(self):
        self.assertIsNone(follow.rows_of([window("all SMs", 4000, 9)])[0]["kept"])

    def test_what_the_placer_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            board = follow.Board(folder)
            board.words[0] = 1
            board.set(follow.Window("x", 64, 0, 500))
            with open(board.path, "rb") as f:
                words = f.read(16)
        self.assertEqual([int.from_bytes(words[i:i + 4], "little") for i in (0, 4, 8, 12)],
                         [1, 64, 0, 500])


class DryRun(unittest.TestCase):
    def test_all_windows(self):
        progs = ["--progs", os.environ["PROGS"]] if "PROGS" in os.environ else []
        with tempfile.TemporaryDirectory() as folder:
            argv = [sys.executable, os.path.join(HERE, "follow.py"), "--dry-run", "--seconds", "0.2",
                    "--rounds", "1", "--paces", "500", "--out", folder, *progs]
            done = subprocess.run(argv, text=True, timeout=120, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(folder, "follow.json")) as f:
                rows = json.load(f)["rows"]
            self.assertGreater(os.path.getsize(os.path.join(folder, "follow.md")), 300)
        self.assertEqual(len(rows), 7)


if __name__ == "__main__":
    unittest.main()
