/* Programs that the daemon before this one knew, and that say hello to this one: what is taken from
 * their environment, and when. */
#include <stdio.h>
#include <unistd.h>

#include "daemon_life.h"
#include "door_stage.h"

#define OTHER (STRANGER + 1)

static uint64_t age_ns; /* of the daemon */

/* A connection of that process, which has said hello as this program. */
static const struct tenant *say_hello_as(pid_t pid, uid_t uid, uint64_t id, bool is_seen)
{
	struct cot_msg_hello m = hello_of(id);
	struct conn *c;
	int fd;

	c = enter(uid, &fd);
	stand_in(c, pid);
	if (!is_seen)
		c->start_time = 0;
	snprintf(m.gpu, sizeof(m.gpu), "1");
	stage.basis.start_ns = cot_now_ns() - age_ns;
	(void)stage_log();
	assert_int_equal(ask(fd, &m, COT_MSG_HELLO, sizeof(m)), COT_MSG_WELCOME);
	return c->tenant;
}

static void test_taken_over(void **state)
{
	static const char *const env[] = {"COTENANT_TENANT=77", "COTENANT_CLASS=batch",
					  "COTENANT_QUOTA=30%", "COTENANT_RESERVE=8sm",
					  "COTENANT_GPU=0,1",	NULL};
	const uid_t uid = getuid() ? getuid() : OTHER;
	const struct tenant *t;
	pid_t pid;

	(void)state;
	pid = life_process_of(uid, env);
	t = say_hello_as(pid, uid, 77, true);
	assert_int_equal(t->id, 77);
	assert_non_null(strstr(stage_log(), ": took over program 'peer' (id 77, process "));
	assert_int_equal(t->quota, 30);
	assert_int_equal(t->reserve, COT_SHARE_SMS | 8);
	assert_int_equal(t->gpu_mask, 3);
	assert_int_equal(t->watch.pid, pid);
	assert_true(!t->pool && !t->by_itself && !t->gpu_unknown);
	assert_int_equal(stage.roster.next_id, 78);
	life_end(pid);
}

/* In the pool that its variables name; its user's part holds for it. */
static void test_taken_over_in_a_pool(void **state)
{
	const uid_t uid = getuid() ? getuid() : OTHER;
	struct pool *p = cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 0);
	char pipe[COT_PATH_TEXT_MAX + 32];
	const char *env[] = {"COTENANT_TENANT=77", "COTENANT_CLASS=batch", pipe, NULL};
	struct cot_msg_hello m = hello_of(78);
	struct conn *c;
	pid_t pid;
	int fd;

	(void)state;
	p->state = POOL_UP;
	snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=%s", p->pipe);
	pid = life_process_of(uid, env);
	assert_ptr_equal(say_hello_as(pid, uid, 77, true)->pool, p);
	assert_int_equal(p->n_tenants, 1);
	life_end(pid);
	stage.basis.account.limits[COT_ACCOUNT_PROGRAMS] = (struct cot_account_limit){4, 2};
	stage.basis.account.own = STRANGER;
	env[0] = "COTENANT_TENANT=78";
	pid = life_process_of(uid, env);
	c = enter(uid, &fd);
	stand_in(c, pid);
	assert_int_equal(ask(fd, &m, COT_MSG_HELLO, sizeof(m)), COT_MSG_LATER);
	assert_non_null(strstr(words(), "has too many programs"));
	life_end(pid);
}

/* A number that is not its own is nothing, whoever says it. */
static void test_not_taken_over(void **state)
{
	static const char *const pool[] = {"COTENANT_TENANT=77", "COTENANT_ROLE=pool",
					   "COTENANT_POOL=batch", NULL};
	static const char *const env[] = {"COTENANT_TENANT=77", "COTENANT_CLASS=batch", NULL};
	const uid_t uid = getuid() ? getuid() : OTHER;
	pid_t pid, server;

	(void)state;
	pid = life_process_of(uid, env);
	server = life_process_of(uid, pool);
	assert_int_equal(say_hello_as(pid, uid, 78, true)->id, 1);
	life_end(pid);
	pid = life_process_of(uid, env);
	assert_int_equal(say_hello_as(pid, uid, 0, true)->id, 2);
	assert_non_null(strstr(stage_log(), ": new program 'peer' (id 2, process "));
	life_end(pid);
	pid = life_process_of(uid, env);
	assert_int_equal(say_hello_as(pid, uid, 77, false)->id, 3);
	assert_int_equal(say_hello_as(pid, uid + 1, 77, true)->id, 4);
	assert_int_equal(say_hello_as(server, uid, 77, true)->id, 5);
	life_end(pid);
	life_end(server);
}

/* A daemon that has been there for a while does not look. */
static void test_too_late(void **state)
{
	static const char *const env[] = {"COTENANT_TENANT=77", "COTENANT_CLASS=batch", NULL};
	const uid_t uid = getuid() ? getuid() : OTHER;
	pid_t pid = life_process_of(uid, env);

	(void)state;
	age_ns = 16 * COT_NS_PER_S;
	assert_int_equal(say_hello_as(pid, uid, 77, true)->id, 1);
	age_ns = 0;
	life_end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_THE_DOOR(test_taken_over),
		AT_THE_DOOR(test_taken_over_in_a_pool),
		AT_THE_DOOR(test_not_taken_over),
		AT_THE_DOOR(test_too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
