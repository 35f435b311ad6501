#include "policy/scheduler_contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/sim_build.h"
#include "support/sim_check.h"

#define MAX_INSTANTS 20000u /* more than twice what the slowest sound scheduler needs */
#define FAIR_US	     3000

struct contract {
	const struct hw_sched_ops *ops;
	const char *scenario;
	struct contract_report *report;
};

static void breach(const struct contract *ct, enum contract_clause clause, const char *text)
{
	struct contract_report *r = ct->report;

	if (!(r->broken & 1u << clause))
		(void)snprintf(r->text[clause], sizeof(r->text[clause]), "%s: %s", ct->scenario,
			       text);
	r->broken |= 1u << clause;
}

/* ---- scenarios: every program completes two runs ---- */

static void build_apps(struct sim_build *b, uint32_t n_sms, uint32_t n_apps, uint32_t n_blocks)
{
	uint32_t i;

	build_init(b, "", n_sms);
	build_stop_runs(b, 2);
	for (i = 0; i < n_apps; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "a%u", i);
		(void)build_app(b, name);
		build_cpu(b, 3 + i % 4);
		(void)build_kernel(b, n_blocks + (n_blocks > 1 ? 7 * (i % 5) : 0), 4 + i % 3,
				   1 + i % 4, 1);
		build_h2d(b, 4096);
		build_kernel(b, n_blocks, 6, 2, 1)->launches = 2;
	}
}

static void one_app(struct sim_build *b)
{
	build_apps(b, 13, 1, 60);
}

static void one_sm(struct sim_build *b)
{
	build_apps(b, 1, 4, 9);
}

static void thirteen_sms(struct sim_build *b)
{
	build_apps(b, 13, 4, 90);
}

static void large_gpu(struct sim_build *b)
{
	build_apps(b, 132, 5, 150);
}

static void many_apps(struct sim_build *b)
{
	build_apps(b, 13, COT_MAX_APPS, 20);
}

static void more_apps_than_sms(struct sim_build *b)
{
	build_apps(b, 2, 5, 5);
}

static void one_block(struct sim_build *b)
{
	build_apps(b, 13, 5, 1);
}

static void shared_contexts(struct sim_build *b)
{
	uint32_t i;

	build_apps(b, 4, 6, 11);
	for (i = 0; i < 6; i++)
		b->sc.apps[i].context = i % 2;
}

/* The important ones compute most of the time, so that no policy may let the others starve. */
static void priorities(struct sim_build *b)
{
	uint32_t i;

	build_apps(b, 6, 5, 14);
	for (i = 0; i < 5; i++) {
		b->sc.apps[i].priority = (int32_t)i;
		b->steps[i][0].cpu_ps += (uint64_t)i * i * 50000000;
		b->sc.apps[i].start_ps = (uint64_t)i * 9000000;
	}
}

static const struct {
	const char *name;
	void (*build)(struct sim_build *b);
} scenarios[] = {
	{"one app", one_app},		{"one SM", one_sm},
	{"thirteen SMs", thirteen_sms}, {"large GPU", large_gpu},
	{"many apps", many_apps},	{"more apps than SMs", more_apps_than_sms},
	{"one block", one_block},	{"shared contexts", shared_contexts},
	{"priorities", priorities},
};

/* ---- playing ---- */

static void hash_sm(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
		    uint32_t app, const char *kernel)
{
	uint64_t *hash = arg;

	(void)kernel;
	*hash = cot_hash64(cot_hash64(*hash, t_ps),
			   (uint64_t)sm << 40 | (uint64_t)activity << 32 | app);
}

static const struct cot_sim_observer hasher = {.sm_changed = hash_sm};

static struct cot_sim *create(const struct contract *ct, const struct sim_build *b, uint64_t *hash)
{
	struct cot_sim *sim;

	*hash = 0;
	if (cot_sim_create(&b->sc, ct->ops, &hasher, hash, &sim, NULL))
		abort();
	return sim;
}

static void watch(const struct contract *ct, struct sim_check *c)
{
	const unsigned checked = 1u << CONTRACT_REFUSED | 1u << CONTRACT_BLOCKS;

	if (hw_n_refused(&c->sim->hw))
		breach(ct, CONTRACT_REFUSED, "an action was refused");
	if (ct->report->broken & checked)
		return;
	if (!sim_check_blocks(c) || !sim_check_tables(c))
		breach(ct, CONTRACT_BLOCKS, c->text);
	else if (!c->sim->done && !sim_check_policy(c))
		breach(ct, CONTRACT_IDLE, c->text);
}

/* Returns the hash of the schedule. */
static uint64_t play_watched(const struct contract *ct, const struct sim_build *b,
			     uint32_t max_instants)
{
	enum cot_sim_status status = COT_SIM_MORE;
	struct sim_check *c = malloc(sizeof(*c));
	uint64_t hash;
	uint32_t n;

	if (!c)
		abort();
	sim_check_init(c, create(ct, b, &hash));
	for (n = 0; n < max_instants && status == COT_SIM_MORE; n++) {
		status = cot_sim_run(c->sim, 1);
		watch(ct, c);
	}
	if (status == COT_SIM_STALLED)
		breach(ct, CONTRACT_ENDS, "it stalls");
	else if (status != COT_SIM_DONE && max_instants == MAX_INSTANTS)
		breach(ct, CONTRACT_ENDS, "it does not end");
	if (c->sim->preemptions && !ct->ops->preempts)
		breach(ct, CONTRACT_HONEST, "it preempts but says that it does not");
	cot_sim_destroy(c->sim);
	sim_check_finish(c);
	free(c);
	return hash;
}

static uint64_t play_again(const struct contract *ct, const struct sim_build *b,
			   uint32_t max_instants)
{
	uint64_t hash;
	struct cot_sim *sim = create(ct, b, &hash);

	(void)cot_sim_run(sim, max_instants);
	cot_sim_destroy(sim);
	return hash;
}

static void play_both(const struct contract *ct, const struct sim_build *b)
{
	/* Once it is known not to end, only the rest is looked for. */
	uint32_t max = ct->report->broken & 1u << CONTRACT_ENDS ? MAX_INSTANTS / 50 : MAX_INSTANTS;

	if (play_watched(ct, b, max) != play_again(ct, b, max))
		breach(ct, CONTRACT_REPEATS, "two plays differ");
}

/* ---- fairness ---- */

/* Three programs, the same but for their names, want the GPU all the time. */
static void play_equals(const struct contract *ct)
{
	uint64_t least = UINT64_MAX, most = 0, hash;
	struct cot_sim_result r;
	struct sim_build b;
	struct cot_sim *sim;
	uint32_t i;

	build_init(&b, "", 3);
	build_stop_at(&b, FAIR_US);
	for (i = 0; i < 3; i++) {
		(void)build_app(&b, i == 0 ? "x" : i == 1 ? "y" : "z");
		(void)build_kernel(&b, 12, 5, 2, 1);
	}
	sim = create(ct, &b, &hash);
	(void)cot_sim_run(sim, MAX_INSTANTS);
	cot_sim_result(sim, &r);
	cot_sim_destroy(sim);
	for (i = 0; i < 3; i++) {
		least = r.apps[i].runs < least ? r.apps[i].runs : least;
		most = r.apps[i].runs > most ? r.apps[i].runs : most;
	}
	if (2 * least < most || !least)
		breach(ct, CONTRACT_STARVES, "equal programs get unequal shares");
}

void contract_run(const struct hw_sched_ops *ops, struct contract_report *ret_report)
{
	struct contract ct = {ops, "", ret_report};
	struct sim_build b;
	unsigned i, m;

	memset(ret_report, 0, sizeof(*ret_report));
	for (i = 0; i < COT_ARRAY_LEN(scenarios); i++) {
		for (m = 0; m < 6; m++) {
			ct.scenario = scenarios[i].name;
			scenarios[i].build(&b);
			b.sc.preempt = m & 1 ? COT_PREEMPT_DRAIN : COT_PREEMPT_SWITCH;
			b.sc.block_jitter_cv = m & 2 ? 0.2 : 0.0;
			b.sc.dispatch = m & 4 ? COT_DISPATCH_BREADTH : COT_DISPATCH_DEPTH;
			play_both(&ct, &b);
		}
	}
	ct.scenario = "three equal apps";
	play_equals(&ct);
}
