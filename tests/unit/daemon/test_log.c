/* Lines of the daemon's log: their forms, what is left out, and what is said of failures and
 * changes. */
#include <errno.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/audit.h"
#include "daemon/log.h"
#include "daemon/news.h"
#include "daemon_stage.h"

static const struct cot_dlog_where here = {3, "batch"};

/* "2026-01-01T00:00:00.000Z " is left out. */
static const char *plain(void)
{
	const char *line = stage_log();

	if (!*line)
		return line;
	assert_true(strlen(line) > 25);
	assert_int_equal(line[4], '-');
	assert_int_equal(line[10], 'T');
	assert_int_equal(line[19], '.');
	assert_int_equal(line[23], 'Z');
	return line + 25;
}

static void expect(const char *level, const char *rest)
{
	char line[1200];

	snprintf(line, sizeof(line), "%s cotenantd[%d]%s\n", level, (int)getpid(), rest);
	assert_string_equal(plain(), line);
}

static void test_plain(void **state)
{
	(void)state;
	log_error("%s %d", "a", 1);
	expect("ERROR", ": a 1");
	log_warn("b");
	expect("WARN", ": b");
	log_info("c");
	expect("INFO", ": c");
	log_debug("d");
	expect("DEBUG", ": d");
	cot_daemon_log(COT_DLOG_INFO, &here, "e");
	expect("INFO", " gpu=3 pool=batch: e");
}

static void test_levels(void **state)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	enum cot_dlog_level level, said;
	unsigned i;

	(void)state;
	assert_false(cot_daemon_log_level("loud", &level));
	for (i = 0; i < COT_ARRAY_LEN(names); i++) {
		assert_true(cot_daemon_log_level(names[i], &level));
		assert_int_equal(level, i);
		cot_daemon_log_init(level, false);
		for (said = COT_DLOG_ERROR; said <= COT_DLOG_DEBUG; said++) {
			cot_daemon_log(said, NULL, "x");
			assert_int_equal(*plain() != '\0', said <= level);
		}
	}
}

/* Names come from outside: they make no second line, and no control of a terminal. */
static void test_cleaning(void **state)
{
	char longest[3000];

	(void)state;
	log_info("a\nb\tc\x1f"
		 "d\x7f"
		 "e ~");
	expect("INFO", ": a?b?c?d?e ~");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	log_info("%s", longest);
	assert_true(strlen(plain()) < 1100);
}

static void test_json(void **state)
{
	json_t *o;

	(void)state;
	cot_daemon_log_init(COT_DLOG_DEBUG, true);
	cot_daemon_log(COT_DLOG_WARN, &here, "a \"b\" \\c");
	o = json_loads(stage_log(), 0, NULL);
	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "level")), "warn");
	assert_string_equal(json_string_value(json_object_get(o, "message")), "a \"b\" \\c");
	assert_int_equal(json_integer_value(json_object_get(o, "gpu")), 3);
	assert_string_equal(json_string_value(json_object_get(o, "pool")), "batch");
	assert_int_equal(json_integer_value(json_object_get(o, "pid")), getpid());
	assert_int_equal(strlen(json_string_value(json_object_get(o, "time"))), 24);
	json_decref(o);
	log_info("plain");
	o = json_loads(stage_log(), 0, NULL);
	assert_non_null(o);
	assert_null(json_object_get(o, "gpu"));
	json_decref(o);
}

/* Under the journal, which knows the time: the priority in its form. */
static void test_journal(void **state)
{
	char stream[64];
	struct stat st;

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%lu:%lu", (unsigned long)st.st_dev,
		 (unsigned long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	cot_daemon_log_init(COT_DLOG_DEBUG, false);
	cot_daemon_log_journal("/no/such/socket");
	log_error("a");
	assert_string_equal(stage_log(), "<3>a\n");
	log_warn("b");
	assert_string_equal(stage_log(), "<4>b\n");
	log_info("c");
	assert_string_equal(stage_log(), "<6>c\n");
	log_debug("d");
	assert_string_equal(stage_log(), "<7>d\n");
	cot_daemon_log(COT_DLOG_INFO, &here, "e");
	assert_string_equal(stage_log(), "<6>gpu=3 pool=batch: e\n");
	setenv("JOURNAL_STREAM", "1:1", 1); /* somebody else's */
	cot_daemon_log_init(COT_DLOG_DEBUG, false);
	log_info("f");
	expect("INFO", ": f");
	unsetenv("JOURNAL_STREAM");
}

/* ---- what the host tells ---- */

static void tell(enum cot_host_news_kind kind, uint32_t entity, enum cot_action_kind action,
		 int status)
{
	const struct cot_host_news news = {.kind = kind,
					   .entity = entity,
					   .action = action,
					   .status = status,
					   .for_ns = 17200 * MS,
					   .n = 21};

	cot_news_tell(&stage.roster, &news);
}

static void test_freezes_that_fail(void **state)
{
	(void)state;
	(void)stage_tenant(3, "train", NULL);
	(void)stage_pool(9, "batch", 1);
	tell(COT_HOST_STUCK, 3, COT_ACTION_FREEZE, -ETIMEDOUT);
	expect("WARN",
	       ": 'train' (id 3) could not be frozen: its library did not answer in time; it "
	       "is thawed");
	tell(COT_HOST_STUCK, 9, COT_ACTION_THAW, -EPERM);
	expect("WARN", ": pool:batch:1 could not be thawed: Operation not permitted; it may hang, "
		       "and the daemon repeats the order");
	tell(COT_HOST_STUCK, 77, COT_ACTION_FREEZE, -EPIPE);
	expect("WARN", ": id 77 could not be frozen: the order could not be sent to its "
		       "library; it is thawed");
	tell(COT_HOST_FREED, 3, COT_ACTION_FREEZE, 0);
	expect("WARN", ": 'train' (id 3) could be frozen again, after 17.2 s and 21 failures");
	tell(COT_HOST_FREED, 3, COT_ACTION_THAW, 0);
	expect("WARN", ": 'train' (id 3) could be thawed again, after 17.2 s and 21 failures");
}

static void test_policies_that_fail(void **state)
{
	unsigned i;

	(void)state;
	(void)stage_library(0, stage_tenant(1, "a", NULL), NULL);
	for (i = 0; i < 5000 && !w.n_news; i++) { /* as a policy that sends without end */
		world_hold(1, i % 2 == 0);
		world_answer_all(w.n_sent - 1);
	}
	tell(COT_HOST_FELL_BACK, 0, COT_ACTION_THAW, 0);
	expect("ERROR", ": the policy 'pools' failed (storm: it gave too many orders); 'timeslice' "
			"took over");
	tell(COT_HOST_RECOVERED, 0, COT_ACTION_THAW, 0);
	expect("WARN", ": the policy 'pools' is used again");
}

static void test_faults_have_reasons(void **state)
{
	unsigned i, j;

	(void)state;
	for (i = COT_FAULT_NONE; i < COT_N_FAULTS; i++)
		for (j = COT_FAULT_NONE; j < i; j++)
			assert_string_not_equal(cot_news_fault((enum cot_fault)i),
						cot_news_fault((enum cot_fault)j));
}

/* ---- who changed what ---- */

static void test_changes(void **state)
{
	const struct cot_audit_look from = {.cls = COT_CLASS_LATENCY, .weight = 100, .quota = 50};
	const struct cot_audit_look to = {.pace_us = 900,
					  .target = {COT_TARGET_RATE, 800},
					  .cls = COT_CLASS_BATCH,
					  .weight = 70,
					  .block_us = 40,
					  .reserve = COT_SHARE_SMS | 66,
					  .sms = COT_SHARE_SMS | 64,
					  .slice_us = 300,
					  .mode = COT_MODE_DRAIN};
	char text[256];

	(void)state;
	cot_audit_changes(&from, &to, COT_SET_WEIGHT, text, sizeof(text));
	assert_string_equal(text, "weight 100 -> 70");
	cot_audit_changes(&from, &to, ~0u, text, sizeof(text));
	assert_string_equal(
		text,
		"class latency -> batch, weight 100 -> 70, slice auto -> 300 us, "
		"mode auto -> drain, block unknown -> 40 us, quota 50% -> none, "
		"reserve none -> 66sm, sms none -> 64sm, target none -> rate 80%, pace none -> 900 us");
	cot_audit_changes(&to, &(struct cot_audit_look){.mode = COT_MODE_SWITCH}, COT_SET_MODE,
			  text, sizeof(text));
	assert_string_equal(text, "mode drain -> switch");
	cot_audit_changes(&from, &to, 0, text, sizeof(text));
	assert_string_equal(text, "");
	/* As much as fits. */
	cot_audit_changes(&from, &to, ~0u, text, 20);
	assert_string_equal(text, "class latency -> ba");
}

static void test_looks(void **state)
{
	struct tenant *t = stage_tenant(1, "a", NULL);
	struct cot_audit_look look;

	(void)state;
	(void)stage_library(0, t, NULL);
	t->cls = COT_CLASS_LATENCY;
	t->weight = 5;
	t->block_us = 6;
	t->quota = 7;
	t->reserve = 8;
	cot_host_override_slice(w.host, 1, 900, w.now_ns);
	cot_host_override_mode(w.host, 1, COT_MODE_DRAIN, w.now_ns);
	cot_audit_look(stage.basis.host, t, 1, &look);
	assert_int_equal(look.cls, COT_CLASS_LATENCY);
	assert_int_equal(look.weight, 5);
	assert_int_equal(look.block_us, 6);
	assert_int_equal(look.quota, 7);
	assert_int_equal(look.reserve, 8);
	assert_int_equal(look.slice_us, 900);
	assert_int_equal(look.mode, COT_MODE_DRAIN);
	cot_audit_look(stage.basis.host, NULL, 1, &look);
	assert_int_equal(look.weight, 0);
	assert_int_equal(look.slice_us, 900);
}

static const char *name_in(const char *file, uid_t uid)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s", file);
	return cot_audit_name_in(text, uid);
}

static void test_names_of_users(void **state)
{
	static const char file[] = "root:x:0:0:root:/root:/bin/sh\n"
				   "broken\n"
				   "short:x\n"
				   "odd:x:12a:1:::\n"
				   "empty:x::1:::\n"
				   "ada:x:1001:1001:Ada:/home/ada:/bin/sh\n"
				   "last:x:12:";

	(void)state;
	assert_string_equal(name_in(file, 0), "root");
	assert_string_equal(name_in(file, 1001), "ada");
	assert_string_equal(name_in(file, 12), "last");
	assert_null(name_in(file, 100));
	assert_null(name_in(file, 10010));
	assert_null(name_in("", 0));
}

static void test_who(void **state)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user, *first;
	char line[256];

	(void)state;
	cot_audit_say(0, 77, "set '%s': %s", "a", "weight 1 -> 2");
	expect("INFO", ": set 'a': weight 1 -> 2, by root (uid 0, process 77)");
	/* Everybody in the file has a name, the last one too. */
	while (file && (user = fgetpwent(file)) != NULL) {
		first = getpwuid(user->pw_uid);
		if (!first)
			continue;
		snprintf(line, sizeof(line), ": x, by %s (uid %u, process 5)", first->pw_name,
			 (unsigned)first->pw_uid);
		cot_audit_say(first->pw_uid, 5, "x");
		expect("INFO", line);
	}
	if (file)
		(void)fclose(file);
	cot_audit_say(3999999999u, 78, "freeze 'a'");
	expect("INFO", ": freeze 'a', by uid 3999999999 (process 78)");
}

/* Programs that come by the thousand do not fill the disk; debugging shows all. */
static void test_traffic(void **state)
{
	unsigned i, n = 0, n_debug = 0;

	(void)state;
	cot_daemon_log_init(COT_DLOG_INFO, false);
	for (i = 0; i < 500; i++) {
		cot_daemon_log_traffic("program %u", i);
		n += *plain() != '\0';
	}
	assert_int_equal(n, 60);
	log_info("another matter");
	expect("INFO", ": another matter");
	cot_daemon_log_init(COT_DLOG_DEBUG, false);
	for (i = 0; i < 5; i++) {
		cot_daemon_log_traffic("program %u", i);
		n_debug += strstr(plain(), "DEBUG") != NULL;
	}
	assert_int_equal(n_debug, 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, stage_setup, stage_teardown)
	const struct CMUnitTest tests[] = {
		TEST(plain),
		TEST(levels),
		TEST(cleaning),
		TEST(json),
		TEST(journal),
		TEST(traffic),
		TEST(freezes_that_fail),
		TEST(policies_that_fail),
		TEST(faults_have_reasons),
		TEST(changes),
		TEST(looks),
		TEST(names_of_users),
		TEST(who),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
