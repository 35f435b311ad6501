#include "emu/driver/range.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/grow.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct cot_emu_range *ranges; /* sorted by start; under the lock, as all below */
static size_t n_ranges, capacity;
static uint64_t last_id;
static struct cot_exec_ranges *memory;

struct cot_exec_ranges *cot_emu_range_memory(void)
{
	struct cot_exec_ranges *m;

	pthread_rwlock_wrlock(&lock);
	if (!memory)
		memory = cot_exec_ranges_create();
	m = memory;
	pthread_rwlock_unlock(&lock);
	return m;
}

/* Index of the first range that begins after the address. */
static size_t after(uint64_t address)
{
	size_t low = 0, high = n_ranges, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool overlaps(const struct cot_emu_range *r, size_t at)
{
	if (at && ranges[at - 1].start + ranges[at - 1].bytes > r->start)
		return true;
	return at < n_ranges && r->start + r->bytes > ranges[at].start;
}

static bool grow(void)
{
	struct cot_emu_range *more = cot_grow(ranges, n_ranges, &capacity, sizeof(*more));

	if (more)
		ranges = more;
	return more != NULL;
}

int cot_emu_range_add(const struct cot_emu_range *range)
{
	struct cot_exec_ranges *m = cot_emu_range_memory();
	int err = m ? 0 : -ENOMEM;
	size_t at;

	if (err)
		return err;
	pthread_rwlock_wrlock(&lock);
	at = after(range->start);
	if (overlaps(range, at))
		err = -EEXIST;
	else if (!grow())
		err = -ENOMEM;
	/* The interpreter has added the variables of its modules itself. */
	if (!err && range->kind != COT_EMU_RANGE_VARIABLE)
		err = cot_exec_ranges_add(m, range->start, range->bytes, true);
	if (!err) {
		memmove(ranges + at + 1, ranges + at, (n_ranges - at) * sizeof(*ranges));
		ranges[at] = *range;
		ranges[at].id = ++last_id;
		n_ranges++;
	}
	pthread_rwlock_unlock(&lock);
	return err;
}

bool cot_emu_range_find(uint64_t address, struct cot_emu_range *ret_range)
{
	bool found = false;
	size_t at;

	pthread_rwlock_rdlock(&lock);
	at = after(address);
	if (at && address - ranges[at - 1].start < ranges[at - 1].bytes) {
		*ret_range = ranges[at - 1];
		found = true;
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

/* With the lock held for writing. */
static void take(size_t at, struct cot_emu_range *ret_range)
{
	*ret_range = ranges[at];
	n_ranges--;
	memmove(ranges + at, ranges + at + 1, (n_ranges - at) * sizeof(*ranges));
	if (ret_range->kind != COT_EMU_RANGE_VARIABLE)
		(void)cot_exec_ranges_remove(memory, ret_range->start);
}

bool cot_emu_range_remove(uint64_t start, unsigned kinds, struct cot_emu_range *ret_range)
{
	bool found;
	size_t at;

	pthread_rwlock_wrlock(&lock);
	at = after(start);
	found = at && ranges[at - 1].start == start && ranges[at - 1].kind & kinds;
	if (found)
		take(at - 1, ret_range);
	pthread_rwlock_unlock(&lock);
	return found;
}

bool cot_emu_range_take(const struct cot_emu_context *context, struct cot_emu_range *ret_range)
{
	bool found = false;
	size_t i;

	pthread_rwlock_wrlock(&lock);
	for (i = n_ranges; i-- > 0 && !found;)
		if (ranges[i].context == context && ranges[i].kind != COT_EMU_RANGE_VARIABLE) {
			take(i, ret_range);
			found = true;
		}
	pthread_rwlock_unlock(&lock);
	return found;
}
