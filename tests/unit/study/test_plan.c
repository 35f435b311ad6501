/* Plans: what a workload says, what knowledge becomes, and that mixes that cannot fit are not
 * played. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "study/plan/pack.h"
#include "test.h"

#define HEAD "schema: cotenant.jobs/1\ngpu: h200\njobs:\n"
#define WORK "program: [{kernel: {name: k, blocks: 264, block_us: 500, blocks_per_sm: 1}}, sync]"

static struct cot_workload *parse(const char *text)
{
	struct cot_workload *w = NULL;
	struct cot_error err = {""};

	if (cot_workload_parse("jobs.yaml", text, strlen(text), &w, &err))
		fail_msg("%s", err.text);
	return w;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static const struct cot_study_options options = {.n_threads = 2, .stop = never};

static void a_workload(void **state)
{
	struct cot_workload *w =
		parse(HEAD "  - {name: a, count: 3, memory: 2GiB, watts: 300, " WORK
			   "}\n  - {name: b, class: latency, p99: 5ms, " WORK "}\n");

	(void)state;
	assert_int_equal(w->n_jobs, 2);
	assert_int_equal(w->n_programs, 4);
	assert_int_equal(w->memory_bytes, 143771ull << 20);
	assert_int_equal(w->jobs[0].memory_bytes, 2ull << 30);
	assert_int_equal(w->jobs[0].app.program.kernels[0].n_blocks, 264);
	assert_int_equal(w->jobs[1].app.target.amount, 5000);
	assert_int_equal(w->jobs[1].app.cls, COT_CLASS_LATENCY);
	assert_int_equal(w->base.gpu.n_sms, 132);
	assert_string_equal(w->base.policy, "slo");
	cot_workload_destroy(w);
}

static void program_of(const char *knowledge, const char *job, struct cot_workload **ret)
{
	struct cot_knowledge *k;
	struct cot_error err = {""};

	*ret = parse(job);
	if (cot_knowledge_parse("k", knowledge, strlen(knowledge), &k, &err) ||
	    cot_plan_program_of(&(*ret)->jobs[0], &(*ret)->base.gpu, k, &err))
		fail_msg("%s", err.text);
	cot_knowledge_destroy(k);
}

/* SMs make it faster: many blocks, all of them as long as was measured. */
static void knowledge_of_a_batch_program(void **state)
{
	struct cot_workload *w;
	const struct cot_program *p;

	(void)state;
	program_of(
		"schema: cotenant.knowledge/1\nprogram: t\nclass: batch\ngpu: g\nsms: [66, 132]\n"
		"repeats:\n  time_ns: [2000000, 1000000]\n  power_w: 400\n",
		HEAD "  - {name: t, knowledge: k}\n", &w);
	p = &w->jobs[0].app.program;
	assert_int_equal(p->n_steps, 2);
	assert_int_equal(p->steps[0].launches, 1);
	assert_int_equal(p->kernels[0].n_blocks, 8 * 132);
	assert_int_equal(p->kernels[0].block_ps * 8, 1000000000);
	assert_true(w->jobs[0].watts > 399 && w->jobs[0].watts < 401);
	cot_workload_destroy(w);
}

/* Half of the SMs are enough. */
static void knowledge_of_a_service(void **state)
{
	struct cot_workload *w;
	const struct cot_program *p;

	(void)state;
	program_of("schema: cotenant.knowledge/1\nprogram: s\nclass: latency\ngpu: g\n"
		   "sms: [66, 132]\nspread_milli: 1500\ninputs:\n  - size: 0\n"
		   "    time_ns: [1040000, 1000000]\n    launches: 4\n",
		   HEAD "  - {name: s, class: latency, knowledge: k, arrivals: {per_s: 9}}\n", &w);
	p = &w->jobs[0].app.program;
	assert_int_equal(p->steps[0].launches, 4);
	assert_int_equal(p->kernels[0].n_blocks, 66);
	assert_int_equal(p->kernels[0].block_ps, 250000000);
	assert_true(w->jobs[0].app.arrivals.size_cv > 0.17 &&
		    w->jobs[0].app.arrivals.size_cv < 0.18);
	cot_workload_destroy(w);
}

static void mixes_that_cannot_fit(void **state)
{
	struct cot_workload *w = parse(HEAD "  - {name: a, memory: 80GB, " WORK "}\n"
					    "  - {name: b, rate: 60%, " WORK "}\n");
	struct cot_fleet *f = cot_plan_study.create();
	struct cot_pack k = {.plan = f, .options = &options};
	struct cot_plan_mix m = {{2, 0}};

	(void)state;
	assert_non_null(f);
	f->workload = w;
	assert_true(cot_pack_is_hopeless(&k, &m));
	m = (struct cot_plan_mix){{1, 1}};
	assert_false(cot_pack_is_hopeless(&k, &m));
	f->per_gpu = 1;
	assert_true(cot_pack_is_hopeless(&k, &m));
	f->per_gpu = 32;
	f->alone[1].load = 0.6;
	m = (struct cot_plan_mix){{0, 2}};
	assert_true(cot_pack_is_hopeless(&k, &m));
	cot_pack_finish(&k);
	cot_plan_study.destroy(f);
	cot_workload_destroy(w);
}

/* Two that want more than half of the GPU each, and one GPU. */
static void a_plan(void **state)
{
	struct cot_workload *w = parse(HEAD "  - {name: t, count: 2, rate: 60%, " WORK "}\n");
	struct cot_fleet *f = cot_plan_study.create();
	struct cot_error err = {""};

	(void)state;
	assert_non_null(f);
	f->workload = w;
	f->seconds = 1;
	f->max_gpus = 1;
	assert_int_equal(cot_plan_run(f, &options, &err), 0);
	assert_int_equal(f->n_gpus, 1);
	assert_int_equal(f->n_placed, 1);
	assert_int_equal(f->missing[0], 1);
	assert_int_equal(f->reasons[0], COT_PLAN_GPUS);
	assert_true(f->outcomes[0].kept);
	assert_int_equal(f->outcomes[0].n_programs, 1);
	assert_true(f->outcomes[0].programs[0].part > 0.99);
	cot_plan_study.destroy(f);
	cot_workload_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_workload),
		cmocka_unit_test(knowledge_of_a_batch_program),
		cmocka_unit_test(knowledge_of_a_service),
		cmocka_unit_test(mixes_that_cannot_fit),
		cmocka_unit_test(a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
