#include "base/quantity.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

#define DIGITS_MAX   18 /* of a number: less than 2^63 */
#define DECIMALS_MAX 9

enum measure {
	MEASURE_NONE,
	MEASURE_TIME,
	MEASURE_SIZE,
	MEASURE_RATE,
	MEASURE_CLOCK,
	MEASURE_PART
};

/* `worth`: how many of the smallest unit of that measure it is. */
static const struct {
	const char *word;
	enum measure measure;
	uint64_t worth;
} units[] = {
	[COT_UNIT_NONE] = {"", MEASURE_NONE, 1},
	[COT_UNIT_NS] = {"ns", MEASURE_TIME, 1},
	[COT_UNIT_US] = {"us", MEASURE_TIME, 1000},
	[COT_UNIT_MS] = {"ms", MEASURE_TIME, 1000000},
	[COT_UNIT_S] = {"s", MEASURE_TIME, 1000000000},
	[COT_UNIT_MIN] = {"min", MEASURE_TIME, 60000000000},
	[COT_UNIT_H] = {"h", MEASURE_TIME, 3600000000000},
	[COT_UNIT_B] = {"B", MEASURE_SIZE, 1},
	[COT_UNIT_KB] = {"kB", MEASURE_SIZE, 1000},
	[COT_UNIT_MB] = {"MB", MEASURE_SIZE, 1000000},
	[COT_UNIT_GB] = {"GB", MEASURE_SIZE, 1000000000},
	[COT_UNIT_TB] = {"TB", MEASURE_SIZE, 1000000000000},
	[COT_UNIT_KIB] = {"KiB", MEASURE_SIZE, 1u << 10},
	[COT_UNIT_MIB] = {"MiB", MEASURE_SIZE, 1u << 20},
	[COT_UNIT_GIB] = {"GiB", MEASURE_SIZE, 1u << 30},
	[COT_UNIT_MB_S] = {"MB/s", MEASURE_RATE, 1},
	[COT_UNIT_GB_S] = {"GB/s", MEASURE_RATE, 1000},
	[COT_UNIT_TB_S] = {"TB/s", MEASURE_RATE, 1000000},
	[COT_UNIT_MHZ] = {"MHz", MEASURE_CLOCK, 1},
	[COT_UNIT_GHZ] = {"GHz", MEASURE_CLOCK, 1000},
	[COT_UNIT_PERMILLE] = {"permille", MEASURE_PART, 1},
	[COT_UNIT_PERCENT] = {"%", MEASURE_PART, 10},
	[COT_UNIT_TIMES] = {"x", MEASURE_PART, 1000},
};

/* Digits up to the first other character, without leading zeros; NULL: none, or too many. */
static const char *read_digits(const char *text, uint64_t *value, unsigned *n_digits)
{
	const char *begin = text;

	for (; *text >= '0' && *text <= '9' && *n_digits < DIGITS_MAX; text++, ++*n_digits)
		*value = 10 * *value + (uint64_t)(*text - '0');
	return text > begin ? text : NULL;
}

/* The number is *ret_value / *ret_scale; the text goes on at the result. */
static const char *read_number(const char *text, uint64_t *ret_value, uint64_t *ret_scale)
{
	unsigned n = 0, n_whole, i;

	*ret_value = 0;
	*ret_scale = 1;
	if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
		return NULL;
	text = read_digits(text, ret_value, &n);
	if (!text || *text != '.')
		return text;
	n_whole = n;
	text = read_digits(text + 1, ret_value, &n);
	if (n - n_whole > DECIMALS_MAX)
		return NULL;
	for (i = n_whole; i < n; i++)
		*ret_scale *= 10;
	return text;
}

static enum cot_unit find(const char *word, enum cot_unit wanted)
{
	unsigned i;

	if (!*word)
		return wanted;
	for (i = COT_UNIT_NONE + 1; i < COT_N_UNITS; i++)
		if (!strcmp(word, units[i].word) && units[i].measure == units[wanted].measure)
			return (enum cot_unit)i;
	return COT_UNIT_NONE;
}

bool cot_quantity_read(const char *text, enum cot_unit wanted, struct cot_quantity *ret)
{
	const char *word;
	uint64_t value, scale;
	enum cot_unit unit;
	cot_u128 many, one;

	word = read_number(text, &value, &scale);
	unit = word ? find(word, wanted) : COT_UNIT_NONE;
	if (unit == COT_UNIT_NONE)
		return false;
	many = (cot_u128)value * units[unit].worth;
	one = (cot_u128)scale * units[wanted].worth;
	*ret = (struct cot_quantity){
		.unit = *word ? unit : COT_UNIT_NONE,
		.is_whole = !(many % one) && many / one <= UINT64_MAX,
		.number = (double)many / (double)one,
	};
	if (ret->is_whole)
		ret->whole = (uint64_t)(many / one);
	return true;
}

bool cot_quantity_whole(const char *text, enum cot_unit wanted, uint64_t min, uint64_t max,
			uint64_t *ret)
{
	struct cot_quantity q;

	if (!cot_quantity_read(text, wanted, &q) || !q.is_whole || q.whole < min || q.whole > max)
		return false;
	*ret = q.whole;
	return true;
}

const char *cot_unit_word(enum cot_unit unit)
{
	return units[unit].word;
}

const char *cot_unit_list(enum cot_unit unit, char buf[COT_UNIT_LIST_MAX])
{
	unsigned i, left = 0;
	size_t n = 0;

	for (i = 0; i < COT_N_UNITS; i++)
		left += units[i].measure == units[unit].measure;
	buf[0] = '\0';
	for (i = 0; i < COT_N_UNITS && n < COT_UNIT_LIST_MAX; i++) {
		if (units[i].measure != units[unit].measure)
			continue;
		n += (size_t)snprintf(buf + n, COT_UNIT_LIST_MAX - n, "%s%s", units[i].word,
				      left > 2	 ? ", "
				      : left > 1 ? " or "
						 : "");
		left--;
	}
	return buf;
}
