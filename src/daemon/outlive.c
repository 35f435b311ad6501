/*
 * A program is there while one of its processes is: a launcher may end long before what it has
 * launched. When the process that we watch has ended, a child of the daemon looks through /proc for
 * another one that has the program's number in its environment; that takes a while, and the daemon
 * must not wait. One search at a time, for all programs whose process has ended until then.
 *
 *   SETTLED ---- its process ended ----> WANTED ---- a search begins ----> RUNNING
 *      ^                                   ^                                  |
 *      |                                   +---- it failed, or what it found  |
 *      |                                         has ended meanwhile ---------+
 *      +---- watched again, or forgotten -------------------------------------+
 *
 * A process that has hidden its environment is not found. If it is a client of the pool's MPS
 * server the pool stays nevertheless (clients.c). The child stays as well; one that has ended is
 * begun anew by the next search.
 */
#include "daemon/outlive.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/child.h"
#include "daemon/processes.h"
#include "daemon/roster.h"

#define LIMIT_S	 30u
#define RETRY_NS COT_NS_PER_S
/* Programs may end as fast as they like: the searches take a small part of a processor. */
#define PAUSE_NS (50 * COT_NS_PER_MS)

/* Of whom another process is looked for. */
struct wanted {
	uint32_t n;
	struct {
		uint32_t id;
		uid_t uid;
	} program[MAX_TENANTS];
};

struct heir {
	uint32_t id; /* of the program */
	pid_t pid;
	uint64_t start_time;
};

struct answer {
	uint32_t looked; /* 0: it could not be seen who is there */
	uint32_t n;
	struct heir heir[MAX_TENANTS];
};

static void begin(struct roster *r);

/* ---- in the child ---- */

struct look {
	const struct wanted *wanted;
	struct heir heir[MAX_TENANTS]; /* by the place in `wanted`; id 0: none yet */
};

/* The oldest one of each. Whatever others say of their processes makes no difference. */
static void consider(const struct cot_process *p, void *arg)
{
	struct look *l = arg;
	uint32_t i;

	for (i = 0; i < l->wanted->n; i++) {
		struct heir *h = &l->heir[i];

		if (!cot_process_is_of(p, l->wanted->program[i].id, l->wanted->program[i].uid) ||
		    (h->id && h->start_time <= p->start_time))
			continue;
		*h = (struct heir){.id = p->found.id, .pid = p->pid, .start_time = p->start_time};
	}
}

static void search(const char *socket_path, const struct wanted *w, struct answer *ret)
{
	static struct look l;
	uint32_t i;

	memset(&l, 0, sizeof(l));
	l.wanted = w;
	ret->looked = cot_processes_each(socket_path, consider, &l) == 0;
	ret->n = 0;
	for (i = 0; ret->looked && i < w->n; i++)
		if (l.heir[i].id)
			ret->heir[ret->n++] = l.heir[i];
}

static size_t size_of_wanted(uint32_t n)
{
	return offsetof(struct wanted, program) + n * sizeof(((struct wanted *)NULL)->program[0]);
}

static size_t size_of_answer(uint32_t n)
{
	return offsetof(struct answer, heir) + n * sizeof(struct heir);
}

/* A search that takes longer ends the child. */
static void serve(int fd, const void *socket_path)
{
	static struct wanted wanted;
	static struct answer answer;

	while (recv(fd, &wanted, sizeof(wanted), 0) > 0) {
		(void)alarm(LIMIT_S);
		search(socket_path, &wanted, &answer);
		(void)alarm(0);
		if (send(fd, &answer, size_of_answer(answer.n), MSG_NOSIGNAL) < 0)
			return;
	}
}

/* ---- in the daemon ---- */

static void fire(struct cot_timer *timer, uint64_t now_ns)
{
	struct outlive *o = COT_CONTAINER_OF(timer, struct outlive, timer);
	struct roster *r = COT_CONTAINER_OF(o, struct roster, outlive);

	(void)now_ns;
	begin(r);
}

static void set_timer(struct roster *r, uint64_t in_ns)
{
	r->outlive.timer.fire = fire;
	cot_timer_set(&r->basis->loop, &r->outlive.timer, cot_now_ns() + in_ns);
}

/* Whether it is watched again. */
static bool take(struct tenant *t, const struct answer *a)
{
	uint32_t i;

	for (i = 0; i < a->n; i++)
		if (a->heir[i].id == t->id)
			return !cot_tenant_watch(t, a->heir[i].pid, a->heir[i].start_time);
	return false;
}

static bool has_heir(const struct tenant *t, const struct answer *a)
{
	uint32_t i;

	for (i = 0; i < a->n; i++)
		if (a->heir[i].id == t->id)
			return true;
	return false;
}

static void settle(struct roster *r, const struct answer *a)
{
	struct tenant *t;

	for_each_tenant (t, r) {
		if (t->search != SEARCH_RUNNING)
			continue;
		t->search = SEARCH_WANTED;
		if (take(t, a))
			t->search = SEARCH_SETTLED;
		else if (a->looked && !has_heir(t, a))
			cot_tenant_end(t);
	}
}

static bool is_wanted(const struct roster *r)
{
	const struct tenant *t;

	for_each_tenant (t, r)
		if (t->search == SEARCH_WANTED)
			return true;
	return false;
}

static void lose_child(struct roster *r)
{
	struct outlive *o = &r->outlive;

	cot_loop_remove(&r->basis->loop, &o->source);
	(void)close(o->source.fd);
	if (o->pid)
		(void)kill(o->pid, SIGKILL);
	o->is_there = false;
}

static bool is_whole(const struct answer *a, ssize_t n)
{
	return n >= (ssize_t)size_of_answer(0) && a->n <= MAX_TENANTS &&
	       n == (ssize_t)size_of_answer(a->n);
}

static void answered(struct cot_source *source, uint32_t events)
{
	struct outlive *o = COT_CONTAINER_OF(source, struct outlive, source);
	struct roster *r = COT_CONTAINER_OF(o, struct roster, outlive);
	static struct answer answer;
	ssize_t n = recv(source->fd, &answer, sizeof(answer), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (!is_whole(&answer, n)) {
		lose_child(r);
		answer.looked = answer.n = 0;
	}
	if (!o->asked)
		return;
	o->asked = false;
	settle(r, &answer);
	if (is_wanted(r))
		set_timer(r, answer.looked ? PAUSE_NS : RETRY_NS);
}

static int start(struct roster *r)
{
	struct outlive *o = &r->outlive;
	int fd, rc;

	cot_outlive_reap(r);
	if (o->pid) /* the one before is about to end */
		return -EAGAIN;
	rc = cot_child_start("cotenant-search", serve, r->basis->socket_path, &fd, &o->pid);
	if (rc < 0)
		return rc;
	o->source = (struct cot_source){.fd = fd, .ready = answered};
	rc = cot_loop_add(&r->basis->loop, &o->source, EPOLLIN);
	o->is_there = true;
	if (rc < 0)
		lose_child(r);
	return rc;
}

static int ask(struct roster *r)
{
	static struct wanted wanted;
	struct tenant *t;
	ssize_t size;
	int rc = r->outlive.is_there ? 0 : start(r);

	if (rc < 0)
		return rc;
	wanted.n = 0;
	for_each_tenant (t, r) {
		if (t->search != SEARCH_RUNNING)
			continue;
		wanted.program[wanted.n].id = t->id;
		wanted.program[wanted.n++].uid = t->uid;
	}
	size = (ssize_t)size_of_wanted(wanted.n);
	if (send(r->outlive.source.fd, &wanted, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) == size)
		return 0;
	rc = -errno;
	lose_child(r);
	return rc;
}

static void begin(struct roster *r)
{
	static const struct answer nothing;
	struct tenant *t;

	if (r->outlive.asked || !is_wanted(r))
		return;
	for_each_tenant (t, r)
		if (t->search == SEARCH_WANTED)
			t->search = SEARCH_RUNNING;
	r->outlive.asked = ask(r) == 0;
	if (r->outlive.asked)
		return;
	settle(r, &nothing);
	set_timer(r, RETRY_NS);
}

void cot_outlive_begin(struct roster *r)
{
	if (!r->outlive.is_there)
		(void)start(r);
}

void cot_outlive_search(struct tenant *t)
{
	if (t->search != SEARCH_SETTLED)
		return;
	t->search = SEARCH_WANTED;
	if (!t->in->outlive.timer.armed)
		begin(t->in);
}

void cot_outlive_reap(struct roster *r)
{
	cot_child_reap(&r->outlive.pid);
}

void cot_outlive_end(struct roster *r)
{
	if (r->outlive.is_there)
		lose_child(r);
}
