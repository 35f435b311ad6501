/*
 * Plays cotenantd for programs with parts: tells each of them, again and again, to be on another
 * part, drawn at random. It stops when the last program has gone.
 *
 *     placer SOCKET [PERIOD_US [CHANGES [SEED [SUM]]]]
 *
 * To the number in the file SUM it adds each move to another part that is confirmed, so that the
 * sum is there when it has been killed. With PACE_US in the environment programs have that pace
 * most of the time. Prints for each program "placed N failed N followed N stayed N early N paced N
 * waits N late N held N lapsed N": the changes that it has confirmed, those that it has refused,
 * its launches on its part, elsewhere, and before it had any; those that were paced, how often one
 * of them waited, and how often for too long; those that were held, and how often for too long.
 * With HOLD=PERCENT in the environment so many orders hold the program.
 *
 * With FOLLOW=FILE in the environment nothing is drawn: of the 32-bit numbers in the file the first
 * is set while another program is busy; the next two say on how many SMs programs are to be then,
 * and otherwise (0: all), the fourth is their pace. It looks every PERIOD_US.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "proto/proto.h"

#define PROGRAMS    16
#define FOLLOW_SIZE 4096u

struct program {
	int fd; /* 0: none */
	bool can;
	uint32_t n_sms, unit, seq, part;
	uint64_t next_ns, n_placed, n_failed, followed, stayed, early;
	struct cot_msg_place last; /* that follows a file */
	struct cot_msg_pace_counts pace;
};

static struct program programs[PROGRAMS];
static uint64_t period_ns = 1000000, n_changes = UINT64_MAX, random_state = 1;
static uint32_t pace_us, hold_pct;
static _Atomic uint32_t *told; /* NULL: by chance */
static unsigned n_served, n_programs;
static uint64_t own_sum, *sum = &own_sum;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t draw(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

static void send_to(struct program *p, void *packet, enum cot_msg_type type, size_t size,
		    uint32_t seq)
{
	cot_proto_header(packet, type, (uint32_t)size, seq);
	(void)send(p->fd, packet, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Now and then the whole GPU; else a range of units, mostly of few different ones. */
static void place(struct program *p)
{
	uint32_t n_units = p->n_sms / p->unit, n = 1 + draw(n_units), first = draw(n_units - n + 1);
	struct cot_msg_place m = {.first = (uint16_t)(first * p->unit),
				  .n = (uint16_t)(n * p->unit)};

	if (draw(8)) {
		m.first = draw(2) ? 0 : (uint16_t)(n_units / 2 * p->unit);
		m.n = (uint16_t)(n_units / 2 * p->unit);
	}
	if (!draw(6))
		m.n = 0;
	if (pace_us && draw(4))
		m.pace_us = pace_us;
	if (hold_pct && draw(100) < hold_pct)
		m.flags = COT_PLACE_HOLD;
	send_to(p, &m, COT_MSG_PLACE, sizeof(m), ++p->seq);
	p->next_ns = now_ns() + period_ns;
}

/* As the file says, if that is something new. */
static void follow(struct program *p)
{
	uint32_t n = atomic_load(&told[0]) ? atomic_load(&told[1]) : atomic_load(&told[2]);
	struct cot_msg_place m = {.n = (uint16_t)n, .pace_us = atomic_load(&told[3])};

	if (!p->seq || m.n != p->last.n || m.pace_us != p->last.pace_us)
		send_to(p, &m, COT_MSG_PLACE, sizeof(m), ++p->seq);
	p->last = m;
	p->next_ns = now_ns() + period_ns;
}

static void gone(struct program *p)
{
	printf("placed %llu failed %llu followed %llu stayed %llu early %llu paced %llu waits %llu "
	       "late %llu held %llu lapsed %llu\n",
	       (unsigned long long)p->n_placed, (unsigned long long)p->n_failed,
	       (unsigned long long)p->followed, (unsigned long long)p->stayed,
	       (unsigned long long)p->early, (unsigned long long)p->pace.n_paced,
	       (unsigned long long)p->pace.n_waits, (unsigned long long)p->pace.n_failed,
	       (unsigned long long)p->pace.n_held, (unsigned long long)p->pace.n_lapsed);
	fflush(stdout);
	close(p->fd);
	*p = (struct program){0};
	n_programs--;
}

static void placed(struct program *p, uint32_t part)
{
	p->n_placed++;
	*sum += part != p->part;
	p->part = part;
}

static uint64_t n_early(const struct cot_msg_part_counts *m)
{
	uint32_t i;

	for (i = 0; i < m->n_reasons; i++)
		if (!strcmp(m->reasons[i].name, "launch-no-part"))
			return m->reasons[i].n_kernels;
	return 0;
}

static void take(struct program *p)
{
	static union {
		struct cot_msg_header h;
		struct cot_msg_parts parts;
		struct cot_msg_placed placed;
		struct cot_msg_part_counts counts;
		struct cot_msg_pace_counts pace;
		unsigned char bytes[COT_PROTO_PACKET_MAX];
	} in;
	struct cot_msg_work_welcome welcome = {.tenant = 1, .works_max = COT_PROTO_WORKS_MAX};
	ssize_t n = recv(p->fd, &in, sizeof(in), MSG_DONTWAIT);

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			gone(p);
		return;
	}
	switch (cot_proto_check(&in, (size_t)n)) {
	case COT_MSG_WORK_HELLO:
		send_to(p, &welcome, COT_MSG_WORK_WELCOME, sizeof(welcome), 0);
		break;
	case COT_MSG_PARTS:
		p->n_sms = in.parts.n_sms;
		p->unit = in.parts.unit;
		p->can = !in.parts.status && p->unit && p->n_sms / p->unit >= 2;
		break;
	case COT_MSG_PLACED:
		p->n_failed += in.placed.status != 0;
		if (!in.placed.status)
			placed(p, (uint32_t)in.placed.first << 16 | in.placed.n);
		break;
	case COT_MSG_PART_COUNTS:
		p->followed = in.counts.n_followed;
		p->early = n_early(&in.counts);
		p->stayed = in.counts.n_stayed - p->early;
		break;
	case COT_MSG_PACE_COUNTS:
		cot_proto_read_pace_counts(&in.pace, &p->pace);
		break;
	default:
		break;
	}
}

static void *open_shared(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *page = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return page;
}

static int open_socket(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, PROGRAMS)) {
		perror(path);
		exit(2);
	}
	return fd;
}

static void welcome_one(int listener)
{
	int fd = accept(listener, NULL, NULL), i;

	for (i = 0; fd >= 0 && i < PROGRAMS && programs[i].fd; i++)
		;
	if (fd >= 0 && i < PROGRAMS) {
		programs[i].fd = fd;
		n_served++;
		n_programs++;
	}
}

/* Whether a program is there, or none has come yet. */
static bool serve(int listener)
{
	struct pollfd polls[PROGRAMS + 1] = {{.fd = listener, .events = POLLIN}};
	uint64_t now = now_ns(), next = now + 100000000u;
	struct timespec t;
	int i;

	for (i = 0; i < PROGRAMS; i++) {
		struct program *p = &programs[i];

		polls[i + 1] = (struct pollfd){.fd = p->fd ? p->fd : -1, .events = POLLIN};
		if (p->fd && p->can && p->seq < n_changes && p->next_ns <= now)
			(told ? follow : place)(p);
		if (p->fd && p->can && p->seq < n_changes && p->next_ns < next)
			next = p->next_ns;
	}
	t = (struct timespec){.tv_nsec = next > now ? (long)(next - now) : 0};
	(void)ppoll(polls, PROGRAMS + 1, &t, NULL);
	for (i = 0; i < PROGRAMS; i++)
		if (polls[i + 1].revents)
			take(&programs[i]);
	if (polls[0].revents)
		welcome_one(listener);
	return n_programs || !n_served;
}

int main(int argc, char **argv)
{
	int listener;

	if (argc < 2)
		return 2;
	if (argc > 2)
		period_ns = strtoull(argv[2], NULL, 10) * 1000u;
	if (argc > 3)
		n_changes = strtoull(argv[3], NULL, 10);
	if (argc > 4)
		random_state = strtoull(argv[4], NULL, 10);
	if (argc > 5)
		sum = open_shared(argv[5], sizeof(*sum));
	if (getenv("PACE_US"))
		pace_us = (uint32_t)strtoul(getenv("PACE_US"), NULL, 10);
	if (getenv("HOLD"))
		hold_pct = (uint32_t)strtoul(getenv("HOLD"), NULL, 10);
	if (getenv("FOLLOW"))
		told = open_shared(getenv("FOLLOW"), FOLLOW_SIZE);
	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	listener = open_socket(argv[1]);
	while (serve(listener))
		;
	unlink(argv[1]);
	return 0;
}
