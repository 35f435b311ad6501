/*
 * Where the library's control thread is tested: the unit, and a daemon, a driver, other threads and
 * a clock that are played. The unit is in a shared library, so its source is here.
 */
#ifndef COT_TESTS_CONTROL_STAGE_H
#define COT_TESTS_CONTROL_STAGE_H

#include <signal.h>
#include <stdio.h>

#include "test.h"

/* Its sleep is the test's. */
#define ppoll played_ppoll
#include "guest/preload/control.c"
#undef ppoll

#define START (100 * COT_NS_PER_S)
#define MS    COT_NS_PER_MS
#define S     COT_NS_PER_S
#define FD    5

static uint64_t now_ns, stop_ns;
static unsigned n_sleeps;

uint64_t cot_now_ns(void)
{
	return now_ns;
}

/* ---- what was done ---- */

static char done[8192], logged[512], said[512]; /* the last line; the one before it */
static unsigned n_errors;

static __attribute__((format(printf, 1, 2))) void note(const char *fmt, ...)
{
	size_t n = strlen(done);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(done + n, sizeof(done) - n, fmt, ap);
	va_end(ap);
}

static void expect_done(const char *what)
{
	assert_string_equal(done, what);
	done[0] = '\0';
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	va_list ap;

	n_errors += level == COT_LOG_ERROR;
	if (level > COT_LOG_WARN)
		return;
	strcpy(said, logged);
	va_start(ap, fmt);
	(void)vsnprintf(logged, sizeof(logged), fmt, ap);
	va_end(ap);
}

/* ---- the driver ---- */

static struct cot_rm rm;
static struct cot_rm_counts groups;
static int freeze_status, thaw_status, slice_status, mode_status, sync_status;
static uint32_t n_frozen;
static unsigned n_thaws_that_fail, n_thawed;

void cot_rm_freeze(struct cot_rm *r, struct cot_rm_result *ret)
{
	assert_ptr_equal(r, &rm);
	note("freeze;");
	now_ns += 3000;
	*ret = (struct cot_rm_result){.status = freeze_status, .n_done = n_frozen};
	atomic_store(&rm.frozen, !freeze_status);
}

void cot_rm_thaw(struct cot_rm *r, struct cot_rm_result *ret)
{
	assert_ptr_equal(r, &rm);
	note("thaw;");
	now_ns += 2000;
	n_thawed++;
	*ret = (struct cot_rm_result){.status = n_thaws_that_fail ? -EIO : thaw_status};
	if (n_thaws_that_fail)
		n_thaws_that_fail--;
	atomic_store(&rm.frozen, false);
}

void cot_rm_set_slice(struct cot_rm *r, uint32_t us, struct cot_rm_result *ret)
{
	assert_ptr_equal(r, &rm);
	note("slice %u;", us);
	*ret = (struct cot_rm_result){
		.status = slice_status, .n_failed = slice_status != 0, .value = us};
}

void cot_rm_set_mode(struct cot_rm *r, enum cot_mode mode, struct cot_rm_result *ret)
{
	assert_ptr_equal(r, &rm);
	note("mode %d;", (int)mode);
	*ret = (struct cot_rm_result){.status = mode_status, .n_failed = mode_status ? 2 : 0};
}

void cot_rm_preempt(struct cot_rm *r, struct cot_rm_result *ret)
{
	assert_ptr_equal(r, &rm);
	note("preempt;");
	*ret = (struct cot_rm_result){.status = 0};
}

static uint64_t synced_us;

void cot_rm_sync(struct cot_rm *r, struct cot_rm_result *ret)
{
	assert_ptr_equal(r, &rm);
	note("sync;");
	*ret = (struct cot_rm_result){
		.status = sync_status, .n_failed = sync_status != 0, .value = synced_us};
}

void cot_rm_counts(struct cot_rm *r, struct cot_rm_counts *ret)
{
	assert_ptr_equal(r, &rm);
	*ret = groups;
}

/* ---- the daemon ---- */

static struct cot_page page;
static struct {
	uint64_t at_ns;
	struct cot_link_packet p;
	int rc;
	bool with_page;
} says[64];
static unsigned n_said, n_heard;
static int open_result, send_result;
static uint64_t opened_s[64]; /* since START */
static unsigned n_opened;

static void say(uint64_t after_ns, int type, const void *packet, size_t size)
{
	assert_true(n_said < COT_ARRAY_LEN(says));
	says[n_said].at_ns = now_ns + after_ns;
	says[n_said].rc = 1;
	says[n_said].with_page = true;
	says[n_said].p.type = type;
	says[n_said].p.size = size;
	memcpy(says[n_said].p.u.bytes, packet, size);
	says[n_said].p.u.h.seq = 70 + n_said;
	n_said++;
}

static void order(uint64_t after_ns, int type)
{
	struct cot_msg_header h = {0};

	say(after_ns, type, &h, sizeof(h));
}

static void welcome(uint64_t after_ns, uint64_t slice_us, uint32_t mode)
{
	struct cot_msg_welcome m = {.tenant = 43, .slice_us = slice_us, .mode = mode};

	say(after_ns, COT_MSG_WELCOME, &m, sizeof(m));
}

static void hang_up(uint64_t after_ns, int rc)
{
	order(after_ns, 0);
	says[n_said - 1].rc = rc;
}

static inline void refuse(uint64_t after_ns, int type, const char *words)
{
	struct {
		struct cot_msg_header h;
		char text[32];
	} m = {.text = ""};

	memcpy(m.text, words, strlen(words));
	say(after_ns, type, &m, sizeof(m.h) + strlen(words));
}

void cot_link_init(struct cot_link *l)
{
	*l = (struct cot_link){.sock = {.fd = -1}};
}

int cot_link_open(struct cot_link *l, const char *path)
{
	assert_string_equal(path, "the socket");
	assert_true(n_opened < COT_ARRAY_LEN(opened_s));
	opened_s[n_opened++] = (now_ns - START) / S;
	if (!open_result)
		l->sock.fd = FD;
	return open_result;
}

void cot_marks_forget(void)
{
}

void cot_link_close(struct cot_link *l)
{
	note("close;");
	cot_link_init(l);
}

int cot_link_receive(struct cot_link *l, struct cot_link_packet *p)
{
	unsigned i = n_heard;

	assert_int_equal(l->sock.fd, FD);
	if (i == n_said || says[i].at_ns > now_ns)
		return 0;
	n_heard++;
	*p = says[i].p;
	if (p->type == COT_MSG_WELCOME && says[i].rc > 0) {
		l->welcomed = true;
		l->page = says[i].with_page ? &page : NULL;
	}
	return says[i].rc;
}

int cot_link_send(struct cot_link *l, void *packet, enum cot_msg_type type, uint32_t size,
		  uint32_t seq)
{
	const struct cot_msg_hello *hello = packet;
	const struct cot_msg_groups *g = packet;
	const struct cot_msg_ack *ack = packet;

	assert_int_equal(l->sock.fd, FD);
	if (send_result)
		return send_result;
	if (type == COT_MSG_HELLO) {
		assert_int_equal(size, sizeof(*hello));
		assert_int_equal(hello->pid, getpid());
		note("hello %u of %s on %s, role %u, class %u, weight %u, block %u;",
		     (unsigned)hello->tenant, hello->name, hello->gpu, hello->role, hello->class_,
		     hello->weight, hello->block_us);
	} else if (type == COT_MSG_GROUPS) {
		assert_int_equal(size, sizeof(*g));
		note("groups %u,%u on %#x;", g->n_groups, g->n_channels, (unsigned)g->gpus);
	} else {
		assert_int_equal(type, COT_MSG_ACK);
		assert_int_equal(size, sizeof(*ack));
		note("ack %u: %d, %u failed, %u, %u ns;", seq, ack->status, ack->n_failed,
		     (unsigned)ack->value, (unsigned)ack->latency_ns);
	}
	return 0;
}

/* ---- the bell, descriptors, threads ---- */

static bool descriptors_are_there;
static unsigned n_bells, n_rings, n_started;
static int bell_result, thread_result;
static uint64_t ring_at_ns; /* 0: never */
static void (*at_ring)(void);

int cot_wake_open(struct cot_wake *w)
{
	n_bells++;
	w->ring.fd = w->listen.fd = 6;
	atomic_store(&w->pending, false);
	return bell_result;
}

void cot_wake_close(struct cot_wake *w)
{
	w->ring.fd = w->listen.fd = -1;
}

void cot_wake_ring(struct cot_wake *w)
{
	(void)w;
	n_rings++;
}

void cot_wake_clear(struct cot_wake *w)
{
	atomic_store(&w->pending, false);
}

bool cot_own_fd_valid(const struct cot_own_fd *own)
{
	return own->fd >= 0 && descriptors_are_there;
}

void cot_own_fd_close(struct cot_own_fd *own)
{
	own->fd = -1;
}

int cot_thread_start(size_t stack, void *(*body)(void *), void *arg)
{
	assert_int_equal(stack, COT_STACK_SMALL);
	assert_true(body == run && !arg);
	n_started++;
	return thread_result;
}

/* Sleeps until something comes, as the caller wants; at the end of the test's time it is over. */
int played_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	uint64_t until = t ? now_ns + (uint64_t)t->tv_sec * S + (uint64_t)t->tv_nsec : COT_NEVER;

	assert_true(n == 2 && !mask);
	assert_true(++n_sleeps < 1000); /* else it burns a core */
	p[0].revents = p[1].revents = 0;
	if (until > stop_ns)
		until = stop_ns;
	if (self.link.sock.fd >= 0 && n_heard < n_said && says[n_heard].at_ns <= until) {
		assert_int_equal(p[1].fd, FD);
		until = says[n_heard].at_ns;
		p[1].revents = POLLIN;
	}
	if (ring_at_ns && ring_at_ns <= until) {
		until = ring_at_ns;
		ring_at_ns = 0;
		atomic_store(&self.wake.pending, true);
		p[0].revents = POLLIN;
		p[1].revents = 0;
		if (at_ring)
			at_ring();
	}
	if (until > now_ns)
		now_ns = until;
	if (now_ns >= stop_ns && !p[0].revents && !p[1].revents)
		atomic_store(&self.stage, STAGE_NONE);
	return !!p[0].revents + !!p[1].revents;
}

/* ---- the library ---- */

static struct cot_settings settings;

static int set_up(void **state)
{
	(void)state;
	settings = (struct cot_settings){
		.socket = "the socket",
		.slice_us = 250,
		.mode = COT_MODE_DRAIN,
		.tenant = 42,
		.role = COT_ROLE_TENANT,
		.class_ = COT_CLASS_BATCH,
		.weight = 7,
		.block_us = 99,
		.name = "it",
		.gpu = "0",
	};
	memset(&rm, 0, sizeof(rm));
	memset(&page, 0, sizeof(page));
	groups = (struct cot_rm_counts){.n_groups = 2, .n_channels = 5, .gpus = 3, .n_doubts = 1};
	now_ns = START;
	n_said = n_heard = n_opened = n_sleeps = n_bells = n_rings = n_started = n_thawed = 0;
	n_errors = n_thaws_that_fail = 0;
	freeze_status = thaw_status = slice_status = mode_status = sync_status = 0;
	open_result = send_result = bell_result = thread_result = 0;
	n_frozen = 4;
	synced_us = ring_at_ns = 0;
	at_ring = NULL;
	descriptors_are_there = true;
	done[0] = logged[0] = said[0] = '\0';
	cot_control_init(&rm, &settings);
	self.told_of_failure = false;
	(void)cot_wake_open(&self.wake);
	return 0;
}

static void run_for(uint64_t ns)
{
	stop_ns = now_ns + ns;
	atomic_store(&self.stage, STAGE_RUNNING);
	(void)run(NULL);
}

/* The library has introduced itself, and is welcome. */
static void be_served(void)
{
	welcome(0, 100, COT_MODE_SWITCH);
	run_for(MS);
	assert_int_equal(n_heard, 1);
	done[0] = '\0';
	n_sleeps = 0;
}

static inline void lease(uint64_t ns)
{
	atomic_store(&page.lease_until_ns, now_ns + ns);
}

#endif
