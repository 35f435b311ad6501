/*
 * cotenantd: its arguments.
 */
#include <argp.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/quantity.h"
#include "daemon/daemon.h"
#include "daemon/keeper.h"
#include "daemon/log.h"
#include "daemon/manager.h"
#include "daemon/state.h"
#include "text/json.h"
#include "text/number.h"

#ifndef COT_VERSION
#define COT_VERSION "0.1.0"
#endif

/* SERVED: another daemon serves this folder already. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SERVED = 3 };

struct arguments {
	const char *config;
	bool check, json, stop_pools;
	enum cot_dlog_level level;
	uint32_t exit_idle_ms;
	int ready_fd, keeper_fd;
};

enum {
	KEY_CHECK = 256,
	KEY_LOG_FORMAT,
	KEY_LOG_LEVEL,
	KEY_EXIT_IDLE,
	KEY_READY_FD,
	KEY_STOP_POOLS,
	KEY_KEEP_POOLS
};

static const struct argp_option options[] = {
	{"config", 'c', "FILE", 0, "Read this configuration", 0},
	{"check-config", KEY_CHECK, NULL, 0, "Only say whether the configuration is valid", 0},
	{"foreground", 'f', NULL, 0, "Stay in the foreground (it always does)", 0},
	{"exit-idle", KEY_EXIT_IDLE, "TIME", 0,
	 "End after this long without a program, as in 10min; a number alone is in seconds", 0},
	{"stop-pools", KEY_STOP_POOLS, NULL, 0,
	 "Only end pools that a daemon has left and no program uses", 0},
	{"log-level", KEY_LOG_LEVEL, "LEVEL", 0, "error, warn, info (default) or debug", 1},
	{"log-format", KEY_LOG_FORMAT, "FORMAT", 0, "text (default) or json", 1},
	{"ready-fd", KEY_READY_FD, "N", OPTION_HIDDEN, "Write to this descriptor when ready", 1},
	{"keep-pools", KEY_KEEP_POOLS, "N", OPTION_HIDDEN,
	 "Write to this descriptor when this daemon has ended", 1},
	{0},
};

static uint32_t number(const char *text, uint32_t max, const char *option, struct argp_state *state)
{
	uint64_t value;

	if (!cot_number_u64(text, &value) || value > max)
		argp_error(state, "%s is '%s'; expected a whole number from 0 to %u", option, text,
			   max);
	return (uint32_t)value;
}

#define IDLE_S_MAX 1000000

/* A number alone is in seconds. */
static uint32_t idle_ms(const char *text, struct argp_state *state)
{
	struct cot_quantity q;

	if (!cot_quantity_read(text, COT_UNIT_S, &q) || q.number > IDLE_S_MAX)
		argp_error(state,
			   "--exit-idle is '%s'; expected a time such as 30s or 10min, up to %u s",
			   text, IDLE_S_MAX);
	return (uint32_t)(q.number * 1000 + 0.5);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'c':
		a->config = arg;
		return 0;
	case 'f':
		return 0;
	case KEY_CHECK:
		a->check = true;
		return 0;
	case KEY_LOG_LEVEL:
		if (!cot_daemon_log_level(arg, &a->level))
			argp_error(state,
				   "--log-level is '%s'; expected error, warn, info or debug", arg);
		return 0;
	case KEY_LOG_FORMAT:
		if (strcmp(arg, "text") && strcmp(arg, "json"))
			argp_error(state, "--log-format is '%s'; expected text or json", arg);
		a->json = !strcmp(arg, "json");
		return 0;
	case KEY_EXIT_IDLE:
		a->exit_idle_ms = idle_ms(arg, state);
		return 0;
	case KEY_STOP_POOLS:
		a->stop_pools = true;
		return 0;
	case KEY_KEEP_POOLS:
		a->keeper_fd = (int)number(arg, 1000000, "--keep-pools", state);
		return 0;
	case KEY_READY_FD:
		a->ready_fd = (int)number(arg, 1000000, "--ready-fd", state);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A word for the process that started this daemon: whether a daemon serves now, or none can. */
static void tell_starter(const struct arguments *a, bool served)
{
	if (a->ready_fd < 0)
		return;
	(void)!write(a->ready_fd, served ? COT_READY_SERVED : COT_READY_FAILED, 1);
	(void)close(a->ready_fd);
}

/* Several may start one at the same moment: that the others find it there is what they want. */
static int give_up(const struct arguments *a, int rc, const struct cot_error *err)
{
	bool served = rc == -EALREADY;

	if (!served || a->ready_fd < 0)
		log_error("%s", err->text);
	tell_starter(a, served);
	return served ? EXIT_SERVED : EXIT_FAILED;
}

static int serve(struct daemon *d, const struct arguments *a)
{
	struct cot_error err = {{0}};
	int rc = cot_daemon_begin(d, &err);

	if (rc < 0)
		return give_up(a, rc, &err);
	log_info("cotenantd " COT_VERSION " serves %u GPU%s on %s, policy '%s'", d->basis.gpus.n,
		 d->basis.gpus.n == 1 ? "" : "s", d->basis.socket_path,
		 d->basis.config.policy->name);
	cot_manager_notify("READY=1");
	tell_starter(a, true);
	if (d->roster.exit_idle_ms && !cot_tenant_count(&d->roster))
		cot_timer_set(&d->basis.loop, &d->roster.idle,
			      cot_now_ns() + d->roster.exit_idle_ms * COT_NS_PER_MS);
	rc = cot_loop_run(&d->basis.loop);
	if (rc < 0)
		log_error("the event loop failed: %s", strerror(-rc));
	cot_state_save(&d->roster);
	cot_daemon_end(d);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

/* What is no daemon itself. */
static int look_after_pools(struct daemon *d, const struct arguments *a)
{
	struct cot_error err = {{0}};
	int rc = cot_paths_runtime(d->basis.runtime, &err);

	if (!rc)
		rc = cot_paths_join(d->basis.socket_path, d->basis.runtime, COT_SOCKET_NAME, &err);
	if (rc < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	if (a->stop_pools)
		return cot_keeper_stop_pools(&d->basis) ? EXIT_FAILED : EXIT_OK;
	cot_keeper_run(&d->basis, a->keeper_fd);
	return EXIT_OK;
}

/*
 * Large blocks, as each measured program has, are the machine's again when they are freed. In the
 * heap they would leave holes, in which what stays settles, and the heap would grow: glibc's own
 * bound rises with the first that is freed.
 */
#define LARGE_BYTES (128 << 10)

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Lets programs share a GPU: pools, slices, freezing. See cotenantd(8).",
	};
	static struct daemon d;
	struct arguments a = {.level = COT_DLOG_INFO, .ready_fd = -1, .keeper_fd = -1};
	struct cot_error err = {{0}};
	int rc;

	argp_program_version = "cotenantd " COT_VERSION;
	argp_err_exit_status = EXIT_USAGE;
	rc = argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (rc) {
		(void)fprintf(stderr, "cotenantd: %s\n", strerror(rc));
		return EXIT_USAGE;
	}
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	cot_json_count();
	cot_daemon_log_init(a.level, a.json);
	d.lock_fd = d.server.spare_fd = d.server.listener.fd = -1;
	d.basis.start_ns = cot_now_ns();
	d.basis.started_s = time(NULL);
	d.roster.exit_idle_ms = a.exit_idle_ms;
	d.config_named = a.config != NULL;
	if (a.config)
		rc = snprintf(d.basis.config_path, sizeof(d.basis.config_path), "%s", a.config) >=
				     (int)sizeof(d.basis.config_path)
			     ? cot_error_set(&err, -ENAMETOOLONG, "the path is too long")
			     : 0;
	else
		rc = cot_paths_config(d.basis.config_path, &err);
	if (!rc)
		rc = cot_daemon_read_config(&d, &d.basis.config, &err);
	if (rc < 0) {
		(void)fprintf(stderr, "cotenantd: %s\n", err.text);
		tell_starter(&a, false);
		return EXIT_USAGE;
	}
	if (a.check) {
		if (!d.config_named && access(d.basis.config_path, F_OK) < 0)
			(void)printf("%s is not there: the defaults apply; policy %s\n",
				     d.basis.config_path, d.basis.config.policy->name);
		else
			(void)printf("%s: valid; policy %s\n", d.basis.config_path,
				     d.basis.config.policy->name);
		return EXIT_OK;
	}
	if (a.stop_pools || a.keeper_fd >= 0)
		return look_after_pools(&d, &a);
	d.roster.keeper.program = "/proc/self/exe";
	return serve(&d, &a);
}
