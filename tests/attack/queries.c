/* Requests that are told of as no shim does: too many, without end, with numbers that cannot be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"

#define SMS 132u

/* Of one attack: the connections of its shims. */
static int fds[CONNS_MAX], n_fds;

/* A program as it should be: what it says comes in, however long the daemon does not read. Else
 * ends would be lost, and it would have more requests than there may be. */
static bool is_honest;

static bool tell(int fd, const void *m, size_t size)
{
	return is_honest ? say(fd, m, size) : say_now(fd, m, size);
}

static bool say_begin(int fd, uint32_t query, uint64_t size, uint64_t waited_ns)
{
	uint64_t at_ns = now_ns();
	struct cot_msg_query_begin m = {
		.query = query, .size = size, .arrived_ns = at_ns - waited_ns, .began_ns = at_ns};

	cot_proto_header(&m.h, COT_MSG_QUERY_BEGIN, sizeof(m), 0);
	return tell(fd, &m, sizeof(m));
}

static bool say_tasks(int fd, uint32_t query, uint32_t n, uint64_t done_ns)
{
	struct cot_msg_query_tasks m = {.query = query, .n_done = n, .done_ns = done_ns};

	cot_proto_header(&m.h, COT_MSG_QUERY_TASKS, sizeof(m), 0);
	return tell(fd, &m, sizeof(m));
}

static bool say_end(int fd, uint32_t query, uint64_t ended_ns)
{
	struct cot_msg_query_end m = {.query = query, .ended_ns = ended_ns, .n_tasks = UINT32_MAX};

	cot_proto_header(&m.h, COT_MSG_QUERY_END, sizeof(m), 0);
	return tell(fd, &m, sizeof(m));
}

static bool say_copy(int fd, uint32_t query)
{
	struct cot_msg_query_copy m = {.query = query,
				       .way = query ? COT_WAY_OUT : COT_WAY_IN,
				       .for_ns = COT_PROTO_COPIES_NS};

	cot_proto_header(&m.h, COT_MSG_QUERY_COPY, sizeof(m), 0);
	return say_now(fd, &m, sizeof(m));
}

/* Obeys what has come, as a shim that nobody need wait for. */
static void obey(int fd)
{
	int type;

	while ((type = hear(fd, 0))) {
		const struct cot_msg_place *order = (const struct cot_msg_place *)packet;
		struct cot_msg_placed m = {.first = order->first, .n = order->n};

		if (type != COT_MSG_PLACE)
			continue;
		cot_proto_header(&m.h, COT_MSG_PLACED, sizeof(m), order->h.seq);
		(void)say_now(fd, &m, sizeof(m));
	}
}

/* Waits until it is asked for its requests; one that is not asked tells nevertheless. */
static int join_service(const char *name, enum cot_class cls)
{
	struct cot_msg_parts parts = {.n_sms = SMS, .unit = 8};
	struct cot_msg_work_hello hello;
	int fd = dial();

	fill_work_hello(&hello, name, 0);
	hello.class_ = (uint8_t)cls;
	cot_proto_header(&parts.h, COT_MSG_PARTS, sizeof(parts), 0);
	if (fd < 0 || !say(fd, &hello, sizeof(hello)) || hear(fd, 5000) != COT_MSG_WORK_WELCOME) {
		close(fd);
		return -1;
	}
	(void)say(fd, &parts, sizeof(parts));
	while (cls == COT_CLASS_LATENCY && hear(fd, 5000) != COT_MSG_QUERIES)
		;
	return fd;
}

static void join_all(int n, const char *name, enum cot_class cls)
{
	for (n_fds = 0; n_fds < n && n_fds < CONNS_MAX; n_fds++) {
		fds[n_fds] = join_service(name, cls);
		if (fds[n_fds] < 0)
			break;
	}
}

/* More requests than there are places, of which none ends; they get on with each round. */
static unsigned long endless_of(double seconds, uint64_t size)
{
	unsigned long sent = 0;
	uint32_t n, done = 0;
	int i;

	for (i = 0; i < n_fds; i++)
		for (n = 1; n <= 2 * COT_PROTO_QUERIES_MAX; n++)
			sent += say_begin(fds[i], n, size, 0);
	while (time_is_left(seconds)) {
		done++;
		for (i = 0; i < n_fds; i++) {
			for (n = 1; n <= COT_PROTO_QUERIES_MAX; n++)
				sent += say_tasks(fds[i], n, done, now_ns());
			obey(fds[i]);
		}
		usleep(1000);
	}
	return sent;
}

/* endless: of which nothing is known */
static unsigned long endless(double seconds)
{
	return endless_of(seconds, UINT64_MAX);
}

/* planned: of which as much is known as can be */
static unsigned long planned(double seconds)
{
	return endless_of(seconds, 4);
}

/* short: requests of a size that is known come, get on and end, as fast as they can be told */
static unsigned long many_short(double seconds)
{
	unsigned long sent = 0;
	uint32_t query = 0;
	int i;

	while (time_is_left(seconds)) {
		query = query == UINT32_MAX ? 1 : query + 1;
		for (i = 0; i < n_fds; i++) {
			sent += say_begin(fds[i], query, 4, sent % 3 * 1000000000ull);
			sent += say_tasks(fds[i], query, 1, now_ns());
			sent += say_tasks(fds[i], query, UINT32_MAX, now_ns());
			sent += say_end(fds[i], query, now_ns());
			obey(fds[i]);
		}
	}
	return sent;
}

/* A packet that no shim sends, though each of its numbers may be. */
static bool say_odd(int fd, unsigned long i)
{
	static const uint64_t sizes[] = {0, 1, 4, 1ull << 53, UINT64_MAX};
	static const uint32_t names[] = {1, 2, 256, 512, 0x7fffffff, UINT32_MAX};
	uint32_t query = names[i / 9 % 6];

	switch (i % 9) {
	case 0: /* one that there is, too */
		return say_begin(fd, query, sizes[i % 5], 0);
	case 1: /* since the machine started */
		return say_begin(fd, query, sizes[i % 5], now_ns());
	case 2: /* of one that there is not, and back again */
		return say_tasks(fd, query ^ 4, i % 2 ? UINT32_MAX : 1, now_ns());
	case 3: /* before it began */
		return say_tasks(fd, query, 2, 1);
	case 4: /* some day */
		return say_tasks(fd, query, 3, UINT64_MAX);
	case 5: /* another one's, by the number that the daemon may have given it */
		return say_end(fd, (uint32_t)(i % 512 + 1), UINT64_MAX);
	case 6: /* copies of one that there may be, and of none */
		return say_copy(fd, query);
	case 7:
		return say_copy(fd, 0);
	default:
		return say_end(fd, query, i % 2 ? 1 : now_ns());
	}
}

static unsigned long odd(double seconds)
{
	unsigned long sent = 0, i = 0;
	int k;

	for (; time_is_left(seconds); i++)
		for (k = 0; k < n_fds; k++) {
			sent += say_odd(fds[k], i);
			obey(fds[k]);
		}
	return sent;
}

/* queries HOW SECONDS N [NAME [batch]]: N shims that tell of requests */
static int queries(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned long (*run)(double seconds);
	} hows[] = {
		{"endless", endless}, {"planned", planned}, {"short", many_short}, {"odd", odd}};
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	unsigned i;

	join_all(number(argc, argv, 2, 20), argc > 3 ? argv[3] : "crowd",
		 argc > 4 ? COT_CLASS_BATCH : COT_CLASS_LATENCY);
	printf("joined %d\n", n_fds);
	time_begins();
	for (i = 0; argc > 0 && i < sizeof(hows) / sizeof(hows[0]); i++)
		if (!strcmp(argv[0], hows[i].name))
			printf("sent %lu\n", hows[i].run(seconds));
	return 0;
}

/* service SECONDS: a program as it should be, with a request of size 4 each 5 ms */
static int service(int argc, char **argv)
{
	int fd = join_service("api", COT_CLASS_LATENCY);
	uint32_t n = 0;

	if (fd < 0)
		return 1;
	is_honest = true;
	while (time_is_left(duration(argc, argv, 2))) {
		n++;
		(void)say_begin(fd, n, 4, 0);
		obey(fd);
		usleep(2000);
		(void)say_tasks(fd, n, 2, now_ns());
		(void)say_end(fd, n, now_ns());
		obey(fd);
		usleep(3000);
	}
	printf("asked %u\n", n);
	return 0;
}

const struct attack query_attacks[] = {
	{"queries", "HOW SECONDS N [NAME [batch]]", "requests as no shim tells of them", queries},
	{"service", "SECONDS", "requests as they should be", service},
	{0},
};
