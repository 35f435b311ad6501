"""How a latency program that runs is told how many requests come, and says how many it has answered.

A page shared with the program (orders.cuh, tenants.py). The runner writes what it wants and then the next
generation. With a seed, requests that still wait are given up, and arrivals begin again as that seed
says: so different ways of sharing are asked the same at the same times. Without one only the rate changes.
"""
import mmap
import struct

BYTES = 4096
GENERATION, WANTED, DONE = 0, 8, 24  # u64; f64 a second, u64 seed; u64 answered, ns of service, waiting


class Board:
    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(bytes(BYTES))
        with open(path, "r+b") as f:
            self.page = mmap.mmap(f.fileno(), BYTES)
        self.generation = 0

    def ask(self, rate, seed=0):
        struct.pack_into("=dQ", self.page, WANTED, rate, seed)
        self.generation += 1
        struct.pack_into("=Q", self.page, GENERATION, self.generation)

    def done(self):
        """(requests answered since the start, ns that they took once they were begun)"""
        return struct.unpack_from("=QQ", self.page, DONE)

    def waiting(self):
        """Requests that have arrived and have no answer yet."""
        return struct.unpack_from("=Q", self.page, DONE + 16)[0]


class Reader:
    """The program's side."""

    def __init__(self, path):
        with open(path, "r+b") as f:
            self.page = mmap.mmap(f.fileno(), BYTES)
        self.generation = self.n = self.busy_ns = 0

    def news(self):
        """(rate, seed) if they are new, else None"""
        generation, rate, seed = struct.unpack_from("=QdQ", self.page)
        if generation == self.generation:
            return None
        self.generation = generation
        return rate, seed

    def tell(self, n, busy_ns, waiting):
        struct.pack_into("=QQQ", self.page, DONE, n, busy_ns, waiting)
