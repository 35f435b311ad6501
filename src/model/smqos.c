#include "model/smqos.h"

enum cot_smqos_op cot_smqos_goal_wants(double ave, double epoch, double target, uint64_t n_epochs)
{
	if (ave < target || epoch < target)
		return COT_SMQOS_IN;
	if (ave * (double)n_epochs / (double)(n_epochs + 1) > target && epoch > target)
		return COT_SMQOS_OUT;
	return COT_SMQOS_NONE;
}

void cot_smqos_judge(struct cot_smqos_task *t, uint32_t n, double rate, double threshold)
{
	enum cot_smqos_op last = t->last;

	t->last = COT_SMQOS_NONE;
	if (t->upper && t->lower)
		return; /* found, for good */
	if (last == COT_SMQOS_IN) {
		if (rate <= t->rate_last * (1.0 + threshold)) {
			t->upper = true;
			t->opt = n - 1;
		} else {
			t->lower = true;
			t->opt = n;
		}
	} else if (last == COT_SMQOS_OUT) {
		if (rate < t->rate_last * (1.0 - threshold)) {
			t->lower = true;
			t->opt = n + 1;
		} else {
			t->upper = true;
			t->opt = n;
		}
	}
}

enum cot_smqos_op cot_smqos_batch_wants(const struct cot_smqos_task *t, uint32_t n)
{
	if (n < t->opt || !t->upper)
		return COT_SMQOS_IN;
	if (!t->lower || n > t->opt)
		return COT_SMQOS_OUT;
	return COT_SMQOS_NONE;
}

void cot_smqos_judge_printed(struct cot_smqos_task *t, uint32_t n, double rate, double threshold)
{
	enum cot_smqos_op last = t->last;
	bool in_vain;

	t->last = COT_SMQOS_NONE;
	if (last == COT_SMQOS_NONE || (t->upper && t->lower))
		return;
	in_vain = last == COT_SMQOS_IN ? rate <= t->rate_last * (1.0 + threshold)
				       : rate < t->rate_last * (1.0 - threshold);
	*(in_vain ? &t->upper : &t->lower) = true;
	if (!in_vain || (t->upper && t->lower))
		t->opt = n;
}

enum cot_smqos_op cot_smqos_batch_wants_printed(const struct cot_smqos_task *t, uint32_t n)
{
	if (n < t->opt || !t->upper)
		return COT_SMQOS_IN;
	return t->lower ? COT_SMQOS_NONE : COT_SMQOS_OUT;
}
