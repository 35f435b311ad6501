/*
 * A program that marks its requests: a kernel each, that arrived some time before.
 * marks [--count N] [--block-us U] [--waited-us U] [--late-every N --late-us U] [--target-us U]
 * Each N-th request has waited the other time. Prints "requests N service_p50_ms A response_p50_ms
 * B missed_least C missed_most D", in the time that the clock shows, and stays until it is told to
 * end. So many responses took longer than the target: with the clock before the end is marked, and
 * after.
 */
#include <cotenant/request.h>

#include "common.h"

#define MAX_REQUESTS 10000u

static double service_ms[MAX_REQUESTS];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	unsigned n = (unsigned)prog_option(argc, argv, "--count", 100), i;
	double block_us = prog_option(argc, argv, "--block-us", 2000);
	double waited_us = prog_option(argc, argv, "--waited-us", 3000);
	unsigned late_every = (unsigned)prog_option(argc, argv, "--late-every", MAX_REQUESTS + 1);
	double late_us = prog_option(argc, argv, "--late-us", 0);
	double target_us = prog_option(argc, argv, "--target-us", 0);
	unsigned least = 0, most = 0;
	struct prog p = prog_start(0);

	prog_catch_signals();
	for (i = 0; i < n && n <= MAX_REQUESTS; i++) {
		uint64_t begin = now_ns(), arrival;

		arrival =
			begin -
			(uint64_t)((i % late_every + 1 == late_every ? late_us : waited_us) * 1e3);
		cot_request_begin(i, arrival);
		PROG_CHECK(prog_spin(&p, 1, block_us, 0));
		PROG_CHECK(cuStreamSynchronize(p.stream));
		least += (double)(now_ns() - arrival) > target_us * 1e3;
		cot_request_end(i);
		most += (double)(now_ns() - arrival) > target_us * 1e3;
		service_ms[i] = (double)(now_ns() - begin) / 1e6;
	}
	qsort(service_ms, n, sizeof(service_ms[0]), compare);
	printf("requests %u service_p50_ms %.4f response_p50_ms %.4f missed_least %u missed_most %u\n",
	       n, service_ms[(n - 1) / 2], service_ms[(n - 1) / 2] + waited_us / 1e3, least, most);
	fflush(stdout);
	while (!prog_stopped)
		prog_sleep_us(10000);
	return 0;
}
