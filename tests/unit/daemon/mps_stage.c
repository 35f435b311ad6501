#include "mps_stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char script[] =
	"#!/bin/sh\n"
	"cd \"${0%/*}\" || exit 1\n"
	"if [ $# -eq 0 ]; then\n"
	"	read -r word rest; echo \"$word $rest\" >>told\n"
	"	status=0; case $word in\n"
	"	get_server_list) cat servers 2>/dev/null; [ ! -e broken ]; status=$? ;;\n"
	"	start_server) [ ! -e broken ]; status=$? ;;\n"
	"	get_client_list) cat \"clients-$rest\" 2>/dev/null || cat clients 2>/dev/null; status=$? ;;\n"
	"	quit) [ -e deaf ] || kill \"$(cat pid)\" ;;\n"
	"	esac\n"
	"	while [ -e hold-$word ]; do sleep 0.01; done; exit $status\n"
	"fi\n"
	"[ ! -e fails ] || exit 1\n"
	"echo \"$*\" >>args\n"
	"[ \"$2\" != -M ] || [ ! -e old ] || exit 1\n"
	"[ ! -e look ] || . ./look\n"
	"echo $$ >pid; [ -e mute ] || : >\"$CUDA_MPS_PIPE_DIRECTORY/control\"\n"
	"exec sleep 1000\n";

struct pool *p;

static pid_t controls[16]; /* that no pool has */
static unsigned n_controls;

int mps_setup(void **state)
{
	int rc = life_setup(state);

	life_write("mps", script, 0755);
	life_write("told", "", 0644);
	life_write("servers", "4711\n", 0644);
	life_write("clients", "", 0644);
	stage.basis.config.linger_s = 0;
	p = cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 0);
	return rc;
}

/* Others may have waited for it already. */
static void end(pid_t child)
{
	if (!child || waitpid(child, NULL, WNOHANG) != 0)
		return;
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

/* With its commands: one that still runs would write into the folder while it is removed. */
static void end_pool(const struct pool *pool)
{
	end(pool->command.pid);
	end(pool->clients.command.pid);
	if (!pool->adopted)
		end(pool->control.pid);
}

void ends_with_test(pid_t control)
{
	assert_true(n_controls < COT_ARRAY_LEN(controls));
	controls[n_controls++] = control;
}

int mps_teardown(void **state)
{
	unsigned i;

	for (i = 0; i < MAX_POOLS; i++)
		end_pool(&stage.roster.pools[i]);
	while (n_controls)
		end(controls[--n_controls]);
	return life_teardown(state);
}

bool is_up(void)
{
	return p->state == POOL_UP;
}

bool is_down(void)
{
	return p->state == POOL_DOWN;
}

bool is_failed(void)
{
	return p->state == POOL_FAILED;
}

bool is_stopping(void)
{
	return p->state == POOL_STOPPING;
}

bool is_asking(void)
{
	return p->clients.asked;
}

bool is_answered(void)
{
	return !p->clients.asked &&
	       (!p->timer.armed || p->timer.due_ns > cot_now_ns() + COT_NS_PER_S);
}

bool has_no_command(void)
{
	return !p->command.pid;
}

bool told(const char *line)
{
	return strstr(life_read("told"), line) != NULL;
}

void start_pool(uid_t uid)
{
	assert_int_equal(cot_pool_want(p, uid), -EINPROGRESS);
	assert_int_equal(p->state, POOL_STARTING);
	assert_int_equal(cot_pool_want(p, uid), -EINPROGRESS);
	cot_pool_joined(p, uid); /* else it would end at once */
	life_until(is_up);
	assert_int_equal(cot_pool_want(p, uid), 0);
}

void leave_pool(void)
{
	start_pool(getuid());
	life_until(has_no_command);
	ends_with_test(p->control.pid);
	cot_watch_stop(&stage.basis.watches, &p->control);
	cot_timer_clear(&p->timer);
}

unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

void allow_fds(int n)
{
	static struct rlimit was;
	struct rlimit few;
	int fds[16], i, most = -1;

	if (n < 0) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		return;
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	for (i = 0; i <= n; i++) { /* the lowest ones that are free, and the next */
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		most = fds[i] > most ? fds[i] : most;
	}
	while (i--)
		(void)close(fds[i]);
	few = (struct rlimit){.rlim_cur = (rlim_t)most, .rlim_max = was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}
