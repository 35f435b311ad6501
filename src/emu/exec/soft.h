/*
 * Floating-point arithmetic in integers: every format and rounding mode of PTX, exactly. For what
 * the CPU's own arithmetic cannot do (directed rounding, half precision, conversions with
 * saturation); numbers are bit patterns. Pure functions.
 */
#ifndef COT_EMU_EXEC_SOFT_H
#define COT_EMU_EXEC_SOFT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum cot_soft_mode {
	COT_SOFT_RN,  /* to nearest, ties to even */
	COT_SOFT_RZ,  /* towards zero */
	COT_SOFT_RM,  /* down */
	COT_SOFT_RP,  /* up */
	COT_SOFT_RNA, /* to nearest, ties away from zero */
};

enum cot_soft_format {
	COT_SOFT_F16,
	COT_SOFT_BF16,
	COT_SOFT_TF32, /* in the upper 19 of 32 bits */
	COT_SOFT_F32,
	COT_SOFT_F64,
	COT_SOFT_E4M3, /* no infinities; 0x7f is NaN */
	COT_SOFT_E5M2,
	COT_SOFT_N_FORMATS
};

/* How the result is made. */
struct cot_soft_rule {
	enum cot_soft_mode mode;
	bool ftz;	/* subnormal inputs and results become zero, with their sign */
	bool sat;	/* into [0, 1], NaN becomes 0 */
	bool satfinite; /* what overflows becomes the largest finite number */
	bool relu;	/* negative results become 0 */
};

uint64_t cot_soft_add(uint64_t a, uint64_t b, enum cot_soft_format f, struct cot_soft_rule rule);
uint64_t cot_soft_mul(uint64_t a, uint64_t b, enum cot_soft_format f, struct cot_soft_rule rule);
/* a * b + c, rounded once */
uint64_t cot_soft_fma(uint64_t a, uint64_t b, uint64_t c, enum cot_soft_format f,
		      struct cot_soft_rule rule);
uint64_t cot_soft_div(uint64_t a, uint64_t b, enum cot_soft_format f, struct cot_soft_rule rule);
uint64_t cot_soft_sqrt(uint64_t a, enum cot_soft_format f, struct cot_soft_rule rule);

uint64_t cot_soft_convert(uint64_t a, enum cot_soft_format from, enum cot_soft_format to,
			  struct cot_soft_rule rule);
/* To a whole number in the same format. */
uint64_t cot_soft_round(uint64_t a, enum cot_soft_format f, struct cot_soft_rule rule);

/* From an integer of 64 bits. */
uint64_t cot_soft_from_int(uint64_t a, bool is_signed, enum cot_soft_format to,
			   struct cot_soft_rule rule);
/* To an integer of `bits` bits, with the nearest one for what does not fit, and 0 for NaN. */
uint64_t cot_soft_to_int(uint64_t a, enum cot_soft_format from, unsigned bits, bool is_signed,
			 struct cot_soft_rule rule);

bool cot_soft_is_nan(uint64_t a, enum cot_soft_format f);

#endif
