/* The event log as text: what is written can be read, and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "sched/event_log.h"
#include "test.h"

static void assert_round_trip(const char *line)
{
	struct cot_action a;
	struct cot_event ev;
	enum cot_event_log_kind kind;
	struct cot_error err = {""};
	char again[COT_EVENT_LOG_LINE_MAX];

	if (cot_event_log_parse(line, &kind, &ev, &a, &err))
		fail_msg("'%s': %s", line, err.text);
	if (kind == COT_EVENT_LOG_EVENT)
		cot_event_log_print_event(again, sizeof(again), &ev);
	else
		cot_event_log_print_action(again, sizeof(again), &a);
	assert_string_equal(line, again);
}

/* One of each. */
static const char *const examples[] = {
	"18446744073709551615 tick 0",
	"5 tenant 3 class=latency weight=10000 gpus=0xffffffffffffffff pool=7 ready=0 "
	"block_us=4294967295 target=p99 amount=900 quota=100% reserve=1024sm sms=96sm@500 "
	"key=0xffffffffffffffff",
	"6 left 3",
	"7 pool 9 class=batch gpus=0x2 ready=1",
	"7 pool-left 9",
	"8 activity 3 is=active",
	"9 done 3 seq=4 status=-110",
	"10 found 3 frozen=1",
	"11 hold 3 on=1",
	"12 > slice 3 seq=5 us=100",
	"12 > mode 3 seq=6 mode=switch",
	"12 > freeze 3 seq=7",
	"12 > thaw 3 seq=8",
	"13 work 7 tenant=3 gpu=63 sms=132 method=quota settle=0 grow=1 tasks=1 per_sm=8 want=9 "
	"reserve=4 task_ns=5",
	"14 evicted 7 capsms=12",
	"15 work-done 7 left=5",
	"16 > grant 7 seq=9 capsms=66 settled=1",
	"17 > evict 7 seq=10 capsms=65",
	"18 parts 3 sms=132 unit=8 part=64+68@500",
	"18 parts 3 sms=132 unit=8*15 part=120+12",
	"18 parts 3 sms=132 unit=8/cpu part=0+0",
	"19 placed 3 seq=11 status=-16 part=0+0",
	"20 > place 3 seq=11 part=4294967295+4294967295@4294967295",
	"21 window 3 horizon=60s source=bursts responses=18446744073709551615 missed=4 p50_ns=5 "
	"p95_ns=6 p99_ns=7 services=8 service_missed=9 service_p50_ns=10 service_p95_ns=11 "
	"service_p99_ns=12",
	"22 progress 3 launches=4096 span_ns=1000000000",
	"22 progress 3 launches=0 span_ns=1 waits=0 waited_ns=18446744073709551615",
	"23 prediction 3 row=4294967295 of=2 sms=64 duration_ns=18446744073709551615 "
	"bytes_per_s=2100000000000 ipc_milli=4294967295",
	"23 prediction 3 row=0 of=1 sms=64 duration_ns=7 bytes_per_s=0 ipc_milli=0 power_w=0 "
	"cpu_w=4294967295 cpu_ns=18446744073709551615",
	"24 lesson 0 key=0x1f kind=4294967295 values=1,2,3,4,5,4294967295",
	"25 query 4294967295 tenant=3 size=18446744073709551615 arrived_ns=5 "
	"began_ns=18446744073709551615 in_ns=7 out_ns=18446744073709551615 plan=0xffffffffffffffff",
	"26 tasks 9 done=4294967295 at_ns=18446744073709551615",
	"27 query-end 9",
	"28 > place 3 seq=11 part=4294967295+4294967295@4294967295/hold",
	"28 > place 3 seq=11 part=64+8@5/hold/leave",
	"28 > place 3 seq=11 part=64+8/leave",
	"28 > place 3 seq=11 part=0+0@5/hold/cpu/leave",
	"28 placed 3 seq=11 status=0 part=0+0/cpu",
	"28 placed 3 seq=11 status=0 part=0+64/hold",
};

#define N_EXAMPLES (sizeof(examples) / sizeof(examples[0]))

static int parse(const char *line)
{
	struct cot_action a;
	struct cot_event ev;
	enum cot_event_log_kind kind;

	return cot_event_log_parse(line, &kind, &ev, &a, NULL);
}

/* Without any one of its words, or with another letter in a word that is no number, it is no line.
 */
static void test_every_word_counts(void **state)
{
	char line[COT_EVENT_LOG_LINE_MAX];
	unsigned i;

	(void)state;
	for (i = 0; i < N_EXAMPLES; i++) {
		size_t n = strlen(examples[i]), at, end;

		assert_int_equal(parse(examples[i]), 0);
		for (at = 0; at < n; at = end + 1) {
			end = at + strcspn(examples[i] + at, " ");
			(void)snprintf(line, sizeof(line), "%.*s%s", (int)at, examples[i],
				       examples[i] + (end < n ? end + 1 : end));
			if (!parse(line))
				fail_msg("'%s' was taken", line);
			(void)snprintf(line, sizeof(line), "%s", examples[i]);
			line[at] = '~';
			if (!parse(line))
				fail_msg("'%s' was taken", line);
			if (!memchr(examples[i] + at, '=', end - at))
				continue;
			/* Without its key, too. */
			(void)snprintf(line, sizeof(line), "%.*s%s", (int)at, examples[i],
				       strchr(examples[i] + at, '=') + 1);
			if (!parse(line))
				fail_msg("'%s' was taken", line);
		}
		(void)snprintf(line, sizeof(line), "%s x", examples[i]);
		assert_int_equal(parse(line), -EINVAL);
		(void)snprintf(line, sizeof(line), "  %s  ", examples[i]);
		assert_int_equal(parse(line), 0);
	}
}

static void test_shares(void **state)
{
	static const struct {
		const char *text;
		int status;
	} rows[] = {{"0", 0},	      {"1%", 0},      {"100%", 0},	{"101%", -EINVAL},
		    {"0%", -EINVAL},  {"1sm", 0},     {"1024sm", 0},	{"1025sm", -EINVAL},
		    {"0sm", -EINVAL}, {"5", -EINVAL}, {"5%%", -EINVAL}, {"5smx", -EINVAL},
		    {"5s", -EINVAL},  {"x", -EINVAL}, {"", -EINVAL},	{"-1%", -EINVAL}};
	char line[COT_EVENT_LOG_LINE_MAX];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "5 tenant 3 class=batch weight=1 gpus=1 pool=0 ready=1 block_us=0 "
			       "target=none amount=0 quota=%s reserve=0 sms=0 key=0x0",
			       rows[i].text);
		if (parse(line) != rows[i].status)
			fail_msg("'%s'", line);
	}
}

/* What is not in the line is 0, so that lines can be compared as bytes. */
static void test_nothing_but_what_is_there(void **state)
{
	enum cot_event_log_kind kind;
	struct cot_event ev, want_ev;
	struct cot_action a, want_a;

	(void)state;
	memset(&want_ev, 0, sizeof(want_ev));
	want_ev.now_ns = 5;
	want_ev.type = COT_EV_TENANT_LEFT;
	want_ev.id = 3;
	assert_int_equal(cot_event_log_parse("5 left 3", &kind, &ev, &a, NULL), 0);
	assert_int_equal(kind, COT_EVENT_LOG_EVENT);
	assert_memory_equal(&ev, &want_ev, sizeof(ev));
	memset(&want_a, 0, sizeof(want_a));
	want_a.now_ns = 5;
	want_a.kind = COT_ACTION_THAW;
	want_a.entity = 3;
	want_a.seq = 4;
	assert_int_equal(cot_event_log_parse("5 > thaw 3 seq=4", &kind, &ev, &a, NULL), 0);
	assert_int_equal(kind, COT_EVENT_LOG_ACTION);
	assert_memory_equal(&a, &want_a, sizeof(a));
}

static void test_column_of_a_mistake(void **state)
{
	struct cot_action a;
	struct cot_event ev;
	enum cot_event_log_kind kind;
	struct cot_error err = {""};

	(void)state;
	assert_int_equal(cot_event_log_parse("5 done 3 sep=4 status=0", &kind, &ev, &a, &err),
			 -EINVAL);
	assert_string_equal(err.text, "column 10: expected a line of an event log here");
}

static void test_round_trips(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < N_EXAMPLES; i++)
		assert_round_trip(examples[i]);
	assert_round_trip("0 tick 0");
	assert_round_trip("18446744073709551615 tick 0");
	assert_round_trip("5 tenant 3 class=batch weight=100 gpus=0x1 pool=0 ready=1 block_us=0 "
			  "target=none amount=0 quota=0 reserve=0 sms=0 key=0x0");
	assert_round_trip("5 tenant 3 class=latency weight=10000 gpus=0xffffffffffffffff pool=7 "
			  "ready=0 block_us=4294967295 target=p99 amount=900 quota=100% "
			  "reserve=1024sm sms=96sm@4294967295 key=0x1f");
	assert_round_trip("6 left 3");
	assert_round_trip("7 pool 9 class=latency gpus=0x2 ready=1");
	assert_round_trip("7 pool-left 9");
	assert_round_trip("8 activity 3 is=idle");
	assert_round_trip("9 done 3 seq=4 status=0");
	assert_round_trip("9 done 3 seq=4 status=-110");
	assert_round_trip("10 found 3 frozen=1");
	assert_round_trip("11 hold 3 on=1");
	assert_round_trip("12 > slice 3 seq=5 us=100");
	assert_round_trip("12 > mode 3 seq=6 mode=switch");
	assert_round_trip("12 > freeze 3 seq=7");
	assert_round_trip("12 > thaw 3 seq=8");
	assert_round_trip("13 work 7 tenant=3 gpu=63 sms=132 method=reserve settle=0 grow=1 "
			  "tasks=4294967295 per_sm=8 want=9 reserve=40 task_ns=4294967295");
	assert_round_trip("14 evicted 7 capsms=12");
	assert_round_trip("15 work-done 7 left=5");
	assert_round_trip("16 > grant 7 seq=9 capsms=66 settled=1");
	assert_round_trip("17 > evict 7 seq=10 capsms=65");
}

static void test_nothing(void **state)
{
	static const char *const lines[] = {"", "   ", "# a remark", "  # another one"};
	struct cot_action a;
	struct cot_event ev;
	enum cot_event_log_kind kind;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(cot_event_log_parse(lines[i], &kind, &ev, &a, NULL), 0);
		assert_int_equal(kind, COT_EVENT_LOG_NOTHING);
	}
}

static void test_wrong_lines(void **state)
{
	static const char *const lines[] = {
		"tick",
		"x tick 0",
		"-1 tick 0",
		"1 tick",
		"1 tock 0",
		"1 tick 0 more",
		"1 tick 4294967296",
		"18446744073709551616 tick 0",
		"1 tickx 0",
		"1 activity 3 is=asleep",
		"1 activity 3",
		"1 tenant 3 class=batch",
		"1 tenant 3 class=batch weight=1 gpus=1 pool=0 ready=2 block_us=0 target=none amount=0 "
		"quota=0 reserve=0 sms=0 key=0x0",
		"1 tenant 3 class=batch weight=1 gpus=1 pool=0 ready=1 block_us=0 target=none amount=0 "
		"quota=101% reserve=0 sms=0 key=0x0",
		"1 tenant 3 class=batch weight=1 gpus=1 pool=0 ready=1 block_us=0 target=none amount=0 "
		"quota=5 reserve=0 sms=0 key=0x0",
		"1 work 3 tenant=1",
		"1 > grant 3 seq=4 capsms=5",
		"1 done 3 seq=4 status=5",
		"1 done 3 seq=4 status=-",
		"1 done 3 seq=4 status=--5",
		"1 > melt 3 seq=4",
		"1 > mode 3 seq=4 mode=driver",
		"1 > slice 3 seq=4",
		"1 >slice 3 seq=4 us=5",
		"1 > thaw 3 seq=4 us=5",
		"1 > place 3 seq=4 part=64",
		"1 > place 3 seq=4 part=+64",
		"1 > place 3 seq=4 part=64+",
		"1 > place 3 seq=4 part=64+8+8",
		"1 > place 3 seq=4 part=64+8@",
		"1 > place 3 seq=4 part=64+8/",
		"1 > place 3 seq=4 part=64+8/held",
		"1 > place 3 seq=4 part=64+8/leave/hold",
		"1 > place 3 seq=4 part=64+8/cpu/hold",
		"1 > place 3 seq=4 part=64+8/cpus",
		"1 parts 3 sms=132 unit=8/cpus part=64+68",
		"1 placed 3 seq=4 status=0 part=0+64/leave",
		"1 > place 3 seq=4 part=64+8/hold@5",
		"1 > slice 3 seq=4 us=5+5",
		"1 parts 3 sms=132 unit=8 part=64 68",
		"1 placed 3 seq=4 part=0+0",
		"1 progress 3 launches=18446744073709551616 span_ns=5",
		"1 window 3 horizon=2s source=bursts responses=0 missed=0 p50_ns=0 p95_ns=0 "
		"p99_ns=0 services=0 service_missed=0 service_p50_ns=0 service_p95_ns=0 "
		"service_p99_ns=0",
	};
	struct cot_action a;
	struct cot_event ev;
	enum cot_event_log_kind kind;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct cot_error err = {""};

		if (cot_event_log_parse(lines[i], &kind, &ev, &a, &err) != -EINVAL)
			fail_msg("'%s' was taken", lines[i]);
		assert_true(strlen(err.text) > 10);
	}
}

/* Whatever is taken can be printed, and means the same then. */
static void test_random_lines(void **state)
{
	static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyz=->+#x _";
	static const char *const seeds[] = {
		"5 tenant 3 class=batch weight=1 gpus=0x1 pool=0 ready=1 block_us=0 target=none amount=0 "
		"quota=50% reserve=7sm sms=0 key=0x0",
		"5 work 7 tenant=3 gpu=0 sms=132 method=quota settle=1 grow=0 tasks=4096 per_sm=8 "
		"want=0 reserve=0 task_ns=50",
		"9 done 3 seq=4 status=-110",
		"12 > slice 3 seq=5 us=100",
		"13 parts 3 sms=132 unit=8 part=64+68",
		"14 window 3 horizon=1s source=marked responses=1 missed=0 p50_ns=5 p95_ns=5 "
		"p99_ns=5 services=1 service_missed=0 service_p50_ns=5 service_p95_ns=5 "
		"service_p99_ns=5",
		"15 progress 3 launches=4096 span_ns=1000000000",
		"15 progress 3 launches=4096 span_ns=1000000000 waits=9 waited_ns=77",
		"16 prediction 3 row=0 of=2 sms=64 duration_ns=364000 bytes_per_s=0 ipc_milli=0",
		"17 query 9 tenant=3 size=64 arrived_ns=5 began_ns=6 in_ns=7 out_ns=8 plan=0x2b",
		"18 tasks 9 done=4 at_ns=17",
		"19 placed 3 seq=11 status=0 part=0+64@500/hold",
	};
	const char *env = getenv("COT_TEST_SEED");
	struct cot_rng rng = {env ? strtoull(env, NULL, 0) : 1};
	unsigned i, n_taken = 0;

	(void)state;
	print_message("COT_TEST_SEED=%llu\n", (unsigned long long)rng.state);
	for (i = 0; i < 200000; i++) {
		char line[COT_EVENT_LOG_LINE_MAX], again[COT_EVENT_LOG_LINE_MAX];
		enum cot_event_log_kind kind, kind2;
		struct cot_event ev, ev2;
		struct cot_action a, a2;
		size_t n;

		n = strlen(
			strcpy(line, seeds[cot_rng_below(&rng, sizeof(seeds) / sizeof(seeds[0]))]));
		line[cot_rng_below(&rng, n)] = alphabet[cot_rng_below(&rng, sizeof(alphabet) - 1)];
		if (cot_rng_below(&rng, 4) == 0)
			line[cot_rng_below(&rng, n)] = '\0';
		if (cot_event_log_parse(line, &kind, &ev, &a, NULL) ||
		    kind == COT_EVENT_LOG_NOTHING)
			continue;
		n_taken++;
		if (kind == COT_EVENT_LOG_EVENT)
			cot_event_log_print_event(again, sizeof(again), &ev);
		else
			cot_event_log_print_action(again, sizeof(again), &a);
		assert_int_equal(cot_event_log_parse(again, &kind2, &ev2, &a2, NULL), 0);
		assert_int_equal(kind, kind2);
		if (kind == COT_EVENT_LOG_EVENT)
			assert_memory_equal(&ev, &ev2, sizeof(ev));
		else
			assert_memory_equal(&a, &a2, sizeof(a));
	}
	assert_true(n_taken > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_word_counts),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_nothing_but_what_is_there),
		cmocka_unit_test(test_column_of_a_mistake),
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_wrong_lines),
		cmocka_unit_test(test_random_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
