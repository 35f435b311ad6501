/*
 * Programs. One is there from its registration until its process has ended and no library of its
 * children is connected any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/daemon.h"

/* Where the kernel has no pidfds: how often to look after processes. */
#define POLL_NS (500 * COT_NS_PER_MS)
/* How often to look whether a program that was stopped goes on. */
#define STOPS_NS (200 * COT_NS_PER_MS)

/* ---- watching processes ---- */

#define STAT_MAX 1024

/* What /proc says of it after its name, beginning with the letter of its state. -errno. */
static int read_stat(pid_t pid, char line[STAT_MAX], const char **ret_text)
{
	char path[64], *p;
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -ESRCH;
	n = fread(line, 1, STAT_MAX - 1, f);
	(void)fclose(f);
	line[n] = '\0';
	p = strrchr(line, ')'); /* the name may hold anything */
	if (!p || p[1] != ' ' || !p[2])
		return -ESRCH;
	*ret_text = p + 2;
	return 0;
}

static bool is_stopped(pid_t pid)
{
	char line[STAT_MAX];
	const char *p;

	return read_stat(pid, line, &p) == 0 && (*p == 'T' || *p == 't');
}

pid_t cot_process_parent(pid_t pid)
{
	char line[STAT_MAX];
	const char *p;

	return read_stat(pid, line, &p) == 0 && p[1] == ' ' ? (pid_t)strtol(p + 2, NULL, 10) : 0;
}

int cot_process_start(pid_t pid, uint64_t *ret_start_time)
{
	char line[STAT_MAX];
	uint64_t start = 0;
	const char *p;
	int i, rc = read_stat(pid, line, &p);

	if (rc < 0)
		return rc;
	if (*p == 'Z' || *p == 'X')
		return -ESRCH;
	for (i = 3; p && i < 22; i++)
		p = strchr(p + 1, ' ');
	if (p)
		start = strtoull(p + 1, NULL, 10);
	*ret_start_time = start ? start : 1;
	return 0;
}

uint64_t cot_process_start_time(pid_t pid)
{
	uint64_t start_time;

	return cot_process_start(pid, &start_time) == 0 ? start_time : 0;
}

static void poll_processes(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d = (struct daemon *)((char *)timer - offsetof(struct daemon, poll));
	bool pools = cot_pool_reap(d), outlived = cot_outlive_reap(d), more = pools || outlived;
	unsigned i;

	for (i = 0; i < MAX_TENANTS; i++) {
		struct tenant *t = &d->tenants[i];

		if (!t->id || cot_watch_improve(d, &t->watch))
			continue;
		more = true;
		cot_tenant_check(t);
	}
	if (more)
		cot_timer_set(&d->loop, &d->poll, now_ns + POLL_NS);
}

bool cot_watch_improve(struct daemon *d, struct watch *w)
{
	if (!w->pid || w->source.fd >= 0)
		return true;
	w->source.fd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	if (w->source.fd < 0)
		return false;
	w->process = cot_peer_process(w->source.fd);
	if (cot_loop_add(&d->loop, &w->source, EPOLLIN) == 0)
		return true;
	(void)close(w->source.fd);
	w->source.fd = -1;
	return false;
}

static int start_watch(struct daemon *d, struct watch *w, pid_t pid, bool may_have_ended,
		       void (*ended)(struct cot_source *source, uint32_t events))
{
	int rc;

	*w = (struct watch){.source = {.fd = -1, .ready = ended}};
	rc = cot_process_start(pid, &w->start_time);
	if (rc < 0 && !(rc == -ESRCH && may_have_ended))
		return rc;
	w->pid = pid;
	if (!cot_watch_improve(d, w) && !d->poll.armed) {
		d->poll.fire = poll_processes;
		cot_timer_set(&d->loop, &d->poll, cot_now_ns() + POLL_NS);
	}
	return 0;
}

int cot_watch_start(struct daemon *d, struct watch *w, pid_t pid,
		    void (*ended)(struct cot_source *source, uint32_t events))
{
	return start_watch(d, w, pid, false, ended);
}

/* Until it is waited for nobody else has its number, and it can be watched as a living one. */
int cot_watch_start_child(struct daemon *d, struct watch *w, pid_t pid,
			  void (*ended)(struct cot_source *source, uint32_t events))
{
	return start_watch(d, w, pid, true, ended);
}

void cot_watch_stop(struct daemon *d, struct watch *w)
{
	if (w->pid && w->source.fd >= 0) {
		cot_loop_remove(&d->loop, &w->source);
		(void)close(w->source.fd);
	}
	*w = (struct watch){.source = {.fd = -1}};
}

/* In doubt it lives: what is forgotten too early is lost. */
bool cot_watch_is_alive(const struct watch *w)
{
	uint64_t start_time;
	int rc;

	if (!w->pid)
		return false;
	if (w->source.fd >= 0)
		return !cot_peer_has_ended(w->source.fd);
	rc = cot_process_start(w->pid, &start_time);
	return rc < 0 ? rc != -ESRCH : start_time == w->start_time;
}

bool cot_watch_reap(struct daemon *d, struct watch *w)
{
	if (cot_watch_improve(d, w))
		return false;
	if (cot_watch_is_alive(w))
		return true;
	w->source.ready(&w->source, 0);
	return false;
}

/* ---- tenants ---- */

struct tenant *cot_tenant_find(struct daemon *d, uint64_t id)
{
	unsigned i;

	for (i = 0; id && i < MAX_TENANTS; i++)
		if (d->tenants[i].id == id)
			return &d->tenants[i];
	return NULL;
}

struct tenant *cot_tenant_find_name(struct daemon *d, const char *name, uid_t uid, unsigned *ret_n)
{
	struct tenant *found = NULL;
	bool own = false;
	unsigned i;

	*ret_n = 0;
	for (i = 0; i < MAX_TENANTS; i++) {
		struct tenant *t = &d->tenants[i];

		if (!t->id || strcmp(t->name, name) != 0 || (own && t->uid != uid))
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

unsigned cot_tenant_count(const struct daemon *d)
{
	unsigned i, n = 0;

	for (i = 0; i < MAX_TENANTS; i++)
		n += d->tenants[i].id != 0;
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
	struct watch *w = (struct watch *)((char *)source - offsetof(struct watch, source));
	struct tenant *t = (struct tenant *)((char *)w - offsetof(struct tenant, watch));

	(void)events;
	cot_watch_stop(t->d, w);
	cot_tenant_check(t);
}

int cot_tenant_watch(struct tenant *t, pid_t pid, uint64_t start_time)
{
	int rc = cot_watch_start(t->d, &t->watch, pid, process_ended);

	if (rc < 0)
		return rc;
	if (t->watch.start_time != start_time) { /* another one with its number */
		cot_watch_stop(t->d, &t->watch);
		return -ESRCH;
	}
	t->d->state_dirty = true;
	return 0;
}

/* What is charged fits into the table. */
static struct tenant *take_place(struct daemon *d, uint32_t id, uid_t uid)
{
	struct tenant *t = d->tenants;

	while (t->id)
		t++;
	*t = (struct tenant){.d = d,
			     .id = id ? id : cot_daemon_new_id(d),
			     .uid = uid,
			     .since_ns = cot_now_ns(),
			     .watch = {.source = {.fd = -1}}};
	d->state_dirty = true;
	return t;
}

int cot_tenant_new(struct daemon *d, uid_t uid, struct tenant **ret_tenant)
{
	int rc = cot_account_charge(&d->account, uid, COT_ACCOUNT_PROGRAMS, 1);

	if (!rc)
		*ret_tenant = take_place(d, 0, uid);
	return rc;
}

int cot_tenant_restore(struct daemon *d, uint32_t id, uid_t uid, bool is_certain,
		       struct tenant **ret_tenant)
{
	int rc = is_certain ? cot_account_restore(&d->account, uid, COT_ACCOUNT_PROGRAMS, 1)
			    : cot_account_charge(&d->account, uid, COT_ACCOUNT_PROGRAMS, 1);

	if (rc < 0)
		return rc;
	cot_daemon_old_id(d, id);
	*ret_tenant = take_place(d, id, uid);
	return 0;
}

int cot_tenant_watch_peer(struct tenant *t, const struct conn *c)
{
	struct watch *w = &t->watch;
	int rc;

	*w = (struct watch){.source = {.fd = -1, .ready = process_ended}, .process = c->process};
	if (!c->start_time || (c->pidfd >= 0 && cot_peer_has_ended(c->pidfd)))
		return -ESRCH;
	if (c->pidfd < 0) {
		rc = cot_watch_start(t->d, w, c->pid, process_ended);
		if (rc < 0 || w->start_time == c->start_time)
			return rc;
		cot_watch_stop(t->d, w);
		return -ESRCH;
	}
	w->source.fd = fcntl(c->pidfd, F_DUPFD_CLOEXEC, 3);
	if (w->source.fd < 0)
		return -errno;
	w->pid = c->pid;
	w->start_time = c->start_time;
	rc = cot_loop_add(&t->d->loop, &w->source, EPOLLIN);
	if (rc < 0) {
		(void)close(w->source.fd);
		*w = (struct watch){.source = {.fd = -1}};
	}
	return rc;
}

void cot_tenant_drop(struct tenant *t)
{
	struct daemon *d = t->d;

	cot_watch_stop(d, &t->watch);
	cot_account_release(&d->account, t->uid, COT_ACCOUNT_PROGRAMS, 1);
	*t = (struct tenant){0};
}

static void describe(const struct tenant *t, struct cot_event *ev)
{
	*ev = (struct cot_event){.type = COT_EV_TENANT,
				 .id = t->id,
				 .now_ns = cot_now_ns(),
				 .tenant = {.cls = t->cls,
					    .weight = t->weight,
					    .gpu_mask = t->gpu_mask,
					    .pool = t->pool ? t->pool->id : 0,
					    .ready = t->ready,
					    .block_us = t->block_us,
					    .quota = cot_share_unpack(t->quota),
					    .reserve = cot_share_unpack(t->reserve)}};
}

void cot_tenant_announce(struct tenant *t)
{
	struct cot_event ev;
	int rc;

	describe(t, &ev);
	rc = cot_host_event(t->d->host, &ev);
	if (rc < 0)
		log_error("the policy core does not take program %u: %s", t->id, strerror(-rc));
	cot_timer_clear(&t->d->idle);
	if (t->pool)
		cot_pool_joined(t->pool, t->uid);
}

static bool has_member(const struct tenant *t, const struct conn *c)
{
	return c->source.fd >= 0 && c->tenant == t && c->settled;
}

void cot_tenant_update(struct tenant *t)
{
	struct daemon *d = t->d;
	struct cot_event ev;
	unsigned i;

	t->ready = false;
	for (i = 0; i < MAX_CONNS; i++)
		t->ready |= has_member(t, &d->conns[i]);
	describe(t, &ev);
	(void)cot_host_event(d->host, &ev);
	cot_hold_again(d, t->id);
	d->state_dirty = true;
}

/* Whether all of its processes that should have answered are stopped, and none answers. */
static bool all_stopped(struct tenant *t)
{
	struct daemon *d = t->d;
	bool stopped = false;
	unsigned i;

	for (i = 0; i < MAX_CONNS; i++) {
		struct conn *c = &d->conns[i];

		if (!has_member(t, c))
			continue;
		c->late = c->late && is_stopped(c->pid);
		if (!c->late)
			return false;
		stopped = true;
	}
	return stopped;
}

/*
 * One that is stopped cannot freeze, but has no more work for the GPU than it has begun. Were it
 * taken for one that runs, it would keep turns that it does not use, and the slices of all would
 * be made for a program that cannot be frozen.
 */
void cot_tenant_check_stops(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d = (struct daemon *)((char *)timer - offsetof(struct daemon, stops));
	bool more = false;
	unsigned i;

	for (i = 0; i < MAX_TENANTS; i++) {
		struct tenant *t = &d->tenants[i];
		struct cot_event ev = {.type = COT_EV_ACTIVITY, .id = t->id, .now_ns = now_ns};
		bool stopped = t->id && !t->pool && all_stopped(t);

		more |= stopped;
		if (!t->id || stopped == t->stopped)
			continue;
		t->stopped = stopped;
		log_info("program '%s' (id %u) %s", t->name, t->id,
			 stopped ? "was stopped by a signal: it counts as idle" : "goes on");
		ev.activity = stopped ? COT_ACTIVITY_IDLE : COT_ACTIVITY_UNKNOWN;
		(void)cot_host_event(d->host, &ev);
	}
	if (more)
		cot_timer_set(&d->loop, &d->stops, now_ns + STOPS_NS);
}

static void start_idle_timer(struct daemon *d)
{
	if (d->exit_idle_s && !cot_tenant_count(d))
		cot_timer_set(&d->loop, &d->idle, cot_now_ns() + d->exit_idle_s * COT_NS_PER_S);
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
	cot_watch_stop(t->d, &t->watch);
	if (t->by_itself)
		cot_tenant_end(t);
	else
		cot_outlive_search(t);
}

void cot_tenant_end(struct tenant *t)
{
	struct cot_event ev = {.type = COT_EV_TENANT_LEFT, .id = t->id, .now_ns = cot_now_ns()};
	struct daemon *d = t->d;
	struct pool *p = t->pool;
	char name[COT_PROTO_NAME_MAX];
	uint32_t id = t->id;

	t->search = SEARCH_SETTLED;
	if (t->n_conns) /* the end of the last one asks again */
		return;
	log_info("program '%s' (id %u) ended", t->name, id);
	(void)cot_host_event(d->host, &ev);
	cot_host_work_forget(d->host, id);
	memcpy(name, t->name, sizeof(name));
	cot_tenant_drop(t);
	if (p)
		cot_pool_left(p, name);
	else
		cot_host_forget(d->host, id);
	d->state_dirty = true;
	start_idle_timer(d);
}
