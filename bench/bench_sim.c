/*
 * How fast the simulator is: thread-block completions per second of processor time on one core, and
 * how that and the memory grow with the length of the run, the programs and the SMs. Every point is
 * the median of repeats, each in a process of its own so that its peak memory is its own.
 *
 *     bench_sim [--json FILE] [--repeats N]
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/units.h"
#include "report/table.h"
#include "sim/sim.h"
#include "trace/gpu.h"
#include "trace/trace.h"

#define TRACE	    "parboil/lbm"
#define REPEATS_MAX 25
#define JITTER_CV   0.1

struct point {
	const char *group; /* what is varied */
	uint32_t apps, sms, runs;
	double jitter_cv;
	double least_mps; /* million completions per second wanted; 0: no such goal */
};

/*
 * lbm launches 1.8 million blocks in a run. With jitter every block is an event; without, blocks
 * that end together are one, and long runs show how the cost grows with their number.
 */
static const struct point points[] = {
	{"lbm x 4", 4, 13, 30, 0.0, 10},
	{"lbm x 4", 4, 13, 1, JITTER_CV, 3},
	{"blocks", 4, 13, 15, 0.0, 0},
	{"blocks", 4, 13, 60, 0.0, 0},
	{"blocks", 4, 13, 120, 0.0, 0},
	{"blocks", 4, 13, 2, JITTER_CV, 0},
	{"programs", 2, 13, 30, 0.0, 0},
	{"programs", 8, 13, 30, 0.0, 0},
	{"programs", 16, 13, 30, 0.0, 0},
	{"programs", 32, 13, 30, 0.0, 0},
	{"programs", 2, 13, 1, JITTER_CV, 0},
	{"programs", 8, 13, 1, JITTER_CV, 0},
	{"programs", 16, 13, 1, JITTER_CV, 0},
	{"SMs", 4, 26, 30, 0.0, 0},
	{"SMs", 4, 52, 10, 0.0, 0},
	{"SMs", 4, 104, 10, 0.0, 0},
	{"SMs", 4, 132, 10, 0.0, 0},
	{"SMs", 4, 26, 1, JITTER_CV, 0},
	{"SMs", 4, 132, 1, JITTER_CV, 0},
};

struct sample {
	double seconds;
	uint64_t blocks;
	long rss_kib;
};

struct options {
	const char *json;
	unsigned repeats;
};

/* ---- one point ---- */

/* A K20c with as many SMs as asked for, each with the same share of the bandwidth. */
static void make_scenario(const struct point *pt, const struct cot_program *program,
			  struct cot_scenario *sc)
{
	uint32_t i;

	memset(sc, 0, sizeof(*sc));
	sc->gpu = *cot_gpu_find("k20c");
	sc->gpu.dram_bytes_per_s = sc->gpu.dram_bytes_per_s / sc->gpu.n_sms * pt->sms;
	sc->gpu.n_sms = pt->sms;
	(void)snprintf(sc->scheduler, sizeof(sc->scheduler), "dss");
	sc->seed = 1;
	sc->block_jitter_cv = pt->jitter_cv;
	sc->quantum_ps = 2000 * COT_PS_PER_US;
	sc->stop_runs = pt->runs;
	sc->n_apps = pt->apps;
	for (i = 0; i < pt->apps; i++) {
		struct cot_app *app = &sc->apps[i];

		(void)snprintf(app->name, sizeof(app->name), "lbm%u", i);
		app->tokens = COT_TOKENS_EQUAL;
		app->context = i;
		app->program = *program;
	}
}

static double cpu_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int measure(const struct point *pt, struct sample *ret)
{
	static struct cot_scenario sc;
	const struct cot_program *program;
	struct cot_trace_program *owner;
	struct cot_sim_result result;
	struct cot_error err;
	struct rusage usage;
	struct cot_sim *sim;
	double begin;

	if (cot_trace_program(TRACE, COT_BLOCK_TIME_WAVE, cot_gpu_find("k20c"), &owner, &program,
			      &err)) {
		(void)fprintf(stderr, "bench_sim: %s\n", err.text);
		return -EINVAL;
	}
	make_scenario(pt, program, &sc);
	begin = cpu_seconds();
	if (cot_sim_create(&sc, NULL, NULL, NULL, &sim, &err) ||
	    cot_sim_run(sim, UINT64_MAX) != COT_SIM_DONE)
		return -EINVAL;
	ret->seconds = cpu_seconds() - begin;
	cot_sim_result(sim, &result);
	ret->blocks = result.block_completions;
	(void)getrusage(RUSAGE_SELF, &usage);
	ret->rss_kib = usage.ru_maxrss;
	cot_sim_destroy(sim);
	cot_trace_program_destroy(owner);
	return 0;
}

/* In a child, whose answer comes through a pipe. */
static int measure_apart(const struct point *pt, struct sample *ret)
{
	int fds[2], status = 1;
	ssize_t n;
	pid_t pid;

	if (pipe(fds))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		struct sample s;

		if (measure(pt, &s))
			_exit(1);
		_exit(write(fds[1], &s, sizeof(s)) != (ssize_t)sizeof(s));
	}
	(void)close(fds[1]);
	n = read(fds[0], ret, sizeof(*ret));
	(void)close(fds[0]);
	if (waitpid(pid, &status, 0) != pid || status || n != (ssize_t)sizeof(*ret))
		return -EIO;
	return 0;
}

static int by_seconds(const void *a, const void *b)
{
	double x = ((const struct sample *)a)->seconds, y = ((const struct sample *)b)->seconds;

	return (x > y) - (x < y);
}

static int median(const struct point *pt, unsigned repeats, struct sample *ret)
{
	struct sample samples[REPEATS_MAX];
	unsigned i;

	for (i = 0; i < repeats; i++) {
		int r = measure_apart(pt, &samples[i]);

		if (r)
			return r;
	}
	qsort(samples, repeats, sizeof(samples[0]), by_seconds);
	*ret = samples[repeats / 2];
	return 0;
}

static double mps(const struct sample *s)
{
	return (double)s->blocks / s->seconds / 1e6;
}

/* ---- output ---- */

static int print_table(const struct sample *samples, FILE *out)
{
	static const struct cot_column columns[] = {
		{"varied", COT_ALIGN_LEFT},
		{"programs", COT_ALIGN_RIGHT},
		{"SMs", COT_ALIGN_RIGHT},
		{"runs", COT_ALIGN_RIGHT},
		{"jitter", COT_ALIGN_RIGHT},
		{"million blocks", COT_ALIGN_RIGHT},
		{"seconds", COT_ALIGN_RIGHT},
		{"million blocks/s", COT_ALIGN_RIGHT},
		{"peak memory MiB", COT_ALIGN_RIGHT},
		{"goal", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(points); i++) {
		const struct point *pt = &points[i];
		const struct sample *s = &samples[i];

		cot_table_text(t, pt->group);
		cot_table_cell(t, "%u", pt->apps);
		cot_table_cell(t, "%u", pt->sms);
		cot_table_cell(t, "%u", pt->runs);
		cot_table_cell(t, "%g", pt->jitter_cv);
		cot_table_cell(t, "%.1f", (double)s->blocks / 1e6);
		cot_table_cell(t, "%.3f", s->seconds);
		cot_table_cell(t, "%.1f", mps(s));
		cot_table_cell(t, "%.1f", (double)s->rss_kib / 1024.0);
		if (pt->least_mps > 0.0)
			cot_table_cell(t, "at least %g: %s", pt->least_mps,
				       mps(s) >= pt->least_mps ? "met" : "missed");
		else
			cot_table_text(t, "");
	}
	return cot_table_print(t, out);
}

/* The model name of the processor; "" when it is not known. */
static void read_cpu(char *name, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	name[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':'), *c;

		if (strncmp(line, "model name", strlen("model name")) != 0 || !colon)
			continue;
		colon[strcspn(colon, "\n")] = '\0';
		(void)snprintf(name, size, "%s", colon + 2);
		for (c = name; *c; c++)
			if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
				*c = ' ';
		break;
	}
	if (f)
		(void)fclose(f);
}

static void write_json(const struct sample *samples, FILE *out)
{
	struct utsname sys;
	char cpu[128], date[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	unsigned i;

	read_cpu(cpu, sizeof(cpu));
	if (uname(&sys))
		memset(&sys, 0, sizeof(sys));
	if (gmtime_r(&now, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	(void)fprintf(out,
		      "{\n  \"schema\": \"cotenant.bench.sim/1\",\n  \"date\": \"%s\",\n"
		      "  \"processor\": \"%s\",\n  \"system\": \"%s %s %s\",\n"
		      "  \"compiler\": \"%s\",\n  \"trace\": \"%s\",\n  \"points\": [\n",
		      date, cpu, sys.sysname, sys.release, sys.machine, __VERSION__, TRACE);
	for (i = 0; i < COT_ARRAY_LEN(points); i++) {
		const struct point *pt = &points[i];
		const struct sample *s = &samples[i];

		(void)fprintf(out,
			      "    {\"varied\": \"%s\", \"apps\": %u, \"sms\": %u, \"runs\": %u, "
			      "\"block_jitter_cv\": %g, \"blocks\": %llu, \"seconds\": %.6f, "
			      "\"blocks_per_second\": %.0f, \"peak_rss_kib\": %ld}%s\n",
			      pt->group, pt->apps, pt->sms, pt->runs, pt->jitter_cv,
			      (unsigned long long)s->blocks, s->seconds, mps(s) * 1e6, s->rss_kib,
			      i + 1 < COT_ARRAY_LEN(points) ? "," : "");
	}
	(void)fprintf(out, "  ]\n}\n");
}

static int save_json(const struct sample *samples, const char *path, struct cot_error *err)
{
	struct cot_outfile *out = NULL;
	int r = cot_outfile_open(path, &out, err);

	if (!r) {
		write_json(samples, cot_outfile_stream(out));
		r = cot_outfile_commit(out, err);
	}
	cot_outfile_destroy(out);
	return r;
}

/* ---- command line ---- */

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case 'j':
		opt->json = arg;
		return 0;
	case 'r':
		opt->repeats = (unsigned)strtoul(arg, NULL, 10);
		if (!opt->repeats || opt->repeats > REPEATS_MAX)
			argp_error(state, "--repeats takes a number from 1 to %d", REPEATS_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"json", 'j', "FILE", 0, "Also write the results to FILE (- is standard output)",
		 0},
		{"repeats", 'r', "N", 0, "Take the median of N measurements (3)", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse_opt,
		.doc = "Measure the speed and the memory of the simulator on one core.",
	};
	struct sample samples[COT_ARRAY_LEN(points)];
	struct options opt = {.repeats = 3};
	struct cot_error err;
	unsigned i;

	(void)argp_parse(&argp, argc, argv, 0, NULL, &opt);
	for (i = 0; i < COT_ARRAY_LEN(points); i++) {
		if (median(&points[i], opt.repeats, &samples[i])) {
			(void)fprintf(stderr, "bench_sim: a measurement failed\n");
			return EXIT_FAILURE;
		}
	}
	if (print_table(samples, opt.json && !strcmp(opt.json, "-") ? stderr : stdout))
		return EXIT_FAILURE;
	if (opt.json && save_json(samples, opt.json, &err)) {
		(void)fprintf(stderr, "bench_sim: %s\n", err.text);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
