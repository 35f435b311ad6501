/*
 * Works: requests to the daemon, its grants and evictions. The first launch in a stream asks; those
 * that follow run under the same grant, since they run one after the other. When a stream has
 * nothing to do for a while, its work ends. A work that no longer suits a launch (it is old, or its
 * own request was too small) gets no more launches, and ends with those that it has.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/log.h"
#include "guest/shim/context.h"
#include "guest/shim/counts.h"
#include "guest/shim/cpu.h"
#include "guest/shim/driver.h"
#include "guest/shim/memory.h"
#include "guest/shim/parts.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

/*
 * A request of a latency program is often several launches with a look at results in between; but
 * as long as its work is there, batch programs do not get back what they gave for it.
 */
#define LINGER_NS	  (COT_NS_PER_MS / 2)
#define LINGER_LATENCY_NS (COT_NS_PER_MS / 4)
/* An idle stream asks again after so long, a busy one less often: it has to run dry for that. */
#define OLD_IDLE_NS (5 * COT_NS_PER_MS)
#define OLD_BUSY_NS (50 * COT_NS_PER_MS)
#define WELCOME_NS  COT_NS_PER_S
#define COUNTS_NS   COT_NS_PER_S
/* At a time: the program's launches wait for the lock meanwhile. */
#define PACKETS_MAX 64u
/* Most grants come sooner. Later it takes two wake-ups more, of the listener and of the caller. */
#define SPIN_NS		(200 * 1000ull)
#define SPIN_LATENCY_NS COT_NS_PER_MS

static struct cot_shim_gpu *gpus;

struct cot_shim_gpu *cot_shim_gpus_first(void)
{
	return gpus;
}

struct cot_shim_gpu *cot_shim_gpu_get(int device, uint32_t n_sms, const char *uuid)
{
	struct cot_shim_gpu *g = gpus;

	while (g && g->device != device)
		g = g->next;
	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->device = device;
	g->n_sms = n_sms < COT_SMS_MAX ? n_sms : COT_SMS_MAX;
	memcpy(g->uuid, uuid, sizeof(g->uuid));
	g->retry_after_ns = COT_RETRY_MIN_NS;
	cot_link_init(&g->link);
	g->next = gpus;
	gpus = g;
	return g;
}

bool cot_shim_gpus_are_there(void)
{
	const struct cot_shim_gpu *g = gpus;

	while (g && g->link.sock.fd < 0)
		g = g->next;
	return g || !gpus;
}

/* In the child of a fork: the parent's sockets are closed here, and nothing is said. */
void cot_shim_gpus_forget(void)
{
	struct cot_shim_gpu *g;

	for (g = gpus; g; g = g->next)
		cot_own_fd_close(&g->link.sock);
	gpus = NULL;
}

/* ---- the end of works ---- */

/* Before the next try but one. */
static void pause_longer(struct cot_shim_gpu *g)
{
	if (g->retry_after_ns < COT_RETRY_MAX_NS)
		g->retry_after_ns *= 2;
}

static void lose(struct cot_shim_gpu *g, const char *why)
{
	unsigned i;

	cot_log(COT_LOG_WARN, "lost the daemon: %s", why);
	cot_link_close(&g->link);
	g->welcomed = g->queries = false;
	cot_shim_cpu_order(false); /* nobody would take it back */
	cot_shim_query_want();
	g->retry_ns = cot_now_ns() + g->retry_after_ns;
	pause_longer(g);
	for (i = 0; i < COT_PROTO_WORKS_MAX; i++) {
		struct cot_shim_work *w = &g->works[i];

		if (w->state == COT_SHIM_WORK_FREE)
			continue;
		w->state = w->n_users ? COT_SHIM_WORK_LOST : COT_SHIM_WORK_FREE;
	}
	cot_shim_changed();
	cot_shim_wake();
}

bool cot_shim_gpu_send(struct cot_shim_gpu *g, void *packet, enum cot_msg_type type, size_t size,
		       uint32_t seq)
{
	int rc = cot_link_send(&g->link, packet, type, (uint32_t)size, seq);

	if (rc < 0)
		lose(g, rc == -EAGAIN ? "it does not read its socket" : "its socket failed");
	return rc == 0;
}

static bool send(struct cot_shim_gpu *g, void *packet, enum cot_msg_type type, size_t size)
{
	return cot_shim_gpu_send(g, packet, type, size, 0);
}

/* Tells the daemon. With tasks left the work goes on; otherwise no launch uses it any longer. */
static void finish(struct cot_shim_work *w, uint32_t left, int status)
{
	struct cot_msg_work_done done = {
		.work = w->id,
		.left = left,
		.status = status,
		.n_tasks = w->n_tasks,
		.n_remapped = w->n_remapped,
		.n_launches = w->n_launches,
	};

	w->n_tasks = w->n_remapped = 0;
	w->n_launches = 0;
	if (w->state == COT_SHIM_WORK_GRANTED)
		(void)send(w->gpu, &done, COT_MSG_WORK_DONE, sizeof(done));
	if (!left)
		w->state = COT_SHIM_WORK_FREE;
}

void cot_shim_work_put(struct cot_shim_work *w)
{
	if (--w->n_users)
		return;
	w->idle_ns = cot_now_ns();
	if (w->state == COT_SHIM_WORK_LOST)
		w->state = COT_SHIM_WORK_FREE;
	/* A work that no launch waits for any longer ends with its grant. */
	else if (w->state == COT_SHIM_WORK_GRANTED && (w->ending || w->evicted))
		finish(w, 0, 0);
	cot_shim_changed();
}

static uint64_t linger_ns(const struct cot_shim_work *w)
{
	return w->latency ? LINGER_LATENCY_NS : LINGER_NS;
}

uint64_t cot_shim_works_expire(uint64_t now)
{
	uint64_t next = COT_NEVER;
	struct cot_shim_gpu *g;
	unsigned i;

	for (g = gpus; g; g = g->next) {
		for (i = 0; i < COT_PROTO_WORKS_MAX; i++) {
			struct cot_shim_work *w = &g->works[i];
			uint64_t end_ns = w->idle_ns + linger_ns(w);

			if (w->state != COT_SHIM_WORK_GRANTED || w->n_users)
				continue;
			if (end_ns <= now)
				finish(w, 0, 0);
			else if (end_ns < next)
				next = end_ns;
		}
	}
	return next;
}

void cot_shim_works_close(const struct cot_shim_context *c)
{
	unsigned i;

	for (i = 0; c->gpu && i < COT_PROTO_WORKS_MAX; i++) {
		struct cot_shim_work *w = &c->gpu->works[i];

		if (w->state == COT_SHIM_WORK_FREE || w->context != c)
			continue;
		w->ending = true;
		if (!w->n_users && w->state == COT_SHIM_WORK_GRANTED)
			finish(w, 0, 0);
	}
}

/* ---- the connection ---- */

static void greet(struct cot_shim_gpu *g)
{
	const struct cot_settings *s = &cot_shim_settings;
	struct cot_msg_work_hello hello = {
		.tenant = s->tenant,
		.pid = (uint32_t)getpid(),
		.n_sms = g->n_sms,
		.class_ = s->class_,
		.weight = s->weight,
		.quota = cot_shim_settings.quota,
		.reserve = cot_shim_settings.reserve,
	};

	memcpy(hello.name, s->name, sizeof(hello.name));
	memcpy(hello.gpu, g->uuid, sizeof(hello.gpu));
	(void)send(g, &hello, COT_MSG_WORK_HELLO, sizeof(hello));
}

static bool open_link(struct cot_shim_gpu *g)
{
	uint64_t now = cot_now_ns();
	int rc;

	if (now < g->retry_ns)
		return false;
	g->retry_ns = now + g->retry_after_ns;
	rc = cot_link_open(&g->link, cot_shim_settings.socket);
	if (rc < 0) {
		cot_log(COT_LOG_WARN, "%s: no daemon (%d)", cot_shim_settings.socket, -rc);
		pause_longer(g);
		return false;
	}
	g->welcome_until_ns = now + WELCOME_NS;
	greet(g);
	cot_shim_wake();
	return true;
}

void cot_shim_gpu_want(struct cot_shim_gpu *g)
{
	if (g->wanted)
		return;
	g->wanted = true;
	cot_shim_wake();
}

static bool is_missing(const struct cot_shim_gpu *g)
{
	return g->wanted && !g->refused && g->link.sock.fd < 0;
}

uint64_t cot_shim_gpus_greet(uint64_t now)
{
	uint64_t next = COT_NEVER;
	struct cot_shim_gpu *g;

	for (g = gpus; g; g = g->next) {
		if (is_missing(g) && now >= g->retry_ns)
			(void)open_link(g);
		if (is_missing(g) && g->retry_ns < next)
			next = g->retry_ns;
	}
	return next;
}

/* Whether the shim may ask the daemon. Waits for its welcome, with a bound. */
static bool connected(struct cot_shim_gpu *g)
{
	if (COT_LIKELY(g->welcomed))
		return true;
	if (g->refused || (g->link.sock.fd < 0 && !open_link(g)))
		return false;
	while (g->link.sock.fd >= 0 && !g->welcomed)
		if (!cot_shim_changed_wait(g->welcome_until_ns))
			return false;
	return g->welcomed;
}

static struct cot_shim_work *find_work(struct cot_shim_gpu *g, uint64_t id)
{
	unsigned i;

	for (i = 0; i < COT_PROTO_WORKS_MAX; i++)
		if (g->works[i].state != COT_SHIM_WORK_FREE && g->works[i].id == id)
			return &g->works[i];
	return NULL;
}

static void take_grant(struct cot_shim_gpu *g, const struct cot_msg_work_grant *m)
{
	struct cot_shim_work *w = find_work(g, m->work);

	/* More than before, for the launches to come. */
	if (w && w->state == COT_SHIM_WORK_GRANTED && m->capsms > w->capsms)
		w->capsms = m->capsms; /* what has left is in it */
	if (!w || w->state != COT_SHIM_WORK_ASKED)
		return;
	w->state = COT_SHIM_WORK_GRANTED;
	w->capsms = m->capsms;
	w->flags = m->flags;
	w->evicted = w->told = 0;
	w->evict_ns = 0;
	w->since_ns = w->idle_ns = cot_now_ns();
	if (!w->capsms) {
		lose(g, "it granted nothing");
		return;
	}
	if (!w->n_users)
		finish(w, 0, 0); /* it comes too late */
}

static void take_evict(struct cot_shim_gpu *g, const struct cot_msg_work_evict *m)
{
	struct cot_shim_work *w = find_work(g, m->work);
	uint32_t evict = m->capsms;

	if (!w || w->state != COT_SHIM_WORK_GRANTED)
		return;
	if (evict > w->capsms)
		evict = w->capsms;
	if (evict <= w->evicted)
		return;
	w->evicted = evict;
	cot_shim_wake(); /* the listener, whichever thread has read this packet */
	if (!w->n_users)
		finish(w, 0, 0);
	else if (!(w->flags & COT_WORK_SETTLED) && evict == w->capsms)
		w->evicted--; /* one CapSM stays: later operations wait for the kernel's end */
}

static void take_place(struct cot_shim_gpu *g, const struct cot_msg_place *m)
{
	g->wish = (struct cot_shim_wish){.seq = m->h.seq,
					 .first = m->first,
					 .n = m->n,
					 .pace_us = m->pace_us,
					 .hold = cot_msg_place_flags(m) & COT_PLACE_HOLD,
					 .leave = cot_msg_place_flags(m) & COT_PLACE_LEAVE,
					 .cpu = cot_msg_place_flags(m) & COT_PLACE_CPU,
					 .since_ns = cot_now_ns()};
	cot_shim_wake(); /* whoever has read this */
}

static void take_queries(struct cot_shim_gpu *g, const struct cot_msg_queries *m)
{
	g->queries = m->wanted != 0;
	g->queries_told = true;
	cot_shim_query_want();
	cot_shim_wake();
}

static void take_copies(struct cot_shim_gpu *g, const struct cot_msg_copies *m)
{
	cot_shim_copies_set(g, m->way, m->for_ns);
}

static void take_refusal(struct cot_shim_gpu *g, const struct cot_link_packet *p)
{
	size_t n = p->size - sizeof(struct cot_msg_header);

	cot_log(COT_LOG_WARN, "the daemon refuses this program: %.*s", n < 300 ? (int)n : 300,
		(const char *)p->u.bytes + sizeof(struct cot_msg_header));
	g->refused = true;
	lose(g, "it refused");
}

static void obey(struct cot_shim_gpu *g, const struct cot_link_packet *p)
{
	switch (p->type) {
	case COT_MSG_WORK_WELCOME:
		g->welcomed = true;
		g->parts_told = false;
		g->works_max = ((const struct cot_msg_work_welcome *)p->u.bytes)->works_max;
		g->retry_after_ns = COT_RETRY_MIN_NS;
		cot_shim_gpu_send_counts(g, cot_now_ns(), true);
		break;
	case COT_MSG_WORK_GRANT:
		take_grant(g, (const struct cot_msg_work_grant *)p->u.bytes);
		break;
	case COT_MSG_WORK_EVICT:
		take_evict(g, (const struct cot_msg_work_evict *)p->u.bytes);
		break;
	case COT_MSG_PLACE:
		take_place(g, (const struct cot_msg_place *)p->u.bytes);
		break;
	case COT_MSG_QUERIES:
		take_queries(g, (const struct cot_msg_queries *)p->u.bytes);
		break;
	case COT_MSG_COPIES:
		take_copies(g, (const struct cot_msg_copies *)p->u.bytes);
		break;
	case COT_MSG_REFUSED:
		take_refusal(g, p);
		break;
	default:
		break; /* of a newer daemon */
	}
	cot_shim_changed();
}

void cot_shim_gpu_receive(struct cot_shim_gpu *g)
{
	static struct cot_link_packet p; /* with the lock, there is one at a time */
	unsigned left = PACKETS_MAX;
	int rc = 1;

	while (rc > 0 && g->link.sock.fd >= 0 && left--) {
		rc = cot_link_receive(&g->link, &p);
		if (rc > 0)
			obey(g, &p);
	}
	if (rc < 0 && g->link.sock.fd >= 0)
		lose(g, rc == -ECONNRESET ? "it hung up"
			: rc == -EBADMSG  ? "it sent a malformed packet"
					  : "its socket failed");
}

void cot_shim_gpu_send_counts(struct cot_shim_gpu *g, uint64_t now, bool always)
{
	static union {
		struct cot_msg_work_counts works;
		struct cot_msg_part_counts parts;
		struct cot_msg_pace_counts pace;
		unsigned char bytes[sizeof(struct cot_msg_work_counts) +
				    COT_PROTO_REASONS_MAX * sizeof(struct cot_work_reason)];
	} packet;
	struct cot_msg_memory memory;
	size_t n;

	if (!g->welcomed || (!always && now < g->counts_ns + COUNTS_NS))
		return;
	g->counts_ns = now;
	if (cot_shim_memory_tell(g->device, always, &memory) &&
	    !send(g, &memory, COT_MSG_MEMORY, sizeof(memory)))
		return;
	n = cot_shim_counts_fill(&packet, sizeof(packet), always);
	if (n && !send(g, &packet, COT_MSG_WORK_COUNTS, n))
		return;
	/* Launches in a context without parts are counted, too. */
	n = cot_shim_counts_fill_parts(&packet, sizeof(packet), always && g->parts_told);
	if (n && !send(g, &packet, COT_MSG_PART_COUNTS, n))
		return;
	/* Launches on the CPU and waits of requests as well, with or without parts. */
	n = g->parts_told || cot_shim_settings.cpu[0] || cot_shim_settings.merges ||
			    cot_shim_settings.requests
		    ? cot_shim_counts_fill_pace(&packet, always)
		    : 0;
	if (n)
		(void)send(g, &packet, COT_MSG_PACE_COUNTS, n);
}

/* ---- for launches ---- */

static uint32_t units_of(const struct cot_shim_need *need)
{
	return need->n_tasks / need->per_sm + (need->n_tasks % need->per_sm != 0);
}

/* Whether another launch may run under it. */
static bool suits(const struct cot_shim_work *w, const struct cot_shim_need *need, uint64_t now)
{
	uint32_t here = w->capsms - w->evicted, units = units_of(need);
	uint64_t age = now - w->since_ns;

	if (units > w->gpu->n_sms)
		units = w->gpu->n_sms; /* no work gets more */

	if (!here || !cot_shim_said_same(w->said, need->said))
		return false;
	if ((w->flags & COT_WORK_ONE_KERNEL) && w->kernel != need->kernel)
		return false;
	/* It has all that it had tasks for; this launch has more. */
	if (units > here && w->capsms >= w->needed)
		return false;
	return age < (w->n_users ? OLD_BUSY_NS : OLD_IDLE_NS);
}

static struct cot_shim_work *find_suited(struct cot_shim_context *c,
					 const struct cot_shim_need *need)
{
	uint64_t now = cot_now_ns();
	unsigned i;

	for (i = 0; i < COT_PROTO_WORKS_MAX; i++) {
		struct cot_shim_work *w = &c->gpu->works[i];

		if (w->state != COT_SHIM_WORK_GRANTED || w->ending || w->context != c ||
		    w->stream != need->stream || w->thread != need->thread)
			continue;
		if (suits(w, need, now))
			return w;
		w->ending = true;
		if (!w->n_users)
			finish(w, 0, 0);
	}
	return NULL;
}

static struct cot_shim_work *find_free(struct cot_shim_gpu *g)
{
	unsigned i, pass,
		n = g->works_max < COT_PROTO_WORKS_MAX ? g->works_max : COT_PROTO_WORKS_MAX;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < n; i++)
			if (g->works[i].state == COT_SHIM_WORK_FREE)
				return &g->works[i];
		(void)cot_shim_works_expire(COT_NEVER);
	}
	return NULL;
}

static struct cot_shim_work *ask(struct cot_shim_context *c, const struct cot_shim_need *need)
{
	struct cot_shim_gpu *g = c->gpu;
	struct cot_shim_work *w = find_free(g);
	struct cot_msg_work_request m = {
		.n_tasks = need->n_tasks,
		.per_sm = need->per_sm,
		.method = need->said.method,
		.share = need->said.share,
		.flags = COT_WORK_CAN_SETTLE | COT_WORK_CAN_GROW,
		.task_ns = need->task_ns,
	};

	if (!w)
		return NULL;
	if (need->name)
		(void)snprintf(m.kernel, sizeof(m.kernel), "%s", need->name);
	*w = (struct cot_shim_work){
		.state = COT_SHIM_WORK_ASKED,
		.id = ++g->last_id,
		.gpu = g,
		.context = c,
		.stream = need->stream,
		.thread = need->thread,
		.said = need->said,
		.kernel = need->kernel,
		.latency = need->latency,
		.needed = units_of(need),
		.n_users = 1,
	};
	m.work = w->id;
	if (send(g, &m, COT_MSG_WORK_REQUEST, sizeof(m)))
		return w;
	w->state = COT_SHIM_WORK_FREE;
	return NULL;
}

static uint64_t spin_ns(const struct cot_shim_work *w)
{
	return w->latency ? SPIN_LATENCY_NS : SPIN_NS;
}

/*
 * False: the daemon is gone, or the time is over. At first this thread reads what comes itself:
 * that saves the time in which another one would wake up.
 */
static bool wait_granted(struct cot_shim_work *w)
{
	uint64_t now = cot_now_ns(), spin_until = now + spin_ns(w);
	uint64_t until = now + cot_shim_settings.wait_ms * COT_NS_PER_MS;

	while (w->state == COT_SHIM_WORK_ASKED && cot_now_ns() < spin_until) {
		cot_shim_yield();
		cot_shim_gpu_receive(w->gpu);
	}
	while (w->state == COT_SHIM_WORK_ASKED)
		if (!cot_shim_changed_wait(until))
			break;
	return w->state == COT_SHIM_WORK_GRANTED;
}

struct cot_shim_work *cot_shim_work_get(struct cot_shim_context *c,
					const struct cot_shim_need *need,
					enum cot_shim_why *ret_why)
{
	struct cot_shim_work *w;

	if (!connected(c->gpu)) {
		*ret_why = COT_SHIM_WHY_NO_DAEMON;
		return NULL;
	}
	w = find_suited(c, need);
	if (w) {
		w->n_users++;
		return w;
	}
	w = ask(c, need);
	if (!w) {
		*ret_why = c->gpu->welcomed ? COT_SHIM_WHY_BUSY : COT_SHIM_WHY_NO_DAEMON;
		return NULL;
	}
	if (wait_granted(w) && w->evicted < w->capsms)
		return w;
	*ret_why = w->state == COT_SHIM_WORK_LOST ? COT_SHIM_WHY_NO_DAEMON : COT_SHIM_WHY_WAITED;
	w->ending = true;
	cot_shim_work_put(w);
	return NULL;
}

bool cot_shim_work_regrant(struct cot_shim_work *w, uint32_t left)
{
	if (w->state != COT_SHIM_WORK_GRANTED)
		return false;
	finish(w, left, 0);
	if (w->state != COT_SHIM_WORK_GRANTED)
		return false;
	w->state = COT_SHIM_WORK_ASKED;
	if (wait_granted(w))
		return true;
	w->ending = true; /* a grant that comes later is given back */
	return false;
}

void cot_shim_work_tell_evicted(struct cot_shim_work *w, uint64_t now)
{
	struct cot_msg_work_evicted m = {
		.work = w->id,
		.capsms = w->evicted,
		.delay_ns = w->evict_ns && now > w->evict_ns ? now - w->evict_ns : 0,
	};

	w->told = w->evicted;
	if (w->state == COT_SHIM_WORK_GRANTED)
		(void)send(w->gpu, &m, COT_MSG_WORK_EVICTED, sizeof(m));
}
