/*
 * Text that grows: for the printer. Either it owns its memory and grows, or it fills a buffer of
 * the caller and cuts what does not fit.
 */
#ifndef COT_PTX_BUF_H
#define COT_PTX_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cot_ptx_buf {
	char *text;
	size_t size, cap;
	bool fixed;	/* the caller's buffer */
	bool no_memory; /* what comes afterwards is lost */
};

void cot_ptx_buf_bytes(struct cot_ptx_buf *b, const char *text, size_t n);
void cot_ptx_buf_add(struct cot_ptx_buf *b, const char *text);
void cot_ptx_buf_uint(struct cot_ptx_buf *b, uint64_t value);
void cot_ptx_buf_hex(struct cot_ptx_buf *b, uint64_t value, unsigned min_digits, bool upper);

#endif
