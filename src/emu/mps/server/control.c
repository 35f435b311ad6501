#include "emu/mps/server/control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cuda/abi/calls.h"
#include "emu/mps/wire.h"

#define MAX_PEERS     64u
#define SERVER_NAME   "nvidia-cuda-mps-server"
#define PID_FILE      "nvidia-cuda-mps-control.pid"
#define FORCE_STOP_MS 2000 /* a server that must end is killed after this */

struct server {
	pid_t pid; /* 0: none */
	int sock;
	uid_t uid;
	uint32_t n_passed, n_taken; /* clients, until now: to it, and as it says */
	uint32_t n_clients;
	int32_t clients[COT_EMU_MPS_MAX_CLIENTS];
	char state[16];
	bool stopping;
};

struct peer {
	int sock; /* -1: free */
	bool waits;
	struct ucred who; /* while it waits */
};

struct cot_emu_mps_control {
	int listener, signals, pipe_dir;
	bool multiuser;
	FILE *log; /* may be NULL */
	/* Connections that have not said what they want yet, and clients that wait. */
	struct peer peers[MAX_PEERS];
	struct server server;
	bool quitting;
	int quit_peer;	    /* waits for the end, or -1 */
	int64_t kill_at_ms; /* 0: no limit */
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void note(struct cot_emu_mps_control *c, const char *fmt, ...) COT_PRINTF(2, 3);

static void note(struct cot_emu_mps_control *c, const char *fmt, ...)
{
	va_list args;

	if (!c->log)
		return;
	va_start(args, fmt);
	fprintf(c->log, "[%lld control %d] ", (long long)now_ms(), (int)getpid());
	vfprintf(c->log, fmt, args);
	fputc('\n', c->log);
	va_end(args);
	fflush(c->log);
}

/* ---- the server ---- */

/* It has the rights of its clients, and none of the daemon's. */
static void become(uid_t uid)
{
	if (uid == geteuid())
		return;
	if (setgroups(0, NULL) || setgid((gid_t)uid) || setuid(uid))
		_exit(126);
}

static void run_server(int sock, uid_t uid)
{
	char name[] = SERVER_NAME, *argv[] = {name, NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* dup2 on itself would leave the descriptor to be closed by exec. */
	if (sock == COT_EMU_MPS_SERVER_FD)
		fcntl(sock, F_SETFD, 0);
	else
		dup2(sock, COT_EMU_MPS_SERVER_FD);
	become(uid);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static int start_server(struct cot_emu_mps_control *c, uid_t uid)
{
	int pair[2];
	pid_t pid;

	if (c->server.pid)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = fork();
	if (!pid)
		run_server(pair[1], uid);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return -EAGAIN;
	}
	c->server =
		(struct server){.pid = pid, .sock = pair[0], .uid = uid, .state = "INITIALIZING"};
	note(c, "started server %d of user %u", (int)pid, (unsigned)uid);
	return 0;
}

/* Closing its socket tells the server to go; the limit is for one that does not. */
static void stop_server(struct cot_emu_mps_control *c)
{
	if (!c->server.pid || c->server.stopping)
		return;
	c->server.stopping = true;
	close(c->server.sock);
	c->server.sock = -1;
	c->kill_at_ms = now_ms() + FORCE_STOP_MS;
}

static void reap_servers(struct cot_emu_mps_control *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != c->server.pid)
			continue;
		note(c, "server %d has ended with status %d", (int)pid, status);
		if (c->server.sock >= 0)
			close(c->server.sock);
		c->server = (struct server){.sock = -1};
		c->kill_at_ms = 0;
	}
}

static void hear_server(struct cot_emu_mps_control *c)
{
	struct cot_emu_mps_message m;
	uint32_t i;

	if (cot_emu_mps_receive(c->server.sock, &m, NULL, 0) || m.type != COT_EMU_MPS_CLIENTS)
		return;
	c->server.n_clients = m.n;
	c->server.n_taken = m.slot;
	for (i = 0; i < m.n; i++)
		c->server.clients[i] = (int32_t)m.tokens[i];
	snprintf(c->server.state, sizeof(c->server.state), "%.15s", m.text);
	note(c, "server %d: %s, %u clients", (int)c->server.pid, c->server.state, m.n);
}

/* ---- clients ---- */

static bool is_idle(const struct server *s)
{
	return !s->n_clients && s->n_passed == s->n_taken;
}

/* Whose server serves this user. */
static uid_t server_of(const struct cot_emu_mps_control *c, uid_t uid)
{
	return c->multiuser ? geteuid() : uid;
}

/* -EAGAIN: later. Root's daemon serves all users, another one its own user. */
static int may_join(struct cot_emu_mps_control *c, uid_t uid, CUresult *ret_result)
{
	*ret_result = CUDA_ERROR_MPS_CONNECTION_FAILED;
	if (c->quitting || (geteuid() != 0 && uid != geteuid()))
		return 0;
	if (c->server.pid && (c->server.stopping || c->server.uid != server_of(c, uid)))
		return -EAGAIN;
	if (!start_server(c, server_of(c, uid)))
		*ret_result = CUDA_SUCCESS;
	return 0;
}

/* False: it waits for the server of others to end. */
static bool pass_on(struct cot_emu_mps_control *c, const struct peer *peer)
{
	struct cot_emu_mps_message m = cot_emu_mps_message(COT_EMU_MPS_TAKE);
	CUresult result;

	if (may_join(c, peer->who.uid, &result) < 0)
		return false;
	m.status = result;
	m.pid = peer->who.pid;
	if (!m.status && cot_emu_mps_send(c->server.sock, &m, peer->sock))
		m.status = CUDA_ERROR_MPS_SERVER_NOT_READY;
	if (!m.status) {
		c->server.n_passed++;
		note(c, "client %d of user %u", (int)m.pid, (unsigned)peer->who.uid);
		return true;
	}
	note(c, "refused client %d: %d", (int)m.pid, m.status);
	m.type = COT_EMU_MPS_WELCOME;
	(void)!cot_emu_mps_send(peer->sock, &m, -1);
	return true;
}

/* A new client. False: it waits, and its connection is kept. */
static bool admit(struct cot_emu_mps_control *c, struct peer *peer)
{
	socklen_t size = sizeof(peer->who);

	if (getsockopt(peer->sock, SOL_SOCKET, SO_PEERCRED, &peer->who, &size))
		return true;
	peer->waits = !pass_on(c, peer);
	if (peer->waits)
		note(c, "client %d of user %u waits", (int)peer->who.pid, (unsigned)peer->who.uid);
	return !peer->waits;
}

/* The server ends when it has no clients and another user's clients wait; then they come. */
static void admit_waiting(struct cot_emu_mps_control *c)
{
	unsigned i;

	for (i = 0; i < MAX_PEERS; i++) {
		struct peer *peer = &c->peers[i];

		if (peer->sock < 0 || !peer->waits)
			continue;
		if (pass_on(c, peer)) {
			close(peer->sock);
			*peer = (struct peer){.sock = -1};
		} else if (is_idle(&c->server)) {
			stop_server(c);
		}
	}
}

/* ---- commands ---- */

#define MAX_WORDS 6

struct command {
	int peer;
	char *words[MAX_WORDS];
	int n_words;
};

static void answer(int peer, int status, const char *fmt, ...) COT_PRINTF(3, 4);

static void answer(int peer, int status, const char *fmt, ...)
{
	struct cot_emu_mps_message m = cot_emu_mps_message(COT_EMU_MPS_ANSWER);
	va_list args;

	va_start(args, fmt);
	vsnprintf(m.text, sizeof(m.text), fmt, args);
	va_end(args);
	m.status = status;
	(void)!cot_emu_mps_send(peer, &m, -1);
}

/* The number in a word; 0 for anything else. */
static long number(const char *word)
{
	char *end;
	long v = strtol(word, &end, 10);

	return *end || v < 0 || v > INT_MAX ? 0 : v;
}

/* Is the first argument the number of the server? Answers if not. */
static bool names_server(struct cot_emu_mps_control *c, const struct command *cmd)
{
	if (cmd->n_words > 1 && c->server.pid && number(cmd->words[1]) == c->server.pid)
		return true;
	answer(cmd->peer, 1, "Server %s not found", cmd->n_words > 1 ? cmd->words[1] : "");
	return false;
}

static bool has_word(const struct command *cmd, const char *word, const char **ret_value)
{
	int i;

	for (i = 1; i < cmd->n_words; i++)
		if (!strcmp(cmd->words[i], word)) {
			if (ret_value)
				*ret_value = i + 1 < cmd->n_words ? cmd->words[i + 1] : "";
			return true;
		}
	return false;
}

static bool cmd_server_list(struct cot_emu_mps_control *c, const struct command *cmd)
{
	if (c->server.pid)
		answer(cmd->peer, 0, "%d", (int)c->server.pid);
	else
		answer(cmd->peer, 0, "%s", "");
	return false;
}

static bool cmd_server_status(struct cot_emu_mps_control *c, const struct command *cmd)
{
	if (names_server(c, cmd))
		answer(cmd->peer, 0, "%s", c->server.state);
	return false;
}

static bool cmd_client_list(struct cot_emu_mps_control *c, const struct command *cmd)
{
	char list[COT_EMU_MPS_TEXT] = "";
	size_t n = 0;
	uint32_t i;

	if (!names_server(c, cmd))
		return false;
	for (i = 0; i < c->server.n_clients && n < sizeof(list) - 12; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%d", i ? "\n" : "",
				      c->server.clients[i]);
	answer(cmd->peer, 0, "%s", list);
	return false;
}

static bool cmd_start_server(struct cot_emu_mps_control *c, const struct command *cmd)
{
	const char *uid = "";
	uid_t user = has_word(cmd, "-uid", &uid) ? (uid_t)number(uid) : geteuid();

	answer(cmd->peer, start_server(c, server_of(c, user)) ? 1 : 0, "%s", "");
	return false;
}

static bool cmd_shutdown_server(struct cot_emu_mps_control *c, const struct command *cmd)
{
	if (!names_server(c, cmd))
		return false;
	stop_server(c);
	if (has_word(cmd, "-f", NULL))
		kill(c->server.pid, SIGKILL);
	answer(cmd->peer, 0, "%s", "");
	return false;
}

/* Waits for the clients to end; -t SECONDS and -f put a limit to that. Keeps the connection. */
static bool cmd_quit(struct cot_emu_mps_control *c, const struct command *cmd)
{
	const char *seconds = "0";

	c->quitting = true;
	if (has_word(cmd, "-f", NULL))
		stop_server(c);
	else if (has_word(cmd, "-t", &seconds))
		c->kill_at_ms = now_ms() + 1000 * (int64_t)number(seconds);
	if (c->quit_peer >= 0)
		close(c->quit_peer);
	c->quit_peer = cmd->peer;
	return true;
}

static const struct {
	const char *name;
	/* true: the connection has been kept */
	bool (*run)(struct cot_emu_mps_control *c, const struct command *cmd);
} commands[] = {
	{"get_server_list", cmd_server_list},	  {"get_server_status", cmd_server_status},
	{"get_client_list", cmd_client_list},	  {"start_server", cmd_start_server},
	{"shutdown_server", cmd_shutdown_server}, {"quit", cmd_quit},
};

static bool run_command(struct cot_emu_mps_control *c, int peer, char *text)
{
	struct command cmd = {.peer = peer};
	char *save = NULL, *word;
	size_t i;

	for (word = strtok_r(text, " \t\r\n", &save); word && cmd.n_words < MAX_WORDS;
	     word = strtok_r(NULL, " \t\r\n", &save))
		cmd.words[cmd.n_words++] = word;
	if (!cmd.n_words)
		return false;
	note(c, "command %s", cmd.words[0]);
	for (i = 0; i < COT_ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, cmd.words[0]))
			return commands[i].run(c, &cmd);
	answer(peer, 1, "Unknown command: %s", cmd.words[0]);
	return false;
}

/* ---- the loop ---- */

static void accept_peers(struct cot_emu_mps_control *c)
{
	unsigned i;
	int sock;

	while ((sock = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		for (i = 0; i < MAX_PEERS && c->peers[i].sock >= 0; i++)
			;
		if (i < MAX_PEERS)
			c->peers[i].sock = sock;
		else
			close(sock);
	}
}

static void hear_peer(struct cot_emu_mps_control *c, struct peer *peer)
{
	struct cot_emu_mps_message m;
	int err = cot_emu_mps_receive(peer->sock, &m, NULL, 0);
	bool keep = false;

	if (err == -EAGAIN || err == -ETIMEDOUT)
		return;
	if (!err && m.type == COT_EMU_MPS_HELLO && !peer->waits && !admit(c, peer))
		return;
	if (!err && m.type == COT_EMU_MPS_COMMAND) {
		keep = run_command(c, peer->sock, m.text);
		/* One connection may ask again and again. */
		if (!keep)
			return;
	}
	if (!keep)
		close(peer->sock);
	*peer = (struct peer){.sock = -1};
}

static void hear_signal(struct cot_emu_mps_control *c)
{
	struct signalfd_siginfo info;

	while (read(c->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		c->quitting = true;
		stop_server(c);
	}
	reap_servers(c);
}

/* How long poll may sleep, after doing what is due. */
static int due(struct cot_emu_mps_control *c)
{
	int64_t left;

	if (c->quitting && c->server.pid && is_idle(&c->server))
		stop_server(c);
	admit_waiting(c);
	if (!c->kill_at_ms || !c->server.pid)
		return -1;
	left = c->kill_at_ms - now_ms();
	if (left > 0)
		return (int)left;
	c->kill_at_ms = 0;
	kill(c->server.pid, SIGKILL);
	return -1;
}

int cot_emu_mps_control_run(struct cot_emu_mps_control *c)
{
	struct pollfd p[3 + MAX_PEERS];
	unsigned i;
	int timeout;

	while (timeout = due(c), !c->quitting || c->server.pid) {
		p[0] = (struct pollfd){.fd = c->listener, .events = POLLIN};
		p[1] = (struct pollfd){.fd = c->signals, .events = POLLIN};
		p[2] = (struct pollfd){.fd = c->server.pid ? c->server.sock : -1, .events = POLLIN};
		for (i = 0; i < MAX_PEERS; i++)
			p[3 + i] = (struct pollfd){.fd = c->peers[i].sock, .events = POLLIN};
		if (poll(p, COT_ARRAY_LEN(p), timeout) < 0 && errno != EINTR)
			return 1;
		if (p[2].revents & POLLIN)
			hear_server(c);
		if (p[1].revents)
			hear_signal(c);
		for (i = 0; i < MAX_PEERS; i++)
			if (p[3 + i].revents)
				hear_peer(c, &c->peers[i]);
		if (p[0].revents)
			accept_peers(c);
	}
	if (c->quit_peer >= 0)
		answer(c->quit_peer, 0, "%s", "");
	return 0;
}

/* ---- making and destroying ---- */

static void write_pid(struct cot_emu_mps_control *c)
{
	int fd = openat(c->pipe_dir, PID_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	dprintf(fd, "%d\n", (int)getpid());
	close(fd);
}

static FILE *open_log(void)
{
	const char *dir = getenv("CUDA_MPS_LOG_DIRECTORY");
	char path[PATH_MAX];

	if (!dir || !*dir || snprintf(path, sizeof(path), "%s/control.log", dir) >= PATH_MAX)
		return NULL;
	return fopen(path, "ae");
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int cot_emu_mps_control_create(bool multiuser, struct cot_emu_mps_control **ret_control)
{
	struct cot_emu_mps_control *c;
	unsigned i;
	int other;

	if (multiuser && geteuid() != 0)
		return -EPERM;
	other = cot_emu_mps_connect_control();
	if (other >= 0) {
		close(other);
		return -EADDRINUSE;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->multiuser = multiuser;
	for (i = 0; i < MAX_PEERS; i++)
		c->peers[i].sock = -1;
	c->quit_peer = c->server.sock = -1;
	c->listener = cot_emu_mps_listen_control();
	if (c->listener < 0) {
		other = c->listener;
		free(c);
		return other;
	}
	c->pipe_dir = open(cot_emu_mps_pipe_dir(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->signals = watch_signals();
	c->log = open_log();
	write_pid(c);
	note(c, "listening in %s", cot_emu_mps_pipe_dir());
	*ret_control = c;
	return 0;
}

void cot_emu_mps_control_destroy(struct cot_emu_mps_control *c)
{
	unsigned i;

	if (!c)
		return;
	unlinkat(c->pipe_dir, "control", 0);
	unlinkat(c->pipe_dir, PID_FILE, 0);
	for (i = 0; i < MAX_PEERS; i++)
		if (c->peers[i].sock >= 0)
			close(c->peers[i].sock);
	if (c->quit_peer >= 0)
		close(c->quit_peer);
	close(c->pipe_dir);
	close(c->signals);
	close(c->listener);
	if (c->log)
		fclose(c->log);
	free(c);
}
