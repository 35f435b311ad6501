#include "ptx/buf.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 4096u

/* One byte stays free for the NUL. */
static bool make_room(struct cot_ptx_buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : FIRST_CAP;
	char *text;

	if (b->no_memory)
		return false;
	while (cap - b->size <= n) {
		if (cap > SIZE_MAX / 2) {
			b->no_memory = true;
			return false;
		}
		cap *= 2;
	}
	if (cap == b->cap)
		return true;
	text = realloc(b->text, cap);
	if (!text) {
		b->no_memory = true;
		return false;
	}
	b->text = text;
	b->cap = cap;
	return true;
}

void cot_ptx_buf_bytes(struct cot_ptx_buf *b, const char *text, size_t n)
{
	if (b->fixed) {
		size_t room = b->cap ? b->cap - 1 - b->size : 0;

		if (n > room)
			n = room;
	} else if (!make_room(b, n)) {
		return;
	}
	memcpy(b->text + b->size, text, n);
	b->size += n;
}

void cot_ptx_buf_add(struct cot_ptx_buf *b, const char *text)
{
	cot_ptx_buf_bytes(b, text, strlen(text));
}

void cot_ptx_buf_uint(struct cot_ptx_buf *b, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	cot_ptx_buf_bytes(b, digits + at, sizeof(digits) - at);
}

void cot_ptx_buf_hex(struct cot_ptx_buf *b, uint64_t value, unsigned min_digits, bool upper)
{
	const char *const alphabet = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char digits[16];
	size_t at = sizeof(digits);

	do
		digits[--at] = alphabet[value & 15];
	while ((value >>= 4) || sizeof(digits) - at < min_digits);
	cot_ptx_buf_bytes(b, digits + at, sizeof(digits) - at);
}
