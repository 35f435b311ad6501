/* The shim of a program that nobody profiles, for tests of everything else. */
#ifndef COT_TESTS_NOT_TIMED_H
#define COT_TESTS_NOT_TIMED_H

#include "guest/shim/timed.h"
#include "test.h"

_Atomic bool cot_shim_timed_on;

void cot_shim_timed_start(void)
{
}

void cot_shim_timed_forget(void)
{
}

void cot_shim_timed_mark(void)
{
	fail_msg("it is not timed");
}

void cot_shim_timed_before(struct cot_shim_timed *t, const struct cot_shim_turn *turn,
			   const struct cot_shim_original *o, uint64_t graph)
{
	(void)t;
	(void)turn;
	(void)o;
	(void)graph;
	fail_msg("it is not timed");
}

void cot_shim_timed_behind(struct cot_shim_timed *t, const struct cot_shim_turn *turn, CUresult rc)
{
	(void)t;
	(void)turn;
	(void)rc;
	fail_msg("it is not timed");
}

#endif
