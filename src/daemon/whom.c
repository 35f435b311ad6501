#include "daemon/whom.h"

#include <errno.h>
#include <string.h>

#include "daemon/conn.h"
#include "daemon/roster.h"
#include "text/nearest.h"

/* "pool:batch:0" is one of them, "pool:batch" is any. */
static bool is_called(const struct pool *p, const char *name)
{
	char own[COT_ROSTER_NAME_MAX];

	return !strcmp(cot_roster_name(p->in, p->id, own), name) ||
	       !strcmp(name + strlen("pool:"), p->name);
}

static int find_pool_by_name(struct roster *r, const char *name, struct whom *ret_whom,
			     struct cot_error *err)
{
	struct cot_nearest near = {.word = name + strlen("pool:")};
	struct pool *p;
	unsigned n = 0;

	for_each_pool (p, r) {
		cot_nearest_try(&near, p->name);
		if (!is_called(p, name))
			continue;
		n++;
		*ret_whom = (struct whom){.pool = p, .entity = p->id, .name = p->name};
	}
	if (n > 1)
		return cot_error_set(err, -EINVAL,
				     "there is a pool '%s' on %u GPUs; add the number of one, as "
				     "in %s:0",
				     name + 5, n, name);
	if (!n)
		return cot_error_set(err, -ESRCH, "there is no pool '%s' now%s%s%s", name,
				     near.found ? " (did you mean 'pool:" : "",
				     near.found ? near.found : "", near.found ? "'?)" : "");
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

/* The program that was meant may be one of the user's own only: others' names are theirs. */
static int no_program(struct roster *r, const struct conn *c, const char *name,
		      struct cot_error *err)
{
	struct cot_nearest near = {.word = name};
	char hint[COT_NEAREST_HINT_MAX];
	struct tenant *t;

	for_each_tenant (t, r)
		if (!c->uid || t->uid == c->uid)
			cot_nearest_try(&near, t->name);
	return cot_error_set(err, -ESRCH,
			     "there is no program called '%s'%s; cotenant ps lists them", name,
			     cot_nearest_hint(&near, hint));
}

int cot_whom_find(struct conn *c, uint64_t number, const char *name, struct whom *ret_whom,
		  struct cot_error *err)
{
	struct roster *r = c->in->roster;
	struct tenant *t;
	unsigned n = 1;

	if (!number && !strncmp(name, "pool:", 5))
		return find_pool_by_name(r, name, ret_whom, err);
	t = number ? find_by_number(r, number) : cot_tenant_find_name(r, name, c->uid, &n);
	if (!t && number)
		return cot_error_set(err, -ESRCH,
				     "there is no program with the id, or process, %lu",
				     (unsigned long)number);
	if (!t)
		return no_program(r, c, name, err);
	if (n > 1)
		return cot_error_set(err, -EINVAL,
				     "%u programs are called '%s'; name one by its id", n, name);
	*ret_whom = (struct whom){.tenant = t, .entity = t->id, .name = t->name};
	return 0;
}
