/* Hardware schedulers that are wrong on purpose, each in one way that happens in real ones. */
#ifndef COT_TESTS_BROKEN_SCHEDS_H
#define COT_TESTS_BROKEN_SCHEDS_H

#include "policy/scheduler_contract.h"

struct broken_sched {
	const struct hw_sched_ops *ops;
	enum contract_clause clause; /* that it breaks, maybe among others */
};

extern const struct broken_sched broken_scheds[];
extern const unsigned n_broken_scheds;

#endif
