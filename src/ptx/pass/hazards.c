#include "ptx/pass/hazards.h"

#include <errno.h>
#include <stdlib.h>

#include "ptx/pass/inside.h"
#include "ptx/pass/masks.h"
#include "ptx/pass/uniform.h"

/* ---- what instructions are ---- */

static bool is_barrier(const struct cot_ptx_stmt *s)
{
	return s->kind == COT_PTX_STMT_INSN &&
	       (cot_ptx_op_info(s->insn.op)->flags & COT_PTX_F_BARRIER);
}

/* bar.red has the predicate before the barrier's number, and the value to reduce behind. */
static bool is_reduction(const struct cot_ptx_insn *insn)
{
	return insn->op == COT_PTX_OP_BAR_RED || insn->op == COT_PTX_OP_BARRIER_RED;
}

static bool is_barrier_0(const struct cot_ptx_insn *insn)
{
	const struct cot_ptx_operand *id = &insn->operands[is_reduction(insn) ? 1 : 0];

	return id->kind == COT_PTX_OPND_INT && id->imm == 0;
}

/*
 * A barrier for all threads of the block: those that have ended do not hold it up. One that names
 * a number of threads waits for that many, whatever ends; it means the same in a worker.
 */
static bool is_full_barrier(const struct cot_ptx_stmt *s)
{
	return is_barrier(s) && s->insn.n_operands == (is_reduction(&s->insn) ? 3 : 1);
}

/* bar.sync 0 and barrier.sync 0, without a number of threads. */
static bool is_plain_barrier(const struct cot_ptx_stmt *s)
{
	return is_full_barrier(s) && !is_reduction(&s->insn) && is_barrier_0(&s->insn);
}

static bool has_full_barrier(const struct cot_ptx_func *func)
{
	const struct cot_ptx_stmt *s;

	for (s = func->first; s; s = s->next)
		if (is_full_barrier(s))
			return true;
	return false;
}

/* ---- one function ---- */

/* What was found in one function; the statements are the first of their kind. */
struct found {
	const struct cot_ptx_stmt *barrier;    /* some threads may not come here */
	const struct cot_ptx_stmt *warp;       /* some lanes may not come here */
	const struct cot_ptx_func *warp_owner; /* the function that it is in */
	const struct cot_ptx_stmt
		*call; /* a function with a barrier; some threads may not come here */
};

static int look_at_call(const struct cot_ptx_stmt *s, enum cot_uniform place, struct found *found)
{
	const struct cot_ptx_func **callees, *callee = cot_pass_callee(&s->insn);
	const struct cot_ptx_stmt *waiting;
	uint32_t n = 0, i;
	int rc = callee ? cot_pass_closure(callee, &callees, &n) : 0;

	if (rc || !callee)
		return rc;
	for (i = 0; i < n && !rc; i++) {
		if (!found->call && has_full_barrier(callees[i]))
			found->call = s;
		if (place <= COT_UNI_WARP || found->warp)
			continue;
		rc = cot_mask_first_waiting(callees[i], &waiting);
		if (!rc && waiting) {
			found->warp = waiting;
			found->warp_owner = callees[i];
		}
	}
	free(callees);
	return rc;
}

static int look_at(const struct cot_cfg *cfg, uint32_t block, const struct cot_ptx_stmt *s,
		   enum cot_uniform place, struct found *found)
{
	if (place <= COT_UNI_BLOCK || s->kind != COT_PTX_STMT_INSN)
		return 0;
	if (!found->barrier && is_full_barrier(s))
		found->barrier = s;
	if (!found->warp && place > COT_UNI_WARP && cot_mask_waits(cfg, block, s)) {
		found->warp = s;
		found->warp_owner = cfg->func;
	}
	return s->insn.op == COT_PTX_OP_CALL ? look_at_call(s, place, found) : 0;
}

static int look(const struct cot_ptx_func *func, bool entry, bool rows, struct found *ret_found)
{
	struct cot_uniformity uniformity = {0};
	struct cot_cfg cfg = {0};
	const struct cot_ptx_stmt *s;
	uint32_t b;
	int rc = cot_cfg_build(func, &cfg);

	*ret_found = (struct found){0};
	if (!rc)
		rc = cot_uniform_analyse(&cfg, entry, rows, &uniformity);
	for (b = 0; !rc && b < cfg.n_blocks; b++) {
		for (s = cfg.blocks[b].first; !rc; s = s->next) {
			rc = look_at(&cfg, b, s, (enum cot_uniform)uniformity.blocks[b], ret_found);
			if (s == cfg.blocks[b].last)
				break;
		}
	}
	cot_uniform_finish(&uniformity);
	cot_cfg_finish(&cfg);
	return rc;
}

/* ---- loops that wait ---- */

struct wait_scan {
	uint8_t *decides; /* by register: it decides whether the loop goes on */
	bool reads, writes;
};

static void check_deciding(void *arg, uint32_t reg, bool written)
{
	struct wait_scan *w = arg;

	if (written)
		w->writes |= w->decides[reg];
}

static void mark_read(void *arg, uint32_t reg, bool written)
{
	struct wait_scan *w = arg;

	if (written || w->decides[reg])
		return;
	w->decides[reg] = 1;
	w->reads = true;
}

static bool writes_deciding(struct wait_scan *w, const struct cot_ptx_insn *insn)
{
	w->writes = false;
	cot_ptx_for_each_reg(insn, check_deciding, w);
	return w->writes;
}

/* Registers on which the branches between first and last depend, through others in the loop. */
static void find_deciding(struct wait_scan *w, const struct cot_ptx_stmt *first,
			  const struct cot_ptx_stmt *last)
{
	const struct cot_ptx_stmt *s;

	do {
		w->reads = false;
		for (s = first;; s = s->next) {
			if (s->kind == COT_PTX_STMT_INSN) {
				if (cot_ptx_op_info(s->insn.op)->flags & COT_PTX_F_BRANCH)
					cot_ptx_for_each_reg(&s->insn, mark_read, w);
				else if (writes_deciding(w, &s->insn))
					cot_ptx_for_each_reg(&s->insn, mark_read, w);
			}
			if (s == last)
				break;
		}
	} while (w->reads);
}

/*
 * A read that others' writes may change while the loop turns. A compare-and-swap is none: such
 * loops try again until they succeed, and the thread that they wait for is running.
 */
static bool reads_from_others(const struct cot_ptx_insn *insn)
{
	enum cot_ptx_mod sem = cot_ptx_mod_of(insn, COT_PTX_CLASS_SEM);

	if (insn->space != COT_PTX_SPACE_NONE && insn->space != COT_PTX_SPACE_GLOBAL)
		return false;
	if (insn->op == COT_PTX_OP_ATOM)
		return !cot_ptx_has_mod(insn, COT_PTX_MOD_CAS);
	return insn->op == COT_PTX_OP_LD && sem != COT_PTX_NO_MOD && sem != COT_PTX_MOD_WEAK;
}

static void look_for_spin(struct cot_scan *scan, const struct cot_ptx_func *func, uint8_t *decides,
			  const struct cot_ptx_stmt *first, const struct cot_ptx_stmt *last)
{
	struct wait_scan w = {.decides = decides};
	const struct cot_ptx_stmt *s;
	uint32_t i;

	for (i = 0; i < func->n_regs; i++)
		decides[i] = 0;
	find_deciding(&w, first, last);
	for (s = first; s != last; s = s->next) {
		if (s->kind == COT_PTX_STMT_INSN && reads_from_others(&s->insn) &&
		    writes_deciding(&w, &s->insn)) {
			scan->facts->spins = true;
			cot_scan_refuse(scan, COT_REASON_SPIN, func, s);
			return;
		}
	}
}

static bool has_reads_from_others(const struct cot_ptx_func *func)
{
	const struct cot_ptx_stmt *s;

	for (s = func->first; s; s = s->next)
		if (s->kind == COT_PTX_STMT_INSN && reads_from_others(&s->insn))
			return true;
	return false;
}

/* Loops are what lies between a label and a branch back to it, in the order of the text. */
static int find_spins(struct cot_scan *scan, const struct cot_ptx_func *func)
{
	const struct cot_ptx_stmt *s;
	bool *passed;
	uint8_t *decides;
	int rc = -ENOMEM;

	if (!has_reads_from_others(func))
		return 0;
	passed = calloc(func->n_labels + 1, sizeof(*passed));
	decides = calloc(func->n_regs + 1, sizeof(*decides));
	if (!passed || !decides)
		goto out;
	for (s = func->first; s; s = s->next) {
		if (s->kind == COT_PTX_STMT_LABEL)
			passed[s->label->index] = true;
		if (s->kind != COT_PTX_STMT_INSN || s->insn.op != COT_PTX_OP_BRA)
			continue;
		if (s->insn.operands[0].kind == COT_PTX_OPND_LABEL &&
		    passed[s->insn.operands[0].label->index])
			look_for_spin(scan, func, decides, s->insn.operands[0].label->stmt, s);
	}
	rc = 0;
out:
	free(passed);
	free(decides);
	return rc;
}

/* ---- the whole ---- */

/*
 * Threads may return before barriers. Right only if all barriers of the whole block are plain ones,
 * from which and to which one can jump (not inside braces), and nothing else uses barrier 0.
 */
static void judge_early_return(struct cot_scan *scan, const struct cot_ptx_func *const *funcs,
			       uint32_t n)
{
	const struct cot_ptx_stmt *s;
	uint32_t i;

	scan->facts->early_return = true;
	for (i = 0; i < n; i++)
		for (s = funcs[i]->first; s; s = s->next)
			if (is_barrier(s) &&
			    (i || !is_plain_barrier(s) || s->scope != funcs[i]->scope) &&
			    (is_full_barrier(s) || is_barrier_0(&s->insn)))
				cot_scan_refuse(scan, COT_REASON_EARLY_BARRIER, funcs[i], s);
}

static int judge(struct cot_scan *scan, const struct cot_ptx_func *const *funcs, uint32_t n,
		 uint32_t i)
{
	struct found found, with_rows;
	int rc = look(funcs[i], i == 0, false, &found);

	if (rc)
		return rc;
	if (found.barrier && i == 0)
		judge_early_return(scan, funcs, n);
	else if (found.barrier)
		cot_scan_refuse(scan, COT_REASON_EARLY_BARRIER, funcs[i], found.barrier);
	if (found.call)
		cot_scan_refuse(scan, COT_REASON_EARLY_BARRIER, funcs[i], found.call);
	if (!found.warp)
		return 0;
	rc = look(funcs[i], i == 0, true, &with_rows);
	if (rc)
		return rc;
	if (with_rows.warp)
		cot_scan_refuse(scan, COT_REASON_EARLY_WARP, with_rows.warp_owner, with_rows.warp);
	else
		scan->facts->needs_rows = true;
	return 0;
}

int cot_hazards_find_spins(struct cot_scan *scan, const struct cot_ptx_func *const *funcs,
			   uint32_t n)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++)
		if (!funcs[i]->opaque && funcs[i]->has_body)
			rc = find_spins(scan, funcs[i]);
	return rc;
}

int cot_hazards_find(struct cot_scan *scan, const struct cot_ptx_func *const *funcs, uint32_t n)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		if (funcs[i]->opaque || !funcs[i]->has_body)
			continue;
		rc = find_spins(scan, funcs[i]);
		if (!rc)
			rc = judge(scan, funcs, n, i);
		if (rc == -E2BIG) {
			cot_scan_refuse_func(scan, COT_REASON_TOO_LARGE, funcs[i], "branches");
			rc = 0;
		}
	}
	if (scan->facts->barriers == UINT16_MAX)
		cot_scan_refuse_func(scan, COT_REASON_NO_BARRIER, funcs[0], "barriers 0 to 15");
	return rc;
}
