/* The shim of a program without parts, for tests of everything else. */
#ifndef COT_TESTS_NO_PARTS_H
#define COT_TESTS_NO_PARTS_H

#include "guest/shim/parts.h"
#include "test.h"

void cot_shim_parts_close(int device)
{
	(void)device;
}

uint64_t cot_shim_parts_carry_out(void)
{
	return COT_NEVER;
}

void cot_shim_parts_forget(void)
{
}

void cot_shim_stream_end(CUstream stream)
{
	(void)stream;
}

void cot_shim_graphs_leave(CUstream stream)
{
	(void)stream;
}

void cot_shim_stays_forget(void)
{
}

int cot_shim_part_launch(const struct cot_shim_original *asked)
{
	(void)asked;
	fail_msg("there are no parts");
	return 0;
}

#endif
