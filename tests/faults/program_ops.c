/* Faults in what users run: the command line, the daemon that it starts, the library and the shim
 * in a program. */
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define SOON_MS 10000u
/* A program may have to wait for a daemon that does not answer. */
#define JOB_MS 60000u
/* By then a program is on its part, unless that fails. */
#define PLACED_MS 300u

/* ---- questions and commands ---- */

static void begin_daemon(void)
{
	daemon_must_start();
	setenv("COTENANT_SOCKET", work_path("run/cotenantd.sock"), 1);
}

/* It ends by itself; success comes with its whole answer, and failure with a sentence. */
static void expect_told(const struct result *r, bool whole)
{
	if (r->how == ENDED_HUNG)
		problem("it hangs");
	else if (r->how == ENDED_SIGNAL)
		problem("it died of signal %d", r->status);
	else if (r->status && !r->err[0])
		problem("status %d without a word", r->status);
	else if (!r->status && !whole)
		problem("status 0, but it said only '%s'", r->out);
}

static char *answer; /* of `ps` without faults */

static bool ps_is_settled(const void *arg)
{
	const char *const argv[] = {env_path("COTENANT"), "ps", NULL};
	struct result r = run(argv, SOON_MS);
	bool settled = r.how == ENDED_EXIT && !r.status && strstr(r.out, "running");

	(void)arg;
	free(answer);
	answer = strdup(r.out);
	free_result(&r);
	return settled;
}

static void begin_ps(void)
{
	begin_daemon();
	need_target();
	if (!until(ps_is_settled, NULL, SOON_MS))
		problem("without faults ps says '%s'", answer);
}

static void end_ps(void)
{
	free(answer);
	answer = NULL;
	end_target();
	daemon_stop();
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return at + (*at == '\n');
}

/* Where a column begins in its line. */
static size_t column_of(const char *text, const char *head)
{
	const char *at = strstr(text, head), *line = text, *next;

	if (!at)
		return SIZE_MAX;
	while ((next = next_line(line)) <= at)
		line = next;
	return (size_t)(at - line);
}

static bool is_same_line(const char *a, const char *b, size_t columns)
{
	size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");

	n = n < columns ? n : columns;
	return n == (m < columns ? m : columns) && !strncmp(a, b, n);
}

/* The same lines, but for the last columns: without memory a user is a number, and programs grow
 * older. */
static bool is_answer(const char *out)
{
	size_t columns = column_of(answer, "USER");
	const char *at = answer;

	for (; *at && *out; at = next_line(at), out = next_line(out))
		if (!is_same_line(at, out, columns))
			return false;
	return *at == *out;
}

static void act_cli_ps(void)
{
	const char *const argv[] = {env_path("COTENANT"), "ps", NULL};
	struct result r = run(argv, SOON_MS);

	disarm();
	expect_told(&r, is_answer(r.out));
	free_result(&r);
}

static void act_cli_json(void)
{
	const char *const argv[] = {env_path("COTENANT"), "ps", "--json", NULL};
	struct result r = run(argv, SOON_MS);
	json_t *ps;

	disarm();
	ps = json_loads(r.out, 0, NULL);
	expect_told(&r, ps && json_object_get(ps, "pools") && json_object_get(ps, "uncontrolled") &&
				json_object_size(
					json_array_get(json_object_get(ps, "tenants"), 0)) > 20);
	json_decref(ps);
	free_result(&r);
}

static void act_cli_set(void)
{
	static unsigned weight = 100;
	char text[16];
	const char *const argv[] = {env_path("COTENANT"), "set", "target", "--weight", text, NULL};
	struct result r;

	weight = weight == 100 ? 200 : 100;
	(void)snprintf(text, sizeof(text), "%u", weight);
	r = run(argv, SOON_MS);
	disarm();
	expect_told(&r, r.out[0] && has_program("target", "weight", weight));
	free_result(&r);
	weight = has_program("target", "weight", 100) ? 100 : 200;
}

/* ---- run ---- */

/* The program says who it is, and ends with 7. Ours is 1 where it is too early to know `run`. */
static const char *const job = "echo \"tenant=$COTENANT_TENANT.\"; exit 7";

static void expect_run(const struct result *r)
{
	if (r->how == ENDED_HUNG)
		problem("it hangs");
	else if (r->how == ENDED_SIGNAL)
		problem("it died of signal %d", r->status);
	else if (r->status == 7 && !strstr(r->out, "tenant="))
		problem("the program did not say who it is");
	else if (r->status == 7 && strstr(r->out, "tenant=.") && !r->err[0])
		problem("the program ran without control, and nothing was said");
	else if (r->status != 7 && r->status != 1 && (r->status < 125 || r->status > 127))
		problem("status %d is not the program's, 7, nor ours", r->status);
	else if (r->status != 7 && !r->err[0])
		problem("status %d without a word", r->status);
	else if (r->status != 7 && r->out[0])
		problem("status %d, but the program ran", r->status);
}

static struct result run_job(void)
{
	const char *const argv[] = {
		env_path("COTENANT"), "run", "--solo", "--", "sh", "-c", job, NULL};
	struct result r = run(argv, JOB_MS);

	disarm();
	expect_run(&r);
	return r;
}

static void must_run_job(void)
{
	struct result r = run_job();

	if (r.status != 7 || r.err[0] || strstr(r.out, "tenant=."))
		problem("without faults: status %d, '%s' '%s'", r.status, r.out, r.err);
	free_result(&r);
}

static void act_run(void)
{
	struct result r = run_job();

	free_result(&r);
	daemon_check();
	must_run_job();
}

/* There is no daemon: this starts one. */
static void act_first_run(void)
{
	struct result r;

	unsetenv("COTENANT_SOCKET");
	r = run_job();
	free_result(&r);
	must_run_job();
	end_others();
	check_state();
}

/* ---- launch ---- */

static void begin_launch(void)
{
	setenv("COTENANT_MPS_CONTROL", work_path("no-mps"), 1);
	write_config("smguard");
	begin_daemon();
}

static void end_launch(void)
{
	daemon_stop();
	write_config("rotate");
	unsetenv("COTENANT_MPS_CONTROL");
}

static void act_launch(void)
{
	static char program[300];
	const char *const argv[] = {env_path("COTENANT"),
				    "run",
				    "--solo",
				    "--",
				    program,
				    "--runs",
				    "2",
				    "--words",
				    "512",
				    NULL};

	(void)snprintf(program, sizeof(program), "%s/ptx_work", env_path("PROGS"));
	expect_right(run(argv, JOB_MS));
}

static void act_launch_shim(void)
{
	setenv("COTENANT_QUOTA", "50%", 1);
	act_launch();
	unsetenv("COTENANT_QUOTA");
}

/* ---- parts ---- */

static void begin_parts(void)
{
	char before[300];

	setenv("COTENANT_MPS_CONTROL", work_path("no-mps"), 1);
	(void)snprintf(before, sizeof(before), "%s/libcuda.so.1", env_path("EMU"));
	setenv("FAULT_BEFORE", before, 1);
	setenv("COTENANT_SHIM_DRIVER", env_path("FAULT_DRIVER"), 1);
	write_config("parts");
	begin_daemon();
}

static void end_parts(void)
{
	end_launch();
	unsetenv("COTENANT_SHIM_DRIVER");
	unsetenv("FAULT_BEFORE");
}

static bool has_said_all(const void *arg)
{
	const pid_t *pid = arg;
	char *text = read_text(work_path("parts"));
	bool has = strstr(text, " sms ") != NULL;

	free(text);
	return has || has_ended(*pid);
}

static bool is_placed(const void *arg)
{
	json_t *t = program_of_ps("parts"), *part = json_object_get(t, "part");
	bool placed = json_integer_value(json_object_get(part, "placed")) > 0;

	(void)arg;
	json_decref(t);
	return placed;
}

/* What it asked for, 32 SMs, it has for all launches; or `ps` says that it has not. */
static bool ps_is_true(const void *arg)
{
	json_t *t = program_of_ps("parts"), *part = json_object_get(t, "part");
	bool has_all = json_integer_value(json_object_get(part, "sms")) == 32 &&
		       !json_integer_value(json_object_get(part, "launches_stayed"));
	bool said = json_is_string(json_object_get(t, "part_effect"));

	(void)arg;
	json_decref(t);
	return has_all ? !said : said;
}

static void act_parts(void)
{
	char program[300], go[300];
	const char *const argv[] = {env_path("COTENANT"),
				    "run",
				    "--name",
				    "parts",
				    "--sms",
				    "32",
				    "--",
				    program,
				    "--seed",
				    "3",
				    "--operations",
				    "150",
				    "--begin",
				    go,
				    "--seconds",
				    "30",
				    "--stay",
				    "100",
				    NULL};
	pid_t pid;

	(void)snprintf(program, sizeof(program), "%s/parts", env_path("PROGS"));
	(void)snprintf(go, sizeof(go), "%s", work_path("go"));
	write_text(work_path("parts"), "");
	(void)unlink(go);
	pid = spawn(argv, work_path("parts"), work_path("parts"));
	(void)until(is_placed, NULL, PLACED_MS);
	write_text(go, "");
	if (!until(has_said_all, &pid, JOB_MS))
		problem("the program hangs");
	disarm();
	if (!until(ps_is_true, NULL, SOON_MS))
		problem("ps does not say that it is not on its part");
	end_right(pid, "parts");
	daemon_check();
}

/* ---- requests ---- */

/* Whatever fails, what is seen of them is the program's, and the program gets what it would get. */
static void act_measured(void)
{
	static char program[300];
	const char *const argv[] = {
		env_path("COTENANT"), "run", "--solo",	 "--measure", "--", program,
		"--rounds",	      "1",   "--faults", "1",	      NULL};

	(void)snprintf(program, sizeof(program), "%s/bursts", env_path("PROGS"));
	expect_right(run(argv, JOB_MS));
}

const struct op program_ops[] = {
	{"cotenant-ps", "cotenant", NULL, 23, begin_ps, act_cli_ps, end_ps},
	{"cotenant-json", "cotenant", NULL, 23, begin_ps, act_cli_json, end_ps},
	{"cotenant-set", "cotenant", NULL, 2, begin_ps, act_cli_set, end_ps},
	{"run", "cotenant", NULL, 3, begin_daemon, act_run, daemon_stop},
	{"first-run", "cotenant", NULL, 7, NULL, act_first_run, NULL},
	{"first-daemon", "cotenantd", NULL, 149, NULL, act_first_run, NULL},
	{"library", "ptx_work", "libcotenant.so", 2, begin_launch, act_launch, end_launch},
	{"shim", "ptx_work", "shim/libcuda.so.1", 5, begin_launch, act_launch_shim, end_launch},
	{"parts", "parts", "shim/libcuda.so.1", 61, begin_parts, act_parts, end_parts},
	{"ring", "bursts", "libcotenant.so", 3, begin_parts, act_measured, end_parts},
	{"bursts", "bursts", "shim/libcuda.so.1", 5, begin_parts, act_measured, end_parts},
};
const unsigned n_program_ops = sizeof(program_ops) / sizeof(program_ops[0]);
