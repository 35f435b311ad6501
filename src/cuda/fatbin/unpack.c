/* The raw text of an entry. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <lz4.h>
#include <zstd.h>

#include "cuda/fatbin/fatbin.h"

static bool unpack_lz4(const struct cot_fatbin_entry *e, char *to, size_t size, size_t *ret_n)
{
	int n;

	if (e->n_bytes > INT_MAX || size > INT_MAX)
		return false;
	n = LZ4_decompress_safe((const char *)e->bytes, to, (int)e->n_bytes, (int)size);
	if (n < 0)
		return false;
	*ret_n = (size_t)n;
	return true;
}

static bool unpack_zstd(const struct cot_fatbin_entry *e, char *to, size_t size, size_t *ret_n)
{
	size_t n = ZSTD_decompress(to, size, e->bytes, e->n_bytes);

	if (ZSTD_isError(n))
		return false;
	*ret_n = n;
	return true;
}

static int unpack(const struct cot_fatbin_entry *e, char *to, size_t size, size_t *ret_n,
		  struct cot_error *err)
{
	bool good;

	switch (e->packing) {
	case COT_FATBIN_RAW:
		memcpy(to, e->bytes, e->n_bytes);
		*ret_n = e->n_bytes;
		return 0;
	case COT_FATBIN_LZ4:
		good = unpack_lz4(e, to, size, ret_n);
		break;
	case COT_FATBIN_ZSTD:
		good = unpack_zstd(e, to, size, ret_n);
		break;
	default:
		return cot_error_set(err, -EBADMSG,
				     "fat binary: an entry is packed in a way that is not known; "
				     "expected LZ4 or zstd");
	}
	if (!good)
		return cot_error_set(
			err, -EBADMSG,
			"fat binary: what is packed for compute capability %u cannot be unpacked",
			e->arch);
	return 0;
}

/* One byte more is there than is said, for the zero behind a text. */
int cot_fatbin_unpack(const struct cot_fatbin_entry *e, void **ret_bytes, size_t *ret_n,
		      struct cot_error *err)
{
	uint64_t size = e->packing == COT_FATBIN_RAW ? e->n_bytes : e->raw_bytes;
	char *bytes;
	int rc;

	if (size > COT_FATBIN_MAX_TEXT)
		return cot_error_set(err, -E2BIG, "fat binary: an entry of %llu bytes is too long",
				     (unsigned long long)size);
	bytes = malloc((size_t)size + 1);
	if (!bytes)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = unpack(e, bytes, (size_t)size, ret_n, err);
	if (rc) {
		free(bytes);
		return rc;
	}
	*ret_bytes = bytes;
	return 0;
}

int cot_fatbin_text(const struct cot_fatbin_entry *e, char **ret_text, size_t *ret_length,
		    struct cot_error *err)
{
	void *bytes = NULL;
	size_t n = 0;
	char *text;
	int rc = cot_fatbin_unpack(e, &bytes, &n, err);

	if (rc)
		return rc;
	text = bytes;
	while (n && !text[n - 1])
		n--;
	text[n] = '\0';
	*ret_text = text;
	*ret_length = n;
	return 0;
}
