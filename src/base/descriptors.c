#include "base/descriptors.h"

#include <sys/syscall.h>
#include <unistd.h>

#define MOST 65536

void cot_descriptors_close(unsigned first, unsigned last)
{
	long limit = sysconf(_SC_OPEN_MAX);

	/* glibc before 2.34 has no function for it, and before 2.32 no SYS_close_range. */
	if (first > last || syscall(__NR_close_range, first, last, 0) == 0)
		return;
	if (limit < 0 || limit > MOST)
		limit = MOST;
	for (; first <= last && (long)first < limit; first++)
		(void)close((int)first);
}
