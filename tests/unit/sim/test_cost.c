/*
 * What a preemption costs on the K20c, through the engine: the save times of Tanasic et al., Table
 * 1, are printed to 0.01 us. One program holds all 13 SMs with the kernel of a row; another takes
 * them.
 */
#include "support/sim_build.h"
#include "test.h"
#include "trace/gpu.h"

#define N_SMS 13

struct row {
	const char *kernel;
	uint32_t shmem, regs, blocks_per_sm;
	double resource_pct, save_us;
};

static const struct row rows[] = {
	{"lbm StreamCollide", 0, 4320, 15, 83.26, 16.20},
	{"histo final", 0, 19456, 3, 75.00, 14.59},
	{"histo main", 24576, 16896, 1, 29.61, 5.76},
	{"tpacf genhists", 13312, 7680, 1, 14.14, 2.75},
	{"spmv spmvjds", 0, 928, 16, 19.08, 3.71},
	{"sgemm mysgemmNT", 512, 4480, 14, 82.89, 16.13},
	{"stencil block2Dregtiling", 0, 41984, 1, 53.95, 10.50},
	{"mri-gridding scaninter1", 665, 1173, 16, 27.54, 5.36},
};

static void assert_within(double got, double want, double tolerance)
{
	if (got < want - tolerance || got > want + tolerance)
		fail_msg("got %.9g, want %.9g +- %g", got, want, tolerance);
}

static uint32_t ctx_bytes(const struct row *row)
{
	return 4 * row->regs + row->shmem;
}

/* l fills the GPU; h, of the same kernel but a quarter as long, takes `sms` of its SMs at 50. */
static void build_preemption(struct sim_build *b, const struct row *row, uint32_t sms)
{
	uint32_t i;

	build_init(b, "ppq-shared", N_SMS);
	b->sc.gpu = *cot_gpu_find("k20c");
	(void)build_one(b, "l", 0, N_SMS * row->blocks_per_sm, 400, row->blocks_per_sm, 0);
	build_one(b, "h", 50, sms * row->blocks_per_sm, 100, row->blocks_per_sm, 0)->priority = 1;
	for (i = 0; i < 2; i++) {
		b->kernels[i][0].regs_per_block = row->regs;
		b->kernels[i][0].shmem_per_block = row->shmem;
		b->kernels[i][0].ctx_bytes_per_block = ctx_bytes(row);
	}
}

static void check_row(const struct row *row)
{
	uint64_t sm_bytes = (uint64_t)row->blocks_per_sm * ctx_bytes(row);
	double resource =
		100.0 * (double)sm_bytes / (double)cot_gpu_ctx_bytes_max(cot_gpu_find("k20c"));
	struct sim_build b;
	struct play p;

	build_preemption(&b, row, N_SMS);
	play(&p, &b);
	assert_int_equal(p.result.preemptions, N_SMS);
	assert_within((double)p.result.latency_max_ps / 1e6, row->save_us, 0.01);
	assert_within(p.result.latency_p50_ps, (double)p.result.latency_max_ps, 0.0);
	assert_within(resource, row->resource_pct, 0.01);
	assert_int_equal(p.result.saved_bytes, N_SMS * sm_bytes);
	assert_int_equal(p.result.restored_bytes, N_SMS * sm_bytes);
	play_end(&p);
}

static void saving_takes_what_table_1_prints(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
}

/*
 * lbm: 15 * 4 * 4320 = 259200 bytes at 208/13 = 16 GB/s are 16.2 us exactly. Saved 50 to 66.2, h
 * until 166.2, restored until 182.4, 350 left: 532.4.
 */
static void lbm_is_delayed_by_two_moves(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_preemption(&b, &rows[0], N_SMS);
	play(&p, &b);
	assert_int_equal(p.result.latency_max_ps, 16200000);
	assert_string_equal(p.kernels.text, "h 50-166.2, l 0-532.4");
	assert_string_equal(p.sm[12].text, "0 l run, 50 l save, 66.2 h run, 166.2 l restore, "
					   "182.4 l run, 532.4 idle");
	play_end(&p);
}

/* An SM's share of the bandwidth does not grow when others save nothing. */
static void one_sm_alone_saves_no_faster(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_preemption(&b, &rows[0], 1);
	play(&p, &b);
	assert_int_equal(p.result.preemptions, 1);
	assert_int_equal(p.result.latency_max_ps, 16200000);
	play_end(&p);
}

/* Half-empty SMs save what they hold: 1 block of lbm is 16.2 / 15 = 1.08 us. */
static void saving_costs_by_resident_blocks(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_preemption(&b, &rows[0], 1);
	b.kernels[0][0].n_blocks = 12 * 15 + 1;
	play(&p, &b);
	assert_int_equal(p.result.preemptions, 1);
	assert_int_equal(p.result.latency_max_ps, 1080000);
	play_end(&p);
}

/* Draining costs the rest of the blocks, and moves nothing. */
static void draining_takes_what_is_left_of_the_blocks(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_preemption(&b, &rows[0], N_SMS);
	b.sc.preempt = COT_PREEMPT_DRAIN;
	play(&p, &b);
	assert_int_equal(p.result.preemptions, N_SMS);
	assert_int_equal(p.result.latency_max_ps, 350000000);
	assert_int_equal(p.result.saved_bytes, 0);
	assert_string_equal(p.kernels.text, "l 0-400, h 50-500");
	play_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saving_takes_what_table_1_prints),
		cmocka_unit_test(lbm_is_delayed_by_two_moves),
		cmocka_unit_test(one_sm_alone_saves_no_faster),
		cmocka_unit_test(saving_costs_by_resident_blocks),
		cmocka_unit_test(draining_takes_what_is_left_of_the_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
