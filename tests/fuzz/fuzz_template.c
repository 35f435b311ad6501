/*
 * A file of the store of rewritten modules, with a checksum that is right, so that what is behind
 * it is read. The units are in a shared library, so their sources are here.
 */
#include "guest/shim/rewrite.c"
#include "guest/shim/template.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void cot_shim_count_why(enum cot_shim_why why)
{
	(void)why;
}

void cot_shim_count_refused(unsigned reason)
{
	(void)reason;
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

/* What is read can be written, and is the same bytes. */
static void write_again(const struct cot_shim_rewritten *r, const char *key,
			const unsigned char *bytes, size_t n)
{
	unsigned char *again;
	size_t n_again;

	if (cot_shim_template_write(r, key, &again, &n_again))
		abort();
	if (n_again != n || memcmp(again, bytes, n) != 0)
		abort();
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char key[COT_SHA256_TEXT], sum[COT_SHA256_TEXT];
	struct cot_shim_rewritten r;
	unsigned char *bytes;
	size_t n = BODY_AT + size;

	if (n > COT_SHIM_STORE_FILE_BYTES)
		return 0;
	bytes = malloc(n);
	if (!bytes)
		return 0;
	(void)cot_shim_template_key("", 0, 84, 90, key);
	memcpy(bytes, MAGIC, MAGIC_BYTES);
	memcpy(bytes + KEY_AT, key, KEY_BYTES);
	if (size)
		memcpy(bytes + BODY_AT, data, size);
	memcpy(bytes + SUM_AT, cot_sha256(bytes + KEY_AT, n - KEY_AT, sum), KEY_BYTES);
	if (!cot_shim_template_read(bytes, n, key, &r)) {
		write_again(&r, key, bytes, n);
		cot_shim_rewritten_finish(&r);
	}
	free(bytes);
	return 0;
}
