#include "backend/gather.h"

#include <string.h>

bool cot_gather_add(struct cot_gather *g, const struct cot_gather_entry *e, uint64_t now_ns)
{
	if (g->n == COT_GATHER_MAX)
		return false;
	g->gap_ns[e->client] = g->last_ns[e->client] ? now_ns - g->last_ns[e->client] : 0;
	g->last_ns[e->client] = now_ns;
	g->list[g->n] = *e;
	g->list[g->n++].since_ns = now_ns;
	return true;
}

static bool has_one(const struct cot_gather *g, uint32_t client)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		if (g->list[i].client == client)
			return true;
	return false;
}

/* It may post again soon. */
static bool is_active(const struct cot_gather *g, uint32_t client, uint64_t window_ns,
		      uint64_t now_ns)
{
	uint64_t recent_ns = window_ns > COT_GATHER_RECENT_NS ? window_ns : COT_GATHER_RECENT_NS;

	if (g->gap_ns[client] <= COT_GATHER_LONG_NS && 2 * g->gap_ns[client] > recent_ns)
		recent_ns = 2 * g->gap_ns[client];
	return g->last_ns[client] && now_ns - g->last_ns[client] < recent_ns;
}

uint64_t cot_gather_due(const struct cot_gather *g, uint64_t window_ns, uint64_t now_ns)
{
	uint32_t i, n_others = 0;

	if (!g->n)
		return UINT64_MAX;
	if (g->n == COT_GATHER_MAX)
		return now_ns;
	for (i = 0; i < COT_BACKEND_CLIENTS; i++)
		n_others += is_active(g, i, window_ns, now_ns) && !has_one(g, i);
	return n_others ? g->list[0].since_ns + window_ns : now_ns;
}

uint32_t cot_gather_like_oldest(const struct cot_gather *g, uint32_t ret_set[COT_GATHER_MAX])
{
	const struct cot_gather_entry *first = &g->list[0];
	uint32_t i, n = 0;

	for (i = 0; i < g->n; i++)
		if (g->list[i].code == first->code &&
		    !memcmp(g->list[i].launch.block, first->launch.block,
			    sizeof(first->launch.block)))
			ret_set[n++] = i;
	return n;
}

void cot_gather_remove(struct cot_gather *g, const uint32_t *set, uint32_t n)
{
	uint32_t i, k = 0, to = 0;

	for (i = 0; i < g->n; i++) {
		if (k < n && set[k] == i)
			k++;
		else if (to++ != i)
			g->list[to - 1] = g->list[i];
	}
	g->n = to;
}

void cot_gather_forget(struct cot_gather *g, uint32_t client)
{
	uint32_t set[COT_GATHER_MAX], i, n = 0;

	for (i = 0; i < g->n; i++)
		if (g->list[i].client == client)
			set[n++] = i;
	cot_gather_remove(g, set, n);
	g->last_ns[client] = g->gap_ns[client] = 0;
}
