/* The daemon of the test: started, stopped, asked. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/client.h"
#include "harness.h"
#include "page.h"

pid_t daemon_pid;

static off_t said; /* how long the daemon's log was */

static off_t log_size(void)
{
	struct stat st;

	return stat(work_path("daemon.log"), &st) ? 0 : st.st_size;
}

/* It must not be the daemon of a daemon; who is started after it is its program. */
static pid_t begin_daemon(int ready)
{
	char fd[16];
	const char *const argv[] = {env_path("COTENANTD"), "--config", work_path("conf"),
				    "--ready-fd",	   fd,	       NULL};
	pid_t pid;

	(void)snprintf(fd, sizeof(fd), "%d", ready);
	fcntl(ready, F_SETFD, 0);
	unsetenv("COTENANT_SOCKET");
	pid = spawn(argv, NULL, work_path("daemon.log"));
	setenv("COTENANT_SOCKET", work_path("run/cotenantd.sock"), 1);
	return pid;
}

static bool ends_or_serves(const void *arg)
{
	(void)arg;
	return has_ended(daemon_pid) || daemon_of_others() == daemon_pid;
}

enum served daemon_start(void)
{
	struct pollfd p = {.events = POLLIN};
	int ends[2], status, n;
	char word = 0;

	said = log_size();
	if (pipe2(ends, O_CLOEXEC) < 0)
		exit(2);
	daemon_pid = begin_daemon(ends[1]);
	close(ends[1]);
	p.fd = ends[0];
	n = poll(&p, 1, (int)LONG_MS);
	if (n == 1 && read(ends[0], &word, 1) != 1)
		word = 0;
	close(ends[0]);
	if (n == 1 && word == '1')
		return SERVES;
	/* It may have been the word that could not be said. */
	if (n == 1 && until(ends_or_serves, NULL, LONG_MS) && !has_ended(daemon_pid))
		return SERVES;
	switch (wait_end(daemon_pid, n == 1 ? LONG_MS : 0, &status)) {
	case ENDED_HUNG:
		problem("the daemon neither serves nor ends");
		break;
	case ENDED_SIGNAL:
		problem("the daemon died of signal %d at its start", status);
		break;
	default:
		if (!status)
			problem("the daemon ended with status 0 at its start");
		if (log_size() == said)
			problem("the daemon gave up without a word, status %d", status);
	}
	daemon_pid = 0;
	return n == 1 ? GAVE_UP : HUNG;
}

void daemon_must_start(void)
{
	char *log;

	disarm();
	if (daemon_start() == SERVES)
		return;
	log = read_text(work_path("daemon.log"));
	problem("the daemon does not start without faults: %s", log + said);
	free(log);
	exit(1);
}

void daemon_stop(void)
{
	int status;

	if (!daemon_pid)
		return;
	kill(daemon_pid, SIGTERM);
	switch (wait_end(daemon_pid, LONG_MS, &status)) {
	case ENDED_HUNG:
		problem("the daemon does not stop");
		break;
	case ENDED_SIGNAL:
		problem("the daemon died of signal %d when it was stopped", status);
		break;
	default:
		if (status && log_size() == said)
			problem("the daemon stopped with status %d, without a word", status);
	}
	daemon_pid = 0;
}

void daemon_kill(void)
{
	int status;

	if (daemon_pid) {
		kill(daemon_pid, SIGKILL);
		(void)wait_end(daemon_pid, LONG_MS, &status);
	}
	daemon_pid = 0;
}

void daemon_check(void)
{
	int status;

	disarm();
	if (!daemon_pid || waitpid(daemon_pid, &status, WNOHANG) != daemon_pid)
		return;
	daemon_pid = 0;
	if (WIFSIGNALED(status))
		problem("the daemon died of signal %d", WTERMSIG(status));
	else
		problem("the daemon ended with status %d", WEXITSTATUS(status));
	daemon_must_start();
}

static int open_client(struct cot_client *client, struct cot_error *err)
{
	setenv("COTENANT_SOCKET", work_path("run/cotenantd.sock"), 1);
	return cot_client_open(client, false, err);
}

pid_t daemon_of_others(void)
{
	struct cot_client client;
	struct cot_error err;
	struct ucred peer = {.pid = 0};
	socklen_t size = sizeof(peer);

	if (open_client(&client, &err) < 0)
		return 0;
	(void)getsockopt(client.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	cot_client_close(&client);
	return peer.pid;
}

/* One that waits for another one to end serves then. Told twice, it would not see to its pools. */
static bool others_have_ended(const void *arg)
{
	pid_t pid = daemon_of_others(), *told = *(pid_t *const *)arg;

	if (pid > 0 && pid != *told && kill(pid, SIGTERM) == 0)
		*told = pid;
	return pid <= 0 && !n_left(NULL);
}

void end_others(void)
{
	pid_t told = 0, *arg = &told;

	if (!until(others_have_ended, &arg, LONG_MS))
		problem("%u processes do not end", n_left(NULL));
}

int ask(enum cot_proto_query what, char **ret_text)
{
	struct cot_client client;
	struct cot_error err = {{0}};
	int rc = open_client(&client, &err);

	if (!rc)
		rc = cot_client_query(&client, what, ret_text, &err);
	cot_client_close(&client);
	if (rc < 0)
		*ret_text = strdup(err.text);
	return rc;
}

int command(const struct cot_msg_command *m, char **ret_text)
{
	struct cot_msg_command copy = *m;
	struct cot_client client;
	struct cot_error err = {{0}};
	int rc = open_client(&client, &err);

	if (!rc)
		rc = cot_client_command(&client, &copy, ret_text, &err);
	cot_client_close(&client);
	if (rc < 0)
		*ret_text = strdup(err.text);
	return rc;
}

int explain(const char *name, char **ret_text)
{
	struct cot_msg_explain m = {0};
	struct cot_client client;
	struct cot_error err = {{0}};
	int rc = open_client(&client, &err);

	(void)snprintf(m.name, sizeof(m.name), "%s", name);
	if (!rc)
		rc = cot_client_explain(&client, &m, ret_text, &err);
	cot_client_close(&client);
	if (rc < 0)
		*ret_text = strdup(err.text);
	return rc;
}

static json_t *read_ps(void)
{
	char *text;
	json_t *ps;

	if (ask(COT_QUERY_PS, &text) < 0) {
		problem("without faults ps says: %s", text);
		free(text);
		return NULL;
	}
	ps = json_loads(text, 0, NULL);
	if (!ps)
		problem("ps is no JSON");
	free(text);
	return ps;
}

static json_t *ask_ps(void)
{
	disarm();
	return read_ps();
}

bool has_program(const char *name, const char *key, int64_t value)
{
	json_t *ps = ask_ps(), *t, *v;
	bool has = false;
	size_t i;

	json_array_foreach (json_object_get(ps, "tenants"), i, t) {
		v = json_object_get(t, key ? key : "id");
		if (name && strcmp(json_string_value(json_object_get(t, "name")), name) != 0)
			continue;
		has |= !key || json_integer_value(v) == value;
	}
	json_decref(ps);
	return has;
}

json_t *program_of_ps(const char *name)
{
	json_t *ps = read_ps(), *t, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(ps, "tenants"), i, t)
		if (!strcmp(json_string_value(json_object_get(t, "name")), name))
			found = t;
	json_incref(found);
	json_decref(ps);
	return found;
}

bool is_in_pool(const char *name, const char *pool)
{
	json_t *ps = ask_ps(), *t;
	const char *its, *of_tenant;
	bool is = false;
	size_t i;

	json_array_foreach (json_object_get(ps, "tenants"), i, t) {
		of_tenant = json_string_value(json_object_get(t, "name"));
		its = json_string_value(json_object_get(t, "pool"));
		is |= of_tenant && its && !strcmp(of_tenant, name) && !strcmp(its, pool);
	}
	json_decref(ps);
	return is;
}

bool policy_is(const char *name)
{
	json_t *ps = ask_ps();
	const char *policy =
		json_string_value(json_object_get(json_object_get(ps, "daemon"), "policy"));
	bool is = policy && !strcmp(policy, name);

	json_decref(ps);
	return is;
}

static unsigned n_pools_in(const char *const states[])
{
	json_t *ps = ask_ps(), *p;
	const char *state;
	unsigned n = 0, k;
	size_t i;

	json_array_foreach (json_object_get(ps, "pools"), i, p) {
		state = json_string_value(json_object_get(p, "mps"));
		for (k = 0; state && states[k]; k++)
			n += !strcmp(state, states[k]);
	}
	json_decref(ps);
	return n;
}

unsigned n_pools(void)
{
	return n_pools_in((const char *const[]){"starting", "up", "stopping", NULL});
}

bool has_failed_pool(void)
{
	return n_pools_in((const char *const[]){"failed", NULL}) > 0;
}

void check_state(void)
{
	json_error_t error;
	json_t *state;

	if (access(work_path("run/state.json"), F_OK) < 0)
		return;
	state = json_load_file(work_path("run/state.json"), 0, &error);
	if (!state)
		problem("state.json is broken: %s", error.text);
	json_decref(state);
}
