/* Why passes refuse kernels, from reasons.def. */
#include "ptx/pass/pass.h"

enum {
	T = 1 << COT_PASS_WORKERS | 1 << COT_PASS_RETREAT,
	S = 1 << COT_PASS_SLICE,
	F = 1 << COT_PASS_FUSE,
	C = 1 << COT_PASS_COUNT,
	R = 1 << COT_PASS_RECORD,
	B = 1 << COT_PASS_BATCH,
};

static const struct reason {
	const char *name;
	unsigned passes;
	const char *why;
} reasons[] = {
	[COT_REASON_NONE] = {"none", 0, ""},
#define REASON(id, name, passes, why) [COT_REASON_##id] = {name, passes, why},
#include "ptx/pass/reasons.def"
#undef REASON
};

const char *cot_reason_name(enum cot_reason reason)
{
	return reasons[reason].name;
}

const char *cot_reason_why(enum cot_reason reason)
{
	return reasons[reason].why;
}

bool cot_reason_refuses(enum cot_reason reason, enum cot_pass pass)
{
	return reasons[reason].passes >> pass & 1;
}
