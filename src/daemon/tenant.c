#include "daemon/tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/rng.h"
#include "daemon/basis.h"
#include "daemon/choose.h"
#include "daemon/conn.h"
#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "daemon/log.h"
#include "daemon/measure.h"
#include "daemon/outlive.h"
#include "daemon/peer.h"
#include "daemon/processes.h"
#include "daemon/roster.h"

/* How often to look whether a program that was stopped goes on. */
#define STOPS_NS (200 * COT_NS_PER_MS)

struct tenant *cot_tenant_find_name(struct roster *r, const char *name, uid_t uid, unsigned *ret_n)
{
	struct tenant *t, *found = NULL;
	bool own = false;

	*ret_n = 0;
	for_each_tenant (t, r) {
		if (strcmp(t->name, name) != 0 || (own && t->uid != uid))
			continue;
		if (t->uid == uid && !own) {
			own = true;
			*ret_n = 0;
		}
		found = t;
		++*ret_n;
	}
	return found;
}

unsigned cot_tenant_count(const struct roster *r)
{
	const struct tenant *t;
	unsigned n = 0;

	for_each_tenant (t, r)
		n++;
	return n;
}

/* How many bytes the UTF-8 character takes; 0 = it is none, or one that controls a terminal. */
static size_t character(const unsigned char *s)
{
	size_t i, n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n == 0 || s[0] > 0xf4 || s[0] < 0x20 || s[0] == 0x7f)
		return 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void cot_tenant_set_name(struct tenant *t, const char *name)
{
	size_t n, used = 0;

	for (; *name; name += n) {
		bool fits = (n = character((const unsigned char *)name)) > 0;

		n = fits ? n : 1;
		if (used + n >= sizeof(t->name))
			break;
		memcpy(t->name + used, fits ? name : "?", n);
		used += n;
	}
	t->name[used] = '\0';
}

static void process_ended(struct cot_source *source, uint32_t events)
{
	struct watch *w = COT_CONTAINER_OF(source, struct watch, source);
	struct tenant *t = COT_CONTAINER_OF(w, struct tenant, watch);

	(void)events;
	cot_watch_stop(&t->basis->watches, w);
	cot_tenant_check(t);
}

int cot_tenant_watch(struct tenant *t, pid_t pid, uint64_t start_time)
{
	int rc = cot_watch_start(&t->basis->watches, &t->watch, pid, process_ended);

	if (rc < 0)
		return rc;
	if (t->watch.start_time != start_time) { /* another one with its number */
		cot_watch_stop(&t->basis->watches, &t->watch);
		return -ESRCH;
	}
	t->in->state.dirty = true;
	return 0;
}

/* What is charged fits into the table. */
static struct tenant *take_place(struct roster *r, const struct tenant *as)
{
	struct tenant *t = r->tenants;

	while (t->id)
		t++;
	*t = *as;
	t->basis = r->basis;
	t->in = r;
	t->id = as->id ? as->id : cot_roster_new_id(r);
	t->since_ns = cot_now_ns();
	t->watch = (struct watch){.source = {.fd = -1}};
	r->state.dirty = true;
	return t;
}

int cot_tenant_new(struct roster *r, uid_t uid, struct tenant **ret_tenant)
{
	const struct tenant as = {.uid = uid};
	int rc = cot_account_charge(&r->basis->account, uid, COT_ACCOUNT_PROGRAMS, 1);

	if (!rc)
		*ret_tenant = take_place(r, &as);
	return rc;
}

int cot_tenant_restore(struct roster *r, const struct tenant *as, bool is_certain,
		       struct tenant **ret_tenant)
{
	struct cot_account *a = &r->basis->account;
	int rc = is_certain ? cot_account_restore(a, as->uid, COT_ACCOUNT_PROGRAMS, 1)
			    : cot_account_charge(a, as->uid, COT_ACCOUNT_PROGRAMS, 1);

	if (rc < 0)
		return rc;
	cot_roster_old_id(r, as->id);
	*ret_tenant = take_place(r, as);
	return 0;
}

int cot_tenant_take_over(struct roster *r, const struct tenant *as, bool is_certain,
			 struct tenant **ret_tenant)
{
	struct tenant *t;
	int rc;

	*ret_tenant = NULL;
	if (cot_tenant_restore(r, as, is_certain, &t) < 0)
		return 0;
	rc = cot_tenant_watch(t, as->watch.pid, as->watch.start_time);
	if (rc < 0) {
		cot_tenant_drop(t);
		return rc == -ESRCH ? 0 : rc;
	}
	cot_tenant_announce(t);
	*ret_tenant = t;
	return 0;
}

int cot_tenant_watch_peer(struct tenant *t, const struct conn *c)
{
	struct watch *w = &t->watch;
	int rc;

	*w = (struct watch){.source = {.fd = -1, .ready = process_ended}, .process = c->process};
	if (!c->start_time || (c->pidfd >= 0 && cot_process_has_ended(c->pidfd)))
		return -ESRCH;
	if (c->pidfd < 0) {
		rc = cot_watch_start(&t->basis->watches, w, c->pid, process_ended);
		if (rc < 0 || w->start_time == c->start_time)
			return rc;
		cot_watch_stop(&t->basis->watches, w);
		return -ESRCH;
	}
	w->source.fd = fcntl(c->pidfd, F_DUPFD_CLOEXEC, 3);
	if (w->source.fd < 0)
		return -errno;
	w->pid = c->pid;
	w->start_time = c->start_time;
	rc = cot_loop_add(&t->basis->loop, &w->source, EPOLLIN);
	if (rc < 0) {
		(void)close(w->source.fd);
		*w = (struct watch){.source = {.fd = -1}};
	}
	return rc;
}

void cot_tenant_drop(struct tenant *t)
{
	struct roster *r = t->in;

	cot_watch_stop(&r->basis->watches, &t->watch);
	cot_account_release(&r->basis->account, t->uid, COT_ACCOUNT_PROGRAMS, 1);
	cot_measure_drop(t);
	*t = (struct tenant){0};
}

/* The user is in the upper half: no user can make a program that has the lessons of another
 * user's. Name and command are hashed, which is enough within what one user runs. */
static uint64_t key_of(const struct tenant *t)
{
	uint64_t hash = cot_hash64(cot_hash_text(0, t->name), t->command);
	uint64_t key = (uint64_t)t->uid << 32 | (uint32_t)hash;

	return t->command && !key ? 1 : t->command ? key : 0;
}

void cot_tenant_describe(const struct tenant *t, struct cot_tenant_desc *ret_desc)
{
	*ret_desc = (struct cot_tenant_desc){
		.cls = t->cls,
		.weight = t->weight,
		.gpu_mask = t->gpu_mask,
		.pool = t->pool ? t->pool->id : 0,
		.ready = t->ready,
		.block_us = t->block_us,
		.target = t->target,
		.quota = cot_share_unpack(t->quota),
		.reserve = cot_share_unpack(t->reserve),
		.sms = cot_share_unpack(t->sms),
		.pace_us = t->pace_us,
		.key = key_of(t),
	};
}

static void describe(const struct tenant *t, struct cot_event *ev)
{
	*ev = (struct cot_event){.type = COT_EV_TENANT, .id = t->id, .now_ns = cot_now_ns()};
	cot_tenant_describe(t, &ev->tenant);
}

static void tell_known(const struct tenant *t)
{
	const struct cot_knowledge *k = cot_known_find(&t->basis->known, t->name, t->cls);

	if (k)
		cot_known_tell(k, t->basis->host, t->id, cot_now_ns());
}

void cot_tenant_announce(struct tenant *t)
{
	struct cot_event ev;
	int rc;

	describe(t, &ev);
	rc = cot_host_event(t->basis->host, &ev);
	if (rc < 0)
		log_error("the policy core does not take program %u: %s", t->id, strerror(-rc));
	tell_known(t);
	cot_timer_clear(&t->in->idle);
	cot_energy_begin(&t->in->energy);
	if (t->pool)
		cot_pool_joined(t->pool, t->uid);
}

static bool has_member(const struct tenant *t, const struct conn *c)
{
	return c->tenant == t && c->settled;
}

void cot_tenant_update(struct tenant *t)
{
	struct roster *r = t->in;
	struct cot_event ev;
	const struct conn *c;

	t->ready = false;
	for_each_conn (c, r->conns)
		t->ready |= has_member(t, c);
	describe(t, &ev);
	(void)cot_host_event(r->basis->host, &ev);
	cot_measure_aim(t);
	if (t->held && !r->basis->stopping)
		cot_host_hold(r->basis->host, t->id, true, cot_now_ns());
	r->state.dirty = true;
}

/* Whether all of its processes that should have answered are stopped, and none answers. */
static bool all_stopped(struct tenant *t)
{
	bool stopped = false;
	struct conn *c;

	for_each_conn (c, t->in->conns) {
		if (!has_member(t, c))
			continue;
		c->late = c->late && cot_process_is_stopped(c->pid);
		if (!c->late)
			return false;
		stopped = true;
	}
	return stopped;
}

/*
 * A stopped program cannot freeze, but has no more for the GPU to do than it has begun. If it
 * counted as running, it would keep turns that it does not use, and all slices would be set for a
 * program that cannot be frozen.
 */
void cot_tenant_check_stops(struct cot_timer *timer, uint64_t now_ns)
{
	struct roster *r = COT_CONTAINER_OF(timer, struct roster, stops);
	bool more = false;
	struct tenant *t;

	for_each_tenant (t, r) {
		struct cot_event ev = {.type = COT_EV_ACTIVITY, .id = t->id, .now_ns = now_ns};
		bool stopped = !t->pool && all_stopped(t);

		more |= stopped;
		if (stopped == t->stopped)
			continue;
		t->stopped = stopped;
		log_info("program '%s' (id %u) %s", t->name, t->id,
			 stopped ? "was stopped by a signal: it counts as idle" : "goes on");
		ev.activity = stopped ? COT_ACTIVITY_IDLE : COT_ACTIVITY_UNKNOWN;
		(void)cot_host_event(r->basis->host, &ev);
	}
	if (more)
		cot_timer_set(&r->basis->loop, &r->stops, now_ns + STOPS_NS);
}

static void start_idle_timer(struct roster *r)
{
	if (r->exit_idle_ms && !cot_tenant_count(r))
		cot_timer_set(&r->basis->loop, &r->idle,
			      cot_now_ns() + r->exit_idle_ms * COT_NS_PER_MS);
}

/* Its process may connect again. One that came by itself and has not used the GPU is nothing that
 * must be kept: else a process could take a place with each connection. */
static bool is_expected(const struct tenant *t)
{
	return !t->by_itself || t->had_groups;
}

void cot_tenant_check(struct tenant *t)
{
	if (!t->id || t->n_conns || (is_expected(t) && cot_watch_is_alive(&t->watch)))
		return;
	cot_watch_stop(&t->basis->watches, &t->watch);
	if (t->by_itself)
		cot_tenant_end(t);
	else
		cot_outlive_search(t);
}

bool cot_tenant_reap(struct roster *r)
{
	bool more = false;
	struct tenant *t;

	for_each_tenant (t, r) {
		if (cot_watch_improve(&r->basis->watches, &t->watch))
			continue;
		more = true;
		cot_tenant_check(t);
	}
	return more;
}

void cot_tenant_end(struct tenant *t)
{
	struct cot_event ev = {.type = COT_EV_TENANT_LEFT, .id = t->id, .now_ns = cot_now_ns()};
	struct roster *r = t->in;
	struct pool *p = t->pool;
	char name[COT_PROTO_NAME_MAX];
	uint32_t id = t->id;

	t->search = SEARCH_SETTLED;
	if (t->n_conns) /* the end of the last one asks again */
		return;
	log_traffic("program '%s' (id %u) ended", t->name, id);
	(void)cot_host_event(r->basis->host, &ev);
	cot_host_work_forget(r->basis->host, id);
	cot_host_part_forget(r->basis->host, id);
	memcpy(name, t->name, sizeof(name));
	cot_tenant_drop(t);
	if (p)
		cot_pool_left(p, name);
	else
		cot_host_forget(r->basis->host, id);
	r->state.dirty = true;
	cot_choose_look(r, (struct cot_target){0});
	start_idle_timer(r);
}
