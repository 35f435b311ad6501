/*
 * What every hardware scheduler owes its users (src/sim/hw/hw.h), whatever it decides. The suite
 * plays a scheduler in scenarios of all sizes and watches every instant with support/sim_check.h.
 * It takes any ops struct, so that schedulers which are broken on purpose show that it sees what it
 * should.
 */
#ifndef COT_TESTS_SCHEDULER_CONTRACT_H
#define COT_TESTS_SCHEDULER_CONTRACT_H

#include "sim/hw/hw.h"

enum contract_clause {
	CONTRACT_ENDS,	  /* every program gets its runs done in bounded time */
	CONTRACT_REFUSED, /* no action is refused, so the active queue is respected as well */
	CONTRACT_IDLE,	  /* no SM is idle while work waits that may run on it */
	CONTRACT_STARVES, /* programs alike in all and equally important get alike */
	CONTRACT_REPEATS, /* the same scenario gives the same schedule */
	CONTRACT_BLOCKS,  /* blocks and tables stay consistent */
	CONTRACT_HONEST,  /* it preempts only if it says so */
	CONTRACT_CLAUSES,
};

struct contract_report {
	unsigned broken;		  /* 1 << clause */
	char text[CONTRACT_CLAUSES][320]; /* of the first scenario that broke it */
};

void contract_run(const struct hw_sched_ops *ops, struct contract_report *ret_report);

#endif
