/*
 * Allocations in a window of addresses: which addresses each has, and which chunks of memory have
 * to be there. Pure; the caller makes and maps the chunks. Not thread-safe.
 *
 * A chunk is made for what does not fit between others, and given back when it is empty. Small
 * allocations share chunks.
 */
#ifndef COT_BACKEND_WINDOW_H
#define COT_BACKEND_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COT_WINDOW_CHUNKS 2048u
#define COT_WINDOW_ALIGN  512u

struct cot_window_chunk {
	uint64_t at, bytes;
	uint64_t handle; /* the caller's */
	uint32_t n_blocks;
};

struct cot_window_block {
	uint64_t at, bytes;
};

struct cot_window {
	uint64_t at, bytes;
	uint32_t n_chunks; /* sorted by address, as the blocks */
	struct cot_window_chunk chunks[COT_WINDOW_CHUNKS];
	struct cot_window_block *blocks;
	size_t n_blocks, capacity;
};

void cot_window_init(struct cot_window *w, uint64_t at, uint64_t bytes);
void cot_window_finish(struct cot_window *w);

/*
 * An address for so many bytes. 0: it is in a chunk that is there. -EAGAIN: *ret_chunk has to be
 * made first, and added; then ask again. -ENOMEM: there is no room.
 */
int cot_window_take(struct cot_window *w, uint64_t bytes, uint64_t *ret_at,
		    struct cot_window_chunk *ret_chunk);
/* It is there. -ENOMEM, -EEXIST. */
int cot_window_add(struct cot_window *w, const struct cot_window_chunk *chunk);
/*
 * The allocation that begins there is given back. 0, and *ret_chunk, if its chunk is empty now and
 * has left the table: the caller unmaps it. -EAGAIN: it is not. -ENOENT: there is none there.
 */
int cot_window_give(struct cot_window *w, uint64_t at, struct cot_window_chunk *ret_chunk);
/* Whether an address is in an allocation. */
bool cot_window_has(const struct cot_window *w, uint64_t address);

#endif
