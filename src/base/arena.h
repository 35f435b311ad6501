/*
 * Memory that is given back all at once: for trees and tables that live and die together. What it
 * gives is zeroed and aligned to 16 bytes. A bound makes the memory that outside input can ask for
 * finite. Belongs to one thread at a time.
 */
#ifndef COT_BASE_ARENA_H
#define COT_BASE_ARENA_H

#include <stddef.h>

struct cot_arena;

struct cot_arena *cot_arena_create(size_t max_bytes); /* NULL when out of memory */
void cot_arena_destroy(struct cot_arena *a);	      /* takes NULL */

/* NULL when out of memory or beyond the bound. Zero bytes give a valid pointer. */
void *cot_arena_alloc(struct cot_arena *a, size_t size);
void *cot_arena_alloc_array(struct cot_arena *a, size_t n, size_t size);

/* A copy of n bytes with a NUL behind them; NULL like above. */
char *cot_arena_strndup(struct cot_arena *a, const char *text, size_t n);

/*
 * A larger copy of an array, its new part zeroed; the old one stays where it is until the arena
 * goes. So grow by doubling.
 */
void *cot_arena_grow(struct cot_arena *a, const void *old, size_t n_old, size_t n_new, size_t size);

/* Bytes given out so far. */
size_t cot_arena_used(const struct cot_arena *a);

#endif
