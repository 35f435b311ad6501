#include "daemon/effect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(const struct cot_effect *e)
{
	return e->quota && e->reserve ? "quota and reservation have"
	       : e->quota	      ? "quota has"
				      : "reservation has";
}

static void say_elsewhere(const struct cot_effect *e, char *text, size_t size)
{
	unsigned long n = (unsigned long)e->n_elsewhere;
	unsigned long all = (unsigned long)(e->n_covered + e->n_elsewhere);

	if (!e->n_covered)
		(void)snprintf(text, size, "its %s no effect: all its %lu launches run as they are",
			       name_of(e), n);
	else
		(void)snprintf(text, size,
			       "its %s no effect on %lu of %lu launches, which run as they are",
			       name_of(e), n, all);
}

static void say_outside(const struct cot_effect *e, char *text, size_t size)
{
	(void)snprintf(text, size,
		       "its reservation does not hold against %u batch program%s: not started with "
		       "--quota, --sms or --rewrite",
		       e->n_outside, e->n_outside == 1 ? "" : "s");
}

bool cot_effect_say(const struct cot_effect *e, char *ret_text, size_t size)
{
	if (!e->quota && !e->reserve)
		return false;
	if (!e->shim && e->lasts)
		(void)snprintf(ret_text, size, "its %s no effect so far: it has launched no kernel",
			       name_of(e));
	else if (!e->shim)
		return false;
	else if (e->n_elsewhere && !e->n_covered)
		say_elsewhere(e, ret_text, size);
	else if (e->reserve && !e->one_pool)
		(void)snprintf(ret_text, size,
			       "its reservation takes nothing back from others under this policy");
	else if (e->n_elsewhere)
		say_elsewhere(e, ret_text, size);
	else if (e->reserve && e->n_outside)
		say_outside(e, ret_text, size);
	else
		return false;
	return true;
}

/* ---- parts ---- */

/* Why nothing of it can be placed; NULL: it can, or that is not known yet. */
static const char *no_shim(const struct cot_part_effect *e)
{
	if (e->shim || !e->asked)
		return NULL;
	if (!e->parts)
		return "it was not started with --sms or --quota, nor under the policy parts";
	return e->lasts ? "it has launched nothing so far that can be placed" : NULL;
}

static const char *cannot(int status)
{
	switch (status) {
	case -ENOTSUP:
		return "the driver cannot divide this GPU";
	case -EXDEV:
		return "its GPUs, or its processes, do not agree on how they are divided";
	case -EBUSY:
		return "MPS gives it a part of the GPU already";
	default:
		return strerror(-status);
	}
}

static const char *not_moved(int status)
{
	if (status == -EDEADLK)
		return "something in its streams waits, maybe for what it launches later, and a "
		       "new part is made when that is done";
	if (status == -EAGAIN)
		return "so much is queued in its streams that a new part would hold them up; it is "
		       "made when less is";
	return strerror(-status);
}

static bool say_coverage(const struct cot_part_effect *e, char *text, size_t size)
{
	unsigned long stayed = (unsigned long)e->n_stayed;
	unsigned long all = (unsigned long)(e->n_followed + e->n_stayed);

	if (!stayed)
		return false;
	(void)snprintf(text, size, "%lu of %lu launches did not run on its part%s%s", stayed, all,
		       e->stays ? ", most of them because: " : "", e->stays ? e->stays : "");
	return true;
}

bool cot_part_effect_say(const struct cot_part_effect *e, char *ret_text, size_t size)
{
	const char *why = no_shim(e);

	if (why)
		(void)snprintf(ret_text, size, "its share of SMs has no effect: %s", why);
	else if (e->shim && e->status)
		(void)snprintf(ret_text, size, "it cannot be put on a part of the GPU: %s",
			       cannot(e->status));
	else if (e->shim && e->place_status)
		(void)snprintf(ret_text, size, "it could not be moved to another part: %s",
			       not_moved(e->place_status));
	else if (e->shim && e->pace_failed)
		(void)snprintf(ret_text, size,
			       "its pace is not kept: a launch has waited a second for the GPU");
	else
		return say_coverage(e, ret_text, size);
	return true;
}
