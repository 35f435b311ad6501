#include "kernels/run/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cotenant/passes.h"

static const char doc[] =
	"Runs the eleven benchmarks of the SMGuard paper on this machine's GPU, or on the emulated one, "
	"as they are and rewritten by cotenant's passes, and compares the results bit for bit with "
	"each other and with the CPU's. Prints one line of JSON for each benchmark and pass."
	"\v"
	"Passes: plain, workers, retreat, slice, fuse, count, record, batch, all; more with commas.\n"
	"Sizes: test (a moment in the emulator), small and large (the grids of the paper), gpu (long "
	"enough to measure on an H200).\n\n"
	"Examples:\n"
	"  cotenant run --emulate h200 -- kernels-run bfs --pass workers --quota 50%\n"
	"  kernels-run all --size large --pass workers --evict 66@1.5,all@3\n"
	"  kernels-run lavaMD --size gpu --pass all --repeat 25";

#define DEFAULT_COPIES 4u

enum {
	KEY_CHUNK = 256,
	KEY_EVICT,
	KEY_EVICTIONS,
	KEY_SLICE,
	KEY_SEED,
	KEY_GPU,
	KEY_NO_REFERENCE,
	KEY_PRINT,
	KEY_WITH,
	KEY_COPIES,
	KEY_LIMIT
};

static const struct argp_option options[] = {
	{0, 0, 0, 0, "What to run:", 1},
	{"list", 'l', 0, 0, "List the benchmarks and their sizes", 1},
	{"pass", 'p', "PASS", 0, "Passes beside the plain run (default: workers)", 1},
	{"size", 's', "SIZE", 0, "Size of the problem (default: test)", 1},
	{"blocks", 'n', "N", 0, "Thread blocks of the main kernel, instead of the size's", 1},
	{"with", KEY_WITH, "BENCHMARK", 0, "What to fuse with (default: the next in the list)", 1},
	{"copies", KEY_COPIES, "N", 0,
	 "Instances of a benchmark that the pass batch puts into one launch (default: 4)", 1},
	{"seed", KEY_SEED, "N", 0, "Seed of the inputs (default: 1)", 1},
	{"gpu", KEY_GPU, "N", 0, "Number of the GPU (default: 0)", 1},
	{0, 0, 0, 0, "Workers and slices:", 2},
	{"quota", 'q', "PERCENT", 0, "Share of the SMs that workers get (default: 100%)", 2},
	{"chunk", KEY_CHUNK, "N", 0, "Blocks that a worker claims at a time (default: up to 24 us)",
	 2},
	{"evict", KEY_EVICT, "[UNITS@]TIME,...", 0,
	 "Have so many SMs' worth of workers leave (or all) so long after the first launch; what is "
	 "left is launched again; a number alone is in ms",
	 2},
	{"evictions", KEY_EVICTIONS, "N", 0,
	 "Measure N times how long it takes until all workers have left", 2},
	{"slice", KEY_SLICE, "N", 0, "Blocks of a slice (default: a quarter of the grid)", 2},
	{0, 0, 0, 0, "Measuring and output:", 3},
	{"repeat", 'r', "N", 0, "Measure times: the median of N repeats (default: 0, none)", 3},
	{"time-limit", KEY_LIMIT, "TIME", 0,
	 "Run each benchmark in a process of its own, and end it after so long, as in 2min; a number "
	 "alone is in seconds",
	 3},
	{"no-reference", KEY_NO_REFERENCE, 0, 0, "Don't compute the result on the CPU", 3},
	{"output", 'o', "FILE", 0, "Write the lines to FILE", 3},
	{"print-ptx", KEY_PRINT, 0, 0, "Print the rewritten PTX and run nothing", 3},
	{0},
};

static uint64_t number(const struct argp_state *state, const char *what, const char *text,
		       uint64_t least, uint64_t most)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < least || value > most)
		argp_error(state, "%s is '%s'; expected a number from %llu to %llu", what, text,
			   (unsigned long long)least, (unsigned long long)most);
	return value;
}

#define LIMIT_S_MAX 86400

/* A number alone is in seconds. */
static uint32_t limit_ms(const struct argp_state *state, const char *text)
{
	struct cot_quantity q;

	if (!cot_quantity_read(text, COT_UNIT_S, &q) || q.number < 0.01 || q.number > LIMIT_S_MAX)
		argp_error(state,
			   "--time-limit is '%s'; expected a time such as 90s or 2min, from 10ms "
			   "to %u s",
			   text, LIMIT_S_MAX);
	return (uint32_t)(q.number * 1000 + 0.5);
}

static uint32_t percent(const struct argp_state *state, const char *text)
{
	char digits[16];
	size_t length = strlen(text);

	if (length && text[length - 1] == '%')
		length--;
	if (length >= sizeof(digits))
		length = sizeof(digits) - 1;
	memcpy(digits, text, length);
	digits[length] = '\0';
	return (uint32_t)number(state, "--quota", digits, 1, 100);
}

static void add_passes(const struct argp_state *state, struct cot_options *o, const char *text)
{
	for (;; text++) {
		size_t length = strcspn(text, ",");
		enum cot_pass pass;

		if (length == 3 && strncmp(text, "all", 3) == 0)
			o->passes |= (1u << COT_N_PASSES) - 1;
		else if (cot_pass_find(text, length, &pass) == 0)
			o->passes |= 1u << pass;
		else if (length != 5 || strncmp(text, "plain", 5) != 0)
			argp_error(
				state,
				"there is no pass '%.*s'; expected plain, workers, retreat, slice, "
				"fuse, count, record, batch or all",
				(int)length, text);
		text += length;
		if (!*text)
			return;
	}
}

static void add_moment(const struct argp_state *state, struct cot_options *o, const char *text)
{
	const char *at = memchr(text, '@', strcspn(text, ","));
	char units[16] = "all", moment[32];
	const char *from = at ? at + 1 : text;
	struct cot_quantity q;

	if (at) {
		size_t length = (size_t)(at - text);

		length = length < sizeof(units) ? length : sizeof(units) - 1;
		memcpy(units, text, length);
		units[length] = '\0';
	}
	(void)snprintf(moment, sizeof(moment), "%.*s", (int)strcspn(from, ","), from);
	if (strcspn(from, ",") >= sizeof(moment) || !cot_quantity_read(moment, COT_UNIT_MS, &q))
		argp_error(state,
			   "--evict has '%s'; expected milliseconds such as 1.5 or a time such as "
			   "500us, or SMs and a time such as 66@1.5, with commas between",
			   text);
	if (o->n_moments == COT_OPTIONS_MAX_EVICTIONS)
		argp_error(state, "--evict has more than %u moments", COT_OPTIONS_MAX_EVICTIONS);
	if (o->n_moments && q.number < o->evictions[o->n_moments - 1].at_ms)
		argp_error(state, "--evict goes back in time at '%s'; expected growing moments",
			   text);
	o->evictions[o->n_moments].at_ms = q.number;
	o->evictions[o->n_moments++].units =
		strcmp(units, "all") == 0
			? COT_OPTIONS_ALL_UNITS
			: (uint32_t)number(state, "the number of SMs in --evict", units, 1, 65536);
}

static void add_moments(const struct argp_state *state, struct cot_options *o, const char *text)
{
	while (text) {
		add_moment(state, o, text);
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
}

static const struct cot_bench *bench(const struct argp_state *state, const char *name)
{
	const struct cot_bench *found = cot_bench_find(name);

	if (!found)
		argp_error(state, "there is no benchmark '%s'; %s --list shows them", name,
			   state->name);
	return found;
}

static void add_bench(const struct argp_state *state, struct cot_options *o, const char *name)
{
	unsigned i;

	if (strcmp(name, "all") == 0) {
		for (i = 0; i < cot_bench_n_all; i++)
			add_bench(state, o, cot_bench_all[i]->name);
		return;
	}
	if (strcmp(name, "shapes") == 0) {
		for (i = 0; i < cot_bench_n_shapes; i++)
			add_bench(state, o, cot_bench_shapes[i]->name);
		return;
	}
	if (o->n_benches == COT_OPTIONS_MAX_BENCHES)
		argp_error(state, "more than %u benchmarks", COT_OPTIONS_MAX_BENCHES);
	o->benches[o->n_benches++] = bench(state, name);
}

static void set_size(const struct argp_state *state, struct cot_options *o, const char *name)
{
	o->size = cot_bench_find_size(name);
	if (o->size == COT_BENCH_N_SIZES)
		argp_error(state, "there is no size '%s'; expected test, small, large or gpu",
			   name);
}

static error_t parse_number(int key, char *arg, struct argp_state *state)
{
	struct cot_options *o = state->input;

	switch (key) {
	case 'n':
		o->n_blocks = (uint32_t)number(state, "--blocks", arg, 1, INT32_MAX);
		return 0;
	case 'q':
		o->quota_pct = percent(state, arg);
		return 0;
	case 'r':
		o->n_repeats = (uint32_t)number(state, "--repeat", arg, 0, 1000);
		return 0;
	case KEY_COPIES:
		o->n_copies = (uint32_t)number(state, "--copies", arg, 2, COT_BATCH_MAX);
		return 0;
	case KEY_CHUNK:
		o->chunk = (uint32_t)number(state, "--chunk", arg, 1, INT32_MAX);
		return 0;
	case KEY_SLICE:
		o->slice = (uint32_t)number(state, "--slice", arg, 1, INT32_MAX);
		return 0;
	case KEY_EVICTIONS:
		o->n_evictions = (uint32_t)number(state, "--evictions", arg, 1, 1000);
		return 0;
	case KEY_LIMIT:
		o->limit_ms = limit_ms(state, arg);
		return 0;
	case KEY_SEED:
		o->seed = number(state, "--seed", arg, 0, UINT64_MAX);
		return 0;
	case KEY_GPU:
		o->gpu = (int)number(state, "--gpu", arg, 0, 255);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check(const struct argp_state *state, const struct cot_options *o)
{
	uint32_t i;

	if (!o->n_benches && !o->list)
		argp_error(state, "no benchmark given; expected names from --list, all or shapes");
	if (o->partner && !(o->passes & 1u << COT_PASS_FUSE))
		argp_error(state, "--with %s needs the pass fuse; expected --pass with fuse or all",
			   o->partner->name);
	if (o->n_copies && !(o->passes & 1u << COT_PASS_BATCH))
		argp_error(state,
			   "--copies %u needs the pass batch; expected --pass with batch or all",
			   o->n_copies);
	for (i = 0; i < o->n_benches && o->passes & 1u << COT_PASS_FUSE; i++)
		if (o->benches[i] == o->partner)
			argp_error(state,
				   "%s cannot be fused with itself; expected another at --with",
				   o->partner->name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cot_options *o = state->input;

	switch (key) {
	case 'l':
		o->list = true;
		return 0;
	case 'p':
		o->passes &= ~(1u << COT_N_PASSES); /* the default is gone */
		add_passes(state, o, arg);
		return 0;
	case 's':
		set_size(state, o, arg);
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case KEY_WITH:
		o->partner = bench(state, arg);
		return 0;
	case KEY_EVICT:
		add_moments(state, o, arg);
		return 0;
	case KEY_NO_REFERENCE:
		o->no_reference = true;
		return 0;
	case KEY_PRINT:
		o->print_ptx = true;
		return 0;
	case ARGP_KEY_ARG:
		add_bench(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		check(state, o);
		return 0;
	default:
		return parse_number(key, arg, state);
	}
}

void cot_options_parse(int argc, char **argv, struct cot_options *ret_options)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "BENCHMARK...", .doc = doc};

	/* The bit above the passes: nothing was asked for. */
	*ret_options = (struct cot_options){
		.passes = 1u << COT_N_PASSES, .quota_pct = 100, .seed = 1, .size = COT_BENCH_TEST};
	argp_program_version = "kernels-run " COT_VERSION;
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, ret_options);
	if (ret_options->passes & 1u << COT_N_PASSES)
		ret_options->passes = 1u << COT_PASS_WORKERS;
	if (!ret_options->n_copies)
		ret_options->n_copies = DEFAULT_COPIES;
}
