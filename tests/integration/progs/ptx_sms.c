/*
 * How many SMs a program sees, and on how many its blocks run. Prints "sms N grid N nsmid N used N
 * most N": the device's attribute; the grid that the occupancy calculator proposes, in blocks for
 * each SM of these; %nsmid; the SMs on which blocks were, and the highest %smid.
 */
#include "ptx_common.h"

int main(void)
{
	struct ptx_prog p = ptx_start();
	CUfunction where = ptx_function(&p, "where");
	int n_sms, grid, block, per_sm;
	struct ptx_where seen;

	PROG_CHECK(cuDeviceGetAttribute(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	PROG_CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, where, NULL, 0, 0));
	PROG_CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, where, block, 0));
	seen = ptx_where(&p, p.stream);
	printf("sms %d grid %d nsmid %u used %u most %u\n", n_sms, per_sm ? grid / per_sm : 0,
	       seen.nsmid, seen.used, seen.most);
	PROG_CHECK(cuCtxDestroy(p.context));
	return 0;
}
