/* Units of SMs that belong to programs. */
#include "policy/smqos_inside.h"

uint32_t cot_smqos_owned(const struct smqos_deal *d)
{
	const struct cot_tenant *t;
	uint32_t n = 0;

	cot_for_each_tenant (t, d->p)
		if (smqos_is_dealt(d, t))
			n += smqos_program(t)->n;
	return n;
}

struct cot_tenant *cot_smqos_victim(const struct smqos_deal *d, bool with_goal, uint32_t more_than)
{
	struct cot_tenant *t, *best = NULL;

	cot_for_each_tenant (t, d->p) {
		if (!smqos_is_dealt(d, t) || smqos_has_goal(t) != with_goal ||
		    smqos_program(t)->n <= more_than)
			continue;
		if (!best || smqos_spare(t) > smqos_spare(best) ||
		    (smqos_spare(t) == smqos_spare(best) &&
		     smqos_program(t)->n > smqos_program(best)->n))
			best = t;
	}
	return best;
}

/* What comes then is not its own doing. */
static void lose(struct cot_tenant *t)
{
	smqos_program(t)->n--;
	smqos_program(t)->task.last = COT_SMQOS_NONE;
}

static bool gain_idle(struct smqos_deal *d, struct cot_tenant *t)
{
	if (cot_smqos_owned(d) >= d->n_units)
		return false;
	smqos_program(t)->n++;
	return true;
}

bool cot_smqos_gain(struct smqos_deal *d, struct cot_tenant *t, struct cot_tenant *from)
{
	if (gain_idle(d, t))
		return true;
	if (!from)
		return false;
	lose(from);
	smqos_program(t)->n++;
	return true;
}

/* ---- who is at work ---- */

/* The neighbours are others: what more units pay has to be found out again. */
static void search_anew(struct smqos_deal *d)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, d->p)
		if (smqos_is_dealt(d, t))
			smqos_program(t)->task =
				(struct cot_smqos_task){.opt = smqos_program(t)->n};
}

/* From whom a newcomer has a unit. A promise to it is worth as much as the one to another program;
 * otherwise only the first unit comes from those. */
static struct cot_tenant *giver(const struct smqos_deal *d, const struct cot_tenant *t)
{
	uint32_t n = smqos_program(t)->n, more_than = n ? n + 1 : 1;
	struct cot_tenant *from = cot_smqos_victim(d, false, smqos_has_goal(t) ? 1 : more_than);

	if (!from && (smqos_has_goal(t) || !n))
		from = cot_smqos_victim(d, true, more_than);
	return from;
}

/* What it needed in an earlier run, or an equal share by weight, as far as others have it to give;
 * one at least. */
static void admit(struct smqos_deal *d, struct cot_tenant *t)
{
	struct smqos_program *own = smqos_program(t);
	uint32_t wants = cot_smqos_recall(d, t);

	if (!wants)
		wants = (uint32_t)(d->n_units * (uint64_t)t->weight / d->weight);
	own->epoch = (struct smqos_count){0};
	while (own->n < (wants ? wants : 1) && cot_smqos_gain(d, t, giver(d, t)))
		;
}

void cot_smqos_admit(struct smqos_deal *d)
{
	bool changed = false;
	struct cot_tenant *t;

	cot_for_each_tenant (t, d->p) {
		struct smqos_program *own = smqos_program(t);

		if (!smqos_is_dealt(d, t) || smqos_is_awake(d->p, t) == (own->n > 0))
			continue;
		if (own->n)
			own->n = 0;
		else
			admit(d, t);
		changed = true;
	}
	if (changed)
		search_anew(d);
}

void cot_smqos_fit(struct smqos_deal *d)
{
	struct cot_tenant *t;

	while (cot_smqos_owned(d) > d->n_units) {
		t = cot_smqos_victim(d, false, 1);
		t = t ? t : cot_smqos_victim(d, true, 1);
		t = t ? t : cot_smqos_victim(d, false, 0);
		lose(t ? t : cot_smqos_victim(d, true, 0));
	}
}
