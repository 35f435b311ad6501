/* What one daemon writes and the next one reads: pools and programs of every kind, nothing more. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/choose.h"
#include "daemon/processes.h"
#include "daemon/state.h"
#include "daemon_life.h"

static struct tenant *program(uint32_t id, pid_t pid)
{
	struct tenant *t;

	assert_int_equal(cot_tenant_restore(&stage.roster,
					    &(struct tenant){.id = id, .uid = getuid()}, true, &t),
			 0);
	assert_int_equal(cot_tenant_watch(t, pid, cot_process_start_time(pid)), 0);
	t->weight = 100;
	t->gpu_mask = 1;
	cot_tenant_set_name(t, "some");
	return t;
}

static void test_pools(void **state)
{
	static const struct {
		enum cot_class cls;
		bool shared;
		unsigned gpu;
		const char *name;
	} kinds[] = {
		{COT_CLASS_LATENCY, false, 0, "latency"}, {COT_CLASS_BATCH, false, 0, "batch"},
		{COT_CLASS_BATCH, true, 0, "shared"},	  {COT_CLASS_LATENCY, false, 1, "latency"},
		{COT_CLASS_BATCH, false, 1, "batch"},
	};
	pid_t pids[COT_ARRAY_LEN(kinds)];
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(kinds); i++) {
		struct pool *p = cot_pool_take(&stage.roster, 10 + i, kinds[i].cls, kinds[i].shared,
					       kinds[i].gpu);

		pids[i] = life_process(NULL);
		cot_pool_adopt(p, pids[i], cot_process_start_time(pids[i]));
		assert_int_equal(p->state, POOL_STARTING);
	}
	cot_state_save(&stage.roster);
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
	for (i = 0; i < COT_ARRAY_LEN(kinds); i++) {
		struct pool *p = cot_roster_pool(&stage.roster, 10 + i);

		assert_non_null(p);
		assert_int_equal(p->cls, kinds[i].cls);
		assert_int_equal(p->shared, kinds[i].shared);
		assert_int_equal(p->gpu, kinds[i].gpu);
		assert_string_equal(p->name, kinds[i].name);
		assert_int_equal(p->control.pid, pids[i]);
		assert_int_equal(p->state, POOL_STARTING);
		assert_true(p->adopted);
	}
	assert_int_equal(cot_roster_new_id(&stage.roster), 15);
}

static void test_pool_without_process(void **state)
{
	pid_t pid = life_process(NULL);
	struct pool *p = cot_pool_take(&stage.roster, 3, COT_CLASS_LATENCY, false, 0);

	(void)state;
	cot_pool_adopt(p, pid, cot_process_start_time(pid) + 1); /* another with its number */
	assert_int_equal(p->state, POOL_DOWN);
	cot_pool_adopt(p, pid, cot_process_start_time(pid));
	cot_state_save(&stage.roster);
	life_end(pid);
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
	p = cot_roster_pool(&stage.roster, 3); /* its servers may be there still */
	assert_non_null(p);
	assert_int_equal(p->state, POOL_DOWN);
	assert_int_equal(p->control.pid, 0);
}

static void test_programs(void **state)
{
	pid_t control = life_process(NULL), pids[2] = {life_process(NULL), life_process(NULL)};
	struct pool *p = cot_pool_take(&stage.roster, 3, COT_CLASS_LATENCY, false, 0);
	struct tenant *t;

	(void)state;
	cot_pool_adopt(p, control, cot_process_start_time(control));
	t = program(20, pids[0]);
	t->cls = COT_CLASS_LATENCY;
	t->weight = COT_WEIGHT_MAX;
	t->block_us = COT_BLOCK_US_MAX;
	t->quota = 50;
	t->reserve = 66 | COT_SHARE_SMS;
	t->sms = 64 | COT_SHARE_SMS;
	t->pace_us = COT_PACE_US_MAX;
	t->parts = true;
	t->target = (struct cot_target){COT_TARGET_P99, COT_TARGET_P99_US_MAX};
	t->measured = true;
	t->command = UINT32_MAX;
	t->pool = p;
	cot_tenant_set_name(t, "sérve");
	t = program(21, pids[1]);
	t->cls = COT_CLASS_BATCH;
	t->weight = COT_WEIGHT_MIN;
	t->gpu_mask = 2;
	t->gpu_unknown = true;
	cot_tenant_set_name(t, "train");
	cot_state_save(&stage.roster);
	assert_false(stage.roster.state.dirty);
	assert_null(strstr(stage_log(), "cannot write"));
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 2);
	t = cot_roster_tenant(&stage.roster, 20);
	assert_non_null(t);
	assert_int_equal(t->cls, COT_CLASS_LATENCY);
	assert_int_equal(t->weight, COT_WEIGHT_MAX);
	assert_int_equal(t->block_us, COT_BLOCK_US_MAX);
	assert_int_equal(t->quota, 50);
	assert_int_equal(t->reserve, 66 | COT_SHARE_SMS);
	assert_int_equal(t->sms, 64 | COT_SHARE_SMS);
	assert_int_equal(t->pace_us, COT_PACE_US_MAX);
	assert_true(t->parts);
	assert_int_equal(t->target.kind, COT_TARGET_P99);
	assert_int_equal(t->target.amount, COT_TARGET_P99_US_MAX);
	assert_true(t->measured);
	assert_int_equal(cot_sched_tenant(cot_host_sched(stage.basis.host), 20)->target.amount,
			 COT_TARGET_P99_US_MAX);
	assert_int_equal(t->command, UINT32_MAX);
	assert_int_equal(t->gpu_mask, 1);
	assert_false(t->gpu_unknown);
	assert_int_equal(t->uid, getuid());
	assert_int_equal(t->watch.pid, pids[0]);
	assert_ptr_equal(t->pool, cot_roster_pool(&stage.roster, 3));
	assert_int_equal(t->pool->n_tenants, 1);
	assert_non_null(t->pool);
	assert_string_equal(t->name, "sérve");
	t = cot_roster_tenant(&stage.roster, 21);
	assert_non_null(t);
	assert_int_equal(t->cls, COT_CLASS_BATCH);
	assert_int_equal(t->weight, COT_WEIGHT_MIN);
	assert_int_equal(t->block_us, 0);
	assert_int_equal(t->quota, 0);
	assert_int_equal(t->reserve, 0);
	assert_int_equal(t->sms, 0);
	assert_int_equal(t->pace_us, 0);
	assert_false(t->parts || t->measured || t->target.kind || t->target.amount);
	assert_int_equal(t->command, 0);
	assert_int_equal(t->gpu_mask, 2);
	assert_true(t->gpu_unknown);
	assert_null(t->pool);
	assert_null(t->pool);
	assert_int_equal(cot_roster_new_id(&stage.roster), 22);
}

/* A policy may have chosen the pool; the next daemon asks nobody. */
static void test_in_the_other_pool(void **state)
{
	pid_t control = life_process(NULL), pid = life_process(NULL);
	struct pool *p = cot_pool_take(&stage.roster, 3, COT_CLASS_LATENCY, false, 0);
	struct tenant *t;

	(void)state;
	cot_pool_adopt(p, control, cot_process_start_time(control));
	t = program(20, pid);
	t->cls = COT_CLASS_BATCH;
	t->pool = p;
	cot_state_save(&stage.roster);
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
	t = cot_roster_tenant(&stage.roster, 20);
	assert_non_null(t);
	assert_int_equal(t->cls, COT_CLASS_BATCH);
	assert_ptr_equal(t->pool, cot_roster_pool(&stage.roster, 3));
	assert_int_equal(t->pool->cls, COT_CLASS_LATENCY);
	assert_int_equal(cot_sched_tenant(cot_host_sched(stage.basis.host), 20)->pool, 3);
}

static void test_one_that_left(void **state)
{
	struct tenant *t = program(20, life_process(NULL));

	(void)state;
	(void)program(21, life_process(NULL));
	cot_state_save(&stage.roster);
	assert_non_null(strstr(life_read("state.json"), "\"id\":20"));
	cot_tenant_end(t);
	assert_true(stage.roster.state.dirty);
	cot_state_save(&stage.roster);
	assert_false(stage.roster.state.dirty);
	assert_null(strstr(life_read("state.json"), "\"id\":20"));
	assert_non_null(strstr(life_read("state.json"), "\"id\":21"));
	cot_tenant_update(cot_roster_tenant(&stage.roster, 21));
	assert_true(stage.roster.state.dirty);
}

static bool is_saved(void)
{
	return !stage.roster.state.dirty;
}

/* A folder is in the way of the new file. */
static void test_retry(void **state)
{
	char way[COT_PATH_TEXT_MAX + 32], inside[COT_PATH_TEXT_MAX + 64];
	uint64_t now_ns = cot_now_ns();
	const char *log;

	(void)state;
	(void)program(20, life_process(NULL));
	cot_state_save(&stage.roster);
	snprintf(way, sizeof(way), "%s/state.json.new", stage.basis.runtime);
	snprintf(inside, sizeof(inside), "%s/x", way);
	assert_int_equal(mkdir(way, 0700) | mkdir(inside, 0700), 0);
	(void)program(21, life_process(NULL));
	(void)stage_log();
	cot_state_save(&stage.roster);
	assert_true(stage.roster.state.dirty);
	assert_non_null(strstr(stage_log(), "cannot write"));
	assert_true(stage.roster.state.retry.armed);
	assert_in_range(stage.roster.state.retry.due_ns, now_ns + COT_NS_PER_S,
			cot_now_ns() + COT_NS_PER_S);
	assert_non_null(strstr(life_read("state.json"), "\"id\":20"));
	cot_state_save(&stage.roster);
	assert_null(strstr(stage_log(), "cannot write"));
	assert_int_equal(rmdir(inside) | rmdir(way), 0);
	life_until(is_saved);
	log = stage_log();
	assert_non_null(strstr(log, "is written again"));
	assert_non_null(strstr(life_read("state.json"), "\"id\":21"));
	cot_state_save(&stage.roster);
	assert_null(strstr(stage_log(), "is written again"));
	/* Nothing to write: nothing is written. */
	life_remove("state.json");
	cot_timer_set(&stage.basis.loop, &stage.roster.state.retry, cot_now_ns());
	life_run(30);
	assert_string_equal(life_read("state.json"), "");
}

/* Changes in a row are written as one. */
static void test_changes_in_a_row(void **state)
{
	struct tenant *t = program(20, life_process(NULL));

	unsigned i;

	(void)state;
	for (i = 0; i < 8; i++) {
		t->weight = 100 + i;
		stage.roster.state.dirty = true;
		cot_state_keep(&stage.roster);
		assert_false(stage.roster.state.dirty);
	}
	assert_non_null(strstr(life_read("state.json"), "\"weight\":107,"));
	t->weight = 333;
	stage.roster.state.dirty = true;
	cot_state_keep(&stage.roster);
	assert_true(stage.roster.state.dirty);
	cot_state_keep(&stage.roster);
	assert_null(strstr(life_read("state.json"), "\"weight\":333,"));
	life_until(is_saved);
	assert_non_null(strstr(life_read("state.json"), "\"weight\":333,"));
}

/* What makes one entry wrong costs that entry. */
static void test_wrong_entries(void **state)
{
	static const struct {
		const char *from, *to;
	} wrong[] = {
		{"\"class\":1", "\"class\":2"},
		{"\"class\":1", "\"class\":-1"},
		{"\"weight\":100", "\"weight\":0"},
		{"\"weight\":100", "\"weight\":10001"},
		{"\"block_us\":0", "\"block_us\":-1"},
		{"\"block_us\":0", "\"block_us\":2000000000"},
		{"\"quota\":0", "\"quota\":-1"},
		{"\"quota\":0", "\"quota\":65536"},
		{"\"quota\":0", "\"quota\":101"},
		{"\"sms\":0", "\"sms\":-1"},
		{"\"sms\":0", "\"sms\":65536"},
		{"\"sms\":0", "\"sms\":101"},
		{"\"reserve\":0", "\"reserve\":-1"},
		{"\"reserve\":0", "\"reserve\":65536"},
		{"\"reserve\":0", "\"reserve\":101"},
		{"\"pace_us\":0", "\"pace_us\":-1"},
		{"\"pace_us\":0", "\"pace_us\":1000001"},
		{"\"target\":0", "\"target\":-1"},
		{"\"target\":0", "\"target\":4"},
		{"\"target\":0", "\"target\":3"},
		{"\"target\":0,\"amount\":0", "\"target\":1,\"amount\":5000"},
		{"\"target\":0,\"amount\":0", "\"target\":3,\"amount\":1001"},
		{"\"target\":0,\"amount\":0", "\"target\":3,\"amount\":4294967297"},
		{"\"target\":0,\"amount\":0", "\"target\":3,\"amount\":-1"},
		{"\"amount\":0", "\"amount\":4294967296"},
		{"\"gpus\":1", "\"gpus\":0"},
		{"\"uid\":", "\"uid\":-"},
		{"\"start\":", "\"start\":1"},
		{"\"name\":\"some\"", "\"name\":3"},
	};
	pid_t pid = life_process(NULL);
	char good[4096], text[8192], uid[32], *at;
	unsigned i;

	(void)state;
	(void)pid;
	program(20, pid)->cls = COT_CLASS_BATCH;
	cot_state_save(&stage.roster);
	snprintf(good, sizeof(good), "%s", life_read("state.json"));
	snprintf(uid, sizeof(uid), "\"uid\":%u", (unsigned)getuid());
	assert_non_null(strstr(good, uid));
	for (i = 0; i < COT_ARRAY_LEN(wrong); i++) {
		at = strstr(good, wrong[i].from);
		assert_non_null(at);
		if (!strcmp(wrong[i].from, "\"uid\":") && !getuid())
			snprintf(text, sizeof(text), "%.*s\"uid\":-1%s", (int)(at - good), good,
				 at + strlen(uid));
		else
			snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good,
				 wrong[i].to, at + strlen(wrong[i].from));
		life_write("state.json", text, 0600);
		life_next_daemon();
		assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
		if (cot_tenant_count(&stage.roster))
			fail_msg("%s is taken: %s", wrong[i].to, text);
	}
	life_write("state.json", good, 0600);
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
}

static void load_text(const char *text)
{
	life_write("state.json", text, 0600);
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
}

static void test_wrong_pools(void **state)
{
	static const char *const wrong[] = {
		"\"id\":0,\"class\":0,\"gpu\":0",
		"\"id\":-4,\"class\":0,\"gpu\":0",
		"\"id\":4,\"class\":-1,\"gpu\":0",
		"\"id\":4,\"class\":2,\"gpu\":0",
		"\"id\":4,\"class\":0,\"gpu\":-1",
		"\"id\":4,\"class\":0,\"gpu\":2",
		"\"id\":4,\"class\":0",
	};
	char text[512];
	unsigned i, n;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(wrong); i++) {
		snprintf(text, sizeof(text),
			 "{\"version\":1,\"pools\":[{%s,\"pid\":0,\"start\":0}]}", wrong[i]);
		load_text(text);
		for (n = 0; n < MAX_POOLS; n++)
			assert_int_equal(stage.roster.pools[n].id, 0);
	}
	load_text(
		"{\"version\":1,\"pools\":[{\"id\":4,\"class\":0,\"gpu\":1,\"pid\":0,\"start\":0},"
		"{\"id\":5,\"class\":0,\"gpu\":1,\"pid\":0,\"start\":0},"
		"{\"id\":4,\"class\":1,\"gpu\":0,\"pid\":0,\"start\":0}]}");
	assert_non_null(cot_roster_pool(&stage.roster, 4));
	assert_null(
		cot_roster_pool(&stage.roster, 5)); /* the place is taken, and so is the number */
	assert_false(cot_pool_is_there(&stage.roster, COT_CLASS_BATCH, false, 0));
}

/* A number is one program's, or a pool's. */
static void test_same_numbers(void **state)
{
	char entry[1024], text[4096];
	const char *at;

	(void)state;
	(void)program(20, life_process(NULL));
	cot_state_save(&stage.roster);
	at = strstr(life_read("state.json"), "{\"id\":20");
	assert_non_null(at);
	snprintf(entry, sizeof(entry), "%.*s", (int)strcspn(at, "}") + 1, at);
	snprintf(text, sizeof(text), "{\"version\":1,\"pools\":[],\"tenants\":[%s,%s]}", entry,
		 entry);
	load_text(text);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
	snprintf(
		text, sizeof(text),
		"{\"version\":1,\"pools\":[{\"id\":20,\"class\":0,\"gpu\":0,\"pid\":0,\"start\":0}],"
		"\"tenants\":[%s]}",
		entry);
	load_text(text);
	assert_int_equal(cot_tenant_count(&stage.roster), 0);
	assert_non_null(cot_roster_pool(&stage.roster, 20));
}

static void test_next_id(void **state)
{
	static const struct {
		const char *text;
		uint32_t id;
	} cases[] = {
		{"{\"version\":1,\"next_id\":50}", 50},
		{"{\"version\":1,\"next_id\":2147483647}", 2147483647},
		{"{\"version\":1,\"next_id\":2147483648}", 1},
		{"{\"version\":1,\"next_id\":-3}", 1},
		{"{\"version\":1,\"next_id\":0}", 1},
		{"{\"version\":1,\"next_id\":\"x\"}", 1},
		{"{\"version\":1}", 1},
		{"{\"version\":2,\"next_id\":50}", 1},
		{"{", 1},
		{"", 1},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		load_text(cases[i].text);
		assert_int_equal(cot_roster_new_id(&stage.roster), cases[i].id);
	}
}

/* What an administrator has chosen, and nothing else. */
static void test_policy(void **state)
{
	static const char *const wrong[] = {"\"no such\"", "7", "null", "\"\""};
	struct cot_error err;
	char text[128];
	unsigned i;

	(void)state;
	cot_policy_config_init(&stage.basis.config.numbers);
	assert_int_equal(cot_choose_by_user(&stage.roster, cot_policy_find("parts"), &err), 0);
	cot_state_save(&stage.roster);
	stage.basis.by_user = NULL;
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
	assert_string_equal(stage.basis.by_user->name, "parts");
	assert_string_equal(stage.basis.config.policy->name, "parts");
	assert_int_equal(cot_choose_by_user(&stage.roster, NULL, &err), 0);
	cot_state_save(&stage.roster);
	for (i = 0; i <= COT_ARRAY_LEN(wrong); i++) {
		life_next_daemon();
		assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
		assert_null(stage.basis.by_user);
		assert_string_equal(stage.basis.config.policy->name, "pools");
		if (i == COT_ARRAY_LEN(wrong))
			break;
		snprintf(text, sizeof(text), "{\"version\":1,\"policy\":%s}", wrong[i]);
		life_write("state.json", text, 0600);
	}
}

/* What only the environments say, and what has outlived its first process. */
static void test_environments(void **state)
{
	char pipe[COT_PATH_TEXT_MAX + 64];
	const char *pool_env[] = {"COTENANT_ROLE=pool", "COTENANT_POOL=batch", "COTENANT_TENANT=7",
				  "COTENANT_GPU=1", NULL};
	const char *env[] = {"COTENANT_CLASS=latency",
			     "COTENANT_TENANT=31",
			     "COTENANT_WEIGHT=7",
			     "COTENANT_BLOCK_US=8",
			     "COTENANT_QUOTA=40%",
			     "COTENANT_RESERVE=5sm",
			     "COTENANT_NAME=found",
			     "COTENANT_GPU=1",
			     pipe,
			     NULL};
	const char *heir_env[] = {"COTENANT_CLASS=batch", "COTENANT_TENANT=30", NULL};
	pid_t first = life_process(heir_env), heir = life_process(heir_env), other;
	struct tenant *t = program(30, first);

	(void)state;
	t->weight = 55;
	cot_state_save(&stage.roster);
	snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=%s/gpu1-batch/pipe",
		 stage.basis.runtime);
	(void)life_process(pool_env);
	other = life_process(env);
	life_end(first);
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 2);
	t = cot_roster_tenant(&stage.roster, 30);
	assert_non_null(t);
	assert_int_equal(t->weight, 55);
	assert_int_equal(t->watch.pid, heir);
	t = cot_roster_tenant(&stage.roster, 31);
	assert_non_null(t);
	assert_int_equal(t->watch.pid, other);
	assert_int_equal(t->cls, COT_CLASS_LATENCY);
	assert_int_equal(t->weight, 7);
	assert_int_equal(t->block_us, 8);
	assert_int_equal(t->quota, 40);
	assert_int_equal(t->reserve, 5 | COT_SHARE_SMS);
	assert_int_equal(t->gpu_mask, 2);
	assert_int_equal(t->uid, getuid());
	assert_string_equal(t->name, "found");
	assert_non_null(t->pool);
	assert_int_equal(t->pool->id, 7);
	assert_int_equal(t->pool->gpu, 1);
	assert_non_null(t->pool);
	assert_int_equal(t->pool->n_tenants, 1);
	assert_int_equal(cot_roster_new_id(&stage.roster), 32);
	life_end(heir);
	life_end(other);
	life_next_daemon();
	assert_int_equal(cot_state_load(&stage.roster, NULL), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pools, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_pool_without_process, life_setup,
						life_teardown),
		cmocka_unit_test_setup_teardown(test_programs, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_in_the_other_pool, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_one_that_left, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_retry, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_changes_in_a_row, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_wrong_entries, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_policy, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_wrong_pools, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_same_numbers, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_next_id, life_setup, life_teardown),
		cmocka_unit_test_setup_teardown(test_environments, life_setup, life_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
