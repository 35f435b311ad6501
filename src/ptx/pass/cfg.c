#include "ptx/pass/cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* ---- blocks ---- */

static bool is_end(const struct cot_ptx_stmt *stmt)
{
	return stmt->kind == COT_PTX_STMT_INSN &&
	       (cot_ptx_op_info(stmt->insn.op)->flags & COT_PTX_F_END);
}

/* A block begins at a label and after every instruction that may go elsewhere. */
static bool begins_block(const struct cot_ptx_stmt *stmt)
{
	return !stmt->prev || stmt->kind == COT_PTX_STMT_LABEL || is_end(stmt->prev);
}

static int find_blocks(struct cot_cfg *cfg)
{
	struct cot_cfg_block *b = NULL;
	struct cot_ptx_stmt *s;
	uint32_t n = 0;

	for (s = cfg->func->first; s; s = s->next)
		n += begins_block(s) ? 1 : 0;
	if (n > COT_CFG_BLOCKS_MAX)
		return -E2BIG;
	cfg->blocks = calloc(n ? n : 1, sizeof(*cfg->blocks));
	cfg->block_of_label = malloc((cfg->func->n_labels + 1) * sizeof(*cfg->block_of_label));
	if (!cfg->blocks || !cfg->block_of_label)
		return -ENOMEM;
	for (n = 0; n < cfg->func->n_labels; n++)
		cfg->block_of_label[n] = COT_CFG_NONE;
	for (s = cfg->func->first; s; s = s->next) {
		if (begins_block(s)) {
			b = &cfg->blocks[cfg->n_blocks++];
			b->first = s;
		}
		b->last = s;
		if (s->kind == COT_PTX_STMT_LABEL)
			cfg->block_of_label[s->label->index] = cfg->n_blocks - 1;
	}
	cfg->exit = cfg->n_blocks;
	return 0;
}

/* ---- edges ---- */

static int add_edge(struct cot_cfg *cfg, struct cot_cfg_block *b, uint32_t to)
{
	uint32_t *succs = cot_grow(cfg->succs, cfg->n_succs, &cfg->cap_succs, sizeof(*succs));

	if (!succs)
		return -ENOMEM;
	cfg->succs = succs;
	cfg->succs[cfg->n_succs++] = to;
	b->n_succ++;
	return 0;
}

static int add_target(struct cot_cfg *cfg, struct cot_cfg_block *b,
		      const struct cot_ptx_label *label)
{
	const struct cot_ptx_stmt *s = label->stmt;
	uint32_t i;
	int rc = 0;

	if (s && s->kind == COT_PTX_STMT_TARGETS) {
		for (i = 0; i < s->targets->n && !rc; i++)
			if (s->targets->items[i].kind == COT_PTX_OPND_LABEL)
				rc = add_target(cfg, b, s->targets->items[i].label);
		return rc;
	}
	i = cfg->block_of_label[label->index];
	return i == COT_CFG_NONE ? 0 : add_edge(cfg, b, i);
}

static int add_edges(struct cot_cfg *cfg, uint32_t index)
{
	struct cot_cfg_block *b = &cfg->blocks[index];
	const struct cot_ptx_insn *insn = &b->last->insn;
	bool falls = true;
	uint32_t i;
	int rc = 0;

	b->succ = cfg->n_succs;
	if (is_end(b->last)) {
		falls = insn->guard != COT_PTX_NO_REG;
		if (!(cot_ptx_op_info(insn->op)->flags & COT_PTX_F_BRANCH))
			rc = add_edge(cfg, b, cfg->exit);
		for (i = 0; i < insn->n_operands && !rc; i++)
			if (insn->operands[i].kind == COT_PTX_OPND_LABEL)
				rc = add_target(cfg, b, insn->operands[i].label);
	}
	if (!rc && falls)
		rc = add_edge(cfg, b, index + 1); /* the last block falls into the exit */
	return rc;
}

const struct cot_ptx_insn *cot_cfg_branch(const struct cot_cfg_block *block)
{
	return is_end(block->last) ? &block->last->insn : NULL;
}

/* ---- post-dominators ----
 *
 * Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", on the reversed graph. A block
 * from which the exit cannot be reached (an endless loop) gets the exit as its post-dominator:
 * its region is then everything that it reaches, which is the careful answer.
 */

struct reverse {
	uint32_t *first, *preds; /* predecessors of block b: preds[first[b] .. first[b + 1]) */
	uint32_t *sequence;	 /* blocks in reverse post-order from the exit */
	uint32_t n_sequence;
};

static int reverse_init(const struct cot_cfg *cfg, struct reverse *r)
{
	uint32_t n = cfg->n_blocks + 1, b, i, *at;

	r->first = calloc(n + 2, sizeof(*r->first));
	r->preds = calloc(cfg->n_succs + 1, sizeof(*r->preds));
	r->sequence = calloc(n, sizeof(*r->sequence));
	at = calloc(n + 1, sizeof(*at));
	if (!r->first || !r->preds || !r->sequence || !at) {
		free(at);
		return -ENOMEM;
	}
	for (i = 0; i < cfg->n_succs; i++)
		r->first[cfg->succs[i] + 1]++;
	for (b = 0; b < n; b++) {
		r->first[b + 1] += r->first[b];
		at[b] = r->first[b];
	}
	for (b = 0; b < cfg->n_blocks; b++)
		for (i = 0; i < cfg->blocks[b].n_succ; i++)
			r->preds[at[cfg->succs[cfg->blocks[b].succ + i]]++] = b;
	free(at);
	return 0;
}

/* Depth first from the exit, without recursion; fills sequence from its end. */
static int reverse_order(struct cot_cfg *cfg, struct reverse *r)
{
	uint32_t n = cfg->n_blocks + 1, depth = 0, at = n;
	uint32_t *stack = calloc(n, sizeof(*stack)), *next = calloc(n, sizeof(*next));
	bool *seen = calloc(n, sizeof(*seen));
	int rc = -ENOMEM;

	if (!stack || !next || !seen)
		goto out;
	stack[depth++] = cfg->exit;
	seen[cfg->exit] = true;
	while (depth) {
		uint32_t b = stack[depth - 1], i = r->first[b] + next[b];

		if (i == r->first[b + 1]) {
			r->sequence[--at] = b;
			depth--;
			continue;
		}
		next[b]++;
		if (!seen[r->preds[i]]) {
			seen[r->preds[i]] = true;
			stack[depth++] = r->preds[i];
		}
	}
	r->n_sequence = n - at;
	for (depth = 0; depth < r->n_sequence; depth++) {
		r->sequence[depth] = r->sequence[at + depth];
		if (r->sequence[depth] != cfg->exit)
			cfg->blocks[r->sequence[depth]].order = depth;
	}
	rc = 0;
out:
	free(stack);
	free(next);
	free(seen);
	return rc;
}

static uint32_t order_of(const struct cot_cfg *cfg, uint32_t b)
{
	return b == cfg->exit ? 0 : cfg->blocks[b].order;
}

static uint32_t meet(const struct cot_cfg *cfg, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (order_of(cfg, a) > order_of(cfg, b))
			a = cfg->blocks[a].pdom;
		while (order_of(cfg, b) > order_of(cfg, a))
			b = cfg->blocks[b].pdom;
	}
	return a;
}

static bool update_pdom(struct cot_cfg *cfg, uint32_t b)
{
	const struct cot_cfg_block *block = &cfg->blocks[b];
	uint32_t found = COT_CFG_NONE, i, s;

	for (i = 0; i < block->n_succ; i++) {
		s = cfg->succs[block->succ + i];
		if (s != cfg->exit && cfg->blocks[s].pdom == COT_CFG_NONE)
			continue;
		found = found == COT_CFG_NONE ? s : meet(cfg, found, s);
	}
	if (found == block->pdom)
		return false;
	cfg->blocks[b].pdom = found;
	return true;
}

static int find_pdoms(struct cot_cfg *cfg)
{
	struct reverse r = {0};
	bool changed = true;
	uint32_t i;
	int rc = reverse_init(cfg, &r);

	if (!rc)
		rc = reverse_order(cfg, &r);
	for (i = 0; i < cfg->n_blocks; i++)
		cfg->blocks[i].pdom = COT_CFG_NONE;
	while (!rc && changed) {
		changed = false;
		for (i = 1; i < r.n_sequence; i++) /* 0 is the exit */
			changed |= update_pdom(cfg, r.sequence[i]);
	}
	for (i = 0; i < cfg->n_blocks; i++)
		if (cfg->blocks[i].pdom == COT_CFG_NONE)
			cfg->blocks[i].pdom = cfg->exit;
	free(r.first);
	free(r.preds);
	free(r.sequence);
	return rc;
}

/* ---- the whole ---- */

int cot_cfg_build(const struct cot_ptx_func *func, struct cot_cfg *ret_cfg)
{
	struct cot_cfg cfg = {.func = func};
	uint32_t i;
	int rc = find_blocks(&cfg);

	for (i = 0; i < cfg.n_blocks && !rc; i++)
		rc = add_edges(&cfg, i);
	if (!rc)
		rc = find_pdoms(&cfg);
	if (rc) {
		cot_cfg_finish(&cfg);
		return rc;
	}
	*ret_cfg = cfg;
	return 0;
}

void cot_cfg_finish(struct cot_cfg *cfg)
{
	free(cfg->blocks);
	free(cfg->succs);
	free(cfg->block_of_label);
	*cfg = (struct cot_cfg){0};
}

void cot_cfg_region(const struct cot_cfg *cfg, uint32_t from, bool *seen, uint32_t *stack)
{
	uint32_t stop = cfg->blocks[from].pdom, depth = 0, b, i, s;

	memset(seen, 0, cfg->n_blocks * sizeof(*seen));
	stack[depth++] = from;
	while (depth) {
		b = stack[--depth];
		for (i = 0; i < cfg->blocks[b].n_succ; i++) {
			s = cfg->succs[cfg->blocks[b].succ + i];
			if (s == stop || s == cfg->exit || seen[s])
				continue;
			seen[s] = true;
			stack[depth++] = s;
		}
	}
}
