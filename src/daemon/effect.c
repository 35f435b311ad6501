#include "daemon/effect.h"

#include <stdio.h>

static const char *name_of(const struct cot_effect *e)
{
	return e->quota && e->reserve ? "quota and reservation have"
	       : e->quota	      ? "quota has"
				      : "reservation has";
}

static void say_none(const struct cot_effect *e, char *text, size_t size)
{
	if (!e->n_rewritten && e->n_refused)
		(void)snprintf(text, size,
			       "its %s no effect: none of its %lu kernels can be rewritten",
			       name_of(e), (unsigned long)e->n_refused);
	else if (e->n_plain)
		(void)snprintf(text, size, "its %s no effect: all its %lu launches run as they are",
			       name_of(e), (unsigned long)e->n_plain);
	else
		(void)snprintf(text, size, "its %s no effect so far: what it loaded stays as it is",
			       name_of(e));
}

bool cot_effect_say(const struct cot_effect *e, char *ret_text, size_t size)
{
	unsigned long all = (unsigned long)(e->n_workers + e->n_plain);

	if (!e->quota && !e->reserve)
		return false;
	if (!e->shim && !e->lasts)
		return false;
	if (!e->shim) {
		(void)snprintf(ret_text, size,
			       "its %s no effect so far: it has launched no kernel that can be "
			       "rewritten",
			       name_of(e));
		return true;
	}
	if (!e->n_workers && (e->n_plain || e->refuses)) {
		say_none(e, ret_text, size);
		return true;
	}
	if (e->reserve && !e->one_pool) {
		(void)snprintf(ret_text, size,
			       "its reservation takes nothing back from others under this policy");
		return true;
	}
	if (!e->n_plain)
		return false;
	(void)snprintf(ret_text, size,
		       "its %s no effect on %lu of %lu launches, which run as they are", name_of(e),
		       (unsigned long)e->n_plain, all);
	return true;
}
