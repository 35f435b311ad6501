/*
 * Numbers and units for people: "4.5 ms", "16.2 us", "1.2 GB", "12,345". Three significant digits.
 * Each function writes into the caller's buffer and returns it. Machines read the JSON instead.
 */
#ifndef COT_REPORT_FORMAT_H
#define COT_REPORT_FORMAT_H

#include <stdint.h>

struct cot_text {
	char s[48];
};

const char *cot_format_us(struct cot_text *t, double us);	/* ns, us, ms, s */
const char *cot_format_bytes(struct cot_text *t, double bytes); /* SI: kB = 1000 B */
const char *cot_format_count(struct cot_text *t, uint64_t n);	/* 12,345 */
const char *cot_format_ratio(struct cot_text *t, double x);	/* three digits, no unit */

/* Picoseconds as microseconds, exactly: "12.5"; always with a point when `real`. */
const char *cot_format_exact_us(struct cot_text *t, uint64_t t_ps, int real);

#endif
