#include "cli/common.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "proto/proto.h"
#include "report/json.h"
#include "text/json.h"
#include "text/number.h"

void cot_cli_complain(const char *fmt, ...)
{
	va_list ap;

	(void)fflush(stdout);
	(void)fputs("cotenant: ", stderr);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
}

static bool incomplete;

void cot_cli_is_incomplete(void)
{
	incomplete = true;
}

bool cot_cli_was_complete(void)
{
	return !incomplete && cot_json_whole();
}

error_t cot_cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	error_t error;

	if (cot_options_hint(argp, argc, argv, flags, stderr))
		exit(argp_err_exit_status); /* as argp does */
	error = argp_parse(argp, argc, argv, flags, NULL, input);
	if (error == ENOMEM)
		cot_cli_complain("out of memory");
	return error;
}

/* ---- JSON ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);

	return n > n_end && !strcmp(text + n - n_end, end);
}

const char *cot_cli_json(const char *arg, struct argp_state *state)
{
	const char *next = state->next < state->argc ? state->argv[state->next] : "";

	if (arg)
		return arg;
	if (strcmp(next, "-") != 0 && (next[0] == '-' || !ends_with(next, ".json")))
		return "-";
	state->next++;
	return next;
}

int cot_cli_write_json(json_t *object, const char *path, struct cot_error *err)
{
	struct cot_outfile *out = NULL;
	int rc = object && cot_json_whole() ? 0 : cot_error_set(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = cot_outfile_open(path, &out, err);
	if (!rc && cot_json_write(json_incref(object), COT_JSON_INDENTED, cot_outfile_stream(out)))
		rc = cot_error_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = cot_outfile_commit(out, err);
	cot_outfile_destroy(out);
	json_decref(object);
	return rc;
}

/* ---- the end ---- */

int cot_cli_flush(struct cot_error *err)
{
	return fflush(stdout) ? cot_error_set(err, -EIO, "cannot write to standard output: %s",
					      strerror(errno))
			      : 0;
}

int cot_cli_end(int rc, const struct cot_error *err)
{
	if (!rc)
		return COT_EXIT_OK;
	cot_cli_complain("%s", err->text);
	return rc == -EINTR ? COT_EXIT_INTERRUPTED : COT_EXIT_FAILURE;
}

/* ---- -h ---- */

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != 'h')
		return ARGP_ERR_UNKNOWN;
	argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	return 0;
}

static const struct argp_option help_options[] = {
	{.key = 'h', .flags = OPTION_HIDDEN},
	{0},
};

static const struct argp help_argp = {.options = help_options, .parser = parse_help};

const struct argp_child cot_cli_argp_children[] = {{.argp = &help_argp}, {0}};
const struct argp_child cot_cli_long_argp_children[] = {
	{.argp = &help_argp}, {.argp = &cot_progress_argp}, {0}};

/* ---- colour ---- */

bool cot_cli_has_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && !(no && *no);
}

/* ---- signals ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

static void catch (int signal_number)
{
	struct sigaction action;

	/* The parent may have chosen that we ignore it, as shells do for `command &`. */
	if (sigaction(signal_number, NULL, &action) < 0 || action.sa_handler == SIG_IGN)
		return;
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	(void)sigaction(signal_number, &action, NULL);
}

void cot_cli_catch_signals(void)
{
	catch (SIGINT);
	catch (SIGTERM);
	catch (SIGHUP);
}

bool cot_cli_interrupted(void)
{
	return interrupted;
}

/* ---- files ---- */

/* The folder that holds a file, and the file's name in it. */
static const char *split(const char *path, char *folder, size_t size, struct stat *ret_folder)
{
	const char *slash = strrchr(path, '/');
	int n = slash ? (int)(slash - path) + 1 : 2;

	(void)snprintf(folder, size, "%.*s", n, slash ? path : "./");
	if (stat(folder, ret_folder) < 0)
		memset(ret_folder, 0, sizeof(*ret_folder));
	return slash ? slash + 1 : path;
}

bool cot_cli_share(const char *text, uint16_t *ret_share)
{
	struct cot_share share = {0};

	if (strcmp(text, "none") != 0 && !cot_share_read(text, &share))
		return false;
	*ret_share = cot_share_pack(share);
	return true;
}

bool cot_cli_sms(const char *text, uint16_t *ret_share)
{
	uint64_t n;

	if (!cot_number_u64(text, &n))
		return cot_cli_share(text, ret_share);
	if (!n || n > COT_SMS_MAX)
		return false;
	*ret_share = cot_share_pack((struct cot_share){.sms = (uint16_t)n});
	return true;
}

bool cot_cli_pace(const char *text, uint32_t *ret_us)
{
	uint64_t us;

	if (!cot_quantity_whole(text, COT_UNIT_US, 1, COT_PACE_US_MAX, &us))
		return false;
	*ret_us = (uint32_t)us;
	return true;
}

int cot_cli_target(enum cot_target_kind kind, const char *text, struct cot_target *ret_target,
		   struct cot_error *err)
{
	*ret_target = (struct cot_target){0};
	if (!strcmp(text, "none") || cot_target_read(kind, text, ret_target))
		return 0;
	return cot_error_set(err, -EINVAL, "--%s is '%s'; expected %s", cot_target_words[kind],
			     text, cot_target_example(kind));
}

bool cot_cli_same_file(const char *a, const char *b)
{
	char folder[PATH_MAX];
	struct stat sa, sb;
	const char *na, *nb;

	if (!strcmp(a, b))
		return true;
	if (!stat(a, &sa) && !stat(b, &sb))
		return S_ISREG(sa.st_mode) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
	na = split(a, folder, sizeof(folder), &sa);
	nb = split(b, folder, sizeof(folder), &sb);
	return !strcmp(na, nb) && sa.st_ino && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}
