#include "backend/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/grow.h"

/* From here on an allocation has a chunk of its own; smaller ones share chunks of this size. */
#define OWN_BYTES    (1ull << 20)
#define SHARED_BYTES (16ull << 20)

void cot_window_init(struct cot_window *w, uint64_t at, uint64_t bytes)
{
	memset(w, 0, sizeof(*w));
	w->at = at;
	w->bytes = bytes;
}

void cot_window_finish(struct cot_window *w)
{
	free(w->blocks);
	w->blocks = NULL;
	w->n_blocks = w->capacity = 0;
}

/* Index of the first block at or behind the address. */
static size_t block_from(const struct cot_window *w, uint64_t at)
{
	size_t low = 0, high = w->n_blocks, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (w->blocks[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

/* The first gap of the chunk that is large enough; 0: none. */
static uint64_t gap_in(const struct cot_window *w, const struct cot_window_chunk *c, uint64_t bytes)
{
	uint64_t at = c->at, end = c->at + c->bytes;
	size_t i;

	for (i = block_from(w, c->at); i < w->n_blocks && w->blocks[i].at < end; i++) {
		if (w->blocks[i].at - at >= bytes)
			return at;
		at = w->blocks[i].at + w->blocks[i].bytes;
	}
	return end - at >= bytes ? at : 0;
}

static int enter(struct cot_window *w, uint64_t at, uint64_t bytes)
{
	struct cot_window_block *more =
		cot_grow(w->blocks, w->n_blocks, &w->capacity, sizeof(*more));
	size_t i;

	if (!more)
		return -ENOMEM;
	w->blocks = more;
	i = block_from(w, at);
	memmove(more + i + 1, more + i, (w->n_blocks - i) * sizeof(*more));
	more[i] = (struct cot_window_block){at, bytes};
	w->n_blocks++;
	return 0;
}

/* Addresses for a new chunk, between the others. */
static int place_chunk(const struct cot_window *w, uint64_t bytes, struct cot_window_chunk *ret)
{
	uint64_t at = w->at;
	uint32_t i;

	if (w->n_chunks == COT_WINDOW_CHUNKS)
		return -ENOMEM;
	for (i = 0; i < w->n_chunks && w->chunks[i].at - at < bytes; i++)
		at = w->chunks[i].at + w->chunks[i].bytes;
	if (w->at + w->bytes - at < bytes)
		return -ENOMEM;
	*ret = (struct cot_window_chunk){.at = at, .bytes = bytes};
	return -EAGAIN;
}

int cot_window_take(struct cot_window *w, uint64_t bytes, uint64_t *ret_at,
		    struct cot_window_chunk *ret_chunk)
{
	uint64_t at = 0;
	uint32_t i;
	int rc;

	if (!bytes || bytes > w->bytes)
		return -ENOMEM;
	bytes = round_up(bytes, COT_WINDOW_ALIGN);
	for (i = 0; i < w->n_chunks && !at; i++)
		if (bytes >= OWN_BYTES ? !w->chunks[i].n_blocks
				       : w->chunks[i].bytes == SHARED_BYTES)
			at = gap_in(w, &w->chunks[i], bytes);
	if (!at)
		return place_chunk(w,
				   bytes >= OWN_BYTES ? round_up(bytes, COT_BACKEND_CHUNK_BYTES)
						      : SHARED_BYTES,
				   ret_chunk);
	rc = enter(w, at, bytes);
	if (rc)
		return rc;
	w->chunks[i - 1].n_blocks++;
	*ret_at = at;
	return 0;
}

int cot_window_add(struct cot_window *w, const struct cot_window_chunk *chunk)
{
	uint32_t i = 0;

	if (w->n_chunks == COT_WINDOW_CHUNKS)
		return -ENOMEM;
	while (i < w->n_chunks && w->chunks[i].at < chunk->at)
		i++;
	if ((i < w->n_chunks && chunk->at + chunk->bytes > w->chunks[i].at) ||
	    (i && w->chunks[i - 1].at + w->chunks[i - 1].bytes > chunk->at))
		return -EEXIST;
	memmove(w->chunks + i + 1, w->chunks + i, (w->n_chunks - i) * sizeof(w->chunks[0]));
	w->chunks[i] = *chunk;
	w->chunks[i].n_blocks = 0;
	w->n_chunks++;
	return 0;
}

static uint32_t chunk_of(const struct cot_window *w, uint64_t address)
{
	uint32_t i = 0;

	while (i < w->n_chunks && address - w->chunks[i].at >= w->chunks[i].bytes)
		i++;
	return i;
}

int cot_window_give(struct cot_window *w, uint64_t at, struct cot_window_chunk *ret_chunk)
{
	size_t i = block_from(w, at);
	uint32_t c;

	if (i == w->n_blocks || w->blocks[i].at != at)
		return -ENOENT;
	c = chunk_of(w, at);
	memmove(w->blocks + i, w->blocks + i + 1, (w->n_blocks - i - 1) * sizeof(w->blocks[0]));
	w->n_blocks--;
	if (--w->chunks[c].n_blocks)
		return -EAGAIN;
	*ret_chunk = w->chunks[c];
	memmove(w->chunks + c, w->chunks + c + 1, (w->n_chunks - c - 1) * sizeof(w->chunks[0]));
	w->n_chunks--;
	return 0;
}

bool cot_window_has(const struct cot_window *w, uint64_t address)
{
	size_t i = block_from(w, address + 1);

	return i && address - w->blocks[i - 1].at < w->blocks[i - 1].bytes;
}
