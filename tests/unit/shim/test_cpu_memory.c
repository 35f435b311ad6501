/*
 * The memory of launches on the CPU: ranges that overlap are one, and only what was written goes
 * back, to the byte. The unit is in a shared library, so its source is here; a piece of the test's
 * own memory is the GPU's.
 */
#include "guest/shim/cpu_memory.c"

#include "base/rng.h"
#include "test.h"

#define BYTES 4096u
#define BASE  0x700000000000u

static unsigned char gpu[BYTES];
static unsigned n_in, n_out, n_waits;
static uint64_t out_bytes;
static int fails_at; /* which call fails; 0: none */

static int count(void)
{
	return fails_at && --fails_at == 0 ? 700 : 0;
}

static int in(void *arg, void *to, uint64_t from, uint64_t bytes)
{
	(void)arg;
	assert_in_range(from - BASE, 0, BYTES);
	assert_in_range(from - BASE + bytes, 0, BYTES);
	memcpy(to, gpu + (from - BASE), bytes);
	n_in++;
	return count();
}

static int out(void *arg, uint64_t to, const void *from, uint64_t bytes)
{
	(void)arg;
	assert_in_range(to - BASE, 0, BYTES);
	assert_in_range(to - BASE + bytes, 0, BYTES);
	memcpy(gpu + (to - BASE), from, bytes);
	n_out++;
	out_bytes += bytes;
	return count();
}

static int wait_all(void *arg)
{
	(void)arg;
	n_waits++;
	return count();
}

static const struct cot_shim_cpu_copies copies = {in, out, wait_all, NULL};

static int set_up(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < BYTES; i++)
		gpu[i] = (unsigned char)(i * 7);
	n_in = n_out = n_waits = 0;
	out_bytes = 0;
	fails_at = 0;
	return 0;
}

static void add(struct cot_cpu_launch *l, uint64_t at, uint64_t bytes, uint32_t uses,
		uint32_t grain)
{
	l->ranges[l->n_ranges++] = (struct cot_cpu_range){BASE + at, bytes, uses, grain, NULL};
}

static void merging(void **state)
{
	struct cot_cpu_launch l = {.n_ranges = 0};

	(void)state;
	add(&l, 0, 16, COT_CPU_READS, 4);
	add(&l, 100, 50, COT_CPU_WRITES, 4);
	add(&l, 16, 16, COT_CPU_READS, 4);    /* beside, not over */
	add(&l, 140, 100, COT_CPU_READS, 4);  /* over the second one */
	add(&l, 200, 20, COT_CPU_CHANGES, 1); /* within what that has become */
	assert_true(cot_shim_cpu_merge(&l));
	assert_int_equal(l.n_ranges, 3);
	assert_int_equal(l.ranges[1].address, BASE + 100);
	assert_int_equal(l.ranges[1].bytes, 140);
	assert_int_equal(l.ranges[1].uses, COT_CPU_READS | COT_CPU_WRITES | COT_CPU_CHANGES);
	assert_int_equal(l.ranges[1].grain, 1);
	/* The same twice is written as a whole as it was. */
	l.n_ranges = 0;
	add(&l, 0, 16, COT_CPU_WRITES, 4);
	add(&l, 0, 16, COT_CPU_WRITES, 4);
	assert_true(cot_shim_cpu_merge(&l));
	assert_int_equal(l.n_ranges, 1);
	assert_int_equal(l.ranges[0].uses, COT_CPU_WRITES);
	/* One that joins two others. */
	l.n_ranges = 0;
	add(&l, 0, 10, COT_CPU_READS, 1);
	add(&l, 20, 10, COT_CPU_READS, 1);
	add(&l, 5, 20, COT_CPU_WRITES, 1);
	assert_true(cot_shim_cpu_merge(&l));
	assert_int_equal(l.n_ranges, 1);
	assert_int_equal(l.ranges[0].bytes, 30);
}

/* Whatever differs is in a piece, and nothing else. */
static void differences(void **state)
{
	struct cot_shim_cpu_piece pieces[BYTES];
	struct cot_rng rng = {3};
	unsigned char now[BYTES], told[BYTES];
	uint32_t n, i, grain, round;

	(void)state;
	for (round = 0; round < 200; round++) {
		grain = 1u << cot_rng_below(&rng, 5);
		memcpy(now, gpu, BYTES);
		memset(told, 0, BYTES);
		for (i = (uint32_t)cot_rng_below(&rng, 30); i; i--)
			now[cot_rng_below(&rng, BYTES)] ^= 1;
		assert_int_equal(
			cot_shim_cpu_differences(gpu, now, BYTES, grain, pieces, BYTES, &n), 0);
		for (i = 0; i < n; i++) {
			assert_true(pieces[i].at % grain == 0 && pieces[i].bytes % grain == 0);
			memset(told + pieces[i].at, 1, pieces[i].bytes);
		}
		for (i = 0; i < BYTES; i++)
			assert_int_equal(told[i], memcmp(gpu + i / grain * grain,
							 now + i / grain * grain, grain) != 0);
		if (n)
			assert_int_equal(
				cot_shim_cpu_differences(gpu, now, BYTES, grain, pieces, n - 1, &i),
				-ENOSPC);
	}
}

static void there_and_back(void **state)
{
	struct cot_cpu_launch l = {.n_ranges = 0};
	unsigned char *host;

	(void)state;
	add(&l, 0, 64, COT_CPU_READS, 0);
	add(&l, 100, 40, COT_CPU_WRITES, 0);
	add(&l, 1024, 1024, COT_CPU_CHANGES, 4);
	assert_int_equal(cot_shim_cpu_take(&l, &copies), 0);
	assert_int_equal(n_in, 2); /* what is only written is not read */
	assert_int_equal(n_waits, 1);
	assert_memory_equal(l.ranges[0].host, gpu, 64);
	assert_ptr_equal(cot_cpu_host(&l, BASE + 10), (char *)l.ranges[0].host + 10);
	assert_null(cot_cpu_host(&l, BASE + 64));
	assert_null(cot_cpu_host(&l, 0));
	host = cot_cpu_host(&l, BASE + 1024);
	host[8] ^= 1;
	host[9] ^= 1;
	host[12] ^= 1;
	host[1020] ^= 1;
	memset(cot_cpu_host(&l, BASE + 100), 9, 40);
	memset(l.ranges[0].host, 1, 64); /* a mistake of the provider's */
	/* Meanwhile somebody writes between the two. */
	gpu[1024 + 500] = 77;
	assert_int_equal(cot_shim_cpu_bring(&l, &copies), 0);
	assert_int_equal(n_out, 3);
	assert_int_equal(out_bytes, 40 + 8 + 4);
	assert_int_equal(gpu[0], 0);
	assert_int_equal(gpu[100], 9);
	assert_int_equal(gpu[1024 + 8], (unsigned char)((1024 + 8) * 7) ^ 1);
	assert_int_equal(gpu[1024 + 500], 77);
	cot_shim_cpu_finish(&l);
	assert_null(l.ranges[0].host);
}

/* A range that is not a whole number of units is looked at byte by byte. */
static void odd_ranges(void **state)
{
	static const struct {
		uint64_t at, bytes;
		uint32_t grain;
	} odd[] = {{2, 64, 4}, {0, 63, 4}, {0, 64, 0}, {0, 64, 3}, {0, 64, 32}};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(odd); i++) {
		struct cot_cpu_launch l = {.n_ranges = 0};

		add(&l, odd[i].at, odd[i].bytes, COT_CPU_CHANGES, odd[i].grain);
		assert_int_equal(cot_shim_cpu_take(&l, &copies), 0);
		((unsigned char *)l.ranges[0].host)[5] ^= 1;
		out_bytes = 0;
		assert_int_equal(cot_shim_cpu_bring(&l, &copies), 0);
		assert_int_equal(out_bytes, 1);
		cot_shim_cpu_finish(&l);
	}
}

/* Each call may fail: nothing is kept, and what was not copied back before is as it was. */
static void failures(void **state)
{
	struct cot_cpu_launch l = {.n_ranges = 0};
	int i;

	(void)state;
	add(&l, 0, 64, COT_CPU_READS | COT_CPU_WRITES, 0);
	add(&l, 64, 64, COT_CPU_READS | COT_CPU_WRITES, 0);
	for (i = 1; i <= 3; i++) {
		fails_at = i;
		n_waits = 0;
		assert_int_equal(cot_shim_cpu_take(&l, &copies), -EIO);
		assert_int_equal(n_waits, 1);
		assert_null(l.ranges[0].host);
		assert_null(l.ranges[1].host);
	}
	for (i = 1; i <= 3; i++) {
		fails_at = 0;
		assert_int_equal(cot_shim_cpu_take(&l, &copies), 0);
		fails_at = i;
		n_waits = 0;
		assert_int_equal(cot_shim_cpu_bring(&l, &copies), 700);
		assert_int_equal(n_waits, 1);
		cot_shim_cpu_finish(&l);
	}
}

static void bounds(void **state)
{
	static unsigned char large[64 * 4096];
	struct cot_cpu_launch l = {.n_ranges = 0};
	unsigned i;

	(void)state;
	add(&l, 0, COT_SHIM_CPU_BYTES_MAX + 1ull, COT_CPU_WRITES, 0);
	assert_int_equal(cot_shim_cpu_take(&l, &copies), -E2BIG);
	l.n_ranges = 0;
	add(&l, 0, COT_SHIM_CPU_BYTES_MAX / 2 + 1, COT_CPU_CHANGES, 0); /* needs two */
	assert_int_equal(cot_shim_cpu_take(&l, &copies), -E2BIG);
	l.n_ranges = 0;
	add(&l, 0, UINT64_MAX - BASE, COT_CPU_WRITES, 0);
	add(&l, 1, UINT64_MAX - BASE - 1, COT_CPU_WRITES, 0);
	assert_true(cot_shim_cpu_merge(&l));
	assert_int_equal(cot_shim_cpu_take(&l, &copies), -E2BIG);
	l.ranges[0].bytes++;
	assert_false(cot_shim_cpu_merge(&l));
	l.ranges[0].bytes = 0;
	assert_false(cot_shim_cpu_merge(&l));
	assert_int_equal(n_in, 0);
	/* Too many pieces: not one is copied. */
	l.n_ranges = 0;
	add(&l, 0, sizeof(large) / 2, COT_CPU_CHANGES, 1);
	l.ranges[0].host = large;
	for (i = 0; i <= COT_SHIM_CPU_PIECES_MAX; i++)
		large[2 * i] = 1;
	assert_int_equal(cot_shim_cpu_bring(&l, &copies), -ENOSPC);
	assert_int_equal(n_out, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(merging, set_up),
		cmocka_unit_test_setup(differences, set_up),
		cmocka_unit_test_setup(there_and_back, set_up),
		cmocka_unit_test_setup(odd_ranges, set_up),
		cmocka_unit_test_setup(failures, set_up),
		cmocka_unit_test_setup(bounds, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
