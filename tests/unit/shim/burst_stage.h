/*
 * What is seen as a request of a program that marks none. The unit is in a shared library, so its
 * source is here. The time is a count of calls: each one takes 1.
 */
#ifndef COT_TESTS_BURST_STAGE_H
#define COT_TESTS_BURST_STAGE_H

#include "guest/shim/burst.c"
#include "test.h"

#include "base/compiler.h"

#define CONTEXT 0x1000u
#define OTHER	0x2000u /* another context */
#define ME	0x70u	/* threads */
#define YOU	0x71u

enum { A = 0x100, B = 0x200, C = 0x300, LEGACY = 0, E = 0x900, F, G };

static struct cot_bursts bursts;
static uint64_t now;
static struct {
	uint64_t begin, end;
} seen[64];
static unsigned n_seen;

static inline void note(uint64_t begin_ns, uint64_t end_ns)
{
	assert_true(begin_ns < end_ns && n_seen < COT_ARRAY_LEN(seen));
	seen[n_seen].begin = begin_ns;
	seen[n_seen++].end = end_ns;
}

static inline int start(void **state)
{
	(void)state;
	memset(&bursts, 0, sizeof(bursts));
	bursts.seen = note;
	now = n_seen = 0;
	return 0;
}

static inline struct cot_burst_id id_of(uint64_t handle)
{
	if (handle == LEGACY)
		return (struct cot_burst_id){CONTEXT, COT_BURST_LEGACY};
	return (struct cot_burst_id){.home = handle};
}

/* Streams A and C do not wait for the default stream, B does. */
static inline struct cot_burst_stream *stream(uint64_t handle)
{
	return cot_burst_get(&bursts, id_of(handle), CONTEXT, handle == B || handle == LEGACY);
}

static inline uint64_t put_by(uint64_t thread, uint64_t handle)
{
	cot_burst_put(&bursts, stream(handle), thread, COT_BURST_WORK, ++now);
	return now;
}

static inline uint64_t copy_in_by(uint64_t thread, uint64_t handle)
{
	cot_burst_put(&bursts, stream(handle), thread, COT_BURST_INPUT, ++now);
	return now;
}

static inline uint64_t put(uint64_t handle)
{
	return put_by(ME, handle);
}

static inline struct cot_burst_point ask(uint64_t handle)
{
	return cot_burst_point(&bursts, id_of(handle));
}

static inline uint64_t done(struct cot_burst_point point)
{
	cot_burst_covered(&bursts, point, ++now);
	return now;
}

static inline uint64_t wait_for(uint64_t handle)
{
	return done(ask(handle));
}

static inline void record(uint64_t event, uint64_t handle)
{
	cot_burst_record(&bursts, event, ask(handle));
}

static inline void order(uint64_t handle, uint64_t event)
{
	cot_burst_order(&bursts, stream(handle), cot_burst_recorded(&bursts, event));
}

static inline uint64_t wait_for_event(uint64_t event)
{
	return done(cot_burst_recorded(&bursts, event));
}

static inline uint64_t wait_for_context(uint64_t context)
{
	cot_burst_covered_context(&bursts, context, cot_burst_point_of_context(&bursts, context),
				  ++now);
	return now;
}

static inline void expect(unsigned n, uint64_t begin, uint64_t end)
{
	assert_int_equal(n_seen, n);
	assert_int_equal(seen[n - 1].begin, begin);
	assert_int_equal(seen[n - 1].end, end);
}

static inline void expect_rest(uint64_t n_unclear)
{
	assert_int_equal(bursts.n_unclear, n_unclear);
	assert_int_equal(bursts.n_busy, 0);
}

#endif
