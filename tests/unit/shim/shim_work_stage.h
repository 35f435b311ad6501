/*
 * Where works of the shim are tested: the unit, a daemon that says what it is told to at a time,
 * the other threads, and a clock by hand. The unit is in a shared library, so its source is here.
 */
#ifndef COT_TESTS_SHIM_WORK_STAGE_H
#define COT_TESTS_SHIM_WORK_STAGE_H

#include <stdlib.h>

#include "no_memory.h"
#include "notes.h"
#include "test.h"
/* Behind a GPU's last work there is one that nobody may look at. */
static void *played_calloc(size_t n, size_t size);

#define calloc played_calloc
#include "guest/shim/work.c"
#undef calloc

#define HANDLE(n) ((cot_shim_handle)(uintptr_t)(n))
#define STREAM	  HANDLE(0x310)
#define N_SMS	  10u
#define US	  1000ull
#define START	  (100 * COT_NS_PER_S)

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_settings cot_shim_settings;

/* ---- the clock, and the other threads ---- */

static uint64_t now_ns;
static unsigned n_waits, n_changes, n_wakes, n_wants;

uint64_t cot_now_ns(void)
{
	return now_ns;
}

void cot_shim_cpu_order(bool on_cpu)
{
	(void)on_cpu;
}

void cot_shim_query_want(void)
{
	n_wants++;
}

static struct cot_msg_copies copies;
static unsigned n_copies;

void cot_shim_copies_set(const struct cot_shim_gpu *g, uint32_t way, uint64_t for_ns)
{
	(void)g;
	copies.way = way;
	copies.for_ns = for_ns;
	n_copies++;
}

void cot_shim_changed(void)
{
	n_changes++;
}

void cot_shim_wake(void)
{
	n_wakes++;
}

void cot_shim_yield(void)
{
	now_ns += 10 * US;
}

static char logged[512], said[512]; /* the last line; the last one before it */

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	va_list ap;

	assert_int_equal(level, COT_LOG_WARN);
	strcpy(said, logged);
	va_start(ap, fmt);
	(void)vsnprintf(logged, sizeof(logged), fmt, ap);
	va_end(ap);
}

/* ---- the daemon ---- */

#define N_PACKETS 64u

/* What it says, and when. */
static struct {
	uint64_t at_ns;
	struct cot_link_packet p;
	int rc;
} says[N_PACKETS];
static struct cot_shim_need need; /* of the launches to come */
static unsigned n_said, n_heard;

static int open_result, send_result;
static unsigned n_opened, n_closed;

static void say(uint64_t after_ns, enum cot_msg_type type, const void *packet, size_t size)
{
	assert_true(n_said < N_PACKETS);
	says[n_said].at_ns = now_ns + after_ns;
	says[n_said].rc = 1;
	says[n_said].p.type = type;
	says[n_said].p.size = size;
	memcpy(says[n_said].p.u.bytes, packet, size);
	n_said++;
}

static void welcome(uint64_t after_ns)
{
	struct cot_msg_work_welcome m = {.tenant = 3, .works_max = 4};

	say(after_ns, COT_MSG_WORK_WELCOME, &m, sizeof(m));
}

static void grant(uint64_t after_ns, uint64_t id, uint32_t capsms, uint32_t flags)
{
	struct cot_msg_work_grant m = {.work = id, .capsms = capsms, .flags = flags};

	say(after_ns, COT_MSG_WORK_GRANT, &m, sizeof(m));
}

static inline void evict(uint64_t id, uint32_t capsms)
{
	struct cot_msg_work_evict m = {.work = id, .capsms = capsms};

	say(0, COT_MSG_WORK_EVICT, &m, sizeof(m));
}

static inline void hang_up(uint64_t after_ns, int rc)
{
	struct cot_msg_header none = {0};

	say(after_ns, COT_MSG_WORK_WELCOME, &none, sizeof(none));
	says[n_said - 1].rc = rc;
}

void cot_link_init(struct cot_link *l)
{
	*l = (struct cot_link){.sock = {.fd = -1}};
}

int cot_link_open(struct cot_link *l, const char *path)
{
	assert_string_equal(path, "the socket");
	n_opened++;
	if (!open_result)
		l->sock.fd = 5;
	return open_result;
}

void cot_link_close(struct cot_link *l)
{
	n_closed++;
	cot_link_init(l);
}

void cot_own_fd_close(struct cot_own_fd *own)
{
	own->fd = -1;
}

int cot_link_receive(struct cot_link *l, struct cot_link_packet *p)
{
	assert_int_equal(l->sock.fd, 5);
	if (n_heard == n_said || says[n_heard].at_ns > now_ns)
		return 0;
	*p = says[n_heard].p;
	return says[n_heard++].rc;
}

int cot_link_send(struct cot_link *l, void *packet, enum cot_msg_type type, uint32_t size,
		  uint32_t seq)
{
	const struct cot_msg_work_hello *hello = packet;
	const struct cot_msg_work_request *r = packet;
	const struct cot_msg_work_evicted *e = packet;
	const struct cot_msg_work_done *d = packet;

	assert_int_equal(l->sock.fd, 5);
	assert_int_equal(seq, 0);
	if (send_result)
		return send_result;
	if (type == COT_MSG_WORK_HELLO) {
		assert_int_equal(size, sizeof(*hello));
		assert_int_equal(hello->pid, getpid());
		note("hello %u of %s on %s, %u SMs, class %u, weight %u, quota %u, reserve %u;",
		     (unsigned)hello->tenant, hello->name, hello->gpu, hello->n_sms, hello->class_,
		     hello->weight, hello->quota, hello->reserve);
	} else if (type == COT_MSG_WORK_REQUEST) {
		assert_int_equal(size, sizeof(*r));
		assert_int_equal(r->flags, COT_WORK_CAN_SETTLE | COT_WORK_CAN_GROW);
		assert_int_equal(r->want, 0);
		assert_int_equal(r->method, need.said.method);
		assert_int_equal(r->share, need.said.share);
		assert_string_equal(r->kernel, need.name ? need.name : "");
		note("request %u: %u tasks, %u on an SM, %u ns;", (unsigned)r->work, r->n_tasks,
		     r->per_sm, r->task_ns);
	} else if (type == COT_MSG_WORK_EVICTED) {
		assert_int_equal(size, sizeof(*e));
		note("evicted %u: %u after %u ns;", (unsigned)e->work, e->capsms,
		     (unsigned)e->delay_ns);
	} else if (type == COT_MSG_WORK_DONE) {
		assert_int_equal(size, sizeof(*d));
		assert_int_equal(d->status, 0);
		note("done %u: %u tasks, %u remapped, %u launches", (unsigned)d->work,
		     (unsigned)d->n_tasks, (unsigned)d->n_remapped, d->n_launches);
		note(d->left ? ", %u left;" : ";", d->left);
	} else {
		assert_int_equal(type, COT_MSG_WORK_COUNTS);
		note("counts of %u;", size);
	}
	return 0;
}

static bool nothing_to_count;

size_t cot_shim_counts_fill(void *packet, size_t size, bool always)
{
	assert_true(size >= sizeof(struct cot_msg_work_counts) +
				    COT_PROTO_REASONS_MAX * sizeof(struct cot_work_reason));
	memset(packet, 0, size);
	return nothing_to_count && !always ? 0 : 56;
}

size_t cot_shim_counts_fill_parts(void *packet, size_t size, bool always)
{
	(void)packet;
	(void)size;
	(void)always;
	return 0;
}

size_t cot_shim_counts_fill_pace(void *packet, bool always)
{
	(void)packet;
	(void)always;
	return 0;
}

/* The listener reads what comes meanwhile. */
bool cot_shim_changed_wait(uint64_t until_ns)
{
	struct cot_shim_gpu *g;

	if (now_ns >= until_ns)
		return false;
	n_waits++;
	if (n_heard < n_said && says[n_heard].at_ns < until_ns) {
		if (says[n_heard].at_ns > now_ns)
			now_ns = says[n_heard].at_ns;
		for (g = gpus; g; g = g->next)
			if (g->link.sock.fd >= 0)
				cot_shim_gpu_receive(g);
	} else {
		now_ns = until_ns;
	}
	return true;
}

/* ---- the shim ---- */

struct guarded {
	struct cot_shim_gpu gpu;
	struct cot_shim_work beyond;
};

static struct cot_shim_context context;

/* It would be found for a launch, given back, lost, and ended. */
static struct cot_shim_work beyond(struct guarded *g)
{
	return (struct cot_shim_work){.state = COT_SHIM_WORK_GRANTED,
				      .gpu = &g->gpu,
				      .context = &context,
				      .stream = STREAM,
				      .capsms = 10,
				      .since_ns = now_ns};
}

static void *played_calloc(size_t n, size_t size)
{
	struct guarded *g = calloc(1, sizeof(*g));

	assert_true(n == 1 && size == sizeof(g->gpu));
	assert_non_null(g);
	g->beyond = beyond(g);
	return g;
}

static const char first_uuid[COT_PROTO_NAME_MAX] = "GPU-1",
		  second_uuid[COT_PROTO_NAME_MAX] = "GPU-2";
static struct cot_shim_context other_context;
static struct cot_shim_gpu *gpu;
static enum cot_shim_why why;

static int tear_down(void **state)
{
	struct cot_shim_gpu *g;

	(void)state;
	while ((g = gpus)) {
		struct cot_shim_work *w = &((struct guarded *)g)->beyond;

		gpus = g->next;
		assert_int_equal(w->state, COT_SHIM_WORK_GRANTED);
		assert_int_equal(w->n_users + w->ending, 0);
		free(g);
	}
	return 0;
}

static int set_up(void **state)
{
	(void)tear_down(state);
	cot_shim_settings = (struct cot_settings){.socket = "the socket",
						  .name = "it",
						  .class_ = COT_CLASS_BATCH,
						  .weight = 70,
						  .tenant = 42,
						  .quota = 25,
						  .reserve = 33,
						  .wait_ms = 10000};
	now_ns = START;
	n_said = n_heard = n_opened = n_closed = n_waits = n_changes = n_wakes = 0;
	open_result = send_result = 0;
	nothing_to_count = false;
	written[0] = '\0';
	gpu = cot_shim_gpu_get(0, N_SMS, first_uuid);
	assert_non_null(gpu);
	memset(&context, 0, sizeof(context));
	memset(&other_context, 0, sizeof(other_context));
	context.gpu = other_context.gpu = gpu;
	need = (struct cot_shim_need){
		.stream = STREAM, .n_tasks = 100, .per_sm = 4, .task_ns = 7000};
	return 0;
}

static struct cot_shim_work *get(void)
{
	why = COT_SHIM_WHY_NOT;
	return cot_shim_work_get(&context, &need, &why);
}

/* A work that was asked for and granted, with one user. */
static struct cot_shim_work *get_new(uint32_t capsms, uint32_t flags)
{
	struct cot_shim_work *w;
	uint64_t id = gpu->last_id + 1;
	char text[96];

	if (!gpu->welcomed) {
		welcome(0);
		grant(50 * US, id, capsms, flags);
	} else {
		grant(20 * US, id, capsms, flags);
	}
	w = get();
	assert_non_null(w);
	assert_int_equal(w->id, id);
	assert_int_equal(w->capsms, capsms);
	assert_int_equal(w->n_users, 1);
	assert_int_equal(w->state, COT_SHIM_WORK_GRANTED);
	assert_int_equal(w->evicted + w->told + w->evict_ns, 0);
	(void)snprintf(text, sizeof(text), "request %u: %u tasks, %u on an SM, %u ns;",
		       (unsigned)id, need.n_tasks, need.per_sm, need.task_ns);
	assert_non_null(strstr(written, text));
	written[0] = '\0';
	return w;
}

#endif
