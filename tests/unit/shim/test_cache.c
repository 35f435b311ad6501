/* The dynamic linker's list of libraries. The unit is in a shared library, so its source is here.
 */
#include <stdio.h>
#include <stdlib.h>

#include "guest/shim/cache.c"
#include "test.h"

static const char cache_text[] = "libc.so.6\0/lib/libc.so.6\0libcuda.so.1\0/a/libcuda.so.1\0"
				 "/b/libcuda.so.1";

static void put32(unsigned char *at, uint32_t x)
{
	memcpy(at, &x, sizeof(x));
}

static size_t make_cache(unsigned char *bytes, uint32_t n_entries)
{
	static const uint32_t entries[][3] = {
		/* flags, name, path; from the beginning of the texts */
		{OF_THIS_MACHINE, 0, 10},
		{0x0800, 25, 38}, /* of another machine */
		{OF_THIS_MACHINE, 25, 38},
		{OF_THIS_MACHINE, 25, 54},
	};
	uint32_t text = HEADER_BYTES + 4 * ENTRY_BYTES, i;

	memset(bytes, 0, text);
	memcpy(bytes, MAGIC, sizeof(MAGIC) - 1);
	put32(bytes + 20, n_entries);
	for (i = 0; i < 4; i++) {
		put32(bytes + HEADER_BYTES + i * ENTRY_BYTES, entries[i][0]);
		put32(bytes + HEADER_BYTES + i * ENTRY_BYTES + 4, text + entries[i][1]);
		put32(bytes + HEADER_BYTES + i * ENTRY_BYTES + 8, text + entries[i][2]);
	}
	memcpy(bytes + text, cache_text, sizeof(cache_text));
	return text + sizeof(cache_text);
}

static void cache(void **state)
{
	unsigned char bytes[512];
	size_t n = make_cache(bytes, 4);

	(void)state;
	assert_string_equal(cot_shim_cache_find(bytes, n, "libcuda.so.1", 0), "/a/libcuda.so.1");
	assert_string_equal(cot_shim_cache_find(bytes, n, "libcuda.so.1", 1), "/b/libcuda.so.1");
	assert_null(cot_shim_cache_find(bytes, n, "libcuda.so.1", 2));
	assert_null(cot_shim_cache_find(bytes, n, "libcuda.so", 0));
	/* Cut short, or with more entries than there are. */
	assert_null(cot_shim_cache_find(bytes, 40, "libcuda.so.1", 0));
	assert_null(cot_shim_cache_find(bytes, n - 1, "libcuda.so.1", 1));
	(void)make_cache(bytes, 4000);
	assert_null(cot_shim_cache_find(bytes, n, "libcuda.so.1", 0));
	/* Behind a list in the older format. */
	memmove(bytes + 64, bytes, make_cache(bytes, 4));
	memset(bytes, 1, 64);
	assert_string_equal(cot_shim_cache_find(bytes, n + 64, "libcuda.so.1", 0),
			    "/a/libcuda.so.1");
}

/* The bytes in memory of their own, so that nothing behind them is taken for theirs. */
static const char *find_in(const unsigned char *bytes, size_t n, const char *name)
{
	static char found[64];
	unsigned char *copy = malloc(n + 8);
	const char *path;

	assert_non_null(copy);
	memset(copy, 'x', n + 8);
	memcpy(copy, bytes, n);
	path = cot_shim_cache_find(copy, n, name, 0);
	if (path)
		(void)snprintf(found, sizeof(found), "%s", path);
	free(copy);
	return path ? found : NULL;
}

static void set_entry(unsigned char *bytes, unsigned i, uint32_t name, uint32_t path)
{
	put32(bytes + HEADER_BYTES + i * ENTRY_BYTES + 4, name);
	put32(bytes + HEADER_BYTES + i * ENTRY_BYTES + 8, path);
}

/* Names and paths outside of the bytes are none, and the others are found all the same. */
static void outside(void **state)
{
	unsigned char bytes[512];
	uint32_t n = (uint32_t)make_cache(bytes, 4), text = HEADER_BYTES + 4 * ENTRY_BYTES;

	(void)state;
	set_entry(bytes, 0, n, text);
	assert_string_equal(find_in(bytes, n, "libcuda.so.1"), "/a/libcuda.so.1");
	set_entry(bytes, 0, n + 1, text);
	assert_string_equal(find_in(bytes, n, "libcuda.so.1"), "/a/libcuda.so.1");
	set_entry(bytes, 2, text + 25, n);
	assert_null(find_in(bytes, n, "libcuda.so.1"));
	set_entry(bytes, 2, text + 25, UINT32_MAX);
	assert_null(find_in(bytes, n, "libcuda.so.1"));
	set_entry(bytes, 2, text + 25, n - 2);
	assert_string_equal(find_in(bytes, n, "libcuda.so.1"), "1"); /* the last letter */
	set_entry(bytes, 2, text + 25, n - 1);
	assert_string_equal(find_in(bytes, n, "libcuda.so.1"), "");
}

/* As many entries as say so are read, and no others. */
static void number_of_entries(void **state)
{
	unsigned char bytes[512];
	size_t n = make_cache(bytes, 2);

	(void)state;
	assert_null(find_in(bytes, n, "libcuda.so.1"));
	assert_string_equal(find_in(bytes, n, "libc.so.6"), "/lib/libc.so.6");
	put32(bytes + 20, 3);
	assert_string_equal(find_in(bytes, n, "libcuda.so.1"), "/a/libcuda.so.1");
	put32(bytes + 20, 0);
	assert_null(find_in(bytes, n, "libc.so.6"));
	put32(bytes + 20, UINT32_MAX);
	assert_null(find_in(bytes, n, "libc.so.6"));
	/* They end where the bytes do; the strings are among them. */
	n = HEADER_BYTES + 3 * ENTRY_BYTES;
	memcpy(bytes + HEADER_BYTES + 12, "a\0b", 4);
	set_entry(bytes, 0, HEADER_BYTES + 12, HEADER_BYTES + 14);
	put32(bytes + 20, 3);
	assert_string_equal(find_in(bytes, n, "a"), "b");
	put32(bytes + 20, 4);
	assert_null(find_in(bytes, n, "a"));
}

/* The header is found wherever an older list ends, and must be whole. */
static void headers(void **state)
{
	unsigned char bytes[512], moved[600] = {0};
	size_t n = make_cache(bytes, 4), at;

	(void)state;
	for (at = 0; at <= 64; at += 4) {
		memset(moved, 0, sizeof(moved));
		memcpy(moved + at, bytes, n);
		assert_string_equal(find_in(moved, at + n, "libc.so.6"), "/lib/libc.so.6");
	}
	bytes[3] ^= 1;
	assert_null(find_in(bytes, n, "libc.so.6"));
	assert_null(find_in(bytes, 0, "libc.so.6"));
	(void)make_cache(bytes, 4);
	bytes[sizeof(MAGIC) - 2] ^= 1;
	assert_null(find_in(bytes, n, "libc.so.6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cache),
		cmocka_unit_test(outside),
		cmocka_unit_test(number_of_entries),
		cmocka_unit_test(headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
