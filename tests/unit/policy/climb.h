/* A climb that is looked at: what test_slo_climb.c and test_slo_climb_target.c have in common. */
#ifndef COT_TESTS_CLIMB_H
#define COT_TESTS_CLIMB_H

#include "policy/slo.h"

#define MS COT_NS_PER_MS
#define S  COT_NS_PER_S

static struct slo_climb c;
static uint64_t now_ns, load = 1000;

static inline void begin(enum slo_topology topology)
{
	now_ns = 100 * S;
	cot_slo_climb_begin(&c, cot_slo_ladder(topology, 16), cot_slo_ladder(topology, 16).start,
			    SLO_WHY_START, now_ns);
}

/* A look every 0.1 s, for so long, at something that uses so much. */
static inline void look(struct slo_use use, uint64_t for_ns)
{
	uint64_t end_ns = now_ns + for_ns;

	while (now_ns < end_ns) {
		now_ns += 100 * MS;
		(void)cot_slo_climb_look(&c, &use, load, now_ns);
	}
}

static inline struct slo_use second(uint32_t use)
{
	return (struct slo_use){
		.fast = use, .fast_high = use, .n = 100, .missing = use > 1000, .over = use > 1000};
}

static inline struct slo_use both(uint32_t use)
{
	struct slo_use u = second(use);

	u.slow = u.slow_high = use;
	u.slow_sure = true;
	return u;
}

static inline struct slo_use far_over(void)
{
	struct slo_use u = second(3000);

	u.far = true;
	return u;
}

#endif
