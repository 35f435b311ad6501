#include "sim/hw/smqos_search.h"

enum smqos_op hw_smqos_goal_wants(double ave, double epoch, double target, uint64_t n_epochs)
{
	if (ave < target || epoch < target)
		return SMQOS_IN;
	if (ave * (double)n_epochs / (double)(n_epochs + 1) > target && epoch > target)
		return SMQOS_OUT;
	return SMQOS_NONE;
}

void hw_smqos_judge(struct smqos_task *t, uint32_t n, double ipc, double threshold)
{
	enum smqos_op last = t->last;

	t->last = SMQOS_NONE;
	if (t->upper && t->lower)
		return; /* found, for good */
	if (last == SMQOS_IN) {
		if (ipc <= t->ipc_last * (1.0 + threshold)) {
			t->upper = true;
			t->opt = n - 1;
		} else {
			t->lower = true;
			t->opt = n;
		}
	} else if (last == SMQOS_OUT) {
		if (ipc < t->ipc_last * (1.0 - threshold)) {
			t->lower = true;
			t->opt = n + 1;
		} else {
			t->upper = true;
			t->opt = n;
		}
	}
}

enum smqos_op hw_smqos_batch_wants(const struct smqos_task *t, uint32_t n)
{
	if (n < t->opt || !t->upper)
		return SMQOS_IN;
	if (!t->lower || n > t->opt)
		return SMQOS_OUT;
	return SMQOS_NONE;
}
