/* The daemon's door: who comes in, what comes in, and what it is told. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/answer.h"
#include "daemon/command.h"
#include "daemon/peer.h"
#include "daemon/processes.h"
#include "daemon/query.h"
#include "daemon/server.h"
#include "door_stage.h"

/* ---- who comes in ---- */

static void test_comes_and_goes(void **state)
{
	int fd;
	struct conn *c = enter(getuid(), &fd);

	(void)state;
	assert_int_equal(c->pid, getpid());
	assert_int_equal(c->gid, getgid());
	assert_int_equal(c->start_time, cot_process_start_time(getpid()));
	assert_true(c->pidfd >= 0);
	assert_false(cot_process_has_ended(c->pidfd));
	assert_int_equal(c->process, cot_process_number(c->pidfd));
	assert_true(c->watched && !c->paused && c->kind == CONN_NEW);
	assert_true(stage.conns.waits.armed);
	assert_int_equal(stage.conns.waits.due_ns, c->since_ns + 5 * COT_NS_PER_S);
	assert_int_equal(cot_account_used(&stage.basis.account, getuid(), COT_ACCOUNT_CONNS), 1);
	(void)close(fd);
	n_peers--;
	serve(1);
	assert_int_equal(c->source.fd, -1);
	assert_int_equal(c->pidfd, -1);
	assert_int_equal(cot_account_used(&stage.basis.account, getuid(), COT_ACCOUNT_CONNS), 0);
}

static void test_places(void **state)
{
	unsigned i, n = 0;

	(void)state;
	for (i = 0; i < 30; i++)
		(void)enter(STRANGER + 1, &peers[MAX_CONNS]);
	/* The process's own user is root's or not: take what is left as root would not be asked. */
	stage.basis.account.limits[COT_ACCOUNT_CONNS] = (struct cot_account_limit){32, 0};
	for (i = 0; i < 4; i++) {
		int fd = dial();

		serve(1);
		if (hear(fd) == COT_MSG_LATER)
			n++;
	}
	assert_in_range(n, 2, 4);
	assert_non_null(strstr(words(), "too many"));
	assert_int_equal(stage.conns.n_refused, n);
	/* A place that comes free is used. */
	(void)close(peers[0]);
	(void)close(peers[1]);
	peers[0] = peers[1] = -1;
	serve(1);
	stage.basis.account.limits[COT_ACCOUNT_CONNS] = (struct cot_account_limit){256, 16};
	assert_int_equal(enter(getuid(), &peers[MAX_CONNS])->kind, CONN_NEW);
}

/* ---- what comes in ---- */

static void test_kinds(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	struct cot_msg_hello hello = hello_of(0);
	struct cot_msg_ack ack = {.status = 0};
	struct conn *c;
	int fd;

	(void)state;
	/* A question makes it a command's, and a HELLO then is one too many. */
	c = enter(getuid(), &fd);
	say(fd, &query, COT_MSG_QUERY, sizeof(query));
	serve(3);
	assert_int_equal(hear(fd), COT_MSG_RESULT);
	assert_int_equal(c->kind, CONN_COMMAND);
	assert_int_equal(ask(fd, &hello, COT_MSG_HELLO, sizeof(hello)), -1);
	assert_int_equal(stage.conns.n_bad_packets, 1);
	/* An answer before anything. */
	(void)enter(getuid(), &fd);
	assert_int_equal(ask(fd, &ack, COT_MSG_ACK, sizeof(ack)), -1);
	assert_int_equal(stage.conns.n_bad_packets, 2);
	/* A type that nobody knows is nothing; what only the daemon sends is bad. */
	(void)enter(getuid(), &fd);
	say(fd, &ack, (enum cot_msg_type)999, sizeof(ack));
	serve(2);
	assert_int_equal(hear(fd), 0);
	assert_int_equal(stage.conns.n_bad_packets, 2);
	say(fd, &query, COT_MSG_WELCOME, sizeof(struct cot_msg_query));
	serve(2);
	assert_int_equal(hear(fd), -1);
	assert_int_equal(stage.conns.n_bad_packets, 3);
}

/* One hello is enough. */
static void test_second_hello(void **state)
{
	struct cot_msg_work_hello work = {
		.class_ = COT_CLASS_BATCH, .weight = 100, .n_sms = 10, .gpu = "0", .name = "w"};
	struct cot_msg_hello hello = hello_of(0);
	int fd;

	(void)state;
	(void)enter(getuid(), &fd);
	assert_int_equal(ask(fd, &hello, COT_MSG_HELLO, sizeof(hello)), COT_MSG_WELCOME);
	assert_int_equal(ask(fd, &hello, COT_MSG_HELLO, sizeof(hello)), -1);
	(void)enter(getuid(), &fd);
	assert_int_equal(ask(fd, &work, COT_MSG_WORK_HELLO, sizeof(work)), COT_MSG_WORK_WELCOME);
	assert_int_equal(ask(fd, &work, COT_MSG_WORK_HELLO, sizeof(work)), -1);
	assert_int_equal(stage.conns.n_bad_packets, 2);
}

static void test_other_version(void **state)
{
	struct cot_msg_hello hello = hello_of(0);
	int fd;

	(void)state;
	(void)enter(getuid(), &fd);
	cot_proto_header(&hello.h, COT_MSG_HELLO, sizeof(hello), 9);
	hello.h.version = 7;
	assert_int_equal(send(fd, &hello, sizeof(hello), 0), sizeof(hello));
	serve(2);
	assert_int_equal(hear(fd), COT_MSG_REFUSED);
	assert_int_equal(((struct cot_msg_header *)packet)->seq, 9);
	assert_non_null(strstr(words(), "version 7"));
	assert_int_equal(hear(fd), -1);
}

/* ---- time ---- */

static void test_rests(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	struct conn *c;
	int fd;

	(void)state;
	stage.basis.account.paces[COT_RATE_TIME].burst = 3 * MS;
	c = enter(STRANGER + 1, &fd);
	cot_account_spend(&stage.basis.account, c->uid, COT_RATE_TIME, 100 * MS,
			  cot_loop_able_ns(&stage.basis.loop));
	assert_in_range(cot_conn_rest_ns(c), 100 * MS, 200 * MS);
	/* It is not heard until its user has paid. */
	say(fd, &query, COT_MSG_QUERY, sizeof(query));
	serve(2);
	assert_true(c->paused && !c->watched && stage.conns.pauses.armed);
	assert_int_equal(c->kind, CONN_NEW);
	assert_in_range(stage.conns.pauses.due_ns, cot_now_ns(), cot_now_ns() + 200 * MS);
	stage.conns.pauses.fire(&stage.conns.pauses, cot_now_ns());
	assert_true(c->paused && stage.conns.pauses.armed);
	while (cot_conn_rest_ns(c))
		(void)usleep(1000);
	cot_timer_clear(&stage.conns.pauses);
	stage.conns.pauses.fire(&stage.conns.pauses, cot_now_ns());
	assert_true(!c->paused && c->watched && !stage.conns.pauses.armed);
	serve(1);
	assert_int_equal(c->kind, CONN_COMMAND);
}

/* Where one connection has had its user's time, the others of that user are not heard either. */
static void test_rests_of_a_user(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	struct conn *a, *b, *c;
	int fds[3];

	(void)state;
	stage.basis.account.paces[COT_RATE_TIME].burst = 3 * MS;
	a = enter(STRANGER + 1, &fds[0]);
	b = enter(STRANGER + 1, &fds[1]);
	c = enter(STRANGER + 2, &fds[2]);
	cot_account_spend(&stage.basis.account, a->uid, COT_RATE_TIME, 500 * MS,
			  cot_loop_able_ns(&stage.basis.loop));
	say(fds[1], &query, COT_MSG_QUERY, sizeof(query));
	say(fds[2], &query, COT_MSG_QUERY, sizeof(query));
	serve(1);
	assert_int_equal(b->kind, CONN_NEW);
	assert_true(b->paused && !b->watched);
	assert_int_equal(c->kind, CONN_COMMAND);
	assert_false(c->paused);
}

/* Whoever rests longest does not make the others wait, and nobody is looked at all the time. */
static void test_pauses(void **state)
{
	uint64_t now_ns, rest_ns;
	struct cot_user *user = stage.basis.account.users;
	struct conn *a, *b;
	int fds[2], tries = 0;

	(void)state;
	stage.basis.account.paces[COT_RATE_TIME].burst = 3 * MS;
	a = enter(STRANGER + 1, &fds[0]);
	b = enter(STRANGER + 2, &fds[1]);
	cot_account_spend(&stage.basis.account, a->uid, COT_RATE_TIME, 200 * MS,
			  cot_loop_able_ns(&stage.basis.loop));
	cot_account_spend(&stage.basis.account, b->uid, COT_RATE_TIME, 400 * MS,
			  cot_loop_able_ns(&stage.basis.loop));
	a->paused = b->paused = true;
	cot_conn_watch(a);
	cot_conn_watch(b);
	now_ns = cot_now_ns();
	rest_ns = cot_conn_rest_ns(a);
	cot_timer_clear(&stage.conns.pauses);
	stage.conns.pauses.fire(&stage.conns.pauses, now_ns);
	assert_true(a->paused && b->paused && !a->watched && !b->watched);
	assert_in_range(stage.conns.pauses.due_ns, now_ns + rest_ns / 2, cot_now_ns() + rest_ns);
	/* In the other order of their places, too. */
	cot_account_spend(&stage.basis.account, a->uid, COT_RATE_TIME, 500 * MS,
			  cot_loop_able_ns(&stage.basis.loop));
	now_ns = cot_now_ns();
	rest_ns = cot_conn_rest_ns(b);
	cot_timer_clear(&stage.conns.pauses);
	stage.conns.pauses.fire(&stage.conns.pauses, now_ns);
	assert_in_range(stage.conns.pauses.due_ns, now_ns + rest_ns / 2, cot_now_ns() + rest_ns);
	/* A rest of less than a millisecond is one. */
	cot_conn_close(b);
	while (user->uid != a->uid)
		user++;
	do {
		user->paid_ns[COT_RATE_TIME] =
			cot_loop_able_ns(&stage.basis.loop) + 6 * MS + MS / 2;
		a->paused = true;
		cot_timer_clear(&stage.conns.pauses);
		now_ns = cot_now_ns();
		stage.conns.pauses.fire(&stage.conns.pauses, now_ns);
	} while (!a->paused && tries++ < 1000);
	assert_true(a->paused);
	assert_in_range(stage.conns.pauses.due_ns, now_ns + MS, cot_now_ns() + MS);
}

/* The first who may speak again is not made to wait for one who rests longer. */
static void test_earliest_pause(void **state)
{
	struct conn *c;
	uint64_t now_ns = cot_now_ns();
	int fd;

	(void)state;
	stage.basis.account.paces[COT_RATE_TIME].burst = 3 * MS;
	c = enter(STRANGER + 1, &fd);
	cot_account_spend(&stage.basis.account, c->uid, COT_RATE_TIME, 300 * MS,
			  cot_loop_able_ns(&stage.basis.loop));
	cot_timer_set(&stage.basis.loop, &stage.conns.pauses, now_ns + MS);
	c->source.ready(&c->source, 1 /* EPOLLIN */);
	assert_true(c->paused);
	assert_int_equal(stage.conns.pauses.due_ns, now_ns + MS);
	cot_timer_set(&stage.basis.loop, &stage.conns.pauses, now_ns + 100 * COT_NS_PER_S);
	c->source.ready(&c->source, 1 /* EPOLLIN */);
	assert_in_range(stage.conns.pauses.due_ns, now_ns + 200 * MS, now_ns + 10 * COT_NS_PER_S);
}

/* The rest of an answer goes when there is room for it, and when its user does not rest. */
static void test_rest_of_an_answer(void **state)
{
	struct conn *c;
	int fd;

	(void)state;
	c = enter(STRANGER + 1, &fd);
	c->out.text = strdup("rest");
	c->out.size = 4;
	c->source.ready(&c->source, 1 /* EPOLLIN */);
	assert_int_equal(hear(fd), 0);
	stage.basis.account.paces[COT_RATE_TIME].burst = 3 * MS;
	cot_account_spend(&stage.basis.account, c->uid, COT_RATE_TIME, 300 * MS,
			  cot_loop_able_ns(&stage.basis.loop));
	c->source.ready(&c->source, 4 /* EPOLLOUT */);
	assert_true(c->paused);
	assert_int_equal(hear(fd), 0);
	stage.basis.account.paces[COT_RATE_TIME].burst = COT_NS_PER_S * 1000;
	c->paused = false;
	c->source.ready(&c->source, 4 /* EPOLLOUT */);
	assert_int_equal(hear(fd), COT_MSG_RESULT);
	assert_string_equal(words(), "rest");
	assert_null(c->out.text);
}

/* So many packets of one connection at a time, then others. */
static void test_rounds(void **state)
{
	struct cot_msg_query m = {.what = COT_QUERY_PS};
	struct conn *c;
	unsigned i, left = 0;
	int fd;

	(void)state;
	c = enter(getuid(), &fd);
	do { /* unless a round took its whole time */
		while (recv(c->source.fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
			continue;
		for (i = 0; i < 40; i++)
			say(fd, &m, (enum cot_msg_type)999, sizeof(m));
		c->source.ready(&c->source, 1 /* EPOLLIN */);
		for (left = 0; recv(c->source.fd, packet, sizeof(packet), MSG_DONTWAIT) > 0;)
			left++;
	} while (left != 8 && stage.conns.n_refused++ < 100);
	assert_int_equal(left, 8);
}

/* What a round and a connection cost is charged to their user, and to nobody else. */
static void test_costs(void **state)
{
	struct cot_msg_query m = {.what = COT_QUERY_PS};
	struct conn *c;
	uint64_t now_ns;
	unsigned i;
	int fd;

	(void)state;
	stage.basis.account.paces[COT_RATE_TIME] = (struct cot_account_pace){COT_NS_PER_S, 1};
	c = enter(STRANGER + 1, &fd);
	now_ns = cot_loop_able_ns(&stage.basis.loop);
	assert_int_equal(cot_conn_rest_ns(c), 0);
	for (i = 0; i < 5; i++)
		say(fd, &m, (enum cot_msg_type)999, sizeof(m));
	c->source.ready(&c->source, 1 /* EPOLLIN */);
	assert_true(cot_account_wait_ns(&stage.basis.account, c->uid, COT_RATE_TIME, now_ns) > 0);
	assert_true(c->paused && !c->watched);
	assert_int_equal(
		cot_account_wait_ns(&stage.basis.account, STRANGER + 2, COT_RATE_TIME, now_ns), 0);
}

/* Nothing of the daemon's goes to the programs that it starts, and nothing of a peer's makes it
 * wait. */
static void test_flags(void **state)
{
	static const int yes = 1;
	struct conn *c;
	int fd, other = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), value = 0;
	socklen_t size = sizeof(value);

	(void)state;
	c = enter(getuid(), &fd);
	assert_true(fcntl(c->source.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(c->source.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(stage.server.listener.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(stage.server.listener.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(stage.server.spare_fd, F_GETFD) & FD_CLOEXEC);
	/* Where the kernel keeps descriptors out it shall. */
	assert_int_equal(stage.conns.guarded,
			 setsockopt(other, SOL_SOCKET, 83, &yes, sizeof(yes)) == 0);
	assert_int_equal(getsockopt(stage.server.listener.fd, SOL_SOCKET,
				    stage.conns.guarded ? 83 : SO_PASSCRED, &value, &size),
			 0);
	assert_int_equal(value, !stage.conns.guarded);
	(void)close(other);
}

/* Of those whose users may have some time, one after the other is answered; others wait. */
static void test_askers(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	struct conn *rich, *poor;
	int rich_fd, poor_fd;

	(void)state;
	stage.basis.account.paces[COT_RATE_TIME].burst = 3 * MS;
	poor = enter(STRANGER + 1, &poor_fd);
	rich = enter(STRANGER, &rich_fd);
	say(poor_fd, &query, COT_MSG_QUERY, sizeof(query));
	say(rich_fd, &query, COT_MSG_QUERY, sizeof(query));
	cot_timer_clear(&stage.conns.queries);
	poor->question.asked = rich->question.asked = true;
	poor->question.what = rich->question.what = COT_QUERY_PS;
	cot_account_spend(&stage.basis.account, poor->uid, COT_RATE_TIME, 30 * MS,
			  cot_loop_able_ns(&stage.basis.loop));
	cot_query_answer_one(&stage.conns.queries, cot_now_ns());
	assert_int_equal(hear(rich_fd), COT_MSG_RESULT);
	assert_int_equal(hear(poor_fd), 0);
	assert_true(poor->question.asked && !rich->question.asked);
	assert_true(stage.conns.queries.armed && stage.conns.queries.due_ns > cot_now_ns());
	while (cot_conn_rest_ns(poor))
		(void)usleep(1000);
	cot_query_answer_one(&stage.conns.queries, cot_now_ns());
	assert_int_equal(hear(poor_fd), COT_MSG_RESULT);
	assert_false(poor->question.asked);
}

/* ---- answers ---- */

static void test_unread(void **state)
{
	const size_t size = 3u << 20;
	struct conn *c, *d;
	char *text;
	int fd, other, n;

	(void)state;
	c = enter(STRANGER + 1, &fd);
	d = enter(STRANGER + 1, &other);
	text = malloc(size + 1);
	memset(text, 'x', size);
	text[size] = '\0';
	cot_answer_result(c, 3, 0, text);
	assert_non_null(c->out.text);
	assert_int_equal(cot_account_used(&stage.basis.account, c->uid, COT_ACCOUNT_BYTES), size);
	/* One answer at a time. */
	cot_answer_resultf(c, 4, 0, "second");
	assert_true(c->out.text == text);
	/* More than its part: a sentence instead. */
	text = malloc(4 * size + 1);
	memset(text, 'y', 4 * size);
	text[4 * size] = '\0';
	cot_answer_result(d, 5, 0, text);
	assert_int_equal(hear(other), COT_MSG_RESULT);
	assert_int_equal(((struct cot_msg_result *)packet)->status, -EDQUOT);
	assert_null(d->out.text);
	/* Read, it is given back. */
	for (n = 0; c->out.text && n < 1000; n++) {
		while (hear(fd) == COT_MSG_RESULT)
			continue;
		(void)usleep(1000); /* its user may have to rest */
		serve(1);
	}
	assert_null(c->out.text);
	assert_int_equal(cot_account_used(&stage.basis.account, c->uid, COT_ACCOUNT_BYTES), 0);
	/* And when the peer has hung up, with whatever else it asked. */
	text = malloc(size + 1);
	memset(text, 'x', size);
	text[size] = '\0';
	cot_answer_result(c, 3, 0, text);
	(void)close(fd);
	peers[0] = -1;
	for (n = 0; c->source.fd >= 0 && n < 3000; n++) {
		(void)usleep(1000);
		serve(1);
	}
	assert_int_equal(c->source.fd, -1);
	assert_int_equal(cot_account_used(&stage.basis.account, STRANGER + 1, COT_ACCOUNT_BYTES),
			 0);
}

static void test_complaints(void **state)
{
	struct conn *c, *d;
	unsigned i, n = 0;
	int fd;

	(void)state;
	c = enter(STRANGER + 1, &fd);
	d = enter(STRANGER + 2, &fd);
	for (i = 0; i < 30; i++)
		n += cot_answer_may_complain(c);
	assert_int_equal(n, 8);
	/* Others' lines are not lost by that, up to what all may have. */
	assert_true(cot_answer_may_complain(d));
	assert_int_equal(stage.conns.complaints.n_left_out, 22);
	stage.conns.complaints.since_ns = cot_now_ns() - 11 * COT_NS_PER_S;
	(void)stage_log();
	assert_true(cot_answer_may_complain(d));
	assert_non_null(strstr(stage_log(), "left out 22 more"));
	assert_int_equal(stage.conns.complaints.n_left_out, 0);
}

/* ---- the door itself ---- */

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

static void test_access(void **state)
{
	struct pool *p = stage_pool(9, "batch", 0);

	(void)state;
	snprintf(p->folder, sizeof(p->folder), "%s/pool", folder);
	snprintf(p->pipe, sizeof(p->pipe), "%s/pool/pipe", folder);
	snprintf(p->log, sizeof(p->log), "%s/pool/log", folder);
	assert_int_equal(mkdir(p->folder, 0700) | mkdir(p->pipe, 0700) | mkdir(p->log, 0700), 0);
	assert_int_equal(mode_of(stage.basis.socket_path), 0600);
	stage.basis.config.other_users = true;
	cot_server_set_access(&stage.server);
	assert_int_equal(mode_of(stage.basis.socket_path), 0666);
	assert_int_equal(mode_of(folder), 0755);
	assert_int_equal(mode_of(p->folder), 0755);
	assert_int_equal(mode_of(p->pipe), 0755);
	assert_int_equal(mode_of(p->log), 0755);
	stage.basis.config.other_users = false;
	cot_server_set_access(&stage.server);
	assert_int_equal(mode_of(stage.basis.socket_path), 0600);
	assert_int_equal(mode_of(folder), 0700);
	assert_int_equal(mode_of(p->pipe), 0700);
}

/* From its first moment on it is as open as it shall be. */
static void test_opens_as_configured(void **state)
{
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_config_folder_mode(&stage.basis.config), 0700);
	cot_server_close(&stage.server);
	(void)close(stage.server.spare_fd);
	stage.basis.config.other_users = true;
	assert_int_equal(cot_config_folder_mode(&stage.basis.config), 0755);
	assert_int_equal(cot_server_open(&stage.server, &err), 0);
	assert_int_equal(access(stage.basis.socket_path, F_OK), -1);
	assert_int_equal(cot_server_publish(&stage.server, &err), 0);
	assert_int_equal(mode_of(stage.basis.socket_path), 0666);
}

static void test_withdrawn(void **state)
{
	(void)state;
	let_files_through();
	cot_server_withdraw(&stage.server);
	assert_int_equal(access(stage.basis.socket_path, F_OK), -1);
	assert_int_equal(stage.server.listener.fd, -1);
	assert_int_equal(stage.conns.closer.n, 1); /* what waits in it is not known */
	cot_server_withdraw(&stage.server);
	assert_int_equal(stage.conns.closer.n, 1);
}

/* With the daemon all connections end, and what they had. */
static void test_closes_all(void **state)
{
	unsigned i;
	int fd[3];

	(void)state;
	for (i = 0; i < 3; i++)
		(void)enter(STRANGER + 1, &fd[i]);
	cot_server_close(&stage.server);
	for (i = 0; i < 3; i++) {
		assert_int_equal(stage.conns.all[i].source.fd, -1);
		assert_int_equal(hear(fd[i]), -1);
	}
	assert_int_equal(cot_account_used(&stage.basis.account, STRANGER + 1, COT_ACCOUNT_CONNS),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_THE_DOOR(test_comes_and_goes),
		AT_THE_DOOR(test_places),
		AT_THE_DOOR(test_kinds),
		AT_THE_DOOR(test_second_hello),
		AT_THE_DOOR(test_other_version),
		AT_THE_DOOR(test_rests),
		AT_THE_DOOR(test_rests_of_a_user),
		AT_THE_DOOR(test_pauses),
		AT_THE_DOOR(test_earliest_pause),
		AT_THE_DOOR(test_rest_of_an_answer),
		AT_THE_DOOR(test_rounds),
		AT_THE_DOOR(test_costs),
		AT_THE_DOOR(test_flags),
		AT_THE_DOOR(test_askers),
		AT_THE_DOOR(test_unread),
		AT_THE_DOOR(test_complaints),
		AT_THE_DOOR(test_access),
		AT_THE_DOOR(test_closes_all),
		AT_THE_DOOR(test_opens_as_configured),
		AT_THE_DOOR(test_withdrawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
