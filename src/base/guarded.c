#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall() */
#endif
#include "base/guarded.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORD	  8u /* a signal set of the kernel's; aligned, it is on one page */
#define PAGE_BITS 12 /* of the smallest pages */

/*
 * rt_sigprocmask() reads the set before it sees that it is not told what to do with it: EFAULT, or
 * EINVAL. Every C library needs that call, so no sandbox refuses it, or ends the program for it, as
 * some do for process_vm_readv(), which also takes longer.
 */
static bool is_readable(uintptr_t at)
{
	long rc = syscall(SYS_rt_sigprocmask, -1, at / WORD * WORD, NULL, WORD);

	return rc < 0 && errno == EINVAL;
}

bool cot_guarded_copy(void *to, const void *from, size_t n)
{
	uintptr_t first = (uintptr_t)from, last = first + n - 1;
	int saved = errno;
	bool readable = is_readable(first) &&
			(first >> PAGE_BITS == last >> PAGE_BITS || is_readable(last));

	errno = saved;
	if (readable)
		memcpy(to, from, n);
	return readable;
}
