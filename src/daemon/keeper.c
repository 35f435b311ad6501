/*
 * Ends pools where no daemon does: `cotenantd --stop-pools` at once, and a process that each daemon
 * with pools has beside it, which sleeps until the daemon has ended, however that came. Both leave
 * what is in use alone, and do nothing while a daemon is there.
 */
#include "daemon/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/clients.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "daemon/mps.h"
#include "daemon/pool.h"
#include "daemon/processes.h"

#define MAX_KEPT MAX_POOLS
#define ROUND_NS (2 * COT_NS_PER_S)
#define LOOK_NS	 (10 * COT_NS_PER_MS)
/* A child of the daemon that has ended has the lock until it is another program: a daemon has it
 * for longer than that. */
#define LOCKED_NS     (500 * COT_NS_PER_MS)
#define LOCKED_ROUNDS 5
#define ANSWER_NS     (5 * COT_NS_PER_S)
/* A daemon that starts meanwhile waits for longer than this. */
#define QUIT_NS COT_NS_PER_S

/* The rounds of this process over all pools. */
struct rounds {
	struct basis *basis;
	uint64_t linger_ns;
	bool tell;   /* what is left, and why */
	int lock_rc; /* of the last one: what take_lock() returned, or 0 */
	/* Pools that were found unused, since when. */
	struct {
		pid_t control;
		uint64_t since_ns;
	} unused[MAX_KEPT];
};

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / COT_NS_PER_S),
			     .tv_nsec = (long)(ns % COT_NS_PER_S)};

	(void)nanosleep(&t, NULL);
}

/* ---- what MPS says ---- */

/* The whole answer; -errno when there is none. */
static int ask(const struct pool *p, const char *line, char *text, size_t size)
{
	uint64_t until_ns = cot_now_ns() + ANSWER_NS;
	struct cot_error err = {{0}};
	int status = -1, out = -1;
	pid_t pid = cot_mps_tell(p, line, &out, &err), rc = 0;
	ssize_t n;

	if (pid < 0)
		return (int)pid;
	while ((rc = waitpid(pid, &status, WNOHANG)) == 0 && cot_now_ns() < until_ns)
		sleep_ns(LOOK_NS);
	if (!rc) {
		(void)kill(pid, SIGKILL); /* it only asks */
		(void)waitpid(pid, &status, 0);
	}
	n = read(out, text, size - 1);
	(void)close(out);
	if (status || n >= (ssize_t)size - 1)
		return -EIO;
	text[n > 0 ? n : 0] = '\0';
	return 0;
}

/* -1: that cannot be known. */
static int count_clients(const struct pool *p)
{
	pid_t servers[8], client[1];
	char text[4096], line[64];
	int i, n, n_servers, total = 0;

	if (ask(p, "get_server_list", text, sizeof(text)) < 0)
		return -1;
	n_servers = cot_clients_parse(text, servers, COT_ARRAY_LEN(servers));
	if (n_servers < 0 || n_servers > (int)COT_ARRAY_LEN(servers))
		return -1;
	for (i = 0; i < n_servers; i++) {
		(void)snprintf(line, sizeof(line), "get_client_list %d", (int)servers[i]);
		if (ask(p, line, text, sizeof(text)) < 0)
			return -1;
		n = cot_clients_parse(text, client, COT_ARRAY_LEN(client));
		if (n < 0)
			return -1;
		total += n;
	}
	return total;
}

/* ---- one pool ---- */

/* As far as its commands need it. */
static bool describe(struct basis *b, const struct cot_process *control, struct pool *ret_pool)
{
	char *slash;

	*ret_pool = (struct pool){.basis = b};
	(void)snprintf(ret_pool->pipe, sizeof(ret_pool->pipe), "%s", control->found.pipe);
	(void)snprintf(ret_pool->folder, sizeof(ret_pool->folder), "%s", control->found.pipe);
	slash = strrchr(ret_pool->folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return cot_paths_join(ret_pool->log, ret_pool->folder, "log", NULL) == 0;
}

static const struct cot_process *user_of(const struct cot_processes *all, const struct pool *p)
{
	unsigned i;

	for (i = 0; i < all->n; i++)
		if (!all->p[i].found.is_pool && !strcmp(all->p[i].found.pipe, p->pipe))
			return &all->p[i];
	return NULL;
}

static bool is_in_use(const struct rounds *k, const struct cot_processes *all, const struct pool *p)
{
	const struct cot_process *user = user_of(all, p);
	int n = user ? 1 : count_clients(p);

	if (user && k->tell)
		log_warn("%s is left: '%s' (process %d) uses it", p->folder, user->found.name,
			 (int)user->pid);
	else if (n && k->tell)
		log_warn("%s is left: %s", p->folder,
			 n > 0 ? "MPS has clients" : "MPS does not say whether it has clients");
	return n != 0;
}

/* Whether it has been unused for long enough, if it is. */
static bool is_due(struct rounds *k, pid_t control, bool in_use)
{
	uint64_t now_ns = cot_now_ns();
	unsigned i, place = MAX_KEPT;

	for (i = 0; i < MAX_KEPT; i++)
		if (k->unused[i].control == control || (place == MAX_KEPT && !k->unused[i].control))
			place = i;
	if (place == MAX_KEPT)
		return false;
	if (in_use)
		k->unused[place].control = 0;
	if (in_use)
		return false;
	if (k->unused[place].control != control)
		k->unused[place].since_ns = now_ns;
	k->unused[place].control = control;
	return now_ns - k->unused[place].since_ns >= k->linger_ns;
}

/* In doubt it has not. */
static bool has_ended(const struct cot_process *p)
{
	uint64_t start_time;
	int rc = cot_process_start(p->pid, &start_time);

	return rc < 0 ? rc == -ESRCH : start_time != p->start_time;
}

/* MPS waits for clients by itself, should one have come at this moment. False: it is there still.
 */
static bool quit(const struct cot_process *control, const struct pool *p)
{
	uint64_t until_ns = cot_now_ns() + QUIT_NS;
	struct cot_error err = {{0}};
	pid_t pid = cot_mps_tell(p, "quit", NULL, &err);

	if (pid < 0) {
		log_warn("%s is left: %s", p->folder, err.text);
		return false;
	}
	while (!has_ended(control) && cot_now_ns() < until_ns)
		sleep_ns(LOOK_NS);
	(void)waitpid(pid, NULL, WNOHANG);
	if (has_ended(control))
		log_info("no program uses %s any longer: its MPS server was told to quit",
			 p->folder);
	else
		log_warn("%s is left: its MPS was told to quit, and has not ended", p->folder);
	return has_ended(control);
}

/* ---- all of them ---- */

/* The lock of the daemons, or -errno; -EWOULDBLOCK: one of them has it. */
static int take_lock(const struct basis *b)
{
	char path[COT_PATH_TEXT_MAX];
	int fd, rc;

	if (cot_paths_join(path, b->runtime, COT_LOCK_NAME, NULL) < 0)
		return -ENOENT;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	rc = -errno;
	(void)close(fd);
	return rc;
}

/* It says nothing of daemons, and passes. */
static bool is_lack(int rc)
{
	return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -ENOLCK;
}

/* How many pools are left, or 1 where that cannot be known now; -1: there is a daemon, or no place
 * for one. */
static int round_of(struct rounds *k)
{
	struct cot_processes *all = cot_processes_read(k->basis->socket_path);
	int lock = take_lock(k->basis), n_left = 0;
	struct pool pool;
	unsigned i;

	for (i = 0; all && lock >= 0 && i < all->n; i++) {
		const struct cot_process *p = &all->p[i];

		if (!p->found.is_pool || p->is_server || (p->uid && p->uid != geteuid()) ||
		    !cot_process_is_root(all, p) || !describe(k->basis, p, &pool))
			continue;
		if (!is_due(k, p->pid, is_in_use(k, all, &pool)) || !quit(p, &pool))
			n_left++;
	}
	if (lock >= 0)
		(void)close(lock);
	k->lock_rc = lock < 0 ? lock : 0;
	n_left = !all || is_lack(lock) ? 1 : lock < 0 ? -1 : n_left;
	if (k->tell && (!all || is_lack(lock)))
		log_error("which pools there are cannot be known now: no memory or no file "
			  "descriptor is left");
	free(all);
	return n_left;
}

int cot_keeper_stop_pools(struct basis *b)
{
	struct rounds k = {.basis = b, .tell = true};
	int n = round_of(&k);

	if (n >= 0)
		return n;
	if (access(b->runtime, F_OK) < 0 && errno == ENOENT)
		return 0; /* no daemon was here, so no pool is */
	if (k.lock_rc == -EWOULDBLOCK)
		log_error("a cotenantd serves %s: stop that one first", b->runtime);
	else
		log_error("%s/" COT_LOCK_NAME " cannot be opened, so which pools there are is not "
			  "known: %s",
			  b->runtime, strerror(-k.lock_rc));
	return n;
}

void cot_keeper_run(struct basis *b, int daemon_fd)
{
	struct rounds k = {.basis = b, .linger_ns = b->config.linger_s * COT_NS_PER_S};
	unsigned n_locked = 0;
	int n_left;
	char byte;

	(void)prctl(PR_SET_NAME, "cotenant-keeper");
	(void)signal(SIGPIPE, SIG_IGN); /* whoever read the log may have ended */
	while (read(daemon_fd, &byte, 1) < 0 && errno == EINTR)
		continue;
	while (n_locked < LOCKED_ROUNDS && (n_left = round_of(&k)) != 0) {
		n_locked = n_left < 0 ? n_locked + 1 : 0;
		sleep_ns(n_left < 0 ? LOCKED_NS : ROUND_NS);
	}
}

/* ---- beside the daemon ---- */

static void keeper_ended(struct cot_source *source, uint32_t events)
{
	struct watch *w = COT_CONTAINER_OF(source, struct watch, source);
	struct keeper *keeper = COT_CONTAINER_OF(w, struct keeper, watch);

	(void)events;
	(void)waitpid(w->pid, NULL, WNOHANG);
	cot_watch_stop(&keeper->basis->watches, w);
	(void)close(keeper->fd);
	keeper->fd = -1;
}

/* It must not hold anything of the daemon's, and lives on when a whole group is ended. */
static pid_t start_process(const struct keeper *keeper, int fd)
{
	const char *config = keeper->basis->config_path;
	struct cot_program program = {
		.path = keeper->program,
		.argv = {"cotenantd", "--keep-pools=0"},
		.fds = {fd, -1, -1},
	};

	if (access(config, R_OK) == 0) {
		program.argv[2] = "-c";
		program.argv[3] = config;
	}
	return cot_spares_start(&keeper->basis->spares, &program);
}

void cot_keeper_start(struct keeper *keeper)
{
	int ends[2];
	pid_t pid;

	if (keeper->watch.pid || !keeper->program)
		return;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		log_warn("no process would end the pools after this daemon: %s", strerror(errno));
		return;
	}
	pid = start_process(keeper, ends[0]);
	(void)close(ends[0]);
	keeper->fd = ends[1];
	if (pid > 0 &&
	    cot_watch_start_child(&keeper->basis->watches, &keeper->watch, pid, keeper_ended) == 0)
		return;
	log_warn("no process would end the pools after this daemon: cannot start one");
	(void)close(ends[1]);
	if (pid > 0)
		(void)waitpid(pid, NULL, WNOHANG);
}
