/*
 * Sizes of parts between those that were measured. What a program takes is predicted by Amdahl's
 * law through the two measured sizes around: a part that does not scale, and one that goes with the
 * SMs; what it moves and does per second by a straight line.
 */
#include <string.h>

#include "knowledge/inside.h"

#define STEPS 16u /* of all SMs: the units of an H200. Our choice. */

/* The sizes, and the measured one that each is, or that is next below. */
struct sizes {
	uint32_t n, sms[COT_KNOWN_QUOTAS_MAX], below[COT_KNOWN_QUOTAS_MAX];
	const uint32_t *measured; /* those of the file */
};

static void add(struct sizes *s, uint32_t sms, uint32_t below)
{
	s->sms[s->n] = sms;
	s->below[s->n++] = below;
}

static void list(const struct cot_knowledge *k, struct sizes *s)
{
	uint32_t all = k->sms[k->n_quotas - 1], step = (all + STEPS - 1) / STEPS, i, sms;

	*s = (struct sizes){.n = 0};
	for (i = 0; i < k->n_quotas; i++) {
		add(s, k->sms[i], i);
		if (i + 1 == k->n_quotas)
			break;
		for (sms = k->sms[i] + step; sms < k->sms[i + 1]; sms += step)
			if (s->n + k->n_quotas - i - 1 < COT_KNOWN_QUOTAS_MAX)
				add(s, sms, i);
	}
}

/* In parts of the way from the measured size below to the next one. */
static double place_of(const struct sizes *s, uint32_t x, bool time)
{
	double a = s->measured[s->below[x]], b = s->measured[s->below[x] + 1], n = s->sms[x];

	return time ? (1.0 / a - 1.0 / n) / (1.0 / a - 1.0 / b) : (n - a) / (b - a);
}

static uint64_t between(const struct sizes *s, uint32_t x, const uint64_t *measured, bool time)
{
	uint32_t i = s->below[x];
	double low = (double)measured[i];

	if (s->sms[x] == s->measured[i])
		return measured[i];
	return (uint64_t)(low + ((double)measured[i + 1] - low) * place_of(s, x, time));
}

static void spread(const struct sizes *s, uint64_t *v, bool time)
{
	uint64_t measured[COT_KNOWN_QUOTAS_MAX];
	uint32_t x;

	memcpy(measured, v, sizeof(measured));
	for (x = 0; x < s->n; x++)
		v[x] = between(s, x, measured, time);
}

static void spread_rates(const struct sizes *s, struct cot_known_rates *r)
{
	uint64_t ipc[COT_KNOWN_QUOTAS_MAX];
	uint32_t x;

	for (x = 0; x < COT_KNOWN_QUOTAS_MAX; x++)
		ipc[x] = r->ipc_milli[x];
	spread(s, r->time_ns, true);
	spread(s, r->bytes_per_s, false);
	spread(s, ipc, false);
	for (x = 0; x < s->n; x++)
		r->ipc_milli[x] = (uint32_t)ipc[x];
}

int cot_knowledge_refine(struct cot_knowledge *k)
{
	uint32_t measured[COT_KNOWN_QUOTAS_MAX], i;
	struct sizes s;

	list(k, &s);
	memcpy(measured, k->sms, sizeof(measured));
	s.measured = measured;
	for (i = 0; i < k->n_inputs; i++) {
		spread(&s, k->inputs[i]->time_ns, true);
		spread(&s, k->inputs[i]->bytes_per_s, false);
		if (!k->inputs[i]->n_tasks) /* they are counted again */
			k->n_all_tasks -= k->inputs[i]->plan.n_tasks;
	}
	for (i = 0; i < k->n_kernels; i++)
		spread_rates(&s, &k->kernels[i]->rates);
	spread_rates(&s, &k->repeats);
	spread(&s, k->kernel_ns, true);
	memcpy(k->sms, s.sms, sizeof(s.sms));
	k->n_quotas = s.n;
	return cot_knowledge_complete(k);
}
