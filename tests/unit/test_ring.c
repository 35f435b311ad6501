/* The ring of requests: everything arrives, in order; what cannot be is refused and counted. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "proto/ring.h"
#include "test.h"

#define NOW	  (1000 * COT_NS_PER_S)
#define N_THREADS 4u
#define N_EACH	  20000u

static struct cot_ring ring;
static struct cot_ring_reader reader;
static struct cot_ring_request got[COT_RING_ENTRIES];

static int start(void **state)
{
	(void)state;
	memset(&ring, 0, sizeof(ring));
	memset(&reader, 0, sizeof(reader));
	return 0;
}

static void put(uint64_t arrival_ns, uint64_t begin_ns, uint64_t end_ns)
{
	const struct cot_ring_request r = {arrival_ns, begin_ns, end_ns, 0};

	cot_ring_put(&ring, &r);
}

static unsigned read_at(uint64_t now_ns, unsigned max)
{
	return cot_ring_read(&ring, &reader, cot_ring_head(&ring), now_ns, got, max);
}

static void all_arrive(void **state)
{
	unsigned i, round;

	(void)state;
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 700; i++)
			put(NOW - 3000 + i, NOW - 2000 + i, NOW - 1000 + i);
		assert_int_equal(read_at(NOW, 400), 400);
		assert_int_equal(got[399].end_ns, NOW - 1000 + 399);
		assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 300);
		assert_int_equal(got[0].arrival_ns, NOW - 3000 + 400);
		assert_int_equal(got[299].begin_ns, NOW - 2000 + 699);
		assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 0);
	}
	assert_int_equal(reader.n_lost + reader.n_rejected, 0);
}

static void late_reader_counts_what_it_lost(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < COT_RING_ENTRIES + 76; i++)
		put(0, NOW - 1000, NOW - 1000 + i % 1000);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), COT_RING_ENTRIES);
	assert_int_equal(got[0].end_ns, NOW - 1000 + 76);
	assert_int_equal(reader.n_lost, 76);
}

static void impossible_times(void **state)
{
	(void)state;
	put(0, NOW, NOW + 1);					  /* the future */
	put(0, NOW - 1, NOW - 2);				  /* it ends before it begins */
	put(NOW - 1, NOW - 2, NOW - 1);				  /* it begins before it arrives */
	put(0, NOW - 61 * COT_NS_PER_S, NOW - 61 * COT_NS_PER_S); /* too old */
	put(0, 0, NOW);						  /* it never began */
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 0);
	assert_int_equal(reader.n_rejected, 5);
	put(0, NOW, NOW);
	ring.entries[5].is_burst = 2;
	put(NOW, NOW, NOW);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 1);
	assert_int_equal(got[0].arrival_ns, NOW);
	assert_int_equal(reader.n_rejected, 6);
	assert_int_equal(reader.n_lost, 0);
}

/* One that is just being written gets time until the next look; then it is given up. */
static void unfinished_entry(void **state)
{
	(void)state;
	put(0, NOW - 2, NOW - 2);
	put(0, NOW - 1, NOW - 1);
	atomic_store(&ring.entries[0].number, 0);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 0);
	atomic_store(&ring.entries[0].number, 1);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 2);
	put(0, NOW - 2, NOW - 2);
	put(0, NOW - 1, NOW - 1);
	atomic_store(&ring.entries[2].number, 0);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 0);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 1);
	assert_int_equal(reader.n_lost, 1);
}

static void damaged_head(void **state)
{
	(void)state;
	put(0, NOW, NOW);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 1);
	atomic_store(&ring.head, UINT64_MAX);
	assert_in_range(read_at(NOW, COT_RING_ENTRIES), 0, COT_RING_ENTRIES);
	atomic_store(&ring.head, 0);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 0);
	memset(&ring, 0, sizeof(ring));
	put(0, NOW, NOW);
	assert_int_equal(read_at(NOW, COT_RING_ENTRIES), 1);
}

/* Each request says three times the same, so a mixture of two is seen. */
static void *write_many(void *arg)
{
	uint64_t first = NOW - COT_NS_PER_S + (uintptr_t)arg * N_EACH, i;

	for (i = first; i < first + N_EACH; i++)
		put(i, i, i);
	return NULL;
}

static void many_threads(void **state)
{
	pthread_t threads[N_THREADS];
	uint64_t n_read = 0;
	unsigned i, n, quiet = 0;

	(void)state;
	for (i = 0; i < N_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)i), 0);
	while (quiet < 3) {
		n = read_at(NOW, COT_RING_ENTRIES);
		n_read += n;
		for (i = 0; i < n; i++) {
			assert_int_equal(got[i].arrival_ns, got[i].begin_ns);
			assert_int_equal(got[i].begin_ns, got[i].end_ns);
		}
		quiet = cot_ring_head(&ring) == N_THREADS * N_EACH ? quiet + 1 : 0;
	}
	for (i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	n_read += read_at(NOW, COT_RING_ENTRIES);
	assert_true(n_read > 0);
	assert_int_equal(n_read + reader.n_lost + reader.n_rejected, N_THREADS * N_EACH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_arrive, start),
		cmocka_unit_test_setup(late_reader_counts_what_it_lost, start),
		cmocka_unit_test_setup(impossible_times, start),
		cmocka_unit_test_setup(unfinished_entry, start),
		cmocka_unit_test_setup(damaged_head, start),
		cmocka_unit_test_setup(many_threads, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
