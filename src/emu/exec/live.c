#include "emu/exec/lower.h"

uint32_t cot_exec_live_registers(const struct cot_exec_lower *l)
{
	return l->reg_bytes / ROW_BYTES;
}
