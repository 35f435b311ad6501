#include "daemon/roster.h"

#include <stdio.h>

struct tenant *cot_roster_tenant(struct roster *r, uint64_t id)
{
	struct tenant *t;

	for_each_tenant (t, r)
		if (t->id == id)
			return t;
	return NULL;
}

struct pool *cot_roster_pool(struct roster *r, uint64_t id)
{
	struct pool *p;

	for_each_pool (p, r)
		if (p->id == id)
			return p;
	return NULL;
}

const char *cot_roster_name(struct roster *r, uint32_t id, char text[COT_ROSTER_NAME_MAX])
{
	const struct pool *p = cot_roster_pool(r, id);
	const struct tenant *t = cot_roster_tenant(r, id);

	if (p)
		(void)snprintf(text, COT_ROSTER_NAME_MAX, "pool:%s:%u", p->name, p->gpu);
	else if (t)
		(void)snprintf(text, COT_ROSTER_NAME_MAX, "'%s' (id %u)", t->name, id);
	else
		(void)snprintf(text, COT_ROSTER_NAME_MAX, "id %u", id);
	return text;
}

static uint32_t id_after(uint32_t id)
{
	return id >= INT32_MAX ? 1 : id + 1;
}

uint32_t cot_roster_new_id(struct roster *r)
{
	uint32_t id = r->next_id;

	while (!id || id > INT32_MAX || cot_roster_tenant(r, id) || cot_roster_pool(r, id))
		id = id_after(id);
	r->next_id = id_after(id);
	return id;
}

void cot_roster_old_id(struct roster *r, uint32_t id)
{
	if (id >= r->next_id && id < INT32_MAX)
		r->next_id = id + 1;
}
