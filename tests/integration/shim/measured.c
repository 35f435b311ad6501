/* Stands in for libcotenant.so in a program that is measured: its requests are seen, and each is
 * over. The last line says how many there were. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"

static unsigned long n_seen;

COT_EXPORT void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns);

/* The shim tells of one after the other. */
void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns)
{
	if (!begin_ns || begin_ns > end_ns)
		abort();
	n_seen++;
}

__attribute__((destructor)) static void say(void)
{
	printf("requests %lu\n", n_seen);
}
