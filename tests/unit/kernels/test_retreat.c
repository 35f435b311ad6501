/*
 * A step by filling and retreating, on a machine whose SMs other kernels keep for as long as a test
 * says: all of its tasks are done once, however many launches that takes, and it ends if none are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/bench.h"
#include "kernels/launch/launch.h"
#include "test.h"

#define N_SMS	 4u
#define N_BLOCKS 23u
#define PER_SM	 2u
#define NEVER	 UINT32_MAX

struct played {
	struct cot_machine base;
	uint32_t n_launches;
	uint32_t n_kept;	  /* so many launches find no place on the SMs that are allowed */
	uint32_t at_most;	  /* workers that a launch after that gets on an SM */
	uint32_t times[N_BLOCKS]; /* that each task was done */
};

/* ---- the machine: its memory is the host's ---- */

static int alloc_bytes(struct cot_machine *m, size_t bytes, uint64_t *ret_address,
		       struct cot_error *err)
{
	void *p = NULL;

	(void)m;
	(void)err;
	assert_int_equal(posix_memalign(&p, 128, bytes), 0);
	*ret_address = (uint64_t)(uintptr_t)p;
	return 0;
}

static void free_bytes(struct cot_machine *m, uint64_t address)
{
	(void)m;
	free((void *)(uintptr_t)address);
}

static int write_bytes(struct cot_machine *m, uint64_t address, const void *from, size_t bytes,
		       struct cot_error *err)
{
	(void)m;
	(void)err;
	memcpy((void *)(uintptr_t)address, from, bytes);
	return 0;
}

static int read_bytes(struct cot_machine *m, void *to, uint64_t address, size_t bytes,
		      struct cot_error *err)
{
	(void)m;
	(void)err;
	memcpy(to, (const void *)(uintptr_t)address, bytes);
	return 0;
}

static int copy_bytes(struct cot_machine *m, uint64_t to, uint64_t from, size_t bytes,
		      struct cot_error *err)
{
	return read_bytes(m, (void *)(uintptr_t)to, from, bytes, err);
}

static int occupancy(struct cot_machine *m, const char *entry, uint32_t n_threads,
		     uint32_t *ret_blocks, struct cot_error *err)
{
	(void)m;
	(void)n_threads;
	(void)err;
	assert_non_null(strstr(entry, "$cot_retreat"));
	*ret_blocks = PER_SM;
	return 0;
}

static uint32_t share_begin(const struct cot_retreat_args *a, uint32_t i)
{
	return a->first + i * a->share + (i < a->extra ? i : a->extra);
}

/* A worker arrives on that SM, and does its share. */
static void arrive(struct played *p, const struct cot_retreat_args *a, struct cot_retreat_row *row)
{
	uint32_t share = row->n_arrived++ * a->n_allowed + row->rank, i;

	for (i = share_begin(a, share); i < share_begin(a, share + 1); i++) {
		assert_true(i < N_BLOCKS);
		p->times[i]++;
		row->n_done++;
	}
}

static int launch(struct cot_machine *m, const char *entry, const uint32_t grid[3],
		  const uint32_t block[3], const struct cot_machine_args *args,
		  struct cot_error *err)
{
	struct played *p = (struct played *)m;
	const struct cot_retreat_args *a = args->values[args->n - 1];
	struct cot_retreat_row *rows = (struct cot_retreat_row *)(uintptr_t)a->rows;
	uint32_t i, n;

	(void)entry;
	(void)grid;
	(void)block;
	(void)err;
	assert_int_equal(args->sizes[args->n - 1], sizeof(*a));
	if (p->n_launches++ < p->n_kept)
		return 0;
	for (i = 0; i < a->n_rows; i++)
		for (n = 0; rows[i].rank != COT_RETREAT_AWAY && n < p->at_most; n++)
			arrive(p, a, &rows[i]);
	return 0;
}

static const struct cot_machine_ops ops = {
	.alloc = alloc_bytes,
	.free = free_bytes,
	.write = write_bytes,
	.read = read_bytes,
	.copy = copy_bytes,
	.occupancy = occupancy,
	.launch = launch,
};

/* ---- tests ---- */

static int run(struct played *p, struct cot_retreat_run *r, uint64_t patience_ns,
	       struct cot_error *err)
{
	struct cot_bench_instance in;
	struct cot_session s;
	int rc;

	p->base = (struct cot_machine){.ops = &ops, .n_sms = N_SMS};
	assert_int_equal(cot_bench_create(&in, cot_bench_find("vectorAdd"), COT_BENCH_TEST,
					  N_BLOCKS, 1, err),
			 0);
	assert_int_equal(cot_session_init(&s, &p->base, &in, err), 0);
	assert_int_equal(cot_retreat_run_init(r, &s, 3, err), 0);
	r->patience_ns = patience_ns;
	rc = cot_retreat_step(&s, 0, r, err);
	assert_int_equal(r->n_launches, p->n_launches);
	cot_retreat_run_finish(r);
	cot_session_finish(&s);
	cot_bench_destroy(&in);
	return rc;
}

static void expect_done_once(const struct played *p)
{
	uint32_t i;

	for (i = 0; i < N_BLOCKS; i++)
		assert_int_equal(p->times[i], 1);
}

static void one_launch(void **state)
{
	struct played p = {.at_most = PER_SM};
	struct cot_retreat_run r;
	struct cot_error err;

	(void)state;
	assert_int_equal(run(&p, &r, 0, &err), 0);
	assert_int_equal(p.n_launches, 1);
	expect_done_once(&p);
}

/* Each launch gets half of the workers that it needs. */
static void in_pieces(void **state)
{
	struct played p = {.at_most = 1};
	struct cot_retreat_run r;
	struct cot_error err;

	(void)state;
	assert_int_equal(run(&p, &r, 0, &err), 0);
	assert_in_range(p.n_launches, 2, N_BLOCKS);
	expect_done_once(&p);
}

/* Other programs that start may need longer than many launches in vain take. */
static void many_in_vain(void **state)
{
	struct played p = {.at_most = 1, .n_kept = 20000};
	struct cot_retreat_run r;
	struct cot_error err;

	(void)state;
	assert_int_equal(run(&p, &r, 0, &err), 0);
	assert_true(p.n_launches > 20000);
	expect_done_once(&p);
}

static void all_in_vain(void **state)
{
	struct played p = {.at_most = 1, .n_kept = NEVER};
	struct cot_retreat_run r;
	struct cot_error err;

	(void)state;
	assert_int_equal(run(&p, &r, 20000000, &err), -EIO);
	assert_non_null(strstr(err.text, "tasks are left after "));
	assert_non_null(strstr(err.text, "for 0.02 s"));
	assert_true(p.n_launches > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_launch),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(many_in_vain),
		cmocka_unit_test(all_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
