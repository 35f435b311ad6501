/* The words of classes, modes and shares: what is read, what is not, and the way there and back. */
#include "base/compiler.h"
#include "base/words.h"
#include "test.h"

static void test_classes(void **state)
{
	enum cot_class cls = COT_CLASS_BATCH;

	(void)state;
	assert_true(cot_class_read("latency", &cls));
	assert_int_equal(cls, COT_CLASS_LATENCY);
	assert_false(cot_class_read("Batch", &cls));
	assert_false(cot_class_read("latency ", &cls));
	assert_false(cot_class_read("", &cls));
	assert_false(cot_class_read(NULL, &cls));
	assert_int_equal(cls, COT_CLASS_LATENCY);
	assert_true(cot_class_read(cot_class_words[COT_CLASS_BATCH], &cls));
	assert_int_equal(cls, COT_CLASS_BATCH);
	assert_string_equal(cot_class_words[COT_CLASS_LATENCY], "latency");
}

static void test_modes(void **state)
{
	unsigned mode = COT_MODE_DRIVER;

	(void)state;
	assert_true(cot_word_read("drain", cot_mode_words, 3, &mode));
	assert_int_equal(mode, COT_MODE_DRAIN);
	assert_false(cot_word_read("switch", cot_mode_words, 2, &mode));
	assert_false(cot_word_read(NULL, cot_mode_words, 3, &mode));
	assert_int_equal(mode, COT_MODE_DRAIN);
	assert_string_equal(cot_mode_words[COT_MODE_SWITCH], "switch");
	assert_string_equal(cot_mode_words[COT_MODE_DRIVER], "driver");
}

static void test_shares(void **state)
{
	static const struct {
		const char *text;
		uint16_t sms, pct, packed;
	} cases[] = {
		{"1%", 0, 1, 1},	 {"100%", 0, 100, 100},	      {"1sm", 1, 0, 0x8001},
		{"66sm", 66, 0, 0x8042}, {"1024sm", 1024, 0, 0x8400},
	};
	char word[COT_SHARE_WORD_MAX];
	struct cot_share share, back;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		assert_true(cot_share_read(cases[i].text, &share));
		assert_int_equal(share.sms, cases[i].sms);
		assert_int_equal(share.pct, cases[i].pct);
		assert_string_equal(cot_share_word(share, word), cases[i].text);
		assert_int_equal(cot_share_pack(share), cases[i].packed);
		back = cot_share_unpack(cases[i].packed);
		assert_int_equal(back.sms, share.sms);
		assert_int_equal(back.pct, share.pct);
	}
}

static void test_what_is_no_share(void **state)
{
	static const char *const texts[] = {
		"",
		"0%",
		"0sm",
		"00%",
		"050%",
		"101%",
		"1025sm",
		"50",
		"50 %",
		" 50%",
		"50%%",
		"sm",
		"%",
		"-1%",
		"+1%",
		"5SM",
		"5.5%",
		"none",
		"50%sm",
		"99999999999999999999sm",
		"4294967297%",
		"65537sm",
	};
	struct cot_share share = {.sms = 7, .pct = 9};
	char word[COT_SHARE_WORD_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(texts); i++)
		if (cot_share_read(texts[i], &share))
			fail_msg("'%s' was taken", texts[i]);
	assert_int_equal(share.sms, 7);
	assert_int_equal(share.pct, 9);
	assert_int_equal(cot_share_pack((struct cot_share){0}), 0);
	assert_string_equal(cot_share_word(cot_share_unpack(0), word), "");
}

static void test_targets(void **state)
{
	static const struct {
		struct cot_target target;
		bool valid;
	} cases[] = {
		{{COT_TARGET_NONE, 0}, true},		{{COT_TARGET_NONE, 1}, false},
		{{COT_TARGET_P99, 0}, false},		{{COT_TARGET_P99, 1}, true},
		{{COT_TARGET_P99, 3600000000u}, true},	{{COT_TARGET_P99, 3600000001u}, false},
		{{COT_TARGET_SLOWDOWN, 999}, false},	{{COT_TARGET_SLOWDOWN, 1000}, true},
		{{COT_TARGET_SLOWDOWN, 1000000}, true}, {{COT_TARGET_SLOWDOWN, 1000001}, false},
		{{COT_TARGET_RATE, 0}, false},		{{COT_TARGET_RATE, 1}, true},
		{{COT_TARGET_RATE, 1000}, true},	{{COT_TARGET_RATE, 1001}, false},
		{{(enum cot_target_kind)4, 1}, false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++)
		if (cot_target_is_valid(cases[i].target) != cases[i].valid)
			fail_msg("case %zu", i);
	assert_string_equal(cot_target_words[COT_TARGET_RATE], "rate");
}

static void test_targets_as_users_write_them(void **state)
{
	static const struct {
		const char *text;
		enum cot_target_kind kind;
		uint32_t amount; /* 0: refused */
	} cases[] = {
		{"5ms", COT_TARGET_P99, 5000},
		{"800us", COT_TARGET_P99, 800},
		{"1us", COT_TARGET_P99, 1},
		{"0.25ms", COT_TARGET_P99, 250},
		{"1.5s", COT_TARGET_P99, 1500000},
		{"0.001ms", COT_TARGET_P99, 1},
		{"12.345ms", COT_TARGET_P99, 12345},
		{"3600s", COT_TARGET_P99, 3600000000u},
		{"3600.001s", COT_TARGET_P99, 0},
		{"9999999999s", COT_TARGET_P99, 0},
		{"0ms", COT_TARGET_P99, 0},
		{"0.5us", COT_TARGET_P99, 0},
		{"5", COT_TARGET_P99, 0},
		{"", COT_TARGET_P99, 0},
		{"ms", COT_TARGET_P99, 0},
		{".5ms", COT_TARGET_P99, 0},
		{"5.ms", COT_TARGET_P99, 0},
		{"5 ms", COT_TARGET_P99, 0},
		{"-5ms", COT_TARGET_P99, 0},
		{"5ms ", COT_TARGET_P99, 0},
		{"1.2345ms", COT_TARGET_P99, 0},
		{"12345678901us", COT_TARGET_P99, 0},
		{"4294967300us", COT_TARGET_P99, 0},
		{"1.5x", COT_TARGET_P99, 0},
		{"1.5x", COT_TARGET_SLOWDOWN, 1500},
		{"1x", COT_TARGET_SLOWDOWN, 1000},
		{"0.9x", COT_TARGET_SLOWDOWN, 0},
		{"1000x", COT_TARGET_SLOWDOWN, 1000000},
		{"1001x", COT_TARGET_SLOWDOWN, 0},
		{"2", COT_TARGET_SLOWDOWN, 0},
		{"80%", COT_TARGET_RATE, 800},
		{"0.1%", COT_TARGET_RATE, 1},
		{"99.9%", COT_TARGET_RATE, 999},
		{"100%", COT_TARGET_RATE, 1000},
		{"100.1%", COT_TARGET_RATE, 0},
		{"50.05%", COT_TARGET_RATE, 0},
		{"0%", COT_TARGET_RATE, 0},
		{"5ms", COT_TARGET_RATE, 0},
		{"0", COT_TARGET_NONE, 0},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		struct cot_target t = {.amount = 7};
		bool taken = cot_target_read(cases[i].kind, cases[i].text, &t);

		if (taken != (cases[i].amount != 0) || t.amount != (taken ? cases[i].amount : 7))
			fail_msg("'%s' as %s", cases[i].text, cot_target_words[cases[i].kind]);
	}
}

/* What is written is read again as the same. */
static void test_words_of_targets(void **state)
{
	static const struct {
		struct cot_target target;
		const char *word;
	} cases[] = {
		{{COT_TARGET_NONE, 0}, ""},
		{{COT_TARGET_P99, 1}, "1us"},
		{{COT_TARGET_P99, 999}, "999us"},
		{{COT_TARGET_P99, 1000}, "1ms"},
		{{COT_TARGET_P99, 12345}, "12.345ms"},
		{{COT_TARGET_P99, 12300}, "12.3ms"},
		{{COT_TARGET_P99, 1000001}, "1000.001ms"},
		{{COT_TARGET_P99, 1500000}, "1.5s"},
		{{COT_TARGET_P99, 1001000}, "1.001s"},
		{{COT_TARGET_P99, COT_TARGET_P99_US_MAX}, "3600s"},
		{{COT_TARGET_P99, COT_TARGET_P99_US_MAX - 1}, "3599999.999ms"},
		{{COT_TARGET_SLOWDOWN, 1000}, "1x"},
		{{COT_TARGET_SLOWDOWN, 1500}, "1.5x"},
		{{COT_TARGET_SLOWDOWN, 999999}, "999.999x"},
		{{COT_TARGET_SLOWDOWN, COT_TARGET_SLOWDOWN_PML_MAX}, "1000x"},
		{{COT_TARGET_RATE, 1}, "0.1%"},
		{{COT_TARGET_RATE, 805}, "80.5%"},
		{{COT_TARGET_RATE, 1000}, "100%"},
	};
	char word[COT_TARGET_WORD_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		struct cot_target t = cases[i].target, again = {0};

		assert_string_equal(cot_target_word(t, word), cases[i].word);
		assert_int_equal(cot_target_read(t.kind, word, &again), t.kind != COT_TARGET_NONE);
		assert_int_equal(again.amount, t.amount);
	}
}

static void test_who_may_have_which(void **state)
{
	enum cot_target_kind kind;

	(void)state;
	for (kind = COT_TARGET_NONE; kind <= COT_TARGET_RATE; kind++) {
		assert_true(cot_target_suits(kind, COT_CLASS_LATENCY));
		assert_int_equal(cot_target_suits(kind, COT_CLASS_BATCH),
				 kind == COT_TARGET_NONE || kind == COT_TARGET_RATE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_what_is_no_share),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_targets_as_users_write_them),
		cmocka_unit_test(test_words_of_targets),
		cmocka_unit_test(test_who_may_have_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
