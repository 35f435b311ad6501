"""The sets of kernels that run.py measures."""
import itertools
import random

# The patent's four programs, with as many blocks as there; encryption of 12 KiB. In 2 to 9 copies, and mixed: as in its two
# scenarios, and every two, three and four of them, once and twice each.
FOUR = ("MonteCarlo/45", "aes/3", "BlackScholes/45", "search/15")
PATENT_COPIES = [f"{kernel}*{n}" for n in range(2, 10) for kernel in FOUR]
SCENARIOS = ["MonteCarlo/45+aes/15", "BlackScholes/45+search/15"]
MIXED = [kinds for n in (2, 3, 4) for kinds in itertools.combinations(FOUR, n)]
PATENT_MIXED = list(dict.fromkeys([*SCENARIOS, *map("+".join, MIXED),
                                   *("+".join(f"{kernel}*2" for kernel in kinds) for kinds in MIXED)]))
# The same before there were Monte Carlo, encryption and search: BlackScholes, and md5hash and nn in the places of encryption
# and search.
COPIES = [f"{kernel}/33*{n}" for n in range(2, 10) for kernel in ("md5hash", "BlackScholes", "nn")]
OTHERS = ["matrixMul/132*3", "vectorAdd/2000*3", "pathfinder/132*3", "myocyte/24*3", "lavaMD/64*3",
          "particlefilter/200*3", "bfs/500*3", "LULESH/123*2", "md5hash/1056*2", "BlackScholes/40000*2",
          "matrixMul/4096*2"]
PAIRS = ["md5hash/33+BlackScholes/33", "md5hash/66+nn/2000", "matrixMul/132+vectorAdd/20000",
         "lavaMD/64+vectorAdd/20000", "myocyte/24+md5hash/33", "pathfinder/132+BlackScholes/2000",
         "matrixMul/66+lavaMD/64", "nn/20000+vectorAdd/20000", "md5hash/528+matrixMul/2048", "bfs/500+md5hash/66"]
MORE = ["md5hash/33*2+BlackScholes/33*2", "md5hash/33+BlackScholes/33+nn/33",
        "myocyte/24+md5hash/33+lavaMD/64+vectorAdd/2000", "matrixMul/66+md5hash/33*2",
        "particlefilter/200+pathfinder/132+md5hash/33"]
# Written down before any of them was measured, when the form of the model was chosen by the others' outcomes.
NEW = ["matrixMul/66*2", "lavaMD/64+nn/20000", "vectorAdd/2000*6", "nn/33*2+vectorAdd/2000*2", "md5hash/66*4",
       "matrixMul/66+BlackScholes/33", "nn/2000*5", "pathfinder/132+md5hash/66", "lavaMD/64+md5hash/66+BlackScholes/2000",
       "lavaMD/64*2", "particlefilter/200+matrixMul/66", "BlackScholes/2000*3", "LULESH/123+nn/33",
       "pathfinder/132*2", "vectorAdd/2000+md5hash/66", "matrixMul/66*2+BlackScholes/33*2",
       "aes/3*9", "aes/3*2+BlackScholes/33*2", "aes/3*4"]
# Written down, before any of them was measured, when gaps, joules and the cost of a merged block were in the model.
NEWEST = ["matrixMul/66*4", "pathfinder/132+nn/2000", "BlackScholes/2000*6", "aes/3*6", "vectorAdd/20000*2",
          "lavaMD/64+md5hash/66", "LULESH/123+md5hash/33", "md5hash/66*2+nn/2000*2", "nn/20000*2", "matrixMul/132+md5hash/66",
          "aes/3*3+md5hash/33", "bfs/500+matrixMul/66"]
# Drawn at random, before any of them was measured, when a stream's end, the bound of what blocks cost when merged and
# MIN_GAIN_PCT were in the model: 25 of the patent's programs in two to nine copies, 25 of one to four of eleven kernels.
DRAWN = ["nn/33*2+BlackScholes/33*4", "BlackScholes/33+aes/12", "md5hash/66*3+BlackScholes/2000*3", "nn/2000*6",
         "BlackScholes/2000+nn/33+md5hash/33", "BlackScholes/2000*4", "aes/12*7", "md5hash/66*2+aes/12",
         "BlackScholes/33*4+nn/33*3", "BlackScholes/33+aes/12*2+md5hash/66*4", "md5hash/66*5+BlackScholes/33*4",
         "aes/3*4+nn/33", "md5hash/66+BlackScholes/33", "nn/33+aes/12*4", "md5hash/66*2+BlackScholes/33+aes/3",
         "aes/12*2+nn/33*4+BlackScholes/2000*2", "nn/33+aes/12+BlackScholes/2000", "md5hash/66*4+nn/33*4",
         "BlackScholes/33*2+aes/3*2+nn/2000*3", "nn/33+BlackScholes/33+aes/3", "aes/12*2+md5hash/66*2+BlackScholes/33",
         "nn/33*2+BlackScholes/33*3", "aes/3*3+nn/33*6", "md5hash/33*2+BlackScholes/33+nn/33*2",
         "md5hash/66*2+BlackScholes/33*5", "md5hash/66*3+LULESH/123", "particlefilter/200+pathfinder/132*2+LULESH/123",
         "pathfinder/132*2+md5hash/33", "nn/33+lavaMD/64+LULESH/123+myocyte/24", "myocyte/24+pathfinder/132",
         "particlefilter/200+nn/33+lavaMD/64+vectorAdd/2000", "bfs/500+particlefilter/200*2",
         "vectorAdd/2000+md5hash/33+pathfinder/132+matrixMul/66", "LULESH/123+nn/33+pathfinder/132+md5hash/66",
         "myocyte/24+BlackScholes/2000+particlefilter/200+matrixMul/132", "lavaMD/64*4",
         "BlackScholes/33+lavaMD/64+bfs/500", "BlackScholes/2000+myocyte/24*2+vectorAdd/2000",
         "matrixMul/132+pathfinder/132+nn/2000+vectorAdd/20000", "md5hash/33*2+vectorAdd/20000",
         "pathfinder/132*3+nn/33", "lavaMD/64*3+pathfinder/132", "matrixMul/66+myocyte/24+nn/33+vectorAdd/2000",
         "pathfinder/132+BlackScholes/2000*3", "matrixMul/132+myocyte/24+pathfinder/132+vectorAdd/2000",
         "vectorAdd/2000+bfs/500", "lavaMD/64+bfs/500+matrixMul/66", "bfs/500+matrixMul/132+LULESH/123*2",
         "particlefilter/200+myocyte/24+vectorAdd/20000+bfs/500", "particlefilter/200*2+lavaMD/64*2"]
# Fifty more in the same way, when joules of rounds that need a reset were counted right and sets of any number were judged.
DRAWN_AGAIN = ["md5hash/66*2+aes/3*2+nn/2000*4", "md5hash/33+BlackScholes/33+nn/33*2",
               "BlackScholes/33*2+aes/12*3+nn/33", "md5hash/33*3+aes/3*4", "md5hash/66*8", "aes/12*9",
               "BlackScholes/2000*5+nn/2000*3", "md5hash/33+aes/12*2+BlackScholes/33",
               "aes/12*3+BlackScholes/33*2+nn/33", "nn/2000+BlackScholes/2000*3+md5hash/33*2", "aes/3*5",
               "md5hash/66*2+BlackScholes/33*4", "nn/33*2+aes/12*2", "BlackScholes/33*2+aes/3", "aes/12*2+nn/33",
               "BlackScholes/2000*2+aes/3*3+nn/33*3", "BlackScholes/2000+aes/3*4", "BlackScholes/33*2+md5hash/33*7",
               "md5hash/33+BlackScholes/2000*3+nn/33", "md5hash/33+nn/2000*2", "nn/33*2+aes/12*2+md5hash/66*2",
               "BlackScholes/2000*2+md5hash/66*2+aes/3", "aes/3+md5hash/33*2", "aes/12*2", "aes/3*8",
               "pathfinder/132+md5hash/33+particlefilter/200*2", "bfs/500+particlefilter/200+md5hash/66",
               "md5hash/33*2+bfs/500*2", "matrixMul/66*2+nn/33+pathfinder/132", "lavaMD/64*2+LULESH/123",
               "md5hash/66+myocyte/24+lavaMD/64", "myocyte/24+particlefilter/200+BlackScholes/2000",
               "lavaMD/64*2+nn/33+myocyte/24", "particlefilter/200+myocyte/24", "lavaMD/64*2+myocyte/24",
               "nn/33+myocyte/24", "myocyte/24+bfs/500*2", "bfs/500*2+LULESH/123*2", "md5hash/66+LULESH/123*3",
               "matrixMul/132+LULESH/123+myocyte/24+nn/2000", "matrixMul/66*3", "matrixMul/132*2+vectorAdd/2000*2",
               "nn/33+myocyte/24+pathfinder/132*2", "bfs/500*4", "bfs/500+md5hash/66+LULESH/123+matrixMul/66",
               "nn/2000+particlefilter/200", "particlefilter/200+nn/33",
               "BlackScholes/33+lavaMD/64+myocyte/24+md5hash/66", "lavaMD/64*2+vectorAdd/20000+nn/33",
               "BlackScholes/2000*2"]
# What stood for the patent's programs in these lists, each with few blocks and with many; and eleven kernels.
STAND_INS = ("md5hash/33", "md5hash/66", "BlackScholes/33", "BlackScholes/2000", "nn/33", "nn/2000", "aes/3", "aes/12")
ELEVEN = ("matrixMul/66", "matrixMul/132", "vectorAdd/2000", "vectorAdd/20000", "pathfinder/132", "myocyte/24", "lavaMD/64",
          "particlefilter/200", "bfs/500", "LULESH/123", "md5hash/66", "nn/2000", "BlackScholes/2000")


def drawn_set(rng, kernels, most_kinds, most):
    """Two to `most` instances of up to `most_kinds` kernels."""
    kinds = rng.sample(kernels, rng.randint(1, most_kinds))
    found = dict.fromkeys(kinds, 1)
    for _ in range(rng.randint(max(2, len(kinds)), max(most, len(kinds))) - len(kinds)):
        found[rng.choice(kinds)] += 1
    return "+".join(name + (f"*{n}" if n > 1 else "") for name, n in found.items())


def draw(seed, there):
    """25 sets of the stand-ins in two to nine copies, 25 of two to four of eleven kernels; none that is there."""
    rng, found = random.Random(seed), []
    for kernels, most_kinds, most in ((STAND_INS, 4, 9), (ELEVEN, 4, 4)):
        end = len(found) + 25
        while len(found) < end:
            name = drawn_set(rng, kernels, most_kinds, most)
            if name not in there and name not in found:
                found.append(name)
    return found


# Fifty more, by a seed, when the margin that the model is asked for was asked of what is measured as well (report.py).
DRAWN_THIRD = draw(20261130, {*DRAWN, *DRAWN_AGAIN, *COPIES, *OTHERS, *PAIRS, *MORE, *NEW, *NEWEST})
# Fifty more by another seed, when the ways of a set were measured in turn, three times each, and all of a run in one process.
DRAWN_FOURTH = draw(20261201, {*DRAWN, *DRAWN_AGAIN, *DRAWN_THIRD, *COPIES, *OTHERS, *PAIRS, *MORE, *NEW, *NEWEST})
LATER = ("new", "newest", "drawn", "drawn again", "drawn third", "drawn fourth", "patent copies",
         "patent mixed")  # written down before any of them was measured
# A set that is in two lists counts to the first: some copies of aes/3 were measured before the patent's lists were made.
CATEGORIES = {"copies": COPIES, "other copies": OTHERS, "pairs": PAIRS,
              "more": MORE, "new": NEW, "newest": NEWEST, "drawn": DRAWN, "drawn again": DRAWN_AGAIN,
              "drawn third": DRAWN_THIRD, "drawn fourth": DRAWN_FOURTH,
              "patent copies": PATENT_COPIES, "patent mixed": PATENT_MIXED}

# What launches cost: a kernel of one block that does nearly nothing.
SMALLEST = "vectorAdd/1"
LAUNCHES = [f"{SMALLEST}*{n}" for n in (1, 2, 4, 8)]
# How long after a kernel the next one of its stream begins: copies of one that is longer than its launch takes.
GAP = [f"md5hash/33*{n}" for n in range(1, 10)]
# What it costs a block of a merged launch to find out whose it is: many small blocks.
BLOCKS = "vectorAdd/2000*3"


def category_of(name):
    for category, sets in CATEGORIES.items():
        if name in sets:
            return category
    return "others"


def interleaved():
    """A run that ends early has some of each kind; of the new ones all."""
    left = [list(sets) for category, sets in CATEGORIES.items() if category not in LATER]
    yield from PATENT_MIXED
    yield from PATENT_COPIES
    yield from DRAWN_FOURTH
    yield from DRAWN_THIRD
    yield from DRAWN_AGAIN
    yield from DRAWN
    yield from NEWEST
    yield from NEW
    while any(left):
        for sets in left:
            if sets:
                yield sets.pop(0)


def parts_of(name):
    """[(benchmark, blocks, instances)]"""
    parts = []
    for text in name.split("+"):
        kernel, _, n = text.partition("*")
        kernel, _, blocks = kernel.partition("/")
        parts.append((kernel, int(blocks), int(n or 1)))
    return parts


def few_blocks(name):
    return "+".join(f"{kernel}/{min(blocks, 8)}*{n}" for kernel, blocks, n in parts_of(name))


def alone(kernel, blocks):
    return f"{kernel}/{blocks}*1"


def each_alone(names):
    """The kernels of the sets, each once."""
    return list(dict.fromkeys(alone(kernel, blocks) for name in names for kernel, blocks, _ in parts_of(name)))


# And how much that is where blocks wait for memory.
MANY_BLOCKS = "vectorAdd/20000*2"

# What is always measured, for what launches cost.
CALIBRATION = [*LAUNCHES, GAP[0], GAP[3], *each_alone([BLOCKS, MANY_BLOCKS]), BLOCKS, MANY_BLOCKS]
