/*
 * The shim's table of handles, the list of libraries, and what its variables mean. The units are in
 * a shared library, so their sources are here.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "shim/cache.c"
#include "shim/table.c"

#define N_HANDLES 5000u

static cot_cu_handle handle(unsigned i)
{
	return (cot_cu_handle)(uintptr_t)(0x555500001000u + 16ull * i);
}

/* What is put is found, with its own contents; what is dropped is not. */
static void put_and_drop(void **state)
{
	static struct cot_shim_code *const code = (struct cot_shim_code *)0x10;
	struct cot_shim_ref *r;
	unsigned i;

	(void)state;
	assert_null(cot_shim_table_find(handle(0)));
	assert_null(cot_shim_table_put(NULL));
	for (i = 0; i < N_HANDLES; i++) {
		r = cot_shim_table_put(handle(i));
		assert_non_null(r);
		assert_ptr_equal(atomic_load(&r->handle), handle(i));
		assert_null(r->code);
		r->owner = handle(i % 7);
		r->code = i % 2 ? code : NULL;
		assert_ptr_equal(cot_shim_table_put(handle(i)), r);
	}
	for (i = 0; i < N_HANDLES; i++)
		assert_ptr_equal(cot_shim_table_find(handle(i))->owner, handle(i % 7));
	/* With an owner go its own, and all that were not rewritten. */
	cot_shim_table_drop(handle(3));
	for (i = 0; i < N_HANDLES; i++)
		assert_int_equal(cot_shim_table_find(handle(i)) != NULL, i % 2 && i % 7 != 3);
	cot_shim_table_clear();
	for (i = 0; i < N_HANDLES; i++)
		assert_null(cot_shim_table_find(handle(i)));
}

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

			assert_int_equal(cot_shim_table_find(handle(n)) != NULL, there[n]);
			cot_shim_table_put(handle(n))->owner = handle(0);
			there[n] = true;
		}
		cot_shim_table_drop(handle(1)); /* none of them was rewritten */
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
		struct cot_shim_ref *r = cot_shim_table_find(handle(n));
		cot_cu_handle owner = r ? r->owner : NULL;

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
	cot_shim_table_clear();
	for (i = 0; i < 64; i += 2) {
		struct cot_shim_ref *r = cot_shim_table_put(handle(i));

		r->owner = handle(i);
		r->code = code;
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, &seeds[i]), 0);
	for (i = 0; i < 300; i++) {
		for (k = 1; k < 600; k += 2)
			(void)cot_shim_table_put(handle(k));
		cot_shim_table_drop(handle(1));
	}
	atomic_store(&over, true);
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

/* ---- the list of libraries ---- */

static const char cache_text[] = "libc.so.6\0/lib/libc.so.6\0libcuda.so.1\0/a/libcuda.so.1\0"
				 "/b/libcuda.so.1";

static void put32(unsigned char *at, uint32_t x)
{
	memcpy(at, &x, sizeof(x));
}

static size_t make_cache(unsigned char *bytes, uint32_t n_entries)
{
	static const uint32_t entries[][3] = {
		/* flags, name, path; from the beginning of the texts */
		{OF_THIS_MACHINE, 0, 10},
		{0x0800, 25, 38}, /* of another machine */
		{OF_THIS_MACHINE, 25, 38},
		{OF_THIS_MACHINE, 25, 54},
	};
	uint32_t text = HEADER_BYTES + 4 * ENTRY_BYTES, i;

	memset(bytes, 0, text);
	memcpy(bytes, MAGIC, sizeof(MAGIC) - 1);
	put32(bytes + 20, n_entries);
	for (i = 0; i < 4; i++) {
		put32(bytes + HEADER_BYTES + i * ENTRY_BYTES, entries[i][0]);
		put32(bytes + HEADER_BYTES + i * ENTRY_BYTES + 4, text + entries[i][1]);
		put32(bytes + HEADER_BYTES + i * ENTRY_BYTES + 8, text + entries[i][2]);
	}
	memcpy(bytes + text, cache_text, sizeof(cache_text));
	return text + sizeof(cache_text);
}

static void cache(void **state)
{
	unsigned char bytes[512];
	size_t n = make_cache(bytes, 4);

	(void)state;
	assert_string_equal(cot_shim_cache_find(bytes, n, "libcuda.so.1", 0), "/a/libcuda.so.1");
	assert_string_equal(cot_shim_cache_find(bytes, n, "libcuda.so.1", 1), "/b/libcuda.so.1");
	assert_null(cot_shim_cache_find(bytes, n, "libcuda.so.1", 2));
	assert_null(cot_shim_cache_find(bytes, n, "libcuda.so", 0));
	/* Cut short, or with more entries than there are. */
	assert_null(cot_shim_cache_find(bytes, 40, "libcuda.so.1", 0));
	assert_null(cot_shim_cache_find(bytes, n - 1, "libcuda.so.1", 1));
	(void)make_cache(bytes, 4000);
	assert_null(cot_shim_cache_find(bytes, n, "libcuda.so.1", 0));
	/* Behind a list in the older format. */
	memmove(bytes + 64, bytes, make_cache(bytes, 4));
	memset(bytes, 1, 64);
	assert_string_equal(cot_shim_cache_find(bytes, n + 64, "libcuda.so.1", 0),
			    "/a/libcuda.so.1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_and_drop),
		cmocka_unit_test(churn),
		cmocka_unit_test(together),
		cmocka_unit_test(cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
