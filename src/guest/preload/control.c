/*
 * The control thread. It sleeps until the daemon says something, the program's groups change, or
 * one of these times comes: the lease of a freeze ends, a connection is to be tried again, the
 * settings of a lost daemon run out, a thaw that failed is to be repeated.
 *
 *                 connect                 WELCOME
 *     alone ------------------> greeted ----------> served
 *       ^  ^--- at most once      |                   |  ^ | SET, FREEZE, THAW, PREEMPT
 *       |       a second, while   |                   |  +-+ each is answered with an ACK
 *       |       there are groups  |                   |
 *       +-------------------------+-------------------+ hang-up, error: thaw at once;
 *       |                                               slices stay for KEEP_NS
 *       +--> retired: REFUSED, the library is a pass-through from then on. LATER is a hang-up
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/env.h"
#include "guest/link.h"
#include "guest/log.h"
#include "guest/marks.h"
#include "guest/preload/control.h"
#include "guest/wake.h"

/* A lease further ahead than this is not believed: the page is damaged. */
#define LEASE_MAX_NS COT_NS_PER_S
/* A lost daemon may be restarting: slices and mode are kept so long before the driver's return. */
#define KEEP_NS	       (5 * COT_NS_PER_S)
#define THAW_RETRY_NS  (10 * COT_NS_PER_MS)
#define THAW_TRIES_MAX 100u

/* A set-up that waits for the thaw looks so often, and waits so long after the end of the lease. */
#define WAIT_STEP_NS  (2 * COT_NS_PER_MS)
#define WAIT_SLACK_NS (500 * COT_NS_PER_MS)

enum stage { STAGE_NONE, STAGE_RUNNING, STAGE_RETIRED };

/* Used by the control thread alone, but for what comes before `link`. */
struct control {
	struct cot_rm *rm;
	const struct cot_settings *settings;
	_Atomic int stage;
	struct cot_wake wake;
	_Atomic bool told_of_failure;
	_Atomic bool measures; /* a request was marked */

	struct cot_link link;
	struct cot_link_packet packet;
	uint64_t tenant;
	struct cot_rm_counts told; /* what the daemon knows of our groups */
	bool tell;		   /* send it again */

	uint64_t retry_ns, retry_after_ns; /* the next connection; the pause after it */
	unsigned n_retries;
	uint64_t keep_until_ns;		  /* COT_NEVER: nothing of a lost daemon is kept */
	uint64_t thaw_ns;		  /* COT_NEVER: no thaw is due */
	_Atomic uint64_t frozen_until_ns; /* the lease, as it was seen last; for other threads */
	unsigned n_thaws;
};

static struct control self;

/* ---- the page ---- */

static void store(_Atomic uint64_t *field, uint64_t x)
{
	atomic_store_explicit(field, x, memory_order_relaxed);
}

static void publish_counts(const struct cot_rm_counts *counts)
{
	struct cot_page *page = self.link.page;

	if (!page)
		return;
	store(&page->n_groups, counts->n_groups);
	store(&page->n_channels, counts->n_channels);
	store(&page->n_doubts, counts->n_doubts);
}

static void publish_time(_Atomic uint64_t *n, _Atomic uint64_t *last, _Atomic uint64_t *max,
			 uint64_t took_ns)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
	store(last, took_ns);
	if (took_ns > atomic_load_explicit(max, memory_order_relaxed))
		store(max, took_ns);
}

/* When the lease ends; `now` when there is none that can be believed. */
static uint64_t lease_end(uint64_t now)
{
	uint64_t end;

	if (!self.link.page)
		return now;
	end = atomic_load_explicit(&self.link.page->lease_until_ns, memory_order_acquire);
	return end > now + LEASE_MAX_NS ? now : end;
}

/* Likewise, for the program's threads that wait for the thaw. */
static uint64_t publish_lease(uint64_t now)
{
	uint64_t end = lease_end(now);

	atomic_store(&self.frozen_until_ns, end);
	return end;
}

/* ---- what is done to the groups ---- */

static void thaw(const char *why)
{
	struct cot_page *page = self.link.page;
	uint64_t start = cot_now_ns();
	struct cot_rm_result res;

	cot_rm_thaw(self.rm, &res);
	if (page)
		publish_time(&page->n_thaws, &page->thaw_last_ns, &page->thaw_max_ns,
			     cot_now_ns() - start);
	cot_log(COT_LOG_INFO, "thawed %u channels: %s", res.n_done, why);
	self.thaw_ns = COT_NEVER;
	if (!res.status)
		return;
	cot_log(COT_LOG_ERROR, "%u channels do not thaw (%d)", res.n_failed, -res.status);
	if (self.n_thaws++ < THAW_TRIES_MAX)
		self.thaw_ns = cot_now_ns() + THAW_RETRY_NS;
}

static void thaw_now(const char *why)
{
	self.n_thaws = 0;
	thaw(why);
}

static bool is_frozen(void)
{
	return atomic_load(&self.rm->frozen);
}

static void freeze(struct cot_rm_result *res)
{
	struct cot_page *page = self.link.page;
	uint64_t start = cot_now_ns();

	*res = (struct cot_rm_result){.status = -EOPNOTSUPP};
	if (!page)
		return;
	res->status = -ETIME; /* an order that came too late */
	if (publish_lease(start) <= start)
		return;
	self.thaw_ns = COT_NEVER;
	cot_rm_freeze(self.rm, res);
	if (res->status == -EAGAIN && !res->n_done && !is_frozen())
		return; /* nothing was done, since channels are being set up */
	publish_time(&page->n_freezes, &page->freeze_last_ns, &page->freeze_max_ns,
		     cot_now_ns() - start);
	if (res->status)
		thaw_now("it could not be frozen as a whole");
}

static void set(uint64_t slice_us, uint32_t mode, struct cot_rm_result *res)
{
	struct cot_rm_result moded;

	if (slice_us > UINT32_MAX || mode > COT_MODE_SWITCH) {
		*res = (struct cot_rm_result){.status = -EINVAL};
		return;
	}
	cot_rm_set_slice(self.rm, (uint32_t)slice_us, res);
	if (self.link.page)
		store(&self.link.page->slice_us, res->value);
	if (mode == COT_MODE_DRIVER)
		return;
	cot_rm_set_mode(self.rm, (enum cot_mode)mode, &moded);
	if (!res->status)
		res->status = moded.status;
	res->n_failed += moded.n_failed;
}

/* As if there were no daemon. */
static void use_own_settings(void)
{
	struct cot_rm_result res;

	cot_rm_set_slice(self.rm, self.settings->slice_us, &res);
	cot_rm_set_mode(self.rm, (enum cot_mode)self.settings->mode, &res);
	self.keep_until_ns = COT_NEVER;
}

/*
 * Replaces a bell whose descriptors the program has closed; no ring is lost. A thread of the
 * program that rings at this moment may see half of the old bell and half of the new one. Then the
 * identity does not match and the thread writes nothing; but `pending` is set below, so this thread
 * looks anyway.
 */
static void renew_wake(void)
{
	if (cot_own_fd_valid(&self.wake.listen) && cot_own_fd_valid(&self.wake.ring))
		return;
	cot_wake_close(&self.wake);
	(void)cot_wake_open(&self.wake);
	atomic_store(&self.wake.pending, true);
}

/* ---- the daemon ---- */

static void lose(const char *why)
{
	bool served = self.link.welcomed;

	if (is_frozen())
		thaw_now(why);
	cot_log(COT_LOG_WARN, "lost the daemon: %s", why);
	cot_link_close(&self.link);
	if (served) {
		self.keep_until_ns = cot_now_ns() + KEEP_NS;
		self.n_retries = 0;
		self.retry_after_ns = COT_RETRY_MIN_NS;
	}
	renew_wake(); /* if the program closed our descriptors, that one is gone too */
}

static void send_or_lose(void *packet, enum cot_msg_type type, uint32_t size, uint32_t seq)
{
	int rc = cot_link_send(&self.link, packet, type, size, seq);

	if (rc < 0)
		lose(rc == -EAGAIN ? "it does not read its socket" : "its socket failed");
}

static void greet(void)
{
	struct cot_msg_hello hello = {
		.role = self.settings->role,
		.class_ = self.settings->class_,
		.weight = self.settings->weight,
		.pid = (uint32_t)getpid(),
		.tenant = self.tenant,
		.block_us = self.settings->block_us,
		.flags = self.settings->requests ? COT_HELLO_MEASURES : 0,
	};

	memcpy(hello.name, self.settings->name, sizeof(hello.name));
	memcpy(hello.gpu, self.settings->gpu, sizeof(hello.gpu));
	send_or_lose(&hello, COT_MSG_HELLO, sizeof(hello), 0);
}

/* Once a second at first, then less often. */
static void schedule_retry(uint64_t now)
{
	self.retry_ns = now + self.retry_after_ns;
	if (++self.n_retries > 5 && self.retry_after_ns < COT_RETRY_MAX_NS)
		self.retry_after_ns *= 2;
}

static void try_connect(uint64_t now)
{
	int rc;

	schedule_retry(now);
	rc = cot_link_open(&self.link, self.settings->socket);
	if (rc < 0) {
		cot_log(self.n_retries == 1 ? COT_LOG_WARN : COT_LOG_DEBUG,
			"%s: no daemon (%d); the program runs without", self.settings->socket, -rc);
		return;
	}
	self.tell = true;
	greet();
}

/* The groups as they are, if the daemon does not know them yet. */
static void tell_groups(void)
{
	struct cot_msg_groups msg = {.n_groups = 0};
	struct cot_rm_counts now;

	cot_rm_counts(self.rm, &now);
	publish_counts(&now);
	if (self.link.sock.fd < 0) {
		self.told = now;
		self.tell = true;
		return;
	}
	if (!self.tell && now.n_groups == self.told.n_groups &&
	    now.n_channels == self.told.n_channels && now.gpus == self.told.gpus)
		return;
	msg.n_groups = now.n_groups;
	msg.n_channels = now.n_channels;
	msg.gpus = now.gpus;
	self.told = now;
	self.tell = false;
	send_or_lose(&msg, COT_MSG_GROUPS, sizeof(msg), 0);
}

static void acknowledge(uint32_t seq, const struct cot_rm_result *res, uint64_t since_ns)
{
	struct cot_msg_ack ack = {
		.status = res->status,
		.n_failed = res->n_failed,
		.value = res->value,
		.latency_ns = cot_now_ns() - since_ns,
	};

	send_or_lose(&ack, COT_MSG_ACK, sizeof(ack), seq);
}

static void log_words(const char *what, const struct cot_link_packet *p)
{
	size_t n = p->size - sizeof(struct cot_msg_header);

	cot_log(COT_LOG_WARN, "%s: %.*s", what, n < 300 ? (int)n : 300,
		(const char *)p->u.bytes + sizeof(struct cot_msg_header));
}

static void retire(const struct cot_link_packet *p)
{
	log_words("the daemon refuses this program", p);
	lose("it refused");
	use_own_settings();
	atomic_store(&self.stage, STAGE_RETIRED);
}

static void obey(const struct cot_link_packet *p)
{
	struct cot_rm_result res = {.status = 0};
	uint64_t since = cot_now_ns();

	switch (p->type) {
	case COT_MSG_WELCOME:
		self.tenant = p->u.welcome.tenant;
		self.keep_until_ns = COT_NEVER;
		cot_log(COT_LOG_INFO, "tenant %llu", (unsigned long long)self.tenant);
		set(p->u.welcome.slice_us, p->u.welcome.mode, &res);
		/* Take back what a previous daemon has set. */
		if (p->u.welcome.mode == COT_MODE_DRIVER)
			cot_rm_set_mode(self.rm, COT_MODE_DRIVER, &res);
		return;
	case COT_MSG_SET:
		set(p->u.set.slice_us, p->u.set.mode, &res);
		break;
	case COT_MSG_FREEZE:
		freeze(&res);
		break;
	case COT_MSG_THAW:
		thaw_now("the daemon says so");
		res.status = self.thaw_ns == COT_NEVER ? 0 : -EIO;
		break;
	case COT_MSG_PREEMPT:
		cot_rm_preempt(self.rm, &res);
		break;
	case COT_MSG_REFUSED:
		retire(p);
		return;
	case COT_MSG_LATER:
		log_words("the daemon has no place for this program now", p);
		lose("it has no place");
		return;
	default:
		return; /* of a newer daemon, and nothing that has to be done */
	}
	acknowledge(p->u.h.seq, &res, since);
}

static void listen_to_daemon(void)
{
	int rc;

	do {
		rc = cot_link_receive(&self.link, &self.packet);
		if (rc > 0)
			obey(&self.packet);
	} while (rc > 0 && self.link.sock.fd >= 0);
	if (rc < 0 && self.link.sock.fd >= 0)
		lose(rc == -ECONNRESET ? "it hung up"
		     : rc == -EBADMSG  ? "it sent a malformed packet"
				       : "its socket failed");
}

/* ---- the loop ---- */

static bool wants_link(void)
{
	return self.link.sock.fd < 0 && (self.told.n_groups > 0 || atomic_load(&self.measures));
}

/* Does what is due; returns when the next thing is. */
static uint64_t timers(uint64_t now)
{
	uint64_t next = COT_NEVER;

	if (self.thaw_ns <= now)
		thaw("again");
	if (is_frozen() && publish_lease(now) <= now) {
		if (self.link.page)
			atomic_fetch_add_explicit(&self.link.page->n_lease_expired, 1,
						  memory_order_relaxed);
		thaw_now("the lease ended");
	}
	if (self.keep_until_ns <= now)
		use_own_settings();
	if (wants_link() && self.retry_ns <= now)
		try_connect(now);

	if (wants_link())
		next = self.retry_ns;
	if (self.keep_until_ns < next)
		next = self.keep_until_ns;
	if (self.thaw_ns < next)
		next = self.thaw_ns;
	if (is_frozen() && lease_end(now) < next)
		next = lease_end(now);
	return next;
}

static void sleep_until(uint64_t next)
{
	uint64_t now = cot_now_ns();
	struct pollfd p[2] = {
		{.fd = self.wake.listen.fd, .events = POLLIN},
		{.fd = self.link.sock.fd, .events = POLLIN},
	};
	uint64_t wait_ns = next == COT_NEVER ? 0 : next > now ? next - now : 0;
	struct timespec t = {.tv_sec = (time_t)(wait_ns / COT_NS_PER_S),
			     .tv_nsec = (long)(wait_ns % COT_NS_PER_S)};

	if (atomic_load(&self.wake.pending))
		return;
	if (ppoll(p, 2, next == COT_NEVER ? NULL : &t, NULL) > 0 && p[0].revents)
		renew_wake();
}

static void sync_groups(void)
{
	struct cot_rm_result res;

	cot_wake_clear(&self.wake);
	cot_rm_sync(self.rm, &res);
	if (res.status)
		cot_log(COT_LOG_WARN, "%u new groups or channels could not be set as ordered (%d)",
			res.n_failed, -res.status);
	if (self.link.page && res.value)
		store(&self.link.page->slice_us, res.value);
	tell_groups();
}

static void *run(void *unused)
{
	uint64_t now, next;

	(void)unused;
	(void)prctl(PR_SET_NAME, "cotenant");
	sync_groups();
	while (atomic_load(&self.stage) == STAGE_RUNNING) {
		now = cot_now_ns();
		next = timers(now);
		tell_groups();
		sleep_until(next);
		if (self.link.sock.fd >= 0)
			listen_to_daemon();
		if (atomic_load(&self.wake.pending))
			sync_groups();
	}
	return NULL; /* the bell stays: another thread may be about to ring it */
}

/* ---- from the program's threads ---- */

/*
 * The control thread checks the lease when it ends; if it does not, it is gone or stopped. Use the
 * system call itself: nanosleep() would be a cancellation point, which ioctl() is not.
 */
bool cot_control_wait(void)
{
	struct timespec t = {.tv_nsec = WAIT_STEP_NS};

	if (atomic_load(&self.stage) != STAGE_RUNNING ||
	    cot_now_ns() > atomic_load(&self.frozen_until_ns) + WAIT_SLACK_NS)
		return false;
	(void)syscall(SYS_nanosleep, &t, NULL);
	return true;
}

static void prepare(void)
{
	cot_link_init(&self.link);
	self.wake.ring.fd = -1;
	self.wake.listen.fd = -1;
	self.tenant = self.settings->tenant;
	self.told = (struct cot_rm_counts){.n_groups = 0};
	self.tell = true;
	self.retry_ns = 0;
	self.retry_after_ns = COT_RETRY_MIN_NS;
	self.n_retries = 0;
	self.keep_until_ns = COT_NEVER;
	self.thaw_ns = COT_NEVER;
	self.n_thaws = 0;
}

void cot_control_init(struct cot_rm *rm, const struct cot_settings *settings)
{
	self.rm = rm;
	self.settings = settings;
	atomic_store(&self.stage, STAGE_NONE);
	prepare();
}

void cot_control_notify(void)
{
	int none = STAGE_NONE, rc;

	if (!self.settings->socket[0] || atomic_load(&self.stage) == STAGE_RETIRED)
		return;
	if (!atomic_compare_exchange_strong(&self.stage, &none, STAGE_RUNNING)) {
		cot_wake_ring(&self.wake);
		return;
	}
	rc = cot_wake_open(&self.wake);
	if (rc == 0) {
		rc = cot_thread_start(COT_STACK_SMALL, run, NULL);
		if (rc < 0)
			cot_wake_close(&self.wake);
	}
	if (rc < 0) {
		/* The next change tries again. */
		if (!atomic_exchange(&self.told_of_failure, true))
			cot_log(COT_LOG_ERROR, "no control thread (%d)", -rc);
		atomic_store(&self.stage, STAGE_NONE);
	}
}

bool cot_control_measures(void)
{
	if (!self.settings || !self.settings->requests)
		return false;
	if (!atomic_load_explicit(&self.measures, memory_order_relaxed) &&
	    !atomic_exchange(&self.measures, true))
		cot_control_notify();
	return true;
}

void cot_control_forget(void)
{
	if (!self.settings)
		return;
	cot_marks_forget();
	atomic_store(&self.measures, false);
	cot_own_fd_close(&self.link.sock);
	self.link.page = NULL; /* was not inherited */
	cot_wake_close(&self.wake);
	atomic_store(&self.wake.pending, false);
	atomic_store(&self.stage, STAGE_NONE);
	prepare();
}
