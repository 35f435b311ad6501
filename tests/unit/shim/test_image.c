/*
 * The PTX in what a program gives the driver as code: texts, fat binaries, files. The unit is in a
 * shared library, so its source is here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "files.h"
#include "support/fatbin_box.h"
#include "test.h"

static size_t n_asked; /* bytes, of the last allocation */

static void *played_malloc(size_t size)
{
	n_asked = size;
	return malloc(size);
}

#define malloc played_malloc
#include "guest/shim/image.c"
#undef malloc

#define FOUND COT_SHIM_WHY_NOT

static enum cot_shim_why why;

/* The text that is taken; NULL: none, and `why`. */
static char *take_image(const void *image, size_t n, unsigned target)
{
	char *text = NULL;
	size_t length = 0;
	int rc;

	why = FOUND;
	rc = cot_shim_image_text(image, n, target, &text, &length, &why);
	if (rc) {
		assert_int_equal(rc, -ENOENT);
		assert_null(text);
		return NULL;
	}
	assert_int_equal(strlen(text), length);
	return text;
}

static void expect_text(const void *image, size_t n, unsigned target, const char *expected)
{
	char *text = take_image(image, n, target);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void expect_none(const void *image, size_t n, unsigned target, enum cot_shim_why expected)
{
	assert_null(take_image(image, n, target));
	assert_int_equal(why, expected);
}

/* ---- texts ---- */

static void texts(void **state)
{
	(void)state;
	expect_text("a text", 0, 90, "a text");
	assert_int_equal(n_asked, 7); /* with its zero */
	expect_text("a text", 6, 90, "a text");
	expect_text("a text and more", 6, 90, "a text");
	expect_text("a text\0and more", 15, 90, "a text");
	expect_text("text", 4, 90, "text");
	expect_text("abc", 0, 90, "abc");
}

static void too_short(void **state)
{
	static const char *const texts[] = {"", "a", "ab"};
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned i;

	(void)state;
	assert_true(pages != MAP_FAILED && mprotect(pages + size, size, PROT_NONE) == 0);
	for (i = 0; i < 3; i++) {
		/* Nothing behind the end may be looked at: there is no memory. */
		char *exact = pages + size - strlen(texts[i]) - 1;

		strcpy(exact, texts[i]);
		expect_none(exact, 0, 90, COT_SHIM_WHY_UNREADABLE);
		expect_none("text", i + 1, 90, COT_SHIM_WHY_UNREADABLE);
	}
	munmap(pages, 2 * size);
}

/* The same page over and over: nobody copies what is too long. */
static void too_long(void **state)
{
	size_t part = 2u << 20, at;
	int fd = memfd_create("text", MFD_CLOEXEC);
	char *all = mmap(NULL, COT_PTX_SOURCE_MAX, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
	     *one;

	(void)state;
	assert_true(fd >= 0 && all != MAP_FAILED && ftruncate(fd, (off_t)part) == 0);
	for (at = 0; at < COT_PTX_SOURCE_MAX; at += part)
		assert_ptr_equal(
			mmap(all + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
			all + at);
	one = memset(all, 'x', part);
	expect_none(one, 0, 90, COT_SHIM_WHY_UNREADABLE);
	expect_none(one, COT_PTX_SOURCE_MAX, 90, COT_SHIM_WHY_UNREADABLE);
	munmap(all, COT_PTX_SOURCE_MAX);
	close(fd);
}

static void machine_code(void **state)
{
	(void)state;
	expect_none("\177ELF and so on", 0, 90, COT_SHIM_WHY_NO_PTX);
	expect_none("\177ELF", 4, 90, COT_SHIM_WHY_NO_PTX);
	expect_text("\177ELG", 4, 90, "\177ELG");
}

/* ---- fat binaries ---- */

static struct box b;

static void fat_binaries(void **state)
{
	(void)state;
	begin(&b);
	add_text(&b, 52, "five");
	add_text(&b, 90, "nine");
	expect_text(b.bytes, 0, 90, "nine"); /* it says how long it is */
	expect_text(b.bytes, b.n, 90, "nine");
	expect_text(b.bytes, 0, 89, "five");
	expect_none(b.bytes, 0, 50, COT_SHIM_WHY_NO_PTX);
	expect_none(b.bytes, b.n - 1, 90, COT_SHIM_WHY_UNREADABLE);
	expect_none(b.bytes, COT_FATBIN_HEADER_BYTES - 1, 90, COT_SHIM_WHY_UNREADABLE);
	begin(&b);
	expect_none(b.bytes, 0, 90, COT_SHIM_WHY_NO_PTX);
	expect_none(b.bytes, COT_FATBIN_HEADER_BYTES, 90, COT_SHIM_WHY_NO_PTX);
}

static void add_code(unsigned arch)
{
	add(&b, COT_FATBIN_ELF, arch, 1, ENTRY_BYTES, "\177ELF", 4, 0);
}

/* PTX is for the future: where there is newer machine code, that is what the program means. */
static void newer_machine_code(void **state)
{
	static const struct {
		unsigned target, text, codes[2];
		enum cot_shim_why why;
	} rows[] = {
		{89, 80, {89, 0}, COT_SHIM_WHY_NEWER_CODE},
		{89, 80, {80, 0}, FOUND},
		{89, 80, {90, 0}, FOUND}, /* it does not run there */
		{89, 70, {75, 0}, FOUND}, /* of another generation */
		{90, 80, {89, 0}, FOUND},
		{89, 87, {89, 86}, COT_SHIM_WHY_NEWER_CODE},
		{89, 87, {86, 89}, COT_SHIM_WHY_NEWER_CODE},
		{89, 87, {86, 80}, FOUND},
	};
	unsigned i, k;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		begin(&b);
		add_text(&b, rows[i].text, "the text");
		for (k = 0; k < 2; k++)
			if (rows[i].codes[k])
				add_code(rows[i].codes[k]);
		if (rows[i].why == FOUND)
			expect_text(b.bytes, b.n, rows[i].target, "the text");
		else
			expect_none(b.bytes, b.n, rows[i].target, rows[i].why);
	}
	/* PTX for that very GPU is not code. */
	begin(&b);
	add_text(&b, 80, "the text");
	add(&b, COT_FATBIN_PTX, 89, 1 | FLAG_A, 80, "only 89", 8, 0);
	expect_text(b.bytes, b.n, 86, "the text");
	expect_text(b.bytes, b.n, 89, "only 89");
}

static void damaged(void **state)
{
	(void)state;
	begin(&b);
	add(&b, COT_FATBIN_PTX, 90, 1 | FLAG_LZ4, 80, "\xf0 nonsense", 10, 4000);
	expect_none(b.bytes, b.n, 90, COT_SHIM_WHY_UNREADABLE);
}

/* What the compiler links into a program; it can be found by its address alone. */
static void wrapped(void **state)
{
	struct wrapper w = {COT_FATBIN_WRAPPER_MAGIC, 1, b.bytes, NULL};

	(void)state;
	begin(&b);
	add_text(&b, 90, "inside");
	expect_text(&w, 0, 90, "inside");
	w.data = "a text";
	expect_text(&w, 0, 90, "a text");
	expect_text(&w, sizeof(w), 90,
		    "\xb1"
		    "CbF\x01"); /* its size is given */
	w.data = NULL;
	expect_none(&w, 0, 90, COT_SHIM_WHY_UNREADABLE);
}

/* ---- files ---- */

static char path[] = P_tmpdir "/cotenant.XXXXXX";

static void write_file(const void *bytes, size_t n, off_t length)
{
	int fd;

	memset(path + sizeof(path) - 7, 'X', 6);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	assert_int_equal(ftruncate(fd, length), 0);
	close(fd);
}

static void expect_unread(const char *which)
{
	void *bytes = NULL;
	size_t n = 0;

	assert_int_equal(cot_shim_image_read(which, &bytes, &n), -EIO);
	assert_true(!bytes && !n);
}

static void files(void **state)
{
	int fd = lowest_fd();
	void *bytes;
	size_t n;

	(void)state;
	write_file("abc\0de", 6, 3 * PIECE);
	assert_int_equal(cot_shim_image_read(path, &bytes, &n), 0);
	assert_int_equal(n, 3 * PIECE);
	assert_int_equal(read_until, 3 * PIECE);
	assert_memory_equal(bytes, "abc\0de\0", 8);
	free(bytes);
	unlink(path);
	write_file("abc\0de", 6, 6);
	assert_int_equal(cot_shim_image_read(path, &bytes, &n), 0);
	assert_int_equal(n, 6);
	assert_int_equal(n_asked, 7);
	assert_memory_equal(bytes, "abc\0de", 7); /* a zero behind it */
	free(bytes);
	unlink(path);
	expect_unread(path);
	write_file("", 0, 0);
	expect_unread(path);
	unlink(path);
	write_file("x", 1, (off_t)FILE_MAX + 1);
	n_asked = 0;
	expect_unread(path);
	assert_int_equal(n_asked, 0);
	unlink(path);
	expect_unread("/"); /* no file */
	assert_int_equal(lowest_fd(), fd);
}

/* A program may have closed its standard input. */
static void the_lowest_descriptor(void **state)
{
	int before = dup(0);
	void *bytes;
	size_t n;

	(void)state;
	write_file("abc", 3, 3);
	close(0);
	assert_int_equal(cot_shim_image_read(path, &bytes, &n), 0);
	free(bytes);
	assert_int_equal(lowest_fd(), 0);
	dup2(before, 0);
	close(before);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lowest_descriptor),
		cmocka_unit_test(texts),
		cmocka_unit_test(too_short),
		cmocka_unit_test(too_long),
		cmocka_unit_test(machine_code),
		cmocka_unit_test(fat_binaries),
		cmocka_unit_test(newer_machine_code),
		cmocka_unit_test(damaged),
		cmocka_unit_test(wrapped),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
