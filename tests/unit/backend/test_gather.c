/* Which launches become one, and when. */
#include <string.h>

#include "backend/gather.h"
#include "test.h"

#define US 1000ull

static struct cot_gather g;
static const char mix[] = "mix", turn[] = "turn";

static int setup(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	return 0;
}

static void add(uint32_t client, const void *code, uint32_t threads, uint64_t now_ns)
{
	const struct cot_gather_entry e = {
		.client = client, .code = code, .launch = {.block = {threads, 1, 1}}};

	assert_true(cot_gather_add(&g, &e, now_ns));
}

static void take_out(void)
{
	uint32_t set[COT_GATHER_MAX], n = cot_gather_like_oldest(&g, set);

	cot_gather_remove(&g, set, n);
}

static void alone_nobody_waits(void **state)
{
	(void)state;
	assert_int_equal(cot_gather_due(&g, 100 * US, 5 * US), UINT64_MAX);
	add(0, mix, 32, 5 * US);
	assert_int_equal(cot_gather_due(&g, 100 * US, 6 * US), 6 * US);
}

static void active_ones_are_waited_for(void **state)
{
	(void)state;
	add(0, mix, 32, 5 * US);
	take_out();
	add(1, mix, 32, 50 * US);
	assert_int_equal(cot_gather_due(&g, 100 * US, 60 * US), 150 * US);
	add(0, mix, 32, 70 * US); /* now all are here */
	assert_int_equal(cot_gather_due(&g, 100 * US, 71 * US), 71 * US);
	take_out();
	/* One that posts every 10 ms is waited for after 11 of them, not after 25. */
	add(1, mix, 32, 10000 * US);
	take_out();
	add(0, mix, 32, 21000 * US);
	assert_int_equal(cot_gather_due(&g, 100 * US, 21000 * US), 21100 * US);
	take_out();
	add(0, mix, 32, 35000 * US);
	assert_int_equal(cot_gather_due(&g, 100 * US, 35000 * US), 35000 * US);
}

static void like_ones_go_together(void **state)
{
	uint32_t set[COT_GATHER_MAX];

	(void)state;
	add(0, mix, 32, 1 * US);
	add(1, turn, 32, 2 * US);
	add(2, mix, 64, 3 * US);
	add(3, mix, 32, 4 * US);
	assert_int_equal(cot_gather_like_oldest(&g, set), 2);
	assert_int_equal(set[0], 0);
	assert_int_equal(set[1], 3);
	cot_gather_remove(&g, set, 2);
	assert_int_equal(g.n, 2);
	assert_ptr_equal(g.list[0].code, turn);
	assert_int_equal(g.list[1].client, 2);
	cot_gather_forget(&g, 1);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.list[0].client, 2);
}

static void full_is_due(void **state)
{
	const struct cot_gather_entry e = {.client = 1};
	uint32_t i;

	(void)state;
	add(0, mix, 32, 1 * US);
	for (i = 1; i < COT_GATHER_MAX; i++)
		add(1, mix, 32, 1 * US);
	assert_false(cot_gather_add(&g, &e, 2 * US));
	assert_int_equal(cot_gather_due(&g, 100 * US, 2 * US), 2 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(alone_nobody_waits, setup),
		cmocka_unit_test_setup(active_ones_are_waited_for, setup),
		cmocka_unit_test_setup(like_ones_go_together, setup),
		cmocka_unit_test_setup(full_is_due, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
