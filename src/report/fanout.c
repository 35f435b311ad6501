#include "report/fanout.h"

#define FOR_EACH(f, i, callback)           \
	for ((i) = 0; (i) < (f)->n; (i)++) \
		if ((f)->to[i].observer->callback)

static void on_sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
			  uint32_t app, const char *kernel)
{
	const struct cot_fanout *f = arg;
	unsigned i;

	FOR_EACH(f, i, sm_changed)
	f->to[i].observer->sm_changed(f->to[i].arg, t_ps, sm, activity, app, kernel);
}

static void on_app_changed(void *arg, uint64_t t_ps, uint32_t app, enum cot_app_activity activity)
{
	const struct cot_fanout *f = arg;
	unsigned i;

	FOR_EACH(f, i, app_changed)
	f->to[i].observer->app_changed(f->to[i].arg, t_ps, app, activity);
}

static void on_kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			   const char *kernel)
{
	const struct cot_fanout *f = arg;
	unsigned i;

	FOR_EACH(f, i, kernel_done)
	f->to[i].observer->kernel_done(f->to[i].arg, begin_ps, end_ps, app, kernel);
}

static void on_run_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app, uint64_t run)
{
	const struct cot_fanout *f = arg;
	unsigned i;

	FOR_EACH(f, i, run_done)
	f->to[i].observer->run_done(f->to[i].arg, begin_ps, end_ps, app, run);
}

static void on_part_changed(void *arg, uint64_t t_ps, uint32_t app, uint32_t begin, uint32_t end)
{
	const struct cot_fanout *f = arg;
	unsigned i;

	FOR_EACH(f, i, part_changed)
	f->to[i].observer->part_changed(f->to[i].arg, t_ps, app, begin, end);
}

static void on_entity_changed(void *arg, uint64_t t_ps, uint32_t number,
			      const struct cot_sim_entity *e)
{
	const struct cot_fanout *f = arg;
	unsigned i;

	FOR_EACH(f, i, entity_changed)
	f->to[i].observer->entity_changed(f->to[i].arg, t_ps, number, e);
}

static void on_instant_done(void *arg, uint64_t t_ps)
{
	const struct cot_fanout *f = arg;
	unsigned i;

	FOR_EACH(f, i, instant_done)
	f->to[i].observer->instant_done(f->to[i].arg, t_ps);
}

static void on_epoch_done(void *arg, const struct cot_sim_epoch *epoch)
{
	const struct cot_fanout *f = arg;
	unsigned i;

	FOR_EACH(f, i, epoch_done)
	f->to[i].observer->epoch_done(f->to[i].arg, epoch);
}

const struct cot_sim_observer cot_fanout_observer = {
	.sm_changed = on_sm_changed,
	.app_changed = on_app_changed,
	.kernel_done = on_kernel_done,
	.run_done = on_run_done,
	.part_changed = on_part_changed,
	.entity_changed = on_entity_changed,
	.instant_done = on_instant_done,
	.epoch_done = on_epoch_done,
};

void cot_fanout_add(struct cot_fanout *f, const struct cot_sim_observer *observer, void *arg)
{
	if (f->n == COT_FANOUT_MAX)
		return;
	f->to[f->n].observer = observer;
	f->to[f->n].arg = arg;
	f->n++;
}
