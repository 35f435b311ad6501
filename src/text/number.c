#include "text/number.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 40 /* of one number's text; a longer one is a mistake */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Skips one or more digits; NULL when there is none. */
static const char *skip_digits(const char *s)
{
	if (!is_digit(*s))
		return NULL;
	while (is_digit(*s))
		s++;
	return s;
}

static const char *skip_whole(const char *s)
{
	if (s[0] == '0')
		return s + 1;
	return skip_digits(s);
}

bool cot_number_u64(const char *text, uint64_t *ret_value)
{
	const char *end = skip_whole(text), *s;
	uint64_t v = 0;

	if (!end || *end)
		return false;
	for (s = text; *s; s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*ret_value = v;
	return true;
}

bool cot_number_i64(const char *text, int64_t *ret_value)
{
	bool negative = text[0] == '-';
	uint64_t v;

	if (!cot_number_u64(text + negative, &v) || v > INT64_MAX)
		return false;
	*ret_value = negative ? -(int64_t)v : (int64_t)v;
	return true;
}

static bool looks_like_double(const char *s)
{
	if (*s == '-')
		s++;
	s = skip_whole(s);
	if (s && *s == '.')
		s = skip_digits(s + 1);
	if (s && (*s == 'e' || *s == 'E')) {
		s++;
		if (*s == '+' || *s == '-')
			s++;
		s = skip_digits(s);
	}
	return s && !*s;
}

bool cot_number_double(const char *text, double *ret_value)
{
	double v;

	if (strlen(text) > DIGITS_MAX || !looks_like_double(text))
		return false;
	v = strtod(text, NULL);
	if (!(v >= -DBL_MAX && v <= DBL_MAX))
		return false;
	*ret_value = v;
	return true;
}

static void print_limit(char *buf, size_t size, double v)
{
	if (v == (double)(int64_t)v)
		(void)snprintf(buf, size, "%.0f", v);
	else
		(void)snprintf(buf, size, v < 1e-3 ? "%.6f" : "%.6g", v);
}

const char *cot_number_expected(bool whole, double min, double max,
				char buf[COT_NUMBER_EXPECTED_MAX])
{
	char lo[32], hi[32];

	print_limit(lo, sizeof(lo), min);
	print_limit(hi, sizeof(hi), max);
	(void)snprintf(buf, COT_NUMBER_EXPECTED_MAX, "a %snumber from %s to %s",
		       whole ? "whole " : "", lo, hi);
	return buf;
}
