/*
 * A program that uses the GPU and does what programs do without asking who else is in the process:
 *
 *     odd MODE    one of `modes` below, or `nothing`; `odd list` names them
 *
 * What it prints says nothing of times and numbers that differ from run to run: with and without
 * somebody else in the process it is the same, and so is its status. CMakeLists.txt builds it again
 * with much thread-local data (ODD_TLS_BYTES), which lies on the stack of every thread.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "cuda/abi/rm.h"

#define N_CHILDREN 100
#define N_FORKERS  8
#define N_FILES	   600
#define PAGE	   4096
#define NODE	   "/dev/nvidiactl"

#ifdef ODD_TLS_BYTES
static __thread char local_data[ODD_TLS_BYTES];
#endif

static struct prog p;

static void work(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		PROG_CHECK(prog_spin(&p, 132, 5000, 0));
		PROG_CHECK(cuStreamSynchronize(p.stream));
	}
}

/* ---- descriptors ---- */

/* As daemons and sandboxes do; other files get the numbers then. */
static void close_all(void)
{
	int i;

	if (close_range(3, ~0u, 0) < 0)
		_exit(1);
	for (i = 0; i < N_FILES; i++)
		if (open("/dev/null", O_RDWR) < 0)
			break;
}

/* Files that get the numbers of those that were closed stay theirs, for longer than a retry. */
static void close_and_look(void)
{
	int files[N_FILES], n_lost = 0, i;

	close_range(3, ~0u, 0);
	for (i = 0; i < N_FILES; i++)
		files[i] = open("/dev/null", O_RDWR);
	usleep(1300000);
	for (i = 0; i < N_FILES; i++)
		n_lost += files[i] >= 0 && fcntl(files[i], F_GETFD) < 0;
	printf("%d descriptors lost\n", n_lost);
}

static void limit(int what, rlim_t to)
{
	struct rlimit l = {to, to};

	if (setrlimit(what, &l) < 0)
		_exit(1);
}

static void few_files(void)
{
	limit(RLIMIT_NOFILE, 24);
}

static void no_files(void)
{
	limit(RLIMIT_NOFILE, 3);
}

/* The numbers of the standard streams come to stand for what is opened next. */
static void close_standard(void)
{
	int out = dup(1), null;

	close(0);
	close(1);
	close(2);
	null = open("/dev/null", O_RDWR);
	if (null != 0)
		_exit(50);
	dup2(out, 1);
	dup2(null, 2);
}

/* ---- children ---- */

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status) {
		printf("failed child %d\n", status);
		_exit(1);
	}
}

static void make_children(bool share)
{
	int i;

	for (i = 0; i < N_CHILDREN; i++) {
		pid_t pid = share ? vfork() : fork();

		if (!pid && share)
			execl("/bin/true", "true", (char *)NULL);
		if (!pid)
			_exit(share);
		wait_for(pid);
	}
}

static void forks(void)
{
	make_children(false);
}

static void vforks(void)
{
	make_children(true);
}

static void spawns(void)
{
	char name[] = "true", *args[] = {name, NULL};
	pid_t pid;
	int i;

	for (i = 0; i < N_CHILDREN / 2; i++) {
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ))
			_exit(1);
		wait_for(pid);
	}
}

static void *fork_some(void *unused)
{
	int i;

	for (i = 0; i < N_CHILDREN / N_FORKERS; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		wait_for(pid);
	}
	return unused;
}

static void forks_in_threads(void)
{
	pthread_t threads[N_FORKERS];
	int i;

	for (i = 0; i < N_FORKERS; i++)
		if (pthread_create(&threads[i], NULL, fork_some, NULL))
			_exit(1);
	for (i = 0; i < N_FORKERS; i++)
		pthread_join(threads[i], NULL);
}

static void execs(void)
{
	char name[] = "echo", word[] = "done", *args[] = {name, word, NULL}, *none[] = {NULL};

	fflush(stdout);
	execve("/bin/echo", args, none);
}

/* ---- rights and limits ---- */

static void becomes_nobody(void)
{
	if (setuid(65534) < 0)
		_exit(1);
}

static void clears_environment(void)
{
	clearenv();
}

static void little_memory(void)
{
	limit(RLIMIT_DATA, 64 << 20);
}

static void small_stacks(void)
{
	limit(RLIMIT_STACK, 64 << 10);
}

static void no_processes(void)
{
	limit(RLIMIT_NPROC, 1);
}

/* From now on system calls `first` to `last` are refused, or end the program. */
static void refuse(int first, int last, unsigned how)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)first, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (unsigned)last, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, how),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(f) / sizeof(f[0]), f};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
}

static void no_sockets(void)
{
	refuse(SYS_socket, SYS_socket, SECCOMP_RET_ERRNO | EPERM);
	refuse(SYS_socketpair, SYS_socketpair, SECCOMP_RET_ERRNO | EPERM);
	refuse(SYS_recvmsg, SYS_recvmsg, SECCOMP_RET_ERRNO | EPERM);
}

/* A sandbox that ends programs for looking into memory by way of the kernel. */
static void no_looking(void)
{
	refuse(SYS_process_vm_readv, SYS_process_vm_writev, SECCOMP_RET_KILL_PROCESS);
	refuse(SYS_ptrace, SYS_ptrace, SECCOMP_RET_KILL_PROCESS);
}

/* ---- signals and threads ---- */

static void on_alarm(int unused)
{
	(void)unused;
}

/* Signals interrupt whatever is going on. */
static void alarms(void)
{
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 500}, {0, 500}};

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void *cancelled(void *unused)
{
	for (;;) {
		PROG_CHECK(cuCtxSetCurrent(p.context));
		pthread_testcancel();
		usleep(10);
	}
	return unused;
}

static void cancels(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 50; i++) {
		if (pthread_create(&thread, NULL, cancelled, NULL))
			_exit(1);
		usleep(500);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
}

static void loads_again(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

		if (!handle || dlclose(handle))
			_exit(1);
	}
}

static void quick(void)
{
	puts("done");
	fflush(stdout);
	quick_exit(7);
}

/* ---- pointers that lead nowhere ---- */

static const struct {
	unsigned nr, size;
} requests[] = {
	{COT_NV_NR_CONTROL, sizeof(struct cot_nv_control)},
	{COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc)},
	{COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc_access)},
	{COT_NV_NR_FREE, sizeof(struct cot_nv_free)},
	{COT_NV_NR_DUP, sizeof(struct cot_nv_dup)},
	{COT_NV_NR_XFER, sizeof(struct cot_nv_xfer)},
};

static void tell(const char *what, int rc)
{
	printf("%s: %d, %s\n", what, rc, rc ? strerror(errno) : "no error");
	errno = 0;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDWR);

	errno = 0;
	return fd;
}

static void request_badly(int fd)
{
	unsigned i;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		unsigned long number = COT_NV_REQUEST(requests[i].nr, requests[i].size);
		struct cot_nv_xfer x = {requests[i].nr, requests[i].size, 8};

		tell("page 0", ioctl(fd, number, (void *)8));
		tell("nothing", ioctl(fd, number, NULL));
		tell("no descriptor", ioctl(-1, number, (void *)8));
		tell("wrapped", ioctl(fd, COT_NV_REQUEST(COT_NV_NR_XFER, sizeof(x)), &x));
	}
}

static void bad_requests(void)
{
	request_badly(open_file("/dev/null"));
}

static void bad_node_requests(void)
{
	request_badly(open_file(NODE));
}

/* The first half of a request is there. */
static void halves(void)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned i;

	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE))
		_exit(1);
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		tell("half", ioctl(-1, COT_NV_REQUEST(requests[i].nr, requests[i].size),
				   pages + PAGE - requests[i].size / 2));
}

/* Of objects that there are not. */
static void bad_parameters(void)
{
	static const struct {
		uint32_t cmd, size;
	} controls[] = {
		{COT_NV_GROUP_SET_SLICE, 8},
		{COT_NV_SET_PREEMPTION, sizeof(struct cot_nv_preemption)},
		{COT_NV_GROUP_SCHEDULE, 3},
		{COT_NV_DISABLE_CHANNELS, sizeof(struct cot_nv_disable)},
	};
	int fd = open_file(NODE);
	unsigned i;

	for (i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
		struct cot_nv_control c = {.client = 1,
					   .object = 2,
					   .cmd = controls[i].cmd,
					   .params = 8,
					   .params_size = controls[i].size};

		tell("control", ioctl(fd, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c));
		printf("status %#x\n", c.status);
	}
}

static const struct mode {
	const char *name;
	void (*before)(void); /* the program uses the GPU; NULL: nothing */
	void (*after)(void);
} modes[] = {
	{"nothing", NULL, NULL},
	{"closeall", NULL, close_all},
	{"closelook", NULL, close_and_look},
	{"fewfiles", few_files, NULL},
	{"nofiles", NULL, no_files},
	{"closestandard", close_standard, NULL},
	{"fork", NULL, forks},
	{"vfork", NULL, vforks},
	{"spawn", NULL, spawns},
	{"forkthreads", NULL, forks_in_threads},
	{"exec", NULL, execs},
	{"setuid", NULL, becomes_nobody},
	{"clearenv", NULL, clears_environment},
	{"clearenvfirst", clears_environment, NULL},
	{"memory", NULL, little_memory},
	{"stack", small_stacks, NULL},
	{"processes", NULL, no_processes},
	{"nosockets", NULL, no_sockets},
	{"nosocketsfirst", no_sockets, NULL},
	{"nolooking", no_looking, NULL},
	{"alarms", alarms, NULL},
	{"cancel", NULL, cancels},
	{"loadagain", loads_again, NULL},
	{"quickexit", NULL, quick},
	{"badrequests", NULL, bad_requests},
	{"halves", NULL, halves},
	{"badrequests-node", NULL, bad_node_requests},
	{"badparameters-node", NULL, bad_parameters},
};

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "nothing";
	size_t i;

#ifdef ODD_TLS_BYTES
	memset(local_data, 1, sizeof(local_data));
#endif
	for (i = 0; !strcmp(what, "list") && i < sizeof(modes) / sizeof(modes[0]); i++)
		puts(modes[i].name);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]) && strcmp(modes[i].name, what) != 0;)
		i++;
	if (i == sizeof(modes) / sizeof(modes[0]))
		return !!strcmp(what, "list");
	if (modes[i].before)
		modes[i].before();
	p = prog_start(0);
	usleep(100000); /* a library's thread is at work by now */
	if (modes[i].after)
		modes[i].after();
	work();
	puts("done");
	return 0;
}
