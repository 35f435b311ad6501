/* What the kernel counts of processes, for tests that judge times on a busy machine. */
#ifndef COT_TESTS_SCHEDSTAT_H
#define COT_TESTS_SCHEDSTAT_H

#include <stdint.h>
#include <stdio.h>

/* How long a process has waited for a processor until now; 0 where the kernel does not say. */
static inline uint64_t waited_ns(int pid)
{
	unsigned long ran, waited = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lu %lu", &ran, &waited) != 2)
		waited = 0;
	fclose(f);
	return waited;
}

#endif
