/* The arguments of a launch that becomes workers: the program's own, and ours behind them. */
#include "shim_launch_stage.h"

/* A buffer: the program's bytes as far as they go, and ours behind them. */
static void buffers(void **state)
{
	unsigned char bytes[24];
	size_t size = 16;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER, bytes,
			 CU_LAUNCH_PARAM_END};
	unsigned i;

	(void)state;
	memset(bytes, 7, sizeof(bytes));
	slot.armed = 24;
	assert_int_equal(launch_with_arguments(NULL, extra), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s from 16 bytes;record end in s;watch;");
	for (i = 0; i < 16; i++)
		assert_int_equal(before_args[i], 7);
	assert_int_equal(launched.n_workers, 12);
	/* A shorter one, as of a kernel whose last parameters are padding; a longer one. */
	size = 12;
	assert_int_equal(launch_with_arguments(NULL, extra), 0);
	for (i = 0; i < 16; i++)
		assert_int_equal(before_args[i], i < 12 ? 7 : 0);
	size = 24;
	assert_int_equal(launch_with_arguments(NULL, extra), 0);
	assert_int_equal(launched.n_workers, 12);
}

/* Those that are not understood: the program's own launch says whether they are right. */
static void strange_arguments(void **state)
{
	size_t size = 16;
	void *unknown[] = {HANDLE(9), &size, CU_LAUNCH_PARAM_END};
	void *no_buffer[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	void *three[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	void **const lists[] = {unknown, no_buffer, three};
	unsigned i;

	(void)state;
	slot.armed = 24;
	for (i = 0; i < COT_ARRAY_LEN(lists); i++) {
		ref.broken = false;
		assert_int_equal(launch_with_arguments(NULL, lists[i]), 0);
		expect_done("slot for 24;give used slot;put;plain;");
		assert_int_equal(counted, COT_SHIM_WHY_REFUSED);
		assert_true(ref.broken); /* not tried again */
	}
	ref.broken = false;
	assert_int_equal(launch_with_arguments(params, three), 0);
	expect_done("plain;");
	assert_int_equal(counted, COT_SHIM_WHY_ARGUMENTS);
	assert_int_equal(launch_with_arguments(NULL, NULL), 0);
	expect_done("plain;");
	assert_int_equal(counted, COT_SHIM_WHY_ARGUMENTS);
	kernel.args_at = 40000;
	assert_int_equal(launch_with_arguments(NULL, no_buffer), 0);
	expect_done("slot for 24;give used slot;put;plain;");
}

/* On the stack as far as it goes, and with a bound. */
static void large_buffers(void **state)
{
	static const struct {
		size_t size, asked;
		bool taken;
	} rows[] = {{ARGS_ON_STACK, 0, true},
		    {ARGS_ON_STACK + 8, ARGS_ON_STACK + 8, true},
		    {ARGS_MAX - 4, ARGS_MAX - 4, true},
		    {ARGS_MAX, ARGS_MAX, true},
		    {ARGS_MAX + 1, 0, false}};
	static unsigned char bytes[ARGS_MAX];
	size_t size = sizeof(bytes);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	unsigned i;

	(void)state;
	memset(bytes, 7, sizeof(bytes));
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		size_t at = rows[i].size - sizeof(launched);

		kernel.args_at = (uint32_t)at;
		asked_bytes = 0;
		memset(before_args, 0, sizeof(before_args));
		assert_int_equal(launch_with_arguments(NULL, extra), 0);
		assert_int_equal(asked_bytes, rows[i].asked);
		assert_int_equal(n_held, 0);
		assert_int_equal(before_args[0], rows[i].taken ? 7 : 0);
		assert_int_equal(before_args[at - 1], rows[i].taken ? 7 : 0);
		assert_int_equal(ref.broken, !rows[i].taken);
	}
}

/* Without arguments there is nothing to be found, in either form. */
static void no_arguments(void **state)
{
	size_t none = 0;
	void *empty[] = {CU_LAUNCH_PARAM_END};
	void *nowhere[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &none, CU_LAUNCH_PARAM_BUFFER_POINTER, NULL,
			   CU_LAUNCH_PARAM_END};

	(void)state;
	memset(before_args, 7, sizeof(before_args));
	assert_int_equal(launch_with_arguments(NULL, empty), 0);
	assert_int_equal(counted, COT_SHIM_WHY_NOT);
	assert_int_equal(before_args[0] + before_args[15], 0);
	assert_int_equal(launch_with_arguments(NULL, nowhere), 0);
	assert_int_equal(counted, COT_SHIM_WHY_NOT);
	kernel = (struct cot_shim_kernel){.n_params = 0};
	written[0] = '\0';
	slot.armed = 24;
	assert_int_equal(launch_with_arguments(NULL, NULL), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s without;record end in s;watch;");
	assert_int_equal(launched.n_workers, 12);
}

/* As many parameters as there may be; beyond some, not on the stack. */
static void many_parameters(void **state)
{
	static const struct {
		uint32_t n;
		size_t asked;
	} rows[] = {{1, 0},
		    {PARAMS_ON_STACK, 0},
		    {PARAMS_ON_STACK + 1, (PARAMS_ON_STACK + 2) * sizeof(void *)},
		    {PARAMS_MAX, (PARAMS_MAX + 1) * sizeof(void *)}};
	static void *many[PARAMS_MAX + 1];
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(many); i++)
		many[i] = &numbers[0];
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		kernel.n_params = rows[i].n;
		many[rows[i].n - 1] = &numbers[1];
		asked_bytes = 0;
		slot.armed = 24;
		assert_int_equal(launch_with_arguments(many, NULL), 0);
		assert_non_null(strstr(written, rows[i].n == 1 ? "with 22,22;" : ",22;"));
		written[0] = '\0';
		assert_int_equal(asked_bytes, rows[i].asked);
		assert_int_equal(n_held, 0);
		assert_int_equal(launched.n_workers, 12);
		many[rows[i].n - 1] = &numbers[0];
	}
	kernel.n_params = PARAMS_MAX + 1;
	assert_int_equal(launch_with_arguments(many, NULL), 0);
	expect_done("slot for 24;give used slot;put;plain;");
	assert_int_equal(counted, COT_SHIM_WHY_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(buffers, set_up_latency),
		cmocka_unit_test_setup(strange_arguments, set_up_latency),
		cmocka_unit_test_setup(large_buffers, set_up_latency),
		cmocka_unit_test_setup(no_arguments, set_up_latency),
		cmocka_unit_test_setup(many_parameters, set_up_latency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
