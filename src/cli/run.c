/*
 * cotenant run: registers a program with the daemon and becomes it.
 *
 * The program is exec'ed, so its exit status, signals and process id are its own; 125, 126 and 127
 * as in env(1). What was asked for is in run_options.c, what the daemon is told in run_register.c,
 * and what the program finds in its environment in run_environment.c. Without a daemon or library
 * the program runs unchanged, after one line on stderr, unless COTENANT_REQUIRED=1.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/emulate.h"
#include "cli/loadable.h"
#include "cli/policy_name.h"
#include "cli/run_environment.h"
#include "cli/run_options.h"
#include "cli/run_register.h"
#include "cli/uncontrolled.h"
#include "daemon/gpus.h"
#include "daemon/paths.h"

enum { STATUS_FAILED = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

/* An MPS server may take some seconds to come up. */
#define REGISTER_MS 30000
/* So many may end while we ask them. */
#define DAEMONS_MAX 4u

static bool has_gpu(void)
{
	struct cot_gpus gpus;

	cot_gpus_find(&gpus);
	return gpus.found;
}

/* A daemon is started only where it has something to do. */
static int open_client(struct cot_client *client, struct cot_error *err)
{
	bool start = has_gpu();
	int rc = cot_client_open(client, start, err);

	if ((rc == -ENOENT || rc == -ECONNREFUSED) && !start &&
	    !cot_run_variable("COTENANT_SOCKET"))
		rc = cot_error_set(err, rc,
				   "there is no NVIDIA GPU here; --emulate h200 gives a program an "
				   "emulated one");
	return rc;
}

static int ask_once(struct cot_client *client, struct cot_msg_register *m, struct cot_error *err)
{
	int rc = open_client(client, err);

	if (!rc)
		rc = cot_client_send(client, COT_MSG_REGISTER, m, sizeof(*m), err);
	if (!rc)
		rc = cot_client_receive(client, REGISTER_MS, err);
	if (rc >= 0 && rc != COT_MSG_REGISTERED)
		rc = cot_error_set(err, -EBADMSG, "cotenantd gave an unexpected answer");
	if (rc < 0)
		cot_client_close(client);
	return rc;
}

/* Asks for a place: of the next daemon, if this one ends meanwhile. COT_MSG_REGISTERED, or -errno.
 */
static int ask(struct cot_client *client, struct cot_msg_register *m, struct cot_error *err)
{
	unsigned i;
	int rc;

	for (i = 0; i < DAEMONS_MAX; i++) {
		rc = ask_once(client, m, err);
		if (rc != -EPIPE && rc != -ECONNRESET)
			break;
	}
	return rc;
}

/* Without the libraries do not ask for a place. */
static int find_libraries(bool shim, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];
	int rc = cot_paths_library(path, err);

	return !rc && shim ? cot_paths_shim(path, err) : rc;
}

/* What of the change does not happen, behind the first '; ' of the answer: programs that run
 * already stay in the pools where they started, for instance. */
static void say_rest(const char *answer)
{
	const char *rest = answer ? strstr(answer, "; ") : NULL;

	if (rest)
		fprintf(stderr, "cotenant run: --policy: %s\n", rest + 2);
}

/* For all programs, and until somebody chooses another one. */
static int choose_policy(const char *name, struct cot_error *err)
{
	struct cot_msg_command command;
	struct cot_client client;
	char *text = NULL;
	int rc = cot_policy_name_check(name, err);

	rc = rc ? rc : open_client(&client, err);
	if (rc)
		return rc;
	cot_policy_name_command(name, &command);
	rc = cot_client_command(&client, &command, &text, err);
	cot_client_close(&client);
	if (rc >= 0)
		say_rest(text);
	free(text);
	return rc < 0 ? rc : 0;
}

static int enlist(const struct cot_run_options *o, char *const argv[], struct cot_error *err)
{
	const struct cot_msg_registered *registered;
	struct cot_client client;
	struct cot_msg_register m;
	bool own_gpu = false;
	int rc = cot_run_fill_in(o, argv, &m, err);

	if (!rc)
		rc = find_libraries(o->rewrite || o->merge || o->backend.name || o->sms ||
					    o->pace || o->memory || o->measure ||
					    cot_run_has_target(o),
				    err);
	if (!rc && o->policy)
		rc = choose_policy(o->policy, err);
	if (!rc)
		rc = ask(&client, &m, err);
	if (rc == -EACCES && o->gpu_of_cuda) {
		/* Parts of GPUs, or numbers of a container: CUDA understands what we do not. */
		m.gpu[0] = '\0';
		m.solo = 1;
		own_gpu = true;
		rc = ask(&client, &m, err);
	}
	if (rc < 0)
		return rc;
	registered = (const struct cot_msg_registered *)client.packet;
	if (m.memory_mib && !cot_run_has_variable(registered, "COTENANT_MEMORY_MIB")) {
		cot_client_close(&client);
		return cot_error_set(err, -EINVAL,
				     "this daemon is older and knows no bound of memory; install "
				     "the same version of both");
	}
	rc = cot_run_preload(o, registered, err);
	if (!rc)
		rc = cot_run_take_environment(registered, own_gpu);
	if (!rc)
		rc = cot_run_backend_start(&o->backend, err);
	cot_client_close(&client);
	return rc;
}

/* 0, or -ENOEXEC with a sentence. Such a program may be a launcher of others. */
static int check_loadable(const char *program, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];
	const char *why = NULL;

	if (cot_paths_program(program, path))
		why = cot_loadable_obstacle(path);
	if (!why)
		return 0;
	return cot_error_set(err, -ENOEXEC,
			     "'%.200s' is %s, so no library can be loaded into it: only programs "
			     "that it starts are under control",
			     program, why);
}

/* A mistake of the user, or a no of the daemon, is not overlooked. */
static bool is_final(int rc)
{
	return rc == -EINVAL || rc == -EACCES || rc == -EPERM;
}

/* What `ps` and `doctor` are to show of it: cli/uncontrolled.h. */
static void leave_mark(const struct cot_run_options *o, const char *program, const char *reason)
{
	(void)setenv(COT_UNCONTROLLED_MARK, reason, 1);
	(void)setenv("COTENANT_NAME", cot_run_name(o, program), 1);
	(void)setenv("COTENANT_CLASS", o->class ? o->class : "batch", 1);
}

/* False: do not run it. Otherwise it is under control, or the user has been warned and it is
 * marked. */
static bool take_control(const struct cot_run_options *o, char *const argv[])
{
	const char *program = argv[0];
	struct cot_error err = {{0}};
	int rc = enlist(o, argv, &err);

	(void)unsetenv(COT_UNCONTROLLED_MARK);
	if (!rc)
		rc = check_loadable(program, &err);
	if (!rc)
		return true;
	if (o->required || is_final(rc)) {
		cot_cli_complain("%s", err.text);
		return false;
	}
	if (rc == -ENOEXEC)
		cot_cli_complain("%s", err.text);
	else
		cot_cli_complain("%s; running '%s' without control", err.text, program);
	leave_mark(o, program, err.text);
	return true;
}

/*
 * On a machine of its own there is no program to share with, so we ask for a daemon only if an
 * option is about it.
 */
static int emulate(const struct cot_run_options *o, bool *ret_controlled, struct cot_error *err)
{
	*ret_controlled = true;
	if (!o->emulate.device)
		return o->emulate.seed || o->emulate.checks
			       ? cot_error_set(err, -EINVAL,
					       "--emulate-seed and --emulate-check need --emulate")
			       : 0;
	*ret_controlled = o->class || o->weight || o->rewrite || o->merge || o->backend.name ||
			  o->measure || cot_run_has_target(o) || (o->gpu && !o->gpu_of_cuda) ||
			  o->policy || o->solo || o->required || cot_emulate_is_shared();
	return cot_emulate_set_up(&o->emulate, *ret_controlled, err);
}

int cot_cmd_run(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cot_run_option_list,
		.parser = cot_run_option_parse,
		.args_doc = "[--] PROGRAM [ARGUMENT...]",
		.doc = "Run a program under cotenant's control."
		       "\vWithout a daemon the program runs unchanged. See cotenant-run(1).",
		.children = cot_cli_argp_children,
	};
	char path[COT_PATH_TEXT_MAX];
	struct cot_run_options o = {0};
	struct cot_error err = {{0}};
	bool controlled;
	int rc;

	argp_err_exit_status = STATUS_FAILED;
	if (cot_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &o))
		return STATUS_FAILED;
	cot_run_options_from_environment(&o);
	if (cot_run_cpu_set_up(&o.cpu, &err) < 0 || emulate(&o, &controlled, &err) < 0 ||
	    cot_run_backend_prepare(&o.backend, &err) < 0) {
		cot_cli_complain("%s", err.text);
		return STATUS_FAILED;
	}
	/* For one that cannot be run no daemon is bothered. */
	if (controlled && !cot_run_is_yes("COTENANT_DISABLE") &&
	    cot_paths_program(argv[o.first], path) && !take_control(&o, argv + o.first))
		return STATUS_FAILED;
	(void)execvp(argv[o.first], argv + o.first);
	rc = errno;
	cot_cli_complain("cannot run '%s': %s", argv[o.first], strerror(rc));
	return rc == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}
