#include "text/json.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

static _Atomic uint32_t n_failed;

static void *take(size_t size)
{
	void *p = malloc(size);

	if (!p)
		atomic_fetch_add(&n_failed, 1);
	return p;
}

void cot_json_count(void)
{
	json_set_alloc_funcs(take, free);
}

bool cot_json_whole(void)
{
	return !atomic_exchange(&n_failed, 0);
}

static bool read_member(const struct cot_field *f, const json_t *value, void *out)
{
	const char *text = json_string_value(value);

	if (f->kind == COT_FIELD_WHOLE || f->kind == COT_FIELD_NUMBER)
		return json_is_number(value) && cot_field_put(f, json_number_value(value), out);
	if (!text || strlen(text) != json_string_length(value))
		return false;
	return (!*text && !f->required) || cot_field_read(f, text, 0, out);
}

static const char *found(const json_t *value, char *buf, size_t size)
{
	char quote[COT_QUOTE_MAX];

	if (json_is_number(value))
		(void)snprintf(buf, size, "%.10g", json_number_value(value));
	else if (json_is_string(value))
		(void)snprintf(buf, size, "'%s'", cot_text_quote(json_string_value(value), quote));
	else
		(void)snprintf(buf, size, "%s",
			       json_is_array(value)    ? "a list"
			       : json_is_object(value) ? "an object"
						       : "no value");
	return buf;
}

int cot_json_fill(const char *name, unsigned line, const json_t *object,
		  const struct cot_field *fields, void *out, struct cot_error *err)
{
	char expected[COT_FIELD_EXPECTED_MAX], buf[COT_QUOTE_MAX + 2];
	const struct cot_field *f;
	const json_t *value;

	for (f = fields; f->key; f++) {
		value = json_object_get(object, f->key);
		if (!value && f->required)
			return cot_error_set(err, -EINVAL,
					     "%s:%u: the key '%s' is missing; expected %s", name,
					     line, f->key, cot_field_expected(f, expected));
		if (!value)
			cot_field_default(f, out);
		else if (!read_member(f, value, out))
			return cot_error_set(err, -EINVAL, "%s:%u: '%s' is %s; expected %s", name,
					     line, f->key, found(value, buf, sizeof(buf)),
					     cot_field_expected(f, expected));
	}
	return 0;
}
