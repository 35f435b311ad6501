/* Which processes are programs or pools of this daemon's, and which of them counts. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/processes.h"
#include "mps_stage.h"

#define STRANGER 4711u

static const char *const program[] = {"COTENANT_CLASS=batch", "COTENANT_TENANT=20", NULL};
static const char *const pool[] = {"COTENANT_ROLE=pool", "COTENANT_POOL=latency",
				   "COTENANT_TENANT=3", NULL};

static struct cot_process process;

static bool read_process(pid_t pid)
{
	return cot_process_read(stage.basis.socket_path, pid, &process);
}

static void test_program(void **state)
{
	pid_t pid = life_process(program), other = life_process(NULL);

	(void)state;
	assert_true(read_process(pid));
	assert_int_equal(process.pid, pid);
	assert_int_equal(process.parent, getpid());
	assert_int_equal(process.uid, getuid());
	assert_int_equal(process.gid, getgid());
	assert_int_equal(process.start_time, cot_process_start_time(pid));
	assert_false(process.is_server || process.found.is_pool);
	assert_int_equal(process.found.id, 20);
	assert_false(read_process(other)); /* that says nothing */
	assert_false(cot_process_read("/another.sock", pid, &process));
	life_end(pid);
	assert_false(read_process(pid));
}

/* Who has started it, and not who it is at the moment: that is of use to nobody else. */
static void test_owner(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	assert_true(read_process(life_process_as(STRANGER, "sleep", program)));
	assert_int_equal(process.uid, STRANGER);
	assert_int_equal(process.gid, STRANGER + 1);
}

/* By the name that the control program gives it. */
static void test_server(void **state)
{
	static const struct {
		const char *name;
		bool is_server;
	} names[] = {
		{"nvidia-cuda-mps-server", true},
		{"-server", true},
		{"server", false},
		{"x-server-x", false},
		{"x-serve", false},
		{"nvidia-cuda-mps-control", false},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(names); i++) {
		assert_true(read_process(life_process_as(getuid(), names[i].name, pool)));
		assert_true(process.found.is_pool);
		assert_int_equal(process.is_server, names[i].is_server);
	}
	assert_true(read_process(life_process_as(getuid(), "some-server", program)));
	assert_false(process.is_server);
}

static void test_argument(void **state)
{
	pid_t pid = life_process_as(getuid(), "name", NULL);

	(void)state;
	assert_true(cot_process_has_argument(pid, "name"));
	assert_true(cot_process_has_argument(pid, "1000"));
	assert_false(cot_process_has_argument(pid, "100"));
	assert_false(cot_process_has_argument(pid, "ame"));
	assert_false(cot_process_has_argument(pid, ""));
	life_end(pid);
	assert_false(cot_process_has_argument(pid, "name"));
}

static const struct cot_process *find(const struct cot_processes *all, pid_t pid)
{
	unsigned i;

	for (i = 0; i < all->n; i++)
		if (all->p[i].pid == pid)
			return &all->p[i];
	return NULL;
}

static void test_all(void **state)
{
	pid_t one = life_process(program), two = life_process(pool), three = life_process(NULL);
	struct cot_processes *all;
	unsigned n;

	(void)state;
	n = count_fds();
	all = cot_processes_read(stage.basis.socket_path);
	assert_non_null(all);
	assert_int_equal(all->n, 2);
	assert_int_equal(find(all, one)->found.id, 20);
	assert_int_equal(find(all, two)->found.id, 3);
	assert_null(find(all, three));
	assert_int_equal(count_fds(), n);
	free(all);
	/* What was not seen in full is no list. */
	allow_fds(0);
	assert_null(cot_processes_read(stage.basis.socket_path));
	allow_fds(-1);
	allow_fds(1);
	assert_null(cot_processes_read(stage.basis.socket_path));
	allow_fds(-1);
	assert_int_equal(count_fds(), n);
}

/* ---- of a list ---- */

static struct cot_processes list;

static struct cot_process *add(pid_t pid, pid_t parent, uint32_t id, bool is_pool)
{
	struct cot_process *one = &list.p[list.n++];

	*one = (struct cot_process){.pid = pid,
				    .parent = parent,
				    .uid = STRANGER,
				    .start_time = (uint64_t)pid,
				    .found = {.id = id, .is_pool = is_pool}};
	return one;
}

static void test_root(void **state)
{
	const struct cot_process *some[6];

	(void)state;
	list.n = 0;
	some[0] = add(102, 101, 20, false); /* the parent comes later */
	some[1] = add(101, 1, 20, false);
	some[2] = add(103, 101, 21, false); /* another program */
	some[3] = add(104, 101, 20, true);  /* no program at all */
	some[4] = add(105, 104, 20, true);
	some[5] = add(106, 105, 20, false);
	assert_false(cot_process_is_root(&list, some[0]));
	assert_true(cot_process_is_root(&list, some[1]));
	assert_true(cot_process_is_root(&list, some[2]));
	assert_true(cot_process_is_root(&list, some[3]));
	assert_false(cot_process_is_root(&list, some[4]));
	assert_true(cot_process_is_root(&list, some[5]));
}

static void test_oldest(void **state)
{
	const struct cot_process *first, *roots;

	(void)state;
	list.n = 0;
	add(1, 1, 20, true);
	add(2, 1, 21, false);
	add(3, 1, 20, false)->uid = STRANGER + 1;
	add(7, 1, 20, false);
	first = add(5, 1, 20, false);
	add(6, 1, 20, false);
	assert_ptr_equal(cot_processes_of(&list, 20, STRANGER), first);
	roots = add(4, 1, 20, false);
	list.p[list.n - 1].uid = 0; /* a program with root's rights is still the user's */
	assert_ptr_equal(cot_processes_of(&list, 20, STRANGER), roots);
	assert_null(cot_processes_of(&list, 22, STRANGER));
	assert_null(cot_processes_of(&list, 21, STRANGER + 1));
	/* Of two of one time it is the first. */
	list.p[3].start_time = 4;
	assert_ptr_equal(cot_processes_of(&list, 20, STRANGER), &list.p[3]);
}

#define LIFE(test) cmocka_unit_test_setup_teardown(test, life_setup, life_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIFE(test_program),
		LIFE(test_owner),
		LIFE(test_server),
		LIFE(test_argument),
		LIFE(test_all),
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
