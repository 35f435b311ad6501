#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "emu/exec/ranges.h"

struct cot_exec_ranges {
	pthread_rwlock_t lock;
	_Atomic uint32_t generation;
	struct cot_exec_range *ranges; /* sorted, none overlaps another */
	size_t n, room;
};

struct cot_exec_ranges *cot_exec_ranges_create(void)
{
	struct cot_exec_ranges *m = calloc(1, sizeof(*m));

	if (m && pthread_rwlock_init(&m->lock, NULL)) {
		free(m);
		m = NULL;
	}
	return m;
}

void cot_exec_ranges_destroy(struct cot_exec_ranges *m)
{
	if (!m)
		return;
	pthread_rwlock_destroy(&m->lock);
	free(m->ranges);
	free(m);
}

/* The first range that does not end before `address`. */
static size_t place(const struct cot_exec_ranges *m, uint64_t address)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->ranges[middle].last < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct cot_exec_ranges *m, struct cot_exec_range range)
{
	size_t at = place(m, range.first);
	struct cot_exec_range *grown;

	if (at < m->n && m->ranges[at].first <= range.last)
		return -EEXIST;
	grown = cot_grow(m->ranges, m->n, &m->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	m->ranges = grown;
	memmove(m->ranges + at + 1, m->ranges + at, (m->n - at) * sizeof(range));
	m->ranges[at] = range;
	m->n++;
	return 0;
}

int cot_exec_ranges_add(struct cot_exec_ranges *m, uint64_t address, uint64_t bytes, bool writable)
{
	struct cot_exec_range range = {address, address + bytes - 1, writable};
	int error;

	if (!bytes || range.last < address)
		return -EINVAL;
	pthread_rwlock_wrlock(&m->lock);
	error = insert(m, range);
	pthread_rwlock_unlock(&m->lock);
	return error;
}

int cot_exec_ranges_remove(struct cot_exec_ranges *m, uint64_t address)
{
	int error = -ENOENT;
	size_t at;

	pthread_rwlock_wrlock(&m->lock);
	at = place(m, address);
	if (at < m->n && m->ranges[at].first == address) {
		m->n--;
		memmove(m->ranges + at, m->ranges + at + 1, (m->n - at) * sizeof(*m->ranges));
		/* Only this makes what others remember wrong; a new range does not. */
		atomic_fetch_add(&m->generation, 1);
		error = 0;
	}
	pthread_rwlock_unlock(&m->lock);
	return error;
}

uint32_t cot_exec_ranges_generation(const struct cot_exec_ranges *m)
{
	return atomic_load_explicit(&m->generation, memory_order_acquire);
}

struct cot_exec_range cot_exec_ranges_find(struct cot_exec_ranges *m, uint64_t address)
{
	struct cot_exec_range found = {1, 0, false};
	size_t at;

	pthread_rwlock_rdlock(&m->lock);
	at = place(m, address);
	if (at < m->n && m->ranges[at].first <= address)
		found = m->ranges[at];
	pthread_rwlock_unlock(&m->lock);
	return found;
}

bool cot_exec_ranges_valid(struct cot_exec_ranges *m, uint64_t address, uint64_t bytes, bool write)
{
	struct cot_exec_range r;

	while (bytes) {
		r = cot_exec_ranges_find(m, address);
		if (r.first > r.last || (write && !r.writable))
			return false;
		if (bytes - 1 <= r.last - address)
			return true;
		/* Neighbours may go on where this one ends. */
		bytes -= r.last - address + 1;
		address = r.last + 1;
	}
	return true;
}
