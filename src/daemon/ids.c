/* Programs and pools have their numbers out of one row, since the core knows both by them. */
#include "daemon/ids.h"

#include "daemon/daemon.h"
#include "daemon/pool.h"
#include "daemon/tenant.h"

static uint32_t id_after(uint32_t id)
{
	return id >= INT32_MAX ? 1 : id + 1;
}

static bool is_taken(const struct daemon *d, uint32_t id)
{
	unsigned i;

	for (i = 0; i < MAX_TENANTS; i++)
		if (d->tenants[i].id == id)
			return true;
	for (i = 0; i < MAX_POOLS; i++)
		if (d->pools[i].id == id)
			return true;
	return false;
}

uint32_t cot_ids_new(struct daemon *d)
{
	uint32_t id = d->next_id;

	while (!id || id > INT32_MAX || is_taken(d, id))
		id = id_after(id);
	d->next_id = id_after(id);
	return id;
}

void cot_ids_old(struct daemon *d, uint32_t id)
{
	if (id >= d->next_id && id < INT32_MAX)
		d->next_id = id + 1;
}
