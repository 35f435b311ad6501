/*
 * libcotenant.so in real processes, over a stand-in for the driver. This program is the daemon;
 * started with TENANT in its environment it is the program under control. Needs COTENANT_LIB
 * (path of libcotenant.so) and COTENANT_FAKE_RM (path of the stand-in).
 */
#include "preload_stage.h"

static void test_never_cuda(void **state)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	(void)state;
	start_tenant(NULL);
	assert_int_equal(ask('t'), 1);
	assert_int_equal(poll(&p, 1, 100), 0);
	tell('q');
	assert_int_equal(waitpid(tenant_pid, NULL, 0), tenant_pid);
}

static void test_hello_and_slices(void **state)
{
	unsigned long us;

	(void)state;
	start_tenant(NULL);
	us = ask('c');
	print_message("first group, with the thread's start: %lu us\n", us);
	assert_true(us < 900000); /* nobody has answered it yet */
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	assert_int_equal(got.hello.tenant, 42);
	assert_int_equal(got.hello.weight, 7);
	assert_int_equal(got.hello.block_us, 250);
	assert_string_equal(got.hello.name, "it");
	expect(COT_MSG_GROUPS);
	make_page(true);
	welcome(100, COT_MODE_DRAIN);
	WAIT_FOR(first_slice() == 100, WAIT_MS);
	WAIT_FOR(fake->rm.objects[4].mode == 1 || fake->rm.objects[5].mode == 1, WAIT_MS);
	ask('g'); /* with the driver's own SET_TIMESLICE */
	assert_int_equal(order_set(500, COT_MODE_DRIVER), 0);
	assert_int_equal(got.ack.value, 500);
	print_message("SET: %llu us\n", (unsigned long long)got.ack.latency_ns / 1000);
	assert_int_equal(first_slice(), 500);
	assert_int_equal(atomic_load(&page->slice_us), 500);
	assert_int_equal(order(COT_MSG_PREEMPT, 6), 0);
	assert_int_equal(fake->rm.n_preempt, 2);
	assert_int_equal(ask('t'), 2);
	assert_int_equal(order_set(1ull << 40, 0), -EINVAL);
	WAIT_FOR(atomic_load(&page->n_groups) == 2, WAIT_MS);
	assert_int_equal(order_set(0, COT_MODE_SWITCH), 0);
	assert_int_equal(first_slice(), 2048);
}

static void test_freeze(void **state)
{
	unsigned n;

	(void)state;
	begin();
	assert_int_equal(order(COT_MSG_FREEZE, 1), -ETIME); /* without a lease */
	lease_ms(900);
	assert_int_equal(order(COT_MSG_FREEZE, 2), -EAGAIN); /* its channels are too new */
	assert_int_equal(n_disabled(), 0);
	be_quiet();
	freeze_for(900, 2);
	assert_frozen();
	tell('g'); /* more channels: not before the thaw */
	sleep_ms(50);
	n = fake_rm_count(&fake->rm, GROUP, false);
	assert_true(n == 1 || lease_has_ended());
	assert_int_equal(order(COT_MSG_THAW, 3), 0);
	assert_int_equal(n_disabled(), 0);
	WAIT_FOR(fake_rm_count(&fake->rm, GROUP, false) == 2, WAIT_MS);
	(void)told();
	assert_int_equal(order(COT_MSG_FREEZE, 4), -EAGAIN);
	assert_int_equal(atomic_load(&page->n_doubts), 0);
	assert_int_equal(atomic_load(&page->n_freezes), 1);
	assert_int_equal(atomic_load(&page->n_thaws), 1);
	assert_true(atomic_load(&page->freeze_max_ns) > 0);
	atomic_store(&page->lease_until_ns, UINT64_MAX); /* no daemon writes this */
	assert_int_equal(order(COT_MSG_FREEZE, 4), -ETIME);
	assert_int_equal(n_disabled(), 0);
}

/* A set-up that waits for the thaw goes on when the lease ends, whatever became of the daemon. */
static void test_set_up_while_frozen(void **state)
{
	(void)state;
	begin();
	be_quiet();
	freeze_for(100, 1);
	tell('g');
	WAIT_FOR(fake_rm_count(&fake->rm, GROUP, false) == 2, WAIT_MS);
	(void)told();
	assert_int_equal(n_disabled(), 0);
	assert_int_equal(atomic_load(&page->n_doubts), 0);
}

static uint64_t last_change(void)
{
	uint64_t t = 0;
	unsigned i;

	for (i = 0; i < fake->rm.n_objects; i++)
		if (fake->rm.objects[i].changed_ns > t)
			t = fake->rm.objects[i].changed_ns;
	return t;
}

/* Whether the program was thawed before its lease had ended, after `spoil` was done to the
 * connection. */
static bool thaws_early(void (*spoil)(void))
{
	uint64_t end, t;

	begin();
	be_quiet();
	freeze_for(900, 1);
	end = atomic_load(&page->lease_until_ns);
	t = now_ns();
	spoil();
	WAIT_FOR(n_disabled() == 0, WAIT_MS);
	print_message("thawed %lld us after\n", (long long)(last_change() - t) / 1000);
	return last_change() < end;
}

static void assert_thaws_early(void **state, void (*spoil)(void))
{
	unsigned n = 0;

	while (!thaws_early(spoil)) { /* for once it was the machine that slept */
		assert_true(++n < TRIES);
		(void)teardown(state);
		(void)setup(state);
	}
}

static void hang_up(void) /* as the kernel does after kill -9 */
{
	close(conn);
	conn = -1;
}

static void test_daemon_dies(void **state)
{
	assert_thaws_early(state, hang_up);

	/* It comes back: the program introduces itself with the same id, keeps its slice. */
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	assert_int_equal(got.hello.tenant, 42);
	expect(COT_MSG_GROUPS);
	assert_int_equal(got.groups.n_groups, 1);
	assert_int_equal(first_slice(), 100);
	/* The mode that the one before has set is given back. */
	welcome(200, COT_MODE_DRIVER);
	WAIT_FOR(first_slice() == 200 && fake->rm.objects[4].mode != COT_MODE_DRAIN &&
			 fake->rm.objects[5].mode != COT_MODE_DRAIN,
		 WAIT_MS);
	freeze_for(900, 2);
	assert_int_equal(order(COT_MSG_THAW, 3), 0);
}

static void test_daemon_stops(void **state)
{
	uint64_t end;

	(void)state;
	begin();
	be_quiet();
	freeze_for(80, 1);
	end = atomic_load(&page->lease_until_ns);
	WAIT_FOR(n_disabled() == 0, WAIT_MS);
	print_message("thawed %lld us after the lease's end\n",
		      (long long)(last_change() - end) / 1000);
	assert_true(last_change() >= end);
	WAIT_FOR(atomic_load(&page->n_lease_expired) == 1, WAIT_MS);
	assert_int_equal(receive(50), 0); /* still connected */
}

/* False: a lease had ended before the next one was written. */
static bool stays_frozen(void)
{
	unsigned i, n;

	freeze_for(400, 1);
	for (i = 0; i < 30; i++) {
		if (lease_has_ended())
			return false;
		lease_ms(400);
		sleep_ms(20);
		n = n_disabled();
		if (lease_has_ended())
			return false;
		assert_int_equal(n, 1);
	}
	return true;
}

static void test_lease_is_renewed(void **state)
{
	unsigned n = 0;

	(void)state;
	begin();
	be_quiet();
	while (!stays_frozen()) {
		assert_true(++n < TRIES);
		WAIT_FOR(n_disabled() == 0, WAIT_MS);
	}
	WAIT_FOR(n_disabled() == 0, WAIT_MS);
}

/* Context switches of all the program's threads. */
static unsigned long n_switches(void)
{
	unsigned long n, sum = 0;
	char path[64], line[128];
	unsigned tid;
	FILE *f;

	for (tid = (unsigned)tenant_pid; tid < (unsigned)tenant_pid + 8; tid++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%u/status", tenant_pid, tid);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
				sum += n;
		if (f)
			fclose(f);
	}
	return sum;
}

static unsigned long switches_of_a_second(void)
{
	unsigned long before = n_switches();

	assert_true(before > 0);
	sleep_ms(1000);
	return n_switches() - before;
}

static void test_sleeps(void **state)
{
	unsigned n = 0;

	(void)state;
	begin();
	lease_ms(1); /* over by the time of the wait below */
	sleep_ms(100);
	while (switches_of_a_second() > 0) /* on a busy machine the start may not be over */
		assert_true(++n < TRIES);
}

static void test_fork(void **state)
{
	int parent_conn, child;

	(void)state;
	begin();
	parent_conn = conn;
	child = (int)ask('f');
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	assert_int_equal(got.hello.pid, child);
	welcome(300, COT_MODE_DRIVER);
	WAIT_FOR(fake_rm_count(&fake->rm, GROUP, false) == 2, WAIT_MS);
	be_quiet();
	freeze_for(900, 1);
	assert_frozen();
	assert_int_equal(first_slice(), 100); /* the parent's */
	assert_int_equal(fake->rm.n_foreign, 0);
	/* The parent's end is noticed although the child lives. */
	kill(tenant_pid, SIGKILL);
	close(conn);
	conn = parent_conn;
	while (receive(WAIT_MS) > 0)
		;
	assert_int_equal(receive(WAIT_MS), -1);
	kill(child, SIGKILL);
}

static void test_child_without_handlers(void **state)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	(void)state;
	begin();
	ask('v');
	assert_int_equal(fake->rm.n_foreign, 0);
	assert_int_equal(poll(&p, 1, 50), 0);
	assert_int_equal(order_set(700, COT_MODE_DRIVER), 0);
	assert_int_equal(fake->rm.n_foreign, 0);
}

static void test_exec(void **state)
{
	(void)state;
	begin();
	tell('e');
	while (receive(WAIT_MS) > 0)
		; /* hangs up */
	close(conn);
	ask('c');
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	assert_int_equal(got.hello.pid, tenant_pid);
}

static void test_program_closes_descriptors(void **state)
{
	struct cot_msg_header h;

	(void)state;
	begin();
	be_quiet();
	freeze_for(900, 1);
	ask('x');
	cot_proto_header(&h, COT_MSG_PREEMPT, sizeof(h), 9);
	(void)!send(conn, &h, sizeof(h), MSG_NOSIGNAL); /* maybe it has hung up already */
	WAIT_FOR(n_disabled() == 0, WAIT_MS);		/* lost, so thawed */
	close(conn);
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	ask('g');
	expect_groups(2);
}

static void test_no_descriptors(void **state)
{
	(void)state;
	start_tenant(NULL);
	ask('l');
	ask('c');
	ask('g');
	assert_int_equal(fake_rm_count(&fake->rm, GROUP, false), 2);
	assert_int_equal(first_slice(), 2048);
	assert_int_equal(ask('g'), 0);
}

static void test_refused(void **state)
{
	struct {
		struct cot_msg_header h;
		char text[16];
	} m = {.text = "not that class"};
	struct pollfd p = {.fd = listener, .events = POLLIN};

	(void)state;
	start_tenant("COTENANT_LOG=none");
	ask('c');
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	send_packet(&m, COT_MSG_REFUSED, sizeof(m), 0);
	while (receive(WAIT_MS) > 0)
		;
	WAIT_FOR(ask('t') == 1, WAIT_MS); /* a pass-through from now on */
	ask('g');
	assert_int_equal(poll(&p, 1, 1500), 0);
}

/* No place for it now: it comes back, and is served when there is one. */
static void test_later(void **state)
{
	struct {
		struct cot_msg_header h;
		char text[16];
	} m = {.text = "too many"};
	unsigned i;

	(void)state;
	start_tenant("COTENANT_LOG=none");
	ask('c');
	for (i = 0; i < 2; i++) {
		accept_one(WAIT_MS);
		expect(COT_MSG_HELLO);
		send_packet(&m, COT_MSG_LATER, sizeof(m), 0);
		while (receive(WAIT_MS) > 0)
			;
	}
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	make_page(true);
	welcome(700, COT_MODE_DRIVER);
	WAIT_FOR(first_slice() == 700, WAIT_MS);
}

static void send_half(void)
{
	struct cot_msg_set m = {.slice_us = 1};

	cot_proto_header(&m.h, COT_MSG_SET, sizeof(m), 0);
	assert_int_equal(send(conn, &m, sizeof(m) - 8, 0), sizeof(m) - 8);
}

static void test_malformed(void **state)
{
	assert_thaws_early(state, send_half);
	assert_int_equal(first_slice(), 100);
}

static void test_unsealed_page(void **state)
{
	(void)state;
	start_tenant(NULL);
	ask('c');
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	make_page(false);
	welcome(100, COT_MODE_DRAIN);
	lease_ms(900);
	assert_int_equal(order(COT_MSG_FREEZE, 1), -EOPNOTSUPP);
	assert_int_equal(n_disabled(), 0);
}

static void test_disabled(void **state)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	(void)state;
	start_tenant("COTENANT_DISABLE=1");
	ask('c');
	assert_int_equal(ask('t'), 1);
	assert_int_equal(poll(&p, 1, 100), 0);
	assert_int_equal(first_slice(), 2048);
}

/* Without a daemon: slices from the environment. And what all this costs. */
static void test_alone(void **state)
{
	(void)state;
	close(listener);
	unlink(socket_path);
	start_tenant("COTENANT_SLICE_US=250");
	ask('c');
	assert_int_equal(first_slice(), 250);
	assert_true(ask('m') < 1024);
	print_message("private memory of the library: %lu KiB\n", ask('m'));
	start_listening(); /* the daemon starts later */
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	ask('d');
	expect_groups(0);
}

static int prepare(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(base, sizeof(base), "%.40s/%s", tmp ? tmp : P_tmpdir, dir);
	if (!mkdtemp(base))
		return -1;
	snprintf(socket_path, sizeof(socket_path), "%s/socket", base);
	snprintf(state_path, sizeof(state_path), "%s/state", base);
	fd = open(state_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*fake)) < 0)
		return -1;
	fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return fake == MAP_FAILED ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_never_cuda),
		TEST(test_hello_and_slices),
		TEST(test_freeze),
		TEST(test_set_up_while_frozen),
		TEST(test_daemon_dies),
		TEST(test_daemon_stops),
		TEST(test_lease_is_renewed),
		TEST(test_sleeps),
		TEST(test_fork),
		TEST(test_child_without_handlers),
		TEST(test_exec),
		TEST(test_program_closes_descriptors),
		TEST(test_no_descriptors),
		TEST(test_refused),
		TEST(test_later),
		TEST(test_malformed),
		TEST(test_unsealed_page),
		TEST(test_disabled),
		TEST(test_alone),
	};
	int rc;

	(void)argc;
	if (getenv("TENANT"))
		return tenant_main(argv);
	if (!getenv("COTENANT_LIB") || !getenv("COTENANT_FAKE_RM"))
		return 77;
	if (prepare() < 0) {
		perror("test_preload");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(socket_path);
	unlink(state_path);
	rmdir(base);
	return rc;
}
