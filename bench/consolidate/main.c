/*
 * bench_consolidate: time and energy of sets of kernels, apart one after the other, at the same
 * time in streams, merged into one launch, and on the CPU. One line of JSON for each set; run.py
 * runs many and compares them with what the models say. Sets nothing on the GPU.
 */
#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/quote.h"
#include "bench/consolidate/set.h"
#include "bench/contention/meter.h"

#define SETTLE_S     0.15 /* before a window, in the same way: clocks and power follow */
#define SETTLE_PART  0.4  /* of a window, at most */
#define WATCH_NS     1000000
#define MJ_TO_J	     1e-3
#define ROUNDS_LEAST 3u
#define TRIES	     3u	  /* of a window's power */
#define IDLE_LEAST   0.97 /* of idle power; what is said to take less was not measured */

#define REPEATS_MAX 15u

enum { KEY_GPU = 256, KEY_SECONDS, KEY_SEED, KEY_REPEATS };

struct settings {
	const char *output, *sets[128];
	uint32_t n_sets, n_repeats;
	enum cot_bench_size size;
	double seconds;
	uint64_t seed;
	int gpu;
};

struct window {
	double s;	 /* of a round, from its first launch to the end of all */
	double issued_s; /* to the end of its last launch's call */
	double whole_s;	 /* with the reset before it */
	double w;	 /* below 0: no power was measured */
	uint32_t n_rounds, n_steps;
};

/* What measures the power, and what that was before anything ran; below 0: it was not read. */
struct gauge {
	struct cot_meter meter;
	double idle_w;
};

/* A read of the power takes milliseconds, many times what a round takes; so it has a thread of its
 * own. */
struct watcher {
	const struct cot_meter *meter;
	struct cot_meter_window power;
	pthread_t thread;
	atomic_bool stop;
};

static volatile sig_atomic_t interrupted;

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Append to FILE instead of writing to standard output", 0},
	{"size", 's', "SIZE", 0, "Work of a block, and blocks where a set says none (default: gpu)",
	 0},
	{"seconds", KEY_SECONDS, "S", 0, "Length of each measurement (default: 1)", 0},
	{"repeats", KEY_REPEATS, "N", 0,
	 "Divide each measurement into N, the ways of a set in turn, and take the median: what launches "
	 "cost changes from second to second (default: 3)",
	 0},
	{"seed", KEY_SEED, "N", 0, "Seed of the inputs (default: 1)", 0},
	{"gpu", KEY_GPU, "N", 0, "Number of the GPU (default: 0)", 0},
	{0},
};

static const char doc[] =
	"Measures time and energy of sets of benchmark kernels (kernels-run --list): apart one after "
	"the other, at the same time in streams, merged into one launch where a pass can, and the "
	"CPU's time. A SET is BENCHMARK[/BLOCKS][*INSTANCES], several with + between.\vExample:\n"
	"  bench_consolidate 'md5hash/33*9' nn/2000+md5hash/66\n";

static double number(struct argp_state *state, const char *what, const char *text, double least,
		     double most)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || !(x >= least && x <= most))
		argp_error(state, "--%s is '%s'; expected a number from %g to %g", what, text,
			   least, most);
	return x;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct settings *s = state->input;
	struct cot_error err;
	struct cot_set set;

	switch (key) {
	case 'o':
		s->output = arg;
		return 0;
	case 's':
		s->size = cot_bench_find_size(arg);
		if (s->size == COT_BENCH_N_SIZES)
			argp_error(state,
				   "there is no size '%s'; expected test, small, large or gpu",
				   arg);
		return 0;
	case KEY_SECONDS:
		s->seconds = number(state, "seconds", arg, 0.01, 60);
		return 0;
	case KEY_REPEATS:
		s->n_repeats = (uint32_t)number(state, "repeats", arg, 1, REPEATS_MAX);
		return 0;
	case KEY_SEED:
		s->seed = (uint64_t)number(state, "seed", arg, 0, 1e9);
		return 0;
	case KEY_GPU:
		s->gpu = (int)number(state, "gpu", arg, 0, 63);
		return 0;
	case ARGP_KEY_ARG:
		if (cot_set_parse(arg, &set, &err))
			argp_error(state, "%s", err.text);
		if (s->n_sets == sizeof(s->sets) / sizeof(s->sets[0]))
			argp_error(state, "more than %u sets", s->n_sets);
		s->sets[s->n_sets++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "there is no set; expected for example 'md5hash/33*9'");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* ---- measuring ---- */

static void *watch(void *arg)
{
	const struct timespec pause = {.tv_nsec = WATCH_NS};
	struct watcher *w = arg;

	while (!atomic_load(&w->stop)) {
		cot_meter_watch(w->meter, &w->power);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int round_of(struct cot_set_run *r, enum cot_set_way way, struct window *sum,
		    struct cot_error *err)
{
	double begin_s;
	int rc = r->needs_reset && way != COT_SET_RESET ? cot_set_round(r, COT_SET_RESET, true, err)
							: 0;

	if (rc)
		return rc;
	begin_s = cot_meter_now_s();
	rc = cot_set_round(r, way, true, err);
	sum->s += cot_meter_now_s() - begin_s;
	sum->issued_s += r->issued_s;
	return rc;
}

static int rounds_for(struct cot_set_run *r, enum cot_set_way way, double seconds,
		      struct window *ret, struct cot_error *err)
{
	double begin_s = cot_meter_now_s(), now_s = begin_s;
	struct window sum = {.s = 0};
	uint32_t n = 0;
	int rc = 0;

	while (!rc && !interrupted && (now_s < begin_s + seconds || n < ROUNDS_LEAST)) {
		rc = round_of(r, way, &sum, err);
		now_s = cot_meter_now_s();
		n++;
	}
	*ret = (struct window){.s = sum.s / (n ? n : 1),
			       .issued_s = sum.issued_s / (n ? n : 1),
			       .whole_s = (now_s - begin_s) / (n ? n : 1),
			       .w = -1,
			       .n_rounds = n};
	return rc;
}

static int watched_rounds(struct cot_set_run *r, enum cot_set_way way, double seconds,
			  const struct cot_meter *meter, struct window *ret, struct cot_error *err)
{
	struct watcher watcher = {.meter = meter};
	int rc, failed;

	cot_meter_begin(meter, &watcher.power);
	failed = pthread_create(&watcher.thread, NULL, watch, &watcher);
	if (failed)
		return cot_error_set(err, -failed, "no thread to watch the power: %s",
				     strerror(failed));
	rc = rounds_for(r, way, seconds, ret, err);
	atomic_store(&watcher.stop, true);
	pthread_join(watcher.thread, NULL);
	ret->w = cot_meter_watts(&watcher.power);
	ret->n_steps = watcher.power.n_steps;
	return interrupted ? cot_error_set(err, -EINTR, "interrupted") : rc;
}

/* A GPU that works takes no less than an idle one: what says so is no measurement. */
static bool is_below_idle(const struct gauge *gauge, const struct window *w)
{
	return w->w > 0 && gauge->idle_w > 0 && w->w < IDLE_LEAST * gauge->idle_w;
}

static int measure(struct cot_set_run *r, enum cot_set_way way, double seconds,
		   const struct gauge *gauge, struct window *ret, struct cot_error *err)
{
	double settle_s = SETTLE_PART * seconds < SETTLE_S ? SETTLE_PART * seconds : SETTLE_S;
	int rc = rounds_for(r, way, settle_s, ret, err);
	uint32_t n;

	for (n = 0; n < TRIES && !rc; n++) {
		rc = watched_rounds(r, way, seconds, &gauge->meter, ret, err);
		if (rc || !is_below_idle(gauge, ret))
			return rc;
	}
	ret->w = -1; /* the times are right */
	return rc;
}

/* ---- lines ---- */

/*
 * Of a round. How long the reset before it takes is not the same for each way, after streams
 * longest, so it is what the window is longer than its rounds; only the power is that of resets
 * alone. NULL: there are none. Below 0: not known.
 */
static double joules_of(const struct window *w, const struct window *resets)
{
	if (!(w->w > 0) || (resets && !(resets->w > 0)))
		return -1;
	return w->whole_s * w->w - (resets ? (w->whole_s - w->s) * resets->w : 0);
}

static void put_window(FILE *out, const char *name, const struct window *w,
		       const struct window *resets)
{
	double j = joules_of(w, resets);

	fprintf(out, ",\"%s\":{\"s\":%.9g,\"issued_s\":%.9g,\"whole_s\":%.9g", name, w->s,
		w->issued_s, w->whole_s);
	if (j > 0) /* else it is lost in what the resets took */
		fprintf(out, ",\"j\":%.6g", j);
	if (w->w > 0)
		fprintf(out, ",\"w\":%.6g", w->w);
	fprintf(out, ",\"rounds\":%u,\"energy_steps\":%u", w->n_rounds, w->n_steps);
}

/* What was measured of one way. */
struct of_way {
	struct window windows[REPEATS_MAX];
	bool there, same;
	char refused[sizeof(((struct cot_error *)NULL)->text)]; /* why it is not there */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x, uint32_t n)
{
	qsort(x, n, sizeof(*x), by_value);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Medians of the times, which have outliers upwards; the mean of the power. */
static struct window of_all(const struct window *w, uint32_t n)
{
	double s[REPEATS_MAX], issued_s[REPEATS_MAX], whole_s[REPEATS_MAX], sum_w = 0;
	struct window all = {.w = -1};
	uint32_t i, n_w = 0;

	for (i = 0; i < n; i++) {
		s[i] = w[i].s;
		issued_s[i] = w[i].issued_s;
		whole_s[i] = w[i].whole_s;
		all.n_rounds += w[i].n_rounds;
		all.n_steps += w[i].n_steps;
		sum_w += w[i].w > 0 ? w[i].w : 0;
		n_w += w[i].w > 0;
	}
	all.s = median(s, n);
	all.issued_s = median(issued_s, n);
	all.whole_s = median(whole_s, n);
	if (n_w)
		all.w = sum_w / n_w;
	return all;
}

/* The first time; a merged launch may turn out to be impossible. */
static int try_way(struct cot_set_run *r, enum cot_set_way way, struct of_way *of,
		   struct cot_error *err)
{
	int rc;

	if (way == COT_SET_MERGED && !cot_set_merged_by(r->set))
		return 0;
	rc = cot_set_try(r, way, &of->same, err);
	of->there = !rc;
	if (!rc || way != COT_SET_MERGED || rc == -EINTR)
		return rc;
	snprintf(of->refused, sizeof(of->refused), "%s", err->text);
	return 0;
}

static int measure_ways(struct cot_set_run *r, const struct settings *settings,
			const struct gauge *gauge, struct of_way *ways, struct cot_error *err)
{
	uint32_t k;
	int rc = 0, way;

	for (way = COT_SET_APART; way <= COT_SET_MERGED && !rc; way++)
		rc = try_way(r, (enum cot_set_way)way, &ways[way], err);
	for (k = 0; k < settings->n_repeats; k++)
		for (way = COT_SET_APART; way <= COT_SET_MERGED && !rc; way++)
			if (ways[way].there)
				rc = measure(r, (enum cot_set_way)way,
					     settings->seconds / settings->n_repeats, gauge,
					     &ways[way].windows[k], err);
	return rc;
}

static void put_way(FILE *out, const struct cot_set_run *r, enum cot_set_way way,
		    const struct of_way *of, uint32_t n_repeats, const struct window *resets)
{
	const char *name = cot_set_way_names[way];
	struct window all;

	if (of->refused[0]) {
		fprintf(out, ",\"%s\":{", name);
		cot_quote_write_member(out, "refused", of->refused);
		fputc('}', out);
	}
	if (!of->there)
		return;
	all = of_all(of->windows, n_repeats);
	put_window(out, name, &all, resets);
	if (way == COT_SET_MERGED)
		fprintf(out, ",\"by\":\"%s\"", cot_set_merged_by(r->set));
	fprintf(out, ",\"same\":%s}", of->same ? "true" : "false");
}

/* The CPU's reference is on one thread and may compute a part of the results only. */
static void put_instances(FILE *out, const struct cot_set_run *r)
{
	uint32_t n, k, launches;

	fputs(",\"instances\":[", out);
	for (n = 0; n < r->set->n_instances; n++) {
		const struct cot_set_instance *i = &r->instances[n];
		size_t bytes = 0;

		launches = r->sessions[n]->n_steps;
		for (k = 0; k < i->in.n_buffers; k++)
			bytes += i->plain[k] ? i->in.buffers[k].size_bytes : 0;
		fprintf(out,
			"%s{\"benchmark\":\"%s\",\"blocks\":%u,\"threads\":%u,\"launches\":%u,"
			"\"output_bytes\":%zu,\"right\":%s,\"n_checked\":%llu,\"check_s\":%.6g}",
			n ? "," : "", i->in.bench->name, i->in.n_blocks, i->in.bench->n_threads,
			launches, bytes, i->verdict.n_wrong ? "false" : "true",
			(unsigned long long)i->verdict.n_checked, i->check_s);
	}
	fputc(']', out);
}

static int put_set(FILE *out, const char *text, const struct settings *settings,
		   struct cot_cuda *cuda, const struct gauge *gauge, struct cot_error *err)
{
	struct of_way ways[COT_SET_WAYS] = {{.there = false}};
	struct window resets = {.s = 0};
	struct cot_set_run *r;
	struct cot_set set;
	int rc = cot_set_parse(text, &set, err), way;

	if (rc)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return cot_error_set(err, -ENOMEM, "not enough memory");
	rc = cot_set_run_init(r, &set, settings->size, settings->seed, cuda, err);
	if (!rc && r->needs_reset)
		rc = measure(r, COT_SET_RESET, settings->seconds / 2, gauge, &resets, err);
	if (!rc)
		rc = measure_ways(r, settings, gauge, ways, err);
	if (!rc) {
		fputs("{\"schema\":\"cotenant.bench.consolidate/1\",", out);
		cot_quote_write_member(out, "set", text);
		fprintf(out, ",\"size\":\"%s\",\"seconds\":%g,\"repeats\":%u,",
			cot_bench_size_name(settings->size), settings->seconds,
			settings->n_repeats);
		cot_quote_write_member(out, "gpu", cuda->name);
		put_instances(out, r);
	}
	for (way = COT_SET_APART; way <= COT_SET_MERGED && !rc; way++)
		put_way(out, r, (enum cot_set_way)way, &ways[way], settings->n_repeats,
			r->needs_reset ? &resets : NULL);
	if (!rc && r->needs_reset) {
		put_window(out, "reset", &resets, NULL);
		fputc('}', out);
	}
	if (!rc)
		fputs("}\n", out);
	cot_set_run_finish(r);
	free(r);
	return rc;
}

static void put_idle(FILE *out, struct gauge *gauge, double seconds)
{
	const struct cot_meter *meter = &gauge->meter;
	struct cot_meter_window w;
	struct cot_meter_state state;

	cot_meter_begin(meter, &w);
	cot_meter_watch_until(meter, &w, cot_meter_now_s() + seconds);
	cot_meter_read(meter, &state);
	gauge->idle_w = cot_meter_watts(&w);
	fprintf(out,
		"{\"schema\":\"cotenant.bench.consolidate/1\",\"idle_w\":%.6g,\"sm_mhz\":%u,"
		"\"limit_w\":%.6g,\"driver\":\"%s\"}\n",
		gauge->idle_w, state.sm_mhz, state.limit_mw * MJ_TO_J, meter->driver_version);
}

/* A line appears whole, or not at all. */
static int put_line(FILE *out, const char *text, const struct settings *settings,
		    struct cot_cuda *cuda, const struct gauge *gauge, struct cot_error *err)
{
	char *line = NULL;
	size_t size;
	FILE *memory = open_memstream(&line, &size);
	int rc;

	if (!memory)
		return cot_error_set(err, -ENOMEM, "not enough memory");
	rc = put_set(memory, text, settings, cuda, gauge, err);
	if (fclose(memory) && !rc)
		rc = cot_error_set(err, -ENOMEM, "not enough memory");
	if (!rc && (fputs(line, out) < 0 || fflush(out)))
		rc = cot_error_set(err, -errno, "the output cannot be written: %s",
				   strerror(errno));
	free(line);
	return rc;
}

static int run_all(FILE *out, const struct settings *settings, struct cot_cuda *cuda)
{
	struct cot_error err = {{0}};
	struct gauge gauge = {.idle_w = -1};
	char bus_id[32] = "";
	int n_failed = 0, rc = 0;
	uint32_t i;

	if (cuda->api.cuDeviceGetPCIBusId(bus_id, sizeof(bus_id), settings->gpu))
		bus_id[0] = '\0';
	cot_meter_open(&gauge.meter, bus_id);
	if (!gauge.meter.has_energy)
		fprintf(stderr, "bench_consolidate: %s\n", gauge.meter.why_not.text);
	else
		put_idle(out, &gauge, settings->seconds);
	for (i = 0; i < settings->n_sets && !interrupted; i++) {
		rc = put_line(out, settings->sets[i], settings, cuda, &gauge, &err);
		if (rc) {
			fprintf(stderr, "bench_consolidate: %s: %s\n", settings->sets[i], err.text);
			n_failed++;
		}
	}
	cot_meter_close(&gauge.meter);
	return interrupted ? 130 : n_failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "SET...", doc, NULL, NULL, NULL};
	const struct sigaction action = {.sa_handler = on_signal};
	struct settings settings = {.size = COT_BENCH_GPU, .seconds = 1, .seed = 1, .n_repeats = 3};
	struct cot_error err = {{0}};
	struct cot_cuda cuda;
	FILE *out = stdout;
	int status;

	argp_parse(&argp, argc, argv, 0, NULL, &settings);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (settings.output && !(out = fopen(settings.output, "a"))) {
		fprintf(stderr, "bench_consolidate: %s: %s\n", settings.output, strerror(errno));
		return 1;
	}
	if (cot_cuda_open(&cuda, settings.gpu, &err)) {
		fprintf(stderr, "bench_consolidate: %s\n", err.text);
		return 1;
	}
	status = run_all(out, &settings, &cuda);
	cot_cuda_close(&cuda);
	return status;
}
