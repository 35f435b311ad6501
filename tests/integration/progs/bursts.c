/*
 * A program that does not mark its requests, in every way in which programs wait for the GPU. It is
 * told itself what the shim sees (libcotenant.so, too), and compares it with what its own clock
 * said before and after the first call of a request, and before and after the last one. So these
 * are exact, however slow the machine is.
 *
 *     bursts [--rounds N] [--stay 1] [--faults 1]
 *
 * Prints "requests N wrong N seen N unclear N"; with --stay it waits to be told to end. With
 * --faults requests may be missing, and end late, but none is another one's. Exit status 1:
 * something was wrong.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "common.h"

#define MAX_REQUESTS 4096u
#define BYTES	     4096u
#define BLOCK_US     300

typedef struct {
	uint64_t from, to;
} span;

static struct {
	span begin, end;
} requests[MAX_REQUESTS];
static span seen[MAX_REQUESTS];
static unsigned n_requests, n_seen;
static uint64_t n_unclear;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct prog prog;
static CUstream blocking, other;
static CUevent event, joined;
static CUdeviceptr memory;
static unsigned char *host;
static unsigned n_wrong;
static bool faults;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* ---- what the shim says: in front of libcotenant.so ---- */

COT_EXPORT void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns);
COT_EXPORT void cotenant_request_unclear(uint64_t n);

void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns)
{
	void (*next)(uint64_t begin_ns, uint64_t end_ns);

	*(void **)&next = dlsym(RTLD_NEXT, "cotenant_request_seen");
	if (next)
		next(begin_ns, end_ns);
	pthread_mutex_lock(&lock);
	if (n_seen < MAX_REQUESTS)
		seen[n_seen++] = (span){begin_ns, end_ns};
	pthread_mutex_unlock(&lock);
}

void cotenant_request_unclear(uint64_t n)
{
	void (*next)(uint64_t n);

	*(void **)&next = dlsym(RTLD_NEXT, "cotenant_request_unclear");
	if (next)
		next(n);
	pthread_mutex_lock(&lock);
	n_unclear += n;
	pthread_mutex_unlock(&lock);
}

/* ---- what the program says ---- */

#define TIMED(span, call)               \
	do {                            \
		(span).from = now_ns(); \
		PROG_CHECK(call);       \
		(span).to = now_ns();   \
	} while (0)

static void add(span begin, span end)
{
	pthread_mutex_lock(&lock);
	requests[n_requests].begin = begin;
	requests[n_requests++].end = end;
	pthread_mutex_unlock(&lock);
}

static bool is_in(uint64_t at, span s)
{
	return at >= s.from && at <= s.to;
}

static void complain(const char *name, const char *what, unsigned n, unsigned of)
{
	if (n_wrong++ < 5)
		printf("%s: %s: %u of %u\n", name, what, n, of);
}

/* Whether it is this request, and no other one as well. */
static bool is_right_at_least(span s, unsigned i)
{
	return is_in(s.from, requests[i].begin) && s.to >= requests[i].end.from &&
	       (i + 1 == n_requests || s.to <= requests[i + 1].begin.to);
}

static void check_at_least(const char *name, unsigned since, unsigned since_seen)
{
	unsigned i, k, n = 0;

	for (k = since_seen; k < n_seen; k++)
		for (i = since; i < n_requests; i++)
			n += is_right_at_least(seen[k], i);
	if (n != n_seen - since_seen)
		complain(name, "requests found among those that were seen", n, n_seen - since_seen);
}

/* Each request was seen once, with its begin and its end, and nothing else. */
static void check(const char *name, unsigned since, unsigned since_seen)
{
	unsigned i, k, n = 0;

	pthread_mutex_lock(&lock);
	for (i = since; i < n_requests; i++)
		for (k = since_seen; k < n_seen; k++)
			if (is_in(seen[k].from, requests[i].begin) &&
			    is_in(seen[k].to, requests[i].end)) {
				n++;
				break;
			}
	if (n != n_requests - since || n_seen - since_seen != n)
		complain(name, "requests found among those that were seen", n, n_seen - since_seen);
	if (n < n_requests - since)
		complain(name, "requests found among the program's", n, n_requests - since);
	pthread_mutex_unlock(&lock);
}

static CUresult launch(CUstream stream)
{
	struct prog there = prog;

	there.stream = stream;
	return prog_spin(&there, 4, BLOCK_US, 0);
}

/* ---- one stream ---- */

static void eager(void)
{
	span begin, end;
	unsigned i;

	TIMED(begin, cuMemcpyHtoDAsync(memory, host, BYTES, prog.stream));
	for (i = 0; i < 50; i++)
		PROG_CHECK(launch(prog.stream));
	PROG_CHECK(cuMemcpyDtoHAsync(host, memory, BYTES, prog.stream));
	TIMED(end, cuStreamSynchronize(prog.stream));
	add(begin, end);
}

#define SOON_NS 1000000ull

/* Each input is copied and waited for by itself, in a stream of its own; then comes the work. Where
 * this machine was too slow for that to be one request, it may have begun with either. */
static void waits_for_inputs(void)
{
	span begin, wait, next;
	unsigned i;
	bool soon = true;

	TIMED(begin, cuMemcpyHtoDAsync(memory, host, BYTES, other));
	for (i = 0; i < 3; i++) {
		TIMED(wait, cuStreamSynchronize(other));
		if (i < 2)
			TIMED(next, cuMemcpyHtoDAsync(memory, host, BYTES, other));
		else
			TIMED(next, launch(prog.stream));
		soon &= next.to - wait.from < SOON_NS;
	}
	if (!soon)
		begin.to = next.to;
	TIMED(wait, cuStreamSynchronize(prog.stream));
	add(begin, wait);
}

/* The program goes on with something else: that is no request, and not the next one's. */
static void copies_alone(void)
{
	PROG_CHECK(cuMemcpyHtoDAsync(memory, host, BYTES, prog.stream));
	PROG_CHECK(cuStreamSynchronize(prog.stream));
	prog_sleep_us(3 * SOON_NS / 1000);
}

static void polls_stream(void)
{
	span begin, end;
	CUresult rc;

	TIMED(begin, launch(prog.stream));
	do {
		end.from = now_ns();
		rc = cuStreamQuery(prog.stream);
		end.to = now_ns();
	} while (rc == CUDA_ERROR_NOT_READY);
	PROG_CHECK(rc);
	add(begin, end);
}

static void polls_event(void)
{
	span begin, end;
	CUresult rc;

	TIMED(begin, launch(prog.stream));
	PROG_CHECK(cuEventRecord(event, prog.stream));
	do {
		end.from = now_ns();
		rc = cuEventQuery(event);
		end.to = now_ns();
	} while (rc == CUDA_ERROR_NOT_READY);
	PROG_CHECK(rc);
	add(begin, end);
}

static void graph(void)
{
	static CUgraphExec exec;
	CUgraph recorded;
	span begin, end;
	unsigned i;

	if (!exec) { /* what is recorded is no request */
		PROG_CHECK(cuStreamBeginCapture(prog.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		for (i = 0; i < 3; i++)
			PROG_CHECK(launch(prog.stream));
		PROG_CHECK(cuStreamEndCapture(prog.stream, &recorded));
		PROG_CHECK(cuGraphInstantiateWithFlags(&exec, recorded, 0));
		PROG_CHECK(cuStreamSynchronize(prog.stream));
	}
	TIMED(begin, cuGraphLaunch(exec, prog.stream));
	TIMED(end, cuStreamSynchronize(prog.stream));
	add(begin, end);
}

/* ---- without a stream ---- */

static void copies(void)
{
	span begin, end;

	TIMED(begin, cuMemcpyHtoD(memory, host, BYTES));
	PROG_CHECK(launch(NULL));
	TIMED(end, cuMemcpyDtoH(host, memory, BYTES));
	add(begin, end);
}

static void copies_either_way(void)
{
	span begin, end;

	TIMED(begin, cuMemcpy(memory, (CUdeviceptr)(uintptr_t)host, BYTES));
	PROG_CHECK(launch(CU_STREAM_LEGACY));
	TIMED(end, cuMemcpy((CUdeviceptr)(uintptr_t)host, memory, BYTES));
	add(begin, end);
}

/* The default stream waits for the other one. */
static void copies_after_a_stream(void)
{
	span begin, end;

	TIMED(begin, launch(blocking));
	PROG_CHECK(launch(blocking));
	TIMED(end, cuMemcpyDtoH(host, memory, BYTES));
	add(begin, end);
}

/* ---- several streams ---- */

static void forks_and_joins(void)
{
	span begin, end;

	TIMED(begin, launch(prog.stream));
	PROG_CHECK(cuEventRecord(event, prog.stream));
	PROG_CHECK(cuStreamWaitEvent(other, event, 0));
	PROG_CHECK(launch(other));
	PROG_CHECK(launch(prog.stream));
	PROG_CHECK(cuEventRecord(joined, other));
	PROG_CHECK(cuStreamWaitEvent(prog.stream, joined, 0));
	TIMED(end, cuStreamSynchronize(prog.stream));
	add(begin, end);
}

static void waits_for_an_event(void)
{
	span begin, end;

	TIMED(begin, cuMemsetD8Async(memory, 1, BYTES, other));
	PROG_CHECK(cuEventRecord(event, other));
	PROG_CHECK(cuStreamWaitEvent(prog.stream, event, 0));
	PROG_CHECK(launch(prog.stream));
	PROG_CHECK(cuEventRecord(joined, prog.stream));
	TIMED(end, cuEventSynchronize(joined));
	add(begin, end);
}

static void waits_for_the_context(void)
{
	span begin, end;

	TIMED(begin, launch(prog.stream));
	PROG_CHECK(launch(other));
	PROG_CHECK(launch(blocking));
	TIMED(end, cuCtxSynchronize());
	add(begin, end);
}

/* The legacy one waits for that of the thread. */
static void default_streams(void)
{
	span begin, end;

	TIMED(begin, launch(CU_STREAM_PER_THREAD));
	PROG_CHECK(launch(CU_STREAM_LEGACY));
	TIMED(end, cuStreamSynchronize(CU_STREAM_LEGACY));
	add(begin, end);
}

static void one_stream_after_the_other(void)
{
	span begin, end;

	TIMED(begin, launch(prog.stream));
	PROG_CHECK(launch(other));
	PROG_CHECK(cuStreamSynchronize(prog.stream));
	TIMED(end, cuStreamSynchronize(other));
	add(begin, end);
}

/* ---- functions of the host ---- */

static _Atomic uint64_t called_ns;

static void call(void *data)
{
	*(_Atomic uint64_t *)data = now_ns();
}

static void call_back(CUstream stream, CUresult rc, void *data)
{
	if (stream == prog.stream && !rc)
		call(data);
}

static void is_called(CUresult (*ask)(void))
{
	span begin, end;

	called_ns = 0;
	TIMED(begin, launch(prog.stream));
	end.from = now_ns();
	PROG_CHECK(ask());
	while (!called_ns)
		prog_sleep_us(50);
	end.to = called_ns;
	add(begin, end);
	PROG_CHECK(cuStreamSynchronize(prog.stream));
}

static CUresult ask_function(void)
{
	return cuLaunchHostFunc(prog.stream, call, (void *)&called_ns);
}

static CUresult ask_callback(void)
{
	return cuStreamAddCallback(prog.stream, call_back, (void *)&called_ns, 0);
}

static void host_function(void)
{
	is_called(ask_function);
}

static void callback(void)
{
	is_called(ask_callback);
}

/* ---- several threads ---- */

static unsigned n_rounds = 5;

static void *serve(void *own_default)
{
	CUstream stream = CU_STREAM_PER_THREAD;
	span begin, end;
	unsigned i;

	PROG_CHECK(cuCtxSetCurrent(prog.context));
	if (!own_default)
		PROG_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (i = 0; i < n_rounds * 4; i++) {
		TIMED(begin, launch(stream));
		PROG_CHECK(launch(stream));
		TIMED(end, cuStreamSynchronize(stream));
		add(begin, end);
	}
	if (!own_default)
		PROG_CHECK(cuStreamDestroy(stream));
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];
	unsigned i;

	for (i = 0; i < 4 && !faults; i++)
		pthread_create(&thread[i], NULL, serve, i % 2 ? (void *)&prog : NULL);
	for (i = 0; i < 4 && !faults; i++)
		pthread_join(thread[i], NULL);
}

/* ---- what cannot be told apart, and must not be seen ---- */

static void one_ahead(void)
{
	CUstream streams[] = {prog.stream, other};
	uint64_t before = n_unclear;
	unsigned i;

	PROG_CHECK(launch(streams[0]));
	PROG_CHECK(launch(streams[1]));
	for (i = 0; i < 6; i++) {
		PROG_CHECK(cuStreamSynchronize(streams[i % 2]));
		PROG_CHECK(launch(streams[i % 2]));
	}
	PROG_CHECK(cuStreamSynchronize(streams[0]));
	PROG_CHECK(cuStreamSynchronize(streams[1]));
	if ((n_unclear == before || n_unclear > before + 8) && !faults) /* of 8 waits */
		complain("one ahead", "unclear", (unsigned)(n_unclear - before), 6);
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	void (*play)(void);
} cases[] = {
	{"eager", eager},
	{"copies alone", copies_alone},
	{"waits for inputs", waits_for_inputs},
	{"polls a stream", polls_stream},
	{"polls an event", polls_event},
	{"graph", graph},
	{"copies", copies},
	{"copies either way", copies_either_way},
	{"copies after a stream", copies_after_a_stream},
	{"forks and joins", forks_and_joins},
	{"waits for an event", waits_for_an_event},
	{"waits for the context", waits_for_the_context},
	{"default streams", default_streams},
	{"one stream after the other", one_stream_after_the_other},
	{"host function", host_function},
	{"callback", callback},
	{"threads", threads},
	{"one ahead", one_ahead},
};

static void start(void)
{
	prog = prog_start(0);
	PROG_CHECK(cuStreamCreate(&blocking, 0));
	PROG_CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	PROG_CHECK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
	PROG_CHECK(cuMemAlloc(&memory, BYTES));
	PROG_CHECK(cuMemAllocHost((void **)&host, BYTES));
}

int main(int argc, char **argv)
{
	unsigned i, k, since, since_seen;

	n_rounds = (unsigned)prog_option(argc, argv, "--rounds", 5);
	faults = prog_option(argc, argv, "--faults", 0) != 0;
	prog_catch_signals();
	start();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		since = n_requests;
		since_seen = n_seen;
		for (k = 0; k < n_rounds && n_requests + 64 < MAX_REQUESTS; k++)
			cases[i].play();
		if (faults)
			check_at_least(cases[i].name, since, since_seen);
		else
			check(cases[i].name, since, since_seen);
	}
	printf("requests %u wrong %u seen %u unclear %llu\n", n_requests, n_wrong, n_seen,
	       (unsigned long long)n_unclear);
	fflush(stdout);
	while (prog_option(argc, argv, "--stay", 0) != 0 && !prog_stopped)
		prog_sleep_us(10000);
	return n_wrong != 0;
}
