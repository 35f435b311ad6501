/*
 * A number with its unit, as people write it: "5ms", "1.5s", "2KiB", "4.8TB/s". Exact: no number
 * between the text and a whole result is rounded. Pure.
 */
#ifndef COT_BASE_QUANTITY_H
#define COT_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

enum cot_unit {
	COT_UNIT_NONE,
	/* times */
	COT_UNIT_NS,
	COT_UNIT_US,
	COT_UNIT_MS,
	COT_UNIT_S,
	COT_UNIT_MIN,
	COT_UNIT_H,
	/* sizes: kB is 1000 bytes, KiB 1024 */
	COT_UNIT_B,
	COT_UNIT_KB,
	COT_UNIT_MB,
	COT_UNIT_GB,
	COT_UNIT_TB,
	COT_UNIT_KIB,
	COT_UNIT_MIB,
	COT_UNIT_GIB,
	/* rates of bytes */
	COT_UNIT_MB_S,
	COT_UNIT_GB_S,
	COT_UNIT_TB_S,
	/* clocks */
	COT_UNIT_MHZ,
	COT_UNIT_GHZ,
	/* parts and multiples of one */
	COT_UNIT_PERMILLE,
	COT_UNIT_PERCENT,
	COT_UNIT_TIMES,
	COT_N_UNITS,
};

struct cot_quantity {
	enum cot_unit unit; /* as written; NONE: there was none, and the wanted one was taken */
	bool is_whole;
	uint64_t whole; /* the number if it is_whole */
	double number;
};

/* Reads a number of digits, perhaps with decimals, and right behind it its unit, or none; the
 * result is in the unit that is wanted. False for everything else. */
bool cot_quantity_read(const char *text, enum cot_unit wanted, struct cot_quantity *ret);

/* A whole number of the wanted unit from `min` to `max`, with or without a unit. */
bool cot_quantity_whole(const char *text, enum cot_unit wanted, uint64_t min, uint64_t max,
			uint64_t *ret);

/* "us". */
const char *cot_unit_word(enum cot_unit unit);

/* All that count the same, for messages: "ns, us, ms, s, min or h". */
#define COT_UNIT_LIST_MAX 64
const char *cot_unit_list(enum cot_unit unit, char buf[COT_UNIT_LIST_MAX]);

#endif
