/* The parts of a GPU: what the daemon wishes, and the green contexts that are made for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/log.h"
#include "guest/shim/context.h"
#include "guest/shim/cpu.h"
#include "guest/shim/parts.h"
#include "guest/shim/runtime.h"
#include "guest/shim/timed.h"
#include "guest/shim/wait.h"

/* ---- green contexts ---- */

/* What cuda/green.h calls: the driver's own functions. */
static const struct cot_driver *driver(void)
{
	static struct cot_driver d;

	if (d.cuCtxFromGreenCtx)
		return &d;
#define ENTRY(name, since, shim, emulated, params) d.name = COT_REAL(name);
#define ENTRY_PER_THREAD(name, suffix, since, shim, emulated, params) \
	ENTRY(name, since, shim, emulated, params)
#include "cuda/abi/api.def"
	return &d;
}

/* Once: a GPU's SMs in groups of which parts are made. */
static void split(struct cot_shim_parts *p)
{
	struct cot_error err;

	p->split_tried = true;
	p->status = cot_green_init(&p->green, driver(), p->device, &err);
	if (!p->status)
		p->status = cot_green_split(&p->green, COT_GREEN_GROUP_SMS, COT_GREEN_GROUPS_MAX,
					    CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE,
					    &p->split, &err);
	if (p->status)
		cot_log(COT_LOG_WARN, "GPU %d has no parts: %s", p->device, err.text);
}

/* The number of whole groups before this SM; those behind the last group are one group too. */
static uint32_t group_at(const struct cot_shim_parts *p, uint32_t sm)
{
	uint32_t i = sm / COT_GREEN_GROUP_SMS, last = p->split.n - 1;

	return sm >= p->n_sms ? p->split.n : i < last ? i : last;
}

static int make_part(struct cot_shim_parts *p, struct cot_shim_part *part, uint32_t from,
		     uint32_t to)
{
	struct cot_error err;
	int rc = cot_green_create(&p->green, &p->split, from, to, &part->green, &err);

	if (!rc)
		rc = cot_green_context(&p->green, part->green, &part->context, &err);
	if (!rc)
		return 0;
	cot_log(COT_LOG_WARN, "no part of %u SMs: %s", cot_green_n_sms(&p->split, from, to),
		err.text);
	if (part->green)
		cot_green_destroy(&p->green, part->green);
	part->green = NULL;
	return rc;
}

/* Of those chosen after that change, and not in use, the one not chosen for the longest time. */
static uint32_t oldest_after(const struct cot_shim_parts *p, uint64_t change)
{
	uint32_t i, oldest = 0, now = atomic_load(&p->now);

	for (i = 1; i < COT_SHIM_PARTS_MAX; i++)
		if (i != now && p->part[i].green && p->part[i].chosen > change &&
		    (!oldest || p->part[i].chosen < p->part[oldest].chosen))
			oldest = i;
	return oldest;
}

/* One that is free, or that was not chosen for the longest time of those that can be cleared. */
static uint32_t room(struct cot_shim_parts *p)
{
	uint64_t change = 0;
	uint32_t i;

	for (i = 1; i < COT_SHIM_PARTS_MAX; i++)
		if (!p->part[i].green)
			return i;
	while ((i = oldest_after(p, change)) && !cot_shim_streams_clear(p, i))
		change = p->part[i].chosen;
	if (!i)
		return 0;
	cot_shim_graphs_clear(p, i);
	cot_green_destroy(&p->green, p->part[i].green);
	p->part[i] = (struct cot_shim_part){0};
	return i;
}

/* A daemon that asks for ever new parts has the listener make them for a fifth of its time, and
 * no more parts at a time than there is room for. */
#define MAKE_PAUSE 4u

/* -EAGAIN: not before p->again_ns. -EDEADLK: and not while a wait is open. */
static int make(struct cot_shim_parts *p, uint32_t from, uint32_t to, uint32_t *ret_part)
{
	uint64_t begin_ns = cot_now_ns(), end_ns;
	uint32_t i;
	int rc;

	p->again_ns = p->make_ns;
	if (begin_ns < p->make_ns)
		return -EAGAIN;
	if (!cot_shim_open_none())
		return -EDEADLK;
	i = room(p);
	rc = i ? make_part(p, &p->part[i], from, to) : -EBUSY;
	end_ns = cot_now_ns();
	p->make_ns = end_ns + MAKE_PAUSE * (end_ns - begin_ns);
	if (rc)
		return rc;
	p->part[i].first_sm = from * COT_GREEN_GROUP_SMS;
	p->part[i].n_sms = cot_green_n_sms(&p->split, from, to);
	*ret_part = i;
	return 0;
}

/* The largest one that lies within; 0: there is none. */
static uint32_t largest_within(const struct cot_shim_parts *p, uint32_t from, uint32_t to)
{
	uint32_t first = from * COT_GREEN_GROUP_SMS, i, best = 0;
	uint32_t end = first + cot_green_n_sms(&p->split, from, to);

	for (i = 1; i < COT_SHIM_PARTS_MAX; i++) {
		const struct cot_shim_part *part = &p->part[i];

		if (part->green && part->first_sm >= first && part->first_sm + part->n_sms <= end &&
		    (!best || part->n_sms > p->part[best].n_sms))
			best = i;
	}
	return best;
}

static bool is_exactly(const struct cot_shim_parts *p, uint32_t part, uint32_t from, uint32_t to)
{
	return part && p->part[part].n_sms == cot_green_n_sms(&p->split, from, to);
}

/*
 * The driver makes a part when all that the program has submitted is done, and it waits meanwhile
 * with what it submits next. So those that it is likely to get are made while its first launch
 * waits: a quarter, a half and three quarters of the SMs, from the end where its class is.
 */
#define AHEAD 4u

/* So long the exact part is waited for before another one stands in for it: it is made within that
 * time where nothing is queued. */
#define STAND_IN_NS  (10 * COT_NS_PER_MS)
#define TRY_AGAIN_NS COT_NS_PER_S /* after something else than what is queued was in the way */

static void make_ahead(struct cot_shim_parts *p)
{
	bool top = cot_shim_settings.class_ == COT_CLASS_LATENCY;
	uint32_t n = p->split.n, i, part;

	for (i = 1; i < AHEAD && !p->status; i++) {
		uint32_t at = n * i / AHEAD, from = top ? at : 0, to = top ? n : at;

		if (!at || is_exactly(p, largest_within(p, from, to), from, to))
			continue;
		if (!atomic_load(&p->awaited) || cot_shim_any_capture() || make(p, from, to, &part))
			return;
		p->part[part].chosen = ++p->n_changes;
		p->make_ns = 0; /* nobody has asked for it */
	}
}

/* Streams that are virtual stay so. */
static void set_live(uint32_t part)
{
	uint32_t live = part || atomic_load(&cot_shim_parts_live) ? COT_SHIM_LIVE : COT_SHIM_PLAIN;
	const struct cot_shim_parts *p;

	for (p = cot_shim_parts_first(); p; p = p->next)
		if (atomic_load(&p->pace_ns) || atomic_load(&p->hold_until_ns) ||
		    atomic_load(&cot_shim_queries_on) || cot_shim_is_timed())
			live = COT_SHIM_WATCHED;
	atomic_store(&cot_shim_parts_live, live);
}

/* -EAGAIN: not before p->again_ns. -EDEADLK: not while a wait is open. */
static int make_if_short(struct cot_shim_parts *p, const struct cot_shim_wish *wish, uint32_t from,
			 uint32_t to, uint32_t *ret_part)
{
	bool can_wait = largest_within(p, from, to) != 0;

	if (!cot_shim_open_none())
		return -EDEADLK;
	p->again_ns = cot_shim_queued_look(p, wish->since_ns, can_wait);
	return p->again_ns ? -EAGAIN : make(p, from, to, ret_part);
}

/*
 * The part [from, to). While it cannot be made without holding the program up, the largest one
 * within stands in for it: -EAGAIN, and wish->stands_in. Any other -errno: there is none.
 */
static int part_for(struct cot_shim_parts *p, struct cot_shim_wish *wish, uint32_t from,
		    uint32_t to, uint32_t *ret_part)
{
	uint64_t stand_in_ns = wish->since_ns + STAND_IN_NS;
	int rc;

	*ret_part = largest_within(p, from, to);
	if (is_exactly(p, *ret_part, from, to))
		return 0;
	rc = make_if_short(p, wish, from, to, ret_part);
	if (!rc)
		return 0;
	*ret_part = largest_within(p, from, to); /* another may have been given up */
	if (!*ret_part)
		return rc;
	wish->why = rc;
	if (rc != -EAGAIN)
		p->again_ns = cot_now_ns() + TRY_AGAIN_NS;
	if (rc != -EAGAIN || cot_now_ns() >= stand_in_ns)
		wish->stands_in = true;
	else if (p->again_ns > stand_in_ns)
		p->again_ns = stand_in_ns;
	return -EAGAIN;
}

/* On the listener, with the context current. -EAGAIN: it comes later. */
static int place(struct cot_shim_parts *p, struct cot_shim_wish *wish)
{
	uint32_t first = wish->first, n = wish->n, from, to, was, part = 0;
	int rc = 0;

	if (p->status)
		return p->status;
	from = group_at(p, first);
	to = group_at(p, first + n);
	if (n && from == to)
		to++;
	if (n && to > p->split.n)
		return -EINVAL;
	if (n && to - from < p->split.n)
		rc = part_for(p, wish, from, to, &part);
	if (rc && !wish->stands_in)
		return rc;
	was = atomic_load(&p->now);
	if (rc && part == was && wish->told)
		return rc;
	p->part[part].chosen = ++p->n_changes;
	if (part)
		cot_shim_streams_prepare(p, part);
	atomic_store(&p->leaving, wish->leave && !wish->again); /* before a stream goes */
	was = atomic_exchange(&p->now, part); /* before a part is given up: follow() */
	p->from_home = !was;
	if (part != was)
		cot_shim_count_moved();
	cot_shim_count_first(p, part);
	cot_shim_pace_set(p, wish->pace_us);
	cot_shim_cpu_order(wish->cpu);
	if (!wish->told)
		cot_shim_hold_set(p, wish->hold ? wish->since_ns + COT_PROTO_HOLD_NS : 0);
	return rc;
}

/* ---- the daemon ---- */

static struct cot_shim_parts *parts_of_gpu(const struct cot_shim_gpu *g)
{
	struct cot_shim_parts *p = cot_shim_parts_first();

	while (p && (p->gpu != g || !atomic_load(&p->context)))
		p = p->next;
	return p;
}

static void tell_placed(struct cot_shim_gpu *g, const struct cot_shim_parts *p, uint32_t seq,
			int status, uint64_t latency_ns)
{
	const struct cot_shim_part *part = &p->part[atomic_load(&p->now)];
	struct cot_msg_placed m = {.status = status,
				   .first = (uint16_t)part->first_sm,
				   .n = (uint16_t)part->n_sms,
				   .latency_ns = latency_ns};

	cot_shim_gpu_send(g, &m, COT_MSG_PLACED, sizeof(m), seq);
}

/* What is left over is a unit like all others, or the last piece. */
static uint32_t n_units(const struct cot_shim_parts *p)
{
	uint32_t n = p->split.n;

	while (n && p->split.groups[n - 1].sm.smCount != COT_GREEN_GROUP_SMS)
		n--;
	return n;
}

static void tell_parts(struct cot_shim_gpu *g, const struct cot_shim_parts *p)
{
	struct cot_msg_parts m = {.n_sms = p->status ? 0 : p->n_sms,
				  .unit = p->status ? 0 : COT_GREEN_GROUP_SMS,
				  .n_units = p->status ? 0 : n_units(p),
				  .status = p->status,
				  .pace_us = p->pace_us,
				  .flags = cot_shim_settings.cpu_by_policy ? COT_PARTS_CPU : 0};

	g->parts_told = true;
	g->leaving.seq = 0; /* this daemon knows nothing of it, nor of a wish that was answered */
	if (g->wish.told)
		g->wish.seq = 0;
	cot_shim_gpu_send(g, &m, COT_MSG_PARTS, sizeof(m), 0);
	if (atomic_load(&p->now))
		tell_placed(g, p, 0, 0, 0);
}

/* To the order that was carried out last, if it is not answered yet. */
static void answer_left(struct cot_shim_gpu *g, struct cot_shim_parts *p)
{
	if (g->leaving.seq)
		tell_placed(g, p, g->leaving.seq, 0, g->leaving.latency_ns);
	g->leaving.seq = 0;
}

/* To an order, or, if others wait for the SMs that the program leaves, when it has left them. */
static void answer(struct cot_shim_gpu *g, struct cot_shim_parts *p,
		   const struct cot_shim_wish *wish, int rc)
{
	uint64_t now_ns = cot_now_ns(), latency_ns = now_ns - wish->since_ns;

	if (!rc && wish->leave && !wish->again) {
		g->leaving = (struct cot_shim_leaving){wish->seq, now_ns, latency_ns};
	} else if (!wish->again) {
		tell_placed(g, p, wish->seq, rc, latency_ns);
	}
	if (rc)
		return;
	g->placed = *wish;
	g->placed.again = true;
}

#define LOOK_NS COT_NS_PER_MS /* pause between two looks whether it has left */

/* With the lock. Returns when to look again. */
static uint64_t look_left(struct cot_shim_gpu *g, struct cot_shim_parts *p, bool left)
{
	uint64_t now_ns = cot_now_ns();

	if (!g->leaving.seq)
		return COT_NEVER;
	if (!left && now_ns - g->leaving.since_ns < COT_PROTO_LEAVE_NS)
		return now_ns + LOOK_NS;
	answer_left(g, p);
	return COT_NEVER;
}

#define SAY_WHY_NS COT_NS_PER_S /* so long its part may take before the daemon is told why */

/* To an order whose part comes later: what the program has meanwhile, if that is news. */
static void answer_part_way(struct cot_shim_gpu *g, struct cot_shim_parts *p,
			    struct cot_shim_wish *wish)
{
	uint64_t took_ns = cot_now_ns() - wish->since_ns;
	int why = took_ns < SAY_WHY_NS ? 0 : wish->why;
	uint32_t part = atomic_load(&p->now);

	if (!wish->told)
		answer(g, p, wish, 0);
	if (wish->told ? wish->said != why || wish->part != part : wish->again)
		tell_placed(g, p, wish->seq, why, took_ns);
	wish->again = wish->leave = false;
	wish->told = true;
	wish->said = why;
	wish->part = part;
}

/* Its context before this one was there, and the part on which it was. */
static void wish_again(struct cot_shim_gpu *g)
{
	g->wish = g->placed;
	g->wish.since_ns = cot_now_ns();
	g->wish.stands_in = g->wish.told = false;
}

static int later(struct cot_shim_parts *p)
{
	p->again_ns = cot_now_ns() + LOOK_NS;
	return -EAGAIN;
}

/* With the lock, which it lets go of while it calls the driver. Returns when it is to be called
 * again, though nothing new comes. */
static uint64_t serve(struct cot_shim_gpu *g, struct cot_shim_parts *p)
{
	uint64_t again_ns = COT_NEVER, look_ns;
	struct cot_shim_wish wish;
	bool current, leaves, left = true;
	int rc = 0;

	pthread_mutex_unlock(&cot_shim_lock);
	if (!cot_shim_gate_take(&cot_shim_parts_lock)) { /* against the end of the context */
		pthread_mutex_lock(&cot_shim_lock);
		return cot_now_ns() + COT_SHIM_GATE_NS;
	}
	current = atomic_load(&p->context) && !COT_REAL(cuCtxSetCurrent)(atomic_load(&p->context));
	if (current && !p->split_tried) {
		split(p);
		make_ahead(p);
	}
	pthread_mutex_lock(&cot_shim_lock);
	if (p->split_tried && !p->prepared && g->parts_told && !g->wish.seq)
		wish_again(g);
	p->prepared = p->split_tried;
	if (current && !g->parts_told)
		tell_parts(g, p);
	wish = g->wish;
	g->wish.seq = 0;
	if (wish.seq && !wish.told) /* where it was then */
		answer_left(g, p);
	leaves = wish.told && g->leaving.seq; /* which is answered first */
	g->queries_told = false;
	pthread_mutex_unlock(&cot_shim_lock);
	if (wish.seq)
		rc = !current ? -ENODEV : leaves ? later(p) : place(p, &wish);
	set_live(atomic_load(&p->now));
	if (rc == -EAGAIN)
		again_ns = p->again_ns;
	if (current && g->leaving.seq)
		left = cot_shim_parts_have_left(p, g->leaving.since_ns);
	cot_shim_gate_open(&cot_shim_parts_lock);
	pthread_mutex_lock(&cot_shim_lock);
	look_ns = look_left(g, p, left);
	if (rc == -EAGAIN && wish.stands_in && !leaves)
		answer_part_way(g, p, &wish);
	if (rc == -EAGAIN && !g->wish.seq)
		g->wish = wish;
	else if (wish.seq && rc != -EAGAIN)
		answer(g, p, &wish, rc);
	if (g->leaving.seq && look_ns == COT_NEVER)
		look_ns = cot_now_ns(); /* it has just begun */
	cot_shim_changed();		/* launches may wait for it */
	return look_ns < again_ns ? look_ns : again_ns;
}

uint64_t cot_shim_parts_carry_out(void)
{
	uint64_t next_ns = COT_NEVER, again_ns;
	struct cot_shim_parts *p;
	struct cot_shim_gpu *g;

	for (g = cot_shim_gpus_first(); g; g = g->next) {
		p = g->welcomed ? parts_of_gpu(g) : NULL;
		if (!p || (p->prepared && g->parts_told && !g->wish.seq && !g->queries_told &&
			   !g->leaving.seq))
			continue;
		again_ns = serve(g, p);
		if (again_ns < next_ns)
			next_ns = again_ns;
	}
	return next_ns;
}

/* ---- ends ---- */

static void close_one(struct cot_shim_parts *p)
{
	CUcontext context = atomic_load(&p->context), before = NULL;
	uint32_t i;

	if (!COT_REAL(cuCtxPushCurrent_v2)(context)) {
		atomic_store(&p->now, 0);
		cot_shim_pace_set(p, 0);
		cot_shim_hold_set(p, 0);
		cot_shim_query_drop(p);
		cot_shim_timed_drop(p);
		cot_shim_streams_drop(p);
		cot_shim_open_drop(p);
		cot_shim_queued_drop(p);
		for (i = 1; i < COT_SHIM_PARTS_MAX; i++) {
			cot_shim_graphs_clear(p, i);
			cot_green_destroy(&p->green, p->part[i].green);
			p->part[i] = (struct cot_shim_part){0};
		}
		(void)COT_REAL(cuCtxPopCurrent_v2)(&before);
	}
	atomic_store(&p->context, NULL);
}

void cot_shim_parts_close(int device)
{
	struct cot_shim_parts *p;

	while (!cot_shim_gate_take(&cot_shim_parts_lock))
		; /* the driver is about to wait for that, too */
	for (p = cot_shim_parts_first(); p; p = p->next)
		if (p->device == device && atomic_load(&p->context))
			close_one(p);
	atomic_store(&cot_shim_parts_looked, NULL);
	cot_shim_gate_open(&cot_shim_parts_lock);
}

void cot_shim_parts_forget(void)
{
	cot_shim_parts_clear();
	cot_shim_streams_forget();
	cot_shim_graphs_forget();
	cot_shim_open_forget();
}
