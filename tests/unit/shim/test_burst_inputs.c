/* Bursts: inputs that are copied and waited for one by one belong to the request that follows. */
#include "burst_stage.h"

/* Each input is copied and waited for, then comes the work: one request, also in several streams.
 */
static void inputs_belong_to_what_follows(void **state)
{
	uint64_t begin;

	(void)state;
	begin = copy_in_by(ME, A);
	(void)wait_for(A);
	assert_true(bursts.kept_input);
	(void)copy_in_by(ME, C);
	(void)wait_for(C);
	assert_int_equal(n_seen, 0);
	now += COT_BURST_SOON_NS - 1;
	(void)put(B);
	expect(1, begin, wait_for(B));
	begin = put(A);
	expect(2, begin, wait_for(A));
	assert_false(bursts.lost_input);
	expect_rest(0);
}

static void input_and_work_at_once(void **state)
{
	uint64_t begin;

	(void)state;
	begin = copy_in_by(ME, A);
	(void)put(A);
	(void)copy_in_by(ME, A);
	expect(1, begin, wait_for(A));
	begin = copy_in_by(ME, A);
	(void)copy_in_by(ME, C);
	(void)put(C);
	(void)wait_for(A);
	expect(2, begin, wait_for(C));
	expect_rest(0);
}

static void input_that_comes_too_early(void **state)
{
	uint64_t begin;

	(void)state;
	(void)copy_in_by(ME, A);
	(void)wait_for(A);
	now += COT_BURST_SOON_NS;
	begin = put(A);
	assert_true(bursts.lost_input);
	expect(1, begin, wait_for(A));
	(void)copy_in_by(ME, A);
	(void)wait_for(A);
	expect_rest(0);
	assert_int_equal(n_seen, 1);
}

static void input_of_another_thread(void **state)
{
	uint64_t begin;

	(void)state;
	(void)copy_in_by(YOU, A);
	(void)wait_for(A);
	begin = put_by(ME, A);
	expect(1, begin, wait_for(A));
	now += COT_BURST_SOON_NS;
	begin = copy_in_by(YOU, A);
	(void)put_by(ME, A); /* what waits for it is one with it */
	expect(2, begin, wait_for(A));
	expect_rest(0);
}

/* A program that loads its weights, and then has its first request. */
static void data_that_is_loaded(void **state)
{
	uint64_t begin;
	unsigned i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		for (i = 0; i < COT_BURST_INPUTS + k; i++) {
			begin = copy_in_by(ME, A);
			(void)wait_for(A);
		}
		begin = put(A);
		(void)wait_for(A);
		assert_int_equal(n_seen, k + 1);
	}
	assert_true(seen[0].begin < seen[0].end - 2 * COT_BURST_INPUTS);
	assert_int_equal(seen[1].begin, begin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(inputs_belong_to_what_follows, start),
		cmocka_unit_test_setup(input_and_work_at_once, start),
		cmocka_unit_test_setup(input_that_comes_too_early, start),
		cmocka_unit_test_setup(input_of_another_thread, start),
		cmocka_unit_test_setup(data_that_is_loaded, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
