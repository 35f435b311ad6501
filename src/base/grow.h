/* Arrays that grow. */
#ifndef COT_BASE_GROW_H
#define COT_BASE_GROW_H

#include <stdlib.h>

#define COT_GROW_FIRST 64u

/*
 * The array with room for one more item behind the `n` that it has: moved to twice the room if it
 * is full. NULL: no memory; then `items` is as it was. `items` may be NULL, with a *cap of 0.
 */
static inline void *cot_grow(void *items, size_t n, size_t *cap, size_t item_bytes)
{
	size_t twice = *cap ? 2 * *cap : COT_GROW_FIRST;

	if (n < *cap)
		return items;
	items = realloc(items, twice * item_bytes);
	if (items)
		*cap = twice;
	return items;
}

#endif
