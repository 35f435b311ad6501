#!/usr/bin/env python3
"""A batch program of gangs.py whose kernels are a vendor's library's: cuBLAS' and PyTorch's own. None comes as PTX.

`--what product`: a bf16 product that fills the GPU with computing; `copies`: of memory; `solver`: a batch of small
products. Two are in the queue all the time. It says and hears what `chain.py batch` does.
"""
import argparse
import sys
import time

import chain

WORK = ("product", "copies", "solver")
# Elements of each side; floats that are copied; how many small products, and the sides of each.
PRODUCT, COPIED, SMALL = (8192, 8192, 4096), 128 << 20, (20, 128, 128, 8192)


class Library:
    """The first GPU that the program sees."""

    def __init__(self, what):
        import torch  # noqa: PLC0415 (not where the emulated GPU is)
        self.torch = torch
        torch.set_grad_enabled(False)
        self.once = getattr(self, what)()
        self.events = [torch.cuda.Event() for _ in range(2)]
        self.once()
        torch.cuda.synchronize()

    def new(self, *sides, kind="float32"):
        return self.torch.randn(*sides, device="cuda", dtype=getattr(self.torch, kind))

    def product(self):
        m, n, k = PRODUCT
        a, b, out = self.new(m, k, kind="bfloat16"), self.new(k, n, kind="bfloat16"), self.new(m, n, kind="bfloat16")
        return lambda: self.torch.mm(a, b, out=out)

    def copies(self):
        a, b = self.new(COPIED), self.new(COPIED)
        # Not copy_(): that asks the copy engines.
        return lambda: self.torch.mul(a, 2, out=b)

    def solver(self):
        n, rows, columns, inner = SMALL
        a, b, out = self.new(n, rows, inner), self.new(n, inner, columns), self.new(n, rows, columns)
        return lambda: self.torch.bmm(a, b, out=out)

    def work(self, windows, end):
        n = 0
        while not windows.stopped and time.monotonic() < end:
            if n >= 2:
                self.events[n % 2].synchronize()
                windows.all[-1]["n"] += 1
            self.once()
            self.events[n % 2].record()
            n += 1
        self.torch.cuda.synchronize()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--what", choices=WORK, required=True)
    p.add_argument("--life", type=float, default=600, metavar="SECONDS")
    a = p.parse_args()
    library = Library(a.what)
    windows = chain.Windows()
    print("ready", flush=True)
    library.work(windows, time.monotonic() + a.life)
    windows.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
