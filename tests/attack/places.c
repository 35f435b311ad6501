/* Taking what there is of places; and a member of a pool that says no to everything. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"

#define LOCKED_BYTES (256u << 20)

/* numbers N BASE SECONDS: one connection at a time says hello with the numbers BASE, BASE + 1, ...
 */
static int numbers(int argc, char **argv)
{
	int i, n = number(argc, argv, 0, 300), welcomed = 0;
	uint64_t base = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	struct cot_msg_hello m;

	for (i = 0; i < n; i++) {
		int fd = dial();

		fill_hello(&m, "hog", base + (uint64_t)i);
		(void)say(fd, &m, sizeof(m));
		welcomed += hear(fd, 2000) == COT_MSG_WELCOME;
		close(fd);
	}
	printf("welcomed %d\n", welcomed);
	usleep((useconds_t)((argc > 2 ? atof(argv[2]) : 0) * 1e6));
	return 0;
}

static int stay(int argc, char **argv)
{
	uint64_t id;
	int fd = join("hog", 0, &id);

	(void)argc;
	(void)argv;
	if (fd >= 0)
		(void)!write(STDERR_FILENO, "w", 1);
	pause();
	return 0;
}

/* hoard N SECONDS: N processes with a program each; a "w" on standard error for each one */
static int hoard(int argc, char **argv)
{
	int i, n = number(argc, argv, 0, 200);

	for (i = 0; i < n; i++)
		in_child(stay, argc, argv);
	usleep((useconds_t)((argc > 1 ? atof(argv[1]) : 2) * 1e6));
	return 0;
}

static int sleep_on(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	pause();
	return 0;
}

/* forest N SECONDS: N processes that do nothing, with the environment of this one, which says what
 * it likes */
static int forest(int argc, char **argv)
{
	int i, n = number(argc, argv, 0, 1100);

	for (i = 0; i < n; i++)
		in_child(sleep_on, argc, argv);
	printf("stand %d\n", n);
	(void)fflush(stdout);
	usleep((useconds_t)((argc > 1 ? atof(argv[1]) : 2) * 1e6));
	return 0;
}

/* So that whoever reads this process's memory waits: it is locked while its layout changes, and
 * that takes long at the lowest priority. */
static void *lock_memory(void *arg)
{
	size_t size = (size_t)LOCKED_BYTES;

	run_seldom();
	while (mprotect(arg, size, PROT_READ) == 0 &&
	       mprotect(arg, size, PROT_READ | PROT_WRITE) == 0)
		continue;
	return NULL;
}

/* locked SECONDS: its library has a number, which the daemon may look for in its memory */
static int locked(int argc, char **argv)
{
	size_t size = (size_t)LOCKED_BYTES, at;
	struct cot_msg_hello m;
	uint64_t n = 0;
	pthread_t t;
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, fd;

	if (area == MAP_FAILED)
		return 1;
	(void)madvise(area, size, MADV_NOHUGEPAGE);
	for (at = 0; at < size; at += 4096)
		area[at] = 1;
	crowd_cores();
	for (i = 0; i < 2; i++)
		if (pthread_create(&t, NULL, lock_memory, area))
			return 1;
	printf("locked\n");
	(void)fflush(stdout);
	time_begins();
	while (time_is_left(duration(argc, argv, 2))) {
		fd = dial();
		fill_hello(&m, "locked", 900001 + n++);
		if (fd >= 0 && say(fd, &m, sizeof(m)))
			(void)hear(fd, 3000);
		close(fd);
		usleep(60000);
	}
	printf("hellos %lu\n", (unsigned long)n);
	return 0;
}

/* greedy: a class, weights and shares that it may not have */
static int greedy(int argc, char **argv)
{
	struct cot_msg_register reg;
	struct cot_msg_command command;
	uint64_t id = 0;
	int fd, got = 0, lib = join("greedy", 0, &id);
	unsigned i;

	(void)argc;
	(void)argv;
	for (i = 0; i < 4; i++) {
		fill_register(&reg, "greedy");
		reg.class_ = i < 2 ? COT_CLASS_LATENCY : COT_CLASS_BATCH;
		reg.weight = i == 2 ? 10000 : 100;
		reg.reserve = i & 1 ? 100 : 0;
		fd = dial();
		(void)say(fd, &reg, sizeof(reg));
		got += hear(fd, 2000) == COT_MSG_REGISTERED;
		close(fd);
	}
	for (i = 0; i < 3; i++) {
		fill_command(&command, COT_COMMAND_SET, id);
		command.fields = i == 0 ? COT_SET_WEIGHT : i == 1 ? COT_SET_CLASS : COT_SET_RESERVE;
		command.weight = 10000;
		command.class_ = COT_CLASS_LATENCY;
		command.reserve = 100;
		fd = dial();
		(void)say(fd, &command, sizeof(command));
		got += hear(fd, 2000) == COT_MSG_RESULT &&
		       !((const struct cot_msg_result *)packet)->status;
		close(fd);
	}
	printf("got %d\n", got);
	return lib < 0;
}

/* member SECONDS: registers into the pool, and answers every order with an error */
static int member(int argc, char **argv)
{
	double seconds = duration(argc, argv, 5);
	struct cot_msg_register reg;
	int fd = dial(), lib, n = 0;
	uint64_t id;

	fill_register(&reg, "member");
	reg.solo = 0;
	(void)say(fd, &reg, sizeof(reg));
	if (hear(fd, 20000) != COT_MSG_REGISTERED)
		return 1;
	id = ((const struct cot_msg_registered *)packet)->tenant;
	lib = join("member", id, &id);
	printf("joined %lu\n", (unsigned long)id);
	while (lib >= 0 && time_is_left(seconds)) {
		struct cot_msg_ack ack = {.status = -EIO, .n_failed = 1};

		if (!hear(lib, 100))
			continue;
		cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack),
				 ((const struct cot_msg_header *)packet)->seq);
		(void)say(lib, &ack, sizeof(ack));
		n++;
	}
	printf("orders %d\n", n);
	return 0;
}

/* stall: a latency work ends, a batch work asks; then the script stops the daemon for a moment */
static int stall(int argc, char **argv)
{
	struct cot_msg_work_hello hello;
	struct cot_msg_work_request request;
	struct cot_msg_work_done done;
	int latency = dial(), batch = dial();

	(void)argc;
	(void)argv;
	fill_work_hello(&hello, "latency", 0);
	hello.class_ = COT_CLASS_LATENCY;
	hello.reserve = COT_SHARE_SMS | 5;
	(void)say(latency, &hello, sizeof(hello));
	(void)hear(latency, 2000);
	fill_work_hello(&hello, "batch", 0);
	(void)say(batch, &hello, sizeof(hello));
	(void)hear(batch, 2000);
	fill_request(&request, 1);
	(void)say(latency, &request, sizeof(request));
	(void)hear(latency, 500);
	printf("ready\n");
	(void)getchar(); /* the daemon is stopped now */
	fill_done(&done, 1);
	(void)say(latency, &done, sizeof(done));
	fill_request(&request, 2);
	(void)say(batch, &request, sizeof(request));
	printf("sent\n");
	sleep(2);
	return 0;
}

const struct attack place_attacks[] = {
	{"numbers", "N BASE SECONDS", "programs with numbers that nobody gave out", numbers},
	{"hoard", "N SECONDS", "N processes with a program each", hoard},
	{"forest", "N SECONDS", "processes that say they are a program", forest},
	{"locked", "SECONDS", "its memory is locked whenever somebody reads it", locked},
	{"greedy", "", "asks for what is not allowed", greedy},
	{"member", "SECONDS", "a member of a pool that fails every order", member},
	{"stall", "", "what a policy waits for happens while the daemon is stopped", stall},
	{0},
};
