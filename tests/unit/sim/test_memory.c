/*
 * The simulator without memory: the n-th allocation fails, for every n until the operation passes.
 * Each time it says so, and nothing stays allocated. The linker puts these four before those of
 * libc (tests/CMakeLists.txt).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/host.h"
#include "sim/qos.h"
#include "support/sim_build.h"
#include "test.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static long n_live;
static unsigned long n_asked, fails_at; /* 0: none fails */

static bool fails(void)
{
	return ++n_asked == fails_at;
}

static void *counted(void *p)
{
	n_live += p != NULL;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (fails())
		return NULL;
	return p ? __real_realloc(p, size) : counted(__real_malloc(size));
}

void __wrap_free(void *p)
{
	n_live -= p != NULL;
	__real_free(p);
}

/* 0, or -ENOMEM; whatever it got is given back when it returns. */
typedef int operation_fn(struct sim_build *b);

static void for_every_failure(struct sim_build *b, operation_fn *operation, unsigned long least)
{
	unsigned long n;
	int rc;

	for (n = 1;; n++) {
		long before = n_live;

		n_asked = 0;
		fails_at = n;
		rc = operation(b);
		fails_at = 0;
		assert_int_equal(n_live, before);
		if (n_asked < n)
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
	assert_true(n > least);
}

/* ---- operations ---- */

static int run_sim(struct sim_build *b)
{
	struct cot_error err = {""};
	struct cot_sim *sim = NULL;
	enum cot_sim_status status;
	int rc = cot_sim_create(&b->sc, NULL, NULL, NULL, &sim, &err);

	if (rc) {
		assert_null(sim);
		return rc;
	}
	status = cot_sim_run(sim, UINT64_MAX);
	cot_sim_destroy(sim);
	assert_true(status == COT_SIM_DONE || status == COT_SIM_NO_MEMORY);
	return status == COT_SIM_DONE ? 0 : -ENOMEM;
}

static int run_host(struct sim_build *b)
{
	struct cot_error err = {""};
	struct cot_sim_host *h = NULL;
	enum cot_sim_status status;
	int rc = cot_sim_host_create(&b->sc, NULL, NULL, NULL, &h, &err);

	if (rc) {
		assert_null(h);
		assert_string_equal(err.text, "out of memory");
		return rc;
	}
	status = cot_sim_host_run(h, UINT64_MAX);
	cot_sim_host_destroy(h);
	assert_true(status == COT_SIM_DONE || status == COT_SIM_NO_MEMORY);
	return status == COT_SIM_DONE ? 0 : -ENOMEM;
}

static int run_alone(struct sim_build *b)
{
	double us = -1;
	int rc = cot_sim_isolated_us(&b->sc, 0, NULL, NULL, &us);

	assert_true(rc ? us == -1 : us == 20);
	return rc;
}

static int run_alone_for_ipc(struct sim_build *b)
{
	double ipc = -1;
	int rc = cot_qos_isolated_ipc(&b->sc, 0, &ipc);

	assert_true(rc ? ipc == -1 : ipc > 0);
	return rc;
}

/* ---- tests ---- */

static void count(struct sim_build *b, uint32_t app)
{
	b->sc.gpu.dram_bytes_per_s = 10000000000ull;
	b->sc.gpu.issue_width = 2;
	b->sc.gpu.sm_bytes_per_cycle = 32;
	b->sc.gpu.dram_efficiency = 0.8;
	b->sc.gpu.blocks_per_sm = 8;
	b->sc.epoch_cycles = 10000;
	b->kernels[app][0].work = (struct cot_kernel_work){1000, 4, 4, 0, 0, 40, 1, 0, 0};
}

static void plain_and_jittered(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "ppq", 2); /* b preempts: a's queue of saved blocks grows */
	(void)build_one(&b, "a", 0, 60, 10, 6, 1);
	build_one(&b, "b", 5, 4, 1, 1, 0)->priority = 1;
	b.sc.block_jitter_cv = 0.3;
	for_every_failure(&b, run_sim, 12);
}

static void counted_with_lanes(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "rollover", 2);
	(void)build_one(&b, "a", 0, 20, 1, 2, 0);
	(void)build_one(&b, "b", 0, 20, 1, 2, 0);
	count(&b, 0);
	for_every_failure(&b, run_sim, 15);
	for_every_failure(&b, run_alone_for_ipc, 10);
}

static void hosted(void **state)
{
	struct sim_build b;
	uint32_t i;

	(void)state;
	build_init(&b, "timeslice", 2);
	(void)build_one(&b, "a", 0, 20, 10, 1, 1);
	build_one(&b, "b", 30, 2, 10, 1, 0)->cls = COT_CLASS_LATENCY;
	for (i = 0; i < 2; i++)
		b.sc.apps[i].weight = 100;
	strcpy(b.sc.policy, "smguard");
	b.sc.apps[0].rewrite = true;
	b.sc.apps[1].reserve.sms = 1;
	b.sc.workers.overhead = 0.1;
	for_every_failure(&b, run_host, 20);
}

static void alone(void **state)
{
	struct sim_build b;
	double us;

	(void)state;
	build_init(&b, "fcfs", 2);
	(void)build_app(&b, "a");
	(void)build_kernel(&b, 4, 10, 1, 0);
	build_sync(&b);
	for_every_failure(&b, run_alone, 5);
	/* What never ends is another mistake. */
	count(&b, 0);
	b.kernels[0][0].work.cpi = 1e30;
	build_stop_runs(&b, 1);
	assert_int_equal(cot_sim_isolated_us(&b.sc, 0, NULL, NULL, &us), -EDEADLK);
	assert_int_equal(cot_qos_isolated_ipc(&b.sc, 0, &us), -EDEADLK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_and_jittered),
		cmocka_unit_test(counted_with_lanes),
		cmocka_unit_test(hosted),
		cmocka_unit_test(alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
