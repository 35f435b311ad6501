/* The shim's connection to the daemon: when it is made, waited for, lost and made again. */
#include "shim_work_stage.h"

/* ---- the connection ---- */

static void first_launch(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	nothing_to_count = true; /* all the same it is told how things stand */
	welcome(3 * COT_NS_PER_MS);
	grant(4 * COT_NS_PER_MS, 1, 5, COT_WORK_SETTLED);
	w = get();
	assert_non_null(w);
	expect_done("hello 42 of it on GPU-1, 10 SMs, class 1, weight 70, quota 25, reserve 33;"
		    "counts of 56;request 1: 100 tasks, 4 on an SM, 7000 ns;");
	assert_int_equal(now_ns, START + 4 * COT_NS_PER_MS);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_wakes, 1);
	assert_int_equal(w->capsms, 5);
	assert_int_equal(w->flags, COT_WORK_SETTLED);
	assert_int_equal(w->since_ns, now_ns);
	assert_ptr_equal(w->context, &context);
	assert_ptr_equal(w->gpu, gpu);
	assert_ptr_equal(w->stream, STREAM);
	assert_int_equal(w->needed, 25);
	assert_int_equal(w->n_users, 1);
	assert_int_equal(w->evicted + w->told, 0);
	assert_int_equal(gpu->works_max, 4);
}

/* No daemon: it is looked for after a second, then less and less often, and at once when found. */
static void no_daemon(void **state)
{
	static const unsigned seconds[] = {1, 2, 4, 8, 8, 8};
	unsigned i;

	(void)state;
	open_result = -ENOENT;
	for (i = 0; i < COT_ARRAY_LEN(seconds); i++) {
		assert_null(get());
		assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
		assert_int_equal(n_opened, i + 1);
		now_ns += seconds[i] * COT_NS_PER_S - 1;
		assert_null(get());
		assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
		assert_int_equal(n_opened, i + 1);
		now_ns++;
	}
	assert_int_equal(n_waits, 0);
	expect_done("");
	open_result = 0;
	(void)get_new(3, 0);
	assert_int_equal(gpu->retry_after_ns, COT_RETRY_MIN_NS);
}

/* One that does not answer is waited for once, for a second. */
static void a_mute_daemon(void **state)
{
	(void)state;
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(now_ns, START + COT_NS_PER_S);
	assert_null(get());
	assert_int_equal(now_ns, START + COT_NS_PER_S);
	assert_int_equal(n_opened, 1);
	/* When it does, all is well. */
	welcome(0);
	cot_shim_gpu_receive(gpu);
	(void)get_new(3, 0);
	assert_int_equal(n_opened, 1);
}

/* Refused is refused: nothing is asked any more. */
static void refused(void **state)
{
	struct {
		struct cot_msg_header h;
		char text[8];
	} m = {.text = "not you."};
	unsigned i;

	(void)state;
	say(COT_NS_PER_MS, COT_MSG_REFUSED, &m, sizeof(m));
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(now_ns, START + COT_NS_PER_MS);
	assert_int_equal(n_closed, 1);
	assert_string_equal(said, "the daemon refuses this program: not you.");
	written[0] = '\0';
	for (i = 0; i < 5; i++) {
		now_ns += 100 * COT_NS_PER_S;
		assert_null(get());
		cot_shim_gpu_want(gpu);
		assert_true(cot_shim_gpus_greet(now_ns) == COT_NEVER);
	}
	expect_done("");
	assert_int_equal(n_opened, 1);
}

/* A program that launches nothing as workers is introduced all the same, and again. */
static void wanted(void **state)
{
	(void)state;
	assert_true(cot_shim_gpus_greet(now_ns) == COT_NEVER);
	cot_shim_gpu_want(gpu);
	cot_shim_gpu_want(gpu);
	assert_int_equal(n_wakes, 1);
	open_result = -ENOENT;
	assert_int_equal(cot_shim_gpus_greet(now_ns), START + COT_NS_PER_S);
	assert_int_equal(cot_shim_gpus_greet(now_ns), START + COT_NS_PER_S);
	assert_int_equal(n_opened, 1);
	open_result = 0;
	now_ns = START + COT_NS_PER_S;
	assert_true(cot_shim_gpus_greet(now_ns) == COT_NEVER);
	assert_non_null(strstr(written, "hello 42"));
	assert_int_equal(n_waits, 0);
	assert_true(cot_shim_gpus_greet(now_ns) == COT_NEVER);
	assert_int_equal(n_opened, 2);
	hang_up(0, -ECONNRESET);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(cot_shim_gpus_greet(now_ns), now_ns + 2 * COT_NS_PER_S);
}

/* Whatever happens to the socket: the daemon is lost, and so are the works. */
static void lost(void **state)
{
	static const int errors[] = {-ECONNRESET, -EBADMSG, -EIO};
	static const char *const words[] = {"it hung up", "it sent a malformed packet",
					    "its socket failed"};
	struct cot_shim_work *used, *unused;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(errors); i++) {
		set_up(state);
		used = get_new(3, 0);
		need.stream = HANDLE(0x320);
		unused = get_new(2, 0);
		cot_shim_work_put(unused);
		n_changes = n_wakes = 0;
		hang_up(0, errors[i]);
		cot_shim_gpu_receive(gpu);
		assert_int_equal(n_closed, 1);
		assert_non_null(strstr(logged, words[i]));
		assert_false(gpu->welcomed);
		assert_int_equal(n_changes, 1);
		assert_int_equal(n_wakes, 1);
		assert_int_equal(used->state, COT_SHIM_WORK_LOST);
		assert_int_equal(unused->state, COT_SHIM_WORK_FREE);
		assert_int_equal(gpu->retry_ns, now_ns + COT_RETRY_MIN_NS);
		cot_shim_work_put(used);
		assert_int_equal(used->state, COT_SHIM_WORK_FREE);
		expect_done("");
	}
}

/* The daemon wants to hear of queries, for as long as it is there. */
static void queries_are_wanted(void **state)
{
	struct cot_msg_queries m = {.wanted = 1};

	(void)state;
	cot_shim_work_put(get_new(3, 0));
	n_wants = n_wakes = 0;
	say(0, COT_MSG_QUERIES, &m.h, sizeof(m));
	cot_shim_gpu_receive(gpu);
	assert_true(gpu->queries && gpu->queries_told);
	assert_int_equal(n_wants, 1);
	assert_int_equal(n_wakes, 1);
	m.wanted = 0;
	say(0, COT_MSG_QUERIES, &m.h, sizeof(m));
	cot_shim_gpu_receive(gpu);
	assert_false(gpu->queries);
	gpu->queries = true;
	hang_up(0, -ECONNRESET);
	cot_shim_gpu_receive(gpu);
	assert_false(gpu->queries);
	assert_int_equal(n_wants, 3);
}

static void copies_give_way(void **state)
{
	struct cot_msg_copies m = {.way = COT_WAY_OUT, .for_ns = 5};

	(void)state;
	cot_shim_work_put(get_new(3, 0));
	say(0, COT_MSG_COPIES, &m.h, sizeof(m));
	cot_shim_gpu_receive(gpu);
	assert_int_equal(n_copies, 1);
	assert_int_equal(copies.way, COT_WAY_OUT);
	assert_int_equal(copies.for_ns, 5);
}

/* The next daemon is asked for nothing before it has answered. */
static void lost_and_mute(void **state)
{
	(void)state;
	cot_shim_work_put(get_new(3, 0));
	hang_up(0, -ECONNRESET);
	cot_shim_gpu_receive(gpu);
	now_ns = gpu->retry_ns;
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(n_opened, 2);
	assert_null(strstr(written, "request"));
	written[0] = '\0';
	assert_null(get());
	expect_done("");
}

/* The same when nothing can be sent; the launch that asks goes on by itself. */
static void lost_while_asking(void **state)
{
	(void)state;
	cot_shim_work_put(get_new(3, 0));
	now_ns += COT_NS_PER_S;
	send_result = -EAGAIN;
	need.stream = HANDLE(0x320);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(n_closed, 1);
	assert_string_equal(logged, "lost the daemon: it does not read its socket");
	assert_false(gpu->welcomed);
}

static void lost_while_waiting(void **state)
{
	(void)state;
	welcome(0);
	hang_up(5 * COT_NS_PER_MS, -ECONNRESET);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(now_ns, START + 5 * COT_NS_PER_MS);
	assert_int_equal(gpu->works[0].state, COT_SHIM_WORK_FREE);
}

static void each_gpu_has_one(void **state)
{
	struct cot_shim_gpu *second = cot_shim_gpu_get(1, 5000, second_uuid);

	(void)state;
	assert_ptr_not_equal(second, gpu);
	assert_ptr_equal(cot_shim_gpu_get(0, N_SMS, first_uuid), gpu);
	assert_ptr_equal(cot_shim_gpu_get(1, N_SMS, second_uuid), second);
	assert_int_equal(second->n_sms, COT_SMS_MAX);
	assert_int_equal(gpu->n_sms, N_SMS);
	assert_int_equal(second->link.sock.fd, -1);
	assert_ptr_equal(cot_shim_gpus_first(), second);
	second->link.sock.fd = gpu->link.sock.fd = 5;
	cot_shim_gpus_forget();
	assert_null(cot_shim_gpus_first());
	assert_int_equal(second->link.sock.fd, -1);
	assert_int_equal(gpu->link.sock.fd, -1);
	free(second);
	free(gpu);
}

/* ---- waiting for a grant ---- */

/* At first the launch reads by itself; later it sleeps until the listener has read. */
static void reads_by_itself_at_first(void **state)
{
	static const struct {
		bool latency;
		uint64_t after_us;
		bool sleeps;
	} rows[] = {
		{false, 150, false},
		{false, 260, true},
		{true, 900, false},
		{true, 1100, true},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		set_up(state);
		cot_shim_work_put(get_new(3, 0));
		now_ns += COT_NS_PER_S;
		need.latency = rows[i].latency;
		n_waits = 0;
		grant(rows[i].after_us * US, 2, 3, 0);
		assert_non_null(get());
		assert_int_equal(n_waits > 0, rows[i].sleeps);
	}
}

/* What comes after the launch went on by itself is given back at once. */
static void too_late(void **state)
{
	(void)state;
	cot_shim_settings.wait_ms = 300;
	welcome(0);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_WAITED);
	assert_int_equal(now_ns, START + 300 * COT_NS_PER_MS);
	written[0] = '\0';
	grant(0, 1, 4, 0);
	cot_shim_gpu_receive(gpu);
	expect_done("done 1: 0 tasks, 0 remapped, 0 launches;");
	assert_int_equal(gpu->works[0].state, COT_SHIM_WORK_FREE);
}

/* Granted and taken back before the launch has seen it. */
static void evicted_at_once(void **state)
{
	struct cot_msg_work_evict m = {.work = 1, .capsms = 4};

	(void)state;
	welcome(0);
	grant(50 * US, 1, 4, COT_WORK_SETTLED);
	say(50 * US, COT_MSG_WORK_EVICT, &m, sizeof(m));
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_WAITED);
	assert_non_null(strstr(written, "done 1: 0 tasks"));
	assert_int_equal(gpu->works[0].state, COT_SHIM_WORK_FREE);
}

/* A grant of nothing is no daemon's. */
static void granted_nothing(void **state)
{
	(void)state;
	welcome(0);
	grant(50 * US, 1, 0, 0);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(n_closed, 1);
}

/* ---- counts ---- */

static void counts_once_a_second(void **state)
{
	(void)state;
	cot_shim_gpu_send_counts(gpu, now_ns, true);
	expect_done(""); /* nobody is there yet */
	(void)get_new(3, 0);
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns + COT_NS_PER_S - 1, false);
	expect_done("");
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns + COT_NS_PER_S, false);
	expect_done("counts of 56;");
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns, false);
	expect_done("");
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns, true);
	expect_done("counts of 56;");
	nothing_to_count = true;
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns + 2 * COT_NS_PER_S, false);
	expect_done("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(first_launch, set_up),
		cmocka_unit_test_setup(no_daemon, set_up),
		cmocka_unit_test_setup(a_mute_daemon, set_up),
		cmocka_unit_test_setup(refused, set_up),
		cmocka_unit_test_setup(wanted, set_up),
		cmocka_unit_test_setup(lost, set_up),
		cmocka_unit_test_setup(queries_are_wanted, set_up),
		cmocka_unit_test_setup(copies_give_way, set_up),
		cmocka_unit_test_setup(lost_and_mute, set_up),
		cmocka_unit_test_setup(lost_while_asking, set_up),
		cmocka_unit_test_setup(lost_while_waiting, set_up),
		cmocka_unit_test_setup(each_gpu_has_one, set_up),
		cmocka_unit_test_setup(reads_by_itself_at_first, set_up),
		cmocka_unit_test_setup(too_late, set_up),
		cmocka_unit_test_setup(evicted_at_once, set_up),
		cmocka_unit_test_setup(granted_nothing, set_up),
		cmocka_unit_test_setup(counts_once_a_second, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
