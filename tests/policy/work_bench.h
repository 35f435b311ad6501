/*
 * Programs with rewritten kernels for tests of the policy core: each submits one work after the
 * other, does as much as the CapSMs allow that it has, and gives back what is evicted.
 */
#ifndef COT_TESTS_WORK_BENCH_H
#define COT_TESTS_WORK_BENCH_H

#include "policy/policy_bench.h"

#define WORK_BENCH_PROGRAMS 12u
#define WORK_BENCH_STEP_NS  (250 * COT_NS_PER_US)

struct work_program {
	uint32_t tenant; /* 0 = none */
	uint32_t n_tasks, per_sm, task_ns;
	bool can_settle;
	uint64_t pause_ns; /* between two works */
	/* now */
	uint32_t work;	     /* 0 = none */
	uint32_t begun;	     /* grants that have been seen */
	uint64_t left_ns;    /* of the work, on one CapSM */
	uint64_t next_ns;    /* when it submits */
	uint64_t evicted_ns; /* when its workers were told to leave; 0 = nobody was */
	uint64_t waited_ns;  /* of the work that waits */
	/* so far */
	uint64_t n_done, max_wait_ns;
};

struct work_bench {
	struct bench *b;
	struct work_program programs[WORK_BENCH_PROGRAMS];
	uint32_t next_id;
};

/* Lets them go on. Returns how many works are unfinished. */
uint32_t work_bench_run(struct work_bench *wb, uint64_t for_ns);
/* No program submits any more; until all is done or `for_ns` is over. As above. */
uint32_t work_bench_end(struct work_bench *wb, uint64_t for_ns);

#endif
