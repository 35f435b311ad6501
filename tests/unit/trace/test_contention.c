/* The reader of what bench_contention measured: values, and a sentence for every mistake. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "test.h"
#include "trace/contention.h"

#define MACHINE                                                                     \
	"{\"kind\":\"machine\",\"schema\":\"cotenant.contention/1\",\"gpu\":\"g\"," \
	"\"sms\":132}\n"
#define KERNEL                                                                            \
	"{\"kind\":\"kernel\",\"kernel\":\"a\",\"loads_ahead\":2,\"insts\":16,\"fma\":8," \
	"\"dfma\":0,\"whole\":0,\"special\":0,\"shared\":0,\"loads\":2,\"stores\":0,"     \
	"\"read_bytes\":1024,\"written_bytes\":0}\n"
#define PART(sms, late)                                                               \
	"{\"kernel\":\"a\",\"memory\":\"dram\",\"warps\":64,\"sms\":" #sms            \
	",\"chunks_per_s\":5.5,\"chunks_per_cycle\":1,\"mhz\":1980,\"n_late\":" #late \
	",\"n_starved\":3}"
#define STARVED                                                                            \
	"{\"kernel\":\"a\",\"memory\":\"dram\",\"warps\":32,\"sms\":8,\"chunks_per_s\":0," \
	"\"chunks_per_cycle\":0,\"mhz\":0,\"n_late\":0,\"n_starved\":256}"
#define BESIDE                                                                             \
	"{\"kernel\":\"a\",\"memory\":\"dram\",\"warps\":32,\"sms\":8,\"chunks_per_s\":7," \
	"\"chunks_per_cycle\":1,\"mhz\":1980,\"n_late\":0,\"n_starved\":0}"
#define SHARED(parts) "{\"kind\":\"rate\",\"shared\":true,\"mix\":[" parts "]}\n"
#define RATE(parts)   "{\"kind\":\"rate\",\"mix\":[" parts "]}\n"
#define POWER(rest)   "{\"kind\":\"power\",\"watts\":300,\"seconds\":1,\"sm_mhz\":1980," rest "}\n"

static int parse(const char *text, struct cot_contention *ret, struct cot_error *err)
{
	return cot_contention_parse("m.jsonl", text, strlen(text), ret, err);
}

static void test_all(void **state)
{
	static const char text[] = MACHINE KERNEL RATE(PART(132, 0)) RATE(
		PART(64, 0) "," PART(68, 0)) POWER("\"mix\":[]") POWER("\"mix\":[" PART(8, 0) "]")
		POWER("\"benchmark\":\"nn\",\"runs_per_s\":7.5") "{\"kind\":\"failure\",\"why\":\"x\"}\n\n{\"kind\":\"end\"}";
	struct cot_contention c;
	struct cot_error err = {""};

	(void)state;
	if (parse(text, &c, &err))
		fail_msg("%s", err.text);
	assert_string_equal(c.gpu, "g");
	assert_int_equal(c.sms, 132);
	assert_int_equal(c.n_kernels, 1);
	assert_true(c.kernels[0].insts == 16 && c.kernels[0].read_bytes == 1024);
	assert_int_equal(c.kernels[0].loads_ahead, 2);
	assert_int_equal(c.n_runs, 5);
	assert_int_equal(c.n_failures, 1);
	assert_int_equal(c.runs[0].line, 3);
	assert_false(c.runs[0].is_power);
	assert_int_equal(c.runs[1].n, 2);
	assert_int_equal(c.runs[1].parts[0].n_starved, 3);
	assert_false(c.runs[1].on_rest);
	assert_int_equal(c.runs[1].parts[1].sms, 68);
	assert_int_equal(c.runs[1].parts[0].memory, COT_CONTENTION_DRAM);
	assert_true(c.runs[1].parts[0].chunks_per_s == 5.5 && c.runs[1].parts[0].mhz == 1980);
	assert_true(c.runs[2].is_power && !c.runs[2].n && c.runs[2].watts == 300);
	assert_int_equal(c.runs[3].n, 1);
	assert_string_equal(c.runs[4].benchmark, "nn");
	assert_true(c.runs[4].runs_per_s == 7.5);
	cot_contention_finish(&c);
}

/* On the same SMs, where one of two may get nothing. */
static void test_shared(void **state)
{
	static const char text[] = MACHINE KERNEL SHARED(BESIDE "," STARVED) RATE(PART(8, 0));
	struct cot_contention c;
	struct cot_error err = {""};

	(void)state;
	if (parse(text, &c, &err))
		fail_msg("%s", err.text);
	assert_int_equal(c.n_runs, 2);
	assert_true(c.runs[0].shared && !c.runs[1].shared);
	assert_true(c.runs[0].parts[0].mhz == 1980 && c.runs[0].parts[1].mhz == 0);
	assert_true(c.runs[0].parts[1].chunks_per_s == 0);
	assert_int_equal(c.runs[0].parts[1].n_starved, 256);
	cot_contention_finish(&c);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "m.jsonl:1: nothing is in this file; expected lines that bench_contention"},
		{"[1]\n", "m.jsonl:1: this is no object"},
		{"{\n", "m.jsonl:1: no JSON: "},
		{KERNEL, "m.jsonl:1: the first line is of another kind"},
		{"{\"kind\":\"machine\",\"schema\":\"x\",\"gpu\":\"g\",\"sms\":1}",
		 "m.jsonl:1: 'schema' is 'x'; expected cotenant.contention/1"},
		{MACHINE MACHINE, "m.jsonl:2: a second line of the kind 'machine'"},
		{MACHINE KERNEL KERNEL, "m.jsonl:3: the kernel was described before"},
		{MACHINE RATE(PART(8, 0)), "m.jsonl:2: the kernel is not described"},
		{MACHINE KERNEL RATE(""), "m.jsonl:3: 'mix' is empty"},
		{MACHINE KERNEL RATE(PART(8, 1)), "m.jsonl:3: warps came late"},
		{MACHINE KERNEL RATE(PART(133, 0)), "the kernel has more SMs than the GPU"},
		{MACHINE KERNEL RATE(PART(8.5, 0)),
		 "'sms' is 8.5; expected a whole number from 1 to 1024"},
		{MACHINE KERNEL RATE(PART(68, 0) "," PART(68, 0)), "more SMs than the GPU"},
		{MACHINE KERNEL
		 "{\"kind\":\"rate\",\"on_rest\":true,\"mix\":[" PART(8, 0) "," PART(8, 0) "]}",
		 "'on_rest' is true with another number"},
		{MACHINE KERNEL POWER("\"shared\":true,\"mix\":[" BESIDE "," STARVED "]"),
		 "the kernel did nothing; expected 'chunks_per_s' above 0"},
		{MACHINE KERNEL RATE(STARVED), "the kernel did nothing"},
		{MACHINE KERNEL SHARED(STARVED "," STARVED), "neither kernel did anything"},
		{MACHINE KERNEL SHARED(BESIDE), "'shared' is true with another number"},
		{MACHINE KERNEL SHARED(BESIDE "," PART(64, 0)), "have different numbers of them"},
		{MACHINE KERNEL SHARED(PART(8, 0) "," BESIDE), "have more than 64 warps on one"},
		{MACHINE KERNEL RATE("1"), "a kernel of 'mix' is no object"},
		{MACHINE POWER("\"benchmark\":\"nn\""), "the key 'runs_per_s' is missing"},
		{MACHINE "{\"kind\":\"power\",\"mix\":[]}",
		 "the key 'watts' is missing; expected a number from 0.001 to 1000000"},
		{MACHINE "{\"kind\":\"x\"}",
		 "m.jsonl:2: 'kind' is 'x'; expected one of machine, kernel, "},
		{MACHINE "{\"kind\":7}", "m.jsonl:2: 'kind' is 7; expected one of machine"},
		{MACHINE "{\"kind\":[]}", "m.jsonl:2: 'kind' is a list; expected one of"},
		{MACHINE "{\"kind\":null}", "m.jsonl:2: 'kind' is no value; expected one of"},
		{"{\"kind\":\"machine\",\"schema\":\"cotenant.contention/1\",\"gpu\":\"\",\"sms\":1}",
		 "m.jsonl:1: 'gpu' is ''; expected text of 1 to 255 bytes"},
		{MACHINE "{\"a\":1}",
		 "m.jsonl:2: the key 'kind' is missing; expected one of machine"},
		{MACHINE "{\"kind\":\"end\",\"kind\":\"end\"}", "duplicate object key"},
	};
	struct cot_contention c;
	struct cot_error err;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		err.text[0] = '\0';
		if (parse(cases[i].text, &c, &err) != -EINVAL)
			fail_msg("case %zu was taken", i);
		if (!strstr(err.text, cases[i].message))
			fail_msg("case %zu: %s", i, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
