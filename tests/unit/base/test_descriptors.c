/* Which descriptors are closed, in a child each; also where the kernel does not know close_range().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "test.h"

/* As on Linux 5.8. */
static int forget_close_range(void)
{
	struct sock_filter says[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(says) / sizeof(says[0]), says};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Of 10 to 15, which are open at first, those as bits from 1 on. 64: it could not be tried. */
static int left_after(unsigned first, unsigned last, bool old_kernel)
{
	int fd, status, left = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		for (fd = 10; fd <= 15; fd++)
			if (dup2(STDERR_FILENO, fd) < 0)
				_exit(64);
		if (old_kernel && forget_close_range())
			_exit(64);
		cot_descriptors_close(first, last);
		for (fd = 10; fd <= 15; fd++)
			left |= is_open(fd) << (fd - 10);
		_exit(left);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_closed(void **state)
{
	int old;

	(void)state;
	for (old = 0; old <= 1; old++) {
		assert_int_equal(left_after(11, 13, old), 1 | 16 | 32);
		assert_int_equal(left_after(12, ~0u, old), 1 | 2);
		assert_int_equal(left_after(12, 12, old), 1 | 2 | 8 | 16 | 32);
		assert_int_equal(left_after(12, 11, old), 63); /* none */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_closed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
