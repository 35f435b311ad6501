#include <string.h>

#include "shim/shim.h"

#define WAIT_MS_DEFAULT 10000u
#define WAIT_MS_MAX	3600000u

static bool read_small(const char *text, uint32_t max, uint32_t *ret)
{
	uint64_t x = 0;

	if (!text || !*text)
		return false;
	for (; *text >= '0' && *text <= '9' && x <= max; text++)
		x = x * 10 + (uint64_t)(*text - '0');
	if (*text || x > max)
		return false;
	*ret = (uint32_t)x;
	return true;
}

/* 0: it is none. */
static uint16_t read_share(const char *text)
{
	struct cot_share share;

	return text && cot_share_read(text, &share) ? cot_share_pack(share) : 0;
}

static bool says_yes(const char *text)
{
	return text && *text && strcmp(text, "0") != 0;
}

bool cot_shim_settings_read(struct cot_shim_settings *s, const char *(*get)(const char *name),
			    const char *program)
{
	const char *driver = get("COTENANT_SHIM_DRIVER");

	*s = (struct cot_shim_settings){.wait_ms = WAIT_MS_DEFAULT};
	cot_settings_read(&s->common, get, program);
	s->quota = read_share(get("COTENANT_QUOTA"));
	s->reserve = read_share(get("COTENANT_RESERVE"));
	(void)read_small(get("COTENANT_SHIM_WAIT_MS"), WAIT_MS_MAX, &s->wait_ms);
	if (driver && strlen(driver) < sizeof(s->driver))
		memcpy(s->driver, driver, strlen(driver) + 1);
	return (s->quota || s->reserve || says_yes(get("COTENANT_SHIM"))) && !s->common.disabled &&
	       s->common.socket[0] && s->common.role == COT_ROLE_TENANT;
}
