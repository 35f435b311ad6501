/* Shims that lie about parts, and programs that want all SMs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"

#define SMS 132u

/* A shim that can place its program, by what it says; its program's number in *ret_id. */
static int join_shim(const char *name, uint32_t n_sms, uint32_t unit, uint64_t *ret_id)
{
	struct cot_msg_parts parts = {.n_sms = n_sms, .unit = unit};
	struct cot_msg_work_hello hello;
	int fd = dial();

	fill_work_hello(&hello, name, 0);
	cot_proto_header(&parts.h, COT_MSG_PARTS, sizeof(parts), 0);
	if (fd < 0 || !say(fd, &hello, sizeof(hello)) || hear(fd, 5000) != COT_MSG_WORK_WELCOME) {
		close(fd);
		return -1;
	}
	*ret_id = ((const struct cot_msg_work_welcome *)packet)->tenant;
	(void)say(fd, &parts, sizeof(parts));
	return fd;
}

static void say_placed(int fd, uint32_t seq, int32_t status, unsigned first, unsigned n)
{
	struct cot_msg_placed m = {.status = status,
				   .first = (uint16_t)first,
				   .n = (uint16_t)n,
				   .latency_ns = UINT64_MAX};

	cot_proto_header(&m.h, COT_MSG_PLACED, sizeof(m), seq);
	(void)say_now(fd, &m, sizeof(m));
}

static void say_counts(int fd, uint64_t n)
{
	union {
		struct cot_msg_part_counts m;
		char bytes[sizeof(struct cot_msg_part_counts) +
			   COT_PROTO_REASONS_MAX * sizeof(struct cot_work_reason)];
	} u = {.m = {.n_changes = n,
		     .n_followed = n,
		     .n_stayed = n,
		     .n_reasons = COT_PROTO_REASONS_MAX}};
	unsigned i;

	for (i = 0; i < COT_PROTO_REASONS_MAX; i++) {
		memset(u.m.reasons[i].name, 'x', sizeof(u.m.reasons[i].name) - 1);
		u.m.reasons[i].n_kernels = n; /* of one name: their sum overflows */
	}
	cot_proto_header(&u.m.h, COT_MSG_PART_COUNTS, sizeof(u), 0);
	(void)say_now(fd, &u, sizeof(u));
}

static void ask_for(int fd, uint64_t id, unsigned sms)
{
	struct cot_msg_command m;

	fill_command(&m, COT_COMMAND_SET, id);
	m.fields = COT_SET_SMS;
	m.sms = (uint16_t)(COT_SHARE_SMS | sms);
	(void)say_now(fd, &m, sizeof(m));
	drain(fd);
}

enum how { MUTE, LATE, TWICE, OTHERS, BEYOND, ODD, REFUSE, N_HOW };

static const char *const hows[] = {
	[MUTE] = "mute",     [LATE] = "late", [TWICE] = "twice",   [OTHERS] = "others",
	[BEYOND] = "beyond", [ODD] = "odd",   [REFUSE] = "refuse",
};

static void answer(int fd, enum how how, const struct cot_msg_place *m)
{
	static struct cot_msg_place before;
	unsigned i;

	switch (how) {
	case LATE: /* the one before, when the next has come */
		say_placed(fd, before.h.seq, 0, before.first, before.n);
		before = *m;
		break;
	case TWICE:
		say_placed(fd, m->h.seq, 0, m->first, m->n);
		say_placed(fd, m->h.seq, -1, m->first, m->n);
		break;
	case OTHERS: /* the numbers of orders to others, around its own */
		for (i = 1; i <= 64; i++) {
			say_placed(fd, m->h.seq - i, -1, 0, 8);
			say_placed(fd, m->h.seq + i, 0, 0, 8);
			say_placed(fd, m->h.seq ^ 0x80000000u, 0, 0, 8);
		}
		break;
	case BEYOND:
		say_placed(fd, m->h.seq, 0, 1016, 8);
		break;
	case ODD:
		say_placed(fd, m->h.seq, 0, 3, 7);
		break;
	case REFUSE:
		say_placed(fd, m->h.seq, -1, 0, 0);
		break;
	default:
		break;
	}
}

/* placed HOW SECONDS: answers orders as no shim does, and asks for another part all the time */
static int placed(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	unsigned n_orders = 0, n_asked = 0;
	enum how how = MUTE;
	uint64_t id = 0;
	int fd, asks;

	while (how + 1 < N_HOW && argc > 0 && strcmp(hows[how], argv[0]) != 0)
		how++;
	fd = join_shim("liar", SMS, 8, &id);
	asks = dial();
	if (fd < 0 || asks < 0)
		return 1;
	while (time_is_left(seconds)) {
		ask_for(asks, id, 8 + 8 * (n_asked++ % 15));
		while (hear(fd, 10) == COT_MSG_PLACE) {
			n_orders++;
			answer(fd, how, (const struct cot_msg_place *)packet);
		}
	}
	printf("orders %u\n", n_orders);
	return 0;
}

/* parts SECONDS N: N connections of shims with sizes of which one cannot be, and then all that a
 * shim may say without end */
static int parts(int argc, char **argv)
{
	static const uint32_t sizes[][2] = {
		{132, 8},  {0, 0},	    {0, 8},	{8, 0},	      {1, 1},
		{1024, 1}, {UINT32_MAX, 8}, {132, 133}, {0x10084, 8}, {132, UINT32_MAX}};
	int fds[CONNS_MAX], i, n = number(argc, argv, 1, 20);
	unsigned long sent = 0;
	uint64_t id;

	if (n > CONNS_MAX)
		n = CONNS_MAX;
	for (i = 0; i < n; i++)
		fds[i] = join_shim("flood", sizes[i % 10][0], sizes[i % 10][1], &id);
	while (time_is_left(duration(argc, argv, 2)))
		for (i = 0; i < n; i++) {
			struct cot_msg_parts m = {.n_sms = SMS, .unit = 8};

			cot_proto_header(&m.h, COT_MSG_PARTS, sizeof(m), 0);
			if (fds[i] < 0 || !say_now(fds[i], &m, sizeof(m))) {
				drain(fds[i]);
				if (sent % 64 == 0) { /* the daemon has hung up, maybe */
					close(fds[i]);
					fds[i] = join_shim("flood", sizes[i % 10][0],
							   sizes[i % 10][1], &id);
				}
			}
			say_placed(fds[i], (uint32_t)sent, sent % 2 ? 0 : -4095, sent % 128, 8);
			say_placed(fds[i], 0, 0, 0, 8);
			say_counts(fds[i], sent % 2 ? UINT64_MAX : (uint64_t)INT64_MAX);
			sent++;
		}
	printf("sent %lu\n", sent);
	return 0;
}

static int one_of_crowd(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	int fd, asks = dial();
	uint64_t id = 0;

	fd = join_shim("crowd", SMS, 8, &id);
	if (fd < 0 || asks < 0)
		return 0;
	(void)!write(STDERR_FILENO, "w", 1);
	while (time_is_left(seconds)) {
		ask_for(asks, id, SMS);
		while (hear(fd, 100) == COT_MSG_PLACE) {
			const struct cot_msg_place *m = (const struct cot_msg_place *)packet;

			say_placed(fd, m->h.seq, 0, m->first, m->n);
		}
	}
	return 0;
}

/* crowd N SECONDS: N processes with a program each that wants all SMs, and obeys; a "w" on standard
 * error for each one */
static int crowd(int argc, char **argv)
{
	int i, n = number(argc, argv, 0, 50);

	for (i = 0; i < n; i++)
		in_child(one_of_crowd, argc, argv);
	usleep((useconds_t)((argc > 1 ? atof(argv[1]) : 2) * 1e6));
	return 0;
}

const struct attack part_attacks[] = {
	{"placed", "HOW SECONDS", "answers orders to go to a part as no shim does", placed},
	{"parts", "SECONDS N", "all that a shim may say of parts, without end", parts},
	{"crowd", "N SECONDS", "N programs that want all SMs", crowd},
	{0},
};
