/*
 * Which user has changed what: lines of the log at `info`, for set, freeze, thaw and a change of
 * the policy. None is left out, since the rate of a user's changes is limited (COT_RATE_CHANGES).
 */
#include "daemon/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/host.h"
#include "daemon/log.h"
#include "daemon/tenant.h"

#define USERS_FILE  "/etc/passwd"
#define USERS_BYTES (64 * 1024)

/* ---- names of users ---- */

/* "name:password:uid:..." */
static bool is_line_of(char *line, uid_t uid, const char **ret_name)
{
	char *password = strchr(line, ':'), *number, *end;
	unsigned long found;

	number = password ? strchr(password + 1, ':') : NULL;
	if (!number)
		return false;
	found = strtoul(number + 1, &end, 10);
	if (end == number + 1 || *end != ':' || found != uid)
		return false;
	*password = '\0';
	*ret_name = line;
	return true;
}

const char *cot_audit_name_in(char *text, uid_t uid)
{
	const char *name = NULL;
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (is_line_of(line, uid, &name))
			return name;
	return NULL;
}

/* From the file alone: a directory service could keep the daemon waiting. */
static void name_user(uid_t uid, char *ret_name, size_t size)
{
	static char text[USERS_BYTES];
	const char *name = NULL;
	FILE *f = fopen(USERS_FILE, "re");

	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		name = cot_audit_name_in(text, uid);
		(void)fclose(f);
	}
	if (name)
		(void)snprintf(ret_name, size, "%s (uid %u", name, (unsigned)uid);
	else
		(void)snprintf(ret_name, size, "uid %u (", (unsigned)uid);
}

static void name_peer(uid_t uid, pid_t pid, char *ret_text, size_t size)
{
	char name[128];

	name_user(uid, name, sizeof(name));
	(void)snprintf(ret_text, size, "%s%sprocess %d)", name,
		       name[strlen(name) - 1] == '(' ? "" : ", ", (int)pid);
}

void cot_audit_say(uid_t uid, pid_t pid, const char *fmt, ...)
{
	char what[512], who[160];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	name_peer(uid, pid, who, sizeof(who));
	log_info("%s, by %s", what, who);
}

/* ---- what has changed ---- */

void cot_audit_look(const struct cot_host *host, const struct tenant *t, uint32_t entity,
		    struct cot_audit_look *ret_look)
{
	struct cot_host_entity_stats stats;

	cot_host_entity_stats(host, entity, &stats);
	*ret_look = (struct cot_audit_look){.slice_us = stats.slice_override_us,
					    .mode = stats.mode_override};
	if (!t)
		return;
	ret_look->cls = t->cls;
	ret_look->weight = t->weight;
	ret_look->block_us = t->block_us;
	ret_look->quota = t->quota;
	ret_look->reserve = t->reserve;
	ret_look->sms = t->sms;
	ret_look->target = t->target;
	ret_look->pace_us = t->pace_us;
}

struct text {
	char *to;
	size_t size, used;
};

static void put(struct text *t, const char *fmt, ...) COT_PRINTF(2, 3);

static void put(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->to + t->used, t->size - t->used, fmt, args);
	va_end(args);
	if (n > 0)
		t->used += (size_t)n < t->size - t->used ? (size_t)n : t->size - t->used - 1;
}

/* A time, or what 0 means. */
static void put_us(struct text *t, uint32_t us, const char *none)
{
	if (us)
		put(t, "%u us", us);
	else
		put(t, "%s", none);
}

static void put_share(struct text *t, uint16_t share)
{
	char word[COT_SHARE_WORD_MAX];

	put(t, "%s", share ? cot_share_word(cot_share_unpack(share), word) : "none");
}

static void put_target(struct text *t, struct cot_target target)
{
	char word[COT_TARGET_WORD_MAX];

	put(t, "%s%s%s", cot_target_words[target.kind], target.kind ? " " : "",
	    cot_target_word(target, word));
}

static void put_values(struct text *t, const struct cot_audit_look *l, unsigned field)
{
	switch (field) {
	case COT_SET_CLASS:
		put(t, "%s", cot_class_words[l->cls]);
		break;
	case COT_SET_WEIGHT:
		put(t, "%u", l->weight);
		break;
	case COT_SET_SLICE:
		put_us(t, l->slice_us, "auto");
		break;
	case COT_SET_MODE:
		put(t, "%s", l->mode ? cot_mode_words[l->mode] : "auto");
		break;
	case COT_SET_BLOCK:
		put_us(t, l->block_us, "unknown");
		break;
	case COT_SET_QUOTA:
		put_share(t, l->quota);
		break;
	case COT_SET_SMS:
		put_share(t, l->sms);
		break;
	case COT_SET_PACE:
		put_us(t, l->pace_us, "none");
		break;
	case COT_SET_TARGET:
		put_target(t, l->target);
		break;
	default:
		put_share(t, l->reserve);
		break;
	}
}

void cot_audit_changes(const struct cot_audit_look *from, const struct cot_audit_look *to,
		       unsigned fields, char *ret_text, size_t size)
{
	static const struct {
		unsigned field;
		const char *name;
	} all[] = {{COT_SET_CLASS, "class"},	 {COT_SET_WEIGHT, "weight"},
		   {COT_SET_SLICE, "slice"},	 {COT_SET_MODE, "mode"},
		   {COT_SET_BLOCK, "block"},	 {COT_SET_QUOTA, "quota"},
		   {COT_SET_RESERVE, "reserve"}, {COT_SET_SMS, "sms"},
		   {COT_SET_TARGET, "target"},	 {COT_SET_PACE, "pace"}};
	struct text t = {ret_text, size, 0};
	unsigned i;

	ret_text[0] = '\0';
	for (i = 0; i < COT_ARRAY_LEN(all); i++) {
		if (!(fields & all[i].field))
			continue;
		put(&t, "%s%s ", t.used ? ", " : "", all[i].name);
		put_values(&t, from, all[i].field);
		put(&t, " -> ");
		put_values(&t, to, all[i].field);
	}
}
