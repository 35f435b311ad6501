/*
 * One row for each thing that a file may say, a key of a YAML map or a column of a CSV: its name,
 * what is written there and within which limits, and where that goes in which struct and unit.
 *
 *     #define GPU(key, member, ...) COT_FIELD(key, struct gpu, member, __VA_ARGS__)
 *     static const struct cot_field gpu_fields[] = {
 *             GPU("sms", n_sms, COT_WHOLE(1, 1024), .required = true),
 *             GPU("trap_us", trap_ps, COT_NUMBER(0, 1e6), .in = COT_UNIT_US, .unit =
 * COT_PS_PER_US), {0},
 *     };
 *
 * Pure.
 */
#ifndef COT_TEXT_FIELD_H
#define COT_TEXT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quantity.h"

enum cot_field_kind {
	COT_FIELD_WHOLE,
	COT_FIELD_NUMBER,
	COT_FIELD_TEXT,
	COT_FIELD_WORD, /* one of `words` */
	COT_FIELD_BOOL, /* true or false */
	COT_FIELD_MAP,	/* of the keys `fields` */
};

/* The type of the struct's member. */
enum cot_field_to {
	COT_TO_NOTHING, /* the value is only checked; the reader looks at it */
	COT_TO_U16,
	COT_TO_U32, /* and enums */
	COT_TO_U64,
	COT_TO_I32,
	COT_TO_DOUBLE,
	COT_TO_BOOL,
	COT_TO_CHARS,
};

struct cot_field_word {
	const char *text; /* NULL ends a table */
	uint32_t value;
};

struct cot_field {
	const char *key; /* NULL ends a table */
	enum cot_field_kind kind;
	bool required;
	bool blank; /* the cell of a CSV may be empty: then the member stays as it is */
	/* Where the map around is wanted, this value may stand for it: {preset: k20c} is written
	 * as k20c, {sync: true} as sync. One row of a table. */
	bool alone;
	/* Of a number; both 0: no limits, for 64 bits only. Text has 1 to `max` bytes, or as many
	 * as its member holds. */
	double min, max;
	enum cot_unit
		in;  /* a number alone is in this unit; others like it may be written behind it */
	double unit; /* the number is multiplied by it; 0: by 1; 0.001 divides by 1000 */
	double otherwise; /* the number where the key is left out; 0: the member stays as it is */
	uint32_t list;	  /* this is a list, of 1 to so many such values; 0: it is none */
	/* The keys of a map go into the same struct as the map around it; where the map is an entry
	 * of a list, into the list's array entry. */
	const struct cot_field *fields;
	const struct cot_field_word *words;
	enum cot_field_to to;
	size_t at, size; /* of the member; of an array: all of it */
};

/* The row of a key that goes into a member, and of one that does not. */
#define COT_FIELD(key_, type_, member_, ...)                                                       \
	{                                                                                          \
		.key = (key_), .to = COT_FIELD_TO(((type_ *)0)->member_),                          \
		.at = offsetof(type_, member_), .size = sizeof(((type_ *)0)->member_), __VA_ARGS__ \
	}
#define COT_FIELD_CHECKED(key_, ...)       \
	{                                  \
		.key = (key_), __VA_ARGS__ \
	}

#define COT_WHOLE(min_, max_)  .kind = COT_FIELD_WHOLE, .min = (min_), .max = (max_)
#define COT_NUMBER(min_, max_) .kind = COT_FIELD_NUMBER, .min = (min_), .max = (max_)
#define COT_TEXT	       .kind = COT_FIELD_TEXT
#define COT_TEXT_TO(max_)      .kind = COT_FIELD_TEXT, .max = (max_)
#define COT_WORD(words_)       .kind = COT_FIELD_WORD, .words = (words_)
#define COT_BOOL	       .kind = COT_FIELD_BOOL
#define COT_MAP(fields_)       .kind = COT_FIELD_MAP, .fields = (fields_)

/* clang-format off */
#define COT_FIELD_TO(member_) _Generic((member_),                                        \
	uint16_t: COT_TO_U16, uint32_t: COT_TO_U32, uint64_t: COT_TO_U64, int32_t: COT_TO_I32, \
	double: COT_TO_DOUBLE, bool: COT_TO_BOOL, char *: COT_TO_CHARS,                   \
	uint16_t *: COT_TO_U16, uint32_t *: COT_TO_U32,                             \
	uint64_t *: COT_TO_U64, double *: COT_TO_DOUBLE, default: COT_TO_NOTHING)
/* clang-format on */

/* The row of that name; NULL. */
const struct cot_field *cot_field_find(const struct cot_field *fields, const char *key);

/*
 * Reads one value (not a map) and puts it into the member of *out, which may be NULL. The value is
 * entry i of a list, else i is 0. False, and nothing is written, when it is none such.
 */
bool cot_field_read(const struct cot_field *f, const char *text, uint32_t i, void *out);

/* The same of a number that was no text. f is WHOLE, with limits from 0 up, or NUMBER; not a list.
 */
bool cot_field_put(const struct cot_field *f, double number, void *out);

/* The value if the key is left out. */
void cot_field_default(const struct cot_field *f, void *out);

/* What was expected, for a message: "a whole number from 1 to 8", "one of red, green". */
#define COT_FIELD_EXPECTED_MAX 336
const char *cot_field_expected(const struct cot_field *f, char buf[COT_FIELD_EXPECTED_MAX]);

#endif
