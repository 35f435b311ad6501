#include "daemon/target.h"

#include <errno.h>
#include <string.h>

#include "daemon/conn.h"
#include "daemon/roster.h"

/* "pool:batch:0" is one of them, "pool:batch" is any. */
static bool is_called(const struct pool *p, const char *name)
{
	char own[COT_ROSTER_NAME_MAX];

	return !strcmp(cot_roster_name(p->in, p->id, own), name) ||
	       !strcmp(name + strlen("pool:"), p->name);
}

static int find_pool_by_name(struct roster *r, const char *name, struct command_target *ret_target,
			     struct cot_error *err)
{
	struct pool *p;
	unsigned n = 0;

	for_each_pool (p, r) {
		if (!is_called(p, name))
			continue;
		n++;
		*ret_target = (struct command_target){.pool = p, .entity = p->id, .name = p->name};
	}
	if (n > 1)
		return cot_error_set(err, -EINVAL,
				     "there is a pool '%s' on %u GPUs; add the number of one, as "
				     "in %s:0",
				     name + 5, n, name);
	if (!n)
		return cot_error_set(err, -ESRCH, "there is no pool '%s' now", name);
	return 0;
}

/* By its id, or else by its process, as ps shows both. */
static struct tenant *find_by_number(struct roster *r, uint64_t number)
{
	struct tenant *t = cot_roster_tenant(r, number);

	if (t)
		return t;
	for_each_tenant (t, r)
		if ((uint64_t)t->watch.pid == number)
			return t;
	return NULL;
}

int cot_target_find(struct conn *c, const struct cot_msg_command *m,
		    struct command_target *ret_target, struct cot_error *err)
{
	struct roster *r = c->in->roster;
	struct tenant *t;
	unsigned n = 1;

	if (!m->tenant && !strncmp(m->name, "pool:", 5))
		return find_pool_by_name(r, m->name, ret_target, err);
	t = m->tenant ? find_by_number(r, m->tenant) : cot_tenant_find_name(r, m->name, c->uid, &n);
	if (!t && m->tenant)
		return cot_error_set(err, -ESRCH,
				     "there is no program with the id, or process, %lu",
				     (unsigned long)m->tenant);
	if (!t)
		return cot_error_set(err, -ESRCH,
				     "there is no program called '%s'; cotenant ps lists them",
				     m->name);
	if (n > 1)
		return cot_error_set(err, -EINVAL,
				     "%u programs are called '%s'; name one by its id", n, m->name);
	*ret_target = (struct command_target){.tenant = t, .entity = t->id, .name = t->name};
	return 0;
}
