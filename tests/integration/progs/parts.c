/*
 * Random programs of streams, events, graphs, copies, memory and callbacks, whose results are known
 * beforehand: each operation that touches a buffer is ordered after the one before, by whatever
 * CUDA offers for it, and the host does the same to a copy of the buffer. So any order that is lost
 * shows. It uses the primary context, as programs on the CUDA runtime do.
 *
 *     parts [--seed N] [--seconds S] [--operations N] [--threads N] [--spin N] [--begin FILE]
 *           [--stay S] [--forks 1] [--until FILE]
 *
 * With --begin it launches something, and begins when that file is there, at the latest after 20 s.
 * With --until it ends when that file is there. With --stay it stays for so long when it has done
 * all. With --forks it forks all the time: children try to use CUDA, become another program, or
 * end. Prints "seed N operations N checks N wrong N sms N": `sms` is on how many SMs its kernels
 * were seen in the end. Exit status 1: something was wrong.
 */
#include <signal.h>
#include <sys/wait.h>

#include "parts_graph.h"

static const char *begin_file, *until_file;
static bool forks;

/* ---- operations ---- */

static void do_churn(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS), from = other(p, to);
	uint32_t salt = draw(p, UINT32_MAX);

	use(p, to, s);
	use(p, from, s);
	launch(p, streams[s], to, from, salt);
	mirror_churn(p, to, from, salt);
}

static void do_copy(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS), from = other(p, to);

	use(p, to, s);
	use(p, from, s);
	PROG_CHECK(cuMemcpyDtoDAsync(p->buffer[to], p->buffer[from], WORDS * 4, streams[s]));
	memcpy(p->mirror[to], p->mirror[from], WORDS * 4);
}

static void do_set(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS);
	uint32_t value = draw(p, UINT32_MAX);

	use(p, to, s);
	PROG_CHECK(cuMemsetD32Async(p->buffer[to], value, WORDS / 2, streams[s]));
	mirror_set(p, to, value);
}

static void compare(struct play *p, unsigned buffer, const char *how)
{
	p->n_checks++;
	if (!memcmp(p->back, p->mirror[buffer], WORDS * 4))
		return;
	memcpy(p->mirror[buffer], p->back, WORDS * 4); /* what follows is right again */
	if (p->n_wrong++ < TOLD)
		printf("wrong: %s, operation %u, seed %u\n", how, p->n_operations, p->seed);
}

/* The calls without a stream are in the default stream. */
static void do_read(struct play *p, unsigned s)
{
	unsigned from = draw(p, BUFFERS);

	if (draw(p, 2)) {
		use(p, from, LEGACY);
		PROG_CHECK(cuMemcpyDtoH(p->back, p->buffer[from], WORDS * 4));
		compare(p, from, "cuMemcpyDtoH");
	} else {
		use(p, from, s);
		PROG_CHECK(cuMemcpyDtoHAsync(p->pinned, p->buffer[from], WORDS * 4, streams[s]));
		wait_on_host(p, s);
		memcpy(p->back, p->pinned, WORDS * 4);
		compare(p, from, "cuMemcpyDtoHAsync");
	}
}

static void do_write(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS), i;

	for (i = 0; i < WORDS; i++)
		p->mirror[to][i] = i * 2654435761u + p->n_operations;
	if (draw(p, 2)) {
		use(p, to, LEGACY);
		PROG_CHECK(cuMemcpyHtoD(p->buffer[to], p->mirror[to], WORDS * 4));
		return;
	}
	use(p, to, s);
	memcpy(p->pinned, p->mirror[to], WORDS * 4);
	PROG_CHECK(cuMemcpyHtoDAsync(p->buffer[to], p->pinned, WORDS * 4, streams[s]));
	wait_on_host(p, s);
}

static void do_default(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS), from = other(p, to);
	uint32_t value = draw(p, UINT32_MAX);

	(void)s;
	use(p, to, LEGACY);
	if (draw(p, 2)) {
		use(p, from, LEGACY);
		PROG_CHECK(cuMemcpyDtoD(p->buffer[to], p->buffer[from], WORDS * 4));
		memcpy(p->mirror[to], p->mirror[from], WORDS * 4);
	} else {
		PROG_CHECK(cuMemsetD32(p->buffer[to], value, WORDS / 2));
		mirror_set(p, to, value);
	}
}

static void do_memory(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS), from = other(p, to);
	CUdeviceptr between;

	use(p, to, s);
	use(p, from, s);
	PROG_CHECK(cuMemAllocAsync(&between, WORDS * 4, streams[s]));
	PROG_CHECK(cuMemcpyDtoDAsync(between, p->buffer[from], WORDS * 4, streams[s]));
	PROG_CHECK(cuMemcpyDtoDAsync(p->buffer[to], between, WORDS * 4, streams[s]));
	PROG_CHECK(cuMemFreeAsync(between, streams[s]));
	memcpy(p->mirror[to], p->mirror[from], WORDS * 4);
}

static void called(void *data)
{
	atomic_fetch_add(&((struct play *)data)->n_called, 1);
}

static void called_back(CUstream stream, CUresult status, void *data)
{
	struct play *p = data;

	if (stream != p->told || status)
		atomic_fetch_add(&n_bad_callbacks, 1);
	atomic_fetch_add(&p->n_called, 1);
}

static void do_call(struct play *p, unsigned s)
{
	if (s == PER_THREAD || s == LEGACY || draw(p, 2)) {
		PROG_CHECK(cuLaunchHostFunc(streams[s], called, p));
	} else {
		p->told = streams[s];
		PROG_CHECK(cuStreamAddCallback(streams[s], called_back, p, 0));
	}
	p->n_calls++;
	PROG_CHECK(cuStreamSynchronize(streams[s]));
	p->n_checks++;
	if (atomic_load(&p->n_called) != p->n_calls) {
		p->n_wrong++;
		printf("wrong: a callback has not been called, seed %u\n", p->seed);
		p->n_calls = atomic_load(&p->n_called);
	}
}

static void do_time(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS), from = other(p, to);
	uint32_t salt = draw(p, UINT32_MAX);
	float ms = -1;

	use(p, to, s);
	use(p, from, s);
	PROG_CHECK(cuEventRecord(p->timing[0], streams[s]));
	launch(p, streams[s], to, from, salt);
	mirror_churn(p, to, from, salt);
	PROG_CHECK(cuEventRecord(p->timing[1], streams[s]));
	PROG_CHECK(cuEventSynchronize(p->timing[1]));
	PROG_CHECK(cuEventElapsedTime(&ms, p->timing[0], p->timing[1]));
	p->n_checks++;
	if (!(ms >= 0)) {
		p->n_wrong++;
		printf("wrong: %f ms, seed %u\n", (double)ms, p->seed);
	}
}

/* A stream goes with work in it, and another one comes. Nobody else may use it meanwhile. */
static void do_renew(struct play *p, unsigned s)
{
	unsigned flags = s >= FREE_1 ? CU_STREAM_NON_BLOCKING : 0, i;

	if (s < BLOCKING_1 || n_threads > 1)
		return;
	for (i = 0; i < BUFFERS; i++)
		if (p->last[i] == s)
			p->last[i] = LEGACY;
	PROG_CHECK(cuEventRecord(p->event[s], streams[s]));
	PROG_CHECK(cuStreamWaitEvent(NULL, p->event[s], 0));
	PROG_CHECK(cuStreamDestroy(streams[s]));
	PROG_CHECK(cuStreamCreateWithPriority(&streams[s], flags, -(int)draw(p, 2)));
}

/* In a child nothing of CUDA works, and whatever it does is its own affair. */
static void child(unsigned what, unsigned us)
{
	unsigned n_bad = 0;

	if (what == 0)
		execl("/bin/true", "true", (char *)NULL);
	if (what == 1) {
		n_bad += cuStreamSynchronize(streams[FREE_1]) == CUDA_SUCCESS;
		n_bad += cuLaunchKernel(churn, 1, 1, 1, 1, 1, 1, 0, streams[FREE_2], NULL, NULL) ==
			 CUDA_SUCCESS;
	}
	usleep(us);
	_exit(n_bad != 0);
}

static void do_fork(struct play *p)
{
	static _Atomic int n_children;
	unsigned what = draw(p, 3), us = draw(p, 5000);
	pid_t pid = atomic_load(&n_children) < 4 ? fork() : -1;
	int status;

	if (pid == 0)
		child(what, us);
	atomic_fetch_add(&n_children, pid > 0);
	while (waitpid(-1, &status, WNOHANG) > 0) {
		atomic_fetch_sub(&n_children, 1);
		p->n_checks++;
		if (status) {
			p->n_wrong++;
			printf("wrong: a child ended with %#x, seed %u\n", (unsigned)status,
			       p->seed);
		}
	}
}

static void one_operation(struct play *p)
{
	static void (*const often[])(struct play *, unsigned) = {
		do_churn, do_churn, do_churn, do_copy, do_set, do_graph, do_built};
	static void (*const seldom[])(struct play *, unsigned) = {
		do_read, do_write, do_default, do_memory, do_call, do_time, do_renew};
	unsigned s = draw(p, STREAMS);

	if (forks && draw(p, 50) == 0)
		do_fork(p);
	if (draw(p, 4))
		often[draw(p, COT_ARRAY_LEN(often))](p, s);
	else
		seldom[draw(p, COT_ARRAY_LEN(seldom))](p, s);
	p->n_operations++;
}

/* On how many SMs a kernel is now. */
static unsigned count_sms(struct play *p)
{
	static uint32_t marks[SMS_MAX];
	unsigned i, n = 0;

	PROG_CHECK(cuMemsetD32(seen, 0, SMS_MAX));
	for (i = 0; i < 40; i++)
		launch(p, streams[LEGACY], i % BUFFERS, (i + 1) % BUFFERS, i);
	PROG_CHECK(cuMemcpyDtoH(marks, seen, sizeof(marks)));
	for (i = 0; i < SMS_MAX; i++)
		n += marks[i];
	return n;
}

/* Before anything is in the buffers. */
static void wait_to_begin(struct play *p)
{
	unsigned n;

	for (n = 0; n < 20000 && access(begin_file, F_OK) != 0; n++) {
		(void)count_sms(p);
		usleep(1000);
	}
	until_us += n * 1000;
}

static void begin(struct play *p)
{
	unsigned i;

	p->random = p->seed * 2654435761ull + 1;
	for (i = 0; i < BUFFERS; i++)
		PROG_CHECK(cuMemAlloc(&p->buffer[i], WORDS * 4));
	if (begin_file)
		wait_to_begin(p);
	for (i = 0; i < BUFFERS; i++) {
		PROG_CHECK(cuMemcpyHtoD(p->buffer[i], p->mirror[i], WORDS * 4));
		p->last[i] = LEGACY;
	}
	for (i = 0; i < STREAMS; i++)
		PROG_CHECK(cuEventCreate(&p->event[i], CU_EVENT_DISABLE_TIMING));
	for (i = 0; i < 2; i++)
		PROG_CHECK(cuEventCreate(&p->timing[i], 0));
	PROG_CHECK(cuMemAllocHost((void **)&p->pinned, WORDS * 4));
}

static bool is_told_to_end(const struct play *p)
{
	return until_file && p->n_operations % 16 == 0 && access(until_file, F_OK) == 0;
}

static void *play(void *arg)
{
	struct play *p = arg;
	unsigned i;

	PROG_CHECK(cuCtxSetCurrent(context));
	begin(p);
	while (prog_now_us() < until_us && p->n_operations < max_operations && !is_told_to_end(p))
		one_operation(p);
	for (i = 0; i < BUFFERS; i++) {
		use(p, i, LEGACY);
		PROG_CHECK(cuMemcpyDtoH(p->back, p->buffer[i], WORDS * 4));
		compare(p, i, "the end");
	}
	return NULL;
}

static void start(void)
{
	CUlibrary library;
	CUmodule module;
	unsigned i;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuModuleLoadData(&module, text));
	PROG_CHECK(cuModuleGetFunction(&churn, module, "churn"));
	PROG_CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	PROG_CHECK(cuLibraryGetKernel(&churn_kernel, library, "churn"));
	PROG_CHECK(cuMemAlloc(&seen, SMS_MAX * 4));
	PROG_CHECK(cuMemsetD32(seen, 0, SMS_MAX));
	streams[LEGACY] = NULL;
	streams[PER_THREAD] = CU_STREAM_PER_THREAD;
	for (i = BLOCKING_1; i < STREAMS; i++)
		PROG_CHECK(cuStreamCreate(&streams[i], i >= FREE_1 ? CU_STREAM_NON_BLOCKING : 0));
}

static volatile sig_atomic_t may_end;

static void end_stay(int number)
{
	(void)number;
	may_end = 1;
}

/* A signal may come before, and in any thread. */
static void stay(double seconds)
{
	double end_us = prog_now_us() + seconds * 1e6;

	while (!may_end && prog_now_us() < end_us)
		usleep(2000);
}

int main(int argc, char **argv)
{
	static struct play plays[THREADS_MAX];
	unsigned seed = (unsigned)prog_option(argc, argv, "--seed", 1), i;
	unsigned n_operations = 0, n_checks = 0, n_wrong = 0;

	n_threads = (unsigned)prog_option(argc, argv, "--threads", 1);
	n_threads = n_threads < 1 ? 1 : n_threads > THREADS_MAX ? THREADS_MAX : n_threads;
	max_operations = (unsigned)prog_option(argc, argv, "--operations", 1e9);
	spin = (uint32_t)prog_option(argc, argv, "--spin", 20);
	until_us = prog_now_us() + prog_option(argc, argv, "--seconds", 2) * 1e6;
	forks = prog_option(argc, argv, "--forks", 0) > 0;
	for (i = 1; i + 1 < (unsigned)argc; i++) {
		if (!strcmp(argv[i], "--begin"))
			begin_file = argv[i + 1];
		if (!strcmp(argv[i], "--until"))
			until_file = argv[i + 1];
	}
	start();
	for (i = 0; i < n_threads; i++) {
		plays[i].seed = seed + i;
		if (pthread_create(&plays[i].thread, NULL, play, &plays[i]))
			return 2;
	}
	for (i = 0; i < n_threads; i++) {
		pthread_join(plays[i].thread, NULL);
		n_operations += plays[i].n_operations;
		n_checks += plays[i].n_checks;
		n_wrong += plays[i].n_wrong;
	}
	n_wrong += atomic_load(&n_bad_callbacks);
	/* Before it says that it has done all: from then on it may be told to end. */
	(void)sigaction(SIGTERM, &(struct sigaction){.sa_handler = end_stay}, NULL);
	printf("seed %u operations %u checks %u wrong %u sms %u\n", seed, n_operations, n_checks,
	       n_wrong, count_sms(&plays[0]));
	fflush(stdout);
	stay(prog_option(argc, argv, "--stay", 0));
	return n_wrong != 0;
}
