/*
 * Works: when the daemon is asked, what is done with what it says, and what it is told. The unit is
 * in a shared library, so its source is here; the daemon, the other threads and the clock are
 * played.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "shim/work.c"

#define HANDLE(n) ((cot_cu_handle)(uintptr_t)(n))
#define STREAM	  HANDLE(0x310)
#define N_SMS	  10u
#define US	  1000ull
#define START	  (100 * COT_NS_PER_S)

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_shim_settings cot_shim_settings;

/* ---- the clock, and the other threads ---- */

static uint64_t now_ns;
static unsigned n_waits, n_changes, n_wakes;

uint64_t cot_now_ns(void)
{
	return now_ns;
}

void cot_shim_changed(void)
{
	n_changes++;
}

void cot_shim_runtime_wake(void)
{
	n_wakes++;
}

void cot_shim_yield(void)
{
	now_ns += 10 * US;
}

static char logged[512], said[512]; /* the last line; the last one before it */

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	va_list ap;

	assert_int_equal(level, COT_LOG_WARN);
	strcpy(said, logged);
	va_start(ap, fmt);
	(void)vsnprintf(logged, sizeof(logged), fmt, ap);
	va_end(ap);
}

/* ---- the daemon ---- */

#define N_PACKETS 64u

/* What it says, and when. */
static struct {
	uint64_t at_ns;
	struct cot_link_packet p;
	int rc;
} says[N_PACKETS];
static unsigned n_said, n_heard;

static char told[8192]; /* what it was told */
static int open_result, send_result;
static unsigned n_opened, n_closed;

static __attribute__((format(printf, 1, 2))) void note(const char *fmt, ...)
{
	size_t n = strlen(told);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(told + n, sizeof(told) - n, fmt, ap);
	va_end(ap);
}

/* That, and nothing else since the last time. */
static void expect_told(const char *what)
{
	assert_string_equal(told, what);
	told[0] = '\0';
}

static void say(uint64_t after_ns, enum cot_msg_type type, const void *packet, size_t size)
{
	assert_true(n_said < N_PACKETS);
	says[n_said].at_ns = now_ns + after_ns;
	says[n_said].rc = 1;
	says[n_said].p.type = type;
	says[n_said].p.size = size;
	memcpy(says[n_said].p.u.bytes, packet, size);
	n_said++;
}

static void welcome(uint64_t after_ns)
{
	struct cot_msg_work_welcome m = {.tenant = 3, .works_max = 4};

	say(after_ns, COT_MSG_WORK_WELCOME, &m, sizeof(m));
}

static void grant(uint64_t after_ns, uint64_t id, uint32_t capsms, uint32_t flags)
{
	struct cot_msg_work_grant m = {.work = id, .capsms = capsms, .flags = flags};

	say(after_ns, COT_MSG_WORK_GRANT, &m, sizeof(m));
}

static void evict(uint64_t id, uint32_t capsms)
{
	struct cot_msg_work_evict m = {.work = id, .capsms = capsms};

	say(0, COT_MSG_WORK_EVICT, &m, sizeof(m));
}

static void hang_up(uint64_t after_ns, int rc)
{
	struct cot_msg_header none = {0};

	say(after_ns, COT_MSG_WORK_WELCOME, &none, sizeof(none));
	says[n_said - 1].rc = rc;
}

void cot_link_init(struct cot_link *l)
{
	*l = (struct cot_link){.sock = {.fd = -1}};
}

int cot_link_open(struct cot_link *l, const char *path)
{
	assert_string_equal(path, "the socket");
	n_opened++;
	if (!open_result)
		l->sock.fd = 5;
	return open_result;
}

void cot_link_close(struct cot_link *l)
{
	n_closed++;
	cot_link_init(l);
}

void cot_own_fd_close(struct cot_own_fd *own)
{
	own->fd = -1;
}

int cot_link_receive(struct cot_link *l, struct cot_link_packet *p)
{
	assert_int_equal(l->sock.fd, 5);
	if (n_heard == n_said || says[n_heard].at_ns > now_ns)
		return 0;
	*p = says[n_heard].p;
	return says[n_heard++].rc;
}

int cot_link_send(struct cot_link *l, void *packet, enum cot_msg_type type, uint32_t size,
		  uint32_t seq)
{
	const struct cot_msg_work_hello *hello = packet;
	const struct cot_msg_work_request *r = packet;
	const struct cot_msg_work_evicted *e = packet;
	const struct cot_msg_work_done *d = packet;

	assert_int_equal(l->sock.fd, 5);
	assert_int_equal(seq, 0);
	if (send_result)
		return send_result;
	if (type == COT_MSG_WORK_HELLO) {
		assert_int_equal(size, sizeof(*hello));
		assert_int_equal(hello->pid, getpid());
		note("hello %u of %s on %s, %u SMs, class %u, weight %u, quota %u, reserve %u;",
		     (unsigned)hello->tenant, hello->name, hello->gpu, hello->n_sms, hello->class_,
		     hello->weight, hello->quota, hello->reserve);
	} else if (type == COT_MSG_WORK_REQUEST) {
		assert_int_equal(size, sizeof(*r));
		assert_int_equal(r->flags, COT_WORK_CAN_SETTLE | COT_WORK_CAN_GROW);
		assert_int_equal(r->want, 0);
		assert_int_equal(r->method, COT_PROTO_WORK_DEFAULT);
		note("request %u: %u tasks, %u on an SM, %u ns;", (unsigned)r->work, r->n_tasks,
		     r->per_sm, r->task_ns);
	} else if (type == COT_MSG_WORK_EVICTED) {
		assert_int_equal(size, sizeof(*e));
		note("evicted %u: %u after %u ns;", (unsigned)e->work, e->capsms,
		     (unsigned)e->delay_ns);
	} else if (type == COT_MSG_WORK_DONE) {
		assert_int_equal(size, sizeof(*d));
		assert_int_equal(d->status, 0);
		note("done %u: %u tasks, %u remapped, %u launches", (unsigned)d->work,
		     (unsigned)d->n_tasks, (unsigned)d->n_remapped, d->n_launches);
		note(d->left ? ", %u left;" : ";", d->left);
	} else {
		assert_int_equal(type, COT_MSG_WORK_COUNTS);
		note("counts of %u;", size);
	}
	return 0;
}

static bool nothing_to_count;

size_t cot_shim_counts_fill(void *packet, size_t size, bool always)
{
	assert_true(size >= sizeof(struct cot_msg_work_counts) +
				    COT_PROTO_REASONS_MAX * sizeof(struct cot_work_reason));
	memset(packet, 0, size);
	return nothing_to_count && !always ? 0 : 56;
}

/* The listener reads what comes meanwhile. */
bool cot_shim_changed_wait(uint64_t until_ns)
{
	struct cot_shim_gpu *g;

	if (now_ns >= until_ns)
		return false;
	n_waits++;
	if (n_heard < n_said && says[n_heard].at_ns < until_ns) {
		if (says[n_heard].at_ns > now_ns)
			now_ns = says[n_heard].at_ns;
		for (g = gpus; g; g = g->next)
			if (g->link.sock.fd >= 0)
				cot_shim_gpu_receive(g);
	} else {
		now_ns = until_ns;
	}
	return true;
}

/* ---- the shim ---- */

static const char first_uuid[COT_PROTO_NAME_MAX] = "GPU-1",
		  second_uuid[COT_PROTO_NAME_MAX] = "GPU-2";
static struct cot_shim_context context, other_context;
static struct cot_shim_gpu *gpu;
static struct cot_shim_need need;
static enum cot_shim_why why;

static int tear_down(void **state)
{
	struct cot_shim_gpu *g;

	(void)state;
	while ((g = gpus)) {
		gpus = g->next;
		free(g);
	}
	return 0;
}

static int set_up(void **state)
{
	struct cot_settings s = {.class_ = COT_PROTO_BATCH, .weight = 70, .tenant = 42};

	(void)tear_down(state);
	strcpy(s.socket, "the socket");
	strcpy(s.name, "it");
	cot_shim_settings = (struct cot_shim_settings){
		.common = s, .quota = 25, .reserve = 33, .wait_ms = 10000};
	now_ns = START;
	n_said = n_heard = n_opened = n_closed = n_waits = n_changes = n_wakes = 0;
	open_result = send_result = 0;
	nothing_to_count = false;
	told[0] = '\0';
	gpu = cot_shim_gpu_get(0, N_SMS, first_uuid);
	assert_non_null(gpu);
	memset(&context, 0, sizeof(context));
	memset(&other_context, 0, sizeof(other_context));
	context.gpu = other_context.gpu = gpu;
	need = (struct cot_shim_need){
		.stream = STREAM, .n_tasks = 100, .per_sm = 4, .task_ns = 7000};
	return 0;
}

static struct cot_shim_work *get(void)
{
	why = COT_SHIM_N_WHYS;
	return cot_shim_work_get(&context, &need, &why);
}

/* A work that was asked for and granted, with one user. */
static struct cot_shim_work *get_new(uint32_t capsms, uint32_t flags)
{
	struct cot_shim_work *w;
	uint64_t id = gpu->last_id + 1;
	char text[96];

	if (!gpu->welcomed) {
		welcome(0);
		grant(50 * US, id, capsms, flags);
	} else {
		grant(20 * US, id, capsms, flags);
	}
	w = get();
	assert_non_null(w);
	assert_int_equal(w->id, id);
	assert_int_equal(w->capsms, capsms);
	assert_int_equal(w->n_users, 1);
	assert_int_equal(w->state, COT_SHIM_WORK_GRANTED);
	(void)snprintf(text, sizeof(text), "request %u: %u tasks, %u on an SM, %u ns;",
		       (unsigned)id, need.n_tasks, need.per_sm, need.task_ns);
	assert_non_null(strstr(told, text));
	told[0] = '\0';
	return w;
}

/* ---- the connection ---- */

static void first_launch(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	nothing_to_count = true; /* all the same it is told how things stand */
	welcome(3 * COT_NS_PER_MS);
	grant(4 * COT_NS_PER_MS, 1, 5, COT_WORK_SETTLED);
	w = get();
	assert_non_null(w);
	expect_told("hello 42 of it on GPU-1, 10 SMs, class 1, weight 70, quota 25, reserve 33;"
		    "counts of 56;request 1: 100 tasks, 4 on an SM, 7000 ns;");
	assert_int_equal(now_ns, START + 4 * COT_NS_PER_MS);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_wakes, 1);
	assert_int_equal(w->capsms, 5);
	assert_int_equal(w->flags, COT_WORK_SETTLED);
	assert_int_equal(w->since_ns, now_ns);
	assert_ptr_equal(w->context, &context);
	assert_ptr_equal(w->gpu, gpu);
	assert_ptr_equal(w->stream, STREAM);
	assert_int_equal(w->needed, 25);
	assert_int_equal(w->n_users, 1);
	assert_int_equal(w->evicted + w->told, 0);
	assert_int_equal(gpu->works_max, 4);
}

/* No daemon: it is looked for after a second, then less and less often, and at once when found. */
static void no_daemon(void **state)
{
	static const unsigned seconds[] = {1, 2, 4, 8, 8, 8};
	unsigned i;

	(void)state;
	open_result = -ENOENT;
	for (i = 0; i < COT_ARRAY_LEN(seconds); i++) {
		assert_null(get());
		assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
		assert_int_equal(n_opened, i + 1);
		now_ns += seconds[i] * COT_NS_PER_S - 1;
		assert_null(get());
		assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
		assert_int_equal(n_opened, i + 1);
		now_ns++;
	}
	assert_int_equal(n_waits, 0);
	expect_told("");
	open_result = 0;
	(void)get_new(3, 0);
	assert_int_equal(gpu->retry_after_ns, COT_RETRY_MIN_NS);
}

/* One that does not answer is waited for once, for a second. */
static void a_mute_daemon(void **state)
{
	(void)state;
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(now_ns, START + COT_NS_PER_S);
	assert_null(get());
	assert_int_equal(now_ns, START + COT_NS_PER_S);
	assert_int_equal(n_opened, 1);
	/* When it does, all is well. */
	welcome(0);
	cot_shim_gpu_receive(gpu);
	(void)get_new(3, 0);
	assert_int_equal(n_opened, 1);
}

/* Refused is refused: nothing is asked any more. */
static void refused(void **state)
{
	struct {
		struct cot_msg_header h;
		char text[8];
	} m = {.text = "not you."};
	unsigned i;

	(void)state;
	say(COT_NS_PER_MS, COT_MSG_REFUSED, &m, sizeof(m));
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(now_ns, START + COT_NS_PER_MS);
	assert_int_equal(n_closed, 1);
	assert_string_equal(said, "the daemon refuses this program: not you.");
	told[0] = '\0';
	for (i = 0; i < 5; i++) {
		now_ns += 100 * COT_NS_PER_S;
		assert_null(get());
		cot_shim_gpu_want(gpu);
		assert_true(cot_shim_gpus_greet(now_ns) == COT_NEVER);
	}
	expect_told("");
	assert_int_equal(n_opened, 1);
}

/* A program that launches nothing as workers is introduced all the same, and again. */
static void wanted(void **state)
{
	(void)state;
	assert_true(cot_shim_gpus_greet(now_ns) == COT_NEVER);
	cot_shim_gpu_want(gpu);
	cot_shim_gpu_want(gpu);
	assert_int_equal(n_wakes, 1);
	open_result = -ENOENT;
	assert_int_equal(cot_shim_gpus_greet(now_ns), START + COT_NS_PER_S);
	assert_int_equal(cot_shim_gpus_greet(now_ns), START + COT_NS_PER_S);
	assert_int_equal(n_opened, 1);
	open_result = 0;
	now_ns = START + COT_NS_PER_S;
	assert_true(cot_shim_gpus_greet(now_ns) == COT_NEVER);
	assert_non_null(strstr(told, "hello 42"));
	assert_int_equal(n_waits, 0);
	assert_true(cot_shim_gpus_greet(now_ns) == COT_NEVER);
	assert_int_equal(n_opened, 2);
	hang_up(0, -ECONNRESET);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(cot_shim_gpus_greet(now_ns), now_ns + 2 * COT_NS_PER_S);
}

/* Whatever happens to the socket: the daemon is lost, and so are the works. */
static void lost(void **state)
{
	static const int errors[] = {-ECONNRESET, -EBADMSG, -EIO};
	static const char *const words[] = {"it hung up", "it sent a malformed packet",
					    "its socket failed"};
	struct cot_shim_work *used, *unused;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(errors); i++) {
		set_up(state);
		used = get_new(3, 0);
		need.stream = HANDLE(0x320);
		unused = get_new(2, 0);
		cot_shim_work_put(unused);
		n_changes = n_wakes = 0;
		hang_up(0, errors[i]);
		cot_shim_gpu_receive(gpu);
		assert_int_equal(n_closed, 1);
		assert_non_null(strstr(logged, words[i]));
		assert_false(gpu->welcomed);
		assert_int_equal(n_changes, 1);
		assert_int_equal(n_wakes, 1);
		assert_int_equal(used->state, COT_SHIM_WORK_LOST);
		assert_int_equal(unused->state, COT_SHIM_WORK_FREE);
		assert_int_equal(gpu->retry_ns, now_ns + COT_RETRY_MIN_NS);
		cot_shim_work_put(used);
		assert_int_equal(used->state, COT_SHIM_WORK_FREE);
		expect_told("");
	}
}

/* The same when nothing can be sent; the launch that asks goes on by itself. */
static void lost_while_asking(void **state)
{
	(void)state;
	cot_shim_work_put(get_new(3, 0));
	now_ns += COT_NS_PER_S;
	send_result = -EAGAIN;
	need.stream = HANDLE(0x320);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(n_closed, 1);
	assert_string_equal(logged, "no daemon any more: it does not read");
	assert_false(gpu->welcomed);
}

static void lost_while_waiting(void **state)
{
	(void)state;
	welcome(0);
	hang_up(5 * COT_NS_PER_MS, -ECONNRESET);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(now_ns, START + 5 * COT_NS_PER_MS);
	assert_int_equal(gpu->works[0].state, COT_SHIM_WORK_FREE);
}

static void each_gpu_has_one(void **state)
{
	struct cot_shim_gpu *second = cot_shim_gpu_get(1, 5000, second_uuid);

	(void)state;
	assert_ptr_not_equal(second, gpu);
	assert_ptr_equal(cot_shim_gpu_get(0, N_SMS, first_uuid), gpu);
	assert_ptr_equal(cot_shim_gpu_get(1, N_SMS, second_uuid), second);
	assert_int_equal(second->n_sms, COT_PROTO_SMS_MAX);
	assert_int_equal(gpu->n_sms, N_SMS);
	assert_int_equal(second->link.sock.fd, -1);
	assert_ptr_equal(cot_shim_gpus_first(), second);
	second->link.sock.fd = gpu->link.sock.fd = 5;
	cot_shim_gpus_forget();
	assert_null(cot_shim_gpus_first());
	assert_int_equal(second->link.sock.fd, -1);
	assert_int_equal(gpu->link.sock.fd, -1);
	free(second);
	free(gpu);
}

/* ---- waiting for a grant ---- */

/* At first the launch reads by itself; later it sleeps until the listener has read. */
static void reads_by_itself_at_first(void **state)
{
	static const struct {
		uint8_t class_;
		uint64_t after_us;
		bool sleeps;
	} rows[] = {
		{COT_PROTO_BATCH, 150, false},
		{COT_PROTO_BATCH, 260, true},
		{COT_PROTO_LATENCY, 900, false},
		{COT_PROTO_LATENCY, 1100, true},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		set_up(state);
		cot_shim_work_put(get_new(3, 0));
		now_ns += COT_NS_PER_S;
		cot_shim_settings.common.class_ = rows[i].class_;
		n_waits = 0;
		grant(rows[i].after_us * US, 2, 3, 0);
		assert_non_null(get());
		assert_int_equal(n_waits > 0, rows[i].sleeps);
	}
}

/* What comes after the launch went on by itself is given back at once. */
static void too_late(void **state)
{
	(void)state;
	cot_shim_settings.wait_ms = 300;
	welcome(0);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_WAITED);
	assert_int_equal(now_ns, START + 300 * COT_NS_PER_MS);
	told[0] = '\0';
	grant(0, 1, 4, 0);
	cot_shim_gpu_receive(gpu);
	expect_told("done 1: 0 tasks, 0 remapped, 0 launches;");
	assert_int_equal(gpu->works[0].state, COT_SHIM_WORK_FREE);
}

/* Granted and taken back before the launch has seen it. */
static void evicted_at_once(void **state)
{
	struct cot_msg_work_evict m = {.work = 1, .capsms = 4};

	(void)state;
	welcome(0);
	grant(50 * US, 1, 4, COT_WORK_SETTLED);
	say(50 * US, COT_MSG_WORK_EVICT, &m, sizeof(m));
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_WAITED);
	assert_non_null(strstr(told, "done 1: 0 tasks"));
	assert_int_equal(gpu->works[0].state, COT_SHIM_WORK_FREE);
}

/* A grant of nothing is no daemon's. */
static void granted_nothing(void **state)
{
	(void)state;
	welcome(0);
	grant(50 * US, 1, 0, 0);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_NO_DAEMON);
	assert_int_equal(n_closed, 1);
}

/* ---- launches in a row ---- */

static void one_grant_for_a_stream(void **state)
{
	struct cot_shim_work *w = get_new(3, 0);

	(void)state;
	assert_ptr_equal(get(), w);
	assert_int_equal(w->n_users, 2);
	cot_shim_work_put(w);
	cot_shim_work_put(w);
	assert_ptr_equal(get(), w);
	assert_int_equal(w->n_users, 1);
	expect_told("");
}

/* Another stream, another thread's default stream, another context: other works. */
static void works_are_apart(void **state)
{
	struct cot_shim_work *first = get_new(3, 0), *second, *third, *fourth;

	(void)state;
	need.stream = HANDLE(0x320);
	second = get_new(3, 0);
	need.thread = 9;
	third = get_new(3, 0);
	assert_int_equal(third->thread, 9);
	grant(20 * US, 4, 2, 0);
	fourth = cot_shim_work_get(&other_context, &need, &why);
	assert_non_null(fourth);
	assert_ptr_equal(fourth->context, &other_context);
	assert_ptr_not_equal(first, second);
	assert_ptr_not_equal(second, third);
	assert_ptr_not_equal(third, fourth);
	/* Each finds its own again. */
	assert_ptr_equal(get(), third);
	need.thread = 0;
	assert_ptr_equal(get(), second);
	need.stream = STREAM;
	assert_ptr_equal(get(), first);
}

/* As many at a time as the daemon allows. */
static void too_many_works(void **state)
{
	struct cot_shim_work *w[4], *again;
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		need.stream = HANDLE(0x400 + 16 * i);
		w[i] = get_new(1, 0);
	}
	need.stream = HANDLE(0x800);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_BUSY);
	expect_told("");
	/* One that idles gives way. */
	cot_shim_work_put(w[2]);
	grant(20 * US, 5, 1, 0);
	again = get();
	assert_ptr_equal(again, w[2]);
	expect_told("done 3: 0 tasks, 0 remapped, 0 launches;"
		    "request 5: 100 tasks, 4 on an SM, 7000 ns;");
}

/* A work that is old ends, and the stream asks anew: sooner when it is idle. */
static void works_grow_old(void **state)
{
	struct cot_shim_work *w = get_new(3, 0), *other;
	uint64_t since = now_ns;

	(void)state;
	now_ns = since + 50 * COT_NS_PER_MS - 1;
	assert_ptr_equal(get(), w);
	now_ns++;
	other = get_new(3, 0);
	assert_ptr_not_equal(other, w);
	assert_true(w->ending);
	/* The old one ends with its launches. */
	cot_shim_work_put(w);
	expect_told("");
	cot_shim_work_put(w);
	expect_told("done 1: 0 tasks, 0 remapped, 0 launches;");
	cot_shim_work_put(other);
	now_ns = other->since_ns + 5 * COT_NS_PER_MS - 1;
	assert_ptr_equal(get(), other);
	cot_shim_work_put(other);
	now_ns++;
	grant(20 * US, 3, 3, 0);
	assert_non_null(get());
	expect_told("done 2: 0 tasks, 0 remapped, 0 launches;"
		    "request 3: 100 tasks, 4 on an SM, 7000 ns;");
}

/* A small work that has all that it had tasks for is too small for a larger launch. */
static void too_small(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	need.n_tasks = 9; /* 3 CapSMs hold them */
	w = get_new(3, 0);
	assert_int_equal(w->needed, 3);
	need.n_tasks = 12;
	assert_ptr_equal(get(), w);
	need.n_tasks = 13;
	assert_ptr_not_equal(get_new(4, 0), w);
	assert_true(w->ending);
}

/* One that got less than it had tasks for would get no more. */
static void small_by_order(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	need.n_tasks = 16;
	w = get_new(3, 0);
	assert_int_equal(w->needed, 4);
	need.n_tasks = 1000;
	assert_ptr_equal(get(), w);
}

/* And nobody gets more than all. */
static void all_of_the_gpu(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	need.n_tasks = 4 * N_SMS;
	w = get_new(N_SMS, 0);
	need.n_tasks = 100000;
	assert_ptr_equal(get(), w);
}

/* What was evicted is not there for a launch. */
static void evicted_is_gone(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	need.n_tasks = 12;
	w = get_new(3, COT_WORK_SETTLED);
	evict(1, 2);
	cot_shim_gpu_receive(gpu);
	need.n_tasks = 4;
	assert_ptr_equal(get(), w);
	need.n_tasks = 5;
	assert_ptr_not_equal(get_new(2, 0), w);
	set_up(state);
	w = get_new(3, COT_WORK_SETTLED);
	evict(1, 3);
	cot_shim_gpu_receive(gpu);
	assert_ptr_not_equal(get_new(3, 0), w);
}

/* ---- what the daemon says while it runs ---- */

static void grows(void **state)
{
	struct cot_shim_work *w = get_new(3, 0);

	(void)state;
	grant(0, 1, 5, 0);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->capsms, 5);
	grant(0, 1, 4, 0);
	grant(0, 77, 9, 0);
	grant(0, 0, 9, 0);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->capsms, 5);
	assert_int_equal(w->flags, 0);
	assert_int_equal(gpu->works[1].state, COT_SHIM_WORK_FREE);
	assert_int_equal(gpu->works[1].capsms, 0);
	expect_told("");
}

/* Somebody stays to finish, unless the launch waits itself. */
static void leaves(void **state)
{
	struct cot_shim_work *w = get_new(5, 0);

	(void)state;
	n_wakes = 0;
	evict(1, 2);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->evicted, 2);
	assert_int_equal(n_wakes, 1);
	evict(1, 1);
	evict(1, 2);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->evicted, 2);
	assert_int_equal(n_wakes, 1);
	evict(1, 100);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->evicted, 4);
	evict(99, 1);
	cot_shim_gpu_receive(gpu);
	expect_told("");
	/* With its last user it ends: what was taken back does not come again. */
	cot_shim_work_put(w);
	expect_told("done 1: 0 tasks, 0 remapped, 0 launches;");
	set_up(state);
	w = get_new(5, COT_WORK_SETTLED);
	evict(1, 100);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->evicted, 5);
}

/* A work that nobody uses ends when some of it is wanted. */
static void leaves_idle(void **state)
{
	struct cot_shim_work *w = get_new(5, 0);

	(void)state;
	cot_shim_work_put(w);
	expect_told("");
	evict(1, 1);
	cot_shim_gpu_receive(gpu);
	expect_told("done 1: 0 tasks, 0 remapped, 0 launches;");
	assert_int_equal(w->state, COT_SHIM_WORK_FREE);
}

/* A work that still waits has nothing to leave. */
static void not_granted_yet(void **state)
{
	struct cot_msg_work_evict m = {.work = 1, .capsms = 2};

	(void)state;
	welcome(0);
	say(COT_NS_PER_MS, COT_MSG_WORK_EVICT, &m, sizeof(m));
	grant(2 * COT_NS_PER_MS, 1, 4, 0);
	assert_non_null(get());
	assert_int_equal(gpu->works[0].evicted, 0);
}

static void tells_who_left(void **state)
{
	struct cot_shim_work *w = get_new(5, 0);

	(void)state;
	evict(1, 2);
	cot_shim_gpu_receive(gpu);
	w->evict_ns = now_ns;
	cot_shim_work_tell_evicted(w, now_ns + 500);
	expect_told("evicted 1: 2 after 500 ns;");
	assert_int_equal(w->told, 2);
	w->evict_ns = 0;
	cot_shim_work_tell_evicted(w, now_ns + 500);
	expect_told("evicted 1: 2 after 0 ns;");
	w->evict_ns = now_ns;
	cot_shim_work_tell_evicted(w, now_ns - 1);
	expect_told("evicted 1: 2 after 0 ns;");
	w->state = COT_SHIM_WORK_LOST;
	w->evicted = 3;
	cot_shim_work_tell_evicted(w, now_ns);
	expect_told("");
	assert_int_equal(w->told, 3);
}

/* ---- ends ---- */

/* A stream that pauses keeps its grant for a moment: a shorter one in latency programs. */
static void lingers(void **state)
{
	static const struct {
		uint8_t class_;
		uint64_t for_us;
	} rows[] = {{COT_PROTO_BATCH, 500}, {COT_PROTO_LATENCY, 250}};
	struct cot_shim_work *w, *busy;
	uint64_t idle;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		set_up(state);
		cot_shim_settings.common.class_ = rows[i].class_;
		w = get_new(3, 0);
		need.stream = HANDLE(0x320);
		busy = get_new(3, 0);
		assert_true(cot_shim_works_expire(now_ns + COT_NS_PER_S) == COT_NEVER);
		w->n_tasks = 100;
		w->n_remapped = 7;
		w->n_launches = 2;
		now_ns += COT_NS_PER_MS;
		idle = now_ns;
		cot_shim_work_put(w);
		assert_int_equal(cot_shim_works_expire(idle), idle + rows[i].for_us * US);
		now_ns = idle + rows[i].for_us * US - 1;
		assert_int_equal(cot_shim_works_expire(now_ns), now_ns + 1);
		expect_told("");
		assert_true(cot_shim_works_expire(now_ns + 1) == COT_NEVER);
		expect_told("done 1: 100 tasks, 7 remapped, 2 launches;");
		assert_int_equal(w->state, COT_SHIM_WORK_FREE);
		assert_int_equal(busy->state, COT_SHIM_WORK_GRANTED);
	}
}

/* The first to expire says when to come again. */
static void the_first_to_expire(void **state)
{
	struct cot_shim_work *a = get_new(3, 0), *b;
	uint64_t first;

	(void)state;
	need.stream = HANDLE(0x320);
	b = get_new(3, 0);
	cot_shim_work_put(b);
	first = now_ns;
	now_ns += 100 * US;
	cot_shim_work_put(a);
	assert_int_equal(cot_shim_works_expire(now_ns), first + 500 * US);
	assert_int_equal(cot_shim_works_expire(first + 500 * US), now_ns + 500 * US);
	expect_told("done 2: 0 tasks, 0 remapped, 0 launches;");
}

/* A context that ends gives its works back, and no others. */
static void contexts_give_back(void **state)
{
	struct cot_shim_context no_gpu = {.gpu = NULL};
	struct cot_shim_work *used = get_new(3, 0), *unused, *foreign;

	(void)state;
	need.stream = HANDLE(0x320);
	unused = get_new(3, 0);
	cot_shim_work_put(unused);
	grant(20 * US, 3, 2, 0);
	foreign = cot_shim_work_get(&other_context, &need, &why);
	cot_shim_work_put(foreign);
	told[0] = '\0';
	cot_shim_works_close(&no_gpu);
	cot_shim_works_close(&context);
	expect_told("done 2: 0 tasks, 0 remapped, 0 launches;");
	assert_int_equal(unused->state, COT_SHIM_WORK_FREE);
	assert_true(used->ending);
	assert_false(foreign->ending);
	assert_int_equal(foreign->state, COT_SHIM_WORK_GRANTED);
	/* What still runs gives back when it ends. */
	cot_shim_work_put(used);
	expect_told("done 1: 0 tasks, 0 remapped, 0 launches;");
}

/* ---- the rest of what was evicted ---- */

static void granted_again(void **state)
{
	struct cot_shim_work *w = get_new(5, COT_WORK_SETTLED);

	(void)state;
	evict(1, 5);
	cot_shim_gpu_receive(gpu);
	w->told = 5;
	w->n_tasks = 40;
	w->n_launches = 1;
	grant(COT_NS_PER_MS, 1, 7, COT_WORK_SETTLED);
	assert_true(cot_shim_work_regrant(w, 60));
	expect_told("done 1: 40 tasks, 0 remapped, 1 launches, 60 left;");
	assert_int_equal(w->capsms, 7);
	assert_int_equal(w->evicted + w->told, 0);
	assert_int_equal(w->n_tasks + w->n_launches, 0);
	assert_int_equal(w->n_users, 1);
}

/* No grant in time: the rest is done without, and a grant that comes later goes back. */
static void granted_again_too_late(void **state)
{
	struct cot_shim_work *w = get_new(5, COT_WORK_SETTLED);
	uint64_t before = now_ns;

	(void)state;
	assert_false(cot_shim_work_regrant(w, 60));
	assert_int_equal(now_ns, before + 10 * COT_NS_PER_S);
	assert_true(w->ending);
	told[0] = '\0';
	grant(0, 1, 3, 0);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->state, COT_SHIM_WORK_GRANTED);
	expect_told("");
	/* Its stream asks anew meanwhile. */
	assert_ptr_not_equal(get_new(2, 0), w);
	cot_shim_work_put(w);
	expect_told("done 1: 0 tasks, 0 remapped, 0 launches;");
}

static void never_granted_again(void **state)
{
	struct cot_shim_work *w = get_new(5, COT_WORK_SETTLED);

	(void)state;
	send_result = -EPIPE;
	assert_false(cot_shim_work_regrant(w, 60));
	assert_int_equal(w->state, COT_SHIM_WORK_LOST);
	send_result = 0;
	assert_false(cot_shim_work_regrant(w, 60));
	expect_told("");
	cot_shim_work_put(w);
	assert_int_equal(w->state, COT_SHIM_WORK_FREE);
}

/* ---- counts ---- */

static void counts_once_a_second(void **state)
{
	(void)state;
	cot_shim_gpu_send_counts(gpu, now_ns, true);
	expect_told(""); /* nobody is there yet */
	(void)get_new(3, 0);
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns + COT_NS_PER_S - 1, false);
	expect_told("");
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns + COT_NS_PER_S, false);
	expect_told("counts of 56;");
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns, false);
	expect_told("");
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns, true);
	expect_told("counts of 56;");
	nothing_to_count = true;
	cot_shim_gpu_send_counts(gpu, gpu->counts_ns + 2 * COT_NS_PER_S, false);
	expect_told("");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(first_launch),
		TEST(no_daemon),
		TEST(a_mute_daemon),
		TEST(refused),
		TEST(wanted),
		TEST(lost),
		TEST(lost_while_asking),
		TEST(lost_while_waiting),
		TEST(each_gpu_has_one),
		TEST(reads_by_itself_at_first),
		TEST(too_late),
		TEST(evicted_at_once),
		TEST(granted_nothing),
		TEST(one_grant_for_a_stream),
		TEST(works_are_apart),
		TEST(too_many_works),
		TEST(works_grow_old),
		TEST(too_small),
		TEST(small_by_order),
		TEST(all_of_the_gpu),
		TEST(evicted_is_gone),
		TEST(grows),
		TEST(leaves),
		TEST(leaves_idle),
		TEST(not_granted_yet),
		TEST(tells_who_left),
		TEST(lingers),
		TEST(the_first_to_expire),
		TEST(contexts_give_back),
		TEST(granted_again),
		TEST(granted_again_too_late),
		TEST(never_granted_again),
		TEST(counts_once_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
