#include "guest/shim/timed.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/timed.h"

#define UNDER_WAY 1024u /* launches whose end is not known yet */

_Atomic bool cot_shim_timed_on;

enum state { BEGUN, RECORDED, FAILED };

struct under_way {
	const struct cot_shim_parts *parts; /* whose events it has; NULL: none */
	CUevent begin, end;
	uint64_t number;
	uint32_t round;
	enum state state;
	struct cot_timed_launch launch;
};

static struct cot_timed *page;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for what follows */
static struct under_way ring[UNDER_WAY];
static _Atomic uint64_t head, tail; /* launches that have begun; of those, that are written down */
static bool skipped;		    /* the launch before the next one */
static bool gap;		    /* something is missing before the next one that ends */
static _Atomic bool marks, first; /* the program says what a request is; of one, the next launch */

/* ---- the mapping ---- */

static struct cot_timed *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct cot_timed *t = MAP_FAILED;

	if (fd < 0)
		return NULL;
	/* Memory behind its end would be none: the size is looked at. */
	if (lseek(fd, 0, SEEK_END) == (off_t)sizeof(*t))
		t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (t == MAP_FAILED)
		return NULL;
	if (t->magic == COT_TIMED_MAGIC)
		return t;
	(void)munmap(t, sizeof(*t));
	return NULL;
}

void cot_shim_timed_start(void)
{
	if (!cot_shim_settings.timed[0] || page)
		return;
	page = map(cot_shim_settings.timed);
	if (!page) {
		cot_log(COT_LOG_WARN, "kernels are not timed: %s cannot be used",
			cot_shim_settings.timed);
		return;
	}
	atomic_store(&cot_shim_timed_on, true);
}

/* The round that is on; 0: none, or another process has it. */
static uint32_t round_on(void)
{
	uint32_t round = atomic_load(&page->on), none = 0, self = (uint32_t)getpid();

	if (!round || round > COT_TIMED_ROUNDS)
		return 0;
	return atomic_compare_exchange_strong(&page->writer, &none, self) || none == self ? round
											  : 0;
}

/* ---- where requests begin ---- */

void cot_shim_timed_mark(void)
{
	atomic_store(&marks, true);
	atomic_store(&first, true);
}

void cot_shim_timed_burst(void)
{
	if (!atomic_load(&marks))
		atomic_store(&first, true);
}

/* ---- what has ended ---- */

static void write_down(struct under_way *u)
{
	float ms = 0;

	if (u->state != RECORDED || COT_REAL(cuEventElapsedTime)(&ms, u->begin, u->end) ||
	    !(ms >= 0) || ms * 1e6f > (float)COT_TIMED_NS_MAX) {
		gap = true;
		return;
	}
	u->launch.ns = ms > 1e-6f ? (uint64_t)((double)ms * 1e6) : 1; /* 0 would be no time */
	if (gap)
		u->launch.flags |= COT_TIMED_GAP;
	gap = !cot_timed_put(page, u->round, &u->launch);
}

static void collect(void)
{
	while (tail < head) {
		struct under_way *u = &ring[tail % UNDER_WAY];

		if (u->state == BEGUN || (u->state == RECORDED &&
					  COT_REAL(cuEventQuery)(u->end) == CUDA_ERROR_NOT_READY))
			return;
		write_down(u);
		atomic_store(&tail, tail + 1);
	}
}

/* ---- launches ---- */

static uint32_t kernel_of(const struct cot_shim_original *o, uint64_t graph)
{
	uint32_t shape[6] = {(uint32_t)graph, (uint32_t)(graph >> 32)};
	const char *name;

	if (!o)
		return cot_timed_kernel(page, "graph", shape);
	memcpy(shape, o->config->grid, 3 * sizeof(*shape));
	memcpy(shape + 3, o->config->block, 3 * sizeof(*shape));
	name = cot_shim_name_of(o->function);
	return name ? cot_timed_kernel(page, name, shape) : COT_TIMED_KERNELS;
}

static void drop_events(struct under_way *u)
{
	if (u->begin)
		(void)COT_REAL(cuEventDestroy_v2)(u->begin);
	if (u->end)
		(void)COT_REAL(cuEventDestroy_v2)(u->end);
	u->begin = u->end = NULL;
	u->parts = NULL;
}

static bool has_events(struct under_way *u, const struct cot_shim_parts *p)
{
	if (u->parts && u->parts != p)
		drop_events(u);
	u->parts = p;
	if (!u->begin)
		u->begin = cot_shim_parts_timed_event(p);
	if (!u->end)
		u->end = cot_shim_parts_timed_event(p);
	return u->begin && u->end;
}

/* NULL: this one is left out. */
static struct under_way *take(const struct cot_shim_turn *turn, uint32_t round,
			      const struct cot_shim_original *o, uint64_t graph)
{
	struct under_way *u = &ring[head % UNDER_WAY];
	uint32_t kernel;

	if (head - tail == UNDER_WAY || !turn->stream ||
	    cot_timed_count(page, round) == COT_TIMED_LAUNCHES)
		return NULL;
	kernel = kernel_of(o, graph);
	if (kernel == COT_TIMED_KERNELS || !has_events(u, turn->stream->parts))
		return NULL;
	u->launch = (struct cot_timed_launch){.kernel = (uint16_t)kernel};
	if (atomic_exchange(&first, false))
		u->launch.flags |= COT_TIMED_FIRST;
	if (skipped)
		u->launch.flags |= COT_TIMED_GAP;
	skipped = false;
	u->round = round;
	u->state = BEGUN;
	atomic_store(&head, head + 1);
	u->number = head;
	return u;
}

void cot_shim_timed_before(struct cot_shim_timed *t, const struct cot_shim_turn *turn,
			   const struct cot_shim_original *o, uint64_t graph)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint32_t round = round_on();
	struct under_way *u = NULL;
	CUevent begin = NULL;

	if (turn->stream && cot_shim_is_captured(atomic_load(&turn->stream->handle), false))
		return;
	if (!round) {
		/* The next round may begin in the middle of this request. */
		atomic_store_explicit(&first, false, memory_order_relaxed);
		if (head == tail)
			return;
	}
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	pthread_mutex_lock(&lock);
	collect();
	if (round)
		u = take(turn, round, o, graph);
	if (u) {
		*t = (struct cot_shim_timed){.end = u->end, .number = u->number};
		begin = u->begin;
	} else if (round) {
		skipped = true;
	}
	pthread_mutex_unlock(&lock);
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (begin && COT_REAL(cuEventRecord)(begin, cot_shim_turn_in(turn)))
		cot_shim_timed_behind(t, turn, CUDA_ERROR_UNKNOWN);
}

void cot_shim_timed_behind(struct cot_shim_timed *t, const struct cot_shim_turn *turn, CUresult rc)
{
	bool recorded = !rc && !COT_REAL(cuEventRecord)(t->end, cot_shim_turn_in(turn));
	struct under_way *u = &ring[(t->number - 1) % UNDER_WAY];

	pthread_mutex_lock(&lock);
	/* Its context may have ended. */
	if (u->number == t->number && u->state == BEGUN)
		u->state = recorded ? RECORDED : FAILED;
	pthread_mutex_unlock(&lock);
	t->end = NULL;
}

/* ---- ends ---- */

void cot_shim_timed_drop(const struct cot_shim_parts *p)
{
	uint32_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < UNDER_WAY; i++)
		if (ring[i].parts == p) {
			drop_events(&ring[i]);
			ring[i].state = FAILED;
		}
	pthread_mutex_unlock(&lock);
}

void cot_shim_timed_forget(void)
{
	atomic_store(&cot_shim_timed_on, false);
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	memset(ring, 0, sizeof(ring));
	head = tail = 0;
	page = NULL;
}
