/*
 * PPQ, DSS, time slicing, FCFS and NPQ, decision by decision: every action in its order, worked out
 * by hand.
 */
#include "unit/sim/hw/fake_hw.h"

#include "base/compiler.h"
#include "sim/hw/scheds.h"

#define EXPECT(ops, events, text) assert_string_equal(fake_schedule(ops, events), text)

static void begin(uint32_t n_sms, uint32_t n_apps)
{
	uint32_t i;

	fake_init(n_sms, 1);
	for (i = 0; i < n_apps; i++)
		(void)fake_app(0);
}

/* ---- PPQ ---- */

/* a has the GPU; b wants two SMs of it, then the more important c three. */
static void ppq_claims(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_ppq;

	(void)state;
	begin(4, 4);
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, assign 0 a, assign 1 a, assign 2 a, assign 3 a");
	fake.slow = true;
	fake.sms[2].n_resident = 1;
	fake_launch(1, 8, 4, 1);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, close a, reserve 2 b, reserve 0 b");
	fake_launch(2, 12, 4, 2);
	EXPECT(ops, HW_EV_ARRIVED, "admit c, close b, retarget 0 c, retarget 2 c, reserve 1 c");
	/* Its equal d takes no SM that is on its way to c. */
	fake_launch(3, 8, 4, 2);
	EXPECT(ops, HW_EV_ARRIVED, "admit d, reserve 3 d");
	/* They preempt when the set of active kernels changes, and at no other time. */
	fake_vacate();
	assert_string_equal(fake_owners(), "cccd");
	fake_kernel(1)->n_fresh += 100;
	EXPECT(ops, HW_EV_SWITCHED | HW_EV_IDLE | HW_EV_TIMER, "");
	/* c leaves: its SMs go to d first, by which b is still kept out. */
	fake_finish(2);
	EXPECT(ops, HW_EV_FINISHED, "assign 0 d");
	assert_string_equal(fake_owners(), "d..d");
	fake_finish(3);
	EXPECT(ops, HW_EV_FINISHED, "open b, assign 0 b, assign 1 b, assign 2 b, assign 3 b");
}

static void ppq_preempts_on_changes(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_ppq_shared;

	(void)state;
	begin(3, 3);
	fake_launch(0, 100, 4, 0);
	fake_launch(1, 4, 4, 1);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, admit a, assign 0 b, assign 1 a, assign 2 a");
	fake_kernel(1)->n_fresh += 4; /* now it could use one more */
	EXPECT(ops, HW_EV_SWITCHED, "");
	EXPECT(ops, HW_EV_IDLE, "");
	EXPECT(ops, HW_EV_FINISHED, "reserve 1 b");
	fake_kernel(1)->n_fresh += 4;
	EXPECT(ops, HW_EV_ARRIVED, "reserve 2 b");
}

/* Shared: what the most important one cannot fill goes to the next, and so on; victims by
 * importance, then by blocks. */
static void ppq_shared_levels(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_ppq_shared;

	(void)state;
	begin(5, 4);
	fake_launch(0, 100, 4, -3);
	EXPECT(ops, HW_EV_ARRIVED,
	       "admit a, assign 0 a, assign 1 a, assign 2 a, assign 3 a, assign 4 a");
	fake_launch(1, 12, 4, 5);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, reserve 0 b, reserve 1 b, reserve 2 b");
	assert_string_equal(fake_owners(), "bbbaa");
	/* c before b, which gets back what is a's. */
	fake.sms[3].n_resident = 4;
	fake.sms[4].n_resident = 3;
	fake_launch(2, 12, 4, 9);
	EXPECT(ops, HW_EV_ARRIVED, "admit c, reserve 4 c, reserve 3 c, reserve 0 c");
	assert_string_equal(fake_owners(), "cbbcc");
	/* Of two that wait the more important is admitted first. */
	fake_finish(2);
	fake_launch(3, 4, 4, 1);
	fake_launch(2, 4, 4, 2);
	EXPECT(ops, HW_EV_ARRIVED | HW_EV_FINISHED,
	       "admit c, admit d, assign 0 b, assign 3 c, assign 4 d");
}

/* ---- DSS ---- */

/* 8 SMs for three: 3, 3 and 2. Tokens are lent to who is alone. */
static void dss_shares(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_dss;
	uint32_t i;

	(void)state;
	begin(8, 3);
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED,
	       "admit a, assign 0 a, assign 1 a, assign 2 a, assign 3 a, assign 4 a, assign 5 a, "
	       "assign 6 a, assign 7 a");
	assert_int_equal(fake_kernel(0)->priv.tokens, -5);
	fake_launch(1, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, reserve 0 b, reserve 1 b, reserve 2 b, reserve 3 b");
	assert_int_equal(fake_kernel(1)->priv.tokens, -1);
	fake_launch(2, 100, 4, 0);
	fake.sms[6].n_resident = 2;
	EXPECT(ops, HW_EV_ARRIVED, "admit c, reserve 6 c, reserve 0 c");
	assert_int_equal(fake_kernel(2)->priv.tokens, 0);
	/* A second kernel of the same context brings no tokens. */
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a");
	/* b's SMs are given back: the richest first, of equals the one that is longer active. */
	for (i = 1; i <= 3; i++)
		ops->sm_released(&fake, &fake.sms[i], fake_kernel(1));
	assert_int_equal(fake_kernel(1)->priv.tokens, 3);
	fake_finish(1);
	EXPECT(ops, HW_EV_FINISHED, "assign 1 a, assign 2 c, assign 3 a");
	assert_string_equal(fake_owners(), "cacaaaca");
}

/* Tokens that the scenario gives. A difference of one is none; two move an SM. */
static void dss_given_tokens(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_dss;

	(void)state;
	begin(4, 2);
	fake.sc.apps[0].tokens = 3;
	fake.sc.apps[1].tokens = 0;
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, assign 0 a, assign 1 a, assign 2 a, assign 3 a");
	fake_launch(1, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit b");
	fake_kernel(0)->priv.tokens = -2;
	EXPECT(ops, HW_EV_SWITCHED, "reserve 0 b");
}

/* SMs that are on their way to who needs none any more, or has left, go to the richest. */
static void dss_redirects(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_dss;

	(void)state;
	begin(6, 3);
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED,
	       "admit a, assign 0 a, assign 1 a, assign 2 a, assign 3 a, assign 4 a, assign 5 a");
	fake.slow = true;
	fake_launch(1, 8, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, reserve 0 b, reserve 1 b");
	fake_kernel(1)->n_fresh = 4; /* it needs one only */
	EXPECT(ops, HW_EV_SWITCHED, "retarget 0 a");
	assert_int_equal(fake_kernel(0)->priv.tokens, -3);
	assert_int_equal(fake_kernel(1)->priv.tokens, 1);
	fake_kernel(0)->n_fresh = fake_kernel(1)->n_fresh = 0;
	EXPECT(ops, HW_EV_SWITCHED, ""); /* nobody wants any */
	fake_finish(1);
	fake_launch(2, 4, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED | HW_EV_FINISHED, "admit c, retarget 0 c");
}

/* ---- time slices ---- */

static void timeslice_turns(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_timeslice;

	(void)state;
	begin(3, 3);
	fake.contexts[1].slice_ps = 500;
	fake.delay_ps = 7; /* an SM begins so long after its assignment */
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, assign 0 a, assign 1 a, assign 2 a, timer 1007");
	fake_launch(1, 8, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, close b");
	fake_launch(2, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit c, close c");
	/* b can fill two SMs; the third runs empty. Its slice begins with the last one that it
	 * gets. */
	fake.now_ps = 1007;
	EXPECT(ops, HW_EV_TIMER, "close a, open b, reserve 0 b, reserve 1 b, timer 1514");
	assert_string_equal(fake_owners(), "bba");
	fake.now_ps = 1514;
	fake.slow = true;
	EXPECT(ops, HW_EV_TIMER,
	       "close b, open c, reserve 0 c, reserve 1 c, reserve 2 c, timer off");
	fake.now_ps = 1600;
	fake_vacate();
	EXPECT(ops, HW_EV_SWITCHED, "timer 2607");
	EXPECT(ops, HW_EV_SWITCHED, ""); /* once */
	/* Its work is over: the next turn comes early, and skips nobody. */
	fake.now_ps = 2000;
	fake_finish(2);
	EXPECT(ops, HW_EV_FINISHED, "timer 2000");
	EXPECT(ops, HW_EV_TIMER,
	       "timer 2607, open a, assign 0 a, assign 1 a, assign 2 a, timer 3007");
}

/* Its next launch comes at the instant when its kernel ends: the turn goes on, and ends when it
 * would have. */
static void timeslice_lingers(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_timeslice;

	(void)state;
	begin(1, 3);
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, assign 0 a, timer 1000");
	fake.active_max = 3;
	fake_launch(1, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, close b");
	fake.now_ps = 300;
	fake_finish(0);
	EXPECT(ops, HW_EV_FINISHED, "timer 300");
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, timer 1000, assign 0 a");
	/* The end of the slice is not waited beyond, and no turn is begun anew. */
	fake.now_ps = 1000;
	fake_finish(0);
	EXPECT(ops, HW_EV_FINISHED | HW_EV_TIMER, "open b, assign 0 b, timer 2000");
}

/* A turn that ends while SMs are on their way: they go to the next. */
static void timeslice_retargets(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_timeslice;

	(void)state;
	begin(2, 3);
	fake_launch(0, 100, 4, 0);
	fake_launch(1, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, admit b, close b, assign 0 a, assign 1 a, timer 1000");
	fake.slow = true;
	fake_launch(2, 100, 4, 0);
	fake.active_max = 3;
	EXPECT(ops, HW_EV_TIMER,
	       "admit c, close a, open b, close c, reserve 0 b, reserve 1 b, timer off");
	EXPECT(ops, HW_EV_TIMER, "close b, open c, retarget 0 c, retarget 1 c, timer off");
}

static void timeslice_frozen(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_timeslice;

	(void)state;
	begin(2, 2);
	fake_launch(0, 100, 4, 0);
	fake_launch(1, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, admit b, close b, assign 0 a, assign 1 a, timer 1000");
	/* Who is not at turn, and who is. */
	fake.contexts[1].frozen = true;
	EXPECT(ops, HW_EV_CONTEXT, "");
	EXPECT(ops, HW_EV_TIMER, "timer 1000"); /* a again */
	fake.contexts[1].frozen = false;
	fake.contexts[0].frozen = true;
	EXPECT(ops, HW_EV_CONTEXT, "close a, open b, reserve 0 b, reserve 1 b, timer 1000");
	/* Nobody may run: frozen ones leave the GPU. */
	fake.contexts[1].frozen = true;
	EXPECT(ops, HW_EV_CONTEXT, "close b, evict 0, evict 1, timer off");
	fake.contexts[0].frozen = false;
	fake.now_ps = 300;
	EXPECT(ops, HW_EV_CONTEXT, "open a, assign 0 a, assign 1 a, timer 1300");
	/* A frozen one beside it, which cannot fill the GPU. */
	fake_kernel(0)->n_fresh = fake_kernel(0)->n_preempted = 0;
	fake.contexts[1].frozen = false;
	EXPECT(ops, HW_EV_TIMER, "close a, open b, reserve 0 b, reserve 1 b, timer 1300");
	fake.contexts[1].frozen = true;
	EXPECT(ops, HW_EV_CONTEXT, "open a, close b, reserve 0 a, reserve 1 a, timer 1300");
	assert_string_equal(fake_owners(), "aa");
}

/* Each is on SMs of its part only: side by side in one context, and in turns. */
static void timeslice_parts(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_timeslice;

	(void)state;
	begin(4, 2);
	fake.sc.apps[1].context = 0;
	fake.sm_begin[0] = 1;
	fake.sm_end[0] = 3;
	fake.sm_begin[1] = 3;
	fake.sm_end[1] = 4;
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, assign 1 a, assign 2 a, timer 1000");
	fake_launch(1, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, assign 3 b");
	fake_finish(1);
	EXPECT(ops, HW_EV_FINISHED, "");
	/* Another context takes no SM that it may not be on. */
	begin(3, 2);
	fake.sm_begin[1] = 1;
	fake.sm_end[1] = 2;
	fake_launch(0, 100, 4, 0);
	fake_launch(1, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED,
	       "admit a, admit b, close b, assign 0 a, assign 1 a, assign 2 a, timer 1000");
	EXPECT(ops, HW_EV_TIMER, "close a, open b, reserve 1 b, timer 1000");
	assert_string_equal(fake_owners(), "aba");
}

/* Who waits to be granted SMs has no turn. */
static void timeslice_grants(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_timeslice;

	(void)state;
	begin(2, 2);
	fake.may_take[0] = false;
	fake_launch(0, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit a, close a, timer off");
	fake_launch(1, 100, 4, 0);
	EXPECT(ops, HW_EV_ARRIVED, "admit b, assign 0 b, assign 1 b, timer 1000");
	fake.may_take[0] = true;
	EXPECT(ops, HW_EV_TIMER, "open a, close b, reserve 0 a, reserve 1 a, timer 1000");
	/* It runs what it has, and gets no more. */
	fake.may_take[0] = false;
	EXPECT(ops, HW_EV_CONTEXT, "");
	fake_finish(1);
	EXPECT(ops, HW_EV_TIMER, "timer 1000");
}

/* ---- FCFS and NPQ ---- */

static void fcfs_and_npq(void **state)
{
	(void)state;
	begin(2, 3);
	fake_launch(0, 4, 4, 0);
	fake_launch(0, 8, 4, 0);
	fake_launch(1, 4, 4, 1);
	fake_launch(0, 4, 4, 0);
	fake.active_max = 3;
	EXPECT(&hw_sched_fcfs, HW_EV_ARRIVED, "admit a, admit a, assign 0 a, assign 1 a");
	fake_finish(0);
	fake_finish(0);
	EXPECT(&hw_sched_fcfs, HW_EV_FINISHED, "admit b, assign 0 b");
	fake_finish(1);
	EXPECT(&hw_sched_fcfs, HW_EV_FINISHED, "admit a, assign 0 a");

	begin(2, 3);
	fake_launch(0, 4, 4, 0);
	fake_launch(1, 4, 4, 1);
	fake_launch(2, 4, 4, 1);
	fake_launch(1, 4, 4, 1);
	EXPECT(&hw_sched_npq, HW_EV_ARRIVED, "admit b, assign 0 b");
	fake_finish(1);
	EXPECT(&hw_sched_npq, HW_EV_FINISHED, "admit c, assign 0 c");
	fake_finish(2);
	EXPECT(&hw_sched_npq, HW_EV_FINISHED, "admit b, assign 0 b");
	fake_finish(1);
	EXPECT(&hw_sched_npq, HW_EV_FINISHED, "admit a, assign 0 a");
}

/* The active queue has an end; who may not take SMs, or has its issue closed, gets none. */
static void in_order(void **state)
{
	(void)state;
	begin(3, 3);
	fake.active_max = 2;
	fake_launch(0, 4, 4, 0);
	fake_launch(0, 100, 4, 0);
	fake_launch(0, 4, 4, 0);
	fake.may_take[0] = false;
	EXPECT(&hw_sched_fcfs, HW_EV_ARRIVED, "admit a, admit a");
	fake.may_take[0] = true;
	fake.active->issue = false;
	EXPECT(&hw_sched_fcfs, HW_EV_ARRIVED, "assign 0 a, assign 1 a, assign 2 a");
	assert_int_equal(fake.active->n_sms, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ppq_claims),	     cmocka_unit_test(ppq_preempts_on_changes),
		cmocka_unit_test(ppq_shared_levels), cmocka_unit_test(dss_shares),
		cmocka_unit_test(dss_given_tokens),  cmocka_unit_test(dss_redirects),
		cmocka_unit_test(timeslice_turns),   cmocka_unit_test(timeslice_retargets),
		cmocka_unit_test(timeslice_lingers), cmocka_unit_test(timeslice_frozen),
		cmocka_unit_test(timeslice_grants),  cmocka_unit_test(timeslice_parts),
		cmocka_unit_test(fcfs_and_npq),	     cmocka_unit_test(in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
