#include "door_stage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/peer.h"
#include "daemon/processes.h"
#include "daemon/server.h"

_Alignas(8) char packet[COT_PROTO_PACKET_MAX + 1];
char folder[64];
int peers[MAX_CONNS + 1];
unsigned n_peers;

/* ---- the stage ---- */

/* One round: what is there now is served. */
static void end_round(struct cot_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns;
	stage.basis.loop.quit = true;
}

void serve(unsigned rounds)
{
	struct cot_timer end = {.fire = end_round};

	rounds *= 3; /* one that had no processor for a while hears nobody */
	while (rounds--) {
		stage.basis.loop.quit = false;
		cot_timer_set(&stage.basis.loop, &end, cot_now_ns());
		assert_int_equal(cot_loop_run(&stage.basis.loop), 0);
	}
}

int open_server(void **state)
{
	struct cot_error err = {{0}};
	int rc = stage_setup(state);

	if (rc)
		return rc;
	snprintf(folder, sizeof(folder), "%s/test_daemon_server.XXXXXX", P_tmpdir);
	if (!mkdtemp(folder))
		return -1;
	snprintf(stage.basis.runtime, sizeof(stage.basis.runtime), "%s", folder);
	snprintf(stage.basis.socket_path, sizeof(stage.basis.socket_path), "%s/s", folder);
	stage.server.listener.fd = stage.server.spare_fd = -1;
	stage.roster.next_id = 1;
	stage.basis.config.latency.everybody = stage.basis.config.batch.everybody = true;
	stage.basis.config.max_weight = 10000;
	/* Nobody has to rest, but where a test says so. */
	stage.basis.account.paces[COT_RATE_TIME].burst = COT_NS_PER_S * 1000;
	stage.basis.account.own = STRANGER; /* nobody is privileged but root, whose tests say so */
	n_peers = 0;
	if (cot_server_open(&stage.server, &err) < 0 || cot_server_publish(&stage.server, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

int close_server(void **state)
{
	char command[80];

	while (n_peers)
		(void)close(peers[--n_peers]);
	cot_server_close(&stage.server);
	while (stage.conns.closer.children[0]) {
		(void)usleep(1000);
		cot_closer_reap(&stage.conns.closer);
	}
	(void)close(stage.server.spare_fd);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	(void)!system(command);
	return stage_teardown(state);
}

int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path, stage.basis.socket_path, strlen(stage.basis.socket_path));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_true(n_peers < COT_ARRAY_LEN(peers));
	return peers[n_peers++] = fd;
}

/* A connection that is let in, as one of this user's. */
struct conn *enter(uid_t uid, int *ret_fd)
{
	struct conn *c = NULL;
	unsigned i;

	*ret_fd = dial();
	serve(1);
	for (i = 0; i < MAX_CONNS; i++)
		if (stage.conns.all[i].source.fd >= 0 && stage.conns.all[i].since_ns &&
		    (!c || stage.conns.all[i].since_ns > c->since_ns))
			c = &stage.conns.all[i];
	assert_non_null(c);
	cot_account_release(&stage.basis.account, c->uid, COT_ACCOUNT_CONNS, 1);
	assert_int_equal(cot_account_charge(&stage.basis.account, uid, COT_ACCOUNT_CONNS, 1), 0);
	c->uid = uid;
	return c;
}

void stand_in(struct conn *c, pid_t pid)
{
	(void)close(c->pidfd);
	c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	c->pid = pid;
	c->process = cot_process_number(c->pidfd);
	c->start_time = cot_process_start_time(pid);
}

void say(int fd, void *m, enum cot_msg_type type, size_t size)
{
	cot_proto_header(m, type, (uint32_t)size, 5);
	assert_int_equal(send(fd, m, size, MSG_NOSIGNAL), size);
}

int ask(int fd, void *m, enum cot_msg_type type, size_t size)
{
	say(fd, m, type, size);
	serve(2);
	return hear(fd);
}

void leave(int fd)
{
	unsigned i;

	for (i = 0; i < n_peers; i++)
		if (peers[i] == fd)
			peers[i] = -1;
	(void)close(fd);
	serve(2);
}

/* The type of what has come; 0: nothing; -1: hung up. */
int hear(int fd)
{
	ssize_t n = recv(fd, packet, sizeof(packet) - 1, MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -1;
	packet[n] = '\0';
	return cot_proto_check(packet, (size_t)n);
}

const char *words(void)
{
	const struct cot_msg_header *h = (const struct cot_msg_header *)packet;

	return packet + (h->type == COT_MSG_RESULT ? sizeof(struct cot_msg_result)
						   : sizeof(struct cot_msg_text));
}

int status(void)
{
	return ((const struct cot_msg_result *)packet)->status;
}

void let_files_through(void)
{
	static const int yes = 1;

	if (stage.conns.guarded)
		assert_int_equal(
			setsockopt(stage.server.listener.fd, SOL_SOCKET, 83, &yes, sizeof(yes)), 0);
	assert_int_equal(
		setsockopt(stage.server.listener.fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)),
		0);
	stage.conns.guarded = false;
}

struct cot_msg_hello hello_of(uint64_t tenant)
{
	return (struct cot_msg_hello){
		.class_ = COT_CLASS_BATCH, .weight = 100, .tenant = tenant, .name = "peer"};
}
