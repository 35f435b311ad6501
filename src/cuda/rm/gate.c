/*
 * Setting up or taking down channels, and freezing, exclude each other. A freeze during a set-up
 * made programs hang for ever on an H200 (driver 580): the driver's user part waited for its own
 * first work on the new channels, which never ended, even after the thaw. That work comes after the
 * last request that is visible here, hence the quiet time.
 *
 * cot_rm_close_gate() refuses a freeze then; a set-up that begins while the process is frozen waits
 * at the gate.
 */
#include <errno.h>

#include "cuda/rm/inside.h"

static uint64_t now_ns(const struct cot_rm *rm)
{
	return rm->host->now_ns ? rm->host->now_ns() : 0;
}

void cot_rm_begin_change(struct cot_rm *rm)
{
	int saved = errno;

	/*
	 * Sequentially consistent on both sides: this thread adds to n_changing, then loads
	 * gate_closed; cot_rm_close_gate() in the control thread stores gate_closed, then loads
	 * n_changing. So at least one of the two sees the other.
	 */
	for (;;) {
		atomic_fetch_add(&rm->n_changing, 1);
		if (!atomic_load(&rm->gate_closed) || !rm->host->wait)
			break;
		atomic_fetch_sub(&rm->n_changing, 1);
		if (rm->host->wait())
			continue;
		cot_rm_doubt(rm);
		atomic_fetch_add(&rm->n_changing, 1);
		break;
	}
	errno = saved;
}

void cot_rm_end_change(struct cot_rm *rm)
{
	atomic_store(&rm->changed_ns, now_ns(rm));
	atomic_fetch_sub(&rm->n_changing, 1);
}

bool cot_rm_close_gate(struct cot_rm *rm)
{
	uint64_t now, since;

	atomic_store(&rm->gate_closed, true);
	if (atomic_load(&rm->n_changing))
		return false;
	since = atomic_load(&rm->changed_ns);
	now = now_ns(rm);
	return !since || now - since >= COT_RM_QUIET_NS;
}

void cot_rm_open_gate(struct cot_rm *rm)
{
	atomic_store(&rm->gate_closed, false);
}
