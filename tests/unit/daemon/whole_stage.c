#include "whole_stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int notified = -1; /* the other end of NOTIFY_SOCKET */

void hear_notes(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n = strlen(name);

	if (notified >= 0)
		(void)close(notified);
	notified = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(address.sun_path, name, n);
	if (*name == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(notified, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
			 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
}

/* What has been said to the service manager since, with a space between two. */
const char *notes(void)
{
	static char text[256];
	size_t used = 0;
	ssize_t n;

	while ((n = recv(notified, text + used, sizeof(text) - used - 1, 0)) > 0) {
		used += (size_t)n;
		text[used++] = ' ';
	}
	text[used ? used - 1 : 0] = '\0';
	return text;
}

void write_config(const char *text)
{
	FILE *f = fopen(stage.basis.config_path, "we");

	assert_non_null(f);
	(void)fputs(text, f);
	(void)fclose(f);
}

/* As main.c does it. */
int whole_setup(void **state)
{
	struct cot_error err = {{0}};
	char path[80];

	if (stage_setup(state) < 0)
		return -1;
	cot_loop_finish(&stage.basis.loop);
	memset(&stage, 0, sizeof(stage));
	snprintf(folder, sizeof(folder), P_tmpdir "/cot-whole-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/notes", folder);
	hear_notes(path);
	snprintf(path, sizeof(path), "%s/run", folder);
	assert_int_equal(setenv("COTENANT_RUNTIME_DIR", path, 1), 0);
	assert_int_equal(setenv("COTENANT_GPUS", "2", 1), 0);
	assert_int_equal(setenv("COTENANT_LIBRARY", "/bin/sh", 1), 0);
	snprintf(stage.basis.config_path, sizeof(stage.basis.config_path), "%s/conf", folder);
	stage.lock_fd = stage.server.spare_fd = stage.server.listener.fd = stage.signals.fd = -1;
	cot_config_default(&stage.basis.config);
	stage.basis.config.use_mps = stage.basis.config.other_users = false;
	n_peers = 0;
	if (cot_daemon_begin(&stage, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

int whole_teardown(void **state)
{
	char command[80];
	sigset_t all;

	while (n_peers)
		(void)close(peers[--n_peers]);
	cot_daemon_end(&stage);
	assert_int_equal(access(stage.basis.socket_path, F_OK), -1);
	(void)close(stage.signals.fd);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_UNBLOCK, &all, NULL);
	(void)close(stage.lock_fd);
	(void)close(stage.server.spare_fd);
	(void)close(notified);
	notified = -1;
	(void)unsetenv("COTENANT_RUNTIME_DIR");
	(void)unsetenv("COTENANT_GPUS");
	(void)unsetenv("COTENANT_LIBRARY");
	(void)unsetenv("NOTIFY_SOCKET");
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
	return stage_teardown(state);
}

static bool too_late;

static void end_wait(struct cot_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns;
	too_late = stage.basis.loop.quit = true;
}

/* Whether the loop ends by itself, in that time. */
bool ends_within(uint64_t ns)
{
	struct cot_timer end = {.fire = end_wait};

	too_late = stage.basis.loop.quit = false;
	cot_timer_set(&stage.basis.loop, &end, cot_now_ns() + ns);
	assert_int_equal(cot_loop_run(&stage.basis.loop), 0);
	cot_timer_clear(&end);
	return !too_late;
}

unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

/* A program with a library, whose socket this is. */
struct conn *program(int *ret_fd)
{
	struct cot_msg_hello m = hello_of(0);
	struct conn *c = enter(getuid(), ret_fd);

	assert_int_equal(ask(*ret_fd, &m, COT_MSG_HELLO, sizeof(m)), COT_MSG_WELCOME);
	return c;
}

/* One that gets orders. */
struct conn *settled_program(int *ret_fd)
{
	struct cot_msg_groups groups = {.n_groups = 1, .n_channels = 1, .gpus = 1};
	struct conn *c = program(ret_fd);

	say(*ret_fd, &groups, COT_MSG_GROUPS, sizeof(groups));
	serve(1);
	cot_timer_clear(&c->settle);
	c->settle.fire(&c->settle, cot_now_ns());
	return c;
}
