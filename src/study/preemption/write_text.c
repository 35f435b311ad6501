/* The report for a terminal: the main result on one screen, then the details. */
#include <errno.h>
#include <string.h>

#include "report/format.h"
#include "study/preemption/names.h"
#include "study/preemption/tables.h"

static int print_head(FILE *out, const struct cot_preemption *r)
{
	unsigned m, judged, held, better = cot_preemption_better_reading(r);
	struct cot_text blocks;
	int rc;

	fprintf(out,
		"Preemptive multiprogramming on GPUs (Tanasic et al., ISCA 2014): sections 4.2 to 4.4\n"
		"%u simulations, %s thread blocks, seed %llu%s. Average of all workloads, 8 "
		"processes:\n\n",
		r->n_simulations, cot_format_count(&blocks, r->block_completions),
		(unsigned long long)r->seed, r->quick ? ", quick (few workloads)" : "");
	rc = cot_table_print(cot_preemption_table_pairs(r, true), out);
	if (rc)
		return rc;
	fprintf(out, "\n5: %s\n6a: %s\n7a: %s\n7b: %s\n7c: %s\n8: %s\n",
		cot_preemption_figure_title("5"), cot_preemption_figure_title("6a"),
		cot_preemption_figure_title("7a"), cot_preemption_figure_title("7b"),
		cot_preemption_figure_title("7c"), cot_preemption_figure_title("8"));
	fputs("ours: 7 and 8 under dss-printed, mean of the ratios of all workloads; of means: ratio of "
	      "the two means;\nour dss: under dss, which lends every idle SM; as printed: ours with "
	      "Table 1's Time/TB as it stands\n\n",
	      out);
	for (m = 0; m < COT_PREEMPTION_MAIN; m++) {
		held = cot_preemption_shapes_held(&r->comparison[m], &judged);
		fprintf(out,
			"%-10s reading of Time/TB: %u of %u shapes hold, mean |ln(ours/paper)| "
			"%.3f (ratios of means: %.3f) over %u printed values%s\n",
			r->samples[m].name, held, judged, r->comparison[m].fit,
			r->comparison[m].fit_of_means, r->comparison[m].n_fit,
			m == better ? "  <- closer" : "");
	}
	return 0;
}

#define TEXT_WIDTH 96

/* A paragraph with a dash before it, broken between words. */
static void print_bullet(FILE *out, const char *text)
{
	size_t column = 1, length;

	fputc('-', out);
	while (*text) {
		length = strcspn(text, " ");
		if (column + 1 + length > TEXT_WIDTH) {
			fputs("\n ", out);
			column = 1;
		}
		fprintf(out, " %.*s", (int)length, text);
		column += 1 + length;
		text += length + (text[length] == ' ');
	}
	fputc('\n', out);
}

static int print_sensitivity(FILE *out, const struct cot_preemption *r)
{
	const unsigned jitters = COT_PREEMPTION_MAIN, phases = jitters + r->n_jitters;
	const struct cot_preemption_sample *j = &r->samples[jitters], *p = &r->samples[phases];
	int rc;

	fprintf(out,
		"\nSensitivity: spread of block times (coefficient of variation). %u + %u workloads "
		"without LONG\nprograms; every kernel alone takes as long as Table 1 says\n\n",
		j->n_prio[0], j->n_dss);
	rc = cot_table_print(cot_preemption_table_sensitivity(r, jitters, r->n_jitters, false),
			     out);
	if (rc)
		return rc;
	fprintf(out,
		"\nSensitivity: where the CPU works. %u + %u workloads of each size; between launches: "
		"nine tenths of\nthe CPU time of programs of ten launches or more\n\n",
		p->n_prio[0], p->n_dss);
	return cot_table_print(cot_preemption_table_sensitivity(r, phases, r->n_phases, true), out);
}

int cot_preemption_write_text(FILE *out, const void *data)
{
	const struct cot_preemption *r = data;
	unsigned i;
	int rc = print_head(out, r);

	if (rc)
		return rc;
	fputs("\nAll printed values (! marks a wrong direction, or a share off by more than 15 "
	      "points)\n\n",
	      out);
	rc = cot_table_print(cot_preemption_table_pairs(r, false), out);
	if (rc)
		return rc;
	fputs("\nWho wins, in what order, where lines cross\n\n", out);
	rc = cot_table_print(cot_preemption_table_shapes(r, false), out);
	if (rc)
		return rc;
	fputs("\nWhy values deviate\n\n", out);
	for (i = 0; cot_preemption_reasons[i]; i++)
		print_bullet(out, cot_preemption_reasons[i]);
	for (i = 0; i < COT_PREEMPTION_MAIN; i++) {
		fprintf(out, "\nAll measured values, %s reading\n\n", r->samples[i].name);
		rc = cot_table_print(cot_preemption_table_points(r, i), out);
		if (rc)
			return rc;
	}
	if (r->n_samples > COT_PREEMPTION_MAIN)
		rc = print_sensitivity(out, r);
	if (rc)
		return rc;
	fputs("\nTable 1: context save time and share of the on-chip memory, recomputed; block "
	      "times of both readings\n\n",
	      out);
	return cot_table_print(cot_preemption_table_kernels(r), out);
}
