/*
 * The daemon as a whole: its beginning, its signals, what happens between two rounds of events, its
 * end.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/audit.h"
#include "daemon/choose.h"
#include "daemon/command.h"
#include "daemon/hold.h"
#include "daemon/library.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "daemon/manager.h"
#include "daemon/measure.h"
#include "daemon/outlive.h"
#include "daemon/query.h"
#include "daemon/register.h"
#include "daemon/shims.h"
#include "daemon/state.h"
#include "daemon/unseen.h"

/* A drain waits this long for the libraries to answer; their leases end all freezes anyway. */
#define STOP_NS (500 * COT_NS_PER_MS)
/* Between two children that close what the daemon may not. */
#define CLOSES_NS (20 * COT_NS_PER_MS)
/* Between two lines about late deadlines. */
#define LATE_AGAIN_NS (10 * COT_NS_PER_S)

/* ---- configuration ---- */

/* Where the default file is missing, the defaults count. */
int cot_daemon_read_config(struct daemon *d, struct cot_config *ret_config, struct cot_error *err)
{
	cot_config_default(ret_config);
	if (!d->config_named && access(d->basis.config_path, F_OK) < 0 && errno == ENOENT)
		return 0;
	return cot_config_read(d->basis.config_path, ret_config, err);
}

/* What was known before goes: queries that run count as over, because they have plans of it. */
static void know(struct daemon *d, const struct known *known)
{
	uint64_t now_ns = cot_now_ns();
	const struct tenant *t;

	cot_host_query_end_all(d->basis.host, now_ns);
	cot_known_clear(&d->basis.known);
	d->basis.known = *known;
	for_each_tenant (t, &d->roster)
		cot_known_tell(cot_known_find(known, t->name, t->cls), d->basis.host, t->id,
			       now_ns);
}

/* Where others may come they see nothing of our memory, and so cannot make us wait for it. */
static void let_others_in(struct daemon *d)
{
	int rc = d->basis.config.other_users ? cot_unseen_make() : 0;

	if (rc < 0)
		log_warn("who reads the daemon's arguments can make it wait: they cannot be hidden "
			 "here: %s",
			 strerror(-rc));
}

/* `uid` and `pid` are those of the process that sent the signal. */
static void reload(struct daemon *d, uid_t uid, pid_t pid)
{
	const char *before = cot_sched_wanted_policy(cot_host_sched(d->basis.host))->name, *after;
	struct cot_config config;
	struct known known = {.n = 0};
	struct cot_error err = {{0}};
	int rc;

	cot_manager_notify("RELOADING=1");
	rc = cot_daemon_read_config(d, &config, &err);
	if (!rc)
		rc = cot_known_read(&config, &known, &err);
	if (!rc)
		cot_choose_in(&d->roster, &config);
	if (!rc)
		rc = cot_host_set_policy(d->basis.host, cot_choose_now(&d->roster, config.policy),
					 &config.numbers, cot_now_ns(), &err);
	if (rc < 0) {
		log_error("the configuration stays as it was: %s", err.text);
		cot_known_clear(&known);
	} else {
		d->basis.config = config;
		d->roster.state.dirty |= d->basis.by_user != NULL;
		d->basis.by_user = NULL;
		know(d, &known);
		let_others_in(d);
		cot_server_set_access(&d->server);
		cot_scrape_set(&d->scrape);
		after = cot_sched_wanted_policy(cot_host_sched(d->basis.host))->name;
		cot_audit_say(uid, pid, "read %s again: policy %s -> %s", d->basis.config_path,
			      before, after);
	}
	cot_manager_notify("READY=1");
}

/* ---- events ---- */

static void stop(struct daemon *d)
{
	if (d->basis.stopping) { /* the second signal: at once */
		d->basis.loop.quit = true;
		return;
	}
	d->basis.stopping = true;
	cot_manager_notify("STOPPING=1");
	log_info("stopping: all programs are thawed and given back to the driver");
	cot_server_withdraw(&d->server);
	cot_host_stop(d->basis.host, cot_now_ns());
	cot_pool_stop_all(&d->roster);
	cot_timer_set(&d->basis.loop, &d->roster.idle, cot_now_ns() + STOP_NS);
}

static void signal_came(struct cot_source *source, uint32_t events)
{
	struct daemon *d = COT_CONTAINER_OF(source, struct daemon, signals);
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGCHLD:
			(void)cot_pool_reap(&d->roster);
			cot_closer_reap(&d->conns.closer);
			cot_energy_reap(&d->roster.energy);
			cot_outlive_reap(&d->roster);
			cot_spares_reap(&d->basis.spares);
			break;
		case SIGHUP:
			reload(d, info.ssi_uid, (pid_t)info.ssi_pid);
			break;
		default:
			stop(d);
			break;
		}
	}
}

static void idle_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d = COT_CONTAINER_OF(timer, struct daemon, roster.idle);

	(void)now_ns;
	if (d->basis.stopping) {
		d->basis.loop.quit = true;
		return;
	}
	if (cot_tenant_count(&d->roster))
		return;
	log_info("no program for %g s", d->roster.exit_idle_ms / 1000.0);
	stop(d);
}

static void host_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d = COT_CONTAINER_OF(timer, struct daemon, host_timer);

	cot_host_tick(d->basis.host, now_ns);
}

/* Twice in the time after which the manager would replace us. Only a loop that goes round says it.
 */
static void watchdog_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d = COT_CONTAINER_OF(timer, struct daemon, watchdog);

	cot_manager_notify("WATCHDOG=1");
	cot_timer_set(&d->basis.loop, timer, now_ns + cot_manager_watchdog_ns() / 2);
}

/* Where there are no pidfds. */
static void poll_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d = COT_CONTAINER_OF(timer, struct daemon, basis.watches.poll);
	bool more = cot_pool_reap(&d->roster);

	more |= cot_tenant_reap(&d->roster);
	if (more)
		cot_timer_set(&d->basis.loop, &d->basis.watches.poll, now_ns + COT_WATCH_POLL_NS);
}

/* Connections that never said what they are. */
static void waits_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d = COT_CONTAINER_OF(timer, struct daemon, conns.waits);
	uint64_t next_ns = COT_NEVER;
	struct conn *c;

	cot_hold_check(&d->conns, now_ns);
	for_each_conn (c, &d->conns) {
		uint64_t due_ns = c->since_ns + 5 * COT_NS_PER_S;

		if (c->hold.entity)
			due_ns = c->hold.until_ns;
		else if (c->kind == CONN_COMMAND || c->kind == CONN_WORK || c->entity)
			continue;
		else if (due_ns <= now_ns)
			cot_conn_close(c);
		if (conn_is_open(c) && due_ns < next_ns)
			next_ns = due_ns;
	}
	if (next_ns != COT_NEVER)
		cot_timer_set(&d->basis.loop, &d->conns.waits, next_ns);
}

static bool is_settled(struct daemon *d)
{
	const struct pool *p;

	for_each_pool (p, &d->roster)
		if (cot_pool_is_busy(p))
			return false;
	return cot_sched_is_quiet(cot_host_sched(d->basis.host));
}

/*
 * A canary: if deadlines come late, so do turns, leases and readiness. Leases then end by
 * themselves, so no program stays frozen; the log lets the administrator find the reason.
 */
static void tell_lateness(struct daemon *d)
{
	const struct cot_lateness *l = &d->basis.loop.lateness;
	uint64_t now_ns = cot_now_ns();

	if (l->n_late == d->n_late_told || now_ns < d->late_again_ns)
		return;
	log_warn("deadlines came late %lu times, by up to %.0f ms of the daemon's own: it is "
		 "overloaded",
		 (unsigned long)(l->n_late - d->n_late_told), (double)l->worst_own_ns / 1e6);
	d->n_late_told = l->n_late;
	d->late_again_ns = now_ns + LATE_AGAIN_NS;
}

static void closes_fired(struct cot_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns; /* settle() follows */
}

/* One child in a while is enough: it takes all that has come until then. */
static void close_rest(struct daemon *d)
{
	uint64_t now_ns = cot_now_ns();

	if (!d->conns.closer.n || d->closes.armed)
		return;
	(void)cot_closer_run(&d->conns.closer);
	cot_timer_set(&d->basis.loop, &d->closes, now_ns + CLOSES_NS);
}

/* Before every sleep. */
static void settle(void *arg)
{
	struct daemon *d = arg;
	uint64_t wake_ns;

	cot_hold_check(&d->conns, cot_now_ns());
	close_rest(d);
	tell_lateness(d);
	cot_state_keep(&d->roster);
	cot_lessons_keep(&d->lessons);
	wake_ns = cot_host_wake_ns(d->basis.host);
	if (wake_ns == COT_NEVER)
		cot_timer_clear(&d->host_timer);
	else if (!d->host_timer.armed || d->host_timer.due_ns != wake_ns)
		cot_timer_set(&d->basis.loop, &d->host_timer, wake_ns);
	if (d->basis.stopping && is_settled(d))
		d->basis.loop.quit = true;
}

/* ---- beginning and end ---- */

static int prepare_runtime(struct daemon *d, struct cot_error *err)
{
	int rc = cot_paths_runtime(d->basis.runtime, err);

	if (!rc)
		rc = cot_paths_make_private(d->basis.runtime,
					    cot_config_folder_mode(&d->basis.config), err);
	if (!rc)
		rc = cot_paths_join(d->basis.socket_path, d->basis.runtime, COT_SOCKET_NAME, err);
	return rc;
}

static int open_signals(struct daemon *d)
{
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	d->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	d->signals.ready = signal_came;
	if (d->signals.fd < 0)
		return -errno;
	return cot_loop_add(&d->basis.loop, &d->signals, EPOLLIN);
}

void cot_daemon_wire(struct daemon *d)
{
	static const struct conn_ops conn_ops[N_CONN_KINDS] = {
		[CONN_LIBRARY] = {cot_library_packet, cot_library_gone},
		[CONN_COMMAND] = {cot_command_packet, NULL},
		[CONN_WORK] = {cot_shims_packet, cot_shims_gone},
	};

	d->basis.watches.loop = &d->basis.loop;
	d->roster.basis = d->roster.keeper.basis = d->conns.basis = d->server.basis = &d->basis;
	d->lessons.basis = &d->basis;
	d->roster.conns = d->server.conns = d->scrape.conns = &d->conns;
	d->conns.roster = &d->roster;
	d->conns.ops = conn_ops;
	d->roster.pool_settled = cot_register_pool_settled;
	d->host_timer.fire = host_fired;
	d->conns.waits.fire = waits_fired;
	d->basis.watches.poll.fire = poll_fired;
	d->closes.fire = closes_fired;
	d->watchdog.fire = watchdog_fired;
	d->roster.idle.fire = idle_fired;
	d->conns.queries.fire = cot_query_answer_one;
	d->roster.stops.fire = cot_tenant_check_stops;
	d->roster.looks.fire = cot_measure_look;
	d->roster.energy.basis = &d->basis;
	d->roster.energy.roster = &d->roster;
}

int cot_daemon_begin(struct daemon *d, struct cot_error *err)
{
	int rc = prepare_runtime(d, err);

	if (!rc)
		rc = cot_server_take_over(&d->server, d->basis.socket_path, err);
	if (!rc)
		rc = cot_lock_take(d->basis.runtime, d->server.handed ? NULL : d->basis.socket_path,
				   &d->lock_fd, err);
	if (rc < 0)
		return rc;
	rc = cot_basis_begin(&d->basis);
	if (!rc)
		rc = open_signals(d);
	if (rc < 0)
		return cot_error_set(err, rc, "cannot set up the event loop: %s", strerror(-rc));
	d->basis.loop.settle = settle;
	d->basis.loop.settle_arg = d;
	cot_daemon_wire(d);
	/* While there is little that fork() would copy. */
	cot_outlive_begin(&d->roster);
	(void)cot_spares_begin(&d->basis.spares, &d->basis.loop);
	rc = cot_known_read(&d->basis.config, &d->basis.known, err);
	if (rc < 0)
		return rc;
	rc = cot_host_create(&cot_library_host_ops, &d->conns, d->basis.config.policy,
			     &d->basis.config.numbers, cot_now_ns(), &d->basis.host, err);
	if (rc < 0)
		return rc;
	let_others_in(d);
	rc = cot_server_open(&d->server, err);
	if (rc < 0)
		return rc;
	d->roster.next_id = 1;
	cot_lessons_load(&d->lessons);
	rc = cot_state_load(&d->roster, err);
	if (rc < 0)
		return rc;
	cot_scrape_set(&d->scrape);
	if (cot_manager_watchdog_ns())
		cot_timer_set(&d->basis.loop, &d->watchdog, cot_now_ns());
	return cot_server_publish(&d->server, err);
}

void cot_daemon_end(struct daemon *d)
{
	cot_scrape_close(&d->scrape);
	cot_server_close(&d->server);
	cot_lessons_end(&d->lessons);
	cot_energy_end(&d->roster.energy);
	cot_outlive_end(&d->roster);
	cot_spares_end(&d->basis.spares);
	cot_measure_finish(&d->roster);
	cot_basis_end(&d->basis);
}
