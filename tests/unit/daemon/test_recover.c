/* What a daemon takes over of what processes say of themselves, and what it does not believe. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/processes.h"
#include "daemon/recover.h"
#include "mps_stage.h"

#define STRANGER 4711u

static struct cot_processes *all;

static int setup(void **state)
{
	all = calloc(1, sizeof(*all));
	assert_non_null(all);
	return life_setup(state);
}

static int teardown(void **state)
{
	free(all);
	return life_teardown(state);
}

#define FOUND(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* A process that lives, and what is in its environment. */
static struct cot_process *found(uint32_t id, const char *gpu)
{
	struct cot_process *one = &all->p[all->n++];
	pid_t pid = life_process(NULL);

	*one = (struct cot_process){.pid = pid,
				    .parent = 1,
				    .uid = getuid(),
				    .gid = getgid(),
				    .start_time = cot_process_start_time(pid),
				    .found = {.id = id, .cls = COT_CLASS_BATCH, .weight = 100}};
	snprintf(one->found.gpu, sizeof(one->found.gpu), "%s", gpu);
	snprintf(one->found.name, sizeof(one->found.name), "found");
	return one;
}

static struct cot_process *found_pool(uint32_t id, const char *gpu)
{
	struct cot_process *one = found(id, gpu);

	one->found.is_pool = true;
	return one;
}

/* ---- pools ---- */

static void test_pools(void **state)
{
	pid_t pids[3];

	(void)state;
	pids[0] = found_pool(3, "")->pid;
	found_pool(4, "1")->found.cls = COT_CLASS_LATENCY;
	pids[1] = all->p[1].pid;
	found_pool(5, "0")->found.shared = true;
	pids[2] = all->p[2].pid;
	(void)found(6, "0"); /* a program */
	cot_recover_pools(&stage.roster, all);
	assert_int_equal(cot_roster_pool(&stage.roster, 3)->control.pid, pids[0]);
	assert_string_equal(cot_roster_pool(&stage.roster, 3)->name, "batch");
	assert_int_equal(cot_roster_pool(&stage.roster, 3)->gpu, 0);
	assert_int_equal(cot_roster_pool(&stage.roster, 4)->control.pid, pids[1]);
	assert_string_equal(cot_roster_pool(&stage.roster, 4)->name, "latency");
	assert_int_equal(cot_roster_pool(&stage.roster, 4)->gpu, 1);
	assert_int_equal(cot_roster_pool(&stage.roster, 5)->control.pid, pids[2]);
	assert_string_equal(cot_roster_pool(&stage.roster, 5)->name, "shared");
	assert_null(cot_roster_pool(&stage.roster, 6));
	assert_int_equal(cot_roster_new_id(&stage.roster), 6);
}

static void test_no_pools(void **state)
{
	struct cot_process *one;

	(void)state;
	(void)found_pool(3, "0,1");
	(void)found_pool(4, "2");
	found_pool(5, "0")->uid = STRANGER;
	one = found_pool(6, "0");
	found_pool(6, "1")->parent = one->pid; /* what it has started */
	one->uid = STRANGER;
	cot_recover_pools(&stage.roster, all);
	assert_int_equal(stage.roster.pools[0].id, 0);
	assert_false(cot_pool_is_there(&stage.roster, COT_CLASS_BATCH, false, 0));
	assert_false(cot_pool_is_there(&stage.roster, COT_CLASS_BATCH, false, 1));
}

/* A server whose control program has ended: the pool keeps its number, and has no process. */
static void test_server(void **state)
{
	(void)state;
	found_pool(3, "0")->is_server = true;
	(void)found_pool(4, "0"); /* the place is taken, */
	(void)found_pool(3, "1"); /* and so is the number */
	cot_recover_pools(&stage.roster, all);
	p = cot_roster_pool(&stage.roster, 3);
	assert_non_null(p);
	assert_int_equal(p->gpu, 0);
	assert_int_equal(p->state, POOL_DOWN);
	assert_int_equal(p->control.pid, 0);
	assert_null(cot_roster_pool(&stage.roster, 4));
	assert_false(cot_pool_is_there(&stage.roster, COT_CLASS_BATCH, false, 1));
}

static void test_pool_with(void **state)
{
	char path[COT_PATH_TEXT_MAX];

	(void)state;
	(void)cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 0);
	p = cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 1);
	snprintf(path, sizeof(path), "%s", p->pipe);
	assert_null(cot_recover_pool_with(&stage.roster, path));
	p->state = POOL_UP;
	assert_ptr_equal(cot_recover_pool_with(&stage.roster, path), p);
	p->state = POOL_STARTING;
	assert_ptr_equal(cot_recover_pool_with(&stage.roster, path), p);
	path[strlen(path) - 1]++;
	assert_null(cot_recover_pool_with(&stage.roster, path));
	assert_null(cot_recover_pool_with(&stage.roster, "")); /* of those that are unused */
}

/* ---- programs ---- */

static void test_tenants(void **state)
{
	struct cot_process *one;
	const struct tenant *t;

	(void)state;
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 1);
	p->state = POOL_UP;
	one = found(20, "0,1");
	one->found.cls = COT_CLASS_LATENCY;
	one->found.weight = 7;
	one->found.block_us = 8;
	one->found.quota = 9;
	one->found.reserve = 10;
	one->found.target = (struct cot_target){COT_TARGET_SLOWDOWN, 1300};
	one->found.measured = true;
	one->found.pace_us = 11;
	strcpy(one->found.pipe, p->pipe);
	(void)found(21, "7");
	found(21, "0")->parent = all->p[1].pid;
	(void)found_pool(22, "0");
	assert_int_equal(cot_recover_tenants(&stage.roster, all), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 2);
	t = cot_roster_tenant(&stage.roster, 20);
	assert_int_equal(t->cls, COT_CLASS_LATENCY);
	assert_int_equal(t->weight, 7);
	assert_int_equal(t->block_us, 8);
	assert_int_equal(t->quota, 9);
	assert_int_equal(t->reserve, 10);
	assert_int_equal(t->target.kind, COT_TARGET_SLOWDOWN);
	assert_int_equal(t->target.amount, 1300);
	assert_true(t->measured);
	assert_int_equal(t->pace_us, 11);
	assert_int_equal(t->gpu_mask, 3);
	assert_int_equal(t->uid, getuid());
	assert_int_equal(t->watch.pid, one->pid);
	assert_ptr_equal(t->pool, p);
	assert_non_null(t->pool);
	assert_string_equal(t->name, "found");
	t = cot_roster_tenant(&stage.roster, 21);
	assert_int_equal(t->watch.pid, all->p[1].pid);
	assert_int_equal(t->gpu_mask, 1); /* one that is not there: the first */
	assert_null(t->pool);
	assert_null(t->pool);
	assert_non_null(cot_sched_tenant(cot_host_sched(stage.basis.host), 21));
	assert_non_null(strstr(stage_log(), ") in a pool\n"));
}

static void test_no_tenants(void **state)
{
	struct cot_account *account = &stage.basis.account;

	(void)state;
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 1);
	(void)found(p->id, "0");
	(void)stage_tenant(20, "other", NULL);
	(void)found(20, "0");
	found(21, "0")->start_time++; /* another one with its number */
	stage.basis.config.max_weight = 100;
	found(22, "0")->found.weight = 101;
	all->p[3].uid = STRANGER;
	stage.basis.config.latency.everybody = false;
	found(23, "0")->found.cls = COT_CLASS_LATENCY;
	all->p[4].uid = STRANGER;
	stage.basis.account.limits[COT_ACCOUNT_PROGRAMS] = (struct cot_account_limit){1, 1};
	found(24, "0")->uid = STRANGER; /* there is no place */
	assert_int_equal(cot_recover_tenants(&stage.roster, all), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
	assert_int_equal(cot_account_used(account, getuid(), COT_ACCOUNT_PROGRAMS), 0);
	assert_int_equal(cot_account_used(account, STRANGER, COT_ACCOUNT_PROGRAMS), 0);
	/* What its user may do is believed; and a group's member may. */
	stage.basis.account.limits[COT_ACCOUNT_PROGRAMS] = (struct cot_account_limit){100, 1};
	all->p[3].found.weight = 100;
	stage.basis.config.latency.n_gids = 1;
	stage.basis.config.latency.gids[0] = 77;
	all->p[4].gid = 77;
	assert_int_equal(cot_recover_tenants(&stage.roster, all), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 4);
	assert_int_equal(cot_roster_tenant(&stage.roster, 23)->uid, STRANGER);
	assert_null(cot_roster_tenant(&stage.roster, 21));
}

/* Anybody can write into an environment: it takes no more than its user's part. */
static void test_part(void **state)
{
	unsigned i;

	(void)state;
	stage.basis.account.limits[COT_ACCOUNT_PROGRAMS] = (struct cot_account_limit){4, 1};
	for (i = 0; i < 3; i++)
		found(20 + i, "0")->uid = STRANGER;
	assert_int_equal(cot_recover_tenants(&stage.roster, all), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
}

/* What cannot be seen now may be there: the daemon must not serve without it. */
static void test_cannot_see(void **state)
{
	(void)state;
	(void)found_pool(3, "0");
	allow_fds(0);
	assert_int_equal(cot_recover_pools(&stage.roster, all), -EMFILE);
	allow_fds(-1);
	assert_int_equal(cot_roster_pool(&stage.roster, 3)->control.pid, 0);
	(void)found(20, "0");
	(void)found(21, "0");
	allow_fds(0);
	assert_int_equal(cot_recover_tenants(&stage.roster, all), -EMFILE);
	allow_fds(-1);
	assert_int_equal(cot_tenant_count(&stage.roster), 0);
	assert_int_equal(cot_account_used(&stage.basis.account, getuid(), COT_ACCOUNT_PROGRAMS), 0);
	assert_int_equal(cot_recover_tenants(&stage.roster, all), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOUND(test_pools),	FOUND(test_no_pools), FOUND(test_server),
		FOUND(test_pool_with),	FOUND(test_tenants),  FOUND(test_no_tenants),
		FOUND(test_cannot_see), FOUND(test_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
