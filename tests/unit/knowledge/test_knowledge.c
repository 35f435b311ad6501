/* Knowledge of programs: what is read and written, plans for sizes, errors of the predictors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "knowledge/knowledge.h"
#include "test.h"

#define HEAD \
	"schema: cotenant.knowledge/1\nprogram: \"./serve\"\ngpu: \"a GPU\"\nsms: [8, 16, 32]\n"
#define TWO                                                                                   \
	HEAD "class: latency\nspread_milli: 1500\ninputs:\n"                                  \
	     "  - size: 4\n    requests: 100\n    time_ns: [900, 500, 520]\n    out_ns: 7\n"  \
	     "    tasks: [1, 0, 1]\n"                                                         \
	     "  - size: 2\n    requests: 50\n    time_ns: [800, 400, 300]\n    launches: 4\n" \
	     "kernels:\n"                                                                     \
	     "  - name: \"a\"\n    time_ns: [100, 110, 50]\n    bytes_per_s: [1, 2, 3]\n"     \
	     "  - name: \"b\"\n    time_ns: [300, 200, 190]\n    bytes_per_s: [4, 5, 6]\n"    \
	     "    ipc_milli: [10, 20, 30]\n"
#define BATCH                                                                           \
	HEAD "class: batch\nspread_milli: 1000\nrepeats:\n  time_ns: [900, 500, 520]\n" \
	     "  bytes_per_s: [10, 20, 21]\n  ipc_milli: [1000, 2000, 2100]\n"           \
	     "  power_w: 430\n  cpu_w: 90\n  cpu_time_ns: 2500\n"

static struct cot_knowledge *parse(const char *text)
{
	struct cot_knowledge *k = NULL;
	struct cot_error err = {""};

	if (cot_knowledge_parse("k.yaml", text, strlen(text), &k, &err))
		fail_msg("%s", err.text);
	return k;
}

static void numbers(const uint64_t *found, uint64_t a, uint64_t b, uint64_t c)
{
	assert_int_equal(found[0], a);
	assert_int_equal(found[1], b);
	assert_int_equal(found[2], c);
}

static void plans_of_inputs(void **state)
{
	struct cot_knowledge *k = parse(TWO);
	const struct cot_plan *p = cot_knowledge_plan(k, 4);

	(void)state;
	assert_int_equal(k->n_inputs, 2);
	assert_int_equal(k->inputs[0]->size, 2);
	assert_int_equal(p->n_quotas, 3);
	assert_int_equal(p->sms[2], 32);
	/* The spread, and more SMs never take longer. */
	numbers(p->query_ns, 1350, 750, 750);
	assert_int_equal(p->n_tasks, 3);
	/* 700, 510 and 430 in all, of 900, 500 and 520: the host's time lies between them, or each
	 * has its share; and more SMs never take longer. */
	numbers(p->task_ns, 366, 196, 196);
	numbers(p->task_ns + 3, 166, 107, 80);
	numbers(p->task_bytes_per_s + 3, 1, 2, 3);
	numbers(p->task_bytes_per_s + 6, 4, 5, 6);
	/* Only the number of its launches is known: they are equal. */
	p = cot_knowledge_plan(k, 2);
	numbers(p->query_ns, 1200, 600, 450);
	assert_int_equal(p->n_tasks, 4);
	numbers(p->task_ns + 9, 200, 100, 75);
	assert_null(p->task_bytes_per_s);
	assert_int_equal(k->predictions[0].duration_ns, 1350);
	cot_knowledge_destroy(k);
}

/* What a query moves in the mean its launches move. */
static void queries_that_move(void **state)
{
	static const char text[] = HEAD "class: latency\nspread_milli: 1000\ninputs:\n  - size: 0\n"
					"    requests: 50\n    time_ns: [800, 400, 300]\n"
					"    bytes_per_s: [100, 200, 250]\n    launches: 2\n";
	struct cot_knowledge *k = parse(text);
	const struct cot_plan *p = cot_knowledge_plan(k, 0);
	char *written = NULL;
	size_t size;
	FILE *out = open_memstream(&written, &size);

	(void)state;
	numbers(p->task_bytes_per_s, 100, 200, 250);
	numbers(p->task_bytes_per_s + 3, 100, 200, 250);
	assert_non_null(out);
	cot_knowledge_write(k, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(written, "\n    bytes_per_s: [100, 200, 250]\n"));
	free(written);
	assert_int_equal(cot_knowledge_refine(k), 0);
	p = cot_knowledge_plan(k, 0);
	assert_int_equal(p->sms[1], 10);
	assert_int_equal(p->task_bytes_per_s[1], 125);
	cot_knowledge_destroy(k);
}

/* Of its kernels it is not known. */
static void queries_that_move_with_kernels(void **state)
{
	struct cot_knowledge *k =
		parse(HEAD "class: latency\nspread_milli: 1000\ninputs:\n  - size: 0\n"
			   "    time_ns: [800, 400, 300]\n    bytes_per_s: [100, 200, 250]\n"
			   "    tasks: [0, 0]\nkernels:\n  - name: \"a\"\n"
			   "    time_ns: [400, 200, 150]\n");
	const struct cot_plan *p = cot_knowledge_plan(k, 0);

	(void)state;
	assert_int_equal(p->n_tasks, 2);
	numbers(p->task_ns, 400, 200, 150);
	numbers(p->task_bytes_per_s + 3, 100, 200, 250);
	cot_knowledge_destroy(k);
}

/* The host takes 480, 810 and 360 of the queries' time beside the kernels: 550 in the mean. */
static void queries_of_a_host(void **state)
{
	struct cot_knowledge *k =
		parse(HEAD "class: latency\nspread_milli: 1200\ninputs:\n  - size: 0\n"
			   "    time_ns: [880, 1010, 510]\n    tasks: [0, 0]\nkernels:\n"
			   "  - name: \"a\"\n    time_ns: [200, 100, 75]\n");
	const struct cot_plan *p = cot_knowledge_plan(k, 0);

	(void)state;
	numbers(p->query_ns, 1140, 900, 840);
	numbers(p->task_ns, 475, 375, 350);
	cot_knowledge_destroy(k);
}

/* How many SMs a kernel needs, by its name: of two the one that needs more. */
static void needs(void **state)
{
	struct cot_knowledge *k =
		parse(HEAD "class: latency\ninputs:\n  - size: 0\n    time_ns: [9, 8, 7]\n"
			   "kernels:\n  - name: \"a\"\n    time_ns: [100, 99, 98]\n"
			   "  - name: \"a\"\n    time_ns: [400, 200, 190]\n"
			   "  - name: \"b\"\n    time_ns: [400, 200, 100]\n");

	(void)state;
	assert_int_equal(cot_knowledge_need(k, "a", 8, 100), 16);
	assert_int_equal(cot_knowledge_need(k, "b", 8, 100), 32);
	assert_int_equal(cot_knowledge_need(k, "c", 8, 100), 0);
	cot_knowledge_destroy(k);
}

/* With few inputs the next larger one stands for a size. */
static void sizes_between_few_inputs(void **state)
{
	struct cot_knowledge *k = parse(TWO);

	(void)state;
	assert_ptr_equal(cot_knowledge_plan(k, 3), cot_knowledge_plan(k, 4));
	assert_ptr_equal(cot_knowledge_plan(k, 1), cot_knowledge_plan(k, 2));
	assert_null(cot_knowledge_plan(k, 5));
	assert_null(cot_knowledge_plan(k, UINT64_MAX));
	assert_null(cot_knowledge_plan(k, 0));
	assert_int_equal(cot_knowledge_out_ns(k, 3), 7);
	assert_int_equal(cot_knowledge_out_ns(k, 2), 0);
	assert_int_equal(cot_knowledge_out_ns(k, 5), 0);
	cot_knowledge_destroy(k);
}

/* Whatever its size is said to be later. */
static void a_program_that_does_not_say_sizes(void **state)
{
	struct cot_knowledge *k = parse(HEAD "class: latency\ninputs:\n  - size: 0\n    time_ns: "
					     "[9, 8, 7]\n");
	const struct cot_plan *p = cot_knowledge_plan(k, 0);

	(void)state;
	numbers(p->query_ns, 9, 8, 7);
	assert_int_equal(p->n_tasks, 1);
	numbers(p->task_ns, 9, 8, 7);
	assert_ptr_equal(cot_knowledge_plan(k, 602112), p);
	cot_knowledge_destroy(k);
}

static void batch_programs(void **state)
{
	struct cot_knowledge *k = parse(BATCH);

	(void)state;
	assert_int_equal(k->cls, COT_CLASS_BATCH);
	assert_int_equal(k->predictions[1].sms, 16);
	assert_int_equal(k->predictions[2].duration_ns, 500);
	assert_int_equal(k->predictions[2].bytes_per_s, 21);
	assert_int_equal(k->predictions[0].ipc_milli, 1000);
	assert_int_equal(k->cost.power_w, 430);
	assert_int_equal(k->cost.cpu_w, 90);
	assert_int_equal(k->cost.cpu_ns, 2500);
	assert_null(cot_knowledge_plan(k, 0));
	cot_knowledge_destroy(k);
}

/* Times that grow with the size and fall with the SMs. */
static struct cot_knowledge *grown(uint32_t n_inputs)
{
	struct cot_knowledge *k = cot_knowledge_create();
	struct cot_known_input *in;
	uint32_t i, x;

	assert_non_null(k);
	k->cls = COT_CLASS_LATENCY;
	(void)snprintf(k->program, sizeof(k->program), "grown \"so\" \\");
	(void)snprintf(k->gpu, sizeof(k->gpu), "none");
	k->n_quotas = 10;
	for (x = 0; x < 10; x++)
		k->sms[x] = 8 * (x + 1);
	for (i = n_inputs; i > 0; i--) {
		assert_int_equal(cot_knowledge_add_input(k, 10 * i, &in), 0);
		for (x = 0; x < 10; x++)
			in->time_ns[x] = 1000000 + (80000000 + 2000000ULL * i) / (x + 1);
	}
	assert_int_equal(cot_knowledge_complete(k), 0);
	return k;
}

static void sizes_between_many_inputs(void **state)
{
	struct cot_knowledge *k = grown(COT_KNOWN_TREE_INPUTS);
	const struct cot_plan *p;

	(void)state;
	numbers(cot_knowledge_plan(k, 30)->query_ns, 87000000, 44000000, 29666666);
	/* In the middle between two inputs the smaller one counts, as in the tree. */
	p = cot_knowledge_plan(k, 35);
	assert_ptr_equal(p, cot_knowledge_plan(k, 34));
	assert_ptr_not_equal(p, cot_knowledge_plan(k, 36));
	assert_ptr_not_equal(p, cot_knowledge_plan(k, 30));
	assert_ptr_equal(cot_knowledge_plan(k, 36), cot_knowledge_plan(k, 39));
	assert_in_range(p->query_ns[0], 83000000, 91000000);
	assert_null(cot_knowledge_plan(k, 10 * COT_KNOWN_TREE_INPUTS + 1));
	cot_knowledge_destroy(k);
	k = grown(COT_KNOWN_TREE_INPUTS - 1);
	assert_ptr_equal(cot_knowledge_plan(k, 35), cot_knowledge_plan(k, 40));
	cot_knowledge_destroy(k);
}

static char *written(const struct cot_knowledge *k)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	cot_knowledge_write(k, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void same_inputs(const struct cot_knowledge *a, const struct cot_knowledge *b)
{
	uint32_t i;

	assert_int_equal(a->n_inputs, b->n_inputs);
	for (i = 0; i < a->n_inputs; i++) {
		assert_int_equal(a->inputs[i]->size, b->inputs[i]->size);
		assert_int_equal(a->inputs[i]->requests, b->inputs[i]->requests);
		assert_int_equal(a->inputs[i]->out_ns, b->inputs[i]->out_ns);
		assert_int_equal(a->inputs[i]->n_launches, b->inputs[i]->n_launches);
		assert_int_equal(a->inputs[i]->n_tasks, b->inputs[i]->n_tasks);
		assert_memory_equal(a->inputs[i]->time_ns, b->inputs[i]->time_ns,
				    sizeof(a->inputs[i]->time_ns));
	}
}

static void what_is_written_is_read(void **state)
{
	static const char *const texts[] = {TWO, BATCH};
	struct cot_knowledge *k, *again;
	char *one, *two;
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		k = i < 2 ? parse(texts[i]) : grown(9);
		one = written(k);
		again = parse(one);
		two = written(again);
		assert_string_equal(one, two);
		same_inputs(k, again);
		assert_string_equal(again->program, k->program);
		assert_int_equal(again->spread_milli, k->spread_milli);
		assert_memory_equal(again->predictions, k->predictions, sizeof(k->predictions));
		if (i == 1)
			assert_string_equal(one, "schema: cotenant.knowledge/1\n"
						 "program: \"./serve\"\nclass: batch\n"
						 "gpu: \"a GPU\"\nsms: [8, 16, 32]\n"
						 "spread_milli: 1000\nrepeats:\n"
						 "  time_ns: [900, 500, 520]\n"
						 "  bytes_per_s: [10, 20, 21]\n"
						 "  ipc_milli: [1000, 2000, 2100]\n"
						 "  power_w: 430\n  cpu_w: 90\n"
						 "  cpu_time_ns: 2500\n");
		free(one);
		free(two);
		cot_knowledge_destroy(k);
		cot_knowledge_destroy(again);
	}
}

/* An input on neither side is harder to predict than one of which other quotas are known. */
static void errors_of_predictors(void **state)
{
	struct cot_knowledge *k = grown(100);
	struct cot_knowledge_errors e;

	(void)state;
	assert_int_equal(cot_knowledge_judge(k, 1, &e), 0);
	assert_int_equal(e.random[COT_PREDICTOR_TREE].n, 200);
	assert_int_equal(e.by_input[COT_PREDICTOR_TREE].n, 200);
	assert_true(e.random[COT_PREDICTOR_TREE].mean < 0.05);
	assert_true(e.by_input[COT_PREDICTOR_TREE].mean < 0.05);
	assert_true(e.random[COT_PREDICTOR_LINEAR].mean > 0.2);
	cot_knowledge_destroy(k);
	k = parse(HEAD "class: latency\ninputs:\n  - size: 0\n    time_ns: [9, 8, 7]\n");
	assert_int_equal(cot_knowledge_judge(k, 1, &e), -EINVAL);
	cot_knowledge_destroy(k);
}

static void mistakes(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{HEAD "class: latency\n", "'inputs'"},
		{HEAD "class: batch\n", "'repeats'"},
		{HEAD "class: batch\nrepeats: {time_ns: [1, 2]}\n", "2 numbers; expected 3"},
		{HEAD "class: batch\nrepeats: {time_ns: [1, 2, 0]}\n", "whole number from 1"},
		{HEAD "class: batch\nrepeats: {time_ns: [1, 2, 3], power_w: 100001}\n",
		 "power_w is '100001'; expected a whole number from 0 to 100000"},
		{HEAD "class: batch\nrepeats: {time_ns: [1, 2, 3], cpu_time_ns: -1}\n",
		 "cpu_time_ns is '-1'"},
		{BATCH "inputs:\n  - {size: 1, time_ns: [1, 2, 3]}\n", "expected 'repeats' only"},
		{HEAD "class: latency\ninputs:\n  - {size: 1, time_ns: [1, 2, 3]}\n"
		      "  - {size: 1, time_ns: [1, 2, 3]}\n",
		 "two inputs have this size"},
		{HEAD "class: latency\ninputs:\n  - {size: 1, time_ns: [1, 2, 3], tasks: [0]}\n",
		 "task 1 is kernel 0"},
		{TWO "  - {name: c, time_ns: [1, 2, 3], ipc_milli: [1]}\n", "ipc_milli has 1"},
		{"schema: cotenant.knowledge/1\nprogram: x\ngpu: y\nsms: [8, 8]\nclass: batch\n"
		 "repeats: {time_ns: [1, 2]}\n",
		 "8 SMs after 8"},
		{"schema: cotenant.knowledge/2\n", "cotenant.knowledge/1"},
		{"", "k.yaml"},
	};
	struct cot_knowledge *k = NULL;
	struct cot_error err;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		err.text[0] = '\0';
		assert_int_equal(cot_knowledge_parse("k.yaml", cases[i].text, strlen(cases[i].text),
						     &k, &err),
				 -EINVAL);
		if (!strstr(err.text, cases[i].sentence) || !strstr(err.text, "k.yaml"))
			fail_msg("\"%s\", expected \"%s\"", err.text, cases[i].sentence);
		assert_null(k);
	}
	assert_int_equal(cot_knowledge_read("/does/not/exist", &k, &err), -ENOENT);
}

static void bounds(void **state)
{
	struct cot_knowledge *k = cot_knowledge_create();
	static uint16_t tasks[COT_KNOWN_TASKS_MAX];
	struct cot_known_input *in;
	struct cot_known_kernel *kernel;
	uint32_t i;

	(void)state;
	for (i = 0; i < COT_KNOWN_INPUTS_MAX; i++)
		assert_int_equal(cot_knowledge_add_input(k, i, &in), 0);
	assert_int_equal(cot_knowledge_add_input(k, i, &in), -ENOSPC);
	assert_int_equal(cot_knowledge_add_input(k, 5, &in), -EEXIST);
	for (i = 0; i < COT_KNOWN_KERNELS_MAX; i++)
		assert_int_equal(cot_knowledge_add_kernel(k, "k", &kernel), 0);
	assert_int_equal(cot_knowledge_add_kernel(k, "k", &kernel), -ENOSPC);
	for (i = 0; i < COT_KNOWN_ALL_TASKS / COT_KNOWN_TASKS_MAX; i++)
		assert_int_equal(
			cot_knowledge_set_tasks(k, k->inputs[i], tasks, COT_KNOWN_TASKS_MAX), 0);
	assert_int_equal(cot_knowledge_set_tasks(k, k->inputs[i], tasks, 1), -ENOSPC);
	cot_knowledge_destroy(k);
	cot_knowledge_destroy(NULL);
}

/* 8, 16 and 32 SMs were measured; a sixteenth of 32 are 2. */
static void sizes_between(void **state)
{
	struct cot_knowledge *k = parse(BATCH);
	uint32_t i;

	(void)state;
	assert_int_equal(cot_knowledge_refine(k), 0);
	assert_int_equal(k->n_quotas, 13);
	for (i = 0; i < 13; i++)
		assert_int_equal(k->predictions[i].sms, 8 + 2 * i);
	/* 1/12 is two thirds of the way from 1/8 to 1/16; 12 is half of that from 8 to 16. */
	assert_int_equal(k->predictions[0].duration_ns, 900);
	assert_int_equal(k->predictions[2].duration_ns, 633);
	assert_int_equal(k->predictions[2].bytes_per_s, 15);
	assert_int_equal(k->predictions[2].ipc_milli, 1500);
	assert_int_equal(k->predictions[4].duration_ns, 500);
	assert_int_equal(k->predictions[8].duration_ns, 500); /* more SMs never take longer */
	assert_int_equal(k->predictions[2].kernel_ns, 0);
	cot_knowledge_destroy(k);
}

static void plans_between(void **state)
{
	struct cot_knowledge *k = parse(TWO);
	const struct cot_plan *p;
	uint32_t n = k->n_all_tasks;

	(void)state;
	assert_int_equal(cot_knowledge_refine(k), 0);
	assert_int_equal(k->n_all_tasks, n);
	p = cot_knowledge_plan(k, 2);
	assert_int_equal(p->n_quotas, 13);
	assert_int_equal(p->n_tasks, 4);
	assert_int_equal(p->sms[2], 12);
	assert_int_equal(p->query_ns[2], 1.5 * 533);
	assert_int_equal(p->task_ns[13 + 2], 533 / 4);
	p = cot_knowledge_plan(k, 4);
	assert_int_equal(p->task_ns[2], 233 + (633 - 572) / 3);
	assert_int_equal(p->task_bytes_per_s[4], 5);
	assert_int_equal(p->task_bytes_per_s[13 + 12], 3);
	cot_knowledge_destroy(k);
}

/* No more than there is room for, and all that were measured. */
static void no_room_between(void **state)
{
	char text[2048] = "schema: cotenant.knowledge/1\nprogram: \"p\"\ngpu: \"g\"\nclass: batch\n"
			  "spread_milli: 1000\nsms: [";
	size_t n = strlen(text);
	struct cot_knowledge *k;
	uint32_t i;

	(void)state;
	for (i = 0; i < 31; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u, ", i + 1);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "132]\nrepeats:\n  time_ns: [");
	for (i = 0; i < 32; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u%s", 1000 - i,
				      i < 31 ? ", " : "]\n");
	k = parse(text);
	assert_int_equal(cot_knowledge_refine(k), 0);
	assert_int_equal(k->n_quotas, 32);
	assert_int_equal(k->sms[31], 132);
	assert_int_equal(k->predictions[31].duration_ns, 969);
	cot_knowledge_destroy(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_between),
		cmocka_unit_test(plans_between),
		cmocka_unit_test(no_room_between),
		cmocka_unit_test(plans_of_inputs),
		cmocka_unit_test(queries_that_move),
		cmocka_unit_test(needs),
		cmocka_unit_test(queries_that_move_with_kernels),
		cmocka_unit_test(queries_of_a_host),
		cmocka_unit_test(sizes_between_few_inputs),
		cmocka_unit_test(a_program_that_does_not_say_sizes),
		cmocka_unit_test(batch_programs),
		cmocka_unit_test(sizes_between_many_inputs),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(errors_of_predictors),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
