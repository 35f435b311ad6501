/* Files of recordings: zlib unpacks those that are packed and hands on the others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "record/record.h"

#define CHUNK (1u << 20)

static int take(gzFile in, const char *path, char **ret_bytes, size_t *ret_size,
		struct cot_error *err)
{
	char *bytes = NULL, *more;
	size_t size = 0, room = 0;
	int n = 0;

	do {
		size += (size_t)n;
		if (size > COT_RECORD_SIZE_MAX) {
			free(bytes);
			return cot_error_set(err, -EINVAL,
					     "%s: the file is too large; expected at most 256 MiB",
					     path);
		}
		if (room - size < CHUNK) {
			room = room ? 2 * room : 2 * CHUNK;
			more = realloc(bytes, room);
			if (!more) {
				free(bytes);
				return cot_error_set(err, -ENOMEM, "%s: out of memory", path);
			}
			bytes = more;
		}
		n = gzread(in, bytes + size, CHUNK);
	} while (n > 0);
	/* A packed file that is cut ends without an error of gzread(). */
	if (n < 0 || gzclose_r(in) != Z_OK) {
		if (n < 0)
			(void)gzclose_r(in);
		free(bytes);
		return cot_error_set(err, -EINVAL, "%s: the file is damaged; expected a recording",
				     path);
	}
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

int cot_record_read(const char *path, struct cot_record *ret, char ret_sha256[COT_SHA256_TEXT],
		    struct cot_error *err)
{
	char *bytes = NULL;
	size_t size = 0;
	gzFile in;
	int rc;

	errno = 0;
	in = gzopen(path, "rbe");
	if (!in)
		return errno ? cot_error_set(err, -errno, "cannot read %s: %s", path,
					     strerror(errno))
			     : cot_error_set(err, -ENOMEM, "out of memory");
	rc = take(in, path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = cot_record_parse(path, bytes, size, ret, err);
	if (!rc && ret_sha256)
		(void)cot_sha256(bytes, size, ret_sha256);
	free(bytes);
	return rc;
}
