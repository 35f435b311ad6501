#include "daemon/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/basis.h"
#include "daemon/mps.h"
#include "daemon/tenant.h"

_Static_assert(COT_ENVIRONMENT_VALUE_MAX >= COT_PATH_TEXT_MAX, "a path is a value, too");

static void put(struct cot_environment *b, const char *key, const char *fmt, ...) COT_PRINTF(3, 4);

static void put(struct cot_environment *b, const char *key, const char *fmt, ...)
{
	char value[COT_ENVIRONMENT_VALUE_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	b->used += (size_t)snprintf(b->text + b->used, sizeof(b->text) - b->used, "%s=%s", key,
				    value) +
		   1;
}

static void put_share(struct cot_environment *b, const char *key, uint16_t share)
{
	char word[COT_SHARE_WORD_MAX];

	if (share)
		put(b, key, "%s", cot_share_word(cot_share_unpack(share), word));
}

/* The variables are called as the options. */
static void put_target(struct cot_environment *b, struct cot_target target)
{
	static const char *const keys[] = {NULL, "COTENANT_P99", "COTENANT_SLOWDOWN",
					   "COTENANT_RATE"};
	char word[COT_TARGET_WORD_MAX];

	if (target.kind)
		put(b, keys[target.kind], "%s", cot_target_word(target, word));
}

void cot_environment_write(const struct basis *b, const struct tenant *t, const char *gpu,
			   const char *note, struct cot_environment *ret_env)
{
	struct cot_environment *e = ret_env;
	char visible[COT_ENVIRONMENT_VALUE_MAX];

	e->used = 0;
	put(e, "COTENANT_SOCKET", "%s", b->socket_path);
	put(e, "COTENANT_TENANT", "%u", t->id);
	put(e, "COTENANT_CLASS", "%s", cot_class_words[t->cls]);
	put(e, "COTENANT_NAME", "%s", t->name);
	put(e, "COTENANT_WEIGHT", "%u", t->weight);
	put(e, "COTENANT_BLOCK_US", "%u", t->block_us);
	put_share(e, "COTENANT_QUOTA", t->quota);
	put_share(e, "COTENANT_RESERVE", t->reserve);
	put_share(e, "COTENANT_SMS", t->sms);
	if (t->pace_us)
		put(e, "COTENANT_PACE_US", "%u", t->pace_us);
	if (t->memory_mib)
		put(e, "COTENANT_MEMORY_MIB", "%u", t->memory_mib);
	if (t->parts)
		put(e, "COTENANT_PARTS", "1");
	put_target(e, t->target);
	if (t->measured)
		put(e, "COTENANT_REQUESTS", "1");
	if (t->command)
		put(e, "COTENANT_COMMAND", "%u", t->command);
	if (t->pool)
		(void)cot_mps_environment(t->pool, e->text, sizeof(e->text), &e->used);
	cot_gpus_visible(&b->gpus, t->gpu_mask, visible, sizeof(visible));
	put(e, "COTENANT_GPU", "%s", visible);
	if (!t->pool && (*gpu || b->gpus.n > 1) && strcmp(gpu, "all") != 0)
		put(e, "CUDA_VISIBLE_DEVICES", "%s", visible);
	if (note)
		put(e, "COTENANT_NOTE", "%s", note);
}
