#include "kernels/run/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int check(struct cot_copies *c, struct cot_copy *copy, struct cot_error *err)
{
	struct cot_bench_verdict verdict = {0};
	int rc = cot_session_fetch(&copy->session, err);

	if (!rc && cot_bench_check(&copy->in, copy->session.result, &verdict))
		rc = cot_error_set(err, -ENOMEM, "%s: no memory for the CPU's result",
				   copy->in.bench->name);
	if (verdict.n_wrong && !c->verdict.n_wrong)
		memcpy(c->verdict.text, verdict.text, sizeof(verdict.text));
	c->verdict.n_checked += verdict.n_checked;
	c->verdict.n_wrong += verdict.n_wrong;
	return rc;
}

/* Each copy has a seed of its own: with equal inputs a block could work for the wrong one. */
static int make(struct cot_copies *c, uint32_t i, const struct cot_options *options,
		const struct cot_bench *bench, struct cot_machine *machine, struct cot_error *err)
{
	struct cot_copy *copy = &c->all[i];
	int rc = cot_bench_create(&copy->in, bench, options->size, options->n_blocks,
				  options->seed + i, err);

	if (!rc)
		rc = cot_session_init(&copy->session, machine, &copy->in, err);
	if (!rc)
		rc = cot_session_run(&copy->session, cot_session_launch_plain, NULL, err);
	if (!rc)
		rc = cot_session_keep(&copy->session, copy->plain, err);
	if (!rc && !options->no_reference)
		rc = check(c, copy, err);
	c->sessions[i] = &copy->session;
	c->n_apart += copy->session.n_steps;
	return rc;
}

int cot_copies_init(struct cot_copies *c, const struct cot_options *options,
		    const struct cot_bench *bench, const struct cot_rewritten *rewritten,
		    struct cot_machine *machine, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	*c = (struct cot_copies){.n = options->n_copies};
	c->all = calloc(c->n, sizeof(c->all[0]));
	if (!c->all)
		return cot_error_set(err, -ENOMEM, "%s: not enough memory", bench->name);
	for (i = 0; i < c->n && !rc; i++)
		rc = make(c, i, options, bench, machine, err);
	c->run = (struct cot_batch_run){.rewritten = rewritten, .sessions = c->sessions, .n = c->n};
	if (rc)
		cot_copies_finish(c);
	return rc;
}

void cot_copies_finish(struct cot_copies *c)
{
	uint32_t i, k;

	for (i = 0; c->all && i < c->n; i++) {
		struct cot_copy *copy = &c->all[i];
		struct cot_machine *m = copy->session.machine;

		for (k = 0; k < COT_BENCH_MAX_BUFFERS; k++)
			if (copy->plain[k])
				m->ops->free(m, copy->plain[k]);
		if (m)
			cot_session_finish(&copy->session);
		cot_bench_destroy(&copy->in);
	}
	free(c->all);
	*c = (struct cot_copies){0};
}

int cot_copies_reset(struct cot_copies *c, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < c->n && !rc; i++)
		rc = cot_session_reset(c->sessions[i], err);
	return rc;
}

int cot_copies_replay_apart(struct cot_copies *c, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < c->n && !rc; i++)
		rc = cot_session_replay(c->sessions[i], cot_session_launch_plain, NULL, err);
	return rc;
}
