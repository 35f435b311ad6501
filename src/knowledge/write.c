#include <inttypes.h>
#include <string.h>

#include "base/quote.h"
#include "knowledge/knowledge.h"

static void write_text(FILE *out, const char *key, const char *text)
{
	(void)fprintf(out, "%s: ", key);
	cot_quote_write(out, text);
	(void)fputc('\n', out);
}

static void write_numbers(FILE *out, const char *key, const uint64_t *numbers, uint32_t n)
{
	uint32_t i;

	(void)fprintf(out, "%s: [", key);
	for (i = 0; i < n; i++)
		(void)fprintf(out, "%s%" PRIu64, i ? ", " : "", numbers[i]);
	(void)fprintf(out, "]\n");
}

static bool any(const uint64_t *numbers, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (numbers[i])
			return true;
	return false;
}

static void write_rates(FILE *out, const char *indent, const struct cot_known_rates *r, uint32_t n)
{
	uint64_t ipc[COT_KNOWN_QUOTAS_MAX];
	uint32_t i;

	(void)fputs(indent, out);
	write_numbers(out, "time_ns", r->time_ns, n);
	if (any(r->bytes_per_s, n)) {
		(void)fputs(indent, out);
		write_numbers(out, "bytes_per_s", r->bytes_per_s, n);
	}
	for (i = 0; i < n; i++)
		ipc[i] = r->ipc_milli[i];
	if (any(ipc, n)) {
		(void)fputs(indent, out);
		write_numbers(out, "ipc_milli", ipc, n);
	}
}

static void write_kernel(FILE *out, const struct cot_knowledge *k)
{
	if (!any(k->kernel_ns, k->n_quotas))
		return;
	(void)fputs("  ", out);
	write_numbers(out, "kernel_ns", k->kernel_ns, k->n_quotas);
}

static void write_cost(FILE *out, const struct cot_cost *cost)
{
	if (cost->power_w)
		(void)fprintf(out, "  power_w: %" PRIu32 "\n", cost->power_w);
	if (cost->cpu_w)
		(void)fprintf(out, "  cpu_w: %" PRIu32 "\n", cost->cpu_w);
	if (cost->cpu_ns)
		(void)fprintf(out, "  cpu_time_ns: %" PRIu64 "\n", cost->cpu_ns);
}

static void write_input(FILE *out, const struct cot_known_input *in, uint32_t n_quotas)
{
	uint32_t i;

	(void)fprintf(out, "  - size: %" PRIu64 "\n    requests: %" PRIu64 "\n    ", in->size,
		      in->requests);
	write_numbers(out, "time_ns", in->time_ns, n_quotas);
	if (any(in->bytes_per_s, n_quotas)) {
		(void)fputs("    ", out);
		write_numbers(out, "bytes_per_s", in->bytes_per_s, n_quotas);
	}
	if (in->out_ns)
		(void)fprintf(out, "    out_ns: %" PRIu64 "\n", in->out_ns);
	if (in->n_launches)
		(void)fprintf(out, "    launches: %" PRIu32 "\n", in->n_launches);
	for (i = 0; i < in->n_tasks; i++)
		(void)fprintf(out, "%s%u", i ? ", " : "    tasks: [", in->tasks[i]);
	if (in->n_tasks)
		(void)fprintf(out, "]\n");
}

void cot_knowledge_write(const struct cot_knowledge *k, FILE *out)
{
	bool latency = k->cls == COT_CLASS_LATENCY;
	uint64_t sms[COT_KNOWN_QUOTAS_MAX];
	uint32_t i;

	(void)fprintf(out, "schema: cotenant.knowledge/1\n");
	write_text(out, "program", k->program);
	(void)fprintf(out, "class: %s\n", latency ? "latency" : "batch");
	write_text(out, "gpu", k->gpu);
	for (i = 0; i < k->n_quotas; i++)
		sms[i] = k->sms[i];
	write_numbers(out, "sms", sms, k->n_quotas);
	(void)fprintf(out, "spread_milli: %" PRIu32 "\n", k->spread_milli);
	if (!latency) {
		(void)fprintf(out, "repeats:\n");
		write_rates(out, "  ", &k->repeats, k->n_quotas);
		write_kernel(out, k);
		write_cost(out, &k->cost);
		return;
	}
	(void)fprintf(out, "inputs:\n");
	for (i = 0; i < k->n_inputs; i++)
		write_input(out, k->inputs[i], k->n_quotas);
	if (k->n_kernels)
		(void)fprintf(out, "kernels:\n");
	for (i = 0; i < k->n_kernels; i++) {
		(void)fputs("  - ", out);
		write_text(out, "name", k->kernels[i]->name);
		write_rates(out, "    ", &k->kernels[i]->rates, k->n_quotas);
	}
}
