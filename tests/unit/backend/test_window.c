/* Allocations in a window of addresses: by hand, and random ones against a plain list. */
#include <errno.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/window.h"
#include "test.h"

#define AT 0x200000000000ull

static struct cot_window w;

static int take(uint64_t bytes, uint64_t *ret_at)
{
	struct cot_window_chunk chunk;
	int rc = cot_window_take(&w, bytes, ret_at, &chunk);

	if (rc != -EAGAIN)
		return rc;
	assert_int_equal(chunk.at % COT_BACKEND_CHUNK_BYTES, 0);
	assert_int_equal(chunk.bytes % COT_BACKEND_CHUNK_BYTES, 0);
	assert_int_equal(cot_window_add(&w, &chunk), 0);
	return cot_window_take(&w, bytes, ret_at, &chunk);
}

static void small_ones_share_a_chunk(void **state)
{
	struct cot_window_chunk chunk;
	uint64_t a, b, c, d;

	(void)state;
	cot_window_init(&w, AT, COT_BACKEND_WINDOW_BYTES);
	assert_int_equal(take(1, &a), 0);
	assert_int_equal(take(513, &b), 0);
	assert_int_equal(a, AT);
	assert_int_equal(b, AT + 512);
	assert_int_equal(w.n_chunks, 1);
	assert_int_equal(take(8ull << 20, &c), 0);
	assert_int_equal(w.n_chunks, 2);
	assert_true(cot_window_has(&w, a) && cot_window_has(&w, b + 1023));
	assert_false(cot_window_has(&w, b + 1024) || cot_window_has(&w, AT - 1));
	assert_int_equal(cot_window_give(&w, b + 512, &chunk), -ENOENT);
	assert_int_equal(cot_window_give(&w, a, &chunk), -EAGAIN);
	assert_int_equal(take(100, &d), 0);
	assert_int_equal(d, a); /* the first gap */
	assert_int_equal(cot_window_give(&w, c, &chunk), 0);
	assert_int_equal(chunk.at, c);
	assert_int_equal(cot_window_give(&w, b, &chunk), -EAGAIN);
	assert_int_equal(cot_window_give(&w, d, &chunk), 0);
	assert_int_equal(w.n_chunks, 0);
	cot_window_finish(&w);
}

static void full_is_said(void **state)
{
	uint64_t at;

	(void)state;
	cot_window_init(&w, AT, 16ull << 20);
	assert_int_equal(take(0, &at), -ENOMEM);
	assert_int_equal(take((16ull << 20) + 1, &at), -ENOMEM);
	assert_int_equal(take(10ull << 20, &at), 0);
	assert_int_equal(take(8ull << 20, &at), -ENOMEM);
	assert_int_equal(take(6ull << 20, &at), 0);
	assert_int_equal(take(1, &at), -ENOMEM);
	cot_window_finish(&w);
}

static void random_ones_never_overlap(void **state)
{
	enum { N = 300, STEPS = 20000 };
	static uint64_t at[N], bytes[N];
	struct cot_window_chunk chunk;
	unsigned i, k, n = 0;
	int rc;

	(void)state;
	srand(7);
	cot_window_init(&w, AT, 1ull << 30);
	for (i = 0; i < STEPS; i++) {
		k = (unsigned)rand() % N;
		if (bytes[k]) {
			rc = cot_window_give(&w, at[k], &chunk);
			assert_true(rc == 0 || rc == -EAGAIN);
			bytes[k] = 0;
			n--;
			continue;
		}
		bytes[k] = 1 + (uint64_t)rand() % (rand() % 4 ? 5000 : 5u << 20);
		if (take(bytes[k], &at[k])) {
			bytes[k] = 0;
			continue;
		}
		n++;
		assert_int_equal(w.n_blocks, n);
		for (unsigned o = 0; o < N; o++)
			if (o != k && bytes[o])
				assert_true(at[o] + bytes[o] <= at[k] || at[k] + bytes[k] <= at[o]);
	}
	for (k = 0; k < N; k++)
		if (bytes[k])
			(void)cot_window_give(&w, at[k], &chunk);
	assert_int_equal(w.n_chunks, 0);
	cot_window_finish(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_ones_share_a_chunk),
		cmocka_unit_test(full_is_said),
		cmocka_unit_test(random_ones_never_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
