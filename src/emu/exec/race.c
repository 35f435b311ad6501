#include "emu/exec/race.h"

int cot_exec_races_create(struct cot_exec_run *run)
{
	(void)run;
	return 0;
}
void cot_exec_races_destroy(struct cot_exec_races *races)
{
	(void)races;
}
enum cot_exec_flow cot_exec_race_check(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				       uint32_t m, uint32_t bytes, uint8_t *const p[LANES])
{
	(void)w, (void)in, (void)m, (void)bytes, (void)p;
	return FLOW_NEXT;
}
void cot_exec_race_barrier(struct cot_exec_block *b)
{
	(void)b;
}
void cot_exec_race_warp(struct cot_exec_warp *w, uint32_t m)
{
	(void)w, (void)m;
}
int cot_exec_race_begin(struct cot_exec_block *b)
{
	(void)b;
	return 0;
}
void cot_exec_race_forget(struct cot_exec_block *b)
{
	(void)b;
}
