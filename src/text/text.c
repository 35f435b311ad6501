#include "text/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_CHUNK 65536u

const char *cot_text_quote(const char *text, char buf[COT_QUOTE_MAX])
{
	size_t n = strlen(text);

	if (n < COT_QUOTE_MAX) {
		memcpy(buf, text, n + 1);
		return buf;
	}
	n = COT_QUOTE_MAX - 4;
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--; /* not in the middle of a character */
	memcpy(buf, text, n);
	memcpy(buf + n, "...", 4);
	return buf;
}

void cot_text_add_word(char *list, size_t size, const char *word)
{
	size_t n = strlen(list);

	(void)snprintf(list + n, size - n, "%s%s", n ? ", " : "", word);
}

static int read_stream(FILE *in, const char *path, char **ret_bytes, size_t *ret_size,
		       struct cot_error *err)
{
	char *bytes = NULL, *bigger;
	size_t size = 0, got;

	do {
		bigger = realloc(bytes, size + READ_CHUNK);
		if (!bigger) {
			free(bytes);
			return cot_error_set(err, -ENOMEM, "%s: out of memory", path);
		}
		bytes = bigger;
		got = fread(bytes + size, 1, READ_CHUNK, in);
		size += got;
	} while (got == READ_CHUNK && size <= COT_TEXT_SIZE_MAX);
	if (ferror(in)) {
		int code = errno ? -errno : -EIO;

		free(bytes);
		return cot_error_set(err, code, "%s: cannot read: %s", path, strerror(-code));
	}
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

int cot_text_read(const char *path, char **ret_bytes, size_t *ret_size, struct cot_error *err)
{
	FILE *in;
	int rc;

	if (!strcmp(path, "-"))
		return read_stream(stdin, "stdin", ret_bytes, ret_size, err);
	in = fopen(path, "rbe");
	if (!in) {
		int code = -errno;

		return cot_error_set(err, code, "%s: cannot open: %s", path, strerror(-code));
	}
	rc = read_stream(in, path, ret_bytes, ret_size, err);
	(void)fclose(in);
	return rc;
}

static bool is_continuation(const unsigned char *s, size_t left, size_t n)
{
	size_t i;

	if (left < n)
		return false;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

/* Length of the character at s, or 0 when it is not one that text may hold. */
static size_t char_length(const unsigned char *s, size_t left)
{
	uint32_t c;

	if (s[0] < 0x80)
		return s[0] == '\t' || s[0] == '\n' || s[0] == '\r' ||
		       (s[0] >= 0x20 && s[0] != 0x7f);
	if (s[0] >= 0xc2 && s[0] < 0xe0 && is_continuation(s, left, 2)) {
		c = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
		return c >= 0xa0 ? 2 : 0;
	}
	if (s[0] >= 0xe0 && s[0] < 0xf0 && is_continuation(s, left, 3)) {
		c = (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
		if (c < 0x800 || (c >= 0xd800 && c < 0xe000) || c == 0x2028 || c == 0x2029)
			return 0;
		return c == 0xfeff || c >= 0xfffe ? 0 : 3;
	}
	if (s[0] >= 0xf0 && s[0] < 0xf5 && is_continuation(s, left, 4)) {
		c = (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6;
		return c >= 0x10000 && c < 0x110000 ? 4 : 0;
	}
	return 0;
}

size_t cot_text_bom(const char *bytes, size_t size)
{
	return size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
}

int cot_text_check(const char *name, const char *bytes, size_t size, struct cot_error *err)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t i = cot_text_bom(bytes, size), n;
	unsigned line = 1, col = 1;

	if (size > COT_TEXT_SIZE_MAX)
		return cot_error_set(err, -EINVAL,
				     "%s: the file is too large; expected at most %u MiB", name,
				     COT_TEXT_SIZE_MAX >> 20);
	for (; i < size; i += n) {
		n = char_length(s + i, size - i);
		if (!n)
			return cot_error_set(err, -EINVAL,
					     "%s:%u:%u: byte 0x%02x is not text; expected UTF-8 "
					     "without control characters",
					     name, line, col, s[i]);
		col++;
		if (s[i] == '\n') {
			line++;
			col = 1;
		}
	}
	return 0;
}

int cot_text_beside(const char *base, const char *name, char ret_path[COT_PATH_MAX],
		    struct cot_error *err)
{
	const char *slash = strrchr(base, '/');
	int folder = slash && name[0] != '/' ? (int)(slash - base + 1) : 0;
	int n = snprintf(ret_path, COT_PATH_MAX, "%.*s%s", folder, base, name);

	if (n < 0 || n >= COT_PATH_MAX)
		return cot_error_set(err, -ENAMETOOLONG, "%s: the path of '%.40s' is too long",
				     base, name);
	return 0;
}
