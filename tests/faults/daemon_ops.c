/* Faults in the daemon: while it starts and stops, registers, obeys, reads its configuration again,
 * and takes over from one that was killed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/client.h"
#include "harness.h"

#define SOON_MS 5000u

/* A daemon that can accept nobody for good leaves us waiting until we give up, which is told. */
static bool is_heard(int rc, const char *text)
{
	return (rc != -ETIMEDOUT || is_onward()) && (rc >= 0 || (text && text[0]));
}

/* ---- start and stop ---- */

static void expect_service(void)
{
	char *text;
	int rc = ask(COT_QUERY_PS, &text);

	if (rc < 0)
		problem("the daemon said that it serves, and ps says: %s", text);
	free(text);
}

static void act_start(void)
{
	enum served served = daemon_start();

	disarm();
	if (served != SERVES)
		daemon_must_start();
	expect_service();
	daemon_stop();
	check_state();
}

/* ---- programs that play along ---- */

static pid_t target; /* plays a library, under the name `target` */

static bool target_is_there(const void *arg)
{
	(void)arg;
	return has_program("target", "channel_groups", 2);
}

void need_target(void)
{
	const char *const argv[] = {env_path("PEER"), "library",  "--name",
				    "target",	      "--groups", "2",
				    "--seconds",      "100000",	  NULL};
	int status;

	if (target && until(target_is_there, NULL, 0))
		return;
	if (target) {
		kill(target, SIGKILL);
		(void)wait_end(target, SOON_MS, &status);
	}
	setenv("COTENANT_SOCKET", work_path("run/cotenantd.sock"), 1);
	target = spawn(argv, NULL, NULL);
	if (!until(target_is_there, NULL, SOON_MS))
		problem("a library cannot register without faults");
}

void end_target(void)
{
	int status;

	if (target) {
		kill(target, SIGKILL);
		(void)wait_end(target, SOON_MS, &status);
	}
	target = 0;
}

/* ---- somebody else's program, whose results must not change whatever fails ---- */

static pid_t victim;

static bool victim_works(const void *arg)
{
	(void)arg;
	return has_stepped("victim") && has_program("victim", "channel_groups", 4);
}

static void start_victim(void)
{
	victim = start_loop("victim", true);
	if (!until(victim_works, NULL, SOON_MS))
		problem("a program of somebody else does not work without faults");
}

static void end_victim(void)
{
	if (!until(victim_works, NULL, SOON_MS))
		problem("somebody else's program has lost its control");
	end_right(victim, "victim");
}

static void begin_with_victim(void)
{
	daemon_must_start();
	start_victim();
}

static void end_with_victim(void)
{
	end_victim();
	daemon_stop();
}

static void begin_daemon(void)
{
	daemon_must_start();
}

static void begin_with_target(void)
{
	begin_with_victim();
	need_target();
}

static void end_with_target(void)
{
	end_target();
	end_with_victim();
}

static void end_stopped(void)
{
	end_target();
	daemon_stop();
}

/* Stopping is told to the libraries, too. */
static void act_stop(void)
{
	disarm();
	if (!daemon_pid)
		daemon_must_start();
	need_target();
	rearm();
	daemon_stop();
	disarm();
	check_state();
}

/* ---- register ---- */

static struct cot_msg_register request(void)
{
	return (struct cot_msg_register){.class_ = COT_CLASS_BATCH,
					 .weight = 100,
					 .solo = 1,
					 .pid = (uint32_t)getpid(),
					 .name = "newcomer"};
}

/* What a child, which is the program, tells of its registration. */
struct told {
	int rc; /* a message's type, or -errno */
	char text[COT_ERROR_MAX];
};

static void register_and_stay(int out, int in)
{
	static struct cot_client client;
	struct cot_msg_register m = request();
	struct cot_error err = {{0}};
	struct told told;
	char byte;

	told.rc = cot_client_open(&client, false, &err);
	if (!told.rc)
		told.rc = cot_client_send(&client, COT_MSG_REGISTER, &m, sizeof(m), &err);
	if (!told.rc)
		told.rc = cot_client_receive(&client, is_onward() ? 300 : (int)SOON_MS, &err);
	(void)snprintf(told.text, sizeof(told.text), "%s", err.text);
	if (write(out, &told, sizeof(told)) == sizeof(told))
		(void)!read(in, &byte, 1);
	_exit(0);
}

static struct told register_child(pid_t *ret_pid, int *ret_leash)
{
	struct told told = {.rc = -EIO};
	int out[2], in[2];

	setenv("COTENANT_SOCKET", work_path("run/cotenantd.sock"), 1);
	if (pipe(out) < 0 || pipe(in) < 0)
		exit(2);
	fflush(stdout);
	*ret_pid = fork();
	if (!*ret_pid) {
		close(in[1]);
		register_and_stay(out[1], in[0]);
	}
	close(out[1]);
	close(in[0]);
	if (read(out[0], &told, sizeof(told)) != sizeof(told))
		told.rc = -EIO;
	close(out[0]);
	*ret_leash = in[1];
	return told;
}

static bool is_forgotten(const void *arg)
{
	(void)arg;
	return !has_program("newcomer", NULL, 0);
}

static void register_once(bool must)
{
	int leash, status;
	struct told told;
	pid_t pid;

	told = register_child(&pid, &leash);
	disarm();
	daemon_check();
	if (!is_heard(told.rc, told.text))
		problem("a program that registers hears %d, '%s'", told.rc, told.text);
	if (must && told.rc != COT_MSG_REGISTERED)
		problem("without faults a program cannot register: %s", told.text);
	if (told.rc == COT_MSG_REGISTERED && !has_program("newcomer", NULL, 0))
		problem("a program was registered, and ps does not know it");
	close(leash);
	(void)wait_end(pid, SOON_MS, &status);
	if (!until(is_forgotten, NULL, SOON_MS))
		problem("a program that has ended is not forgotten");
}

static void act_register(void)
{
	register_once(false);
	register_once(true);
	check_state();
}

/* ---- commands ---- */

static const struct cot_msg_command restore = {
	.what = COT_COMMAND_SET, .fields = COT_SET_WEIGHT, .weight = 100, .name = "target"};

static bool is_thawed(const void *arg)
{
	struct cot_msg_command m = restore;
	char *text;
	int rc;

	(void)arg;
	m.what = COT_COMMAND_THAW;
	m.fields = 0;
	rc = command(&m, &text);
	free(text);
	return !rc;
}

static void must_command(enum cot_proto_command what, uint32_t weight)
{
	struct cot_msg_command m = restore;
	char *text;

	m.what = what;
	m.weight = weight;
	m.fields = what == COT_COMMAND_SET ? COT_SET_WEIGHT : 0;
	if (command(&m, &text) < 0)
		problem("a command fails without faults: %s", text);
	free(text);
}

static int told_right(const struct cot_msg_command *m)
{
	char *text;
	int rc = command(m, &text);

	disarm();
	daemon_check();
	if (!is_heard(rc, text))
		problem("a command hears %d, '%s'", rc, text ? text : "");
	free(text);
	return rc;
}

static void act_set(void)
{
	static uint32_t weight = 100;
	struct cot_msg_command m = restore;

	m.weight = weight = weight == 100 ? 200 : 100;
	if (!told_right(&m) && !has_program("target", "weight", weight))
		problem("'done' was said, but the weight is not %u", weight);
	need_target();
	must_command(COT_COMMAND_SET, weight);
	check_state();
}

static void act_freeze(void)
{
	struct cot_msg_command m = restore;

	m.what = COT_COMMAND_FREEZE;
	m.fields = 0;
	(void)told_right(&m);
	need_target();
	if (!until(is_thawed, NULL, SOON_MS))
		problem("without faults it cannot be thawed");
}

static void act_ps(void)
{
	char *text;
	int rc = ask(COT_QUERY_PS, &text);

	disarm();
	daemon_check();
	if (!is_heard(rc, text))
		problem("ps hears %d, '%s'", rc, text);
	free(text);
	need_target();
}

static void act_explain(void)
{
	char *text;
	int rc = explain("target", &text);

	disarm();
	daemon_check();
	if (!is_heard(rc, text))
		problem("explain hears %d, '%s'", rc, text);
	else if (rc >= 0 && !strstr(text, "\"facts\""))
		problem("explain is answered without facts: '%s'", text);
	free(text);
	need_target();
}

/* ---- reload ---- */

static bool log_says_so(const void *arg)
{
	const size_t *from = arg;
	char *log = read_text(work_path("daemon.log"));
	bool says = strlen(log) > *from && (strstr(log + *from, "the configuration stays") ||
					    strstr(log + *from, "/conf again"));

	free(log);
	return says;
}

static void act_reload(void)
{
	static const char *const policies[] = {"rotate", "timeslice"};
	static unsigned now;
	const char *before = policies[now % 2], *wanted = policies[(now + 1) % 2];
	char *log = read_text(work_path("daemon.log"));
	size_t from = strlen(log);
	bool stays;

	free(log);
	write_config(wanted);
	kill(daemon_pid, SIGHUP);
	if (!until(log_says_so, &from, SOON_MS))
		problem("nothing is said of a reload");
	disarm();
	daemon_check();
	log = read_text(work_path("daemon.log"));
	stays = strstr(log + from, "the configuration stays") != NULL;
	free(log);
	if (!policy_is(stays ? before : wanted))
		problem("the policy is not what the log says: %s", stays ? before : wanted);
	now += policy_is(wanted) ? 1 : 0;
	need_target();
}

/* ---- recovery ---- */

static pid_t sleepers[2];

static void start_sleeper(unsigned i)
{
	const char *const names[] = {"first", "second"};
	const char *const argv[] = {env_path("COTENANT"),
				    "run",
				    "--solo",
				    "--name",
				    names[i],
				    "--",
				    "sleep",
				    "100000",
				    NULL};

	sleepers[i] = spawn(argv, NULL, NULL);
}

static bool sleepers_are_there(const void *arg)
{
	(void)arg;
	return has_program("first", "pid", sleepers[0]) &&
	       has_program("second", "pid", sleepers[1]);
}

static bool all_is_there(const void *arg)
{
	return sleepers_are_there(arg) && has_program("first", "weight", 777) &&
	       has_program("second", "weight", 100);
}

static void begin_recovery(void)
{
	struct cot_msg_command m = restore;
	char *text;

	daemon_must_start();
	setenv("COTENANT_SOCKET", work_path("run/cotenantd.sock"), 1);
	start_sleeper(0);
	start_sleeper(1);
	if (!until(sleepers_are_there, NULL, SOON_MS))
		problem("programs cannot register without faults");
	(void)snprintf(m.name, sizeof(m.name), "first");
	m.weight = 777;
	if (command(&m, &text) < 0)
		problem("set: %s", text);
	free(text);
}

static void end_recovery(void)
{
	int status;
	unsigned i;

	for (i = 0; i < 2; i++) {
		kill(sleepers[i], SIGKILL);
		(void)wait_end(sleepers[i], SOON_MS, &status);
	}
	daemon_stop();
}

static void act_recovery(void)
{
	enum served served;

	daemon_kill();
	served = daemon_start();
	disarm();
	if (served != SERVES)
		daemon_must_start();
	if (!until(all_is_there, NULL, SOON_MS)) {
		problem("what was known before a daemon died is lost");
		end_recovery();
		begin_recovery();
	}
	check_state();
}

const struct op daemon_ops[] = {
	{"start", "cotenantd", NULL, 11, NULL, act_start, NULL},
	{"stop", "cotenantd", NULL, 3, begin_daemon, act_stop, end_stopped},
	{"register", "cotenantd", NULL, 5, begin_with_victim, act_register, end_with_victim},
	{"set", "cotenantd", NULL, 3, begin_with_target, act_set, end_with_target},
	{"freeze", "cotenantd", NULL, 3, begin_with_target, act_freeze, end_with_target},
	{"ps", "cotenantd", NULL, 23, begin_with_target, act_ps, end_with_target},
	{"explain", "cotenantd", NULL, 11, begin_with_target, act_explain, end_with_target},
	{"reload", "cotenantd", NULL, 11, begin_with_target, act_reload, end_with_target},
	{"recovery", "cotenantd", NULL, 23, begin_recovery, act_recovery, end_recovery},
};
const unsigned n_daemon_ops = sizeof(daemon_ops) / sizeof(daemon_ops[0]);
