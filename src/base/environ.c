#include "base/environ.h"

#include <string.h>

const char *cot_environ_value(const char *block, size_t size, const char *key)
{
	const char *p = block, *end = block + size, *stop;
	size_t n = strlen(key);

	for (; p < end; p = stop + 1) {
		stop = memchr(p, '\0', (size_t)(end - p));
		if (!stop)
			return NULL;
		if ((size_t)(stop - p) > n && !memcmp(p, key, n) && p[n] == '=')
			return p + n + 1;
	}
	return NULL;
}
