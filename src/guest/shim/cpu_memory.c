/*
 * The memory of a launch that runs on the CPU: copies of what it uses. Ranges that overlap are one,
 * so that what a kernel writes by one pointer it reads by another. Where a provider cannot say what
 * a kernel writes, a second copy keeps what was there: only what differs goes back, for other
 * streams may be writing beside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/shim/cpu.h"

#define PAGE	  4096u /* a multiple of every grain */
#define GRAIN_MAX 16u

static bool overlap(const struct cot_cpu_range *a, const struct cot_cpu_range *b)
{
	return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static void join(struct cot_cpu_range *a, const struct cot_cpu_range *b)
{
	uint64_t end = a->address + a->bytes, other = b->address + b->bytes;
	bool same = a->address == b->address && a->bytes == b->bytes;

	a->address = a->address < b->address ? a->address : b->address;
	a->bytes = (end > other ? end : other) - a->address;
	a->uses |= b->uses;
	a->grain = a->grain < b->grain ? a->grain : b->grain;
	/* Written as a whole was each alone. */
	if (!same)
		a->uses |= COT_CPU_READS;
}

bool cot_shim_cpu_merge(struct cot_cpu_launch *launch)
{
	struct cot_cpu_range *r = launch->ranges;
	uint32_t i, k;

	for (i = 0; i < launch->n_ranges; i++)
		if (!r[i].bytes || r[i].bytes > UINT64_MAX - r[i].address)
			return false;
	i = 0;
	while (i < launch->n_ranges) {
		for (k = i + 1; k < launch->n_ranges && !overlap(&r[i], &r[k]); k++)
			;
		if (k == launch->n_ranges) {
			i++;
			continue;
		}
		join(&r[i], &r[k]);
		r[k] = r[--launch->n_ranges];
		i = 0; /* it may now reach one that it did not reach before */
	}
	return true;
}

/* ---- what differs ---- */

int cot_shim_cpu_differences(const void *before, const void *now, uint64_t bytes, uint32_t grain,
			     struct cot_shim_cpu_piece *ret, uint32_t max, uint32_t *ret_n)
{
	const unsigned char *a = before, *b = now;
	uint64_t i = 0;
	uint32_t n = 0;

	while (i < bytes) {
		/* Most of a large range is as it was. */
		if (bytes - i >= PAGE && memcmp(a + i, b + i, PAGE) == 0) {
			i += PAGE;
			continue;
		}
		if (memcmp(a + i, b + i, grain) == 0) {
			i += grain;
			continue;
		}
		if (n == max)
			return -ENOSPC;
		ret[n].at = i;
		while (i < bytes && memcmp(a + i, b + i, grain) != 0)
			i += grain;
		ret[n].bytes = i - ret[n].at;
		n++;
	}
	*ret_n = n;
	return 0;
}

/* ---- there and back ---- */

/* Behind a range's bytes are those that it had, where that is needed. */
static uint64_t room_of(const struct cot_cpu_range *r)
{
	return r->uses & COT_CPU_CHANGES ? 2 * r->bytes : r->bytes;
}

static bool fits(const struct cot_cpu_launch *launch)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < launch->n_ranges; i++) {
		if (launch->ranges[i].bytes > COT_SHIM_CPU_BYTES_MAX)
			return false;
		sum += room_of(&launch->ranges[i]);
	}
	return sum <= COT_SHIM_CPU_BYTES_MAX;
}

static int take_range(struct cot_cpu_range *r, const struct cot_shim_cpu_copies *copies)
{
	r->host = malloc(room_of(r));
	if (!r->host)
		return -ENOMEM;
	if (!(r->uses & (COT_CPU_READS | COT_CPU_CHANGES)))
		return 0;
	return copies->in(copies->arg, r->host, r->address, r->bytes) ? -EIO : 0;
}

int cot_shim_cpu_take(struct cot_cpu_launch *launch, const struct cot_shim_cpu_copies *copies)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < launch->n_ranges; i++)
		launch->ranges[i].host = NULL;
	if (!fits(launch))
		return -E2BIG;
	for (i = 0; i < launch->n_ranges && !rc; i++)
		rc = take_range(&launch->ranges[i], copies);
	/* Also what a failure came after may still be written to. */
	if (copies->wait(copies->arg) && !rc)
		rc = -EIO;
	for (i = 0; i < launch->n_ranges && !rc; i++) {
		struct cot_cpu_range *r = &launch->ranges[i];

		if (r->uses & COT_CPU_CHANGES)
			memcpy((char *)r->host + r->bytes, r->host, r->bytes);
	}
	if (rc)
		cot_shim_cpu_finish(launch);
	return rc;
}

/* All pieces of all ranges: before the first one is copied it is known that there is room. */
struct pieces {
	struct cot_shim_cpu_piece list[COT_SHIM_CPU_PIECES_MAX];
	uint32_t n, end[COT_CPU_RANGES_MAX]; /* of each range */
};

/* Where the range or the provider is not as it should be, byte by byte. */
static uint32_t grain_of(const struct cot_cpu_range *r)
{
	bool sound = r->grain && !(r->grain & (r->grain - 1)) && r->grain <= GRAIN_MAX &&
		     !((r->address | r->bytes) % r->grain);

	return sound ? r->grain : 1;
}

static int find_pieces(const struct cot_cpu_launch *launch, struct pieces *p)
{
	uint32_t i, n;
	int rc = 0;

	for (i = 0; i < launch->n_ranges && !rc; i++) {
		const struct cot_cpu_range *r = &launch->ranges[i];

		n = 0;
		if (r->uses & COT_CPU_CHANGES)
			rc = cot_shim_cpu_differences((char *)r->host + r->bytes, r->host, r->bytes,
						      grain_of(r), p->list + p->n,
						      COT_SHIM_CPU_PIECES_MAX - p->n, &n);
		else if (r->uses & COT_CPU_WRITES && p->n == COT_SHIM_CPU_PIECES_MAX)
			rc = -ENOSPC;
		else if (r->uses & COT_CPU_WRITES)
			p->list[p->n + n++] = (struct cot_shim_cpu_piece){0, r->bytes};
		p->n += n;
		p->end[i] = p->n;
	}
	return rc;
}

int cot_shim_cpu_bring(const struct cot_cpu_launch *launch,
		       const struct cot_shim_cpu_copies *copies)
{
	struct pieces *p = calloc(1, sizeof(*p));
	uint32_t i, k = 0;
	int rc, waited;

	if (!p)
		return -ENOMEM;
	rc = find_pieces(launch, p);
	if (rc) {
		free(p);
		return rc;
	}
	for (i = 0; i < launch->n_ranges; i++)
		for (; k < p->end[i] && !rc; k++)
			rc = copies->out(copies->arg, launch->ranges[i].address + p->list[k].at,
					 (char *)launch->ranges[i].host + p->list[k].at,
					 p->list[k].bytes);
	waited = copies->wait(copies->arg);
	free(p);
	return rc ? rc : waited;
}

void cot_shim_cpu_finish(struct cot_cpu_launch *launch)
{
	uint32_t i;

	for (i = 0; i < launch->n_ranges; i++) {
		free(launch->ranges[i].host);
		launch->ranges[i].host = NULL;
	}
}
