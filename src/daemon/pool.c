/*
 * Pools: one MPS control program for each class and GPU, or one for both, while a program needs it.
 *
 *            want                 listens, server asked for
 *   DOWN -----------> STARTING ------------------------------> UP
 *    ^                   | ended, or too late                   | control program ended
 *    |                   v                                      v
 *    |                FAILED <----------------------------------+
 *    |                   | want, after a pause: STARTING
 *    +---- STOPPING <----+---- UP without tenants for a while, and without clients:
 *                              pool_stop.c
 *
 * The daemon never ends a client of a pool: it sends `quit` to MPS only when MPS has no clients,
 * and if one comes at that moment, MPS waits for it.
 */
#include "daemon/pool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/clients.h"
#include "daemon/conn.h"
#include "daemon/keeper.h"
#include "daemon/log.h"
#include "daemon/mps.h"
#include "daemon/pool_inside.h"
#include "daemon/processes.h"
#include "daemon/roster.h"
#include "text/text.h"

#define START_POLL_NS  (10 * COT_NS_PER_MS)
#define START_NS       (15 * COT_NS_PER_S)
#define BACKOFF_MIN_NS (500 * COT_NS_PER_MS)
#define BACKOFF_MAX_NS (60 * COT_NS_PER_S)
#define NAMES_MAX      256u
/* A program that ended so shortly before the daemon learned of a fault was probably ended by it. */
#define RECENT_NS (2 * COT_NS_PER_S)

static void start_timer_fired(struct cot_timer *timer, uint64_t now_ns);
static void retry_timer_fired(struct cot_timer *timer, uint64_t now_ns);
static int start(struct pool *p);

const struct cot_dlog_where *cot_pool_where(const struct pool *p)
{
	static struct cot_dlog_where where;

	where = (struct cot_dlog_where){p->gpu, p->name};
	return &where;
}

const char *cot_pool_state_name(enum pool_state state)
{
	static const char *const names[] = {"down", "starting", "up", "failed", "stopping"};

	return names[state];
}

void cot_pool_timer(struct pool *p, void (*fire)(struct cot_timer *, uint64_t), uint64_t in_ns)
{
	p->timer.fire = fire;
	cot_timer_set(&p->basis->loop, &p->timer, cot_now_ns() + in_ns);
}

/* "a, b, c" */
static const char *names_of(const struct pool *p, char text[NAMES_MAX])
{
	size_t used = 0;
	const struct tenant *t;

	(void)snprintf(text, NAMES_MAX, "none");
	for_each_tenant (t, p->in)
		if (t->pool == p && used < NAMES_MAX)
			used += (size_t)snprintf(text + used, NAMES_MAX - used, "%s%s",
						 used ? ", " : "", t->name);
	return text;
}

/*
 * A fault of one program takes the server's context, and with it all programs of the pool. They
 * often end before the daemon learns of the fault.
 */
static void tell_of_loss(struct pool *p)
{
	char names[NAMES_MAX];

	if (!p->multiuser && p->n_tenants && p->uid != p->server_uid) {
		cot_daemon_log(COT_DLOG_INFO, cot_pool_where(p),
			       "its MPS server of user %u makes room for one of user %u",
			       (unsigned)p->server_uid, (unsigned)p->uid);
		return;
	}
	p->n_deaths++;
	if (cot_now_ns() - p->ended_ns > RECENT_NS)
		p->ended[0] = '\0';
	cot_daemon_log(COT_DLOG_ERROR, cot_pool_where(p),
		       "its MPS server lost its channel groups: a fault in one program of a pool "
		       "ends all programs of that pool. Ended just now: %s; still there: %s. The "
		       "other pool goes on",
		       p->ended[0] ? p->ended : "none", names_of(p, names));
}

/* ---- events for the core ---- */

void cot_pool_update(struct pool *p)
{
	struct roster *r = p->in;
	bool ready = false;
	struct cot_event ev;
	const struct conn *c;

	for_each_conn (c, r->conns)
		if (c->pool == p && c->settled) {
			ready = true;
			p->server_uid = c->uid;
		}
	if (p->announced && ready == p->ready)
		return;
	if (ready)
		cot_daemon_log(COT_DLOG_INFO, cot_pool_where(p),
			       "its server has channel groups: slices are under control");
	else if (p->announced && p->state == POOL_UP && !r->basis->stopping)
		tell_of_loss(p);
	p->announced = true;
	p->ready = ready;
	ev = (struct cot_event){
		.type = COT_EV_POOL,
		.id = p->id,
		.now_ns = cot_now_ns(),
		.pool = {.cls = p->cls, .gpu_mask = 1ull << p->gpu, .ready = ready},
	};
	(void)cot_host_event(r->basis->host, &ev);
	if (p->held && !r->basis->stopping)
		cot_host_hold(r->basis->host, p->id, true, cot_now_ns());
}

static int set_paths(struct pool *p)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "gpu%u-%s", p->gpu, p->name);
	if (cot_paths_join(p->folder, p->basis->runtime, name, NULL) < 0 ||
	    cot_paths_join(p->pipe, p->folder, "pipe", NULL) < 0 ||
	    cot_paths_join(p->log, p->folder, "log", NULL) < 0)
		return -ENAMETOOLONG;
	return 0;
}

static unsigned pool_index(enum cot_class cls, bool shared, unsigned gpu)
{
	return 3 * gpu + (shared ? 2 : cls == COT_CLASS_BATCH ? 1 : 0);
}

bool cot_pool_is_there(const struct roster *r, enum cot_class cls, bool shared, unsigned gpu)
{
	return r->pools[pool_index(cls, shared, gpu)].id != 0;
}

struct pool *cot_pool_take(struct roster *r, uint32_t id, enum cot_class cls, bool shared,
			   unsigned gpu)
{
	struct pool *p = &r->pools[pool_index(cls, shared, gpu)];

	if (p->id)
		return p;
	*p = (struct pool){
		.basis = r->basis,
		.in = r,
		.cls = shared ? COT_CLASS_BATCH : cls,
		.shared = shared,
		.gpu = gpu,
	};
	p->control.source.fd = p->command.source.fd = p->clients.command.source.fd = -1;
	p->uid = geteuid();
	(void)snprintf(p->name, sizeof(p->name), "%s", shared ? "shared" : cot_class_words[cls]);
	if (set_paths(p) < 0)
		return NULL;
	p->id = id ? id : cot_roster_new_id(r);
	cot_roster_old_id(r, p->id);
	cot_pool_update(p);
	r->state.dirty = true;
	return p;
}

struct pool *cot_pool_get(struct roster *r, enum cot_class cls, bool shared, unsigned gpu)
{
	return cot_pool_take(r, 0, cls, shared, gpu);
}

/* ---- MPS there or not ---- */

/* Without MPS programs stand alone, so the ones of the batch class must take turns. */
static void set_mps_failed(struct roster *r, bool failed)
{
	const struct cot_policy_ops *policy = r->basis->config.policy;
	struct cot_error err;

	if (r->mps_failed == failed)
		return;
	r->mps_failed = failed;
	if (failed)
		policy = cot_policy_find("rotate");
	log_warn("MPS %s; the policy is now '%s'",
		 failed ? "is not available: programs stand alone and take turns" : "is back",
		 policy->name);
	if (cot_host_set_policy(r->basis->host, policy, &r->basis->config.numbers, cot_now_ns(),
				&err) < 0)
		log_error("cannot change the policy: %s", err.text);
}

static void fail(struct pool *p)
{
	p->lost = p->state == POOL_UP;
	p->backoff_ns = p->backoff_ns ? 2 * p->backoff_ns : BACKOFF_MIN_NS;
	if (p->backoff_ns > BACKOFF_MAX_NS)
		p->backoff_ns = BACKOFF_MAX_NS;
	p->state = POOL_FAILED;
	p->retry_ns = cot_now_ns() + p->backoff_ns;
	p->in->state.dirty = true;
	cot_timer_clear(&p->timer);
	if (p->n_tenants)
		cot_pool_timer(p, retry_timer_fired, p->backoff_ns);
}

/* ---- the control program ---- */

static void drop_command(struct pool *p)
{
	if (!p->command.pid)
		return;
	(void)waitpid(p->command.pid, NULL, WNOHANG);
	cot_watch_stop(&p->basis->watches, &p->command);
}

static void come_up(struct pool *p)
{
	p->state = POOL_UP;
	p->backoff_ns = 0;
	p->in->state.dirty = true;
	cot_timer_clear(&p->timer);
	cot_daemon_log(COT_DLOG_INFO, cot_pool_where(p), "up (MPS control process %d)",
		       (int)p->control.pid);
	set_mps_failed(p->in, false);
	if (!p->n_tenants)
		cot_pool_linger(p);
	p->in->pool_settled(p);
}

static void command_ended(struct cot_source *source, uint32_t events)
{
	struct watch *w = COT_CONTAINER_OF(source, struct watch, source);
	struct pool *p = COT_CONTAINER_OF(w, struct pool, command);
	int status = 0;

	(void)events;
	(void)waitpid(w->pid, &status, WNOHANG);
	cot_watch_stop(&p->basis->watches, w);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		cot_daemon_log(COT_DLOG_DEBUG, cot_pool_where(p),
			       "an MPS command ended with status %#x", (unsigned)status);
	/* The one that ends may be the quit of the control program before. */
	if (p->state == POOL_STARTING && p->asked)
		come_up(p);
}

int cot_pool_tell(struct pool *p, const char *line)
{
	struct cot_error err = {{0}};
	pid_t pid;

	drop_command(p);
	pid = cot_mps_tell(p, line, NULL, &err);
	if (pid < 0) {
		cot_daemon_log(COT_DLOG_WARN, cot_pool_where(p), "%s", err.text);
		return pid;
	}
	if (cot_watch_start_child(&p->basis->watches, &p->command, pid, command_ended) < 0) {
		(void)waitpid(pid, NULL, WNOHANG);
		return -ESRCH;
	}
	return 0;
}

/* Before the first program comes, so that the slices are set when it does. */
static int ask_for_server(struct pool *p)
{
	char line[64];

	/* Only root's can start one for others, and one for all is root's own. */
	(void)snprintf(line, sizeof(line), "start_server -uid %u",
		       (unsigned)(p->multiuser || geteuid() != 0 ? geteuid() : p->uid));
	return cot_pool_tell(p, line);
}

/*
 * A control program that was there before us, whose socket is gone: it may have programs, so it is
 * left alone. The pool cannot be used until it has ended.
 */
static void give_up(struct pool *p)
{
	cot_daemon_log(COT_DLOG_ERROR, cot_pool_where(p),
		       "its MPS control program (process %d) does not answer; the pool cannot be "
		       "used until that one has ended",
		       (int)p->control.pid);
	p->state = POOL_STOPPING;
	p->deadline_ns = 0;
	p->in->state.dirty = true;
	p->in->pool_settled(p);
}

/* Programs that know the folder from a server before may be in it already: then it is up. */
static void clients_of_late(struct pool *p, int n)
{
	if (p->state != POOL_STARTING)
		return;
	if (n > 0) {
		come_up(p);
		return;
	}
	cot_daemon_log(COT_DLOG_ERROR, cot_pool_where(p), "MPS did not start in time; see %s",
		       p->log);
	(void)kill(p->control.pid, SIGKILL); /* control_ended() follows */
}

static void start_timer_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct pool *p = COT_CONTAINER_OF(timer, struct pool, timer);

	if (now_ns >= p->deadline_ns && p->adopted) {
		give_up(p);
		return;
	}
	if (now_ns >= p->deadline_ns) {
		if (cot_mps_listens(p))
			cot_clients_ask(p, clients_of_late);
		else
			clients_of_late(p, 0);
		return;
	}
	cot_pool_timer(p, start_timer_fired, START_POLL_NS);
	if (p->command.pid || !cot_mps_listens(p))
		return;
	p->asked = true;
	if (ask_for_server(p) < 0)
		come_up(p);
}

/* An older control program does not know the option, and ends at once. */
static bool try_without_multiuser(struct pool *p, int status)
{
	if (!p->multiuser || p->adopted || !WIFEXITED(status) || !WEXITSTATUS(status)) {
		p->in->no_multiuser = p->in->no_multiuser && p->multiuser;
		return false;
	}
	cot_daemon_log(
		COT_DLOG_WARN, cot_pool_where(p),
		"the MPS control program did not start with the option -M; trying it without: "
		"a pool serves one user at a time then");
	p->in->no_multiuser = true;
	if (start(p) != -EINPROGRESS)
		p->in->pool_settled(p);
	return true;
}

static void control_ended(struct cot_source *source, uint32_t events)
{
	struct watch *w = COT_CONTAINER_OF(source, struct watch, source);
	struct pool *p = COT_CONTAINER_OF(w, struct pool, control);
	enum pool_state was = p->state;
	char names[NAMES_MAX];
	int status = 0;

	(void)events;
	(void)waitpid(w->pid, &status, WNOHANG);
	cot_watch_stop(&p->basis->watches, w);
	p->in->state.dirty = true;
	if (was == POOL_STOPPING) {
		cot_timer_clear(&p->timer);
		p->state = POOL_DOWN;
		cot_daemon_log(COT_DLOG_INFO, cot_pool_where(p), "stopped");
		if ((p->wanted || p->n_tenants) && !p->basis->stopping && start(p) != -EINPROGRESS)
			p->in->pool_settled(p);
		if (p->state == POOL_DOWN) /* it has no entity any longer that it could hold */
			p->held = false;
		p->wanted = false;
		return;
	}
	if (was == POOL_STARTING && try_without_multiuser(p, status))
		return;
	p->n_deaths++;
	cot_daemon_log(
		COT_DLOG_ERROR, cot_pool_where(p),
		"its MPS control program ended (status %#x); see %s. Programs in the pool: %s",
		(unsigned)status, p->log, names_of(p, names));
	fail(p);
	if (was == POOL_STARTING) {
		set_mps_failed(p->in, true);
		p->in->pool_settled(p);
	}
}

static void wait_for_control(struct pool *p)
{
	p->state = POOL_STARTING;
	p->asked = false;
	p->deadline_ns = cot_now_ns() + START_NS;
	p->in->state.dirty = true;
	cot_pool_timer(p, start_timer_fired, START_POLL_NS);
}

static int start(struct pool *p)
{
	struct cot_error err = {{0}};
	pid_t pid;

	p->n_starts++;
	cot_keeper_start(&p->in->keeper);
	p->adopted = false;
	p->multiuser = p->basis->config.multiuser && geteuid() == 0 && !p->in->no_multiuser;
	pid = cot_mps_start_control(p, &err);
	if (pid > 0 &&
	    cot_watch_start_child(&p->basis->watches, &p->control, pid, control_ended) < 0) {
		/* It may be there, and cannot be watched now: no program uses it yet. */
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		pid = (pid_t)cot_error_set(&err, -ECHILD,
					   "the MPS control program cannot be watched");
	}
	if (pid < 0) {
		cot_daemon_log(COT_DLOG_ERROR, cot_pool_where(p), "%s", err.text);
		fail(p);
		set_mps_failed(p->in, true);
		return (int)pid;
	}
	wait_for_control(p);
	return -EINPROGRESS;
}

/* A pool that was up is started again in a moment: programs that come until then wait for it. */
static int want_failed(struct pool *p)
{
	uint64_t now_ns = cot_now_ns();

	if (now_ns >= p->retry_ns)
		return start(p);
	if (!p->lost)
		return -EAGAIN;
	p->wanted = true;
	cot_pool_timer(p, retry_timer_fired, p->retry_ns - now_ns);
	return -EINPROGRESS;
}

bool cot_pool_serves(const struct pool *p, uid_t uid)
{
	const struct tenant *t;

	if (p->multiuser)
		return true;
	if (geteuid() != 0 && uid != geteuid())
		return false;
	for_each_tenant (t, p->in)
		if (t->pool == p && t->uid != uid)
			return false;
	return true;
}

int cot_pool_want(struct pool *p, uid_t uid)
{
	if (!p->n_tenants)
		p->uid = uid;
	switch (p->state) {
	case POOL_UP:
		return 0;
	case POOL_STOPPING:
		if (cot_now_ns() >= p->deadline_ns)
			return -EBUSY;
		p->wanted = true; /* started again when it has ended */
		return -EINPROGRESS;
	case POOL_STARTING:
		return -EINPROGRESS;
	case POOL_FAILED:
		return want_failed(p);
	default:
		return start(p);
	}
}

static void retry_timer_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct pool *p = COT_CONTAINER_OF(timer, struct pool, timer);

	(void)now_ns;
	if (p->state != POOL_FAILED || (!p->n_tenants && !p->wanted))
		return;
	p->wanted = false;
	if (start(p) != -EINPROGRESS)
		p->in->pool_settled(p);
}

void cot_pool_joined(struct pool *p, uid_t uid)
{
	p->uid = uid;
	p->n_tenants++;
	p->held_up = false;
	if (p->state == POOL_UP)
		cot_timer_clear(&p->timer);
}

void cot_pool_left(struct pool *p, const char *name)
{
	if (cot_now_ns() - p->ended_ns > RECENT_NS)
		p->ended[0] = '\0';
	p->ended_ns = cot_now_ns();
	cot_text_add_word(p->ended, sizeof(p->ended), name);
	p->n_tenants--;
	if (!p->n_tenants && p->state == POOL_UP)
		cot_pool_linger(p);
}

/* The control program starts another server when a program asks for one; the daemon asks at once,
 * so that the next programs find their slices set. */
void cot_pool_server_gone(struct pool *p)
{
	if (p->state == POOL_UP && !p->n_conns && !p->basis->stopping &&
	    cot_watch_is_alive(&p->control))
		(void)ask_for_server(p);
}

static int watch_control(struct pool *p, pid_t control, uint64_t start_time)
{
	int rc = cot_watch_start(&p->basis->watches, &p->control, control, control_ended);

	if (rc < 0 || p->control.start_time == start_time)
		return rc;
	cot_watch_stop(&p->basis->watches, &p->control); /* another one with its number */
	return -ESRCH;
}

int cot_pool_adopt(struct pool *p, pid_t control, uint64_t start_time)
{
	int rc = p->state == POOL_DOWN ? watch_control(p, control, start_time) : -ESRCH;

	if (rc < 0)
		return rc == -ESRCH ? 0 : rc;
	p->adopted = true;
	cot_keeper_start(&p->in->keeper);
	p->multiuser = cot_process_has_argument(control, "-M");
	cot_daemon_log(COT_DLOG_INFO, cot_pool_where(p), "took over MPS control process %d",
		       (int)control);
	if (cot_mps_listens(p)) {
		p->state = POOL_UP;
		cot_pool_linger(p);
	} else {
		wait_for_control(p);
	}
	return 0;
}

bool cot_pool_reap(struct roster *r)
{
	bool more = false;
	struct pool *p;

	for_each_pool (p, r) {
		more |= cot_clients_reap(p);
		more |= cot_watch_reap(&r->basis->watches, &p->command);
		more |= cot_watch_reap(&r->basis->watches, &p->control);
	}
	return more;
}
