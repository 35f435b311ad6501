/* The shim's table of handles. The unit is in a shared library, so its source is here. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "test.h"

static unsigned n_allocations; /* how many more succeed */
static unsigned fails_at;      /* the n-th from now on; 0: none */

static bool may_allocate(void)
{
	if (!n_allocations || (fails_at && --fails_at == 0))
		return false;
	n_allocations--;
	return true;
}

static void *played_calloc(size_t n, size_t size)
{
	return may_allocate() ? calloc(n, size) : NULL;
}

static void *played_realloc(void *p, size_t size)
{
	return may_allocate() ? realloc(p, size) : NULL;
}

#define calloc	played_calloc
#define realloc played_realloc
#include "guest/shim/handles.c"
#undef calloc
#undef realloc

#define N_HANDLES 5000u

static cot_shim_handle handle(unsigned i)
{
	return (cot_shim_handle)(uintptr_t)(0x555500001000u + 16ull * i);
}

static void free_all(struct table *t)
{
	struct table *next;

	for (; t; t = next) {
		next = t->before;
		free(t);
	}
}

/* As when the program begins. */
static int set_up(void **state)
{
	(void)state;
	free_all(retired);
	free(spare);
	free(atomic_load(&current));
	while (n_refs)
		free(refs[--n_refs]);
	free(refs);
	free(unused);
	retired = spare = NULL;
	refs = unused = NULL;
	atomic_store(&current, NULL);
	n_used = n_unused = room = 0;
	n_allocations = ~0u;
	return 0;
}

static unsigned n_retired(void)
{
	struct table *t;
	unsigned n = 0;

	for (t = retired; t; t = t->before)
		n++;
	return n;
}

static size_t size_now(void)
{
	return atomic_load(&current)->size;
}

static void put_many(unsigned from, unsigned to)
{
	unsigned i;

	for (i = from; i < to; i++)
		assert_non_null(cot_shim_handles_put(handle(i)));
}

/* Exactly those from `from` up to `to`. */
static void expect_these(unsigned from, unsigned to)
{
	unsigned i;

	for (i = 0; i < N_HANDLES; i++)
		assert_int_equal(cot_shim_handles_find(handle(i)) != NULL, i >= from && i < to);
}

/* What is put is found, with its own contents; what is dropped is not. */
static void put_and_drop(void **state)
{
	static struct cot_shim_code *const code = (struct cot_shim_code *)0x10;
	struct cot_shim_ref *r;
	unsigned i;

	(void)state;
	assert_null(cot_shim_handles_find(handle(0)));
	assert_null(cot_shim_handles_put(NULL));
	for (i = 0; i < N_HANDLES; i++) {
		r = cot_shim_handles_put(handle(i));
		assert_non_null(r);
		assert_ptr_equal(atomic_load(&r->handle), handle(i));
		assert_null(r->code);
		r->owner = handle(i % 7);
		r->code = i % 2 ? code : NULL;
		assert_ptr_equal(cot_shim_handles_put(handle(i)), r);
	}
	for (i = 0; i < N_HANDLES; i++)
		assert_ptr_equal(cot_shim_handles_find(handle(i))->owner, handle(i % 7));
	/* With an owner go its own, and all that were not rewritten. */
	cot_shim_handles_drop(handle(3));
	for (i = 0; i < N_HANDLES; i++)
		assert_int_equal(cot_shim_handles_find(handle(i)) != NULL, i % 2 && i % 7 != 3);
	cot_shim_handles_clear();
	for (i = 0; i < N_HANDLES; i++)
		assert_null(cot_shim_handles_find(handle(i)));
}

/* An entry that is used anew knows nothing of before. */
static void used_anew(void **state)
{
	static const struct cot_shim_ref fresh;
	struct cot_shim_ref *r = cot_shim_handles_put(handle(1)), seen;

	(void)state;
	memset(r, 0x5a, sizeof(*r));
	atomic_store(&r->handle, handle(1));
	cot_shim_handles_clear();
	assert_ptr_equal(cot_shim_handles_put(handle(2)), r);
	assert_ptr_equal(atomic_load(&r->handle), handle(2));
	seen = *r;
	seen.handle = NULL;
	assert_true(seen.code == fresh.code && seen.kernel == fresh.kernel);
	assert_true(seen.owner == fresh.owner && seen.workers == fresh.workers);
	assert_true(!seen.fit && !seen.task_ns && !seen.n_launched && !seen.n_timed);
	assert_false(seen.broken || seen.told);
}

/* Half of it is used, and no more: places are near where they are looked for. */
static void grows(void **state)
{
	(void)state;
	put_many(0, FIRST_SIZE / 2);
	assert_int_equal(size_now(), FIRST_SIZE);
	assert_int_equal(n_used, FIRST_SIZE / 2);
	put_many(FIRST_SIZE / 2, FIRST_SIZE / 2 + 1);
	assert_int_equal(size_now(), 2 * FIRST_SIZE);
	assert_int_equal(n_used, FIRST_SIZE / 2 + 1);
	assert_int_equal(n_retired(), 1); /* somebody may look into it */
	put_many(FIRST_SIZE / 2 + 1, FIRST_SIZE + 1);
	assert_int_equal(size_now(), 4 * FIRST_SIZE);
	assert_int_equal(n_retired(), 2);
	assert_int_equal(room, 2 * FIRST_SIZE);
	expect_these(0, FIRST_SIZE + 1);
}

/* Where most are gone it does not grow: two of one size take turns. */
static void takes_turns(void **state)
{
	struct table *first, *second;
	unsigned i;

	(void)state;
	put_many(0, FIRST_SIZE / 2);
	first = atomic_load(&current);
	cot_shim_handles_clear();
	put_many(N_HANDLES - 1, N_HANDLES);
	second = atomic_load(&current);
	assert_ptr_not_equal(second, first);
	for (i = 0; i < 4; i++) {
		assert_int_equal(size_now(), FIRST_SIZE);
		assert_int_equal(n_used, 1);
		assert_int_equal(n_retired(), 0);
		assert_ptr_equal(atomic_load(&current), i % 2 ? first : second);
		expect_these(N_HANDLES - 1, N_HANDLES);
		put_many(0, FIRST_SIZE / 2 - 1);
		cot_shim_handles_clear();
		n_allocations = 0; /* nothing new is needed */
		put_many(N_HANDLES - 1, N_HANDLES);
		n_allocations = ~0u;
	}
	/* One more than a quarter: it grows, and both are there for those who still look. */
	put_many(0, FIRST_SIZE / 2 - 1);
	assert_int_equal(n_refs, FIRST_SIZE / 2);
	for (i = 0; i < FIRST_SIZE / 4 - 1; i++)
		drop(cot_shim_handles_find(handle(i)));
	assert_int_equal(n_refs - n_unused, FIRST_SIZE / 4 + 1);
	put_many(N_HANDLES - 2, N_HANDLES - 1);
	assert_int_equal(size_now(), 2 * FIRST_SIZE);
	assert_int_equal(n_retired(), 2);
	assert_null(spare);
}

static void a_quarter_is_little(void **state)
{
	unsigned i;

	(void)state;
	put_many(0, FIRST_SIZE / 2);
	for (i = 0; i < FIRST_SIZE / 4; i++)
		drop(cot_shim_handles_find(handle(i)));
	put_many(N_HANDLES - 1, N_HANDLES);
	assert_int_equal(size_now(), FIRST_SIZE);
	assert_int_equal(n_used, FIRST_SIZE / 4 + 1);
	assert_non_null(spare);
}

/* The place of one that is gone is taken again, and does not count as another. */
static void gone_places(void **state)
{
	(void)state;
	put_many(0, 1);
	drop(cot_shim_handles_find(handle(0)));
	put_many(0, 1);
	assert_int_equal(n_used, 1);
	assert_int_equal(n_refs, 1);
	put_many(1, 2);
	assert_int_equal(n_used, 2);
}

/* The n-th handle whose place is that one. */
static cot_shim_handle at_place(size_t place, unsigned n)
{
	unsigned i;

	for (i = 0; place_of(handle(i), FIRST_SIZE) != place || n--; i++)
		;
	return handle(i);
}

/* Many want the last place: the others stand at the beginning. */
static void the_last_place(void **state)
{
	cot_shim_handle h[4];
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++)
		h[i] = at_place(FIRST_SIZE - 1, i);
	for (i = 0; i < 3; i++)
		assert_non_null(cot_shim_handles_put(h[i]));
	for (i = 0; i < 3; i++) {
		struct cot_shim_ref *r = cot_shim_handles_find(h[i]);

		assert_ptr_equal(atomic_load(&r->handle), h[i]);
		assert_ptr_equal(
			atomic_load(&atomic_load(&current)->slots[i ? i - 1 : FIRST_SIZE - 1]), r);
	}
	assert_null(cot_shim_handles_find(h[3]));
	drop(cot_shim_handles_find(h[1]));
	assert_null(cot_shim_handles_find(h[1]));
	assert_non_null(cot_shim_handles_find(h[2]));
	assert_ptr_equal(atomic_load(&atomic_load(&current)->slots[0]), &gone);
}

/* Handles are addresses: neighbours are far apart. */
static void places(void **state)
{
	static const uintptr_t steps[] = {16, 32, 64, 96};
	unsigned i, k, n;

	(void)state;
	for (k = 0; k < 4; k++) {
		bool taken[2048] = {false};

		for (i = n = 0; i < 1000; i++) {
			size_t at =
				place_of((cot_shim_handle)(0x7f0000001000u + i * steps[k]), 2048);

			assert_in_range(at, 0, 2047);
			n += !taken[at];
			taken[at] = true;
		}
		assert_in_range(n, 800, 1000); /* by chance it were 790 */
	}
}

/* ---- out of memory ---- */

static void no_memory_at_first(void **state)
{
	unsigned n;

	(void)state;
	/* The table; two lists; the entry. */
	for (n = 0; n < 4; n++) {
		n_allocations = n;
		assert_null(cot_shim_handles_put(handle(0)));
		assert_null(cot_shim_handles_find(handle(0)));
		set_up(state);
	}
	n_allocations = 4;
	assert_non_null(cot_shim_handles_put(handle(0)));
	/* One list alone was made longer: the next try makes the other one so, too. */
	set_up(state);
	fails_at = 3;
	assert_null(cot_shim_handles_put(handle(0)));
	assert_int_equal(room + n_refs, 0);
	put_many(0, 300);
	assert_int_equal(room, 512);
	cot_shim_handles_clear();
	assert_int_equal(n_unused, 300);
}

/* Without a larger table, the old one is filled but for one place, where looking ends. */
static void no_larger_table(void **state)
{
	unsigned i;

	(void)state;
	put_many(0, FIRST_SIZE / 2);
	for (i = FIRST_SIZE / 2; i < FIRST_SIZE - 1; i++) {
		/* Not for the table, but for lists and entries. */
		bool lists = n_refs == room;

		n_allocations = 0;
		assert_ptr_equal(make_room(), atomic_load(&current));
		n_allocations = lists ? ~0u : 1;
		if (lists)
			assert_true(grow_lists());
		n_allocations = 0;
		unused[n_unused++] = refs[n_refs++] = calloc(1, sizeof(struct cot_shim_ref));
		assert_non_null(cot_shim_handles_put(handle(i)));
	}
	assert_int_equal(size_now(), FIRST_SIZE);
	assert_int_equal(n_used, FIRST_SIZE - 1);
	assert_null(cot_shim_handles_put(handle(i)));
	expect_these(0, FIRST_SIZE - 1);
}

static void too_many(void **state)
{
	size_t before;

	(void)state;
	put_many(0, 1);
	before = n_refs;
	n_refs = room = REFS_MAX;
	assert_null(cot_shim_handles_put(handle(1)));
	assert_int_equal(room, REFS_MAX);
	n_refs = before;
}

/* ---- for a long time ---- */

/* Against a plain array, for a long time: memory stays as it is. */
static void churn(void **state)
{
	static bool there[N_HANDLES];
	struct cot_rng rng = {11};
	size_t most = 0;
	unsigned i, k;

	(void)state;
	for (i = 0; i < 200; i++) {
		for (k = 0; k < 300; k++) {
			unsigned n = (unsigned)cot_rng_below(&rng, N_HANDLES);

			assert_int_equal(cot_shim_handles_find(handle(n)) != NULL, there[n]);
			cot_shim_handles_put(handle(n))->owner = handle(0);
			there[n] = true;
		}
		cot_shim_handles_drop(handle(1)); /* none of them was rewritten */
		memset(there, 0, sizeof(there));
		most = n_refs > most ? n_refs : most;
	}
	assert_in_range(most, 1, N_HANDLES);
	assert_in_range(atomic_load(&current)->size, 1, 4 * N_HANDLES);
}

static _Atomic bool over;

/* One that looks without a lock finds what it looks for, or nothing. */
static void *look(void *arg)
{
	struct cot_rng rng = {*(unsigned *)arg};
	uintptr_t wrong = 0;

	while (!atomic_load(&over)) {
		unsigned n = (unsigned)cot_rng_below(&rng, 64);
		struct cot_shim_ref *r = cot_shim_handles_find(handle(n));
		cot_shim_handle owner = r ? r->owner : NULL;

		/* Those of even numbers stay; the others come and go. */
		if (n % 2 == 0)
			wrong += !r || owner != handle(n);
	}
	return (void *)wrong;
}

static void together(void **state)
{
	static struct cot_shim_code *const code = (struct cot_shim_code *)0x10;
	unsigned seeds[2] = {1, 2}, i, k;
	pthread_t threads[2];
	void *wrong;

	(void)state;
	cot_shim_handles_clear();
	for (i = 0; i < 64; i += 2) {
		struct cot_shim_ref *r = cot_shim_handles_put(handle(i));

		r->owner = handle(i);
		r->code = code;
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, &seeds[i]), 0);
	for (i = 0; i < 300; i++) {
		for (k = 1; k < 600; k += 2)
			(void)cot_shim_handles_put(handle(k));
		cot_shim_handles_drop(handle(1));
	}
	atomic_store(&over, true);
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(put_and_drop),
		TEST(used_anew),
		TEST(grows),
		TEST(takes_turns),
		TEST(a_quarter_is_little),
		TEST(gone_places),
		TEST(the_last_place),
		TEST(places),
		TEST(no_memory_at_first),
		TEST(no_larger_table),
		TEST(too_many),
		TEST(churn),
		TEST(together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
