/* How MPS control programs are started and told something: their arguments, environment,
 * descriptors and folders, and what is wrong when that cannot be. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/mps.h"
#include "daemon/processes.h"
#include "mps_stage.h"

static struct cot_error err;

/* Up to NULL: lines of a file `name` in the runtime folder. */
static bool has_line(const char *name, const char *fmt, ...) COT_PRINTF(2, 3);

static bool has_line(const char *name, const char *fmt, ...)
{
	const char *text = life_read(name), *at;
	char line[COT_PATH_TEXT_MAX * 2];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = (size_t)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (at = strstr(text, line); at; at = strstr(at + 1, line))
		if ((at == text || at[-1] == '\n') && at[n] == '\n')
			return true;
	return false;
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static pid_t start_silent_control(void)
{
	pid_t pid = cot_mps_start_control(p, &err);

	if (pid < 0)
		fail_msg("%s", err.text);
	ends_with_test(pid);
	return pid;
}

/* It listens, and is no script any more, which would have that open. */
static bool has_settled(pid_t pid)
{
	return cot_mps_listens(p) && cot_process_has_argument(pid, "sleep");
}

/* Starts one, which writes its environment into `env` if the test wishes. */
static pid_t start_control(void)
{
	pid_t pid = start_silent_control();
	unsigned i;

	for (i = 0; i < 2000 && !has_settled(pid); i++)
		usleep(5000);
	assert_true(has_settled(pid));
	return pid;
}

static void end_control(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- the control program ---- */

static void look_at_environment(void)
{
	life_write("look", "env >env\n", 0644);
	end_control(start_control());
	assert_true(
		has_line("env", "CUDA_MPS_PIPE_DIRECTORY=%s/gpu0-batch/pipe", stage.basis.runtime));
	assert_true(
		has_line("env", "CUDA_MPS_LOG_DIRECTORY=%s/gpu0-batch/log", stage.basis.runtime));
	assert_true(has_line("env", "COTENANT_SOCKET=%s", stage.basis.socket_path));
	assert_true(has_line("env", "COTENANT_ROLE=pool"));
	assert_true(has_line("env", "COTENANT_POOL=batch"));
	assert_true(has_line("env", "COTENANT_TENANT=1"));
}

static void test_environment(void **state)
{
	(void)state;
	(void)unsetenv("LD_PRELOAD");
	look_at_environment();
	assert_true(has_line("env", "COTENANT_GPU=0"));
	assert_true(has_line("env", "CUDA_VISIBLE_DEVICES=0"));
	assert_null(strstr(life_read("env"), "LD_PRELOAD"));
	strcpy(stage.basis.gpus.gpu[0].uuid, "GPU-aaaa");
	look_at_environment();
	assert_true(has_line("env", "COTENANT_GPU=GPU-aaaa"));
	assert_true(has_line("env", "CUDA_VISIBLE_DEVICES=GPU-aaaa"));
	p = cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 1);
	end_control(start_control());
	assert_true(has_line("env", "COTENANT_GPU=1"));
	assert_true(has_line("env", "CUDA_VISIBLE_DEVICES=1"));
	p = cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 0);
	stage.basis.gpus.n = 1; /* then there is nothing to choose */
	look_at_environment();
	assert_true(has_line("env", "COTENANT_GPU=GPU-aaaa"));
	assert_null(strstr(life_read("env"), "CUDA_VISIBLE_DEVICES"));
}

/* Our library goes before the others. */
static void test_preload(void **state)
{
	size_t most = sizeof(stage.basis.library), n;
	char *others = malloc(most);

	(void)state;
	assert_non_null(others);
	strcpy(stage.basis.library, "libc.so.6"); /* one that the loader finds, and has already */
	(void)setenv("LD_PRELOAD", "libdl.so.2", 1);
	look_at_environment();
	assert_true(has_line("env", "LD_PRELOAD=libc.so.6:libdl.so.2"));
	(void)setenv("LD_PRELOAD", "", 1);
	look_at_environment();
	assert_true(has_line("env", "LD_PRELOAD=libc.so.6"));
	/* What does not fit is left as it is. */
	n = most - strlen("libc.so.6:") - 1;
	memset(others, ' ', n);
	others[n] = '\0';
	(void)setenv("LD_PRELOAD", others, 1);
	look_at_environment();
	assert_true(has_line("env", "LD_PRELOAD=libc.so.6:%s", others));
	others[n] = ' ';
	others[n + 1] = '\0';
	(void)setenv("LD_PRELOAD", others, 1);
	look_at_environment();
	assert_true(has_line("env", "LD_PRELOAD=%s", others));
	(void)unsetenv("LD_PRELOAD");
	look_at_environment();
	assert_true(has_line("env", "LD_PRELOAD=libc.so.6"));
	free(others);
}

static void block_signals(sigset_t *ret_was)
{
	sigset_t some;

	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGTERM);
	(void)sigaddset(&some, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &some, ret_was);
	(void)signal(SIGPIPE, SIG_IGN);
}

/* Nothing of how the daemon is set up passes on to it. */
static void test_process(void **state)
{
	mode_t mask = umask(077);
	sigset_t was;
	pid_t pid;

	(void)state;
	life_write(
		"look",
		"umask >mask; while read -r a b; do echo \"$a $b\"; done </proc/$$/status >status; echo out; echo err >&2\n"
		"read -r line || echo end >input\n",
		0644);
	block_signals(&was);
	pid = start_control();
	(void)sigprocmask(SIG_SETMASK, &was, NULL);
	(void)umask(mask);
	assert_string_equal(life_read("mask"), "0022\n");
	assert_true(has_line("status", "SigBlk: 0000000000000000"));
	assert_null(strstr(life_read("status"), "SigIgn: 0000000000001000"));
	assert_int_equal(getsid(pid), pid);
	assert_string_equal(life_read("input"), "end\n");
	assert_string_equal(life_read("gpu0-batch/log/cotenantd-mps.log"), "out\nerr\n");
	assert_string_equal(life_read("args"), "-f\n");
	end_control(pid);
	p->multiuser = true;
	end_control(start_control());
	assert_string_equal(life_read("args"), "-f\n-f -M\n");
	/* The log goes on. */
	assert_string_equal(life_read("gpu0-batch/log/cotenantd-mps.log"), "out\nerr\nout\nerr\n");
}

/* It has three descriptors of what we have opened for it, and no other. */
static void test_descriptors(void **state)
{
	unsigned n = count_fds(), i, n_log = 0, n_null = 0;
	char path[64], to[COT_PATH_TEXT_MAX];
	pid_t pid;

	(void)state;
	pid = start_control();
	assert_int_equal(count_fds(), n);
	for (i = 0; i < 100; i++) {
		ssize_t size;

		snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, i);
		size = readlink(path, to, sizeof(to) - 1);
		to[size > 0 ? size : 0] = '\0';
		if (strstr(to, "cotenantd-mps.log")) {
			assert_in_range(i, 1, 2);
			n_log++;
		}
		if (!strcmp(to, "/dev/null") && i < 3) {
			assert_int_equal(i, 0);
			n_null++;
		}
		if (size > 0 && i > 2) /* what else it has is not closed in this process */
			assert_true(fcntl((int)i, F_GETFD) >= 0);
	}
	assert_int_equal(n_log, 2);
	assert_int_equal(n_null, 1);
	end_control(pid);
}

static void test_folders(void **state)
{
	char log[COT_PATH_TEXT_MAX + 32];

	(void)state;
	end_control(start_control());
	assert_int_equal(mode_of(p->folder), 0700);
	assert_int_equal(mode_of(p->pipe), 0700);
	assert_int_equal(mode_of(p->log), 0700);
	snprintf(log, sizeof(log), "%s/cotenantd-mps.log", p->log);
	assert_int_equal(mode_of(log), 0600);
	stage.basis.config.other_users = true;
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 0);
	end_control(start_control());
	assert_int_equal(mode_of(p->folder), 0755);
	assert_int_equal(mode_of(p->pipe), 0755);
	assert_int_equal(mode_of(p->log), 0755);
}

/* The socket of one that was killed is not the next one's. */
static void test_old_socket(void **state)
{
	pid_t pid;

	(void)state;
	assert_false(cot_mps_listens(p));
	end_control(start_control());
	assert_true(cot_mps_listens(p));
	life_write("mute", "", 0644);
	pid = start_silent_control();
	assert_false(cot_mps_listens(p));
	end_control(pid);
}

static int exit_status(pid_t pid)
{
	int status = 0;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A file in the place of a folder, and the like: a sentence, and nothing is left open. */
static void test_no_start(void **state)
{
	static const char *const ways[] = {"gpu0-batch", "gpu0-batch/pipe", "gpu0-batch/log"};
	unsigned n = count_fds(), i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(ways); i++) {
		life_write(ways[i], "", 0600);
		memset(&err, 0, sizeof(err));
		assert_true(cot_mps_start_control(p, &err) < 0);
		assert_non_null(strstr(err.text, ways[i]));
		life_remove(ways[i]);
		(void)mkdir(p->folder, 0700);
	}
	end_control(start_control());
	life_remove("gpu0-batch/log/cotenantd-mps.log");
	assert_int_equal(
		symlink("/dev/null", strcat(strcpy(err.text, p->log), "/cotenantd-mps.log")), 0);
	assert_int_equal(cot_mps_start_control(p, &err), -ELOOP);
	assert_non_null(strstr(err.text, "cannot open "));
	assert_int_equal(cot_mps_tell(p, "quit", NULL, &err), -ELOOP);
	assert_int_equal(cot_mps_tell(p, "quit", &(int){-1}, &err), -ELOOP);
	assert_int_equal(count_fds(), n);
	life_remove("gpu0-batch/log/cotenantd-mps.log");
	life_write("mps", "#!/no/such/program\n", 0755); /* that is seen in the child only */
	assert_int_equal(exit_status(cot_mps_start_control(p, &err)), 127);
	life_write("mps", "#!/etc/passwd\n", 0755);
	assert_int_equal(exit_status(cot_mps_start_control(p, &err)), 126);
	life_remove("mps");
	assert_int_equal(cot_mps_start_control(p, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/mps' was not found; it comes with NVIDIA's driver"));
	assert_int_equal(cot_mps_tell(p, "quit", NULL, &err), -ENOENT);
	assert_non_null(strstr(err.text, "was not found"));
	assert_int_equal(count_fds(), n);
}

/* ---- commands ---- */

static void test_tell(void **state)
{
	char text[64] = "";
	unsigned n = count_fds();
	int out = -1;
	pid_t pid;

	(void)state;
	end_control(start_control());
	life_write("servers", "4711\n4712\n", 0644);
	life_write("hold-get_server_list", "", 0644);
	pid = cot_mps_tell(p, "get_server_list", &out, &err);
	assert_true(pid > 0);
	assert_true(out >= 0);
	assert_true(fcntl(out, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(count_fds(), n + 1);
	while (!told("get_server_list"))
		usleep(1000);
	assert_true(read(out, text, 0) == 0);
	life_remove("hold-get_server_list");
	assert_int_equal(exit_status(pid), 0);
	assert_int_equal(read(out, text, sizeof(text)), 10);
	assert_string_equal(text, "4711\n4712\n");
	assert_int_equal(read(out, text, sizeof(text)), 0); /* nobody else has the other end */
	(void)close(out);
	assert_string_equal(life_read("told"), "get_server_list \n");
	assert_string_equal(life_read("gpu0-batch/log/cotenantd-mps.log"), "");
	/* Without a place for it the answer goes into the log. */
	assert_int_equal(exit_status(cot_mps_tell(p, "get_server_list", NULL, &err)), 0);
	assert_string_equal(life_read("gpu0-batch/log/cotenantd-mps.log"), "4711\n4712\n");
	assert_int_equal(count_fds(), n);
}

/* It does not wait for who has not answered. */
static void test_tell_does_not_wait(void **state)
{
	char byte;
	int out = -1;
	pid_t pid;

	(void)state;
	end_control(start_control());
	life_write("servers", "", 0644);
	life_write("hold-get_server_list", "", 0644);
	pid = cot_mps_tell(p, "get_server_list", &out, &err);
	assert_int_equal(read(out, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	(void)close(out);
	end_control(pid);
}

static void test_few_descriptors(void **state)
{
	unsigned n = count_fds();
	int out = -1;

	(void)state;
	end_control(start_control());
	allow_fds(0);
	assert_int_equal(cot_mps_start_control(p, &err), -EMFILE);
	assert_non_null(strstr(err.text, "cannot open /dev/null: Too many"));
	assert_true(cot_mps_listens(p)); /* nothing has begun */
	assert_int_equal(cot_mps_tell(p, "quit", &out, &err), -EMFILE);
	assert_non_null(strstr(err.text, "cannot make a pipe: Too many"));
	assert_int_equal(cot_mps_tell(p, "quit", NULL, &err), -EMFILE);
	assert_non_null(strstr(err.text, "cannot make a pipe: Too many"));
	allow_fds(-1);
	allow_fds(1);
	assert_int_equal(cot_mps_start_control(p, &err), -EMFILE);
	assert_non_null(strstr(err.text, "cotenantd-mps.log: Too many"));
	allow_fds(-1);
	allow_fds(3); /* two for the answer, and not two for the question */
	assert_int_equal(cot_mps_tell(p, "quit", &out, &err), -EMFILE);
	assert_non_null(strstr(err.text, "cannot make a pipe: Too many"));
	allow_fds(-1);
	assert_int_equal(out, -1);
	assert_int_equal(count_fds(), n);
}

/* A command has the pool's folders in its environment, and not what makes a server ours. */
static void test_tell_environment(void **state)
{
	(void)state;
	end_control(start_control());
	life_write("mps", "#!/bin/sh\nenv >\"${0%/*}/env\"\n", 0755);
	strcpy(stage.basis.library, "libc.so.6");
	assert_int_equal(exit_status(cot_mps_tell(p, "quit", NULL, &err)), 0);
	assert_true(has_line("env", "CUDA_MPS_PIPE_DIRECTORY=%s", p->pipe));
	assert_true(has_line("env", "CUDA_MPS_LOG_DIRECTORY=%s", p->log));
	assert_null(strstr(life_read("env"), "COTENANT_ROLE"));
	assert_null(strstr(life_read("env"), "LD_PRELOAD"));
}

/* ---- what programs get ---- */

static void assert_block(const char *fmt, ...) COT_PRINTF(1, 2);

static void assert_block(const char *fmt, ...)
{
	char block[4096], expected[4096];
	size_t n, used = 3, i;
	va_list ap;

	va_start(ap, fmt);
	n = (size_t)vsnprintf(expected, sizeof(expected), fmt, ap);
	va_end(ap);
	for (i = 0; i < n; i++)
		if (expected[i] == '\n')
			expected[i] = '\0';
	assert_int_equal(cot_mps_environment(p, block, n + 3, &used), 0);
	assert_int_equal(used, n + 3);
	assert_memory_equal(block + 3, expected, n);
	used = 3;
	assert_int_equal(cot_mps_environment(p, block, n + 2, &used), -ENOSPC);
}

static void test_programs_environment(void **state)
{
	(void)state;
	assert_block("CUDA_MPS_PIPE_DIRECTORY=%s\nCUDA_MPS_LOG_DIRECTORY=%s\n"
		     "CUDA_VISIBLE_DEVICES=0\n",
		     p->pipe, p->log);
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 1);
	assert_block("CUDA_MPS_PIPE_DIRECTORY=%s\nCUDA_MPS_LOG_DIRECTORY=%s\n"
		     "CUDA_VISIBLE_DEVICES=0\n", /* the server sees one */
		     p->pipe, p->log);
	strcpy(stage.basis.gpus.gpu[1].uuid, "GPU-bbbb");
	assert_block("CUDA_MPS_PIPE_DIRECTORY=%s\nCUDA_MPS_LOG_DIRECTORY=%s\n"
		     "CUDA_VISIBLE_DEVICES=GPU-bbbb\n",
		     p->pipe, p->log);
	stage.basis.gpus.n = 1;
	assert_block("CUDA_MPS_PIPE_DIRECTORY=%s\nCUDA_MPS_LOG_DIRECTORY=%s\n", p->pipe, p->log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MPS(test_environment),
		WITH_MPS(test_preload),
		WITH_MPS(test_process),
		WITH_MPS(test_descriptors),
		WITH_MPS(test_folders),
		WITH_MPS(test_old_socket),
		WITH_MPS(test_no_start),
		WITH_MPS(test_tell),
		WITH_MPS(test_tell_does_not_wait),
		WITH_MPS(test_tell_environment),
		WITH_MPS(test_few_descriptors),
		WITH_MPS(test_programs_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
