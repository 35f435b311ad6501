/*
 * This process and its children as on a kernel that lacks some calls, by seccomp. For tests of what
 * is done there.
 */
#ifndef COT_TESTS_OLD_KERNEL_H
#define COT_TESTS_OLD_KERNEL_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define OLD_LOAD(field)		  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define OLD_SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)
#define OLD_FAIL(error)		  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static inline bool old_kernel_filter(struct sock_filter *code, size_t n)
{
	struct sock_fprog filter = {.len = (unsigned short)n, .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* No SO_PASSRIGHTS, no SO_PEERPIDFD: as Debian 12's. False: there is no seccomp. */
static inline bool old_kernel_sockets(void)
{
	struct sock_filter code[] = {
		OLD_LOAD(nr),
		OLD_SKIP_UNLESS(SYS_setsockopt, 3),
		OLD_LOAD(args[2]),
		OLD_SKIP_UNLESS(83, 1), /* SO_PASSRIGHTS */
		OLD_FAIL(ENOPROTOOPT),
		OLD_LOAD(nr),
		OLD_SKIP_UNLESS(SYS_getsockopt, 3),
		OLD_LOAD(args[2]),
		OLD_SKIP_UNLESS(77, 1), /* SO_PEERPIDFD */
		OLD_FAIL(ENOPROTOOPT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return old_kernel_filter(code, sizeof(code) / sizeof(code[0]));
}

/* No pidfd of any process can be had: `error` is why. */
static inline bool old_kernel_pidfds(unsigned error)
{
	struct sock_filter code[] = {
		OLD_LOAD(nr),
		OLD_SKIP_UNLESS(SYS_pidfd_open, 1),
		OLD_FAIL(error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return old_kernel_filter(code, sizeof(code) / sizeof(code[0]));
}

#endif
