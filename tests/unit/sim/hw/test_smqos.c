/*
 * SMQoS and Spart, epoch by epoch: which SM works for whom, with several tasks of each kind, the
 * one with the goal not the first. The IPCs are the test's; everything that follows was worked out
 * by hand.
 */
#include "unit/sim/hw/fake_hw.h"

#include "base/compiler.h"
#include "sim/hw/scheds.h"

struct step {
	double ipc[FAKE_APPS];
	const char *owners;
};

static void expect_owners(const char *owners)
{
	if (strcmp(fake_owners(), owners) != 0)
		fail_msg("SMs work for %s, expected %s (%s)", fake_owners(), owners, fake.log);
}

static void play_epochs(const struct hw_sched_ops *ops, const struct step *steps, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		fake_epoch(ops, steps[i].ipc);
		if (!fake.slow)
			fake_schedule(ops, HW_EV_IDLE);
		if (strcmp(fake_owners(), steps[i].owners) != 0)
			fail_msg("epoch %zu: SMs work for %s, expected %s (%s)", i + 1,
				 fake_owners(), steps[i].owners, fake.log);
	}
}

#define PLAY(ops, steps) play_epochs(ops, steps, COT_ARRAY_LEN(steps))

/* One app for each letter of `owners`, in order, with its goal; all are there at once. */
static void begin(const struct hw_sched_ops *ops, const double *goals, uint32_t n,
		  const char *owners)
{
	uint32_t i;

	fake_init((uint32_t)strlen(owners), 1);
	for (i = 0; i < n; i++)
		(void)fake_app(goals[i]);
	for (i = 0; i < n; i++)
		fake_launch(i, 100000, 4, 0);
	fake_schedule(ops, HW_EV_ARRIVED);
	expect_owners(owners);
}

/* ---- SMQoS ---- */

/* Batch, batch, goal of 10. What is left over of equal shares: the goal first, then in order. */
static void smqos_moves(void **state)
{
	static const double goals[] = {0, 0, 10};
	static const struct step steps[] = {
		/* It misses its goal. a and b can do without one alike; a has more. */
		{{3, 2, 6}, "aacbbccc"},
		/* It still does. a is one below its best number, b is not. */
		{{3, 2, 8}, "aacbcccc"},
		/* It has what it needs, but would not survive an epoch without any. */
		{{2, 1, 20}, "aacbcccc"},
		/* Now it would: one goes, to the first that lacks one. */
		{{2, 1, 30}, "aacbccca"},
		/* An epoch of just its goal is none to give on. */
		{{3, 1, 10}, "aacbccca"},
		/* b lacks one, a none. */
		{{3, 1, 12}, "aacbccba"},
		/* Nobody lacks any: a asks first, whether one more pays. */
		{{6, 2, 12}, "aacbcaba"},
		/* It did not pay a, which gives it back; b asks with the one of c. */
		{{6.1, 4, 12}, "aacbbab_"},
		/* a was hurt: four are best for it, for good. One more paid b. The goal keeps its
		   last SM. */
		{{5.9, 4.2, 12}, "aacbbaba"},
		/* a has what it wants, b finds none. */
		{{5.9, 4.2, 12}, "aacbbaba"},
		/* The goal is missed for one epoch; then a gets its SM back. */
		{{5.9, 4.2, 9.9}, "aacbbabc"},
		{{1, 4.2, 12}, "aacbbaba"},
		/* What it did on fewer is no news to a. */
		{{9, 4.2, 12}, "aacbbaba"},
	};

	(void)state;
	begin(&hw_sched_smqos, goals, 3, "aaabbccc");
	PLAY(&hw_sched_smqos, steps);
}

/* With another threshold, what an SM brought a is enough to keep it. */
static void smqos_threshold(void **state)
{
	static const double goals[] = {0, 4};
	static const struct step asks[] = {{{3, 5}, "aabb"}, {{3, 9}, "aaba"}};
	static const struct step keeps[] = {{{3.05, 4}, "aaba"}};
	static const struct step gives_back[] = {{{3.05, 4}, "aab_"}};

	(void)state;
	begin(&hw_sched_smqos, goals, 2, "aabb");
	PLAY(&hw_sched_smqos, asks);
	PLAY(&hw_sched_smqos, gives_back);
	begin(&hw_sched_smqos, goals, 2, "aabb");
	fake.sc.qos_threshold = 0.01;
	PLAY(&hw_sched_smqos, asks);
	PLAY(&hw_sched_smqos, keeps);
}

/* a asks for one more, in vain, gives it back without harm, and stays there as printed; else it
 * goes on to look. */
static void smqos_printed_search(void **state)
{
	static const double goals[] = {0, 4};
	static const struct step both[] = {{{3, 5}, "aabb"}, {{3, 9}, "aaba"}, {{3.05, 4}, "aab_"}};
	static const struct step goes_on[] = {{{3, 4}, "a_b_"}};
	static const struct step stays[] = {{{3, 4}, "aab_"}, {{3, 4}, "aab_"}};

	(void)state;
	begin(&hw_sched_smqos, goals, 2, "aabb");
	PLAY(&hw_sched_smqos, both);
	PLAY(&hw_sched_smqos, goes_on);
	begin(&hw_sched_smqos_printed, goals, 2, "aabb");
	PLAY(&hw_sched_smqos_printed, both);
	PLAY(&hw_sched_smqos_printed, stays);
}

/* Two goals: one that gets an SM and one that gives one away. Batch tasks wait in an epoch in which
 * SMs went to a goal, in whatever order the goals stand. */
static void smqos_goals_first(void **state)
{
	static const double goals[] = {8, 0, 8}, turned[] = {0, 8, 8};
	static const struct step up_and_down[] = {
		{{9, 2, 9}, "aaabbbccc"},
		{{4, 2, 30},
		 "aaabbacc_"}, /* b's goes to a; what c gives waits for the next epoch */
		{{12, 1, 8}, "aaabbaccb"},
	};
	static const struct step down_and_up[] = {
		{{2, 9, 9}, "aaabbbccc"},
		{{2, 30, 4}, "aaabbcccc"}, /* it goes from b to c at once */
	};

	(void)state;
	begin(&hw_sched_smqos, goals, 3, "aaabbbccc");
	PLAY(&hw_sched_smqos, up_and_down);
	begin(&hw_sched_smqos, turned, 3, "aaabbbccc");
	PLAY(&hw_sched_smqos, down_and_up);
}

/* A goal that no batch task can give anything to does not keep these from their own moves. */
static void smqos_nothing_to_take(void **state)
{
	static const double goals[] = {0, 4};
	static const struct step steps[] = {
		{{3, 5}, "aabb"},      {{3, 9}, "aaba"},      {{3.05, 4}, "aab_"},
		{{3.05, 3.9}, "aabb"}, {{3.05, 3.9}, "a_bb"}, /* a tries one less; two are kept from
								 b */
		{{3.05, 3.9}, "abbb"},
	};

	(void)state;
	begin(&hw_sched_smqos, goals, 2, "aabb");
	fake.sc.qos_batch_sms = 2;
	PLAY(&hw_sched_smqos, steps);
}

/* The SM with the fewest blocks goes, of equal ones the last. A batch task keeps its minimum. */
static void smqos_cheapest_sm(void **state)
{
	static const double goals[] = {0, 10};
	static const struct step takes[] = {{{1, 2}, "babbb"}, {{1, 2}, "babbb"}};

	(void)state;
	begin(&hw_sched_smqos, goals, 2, "aabbb");
	fake.sms[0].n_resident = 1;
	PLAY(&hw_sched_smqos, takes);
}

/* An SM begins for its new owner some time after the epoch's end. Until an epoch has passed with
 * all SMs at work, a task may ask only for what it misses on average, and gives nothing. */
static void smqos_settles(void **state)
{
	static const double goals[] = {0, 10};
	static const struct step steps[] = {
		{{1, 6}, "aaabbbbb"},	{{1, 14}, "aaabbbbb"},
		{{1, 9.9}, "aabbbbbb"}, {{1, 9.5}, "abbbbbbb"}, /* unsettled; the mean is 9.85 */
		{{1, 20}, "abbbbbbb"},	{{1, 9}, "abbbbbbb"},
		{{1, 30}, "abbbbbba"},	{{1, 9}, "abbbbbbb"},
	};
	static const struct step waits[] = {{{1, 30}, "abbbbbbb"}};
	static const struct step hastens[] = {{{1, 30}, "abbbbbba"}};

	(void)state;
	begin(&hw_sched_smqos, goals, 2, "aaaabbbb");
	fake.delay_ps = 1;
	PLAY(&hw_sched_smqos, steps);
	PLAY(&hw_sched_smqos, waits);
	begin(&hw_sched_smqos_hasty, goals, 2, "aaaabbbb");
	fake.delay_ps = 1;
	PLAY(&hw_sched_smqos_hasty, steps);
	PLAY(&hw_sched_smqos_hasty, hastens);
}

/* An SM that is still being vacated settles nothing; it may go back to whom it came from. */
static void smqos_vacates(void **state)
{
	static const double goals[] = {0, 10};
	static const struct step asks[] = {{{1, 6}, "aaaBbbbb"}, {{1, 30}, "aaaBbbbb"}};
	static const struct step gives[] = {{{1, 30}, "aaabbbbA"}};
	static const struct step back[] = {{{1, 1}, "aaabbbbB"}};

	(void)state;
	begin(&hw_sched_smqos, goals, 2, "aaaabbbb");
	fake.slow = true;
	PLAY(&hw_sched_smqos,
	     asks); /* the second epoch has enough to spare, and does not settle it */
	fake_vacate();
	expect_owners("aaabbbbb");
	PLAY(&hw_sched_smqos, gives);
	PLAY(&hw_sched_smqos, back);
	assert_string_equal(fake.log, "retarget 7 b");
	assert_string_equal(fake_schedule(&hw_sched_smqos, HW_EV_SWITCHED), "");
}

/* An SM that was gated is woken for who gets it; an owner without blocks leaves its SMs idle, with
 * power. */
static void smqos_gates_and_wakes(void **state)
{
	static const double goals[] = {0, 4};
	static const struct step gates[] = {
		{{3, 5}, "aabb"}, {{3, 9}, "aaba"}, {{3.05, 4}, "aab_"}};
	static const struct step wakes[] = {{{3, 3}, "aabb"}};

	(void)state;
	begin(&hw_sched_smqos, goals, 2, "aabb");
	PLAY(&hw_sched_smqos, gates);
	PLAY(&hw_sched_smqos, wakes);
	fake_finish(1);
	fake_schedule(&hw_sched_smqos, HW_EV_FINISHED);
	expect_owners("aa..");
	fake_launch(1, 5, 4, 0);
	fake_schedule(&hw_sched_smqos, HW_EV_ARRIVED);
	expect_owners("aabb");
}

/* b's two blocks are on one of its SMs; the others have none and keep nobody from deciding. While
 * it has a block that waits for an idle SM, an epoch says nothing. */
static void smqos_settles_without_blocks(void **state)
{
	static const double goals[] = {0, 10};
	static const struct step gives[] = {{{4, 30}, "aaaab..a"}, {{5, 30}, "aaaab.aa"}};
	static const struct step waits[] = {{{6, 30}, "aaaabbaa"}};

	(void)state;
	fake_init(8, 1);
	(void)fake_app(goals[0]);
	(void)fake_app(goals[1]);
	fake_launch(0, 100000, 4, 0);
	fake_launch(1, 2, 4, 0);
	fake_schedule(&hw_sched_smqos, HW_EV_ARRIVED);
	expect_owners("aaaab...");
	PLAY(&hw_sched_smqos, gives);
	fake_kernel(1)->n_fresh = 1;
	PLAY(&hw_sched_smqos, waits);
}

/* ---- Spart ---- */

static void spart_plans(void **state)
{
	static const double goals[] = {6, 0, 4, 0};
	static const struct step steps[] = {
		/* a needs 6, but two are kept for each batch task and one for c, which gets no
		   more. */
		{{3, 1, 6, 1}, "aaabbcaadd"},
		/* a needs 3 of 5, c its one; the batch tasks share six. */
		{{10, 1, 4, 1}, "aaabbcdbdd"},
		/* 2.6 are three; who did nothing keeps what it has. */
		{{7, 1, 0, 1}, "aaabbcdbdd"},
		/* One at least; c needs 2; of 7 the first batch task has more. */
		{{60, 1, 2, 1}, "acbbbcdbdd"},
	};

	(void)state;
	begin(&hw_sched_spart, goals, 4, "aaabbcccdd");
	fake.sc.qos_batch_sms = 2;
	PLAY(&hw_sched_spart, steps);
	/* Nothing moves between epochs. */
	fake.insts[0] += 1;
	assert_string_equal(fake_schedule(&hw_sched_spart, HW_EV_SWITCHED | HW_EV_IDLE), "");
}

/* 5 on 4 SMs and 6 promised are 5 SMs. To make up for the first epoch 7, so 6 SMs; for what is
 * still missing after the second 6.25. Above its mean it needs its goal only. */
static void spart_catches_up(void **state)
{
	static const double goals[] = {6, 0};
	static const struct step spart[] = {{{5, 1}, "aaaabbba"}, {{6.5, 1}, "aaaabbba"}};
	static const struct step catchup[] = {
		{{5, 1}, "aaaabbaa"}, {{6.5, 1}, "aaaabbaa"}, {{12, 1}, "aaabbbbb"}};

	(void)state;
	begin(&hw_sched_spart, goals, 2, "aaaabbbb");
	PLAY(&hw_sched_spart, spart);
	begin(&hw_sched_spart_catchup, goals, 2, "aaaabbbb");
	PLAY(&hw_sched_spart_catchup, catchup);
}

/* More batch tasks than goals; the last SMs are theirs. */
static void spart_keeps_batch(void **state)
{
	static const double goals[] = {4, 0, 0};
	static const struct step steps[] = {{{1, 1, 1}, "aaabaca"}, {{1, 1, 1}, "aaabaca"}};

	(void)state;
	begin(&hw_sched_spart, goals, 3, "aaabbcc");
	PLAY(&hw_sched_spart, steps);
}

/* Goals alone: what is left over belongs to nobody, and has no power. */
static void spart_without_batch(void **state)
{
	static const double goals[] = {4, 4};
	static const struct step steps[] = {
		{{8, 4}, "aa_bbb"}, {{1, 4}, "aaabaa"}, {{10, 8}, "aa_b__"}};

	(void)state;
	begin(&hw_sched_spart, goals, 2, "aaabbb");
	PLAY(&hw_sched_spart, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smqos_moves),
		cmocka_unit_test(smqos_threshold),
		cmocka_unit_test(smqos_goals_first),
		cmocka_unit_test(smqos_nothing_to_take),
		cmocka_unit_test(smqos_cheapest_sm),
		cmocka_unit_test(smqos_settles),
		cmocka_unit_test(smqos_vacates),
		cmocka_unit_test(smqos_gates_and_wakes),
		cmocka_unit_test(smqos_settles_without_blocks),
		cmocka_unit_test(smqos_printed_search),
		cmocka_unit_test(spart_catches_up),
		cmocka_unit_test(spart_plans),
		cmocka_unit_test(spart_keeps_batch),
		cmocka_unit_test(spart_without_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
