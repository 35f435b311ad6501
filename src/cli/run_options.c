#include "cli/run_options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/words.h"
#include "emu/gpu/devices.h"

enum {
	KEY_CLASS = 256,
	KEY_WEIGHT,
	KEY_GPU,
	KEY_BLOCK,
	KEY_QUOTA,
	KEY_RESERVE,
	KEY_SMS,
	KEY_REWRITE,
	KEY_MERGE,
	KEY_NO_STORE,
	KEY_BACKEND,
	KEY_PACE,
	KEY_MEMORY,
	KEY_OVERSUBSCRIBE,
	KEY_P99,
	KEY_SLOWDOWN,
	KEY_RATE,
	KEY_MEASURE,
	KEY_POLICY,
	KEY_CPU,
	KEY_CPU_KERNELS,
	KEY_CPU_BY,
	KEY_SOLO,
	KEY_REQUIRED,
	KEY_EMULATE,
	KEY_SEED,
	KEY_CHECK,
};

const struct argp_option cot_run_option_list[] = {
	{"class", KEY_CLASS, "CLASS", 0, "latency, or batch (the default)", 0},
	{"name", 'n', "NAME", 0, "Its name in cotenant ps; default: the program's", 0},
	{"weight", KEY_WEIGHT, "N", 0, "Its share among batch programs: 1 to 10000, default 100",
	 0},
	{"gpu", KEY_GPU, "GPU", 0, "A number, a UUID, a list of them, or all; default: the first",
	 0},
	{"block", KEY_BLOCK, "TIME", 0,
	 "How long its thread blocks last at most, as in 100us or 2ms (a number alone: us), if you know",
	 0},
	{"quota", KEY_QUOTA, "SHARE", 0,
	 "How much of a GPU its kernels may have together, as in 50% or 66sm", 0},
	{"reserve", KEY_RESERVE, "SHARE", 0,
	 "How much of a GPU the kernels of a latency program get together at least", 0},
	{"sms", KEY_SMS, "SHARE", 0,
	 "Run on a part of the GPU's SMs, as in 64 or 50%; cotenant set changes it", 0},
	{"pace", KEY_PACE, "TIME", 0,
	 "On a part: launch only so much ahead of the GPU, as in 500us (a number alone: us), so that a change acts soon",
	 0},
	{"memory", KEY_MEMORY, "SIZE", 0,
	 "The most that it may have of each GPU's memory, as in 40GiB, which is promised to it", 0},
	{"memory-oversubscribe", KEY_OVERSUBSCRIBE, NULL, 0,
	 "Promise it although programs have been promised more than is left", 0},
	{"rewrite", KEY_REWRITE, NULL, 0,
	 "Rewrite its kernels, so that they can run on part of the SMs; --quota and "
	 "--reserve do so too",
	 0},
	{"merge", KEY_MERGE, NULL, 0,
	 "Make one launch of launches in different streams that could run at the same time", 0},
	{"merge-anew", KEY_NO_STORE, NULL, 0,
	 "Rewrite for --merge anew, and keep nothing on disk (else in ~/.cache/cotenant/templates)",
	 0},
	{"backend", KEY_BACKEND, "NAME", 0,
	 "Make one launch of launches of all programs with this backend, which is started if need be; "
	 "they have their memory in common",
	 0},
	{"cpu", KEY_CPU, "LIBRARY", 0,
	 "Run launches on the CPU that take less there, with these CPU versions of kernels: "
	 "kernels, interpreter, or a path; more with commas",
	 0},
	{"cpu-kernels", KEY_CPU_KERNELS, "FILE", 0,
	 "The kernels as the models take them, which say what takes less; default: all", 0},
	{"cpu-by", KEY_CPU_BY, "AIM", 0,
	 "What is to be less: energy (the default) or time; policy: the daemon decides", 0},
	{"p99", KEY_P99, "TIME", 0,
	 "Its target: 99 % of its requests take at most so long, as in 5ms", 0},
	{"slowdown", KEY_SLOWDOWN, "FACTOR", 0,
	 "The same, as a multiple of what they take alone on the GPU, as in 1.5x", 0},
	{"rate", KEY_RATE, "SHARE", 0,
	 "Its target: it gets on at least at this share of its rate alone, as in 80%", 0},
	{"measure", KEY_MEASURE, NULL, 0,
	 "Measure its requests, for cotenant stats; a target does so too", 0},
	{"policy", KEY_POLICY, "NAME", 0,
	 "The daemon goes over to this policy before, as by cotenant policy NAME", 0},
	{"solo", KEY_SOLO, NULL, 0, "Stay outside the pools", 0},
	{"required", KEY_REQUIRED, NULL, 0, "Fail where the program would run unchanged", 0},
	{"emulate", KEY_EMULATE, "DEVICE", 0,
	 "Run on an emulated GPU: " COT_EMU_DEVICE_WORDS(", or "), 0},
	{"emulate-seed", KEY_SEED, "N", 0, "Run its kernels in an order that N decides", 0},
	{"emulate-check", KEY_CHECK, "CHECKS", 0, "Look for mistakes in kernels: races, aligned",
	 0},
	{0},
};

/* What an option is kept in, and the variable that says it where no option does; NULL: none. */
struct place {
	int key;
	size_t at;
	const char *variable;
};

static const struct place texts[] = {
	{KEY_CLASS, offsetof(struct cot_run_options, class), "COTENANT_CLASS"},
	{'n', offsetof(struct cot_run_options, name), "COTENANT_NAME"},
	{KEY_WEIGHT, offsetof(struct cot_run_options, weight), "COTENANT_WEIGHT"},
	{KEY_GPU, offsetof(struct cot_run_options, gpu), "COTENANT_GPU"},
	{KEY_BLOCK, offsetof(struct cot_run_options, block), "COTENANT_BLOCK_US"},
	{KEY_QUOTA, offsetof(struct cot_run_options, quota), "COTENANT_QUOTA"},
	{KEY_RESERVE, offsetof(struct cot_run_options, reserve), "COTENANT_RESERVE"},
	{KEY_SMS, offsetof(struct cot_run_options, sms), "COTENANT_SMS"},
	{KEY_PACE, offsetof(struct cot_run_options, pace), "COTENANT_PACE_US"},
	{KEY_MEMORY, offsetof(struct cot_run_options, memory), "COTENANT_MEMORY_MIB"},
	{KEY_POLICY, offsetof(struct cot_run_options, policy), NULL},
	{KEY_P99, offsetof(struct cot_run_options, targets[COT_TARGET_P99]), NULL},
	{KEY_SLOWDOWN, offsetof(struct cot_run_options, targets[COT_TARGET_SLOWDOWN]), NULL},
	{KEY_RATE, offsetof(struct cot_run_options, targets[COT_TARGET_RATE]), NULL},
	{KEY_BACKEND, offsetof(struct cot_run_options, backend.name), NULL},
	{KEY_CPU, offsetof(struct cot_run_options, cpu.libraries), NULL},
	{KEY_CPU_KERNELS, offsetof(struct cot_run_options, cpu.kernels), NULL},
	{KEY_CPU_BY, offsetof(struct cot_run_options, cpu.aim), NULL},
	{KEY_EMULATE, offsetof(struct cot_run_options, emulate.device), NULL},
	{KEY_SEED, offsetof(struct cot_run_options, emulate.seed), NULL},
	{KEY_CHECK, offsetof(struct cot_run_options, emulate.checks), NULL},
};

static const struct place flags[] = {
	{KEY_OVERSUBSCRIBE, offsetof(struct cot_run_options, oversubscribe), NULL},
	{KEY_REWRITE, offsetof(struct cot_run_options, rewrite), "COTENANT_SHIM"},
	{KEY_MERGE, offsetof(struct cot_run_options, merge), "COTENANT_MERGE"},
	{KEY_NO_STORE, offsetof(struct cot_run_options, no_store), NULL},
	{KEY_MEASURE, offsetof(struct cot_run_options, measure), "COTENANT_REQUESTS"},
	{KEY_SOLO, offsetof(struct cot_run_options, solo), "COTENANT_SOLO"},
	{KEY_REQUIRED, offsetof(struct cot_run_options, required), "COTENANT_REQUIRED"},
};

static const char **text_at(struct cot_run_options *o, const struct place *p)
{
	return (const char **)((char *)o + p->at);
}

static bool *flag_at(struct cot_run_options *o, const struct place *p)
{
	return (bool *)((char *)o + p->at);
}

error_t cot_run_option_parse(int key, char *arg, struct argp_state *state)
{
	struct cot_run_options *o = state->input;
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(texts); i++)
		if (key == texts[i].key) {
			*text_at(o, &texts[i]) = arg;
			return 0;
		}
	for (i = 0; i < COT_ARRAY_LEN(flags); i++)
		if (key == flags[i].key) {
			*flag_at(o, &flags[i]) = true;
			return 0;
		}
	switch (key) {
	case ARGP_KEY_ARG:
		o->first = state->next - 1;
		state->next = state->argc; /* the rest is the program's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no program given; as in: cotenant run -- python3 train.py");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const char *cot_run_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool cot_run_is_yes(const char *name)
{
	const char *value = cot_run_variable(name);

	return value && strcmp(value, "0") != 0;
}

bool cot_run_has_target(const struct cot_run_options *o)
{
	return o->targets[COT_TARGET_P99] || o->targets[COT_TARGET_SLOWDOWN] ||
	       o->targets[COT_TARGET_RATE];
}

const char *const cot_run_target_variables[] = {NULL, "COTENANT_P99", "COTENANT_SLOWDOWN",
						"COTENANT_RATE"};

/* Where no option says one. A program that a latency program starts as a batch program does not
 * inherit its p99. */
static void read_target_variables(struct cot_run_options *o)
{
	bool batch = o->class && !strcmp(o->class, cot_class_words[COT_CLASS_BATCH]);
	enum cot_target_kind kind;

	if (cot_run_has_target(o))
		return;
	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE; kind++)
		if (cot_target_suits(kind, batch ? COT_CLASS_BATCH : COT_CLASS_LATENCY))
			o->targets[kind] = cot_run_variable(cot_run_target_variables[kind]);
}

void cot_run_options_from_environment(struct cot_run_options *o)
{
	size_t i;

	read_target_variables(o);
	for (i = 0; i < COT_ARRAY_LEN(texts); i++)
		if (texts[i].variable && !*text_at(o, &texts[i]))
			*text_at(o, &texts[i]) = cot_run_variable(texts[i].variable);
	for (i = 0; i < COT_ARRAY_LEN(flags); i++)
		if (flags[i].variable)
			*flag_at(o, &flags[i]) |= cot_run_is_yes(flags[i].variable);
	o->rewrite |= o->quota || o->reserve || o->cpu.libraries;
	/* CUDA_VISIBLE_DEVICES chooses the program's GPUs. */
	if (!o->gpu) {
		o->gpu = cot_run_variable("CUDA_VISIBLE_DEVICES");
		o->gpu_of_cuda = o->gpu != NULL;
	}
}

/* The last part of the program's path. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *cot_run_name(const struct cot_run_options *o, const char *program)
{
	return o->name && *o->name ? o->name : base_name(program);
}
