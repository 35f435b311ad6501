/* The shim begins with the program's first call of a function that it takes, and again after
 * fork(). */
#include "guest/shim/fork.h"
#include "guest/shim/code.h"
#include "guest/shim/context.h"
#include "guest/shim/cpu.h"
#include "guest/shim/driver.h"
#include "guest/shim/memory.h"
#include "guest/shim/parts.h"
#include "guest/shim/runtime.h"
#include "guest/shim/seen.h"
#include "guest/shim/share.h"
#include "guest/shim/timed.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

/* The parent's threads, connections and GPU are not the child's. */
static void after_fork_in_child(void)
{
	cot_shim_runtime_forget();
	cot_shim_wait_forget();
	cot_shim_gpus_forget();
	cot_shim_contexts_forget();
	cot_shim_code_reset();
	cot_shim_cpu_forget();
	cot_shim_parts_forget();
	cot_shim_memory_forget();
	cot_shim_seen_forget();
	cot_shim_query_forget();
	cot_shim_timed_forget();
	cot_shim_share_forget();
	cot_shim_merge_forget();
}

static void begin_once(void)
{
	cot_shim_timed_start();
	if (!cot_shim_is_timed())
		return;
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_query_want(); /* to hear of the program's marks */
	pthread_mutex_unlock(&cot_shim_lock);
}

bool cot_shim_begin(void)
{
	int asked = COT_SHIM_ASKED;
	int state = pthread_atfork(NULL, NULL, after_fork_in_child) ? COT_SHIM_OFF : COT_SHIM_ON;

	/* Two threads may come here at once: to forget twice does no harm. */
	if (atomic_compare_exchange_strong(&cot_shim_state, &asked, state) && state == COT_SHIM_ON)
		begin_once();
	return atomic_load(&cot_shim_state) == COT_SHIM_ON;
}
