#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN	    16u
#define FIRST_CHUNK 4096u
#define LARGE_CHUNK (1u << 20)

struct chunk {
	struct chunk *next;
	size_t size, used; /* of data */
	_Alignas(ALIGN) unsigned char data[];
};

struct cot_arena {
	struct chunk *chunks; /* the first is the one that is being filled */
	size_t max_bytes, used;
	size_t next_size;
};

struct cot_arena *cot_arena_create(size_t max_bytes)
{
	struct cot_arena *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->max_bytes = max_bytes;
	a->next_size = FIRST_CHUNK;
	return a;
}

void cot_arena_destroy(struct cot_arena *a)
{
	struct chunk *c, *next;

	if (!a)
		return;
	for (c = a->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}

static struct chunk *add_chunk(struct cot_arena *a, size_t size)
{
	size_t room = size > a->next_size ? size : a->next_size;
	struct chunk *c = calloc(1, sizeof(*c) + room);

	if (!c)
		return NULL;
	c->size = room;
	if (a->next_size < LARGE_CHUNK)
		a->next_size *= 2;
	/* A block of its own for one large thing leaves the chunk that is being filled in front. */
	if (a->chunks && size > LARGE_CHUNK / 4) {
		c->next = a->chunks->next;
		a->chunks->next = c;
	} else {
		c->next = a->chunks;
		a->chunks = c;
	}
	return c;
}

void *cot_arena_alloc(struct cot_arena *a, size_t size)
{
	struct chunk *c = a->chunks;
	void *p;

	if (size > a->max_bytes || a->used > a->max_bytes - size)
		return NULL;
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!c || c->size - c->used < size) {
		c = add_chunk(a, size);
		if (!c)
			return NULL;
	}
	p = c->data + c->used;
	c->used += size;
	a->used += size;
	return p;
}

void *cot_arena_alloc_array(struct cot_arena *a, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return NULL;
	return cot_arena_alloc(a, n * size);
}

char *cot_arena_strndup(struct cot_arena *a, const char *text, size_t n)
{
	char *copy = n < SIZE_MAX ? cot_arena_alloc(a, n + 1) : NULL;

	if (copy)
		memcpy(copy, text, n);
	return copy;
}

void *cot_arena_grow(struct cot_arena *a, const void *old, size_t n_old, size_t n_new, size_t size)
{
	void *p = cot_arena_alloc_array(a, n_new, size);

	if (p && n_old)
		memcpy(p, old, n_old * size);
	return p;
}

size_t cot_arena_used(const struct cot_arena *a)
{
	return a->used;
}
