/*
 * What marking a request costs a program: nanoseconds for a begin and its end, through
 * include/cotenant/request.h, in a program that is measured and in one that is not. Each number is
 * the smallest of several runs, since everything else on the machine can only add to it. There is
 * no daemon: the library keeps the requests for one, with the same stores.
 *
 *     bench_requests LIBRARY [--calls N]
 */
#include <cotenant/request.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS_DEFAULT 2000000u
#define REPEATS	      7

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double once(const struct cot_request_calls *calls, unsigned n)
{
	double begun = now_ns();
	unsigned i;

	for (i = 0; i < n; i++) {
		calls->begin(i, 0);
		calls->end(i);
	}
	return (now_ns() - begun) / n;
}

static int row(const char *what, void *l, unsigned n)
{
	void *begin = l ? dlsym(l, "cotenant_request_begin") : NULL;
	void *end = l ? dlsym(l, "cotenant_request_end") : NULL;
	struct cot_request_calls calls;
	double least = 1e9;
	int i;

	if (!begin || !end) {
		(void)fprintf(stderr, "bench_requests: this is no library with marks\n");
		return 1;
	}
	memcpy(&calls.begin, &begin, sizeof(begin));
	memcpy(&calls.end, &end, sizeof(end));
	for (i = 0; i < REPEATS; i++) {
		double ns = once(&calls, n);

		least = ns < least ? ns : least;
	}
	(void)printf("%-30s %6.1f ns\n", what, least);
	return 0;
}

int main(int argc, char **argv)
{
	void *l;
	unsigned n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : CALLS_DEFAULT;
	int rc;

	if (argc != 2 && (argc != 4 || strcmp(argv[2], "--calls") != 0 || !n)) {
		(void)fprintf(stderr, "usage: bench_requests LIBRARY [--calls N]\n");
		return 2;
	}
	(void)setenv("COTENANT_SOCKET", "/nonexistent/cotenantd.sock", 1);
	(void)unsetenv("COTENANT_REQUESTS");
	l = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	rc = row("begin and end, not measured", l, n);
	if (rc)
		return rc;
	(void)dlclose(l); /* it reads its environment when it is loaded, and has no thread yet */
	(void)setenv("COTENANT_REQUESTS", "1", 1);
	l = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	return row("begin and end, measured", l, n);
}
