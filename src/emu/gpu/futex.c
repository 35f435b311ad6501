#include "emu/gpu/futex.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void cot_emu_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
	struct timespec t = {(time_t)(until_ns / 1000000000ull), (long)(until_ns % 1000000000ull)};
	int slack = prctl(PR_GET_TIMERSLACK);

	/* The default slack of 50 us would be the largest error of the emulated GPU. */
	if (slack > 1)
		prctl(PR_SET_TIMERSLACK, 1ul);
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, &t, NULL, FUTEX_BITSET_MATCH_ANY);
	if (slack > 1)
		prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

void cot_emu_futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
