/* Which launches are handed to the backend, and what becomes of them; see backend.h. */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "guest/log.h"
#include "guest/os.h"
#include "guest/shim/backend_inside.h"
#include "guest/shim/merge_inside.h"
#include "guest/shim/parts.h"

/* Beyond the window: for the driver's call, and a thread that has lost its CPU. */
#define GRACE_NS (2 * COT_NS_PER_MS)
/* A thread looks without sleeping for so long beyond the window, and then every so often. */
#define SPIN_NS	 (100 * 1000ull)
#define PAUSE_NS (20 * 1000ull)
/* After a launch has come back so many are not handed over; twice as many after the next one. */
#define VAIN_FIRST 2u
#define VAIN_MAX   64u

#define TAILS 64u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
/* Streams in which nothing was put since a launch that the backend made. */
static CUstream tails[TAILS]; /* NULL: free; the default stream by its name */
static uint32_t n_skip, vain = VAIN_FIRST;
/* A stream besides the default one is used: that one may wait for what is in it. */
static _Atomic bool others;
/* The driver does not let streams wait for numbers. */
static _Atomic bool no_waits;

/* ---- streams ---- */

static CUstream name_of(CUstream stream)
{
	return stream ? stream : CU_STREAM_LEGACY;
}

static CUstream *tail_of(CUstream stream)
{
	return &tails[((uintptr_t)stream >> 4 ^ (uintptr_t)stream >> 11) % TAILS];
}

void cot_shim_backend_entered(CUstream stream)
{
	CUstream name = name_of(stream), *tail = tail_of(name);

	if (name != CU_STREAM_LEGACY)
		atomic_store(&others, true);
	pthread_mutex_lock(&lock);
	if (name == CU_STREAM_LEGACY)
		memset(tails, 0, sizeof(tails)); /* they may wait for it */
	else if (*tail == name)
		*tail = NULL;
	pthread_mutex_unlock(&lock);
}

void cot_shim_backend_stream_gone(CUstream stream)
{
	cot_shim_backend_entered(stream);
}

static bool is_over(CUstream stream)
{
	struct cot_shim_stay stay;
	CUresult rc = COT_REAL(cuStreamQuery)(cot_shim_stay_begin(&stay, stream, false));

	cot_shim_stay_end(&stay);
	return rc == CUDA_SUCCESS;
}

/* All that comes before a launch in it has ended, or was the backend's. */
static bool is_first(CUstream stream)
{
	CUstream name = name_of(stream);
	unsigned flags = 0;
	bool follows;

	pthread_mutex_lock(&lock);
	follows = *tail_of(name) == name;
	pthread_mutex_unlock(&lock);
	if (name == CU_STREAM_LEGACY)
		return !atomic_load(&others) && (follows || is_over(name));
	if (follows)
		return true;
	return !COT_REAL(cuStreamGetFlags)(stream, &flags) && is_over(stream) &&
	       (flags & CU_STREAM_NON_BLOCKING || is_over(CU_STREAM_LEGACY));
}

static void note_tail(CUstream stream)
{
	CUstream name = name_of(stream);

	pthread_mutex_lock(&lock);
	*tail_of(name) = name;
	pthread_mutex_unlock(&lock);
}

/* ---- whether it is handed over ---- */

static bool is_skipped(void)
{
	bool skipped;

	pthread_mutex_lock(&lock);
	skipped = n_skip && !cot_shim_settings.merge_always;
	n_skip -= skipped;
	pthread_mutex_unlock(&lock);
	return skipped;
}

static void note_end(bool merged)
{
	pthread_mutex_lock(&lock);
	n_skip = merged ? 0 : vain;
	vain = merged ? VAIN_FIRST : vain * 2 < VAIN_MAX ? vain * 2 : VAIN_MAX;
	pthread_mutex_unlock(&lock);
}

static bool is_its_context(void)
{
	CUcontext context = NULL;

	return !COT_REAL(cuCtxGetCurrent)(&context) && context == cot_shim_attached.context;
}

static enum cot_shim_why obstacle(const struct cot_shim_original *o, const struct cot_shim_ref *ref,
				  struct cot_shim_held *h)
{
	CUstream stream = o->config->hStream;
	enum cot_shim_why why = cot_shim_merge_shape(o, ref, h);

	if (why != COT_SHIM_WHY_NOT)
		return why;
	if (stream == CU_STREAM_PER_THREAD || (!stream && o->per_thread))
		return COT_SHIM_WHY_MERGE_STREAM;
	if (cot_shim_any_capture())
		return COT_SHIM_WHY_CAPTURED;
	if (atomic_load(&cot_shim_parts_live))
		return COT_SHIM_WHY_MERGE_OTHERS;
	if (!cot_shim_backend_is_there() || atomic_load(&no_waits))
		return COT_SHIM_WHY_MERGE_BACKEND;
	if (!is_its_context())
		return COT_SHIM_WHY_CONTEXT;
	return COT_SHIM_WHY_NOT;
}

static void fill(const struct cot_shim_original *o, const struct cot_shim_held *h, uint32_t kernel,
		 struct cot_backend_launch *l)
{
	const struct cot_shim_kernel *k = h->kernel;
	uint32_t i;

	l->kernel = kernel;
	l->params_bytes = k->params_bytes;
	memcpy(l->grid, h->grid, sizeof(l->grid));
	memcpy(l->block, h->block, sizeof(l->block));
	memset(l->params, 0, k->params_bytes);
	for (i = 0; i < k->n_params; i++)
		memcpy(l->params + k->params[i].at, o->params[i], k->params[i].bytes);
}

/* Mappings that are on their way are there when the backend has read all. */
static bool has_read_all(void)
{
	bool all;

	pthread_mutex_lock(&cot_shim_backend_lock);
	all = atomic_load(&cot_shim_attached.page->n_handled) > cot_shim_attached.n_sent;
	pthread_mutex_unlock(&cot_shim_backend_lock);
	return all;
}

static enum cot_shim_why prepare(const struct cot_shim_original *o, struct cot_shim_ref *ref,
				 struct cot_backend_launch *l)
{
	struct cot_shim_held h;
	uint32_t kernel = 0;
	enum cot_shim_why why = obstacle(o, ref, &h);

	if (why == COT_SHIM_WHY_NOT)
		why = cot_shim_backend_kernel(ref, &kernel);
	if (why != COT_SHIM_WHY_NOT)
		return why;
	fill(o, &h, kernel, l);
	if (!cot_shim_backend_has_memory(h.kernel, l->params))
		return COT_SHIM_WHY_MERGE_MEMORY;
	if (!has_read_all())
		return COT_SHIM_WHY_MERGE_UNREADY;
	if (!atomic_load(&cot_shim_attached.page->n_others) || is_skipped())
		return COT_SHIM_WHY_MERGE_ALONE;
	if (!cot_shim_backend_can_pay())
		return COT_SHIM_WHY_MERGE_WORSE;
	return is_first(o->config->hStream) ? COT_SHIM_WHY_NOT : COT_SHIM_WHY_MERGE_STREAM;
}

/* ---- handing over ---- */

static void wake(void)
{
	const uint64_t one = 1;

	if (atomic_load(&cot_shim_attached.page->asleep))
		(void)!write(cot_shim_attached.wake, &one, sizeof(one));
}

/* The state that the launch has come to: LAUNCHED, BACK, or FREE if it is the program's again;
 * LAUNCHING if it cannot be known, for the backend ended meanwhile, or wrote what makes no sense.
 */
static enum cot_backend_state wait(struct cot_backend_slot *slot, uint64_t word)
{
	uint64_t now_ns = cot_now_ns(), window_ns = cot_shim_settings.merge_us * 1000ull,
		 spin_ns = now_ns + window_ns + SPIN_NS, until_ns = now_ns + window_ns + GRACE_NS;
	enum cot_backend_state is = cot_backend_look(slot, word);

	while (is != COT_BACKEND_LAUNCHED && is != COT_BACKEND_BACK) {
		now_ns = cot_now_ns();
		if ((now_ns > until_ns || !cot_shim_backend_is_attached()) &&
		    cot_backend_withdraw(slot, word))
			return COT_BACKEND_FREE;
		is = cot_backend_look(slot, word);
		if (is == COT_BACKEND_LAUNCHING ? !cot_shim_backend_is_attached()
						: is == COT_BACKEND_FREE)
			return COT_BACKEND_LAUNCHING;
		if (now_ns < spin_ns)
			(void)sched_yield();
		else
			cot_shim_pause(PAUSE_NS);
	}
	return is;
}

static void raise_last(uint64_t number)
{
	uint64_t last = atomic_load(&cot_shim_attached.last);

	while (last < number &&
	       !atomic_compare_exchange_weak(&cot_shim_attached.last, &last, number))
		;
}

/* Where the driver does not let the stream wait, the thread does; and hands over nothing more. */
static void wait_here(uint64_t number, int rc)
{
	if (!atomic_exchange(&no_waits, true))
		cot_log(COT_LOG_WARN, "cuStreamWaitValue64 for the backend: error %d", rc);
	while (cot_shim_backend_is_attached() &&
	       atomic_load(&cot_shim_attached.page->done) < number)
		cot_shim_pause(PAUSE_NS);
}

/* What the stream gets next comes behind the merged launch. */
static void follow(const struct cot_shim_original *o, uint64_t number)
{
	struct cot_shim_turn turn;
	CUstream in;
	int rc;

	raise_last(number);
	if (!cot_shim_backend_is_attached())
		cot_shim_backend_settle();
	in = cot_shim_turn_begin(&turn, o->config->hStream, o->per_thread);
	rc = COT_REAL(cuStreamWaitValue64_v2)(
		in, cot_shim_attached.page_on_gpu + offsetof(struct cot_backend_page, done), number,
		0 /* at least */);
	cot_shim_turn_end(&turn);
	if (rc)
		wait_here(number, rc);
	else
		note_tail(o->config->hStream);
}

/* COT_SHIM_WHY_NOT: the launch has been made. */
static enum cot_shim_why hand_over(const struct cot_shim_original *o,
				   const struct cot_backend_launch *l)
{
	struct cot_backend_page *page = cot_shim_attached.page;
	struct cot_backend_slot *slot;
	uint64_t word, number;
	enum cot_shim_why why;
	enum cot_backend_state is;
	int at = cot_backend_post(page, l, &word);

	if (at < 0)
		return COT_SHIM_WHY_MERGE_BUSY;
	slot = &page->slots[at];
	wake();
	atomic_fetch_add(&cot_shim_attached.n_waiting, 1);
	is = wait(slot, word);
	atomic_fetch_sub(&cot_shim_attached.n_waiting, 1);
	switch (is) {
	case COT_BACKEND_LAUNCHED:
		number = atomic_load(&slot->number);
		cot_backend_clear(slot, word);
		follow(o, number);
		return COT_SHIM_WHY_NOT;
	case COT_BACKEND_BACK:
		why = cot_shim_backend_why((enum cot_backend_why)atomic_load(&slot->why));
		cot_backend_clear(slot, word);
		return why == COT_SHIM_WHY_NOT ? COT_SHIM_WHY_MERGE_ALONE : why;
	case COT_BACKEND_LAUNCHING:
		/* Nobody knows whether it runs: made once more, it could have run twice. */
		cot_shim_backend_lose("what it wrote makes no sense"); /* if it is there */
		raise_last(COT_BACKEND_DONE_ALL + 1);
		cot_shim_backend_settle();
		return COT_SHIM_WHY_NOT;
	default:
		return COT_SHIM_WHY_MERGE_LATE;
	}
}

static int launch_here(const struct cot_shim_original *o, struct cot_shim_ref *ref, bool ends,
		       enum cot_shim_why why)
{
	uint64_t began_ns;
	uint32_t own_ns;
	int rc;

	cot_shim_count_unmerged(why);
	cot_shim_merge_before(o->config->hStream, o->per_thread, ends);
	began_ns = cot_now_ns();
	rc = cot_shim_part_launch(o);
	/* With its first launch the driver loads a kernel. */
	if (!ref || !atomic_exchange(&ref->loaded, true))
		return rc;
	own_ns = cot_shim_backend_cost_own(cot_now_ns() - began_ns);
	if (cot_shim_backend_is_attached())
		atomic_store(&cot_shim_attached.page->own_ns, own_ns);
	return rc;
}

int cot_shim_backend_launch(const struct cot_shim_original *o)
{
	struct cot_shim_ref *ref = cot_shim_code_ref(o->function);
	bool ends = ref && atomic_load(&ref->kernel) && !o->cooperative;
	struct cot_backend_launch l;
	enum cot_shim_why why;
	uint64_t began_ns;

	if (cot_shim_settings.class_ == COT_CLASS_LATENCY)
		return cot_shim_part_launch(o);
	cot_shim_backend_begin();
	why = prepare(o, ref, &l);
	if (why != COT_SHIM_WHY_NOT)
		return cot_shim_backend_rc(launch_here(o, ref, ends, why));
	began_ns = cot_now_ns();
	why = hand_over(o, &l);
	cot_shim_backend_cost_hand(cot_now_ns() - began_ns);
	note_end(why == COT_SHIM_WHY_NOT);
	if (why != COT_SHIM_WHY_NOT)
		return cot_shim_backend_rc(launch_here(o, ref, ends, why));
	cot_shim_count_merged(1);
	return cot_shim_backend_rc(CUDA_SUCCESS);
}

void cot_shim_backend_launch_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	memset(tails, 0, sizeof(tails));
	atomic_store(&cot_shim_attached.n_waiting, 0);
}
