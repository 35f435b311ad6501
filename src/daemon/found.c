#include "daemon/found.h"

#include <stdio.h>
#include <string.h>

#include "base/environ.h"
#include "text/number.h"

struct block {
	const char *text;
	size_t size;
};

static const char *value_of(const struct block *b, const char *key)
{
	return cot_environ_value(b->text, b->size, key);
}

/* False: it is there, and wrong. */
static bool read_number(const struct block *b, const char *key, uint32_t least, uint32_t most,
			uint32_t *number)
{
	const char *text = value_of(b, key);
	uint64_t x;

	if (!text || !*text)
		return true;
	if (!cot_number_u64(text, &x) || x < least || x > most)
		return false;
	*number = (uint32_t)x;
	return true;
}

static bool read_text(const struct block *b, const char *key, char *text, size_t size)
{
	const char *value = value_of(b, key);

	return !value || snprintf(text, size, "%s", value) < (int)size;
}

static bool read_class(const char *text, enum cot_class *cls)
{
	if (!text)
		return false;
	*cls = strcmp(text, "latency") ? COT_CLASS_BATCH : COT_CLASS_LATENCY;
	return *cls == COT_CLASS_LATENCY || !strcmp(text, "batch");
}

/* "50%", "66sm"; nothing is no share. */
static bool read_share(const struct block *b, const char *key, uint16_t *share)
{
	const char *value = value_of(b, key);
	uint16_t sms, pct;

	if (!value)
		return true;
	if (!cot_number_share(value, COT_PROTO_SMS_MAX, &sms, &pct))
		return false;
	*share = pct ? pct : (uint16_t)(sms | COT_SHARE_SMS);
	return true;
}

static bool read_pool(const char *text, struct cot_found *f)
{
	f->shared = text && !strcmp(text, "shared");
	return read_class(f->shared ? "batch" : text, &f->cls);
}

bool cot_found_parse(const char *block, size_t size, const char *socket_path,
		     struct cot_found *ret_found)
{
	struct cot_found f = {.weight = COT_WEIGHT_DEFAULT};
	struct block b = {block, size};
	const char *text = value_of(&b, "COTENANT_SOCKET");

	if (!text || strcmp(text, socket_path) != 0)
		return false;
	text = value_of(&b, "COTENANT_ROLE");
	f.is_pool = text && !strcmp(text, "pool");
	if (!(f.is_pool ? read_pool(value_of(&b, "COTENANT_POOL"), &f)
			: read_class(value_of(&b, "COTENANT_CLASS"), &f.cls)) ||
	    !read_number(&b, "COTENANT_TENANT", 1, INT32_MAX, &f.id) || !f.id ||
	    !read_number(&b, "COTENANT_WEIGHT", COT_WEIGHT_MIN, COT_WEIGHT_MAX, &f.weight) ||
	    !read_number(&b, "COTENANT_BLOCK_US", 0, COT_BLOCK_US_MAX, &f.block_us) ||
	    !read_share(&b, "COTENANT_QUOTA", &f.quota) ||
	    !read_share(&b, "COTENANT_RESERVE", &f.reserve) ||
	    !read_text(&b, "COTENANT_NAME", f.name, sizeof(f.name)) ||
	    !read_text(&b, "COTENANT_GPU", f.gpu, sizeof(f.gpu)) ||
	    !read_text(&b, "CUDA_MPS_PIPE_DIRECTORY", f.pipe, sizeof(f.pipe)))
		return false;
	*ret_found = f;
	return true;
}
