/*
 * The launches of a program that is profiled: how long each took on the GPU. `cotenant profile`
 * makes the mapping, and names it in COTENANT_TIMED; the library in the program fills it, one
 * *round* for each size of part, while that round is on.
 *
 * One process writes, the first one that launches anything in a round; others leave it alone. The
 * reader believes nothing: whatever the bytes are, what it gives out lies within the bounds below.
 * Pure, no allocation.
 */
#ifndef COT_PROTO_TIMED_H
#define COT_PROTO_TIMED_H

#include <stdbool.h>
#include <stdint.h>

#define COT_TIMED_MAGIC	   0x31646d6974746f63ULL /* "cottimd1" */
#define COT_TIMED_ROUNDS   32u
#define COT_TIMED_KERNELS  1024u
#define COT_TIMED_LAUNCHES 4096u /* of a round */
#define COT_TIMED_NAME_MAX 192u
#define COT_TIMED_PATH_MAX 64u
#define COT_TIMED_NS_MAX   3600000000000ULL /* an hour */

/* What is launched: the same kernel with another grid or other blocks is another one. */
struct cot_timed_kernel {
	char name[COT_TIMED_NAME_MAX]; /* "graph": a CUDA graph, as a whole */
	uint32_t shape[6];	       /* grid and block; of a graph anything that is its own */
};

enum {
	COT_TIMED_FIRST = 1, /* of a request: the one before has ended, or this one has begun */
	COT_TIMED_GAP = 2,   /* launches before it are missing */
};

struct cot_timed_launch {
	uint64_t ns;
	uint16_t kernel, flags;
	uint32_t pad;
};

struct cot_timed_round {
	_Atomic uint32_t n; /* launches, in the order in which they were made */
	uint32_t pad;
	struct cot_timed_launch launches[COT_TIMED_LAUNCHES];
};

struct cot_timed {
	uint64_t magic;
	_Atomic uint32_t on;	    /* the round that is measured, from 1 on; 0: none */
	_Atomic uint32_t writer;    /* the process; 0: none yet */
	_Atomic uint32_t n_kernels; /* kernels behind that are not there yet */
	uint32_t pad;
	struct cot_timed_kernel kernels[COT_TIMED_KERNELS];
	struct cot_timed_round rounds[COT_TIMED_ROUNDS];
};

/* ---- the writer ---- */

/* The number of that kernel, which becomes a new one where it is not known; COT_TIMED_KERNELS:
 * there is no room. One thread at a time. */
uint32_t cot_timed_kernel(struct cot_timed *t, const char *name, const uint32_t shape[6]);
/* False: the round, from 1 on, is full. One thread at a time. */
bool cot_timed_put(struct cot_timed *t, uint32_t round, const struct cot_timed_launch *l);

/* ---- the reader ---- */

/* How many launches a round, from 1 on, has. */
uint32_t cot_timed_count(const struct cot_timed *t, uint32_t round);
/* Copies the first n of them, or fewer: kernels are smaller than the number that is returned by
 * cot_timed_n_kernels() after it, times from 1 to COT_TIMED_NS_MAX, and what is not is left out as
 * a gap. How many they are. */
uint32_t cot_timed_read(const struct cot_timed *t, uint32_t round, struct cot_timed_launch *ret,
			uint32_t n);
uint32_t cot_timed_n_kernels(const struct cot_timed *t);
/* Its name, of printable characters, one at least; "": there is no such kernel. */
void cot_timed_name(const struct cot_timed *t, uint32_t kernel, char ret[COT_TIMED_NAME_MAX]);

#endif
