/*
 * What PTX consists of: types, special registers, modifiers and opcodes, from the tables types.def,
 * sregs.def, mods.def and ops.def. Constant data, safe from any thread.
 */
#ifndef COT_PTX_TABLE_H
#define COT_PTX_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cot_ptx_type {
	COT_PTX_NO_TYPE,
#define TYPE(id, text, class_, bits) COT_PTX_##id,
#include "ptx/types.def"
#undef TYPE
	COT_PTX_N_TYPES,
};

enum cot_ptx_type_class {
	COT_PTX_PRED_TYPE,
	COT_PTX_BITS_TYPE,
	COT_PTX_UNSIGNED_TYPE,
	COT_PTX_SIGNED_TYPE,
	COT_PTX_FLOAT_TYPE,
	COT_PTX_PACKED_TYPE,
	COT_PTX_ALTERNATE_TYPE,
	COT_PTX_HANDLE_TYPE,
};

enum cot_ptx_sreg {
#define SREG(id, text, type, parts) COT_PTX_SREG_##id,
#include "ptx/sregs.def"
#undef SREG
	COT_PTX_N_SREGS,
};

/* Modifiers: those of mods.def are COT_PTX_MOD_..., types are COT_PTX_MOD_TYPE + the type. */
enum cot_ptx_mod {
	COT_PTX_NO_MOD,
#define MOD(id, text, class_) COT_PTX_MOD_##id,
#include "ptx/mods.def"
#undef MOD
	COT_PTX_MOD_SHAPE, /* .m16n8k16: the numbers are in the instruction's shape[] */
	COT_PTX_MOD_TYPE,
	COT_PTX_N_MODS = COT_PTX_MOD_TYPE + COT_PTX_N_TYPES,
};

/* Sets of modifiers, see mods.def. */
enum cot_ptx_class {
	COT_PTX_CLASS_NONE,
	COT_PTX_CLASS_TYPE,
	COT_PTX_CLASS_SHAPE,
	COT_PTX_CLASS_SPACE,
	COT_PTX_CLASS_SEM,
	COT_PTX_CLASS_MMIO,
	COT_PTX_CLASS_SCOPE,
	COT_PTX_CLASS_LEVEL,
	COT_PTX_CLASS_ROUND,
	COT_PTX_CLASS_CMP,
	COT_PTX_CLASS_NAN,
	COT_PTX_CLASS_HALF,
	COT_PTX_CLASS_ACTION,
	COT_PTX_CLASS_CACHE,
	COT_PTX_CLASS_NC,
	COT_PTX_CLASS_UNIFIED,
	COT_PTX_CLASS_VEC,
	COT_PTX_CLASS_FTZ,
	COT_PTX_CLASS_SAT,
	COT_PTX_CLASS_RELU,
	COT_PTX_CLASS_APPROX,
	COT_PTX_CLASS_OOB,
	COT_PTX_CLASS_XORSIGN,
	COT_PTX_CLASS_CC,
	COT_PTX_CLASS_TO,
	COT_PTX_CLASS_NOFTZ,
	COT_PTX_CLASS_UNI,
	COT_PTX_CLASS_SYNC,
	COT_PTX_CLASS_ALIGNED,
	COT_PTX_CLASS_DIR,
	COT_PTX_CLASS_CLAMP,
	COT_PTX_CLASS_SHFL,
	COT_PTX_CLASS_VOTE,
	COT_PTX_CLASS_PRMT,
	COT_PTX_CLASS_SHIFTAMT,
	COT_PTX_CLASS_TESTP,
	COT_PTX_CLASS_LAYOUT,
	COT_PTX_CLASS_TRANS,
	COT_PTX_CLASS_NUM,
	COT_PTX_CLASS_MMA,
	COT_PTX_CLASS_ASYNC,
	COT_PTX_CLASS_DIM,
	COT_PTX_CLASS_TENSOR,
	COT_PTX_CLASS_TENSORFIELD,
	COT_PTX_CLASS_FENCE,
	COT_PTX_CLASS_PROXY,
	COT_PTX_CLASS_TEX,
	COT_PTX_CLASS_SURF,
	COT_PTX_CLASS_QUERY,
	COT_PTX_CLASS_POLICY,
	COT_PTX_CLASS_ACC,
	COT_PTX_CLASS_PMEVENT,
	COT_PTX_N_CLASSES,
};

enum cot_ptx_op {
#define OP(id, text, modifiers, operands, flags) COT_PTX_OP_##id,
#include "ptx/ops.def"
#undef OP
	COT_PTX_N_OPS,
};

/* What an instruction is, beyond its operands: bits of struct cot_ptx_op_info.flags. */
enum cot_ptx_op_flag {
	COT_PTX_F_READ = 1 << 0,     /* reads memory */
	COT_PTX_F_WRITE = 1 << 1,    /* writes memory */
	COT_PTX_F_ATOMIC = 1 << 2,   /* reads, changes and writes in one */
	COT_PTX_F_ASYNC = 1 << 3,    /* belongs to the asynchronous copies */
	COT_PTX_F_BULK = 1 << 4,     /* cp.async.bulk and the like */
	COT_PTX_F_MBARRIER = 1 << 5, /* works on an mbarrier object */
	COT_PTX_F_BARRIER = 1 << 6,  /* bar and barrier of the thread block */
	COT_PTX_F_CLUSTER = 1 << 7,  /* barrier of the cluster */
	COT_PTX_F_WARP = 1 << 8,     /* done by the warp's threads together */
	COT_PTX_F_FENCE = 1 << 9,    /* orders memory */
	COT_PTX_F_BRANCH = 1 << 10,  /* goes to a label */
	COT_PTX_F_END = 1 << 11,     /* what follows is not reached, unless there is a guard */
	COT_PTX_F_CALL = 1 << 12,    /* call */
	COT_PTX_F_TEXTURE = 1 << 13, /* textures and surfaces */
	COT_PTX_F_WGMMA = 1 << 14,   /* warpgroup matrix instructions (sm_90a) */
	COT_PTX_F_GRIDDEP = 1 << 15, /* programmatic dependent launch */
};

/* What may be between the parameters of a function and its body. */
enum cot_ptx_directive_kind {
	COT_PTX_DIR_MAXNTID,
	COT_PTX_DIR_REQNTID,
	COT_PTX_DIR_MINNCTAPERSM,
	COT_PTX_DIR_MAXNCTAPERSM,
	COT_PTX_DIR_MAXNREG,
	COT_PTX_DIR_NORETURN,
	COT_PTX_DIR_REQNCTAPERCLUSTER,
	COT_PTX_DIR_EXPLICITCLUSTER,
	COT_PTX_DIR_MAXCLUSTERRANK,
	COT_PTX_DIR_BLOCKSARECLUSTERS,
	COT_PTX_DIR_PRAGMA,
	COT_PTX_N_DIRECTIVES,
};

struct cot_ptx_directive_info {
	const char *name;  /* "maxntid" */
	unsigned min, max; /* how many numbers */
};

struct cot_ptx_op_info {
	const char *name;     /* "bar.sync" */
	uint64_t classes;     /* bit n: modifiers of class n are allowed */
	const char *operands; /* see ops.def */
	uint32_t flags;	      /* enum cot_ptx_op_flag */
};

const struct cot_ptx_op_info *cot_ptx_op_info(enum cot_ptx_op op);
const char *cot_ptx_mod_name(enum cot_ptx_mod mod);	    /* without the dot; NULL for a shape */
enum cot_ptx_class cot_ptx_mod_class(enum cot_ptx_mod mod); /* COT_PTX_CLASS_NONE for NO_MOD */
const char *cot_ptx_type_name(enum cot_ptx_type type);	    /* without the dot */
unsigned cot_ptx_type_bits(enum cot_ptx_type type);	    /* 1 for .pred, 0 for handles */
unsigned cot_ptx_type_bytes(enum cot_ptx_type type);	    /* in memory; 8 for handles */
enum cot_ptx_type_class cot_ptx_type_class(enum cot_ptx_type type);
const char *cot_ptx_sreg_name(enum cot_ptx_sreg sreg); /* with %, without .x */
enum cot_ptx_type cot_ptx_sreg_type(enum cot_ptx_sreg sreg);
bool cot_ptx_sreg_has_parts(enum cot_ptx_sreg sreg); /* .x .y .z .w */
const struct cot_ptx_directive_info *cot_ptx_directive(enum cot_ptx_directive_kind kind);

#endif
