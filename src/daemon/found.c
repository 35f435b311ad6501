#include "daemon/found.h"

#include <stdio.h>
#include <string.h>

#include "base/environ.h"
#include "base/words.h"
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

/* "50%", "66sm"; nothing is no share. */
static bool read_share(const struct block *b, const char *key, uint16_t *packed)
{
	const char *value = value_of(b, key);
	struct cot_share share;

	if (!value)
		return true;
	if (!cot_share_read(value, &share))
		return false;
	*packed = cot_share_pack(share);
	return true;
}

/* False: it is wrong, or there are two. */
static bool read_target(const struct block *b, enum cot_target_kind kind, const char *key,
			struct cot_found *f)
{
	const char *value = value_of(b, key);

	return !value || !*value ||
	       (!f->target.kind && cot_target_suits(kind, f->cls) &&
		cot_target_read(kind, value, &f->target));
}

static bool read_pool(const char *text, struct cot_found *f)
{
	f->shared = text && !strcmp(text, "shared");
	return cot_class_read(f->shared ? "batch" : text, &f->cls);
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
			: cot_class_read(value_of(&b, "COTENANT_CLASS"), &f.cls)) ||
	    !read_number(&b, "COTENANT_TENANT", 1, INT32_MAX, &f.id) || !f.id ||
	    !read_number(&b, "COTENANT_WEIGHT", COT_WEIGHT_MIN, COT_WEIGHT_MAX, &f.weight) ||
	    !read_number(&b, "COTENANT_BLOCK_US", 0, COT_BLOCK_US_MAX, &f.block_us) ||
	    !read_share(&b, "COTENANT_QUOTA", &f.quota) ||
	    !read_share(&b, "COTENANT_RESERVE", &f.reserve) ||
	    !read_share(&b, "COTENANT_SMS", &f.sms) ||
	    !read_number(&b, "COTENANT_PACE_US", 0, COT_PACE_US_MAX, &f.pace_us) ||
	    !read_number(&b, "COTENANT_MEMORY_MIB", 0, COT_MEMORY_MIB_MAX, &f.memory_mib) ||
	    !read_number(&b, "COTENANT_PARTS", 0, 1, &f.parts) ||
	    !read_target(&b, COT_TARGET_P99, "COTENANT_P99", &f) ||
	    !read_target(&b, COT_TARGET_SLOWDOWN, "COTENANT_SLOWDOWN", &f) ||
	    !read_target(&b, COT_TARGET_RATE, "COTENANT_RATE", &f) ||
	    !read_number(&b, "COTENANT_COMMAND", 0, UINT32_MAX, &f.command) ||
	    !read_text(&b, "COTENANT_NAME", f.name, sizeof(f.name)) ||
	    !read_text(&b, "COTENANT_GPU", f.gpu, sizeof(f.gpu)) ||
	    !read_text(&b, "CUDA_MPS_PIPE_DIRECTORY", f.pipe, sizeof(f.pipe)))
		return false;
	text = value_of(&b, "COTENANT_REQUESTS");
	f.measured = text && *text && strcmp(text, "0") != 0;
	*ret_found = f;
	return true;
}
