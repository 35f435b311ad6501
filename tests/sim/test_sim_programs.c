/* Hand-computed runs of programs: CPU phases, transfers, queues, waiting, replay, stop rules. */
#include "support/sim_build.h"
#include "test.h"

/* The launch does not wait: the CPU works until 4, then the sync lasts until 10. */
static void kernels_overlap_the_cpu(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	(void)build_kernel(&b, 2, 5, 1, 0);
	build_cpu(&b, 4);
	build_sync(&b);
	build_cpu(&b, 2);
	build_stop_runs(&b, 1);
	play(&p, &b);
	assert_string_equal(p.app[0].text, "0 cpu, 4 wait, 10 cpu");
	assert_string_equal(p.runs.text, "a 0-12");
	play_end(&p);
}

/* A sync with nothing to wait for takes no time; the end of a program is a sync. */
static void the_end_of_a_program_is_a_sync(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	build_sync(&b);
	build_cpu(&b, 3);
	build_sync(&b);
	(void)build_kernel(&b, 1, 5, 1, 0);
	build_stop_runs(&b, 1);
	play(&p, &b);
	assert_string_equal(p.runs.text, "a 0-8");
	play_end(&p);
}

/* 4096 bytes: 1 + 1 us, 0 to 2; the kernel 2 to 7; 4097 bytes are 2 bursts: 1 + 2 us, 7 to 10. */
static void a_queue_keeps_its_order(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	build_h2d(&b, 4096);
	(void)build_kernel(&b, 1, 5, 1, 0);
	build_d2h(&b, 4097);
	build_cpu(&b, 1);
	build_stop_runs(&b, 1);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "a 2-7");
	assert_string_equal(p.app[0].text, "0 h2d, 2 wait, 7 d2h, 10 cpu");
	assert_string_equal(p.runs.text, "a 0-11");
	play_end(&p);
}

/* A transfer of no bytes still takes the latency. */
static void an_empty_transfer_takes_the_latency(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	build_h2d(&b, 0);
	build_stop_runs(&b, 2);
	play(&p, &b);
	assert_string_equal(p.runs.text, "a 0-1, a 1-2");
	play_end(&p);
}

/* Three launches of one step follow each other: 3 * 5 us. */
static void launches_repeat_a_kernel(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "fcfs", 2);
	(void)build_app(&b, "a");
	build_kernel(&b, 1, 5, 1, 0)->launches = 3;
	build_cpu(&b, 2000);
	play_expect_kernels(&b, "a 0-5, a 5-10, a 10-15");
}

/* 10 bursts, 11 us, each way, at the same time; a second one of the same direction waits. */
static void transfers_go_both_ways_at_once(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	build_h2d(&b, 40960);
	build_cpu(&b, 900);
	(void)build_app(&b, "b");
	build_d2h(&b, 40960);
	build_cpu(&b, 900);
	build_app(&b, "c")->start_ps = 5000000;
	build_h2d(&b, 4096);
	build_cpu(&b, 900);
	build_stop_at(&b, 100);
	play(&p, &b);
	assert_string_equal(p.app[0].text, "0 h2d, 11 cpu");
	assert_string_equal(p.app[1].text, "0 d2h, 11 cpu");
	assert_string_equal(p.app[2].text, "11 h2d, 13 cpu");
	play_end(&p);
}

/* A transfer of one program and a kernel of another do not disturb each other. */
static void transfers_overlap_kernels(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_one(&b, "a", 0, 1, 20, 1, 0);
	(void)build_app(&b, "b");
	build_h2d(&b, 40960);
	build_cpu(&b, 900);
	build_stop_at(&b, 100);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "a 0-20");
	assert_string_equal(p.app[1].text, "0 h2d, 11 cpu");
	play_end(&p);
}

static void play_three_transfers(struct play *p, struct sim_build *b, enum cot_transfer_order order)
{
	uint32_t i;

	build_init(b, "fcfs", 1);
	b->sc.transfers = order;
	for (i = 0; i < 3; i++) {
		struct cot_app *app = build_app(b, i == 0 ? "a" : i == 1 ? "b" : "c");

		app->start_ps = i * 1000000;
		app->priority = (int32_t)i;
		build_h2d(b, 40960);
		build_cpu(b, 900);
	}
	build_stop_at(b, 100);
	play(p, b);
}

/* a has the engine until 11. By arrival b is next, by priority c. Nothing is interrupted. */
static void transfers_wait_by_arrival_or_priority(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	play_three_transfers(&p, &b, COT_TRANSFERS_FCFS);
	assert_string_equal(p.app[0].text, "0 h2d, 11 cpu");
	assert_string_equal(p.app[1].text, "11 h2d, 22 cpu");
	assert_string_equal(p.app[2].text, "22 h2d, 33 cpu");
	play_end(&p);
	play_three_transfers(&p, &b, COT_TRANSFERS_PRIORITY);
	assert_string_equal(p.app[0].text, "0 h2d, 11 cpu");
	assert_string_equal(p.app[1].text, "22 h2d, 33 cpu");
	assert_string_equal(p.app[2].text, "11 h2d, 22 cpu");
	play_end(&p);
}

static void runs_begin_at_the_start(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	build_app(&b, "a")->start_ps = 7000000;
	(void)build_kernel(&b, 1, 5, 1, 0);
	build_stop_runs(&b, 2);
	play(&p, &b);
	assert_string_equal(p.runs.text, "a 7-12, a 12-17");
	assert_int_equal(p.result.apps[0].turnaround_sum_ps, 10000000);
	play_end(&p);
}

/*
 * One SM; a computes 3 and needs the SM for 5, b computes 1 and needs it for 2. b's second kernel
 * waits for a's first (4 to 8). At 11 both launch at once: a, the first program, goes first. When a
 * has its third run, at 24, b has three and a fourth one that does not count.
 */
static void programs_replay_until_all_have_their_runs(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	build_cpu(&b, 3);
	(void)build_kernel(&b, 1, 5, 1, 0);
	(void)build_app(&b, "b");
	build_cpu(&b, 1);
	(void)build_kernel(&b, 1, 2, 1, 0);
	build_stop_runs(&b, 3);
	play(&p, &b);
	assert_string_equal(p.runs.text, "b 0-3, a 0-8, b 3-10, a 8-16, b 10-18, a 16-24");
	assert_int_equal(p.result.end_ps, 24000000);
	assert_int_equal(p.result.n_apps, 2);
	assert_int_equal(p.result.apps[0].runs, 3);
	assert_int_equal(p.result.apps[0].turnaround_sum_ps, 24000000);
	assert_int_equal(p.result.apps[1].runs, 3);
	assert_int_equal(p.result.apps[1].turnaround_sum_ps, 18000000);
	assert_int_equal(p.result.block_completions, 6);
	assert_true(cot_sim_progress(p.sim) == 1.0);
	play_end(&p);
}

/* At 12 two blocks of 5 are done on each SM and a third has begun. Events at the end still count.
 */
static void a_run_can_stop_at_a_time(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 2);
	(void)build_one(&b, "a", 0, 100, 5, 1, 0);
	build_stop_at(&b, 12);
	play(&p, &b);
	assert_int_equal(p.result.end_ps, 12000000);
	assert_int_equal(p.result.block_completions, 4);
	assert_int_equal(p.result.apps[0].runs, 0);
	play_end(&p);
	build_stop_at(&b, 15);
	play(&p, &b);
	assert_int_equal(p.result.end_ps, 15000000);
	assert_int_equal(p.result.block_completions, 6);
	play_end(&p);
}

/* The run may be cut into any pieces. */
static void running_in_pieces_changes_nothing(void **state)
{
	struct cot_sim_result whole, pieces;
	enum cot_sim_status status;
	struct sim_build b;
	struct cot_sim *sim;
	struct play p;

	(void)state;
	build_init(&b, "dss", 3);
	(void)build_app(&b, "a");
	(void)build_kernel(&b, 17, 3, 2, 1);
	(void)build_app(&b, "b");
	build_cpu(&b, 2);
	(void)build_kernel(&b, 11, 4, 3, 2);
	build_stop_runs(&b, 4);
	play(&p, &b);
	whole = p.result;
	play_end(&p);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	while ((status = cot_sim_run(sim, 1)) == COT_SIM_MORE)
		;
	assert_int_equal(status, COT_SIM_DONE);
	cot_sim_result(sim, &pieces);
	cot_sim_destroy(sim);
	play_same_result(&whole, &pieces);
}

static void isolated_time_is_one_run_alone(void **state)
{
	struct sim_build b;
	double us = 0.0;

	(void)state;
	build_init(&b, "timeslice", 2);
	(void)build_one(&b, "busy", 0, 1000, 100, 1, 1);
	build_app(&b, "a")->start_ps = 3000000;
	build_cpu(&b, 2.5);
	(void)build_kernel(&b, 4, 5, 1, 0);
	assert_int_equal(cot_sim_isolated_us(&b.sc, 1, NULL, NULL, &us), 0);
	assert_true(us == 12.5);
}

static void an_unknown_scheduler_is_refused(void **state)
{
	struct cot_error err = {{0}};
	struct cot_sim *sim = NULL;
	struct sim_build b;

	(void)state;
	build_init(&b, "lottery", 1);
	(void)build_one(&b, "a", 0, 1, 1, 1, 0);
	assert_true(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, &err) < 0);
	assert_null(sim);
	assert_string_equal(err.text, "unknown scheduler 'lottery'");
}

static void expect_progress(double stop_us, double expected)
{
	struct sim_build b;
	struct play p;

	build_init(&b, "fcfs", 1);
	build_app(&b, "a");
	build_cpu(&b, 10);
	build_kernel(&b, 4, 10, 1, 0);
	build_sync(&b);
	build_kernel(&b, 12, 10, 2, 0)->launches = 2;
	build_stop_at(&b, stop_us);
	play(&p, &b);
	assert_true(p.result.apps[0].progress > expected - 1e-12);
	assert_true(p.result.apps[0].progress < expected + 1e-12);
	play_end(&p);
}

/* Of 28 blocks; a run takes 10 + 40 + 60 + 60 us. */
static void progress_counts_blocks(void **state)
{
	(void)state;
	expect_progress(5, 0);
	expect_progress(35, 2.0 / 28);
	expect_progress(49, 3.0 / 28);
	expect_progress(65, (4 + 2) / 28.0);
	expect_progress(125, (4 + 12 + 2) / 28.0);
	expect_progress(169, (4 + 12 + 10) / 28.0);
	expect_progress(175, 1);
	expect_progress(205, 1 + 2.0 / 28);
}

/* Without blocks the steps count. */
static void progress_without_kernels_counts_steps(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 1);
	build_app(&b, "a");
	build_h2d(&b, 4096);
	build_d2h(&b, 4096 * 97);
	build_stop_at(&b, 50);
	play(&p, &b);
	assert_true(p.result.apps[0].progress > 0 && p.result.apps[0].progress <= 1);
	play_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(progress_counts_blocks),
		cmocka_unit_test(progress_without_kernels_counts_steps),
		cmocka_unit_test(kernels_overlap_the_cpu),
		cmocka_unit_test(the_end_of_a_program_is_a_sync),
		cmocka_unit_test(a_queue_keeps_its_order),
		cmocka_unit_test(an_empty_transfer_takes_the_latency),
		cmocka_unit_test(launches_repeat_a_kernel),
		cmocka_unit_test(transfers_go_both_ways_at_once),
		cmocka_unit_test(transfers_overlap_kernels),
		cmocka_unit_test(transfers_wait_by_arrival_or_priority),
		cmocka_unit_test(runs_begin_at_the_start),
		cmocka_unit_test(programs_replay_until_all_have_their_runs),
		cmocka_unit_test(a_run_can_stop_at_a_time),
		cmocka_unit_test(running_in_pieces_changes_nothing),
		cmocka_unit_test(isolated_time_is_one_run_alone),
		cmocka_unit_test(an_unknown_scheduler_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
