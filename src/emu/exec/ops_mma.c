/*
 * Matrix instructions of a warp: mma, wmma and ldmatrix. Fragments of mma are spread over the lanes
 * as PTX says; PTX leaves those of wmma to us: element e of a matrix, row by row, is in lane e /
 * (elements per lane).
 *
 * Products are added in double precision, in order, and rounded once at the end; integers exactly.
 */
#include "emu/exec/lower.h"
#include "emu/exec/matrix.h"
#include "emu/exec/ops.h"
#include "emu/exec/soft.h"

#define MAX_SIDE  32u
#define MAX_REGS  32u
#define N_OPERAND 4u

enum { MAT_D, MAT_A, MAT_B, MAT_C };

/* What a matrix instruction is; in the module's lists, followed by the rows of all registers. */
struct matrix_op {
	uint32_t n[N_OPERAND];	  /* registers of d, a, b, c */
	uint32_t type[N_OPERAND]; /* enum cot_ptx_type of the elements */
	uint32_t m, n_cols, k;
	uint32_t wmma, saturate;
	uint32_t what, column_major, stores; /* wmma.load and store: which matrix */
};

#define OP_WORDS (sizeof(struct matrix_op) / sizeof(uint32_t))

static const struct matrix_op *op_of(const struct cot_exec_warp *w, const struct cot_exec_insn *in)
{
	return (const struct matrix_op *)(const void *)(w->block->run->module->lists + in->dst);
}

static const cot_exec_ref *regs_of(const struct matrix_op *op, unsigned which)
{
	const cot_exec_ref *refs = (const cot_exec_ref *)(const void *)(op + 1);
	unsigned k;

	for (k = 0; k < which; k++)
		refs += op->n[k];
	return refs;
}

static unsigned element_bits(uint32_t type)
{
	return cot_ptx_type_bits((enum cot_ptx_type)type);
}

/* Elements in one register. */
static unsigned per_register(uint32_t type)
{
	return element_bits(type) >= 32 ? 1 : 32 / element_bits(type);
}

static uint32_t rows_of(const struct matrix_op *op, unsigned which)
{
	return which == MAT_B ? op->k : op->m;
}

static uint32_t cols_of(const struct matrix_op *op, unsigned which)
{
	return which == MAT_A ? op->k : op->n_cols;
}

/* Which element of the matrix is the i-th of a lane; false: none. */
static bool place_of(const struct matrix_op *op, unsigned which, unsigned lane, unsigned i,
		     uint32_t *ret_row, uint32_t *ret_col)
{
	unsigned q = per_register(op->type[which]), r = i / q, j = i % q;
	unsigned group = lane / 4, of_four = lane % 4;
	uint32_t total = rows_of(op, which) * cols_of(op, which), e;

	if (op->wmma) {
		if (i >= total / LANES)
			return false;
		e = lane * (total / LANES) + i;
		*ret_row = e / cols_of(op, which);
		*ret_col = e % cols_of(op, which);
	} else if (which == MAT_A) {
		*ret_row = group + 8 * (r & 1);
		*ret_col = (r / 2) * 4 * q + of_four * q + j;
	} else if (which == MAT_B) {
		*ret_row = r * 4 * q + of_four * q + j;
		*ret_col = group;
	} else {
		*ret_row = group + 8 * (i / 2);
		*ret_col = of_four * 2 + (i & 1);
	}
	return true;
}

static int soft_format(uint32_t type)
{
	switch (type) {
	case COT_PTX_F16:
		return COT_SOFT_F16;
	case COT_PTX_BF16:
		return COT_SOFT_BF16;
	case COT_PTX_TF32:
		return COT_SOFT_TF32;
	case COT_PTX_F32:
		return COT_SOFT_F32;
	default:
		return -1;
	}
}

static double value_of(uint64_t bits, uint32_t type)
{
	struct cot_soft_rule rule = {COT_SOFT_RN, false, false, false, false};
	int format = soft_format(type);

	if (format >= 0)
		return f64_bits(
			cot_soft_convert(bits, (enum cot_soft_format)format, COT_SOFT_F64, rule));
	switch (type) {
	case COT_PTX_F64:
		return f64_bits(bits);
	case COT_PTX_S8:
		return (int8_t)bits;
	case COT_PTX_U8:
		return (uint8_t)bits;
	default:
		return (int32_t)(uint32_t)bits;
	}
}

static uint64_t bits_of(double value, uint32_t type, bool saturate)
{
	struct cot_soft_rule rule = {COT_SOFT_RN, false, false, false, false};
	int format = soft_format(type);

	if (format >= 0)
		return cot_soft_convert(bits_f64(value), COT_SOFT_F64, (enum cot_soft_format)format,
					rule);
	if (type == COT_PTX_F64)
		return bits_f64(value);
	if (saturate && value > INT32_MAX)
		value = INT32_MAX;
	if (saturate && value < INT32_MIN)
		value = INT32_MIN;
	return (uint32_t)(int64_t)value;
}

static void gather(struct cot_exec_warp *w, const struct matrix_op *op, unsigned which,
		   double matrix[MAX_SIDE][MAX_SIDE])
{
	const cot_exec_ref *refs = regs_of(op, which);
	unsigned bits = element_bits(op->type[which]), q = per_register(op->type[which]), lane, i;
	uint32_t row, col;
	uint64_t x;

	for (lane = 0; lane < LANES; lane++) {
		for (i = 0; i < op->n[which] * q; i++) {
			if (!place_of(op, which, lane, i, &row, &col))
				break;
			x = bits == 64 ? ROW(u64, refs[i])[lane] : ROW(u32, refs[i / q])[lane];
			x = bits < 32 ? x >> (bits * (i % q)) & ((1u << bits) - 1) : x;
			matrix[row][col] = value_of(x, op->type[which]);
		}
	}
}

static void set_element(struct cot_exec_warp *w, const struct matrix_op *op, cot_exec_ref ref,
			unsigned lane, unsigned i, uint64_t x)
{
	unsigned bits = element_bits(op->type[MAT_D]), q = per_register(op->type[MAT_D]);
	unsigned shift = bits * (i % q);
	row_u32 *d = ROW(u32, ref);

	if (bits == 64)
		ROW(u64, ref)[lane] = x;
	else if (bits == 32)
		d[lane] = (uint32_t)x;
	else
		d[lane] = (d[lane] & ~(((1u << bits) - 1) << shift)) | (uint32_t)x << shift;
}

static void scatter(struct cot_exec_warp *w, const struct matrix_op *op, uint32_t m,
		    double matrix[MAX_SIDE][MAX_SIDE])
{
	const cot_exec_ref *refs = regs_of(op, MAT_D);
	unsigned q = per_register(op->type[MAT_D]), i;
	uint32_t row, col;

	for (; m; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);

		for (i = 0; i < op->n[MAT_D] * q; i++)
			if (place_of(op, MAT_D, lane, i, &row, &col))
				set_element(
					w, op, refs[i / q], lane, i,
					bits_of(matrix[row][col], op->type[MAT_D], op->saturate));
	}
}

enum cot_exec_flow cot_exec_do_mma(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m)
{
	const struct matrix_op *op = op_of(w, in);
	double a[MAX_SIDE][MAX_SIDE], b[MAX_SIDE][MAX_SIDE], c[MAX_SIDE][MAX_SIDE];
	bool exact = op->type[MAT_D] == COT_PTX_F64;
	uint32_t row, col, k;

	gather(w, op, MAT_A, a);
	gather(w, op, MAT_B, b);
	gather(w, op, MAT_C, c);
	for (row = 0; row < op->m; row++)
		for (col = 0; col < op->n_cols; col++)
			for (k = 0; k < op->k; k++)
				c[row][col] =
					exact ? __builtin_fma(a[row][k], b[k][col], c[row][col])
					      : a[row][k] * b[k][col] + c[row][col];
	scatter(w, op, m, c);
	return FLOW_NEXT;
}

/* ---- wmma.load and wmma.store ---- */

static uint64_t window_of(uint8_t space)
{
	return space == MEM_SHARED ? WINDOW_SHARED : space == MEM_LOCAL ? WINDOW_LOCAL : 0;
}

enum cot_exec_flow cot_exec_do_wmma_memory(struct cot_exec_warp *w, const struct cot_exec_insn *in,
					   uint32_t m)
{
	const struct matrix_op *op = op_of(w, in);
	const cot_exec_ref *refs = regs_of(op, MAT_D);
	bool write = in->flags & INSN_WRITES;
	unsigned bytes = element_bits(op->type[MAT_D]) / 8, q = per_register(op->type[MAT_D]), i;
	uint32_t row, col;

	for (; m; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);
		uint64_t base =
			in->flags & INSN_ADDRESS64 ? ROW(u64, in->a)[lane] : ROW(u32, in->a)[lane];
		uint32_t stride = ROW(u32, in->b)[lane];

		base += (uint64_t)in->imm + window_of(in->space);
		for (i = 0; i < op->n[MAT_D] * q; i++) {
			uint64_t at, x = 0;
			uint8_t *p;

			if (!place_of(op, op->what, lane, i, &row, &col))
				break;
			at = base + (uint64_t)bytes * (op->column_major
							       ? (uint64_t)col * stride + row
							       : (uint64_t)row * stride + col);
			p = cot_exec_generic(w, lane, at, bytes, write);
			if (!p || at % bytes)
				return cot_exec_fault(
					w, in, lane, COT_EXEC_FAULT_ADDRESS, at,
					"an invalid access of a matrix at address 0x%llx",
					(unsigned long long)at);
			if (write) {
				x = ROW(u32, refs[i / q])[lane] >> (8 * bytes % 32 * (i % q));
				memcpy(p, &x, bytes);
			} else {
				memcpy(&x, p, bytes);
				set_element(w, op, refs[i / q], lane, i, x);
			}
		}
	}
	return FLOW_NEXT;
}

/* ---- ldmatrix: n matrices of 8 rows of 16 bytes; c: transposed ---- */

enum cot_exec_flow cot_exec_do_ldmatrix(struct cot_exec_warp *w, const struct cot_exec_insn *in,
					uint32_t m)
{
	const cot_exec_ref *refs = w->block->run->module->lists + in->b;
	unsigned n = in->d, lane, k;
	uint32_t sources = n == 4 ? ALL_LANES : (1u << (8 * n)) - 1;
	uint8_t *p[LANES];
	uint16_t pair[2];

	if (cot_exec_access(w, in, sources, 16, p))
		return FLOW_FAULT;
	for (k = 0; k < n; k++) {
		row_u32 *d = ROW(u32, refs[k]);
		uint32_t values[LANES];

		for (lane = 0; lane < LANES; lane++) {
			unsigned row = lane / 4, col = lane % 4 * 2, j;

			for (j = 0; j < 2; j++)
				memcpy(&pair[j],
				       in->c ? p[8 * k + col + j] + 2 * row
					     : p[8 * k + row] + 2 * (col + j),
				       sizeof(pair[j]));
			values[lane] = pair[0] | (uint32_t)pair[1] << 16;
		}
		FOR_LANES(m, d[i] = values[i]);
	}
	return FLOW_NEXT;
}

/* ---- lowering ---- */

static uint32_t element_of(uint8_t type)
{
	return type == COT_PTX_F16X2 ? COT_PTX_F16 : type == COT_PTX_BF16X2 ? COT_PTX_BF16 : type;
}

static bool is_element(uint32_t type)
{
	return soft_format(type) >= 0 || type == COT_PTX_F64 || type == COT_PTX_S8 ||
	       type == COT_PTX_U8 || type == COT_PTX_S32;
}

/* The instruction's description and registers, into the lists; false: not executed. */
static bool add_op(struct cot_exec_lower *l, struct matrix_op *op,
		   const struct cot_ptx_operand *const operands[N_OPERAND], uint32_t *ret_list)
{
	cot_exec_ref refs[N_OPERAND * MAX_REGS];
	uint32_t n = 0, k, i;

	for (k = 0; k < N_OPERAND; k++) {
		const struct cot_ptx_operand *v = operands[k];
		unsigned bits = element_bits(op->type[k]) == 64 ? 64 : 32;

		op->n[k] = v ? v->n : 0;
		if (v &&
		    (v->kind != COT_PTX_OPND_VECTOR || v->n > MAX_REGS || !is_element(op->type[k])))
			return false;
		for (i = 0; v && i < v->n; i++)
			refs[n++] = k == MAT_D && !op->stores
					    ? cot_exec_dest(l, &v->items[i], bits)
					    : cot_exec_source(l, &v->items[i], bits);
	}
	*ret_list = cot_exec_add_list(l, (const cot_exec_ref *)(const void *)op, OP_WORDS);
	cot_exec_add_list(l, refs, n);
	return true;
}

/* Do so many registers of so many elements hold the matrix? */
static bool holds(const struct matrix_op *op, unsigned which, unsigned as)
{
	uint32_t have = op->n[which] * per_register(op->type[which]) * LANES;
	uint32_t need = rows_of(op, as) * cols_of(op, as);

	if (rows_of(op, as) > MAX_SIDE || cols_of(op, as) > MAX_SIDE || !need || need % LANES)
		return false;
	return op->wmma ? have >= need : have == need;
}

static bool lower_mma(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	bool wmma = x->op == COT_PTX_OP_WMMA_MMA;
	struct matrix_op op = {
		.m = x->shape[0], .n_cols = x->shape[1], .k = x->shape[2], .wmma = wmma};
	const struct cot_ptx_operand *operands[N_OPERAND];
	uint32_t list, k;

	op.saturate = cot_ptx_has_mod(x, COT_PTX_MOD_SATFINITE);
	for (k = 0; k < N_OPERAND; k++) {
		operands[k] = &x->operands[k];
		/* wmma of halves names the types of d and c only. */
		op.type[k] = x->n_types == 2 ? (k == MAT_D   ? x->types[0]
						: k == MAT_C ? x->types[1]
							     : (uint32_t)COT_PTX_F16)
					     : x->types[k];
		op.type[k] = element_of((uint8_t)op.type[k]);
	}
	if ((x->n_types != 4 && (!wmma || x->n_types != 2)) || (!wmma && op.n_cols != 8) ||
	    cot_ptx_mod_of(x, COT_PTX_CLASS_MMA) || !add_op(l, &op, operands, &list))
		return false;
	if (l->refusal)
		return true;
	for (k = 0; k < N_OPERAND; k++)
		if (!holds(&op, k, k))
			return false;
	/* The layouts that place_of() knows: 16 rows, or 8 with one register of a. */
	if (!wmma && op.m != 16 && (op.m != 8 || op.n[MAT_A] != 1))
		return false;
	cot_exec_emit_matrix(l, COT_EXEC_MATRIX_MMA, &(struct cot_exec_insn){.dst = list});
	return true;
}

static bool lower_wmma_memory(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	bool store = x->op == COT_PTX_OP_WMMA_STORE_D;
	struct matrix_op op = {
		.m = x->shape[0], .n_cols = x->shape[1], .k = x->shape[2], .wmma = 1};
	const struct cot_ptx_operand *operands[N_OPERAND] = {&x->operands[store]};
	struct cot_exec_insn in = {.flags = store ? INSN_WRITES : 0};
	unsigned which = x->op == COT_PTX_OP_WMMA_LOAD_A   ? MAT_A
			 : x->op == COT_PTX_OP_WMMA_LOAD_B ? MAT_B
							   : MAT_C;
	bool column = cot_ptx_has_mod(x, COT_PTX_MOD_COL);
	uint32_t list;

	op.type[MAT_D] = op.type[which] = element_of(x->types[0]);
	op.column_major = column;
	if (element_bits(op.type[MAT_D]) == 64)
		return false;
	/* Without a stride the matrix has no gaps. */
	in.b = x->n_operands > 2
		       ? cot_exec_source(l, &x->operands[2], 32)
		       : cot_exec_const_row(l, column ? rows_of(&op, which) : cols_of(&op, which),
					    32);
	if (!cot_exec_address(l, &in, &x->operands[!store], x->space))
		return true;
	if (in.flags & INSN_FRAME)
		return cot_exec_refuse(l, "a matrix in local memory by its name");
	op.what = which;
	op.stores = store;
	if (!add_op(l, &op, operands, &list))
		return false;
	if (l->refusal)
		return true;
	in.dst = list;
	if (!holds(&op, MAT_D, which))
		return false;
	cot_exec_emit_matrix(l, COT_EXEC_MATRIX_MEMORY, &in);
	return true;
}

static bool lower_ldmatrix(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	const struct cot_ptx_operand *v = &x->operands[0];
	struct cot_exec_insn in = {.c = cot_ptx_has_mod(x, COT_PTX_MOD_TRANS)};
	cot_exec_ref refs[4];
	uint32_t k;

	if (v->kind != COT_PTX_OPND_VECTOR || (v->n != 1 && v->n != 2 && v->n != 4) ||
	    x->shape[0] != 8 || x->shape[1] != 8 || x->types[0] != COT_PTX_B16)
		return false;
	for (k = 0; k < v->n; k++)
		refs[k] = cot_exec_dest(l, &v->items[k], 32);
	if (!cot_exec_address(l, &in, &x->operands[1], x->space))
		return true;
	in.b = cot_exec_add_list(l, refs, v->n);
	in.d = v->n;
	cot_exec_emit_matrix(l, COT_EXEC_MATRIX_LOAD, &in);
	return true;
}

bool cot_exec_lower_mma(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	switch (x->op) {
	case COT_PTX_OP_MMA:
	case COT_PTX_OP_WMMA_MMA:
		return lower_mma(l, x);
	case COT_PTX_OP_WMMA_LOAD_A:
	case COT_PTX_OP_WMMA_LOAD_B:
	case COT_PTX_OP_WMMA_LOAD_C:
	case COT_PTX_OP_WMMA_STORE_D:
		return lower_wmma_memory(l, x);
	case COT_PTX_OP_LDMATRIX:
		return lower_ldmatrix(l, x);
	default:
		return false;
	}
}
