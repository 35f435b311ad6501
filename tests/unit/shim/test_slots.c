/* Control blocks of launches: who has them, and how they are made ready for the next launch. */
#include "no_merge.h"
#include "shim_context_stage.h"

/* As whoever makes or ends a launch does, with the lock. */
static struct cot_shim_slot *take_for(struct cot_shim_context *c, uint32_t next, uint32_t evict)
{
	const struct cot_workers_control armed_for = {.next = next, .evict = evict};
	struct cot_shim_slot *s;

	pthread_mutex_lock(&cot_shim_lock);
	s = cot_shim_slot_take(c, &armed_for);
	pthread_mutex_unlock(&cot_shim_lock);
	return s;
}

static struct cot_shim_slot *take(struct cot_shim_context *c, uint32_t next)
{
	return take_for(c, next, 0);
}

static void give(struct cot_shim_slot *s, bool used)
{
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_slot_give(s, used);
	pthread_mutex_unlock(&cot_shim_lock);
}

/* Every one has its own memory, and comes again when it is given back and ready. */
static void slots(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *s;
	bool seen[COT_SHIM_SLOTS] = {false};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_SHIM_SLOTS; i++) {
		s = take(c, 5);
		assert_non_null(s);
		assert_ptr_equal(s, &c->slots[s->index]);
		assert_ptr_equal(s->context, c);
		assert_int_equal(s->control, MEMORY + s->index * sizeof(host_memory[0]));
		assert_int_equal(s->state, COT_SHIM_SLOT_TAKEN);
		assert_false(seen[s->index]);
		seen[s->index] = true;
		assert_int_equal(c->n_busy, i + 1);
	}
	assert_null(take(c, 5));
	n_changes = 0;
	s->flag = 3;
	s->surplus = 2;
	s->timed = true;
	give(s, false);
	assert_int_equal(s->state, COT_SHIM_SLOT_FREE);
	assert_int_equal(n_changes, 1);
	assert_int_equal(c->n_busy, COT_SHIM_SLOTS - 1);
	assert_ptr_equal(take(c, 5), s);
	assert_int_equal(s->flag + s->surplus, 0);
	assert_false(s->timed);
}

/* One that was used is made ready first: for its next launch, with no flags. */
static void slots_are_armed(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *a = take(c, 5), *b = take(c, 5);

	(void)state;
	a->armed = 24;
	b->armed = 12;
	a->work = b->work = (struct cot_shim_work *)(void *)c;
	give(a, true);
	assert_int_equal(a->state, COT_SHIM_SLOT_ARMING);
	assert_null(a->work);
	assert_int_equal(c->n_busy, 2);
	cot_shim_context_arm(c);
	expect_done("0=24,128=0,132=0,256=0,260=0,264=0,in one;sync;");
	assert_int_equal(c->n_busy, 1);
	assert_int_equal(a->state, COT_SHIM_SLOT_FREE);
	/* One that is ready for the same is taken before others. */
	give(b, true);
	cot_shim_context_arm(c);
	expect_done("384=12,512=0,516=0,640=0,644=0,648=0,in one;sync;");
	assert_ptr_equal(take(c, 24), a);
	assert_ptr_equal(take(c, 24), b);
	/* Nothing to do: nothing is done. */
	cot_shim_context_arm(c);
	expect_done("");
}

/* Drivers without writes in stream order, or without several at once. */
static void other_drivers(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *s = take(c, 5);

	(void)state;
	s->armed = 7;
	has_batches = false;
	give(s, true);
	cot_shim_context_arm(c);
	expect_done("0=7,128=0,132=0,256=0,260=0,264=0,in one;"
		    "set 0=7;set 128=0;set 132=0;set 256=0;set 260=0;set 264=0;sync;");
	assert_int_equal(cot_shim_write(c, OURS, MEMORY + 128, 3), 0);
	expect_done("write 128=3;");
	has_mem_ops = false;
	c = make_context(SECOND);
	assert_false(c->mem_ops);
	assert_int_equal(cot_shim_write(c, OURS, MEMORY + 128, 3), 0);
	expect_done("set 128=3;");
	s = take(c, 5);
	give(s, true);
	cot_shim_context_arm(c);
	expect_done("set 0=0;set 128=0;set 132=0;set 256=0;set 260=0;set 264=0;sync;");
}

static void reads_back(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *s;

	(void)state;
	(void)take(c, 5);
	s = take(c, 5);
	assert_int_equal(cot_shim_read(s), 0);
	expect_done("copy 384 to 1;sync;");
	fails = "copy";
	assert_int_equal(cot_shim_read(s), 2);
	expect_done("copy 384 to 1;");
	fails = "sync";
	assert_int_equal(cot_shim_read(s), 2);
	assert_false(is_locked(&c->submit));
}

/* It looks for one that is ready among the first ones only; the others stay where they are. */
static void ready_ones_are_looked_for(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);

	(void)state;
	c->slots[LOOK_FOR_ARMED - 1].armed = 24;
	c->slots[LOOK_FOR_ARMED + 1].armed = 36;
	assert_ptr_equal(take(c, 24), &c->slots[LOOK_FOR_ARMED - 1]);
	assert_ptr_equal(take(c, 36), &c->slots[0]);
	assert_ptr_equal(take(c, 36), &c->slots[LOOK_FOR_ARMED + 1]);
	assert_ptr_equal(take(c, 5), &c->slots[1]);
}

/* Those whose surplus leaves at once are ready for such a launch. */
static void flags_are_armed(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *a = take(c, 5), *b = take(c, 5);

	(void)state;
	a->armed_flag = 7;
	b->armed_flag = 6;
	give(a, true);
	give(b, true);
	cot_shim_context_arm(c);
	expect_done(
		"384=0,512=6,516=0,640=0,644=0,648=0,in one;0=0,128=7,132=0,256=0,260=0,264=0,in one;"
		"sync;");
	assert_ptr_equal(take_for(c, 0, 6), b);
	assert_ptr_equal(take_for(c, 0, 7), a);
	assert_int_equal(take(c, 0)->armed_flag, 0);
}

static struct cot_shim_slot *slot_with(struct cot_shim_context *c, uint32_t begun, uint32_t surplus)
{
	struct cot_shim_slot *s = take(c, 5);

	s->end = EVENT;
	s->args.begun = begun;
	s->flag = s->surplus = surplus;
	return s;
}

/* What is not ready is written, in an order in which nothing larger of the listener's is lost. */
static void slots_become_ready(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *s = slot_with(c, 24, 0);

	(void)state;
	assert_int_equal(cot_shim_slot_ready(s, STREAM), 0);
	expect_done("write 0=24 there;");
	assert_int_equal(cot_shim_slot_ready(s, STREAM), 0);
	expect_done("");
	s->args.begun = 0;
	s->flag = s->surplus = 7;
	assert_int_equal(cot_shim_slot_ready(s, STREAM), 0);
	expect_done("write 0=0 there;write 128=7;record;wait;");
	assert_int_equal(cot_shim_slot_ready(s, STREAM), 0);
	expect_done("");
	s->surplus = 6;
	s->flag = 9; /* the listener's */
	s->anywhere = true;
	assert_int_equal(cot_shim_slot_ready(s, STREAM), 0);
	expect_done("write 128=2147483657;record;wait;");
	assert_int_equal(s->armed_flag, 6);
	assert_false(is_locked(&c->submit));
}

static void slots_that_cannot(void **state)
{
	static const char *const rows[][2] = {
		{"write", "write 0=24 there;"},
		{"record", "write 0=24 there;write 128=7;record;"},
		{"wait", "write 0=24 there;write 128=7;record;wait;"}};
	struct cot_shim_context *c;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		(void)set_up(state);
		c = make_context(FIRST);
		fails = rows[i][0];
		assert_int_equal(cot_shim_slot_ready(slot_with(c, 24, 7), STREAM), 2);
		expect_done(rows[i][1]);
		assert_false(is_locked(&c->submit));
	}
}

/* Nobody is to leave any longer. */
static void slots_are_reset(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *s = take(c, 5);

	(void)state;
	s->armed_flag = 7;
	assert_int_equal(cot_shim_slot_reset(s), 0);
	expect_done("write 128=0;write 132=0;write 260=0;write 264=0;sync;");
	assert_int_equal(s->armed_flag, 0);
	assert_false(is_locked(&c->submit));
	fails = "sync";
	assert_int_equal(cot_shim_slot_reset(s), 2);
}

static void several_are_armed(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *a = take(c, 5), *b = take(c, 5);

	(void)state;
	give(a, true);
	give(b, true);
	n_changes = 0;
	cot_shim_context_arm(c);
	expect_done(
		"384=0,512=0,516=0,640=0,644=0,648=0,in one;0=0,128=0,132=0,256=0,260=0,264=0,in one;"
		"sync;");
	assert_int_equal(c->n_busy, 0);
	assert_int_equal(n_changes, 2);
	assert_null(c->to_arm);
	assert_ptr_equal(take(c, 0), a);
	assert_ptr_equal(take(c, 0), b);
	assert_false(is_locked(&c->submit));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(slots, set_up),
		cmocka_unit_test_setup(slots_are_armed, set_up),
		cmocka_unit_test_setup(ready_ones_are_looked_for, set_up),
		cmocka_unit_test_setup(flags_are_armed, set_up),
		cmocka_unit_test_setup(slots_become_ready, set_up),
		cmocka_unit_test_setup(slots_that_cannot, set_up),
		cmocka_unit_test_setup(slots_are_reset, set_up),
		cmocka_unit_test_setup(several_are_armed, set_up),
		cmocka_unit_test_setup(other_drivers, set_up),
		cmocka_unit_test_setup(reads_back, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
