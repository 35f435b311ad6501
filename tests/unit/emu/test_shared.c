/* The emulated GPU between processes: waiting, and processes that die at the worst moment. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "emu/gpu/shared.h"
#include "emu_dir.h"
#include "test.h"

#define MS   (1000ull * 1000)
#define NONE ((struct cot_emu_ticket){0, 0})

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct cot_emu_gpu *attach(void)
{
	struct cot_emu_gpu *gpu = NULL;

	assert_int_equal(cot_emu_gpu_attach(&gpu), 0);
	return gpu;
}

/* A group of this process, with one channel. */
static struct cot_emu_channel_id make_channel(struct cot_emu_gpu *gpu)
{
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	struct cot_emu_channel_id channel = {0, 0};
	struct cot_emu_group_id group;

	if (m && !cot_emu_model_group_add(m, cot_emu_gpu_client(gpu), 0, COT_EMU_ENGINE_GRAPHICS,
					  &group))
		cot_emu_model_channel_add(m, group, &channel);
	cot_emu_gpu_commit(gpu, false);
	return channel;
}

static struct cot_emu_ticket launch(struct cot_emu_gpu *gpu, struct cot_emu_channel_id channel,
				    uint64_t ns)
{
	struct cot_emu_work w = {.total_ns = ns, .block_ns = ns, .demand = COT_EMU_WHOLE_GPU};
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	struct cot_emu_ticket t = NONE;

	if (m)
		cot_emu_model_submit(m, channel, cot_emu_gpu_client(gpu), &w, NONE, &t);
	cot_emu_gpu_commit(gpu, false);
	return t;
}

static bool ended(const struct cot_emu_model *m, void *arg)
{
	return cot_emu_model_outcome(m, *(struct cot_emu_ticket *)arg).state !=
	       COT_EMU_KERNEL_QUEUED;
}

static void a_wait_lasts_as_long_as_the_kernel(void **state)
{
	struct cot_emu_gpu *gpu = attach();
	struct cot_emu_ticket t;
	struct cot_emu_channel_id channel = make_channel(gpu);
	uint64_t begun = now_ms(), passed;

	(void)state;
	t = launch(gpu, channel, 30 * MS);
	assert_int_equal(t.serial != 0, 1);
	assert_int_equal(cot_emu_gpu_wait(gpu, ended, &t, COT_EMU_NEVER), 0);
	passed = now_ms() - begun;
	assert_in_range(passed, 29, 2000);
	/* Or as long as it may; this one does not end before that on any machine. */
	t = launch(gpu, channel, 100000 * MS);
	assert_int_equal(cot_emu_gpu_wait(gpu, ended, &t, 10 * MS), -ETIMEDOUT);
	cot_emu_gpu_detach(gpu);
}

static void the_scale_makes_the_gpu_slower(void **state)
{
	struct cot_emu_gpu *gpu;
	struct cot_emu_ticket t;
	uint64_t begun;

	(void)state;
	setenv("COTENANT_EMU_SCALE", "10", 1);
	gpu = attach();
	begun = now_ms();
	t = launch(gpu, make_channel(gpu), 3 * MS);
	assert_int_equal(cot_emu_gpu_wait(gpu, ended, &t, COT_EMU_NEVER), 0);
	assert_in_range(now_ms() - begun, 29, 2000);
	cot_emu_gpu_detach(gpu);
	unsetenv("COTENANT_EMU_SCALE");
}

/* Starts a child that does what `body` says and then waits to be killed. */
static pid_t child(void (*body)(struct cot_emu_gpu *gpu))
{
	struct cot_emu_gpu *gpu;
	int ready[2];
	char c = 0;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		if (cot_emu_gpu_attach(&gpu))
			_exit(1);
		body(gpu);
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	/* End of file: the child has died on its own account. */
	if (read(ready[0], &c, 1) < 0)
		pid = -1;
	close(ready[0]);
	return pid;
}

static void long_work(struct cot_emu_gpu *gpu)
{
	launch(gpu, make_channel(gpu), 100000 * MS);
}

static void die_in_the_middle(struct cot_emu_gpu *gpu)
{
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);

	memset(m, 0xa5, sizeof(*m) / 2);
	raise(SIGKILL);
}

static void a_killed_neighbour_lets_go_of_the_gpu(void **state)
{
	pid_t pid = child(long_work);
	struct cot_emu_gpu *gpu = attach();
	struct cot_emu_ticket t;
	uint64_t begun;

	(void)state;
	assert_true(pid > 0);
	t = launch(gpu, make_channel(gpu), 40 * MS);
	/* Not reaped before the wait is over: a zombie counts as dead. */
	begun = now_ms();
	kill(pid, SIGKILL);
	assert_int_equal(cot_emu_gpu_wait(gpu, ended, &t, COT_EMU_NEVER), 0);
	assert_in_range(now_ms() - begun, 39, 2000);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	cot_emu_gpu_detach(gpu);
}

static void a_change_that_was_not_finished_does_not_count(void **state)
{
	struct cot_emu_model *m;
	struct cot_emu_gpu *gpu;
	struct cot_emu_ticket t;
	int status = 0, i;
	pid_t pid, keeper = child(long_work); /* so that the machine is not made anew */

	(void)state;
	for (i = 0; i < 5; i++) {
		pid = child(die_in_the_middle);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
	gpu = attach();
	m = cot_emu_gpu_begin(gpu);
	assert_non_null(m);
	assert_int_equal(m->params.n_gpus, 1);
	assert_int_equal(m->n_clients, 2);
	assert_int_equal(m->n_kernels, 1);
	cot_emu_gpu_commit(gpu, false);
	kill(keeper, SIGKILL);
	waitpid(keeper, NULL, 0);
	t = launch(gpu, make_channel(gpu), 1 * MS);
	assert_int_equal(cot_emu_gpu_wait(gpu, ended, &t, COT_EMU_NEVER), 0);
	cot_emu_gpu_detach(gpu);
}

static void a_forked_child_has_no_gpu(void **state)
{
	struct cot_emu_gpu *gpu = attach(), *again;
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(cot_emu_gpu_attach(&again) == -EAGAIN ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	cot_emu_gpu_detach(gpu);
}

static void a_machine_that_nobody_uses_is_made_anew(void **state)
{
	struct cot_emu_gpu *gpu = attach();
	uint32_t n_sms;

	(void)state;
	launch(gpu, make_channel(gpu), 100000 * MS);
	cot_emu_gpu_detach(gpu);
	setenv("COTENANT_EMU_SMS", "16", 1);
	gpu = attach();
	n_sms = cot_emu_gpu_config(gpu)->params.n_sms;
	unsetenv("COTENANT_EMU_SMS");
	assert_int_equal(n_sms, 16);
	assert_int_equal(cot_emu_gpu_client(gpu), 0);
	cot_emu_gpu_detach(gpu);
}

static void attach_to_two(int ready)
{
	struct cot_emu_gpu *gpu;
	char c = 0;

	setenv("COTENANT_EMU_GPUS", "2", 1);
	if (!cot_emu_gpu_attach(&gpu) && write(ready, &c, 1) == 1)
		pause();
	_exit(1);
}

/* But not while a process that only looks is at the old one. */
static void who_looks_sees_whole_machines(void **state)
{
	struct pollfd attached = {.events = POLLIN};
	uint32_t before, after = 0, clients = 0;
	struct cot_emu_gpu *looks;
	struct cot_emu_model *m;
	bool early;
	int ready[2];
	pid_t pid;

	(void)state;
	assert_int_equal(cot_emu_gpu_observe(&looks), 0);
	assert_int_equal(pipe(ready), 0);
	m = cot_emu_gpu_begin(looks);
	assert_non_null(m);
	pid = fork();
	if (!pid)
		attach_to_two(ready[1]);
	close(ready[1]);
	attached.fd = ready[0];
	early = poll(&attached, 1, 200) != 0;
	before = m->params.n_gpus;
	cot_emu_gpu_commit(looks, false);
	(void)poll(&attached, 1, -1);
	m = early ? NULL : cot_emu_gpu_begin(looks);
	if (m) {
		after = m->params.n_gpus;
		clients = m->n_clients;
		cot_emu_gpu_commit(looks, false);
	}
	close(ready[0]);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(early);
	assert_int_equal(before, 1);
	assert_int_equal(after, 2);
	assert_int_equal(clients, 1);
	cot_emu_gpu_detach(looks);
}

static void bad_numbers_count_as_not_set(void **state)
{
	struct cot_emu_config c;

	(void)state;
	setenv("COTENANT_EMU_SCALE", "0", 1);
	setenv("COTENANT_EMU_GPUS", "99", 1);
	setenv("COTENANT_EMU_SWITCH_US", "12x", 1);
	setenv("COTENANT_EMU_DRAINED_US", "0.5", 1);
	c = cot_emu_config_read();
	assert_int_equal(c.scale_milli, 1000);
	assert_int_equal(c.params.n_gpus, 1);
	assert_int_equal(c.params.switch_ns, COT_EMU_SWITCH_NS);
	assert_int_equal(c.params.drained_ns, 500);
	unsetenv("COTENANT_EMU_SCALE");
	unsetenv("COTENANT_EMU_GPUS");
	unsetenv("COTENANT_EMU_SWITCH_US");
	unsetenv("COTENANT_EMU_DRAINED_US");
	setenv("COTENANT_EMU_QUIRKS", "no-slice,hollow-freeze", 1);
	assert_true(cot_emu_config_quirk("hollow-freeze"));
	assert_true(cot_emu_config_quirk("no-slice"));
	assert_false(cot_emu_config_quirk("no-freeze"));
	assert_false(cot_emu_config_quirk("no"));
	unsetenv("COTENANT_EMU_QUIRKS");
}

/* Each wrong value is one sentence; right ones are none. */
static void wrong_values_are_told(void **state)
{
	static const struct {
		const char *name, *right[4], *wrong[5];
	} cases[] = {
		{"COTENANT_EMU_SWITCH_US",
		 {"0", "170", "0.001", "1000000"},
		 {"12x", "-1", "1000001", ".", "0.0001"}},
		{"COTENANT_EMU_DRAINED_US", {"80", NULL}, {"x", NULL}},
		{"COTENANT_EMU_IDLE_US", {"0", NULL}, {"1 2", NULL}},
		{"COTENANT_EMU_CONTROL_US", {"0", NULL}, {"fast", NULL}},
		{"COTENANT_EMU_SCALE", {"0.01", "1000", NULL}, {"0", "1001", "1e3", NULL}},
		{"COTENANT_EMU_GPUS", {"1", "4", "2.0", NULL}, {"0", "5", "1.5", NULL}},
		{"COTENANT_EMU_SMS", {"1", "1024", NULL}, {"0", "1025", NULL}},
		{"COTENANT_EMU_DEVICE",
		 {"h200", "k20c", NULL},
		 {"h100", "H200", "h200,k20c", NULL}},
		{"COTENANT_EMU_CHECK", {"races", "aligned,races", NULL}, {"race", "races,", NULL}},
		{"COTENANT_EMU_QUIRKS", {"no-slice", "any-ptx,no-mode", NULL}, {"none", ",", NULL}},
		{"COTENANT_EMU_SEED",
		 {"0", "0x10", "18446744073709551615", NULL},
		 {"x", "-1", "18446744073709551616", "1 ", NULL}},
	};
	char text[512], begin[128];
	size_t i, k;

	(void)state;
	assert_false(cot_emu_config_wrong(0, text, sizeof(text)));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (k = 0; k < 4 && cases[i].right[k]; k++) {
			setenv(cases[i].name, cases[i].right[k], 1);
			if (cot_emu_config_wrong(0, text, sizeof(text)))
				fail_msg("%s", text);
		}
		for (k = 0; k < 5 && cases[i].wrong[k]; k++) {
			setenv(cases[i].name, cases[i].wrong[k], 1);
			if (!cot_emu_config_wrong(0, text, sizeof(text)))
				fail_msg("%s may be '%s'", cases[i].name, cases[i].wrong[k]);
			snprintf(begin, sizeof(begin), "%s is '%s', which", cases[i].name,
				 cases[i].wrong[k]);
			assert_memory_equal(text, begin, strlen(begin));
			assert_non_null(strstr(text, "; expected "));
			assert_false(cot_emu_config_wrong(1, text, sizeof(text)));
		}
		setenv(cases[i].name, "", 1); /* as if it were not set */
		assert_false(cot_emu_config_wrong(0, text, sizeof(text)));
	}
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		setenv(cases[i].name, cases[i].wrong[0], 1);
	for (i = 0; cot_emu_config_wrong((unsigned)i, text, sizeof(text)); i++)
		;
	assert_int_equal(i, sizeof(cases) / sizeof(cases[0]));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		unsetenv(cases[i].name);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, emu_dir_setup, emu_dir_teardown)
	const struct CMUnitTest tests[] = {
		CASE(wrong_values_are_told),
		CASE(a_wait_lasts_as_long_as_the_kernel),
		CASE(the_scale_makes_the_gpu_slower),
		CASE(a_killed_neighbour_lets_go_of_the_gpu),
		CASE(a_change_that_was_not_finished_does_not_count),
		CASE(a_forked_child_has_no_gpu),
		CASE(a_machine_that_nobody_uses_is_made_anew),
		CASE(who_looks_sees_whole_machines),
		CASE(bad_numbers_count_as_not_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
