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
		{COT_LEND "switch", "dss, context switch"},
		{COT_LEND "drain", "dss, draining"},
		{COT_LEND "switch/drain", "dss, crossing"},
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
	"DSS. Algorithm 1 as printed leaves kernels without any SM for ever, so the authors must have "
	"simulated another one; the paper does not say which. Ours that is compared, dss-printed, "
	"has three repairs and is otherwise as printed: like the paper's it lends little, so long "
	"programs lose about as much. Our own dss lends every idle SM at once: long programs lose "
	"hardly anything and throughput is nearly kept, better than in the paper.",
	"How to average. Where FCFS is very unfair, the ratio of a workload is very large, and a mean "
	"of ratios counts little else: of Figure 7b the ratio of the means is several times smaller "
	"and much nearer to the paper, which does not say how it averages.",
	"The programs' CPU traces are not published. Copies, waits and launches are those of the "
	"Parboil sources; how long the CPU works between them is ours, the totals chosen from "
	"Figure 5 alone. Figures 6 to 8 are predictions. The sensitivity shows what it changes to "
	"put the CPU time elsewhere.",
	"SHORT and MEDIUM of Figure 7a are decided by spmv and histo, which wait for the GPU dozens of "
	"times in a run. What they lose under FCFS is bound by Figure 5 (63.7), what they lose "
	"under DSS by having one of 13 SMs or two. No choice that the paper leaves open brings "
	"their gain down to the printed 4.0 and 1.7.",
	"With two processes our short programs gain less than the paper's, under priorities and under "
	"DSS. A run of theirs that meets no kernel of the other program counts like one that does.",
	"Two printed values look swapped: of Figure 5 with two processes and context switches, 1.26 for "
	"LONG and 1.06 for MEDIUM. MEDIUM would gain less than by draining (1.33), and only when "
	"swapped do the groups give the printed average: (3 * 1.06 + 5 * 1.26 + 2 * 5.1) / 10 = "
	"1.97, printed 2; as printed 1.93. Ours are 1.07 and 1.35. We compare with what is printed.",
	"Draining costs less throughput than switching here, in the paper more; its reason is that the "
	"blocks of an SM end at different times. The sensitivity has block times with a spread, "
	"every kernel's time alone kept: up to 0.6 the order does not turn.",
	"Shared access costs less than exclusive access here, in the paper more. SMs that a more "
	"important kernel cannot fill do work that is not lost.",
	"The paper does not publish its workloads, nor how many it drew. Ours come from a fixed seed; "
	"the intervals in the JSON output show how much another draw would move a value.",
	"Kernels do not slow each other down through the memory system, here as in the paper.",
	NULL,
};
