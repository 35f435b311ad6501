/* Packets of libraries: HELLO, GROUPS and ACK, with the daemon's own host behind them: what they
 * are told, when they get orders, and what is known of them when they are gone. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/library.h"
#include "daemon/page.h"
#include "daemon/processes.h"
#include "door_stage.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define OTHER	  (STRANGER + 1)
#define SETTLE_NS (500 * MS)

static struct cot_page *page;
static bool seals; /* the library does */

/* Orders go to those who are connected, and not into the test's list. */
static int setup(void **state)
{
	struct cot_policy_config config;
	int rc = open_server(state);

	cot_policy_config_init(&config);
	if (rc || cot_host_create(&cot_library_host_ops, &stage.conns, stage.basis.config.policy,
				  &config, cot_now_ns(), &stage.basis.host, NULL) < 0)
		return -1;
	page = NULL;
	seals = true;
	return 0;
}

static int teardown(void **state)
{
	struct cot_host *own = stage.basis.host;
	int rc = close_server(state);

	if (page)
		(void)munmap(page, sizeof(*page));
	cot_host_destroy(own);
	return rc;
}

/* Receives a WELCOME with its page, which stays until the end of the test. */
static const struct cot_msg_welcome *welcome(int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = packet, .iov_len = sizeof(packet)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct stat st;
	int shared;

	assert_true(recvmsg(fd, &msg, MSG_DONTWAIT) > 0);
	assert_int_equal(((struct cot_msg_header *)packet)->type, COT_MSG_WELCOME);
	assert_non_null(CMSG_FIRSTHDR(&msg));
	assert_int_equal(CMSG_FIRSTHDR(&msg)->cmsg_level, SOL_SOCKET);
	assert_int_equal(CMSG_FIRSTHDR(&msg)->cmsg_type, SCM_RIGHTS);
	memcpy(&shared, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(shared));
	assert_int_equal(fstat(shared, &st), 0);
	assert_int_equal(st.st_size, sizeof(*page));
	assert_int_equal(fcntl(shared, F_GET_SEALS), F_SEAL_GROW | F_SEAL_SHRINK);
	if (page)
		(void)munmap(page, sizeof(*page));
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	assert_true(page != MAP_FAILED);
	if (seals)
		assert_int_equal(fcntl(shared, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	(void)close(shared);
	return (const struct cot_msg_welcome *)packet;
}

/* A library of this user's that is welcomed. */
static struct conn *join(uid_t uid, int *ret_fd, struct cot_msg_hello *m)
{
	struct conn *c = enter(uid, ret_fd);

	say(*ret_fd, m, COT_MSG_HELLO, sizeof(*m));
	serve(2);
	(void)welcome(*ret_fd);
	return c;
}

static struct conn *join_plain(int *ret_fd)
{
	struct cot_msg_hello m = hello_of(0);

	return join(OTHER, ret_fd, &m);
}

static void groups_on(int fd, unsigned n, unsigned n_channels, uint64_t gpus)
{
	struct cot_msg_groups m = {.n_groups = n, .n_channels = n_channels, .gpus = gpus};

	say(fd, &m, COT_MSG_GROUPS, sizeof(m));
	serve(1);
}

static void groups(int fd, unsigned n, unsigned n_channels)
{
	groups_on(fd, n, n_channels, 1);
}

/* Its channels have been the same for a while. */
static void settle(struct conn *c)
{
	assert_true(c->settle.armed);
	cot_timer_clear(&c->settle);
	c->settle.fire(&c->settle, cot_now_ns());
	c->grown_ns = 1;
}

/* Answers the orders that are there; how many FREEZEs and THAWs were among them. */
static void obey(int fd, unsigned *ret_freezes, unsigned *ret_thaws)
{
	int type;

	*ret_freezes = *ret_thaws = 0;
	while ((type = hear(fd)) > 0) {
		const struct cot_msg_set *order = (const struct cot_msg_set *)packet;
		struct cot_msg_ack ack = {.value = type == COT_MSG_SET ? order->slice_us : 0};
		uint32_t seq = order->h.seq;

		*ret_freezes += type == COT_MSG_FREEZE;
		*ret_thaws += type == COT_MSG_THAW;
		if (!seq)
			continue; /* nobody waits for it */
		cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack), seq);
		assert_int_equal(send(fd, &ack, sizeof(ack), 0), sizeof(ack));
		serve(1);
	}
}

static void hold(uint32_t id, bool on)
{
	struct cot_event ev = {.type = COT_EV_HOLD, .id = id, .now_ns = cot_now_ns(), .hold = on};

	assert_int_equal(cot_host_event(stage.basis.host, &ev), 0);
}

static const struct cot_entity *entity(uint32_t id)
{
	return cot_sched_entity(cot_host_sched(stage.basis.host), id);
}

static bool is_settled(const struct conn *c)
{
	return c->settled && !c->alone && !c->settle.armed;
}

static bool is_left_alone(const struct conn *c)
{
	return !c->settled && c->alone && c->settle.armed &&
	       c->settle.due_ns > cot_now_ns() + SETTLE_NS - 400 * MS &&
	       c->settle.due_ns <= cot_now_ns() + SETTLE_NS;
}

/* ---- HELLO ---- */

static void test_welcome(void **state)
{
	struct cot_msg_hello m = {.class_ = COT_CLASS_LATENCY,
				  .weight = 70,
				  .block_us = 40,
				  .name = "app",
				  .gpu = "1"};
	const struct cot_msg_welcome *answer;
	struct tenant *t;
	struct conn *c;
	char line[96];
	int fd;

	(void)state;
	c = enter(OTHER, &fd);
	(void)stage_log();
	say(fd, &m, COT_MSG_HELLO, sizeof(m));
	serve(1);
	answer = welcome(fd);
	t = c->tenant;
	assert_int_equal(answer->h.seq, 5);
	assert_int_equal(answer->tenant, t->id);
	assert_int_equal(answer->page_size, sizeof(*page));
	assert_int_equal(answer->slice_us, 10000);
	assert_int_equal(page->version, COT_PAGE_VERSION);
	atomic_store(&page->slice_us, 77);
	assert_int_equal(atomic_load(&c->page->slice_us), 77);
	snprintf(line, sizeof(line), " INFO cotenantd[%d]: new program 'app' (id %u, process %d)\n",
		 (int)getpid(), t->id, (int)getpid());
	assert_non_null(strstr(stage_log(), line));
	assert_int_equal(c->entity, t->id);
	assert_int_equal(t->n_conns, 1);
	assert_int_equal(t->cls, COT_CLASS_LATENCY);
	assert_int_equal(t->weight, 70);
	assert_int_equal(t->block_us, 40);
	assert_int_equal(t->gpu_mask, 2);
	assert_true(t->by_itself && !t->gpu_unknown && !t->pool);
	assert_string_equal(t->name, "app");
}

/* What another user's library could punch holes into is not touched until it has sealed that. */
static void test_page(void **state)
{
	uid_t users[] = {OTHER, geteuid()};
	struct conn *c;
	unsigned i;
	int fd;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct cot_msg_hello m = hello_of(0);

		seals = false;
		c = join(users[i], &fd, &m);
		if (users[i] == OTHER) {
			assert_null(cot_page_of(c));
			assert_null(cot_page_ring(c));
			assert_int_equal(
				cot_library_host_ops.lease(&stage.conns, conn_index(c), 77), 0);
			assert_int_equal(atomic_load(&c->page->lease_until_ns), 0);
			assert_int_equal(fcntl(c->page_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
			assert_int_equal(fallocate(c->page_fd,
						   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
						   4096),
					 -1);
			assert_int_equal(errno, EPERM);
		}
		assert_ptr_equal(cot_page_of(c), c->page);
		(void)cot_library_host_ops.lease(&stage.conns, conn_index(c), 77);
		assert_int_equal(atomic_load(&page->lease_until_ns), 77);
		assert_false(c->page_is_open);
	}
}

static void expect_refused(int fd, struct cot_msg_hello *m, const char *why)
{
	assert_int_equal(ask(fd, m, COT_MSG_HELLO, sizeof(*m)), COT_MSG_REFUSED);
	assert_string_equal(words(), why);
	assert_int_equal(hear(fd), -1);
}

static void test_ranges(void **state)
{
	static const char why[] = "the library sent a class, weight or block time out of range";
	struct cot_msg_hello m[6];
	unsigned i;
	int fd;

	(void)state;
	for (i = 0; i < 6; i++)
		m[i] = hello_of(0);
	m[0].class_ = COT_CLASS_BATCH + 1;
	m[1].weight = 0;
	m[2].weight = COT_WEIGHT_MAX + 1;
	m[3].block_us = COT_BLOCK_US_MAX + 1;
	m[4].weight = COT_WEIGHT_MAX;
	m[4].block_us = COT_BLOCK_US_MAX;
	m[5].weight = 1;
	for (i = 0; i < 4; i++) {
		(void)enter(OTHER, &fd);
		expect_refused(fd, &m[i], why);
	}
	assert_int_equal(cot_tenant_count(&stage.roster), 0);
	for (; i < 6; i++)
		assert_int_equal(join(OTHER, &fd, &m[i])->tenant->weight, m[4].weight);
	/* What they may is asked, too. */
	stage.basis.config.batch.everybody = false;
	(void)enter(OTHER + 1, &fd);
	expect_refused(fd, &m[5],
		       "user 4713 may not run batch programs; the list 'allow.batch' in the "
		       "daemon's configuration says who may");
	m[5].class_ = COT_CLASS_LATENCY;
	assert_int_equal(join(OTHER + 1, &fd, &m[5])->tenant->cls, COT_CLASS_LATENCY);
}

static void test_pools(void **state)
{
	struct cot_msg_hello m = hello_of(9);
	struct pool *p = stage_pool(9, "latency", 1);
	struct cot_event ev = {.type = COT_EV_POOL,
			       .id = 9,
			       .now_ns = cot_now_ns(),
			       .pool = {.cls = COT_CLASS_LATENCY, .gpu_mask = 2}};
	struct conn *c;
	int fd;

	(void)state;
	assert_int_equal(cot_host_event(stage.basis.host, &ev), 0);
	m.role = COT_ROLE_POOL;
	p->announced = true;
	(void)enter(OTHER, &fd);
	expect_refused(fd, &m, "only the daemon's own servers are pools");
	/* Its server may be another user's: the child of the control program. */
	p->control = (struct watch){.source = {.fd = -1},
				    .pid = getppid(),
				    .start_time = cot_process_start_time(getppid())};
	if (getppid()) {
		c = join(OTHER, &fd, &m);
		assert_ptr_equal(c->pool, p);
		leave(fd);
	}
	p->control.start_time++;
	(void)enter(OTHER, &fd);
	expect_refused(fd, &m, "only the daemon's own servers are pools");
	p->control = (struct watch){.source = {.fd = -1}};
	c = join(0, &fd, &m);
	assert_ptr_equal(c->pool, p);
	assert_null(c->tenant);
	assert_int_equal(c->entity, 9);
	assert_int_equal(p->n_conns, 1);
	assert_int_equal(((const struct cot_msg_welcome *)packet)->tenant, 9);
	assert_int_equal(((const struct cot_msg_welcome *)packet)->slice_us, 10000);
	/* Its slices are set at once. */
	(void)stage_log();
	groups(fd, 1, 4);
	assert_true(is_settled(c));
	assert_true(p->ready);
	assert_non_null(strstr(stage_log(), "its server has channel groups"));
	assert_int_equal(hear(fd) == COT_MSG_SET || hear(fd) == 0, 1);
	leave(fd);
	assert_false(p->ready);
	assert_int_equal(p->n_conns, 0);
	(void)enter(0, &fd);
	m.tenant = 10;
	expect_refused(fd, &m, "there is no pool 10");
}

/* In a pool the orders are the pool's, and a program's own library is a guest. */
static struct conn *join_pool(struct pool *p, int *ret_fd)
{
	struct cot_msg_hello m;
	struct tenant *t;

	assert_int_equal(cot_tenant_new(&stage.roster, OTHER, &t), 0);
	t->pool = p;
	t->gpu_mask = 1;
	t->weight = 100;
	cot_tenant_announce(t);
	m = hello_of(t->id);
	return join(OTHER, ret_fd, &m);
}

static void test_guests(void **state)
{
	struct pool *p = cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 0);
	struct cot_host_entity_stats stats;
	struct tenant *t;
	struct conn *c;
	int fd;

	(void)state;
	c = join_pool(p, &fd);
	t = c->tenant;
	assert_int_equal(c->entity, p->id);
	assert_int_equal(((const struct cot_msg_welcome *)packet)->tenant, t->id);
	assert_ptr_equal(c->tenant, t);
	groups(fd, 1, 4);
	assert_true(is_settled(c));
	assert_true(t->ready && t->had_groups);
	cot_host_entity_stats(stage.basis.host, p->id, &stats);
	assert_int_equal(stats.n_guests, 1);
}

/* It tells its groups before it has sealed its page: orders come after that, or a little later. */
static void test_guest_seals(void **state)
{
	struct pool *p = cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 0);
	struct conn *c;
	int fd;

	(void)state;
	seals = false;
	c = join_pool(p, &fd);
	groups(fd, 1, 4);
	assert_true(!c->settled && !c->alone && c->settle.armed);
	assert_true(c->settle.due_ns <= cot_now_ns() + 20 * MS);
	assert_int_equal(fcntl(c->page_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	settle(c);
	assert_true(is_settled(c));
	groups(fd, 1, 5);
	assert_true(is_settled(c));
}

/* ---- GROUPS ---- */

/* One that stands alone gets orders when its channels have been the same for half a second. */
static void test_settles(void **state)
{
	struct conn *c;
	char line[96];
	int fd;

	(void)state;
	c = join_plain(&fd);
	assert_true(cot_library_is_quiet(&stage.conns, c->entity, cot_now_ns()));
	(void)stage_log();
	groups(fd, 1, 3);
	snprintf(line, sizeof(line),
		 " DEBUG cotenantd[%d]: process %d has 1 channel groups, 3 channels\n",
		 (int)getpid(), (int)getpid());
	assert_non_null(strstr(stage_log(), line));
	assert_true(is_left_alone(c));
	assert_true(c->tenant->had_groups && !c->tenant->ready);
	assert_int_equal(c->n_groups, 1);
	assert_int_equal(c->n_channels, 3);
	assert_false(cot_library_is_quiet(&stage.conns, c->entity, c->grown_ns + SETTLE_NS - 1));
	assert_true(cot_library_is_quiet(&stage.conns, c->entity, c->grown_ns + SETTLE_NS));
	assert_true(cot_library_is_quiet(&stage.conns, c->entity + 1, c->grown_ns));
	/* More of either is again. */
	c->settle.due_ns = c->grown_ns = 1;
	groups(fd, 1, 4);
	assert_true(is_left_alone(c));
	assert_true(c->grown_ns > 1);
	c->settle.due_ns = c->grown_ns = 1;
	groups(fd, 2, 4);
	assert_true(c->settle.due_ns > 1 && c->grown_ns > 1);
	/* The same, or fewer, is not. */
	settle(c);
	assert_true(is_settled(c) && c->tenant->ready);
	assert_non_null(entity(c->entity));
	groups(fd, 2, 4);
	groups(fd, 2, 3);
	groups(fd, 1, 3);
	assert_true(is_settled(c));
	assert_int_equal(c->grown_ns, 1);
	/* What was settled is thawed first. */
	while (hear(fd) > 0)
		continue;
	groups(fd, 1, 4);
	assert_true(is_left_alone(c));
	assert_false(c->tenant->ready);
	assert_int_equal(hear(fd), COT_MSG_THAW);
	assert_int_equal(((const struct cot_msg_header *)packet)->seq, 0);
	groups(fd, 1, 5);
	assert_int_equal(hear(fd), 0); /* it is, already */
	/* None any more. */
	groups(fd, 0, 0);
	assert_true(!c->settled && !c->alone && !c->settle.armed);
	groups(fd, 1, 1);
	settle(c);
	groups(fd, 0, 0);
	assert_true(!c->settled && !c->tenant->ready);
	assert_true(c->tenant->had_groups);
}

/* Groups before a HELLO count for nothing (and are refused by the door). */
static void test_nobodys_groups(void **state)
{
	const struct cot_msg_groups m = {.n_groups = 3, .n_channels = 5};
	struct conn *c;
	int fd;

	(void)state;
	c = enter(OTHER, &fd);
	assert_true(cot_library_packet(c, &m, COT_MSG_GROUPS));
	assert_true(!c->settled && !c->alone && !c->settle.armed && !c->grown_ns);
	assert_true(cot_library_packet(c, &m, 999));
}

/* Which GPUs it uses is learnt from where its groups are, if nobody has said it. */
static void test_gpus(void **state)
{
	struct cot_msg_hello m = hello_of(0);
	struct conn *c;
	int fd;

	(void)state;
	c = join(OTHER, &fd, &m);
	assert_true(c->tenant->gpu_unknown);
	assert_int_equal(c->tenant->gpu_mask, 1);
	groups_on(fd, 1, 1, 0); /* it cannot tell */
	assert_int_equal(c->tenant->gpu_mask, 1);
	groups_on(fd, 1, 1, 1 << 1);
	assert_int_equal(c->tenant->gpu_mask, 2);
	assert_int_equal(
		cot_sched_tenant(cot_host_sched(stage.basis.host), c->tenant->id)->gpu_mask, 2);
	groups_on(fd, 2, 1, 1 << 2); /* there are two */
	assert_int_equal(c->tenant->gpu_mask, 2);
	groups_on(fd, 2, 1, 1 << 0);
	assert_int_equal(c->tenant->gpu_mask, 3);
	groups_on(fd, 2, 1, 1 << 1); /* used once is used */
	assert_int_equal(c->tenant->gpu_mask, 3);
	leave(fd);
	/* One that said it is taken at its word. */
	snprintf(m.gpu, sizeof(m.gpu), "0");
	c = join(OTHER + 1, &fd, &m);
	groups_on(fd, 1, 1, 1 << 1);
	assert_int_equal(c->tenant->gpu_mask, 1);
	/* One that nobody knows is like none. */
	snprintf(m.gpu, sizeof(m.gpu), "GPU-77");
	c = join(OTHER + 2, &fd, &m);
	assert_true(c->tenant->gpu_unknown);
	assert_int_equal(c->tenant->gpu_mask, 1);
}

/* What the user holds waits in its library before it makes more channels. */
static void test_held(void **state)
{
	unsigned freezes, thaws;
	struct conn *c;
	int fd;

	(void)state;
	c = join_plain(&fd);
	groups(fd, 1, 1);
	settle(c);
	obey(fd, &freezes, &thaws);
	hold(c->entity, true);
	obey(fd, &freezes, &thaws);
	assert_int_equal(freezes, 1);
	assert_int_equal(entity(c->entity)->run, COT_RUN_FROZEN);
	/* Its lease is in the page that it has. */
	assert_in_range(atomic_load(&page->lease_until_ns), cot_now_ns(),
			cot_now_ns() + COT_HOST_LEASE_NS);
	groups(fd, 1, 2);
	obey(fd, &freezes, &thaws);
	assert_int_equal(thaws, 0);
	assert_true(is_settled(c));
	hold(c->entity, false);
	obey(fd, &freezes, &thaws);
	assert_int_equal(thaws, 1);
	groups(fd, 1, 3);
	obey(fd, &freezes, &thaws);
	assert_int_equal(thaws, 1);
	assert_true(is_left_alone(c));
	/* What is held and not settled is left alone like any other. */
	settle(c);
	obey(fd, &freezes, &thaws);
	hold(c->entity, true);
	groups(fd, 0, 0);
	groups(fd, 1, 1);
	assert_true(is_left_alone(c));
}

/* ---- ACK ---- */

static void test_late(void **state)
{
	struct cot_msg_ack ack = {.status = -EPERM, .n_failed = 3};
	unsigned freezes, thaws;
	struct conn *c;
	char line[128];
	int fd;

	(void)state;
	c = join_plain(&fd);
	groups(fd, 1, 1);
	settle(c);
	obey(fd, &freezes, &thaws);
	hold(c->entity, true);
	assert_false(c->late);
	cot_host_tick(stage.basis.host, cot_now_ns() + COT_HOST_ACK_NS + MS);
	assert_true(c->late);
	assert_true(stage.roster.stops.armed && stage.roster.stops.due_ns <= cot_now_ns());
	cot_timer_clear(&stage.roster.stops);
	/* Any answer is one. */
	(void)stage_log();
	cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack), 0);
	assert_true(cot_library_packet(c, &ack, COT_MSG_ACK));
	assert_false(c->late);
	assert_true(stage.roster.stops.armed && stage.roster.stops.due_ns <= cot_now_ns());
	snprintf(line, sizeof(line),
		 " DEBUG cotenantd[%d]: process %d could not carry out an order: Operation not "
		 "permitted (3 groups or channels)\n",
		 (int)getpid(), (int)getpid());
	assert_non_null(strstr(stage_log(), line));
	cot_timer_clear(&stage.roster.stops);
	ack.status = 0;
	assert_true(cot_library_packet(c, &ack, COT_MSG_ACK));
	assert_false(stage.roster.stops.armed);
	assert_null(strstr(stage_log(), "could not carry out"));
}

/* ---- the end ---- */

static void test_gone(void **state)
{
	struct conn *c;
	struct tenant *t;
	uint32_t id;
	int fd[2];

	(void)state;
	c = join_plain(&fd[0]);
	(void)join_plain(&fd[1]);
	t = c->tenant;
	id = t->id;
	assert_int_equal(t->n_conns, 2);
	groups(fd[0], 1, 1);
	settle(c);
	assert_true(t->ready);
	leave(fd[0]);
	assert_int_equal(t->n_conns, 1);
	assert_false(t->ready);
	leave(fd[1]);
	assert_int_equal(t->n_conns, 0);
	assert_int_equal(t->id, id); /* it has used the GPU, and its process lives */
	/* One that is left alone when it goes. */
	c = join_plain(&fd[0]);
	groups(fd[0], 1, 1);
	assert_true(is_left_alone(c));
	leave(fd[0]);
	assert_false(c->settle.armed);
}

/* A shim that misses a grant would wait for ever, so its connection ends; a library's does not. */
static void test_cannot_be_told(void **state)
{
	struct cot_msg_header thaw;
	struct conn *c;
	int fd, rc;

	(void)state;
	c = join_plain(&fd);
	cot_proto_header(&thaw, COT_MSG_THAW, sizeof(thaw), 1);
	do
		rc = cot_library_host_ops.send(&stage.conns, conn_index(c), &thaw, sizeof(thaw));
	while (!rc);
	assert_int_equal(rc, -EAGAIN);
	serve(1);
	assert_true(c->source.fd >= 0);
	c->kind = CONN_WORK;
	rc = cot_library_host_ops.send(&stage.conns, conn_index(c), &thaw, sizeof(thaw));
	assert_int_equal(rc, -EAGAIN);
	assert_true(c->source.fd >= 0); /* not in there */
	c->kind = CONN_LIBRARY;
	serve(1);
	assert_int_equal(c->source.fd, -1);
	assert_int_equal(
		cot_library_host_ops.send(&stage.conns, conn_index(c), &thaw, sizeof(thaw)),
		-ENOTCONN);
	/* One without a page has no lease. */
	cot_library_host_ops.lease(&stage.conns, conn_index(c), 77);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(welcome),	   TEST(page),	  TEST(ranges),		TEST(pools), TEST(guests),
		TEST(guest_seals), TEST(settles), TEST(nobodys_groups), TEST(gpus),  TEST(held),
		TEST(late),	   TEST(gone),	  TEST(cannot_be_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
