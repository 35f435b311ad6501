#include "daemon/lesson_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text/number.h"

#define HEAD	 "cotenant lessons 1\n"
#define N_VALUES 6u
#define N_FIELDS (2u + N_VALUES)

size_t cot_lesson_text_write(const struct cot_lesson *lessons, uint32_t n,
			     char ret_text[COT_LESSON_TEXT_MAX])
{
	size_t used = (size_t)snprintf(ret_text, COT_LESSON_TEXT_MAX, HEAD);
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		used += (size_t)snprintf(ret_text + used, COT_LESSON_TEXT_MAX - used,
					 "%" PRIu64 " %" PRIu32, lessons[i].key, lessons[i].kind);
		for (k = 0; k < N_VALUES; k++)
			used += (size_t)snprintf(ret_text + used, COT_LESSON_TEXT_MAX - used,
						 " %" PRIu32, lessons[i].value[k]);
		used += (size_t)snprintf(ret_text + used, COT_LESSON_TEXT_MAX - used, "\n");
	}
	return used;
}

/* The number in front of `end`, a blank or the end of the line; then what comes behind it. */
static bool take_number(const char **at, const char *end_of_line, bool last, uint64_t max,
			uint64_t *ret_number)
{
	const char *end = memchr(*at, ' ', (size_t)(end_of_line - *at));
	char word[24];
	size_t n;

	if (last != !end)
		return false;
	n = (size_t)((last ? end_of_line : end) - *at);
	if (n >= sizeof(word))
		return false;
	memcpy(word, *at, n);
	word[n] = '\0';
	*at = last ? end_of_line : end + 1;
	return strlen(word) == n && cot_number_u64(word, ret_number) && *ret_number <= max;
}

static bool take_line(const char *line, const char *end, struct cot_lesson *ret)
{
	uint64_t numbers[N_FIELDS];
	uint32_t i;

	for (i = 0; i < N_FIELDS; i++)
		if (!take_number(&line, end, i == N_FIELDS - 1, i ? UINT32_MAX : UINT64_MAX,
				 &numbers[i]))
			return false;
	ret->key = numbers[0];
	ret->kind = (uint32_t)numbers[1];
	for (i = 0; i < N_VALUES; i++)
		ret->value[i] = (uint32_t)numbers[2 + i];
	return ret->key != 0;
}

int cot_lesson_text_read(const char *text, size_t size, struct cot_lesson ret[COT_LESSONS_MAX],
			 uint32_t *ret_n, struct cot_error *err)
{
	const char *at = text + strlen(HEAD), *end = text + size, *line_end;
	uint32_t n = 0;

	if (size < strlen(HEAD) || memcmp(text, HEAD, strlen(HEAD)) != 0)
		return cot_error_set(err, -EINVAL, "line 1: expected 'cotenant lessons 1'");
	for (; at < end; at = line_end + 1, n++) {
		line_end = memchr(at, '\n', (size_t)(end - at));
		if (n == COT_LESSONS_MAX)
			return cot_error_set(err, -EINVAL, "line %u: expected at most %u lessons",
					     n + 2, COT_LESSONS_MAX);
		if (!line_end || !take_line(at, line_end, &ret[n]))
			return cot_error_set(
				err, -EINVAL,
				"line %u: expected a key that is not 0, a kind and six values",
				n + 2);
	}
	*ret_n = n;
	return 0;
}
