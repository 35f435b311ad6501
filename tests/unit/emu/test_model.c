/* The emulated GPU with a clock that is set by hand. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "emu/gpu/model.h"
#include "test.h"

#define US     1000ull
#define MS     (1000ull * US)
#define N_NONE ((struct cot_emu_ticket){0, 0})

struct bench {
	struct cot_emu_model *m;
};

/* One process with one group of one channel. */
struct proc {
	uint32_t client;
	struct cot_emu_group_id group;
	struct cot_emu_channel_id channel;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct cot_emu_params p = cot_emu_params_default();

	b->m = malloc(sizeof(*b->m));
	cot_emu_model_init(b->m, &p, 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	free(b->m);
	free(b);
	return 0;
}

static struct proc proc_make(struct cot_emu_model *m, uint64_t slice_us)
{
	struct proc p;

	assert_int_equal(cot_emu_model_client_add(m, 0, 1000, 1, &p.client), 0);
	assert_int_equal(cot_emu_model_group_add(m, p.client, 0, COT_EMU_ENGINE_GRAPHICS, &p.group),
			 0);
	assert_int_equal(cot_emu_model_channel_add(m, p.group, &p.channel), 0);
	assert_int_equal(cot_emu_model_set_slice(m, p.group, slice_us * US), 0);
	return p;
}

static struct cot_emu_ticket launch(struct cot_emu_model *m, const struct proc *p, uint64_t total,
				    uint64_t block, uint32_t demand)
{
	struct cot_emu_work w = {.total_ns = total, .block_ns = block, .demand = demand};
	struct cot_emu_ticket t;

	assert_int_equal(cot_emu_model_submit(m, p->channel, p->client, &w, N_NONE, &t), 0);
	return t;
}

static uint64_t ended_us(const struct cot_emu_model *m, struct cot_emu_ticket t)
{
	struct cot_emu_outcome o = cot_emu_model_outcome(m, t);

	assert_int_equal(o.state, COT_EMU_KERNEL_DONE);
	return o.ended_ns / US;
}

static void alone_a_kernel_takes_its_time(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 100);
	struct cot_emu_ticket t;

	cot_emu_model_advance(m, 1 * MS);
	t = launch(m, &a, 43 * MS, 43 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 44 * MS - 1);
	assert_int_equal(cot_emu_model_outcome(m, t).state, COT_EMU_KERNEL_QUEUED);
	assert_int_equal(cot_emu_model_next(m), 44 * MS);
	cot_emu_model_advance(m, 50 * MS);
	assert_int_equal(ended_us(m, t), 44000);
	assert_int_equal(m->engines[0].n_switches, 1);
	cot_emu_model_release(m, t);
	assert_int_equal(cot_emu_model_outcome(m, t).state, COT_EMU_KERNEL_FREE);
}

/* The measured arrangement: batch slices of 100 us, requests of 129 us, a switch of 170 us. */
static void a_request_waits_for_a_short_slice_and_a_switch(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc batch = proc_make(m, 100), request = proc_make(m, 10000);
	struct cot_emu_ticket big, small;

	big = launch(m, &batch, 43 * MS, 43 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 3030 * US);
	small = launch(m, &request, 129 * US, 129 * US, 120);
	cot_emu_model_advance(m, 4 * MS);
	/* 70 us until the slice ends, 170 us to save the batch program, 129 us of work. */
	assert_int_equal(ended_us(m, small), 3030 + 70 + 170 + 129);
	cot_emu_model_advance(m, 100 * MS);
	/* The batch program loses the request's time and one switch, no more. */
	assert_int_equal(ended_us(m, big), 43000 + 129 + 170);
}

static void with_the_default_slice_a_request_waits_up_to_2_ms(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc batch = proc_make(m, 2048), request = proc_make(m, 2048);
	struct cot_emu_ticket small;

	launch(m, &batch, 43 * MS, 43 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 2060 * US);
	small = launch(m, &request, 129 * US, 129 * US, 120);
	cot_emu_model_advance(m, 6 * MS);
	assert_int_equal(ended_us(m, small), 2 * 2048 + 170 + 129);
}

static void two_short_slices_destroy_each_other(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 100), b = proc_make(m, 100);
	uint64_t ran;

	launch(m, &a, 1000 * MS, 1000 * MS, COT_EMU_WHOLE_GPU);
	launch(m, &b, 1000 * MS, 1000 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 100 * MS);
	cot_emu_model_book(m);
	ran = cot_emu_model_group(m, a.group)->ran_ns + cot_emu_model_group(m, b.group)->ran_ns;
	/* 100 us of work for each 170 us of switching. */
	assert_in_range(ran / US, 36900, 37200);
}

static void slices_divide_the_gpu_in_proportion(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 10000), b = proc_make(m, 100);

	launch(m, &a, 1000 * MS, 1000 * MS, COT_EMU_WHOLE_GPU);
	launch(m, &b, 1000 * MS, 1000 * MS, COT_EMU_WHOLE_GPU);
	/* One round: 10000 + 170 + 100 + 170. */
	cot_emu_model_advance(m, 10 * 10440 * US);
	cot_emu_model_book(m);
	assert_int_equal(cot_emu_model_group(m, a.group)->ran_ns, 10 * 10 * MS);
	assert_int_equal(cot_emu_model_group(m, b.group)->ran_ns, 10 * 100 * US);
	assert_int_equal(cot_emu_model_group(m, b.group)->n_turns, 10);
}

static void a_frozen_group_stays_off(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 100);
	struct cot_emu_ticket t = launch(m, &a, 10 * MS, 10 * MS, COT_EMU_WHOLE_GPU);

	cot_emu_model_advance(m, 4 * MS);
	assert_int_equal(cot_emu_model_disable(m, a.channel, true, false), 0);
	assert_true(cot_emu_model_channel_resident(m, a.channel));
	cot_emu_model_advance(m, 4 * MS + 170 * US);
	assert_false(cot_emu_model_channel_resident(m, a.channel));
	assert_int_equal(cot_emu_model_next(m), COT_EMU_NEVER);
	cot_emu_model_advance(m, 500 * MS);
	assert_int_equal(cot_emu_model_outcome(m, t).state, COT_EMU_KERNEL_QUEUED);
	assert_int_equal(cot_emu_model_disable(m, a.channel, false, false), 0);
	cot_emu_model_advance(m, 600 * MS);
	assert_int_equal(ended_us(m, t), 506000);
}

static void freezing_one_of_two_leaves_the_gpu_to_the_other(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 100), b = proc_make(m, 100);
	struct cot_emu_ticket tb;

	assert_int_equal(cot_emu_model_disable(m, a.channel, true, false), 0);
	launch(m, &a, 10 * MS, 10 * MS, COT_EMU_WHOLE_GPU);
	tb = launch(m, &b, 10 * MS, 10 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 50 * MS);
	assert_int_equal(ended_us(m, tb), 10000);
}

static void disabling_only_the_scheduling_waits_for_the_slice(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 5000);

	launch(m, &a, 100 * MS, 100 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 1 * MS);
	assert_int_equal(cot_emu_model_disable(m, a.channel, true, true), 0);
	cot_emu_model_advance(m, 4999 * US);
	assert_true(cot_emu_model_channel_resident(m, a.channel));
	cot_emu_model_advance(m, 5170 * US);
	assert_false(cot_emu_model_channel_resident(m, a.channel));
	assert_int_equal(cot_emu_model_group(m, a.group)->ran_ns, 5 * MS);
}

static void draining_waits_for_the_block(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc batch = proc_make(m, 100), request = proc_make(m, 10000);
	struct cot_emu_ticket small;

	assert_int_equal(cot_emu_model_set_mode(m, batch.channel, COT_NV_PREEMPTION_CTA), 0);
	launch(m, &batch, 43 * MS, 1 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 1350 * US);
	small = launch(m, &request, 129 * US, 129 * US, 120);
	cot_emu_model_advance(m, 5 * MS);
	/* The slice ends at 1400, the block at 2000; nothing has to be saved. */
	assert_int_equal(ended_us(m, small), 2000 + 80 + 129);
}

static void draining_one_long_block_waits_for_all_of_it(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc batch = proc_make(m, 100), request = proc_make(m, 10000);
	struct cot_emu_ticket small, big;

	assert_int_equal(cot_emu_model_set_mode(m, batch.channel, COT_NV_PREEMPTION_CTA), 0);
	big = launch(m, &batch, 43 * MS, 43 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 3 * MS);
	small = launch(m, &request, 129 * US, 129 * US, 120);
	cot_emu_model_advance(m, 50 * MS);
	assert_int_equal(ended_us(m, big), 43000);
	assert_int_equal(ended_us(m, small), 43000 + 129);
}

static void inside_one_group_kernels_share_the_sms(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc server = proc_make(m, 2048), client = server;
	struct cot_emu_ticket a, b, c;

	assert_int_equal(cot_emu_model_client_add(m, 0, 1001, 1, &client.client), 0);
	assert_int_equal(cot_emu_model_channel_add(m, server.group, &client.channel), 0);
	/* Together they fit: nobody slows down. */
	a = launch(m, &server, 10 * MS, 10 * MS, 400);
	b = launch(m, &client, 6 * MS, 6 * MS, 600);
	cot_emu_model_advance(m, 20 * MS);
	assert_int_equal(ended_us(m, a), 10000);
	assert_int_equal(ended_us(m, b), 6000);
	/* Two whole GPUs' worth: half the speed, until one of them has ended. */
	a = launch(m, &server, 10 * MS, 10 * MS, 1000);
	b = launch(m, &client, 5 * MS, 5 * MS, 1000);
	cot_emu_model_advance(m, 60 * MS);
	assert_int_equal(ended_us(m, b), 20000 + 10000);
	assert_int_equal(ended_us(m, a), 20000 + 15000);
	/* In one channel they go one after the other. */
	a = launch(m, &server, 1 * MS, 1 * MS, 100);
	c = launch(m, &server, 1 * MS, 1 * MS, 100);
	cot_emu_model_advance(m, 70 * MS);
	assert_int_equal(ended_us(m, a), 61000);
	assert_int_equal(ended_us(m, c), 62000);
}

/* A kernel that fills the SMs [first, first + n), in a channel of its own. */
static struct cot_emu_ticket launch_on(struct cot_emu_model *m, const struct proc *p,
				       uint64_t total, uint32_t first, uint32_t n)
{
	struct cot_emu_work w = {.total_ns = total, .block_ns = total, .demand = 1000};
	struct cot_emu_channel_id channel;
	struct cot_emu_ticket t;

	w.sms = cot_emu_sms_first(first + n);
	(void)cot_emu_sms_take(&w.sms, first);
	assert_int_equal(cot_emu_model_channel_add(m, p->group, &channel), 0);
	assert_int_equal(cot_emu_model_submit(m, channel, p->client, &w, N_NONE, &t), 0);
	return t;
}

static void kernels_on_different_sms_do_not_notice_each_other(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 2048);
	struct cot_emu_ticket low = launch_on(m, &a, 10 * MS, 0, 64);
	struct cot_emu_ticket high = launch_on(m, &a, 20 * MS, 64, 68);

	cot_emu_model_advance(m, 100 * MS);
	assert_int_equal(ended_us(m, low), 10000);
	assert_int_equal(ended_us(m, high), 20000);
}

static void kernels_on_the_same_sms_slow_each_other(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 2048);
	struct cot_emu_ticket one = launch_on(m, &a, 10 * MS, 0, 64);
	struct cot_emu_ticket two = launch_on(m, &a, 10 * MS, 0, 64);
	struct cot_emu_ticket apart = launch_on(m, &a, 10 * MS, 64, 68);

	cot_emu_model_advance(m, 100 * MS);
	assert_int_equal(ended_us(m, one), 20000);
	assert_int_equal(ended_us(m, two), 20000);
	assert_int_equal(ended_us(m, apart), 10000);
}

/* A kernel on all SMs loses half of those that it shares, here 66 of 132. */
static void a_kernel_gets_on_as_the_average_of_its_sms(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 2048);
	struct cot_emu_ticket all = launch(m, &a, 30 * MS, 30 * MS, 1000);
	struct cot_emu_ticket part = launch_on(m, &a, 10 * MS, 0, 66);

	/* For 20 ms the one works at 3/4, the other at 1/2. */
	cot_emu_model_advance(m, 100 * MS);
	assert_int_equal(ended_us(m, part), 20000);
	assert_in_range(ended_us(m, all), 35000 - 1, 35000 + 1);
}

static void preempt_sends_the_group_to_the_end(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 10000), b = proc_make(m, 10000);
	struct cot_emu_ticket tb;

	launch(m, &a, 100 * MS, 100 * MS, COT_EMU_WHOLE_GPU);
	tb = launch(m, &b, 1 * MS, 1 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 2 * MS);
	assert_int_equal(cot_emu_model_preempt(m, a.group), 0);
	assert_true(cot_emu_model_resident(m, a.group));
	cot_emu_model_advance(m, 2 * MS + 170 * US);
	assert_int_equal(cot_emu_model_group(m, a.group)->n_left, 1);
	cot_emu_model_advance(m, 5 * MS);
	assert_int_equal(ended_us(m, tb), 3170);
	/* Alone on the run list it comes straight back. */
	assert_int_equal(cot_emu_model_preempt(m, a.group), 0);
	cot_emu_model_advance(m, 6 * MS);
	assert_true(cot_emu_model_resident(m, a.group));
	assert_int_equal(cot_emu_model_group(m, a.group)->n_left, 2);
}

static void the_death_of_a_client_frees_the_gpu(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 10000), b = proc_make(m, 10000);
	struct cot_emu_ticket tb;

	launch(m, &a, 1000 * MS, 1000 * MS, COT_EMU_WHOLE_GPU);
	tb = launch(m, &b, 1 * MS, 1 * MS, COT_EMU_WHOLE_GPU);
	cot_emu_model_advance(m, 3 * MS);
	assert_true(cot_emu_model_client_busy(m, a.client));
	cot_emu_model_client_drop(m, a.client);
	assert_null(cot_emu_model_group(m, a.group));
	assert_null(cot_emu_model_channel(m, a.channel));
	cot_emu_model_advance(m, 10 * MS);
	assert_int_equal(ended_us(m, tb), 3000 + 170 + 1000);
}

static void the_death_of_a_server_faults_its_clients(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc server = proc_make(m, 2048), client = server;
	struct cot_emu_ticket t;

	assert_int_equal(cot_emu_model_client_add(m, 0, 1001, 1, &client.client), 0);
	t = launch(m, &client, 10 * MS, 10 * MS, 100);
	cot_emu_model_advance(m, 1 * MS);
	cot_emu_model_client_drop(m, server.client);
	assert_int_equal(cot_emu_model_outcome(m, t).state, COT_EMU_KERNEL_FAULTED);
	cot_emu_model_client_drop(m, client.client);
	assert_int_equal(m->n_kernels, 0);
	assert_int_equal(m->n_clients, 0);
}

static void a_trap_takes_its_group_and_no_other(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc pool = proc_make(m, 1000), other = proc_make(m, 1000), mate = pool;
	struct cot_emu_work trap = {
		.total_ns = 10 * US, .block_ns = 10 * US, .demand = 10, .traps = true};
	struct cot_emu_ticket tt, tm, to;

	assert_int_equal(cot_emu_model_channel_add(m, pool.group, &mate.channel), 0);
	tm = launch(m, &mate, 50 * MS, 50 * MS, 900);
	to = launch(m, &other, 5 * MS, 5 * MS, 900);
	assert_int_equal(cot_emu_model_submit(m, pool.channel, pool.client, &trap, N_NONE, &tt), 0);
	cot_emu_model_advance(m, 20 * MS);
	assert_int_equal(cot_emu_model_outcome(m, tt).state, COT_EMU_KERNEL_FAULTED);
	assert_int_equal(cot_emu_model_outcome(m, tm).state, COT_EMU_KERNEL_FAULTED);
	assert_int_equal(cot_emu_model_outcome(m, to).state, COT_EMU_KERNEL_DONE);
	assert_int_equal(cot_emu_model_submit(m, mate.channel, mate.client, &trap, N_NONE, &tt),
			 -EIO);
}

static void a_kernel_waits_for_another_channel(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 1000), b = proc_make(m, 1000);
	struct cot_emu_work w = {.total_ns = 1 * MS, .block_ns = 1 * MS, .demand = 100};
	struct cot_emu_ticket ta = launch(m, &a, 5 * MS, 5 * MS, 100), tb;

	assert_int_equal(cot_emu_model_submit(m, b.channel, b.client, &w, ta, &tb), 0);
	cot_emu_model_advance(m, 10 * MS);
	assert_int_equal(ended_us(m, ta), 5000);
	assert_int_equal(ended_us(m, tb), 6000);
}

static void limits_hold(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	struct proc a = proc_make(m, 1000);
	struct cot_emu_work w = {.total_ns = 1 * MS, .block_ns = 1 * MS, .demand = 100};
	struct cot_emu_group_id g;
	struct cot_emu_channel_id c;
	struct cot_emu_ticket t;
	uint32_t client;
	unsigned i;

	for (i = 0; i < COT_EMU_MAX_QUEUED; i++)
		launch(m, &a, 1 * MS, 1 * MS, 100);
	assert_int_equal(cot_emu_model_submit(m, a.channel, a.client, &w, N_NONE, &t), -EAGAIN);
	for (i = 1; i < COT_EMU_MAX_GROUPS; i++)
		assert_int_equal(cot_emu_model_group_add(m, a.client, 0, COT_EMU_ENGINE_COPY, &g),
				 0);
	assert_int_equal(cot_emu_model_group_add(m, a.client, 0, COT_EMU_ENGINE_COPY, &g), -ENOSPC);
	for (i = 1; i < COT_EMU_MAX_CHANNELS; i++)
		assert_int_equal(cot_emu_model_channel_add(m, a.group, &c), 0);
	assert_int_equal(cot_emu_model_channel_add(m, a.group, &c), -ENOSPC);
	for (i = 1; i < COT_EMU_MAX_CLIENTS; i++)
		assert_int_equal(cot_emu_model_client_add(m, 0, 7, 7, &client), 0);
	assert_int_equal(cot_emu_model_client_add(m, 0, 7, 7, &client), -ENOSPC);
	assert_int_equal(cot_emu_model_set_slice(m, a.group, 0), -EINVAL);
	assert_int_equal(cot_emu_model_set_mode(m, a.channel, 3), -EINVAL);
	w.demand = COT_EMU_WHOLE_GPU + 1;
	assert_int_equal(cot_emu_model_submit(m, a.channel, a.client, &w, N_NONE, &t), -EINVAL);
	cot_emu_model_client_drop(m, a.client);
	assert_int_equal(m->n_groups, 0);
	assert_int_equal(m->n_channels, 0);
	assert_int_equal(m->n_kernels, 0);
}

/* ---- properties ---- */

#define N_PROCS 4
#define N_ACTS	400

/* One random thing that a process does; the day's clock stands still meanwhile. */
static void act(struct cot_emu_model *m, const struct proc *p, struct cot_rng *r)
{
	uint64_t block = 1 + cot_rng_below(r, 2 * MS), waves = 1 + cot_rng_below(r, 8);
	struct cot_emu_work w = {
		.total_ns = block * waves,
		.block_ns = block,
		.demand = (uint32_t)(1 + cot_rng_below(r, COT_EMU_WHOLE_GPU)),
	};
	struct cot_emu_ticket t;

	switch (cot_rng_below(r, 8)) {
	case 0:
		cot_emu_model_disable(m, p->channel, true, cot_rng_below(r, 2));
		break;
	case 1:
	case 2:
		cot_emu_model_disable(m, p->channel, false, false);
		break;
	case 3:
		cot_emu_model_set_slice(m, p->group, 1 + cot_rng_below(r, 4 * MS));
		break;
	case 4:
		cot_emu_model_set_mode(m, p->channel, (uint32_t)cot_rng_below(r, 3));
		break;
	case 5:
		cot_emu_model_preempt(m, p->group);
		break;
	default:
		if (cot_emu_model_submit(m, p->channel, p->client, &w, N_NONE, &t) == -EAGAIN)
			cot_emu_model_disable(m, p->channel, false, false);
	}
}

static uint64_t fingerprint(const struct cot_emu_model *m)
{
	const struct cot_emu_kernel *k;
	uint64_t h = cot_hash64(m->now_ns, m->engines[0].n_switches);
	uint32_t i;

	for (i = 0; i < m->n_groups; i++) {
		h = cot_hash64(h, m->groups[i].ran_ns);
		h = cot_hash64(h, m->groups[i].n_turns);
	}
	for (i = 0; i < m->n_kernels; i++) {
		k = &m->kernels[i];
		h = cot_hash64(cot_hash64(h, k->serial), k->state);
		h = cot_hash64(cot_hash64(h, k->progress_ns), k->ended_ns);
	}
	return h;
}

/* A random day of four programs; `cut` reads the clock more often in between. */
static uint64_t random_day(struct cot_emu_model *m, uint64_t seed, bool cut)
{
	struct cot_emu_params params = cot_emu_params_default();
	struct cot_rng r = {seed}, cuts = {~seed};
	struct proc p[N_PROCS];
	uint64_t now = 0, until, ran = 0;
	unsigned i;

	cot_emu_model_init(m, &params, 0);
	for (i = 0; i < N_PROCS; i++)
		p[i] = proc_make(m, 20 + cot_rng_below(&r, 3000));
	for (i = 0; i < N_ACTS; i++) {
		until = now + cot_rng_below(&r, 3 * MS);
		for (; cut && now < until; now += 1 + cot_rng_below(&cuts, 300 * US))
			cot_emu_model_advance(m, now);
		now = until;
		cot_emu_model_advance(m, now);
		act(m, &p[cot_rng_below(&r, N_PROCS)], &r);
	}
	cot_emu_model_book(m);
	for (i = 0; i < N_PROCS; i++)
		ran += cot_emu_model_group(m, p[i].group)->ran_ns;
	if (ran > now)
		fail_msg("seed %llu: %llu ns of GPU time in %llu ns", (unsigned long long)seed,
			 (unsigned long long)ran, (unsigned long long)now);
	return fingerprint(m);
}

static void reading_the_clock_changes_nothing(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m;
	uint64_t seed, whole;

	for (seed = 1; seed <= 200; seed++) {
		whole = random_day(m, seed, false);
		if (random_day(m, seed, true) != whole)
			fail_msg("seed %llu: the outcome depends on when the clock is read",
				 (unsigned long long)seed);
	}
}

/* What a copy does when it is run ahead is what happens: this is how waiting works. */
static void a_copy_run_ahead_tells_the_future(void **state)
{
	struct cot_emu_model *m = ((struct bench *)*state)->m, *ahead = malloc(sizeof(*ahead));
	uint64_t seed, t;

	assert_non_null(ahead);
	for (seed = 1; seed <= 50; seed++) {
		random_day(m, seed, false);
		memset(ahead, 0xa5, sizeof(*ahead));
		cot_emu_model_copy(ahead, m);
		while ((t = cot_emu_model_next(ahead)) != COT_EMU_NEVER && t < m->now_ns + 100 * MS)
			cot_emu_model_advance(ahead, t);
		cot_emu_model_advance(m, ahead->now_ns);
		if (fingerprint(m) != fingerprint(ahead))
			fail_msg("seed %llu: the copy went another way", (unsigned long long)seed);
	}
	free(ahead);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(alone_a_kernel_takes_its_time),
		CASE(a_request_waits_for_a_short_slice_and_a_switch),
		CASE(with_the_default_slice_a_request_waits_up_to_2_ms),
		CASE(two_short_slices_destroy_each_other),
		CASE(slices_divide_the_gpu_in_proportion),
		CASE(a_frozen_group_stays_off),
		CASE(freezing_one_of_two_leaves_the_gpu_to_the_other),
		CASE(disabling_only_the_scheduling_waits_for_the_slice),
		CASE(draining_waits_for_the_block),
		CASE(draining_one_long_block_waits_for_all_of_it),
		CASE(inside_one_group_kernels_share_the_sms),
		CASE(kernels_on_different_sms_do_not_notice_each_other),
		CASE(kernels_on_the_same_sms_slow_each_other),
		CASE(a_kernel_gets_on_as_the_average_of_its_sms),
		CASE(preempt_sends_the_group_to_the_end),
		CASE(the_death_of_a_client_frees_the_gpu),
		CASE(the_death_of_a_server_faults_its_clients),
		CASE(a_trap_takes_its_group_and_no_other),
		CASE(a_kernel_waits_for_another_channel),
		CASE(limits_hold),
		CASE(reading_the_clock_changes_nothing),
		CASE(a_copy_run_ahead_tells_the_future),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
