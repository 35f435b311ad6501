/*
 * Fat binaries made by hand: begin(), then add() for each entry. The layout is in
 * src/cuda/fatbin/fatbin.h.
 */
#ifndef COT_TESTS_FATBIN_BOX_H
#define COT_TESTS_FATBIN_BOX_H

#include <string.h>

#include "cuda/fatbin/fatbin.h"

#define ENTRY_BYTES 64u
#define FLAG_LZ4    0x2000u
#define FLAG_ZSTD   0x8000u
#define FLAG_A	    0x100000u

struct box {
	unsigned char bytes[1 << 16];
	size_t n;
};

static void put(struct box *b, size_t at, uint64_t value, unsigned bytes)
{
	unsigned i;

	for (i = 0; i < bytes; i++)
		b->bytes[at + i] = (unsigned char)(value >> (8 * i));
}

static void begin(struct box *b)
{
	memset(b, 0, sizeof(*b));
	put(b, 0, COT_FATBIN_MAGIC, 4);
	put(b, 4, 1, 2);
	put(b, 6, COT_FATBIN_HEADER_BYTES, 2);
	b->n = COT_FATBIN_HEADER_BYTES;
}

/* An entry with a header of `header` bytes, and its stored bytes padded to 8. */
static void add(struct box *b, unsigned kind, unsigned arch, uint64_t flags, unsigned header,
		const void *stored, size_t n, size_t raw)
{
	size_t padded = (n + 7) / 8 * 8, at = b->n;

	put(b, at, kind, 2);
	put(b, at + 2, 0x0101, 2);
	put(b, at + 4, header, 4);
	put(b, at + 8, padded, 8);
	put(b, at + 16, flags & (FLAG_LZ4 | FLAG_ZSTD) ? n : 0, 4);
	put(b, at + 28, arch, 4);
	put(b, at + 40, flags, 8);
	put(b, at + 56, raw, 8);
	memcpy(b->bytes + at + header, stored, n);
	b->n = at + header + padded;
	put(b, 8, b->n - COT_FATBIN_HEADER_BYTES, 8);
}

static void add_text(struct box *b, unsigned arch, const char *text)
{
	add(b, COT_FATBIN_PTX, arch, 1, 80, text, strlen(text) + 1, 0);
}

#endif
