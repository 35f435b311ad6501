/*
 * Vector clocks: each warp counts its own time, and knows of each other warp up to which time its
 * accesses have certainly been made. A barrier tells all warps of a block what any of them knows;
 * an atomic, volatile, acquire or release access tells through its word. Two plain accesses of one
 * byte by two threads, of which one is a write, are a race unless the later one's warp knows the
 * time of the earlier one.
 *
 * What it does not see: races with atomic or volatile accesses, two lanes that write to one place
 * in one instruction, reads beyond the last four of a word, and words beyond MAX_WORDS.
 */
#include "emu/exec/race.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WARPS 2048u /* of the grid */
#define MAX_WORDS (1u << 22)
#define N_READS	  4u

struct access {
	uint32_t warp, time; /* time 0: none */
	uint32_t line;
	uint8_t lane, bytes; /* bytes: a bit for each of the word's */
};

struct word {
	uint64_t address; /* of four bytes in this process; 0: free */
	uint64_t owner;	  /* shared memory: the block, plus 1 */
	struct access write, reads[N_READS];
	uint32_t next_read;
	uint32_t *clock; /* of a word that warps talk through */
};

struct cot_exec_races {
	pthread_mutex_t lock;
	uint32_t n_warps, warps_per_block;
	uint32_t *clocks; /* n_warps of each warp */
	struct word *words;
	size_t n_words, room;
};

static int no_memory(const struct cot_exec_run *run, struct cot_error *err)
{
	return cot_error_set(err, -ENOMEM, "%s: no memory for the check of races",
			     run->function->info.name);
}

int cot_exec_races_create(struct cot_exec_run *run, struct cot_error *err)
{
	struct cot_exec_races *races;
	uint64_t n;
	uint32_t i;

	/* Blocks first: the product of a large grid would wrap around. */
	if (run->n_blocks > MAX_WARPS / run->n_warps)
		return cot_error_set(err, -E2BIG,
				     "%s: %llu blocks of %u warps are too many for the check of "
				     "races; expected at most %u warps",
				     run->function->info.name, (unsigned long long)run->n_blocks,
				     (unsigned)run->n_warps, MAX_WARPS);
	n = run->n_blocks * run->n_warps;
	races = calloc(1, sizeof(*races));
	if (!races)
		return no_memory(run, err);
	pthread_mutex_init(&races->lock, NULL);
	races->n_warps = (uint32_t)n;
	races->warps_per_block = run->n_warps;
	races->room = 1024;
	races->words = calloc(races->room, sizeof(*races->words));
	races->clocks = calloc(n * n, sizeof(*races->clocks));
	if (!races->words || !races->clocks) {
		cot_exec_races_destroy(races);
		return no_memory(run, err);
	}
	for (i = 0; i < n; i++)
		races->clocks[(size_t)i * n + i] = 1;
	run->races = races;
	return 0;
}

void cot_exec_races_destroy(struct cot_exec_races *races)
{
	size_t i;

	if (!races)
		return;
	for (i = 0; races->words && i < races->room; i++)
		free(races->words[i].clock);
	pthread_mutex_destroy(&races->lock);
	free(races->words);
	free(races->clocks);
	free(races);
}

/* ---- clocks ---- */

static uint32_t warp_number(const struct cot_exec_warp *w)
{
	return (uint32_t)(w->block->number * w->block->run->n_warps) + w->index;
}

static uint32_t *clock_of(struct cot_exec_races *r, uint32_t warp)
{
	return r->clocks + (size_t)warp * r->n_warps;
}

static void learn(struct cot_exec_races *r, uint32_t *to, const uint32_t *from)
{
	uint32_t i;

	for (i = 0; i < r->n_warps; i++)
		to[i] = from[i] > to[i] ? from[i] : to[i];
}

void cot_exec_race_barrier(struct cot_exec_block *b)
{
	struct cot_exec_races *r = b->run->races;
	uint32_t first, i;

	if (!r)
		return;
	first = (uint32_t)(b->number * b->run->n_warps);
	pthread_mutex_lock(&r->lock);
	for (i = 1; i < b->n_warps; i++)
		learn(r, clock_of(r, first), clock_of(r, first + i));
	for (i = 1; i < b->n_warps; i++)
		memcpy(clock_of(r, first + i), clock_of(r, first), r->n_warps * sizeof(uint32_t));
	for (i = 0; i < b->n_warps; i++)
		clock_of(r, first + i)[first + i]++;
	pthread_mutex_unlock(&r->lock);
}

void cot_exec_race_warp(struct cot_exec_warp *w)
{
	struct cot_exec_races *r = w->block->run->races;
	uint32_t warp = warp_number(w);

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	clock_of(r, warp)[warp]++;
	pthread_mutex_unlock(&r->lock);
}

/* ---- words ---- */

static size_t slot_of(const struct word *words, size_t room, uint64_t address)
{
	size_t k = (size_t)cot_mix64(address) & (room - 1);

	while (words[k].address && words[k].address != address)
		k = (k + 1) & (room - 1);
	return k;
}

/* NULL beyond the bound. */
static struct word *word_at(struct cot_exec_races *r, uint64_t address)
{
	struct word *w = &r->words[slot_of(r->words, r->room, address)], *grown;
	size_t i;

	if (w->address)
		return w;
	if (r->n_words * 2 >= r->room) {
		if (r->room >= MAX_WORDS)
			return NULL;
		grown = calloc(r->room * 2, sizeof(*grown));
		if (!grown)
			return NULL;
		for (i = 0; i < r->room; i++)
			if (r->words[i].address)
				grown[slot_of(grown, r->room * 2, r->words[i].address)] =
					r->words[i];
		free(r->words);
		r->words = grown;
		r->room *= 2;
		w = &r->words[slot_of(r->words, r->room, address)];
	}
	w->address = address;
	r->n_words++;
	return w;
}

static bool is_known(struct cot_exec_races *r, uint32_t warp, const struct access *a)
{
	const uint32_t *clock = clock_of(r, warp);

	/* Of its own warp only what was before the last meeting of its lanes is certain. */
	return a->warp == warp ? a->time < clock[warp] : a->time <= clock[a->warp];
}

static bool collides(struct cot_exec_races *r, const struct access *old, const struct access *new)
{
	if (!old->time || !(old->bytes & new->bytes) ||
	    (old->warp == new->warp && old->lane == new->lane))
		return false;
	return !is_known(r, new->warp, old);
}

static void keep_read(struct cot_exec_races *r, struct word *word, const struct access *new)
{
	unsigned k;

	for (k = 0; k < N_READS; k++) {
		struct access *old = &word->reads[k];

		if (!old->time || (old->warp == new->warp && old->lane == new->lane) ||
		    is_known(r, new->warp, old)) {
			*old = *new;
			return;
		}
	}
	word->reads[word->next_read++ % N_READS] = *new;
}

/* The access that this one collides with, or NULL; it is remembered then. */
static const struct access *plain(struct cot_exec_races *r, struct word *word,
				  const struct access *new, bool write)
{
	unsigned k;

	/* Lanes that write the same place in one instruction are not distinguished. */
	if (collides(r, &word->write, new) &&
	    !(write && word->write.warp == new->warp && word->write.line == new->line))
		return &word->write;
	for (k = 0; write && k < N_READS; k++)
		if (collides(r, &word->reads[k], new))
			return &word->reads[k];
	if (write)
		word->write = *new;
	else
		keep_read(r, word, new);
	return NULL;
}

/* What the warp knows goes into the word, and what the word tells to the warp. */
static void talk(struct cot_exec_races *r, struct word *word, uint32_t warp, bool write)
{
	uint32_t *clock = clock_of(r, warp);

	if (!word->clock)
		word->clock = calloc(r->n_warps, sizeof(*word->clock));
	if (!word->clock)
		return;
	learn(r, clock, word->clock);
	if (write) {
		learn(r, word->clock, clock);
		clock[warp]++;
	}
}

static enum cot_exec_flow report(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				 unsigned lane, const struct access *old, bool old_write,
				 uint64_t address)
{
	const struct cot_exec_run *run = w->block->run;
	uint64_t block = old->warp / run->n_warps;
	uint32_t thread = old->warp % run->n_warps * LANES + old->lane;

	return cot_exec_fault(
		w, in, lane, COT_EXEC_FAULT_RACE, address,
		"this %s of 0x%llx races with the %s in line %u by thread %u of block %llu",
		in->flags & INSN_WRITES ? "write" : "read", (unsigned long long)address,
		old_write ? "write" : "read", old->line, thread, (unsigned long long)block);
}

static bool is_within(const uint8_t *p, const uint8_t *base, size_t size)
{
	return p >= base && p < base + size;
}

/* One lane's access, word by word. */
static enum cot_exec_flow check_lane(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				     unsigned lane, const uint8_t *p, uint32_t bytes)
{
	struct cot_exec_races *r = w->block->run->races;
	struct access found, new = {warp_number(w), 0, 0, (uint8_t)lane, 0};
	bool shared = is_within(p, w->block->shared, w->block->run->shared_bytes), write;
	uint64_t at = (uint64_t)(uintptr_t)p, end = at + bytes;
	const struct access *other = NULL;

	new.line = w->block->run->module->lines[in - w->block->run->module->code];
	write = in->flags & INSN_WRITES;
	while (at < end && !other) {
		uint64_t address = at & ~3ull, next = address + 4 < end ? address + 4 : end;
		struct word *word = word_at(r, address);
		uint64_t owner = shared ? w->block->number + 1 : 0;

		if (!word)
			return FLOW_NEXT;
		if (word->owner != owner) {
			/* The bytes were another block's: nothing of that counts. */
			memset(&word->write, 0, sizeof(word->write));
			memset(word->reads, 0, sizeof(word->reads));
			if (word->clock)
				memset(word->clock, 0, r->n_warps * sizeof(*word->clock));
			word->owner = owner;
		}
		new.time = clock_of(r, new.warp)[new.warp];
		new.bytes = (uint8_t)(((1u << (next - at)) - 1) << (at & 3));
		if (in->flags & INSN_STRONG)
			talk(r, word, new.warp, write);
		else
			other = plain(r, word, &new, write);
		if (other) {
			found = *other;
			return report(w, in, lane, &found, other == &word->write, at);
		}
		at = next;
	}
	return FLOW_NEXT;
}

enum cot_exec_flow cot_exec_race_check(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				       uint32_t m, uint32_t bytes, uint8_t *const p[LANES])
{
	struct cot_exec_races *r = w->block->run->races;
	enum cot_exec_flow flow = FLOW_NEXT;

	if (in->space == MEM_LOCAL || in->space == MEM_ARGS)
		return FLOW_NEXT;
	pthread_mutex_lock(&r->lock);
	for (; m && flow == FLOW_NEXT; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		/* Generic addresses of a thread's own memory and of parameters. */
		if (is_within(p[i], w->local, (size_t)w->local_bytes * LANES) ||
		    is_within(p[i], w->block->run->args, w->block->run->function->info.args_size))
			continue;
		flow = check_lane(w, in, i, p[i], bytes);
	}
	pthread_mutex_unlock(&r->lock);
	return flow;
}
