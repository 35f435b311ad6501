/* Kernels and requests, from launches that were timed one by one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "knowledge/launches.h"
#include "test.h"

static const char names[][COT_KNOWN_NAME_MAX] = {"gemm", "softmax", "gemm", "rare"};

/* Two sizes of part; requests of three launches, with what the host does once in between. */
static const struct cot_known_launch small[] = {
	{900, 1, false, false}, /* of a request that began before the round */
	{400, 0, true, false},	{90, 1, false, false}, {800, 2, false, false},
	{420, 0, true, false},	{95, 1, false, false}, {810, 2, false, false},
	{410, 0, true, false},	{92, 1, false, false}, {790, 2, false, false},
	{7000, 0, true, false}, /* is under way */
};
static const struct cot_known_launch large[] = {
	{100, 0, true, false},	{40, 1, false, false}, {200, 2, false, false},
	{900, 3, true, false}, /* another request */
	{102, 0, true, false},	{42, 1, false, false}, {202, 2, false, false},
	{101, 0, true, false},	{41, 1, false, true}, /* something is missing */
	{204, 2, false, false}, {104, 0, true, false},
};

static struct cot_known_launches both(void)
{
	return (struct cot_known_launches){
		.n_kernels = 4,
		.names = names,
		.n = {COT_ARRAY_LEN(small), COT_ARRAY_LEN(large)},
		.at = {small, large},
	};
}

static struct cot_knowledge *begin(struct cot_known_input **ret)
{
	struct cot_knowledge *k = cot_knowledge_create();

	assert_non_null(k);
	k->cls = COT_CLASS_LATENCY;
	k->n_quotas = 2;
	k->sms[0] = 8;
	k->sms[1] = 132;
	assert_int_equal(cot_knowledge_add_input(k, 0, ret), 0);
	(*ret)->time_ns[0] = 1500;
	(*ret)->time_ns[1] = 400;
	return k;
}

static void kernels_of_requests(void **state)
{
	const struct cot_known_launches l = both();
	struct cot_known_input *in;
	struct cot_knowledge *k = begin(&in);

	(void)state;
	assert_int_equal(cot_knowledge_take_tasks(k, in, &l), 0);
	assert_int_equal(in->n_tasks, 3);
	assert_int_equal(in->n_launches, 3);
	/* Two kernels of one name are two; the one that no usual request runs is none of them. */
	assert_int_equal(k->n_kernels, 3);
	assert_string_equal(k->kernels[in->tasks[0]]->name, "gemm");
	assert_string_equal(k->kernels[in->tasks[1]]->name, "softmax");
	assert_string_equal(k->kernels[in->tasks[2]]->name, "gemm");
	assert_int_not_equal(in->tasks[0], in->tasks[2]);
	/* 400, 410, 420, 7000; 100 to 104: of an even number the lower one. */
	assert_int_equal(k->kernels[in->tasks[0]]->rates.time_ns[0], 410);
	assert_int_equal(k->kernels[in->tasks[0]]->rates.time_ns[1], 101);
	assert_int_equal(k->kernels[in->tasks[2]]->rates.time_ns[1], 202);
	assert_int_equal(cot_knowledge_complete(k), 0);
	assert_int_equal(cot_knowledge_plan(k, 0)->n_tasks, 3);
	cot_knowledge_destroy(k);
}

/* A kernel is the same one in another input while it takes about as long. */
static void kernels_of_two_inputs(void **state)
{
	static struct cot_known_launch slower[COT_ARRAY_LEN(large)];
	struct cot_known_launches l = both();
	struct cot_known_input *in, *other;
	struct cot_knowledge *k = begin(&in);
	uint32_t i;

	(void)state;
	assert_int_equal(cot_knowledge_take_tasks(k, in, &l), 0);
	in->size = 1;
	assert_int_equal(cot_knowledge_add_input(k, 2, &other), 0);
	memcpy(slower, large, sizeof(slower));
	for (i = 0; i < COT_ARRAY_LEN(large); i++)
		slower[i].ns = large[i].kernel == 2 ? large[i].ns * 2 : large[i].ns + 1;
	l.at[1] = slower;
	assert_int_equal(cot_knowledge_take_tasks(k, other, &l), 0);
	assert_int_equal(k->n_kernels, 4);
	assert_int_equal(other->tasks[0], in->tasks[0]);
	assert_int_equal(other->tasks[1], in->tasks[1]);
	assert_int_equal(other->tasks[2], 3);
	cot_knowledge_destroy(k);
}

static void expect_none(const struct cot_known_launches *l, int rc)
{
	struct cot_known_input *in;
	struct cot_knowledge *k = begin(&in);

	assert_int_equal(cot_knowledge_take_tasks(k, in, l), rc);
	assert_int_equal(in->n_tasks, 0);
	assert_int_equal(k->n_kernels, 0);
	cot_knowledge_destroy(k);
}

static void requests_that_differ(void **state)
{
	/* Each has one launch more; the last one is not over. */
	static const struct cot_known_launch growing[] = {
		{1, 0, true, false}, {1, 0, true, false},  {1, 1, false, false},
		{1, 0, true, false}, {1, 1, false, false}, {1, 1, false, false},
		{1, 0, true, false},
	};
	struct cot_known_launches l = both();

	(void)state;
	l.at[1] = growing;
	l.n[1] = COT_ARRAY_LEN(growing);
	expect_none(&l, -ENODATA);
	l.n[1] = 3; /* one that is whole */
	expect_none(&l, -ENODATA);
	l.n[1] = 0;
	expect_none(&l, -ENODATA);
}

/* Or not at all on one of the parts. */
static void kernels_that_were_not_timed(void **state)
{
	struct cot_known_launches l = both();

	(void)state;
	l.n[0] = 3;
	expect_none(&l, -ENODATA);
	l.n[0] = 0;
	expect_none(&l, -ENODATA);
}

static void the_longest(void **state)
{
	struct cot_known_launches l = both();
	struct cot_known_input *in;
	struct cot_knowledge *k = begin(&in);

	(void)state;
	assert_int_equal(cot_knowledge_take_longest(k, &l), 0);
	assert_int_equal(k->kernel_ns[0], 800);
	assert_int_equal(k->kernel_ns[1], 900);
	l.n[1] = 0;
	assert_int_equal(cot_knowledge_take_longest(k, &l), -ENODATA);
	assert_int_equal(k->kernel_ns[0], 800);
	cot_knowledge_destroy(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_requests),
		cmocka_unit_test(kernels_of_two_inputs),
		cmocka_unit_test(requests_that_differ),
		cmocka_unit_test(kernels_that_were_not_timed),
		cmocka_unit_test(the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
