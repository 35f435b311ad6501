/* How many clients the servers of a pool have: what is asked, and what is made of the answers. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/clients.h"
#include "mps_stage.h"

static int answer, other; /* the last one; 99: none */
static unsigned n_answers;

static void take_answer(struct pool *of, int n)
{
	assert_ptr_equal(of, p);
	assert_false(p->clients.asked);
	assert_false(p->clients.limit.armed);
	answer = n;
	n_answers++;
}

static void take_other(struct pool *of, int n)
{
	assert_ptr_equal(of, p);
	other = n;
}

static int setup(void **state)
{
	int rc = mps_setup(state);

	answer = other = 99;
	n_answers = 0;
	start_pool(getuid());
	life_until(has_no_command);
	life_write("told", "", 0644);
	return rc;
}

#define CLIENTS(test) cmocka_unit_test_setup_teardown(test, setup, mps_teardown)

static bool is_told(void)
{
	return answer != 99;
}

static bool has_no_question(void)
{
	return !p->clients.command.pid;
}

static int ask(void)
{
	answer = 99;
	cot_clients_ask(p, take_answer);
	life_until(is_told);
	return answer;
}

static void test_parse(void **state)
{
	pid_t pids[2] = {0, 0};

	(void)state;
	assert_int_equal(cot_clients_parse("", pids, 2), 0);
	assert_int_equal(cot_clients_parse(" \n", pids, 2), 0);
	assert_int_equal(cot_clients_parse("12", pids, 2), 1);
	assert_int_equal(pids[0], 12);
	assert_int_equal(cot_clients_parse("1\n2147483647\n3\n", pids, 2), 3);
	assert_int_equal(pids[0], 1);
	assert_int_equal(pids[1], 2147483647);
	assert_int_equal(cot_clients_parse("2147483648", pids, 2), -EINVAL);
	assert_int_equal(cot_clients_parse("0", pids, 2), -EINVAL);
	assert_int_equal(cot_clients_parse("-1", pids, 2), -EINVAL);
	assert_int_equal(cot_clients_parse("7 none", pids, 2), -EINVAL);
}

static void test_sum(void **state)
{
	unsigned n = count_fds();

	(void)state;
	life_write("servers", "4711\n4712\n4713\n", 0644);
	life_write("clients-4711", "21\n22\n", 0644);
	life_write("clients-4712", "", 0644);
	life_write("clients", "23\n", 0644);
	assert_int_equal(ask(), 3);
	assert_string_equal(life_read("told"),
			    "get_server_list \nget_client_list 4711\nget_client_list 4712\n"
			    "get_client_list 4713\n");
	assert_int_equal(n_answers, 1);
	assert_int_equal(count_fds(), n);
	assert_false(cot_clients_reap(p));
	/* It begins anew. */
	assert_int_equal(ask(), 3);
	life_write("servers", "", 0644);
	assert_int_equal(ask(), 0);
}

static void test_unknown(void **state)
{
	static char text[4200];
	unsigned n = count_fds();

	(void)state;
	life_write("servers", "1\n2\n3\n4\n5\n6\n7\n8\n", 0644);
	assert_int_equal(ask(), 0);
	life_write("servers", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", 0644);
	assert_int_equal(ask(), -1);
	life_write("servers", "none\n", 0644);
	assert_int_equal(ask(), -1);
	/* An answer that may go on. */
	memset(text, '\n', 4095);
	life_write("servers", text, 0644);
	assert_int_equal(ask(), -1);
	text[4094] = '\0';
	life_write("servers", text, 0644);
	assert_int_equal(ask(), 0);
	life_write("servers", "4711\n4712\n", 0644);
	life_write("clients-4711", "none", 0644);
	assert_int_equal(ask(), -1);
	assert_false(told("get_client_list 4712"));
	life_remove("clients-4711");
	assert_int_equal(ask(), 0);
	life_remove("clients"); /* an exit status */
	assert_int_equal(ask(), -1);
	life_write("clients", "", 0644);
	life_write("broken", "", 0644);
	assert_int_equal(ask(), -1);
	assert_int_equal(count_fds(), n);
	life_remove("mps");
	cot_clients_ask(p, take_answer); /* at once */
	assert_int_equal(answer, -1);
	assert_int_equal(count_fds(), n);
}

/* Of several who ask at once the last one is answered. */
static void test_several(void **state)
{
	(void)state;
	life_write("hold-get_server_list", "", 0644);
	cot_clients_ask(p, take_other);
	cot_clients_ask(p, take_answer);
	assert_true(is_asking());
	life_remove("hold-get_server_list");
	life_until(is_told);
	assert_int_equal(answer, 0);
	assert_int_equal(other, 99);
	assert_string_equal(life_read("told"), "get_server_list \nget_client_list 4711\n");
}

/* A question has five seconds; who asks again before it has ended for good is told so. */
static void test_limit(void **state)
{
	uint64_t now_ns = cot_now_ns();
	unsigned n = count_fds();
	pid_t pid;

	(void)state;
	life_write("hold-get_client_list", "", 0644);
	cot_clients_ask(p, take_answer);
	assert_true(p->clients.limit.armed);
	assert_in_range(p->clients.limit.due_ns, now_ns + 5 * COT_NS_PER_S,
			cot_now_ns() + 5 * COT_NS_PER_S);
	while (!told("get_client_list"))
		life_run(5);
	assert_int_equal(answer, 99);
	pid = p->clients.command.pid;
	(void)kill(pid, SIGSTOP); /* it hears of nothing but the end */
	p->clients.limit.fire(&p->clients.limit, cot_now_ns());
	assert_int_equal(answer, -1);
	assert_false(is_asking());
	assert_int_equal(p->clients.command.pid, pid);
	answer = 99;
	cot_clients_ask(p, take_answer);
	assert_int_equal(answer, -1);
	assert_false(is_asking());
	life_until(has_no_question);
	assert_int_equal(n_answers, 2); /* what it has said until then is no answer */
	assert_int_equal(count_fds(), n);
	life_remove("hold-get_client_list");
	assert_int_equal(ask(), 0);
	/* It may have ended when its time is over, and not have been heard of. */
	answer = 99;
	cot_clients_ask(p, take_answer);
	p->clients.limit.fire(&p->clients.limit, cot_now_ns());
	assert_int_equal(answer, -1);
	life_until(has_no_question);
	assert_int_equal(count_fds(), n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse), CLIENTS(test_sum),   CLIENTS(test_unknown),
		CLIENTS(test_several),	      CLIENTS(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
