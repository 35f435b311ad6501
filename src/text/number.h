/*
 * Numbers in outside text, read strictly: the whole text must be one decimal number, without
 * leading zeros, signs (but '-'), spaces, hexadecimal digits, infinities or nan. Pure.
 */
#ifndef COT_TEXT_NUMBER_H
#define COT_TEXT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

bool cot_number_u64(const char *text, uint64_t *ret_value);
bool cot_number_i64(const char *text, int64_t *ret_value);
bool cot_number_double(const char *text, double *ret_value);

/* What was expected, for a message: "a whole number from 1 to 8", "a number from 0 to 2". */
#define COT_NUMBER_EXPECTED_MAX 128
const char *cot_number_expected(bool whole, double min, double max,
				char buf[COT_NUMBER_EXPECTED_MAX]);

#endif
