#include "bench/contention/points.h"

#include <string.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

const char *const cot_stage_names[COT_N_STAGES] = {
	"alone", "pairs", "latency", "shared", "power", "benchmarks", "more",
};

struct subject {
	const char *entry;
	uint32_t warps;
	enum cot_mix_memory memory;
};

/* What every claim about the model rests on: few and many warps, little and much computation. */
static const struct subject core[] = {
	{"read16x2", 64, COT_MIX_DRAM}, {"fma4", 64, COT_MIX_NONE},
	{"mix64", 64, COT_MIX_DRAM},	{"mix16", 64, COT_MIX_DRAM},
	{"read16x2", 16, COT_MIX_DRAM}, {"mix256", 64, COT_MIX_DRAM},
	{"copy16x2", 64, COT_MIX_DRAM}, {"read4x4", 64, COT_MIX_DRAM},
	{"read16x2", 64, COT_MIX_L2},	{"mix32", 64, COT_MIX_DRAM},
	{"mix128", 64, COT_MIX_DRAM},	{"read16x1", 8, COT_MIX_DRAM},
	{"fma1", 8, COT_MIX_NONE},	{"mix32", 16, COT_MIX_DRAM},
	{"read16x8", 32, COT_MIX_DRAM},
};

static const struct subject others[] = {
	{"read4x1", 64, COT_MIX_DRAM}, {"read16x1", 64, COT_MIX_DRAM},
	{"mix8", 64, COT_MIX_DRAM},    {"mix64", 8, COT_MIX_DRAM},
	{"mix64", 16, COT_MIX_L2},     {"whole", 64, COT_MIX_NONE},
	{"dfma", 64, COT_MIX_NONE},    {"special_function", 64, COT_MIX_NONE},
	{"gather", 64, COT_MIX_DRAM},  {"shared_memory", 64, COT_MIX_NONE},
	{"chase", 1, COT_MIX_DRAM},    {"chase", 1, COT_MIX_L2},
	{"read4x1", 8, COT_MIX_DRAM},  {"fma4", 4, COT_MIX_NONE},
	{"read16x2", 4, COT_MIX_DRAM}, {"copy16x2", 16, COT_MIX_DRAM},
};

/* Two of them beside each other. */
static const struct subject paired[] = {
	{"read16x2", 64, COT_MIX_DRAM}, {"fma4", 64, COT_MIX_NONE},
	{"mix64", 64, COT_MIX_DRAM},	{"read16x2", 16, COT_MIX_DRAM},
	{"mix16", 64, COT_MIX_DRAM},	{"copy16x2", 64, COT_MIX_DRAM},
	{"mix256", 64, COT_MIX_DRAM},	{"read4x4", 64, COT_MIX_DRAM},
	{"read16x2", 64, COT_MIX_L2},
};

/* What memory is loaded with while a warp waits for single accesses. */
static const struct subject loads[] = {
	{"mix256", 64, COT_MIX_DRAM},	{"mix128", 64, COT_MIX_DRAM},
	{"mix64", 64, COT_MIX_DRAM},	{"mix32", 64, COT_MIX_DRAM},
	{"mix16", 64, COT_MIX_DRAM},	{"read16x2", 64, COT_MIX_DRAM},
	{"read16x2", 4, COT_MIX_DRAM},	{"read16x2", 8, COT_MIX_DRAM},
	{"read16x2", 16, COT_MIX_DRAM}, {"read16x1", 8, COT_MIX_DRAM},
	{"copy16x2", 64, COT_MIX_DRAM}, {"fma4", 64, COT_MIX_NONE},
};

/* Two of them fill an SM. The first are one family, from reading alone to computing alone. */
static const struct subject halves[] = {
	{"read16x2", 32, COT_MIX_DRAM}, {"fma4", 32, COT_MIX_NONE},
	{"mix64", 32, COT_MIX_DRAM},	{"mix16", 32, COT_MIX_DRAM},
	{"mix256", 32, COT_MIX_DRAM},	{"mix32", 32, COT_MIX_DRAM},
	{"mix128", 32, COT_MIX_DRAM},	{"mix8", 32, COT_MIX_DRAM},
	{"copy16x2", 32, COT_MIX_DRAM}, {"read4x4", 32, COT_MIX_DRAM},
};

/* A quarter of an SM beside three quarters of it. */
static const struct subject quarters[] = {
	{"read16x2", 16, COT_MIX_DRAM},
	{"fma4", 16, COT_MIX_NONE},
	{"mix64", 16, COT_MIX_DRAM},
	{"mix16", 16, COT_MIX_DRAM},
};
static const struct subject most[] = {
	{"read16x2", 48, COT_MIX_DRAM},
	{"fma4", 48, COT_MIX_NONE},
	{"mix64", 48, COT_MIX_DRAM},
	{"mix16", 48, COT_MIX_DRAM},
};

/* So few warps that they fill neither slots nor memory. */
static const struct subject few[] = {
	{"read16x2", 4, COT_MIX_DRAM},
	{"fma4", 4, COT_MIX_NONE},
	{"mix64", 8, COT_MIX_DRAM},
	{"fma1", 8, COT_MIX_NONE},
};

static const struct subject powered[] = {
	{"fma4", 64, COT_MIX_NONE},	     {"read16x2", 64, COT_MIX_DRAM},
	{"mix64", 64, COT_MIX_DRAM},	     {"read16x2", 64, COT_MIX_L2},
	{"mix16", 64, COT_MIX_DRAM},	     {"mix256", 64, COT_MIX_DRAM},
	{"copy16x2", 64, COT_MIX_DRAM},	     {"whole", 64, COT_MIX_NONE},
	{"shared_memory", 64, COT_MIX_NONE}, {"mix32", 64, COT_MIX_DRAM},
	{"dfma", 64, COT_MIX_NONE},	     {"special_function", 64, COT_MIX_NONE},
	{"mix128", 64, COT_MIX_DRAM},	     {"gather", 64, COT_MIX_DRAM},
	{"fma1", 8, COT_MIX_NONE},	     {"read4x4", 64, COT_MIX_DRAM},
	{"read16x2", 16, COT_MIX_DRAM},	     {"chase", 1, COT_MIX_DRAM},
	{"mix64", 8, COT_MIX_DRAM},
};
#define POWERED_ON_FEWER 9u /* the first of them on parts of the GPU as well */

static const uint32_t sm_counts[] = {0, 8, 64, 32, 96, 16, 24, 48, 112}; /* 0: all */

static struct cot_mix_part part_of(const struct subject *s, uint32_t sms)
{
	return (struct cot_mix_part){
		.family = cot_family_find(s->entry),
		.memory = s->memory,
		.warps = s->warps,
		.sms = sms,
	};
}

static void add(struct cot_points *p, enum cot_point_kind kind, enum cot_stage stage,
		const struct subject *a, uint32_t sms, const struct subject *b, uint32_t rest)
{
	struct cot_point *point = &p->points[p->n];

	if (p->n == COT_POINTS_MAX)
		return;
	memset(point, 0, sizeof(*point));
	point->kind = kind;
	point->stage = stage;
	if (a)
		point->mix.parts[point->mix.n++] = part_of(a, sms);
	if (b)
		point->mix.parts[point->mix.n++] = part_of(b, rest);
	p->n++;
}

static void add_alone(struct cot_points *p, enum cot_stage stage, const struct subject *s, size_t n,
		      size_t n_counts, uint32_t n_sms)
{
	size_t i, j;

	for (j = 0; j < n_counts; j++)
		for (i = 0; i < n; i++)
			if (sm_counts[j] < n_sms)
				add(p, COT_POINT_RATE, stage, &s[i],
				    sm_counts[j] ? sm_counts[j] : n_sms, NULL, 0);
}

/* Alone on what is left of a split, as in the pairs. */
static void add_on_rest(struct cot_points *p, size_t n, uint32_t n_sms, uint32_t first)
{
	size_t i;

	for (i = 0; i < n && first < n_sms; i++) {
		add(p, COT_POINT_RATE, COT_STAGE_ALONE, &core[i], n_sms - first, NULL, 0);
		p->points[p->n - 1].mix.on_rest = true;
	}
}

static void add_pairs(struct cot_points *p, uint32_t n_sms, uint32_t first)
{
	size_t i, j;

	for (i = 0; i < LEN(paired) && first < n_sms; i++)
		for (j = 0; j < LEN(paired); j++)
			add(p, COT_POINT_RATE, COT_STAGE_PAIRS, &paired[i], first, &paired[j],
			    n_sms - first);
}

/* Two kernels on the same SMs; which of them came first may matter. */
static void add_shared(struct cot_points *p, const struct subject *a, const struct subject *b,
		       uint32_t sms)
{
	add(p, COT_POINT_RATE, COT_STAGE_SHARED, a, sms, b, sms);
	p->points[p->n - 1].mix.shared = true;
}

static void add_sharing(struct cot_points *p, uint32_t sms)
{
	size_t i, j;

	for (i = 0; i < LEN(halves); i++)
		for (j = 0; j < LEN(halves); j++)
			add_shared(p, &halves[i], &halves[j], sms);
	for (i = 0; i < LEN(quarters); i++)
		for (j = 0; j < LEN(most); j++) {
			add_shared(p, &quarters[i], &most[j], sms);
			add_shared(p, &most[j], &quarters[i], sms);
		}
	for (i = 0; i < LEN(few); i++)
		for (j = 0; j < LEN(few); j++)
			add_shared(p, &few[i], &few[j], sms);
}

/* The same kernels alone before, so that this part tells all by itself. */
static void add_shared_stage(struct cot_points *p, uint32_t n_sms)
{
	static const struct {
		const struct subject *subjects;
		size_t n;
	} all[] = {
		{halves, LEN(halves)},
		{quarters, LEN(quarters)},
		{most, LEN(most)},
		{few, LEN(few)},
		{core, 1},	  /* an SM full of reads says what its port can do */
		{&others[10], 1}, /* and single accesses what memory takes */
	};
	size_t i;

	if (n_sms <= 8)
		return;
	for (i = 0; i < LEN(all); i++)
		add_alone(p, COT_STAGE_SHARED, all[i].subjects, all[i].n, 2, n_sms);
	add_sharing(p, n_sms);
	add_sharing(p, 8);
}

static void add_powered(struct cot_points *p, enum cot_stage stage, size_t n, uint32_t sms,
			uint32_t n_sms)
{
	size_t i;

	for (i = 0; i < n && sms <= n_sms; i++)
		add(p, COT_POINT_POWER, stage, &powered[i], sms, NULL, 0);
}

static void add_powered_pairs(struct cot_points *p, uint32_t n_sms)
{
	static const uint32_t pairs[][2] = {{0, 1}, {5, 1}, {0, 3}, {2, 4}, {7, 6}};
	size_t i;

	for (i = 0; i < LEN(pairs) && n_sms > 64; i++)
		add(p, COT_POINT_POWER, COT_STAGE_POWER, &powered[pairs[i][0]], 64,
		    &powered[pairs[i][1]], n_sms - 64);
}

static void add_benchmarks(struct cot_points *p)
{
	unsigned i;

	for (i = 0; i < cot_bench_n_all; i++) {
		add(p, COT_POINT_BENCHMARK, COT_STAGE_BENCHMARKS, NULL, 0, NULL, 0);
		p->points[p->n - 1].benchmark = cot_bench_all[i];
	}
}

void cot_points_make(struct cot_points *p, uint32_t n_sms)
{
	size_t i;

	p->n = 0;
	add_alone(p, COT_STAGE_ALONE, core, LEN(core), LEN(sm_counts), n_sms);
	add_on_rest(p, LEN(core), n_sms, 64);
	add_on_rest(p, LEN(core), n_sms, 32);
	add_on_rest(p, LEN(core), n_sms, 96);
	add_pairs(p, n_sms, 64);
	add_pairs(p, n_sms, 32);
	add_pairs(p, n_sms, 96);
	for (i = 0; i < LEN(loads) && n_sms > 8; i++)
		add(p, COT_POINT_RATE, COT_STAGE_LATENCY, &others[10], 8, &loads[i], n_sms - 8);
	add_shared_stage(p, n_sms);
	add_alone(p, COT_STAGE_ALONE, others, LEN(others), 5, n_sms);
	add(p, COT_POINT_IDLE, COT_STAGE_POWER, NULL, 0, NULL, 0);
	add_powered(p, COT_STAGE_POWER, LEN(powered), n_sms, n_sms);
	add_powered(p, COT_STAGE_POWER, POWERED_ON_FEWER, 64, n_sms);
	add_powered_pairs(p, n_sms);
	add_powered(p, COT_STAGE_POWER, POWERED_ON_FEWER, 16, n_sms);
	add(p, COT_POINT_IDLE, COT_STAGE_POWER, NULL, 0, NULL, 0);
	add_benchmarks(p);
	add_powered(p, COT_STAGE_MORE, 6, 32, n_sms);
	add_powered(p, COT_STAGE_MORE, 6, 96, n_sms);
	/* Once more, to see how well they repeat. */
	add_powered(p, COT_STAGE_MORE, 3, n_sms, n_sms);
}

void cot_points_make_smoke(struct cot_points *p, uint32_t n_sms)
{
	static const struct subject pair[] = {{"chase", 1, COT_MIX_L2}, {"fma4", 1, COT_MIX_NONE}};
	struct subject s = {.warps = 1, .memory = COT_MIX_DRAM};
	unsigned i;

	p->n = 0;
	for (i = 0; i < cot_n_families; i++) {
		s.entry = cot_families[i].entry;
		add(p, COT_POINT_RATE, COT_STAGE_ALONE, &s, 2, NULL, 0);
	}
	if (n_sms > 8)
		add(p, COT_POINT_RATE, COT_STAGE_PAIRS, &pair[0], 8, &pair[1], n_sms - 8);
	add_shared(p, &pair[0], &pair[1], 2);
	add(p, COT_POINT_IDLE, COT_STAGE_POWER, NULL, 0, NULL, 0);
	add(p, COT_POINT_POWER, COT_STAGE_POWER, &pair[1], 2, NULL, 0);
	add_benchmarks(p);
}
