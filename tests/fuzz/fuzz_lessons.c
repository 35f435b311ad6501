/* The file of lessons: whatever the bytes are, it is refused with a sentence, or written again it
 * is the same text. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/lesson_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cot_lesson lessons[COT_LESSONS_MAX];
	static char again[COT_LESSON_TEXT_MAX];
	/* A copy of just this size, so that a sanitizer sees a byte read beyond. */
	char *text = malloc(size ? size : 1);
	struct cot_error err = {""};
	uint32_t n, i;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	if (cot_lesson_text_read(text, size, lessons, &n, &err)) {
		REQUIRE(err.text[0]);
	} else {
		REQUIRE(n <= COT_LESSONS_MAX);
		for (i = 0; i < n; i++)
			REQUIRE(lessons[i].key);
		REQUIRE(cot_lesson_text_write(lessons, n, again) == size);
		REQUIRE(!memcmp(again, text, size));
	}
	free(text);
	return 0;
}
