/* What test_slo.c and test_slo_home.c have in common: each test has a bench of its own. */
#ifndef COT_TESTS_SLO_SUITE_H
#define COT_TESTS_SLO_SUITE_H

#include "policy/slo_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS
#define S  COT_NS_PER_S

#define SLO_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

static struct slo_bench *sb;

static inline int begin(void **state)
{
	(void)state;
	sb = slo_bench_begin();
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	slo_bench_end(sb);
	return 0;
}

/* Another one, where nothing is known. */
static inline void begin_anew(void)
{
	slo_bench_end(sb);
	sb = slo_bench_begin();
}

#endif
