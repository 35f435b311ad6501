/* Too much of what is allowed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"

static int fds[CONNS_MAX];

/* Sends the packet on all connections until the time is over; those that break are made anew. */
static unsigned long flood(int n, double seconds, const void *m, size_t size, bool reads)
{
	unsigned long sent = 0;
	int i, j;

	while (time_is_left(seconds))
		for (i = 0; i < n; i++) {
			for (j = 0; j < 16 && say_now(fds[i], m, size); j++)
				sent++;
			if (j < 16 && errno != EAGAIN) {
				close(fds[i]);
				fds[i] = dial();
			}
			if (reads)
				drain(fds[i]);
		}
	return sent;
}

/* ask SECONDS N [slow]: questions without end; a slow one reads no answer */
static int ask(int argc, char **argv)
{
	int n = dial_many(fds, number(argc, argv, 1, 60));
	struct cot_msg_query m;

	fill_query(&m, COT_QUERY_STATS);
	printf("asked %lu\n", flood(n, duration(argc, argv, 2), &m, sizeof(m), argc < 3));
	return 0;
}

/* unknown SECONDS N: packets of a type that nobody knows */
static int unknown(int argc, char **argv)
{
	int n = dial_many(fds, number(argc, argv, 1, 8));
	struct cot_msg_ack m = {0};

	cot_proto_header(&m.h, (enum cot_msg_type)999, sizeof(m), 1);
	printf("unknown %lu\n", flood(n, duration(argc, argv, 2), &m, sizeof(m), true));
	return 0;
}

/* changes SECONDS N [mute]: sets the slice of its own program without end, whose library is mute or
 * answers */
static int changes(int argc, char **argv)
{
	int n, lib, i, answered = 0, refused = 0;
	struct cot_msg_command m;
	unsigned long sent = 0;
	uint64_t id;

	lib = join("flood", 0, &id);
	if (lib < 0)
		return 1;
	usleep(700000); /* until it gets orders */
	n = dial_many(fds, number(argc, argv, 1, 30));
	fill_command(&m, COT_COMMAND_SET, id);
	m.fields = COT_SET_SLICE;
	while (time_is_left(duration(argc, argv, 2) + 0.7)) {
		for (i = 0; i < n; i++) {
			const struct cot_msg_result *r = (const struct cot_msg_result *)packet;

			m.slice_us = 1000 + sent % 100;
			sent += say_now(fds[i], &m, sizeof(m));
			while (hear(fds[i], 0) == COT_MSG_RESULT) {
				answered++;
				refused += r->status == -EAGAIN;
			}
		}
		while (argc < 3 && hear(lib, 0)) {
			struct cot_msg_ack ack = {.value = m.slice_us};

			cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack),
					 ((const struct cot_msg_header *)packet)->seq);
			(void)say_now(lib, &ack, sizeof(ack));
		}
		drain(lib);
	}
	printf("sent %lu answered %d refused %d\n", sent, answered, refused);
	return 0;
}

/* hold SECONDS: freezes and thaws its own program in turn, as fast as it is answered */
static int hold(int argc, char **argv)
{
	int lib, fd, n = 0, refused = 0;
	struct cot_msg_command m;
	uint64_t id;

	lib = join("hold", 0, &id);
	fd = dial();
	if (lib < 0 || fd < 0)
		return 1;
	usleep(700000);
	while (time_is_left(duration(argc, argv, 2) + 0.7)) {
		fill_command(&m, n % 2 ? COT_COMMAND_THAW : COT_COMMAND_FREEZE, id);
		(void)say(fd, &m, sizeof(m));
		while (time_is_left(duration(argc, argv, 2) + 3)) {
			struct cot_msg_ack ack = {0};
			int type = hear(lib, 0);

			if (type)
				cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack),
						 ((const struct cot_msg_header *)packet)->seq);
			if (type)
				(void)say(lib, &ack, sizeof(ack));
			if (hear(fd, 1) == COT_MSG_RESULT)
				break;
		}
		refused += ((const struct cot_msg_result *)packet)->status == -EAGAIN;
		n++;
	}
	printf("holds %d refused %d\n", n, refused);
	return 0;
}

/* Reads what everybody may read of the daemon's memory, whenever nobody else wants to run. */
static int read_idle(int argc, char **argv)
{
	char path[64], byte;
	int fd;

	(void)argc;
	(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", argv[0]);
	fd = open(path, O_RDONLY);
	run_seldom();
	while (fd >= 0)
		(void)!pread(fd, &byte, 1, 0);
	return 1;
}

/* readers SECONDS N DAEMON: N processes read the daemon's arguments as fast as they can, and are
 * seldom let; meanwhile libraries come and go, for which the daemon maps memory */
static int readers(int argc, char **argv)
{
	int i, n = number(argc, argv, 1, 8);
	unsigned long came = 0;
	uint64_t id;

	if (argc < 3)
		return 2;
	for (i = 0; i < n; i++)
		in_child(read_idle, 1, argv + 2);
	crowd_cores();
	while (time_is_left(duration(argc, argv, 2))) {
		int lib = join("reader", 0, &id);

		came += lib >= 0;
		if (lib >= 0)
			close(lib);
		usleep(60000);
	}
	printf("came %lu\n", came);
	return 0;
}

/* groups SECONDS N: channel groups come and go without end */
static int groups(int argc, char **argv)
{
	int i, n = 0, want = number(argc, argv, 1, 30);
	struct cot_msg_groups m[2];
	unsigned long sent = 0;
	uint64_t id;

	while (n < want && (fds[n] = join("churn", 0, &id)) >= 0)
		n++;
	fill_groups(&m[0], 0);
	fill_groups(&m[1], 3);
	while (time_is_left(duration(argc, argv, 2)))
		for (i = 0; i < n; i++) {
			sent += say_now(fds[i], &m[sent % 2], sizeof(m[0]));
			drain(fds[i]);
		}
	printf("joined %d groups %lu\n", n, sent);
	return 0;
}

/* works SECONDS N W: N connections of a shim with W works each, which end and come again */
static int works(int argc, char **argv)
{
	int i, k, n = 0, want = number(argc, argv, 1, 100), each = number(argc, argv, 2, 20);
	struct cot_msg_work_hello hello;
	struct cot_msg_work_request request;
	struct cot_msg_work_done done;
	unsigned long sent = 0;

	fill_work_hello(&hello, "works", 0);
	for (i = 0; i < want; i++) {
		fds[n] = dial();
		if (fds[n] < 0 || !say(fds[n], &hello, sizeof(hello)) ||
		    hear(fds[n], 5000) != COT_MSG_WORK_WELCOME)
			continue;
		for (k = 1; k <= each; k++) {
			fill_request(&request, (uint64_t)k);
			(void)say_now(fds[n], &request, sizeof(request));
		}
		n++;
	}
	for (k = 0; time_is_left(duration(argc, argv, 2)); k++)
		for (i = 0; i < n; i++) {
			fill_done(&done, (uint64_t)(1 + k % each));
			fill_request(&request, (uint64_t)(1 + k % each));
			/* both or none: a name in use would end the connection */
			if (say_now(fds[i], &done, sizeof(done))) {
				sent++;
				while (time_is_left(duration(argc, argv, 2)) &&
				       !say_now(fds[i], &request, sizeof(request)) &&
				       errno == EAGAIN)
					drain(fds[i]);
			}
			drain(fds[i]);
		}
	printf("connections %d works %lu\n", n, sent);
	return 0;
}

const struct attack flood_attacks[] = {
	{"ask", "SECONDS N [slow]", "questions without end", ask},
	{"unknown", "SECONDS N", "packets of an unknown type", unknown},
	{"changes", "SECONDS N [mute]", "changes of its own program without end", changes},
	{"hold", "SECONDS", "freezes and thaws of its own program", hold},
	{"readers", "SECONDS N DAEMON", "reads of the daemon's arguments, by who is seldom let",
	 readers},
	{"groups", "SECONDS N", "channel groups come and go", groups},
	{"works", "SECONDS N W", "works come and go", works},
	{0},
};
