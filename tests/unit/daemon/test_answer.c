/* What the daemon says: refusals, answers of any length, and how many lines about its peers it
 * writes; and who may do what. */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/answer.h"
#include "door_stage.h"

#define OTHER (STRANGER + 1)

static char *text_of(size_t size)
{
	char *text = malloc(size + 1);
	size_t i;

	assert_non_null(text);
	for (i = 0; i < size; i++)
		text[i] = (char)('a' + i % 26);
	text[size] = '\0';
	return text;
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
	char line[128], longest[COT_ERROR_MAX + 10];
	struct conn *c;
	int fd;

	(void)state;
	c = enter(OTHER, &fd);
	(void)stage_log();
	cot_answer_refuse(c, 9, "not %s", "this");
	assert_int_equal(hear(fd), COT_MSG_REFUSED);
	assert_int_equal(((const struct cot_msg_header *)packet)->seq, 9);
	assert_string_equal(words(), "not this");
	assert_int_equal(((const struct cot_msg_header *)packet)->length,
			 sizeof(struct cot_msg_text) + 8);
	snprintf(line, sizeof(line),
		 " WARN cotenantd[%d]: refused process %d of user 4712: not this\n", (int)getpid(),
		 (int)getpid());
	assert_non_null(strstr(stage_log(), line));
	cot_answer_defer(c, 10, "%s", "not now");
	assert_int_equal(hear(fd), COT_MSG_LATER);
	assert_int_equal(((const struct cot_msg_header *)packet)->seq, 10);
	assert_non_null(strstr(stage_log(), ": no place for process "));
	assert_int_equal(stage.conns.n_refused, 2);
	/* As much as a sentence may have. */
	memset(longest, 'x', sizeof(longest));
	longest[COT_ERROR_MAX - 1] = '\0';
	cot_answer_refuse(c, 1, "%s", longest);
	assert_int_equal(hear(fd), COT_MSG_REFUSED);
	assert_string_equal(words(), longest);
	memset(longest, 'x', sizeof(longest));
	longest[COT_ERROR_MAX] = '\0';
	cot_answer_refuse(c, 1, "%s", longest);
	assert_int_equal(hear(fd), COT_MSG_REFUSED);
	assert_int_equal(strlen(words()), COT_ERROR_MAX - 1);
}

static unsigned n_signals;

static void count_signal(int number)
{
	(void)number;
	n_signals++;
}

/* One who has hung up is nobody to talk to: its connection ends, whatever else it has asked. */
static void test_hung_up(void **state)
{
	struct conn *c;
	int fd;

	(void)state;
	c = enter(OTHER, &fd);
	(void)shutdown(fd, SHUT_RD);
	n_signals = 0;
	(void)signal(SIGPIPE, count_signal);
	cot_answer_refuse(c, 9, "not this");
	(void)signal(SIGPIPE, SIG_DFL);
	assert_int_equal(n_signals, 0);
	assert_true(c->deaf);
	serve(1);
	assert_int_equal(c->source.fd, -1);
	cot_answer_refuse(c, 9, "not this");
	assert_int_equal(cot_answer_send(c, "", 0, -1), -ENOTCONN);
}

/* ---- lines about peers ---- */

static void test_noise(void **state)
{
	struct conn *c;
	unsigned i, n;
	int fd;

	(void)state;
	stage.basis.account.paces[COT_RATE_LINES] = (struct cot_account_pace){1, 1000};
	c = enter(OTHER, &fd);
	stage.conns.complaints.since_ns = cot_now_ns();
	for (i = n = 0; i < 25; i++)
		n += cot_answer_may_complain(c);
	assert_int_equal(n, 20);
	assert_int_equal(stage.conns.complaints.n_left_out, 5);
	stage.conns.complaints.since_ns = cot_now_ns() - 9 * COT_NS_PER_S;
	assert_false(cot_answer_may_complain(c));
	stage.conns.complaints.since_ns = cot_now_ns() - 10 * COT_NS_PER_S - 1;
	(void)stage_log();
	assert_true(cot_answer_may_complain(c));
	assert_non_null(strstr(stage_log(), " WARN cotenantd["));
	assert_in_range(stage.conns.complaints.since_ns, cot_now_ns() - COT_NS_PER_S, cot_now_ns());
	assert_int_equal(stage.conns.complaints.n, 1);
	/* None left out: nothing to say of it. */
	stage.conns.complaints.since_ns = 0;
	assert_true(cot_answer_may_complain(c));
	assert_string_equal(stage_log(), "");
	/* Nor is a line of a user who has had its own. */
	stage.basis.account.paces[COT_RATE_LINES] =
		(struct cot_account_pace){COT_NS_PER_S * 1000, 1};
	(void)cot_answer_may_complain(c);
	n = stage.conns.complaints.n;
	assert_false(cot_answer_may_complain(c));
	assert_int_equal(stage.conns.complaints.n_left_out, 1);
	assert_int_equal(stage.conns.complaints.n, n);
}

/* ---- answers ---- */

/* Reads an answer of this text, in as many packets as it takes, the largest but the last. */
static void expect_text(int fd, const char *text, unsigned seq)
{
	const struct cot_msg_result *m = (const struct cot_msg_result *)packet;
	size_t n, size = strlen(text);

	do {
		assert_int_equal(hear(fd), COT_MSG_RESULT);
		n = m->h.length - sizeof(*m);
		assert_int_equal(n, size < COT_PROTO_TEXT_MAX ? size : COT_PROTO_TEXT_MAX);
		assert_memory_equal(m->text, text, n);
		assert_int_equal(m->more, n < size);
		assert_int_equal(m->h.seq, seq);
		text += n;
		size -= n;
	} while (size);
	assert_int_equal(hear(fd), 0);
}

static void test_sizes(void **state)
{
	static const size_t sizes[] = {0,
				       1,
				       COT_PROTO_TEXT_MAX - 1,
				       COT_PROTO_TEXT_MAX,
				       COT_PROTO_TEXT_MAX + 1,
				       2 * COT_PROTO_TEXT_MAX};
	struct conn *c;
	unsigned i;
	char *text;
	int fd;

	(void)state;
	c = enter(OTHER, &fd);
	for (i = 0; i < COT_ARRAY_LEN(sizes); i++) {
		text = text_of(sizes[i]);
		cot_answer_result(c, i, -7, strdup(text));
		assert_null(c->out.text);
		assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_BYTES),
				 0);
		expect_text(fd, text, i);
		assert_int_equal(status(), -7);
		free(text);
	}
	assert_true(c->watched);
}

/* What the peer does not read waits, and is charged until it is gone. */
static void test_waits(void **state)
{
	const size_t size = 1 << 20;
	struct conn *c;
	unsigned i;
	char *text;
	int fd;

	(void)state;
	c = enter(OTHER, &fd);
	text = text_of(size);
	cot_answer_result(c, 3, 0, strdup(text));
	assert_non_null(c->out.text);
	assert_true(c->out.sent > 0 && c->out.sent < size);
	assert_int_equal(c->out.charged, size);
	assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_BYTES), size);
	for (i = 0; c->out.text && i < 1000; i++) {
		assert_int_equal(hear(fd), COT_MSG_RESULT);
		serve(1);
	}
	assert_null(c->out.text);
	assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_BYTES), 0);
	while (hear(fd) == COT_MSG_RESULT && ((const struct cot_msg_result *)packet)->more)
		continue;
	assert_int_equal(((const struct cot_msg_result *)packet)->more, 0);
	/* One that nobody waits for any more. */
	cot_answer_result(c, 3, 0, text);
	assert_non_null(c->out.text);
	cot_conn_forget_answer(c);
	assert_null(c->out.text);
	assert_int_equal(c->out.charged, 0);
	assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_BYTES), 0);
	cot_conn_forget_answer(c);
	while (hear(fd) == COT_MSG_RESULT)
		continue;
	/* The rest of one whose peer has hung up. */
	cot_answer_result(c, 3, 0, text_of(size));
	assert_non_null(c->out.text);
	(void)close(fd);
	peers[n_peers - 1] = -1;
	cot_answer_flush(c);
	assert_null(c->out.text);
	assert_true(c->deaf);
	assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_BYTES), 0);
}

static void test_too_much(void **state)
{
	struct conn *c;
	int fd;

	(void)state;
	stage.basis.account.limits[COT_ACCOUNT_BYTES] = (struct cot_account_limit){20, 0};
	c = enter(OTHER, &fd);
	cot_answer_result(c, 3, 0, text_of(10)); /* half of all */
	expect_text(fd, "abcdefghij", 3);
	cot_answer_result(c, 4, 0, text_of(11));
	expect_text(fd, "too many answers are not read yet; read those first", 4);
	assert_int_equal(status(), -EDQUOT);
	assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_BYTES), 0);
	/* Out of memory: the end of the connection is the answer. */
	cot_answer_result(c, 5, 0, NULL);
	assert_true(c->deaf);
	assert_int_equal(hear(fd), -1);
	serve(1);
	assert_int_equal(c->source.fd, -1);
}

/* ---- who may do what ---- */

static int claim(const struct conn *c, enum cot_class cls, unsigned weight)
{
	struct cot_error err;

	return cot_access_claim(c, cls, weight, &err);
}

static void test_lists(void **state)
{
	struct cot_allow *latency = &stage.basis.config.latency, *batch = &stage.basis.config.batch;
	struct conn *c;
	int fd;

	(void)state;
	c = enter(OTHER, &fd);
	latency->everybody = batch->everybody = false;
	assert_int_equal(claim(c, COT_CLASS_LATENCY, 1), -EPERM);
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), -EPERM);
	latency->uids[0] = OTHER + 1;
	latency->uids[1] = OTHER;
	latency->n_uids = 1;
	assert_int_equal(claim(c, COT_CLASS_LATENCY, 1), -EPERM);
	latency->n_uids = 2;
	assert_int_equal(claim(c, COT_CLASS_LATENCY, 1), 0);
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), -EPERM);
	/* Its own group. */
	c->gid = 5000;
	batch->gids[0] = 5001;
	batch->gids[1] = 5000;
	batch->n_gids = 1;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), -EPERM);
	batch->n_gids = 2;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), 0);
	batch->n_gids = 0;
	batch->everybody = true;
	stage.basis.config.max_weight = 70;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 70), 0);
	assert_int_equal(claim(c, COT_CLASS_BATCH, 71), -EPERM);
	/* Root and the daemon's own user may all. */
	batch->everybody = false;
	c->uid = 0;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 71), 0);
	c->uid = geteuid();
	assert_int_equal(claim(c, COT_CLASS_BATCH, 71), 0);
	c->uid = OTHER;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), -EPERM);
	latency->n_uids = 0;
}

/* The other groups of whoever connects, as the kernel keeps them with the connection. */
static void test_groups(void **state)
{
	static const gid_t groups[] = {6000, 6001, 6002};
	struct cot_allow *batch = &stage.basis.config.batch;
	gid_t own[64];
	struct conn *c;
	int fd, n = getgroups(64, own);

	(void)state;
	if (n < 0 || setgroups(3, groups) < 0)
		skip();
	c = enter(OTHER, &fd);
	assert_int_equal(setgroups((size_t)n, own), 0);
	batch->everybody = false;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), -EPERM);
	batch->n_gids = 1;
	batch->gids[0] = 6002;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), 0);
	batch->gids[0] = 6000;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), 0);
	batch->gids[0] = 6003;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), -EPERM);
	/* Nor is it in one that nobody has named. */
	c->gid = 5000;
	batch->gids[0] = 0;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), -EPERM);
	/* A connection that is no more has none. */
	n = c->source.fd;
	c->source.fd = -1;
	batch->gids[0] = 6002;
	assert_int_equal(claim(c, COT_CLASS_BATCH, 1), -EPERM);
	c->source.fd = n;
}

static void test_owners(void **state)
{
	struct tenant *t = stage_tenant(3, "theirs", NULL);
	struct cot_error err;
	struct conn *c;
	int fd;

	(void)state;
	t->uid = OTHER;
	c = enter(OTHER, &fd);
	assert_int_equal(cot_access_change(c, t, &err), 0);
	assert_int_equal(cot_access_admin(c, "a pool", &err), -EPERM);
	c->uid = OTHER + 1;
	assert_int_equal(cot_access_change(c, t, &err), -EPERM);
	assert_string_equal(err.text, "the program 'theirs' belongs to another user");
	c->uid = 0;
	assert_int_equal(cot_access_change(c, t, &err), 0);
	assert_int_equal(cot_access_admin(c, "a pool", &err), 0);
	c->uid = geteuid();
	assert_int_equal(cot_access_change(c, t, &err), 0);
	assert_int_equal(cot_access_admin(c, "a pool", &err), 0);
	c->uid = OTHER;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_THE_DOOR(test_refusals), AT_THE_DOOR(test_hung_up), AT_THE_DOOR(test_noise),
		AT_THE_DOOR(test_sizes),    AT_THE_DOOR(test_waits),   AT_THE_DOOR(test_too_much),
		AT_THE_DOOR(test_lists),    AT_THE_DOOR(test_groups),  AT_THE_DOOR(test_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
