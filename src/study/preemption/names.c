#include "study/preemption/names.h"

#include <stdio.h>
#include <string.h>

struct word {
	const char *key, *text;
};

static const char *look_up(const struct word *words, unsigned n, const char *key)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (!strcmp(words[i].key, key))
			return words[i].text;
	return key;
}

const char *cot_preemption_figure_title(const char *figure)
{
	static const struct word titles[] = {
		{"5", "turnaround gain of the high-priority process over FCFS"},
		{"6a", "throughput cost of preemption, exclusive access: STP_NPQ / STP_PPQ"},
		{"6b", "throughput cost of preemption, shared access: STP_NPQ / STP_PPQ"},
		{"7a", "turnaround gain of DSS over FCFS"},
		{"7b", "fairness of DSS over fairness of FCFS"},
		{"7c", "throughput cost of DSS: STP_FCFS / STP_DSS"},
		{"8", "workloads whose ANTT improves under DSS, and where the curves cross"},
	};

	return look_up(titles, COT_ARRAY_LEN(titles), figure);
}

const char *cot_preemption_mechanism_name(const char *mechanism)
{
	static const struct word names[] = {
		{"npq", "NPQ (no preemption)"},
		{"switch", "context switch"},
		{"drain", "draining"},
		{"switch/drain", "crossing"},
	};

	return look_up(names, COT_ARRAY_LEN(names), mechanism);
}

const char *cot_preemption_value(char buf[COT_PREEMPTION_VALUE_MAX], const char *metric,
				 double value)
{
	if (!strcmp(metric, "improved_share") || !strcmp(metric, "crossing"))
		snprintf(buf, COT_PREEMPTION_VALUE_MAX, "%.0f %%", 100.0 * value);
	else
		snprintf(buf, COT_PREEMPTION_VALUE_MAX, value < 9.995 ? "%.2f" : "%.1f", value);
	return buf;
}

unsigned cot_preemption_shapes_held(const struct cot_preemption_comparison *c,
				    unsigned *ret_n_judged)
{
	unsigned i, held = 0;

	*ret_n_judged = 0;
	for (i = 0; i < c->n_shapes; i++) {
		*ret_n_judged += c->shapes[i].applies;
		held += c->shapes[i].holds;
	}
	return held;
}

unsigned cot_preemption_better_reading(const struct cot_preemption *r)
{
	return r->comparison[1].fit < r->comparison[0].fit ? 1 : 0;
}

const char *const cot_preemption_reasons[] = {
	"The paper does not publish the CPU and transfer phases of its applications. Ours are made "
	"up to reach the printed length classes, so how often a process waits for the GPU at all "
	"is only known roughly. Other totals within the classes move the fit little.",
	"The paper does not publish its workloads, nor how many it drew. Ours come from a fixed "
	"seed; the intervals in the JSON output show how much another draw would move a value.",
	"Groups are small: of the three SHORT applications of Figure 7a only spmv gains much (it "
	"waits 50 times in a run), and its value decides that of the group. The paper does not say "
	"how it averages.",
	"Short kernels gain most under PPQ and under DSS alike, because the FCFS baseline is the "
	"same. In the paper they gain 63.7 under PPQ but only 4.0 under DSS.",
	"DSS costs no throughput here: idle SMs are lent at once, and preemption is short beside "
	"the kernels.",
	"STP weighs all processes alike, so a short process that no longer waits outweighs the SM "
	"time lost to preemption. Throughput costs are therefore small with few processes.",
	"The default study gives all blocks of a kernel the same time. The sensitivity section "
	"shows what a spread changes.",
	"Kernels do not slow each other down through the memory system, here as in the paper.",
	NULL,
};
