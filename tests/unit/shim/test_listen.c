/*
 * The listener: flags that make workers leave, and seeing them go. The unit is in a shared library,
 * so its source is here; the driver, the rest of the shim and the clock are played.
 */
#include <signal.h>
#include <string.h>

#include "locked.h"
#include "notes.h"
#include "test.h"

/* Its sleep is the test's. */
#define ppoll played_ppoll
#include "guest/shim/listen.c"
#include "no_parts.h"
#undef ppoll

#define HANDLE(n) ((cot_shim_handle)(uintptr_t)(n))
#define START	  (100 * COT_NS_PER_S)
#define MS	  COT_NS_PER_MS
#define MEMORY	  0x10000u

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_wake cot_shim_to_listen = {.ring = {.fd = -1}, .listen = {.fd = 6}};
_Atomic bool cot_shim_stopping;
void *cot_real_cuCtxSetCurrent;

/* Behind the last work and the last slot there is one that has to leave: nobody looks at it. */
static struct {
	struct cot_shim_gpu gpu;
	struct cot_shim_work beyond;
} gpus;
static struct {
	struct cot_shim_context context;
	struct cot_shim_slot beyond;
} contexts;
static struct cot_shim_gpu *const gpu = &gpus.gpu;
static struct cot_shim_context *const context = &contexts.context;
static struct cot_workers_control host[COT_SHIM_SLOTS];
static struct cot_shim_ref ref;
static struct cot_shim_slot *first; /* of the work, as the watcher has it */
static uint64_t now_ns, greet_ns;
static bool counts_change, can_read;
static unsigned n_counts, n_rests, n_received, n_cleared;
static unsigned n_gpus, n_changes;
static void (*at_read)(void);

static int set_current(cot_shim_handle handle)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(handle, context->handle);
	return 0;
}

uint64_t cot_now_ns(void)
{
	return now_ns;
}

struct cot_shim_context *cot_shim_contexts_first(void)
{
	return context;
}

struct cot_shim_gpu *cot_shim_gpus_first(void)
{
	return gpu;
}

struct cot_shim_slot *cot_shim_watch_first(const struct cot_shim_work *w)
{
	return first && first->work == w ? first : NULL;
}

int cot_shim_write(const struct cot_shim_context *c, CUstream stream, CUdeviceptr at,
		   uint32_t value)
{
	uint64_t slot = (at - MEMORY) / sizeof(host[0]);

	assert_true(is_locked(&context->submit));
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(c, context);
	assert_ptr_equal(stream, context->stream);
	assert_int_equal((at - MEMORY) % sizeof(host[0]), COT_WORKERS_EVICT_OFFSET);
	note("%llu leave from %u%s;", value & ~(unsigned long long)COT_WORKERS_EVICT_ANYWHERE,
	     (unsigned)slot, value & COT_WORKERS_EVICT_ANYWHERE ? " anywhere" : "");
	return 0;
}

int cot_shim_read(struct cot_shim_slot *s)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_int_equal(s->context->n_busy, 1);
	note("read %u;", s->index);
	if (at_read)
		at_read();
	return !can_read;
}

void cot_shim_work_tell_evicted(struct cot_shim_work *w, uint64_t now)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_int_equal(now, now_ns);
	w->told = w->evicted;
	note("told %u;", w->told);
}

void cot_shim_changed(void)
{
	assert_true(is_locked(&cot_shim_lock));
	n_changes++;
}

uint64_t cot_shim_gpus_greet(uint64_t now)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_int_equal(now, now_ns);
	return greet_ns;
}

void cot_shim_gpu_send_counts(struct cot_shim_gpu *g, uint64_t now, bool always)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_true(g && now == now_ns && !always);
	n_counts++;
}

bool cot_shim_counts_changed(void)
{
	return counts_change;
}

void cot_shim_counts_rest(void)
{
	n_rests++;
}

void cot_shim_gpu_receive(struct cot_shim_gpu *g)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_int_equal(g->link.sock.fd, 9 + (int)(n_received % n_gpus));
	n_received++;
}

void cot_wake_clear(struct cot_wake *w)
{
	atomic_store(&w->pending, false);
	n_cleared++;
}

struct timespec cot_shim_span(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / COT_NS_PER_S),
				 .tv_nsec = (long)(ns % COT_NS_PER_S)};
}

/* How long the listener meant to sleep. */
static uint64_t slept_ns;
static unsigned n_polls, n_listened; /* of all GPUs, from how many something may come */

int played_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	assert_false(is_locked(&cot_shim_lock));
	nfds_t i;

	assert_true(n == 1 + n_listened && !mask);
	assert_int_equal(p[0].fd, 6);
	assert_int_equal(p[0].events, POLLIN);
	for (i = 1; i < n; i++) {
		assert_int_equal(p[i].fd, 8 + (int)i);
		assert_int_equal(p[i].events, POLLIN);
	}
	slept_ns = t ? (uint64_t)t->tv_sec * COT_NS_PER_S + (uint64_t)t->tv_nsec : COT_NEVER;
	if (++n_polls == 2)
		atomic_store(&cot_shim_stopping, true);
	return 0;
}

/* 12 workers, 4 on an SM, of a work of 3 CapSMs. */
static struct cot_shim_work *work;

static void add_slot(unsigned i, enum cot_shim_slot_state state)
{
	context->slots[i] = (struct cot_shim_slot){
		.context = context,
		.index = i,
		.state = state,
		.control = MEMORY + i * sizeof(host[0]),
		.ref = &ref,
		.work = work,
		.args = {.n_tasks = 1000, .n_workers = 12, .per_sm = 4, .chunk = 2},
		.n_units = 3,
	};
}

static int set_up(void **state)
{
	(void)state;
	cot_real_cuCtxSetCurrent = (void *)(uintptr_t)set_current;
	memset(&gpus, 0, sizeof(gpus));
	memset(&contexts, 0, sizeof(contexts));
	memset(host, 0, sizeof(host));
	pthread_mutex_init(&context->submit, NULL);
	cot_shim_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	context->handle = HANDLE(0x100);
	context->stream = HANDLE(0x999);
	context->host = host;
	context->gpu = gpu;
	context->usable = true;
	gpu->link.sock.fd = 9;
	gpu->welcomed = true;
	ref = (struct cot_shim_ref){.task_ns = 100000};
	work = &gpu->works[1];
	*work = (struct cot_shim_work){.state = COT_SHIM_WORK_GRANTED,
				       .gpu = gpu,
				       .context = context,
				       .n_users = 1,
				       .capsms = 3};
	gpus.beyond = *work;
	gpus.beyond.evicted = 2;
	contexts.beyond = (struct cot_shim_slot){.context = context,
						 .state = COT_SHIM_SLOT_RUNNING,
						 .work = &gpus.beyond,
						 .n_units = 3};
	add_slot(1, COT_SHIM_SLOT_RUNNING);
	first = &context->slots[1];
	now_ns = START;
	greet_ns = COT_NEVER;
	counts_change = false;
	can_read = true;
	n_listened = n_gpus = 1;
	n_changes = 0;
	n_counts = n_rests = n_received = n_cleared = n_polls = 0;
	at_read = NULL;
	written[0] = '\0';
	atomic_store(&cot_shim_stopping, false);
	atomic_store(&cot_shim_to_listen.pending, false);
	return 0;
}

/* What the listener does with the lock, once. Whether it has to look again soon. */
static bool pass(void)
{
	uint64_t oldest;

	pthread_mutex_lock(&cot_shim_lock);
	carry_out();
	oldest = look();
	pthread_mutex_unlock(&cot_shim_lock);
	assert_int_equal(context->n_busy, 0);
	return oldest != 0;
}

/* ---- flags ---- */

static void nobody_leaves(void **state)
{
	(void)state;
	assert_false(pass());
	expect_done("");
	assert_int_equal(work->evict_ns, 0);
}

/* So many units leave that what stays is what the work still has. */
static void some_leave(void **state)
{
	(void)state;
	work->evicted = 2;
	assert_true(pass());
	expect_done("2 leave from 1;read 1;");
	assert_int_equal(n_changes, 2); /* whoever waits for the context may go on */
	assert_int_equal(work->evict_ns, START);
	assert_int_equal(context->slots[1].flag, 2);
	/* Written once; looked at again. */
	now_ns += MS;
	assert_true(pass());
	expect_done("read 1;");
	assert_int_equal(work->evict_ns, START);
	host[1].ended = 7;
	assert_true(pass());
	expect_done("read 1;");
	host[1].ended = 8;
	host[1].next = 400;
	assert_false(pass());
	expect_done("read 1;told 2;");
	assert_int_equal(work->evict_ns, 0);
	assert_int_equal(work->n_remapped, 600 * 2 / 3);
	assert_false(pass());
	expect_done("");
	/* More of them. */
	now_ns += MS;
	work->evicted = 3;
	context->slots[1].settled = true;
	assert_true(pass());
	expect_done("3 leave from 1;read 1;");
	assert_int_equal(work->evict_ns, now_ns);
}

/* A launch as large as the GPU, of which seven units of ten were never to stay. */
static struct cot_shim_slot *gather(void)
{
	struct cot_shim_slot *s = &context->slots[1];

	s->args.n_workers = 40;
	s->n_units = 10;
	s->surplus = s->flag = 7;
	return s;
}

/* They count as gone, and left nothing to the others. */
static void some_of_those_that_stayed(void **state)
{
	(void)state;
	(void)gather();
	assert_false(pass());
	expect_done("");
	host[1].next = 400;
	work->evicted = 1;
	assert_true(pass());
	expect_done("8 leave from 1;read 1;");
	host[1].ended = 31;
	assert_true(pass());
	expect_done("read 1;");
	host[1].ended = 32;
	assert_false(pass());
	expect_done("read 1;told 1;");
	assert_int_equal(work->n_remapped, 600 / 3);
}

/* The work has grown: the launch has no more than it still may have, whoever has not left yet. */
static void the_surplus_is_not_waited_for(void **state)
{
	(void)state;
	(void)gather();
	work->capsms = 5;
	work->evicted = 2;
	assert_false(pass());
	expect_done("told 2;");
	now_ns += COT_NS_PER_S;
	work->capsms = 6;
	work->evicted = 3;
	assert_false(pass());
	expect_done("told 3;");
}

/* Of a launch that cannot be launched again, one unit stays. */
static void one_stays(void **state)
{
	(void)state;
	work->evicted = 3;
	(void)pass();
	expect_done("2 leave from 1;read 1;");
	set_up(state);
	context->slots[1].settled = true;
	work->evicted = 3;
	(void)pass();
	expect_done("3 leave from 1;read 1;");
	host[1].ended = 11;
	(void)pass();
	assert_int_equal(work->told, 0);
	host[1].ended = 12;
	(void)pass();
	assert_int_equal(work->told, 3);
}

/* The fewer workers there are, the fewer have to leave. */
static void small_launches(void **state)
{
	(void)state;
	context->slots[1].n_units = 1;
	context->slots[1].args.n_workers = 3;
	work->evicted = 2;
	assert_false(pass());
	expect_done("told 2;");
	assert_int_equal(work->n_remapped, 0);
	set_up(state);
	context->slots[1].settled = true;
	context->slots[1].n_units = 1;
	context->slots[1].args.n_workers = 3;
	work->evicted = 3;
	host[1].ended = 3;
	assert_false(pass());
	expect_done("1 leave from 1;read 1;told 3;");
	/* Nothing is left to others when all tasks have been claimed. */
	set_up(state);
	work->evicted = 1;
	host[1].ended = 4;
	host[1].next = 1000;
	assert_false(pass());
	assert_int_equal(work->n_remapped, 0);
	set_up(state);
	work->evicted = 1;
	host[1].ended = 4;
	host[1].next = 1001;
	assert_false(pass());
	assert_int_equal(work->n_remapped, 0);
}

/* Who is not launched yet, or made of the program's own kernel, or of another work. */
static void states_of_slots(void **state)
{
	static const enum cot_shim_slot_state silent[] = {COT_SHIM_SLOT_FREE, COT_SHIM_SLOT_HELD,
							  COT_SHIM_SLOT_ARMING};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(silent); i++) {
		set_up(state);
		context->slots[1].state = silent[i];
		first = NULL;
		work->evicted = 2;
		assert_true(pass());
		expect_done("");
	}
	set_up(state);
	context->slots[1].state = COT_SHIM_SLOT_TAKEN;
	first = NULL;
	work->evicted = 2;
	assert_true(pass());
	expect_done("2 leave from 1;");
	set_up(state);
	context->slots[1].original = true;
	work->evicted = 2;
	assert_true(pass());
	expect_done("");
	set_up(state);
	work->state = COT_SHIM_WORK_LOST;
	work->evicted = 2;
	assert_false(pass());
	expect_done("");
	set_up(state);
	work->n_users = 0;
	work->evicted = 2;
	assert_false(pass());
	expect_done("");
}

/* Those behind the first launch may leave from anywhere: nobody looks at them later on. */
static void several_launches(void **state)
{
	(void)state;
	add_slot(2, COT_SHIM_SLOT_RUNNING);
	add_slot(3, COT_SHIM_SLOT_TAKEN);
	work->evicted = 1;
	assert_true(pass());
	expect_done("1 leave from 1;1 leave from 2 anywhere;1 leave from 3 anywhere;read 1;");
}

/* Where there are fewer on the right SMs than thought, others go too, after a while. */
static void patience(void **state)
{
	uint64_t until = START + 2 * MS + 4 * 2 * 100000;

	(void)state;
	work->evicted = 1;
	assert_true(pass());
	written[0] = '\0';
	now_ns = START;
	assert_true(pass()); /* the launch is seen to run: the time begins */
	now_ns = until;
	assert_true(pass());
	expect_done("read 1;read 1;");
	now_ns++;
	assert_true(pass());
	expect_done("1 leave from 1 anywhere;read 1;");
	now_ns += COT_NS_PER_S;
	assert_true(pass());
	expect_done("read 1;");
}

/* Nobody else is sent away for those that are there no more, or cannot go yet. */
static void no_impatience(void **state)
{
	(void)state;
	/* They have left, but that could not be told. */
	work->evicted = 1;
	host[1].ended = 4;
	can_read = false;
	assert_true(pass());
	now_ns += COT_NS_PER_S;
	assert_true(pass());
	now_ns += COT_NS_PER_S;
	assert_true(pass());
	expect_done("1 leave from 1;read 1;read 1;read 1;");
	/* The launch is not in its stream yet. */
	set_up(state);
	context->slots[1].state = COT_SHIM_SLOT_TAKEN;
	work->evicted = 1;
	(void)pass();
	now_ns += COT_NS_PER_S;
	(void)pass();
	now_ns += COT_NS_PER_S;
	(void)pass();
	expect_done("1 leave from 1;read 1;read 1;read 1;");
	/* Another launch is in front of it now. */
	set_up(state);
	work->evicted = 1;
	(void)pass();
	add_slot(2, COT_SHIM_SLOT_RUNNING);
	context->slots[2].flag = 3;
	first = &context->slots[2];
	context->slots[2].anywhere = true;
	now_ns += COT_NS_PER_S;
	(void)pass();
	now_ns += COT_NS_PER_S;
	(void)pass();
	expect_done("1 leave from 1;read 1;read 2;read 2;");
	/* More have to go: they have as much time. */
	set_up(state);
	work->evicted = 1;
	(void)pass();
	(void)pass();
	now_ns += 2 * MS;
	work->evicted = 2;
	(void)pass();
	now_ns += 2 * MS;
	(void)pass();
	now_ns += 2 * MS;
	(void)pass();
	expect_done("1 leave from 1;read 1;read 1;2 leave from 1;read 1;read 1;read 1;");
}

static void ends_meanwhile(void)
{
	context->slots[1].state = COT_SHIM_SLOT_FREE;
}

/* The launch ends while it is looked at; or it cannot be read. */
static void nothing_to_see(void **state)
{
	(void)state;
	work->evicted = 1;
	host[1].ended = 12;
	at_read = ends_meanwhile;
	assert_true(pass());
	assert_int_equal(work->told, 0);
	set_up(state);
	work->evicted = 1;
	host[1].ended = 12;
	can_read = false;
	assert_true(pass());
	assert_int_equal(work->told, 0);
}

/* A context that ends is left alone. */
static void contexts_that_end(void **state)
{
	(void)state;
	work->evicted = 2;
	first = NULL;
	context->closing = true;
	assert_true(pass());
	context->closing = false;
	context->usable = false;
	assert_true(pass());
	expect_done("");
	assert_int_equal(work->evict_ns, 0);
}

/* ---- sleeping ---- */

/* Two passes; how long it means to sleep after the first one. */
static uint64_t sleeps_for(void)
{
	n_polls = 0;
	atomic_store(&cot_shim_stopping, false);
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_listen();
	pthread_mutex_unlock(&cot_shim_lock);
	return slept_ns;
}

static void sleeps(void **state)
{
	(void)state;
	/* Works are there: it counts once a second. */
	assert_int_equal(sleeps_for(), COT_NS_PER_S);
	assert_int_equal(n_rests, 0);
	assert_int_equal(n_counts, 2);
	assert_int_equal(n_received, 2);
	/* None are, and nothing changes: until something comes. */
	work->state = COT_SHIM_WORK_FREE;
	assert_true(sleeps_for() == COT_NEVER);
	assert_true(n_rests > 0);
	n_rests = 0;
	counts_change = true;
	assert_int_equal(sleeps_for(), COT_NS_PER_S);
	assert_int_equal(n_rests, 0);
	gpu->welcomed = false;
	assert_true(sleeps_for() == COT_NEVER);
	/* Until a daemon is looked for again. */
	greet_ns = START + 7 * MS;
	assert_int_equal(sleeps_for(), 7 * MS);
	greet_ns = START - 1;
	assert_int_equal(sleeps_for(), 0);
	gpu->welcomed = true;
	greet_ns = START + 2 * COT_NS_PER_S;
	assert_int_equal(sleeps_for(), COT_NS_PER_S);
}

/* Of as many as there is room for; the others are read in their turn. */
static void many_gpus(void **state)
{
	static struct cot_shim_gpu more[GPUS_MAX];
	unsigned i;

	(void)state;
	memset(more, 0, sizeof(more));
	for (i = 0; i < GPUS_MAX; i++) {
		more[i].link.sock.fd = 10 + (int)i;
		more[i].next = i + 1 < GPUS_MAX ? &more[i + 1] : NULL;
	}
	gpu->next = more;
	n_gpus = 1 + GPUS_MAX;
	n_listened = GPUS_MAX;
	assert_int_equal(sleeps_for(), COT_NS_PER_S);
	assert_int_equal(n_received, 2 * n_gpus);
	assert_int_equal(n_counts, 2 * n_gpus);
	/* The last one has works, too. */
	work->state = COT_SHIM_WORK_FREE;
	assert_true(sleeps_for() == COT_NEVER);
	more[GPUS_MAX - 1].welcomed = true;
	more[GPUS_MAX - 1].works[COT_PROTO_WORKS_MAX - 1].state = COT_SHIM_WORK_GRANTED;
	assert_int_equal(sleeps_for(), COT_NS_PER_S);
}

/* The first and the last of its works are as good as the others. */
static void any_work_leaves(void **state)
{
	static const unsigned which[] = {0, COT_PROTO_WORKS_MAX - 1};
	unsigned i;

	for (i = 0; i < 2; i++) {
		set_up(state);
		gpu->works[which[i]] = *work;
		work->state = COT_SHIM_WORK_FREE;
		work = &gpu->works[which[i]];
		add_slot(0, COT_SHIM_SLOT_RUNNING);
		add_slot(COT_SHIM_SLOTS - 1, COT_SHIM_SLOT_RUNNING);
		context->slots[1].state = COT_SHIM_SLOT_FREE;
		first = &context->slots[0];
		work->evicted = 1;
		assert_true(pass());
		expect_done("1 leave from 0;1 leave from 511 anywhere;read 0;");
		assert_int_equal(work->evict_ns, START);
		host[0].ended = 4;
		assert_false(pass());
		assert_int_equal(work->told, 1);
		work->evicted = 0;
		assert_int_equal(sleeps_for(), COT_NS_PER_S); /* it is there */
	}
}

/* The oldest flag says for how long it looks without a pause. */
static void the_oldest_flag(void **state)
{
	struct cot_shim_work *other;

	(void)state;
	other = &gpu->works[2];
	*other = *work;
	work->evicted = other->evicted = 1;
	first = NULL; /* of neither anything is seen */
	work->evict_ns = START + 5;
	other->evict_ns = START + 3;
	pthread_mutex_lock(&cot_shim_lock);
	assert_int_equal(look(), START + 3);
	other->evict_ns = START + 7;
	assert_int_equal(look(), START + 5);
	other->evict_ns = 0; /* it was not written yet */
	assert_int_equal(look(), 1);
	pthread_mutex_unlock(&cot_shim_lock);
}

/* While workers are to leave, it does not sleep; later not for long. */
static void looks_without_pause(void **state)
{
	(void)state;
	work->evicted = 1;
	assert_int_equal(sleeps_for(), 0);
	now_ns += 2 * MS - 1;
	assert_int_equal(sleeps_for(), 0);
	now_ns++;
	assert_int_equal(sleeps_for(), LOOK_PAUSE_NS);
}

/* It was rung for: it does not sleep before it has looked. */
static void was_rung_for(void **state)
{
	(void)state;
	atomic_store(&cot_shim_to_listen.pending, true);
	(void)sleeps_for();
	assert_int_equal(n_cleared, 1);
	assert_int_equal(n_received, 3);
	assert_int_equal(n_polls, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(nobody_leaves),
		TEST(some_leave),
		TEST(some_of_those_that_stayed),
		TEST(the_surplus_is_not_waited_for),
		TEST(one_stays),
		TEST(small_launches),
		TEST(states_of_slots),
		TEST(several_launches),
		TEST(patience),
		TEST(nothing_to_see),
		TEST(contexts_that_end),
		TEST(sleeps),
		TEST(looks_without_pause),
		TEST(was_rung_for),
		TEST(no_impatience),
		TEST(many_gpus),
		TEST(any_work_leaves),
		TEST(the_oldest_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
