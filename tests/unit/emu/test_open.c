/* Kernels of the emulated GPU that end when their owner says so, with a clock that is set by hand.
 */
#include <stdlib.h>

#include "emu/gpu/model.h"
#include "test.h"

#define US     1000ull
#define MS     (1000ull * US)
#define N_NONE ((struct cot_emu_ticket){0, 0})

/* One process with one group of one channel. */
struct proc {
	uint32_t client;
	struct cot_emu_group_id group;
	struct cot_emu_channel_id channel;
};

static struct cot_emu_model *m;

static int setup(void **state)
{
	struct cot_emu_params p = cot_emu_params_default();

	(void)state;
	m = malloc(sizeof(*m));
	cot_emu_model_init(m, &p, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(m);
	return 0;
}

static struct proc proc_make(void)
{
	struct proc p;

	assert_int_equal(cot_emu_model_client_add(m, 0, 1000, 1, &p.client), 0);
	assert_int_equal(cot_emu_model_group_add(m, p.client, 0, COT_EMU_ENGINE_GRAPHICS, &p.group),
			 0);
	assert_int_equal(cot_emu_model_channel_add(m, p.group, &p.channel), 0);
	assert_int_equal(cot_emu_model_set_slice(m, p.group, MS), 0);
	return p;
}

static struct cot_emu_ticket submit(const struct proc *p, const struct cot_emu_work *work)
{
	struct cot_emu_ticket t;

	assert_int_equal(cot_emu_model_submit(m, p->channel, p->client, work, N_NONE, &t), 0);
	return t;
}

/* 100 us of work, in one block. */
static struct cot_emu_ticket launch(const struct proc *p)
{
	return submit(p, &(struct cot_emu_work){.total_ns = 100 * US,
						.block_ns = 100 * US,
						.demand = COT_EMU_WHOLE_GPU});
}

static struct cot_emu_ticket launch_open(const struct proc *p)
{
	return submit(p, &(struct cot_emu_work){.open = true, .demand = COT_EMU_WHOLE_GPU});
}

static uint64_t ended_us(struct cot_emu_ticket t)
{
	struct cot_emu_outcome o = cot_emu_model_outcome(m, t);

	assert_int_equal(o.state, COT_EMU_KERNEL_DONE);
	return o.ended_ns / US;
}

/* The owner's threads go on. */
static void unpark(struct cot_emu_ticket t)
{
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_MAY_RUN);
	cot_emu_model_park(m, t, false);
}

static void it_ends_when_its_owner_says_so(void **state)
{
	struct proc p = proc_make();
	struct cot_emu_ticket t, next;

	(void)state;
	assert_false(cot_emu_model_has_open(m));
	t = launch_open(&p);
	next = launch(&p);
	assert_true(cot_emu_model_has_open(m));
	unpark(t);
	cot_emu_model_advance(m, 700 * MS);
	assert_int_equal(cot_emu_model_outcome(m, t).state, COT_EMU_KERNEL_QUEUED);
	cot_emu_model_end(m, t, false);
	assert_int_equal(ended_us(t), 700000);
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_IS_OVER);
	assert_false(cot_emu_model_has_open(m));
	cot_emu_model_advance(m, 701 * MS);
	assert_int_equal(ended_us(next), 700100);
}

static void its_group_leaves_when_it_has_stopped(void **state)
{
	struct proc a = proc_make(), b = proc_make();
	struct cot_emu_ticket t = launch_open(&a), other;

	(void)state;
	unpark(t);
	cot_emu_model_advance(m, 500 * US);
	other = launch(&b);
	cot_emu_model_advance(m, 999 * US);
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_MAY_RUN);
	cot_emu_model_advance(m, 1000 * US);
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_MUST_STOP);
	/* It takes 60 us to stop; until then the group is on the GPU. */
	cot_emu_model_advance(m, 1060 * US);
	assert_true(cot_emu_model_resident(m, a.group));
	cot_emu_model_park(m, t, true);
	cot_emu_model_advance(m, 2000 * US);
	assert_int_equal(ended_us(other), 1060 + 170 + 100);
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_MAY_RUN);
}

/* In a channel of its own in the group of the first. */
static struct cot_emu_ticket fill(const struct proc *p, uint32_t first_sm, uint32_t n_sms)
{
	struct cot_emu_work work = {.open = true, .fills = true, .demand = COT_EMU_WHOLE_GPU / 4};
	struct cot_emu_sms before = cot_emu_sms_first(first_sm + n_sms);
	struct proc own = *p;

	(void)cot_emu_sms_take(&before, first_sm);
	work.sms = before;
	assert_int_equal(cot_emu_model_channel_add(m, p->group, &own.channel), 0);
	return submit(&own, &work);
}

static void blocks_that_fill_sms_wait_for_those_on_the_same(void **state)
{
	struct proc p = proc_make();
	struct cot_emu_ticket low = fill(&p, 0, 16), high = fill(&p, 16, 16), both, everywhere;

	(void)state;
	unpark(low);
	unpark(high);
	both = fill(&p, 8, 16);
	everywhere = fill(&p, 0, 0);
	cot_emu_model_advance(m, MS);
	assert_int_equal(cot_emu_model_leave_to(m, low), COT_EMU_MAY_RUN);
	assert_int_equal(cot_emu_model_leave_to(m, both), COT_EMU_MUST_STOP);
	cot_emu_model_end(m, low, false);
	assert_int_equal(cot_emu_model_leave_to(m, both), COT_EMU_MUST_STOP);
	cot_emu_model_end(m, high, false);
	assert_int_equal(cot_emu_model_leave_to(m, both), COT_EMU_MAY_RUN);
	assert_int_equal(cot_emu_model_leave_to(m, everywhere), COT_EMU_MUST_STOP);
	/* What leaves room anywhere does not wait. */
	assert_int_equal(cot_emu_model_leave_to(m, launch_open(&p)), COT_EMU_MAY_RUN);
}

static void one_that_does_not_stop_is_switched_out_all_the_same(void **state)
{
	struct proc a = proc_make(), b = proc_make();
	struct cot_emu_ticket t = launch_open(&a), other;

	(void)state;
	unpark(t);
	other = launch(&b);
	cot_emu_model_advance(m, 100 * MS);
	assert_int_equal(ended_us(other), 1000 + COT_EMU_PARK_NS / US + 170 + 100);
}

static void draining_waits_for_the_owner_without_a_limit(void **state)
{
	struct proc a = proc_make(), b = proc_make();
	struct cot_emu_ticket t = launch_open(&a), other;

	(void)state;
	assert_int_equal(cot_emu_model_set_mode(m, a.channel, COT_NV_PREEMPTION_CTA), 0);
	unpark(t);
	other = launch(&b);
	cot_emu_model_advance(m, 300 * MS);
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_MAY_DRAIN);
	cot_emu_model_park(m, t, true);
	cot_emu_model_advance(m, 400 * MS);
	assert_int_equal(ended_us(other), 300000 + 80 + 100);
}

static void frozen_it_stops_and_thawed_it_goes_on(void **state)
{
	struct proc a = proc_make();
	struct cot_emu_ticket t = launch_open(&a);

	(void)state;
	unpark(t);
	cot_emu_model_advance(m, 10 * US);
	assert_int_equal(cot_emu_model_disable(m, a.channel, true, false), 0);
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_MUST_STOP);
	assert_true(cot_emu_model_channel_resident(m, a.channel));
	cot_emu_model_park(m, t, true);
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_MUST_STOP);
	cot_emu_model_advance(m, 1 * MS);
	assert_false(cot_emu_model_channel_resident(m, a.channel));
	assert_int_equal(cot_emu_model_disable(m, a.channel, false, false), 0);
	cot_emu_model_advance(m, 2 * MS);
	assert_int_equal(cot_emu_model_leave_to(m, t), COT_EMU_MAY_RUN);
}

static void its_fault_takes_the_group_along(void **state)
{
	struct proc a = proc_make();
	struct cot_emu_ticket t = launch_open(&a), next = launch(&a);

	(void)state;
	unpark(t);
	cot_emu_model_end(m, t, true);
	assert_int_equal(cot_emu_model_outcome(m, t).state, COT_EMU_KERNEL_FAULTED);
	assert_int_equal(cot_emu_model_outcome(m, next).state, COT_EMU_KERNEL_FAULTED);
	assert_true(cot_emu_model_group(m, a.group)->faulted);
	cot_emu_model_client_drop(m, a.client);
	assert_int_equal(m->n_kernels, 0);
}

static void a_client_that_dies_takes_it_along(void **state)
{
	struct proc a = proc_make(), b = proc_make();
	struct cot_emu_ticket t = launch_open(&a), other;

	(void)state;
	unpark(t);
	other = launch(&b);
	cot_emu_model_advance(m, 3 * MS);
	cot_emu_model_client_drop(m, a.client);
	cot_emu_model_advance(m, 10 * MS);
	assert_int_equal(ended_us(other), 3000 + 170 + 100);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(it_ends_when_its_owner_says_so),
		CASE(its_group_leaves_when_it_has_stopped),
		CASE(blocks_that_fill_sms_wait_for_those_on_the_same),
		CASE(one_that_does_not_stop_is_switched_out_all_the_same),
		CASE(draining_waits_for_the_owner_without_a_limit),
		CASE(frozen_it_stops_and_thawed_it_goes_on),
		CASE(its_fault_takes_the_group_along),
		CASE(a_client_that_dies_takes_it_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
