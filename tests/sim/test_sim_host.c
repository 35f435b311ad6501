/*
 * The host of policies, action by action: a policy that does what the test wrote down, and the
 * times at which the core is told and the GPU changed. Blocks end at multiples of 300 us.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "sim/host.h"
#include "sim/hw/hw.h"
#include "support/sim_build.h"
#include "test.h"

#define US 1000ull /* in ns */

/* ---- the policy ---- */

struct order {
	uint64_t at_us;
	enum cot_action_kind kind;
	uint32_t entity, value;
};

static const struct order *orders;
static uint32_t n_orders, n_given;

static void give(struct cot_policy *p, const struct order *o)
{
	struct cot_entity *e, *found = NULL;
	int rc = 0;

	cot_for_each_entity (e, p)
		if (e->id == o->entity)
			found = e;
	assert_non_null(found);
	switch (o->kind) {
	case COT_ACTION_SLICE:
		rc = cot_set_slice(p, found, o->value);
		break;
	case COT_ACTION_MODE:
		rc = cot_set_mode(p, found, (enum cot_mode)o->value);
		break;
	case COT_ACTION_FREEZE:
		rc = cot_freeze(p, found);
		break;
	default:
		rc = cot_thaw(p, found);
		break;
	}
	assert_int_equal(rc, 0);
}

static uint64_t tick(struct cot_policy *p)
{
	while (n_given < n_orders && orders[n_given].at_us * US <= p->now_ns)
		give(p, &orders[n_given++]);
	return n_given < n_orders ? orders[n_given].at_us * US : COT_NEVER;
}

static struct cot_policy_ops policy = {
	.name = "orders",
	.summary = "what the test wrote down",
	.abi = COT_POLICY_ABI,
	.tick = tick,
};

/* ---- what happened ---- */

struct story {
	char text[2048];
	uint64_t freeze_due_us, thaw_due_us; /* when the GPU's context changed */
	struct hw_context last[2];
	uint64_t done_us[8]; /* of each answer, and its status */
	int status[8];
	uint32_t n_done;
};

static void tap(void *arg, const struct cot_event *ev, const struct cot_action *a)
{
	struct story *s = arg;

	(void)a;
	if (!ev || ev->type != COT_EV_DONE)
		return;
	assert_true(s->n_done < 8);
	assert_int_equal(ev->now_ns % US, 0);
	s->status[s->n_done] = ev->done.status;
	s->done_us[s->n_done++] = ev->now_ns / US;
}

static void note(struct story *s, uint64_t us, uint32_t context, const struct hw_context *c)
{
	size_t n = strlen(s->text);

	if (c->frozen && !s->last[context].frozen)
		s->freeze_due_us = us;
	if (!c->frozen && s->last[context].frozen)
		s->thaw_due_us = us;
	if (memcmp(c, &s->last[context], sizeof(*c)) != 0)
		(void)snprintf(s->text + n, sizeof(s->text) - n, "%s%c %llu%s%s", n ? ", " : "",
			       'a' + context, (unsigned long long)(c->slice_ps / COT_PS_PER_US),
			       c->frozen ? " frozen" : "",
			       c->preempt == COT_PREEMPT_DRAIN ? " drain" : "");
	s->last[context] = *c;
}

/* Plays to the end, and looks at the contexts after every instant. */
static void play_orders(const struct sim_build *b, const struct order *list, uint32_t n,
			struct story *s)
{
	struct cot_sim_host_options options = {.policy = &policy, .tap = tap, .tap_arg = s};
	enum cot_sim_status status = COT_SIM_MORE;
	struct cot_error err = {""};
	struct cot_sim_host *h;
	uint32_t i;

	*s = (struct story){.text = ""};
	orders = list;
	n_orders = n;
	n_given = 0;
	if (cot_sim_host_create(&b->sc, &options, NULL, NULL, &h, &err))
		fail_msg("%s", err.text);
	while (status == COT_SIM_MORE) {
		status = cot_sim_host_run(h, 1);
		for (i = 0; i < b->sc.n_apps && i < 2; i++)
			note(s, cot_sim_now_ps(cot_sim_host_sim(h)) / COT_PS_PER_US, i,
			     hw_context(cot_sim_hw(cot_sim_host_sim(h)), i));
	}
	assert_int_equal(status, COT_SIM_DONE);
	assert_int_equal(n_given, n);
	cot_sim_host_destroy(h);
}

/* A program with blocks of 300 us, one on each of 2 SMs, and little context. */
static void build_batch(struct sim_build *b, enum cot_preempt preempt)
{
	build_init(b, "timeslice", 2);
	(void)build_one(b, "a", 0, 200, 300, 1, 1);
	b->sc.preempt = preempt;
	b->sc.quantum_ps = 100000 * COT_PS_PER_US;
	build_stop_at(b, 6001);
}

/* ---- slices and modes ---- */

/* A control call takes 200 us. */
static void slices_and_modes(void **state)
{
	static const struct order list[] = {
		{1000, COT_ACTION_SLICE, 1, 500},
		{1100, COT_ACTION_MODE, 1, COT_MODE_DRAIN},
		{2000, COT_ACTION_SLICE, 1, COT_SLICE_DRIVER},
		{2500, COT_ACTION_MODE, 1, COT_MODE_SWITCH},
	};
	static struct sim_build b;
	static struct story s;

	(void)state;
	build_batch(&b, COT_PREEMPT_SWITCH);
	play_orders(&b, list, COT_ARRAY_LEN(list), &s);
	assert_string_equal(s.text, "a 100000, a 500, a 500 drain, a 100000 drain, a 100000");
	assert_int_equal(s.n_done, 4);
	assert_int_equal(s.done_us[0], 1200);
	assert_int_equal(s.done_us[1], 1300);
	assert_int_equal(s.done_us[2], 2200);
	assert_int_equal(s.done_us[3], 2700);
}

/* ---- freezing ---- */

/* Drained: acknowledged when the blocks that run have ended, not when the call is made. */
static void frozen_after_the_last_block(void **state)
{
	static const struct order list[] = {{1000, COT_ACTION_FREEZE, 1, 0},
					    {3000, COT_ACTION_THAW, 1, 0}};
	static struct sim_build b;
	static struct story s;

	(void)state;
	build_batch(&b, COT_PREEMPT_DRAIN);
	play_orders(&b, list, COT_ARRAY_LEN(list), &s);
	assert_string_equal(s.text, "a 100000 drain, a 100000 frozen drain, a 100000 drain");
	assert_in_range(s.freeze_due_us, 1450, 2000);
	assert_int_equal(s.n_done, 2);
	assert_int_equal(s.done_us[0], (s.freeze_due_us + 299) / 300 * 300);
	assert_true(s.done_us[0] != s.freeze_due_us);
	assert_in_range(s.done_us[1], 3600, 4200);
	assert_int_equal(s.done_us[1], s.thaw_due_us);
}

/* Switched: when the blocks are saved, 1 us on each SM. */
static void frozen_after_the_save(void **state)
{
	static const struct order list[] = {{1000, COT_ACTION_FREEZE, 1, 0}};
	static struct sim_build b;
	static struct story s;

	(void)state;
	build_batch(&b, COT_PREEMPT_SWITCH);
	play_orders(&b, list, COT_ARRAY_LEN(list), &s);
	assert_true(s.n_done >= 1);
	assert_int_equal(s.done_us[0], s.freeze_due_us + 1);
}

/* What comes later for the same entity is not carried out before; another's is. */
static void in_order(void **state)
{
	static const struct order list[] = {{1000, COT_ACTION_FREEZE, 1, 0},
					    {1000, COT_ACTION_SLICE, 1, 300},
					    {1000, COT_ACTION_SLICE, 2, 700}};
	static struct sim_build b;
	static struct story s;

	(void)state;
	build_batch(&b, COT_PREEMPT_SWITCH);
	(void)build_one(&b, "b", 0, 200, 300, 1, 1);
	build_stop_at(&b, 2500);
	play_orders(&b, list, COT_ARRAY_LEN(list), &s);
	assert_string_equal(s.text, "a 100000, b 100000, b 700, a 300 frozen");
	assert_int_equal(s.done_us[0], 1200);
	assert_in_range(s.done_us[1], s.freeze_due_us, s.freeze_due_us + 1);
}

/* A thaw that comes while the last block still runs ends the freeze; the program goes on as if
 * nothing had been. */
static void overtaken(void **state)
{
	static const struct order list[] = {{1000, COT_ACTION_FREEZE, 1, 0},
					    {1010, COT_ACTION_THAW, 1, 0}};
	static struct sim_build b;
	static struct story s;
	uint32_t i;

	(void)state;
	build_batch(&b, COT_PREEMPT_DRAIN);
	b.kernels[0][0].block_ps = 5000 * COT_PS_PER_US;
	play_orders(&b, list, COT_ARRAY_LEN(list), &s);
	assert_true(s.n_done >= 1);
	for (i = 0; i < s.n_done; i++) {
		assert_int_equal(s.status[i], 0);
		assert_true(s.done_us[i] < 5000);
	}
	assert_int_equal(s.done_us[s.n_done - 1], s.thaw_due_us ? s.thaw_due_us : s.done_us[0]);
	assert_false(s.last[0].frozen);
}

/* ---- actuators that fail, or say nothing ---- */

static int fault_status;

static int fault(void *arg, const struct cot_action *a)
{
	(void)arg;
	return a->kind == COT_ACTION_SLICE ? fault_status : 0;
}

static void faults(void **state)
{
	static const struct order list[] = {{1000, COT_ACTION_SLICE, 1, 500}};
	struct cot_sim_host_options options = {.policy = &policy, .fault = fault, .tap = tap};
	static struct sim_build b;
	static struct story s;
	struct cot_sim_host *h;
	struct cot_error err;

	(void)state;
	build_batch(&b, COT_PREEMPT_SWITCH);
	build_stop_at(&b, 1500);
	options.tap_arg = &s;
	for (fault_status = -5; fault_status <= COT_SIM_HOST_SILENT; fault_status += 6) {
		s = (struct story){.text = ""};
		orders = list;
		n_orders = 1;
		n_given = 0;
		assert_int_equal(cot_sim_host_create(&b.sc, &options, NULL, NULL, &h, &err), 0);
		assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
		assert_int_equal(hw_context(cot_sim_hw(cot_sim_host_sim(h)), 0)->slice_ps,
				 b.sc.quantum_ps);
		if (fault_status < 0) {
			assert_int_equal(s.n_done, 1);
			assert_int_equal(s.done_us[0], 1200);
			assert_int_equal(s.status[0], -5);
		} else {
			assert_int_equal(s.n_done, 0);
		}
		cot_sim_host_destroy(h);
	}
}

/* ---- pools ---- */

static void expect_contexts(const struct sim_build *b, const uint32_t *contexts)
{
	struct cot_sim_host_options options = {.policy = &policy};
	struct cot_error err = {""};
	struct cot_sim_host *h;
	uint32_t i;

	n_orders = 0;
	if (cot_sim_host_create(&b->sc, &options, NULL, NULL, &h, &err))
		fail_msg("%s", err.text);
	for (i = 0; i < b->sc.n_apps; i++)
		assert_int_equal(cot_sim_scenario(cot_sim_host_sim(h))->apps[i].context,
				 contexts[i]);
	cot_sim_host_destroy(h);
}

/* The first of a pool gives it its context; programs that stand alone have their own. */
static void pools(void **state)
{
	static const uint32_t two[] = {0, 1, 2, 1, 0, 5}, one[] = {0, 0, 2, 0, 0, 5},
			      none[] = {0, 1, 2, 3, 4, 5};
	static struct sim_build b;
	uint32_t i;

	(void)state;
	build_init(&b, "timeslice", 2);
	for (i = 0; i < 6; i++) {
		struct cot_app *app =
			build_one(&b, (const char[]){(char)('a' + i), 0}, 0, 2, 10, 1, 1);

		app->cls = i == 0 || i == 4 ? COT_CLASS_LATENCY : COT_CLASS_BATCH;
		app->solo = i == 2 || i == 5;
		app->context = 0;
	}
	policy.wants_pools = true;
	expect_contexts(&b, two);
	policy.one_pool = true;
	expect_contexts(&b, one);
	policy.one_pool = policy.wants_pools = false;
	expect_contexts(&b, none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_and_modes),
		cmocka_unit_test(frozen_after_the_last_block),
		cmocka_unit_test(frozen_after_the_save),
		cmocka_unit_test(in_order),
		cmocka_unit_test(overtaken),
		cmocka_unit_test(faults),
		cmocka_unit_test(pools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
