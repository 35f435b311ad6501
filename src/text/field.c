#include "text/field.h"

#include <stdio.h>
#include <string.h>

#include "text/number.h"
#include "text/text.h"

/* A value that was read, in the file's unit. */
struct value {
	uint64_t whole; /* of a whole number that is not negative, a word, a bool */
	double number;
};

const struct cot_field *cot_field_find(const struct cot_field *fields, const char *key)
{
	for (; fields->key; fields++)
		if (!strcmp(fields->key, key))
			return fields;
	return NULL;
}

static bool within(const struct cot_field *f, double number)
{
	return (f->min >= 0 && f->max <= 0) || (number >= f->min && number <= f->max);
}

static bool read_whole(const struct cot_field *f, const char *text, struct value *ret)
{
	int64_t number;

	if (f->min >= 0) {
		if (!cot_number_u64(text, &ret->whole))
			return false;
		ret->number = (double)ret->whole;
	} else {
		if (!cot_number_i64(text, &number))
			return false;
		ret->number = (double)number;
	}
	return within(f, ret->number);
}

static bool read_word(const struct cot_field *f, const char *text, struct value *ret)
{
	const struct cot_field_word *word;

	for (word = f->words; word->text; word++)
		if (!strcmp(word->text, text)) {
			ret->whole = word->value;
			return true;
		}
	return false;
}

static bool read_bool(const char *text, struct value *ret)
{
	ret->whole = !strcmp(text, "true");
	return ret->whole || !strcmp(text, "false");
}

static size_t text_max(const struct cot_field *f)
{
	return f->max > 0 ? (size_t)f->max : f->size - 1;
}

/* "5ms", of a field that says in what a number alone is. */
static bool read_with_unit(const struct cot_field *f, const char *text, struct value *ret)
{
	struct cot_quantity q;

	if (f->in == COT_UNIT_NONE || !cot_quantity_read(text, f->in, &q) ||
	    (f->kind == COT_FIELD_WHOLE && !q.is_whole))
		return false;
	*ret = (struct value){.whole = q.whole, .number = q.number};
	return within(f, ret->number);
}

static bool read_value(const struct cot_field *f, const char *text, struct value *ret)
{
	switch (f->kind) {
	case COT_FIELD_WHOLE:
		return read_whole(f, text, ret) || read_with_unit(f, text, ret);
	case COT_FIELD_NUMBER:
		return (cot_number_double(text, &ret->number) && within(f, ret->number)) ||
		       read_with_unit(f, text, ret);
	case COT_FIELD_TEXT:
		return *text && strlen(text) <= text_max(f);
	case COT_FIELD_WORD:
		return read_word(f, text, ret);
	case COT_FIELD_BOOL:
		return read_bool(text, ret);
	default:
		return false;
	}
}

/* A unit below 1 divides by what it is one of: a thousandth is exact, 0.001 is not. */
static double in_unit(const struct cot_field *f, double number)
{
	if (f->unit <= 0)
		return number;
	return f->unit < 1 ? number / (1 / f->unit) : number * f->unit;
}

static uint64_t whole_in_unit(const struct cot_field *f, const struct value *v)
{
	if (f->kind == COT_FIELD_NUMBER)
		return (uint64_t)(in_unit(f, v->number) + 0.5);
	return f->unit > 1 ? v->whole * (uint64_t)f->unit : v->whole;
}

static void store(const struct cot_field *f, const struct value *v, uint32_t i, void *out)
{
	char *at = (char *)out + f->at;

	if (f->list)
		at += i * (f->size / f->list);
	switch (f->to) {
	case COT_TO_U16:
		*(uint16_t *)(void *)at = (uint16_t)whole_in_unit(f, v);
		break;
	case COT_TO_U32:
		*(uint32_t *)(void *)at = (uint32_t)whole_in_unit(f, v);
		break;
	case COT_TO_U64:
		*(uint64_t *)(void *)at = whole_in_unit(f, v);
		break;
	case COT_TO_I32:
		*(int32_t *)(void *)at = (int32_t)v->number;
		break;
	case COT_TO_DOUBLE:
		*(double *)(void *)at = in_unit(f, v->number);
		break;
	case COT_TO_BOOL:
		*(bool *)at = v->whole != 0;
		break;
	default:
		break;
	}
}

bool cot_field_read(const struct cot_field *f, const char *text, uint32_t i, void *out)
{
	struct value v = {0};

	if (!read_value(f, text, &v))
		return false;
	if (!out)
		return true;
	if (f->to == COT_TO_CHARS)
		memcpy((char *)out + f->at, text, strlen(text) + 1);
	else
		store(f, &v, i, out);
	return true;
}

bool cot_field_put(const struct cot_field *f, double number, void *out)
{
	struct value v = {.number = number};

	if (!within(f, number))
		return false;
	if (f->kind == COT_FIELD_WHOLE) {
		v.whole = (uint64_t)number;
		if (number - (double)v.whole > 0)
			return false;
	}
	store(f, &v, 0, out);
	return true;
}

void cot_field_default(const struct cot_field *f, void *out)
{
	const struct value v = {.whole = (uint64_t)f->otherwise, .number = f->otherwise};

	if (f->otherwise > 0)
		store(f, &v, 0, out);
}

static const char *expected_number(const struct cot_field *f, char *buf, size_t size)
{
	const char *whole = f->kind == COT_FIELD_WHOLE ? "whole " : "";
	char units[COT_UNIT_LIST_MAX];
	size_t n;

	if (f->min >= 0 && f->max <= 0)
		(void)snprintf(buf, size, "a %snumber%s", whole,
			       *whole ? " from 0 to 18446744073709551615" : "");
	else
		(void)cot_number_expected(*whole != '\0', f->min, f->max, buf);
	n = strlen(buf);
	if (f->in != COT_UNIT_NONE)
		(void)snprintf(buf + n, size - n, " in %s, or with a unit (%s)",
			       cot_unit_word(f->in), cot_unit_list(f->in, units));
	return buf;
}

const char *cot_field_expected(const struct cot_field *f, char buf[COT_FIELD_EXPECTED_MAX])
{
	const size_t size = COT_FIELD_EXPECTED_MAX;
	const struct cot_field_word *word = f->words;
	char list[COT_FIELD_EXPECTED_MAX - 16] = "";

	switch (f->kind) {
	case COT_FIELD_TEXT:
		(void)snprintf(buf, size, "text of 1 to %zu bytes", text_max(f));
		return buf;
	case COT_FIELD_WORD:
		for (; word->text; word++)
			cot_text_add_word(list, sizeof(list), word->text);
		(void)snprintf(buf, size, "%s%s", f->words[1].text ? "one of " : "", list);
		return buf;
	case COT_FIELD_BOOL:
		return "true or false";
	default:
		return expected_number(f, buf, size);
	}
}
