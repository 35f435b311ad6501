#include "tenant.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/abi/rm.h"

static int device_fd = -1;
static uint32_t client, device, group;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t alloc(uint32_t in, uint32_t parent, uint32_t class_)
{
	struct cot_nv_alloc_access a = {.client = in, .parent = parent, .class_ = class_};

	if (ioctl(device_fd, COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(a)), &a) < 0 || a.status)
		return 0;
	return a.object;
}

static void control(uint32_t object, uint32_t cmd, void *params, uint32_t size)
{
	struct cot_nv_control c = {.client = client,
				   .object = object,
				   .cmd = cmd,
				   .params = (uintptr_t)params,
				   .params_size = size};

	(void)ioctl(device_fd, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c);
}

/* As the driver's user part does it: allocate, set its own slice, schedule. */
static void new_group(void)
{
	uint8_t enable[3] = {1, 0, 0};
	uint64_t us = 2048;
	uint32_t channel;

	group = alloc(client, device, COT_NV_CLASS_GROUP);
	channel = alloc(client, group, 0xc86f);
	alloc(client, channel, 0xcbc0);
	control(group, COT_NV_GROUP_SET_SLICE, &us, sizeof(us));
	control(group, COT_NV_GROUP_SCHEDULE, enable, sizeof(enable));
}

static uint64_t new_context(void)
{
	uint64_t start;

	/* Any file will do: the stand-in does not look at it. */
	device_fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(client, client, COT_NV_CLASS_DEVICE);
	alloc(client, device, COT_NV_CLASS_SUBDEVICE);
	start = now_ns();
	new_group();
	return (now_ns() - start) / 1000;
}

static unsigned count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* Private pages of the library's mappings and of the anonymous one behind its data. */
static unsigned library_kib(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from, to, end = 0, kib, sum = 0;
	char line[512];
	int inside = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
			inside = strstr(line, "libcotenant") != NULL || (end && from == end);
			end = inside ? to : 0;
		} else if (inside && sscanf(line, "Private_Dirty: %lu", &kib) == 1) {
			sum += kib;
		}
	}
	if (f)
		fclose(f);
	return (unsigned)sum;
}

static int fork_child(void)
{
	int ready[2];
	char byte;
	int pid;

	if (pipe(ready) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		new_context();
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	(void)!read(ready[0], &byte, 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* The system call alone: pthread_atfork's handlers do not run. */
static void bare_child(void)
{
	int pid = (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		new_context();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void close_all(void)
{
	int fd;

	for (fd = 3; fd < 1024; fd++)
		close(fd);
	/* And somebody else gets the numbers. */
	while ((fd = open("/dev/zero", O_RDWR | O_CLOEXEC)) >= 0 && fd < 600)
		;
}

/* One for the device, and one that the stand-in needs for a moment. */
static void leave_no_descriptor(void)
{
	int lowest = open("/dev/zero", O_RDONLY);
	struct rlimit limit = {(rlim_t)lowest + 2, (rlim_t)lowest + 2};

	close(lowest);
	setrlimit(RLIMIT_NOFILE, &limit);
}

int tenant_main(char **argv)
{
	char line[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(STDIN_FILENO, line, 2) == 2) {
		unsigned long answer = 0;

		switch (line[0]) {
		case 'c':
			answer = new_context();
			break;
		case 'g':
			new_group();
			break;
		case 'd': {
			struct cot_nv_free f = {.client = client, .object = client};

			(void)ioctl(device_fd, COT_NV_REQUEST(COT_NV_NR_FREE, sizeof(f)), &f);
			break;
		}
		case 't':
			answer = count_threads();
			break;
		case 'f':
			answer = (unsigned long)fork_child();
			break;
		case 'v':
			bare_child();
			break;
		case 'x':
			close_all();
			break;
		case 'l':
			leave_no_descriptor();
			break;
		case 'e':
			execv("/proc/self/exe", argv);
			break;
		case 'm':
			answer = library_kib();
			break;
		default:
			return 0;
		}
		dprintf(STDOUT_FILENO, "%lu\n", answer);
	}
	return 0;
}
