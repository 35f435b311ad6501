/*
 * smguard-app: an ordinary CUDA program with one benchmark, for measuring how programs share a GPU.
 * It makes requests at given moments, says when each began and ended, and compares every result.
 * See docs/smguard.md.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "bench/smguard/job.h"
#include "bench/smguard/options.h"

enum { ALL_RIGHT, SOMETHING_WRONG, COULD_NOT_RUN };
enum {
	KEY_SEED = COT_OPTION_OWN,
	KEY_START,
	KEY_INTERVAL,
	KEY_COMMANDS,
	KEY_LAUNCHES,
	KEY_NO_REFERENCE,
	KEY_AS,
	KEY_SMS
};

#define MAX_LINE 128

struct options {
	struct cot_job_settings job;
	uint32_t n_requests;
	uint64_t start_ns, interval_us;
	bool commands, shows_launches, no_reference;
};

static const char doc[] =
	"Runs one of the eleven benchmarks of the SMGuard paper as an ordinary CUDA program: requests at "
	"given moments, each result compared bit for bit with the first one, and that with the CPU's. "
	"Prints one line of JSON for each request."
	"\v"
	"With --commands it waits for lines on standard input: 'run NS' makes a request at that moment "
	"of CLOCK_MONOTONIC (0: now), 'check' compares its result and resets, 'loop NS' makes requests "
	"until that moment, checking each, 'quit' ends it.\n\n"
	"Example:\n"
	"  cotenant run --class batch --quota 50% -- smguard-app matrixMul --size large --repeat 20";

static const struct argp_option options[] = {
	{"size", 's', "SIZE", 0, "test, small, large or gpu (default: test)", 0},
	{"blocks", 'n', "N", 0, "Thread blocks of the main kernel, instead of the size's", 0},
	{"work", COT_OPTION_WORK, "N", 0, "Work of each block, instead of the size's", 0},
	{"seed", KEY_SEED, "N", 0, "Seed of the inputs (default: 1)", 0},
	{"gpu", COT_OPTION_GPU, "N", 0, "Number of the GPU (default: 0)", 0},
	{"repeat", 'r', "N", 0, "Number of requests (default: 1)", 0},
	{"start-at", KEY_START, "NS", 0, "Moment of the first one (default: at once)", 0},
	{"interval", KEY_INTERVAL, "TIME", 0,
	 "From one to the next, as in 5ms; a number alone is in us (default: as soon as it can)",
	 0},
	{"commands", KEY_COMMANDS, 0, 0, "Do what standard input says", 0},
	{"launches", KEY_LAUNCHES, 0, 0, "Print the times of each launch, too", 0},
	{"as", KEY_AS, "FORM", 0,
	 "plain; or, to compare with: workers, gathered (workers on whole SMs), or retreat (fills "
	 "the GPU and retreats), which it launches on a part of the GPU by itself",
	 0},
	{"sms", KEY_SMS, "N", 0, "SMs for the other forms (default: all)", 0},
	{"no-reference", KEY_NO_REFERENCE, 0, 0, "Don't compute the result on the CPU", 0},
	{0},
};

static error_t take_option(int key, char *text, struct argp_state *state)
{
	struct options *o = state->input;
	int form;

	switch (key) {
	case KEY_SEED:
		o->job.seed = cot_option_number(state, "--seed", text, 0, UINT64_MAX);
		return 0;
	case 'r':
		o->n_requests = (uint32_t)cot_option_number(state, "--repeat", text, 1, UINT32_MAX);
		return 0;
	case KEY_START:
		o->start_ns = cot_option_number(state, "--start-at", text, 0, UINT64_MAX);
		return 0;
	case KEY_INTERVAL:
		if (!cot_quantity_whole(text, COT_UNIT_US, 0, UINT32_MAX, &o->interval_us))
			argp_error(state,
				   "--interval is '%s'; expected a time such as 500us or 5ms",
				   text);
		return 0;
	case KEY_COMMANDS:
		o->commands = true;
		return 0;
	case KEY_LAUNCHES:
		o->shows_launches = true;
		return 0;
	case KEY_NO_REFERENCE:
		o->no_reference = true;
		return 0;
	case KEY_SMS:
		o->job.n_sms = (uint32_t)cot_option_number(state, "--sms", text, 1, 65536);
		return 0;
	case KEY_AS:
		form = cot_job_find_form(text);
		if (form < 0)
			argp_error(state,
				   "there is no form '%s'; expected plain, workers, gathered or "
				   "retreat",
				   text);
		o->job.form = (enum cot_job_form)form;
		return 0;
	default:
		return cot_option_take(&o->job, key, text, state);
	}
}

/* ---- what it prints ---- */

static int failed(const struct cot_error *err)
{
	fprintf(stderr, "smguard-app: %s\n", err->text);
	return COULD_NOT_RUN;
}

/* The program that drives it reads line by line. */
static int finish_line(void)
{
	struct cot_error err;

	if (puts("}") >= 0 && fflush(stdout) == 0)
		return ALL_RIGHT;
	cot_error_set(&err, -errno, "standard output cannot be written: %s", strerror(errno));
	return failed(&err);
}

static void print_times(const char *name, const double *us, uint32_t n)
{
	uint32_t i;

	printf(",\"%s\":[", name);
	for (i = 0; i < n; i++)
		printf("%s%.1f", i ? "," : "", us[i]);
	putchar(']');
}

static int print_request(const struct options *o, const struct cot_job *job)
{
	const struct cot_job_request *r = &job->request;

	printf("{\"event\":\"run\",\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64
	       ",\"us\":%.1f,\"gpu_us\":%.1f,\"launches\":%u",
	       r->start_ns, r->end_ns, (double)(r->end_ns - r->start_ns) * 1e-3, r->gpu_us,
	       r->n_launches + r->n_own);
	if (o->shows_launches) {
		print_times("call_us", r->call_us, r->n_launches);
		print_times("return_us", r->return_us, r->n_launches);
		print_times("done_us", r->done_us, r->n_launches);
	}
	return finish_line();
}

static int print_check(uint64_t n_different)
{
	printf("{\"event\":\"check\",\"same\":%s,\"n_different\":%" PRIu64,
	       n_different ? "false" : "true", n_different);
	return finish_line();
}

static int print_ready(const struct options *o, struct cot_job *job,
		       const struct cot_bench_verdict *verdict)
{
	uint32_t per_sm = 0;
	struct cot_error err;

	if (job->machine.base.ops->occupancy(&job->machine.base, job->bench.entry,
					     job->bench.n_threads, &per_sm, &err))
		return failed(&err);
	printf("{\"event\":\"ready\",\"benchmark\":\"%s\",\"kernel\":\"%s\",\"blocks\":%u,"
	       "\"work\":%u,\"threads\":%u,\"per_sm\":%u,\"sms\":%d,\"gpu\":\"%s\","
	       "\"launches\":%u,\"us\":%.1f,\"gpu_us\":%.1f",
	       job->bench.name, job->bench.entry, job->in.n_blocks, job->in.work,
	       job->bench.n_threads, per_sm, job->cuda.n_sms, job->cuda.name,
	       job->request.n_launches + job->request.n_own,
	       (double)(job->request.end_ns - job->request.start_ns) * 1e-3, job->request.gpu_us);
	if (!o->no_reference)
		printf(",\"right\":%s,\"n_checked\":%" PRIu64 ",\"n_wrong\":%" PRIu64,
		       verdict->n_wrong ? "false" : "true", verdict->n_checked, verdict->n_wrong);
	return finish_line();
}

/* ---- requests ---- */

/* The first request, whose result is right or wrong; all others are compared with it. */
static int make_ready(const struct options *o, struct cot_job *job)
{
	struct cot_bench_verdict verdict = {0};
	struct cot_error err;
	int rc = cot_job_run(job, 0, &err), status;

	if (!rc && !o->no_reference)
		rc = cot_job_check_on_cpu(job, &verdict, &err);
	if (!rc)
		rc = cot_job_keep(job, &err);
	if (rc)
		return failed(&err);
	status = print_ready(o, job, &verdict);
	if (!status && verdict.n_wrong) {
		fprintf(stderr, "smguard-app: %s\n", verdict.text);
		return SOMETHING_WRONG;
	}
	return status;
}

static int run(const struct options *o, struct cot_job *job, uint64_t at_ns)
{
	struct cot_error err;

	return cot_job_run(job, at_ns, &err) ? failed(&err) : print_request(o, job);
}

static int check(struct cot_job *job, bool *wrong)
{
	struct cot_error err;
	uint64_t n_different;

	if (cot_job_check(job, &n_different, &err))
		return failed(&err);
	*wrong |= n_different != 0;
	return print_check(n_different);
}

static int requests(const struct options *o, struct cot_job *job, bool *wrong)
{
	uint64_t at_ns = o->start_ns ? o->start_ns : cot_job_now_ns();
	int status = ALL_RIGHT;
	uint32_t i;

	for (i = 0; i < o->n_requests && !status; i++) {
		status = run(o, job, at_ns + i * o->interval_us * 1000);
		if (!status)
			status = check(job, wrong);
	}
	return status;
}

static int loop(const struct options *o, struct cot_job *job, uint64_t end_ns, bool *wrong)
{
	int status = ALL_RIGHT;

	while (!status && cot_job_now_ns() < end_ns) {
		status = run(o, job, 0);
		if (!status)
			status = check(job, wrong);
	}
	if (status)
		return status;
	printf("{\"event\":\"looped\"");
	return finish_line();
}

/* The moment in "WORD NS". */
static bool is_command(const char *line, const char *word, uint64_t *ret_ns)
{
	size_t length = strlen(word);
	unsigned long long ns;
	char *end;

	if (strncmp(line, word, length) != 0 || line[length] != ' ')
		return false;
	errno = 0;
	ns = strtoull(line + length + 1, &end, 10);
	if (errno || end == line + length + 1 || line[length + 1] == '-' || strcmp(end, "\n") != 0)
		return false;
	*ret_ns = ns;
	return true;
}

/* Until 'quit' or the end of the input. */
static int obey(const struct options *o, struct cot_job *job, bool *wrong)
{
	char line[MAX_LINE];
	int status = ALL_RIGHT;

	while (!status && fgets(line, sizeof(line), stdin)) {
		uint64_t ns = 0;

		if (is_command(line, "run", &ns)) {
			status = run(o, job, ns);
		} else if (is_command(line, "loop", &ns)) {
			status = loop(o, job, ns, wrong);
		} else if (strcmp(line, "check\n") == 0) {
			status = check(job, wrong);
		} else if (strcmp(line, "quit\n") == 0) {
			break;
		} else {
			line[strcspn(line, "\n")] = '\0';
			fprintf(stderr,
				"smguard-app: '%s' is no command; expected run NS, check, "
				"loop NS or quit\n",
				line);
			status = COULD_NOT_RUN;
		}
	}
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, take_option, "BENCHMARK", doc, 0, 0, 0};
	struct options o = {.n_requests = 1, .job = {.seed = 1}};
	/* Times of all launches are in it. */
	static struct cot_job job;
	struct cot_error err;
	bool wrong = false;
	int status;

	argp_parse(&argp, argc, argv, 0, 0, &o);
	if (cot_job_init(&job, &o.job, &err))
		return failed(&err);
	status = make_ready(&o, &job);
	if (!status)
		status = o.commands ? obey(&o, &job, &wrong) : requests(&o, &job, &wrong);
	cot_job_finish(&job);
	return status ? status : wrong ? SOMETHING_WRONG : ALL_RIGHT;
}
