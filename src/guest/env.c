#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/words.h"
#include "guest/env.h"

#define MERGE_US_DEFAULT	50u
#define MERGE_US_MAX		100000u
#define WAIT_MS_DEFAULT		10000u
#define BACKEND_DEAD_MS_DEFAULT 30000u
#define CPU_WAIT_MS_DEFAULT	10u
#define WAIT_MS_MAX		3600000u
#define SLICE_US_MAX		1000000u /* without a daemon; more than it gives */

/* A whole decimal number up to max; false, and counted, when it is anything else. */
static bool read_number(struct cot_settings *s, const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t x = 0;
	const char *p = text;

	if (!text || !*text)
		return false;
	for (; *p >= '0' && *p <= '9' && x <= max; p++)
		x = x * 10 + (uint64_t)(*p - '0');
	if (*p || x > max) {
		s->n_bad++;
		return false;
	}
	*ret = x;
	return true;
}

/* One of `n` words; otherwise `value` stays. */
static unsigned read_word(struct cot_settings *s, const char *text, const char *const *words,
			  unsigned n, unsigned value)
{
	if (text && *text && !cot_word_read(text, words, n, &value))
		s->n_bad++;
	return value;
}

#define WORD(s, text, words, value) read_word(s, text, words, COT_ARRAY_LEN(words), value)

static void read_text(struct cot_settings *s, const char *text, char *to, size_t size)
{
	size_t n = text ? strlen(text) : 0;

	if (n >= size) {
		s->n_bad++;
		return;
	}
	if (n)
		memcpy(to, text, n + 1);
}

/* The last part of a path, cut to fit. */
static void default_name(struct cot_settings *s, const char *program)
{
	const char *base = program ? strrchr(program, '/') : NULL;
	size_t n;

	base = base ? base + 1 : program ? program : "";
	n = strlen(base);
	n = n < sizeof(s->name) ? n : sizeof(s->name) - 1;
	memcpy(s->name, base, n);
	s->name[n] = '\0';
}

static bool is_yes(const char *text)
{
	return text && *text && strcmp(text, "0") != 0;
}

/* 0: it is none. */
static uint16_t read_share(struct cot_settings *s, const char *text)
{
	struct cot_share share;

	if (!text || !*text)
		return 0;
	if (cot_share_read(text, &share))
		return cot_share_pack(share);
	s->n_bad++;
	return 0;
}

/* By the XDG's rules: what is not absolute does not count. */
static void read_templates(struct cot_settings *s, const char *(*get)(const char *name))
{
	const char *cache = get("XDG_CACHE_HOME"), *home = get("HOME"), *keep;

	keep = get("COTENANT_MERGE_STORE");
	if (!s->merges || (keep && !is_yes(keep)))
		return;
	if (cache && cache[0] == '/')
		read_text(s, cache, s->templates, sizeof(s->templates));
	else if (home && home[0] == '/' &&
		 (size_t)snprintf(s->templates, sizeof(s->templates), "%s/.cache", home) >=
			 sizeof(s->templates))
		s->templates[0] = '\0';
}

static void read_shim(struct cot_settings *s, const char *(*get)(const char *name))
{
	const char *merge, *by;
	uint64_t x;

	s->quota = read_share(s, get("COTENANT_QUOTA"));
	s->reserve = read_share(s, get("COTENANT_RESERVE"));
	if (read_number(s, get("COTENANT_MEMORY_MIB"), COT_MEMORY_MIB_MAX, &x))
		s->memory_bytes = x << 20;
	s->wait_ms = WAIT_MS_DEFAULT;
	if (read_number(s, get("COTENANT_SHIM_WAIT_MS"), WAIT_MS_MAX, &x))
		s->wait_ms = (uint32_t)x;
	read_text(s, get("COTENANT_SHIM_DRIVER"), s->driver, sizeof(s->driver));
	read_text(s, get("COTENANT_CPU"), s->cpu, sizeof(s->cpu));
	read_text(s, get("COTENANT_CPU_UPTO"), s->cpu_upto, sizeof(s->cpu_upto));
	by = get("COTENANT_CPU_BY");
	s->cpu_by_policy = by && !strcmp(by, "policy");
	s->cpu_wait_ms = CPU_WAIT_MS_DEFAULT;
	if (read_number(s, get("COTENANT_CPU_WAIT_MS"), WAIT_MS_MAX, &x))
		s->cpu_wait_ms = (uint32_t)x;
	s->rewrites = s->quota || s->reserve || s->cpu[0] || is_yes(get("COTENANT_SHIM"));
	if (!s->rewrites)
		read_text(s, get("COTENANT_BACKEND"), s->backend, sizeof(s->backend));
	s->backend_dead_ms = BACKEND_DEAD_MS_DEFAULT;
	if (read_number(s, get("COTENANT_BACKEND_DEAD_MS"), WAIT_MS_MAX, &x))
		s->backend_dead_ms = (uint32_t)x;
	merge = get("COTENANT_MERGE");
	s->merges = !s->rewrites && (is_yes(merge) || s->backend[0]);
	s->merge_always = s->merges && merge && !strcmp(merge, "always");
	read_templates(s, get);
	s->merge_us = MERGE_US_DEFAULT;
	if (read_number(s, get("COTENANT_MERGE_US"), MERGE_US_MAX, &x))
		s->merge_us = (uint32_t)x;
	read_text(s, get("COTENANT_TIMED"), s->timed, sizeof(s->timed));
	s->limited = s->quota || (get("COTENANT_SMS") && *get("COTENANT_SMS"));
	s->parts = s->rewrites || s->merges || is_yes(get("COTENANT_PARTS"));
	s->shim = (s->parts || s->requests || s->memory_bytes) && !s->disabled && s->socket[0] &&
		  s->role == COT_ROLE_TENANT;
}

void cot_settings_read(struct cot_settings *s, const char *(*get)(const char *name),
		       const char *program)
{
	static const char *const levels[] = {"none", "error", "warn", "info", "debug"};
	static const char *const pools[] = {"latency", "batch", "shared"};
	static const char *const roles[] = {"tenant", "pool"};
	uint64_t x;

	*s = (struct cot_settings){.class_ = COT_CLASS_BATCH, .weight = COT_WEIGHT_DEFAULT};
	s->disabled = is_yes(get("COTENANT_DISABLE"));
	s->log = (enum cot_log_level)WORD(s, get("COTENANT_LOG"), levels, COT_LOG_NONE);
	read_text(s, get("COTENANT_SOCKET"), s->socket, sizeof(s->socket));
	if (read_number(s, get("COTENANT_SLICE_US"), SLICE_US_MAX, &x))
		s->slice_us = (uint32_t)x;
	s->mode = WORD(s, get("COTENANT_MODE"), cot_mode_words, COT_MODE_DRIVER);
	if (read_number(s, get("COTENANT_TENANT"), UINT64_MAX / 10 - 1, &x))
		s->tenant = x;
	s->role = (uint8_t)WORD(s, get("COTENANT_ROLE"), roles, COT_ROLE_TENANT);
	if (s->role != COT_ROLE_POOL)
		s->class_ = (uint8_t)WORD(s, get("COTENANT_CLASS"), cot_class_words, s->class_);
	else if (WORD(s, get("COTENANT_POOL"), pools, s->class_) == COT_CLASS_LATENCY)
		s->class_ = COT_CLASS_LATENCY; /* a shared one is a batch pool */
	if (read_number(s, get("COTENANT_WEIGHT"), COT_WEIGHT_MAX, &x) && x > 0)
		s->weight = (uint16_t)x;
	if (read_number(s, get("COTENANT_BLOCK_US"), COT_BLOCK_US_MAX, &x))
		s->block_us = (uint32_t)x;
	s->requests =
		s->socket[0] && s->role == COT_ROLE_TENANT && is_yes(get("COTENANT_REQUESTS"));
	default_name(s, program);
	read_text(s, get("COTENANT_NAME"), s->name, sizeof(s->name));
	read_text(s, get("COTENANT_GPU"), s->gpu, sizeof(s->gpu));
	read_shim(s, get);
}
