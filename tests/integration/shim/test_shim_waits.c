/* A part is made when all that the program has submitted is done, and what it submits meanwhile
 * comes after. So none is made while something waits for what the program may submit later; all
 * else goes on. */
#include "parts_stage.h"

#define LIST 64u /* waits that are known at a time */

static CUdeviceptr word(void)
{
	return (CUdeviceptr)(uintptr_t)host_at(GATES);
}

static void wait_in(CUstream stream)
{
	OK(cuStreamWaitValue32_v2(stream, word(), 1, CU_STREAM_WAIT_VALUE_GEQ));
}

static void end_waits(void)
{
	OK(cuStreamWriteValue32_v2(waits, word(), 1, 0));
	OK(cuStreamSynchronize(plain));
	host[GATES] = 0;
}

static unsigned fresh; /* the first SM of a part that there is not yet */

static int set_up(void **state)
{
	fresh += 8;
	return start(state);
}

static int tear_down(void **state)
{
	host[GATES] = 1;
	return end(state);
}

/* An order to it fails, and does not keep the listener. */
static void expect_no_new_part(void)
{
	assert_int_equal(place(fresh, 8), -EDEADLK);
	placed(96, 8);
	placed(64, 8);
}

static void test_a_wait(void **state)
{
	(void)state;
	placed(64, 8);
	wait_in(plain);
	expect_no_new_part();
	launch(0, 2, plain);
	launch(0, 1, waits);
	is_on(waits, 64, 8);
	assert_int_equal(cuStreamQuery(plain), CUDA_ERROR_NOT_READY);
	end_waits();
	placed(fresh, 8);
	is_on(plain, fresh, 8);
}

static void test_many_operations_at_once(void **state)
{
	CUstreamBatchMemOpParams op = {.value = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
						 .address = word(),
						 .value = 1,
						 .flags = CU_STREAM_WAIT_VALUE_GEQ}};

	(void)state;
	OK(cuStreamBatchMemOp_v2(plain, 1, &op, 0));
	expect_no_new_part();
	end_waits();
	placed(fresh, 8);
}

/* One in the default stream, at home and on a part. */
static void test_any_stream(void **state)
{
	(void)state;
	wait_in(CU_STREAM_PER_THREAD);
	expect_no_new_part();
	OK(cuStreamWriteValue32_v2(plain, word(), 1, 0));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	host[GATES] = 0;
	placed(fresh, 8);
	placed(64, 8);
	wait_in(CU_STREAM_PER_THREAD);
	assert_int_equal(place(fresh, 16), -EDEADLK);
	OK(cuStreamWriteValue32_v2(plain, word(), 1, 0));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	host[GATES] = 0;
	placed(fresh, 16);
}

/* Seven parts are kept, and can be had: those that were chosen last. */
static void test_what_there_is_can_be_had(void **state)
{
	unsigned i, round;

	(void)state;
	for (i = 0; i < 8; i++)
		placed(8 * i, 16);
	wait_in(plain);
	for (round = 0; round < 2; round++)
		for (i = 1; i < 8; i++) {
			placed(8 * i, 16);
			is_on(waits, 8 * i, 16);
		}
	assert_int_equal(place(0, 16), -EDEADLK);
	end_waits();
	placed(0, 16);
}

/* Waits that have ended make room for others. */
static void test_waits_end(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 2 * LIST; i++) {
		wait_in(plain);
		end_waits();
	}
	placed(fresh, 8);
	for (i = 0; i < LIST; i++)
		wait_in(plain);
	assert_int_equal(place(fresh, 24), -EDEADLK);
	end_waits();
	placed(fresh, 24);
}

/* The last one: then there may be one for good. */
static void test_more_than_can_be_known(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i <= LIST; i++)
		wait_in(plain);
	end_waits();
	expect_no_new_part();
}

#define TEST_OF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF(test_a_wait),	  TEST_OF(test_many_operations_at_once),
		TEST_OF(test_any_stream), TEST_OF(test_what_there_is_can_be_had),
		TEST_OF(test_waits_end),  TEST_OF(test_more_than_can_be_known),
	};

	return parts_main("shim_waits", tests, sizeof(tests) / sizeof(tests[0]));
}
