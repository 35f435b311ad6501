/*
 * What the shim adds to a call that it leaves as it is, in nanoseconds: a call that it only passes
 * on, and the launch of a kernel that was not rewritten, with the shim switched off, on, with the
 * program on a part of the GPU, paced there, measured, measured on a part (as a program with a
 * target is under the policy `slo`), and there with the daemon told of its queries; and a request
 * of one launch and one question whether it is done, or one wait. Behind it is a driver that does
 * nothing (bench/shim/driver.c). Each number is the smallest of several runs, since everything else
 * on the machine can only add to it.
 *
 *     bench_shim [--calls N]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/abi/calls.h"
#include "proto/proto.h"

#define CALLS_DEFAULT 20000u
#define REPEATS	      1000
#define PACE_US	      500
#define APART	      2000 /* requests of which the daemon is told */
#define APART_NS      250e3
#define FUNCTIONS     512 /* as many as a large program launches */

typedef __typeof__(cuLaunchKernel) launch_fn;
typedef __typeof__(cuStreamQuery) query_fn;

struct library {
	launch_fn *launch;
	query_fn *query, *wait;
	__typeof__(cuCtxGetDevice) *passed;
	__typeof__(cuInit) *init;
	__typeof__(cuGetProcAddress) *proc;
};

static unsigned n_calls = CALLS_DEFAULT;
static volatile int sink;
static char functions[FUNCTIONS][64]; /* their addresses serve as handles */
#define STREAM ((CUstream)functions[0])

static void *symbol(void *handle, const char *name)
{
	void *found = dlsym(handle, name);

	if (!found) {
		fprintf(stderr, "bench_shim: no %s\n", name);
		exit(1);
	}
	return found;
}

static struct library open_library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct library l;

	if (!handle) {
		fprintf(stderr, "bench_shim: %s\n", dlerror());
		exit(1);
	}
	*(void **)&l.launch = symbol(handle, "cuLaunchKernel");
	*(void **)&l.query = symbol(handle, "cuStreamQuery");
	*(void **)&l.wait = symbol(handle, "cuStreamSynchronize");
	*(void **)&l.passed = symbol(handle, "cuCtxGetDevice");
	*(void **)&l.init = symbol(handle, "cuInit");
	*(void **)&l.proc = symbol(handle, "cuGetProcAddress");
	return l;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static double time_launches(launch_fn *launch)
{
	void *params[1] = {NULL};
	double begin = now_ns();
	unsigned i;

	for (i = 0; i < n_calls; i++)
		sink = launch((CUfunction)functions[i % FUNCTIONS], 1, 1, 1, 256, 1, 1, 0, STREAM,
			      params, NULL);
	return (now_ns() - begin) / n_calls;
}

static double time_queries(query_fn *query)
{
	double begin = now_ns();
	unsigned i;

	for (i = 0; i < n_calls; i++)
		sink = query(STREAM);
	return (now_ns() - begin) / n_calls;
}

static double time_passed(const struct library *l)
{
	double begin = now_ns();
	CUdevice device;
	unsigned i;

	for (i = 0; i < n_calls; i++)
		sink = l->passed(&device);
	return (now_ns() - begin) / n_calls;
}

/* `done` asks or waits until it is done. */
static double time_requests(const struct library *l, query_fn *done)
{
	void *params[1] = {NULL};
	double begin = now_ns();
	unsigned i;

	for (i = 0; i < n_calls; i++) {
		sink = l->launch((CUfunction)functions[i % FUNCTIONS], 1, 1, 1, 256, 1, 1, 0,
				 STREAM, params, NULL);
		sink = done(STREAM);
	}
	return (now_ns() - begin) / n_calls;
}

/* Requests that come so far apart that the daemon is told of each: the time until the first launch
 * is the driver's, and all that the program does for a request. */
static void time_apart(const struct library *l, double *ret_begin, double *ret_all)
{
	void *handle = dlopen(COT_STUB_DRIVER, RTLD_NOW | RTLD_LOCAL);
	double *launched = dlsym(handle, "cot_stub_launched_ns"), begins[APART], alls[APART];
	void *params[1] = {NULL};
	unsigned i;

	*launched = 1.0;
	for (i = 0; i < APART; i++) {
		double begin = now_ns();

		while (now_ns() - begin < APART_NS)
			;
		begin = now_ns();
		sink = l->launch((CUfunction)functions[0], 1, 1, 1, 256, 1, 1, 0, STREAM, params,
				 NULL);
		sink = l->query(STREAM);
		alls[i] = now_ns() - begin;
		begins[i] = *launched - begin;
	}
	*launched = 0.0;
	*ret_begin = median(begins, APART);
	*ret_all = median(alls, APART);
}

struct times {
	double passed, query, launch, found; /* found: by cuGetProcAddress */
	double request, waited, told_begin, told_all;
	unsigned long n_seen;
};

/* The shim tells of each request: libcotenant.so takes them elsewhere. */
static unsigned long n_seen;
COT_EXPORT void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns);

void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns)
{
	n_seen += begin_ns <= end_ns;
}

struct cot_request_watch;
COT_EXPORT bool cotenant_request_watch(const struct cot_request_watch *watch);

/* And asks whether the program marks them: without libcotenant.so it would tell of none. */
bool cotenant_request_watch(const struct cot_request_watch *watch)
{
	(void)watch;
	return false;
}

static void least(double *of, double ns, int i)
{
	if (i == 0 || ns < *of)
		*of = ns;
}

/* The first launches make the GPU known; then the daemon's answer has some time. */
static void settle(const struct library *l)
{
	unsigned i;

	for (i = 0; i < 100; i++) {
		sink = l->launch((CUfunction)functions[0], 1, 1, 1, 1, 1, 1, 0, STREAM, NULL, NULL);
		usleep(2000);
	}
}

static void *sleep_on(void *nothing)
{
	(void)pause();
	return nothing;
}

/* As the driver has one in every program: without any the C library's locks are no atomic
 * operations. */
static void have_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleep_on, NULL))
		exit(1);
}

static struct times measure(const char *path)
{
	struct library l = open_library(path);
	launch_fn *found = NULL;
	struct times t = {0};
	int i;

	have_thread();
	sink = l.init(0);
	if (getenv("COTENANT_PARTS"))
		settle(&l);
	if (l.proc("cuLaunchKernel", (void **)&found, 12000, 0) || !found)
		exit(1);
	for (i = 0; i < REPEATS; i++) {
		least(&t.launch, time_launches(l.launch), i);
		least(&t.query, time_queries(l.query), i);
		least(&t.found, time_launches(found), i);
		least(&t.passed, time_passed(&l), i);
		least(&t.request, time_requests(&l, l.query), i);
		least(&t.waited, time_requests(&l, l.wait), i);
	}
	time_apart(&l, &t.told_begin, &t.told_all);
	t.n_seen = n_seen;
	return t;
}

/* ---- a daemon that puts the program on a part, once ---- */

static void answer(int fd, void *packet, enum cot_msg_type type, size_t size)
{
	cot_proto_header(packet, type, (uint32_t)size, 1);
	(void)send(fd, packet, size, MSG_NOSIGNAL);
}

/* What the daemon wants besides a part. */
struct wish {
	uint32_t pace_us;
	bool measured; /* the program was started so: nothing that the daemon says */
	bool queries;
};

/* Returns whether the program says in the end that its launches were there, and paced or of queries
 * if they were to be. */
static bool serve(int listener, struct wish wish)
{
	static union {
		struct cot_msg_header h;
		struct cot_msg_part_counts counts;
		struct cot_msg_pace_counts pace;
		unsigned char bytes[COT_PROTO_PACKET_MAX];
	} in;
	struct cot_msg_work_welcome welcome = {.tenant = 1, .works_max = 1};
	struct cot_msg_place place = {.first = 0, .n = 64, .pace_us = wish.pace_us};
	struct cot_msg_queries queries = {.wanted = wish.queries};
	int fd = accept(listener, NULL, NULL);
	uint64_t followed = 0, paced = 0, n_queries = 0;

	while (recv(fd, &in, sizeof(in), 0) > 0) {
		if (in.h.type == COT_MSG_WORK_HELLO)
			answer(fd, &welcome, COT_MSG_WORK_WELCOME, sizeof(welcome));
		else if (in.h.type == COT_MSG_PARTS)
			answer(fd, &queries, COT_MSG_QUERIES, sizeof(queries)),
				answer(fd, &place, COT_MSG_PLACE, sizeof(place));
		else if (in.h.type == COT_MSG_QUERY_BEGIN)
			n_queries++;
		else if (in.h.type == COT_MSG_PART_COUNTS)
			followed = in.counts.n_followed;
		else if (in.h.type == COT_MSG_PACE_COUNTS)
			paced = in.pace.n_paced;
	}
	/* So many requests are told that the counts may find no room in the socket. */
	if (wish.queries)
		return n_queries;
	return followed > n_calls && (!wish.pace_us || paced > n_calls) && !n_queries;
}

static pid_t start_daemon(const char *path, struct wish wish)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	pid_t pid;

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(listener, 1) || (pid = fork()) < 0) {
		perror("bench_shim: a daemon");
		exit(1);
	}
	if (!pid)
		_exit(!serve(listener, wish));
	close(listener);
	return pid;
}

/* In a process of its own, since the shim looks at its environment once. */
static struct times measure_apart(const char *path, const char *variable, const char *on,
				  const char *socket_path)
{
	struct times t = {0};
	int fds[2], status = -1;
	pid_t pid;

	if (pipe(fds))
		exit(1);
	pid = fork();
	if (!pid) {
		setenv(variable, on, 1);
		setenv("COTENANT_SOCKET", socket_path, 1);
		setenv("COTENANT_SHIM_DRIVER", COT_STUB_DRIVER, 1);
		t = measure(path);
		exit(write(fds[1], &t, sizeof(t)) != (ssize_t)sizeof(t));
	}
	if (pid < 0 || read(fds[0], &t, sizeof(t)) != (ssize_t)sizeof(t) ||
	    waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "bench_shim: a run failed\n");
		exit(1);
	}
	close(fds[0]);
	close(fds[1]);
	return t;
}

static struct times measure_on_part(struct wish wish)
{
	const char *tmp = getenv("TMPDIR");
	char folder[64], path[80];
	int status = -1;
	struct times t;
	pid_t daemon;

	(void)snprintf(folder, sizeof(folder), "%s/bench_shim.XXXXXX", tmp ? tmp : P_tmpdir);
	if (!mkdtemp(folder))
		exit(1);
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	daemon = start_daemon(path, wish);
	if (wish.measured || wish.queries)
		setenv("COTENANT_REQUESTS", "1", 1);
	t = measure_apart(COT_SHIM, "COTENANT_PARTS", "1", path);
	unsetenv("COTENANT_REQUESTS");
	(void)waitpid(daemon, &status, 0);
	(void)unlink(path);
	(void)rmdir(folder);
	if (status) {
		fprintf(stderr, "bench_shim: the launches were not on the part, not paced, or "
				"not of queries\n");
		exit(1);
	}
	return t;
}

static void show(const char *what, struct times t, struct times plain)
{
	printf("%-19s %6.1f %+6.1f  %6.1f %+6.1f  %6.1f %+6.1f  %6.1f %+6.1f  %6.1f %+6.1f  "
	       "%6.1f %+6.1f\n",
	       what, t.passed, t.passed - plain.passed, t.query, t.query - plain.query, t.launch,
	       t.launch - plain.launch, t.found, t.found - plain.found, t.request,
	       t.request - plain.request, t.waited, t.waited - plain.waited);
}

int main(int argc, char **argv)
{
	struct times plain, off, on, part, paced, queries, measured, both;

	if (argc == 3 && !strcmp(argv[1], "--calls"))
		n_calls = (unsigned)strtoul(argv[2], NULL, 10);
	if (!n_calls || (argc != 1 && argc != 3)) {
		fprintf(stderr, "usage: bench_shim [--calls N]\n");
		return 2;
	}
	plain = measure_apart(COT_STUB_DRIVER, "COTENANT_SHIM", "0", "/nowhere");
	off = measure_apart(COT_SHIM, "COTENANT_SHIM", "0", "/nowhere");
	on = measure_apart(COT_SHIM, "COTENANT_SHIM", "1", "/nowhere");
	part = measure_on_part((struct wish){0});
	paced = measure_on_part((struct wish){.pace_us = PACE_US});
	queries = measure_on_part((struct wish){.queries = true});
	measured = measure_apart(COT_SHIM, "COTENANT_REQUESTS", "1", "/nowhere");
	both = measure_on_part((struct wish){.measured = true});
	if (measured.n_seen < n_calls || both.n_seen < n_calls || part.n_seen) {
		fprintf(stderr,
			"bench_shim: %lu requests were seen, %lu on a part, %lu of a program "
			"that is not measured\n",
			measured.n_seen, both.n_seen, part.n_seen);
		return 1;
	}
	printf("ns per call         passed on      question       launch         by address     "
	       "request        with a wait\n");
	show("driver alone", plain, plain);
	show("shim, switched off", off, plain);
	show("shim, switched on", on, plain);
	show("shim, on a part", part, plain);
	show("shim, paced there", paced, plain);
	show("shim, measured", measured, plain);
	show("shim, with a target", both, plain);
	show("shim, queries told", queries, plain);
	printf("\nns of requests 0.25 ms apart, medians: until the driver has the launch, and in all\n");
	printf("shim, on a part    %6.0f %6.0f\nshim, queries told %6.0f %6.0f\n", part.told_begin,
	       part.told_all, queries.told_begin, queries.told_all);
	return 0;
}
