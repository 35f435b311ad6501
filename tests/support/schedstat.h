/* What the kernel counts of processes, for tests that judge times on a busy machine. */
#ifndef COT_TESTS_SCHEDSTAT_H
#define COT_TESTS_SCHEDSTAT_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

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

/* What the machine below this one, if it is a virtual one, has taken from it until now. */
static inline uint64_t stolen_ns(void)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long stolen = 0;

	if (f && fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %lu", &stolen) != 1)
		stolen = 0;
	if (f)
		fclose(f);
	return (uint64_t)stolen * 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
}

#endif
