#include "daemon/known.h"

#include <errno.h>
#include <string.h>

void cot_known_clear(struct known *known)
{
	uint32_t i;

	for (i = 0; i < known->n; i++)
		cot_knowledge_destroy(known->programs[i].knowledge);
	known->n = 0;
}

int cot_known_read(const struct cot_config *config, struct known *ret_known, struct cot_error *err)
{
	struct known known = {.n = 0};
	int rc = 0;

	while (!rc && known.n < config->n_known) {
		const struct cot_config_known *from = &config->known[known.n];
		struct known_program *p = &known.programs[known.n];

		memcpy(p->name, from->name, sizeof(p->name));
		rc = cot_knowledge_read(from->file, &p->knowledge, err);
		if (rc)
			break;
		known.n++;
		if (cot_knowledge_refine(p->knowledge))
			rc = cot_error_set(err, -ENOMEM, "%s: out of memory", from->file);
	}
	if (rc)
		cot_known_clear(&known);
	else
		*ret_known = known;
	return rc;
}

const struct cot_knowledge *cot_known_find(const struct known *known, const char *name,
					   enum cot_class cls)
{
	uint32_t i;

	for (i = 0; i < known->n; i++)
		if (!strcmp(known->programs[i].name, name) &&
		    known->programs[i].knowledge->cls == cls)
			return known->programs[i].knowledge;
	return NULL;
}

void cot_known_tell(const struct cot_knowledge *k, struct cot_host *host, uint32_t tenant,
		    uint64_t now_ns)
{
	struct cot_event ev = {.type = COT_EV_PREDICTION,
			       .id = tenant,
			       .now_ns = now_ns,
			       .prediction = {.n = k ? k->n_quotas : 0}};

	if (k)
		ev.prediction.cost = k->cost;
	do {
		if (k)
			ev.prediction.is = k->predictions[ev.prediction.row];
		(void)cot_host_event(host, &ev);
	} while (++ev.prediction.row < ev.prediction.n);
}

/* A key that is the same for the same plan, for logs. */
static uint64_t key_of(const struct cot_knowledge *k, uint64_t size)
{
	uint64_t h = 0xcbf29ce484222325ull ^ size;
	const char *c;

	for (c = k->program; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x100000001b3ull;
	return h | 1;
}

struct cot_host_plan cot_known_plan(const struct cot_knowledge *k, uint64_t size)
{
	struct cot_host_plan plan = {0};

	if (!k)
		return plan;
	plan.plan = cot_knowledge_plan(k, size);
	plan.out_ns = cot_knowledge_out_ns(k, size);
	plan.key = plan.plan ? key_of(k, size) : 0;
	return plan;
}
