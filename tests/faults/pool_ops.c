/* Faults around pools: while one is made, joined, ended, taken over by the next daemon or ended
 * without one; in the daemon, in the library of an MPS server, and in the process that ends pools
 * where no daemon does. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define SOON_MS 10000u
/* Somebody may have to be waited for who does not answer. */
#define JOB_MS	60000u
#define HOLD_MS 500u /* as long as all calls fail where nobody waits for one of ours to end */

static void use_mps(void)
{
	static char control[300];

	(void)snprintf(control, sizeof(control), "%s/nvidia-cuda-mps-control", env_path("EMU"));
	setenv("COTENANT_MPS_CONTROL", control, 1);
	write_config("pools");
}

static void use_no_mps(void)
{
	write_config("rotate");
	unsetenv("COTENANT_MPS_CONTROL");
}

static void begin_pool(void)
{
	use_mps();
	daemon_must_start();
}

static void end_pool(void)
{
	daemon_stop();
	use_no_mps();
}

static struct result run_job(void)
{
	static char program[300];
	const char *const argv[] = {
		env_path("COTENANT"), "run", "--", program, "--runs", "1", "--words", "512", NULL};

	(void)snprintf(program, sizeof(program), "%s/ptx_work", env_path("PROGS"));
	return run_through(argv, JOB_MS);
}

static bool pools_are_down(const void *arg)
{
	(void)arg;
	return !n_pools();
}

static void must_be_down(void)
{
	if (!until(pools_are_down, NULL, JOB_MS))
		problem("a pool does not end after its last program");
}

/* ---- a program that stays in a pool ---- */

static pid_t member;

static bool member_works(const void *arg)
{
	(void)arg;
	return has_stepped("member") && is_in_pool("member", "batch");
}

static void start_member(void)
{
	member = start_loop("member", false);
	if (!until(member_works, NULL, SOON_MS))
		problem("a program cannot join a pool without faults");
}

static void end_member(void)
{
	end_right(member, "member");
	member = 0;
}

static void member_must_work(void)
{
	write_text(work_path("member"), "");
	if (!until(member_works, NULL, SOON_MS))
		problem("the program in the pool has lost its control, or stands");
}

/* ---- made, for the first program, and ended after it ---- */

/* A pool that failed is left alone for a while, which is longer each time: not by another daemon.
 */
static void need_daemon(void)
{
	disarm();
	if (daemon_pid && has_failed_pool())
		daemon_stop();
	if (!daemon_pid)
		daemon_must_start();
}

static void act_make(void)
{
	need_daemon();
	rearm();
	expect_right(run_job());
	must_be_down();
	check_state();
}

/* ---- joined ---- */

static void begin_joined(void)
{
	begin_pool();
	start_member();
}

static void end_joined(void)
{
	end_member();
	end_pool();
}

static void act_join(void)
{
	expect_right(run_job());
	member_must_work();
	check_state();
}

/* ---- ended, after its last program ---- */

/* The daemon, and the one that ends pools after it. It is not asked: its calls count. */
static bool daemon_is_alone(const void *arg)
{
	(void)arg;
	return n_left(NULL) <= 2;
}

static void act_end(void)
{
	need_daemon();
	start_member();
	rearm();
	end_member();
	(void)until(daemon_is_alone, NULL, is_onward() ? HOLD_MS : SOON_MS);
	disarm();
	daemon_check();
	must_be_down();
	check_state();
}

/* ---- taken over by the next daemon ---- */

static void act_take_over(void)
{
	enum served served;

	daemon_kill();
	served = daemon_start();
	disarm();
	if (served != SERVES)
		daemon_must_start();
	member_must_work();
	if (n_pools() != 1)
		problem("the pool of a program is not taken over");
	check_state();
}

/* ---- ended where no daemon does ---- */

static void act_keep(void)
{
	disarm();
	daemon_must_start();
	start_member();
	rearm();
	daemon_kill();
	end_member();
	(void)none_left(is_onward() ? HOLD_MS : SOON_MS);
	disarm();
	if (!none_left(JOB_MS))
		problem("a pool without programs and without a daemon does not end");
}

/* ---- the first program starts the daemon, and that one the pool ---- */

static bool nobody_is_there(const void *arg)
{
	(void)arg;
	return !has_program(NULL, NULL, 0);
}

static void act_first_job(void)
{
	unsetenv("COTENANT_SOCKET");
	expect_right(run_job());
	if (daemon_of_others() > 0 && !until(nobody_is_there, NULL, SOON_MS))
		problem("a program that has ended is not forgotten");
	end_others();
	check_state();
}

const struct op pool_ops[] = {
	{"pool-make", "cotenantd", NULL, 17, begin_pool, act_make, end_pool},
	{"pool-join", "cotenantd", NULL, 7, begin_joined, act_join, end_joined},
	{"pool-end", "cotenantd", NULL, 131, begin_pool, act_end, end_pool},
	{"pool-take-over", "cotenantd", NULL, 29, begin_joined, act_take_over, end_joined},
	{"pool-keep", "cotenantd", NULL, 131, use_mps, act_keep, use_no_mps},
	{"pool-first", "cotenantd", NULL, 101, use_mps, act_first_job, use_no_mps},
	{"pool-server", "nvidia-cuda-mps-server", "libcotenant.so", 5, begin_pool, act_make,
	 end_pool},
};
const unsigned n_pool_ops = sizeof(pool_ops) / sizeof(pool_ops[0]);
