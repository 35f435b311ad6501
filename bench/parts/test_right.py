#!/usr/bin/env python3
"""Tests of right.py that need no GPU. COTENANT and PROGS may name the program and the folder of progs."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import right

HERE = os.path.dirname(os.path.abspath(__file__))
MOVED = {"placed": 9, "failed": 0, "followed": 90, "stayed": 10}


def row(**moved):
    return {"kind": "gemm", "steps": 1, "alone": {"hash": "a"},
            "moved": {"hash": "a", "changes": MOVED, **moved}}


class Verdicts(unittest.TestCase):
    def test_same(self):
        self.assertEqual(right.judge(row()), "same")

    def test_a_difference_counts_if_two_runs_alone_agree(self):
        self.assertEqual(right.judge({**row(hash="b"), "again": {"hash": "a"}}), "DIFFERENT")
        self.assertEqual(right.judge({**row(hash="b"), "again": {"hash": "c"}}), "not steady alone")

    def test_one_that_was_not_moved_shows_nothing(self):
        for changes in (None, {**MOVED, "placed": 0}, {**MOVED, "followed": 0}):
            self.assertEqual(right.judge(row(changes=changes)), "same, but it was NOT MOVED")
            self.assertFalse(right.is_right({"verdict": right.judge(row(changes=changes))}))

    def test_an_error_against_fp64(self):
        self.assertEqual(right.judge(row(worst_error=0.01)), "same")
        self.assertEqual(right.judge(row(worst_error=0.5)), "WRONG: an error of 0.500")

    def test_one_that_fails(self):
        self.assertEqual(right.judge(row(error="status 3: x")), "not run (moved): status 3: x")


class DryRuns(unittest.TestCase):
    """Random programs on the emulated GPU, really moved."""

    def run_it(self, by, scale):
        places = []
        if "COTENANT" in os.environ:
            places += ["--bin", os.path.dirname(os.environ["COTENANT"])]
        if "PROGS" in os.environ:
            places += ["--progs", os.environ["PROGS"]]
        with tempfile.TemporaryDirectory() as folder:
            argv = [sys.executable, os.path.join(HERE, "right.py"), "--dry-run", "--by", by,
                    "--scale", str(scale),
                    "--budget", "90", "--out", folder, *places]
            done = subprocess.run(argv, text=True, timeout=120, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(folder, "right.json")) as f:
                result = json.load(f)
            self.assertGreater(os.path.getsize(os.path.join(folder, "right.md")), 300)
        return result

    def test_by_placer(self):
        result = self.run_it("placer", 1)
        self.assertEqual([r["verdict"] for r in result["rows"]], ["same"])
        self.assertGreater(result["rows"][0]["moved"]["changes"]["placed"], 10)

    def test_by_daemon(self):
        result = self.run_it("daemon", 8)  # some seconds: programs tell their counts now and then
        self.assertGreater(result["rows"][0]["moved"]["changes"]["placed"], 2)


if __name__ == "__main__":
    unittest.main()
