/*
 * Whether the driver's process checkpoint works for a program that is started like this one:
 * outside MPS, or as the client of an MPS server (CUDA_MPS_PIPE_DIRECTORY). checkpoint.py tries all
 * of them.
 *
 *   checkpoint [MIB [DIRECTORY]]
 *
 * It starts a second process, which fills MIB of GPU memory and works. Then it locks, checkpoints,
 * restores and unlocks that one, and says of each call what came of it, how long it took, and the
 * process's state; in the end, whether its memory is as before and it works on. With DIRECTORY the
 * process takes that as its CUDA_MPS_PIPE_DIRECTORY while it is checkpointed, and in the end stays
 * until a line comes in, so that the servers can be asked whose client it is. The status is 0 if
 * all went well. Only the driver is needed, and it is opened here: the calls are younger than many
 * a driver.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HANG_S	 60 /* no call takes so long */
#define LOCK_MS	 10000
#define PATTERN	 0x2b3c4d5eu
#define WORK_US	 1000
#define LATER_MS 500 /* how long the process is watched after it was unlocked */

typedef int result; /* CUresult */
typedef unsigned long long pointer;

/* ---- the driver ---- */

struct driver {
	result (*init)(unsigned flags);
	result (*version)(int *);
	result (*error_name)(result, const char **);
	result (*retain)(void **context, int device);
	result (*set_current)(void *context);
	result (*alloc)(pointer *, size_t);
	result (*set32)(pointer, unsigned value, size_t n);
	result (*get)(void *, pointer, size_t);
	result (*synchronize)(void);
	/* Each takes 64 bytes of arguments, or NULL. */
	result (*lock)(int pid, void *), (*checkpoint)(int pid, void *),
		(*restore)(int pid, void *), (*unlock)(int pid, void *);
	result (*state)(int pid, int *);
};

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
	{"cuInit", offsetof(struct driver, init)},
	{"cuDriverGetVersion", offsetof(struct driver, version)},
	{"cuGetErrorName", offsetof(struct driver, error_name)},
	{"cuDevicePrimaryCtxRetain", offsetof(struct driver, retain)},
	{"cuCtxSetCurrent", offsetof(struct driver, set_current)},
	{"cuMemAlloc_v2", offsetof(struct driver, alloc)},
	{"cuMemsetD32_v2", offsetof(struct driver, set32)},
	{"cuMemcpyDtoH_v2", offsetof(struct driver, get)},
	{"cuCtxSynchronize", offsetof(struct driver, synchronize)},
	{"cuCheckpointProcessLock", offsetof(struct driver, lock)},
	{"cuCheckpointProcessCheckpoint", offsetof(struct driver, checkpoint)},
	{"cuCheckpointProcessRestore", offsetof(struct driver, restore)},
	{"cuCheckpointProcessUnlock", offsetof(struct driver, unlock)},
	{"cuCheckpointProcessGetState", offsetof(struct driver, state)},
};

static bool open_driver(struct driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		printf("no driver: %s\n", dlerror());
		return false;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol) {
			printf("this driver has no %s\n", symbols[i].name);
			return false;
		}
		memcpy((char *)driver + symbols[i].at, &symbol, sizeof(symbol));
	}
	return true;
}

/* ---- the process that is checkpointed ---- */

/* Shared by both processes. */
struct page {
	volatile uint64_t rounds; /* of its work */
	volatile int ready, check;
	volatile int verdict; /* 1: its memory is as it was; -1: it is not */
	volatile result failed;
	char directory[256]; /* to take as its MPS server's while it is checkpointed */
};

static struct page *page;

/* The process itself may be held in a call of the driver meanwhile, in none that sets the
 * environment. */
static void move(int number)
{
	(void)number;
	setenv("CUDA_MPS_PIPE_DIRECTORY", page->directory, 1);
}

static void must(result rc)
{
	if (rc) {
		page->failed = rc;
		_exit(1);
	}
}

static bool is_as_it_was(const struct driver *driver, pointer memory, size_t n_words)
{
	uint32_t *words = malloc(n_words * sizeof(*words));
	bool same = words != NULL;

	if (!same)
		return false;
	must(driver->get(words, memory, n_words * sizeof(*words)));
	for (size_t i = 0; same && i < n_words; i++)
		same = words[i] == PATTERN;
	free(words);
	return same;
}

static void be_checkpointed(size_t mib)
{
	size_t n_words = mib << 18;
	struct driver driver;
	pointer memory, mine;
	void *context;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGUSR1, move);
	if (!open_driver(&driver))
		_exit(1);
	must(driver.init(0));
	must(driver.retain(&context, 0));
	must(driver.set_current(context));
	must(driver.alloc(&memory, n_words * sizeof(uint32_t)));
	must(driver.alloc(&mine, sizeof(uint32_t)));
	must(driver.set32(memory, PATTERN, n_words));
	for (;;) {
		must(driver.set32(mine, (unsigned)page->rounds, 1));
		must(driver.synchronize());
		page->rounds++;
		page->ready = 1;
		if (page->check && !page->verdict)
			page->verdict = is_as_it_was(&driver, memory, n_words) ? 1 : -1;
		usleep(WORK_US);
	}
}

/* ---- the process that does it ---- */

static pid_t other;
static const char *doing = "starting the process";

static void hangs(int number)
{
	(void)number;
	printf("%-32s hangs: not back after %d s\n", doing, HANG_S);
	fflush(stdout);
	kill(other, SIGKILL);
	_exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static const char *state_name(const struct driver *driver)
{
	static const char *const names[] = {"running", "locked", "checkpointed", "failed"};
	int state = -1;

	if (driver->state(other, &state))
		return "unknown";
	return state >= 0 && state < 4 ? names[state] : "another";
}

static bool step(const struct driver *driver, const char *name, result (*call)(int, void *),
		 void *arguments)
{
	const char *error = "?";
	double begin = now_ms();
	result rc;

	doing = name;
	rc = call(other, arguments);
	(void)driver->error_name(rc, &error);
	printf("%-32s %4d %-28s %9.2f ms, then %s\n", name, rc, error, now_ms() - begin,
	       state_name(driver));
	return !rc;
}

/* Returns whether it is so within the time. */
static bool within(int ms, bool (*is_so)(uint64_t), uint64_t than)
{
	for (; ms > 0; ms--) {
		if (is_so(than))
			return true;
		usleep(1000);
	}
	return false;
}

static bool is_ready(uint64_t unused)
{
	(void)unused;
	return page->ready || page->failed || waitpid(other, NULL, WNOHANG) == other;
}

static bool has_worked_on(uint64_t rounds)
{
	return page->rounds > rounds + 10;
}

static bool has_looked(uint64_t unused)
{
	(void)unused;
	return page->verdict != 0;
}

static bool checkpoint(const struct driver *driver)
{
	unsigned lock[16] = {LOCK_MS}, none[16] = {0};
	uint64_t rounds;
	bool good;

	if (!step(driver, "cuCheckpointProcessLock", driver->lock, lock))
		return false;
	good = step(driver, "cuCheckpointProcessCheckpoint", driver->checkpoint, none);
	rounds = page->rounds;
	if (good) {
		if (*page->directory) {
			kill(other, SIGUSR1);
			usleep(100000);
		}
		good = step(driver, "cuCheckpointProcessRestore", driver->restore, none);
	}
	good = step(driver, "cuCheckpointProcessUnlock", driver->unlock, none) && good;
	if (!within(LATER_MS, has_worked_on, rounds)) {
		printf("the process does not work on (error %d)\n", page->failed);
		return false;
	}
	return good;
}

static int conduct(void)
{
	struct driver driver;
	bool good;
	int version = 0;

	/* It only asks the driver, and is nobody's client. */
	unsetenv("CUDA_MPS_PIPE_DIRECTORY");
	if (!within(HANG_S * 1000, is_ready, 0) || !page->ready || !open_driver(&driver)) {
		printf("the process did not start (error %d)\n", page->failed);
		return 1;
	}
	doing = "cuInit";
	if (driver.init(0) || driver.version(&version)) {
		printf("no GPU here\n");
		return 1;
	}
	printf("driver %d, process %d, %s at first\n", version, (int)other, state_name(&driver));
	good = checkpoint(&driver);
	page->check = 1;
	if (!within(HANG_S * 1000 / 2, has_looked, 0))
		printf("its memory: nobody can say whether it is as before\n");
	else
		printf("its memory is %s\n", page->verdict > 0 ? "as before" : "NOT as before");
	if (*page->directory)
		(void)getchar();
	return good && page->verdict > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? (size_t)atoi(argv[1]) : 1024;
	struct sigaction act = {.sa_handler = hangs};
	int status;

	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || !mib)
		return 2;
	if (argc > 2)
		snprintf(page->directory, sizeof(page->directory), "%s", argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	other = fork();
	if (other < 0)
		return 2;
	if (!other)
		be_checkpointed(mib);
	sigaction(SIGALRM, &act, NULL);
	alarm(HANG_S);
	status = conduct();
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	return status;
}
