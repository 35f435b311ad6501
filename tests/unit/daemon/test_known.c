/* What is known of programs: files that the configuration names, and what the policy core hears. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "daemon/known.h"
#include "test.h"

#define SERVICE                                                                \
	"schema: cotenant.knowledge/1\nprogram: \"./serve\"\nclass: latency\n" \
	"gpu: \"NVIDIA H200\"\nsms: [8, 132]\ninputs:\n"                       \
	"  - {size: 4, time_ns: [4000000, 500000], launches: 3, out_ns: 70}\n"
#define BATCH                                                                \
	"schema: cotenant.knowledge/1\nprogram: \"./train\"\nclass: batch\n" \
	"gpu: \"NVIDIA H200\"\nsms: [8, 64, 132]\n"                          \
	"repeats: {time_ns: [9000, 3000, 2000]}\n"

static char folder[64];
static struct cot_config config;
static struct known known;
static struct cot_error err;

static void entry(const char *name, const char *file, const char *text)
{
	struct cot_config_known *k = &config.known[config.n_known++];
	FILE *f;

	(void)snprintf(k->name, sizeof(k->name), "%s", name);
	(void)snprintf(k->file, sizeof(k->file), "%s/%s", folder, file);
	f = text ? fopen(k->file, "w") : NULL;
	if (f) {
		(void)fputs(text, f);
		(void)fclose(f);
	}
}

static int begin(void **state)
{
	(void)state;
	config.n_known = 0;
	known.n = 0;
	(void)snprintf(folder, sizeof(folder), "%s/cotknownXXXXXX", P_tmpdir);
	return mkdtemp(folder) ? 0 : 1;
}

static int end(void **state)
{
	uint32_t i;

	(void)state;
	cot_known_clear(&known);
	for (i = 0; i < config.n_known; i++)
		(void)unlink(config.known[i].file);
	return rmdir(folder);
}

/* By name and class; the same name may have a file for each. */
static void test_find(void **state)
{
	struct cot_host_plan plan;

	(void)state;
	entry("api", "a", SERVICE);
	entry("api", "b", BATCH);
	assert_int_equal(cot_known_read(&config, &known, &err), 0);
	assert_string_equal(cot_known_find(&known, "api", COT_CLASS_LATENCY)->program, "./serve");
	assert_string_equal(cot_known_find(&known, "api", COT_CLASS_BATCH)->program, "./train");
	assert_null(cot_known_find(&known, "serve", COT_CLASS_LATENCY));
	plan = cot_known_plan(cot_known_find(&known, "api", COT_CLASS_LATENCY), 4);
	assert_int_equal(plan.plan->n_tasks, 3);
	assert_int_equal(plan.out_ns, 70);
	assert_true(plan.key != 0);
	plan = cot_known_plan(cot_known_find(&known, "api", COT_CLASS_LATENCY), 5);
	assert_null(plan.plan);
	assert_int_equal(plan.key, 0);
	plan = cot_known_plan(NULL, 4);
	assert_null(plan.plan);
}

/* All or none: what was known before stays. */
static void test_one_is_wrong(void **state)
{
	(void)state;
	entry("api", "a", SERVICE);
	assert_int_equal(cot_known_read(&config, &known, &err), 0);
	entry("train", "b", "schema: cotenant.knowledge/1\n");
	assert_true(cot_known_read(&config, &known, &err) < 0);
	assert_non_null(strstr(err.text, "/b:"));
	assert_int_equal(known.n, 1);
	config.n_known--;
	entry("train", "c", NULL);
	assert_int_equal(cot_known_read(&config, &known, &err), -ENOENT);
	assert_non_null(cot_known_find(&known, "api", COT_CLASS_LATENCY));
	config.n_known--;
	entry("train", "b", BATCH); /* so that it is removed */
}

static int send(void *arg, unsigned member, const void *packet, size_t size)
{
	(void)arg;
	(void)member;
	(void)packet;
	(void)size;
	return 0;
}

static uint64_t lease(void *arg, unsigned member, uint64_t until_ns)
{
	(void)arg;
	(void)member;
	(void)until_ns;
	return 0;
}

static void test_predictions(void **state)
{
	static const struct cot_host_ops ops = {.works = &cot_host_works_ops,
						.parts = &cot_host_parts_ops,
						.send = send,
						.lease = lease};
	const struct cot_event tenant = {
		.type = COT_EV_TENANT,
		.id = 3,
		.tenant = {.cls = COT_CLASS_BATCH, .weight = 100, .gpu_mask = 1}};
	struct cot_policy_config numbers;
	const struct cot_tenant *t;
	struct cot_host *h;

	(void)state;
	entry("train", "a", BATCH);
	assert_int_equal(cot_known_read(&config, &known, &err), 0);
	cot_policy_config_init(&numbers);
	assert_int_equal(
		cot_host_create(&ops, NULL, cot_policy_find("parts"), &numbers, 0, &h, &err), 0);
	assert_int_equal(cot_host_event(h, &tenant), 0);
	t = cot_sched_tenant(cot_host_sched(h), 3);
	cot_known_tell(cot_known_find(&known, "train", COT_CLASS_BATCH), h, 3, 1);
	/* Those of the file, and one each 9 SMs between. */
	assert_int_equal(t->n_predictions, 16);
	assert_int_equal(t->predictions[1].sms, 17);
	assert_int_equal(t->predictions[7].sms, 64);
	assert_int_equal(t->predictions[7].duration_ns, 3000);
	/* It is known no longer. */
	cot_known_tell(NULL, h, 3, 2);
	assert_int_equal(t->n_predictions, 0);
	cot_host_destroy(h);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(find), TEST(one_is_wrong), TEST(predictions)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
