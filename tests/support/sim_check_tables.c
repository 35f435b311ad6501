#include <string.h>

#include "support/sim_check.h"
#include "trace/gpu.h"

/* ---- tables ---- */

static bool is_active(const struct hw *hw, const struct hw_kernel *k)
{
	const struct hw_kernel *a;

	for (a = hw->active; a; a = a->next)
		if (a == k)
			return true;
	return false;
}

static bool check_save(struct sim_check *c, const struct sm *sm)
{
	const struct cot_gpu *gpu = &c->sim->sc->gpu;
	uint64_t bytes = (uint64_t)sm->hw->n_resident * sm->hw->kernel->desc->ctx_bytes_per_block;
	uint64_t end = sm->reserved_ps + gpu->trap_ps + cot_gpu_sm_move_ps(gpu, bytes);

	if (sm->save_end_ps != end || end < c->sim->now_ps)
		return sim_check_fail(c, "SM %u: save ends at the wrong time", sm->hw->index);
	return true;
}

static bool check_sm(struct sim_check *c, const struct sm *sm)
{
	const struct hw *hw = &c->sim->hw;
	const struct hw_sm *s = sm->hw;

	if (s->state == HW_SM_IDLE)
		return (!s->kernel && !s->next && !s->n_resident && !sm->n_cohorts) ||
		       sim_check_fail(c, "SM %u: idle but not empty", s->index);
	if (!is_active(hw, s->kernel))
		return sim_check_fail(c, "SM %u: works for no active kernel", s->index);
	if (!s->n_resident)
		return sim_check_fail(c, "SM %u: works but holds no block", s->index);
	if (s->state == HW_SM_RUNNING)
		return (!s->next && !sm->saving) ||
		       sim_check_fail(c, "SM %u: running and reserved", s->index);
	if (s->next && !is_active(hw, s->next))
		return sim_check_fail(c, "SM %u: reserved for no active kernel", s->index);
	if (sm->saving != (c->sim->sc->preempt == COT_PREEMPT_SWITCH))
		return sim_check_fail(c, "SM %u: preempted by the wrong mechanism", s->index);
	return !sm->saving || check_save(c, sm);
}

static bool check_counts(struct sim_check *c, const struct hw_kernel *k)
{
	const struct cot_sim *sim = c->sim;
	uint32_t n_sms = 0, n_reserved = 0, n_resident = 0, i;

	for (i = 0; i < sim->sc->gpu.n_sms; i++) {
		const struct hw_sm *s = &sim->hw.sms[i];

		n_sms += s->kernel == k;
		n_resident += s->kernel == k ? s->n_resident : 0;
		n_reserved += s->state == HW_SM_RESERVED && s->next == k;
	}
	if (n_sms != k->n_sms || n_reserved != k->n_reserved || n_resident != k->n_resident)
		return sim_check_fail(c,
				      "app %u: has %u SMs, %u reserved, %u blocks on them; says "
				      "%u, %u, %u",
				      k->app, n_sms, n_reserved, n_resident, k->n_sms,
				      k->n_reserved, k->n_resident);
	if (k->n_fresh + k->n_preempted + k->n_resident + k->n_done != k->desc->n_blocks)
		return sim_check_fail(c, "app %u: blocks were lost or made", k->app);
	if (k->n_done == k->desc->n_blocks)
		return sim_check_fail(c, "app %u: a finished kernel stays active", k->app);
	return true;
}

static bool check_queues(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;
	const struct hw_command *p, *q;
	const struct hw_kernel *k;
	uint32_t n = 0;

	for (k = hw->active; k; k = k->next)
		n++;
	if (n != hw->n_active || n > c->sim->sc->gpu.n_sms)
		return sim_check_fail(c, "%u kernels in the active queue", n);
	for (p = hw->pending; p; p = p->next) {
		if (hw->buffers[p->context] != p)
			return sim_check_fail(c, "app %u: not in its command buffer", p->app);
		for (q = p->next; q; q = q->next)
			if (q->context == p->context || q->seq <= p->seq)
				return sim_check_fail(c, "launches of apps %u and %u out of order",
						      p->app, q->app);
	}
	return true;
}

/* What was saved and not restored is the context of blocks in PTBQs, or is being saved. */
static bool check_bytes(struct sim_check *c)
{
	const struct cot_sim *sim = c->sim;
	const struct hw_kernel *k;
	uint64_t bytes = 0;
	uint32_t i;

	for (k = sim->hw.active; k; k = k->next)
		bytes += (uint64_t)k->n_preempted * k->desc->ctx_bytes_per_block;
	for (i = 0; i < sim->sc->gpu.n_sms; i++)
		if (sim->sms[i].saving)
			bytes += (uint64_t)sim->hw.sms[i].n_resident *
				 sim->hw.sms[i].kernel->desc->ctx_bytes_per_block;
	return sim->saved_bytes - sim->restored_bytes == bytes ||
	       sim_check_fail(c, "bytes saved and restored do not balance");
}

bool sim_check_tables(struct sim_check *c)
{
	const struct cot_sim *sim = c->sim;
	const struct hw_kernel *k;
	uint32_t n_idle = 0, i;

	for (i = 0; i < sim->sc->gpu.n_sms; i++) {
		if (!check_sm(c, &sim->sms[i]))
			return false;
		n_idle += sim->hw.sms[i].state == HW_SM_IDLE;
	}
	if (n_idle != sim->hw.n_idle)
		return sim_check_fail(c, "%u SMs idle, says %u", n_idle, sim->hw.n_idle);
	for (k = sim->hw.active; k; k = k->next)
		if (!check_counts(c, k))
			return false;
	if (sim->hw.n_refused)
		return sim_check_fail(c, "the scheduler asked for something impossible");
	return check_queues(c) && check_bytes(c);
}

/* ---- policy ---- */

static int32_t top_priority(const struct hw *hw, bool open_only)
{
	const struct hw_kernel *k;
	int32_t top = INT32_MIN;

	for (k = hw->active; k; k = k->next)
		if (k->priority > top && (k->issue || !open_only))
			top = k->priority;
	return top;
}

static bool idle_while(struct sim_check *c, const struct hw_kernel *k)
{
	return sim_check_fail(c, "an SM is idle while app %u has %u blocks to issue", k->app,
			      hw_unissued(k));
}

/* FCFS, NPQ, PPQ shared: any block of an active kernel may use an idle SM. */
static bool no_block_waits(struct sim_check *c)
{
	const struct hw_kernel *k;

	for (k = c->sim->hw.active; k; k = k->next)
		if (hw_unissued(k))
			return idle_while(c, k);
	return true;
}

/* One context owns the engine; `next` is the launch whose turn it is. */
static bool check_owner(struct sim_check *c, const struct hw_command *next)
{
	const struct hw *hw = &c->sim->hw;
	const struct hw_kernel *k;

	for (k = hw->active; k; k = k->next)
		if (k->context != hw->active->context)
			return sim_check_fail(c, "two contexts on the engine");
	if (next && hw->active && next->context == hw->active->context && !hw_active_full(hw))
		return sim_check_fail(c, "app %u may join but waits", next->app);
	return !hw->n_idle || no_block_waits(c);
}

static bool check_fcfs(struct sim_check *c)
{
	return check_owner(c, c->sim->hw.pending);
}

static bool check_npq(struct sim_check *c)
{
	const struct hw_command *p, *best = c->sim->hw.pending;

	for (p = best; p; p = p->next)
		if (p->priority > best->priority)
			best = p;
	return check_owner(c, best);
}

/* All but FCFS and NPQ admit whatever the active queue holds. */
static bool check_admission(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;

	return !hw->pending || hw_active_full(hw) ||
	       sim_check_fail(c, "app %u waits for a queue with room", hw->pending->app);
}

static bool check_ppq(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;
	int32_t top = top_priority(hw, false);
	const struct hw_kernel *k;

	for (k = hw->active; k; k = k->next) {
		if (k->issue != (k->priority == top))
			return sim_check_fail(c, "app %u: issue is wrongly open or closed", k->app);
		if (hw->n_idle && k->priority == top && hw_unissued(k))
			return idle_while(c, k);
	}
	return check_admission(c);
}

static bool check_ppq_shared(struct sim_check *c)
{
	return check_admission(c) && (!c->sim->hw.n_idle || no_block_waits(c));
}

/* Tokens that k came with: those it has, and one for each SM that it holds or will. */
static int64_t endowment(const struct hw *hw, const struct hw_kernel *k)
{
	int64_t tokens = (int64_t)k->priv.tokens + k->n_reserved;
	uint32_t i;

	for (i = 0; i < hw->sim->sc->gpu.n_sms; i++)
		tokens += hw->sms[i].kernel == k && hw->sms[i].state == HW_SM_RUNNING;
	return tokens;
}

static bool owns_running(const struct hw *hw, const struct hw_kernel *k)
{
	uint32_t i;

	for (i = 0; i < hw->sim->sc->gpu.n_sms; i++)
		if (hw->sms[i].kernel == k && hw->sms[i].state == HW_SM_RUNNING)
			return true;
	return false;
}

static bool check_tokens(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;
	const struct hw_kernel *k;

	for (k = hw->active; k; k = k->next) {
		int64_t *had = &c->kernels[k->app].endowment, has = endowment(hw, k);

		if (*had != INT64_MIN && *had != has)
			return sim_check_fail(c, "app %u: tokens were lost or made", k->app);
		*had = has;
	}
	return true;
}

static bool check_dss(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;
	const struct hw_kernel *k, *rich = NULL;

	if (!check_tokens(c))
		return false;
	for (k = hw->active; k; k = k->next)
		if (hw_demand(k) > k->n_reserved && (!rich || k->priv.tokens > rich->priv.tokens))
			rich = k;
	if (!rich)
		return check_admission(c);
	if (hw->n_idle)
		return idle_while(c, rich);
	for (k = hw->active; k; k = k->next)
		if (k != rich && rich->priv.tokens - k->priv.tokens > 1 && owns_running(hw, k))
			return sim_check_fail(c, "app %u has %d tokens, app %u %d", rich->app,
					      rich->priv.tokens, k->app, k->priv.tokens);
	return check_admission(c);
}

/* SMs may idle, but not beside a kernel that has none, or is alone. */
static bool check_dss_printed(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;
	const struct hw_kernel *k;

	for (k = hw->active; hw->n_idle && k; k = k->next)
		if (hw_demand(k) > k->n_reserved &&
		    (hw->n_active == 1 || !(k->n_sms + k->n_reserved)))
			return idle_while(c, k);
	return check_tokens(c) && check_admission(c);
}

/* Issue is open to one context, which has an active kernel. */
static bool check_timeslice(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;
	const struct hw_kernel *k, *turn = NULL;

	for (k = hw->active; k && !turn; k = k->next)
		turn = k->issue ? k : NULL;
	if (hw->active && !turn)
		return sim_check_fail(c, "nobody has the turn");
	for (k = hw->active; k; k = k->next) {
		if (k->issue != (k->context == turn->context))
			return sim_check_fail(c, "app %u: issue is wrongly open or closed", k->app);
		if (hw->n_idle && k->issue && hw_unissued(k))
			return idle_while(c, k);
	}
	return check_admission(c);
}

/* What holds for any scheduler. */
static bool check_any(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;

	return !hw->pending || hw->active ||
	       sim_check_fail(c, "the engine is empty while app %u waits", hw->pending->app);
}

/* The most important that may issue does, where there is room. */
static bool check_no_sm_idles(struct sim_check *c)
{
	const struct hw *hw = &c->sim->hw;
	int32_t top = top_priority(hw, true);
	const struct hw_kernel *k;

	for (k = hw->active; hw->n_idle && k; k = k->next)
		if (k->issue && k->priority == top && hw_demand(k) > k->n_reserved)
			return idle_while(c, k);
	return true;
}

bool sim_check_policy(struct sim_check *c)
{
	static const struct {
		const char *name;
		bool (*check)(struct sim_check *c);
		bool idles; /* it leaves SMs idle beside blocks to issue */
	} rules[] = {
		{"fcfs", check_fcfs, false},
		{"npq", check_npq, false},
		{"ppq", check_ppq, false},
		{"ppq-shared", check_ppq_shared, false},
		{"dss", check_dss, false},
		{"dss-printed", check_dss_printed, true},
		{"timeslice", check_timeslice, false},
	};
	unsigned i;

	if (!check_any(c))
		return false;
	for (i = 0; i < COT_ARRAY_LEN(rules); i++)
		if (!strcmp(rules[i].name, c->sim->hw.ops->name))
			return (rules[i].idles || check_no_sm_idles(c)) && rules[i].check(c);
	return check_no_sm_idles(c);
}
