/*
 * The dynamic linker's list of libraries: a header of 48 bytes ("glibc-ld.so.cache1.1", the number
 * of entries, bytes of strings, flags), then entries of 24 bytes (flags, where name and path are,
 * counted from the header's beginning, version, capabilities), then the strings. A list in an older
 * format may precede it.
 */
#include <string.h>

#include "guest/shim/driver.h"

#define MAGIC	     "glibc-ld.so.cache1.1"
#define HEADER_BYTES 48u
#define ENTRY_BYTES  24u

/* Flags of a library for this machine. */
#if defined(__x86_64__)
#define OF_THIS_MACHINE 0x0303u
#elif defined(__aarch64__)
#define OF_THIS_MACHINE 0x0a03u
#else
#define OF_THIS_MACHINE 0x0003u
#endif

static uint32_t word(const unsigned char *at)
{
	uint32_t x;

	memcpy(&x, at, sizeof(x));
	return x;
}

/* The header that the offsets count from. */
static const unsigned char *find_header(const unsigned char *bytes, size_t n)
{
	size_t at;

	for (at = 0; at + HEADER_BYTES <= n; at += 4)
		if (!memcmp(bytes + at, MAGIC, sizeof(MAGIC) - 1))
			return bytes + at;
	return NULL;
}

/* A string that ends inside; NULL. */
static const char *text_at(const unsigned char *header, size_t n, uint32_t at)
{
	if (at >= n || !memchr(header + at, '\0', n - at))
		return NULL;
	return (const char *)header + at;
}

const char *cot_shim_cache_find(const unsigned char *bytes, size_t n, const char *name,
				unsigned nth)
{
	const unsigned char *header = find_header(bytes, n);
	uint32_t n_entries, i;
	size_t left;

	if (!header)
		return NULL;
	left = n - (size_t)(header - bytes);
	n_entries = word(header + sizeof(MAGIC) - 1);
	if (HEADER_BYTES + (size_t)n_entries * ENTRY_BYTES > left)
		return NULL;
	for (i = 0; i < n_entries; i++) {
		const unsigned char *entry = header + HEADER_BYTES + (size_t)i * ENTRY_BYTES;
		const char *key = text_at(header, left, word(entry + 4));

		if (word(entry) == OF_THIS_MACHINE && key && !strcmp(key, name) && nth-- == 0)
			return text_at(header, left, word(entry + 8));
	}
	return NULL;
}
