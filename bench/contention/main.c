/*
 * Measures how fast kernels of known work run alone on parts of a GPU, beside each other and on the
 * same SMs, and what the GPU draws meanwhile. One line of JSON for each measurement; `cotenant
 * model check` and `cotenant model train` read them. Sets nothing on the GPU.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/quantity.h"
#include "bench/contention/lines.h"

#define MS		  1000000u
#define REPEATS_MAX	  20u
#define TRIES		  3u /* of a window that warps came late for */
#define COMMAND_MAX	  512u
#define SMOKE_DATA	  ((uint64_t)1 << 20)
#define SMOKE_L2	  ((uint64_t)1 << 18)
#define DATA		  ((uint64_t)8 << 30)
#define L2		  ((uint64_t)16 << 20)
#define POWER_SETTLE	  0.25 /* seconds */
#define SECONDS_OF_RATE	  0.02
#define SECONDS_OF_MAKING 4.0 /* a benchmark's inputs */

extern const struct cot_embedded cot_contention_ptx[];

enum { KEY_BUDGET = 256, KEY_ONLY, KEY_GPU, KEY_REPEATS, KEY_WINDOW, KEY_SECONDS, KEY_SMOKE };

struct settings {
	const char *output;
	double budget_s, power_s;
	unsigned stages; /* bits */
	int gpu;
	uint32_t repeats, window_ms;
	bool smoke, list;
};

struct run {
	const struct settings *settings;
	FILE *out;
	struct cot_cuda cuda;
	struct cot_partitions partitions;
	struct cot_meter meter;
	struct cot_mix_runner runner;
	struct cot_mix_times times;
	struct cot_points points;
	double begin_s;
	uint32_t n_measured;
};

static volatile sig_atomic_t interrupted;

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
	{"budget", KEY_BUDGET, "TIME", 0,
	 "Begin nothing that would not end in time (default: 190s)", 0},
	{"only", KEY_ONLY, "PARTS", 0,
	 "Parts with commas between: alone, pairs, latency, shared, power, benchmarks, more (default: "
	 "all)",
	 0},
	{"gpu", KEY_GPU, "N", 0, "Number of the GPU (default: 0)", 0},
	{"repeats", KEY_REPEATS, "N", 0, "Windows of each rate (default: 3)", 0},
	{"window", KEY_WINDOW, "TIME", 0, "Length of such a window (default: 8ms)", 0},
	{"power-seconds", KEY_SECONDS, "TIME", 0,
	 "Length of a measurement of power (default: 1.1s)", 0},
	{"smoke", KEY_SMOKE, NULL, 0, "Few warps and little memory, to try it out", 0},
	{"list", 'l', NULL, 0, "List what would be measured on an H200", 0},
	{0},
};

static const char doc[] =
	"Measures kernels of known work on this machine's GPU: alone on 8 to all SMs, in pairs on "
	"disjoint SMs and on the same ones, and their power. Writes one line of JSON for each measurement, when it is "
	"done.";

static double number(const struct argp_state *state, const char *what, const char *text,
		     double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= least && value <= most))
		argp_error(state, "%s is '%s'; expected a number from %g to %g", what, text, least,
			   most);
	return value;
}

/* A number alone is in that unit. */
static double a_time(const struct argp_state *state, const char *what, const char *text,
		     enum cot_unit unit, double least, double most)
{
	struct cot_quantity q;

	if (!cot_quantity_read(text, unit, &q) || q.number < least || q.number > most)
		argp_error(state, "%s is '%s'; expected a time from %g%s to %g%s", what, text,
			   least, cot_unit_word(unit), most, cot_unit_word(unit));
	return q.number;
}

static unsigned stages(const struct argp_state *state, const char *text)
{
	unsigned bits = 0, i;
	size_t length;

	for (;; text++) {
		length = strcspn(text, ",");
		for (i = 0; i < COT_N_STAGES; i++)
			if (strlen(cot_stage_names[i]) == length &&
			    strncmp(cot_stage_names[i], text, length) == 0)
				break;
		if (i == COT_N_STAGES)
			argp_error(state,
				   "there is no part '%.*s'; expected alone, pairs, latency, "
				   "shared, power, benchmarks or more",
				   (int)length, text);
		bits |= 1u << i;
		text += length;
		if (!*text)
			return bits;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct settings *s = state->input;

	switch (key) {
	case 'o':
		s->output = arg;
		return 0;
	case 'l':
		s->list = true;
		return 0;
	case KEY_BUDGET:
		s->budget_s = a_time(state, "--budget", arg, COT_UNIT_S, 1, 1e6);
		return 0;
	case KEY_ONLY:
		s->stages = stages(state, arg);
		return 0;
	case KEY_GPU:
		s->gpu = (int)number(state, "--gpu", arg, 0, 255);
		return 0;
	case KEY_REPEATS:
		s->repeats = (uint32_t)number(state, "--repeats", arg, 1, REPEATS_MAX);
		return 0;
	case KEY_WINDOW:
		s->window_ms = (uint32_t)a_time(state, "--window", arg, COT_UNIT_MS, 1, 10000);
		return 0;
	case KEY_SECONDS:
		s->power_s = a_time(state, "--power-seconds", arg, COT_UNIT_S, 0.1, 60);
		return 0;
	case KEY_SMOKE:
		s->smoke = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not expected: there are options only", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void on_signal(int number_of_signal)
{
	(void)number_of_signal;
	interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* ---- points ---- */

static bool all_came(const struct cot_mix *mix, const struct cot_mix_result *results)
{
	uint32_t i;

	for (i = 0; i < mix->n; i++)
		if (results[i].n_late)
			return false;
	return true;
}

/* Kernels that share SMs do so everywhere alike. */
static bool all_is_even(const struct cot_mix *mix, const struct cot_mix_result *results)
{
	uint32_t i;

	for (i = 0; i < mix->n && mix->shared; i++)
		if (results[i].n_sms != mix->parts[i].sms ||
		    results[i].warps_least != mix->parts[i].warps ||
		    results[i].warps_most != mix->parts[i].warps)
			return false;
	return true;
}

/* The first launch of a kernel loads it, which may take too long; then it is run again. */
static int run_mix(struct run *r, const struct cot_mix *mix, const struct cot_mix_times *times,
		   cot_mix_during during, void *arg, struct cot_mix_result *ret_results,
		   struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < TRIES && !rc; i++) {
		rc = cot_mix_run(&r->runner, mix, times, during, arg, ret_results, err);
		if (!rc && all_came(mix, ret_results) &&
		    (r->runner.anywhere || all_is_even(mix, ret_results)))
			return 0;
	}
	if (rc)
		return rc;
	if (all_came(mix, ret_results))
		return cot_error_set(err, -EAGAIN,
				     "in %u tries the blocks were not on all SMs alike", TRIES);
	return cot_error_set(err, -EAGAIN,
			     "in %u tries some warps came when the window was open; expected that "
			     "all run at once",
			     TRIES);
}

static int measure_rate(struct run *r, const struct cot_point *point, struct cot_error *err)
{
	struct cot_mix_result results[COT_MIX_PARTS];
	uint32_t i;
	int rc = 0;

	for (i = 0; i < r->settings->repeats && !rc && !interrupted; i++) {
		rc = run_mix(r, &point->mix, &r->times, NULL, NULL, results, err);
		if (!rc)
			cot_lines_rate(r->out, point, i, results);
	}
	return rc;
}

struct watching {
	const struct cot_meter *meter;
	struct cot_meter_window window;
	struct cot_meter_state state;
};

static void watch(void *arg, double open_s, double close_s)
{
	struct watching *w = arg;

	cot_meter_begin(w->meter, &w->window);
	cot_meter_watch_until(w->meter, &w->window, open_s);
	cot_meter_begin(w->meter, &w->window);
	cot_meter_watch_until(w->meter, &w->window, 0.5 * (open_s + close_s));
	cot_meter_read(w->meter, &w->state);
	cot_meter_watch_until(w->meter, &w->window, close_s);
}

static int measure_power(struct run *r, const struct cot_point *point, struct cot_error *err)
{
	struct cot_mix_result results[COT_MIX_PARTS];
	struct watching w = {.meter = &r->meter};
	struct cot_mix_times times = r->times;
	double now = cot_meter_now_s();
	int rc;

	if (!r->meter.has_energy)
		return cot_error_set(err, -ENOTSUP, "%s", r->meter.why_not.text);
	if (point->kind == COT_POINT_IDLE) {
		watch(&w, now + POWER_SETTLE, now + POWER_SETTLE + r->settings->power_s);
		cot_lines_power(r->out, point, NULL, &w.window, &w.state);
		return 0;
	}
	/* A short window first: the long one is not to be repeated. */
	rc = run_mix(r, &point->mix, &times, NULL, NULL, results, err);
	times.settle_ns = (uint64_t)(POWER_SETTLE * 1e9);
	times.window_ns = (uint64_t)(r->settings->power_s * 1e9);
	if (!rc)
		rc = cot_mix_run(&r->runner, &point->mix, &times, watch, &w, results, err);
	if (!rc)
		cot_lines_power(r->out, point, results, &w.window, &w.state);
	return rc;
}

static int measure_benchmark(struct run *r, const struct cot_point *point, struct cot_error *err)
{
	struct cot_bench_power power;
	struct cot_error ignored;
	int rc;

	rc = cot_partitions_use_own(&r->partitions, err);
	if (!rc)
		rc = cot_bench_power_run(&r->cuda, &r->meter, point->benchmark,
					 r->settings->smoke ? COT_BENCH_TEST : COT_BENCH_GPU,
					 POWER_SETTLE, r->settings->power_s, &power, err);
	cot_partitions_use_primary(&r->partitions, &ignored);
	if (!rc)
		cot_lines_benchmark(r->out, point, &power);
	return rc;
}

static double seconds_of(const struct run *r, const struct cot_point *point)
{
	if (point->kind == COT_POINT_RATE)
		return r->settings->repeats *
		       (SECONDS_OF_RATE + 1e-9 * (double)(r->times.settle_ns + r->times.window_ns));
	return POWER_SETTLE + r->settings->power_s + 0.1 +
	       (point->kind == COT_POINT_BENCHMARK ? SECONDS_OF_MAKING : 0.0);
}

/* -EIO: the GPU no longer works. */
static int measure(struct run *r, const struct cot_point *point)
{
	struct cot_error err;
	int rc;

	if (point->kind == COT_POINT_RATE)
		rc = measure_rate(r, point, &err);
	else if (point->kind == COT_POINT_BENCHMARK)
		rc = measure_benchmark(r, point, &err);
	else
		rc = measure_power(r, point, &err);
	if (rc)
		cot_lines_failure(r->out, point, err.text);
	else
		r->n_measured++;
	return rc;
}

static const char *measure_all(struct run *r)
{
	uint32_t n_failed = 0, i;
	double now;

	for (i = 0; i < r->points.n; i++) {
		const struct cot_point *point = &r->points.points[i];

		if (!(r->settings->stages & 1u << point->stage))
			continue;
		now = cot_meter_now_s();
		if (interrupted)
			return "interrupted";
		if (now - r->begin_s + seconds_of(r, point) > r->settings->budget_s)
			continue; /* a shorter one may still fit */
		n_failed = measure(r, point) == -EIO ? n_failed + 1 : 0;
		if (n_failed == 3)
			return "three failures of the GPU in a row";
		if (ferror(r->out))
			return "the output cannot be written";
	}
	return "done";
}

/* ---- the run ---- */

static const char *ptx(void)
{
	return (const char *)cot_contention_ptx[0].bytes;
}

static int open_gpu(struct run *r, struct cot_error *err)
{
	const struct settings *s = r->settings;
	char bus_id[32];
	int rc;

	/* Kernels on different streams must not wait for each other's queue. */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	rc = cot_cuda_open(&r->cuda, s->gpu, err);
	if (rc)
		return rc;
	rc = cot_partitions_init(&r->partitions, &r->cuda, s->gpu, err);
	if (rc)
		return rc;
	cot_partitions_bus_id(&r->partitions, bus_id, sizeof(bus_id));
	cot_meter_open(&r->meter, bus_id);
	if (!r->partitions.has_green)
		fprintf(stderr, "bench_contention: %s\n", r->partitions.why_not.text);
	if (!r->meter.has_energy)
		fprintf(stderr, "bench_contention: %s\n", r->meter.why_not.text);
	return cot_mix_runner_init(&r->runner, &r->partitions, ptx(), s->smoke ? SMOKE_DATA : DATA,
				   s->smoke ? SMOKE_L2 : L2, err);
}

/* A GPU that rests runs slowly, and takes a moment to go faster. */
static void warm_up(struct run *r)
{
	struct cot_mix mix = {.n = 1};
	struct cot_mix_times times = r->times;
	struct cot_mix_result result;
	struct cot_error ignored;

	mix.parts[0] = (struct cot_mix_part){
		.family = cot_family_find("fma4"),
		.warps = r->settings->smoke ? 1 : 64,
		.sms = r->settings->smoke ? 1 : (uint32_t)r->cuda.n_sms,
	};
	times.window_ns = r->settings->smoke ? 10 * MS : 500 * MS;
	(void)cot_mix_run(&r->runner, &mix, &times, NULL, NULL, &result, &ignored);
}

static int run_all(struct run *r, const char *command, struct cot_error *err)
{
	const struct settings *s = r->settings;
	struct cot_lines_machine machine = {
		.cuda = &r->cuda,
		.meter = &r->meter,
		.partitions = &r->partitions,
		.runner = &r->runner,
		.command = command,
		.times = &r->times,
	};
	const char *why;
	int rc = open_gpu(r, err);

	if (rc)
		return rc;
	r->runner.anywhere = s->smoke;
	r->times = (struct cot_mix_times){
		.lead_ns = s->smoke ? 20 * MS : MS,
		.settle_ns = s->smoke ? 100 * MS : 3 * MS / 2,
		.window_ns = (uint64_t)s->window_ms * MS,
	};
	if (s->smoke)
		cot_points_make_smoke(&r->points, (uint32_t)r->cuda.n_sms);
	else
		cot_points_make(&r->points, (uint32_t)r->cuda.n_sms);
	warm_up(r);
	cot_lines_machine(r->out, &machine);
	cot_lines_families(r->out);
	why = measure_all(r);
	cot_lines_end(r->out, why, cot_meter_now_s() - r->begin_s, r->n_measured, r->points.n);
	return 0;
}

static void list(void)
{
	static struct cot_points points;
	uint32_t i, j;

	cot_points_make(&points, 132);
	for (i = 0; i < points.n; i++) {
		const struct cot_point *p = &points.points[i];

		printf("%-10s", cot_stage_names[p->stage]);
		if (p->benchmark)
			printf(" %s", p->benchmark->name);
		for (j = 0; j < p->mix.n; j++)
			printf(" %s/%u warps on %s%u SMs", p->mix.parts[j].family->entry,
			       p->mix.parts[j].warps, j && p->mix.shared ? "the same " : "",
			       p->mix.parts[j].sms);
		if (p->kind == COT_POINT_IDLE)
			printf(" idle");
		putchar('\n');
	}
}

/* Of a file its name: the folder is of this machine only. */
static void keep_command(int argc, char **argv, char *command, size_t size)
{
	size_t used = 0;
	int i, n;

	command[0] = '\0';
	for (i = 0; i < argc && used < size; i++) {
		const char *word = i ? argv[i] : "bench_contention", *name = strrchr(word, '/');

		n = snprintf(command + used, size - used, "%s%s", i ? " " : "",
			     name ? name + 1 : word);
		used += n > 0 ? (size_t)n : 0;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = options, .parser = parse, .doc = doc};
	static struct run run;
	static struct settings settings = {
		.budget_s = 190,
		.power_s = 1.1,
		.stages = (1u << COT_N_STAGES) - 1,
		.repeats = 3,
		.window_ms = 8,
	};
	struct cot_error err = {"out of memory"};
	char command[COMMAND_MAX];
	int rc;

	keep_command(argc, argv, command, sizeof(command));
	if (argp_parse(&argp, argc, argv, 0, NULL, &settings))
		return 2;
	if (settings.list) {
		list();
		return 0;
	}
	run.settings = &settings;
	run.begin_s = cot_meter_now_s();
	run.out = settings.output ? fopen(settings.output, "w") : stdout;
	if (!run.out) {
		fprintf(stderr, "bench_contention: %s: %s\n", settings.output, strerror(errno));
		return 1;
	}
	catch_signals();
	rc = run_all(&run, command, &err);
	if (rc)
		fprintf(stderr, "bench_contention: %s\n", err.text);
	cot_mix_runner_finish(&run.runner);
	cot_meter_close(&run.meter);
	cot_partitions_finish(&run.partitions);
	cot_cuda_close(&run.cuda);
	if (settings.output && fclose(run.out) && !rc) {
		fprintf(stderr, "bench_contention: %s cannot be written\n", settings.output);
		rc = -EIO;
	}
	return rc ? 1 : 0;
}
