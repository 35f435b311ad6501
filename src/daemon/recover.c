/*
 * What the file of state.c does not know: finds the pools and programs of the daemon before this
 * one by what their processes have in their environment. If a second control program in the same
 * folder took over a pool's socket, new programs could not reach the pool, and the daemon could not
 * distinguish its programs from others.
 */
#include "daemon/recover.h"

#include <string.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/log.h"
#include "daemon/processes.h"
#include "daemon/roster.h"

/* 0, or -errno when it cannot be known whether it still runs. */
static int recover_pool(struct roster *r, const struct cot_process *p)
{
	uint64_t gpus = cot_gpus_mask(&r->basis->gpus, p->found.gpu);
	struct pool *pool;

	if (!gpus || (gpus & (gpus - 1)) || (p->uid != geteuid() && p->uid != 0) ||
	    cot_roster_pool(r, p->found.id))
		return 0;
	pool = cot_pool_take(r, p->found.id, p->found.cls, p->found.shared,
			     (unsigned)__builtin_ctzll(gpus));
	if (!pool || pool->id != p->found.id || p->is_server)
		return 0;
	return cot_pool_adopt(pool, p->pid, p->start_time);
}

int cot_recover_pools(struct roster *r, const struct cot_processes *all)
{
	int rc = 0;
	unsigned i;

	for (i = 0; i < all->n && !rc; i++)
		if (all->p[i].found.is_pool && cot_process_is_root(all, &all->p[i]))
			rc = recover_pool(r, &all->p[i]);
	return rc;
}

struct pool *cot_recover_pool_with(struct roster *r, const char *pipe)
{
	struct pool *p;

	for_each_pool (p, r)
		if (p->state != POOL_DOWN && !strcmp(p->pipe, pipe))
			return p;
	return NULL;
}

/* An environment is its owner's to write: it may claim what the owner may. */
static bool may_be(struct roster *r, const struct cot_process *p)
{
	struct conn owner = {.basis = r->basis, .source = {.fd = -1}, .uid = p->uid, .gid = p->gid};
	struct cot_error err;

	return cot_access_claim(&owner, p->found.cls, p->found.weight, &err) == 0;
}

/* 0, or -errno when it cannot be known whether it still runs. */
static int recover_tenant(struct roster *r, const struct cot_process *p)
{
	const struct cot_found *f = &p->found;
	uint64_t mask = cot_gpus_mask(&r->basis->gpus, f->gpu);
	struct tenant *t, as = {
				  .id = f->id,
				  .uid = p->uid,
				  .watch = {.pid = p->pid, .start_time = p->start_time},
				  .cls = f->cls,
				  .weight = f->weight,
				  .block_us = f->block_us,
				  .quota = f->quota,
				  .reserve = f->reserve,
				  .sms = f->sms,
				  .pace_us = f->pace_us,
				  .memory_mib = f->memory_mib,
				  .parts = f->parts,
				  .target = f->target,
				  .measured = f->measured,
				  .command = f->command,
				  .gpu_mask = mask ? mask : 1,
				  .pool = cot_recover_pool_with(r, f->pipe),
			  };
	int rc;

	if (cot_roster_tenant(r, f->id) || cot_roster_pool(r, f->id) || !may_be(r, p))
		return 0;
	cot_tenant_set_name(&as, f->name);
	rc = cot_tenant_take_over(r, &as, false, &t);
	if (!rc && t)
		log_info("found program '%s' (id %u, process %d) in %s", t->name, t->id,
			 (int)p->pid, t->pool ? "a pool" : "no pool");
	return rc;
}

int cot_recover_tenants(struct roster *r, const struct cot_processes *all)
{
	int rc = 0;
	unsigned i;

	for (i = 0; i < all->n && !rc; i++)
		if (!all->p[i].found.is_pool && cot_process_is_root(all, &all->p[i]))
			rc = recover_tenant(r, &all->p[i]);
	return rc;
}
