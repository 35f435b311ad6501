#include "support/sim_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/gpu.h"

void sim_check_init(struct sim_check *c, struct cot_sim *sim)
{
	uint32_t i;

	memset(c, 0, sizeof(*c));
	c->sim = sim;
	c->exact = true;
	for (i = 0; i < COT_MAX_SMS; i++)
		c->rates[i] = COT_RATE_ONE;
}

void sim_check_finish(struct sim_check *c)
{
	uint32_t i;

	for (i = 0; i < COT_MAX_APPS; i++)
		free(c->kernels[i].blocks);
}

bool sim_check_fail(struct sim_check *c, const char *fmt, ...)
{
	size_t n = (size_t)snprintf(c->text, sizeof(c->text),
				    "at %llu ps: ", (unsigned long long)c->sim->now_ps);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(c->text + n, sizeof(c->text) - n, fmt, ap);
	va_end(ap);
	return false;
}

void sim_check_set_rate(struct sim_check *c, uint32_t sm, uint64_t rate_q32)
{
	c->exact = c->exact && rate_q32 == COT_RATE_ONE;
	c->rates[sm] = rate_q32;
	cot_sim_set_rate(c->sim, sm, rate_q32);
}

/* ---- blocks ---- */

/* Each stay on an SM may round by a picosecond at either end where the rate is not full. */
static int64_t slack_ps(const struct sim_check *c, const struct check_block *b)
{
	return c->exact ? 0 : 4 + 2 * (int64_t)b->moves;
}

/* From the last instant to this one nothing changed but the work of the blocks that run. */
static void advance(struct sim_check *c, uint64_t dt_ps)
{
	uint32_t a, i;

	for (a = 0; a < COT_MAX_APPS; a++) {
		struct check_kernel *k = &c->kernels[a];

		for (i = 0; k->live && i < k->n_blocks; i++) {
			struct check_block *b = &k->blocks[i];
			cot_u128 done;

			if (b->place != CHECK_RUNNING)
				continue;
			done = (cot_u128)dt_ps * c->rates[b->sm] + b->part;
			b->left_ps -= (int64_t)(done >> 32);
			b->part = (uint64_t)done & 0xffffffffu;
		}
	}
}

static bool complete(struct sim_check *c, const struct check_kernel *k, uint32_t i)
{
	struct check_block *b = &k->blocks[i];

	if (b->place == CHECK_DONE)
		return true;
	if (b->place != CHECK_RUNNING)
		return sim_check_fail(c, "block %u is gone but was not running", i);
	if (llabs(b->left_ps) > slack_ps(c, b))
		return sim_check_fail(c, "block %u ended with %lld ps of work left", i,
				      (long long)b->left_ps);
	b->place = CHECK_DONE;
	c->completed++;
	return true;
}

/* Closes the books on launches that have left. */
static bool close_finished(struct sim_check *c)
{
	uint32_t a, i;

	for (a = 0; a < COT_MAX_APPS; a++) {
		struct check_kernel *k = &c->kernels[a];
		const struct hw_kernel *hk;

		for (hk = c->sim->hw.active; hk; hk = hk->next)
			if (hk->app == a && hk->seq == k->seq)
				break;
		if (!k->live || hk)
			continue;
		for (i = 0; i < k->n_blocks; i++)
			if (!complete(c, k, i))
				return false;
		k->live = false;
	}
	return true;
}

static bool open_new(struct sim_check *c, struct hw_kernel *hk)
{
	struct check_kernel *k = &c->kernels[hk->app];
	const struct jitter *j = c->sim->jitter;
	uint32_t i;

	if (k->live)
		return k->seq == hk->seq ||
		       sim_check_fail(c, "app %u has two active kernels", hk->app);
	if (k->cap < hk->desc->n_blocks) {
		free(k->blocks);
		k->cap = hk->desc->n_blocks;
		k->blocks = malloc(k->cap * sizeof(*k->blocks));
		if (!k->blocks)
			abort();
	}
	k->live = true;
	k->seq = hk->seq;
	k->n_blocks = hk->desc->n_blocks;
	k->endowment = INT64_MIN;
	memset(k->blocks, 0, k->n_blocks * sizeof(*k->blocks));
	for (i = 0; i < k->n_blocks; i++)
		k->blocks[i].left_ps = (int64_t)(j ? jitter_block_ps(j, kernel_of(hk)->launch_hash,
								     i, hk->desc->block_ps)
						   : hk->desc->block_ps);
	return true;
}

/* Block i is now found in `place` with `left` to do. */
static bool put(struct sim_check *c, struct check_kernel *k, uint32_t i, enum check_place place,
		uint32_t sm, int64_t left_ps)
{
	struct check_block *b;

	if (i >= k->n_blocks)
		return sim_check_fail(c, "there is no block %u", i);
	b = &k->blocks[i];
	if (b->seen)
		return sim_check_fail(c, "block %u is in two places", i);
	if (b->place == CHECK_DONE)
		return sim_check_fail(c, "block %u runs twice", i);
	if (place == CHECK_FRESH && b->place != CHECK_FRESH)
		return sim_check_fail(c, "block %u is fresh again", i);
	if (llabs(b->left_ps - left_ps) > slack_ps(c, b))
		return sim_check_fail(c, "block %u has %lld ps left, not %lld", i,
				      (long long)b->left_ps, (long long)left_ps);
	if (place == CHECK_RUNNING && b->left_ps <= -slack_ps(c, b) && b->left_ps <= 0)
		return sim_check_fail(c, "block %u is done but stays", i);
	if (b->place == CHECK_WAITING && place == CHECK_RUNNING && b->ready_ps != c->sim->now_ps)
		return sim_check_fail(c, "block %u was to start at %llu ps", i,
				      (unsigned long long)b->ready_ps);
	if (b->place != place || b->sm != sm) {
		b->moves++;
		b->part = 0;
	}
	b->seen = true;
	b->place = place;
	b->sm = sm;
	return true;
}

/* What the engine thinks is left of a cohort on an SM. */
static int64_t left_of(const struct cot_sim *sim, const struct sm *sm, const struct cohort *co)
{
	uint64_t dt = sm->saving ? 0 : sim->now_ps - sm->progress_at_ps;
	cot_u128 more = (cot_u128)dt * sm->rate_q32 + sm->progress_frac;

	if (co->waiting)
		return (int64_t)co->work_ps;
	return (int64_t)co->work_ps - (int64_t)sm->progress_ps - (int64_t)(more >> 32);
}

/* Blocks whose contexts an SM has just begun to restore: they start together. */
struct restore {
	uint32_t n;
	uint64_t ready_ps;
};

static bool put_waiting(struct sim_check *c, struct check_kernel *k, uint32_t i,
			const struct sm *sm, const struct cohort *co, struct restore *r)
{
	struct check_block *b = &k->blocks[i];
	bool again = b->place == CHECK_WAITING && b->sm == sm->hw->index;

	if (!put(c, k, i, CHECK_WAITING, sm->hw->index, left_of(c->sim, sm, co)))
		return false;
	if (again && b->ready_ps == co->ready_ps)
		return true;
	if (co->ready_ps <= c->sim->now_ps)
		return sim_check_fail(c, "block %u waits for nothing", i);
	b->ready_ps = co->ready_ps;
	if (!co->saved)
		return true;
	if (r->n++ && r->ready_ps != co->ready_ps)
		return sim_check_fail(c, "block %u is not restored with the others", i);
	r->ready_ps = co->ready_ps;
	return true;
}

/* One restore follows the other on an SM; one that is being set up starts afresh. */
static bool check_restore(struct sim_check *c, const struct sm *sm, const struct restore *r)
{
	const struct cot_gpu *gpu = &c->sim->sc->gpu;
	uint64_t now = c->sim->now_ps, *free_ps = &c->restore_free_ps[sm->hw->index];
	uint64_t from = *free_ps > now ? *free_ps : now, move;

	if (!r->n)
		return true;
	move = cot_gpu_sm_move_ps(gpu, (uint64_t)r->n * sm->hw->kernel->desc->ctx_bytes_per_block);
	if (r->ready_ps != from + move &&
	    (sm->n_waiting < sm->n_cohorts || r->ready_ps != now + gpu->setup_ps + move))
		return sim_check_fail(c, "SM %u: %u blocks are restored at %llu ps", sm->hw->index,
				      r->n, (unsigned long long)r->ready_ps);
	*free_ps = r->ready_ps;
	return true;
}

static bool put_sm(struct sim_check *c, struct check_kernel *k, const struct sm *sm)
{
	struct restore r = {0};
	uint32_t n = 0, i, j;

	for (i = 0; i < sm->n_cohorts; i++) {
		const struct cohort *co = &sm->cohorts[i];

		n += co->n;
		for (j = co->first; j < co->first + co->n; j++) {
			bool ok = co->waiting && !sm->saving
					  ? put_waiting(c, k, j, sm, co, &r)
					  : put(c, k, j, sm->saving ? CHECK_SAVING : CHECK_RUNNING,
						sm->hw->index, left_of(c->sim, sm, co));

			if (!ok)
				return false;
		}
	}
	if (n != sm->hw->n_resident || n > sm->hw->kernel->desc->blocks_per_sm)
		return sim_check_fail(c, "SM %u holds %u blocks, says %u", sm->hw->index, n,
				      sm->hw->n_resident);
	return check_restore(c, sm, &r);
}

static bool put_ptbq(struct sim_check *c, struct check_kernel *k, const struct kernel *kn)
{
	const struct ptbq *q = &kn->ptbq;
	uint32_t n = 0, i, j;

	for (i = 0; i < q->n; i++) {
		const struct cohort *co = &q->ring[(q->head + i) & (q->cap - 1)];

		n += co->n;
		for (j = co->first; j < co->first + co->n; j++)
			if (!put(c, k, j, CHECK_QUEUED, UINT32_MAX, (int64_t)co->work_ps))
				return false;
	}
	return n == kn->hw.n_preempted ||
	       sim_check_fail(c, "app %u: %u blocks in the PTBQ, says %u", kn->hw.app, n,
			      kn->hw.n_preempted);
}

static bool check_kernel(struct sim_check *c, struct hw_kernel *hk)
{
	struct check_kernel *k = &c->kernels[hk->app];
	uint32_t i, n_done = 0;

	for (i = 0; i < k->n_blocks; i++)
		k->blocks[i].seen = false;
	for (i = 0; i < c->sim->sc->gpu.n_sms; i++)
		if (c->sim->hw.sms[i].kernel == hk && !put_sm(c, k, &c->sim->sms[i]))
			return false;
	if (!put_ptbq(c, k, kernel_of(hk)))
		return false;
	for (i = k->n_blocks - hk->n_fresh; i < k->n_blocks; i++)
		if (!put(c, k, i, CHECK_FRESH, 0, k->blocks[i].left_ps))
			return false;
	for (i = 0; i < k->n_blocks; i++) {
		if (!k->blocks[i].seen && !complete(c, k, i))
			return false;
		n_done += k->blocks[i].place == CHECK_DONE;
	}
	if (n_done != hk->n_done)
		return sim_check_fail(c, "app %u: %u blocks done, says %u", hk->app, n_done,
				      hk->n_done);
	return true;
}

bool sim_check_blocks(struct sim_check *c)
{
	struct cot_sim *sim = c->sim;
	struct hw_kernel *hk;

	if (sim->now_ps < c->now_ps)
		return sim_check_fail(c, "time went back from %llu ps",
				      (unsigned long long)c->now_ps);
	advance(c, sim->now_ps - c->now_ps);
	c->now_ps = sim->now_ps;
	if (!close_finished(c))
		return false;
	for (hk = sim->hw.active; hk; hk = hk->next)
		if (!open_new(c, hk) || !check_kernel(c, hk))
			return false;
	if (c->completed != sim->block_completions)
		return sim_check_fail(c, "%llu blocks completed, says %llu",
				      (unsigned long long)c->completed,
				      (unsigned long long)sim->block_completions);
	return true;
}

bool sim_check_instant(struct sim_check *c)
{
	return sim_check_blocks(c) && sim_check_tables(c) && (c->sim->done || sim_check_policy(c));
}
