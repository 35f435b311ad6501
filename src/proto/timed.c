#include "proto/timed.h"

#include <stdatomic.h>
#include <string.h>

_Static_assert(COT_TIMED_KERNELS <= UINT16_MAX, "a launch has its kernel's number");

/* ---- the writer ---- */

/* The end of a name that is too long tells kernels apart no less than its beginning: it is cut. */
static void copy_name(char ret[COT_TIMED_NAME_MAX], const char *name)
{
	size_t i;

	memset(ret, 0, COT_TIMED_NAME_MAX);
	for (i = 0; i < COT_TIMED_NAME_MAX - 1 && name[i]; i++)
		ret[i] = name[i];
}

uint32_t cot_timed_kernel(struct cot_timed *t, const char *name, const uint32_t shape[6])
{
	uint32_t n = cot_timed_n_kernels(t), i;
	struct cot_timed_kernel new = {.shape = {0}};

	copy_name(new.name, name);
	memcpy(new.shape, shape, sizeof(new.shape));
	for (i = 0; i < n; i++)
		if (!memcmp(t->kernels[i].shape, new.shape, sizeof(new.shape)) &&
		    !memcmp(t->kernels[i].name, new.name, sizeof(new.name)))
			return i;
	if (n == COT_TIMED_KERNELS)
		return n;
	t->kernels[n] = new;
	atomic_store_explicit(&t->n_kernels, n + 1, memory_order_release);
	return n;
}

bool cot_timed_put(struct cot_timed *t, uint32_t round, const struct cot_timed_launch *l)
{
	struct cot_timed_round *r;
	uint32_t n = cot_timed_count(t, round);

	if (!round || round > COT_TIMED_ROUNDS || n == COT_TIMED_LAUNCHES)
		return false;
	r = &t->rounds[round - 1];
	r->launches[n] = *l;
	atomic_store_explicit(&r->n, n + 1, memory_order_release);
	return true;
}

/* ---- the reader ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t cot_timed_count(const struct cot_timed *t, uint32_t round)
{
	if (!round || round > COT_TIMED_ROUNDS)
		return 0;
	return least(atomic_load_explicit(&t->rounds[round - 1].n, memory_order_acquire),
		     COT_TIMED_LAUNCHES);
}

uint32_t cot_timed_n_kernels(const struct cot_timed *t)
{
	return least(atomic_load_explicit(&t->n_kernels, memory_order_acquire), COT_TIMED_KERNELS);
}

uint32_t cot_timed_read(const struct cot_timed *t, uint32_t round, struct cot_timed_launch *ret,
			uint32_t n)
{
	uint32_t kernels = cot_timed_n_kernels(t), i, k = 0;
	uint16_t gap = 0;

	n = least(n, cot_timed_count(t, round));
	for (i = 0; i < n; i++) {
		struct cot_timed_launch l = t->rounds[round - 1].launches[i];

		if (l.kernel >= kernels || !l.ns || l.ns > COT_TIMED_NS_MAX) {
			gap = COT_TIMED_GAP;
			continue;
		}
		l.flags = (uint16_t)((l.flags & (COT_TIMED_FIRST | COT_TIMED_GAP)) | gap);
		l.pad = 0;
		ret[k++] = l;
		gap = 0;
	}
	return k;
}

void cot_timed_name(const struct cot_timed *t, uint32_t kernel, char ret[COT_TIMED_NAME_MAX])
{
	size_t i;

	memset(ret, 0, COT_TIMED_NAME_MAX);
	if (kernel >= cot_timed_n_kernels(t))
		return;
	memcpy(ret, t->kernels[kernel].name, COT_TIMED_NAME_MAX - 1);
	for (i = 0; ret[i]; i++)
		if (ret[i] < ' ' || ret[i] > '~')
			ret[i] = '?';
	if (!ret[0])
		ret[0] = '?';
}
