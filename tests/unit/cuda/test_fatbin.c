/* Fat binaries made by hand: what is in them, which PTX a GPU gets, and what is refused. */
#include <errno.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "support/fatbin_box.h"
#include "test.h"

static void expect(const struct box *b, uint32_t target, bool newer, const char *text)
{
	struct cot_fatbin_entry e;
	struct cot_error err;
	size_t n;
	char *got;

	assert_int_equal(cot_fatbin_choose(b->bytes, b->n, target, newer, &e, &err), 0);
	assert_int_equal(cot_fatbin_text(&e, &got, &n, &err), 0);
	assert_string_equal(got, text);
	assert_int_equal(n, strlen(text));
	free(got);
}

static void expect_refused(const struct box *b, uint32_t target, int code, const char *part)
{
	struct cot_fatbin_entry e;
	struct cot_error err;

	assert_int_equal(cot_fatbin_choose(b->bytes, b->n, target, false, &e, &err), code);
	if (!strstr(err.text, part))
		fail_msg("'%s' does not have '%s'", err.text, part);
}

static void the_newest_that_is_not_newer_than_the_gpu_is_chosen(void **state)
{
	static struct box b;

	(void)state;
	begin(&b);
	add_text(&b, 52, "five");
	add_text(&b, 90, "nine");
	add_text(&b, 75, "seven");
	add_text(&b, 120, "twelve");
	expect(&b, 90, false, "nine");
	expect(&b, 89, false, "seven");
	expect(&b, 103, false, "nine");
	expect(&b, 60, false, "five");
	expect_refused(&b, 35, -ENOENT, "PTX for compute_52");
	expect(&b, 35, true, "five");
}

static void code_for_exactly_one_gpu_is_for_no_other(void **state)
{
	static struct box b;

	(void)state;
	begin(&b);
	add(&b, COT_FATBIN_PTX, 90, 1 | FLAG_A, 80, "only 90", 8, 0);
	expect(&b, 90, false, "only 90");
	expect_refused(&b, 100, -ENOENT, "compute_90a");
	add_text(&b, 90, "any");
	expect(&b, 90, false, "any");
	expect(&b, 100, false, "any");
}

static void machine_code_is_told_apart(void **state)
{
	static struct box b;
	struct cot_fatbin_entry e;
	struct cot_error err;
	struct cot_fatbin f;

	(void)state;
	begin(&b);
	add(&b, COT_FATBIN_ELF, 90, 1, ENTRY_BYTES, "\177ELF", 4, 0);
	expect_refused(&b, 90, -ENOENT, "machine code for sm_90");
	assert_int_equal(cot_fatbin_open(&f, b.bytes, b.n, &err), 0);
	assert_int_equal(cot_fatbin_next(&f, &e, &err), 0);
	assert_int_equal(e.kind, COT_FATBIN_ELF);
	assert_int_equal(e.n_bytes, 8);
	assert_int_equal(cot_fatbin_next(&f, &e, &err), -ENOENT);
	begin(&b);
	expect_refused(&b, 90, -ENOENT, "only nothing");
}

static void packed_texts_are_unpacked(void **state)
{
	static struct box b;
	char text[4000], packed[8000];
	size_t i, n;

	(void)state;
	for (i = 0; i + 1 < sizeof(text); i++)
		text[i] = (char)('a' + i % 7 + i / 1000);
	text[i] = '\0';
	begin(&b);
	n = (size_t)LZ4_compress_default(text, packed, sizeof(text), sizeof(packed));
	add(&b, COT_FATBIN_PTX, 75, 1 | FLAG_LZ4, 72, packed, n, sizeof(text));
	n = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 3);
	add(&b, COT_FATBIN_PTX, 90, 1 | FLAG_ZSTD, 80, packed, n, sizeof(text));
	expect(&b, 80, false, text);
	expect(&b, 90, false, text);
}

static void damage_is_refused(void **state)
{
	static struct box b, cut;
	struct cot_fatbin_entry e;
	struct cot_error err;
	size_t n, length;
	char *text;

	(void)state;
	begin(&b);
	add(&b, COT_FATBIN_PTX, 90, 1 | FLAG_ZSTD, 80, "\x28\xb5\x2f\xfd\xff\xff", 6, 100);
	assert_int_equal(cot_fatbin_choose(b.bytes, b.n, 90, false, &e, &err), 0);
	assert_int_equal(cot_fatbin_text(&e, &text, &length, &err), -EBADMSG);
	e.raw_bytes = (uint64_t)COT_FATBIN_MAX_TEXT + 1;
	assert_int_equal(cot_fatbin_text(&e, &text, &length, &err), -E2BIG);
	e.packing = COT_FATBIN_UNKNOWN;
	e.raw_bytes = 10;
	assert_int_equal(cot_fatbin_text(&e, &text, &length, &err), -EBADMSG);
	/* However it is cut short, nothing behind the end is touched (the sanitizers look). */
	begin(&b);
	add_text(&b, 90, "text");
	for (n = 0; n < b.n; n++) {
		unsigned char *copy = malloc(n ? n : 1);

		memcpy(copy, b.bytes, n);
		assert_int_equal(cot_fatbin_choose(copy, n, 90, false, &e, &err), -EBADMSG);
		free(copy);
	}
	cut = b;
	put(&cut, COT_FATBIN_HEADER_BYTES + 4, 8, 4);
	expect_refused(&cut, 90, -EBADMSG, "does not fit");
	cut = b;
	put(&cut, COT_FATBIN_HEADER_BYTES + 8, UINT64_MAX, 8);
	expect_refused(&cut, 90, -EBADMSG, "does not fit");
	cut = b;
	put(&cut, 0, 7, 4);
	expect_refused(&cut, 90, -EBADMSG, "not a fat binary");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_that_is_not_newer_than_the_gpu_is_chosen),
		cmocka_unit_test(code_for_exactly_one_gpu_is_for_no_other),
		cmocka_unit_test(machine_code_is_told_apart),
		cmocka_unit_test(packed_texts_are_unpacked),
		cmocka_unit_test(damage_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
