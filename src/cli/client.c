#include "cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "cli/commands.h"
#include "cli/uncontrolled.h"
#include "daemon/paths.h"

#define ANSWER_MS 5000
/* A daemon that does not get the lock waits 20 s for the one that has it. */
#define START_MS 30000
#define TRY_NS	 10000000 /* between two tries, and longer each time */
/* So many in a row that end before they say a word were not killed: they cannot run here. */
#define DEAD_MAX   20
#define LOG_MAX	   (1 << 20)
#define ANSWER_MAX (16u << 20) /* of all RESULT packets together */

static int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- connecting ---- */

static int connect_to(const char *path)
{
	const struct timeval patience = {.tv_sec = ANSWER_MS / 1000};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, rc;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Many may queue at a daemon that was stopped. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	rc = errno == EAGAIN ? -ETIMEDOUT : -errno;
	(void)close(fd);
	return rc;
}

static void become_daemon(const char *program, int ready_fd, int log_fd)
{
	char number[16];
	char name[] = "cotenantd", idle[] = "--exit-idle=60", ready[] = "--ready-fd";
	char *argv[] = {name, idle, ready, number, NULL};
	pid_t pid;
	int in;

	/* A process of its own that no parent waits for. */
	(void)setsid();
	pid = fork();
	if (pid)
		_exit(pid < 0);
	(void)snprintf(number, sizeof(number), "%d", ready_fd);
	in = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(in, STDOUT_FILENO) < 0 ||
	    dup2(log_fd < 0 ? in : log_fd, STDERR_FILENO) < 0 || chdir("/") < 0)
		_exit(126);
	/* The daemon must not be controlled by a daemon. */
	(void)unsetenv("COTENANT_SOCKET");
	(void)unsetenv("COTENANT_TENANT");
	(void)unsetenv(COT_UNCONTROLLED_MARK);
	(void)unsetenv("NOTIFY_SOCKET");
	cot_descriptors_close(STDERR_FILENO + 1, (unsigned)ready_fd - 1);
	cot_descriptors_close((unsigned)ready_fd + 1, ~0u);
	(void)fcntl(ready_fd, F_SETFD, 0);
	(void)execv(program, argv);
	(void)!write(ready_fd, COT_READY_FAILED, 1);
	_exit(127);
}

/* What the last daemons said is kept, up to a size. */
static int open_log(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_MAX)
		(void)!ftruncate(fd, 0);
	return fd;
}

/* Waits for the daemon's word: 1 when one serves, 0 when it was killed first, -ESRCH when it cannot
 * be; -ETIMEDOUT. */
static int hear(int fd, int64_t until_ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int64_t left_ms;
	char word;
	int n;

	do {
		left_ms = until_ms - now_ms();
		n = poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -ETIMEDOUT;
	if (read(fd, &word, 1) != 1)
		return 0;
	return word == *COT_READY_SERVED ? 1 : -ESRCH;
}

static int start_daemon(const char *runtime, int64_t until_ms, struct cot_error *err)
{
	char program[COT_PATH_TEXT_MAX], log[COT_PATH_TEXT_MAX];
	int ends[2], log_fd, rc;
	pid_t pid;

	rc = cot_paths_daemon(program, err);
	if (!rc)
		rc = cot_paths_make_private(runtime, cot_paths_is_system(runtime) ? 0755 : 0700,
					    err);
	if (!rc)
		rc = cot_paths_join(log, runtime, "cotenantd.log", err);
	if (rc < 0)
		return rc;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return cot_error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	log_fd = open_log(log);
	pid = fork();
	if (pid == 0)
		become_daemon(program, ends[1], log_fd);
	rc = pid < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (log_fd >= 0)
		(void)close(log_fd);
	if (!rc)
		rc = hear(ends[0], until_ms);
	(void)close(ends[0]);
	if (pid > 0) /* the program that we become must not find a child that it does not know */
		(void)waitpid(pid, NULL, 0);
	if (rc < 0)
		return cot_error_set(err, rc, "cotenantd did not start; see %s", log);
	return rc;
}

static int no_daemon(struct cot_error *err, const char *path, int rc)
{
	if (rc == -EACCES)
		return cot_error_set(err, rc, "may not connect to %s", path);
	return cot_error_set(err, rc, "no cotenantd answers on %s (%s)", path, strerror(-rc));
}

/*
 * Starts daemons until one answers. Each that is started waits for the one that has the lock, so
 * one serves at a time; it may be killed, or end, before we are connected.
 */
static int connect_to_new(const char *runtime, const char *path, struct cot_error *err)
{
	int64_t until_ms = now_ms() + START_MS;
	struct timespec pause = {0};
	int fd, rc, n_dead = 0;

	do {
		(void)nanosleep(&pause, NULL);
		pause.tv_nsec += TRY_NS;
		rc = start_daemon(runtime, until_ms, err);
		if (rc < 0)
			return rc;
		fd = connect_to(path);
		if (fd >= 0)
			return fd;
		n_dead = rc ? 0 : n_dead + 1;
	} while ((fd == -ENOENT || fd == -ECONNREFUSED) && n_dead < DEAD_MAX &&
		 now_ms() < until_ms);
	return cot_error_set(err, fd, "cotenantd did not start; see %s/cotenantd.log", runtime);
}

int cot_client_sockets(struct cot_sockets *ret_sockets, struct cot_error *err)
{
	const char *named = getenv("COTENANT_SOCKET");
	struct cot_sockets s = {.named = named && *named};
	char runtime[COT_PATH_TEXT_MAX];
	int rc = 0;

	if (s.named) {
		(void)snprintf(s.path[s.n++], sizeof(s.path[0]), "%s", named);
	} else {
		rc = cot_paths_runtime(runtime, err);
		if (!rc && !getenv("COTENANT_RUNTIME_DIR") && !getenv("COTENANT_EMU_DIR") &&
		    !cot_paths_is_system(runtime))
			rc = cot_paths_join(s.path[s.n++], COT_SYSTEM_RUNTIME, COT_SOCKET_NAME,
					    err);
		if (!rc)
			rc = cot_paths_join(s.path[s.n++], runtime, COT_SOCKET_NAME, err);
	}
	if (!rc)
		*ret_sockets = s;
	return rc;
}

int cot_client_open(struct cot_client *client, bool start, struct cot_error *err)
{
	char runtime[COT_PATH_TEXT_MAX];
	struct cot_sockets sockets;
	const char *last;
	unsigned i;
	int rc = cot_client_sockets(&sockets, err);

	*client = (struct cot_client){.fd = -1};
	for (i = 0; !rc && i < sockets.n && client->fd < 0; i++)
		client->fd = connect_to(sockets.path[i]);
	if (rc < 0 || client->fd >= 0)
		return rc;
	last = sockets.path[sockets.n - 1];
	if (!start || sockets.named || client->fd == -ETIMEDOUT) /* then there is one */
		return no_daemon(err, last, client->fd);
	rc = cot_paths_runtime(runtime, err);
	if (!rc)
		client->fd = connect_to_new(runtime, last, err);
	return rc < 0 ? rc : client->fd < 0 ? client->fd : 0;
}

void cot_client_close(struct cot_client *client)
{
	if (client->fd >= 0)
		(void)close(client->fd);
	client->fd = -1;
}

/* ---- talking ---- */

int cot_client_send(struct cot_client *client, enum cot_msg_type type, void *packet, size_t size,
		    struct cot_error *err)
{
	cot_proto_header(packet, type, (uint32_t)size, ++client->seq);
	if (send(client->fd, packet, size, MSG_NOSIGNAL) < 0)
		return cot_error_set(err, -errno, "cannot write to cotenantd: %s", strerror(errno));
	return 0;
}

static ssize_t read_packet(struct cot_client *client, int64_t until_ms)
{
	struct pollfd p = {.fd = client->fd, .events = POLLIN};
	int64_t left_ms;
	int n;

	do {
		left_ms = until_ms - now_ms();
		n = poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return -ETIMEDOUT;
	return recv(client->fd, client->packet, sizeof(client->packet), MSG_DONTWAIT);
}

int cot_client_receive(struct cot_client *client, int timeout_ms, struct cot_error *err)
{
	const struct cot_msg_header *h = (const struct cot_msg_header *)client->packet;
	const struct cot_msg_text *text = (const struct cot_msg_text *)client->packet;
	int64_t until_ms = now_ms() + timeout_ms;
	ssize_t n;
	int type;

	do {
		n = read_packet(client, until_ms);
		if (n == -ETIMEDOUT)
			return cot_error_set(err, -ETIMEDOUT, "cotenantd does not answer");
		if (n <= 0)
			return cot_error_set(err, -EPIPE, "cotenantd closed the connection");
		type = cot_proto_check(client->packet, (size_t)n);
		if (type < 0)
			return cot_error_set(err, -EBADMSG,
					     "cotenantd speaks another version of the protocol");
		if (type == COT_MSG_REFUSED)
			return cot_error_set(err, -EACCES, "%.*s", (int)(h->length - sizeof(*text)),
					     text->text);
		if (type == COT_MSG_LATER)
			return cot_error_set(err, -EBUSY, "%.*s", (int)(h->length - sizeof(*text)),
					     text->text);
	} while (!type || h->seq != client->seq);
	return type;
}

/* Collects the text of all RESULT packets. */
static int receive_result(struct cot_client *client, int timeout_ms, char **ret_text,
			  int *ret_status, struct cot_error *err)
{
	const struct cot_msg_result *m = (const struct cot_msg_result *)client->packet;
	char *text = NULL, *grown;
	size_t size = 0, n;
	int type;

	do {
		type = cot_client_receive(client, timeout_ms, err);
		if (type >= 0 && type != COT_MSG_RESULT)
			type = cot_error_set(err, -EBADMSG, "cotenantd gave an unexpected answer");
		if (type < 0)
			goto err_free;
		n = m->h.length - sizeof(*m);
		grown = size + n < ANSWER_MAX ? realloc(text, size + n + 1) : NULL;
		if (!grown) {
			type = cot_error_set(err, -ENOMEM, "the answer is too large");
			goto err_free;
		}
		text = grown;
		memcpy(text + size, m->text, n);
		size += n;
		text[size] = '\0';
	} while (m->more);
	*ret_text = text;
	*ret_status = m->status;
	return 0;

err_free:
	free(text);
	return type;
}

/*
 * The daemon has answered, whatever errno it gives: none of them may be taken for no daemon's
 * being there. Takes `text` over when it is an error.
 */
static int take_result(int status, char *text, char **ret_text, struct cot_error *err)
{
	if (status >= 0) {
		*ret_text = text;
		return 0;
	}
	if (cot_client_exit_status(status) == COT_EXIT_NO_DAEMON)
		status = -EIO;
	(void)cot_error_set(err, status, "%s", text);
	free(text);
	return status;
}

static int ask(struct cot_client *client, enum cot_msg_type type, void *packet, size_t size,
	       char **ret_text, struct cot_error *err)
{
	char *text = NULL;
	int status = 0, rc = cot_client_send(client, type, packet, size, err);

	if (rc < 0)
		return rc;
	rc = receive_result(client, ANSWER_MS, &text, &status, err);
	return rc < 0 ? rc : take_result(status, text, ret_text, err);
}

int cot_client_query(struct cot_client *client, enum cot_proto_query what, char **ret_text,
		     struct cot_error *err)
{
	struct cot_msg_query m = {.what = what};

	return ask(client, COT_MSG_QUERY, &m, sizeof(m), ret_text, err);
}

int cot_client_command(struct cot_client *client, struct cot_msg_command *command, char **ret_text,
		       struct cot_error *err)
{
	return ask(client, COT_MSG_COMMAND, command, sizeof(*command), ret_text, err);
}

int cot_client_explain(struct cot_client *client, struct cot_msg_explain *question, char **ret_text,
		       struct cot_error *err)
{
	return ask(client, COT_MSG_EXPLAIN, question, sizeof(*question), ret_text, err);
}

int cot_client_exit_status(int rc)
{
	switch (rc) {
	case 0:
		return COT_EXIT_OK;
	case -ENOENT:
	case -ECONNREFUSED:
	case -EPIPE:
	case -ETIMEDOUT:
		return COT_EXIT_NO_DAEMON;
	case -EACCES:
	case -EPERM:
		return COT_EXIT_PERMISSION;
	case -ESRCH:
		return COT_EXIT_NOT_FOUND;
	default:
		return COT_EXIT_FAILURE;
	}
}
