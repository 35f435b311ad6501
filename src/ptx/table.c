#include "ptx/table.h"

#include "base/compiler.h"

#define K(class_) (1ull << COT_PTX_CLASS_##class_)
#define F(flag)	  COT_PTX_F_##flag

static const struct cot_ptx_op_info ops[] = {
#define OP(id, text, modifiers, operands, flags) {text, modifiers, operands, flags},
#include "ptx/ops.def"
#undef OP
};

struct mod_info {
	const char *name;
	enum cot_ptx_class class_;
};

static const struct mod_info mods[] = {
	{NULL, COT_PTX_CLASS_NONE},
#define MOD(id, text, class_) {text, COT_PTX_CLASS_##class_},
#include "ptx/mods.def"
#undef MOD
};

struct type_info {
	const char *name;
	enum cot_ptx_type_class class_;
	unsigned bits;
};

static const struct type_info types[] = {
	{"", COT_PTX_BITS_TYPE, 0},
#define TYPE(id, text, class_, bits) {text, COT_PTX_##class_##_TYPE, bits},
#include "ptx/types.def"
#undef TYPE
};

struct sreg_info {
	const char *name;
	enum cot_ptx_type type;
	bool parts;
};

static const struct sreg_info sregs[] = {
#define SREG(id, text, type, parts) {text, COT_PTX_##type, parts},
#include "ptx/sregs.def"
#undef SREG
};

static const struct cot_ptx_directive_info directives[COT_PTX_N_DIRECTIVES] = {
	[COT_PTX_DIR_MAXNTID] = {"maxntid", 1, 3},
	[COT_PTX_DIR_REQNTID] = {"reqntid", 1, 3},
	[COT_PTX_DIR_MINNCTAPERSM] = {"minnctapersm", 1, 1},
	[COT_PTX_DIR_MAXNCTAPERSM] = {"maxnctapersm", 1, 1},
	[COT_PTX_DIR_MAXNREG] = {"maxnreg", 1, 1},
	[COT_PTX_DIR_NORETURN] = {"noreturn", 0, 0},
	[COT_PTX_DIR_REQNCTAPERCLUSTER] = {"reqnctapercluster", 0, 3},
	[COT_PTX_DIR_EXPLICITCLUSTER] = {"explicitcluster", 0, 0},
	[COT_PTX_DIR_MAXCLUSTERRANK] = {"maxclusterrank", 1, 1},
	[COT_PTX_DIR_BLOCKSARECLUSTERS] = {"blocksareclusters", 0, 0},
	[COT_PTX_DIR_PRAGMA] = {"pragma", 0, 0},
};

_Static_assert(COT_ARRAY_LEN(ops) == COT_PTX_N_OPS, "a line for each opcode");
_Static_assert(COT_ARRAY_LEN(mods) == COT_PTX_MOD_SHAPE, "a line for each modifier");
_Static_assert(COT_ARRAY_LEN(types) == COT_PTX_N_TYPES, "a line for each type");
_Static_assert(COT_ARRAY_LEN(sregs) == COT_PTX_N_SREGS, "a line for each special register");
_Static_assert(COT_PTX_N_CLASSES <= 64, "classes fit a 64-bit set");

const struct cot_ptx_op_info *cot_ptx_op_info(enum cot_ptx_op op)
{
	return &ops[op];
}

const char *cot_ptx_mod_name(enum cot_ptx_mod mod)
{
	if (mod >= COT_PTX_MOD_TYPE)
		return types[mod - COT_PTX_MOD_TYPE].name;
	return mod == COT_PTX_MOD_SHAPE ? NULL : mods[mod].name;
}

enum cot_ptx_class cot_ptx_mod_class(enum cot_ptx_mod mod)
{
	if (mod >= COT_PTX_MOD_TYPE)
		return COT_PTX_CLASS_TYPE;
	return mod == COT_PTX_MOD_SHAPE ? COT_PTX_CLASS_SHAPE : mods[mod].class_;
}

const char *cot_ptx_type_name(enum cot_ptx_type type)
{
	return types[type].name;
}

unsigned cot_ptx_type_bits(enum cot_ptx_type type)
{
	return types[type].bits;
}

unsigned cot_ptx_type_bytes(enum cot_ptx_type type)
{
	return types[type].class_ == COT_PTX_HANDLE_TYPE ? 8 : (types[type].bits + 7) / 8;
}

enum cot_ptx_type_class cot_ptx_type_class(enum cot_ptx_type type)
{
	return types[type].class_;
}

const char *cot_ptx_sreg_name(enum cot_ptx_sreg sreg)
{
	return sregs[sreg].name;
}

enum cot_ptx_type cot_ptx_sreg_type(enum cot_ptx_sreg sreg)
{
	return sregs[sreg].type;
}

bool cot_ptx_sreg_has_parts(enum cot_ptx_sreg sreg)
{
	return sregs[sreg].parts;
}

const struct cot_ptx_directive_info *cot_ptx_directive(enum cot_ptx_directive_kind kind)
{
	return &directives[kind];
}
