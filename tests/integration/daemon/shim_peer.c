/*
 * Plays the shim of a program against the daemon, one step after the other. The socket is
 * $COTENANT_SOCKET.
 *
 *   shim_peer [--class C] [--name N] [--id N] [--gpu G] [--sms N] [--quota N] STEP...
 *       (quota as in messages) says WORK_HELLO: "welcome ID" or "refused TEXT"; then
 *   request:ID:TASKS:PER_SM[:TASK_NS[:METHOD:SHARE]]   asks; the shim can settle and grow
 *                      (method and share as in messages)
 *   grant:ID           waits for a grant: "grant ID CAPSMS SETTLED", and "crowded" if it is
 *   evict:ID           waits for an eviction: "evict ID CAPSMS"
 *   evicted:ID:CAPSMS  says that they have left
 *   done:ID:LEFT       says that the kernel ended
 *   counts             says what it has rewritten
 *   plain:REASON:N     says that N launches stayed as they are, for that reason
 *   parts:SMS:UNIT:ERRNO          says how it can be placed, or (0:0:ERRNO) that it cannot
 *   found:FIRST:N      says that it has a part already
 *   obey:ERRNO         waits for an order to go to a part, "place FIRST+N", and answers
 *   serve:SECONDS      obeys all orders to go to a part: "place FIRST+N"
 *   followed:N:M:REASON           says that N launches ran on the part and M did not
 *   held:N:MS:LAPSED              says that N launches were held, for how long, and how many holds
 *                                 lapsed; twice as many copies, three times as long
 *   quiet:SECONDS      nothing may come meanwhile: "quiet", else what came
 *   sleep:SECONDS
 *   until:FILE                    waits until it is there, for 100 s at most
 *   time:N             N requests, one after the other: "p50 US p99 US" from request to grant
 *   flood:N            N requests at once
 *   hangup             waits until the daemon closes: "hangup"
 *
 * A wait ends after 5 s: "nothing came", exit status 1.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "proto/proto.h"

#define WAIT_MS	  5000
#define TIMES_MAX 100000

static _Alignas(8) char packet[COT_PROTO_PACKET_MAX];
static int fd;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void connect_daemon(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("COTENANT_SOCKET");

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (!path || fd < 0 || strlen(path) >= sizeof(address.sun_path))
		exit(2);
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		exit(2);
}

static void put(const void *p, size_t size)
{
	if (send(fd, p, size, MSG_NOSIGNAL) < 0)
		printf("cannot send: %s\n", strerror(errno));
}

/* The type of the next packet; 0 when none came in time, -1 at the end of the connection. */
static int get(int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n;

	if (poll(&p, 1, wait_ms) <= 0)
		return 0;
	n = recv(fd, packet, sizeof(packet), 0);
	return n <= 0 ? -1 : cot_proto_check(packet, (size_t)n);
}

static void say(int type)
{
	const struct cot_msg_work_grant *grant = (const struct cot_msg_work_grant *)packet;
	const struct cot_msg_work_evict *evict = (const struct cot_msg_work_evict *)packet;
	const struct cot_msg_text *text = (const struct cot_msg_text *)packet;
	const struct cot_msg_place *place = (const struct cot_msg_place *)packet;

	if (type == COT_MSG_WORK_GRANT)
		printf("grant %lu %u %u%s\n", (unsigned long)grant->work, grant->capsms,
		       grant->flags & COT_WORK_SETTLED,
		       grant->flags & COT_WORK_CROWDED ? " crowded" : "");
	else if (type == COT_MSG_WORK_EVICT)
		printf("evict %lu %u\n", (unsigned long)evict->work, evict->capsms);
	else if (type == COT_MSG_PLACE)
		printf("place %u+%u\n", place->first, place->n);
	else if (type == COT_MSG_WORK_WELCOME)
		printf("welcome %lu\n",
		       (unsigned long)((const struct cot_msg_work_welcome *)packet)->tenant);
	else if (type == COT_MSG_REFUSED)
		printf("refused %.*s\n", (int)(text->h.length - sizeof(*text)), text->text);
	else
		printf("%s\n", type < 0 ? "hangup" : "nothing came");
	fflush(stdout);
	if (type <= 0 || type == COT_MSG_REFUSED)
		exit(1);
}

/* Says everything that comes, until it is this. */
static void wait_for(int wanted, uint64_t work)
{
	const struct cot_msg_work_grant *m = (const struct cot_msg_work_grant *)packet;
	int type;

	do {
		type = get(WAIT_MS);
		say(type);
	} while (type != wanted || (work && m->work != work));
}

/* ---- steps ---- */

static void request_as(uint64_t work, uint32_t tasks, uint32_t per_sm, uint32_t task_ns,
		       uint8_t method, uint16_t share)
{
	struct cot_msg_work_request m = {.work = work,
					 .method = method,
					 .share = share,
					 .n_tasks = tasks,
					 .per_sm = per_sm,
					 .task_ns = task_ns,
					 .flags = COT_WORK_CAN_SETTLE | COT_WORK_CAN_GROW};

	cot_proto_header(&m.h, COT_MSG_WORK_REQUEST, sizeof(m), 0);
	put(&m, sizeof(m));
}

static void request(uint64_t work, uint32_t tasks, uint32_t per_sm)
{
	request_as(work, tasks, per_sm, 0, COT_PROTO_WORK_DEFAULT, 0);
}

static void done(uint64_t work, uint32_t left)
{
	struct cot_msg_work_done m = {
		.work = work, .left = left, .n_tasks = 1000, .n_remapped = 10, .n_launches = 1};

	cot_proto_header(&m.h, COT_MSG_WORK_DONE, sizeof(m), 0);
	put(&m, sizeof(m));
}

static void evicted(uint64_t work, uint32_t capsms)
{
	struct cot_msg_work_evicted m = {.work = work, .capsms = capsms, .delay_ns = 12000};

	cot_proto_header(&m.h, COT_MSG_WORK_EVICTED, sizeof(m), 0);
	put(&m, sizeof(m));
}

static void counts(void)
{
	union {
		struct cot_msg_work_counts m;
		char bytes[sizeof(struct cot_msg_work_counts) + sizeof(struct cot_work_reason)];
	} u = {.m = {.n_rewritten = 3,
		     .n_refused = 2,
		     .n_launched_workers = 40,
		     .n_launched_plain = 5,
		     .n_reasons = 1}};

	memcpy(u.m.reasons[0].name, "cooperative", sizeof("cooperative"));
	u.m.reasons[0].n_kernels = 2;
	cot_proto_header(&u.m.h, COT_MSG_WORK_COUNTS, sizeof(u), 0);
	put(&u, sizeof(u));
}

static void plain(const char *reason, uint64_t n)
{
	union {
		struct cot_msg_work_counts m;
		char bytes[sizeof(struct cot_msg_work_counts) + sizeof(struct cot_work_reason)];
	} u = {.m = {.n_rewritten = 1, .n_launched_plain = n, .n_reasons = 1}};

	snprintf(u.m.reasons[0].name, sizeof(u.m.reasons[0].name), "%s", reason);
	u.m.reasons[0].n_kernels = n;
	cot_proto_header(&u.m.h, COT_MSG_WORK_COUNTS, sizeof(u), 0);
	put(&u, sizeof(u));
}

static void parts(uint32_t n_sms, uint32_t unit, int32_t status)
{
	struct cot_msg_parts m = {.n_sms = n_sms, .unit = unit, .status = status};

	cot_proto_header(&m.h, COT_MSG_PARTS, sizeof(m), 0);
	put(&m, sizeof(m));
}

static void placed(uint32_t seq, int32_t status, unsigned first, unsigned n)
{
	struct cot_msg_placed m = {
		.status = status, .first = (uint16_t)first, .n = (uint16_t)n, .latency_ns = 3100};

	cot_proto_header(&m.h, COT_MSG_PLACED, sizeof(m), seq);
	put(&m, sizeof(m));
}

/* Waits for an order, and is where it says, or fails. */
static void obey(int32_t status)
{
	const struct cot_msg_place *m = (const struct cot_msg_place *)packet;

	wait_for(COT_MSG_PLACE, 0);
	placed(m->h.seq, status, status ? 0 : m->first, status ? 0 : m->n);
}

static void serve(double seconds)
{
	uint64_t until_ns = now_ns() + (uint64_t)(seconds * 1e9);
	const struct cot_msg_place *m = (const struct cot_msg_place *)packet;

	while (now_ns() < until_ns)
		if (get(WAIT_MS) == COT_MSG_PLACE) {
			say(COT_MSG_PLACE);
			placed(m->h.seq, 0, m->first, m->n);
		}
}

static void followed(uint64_t n, uint64_t n_stayed, const char *reason)
{
	union {
		struct cot_msg_part_counts m;
		char bytes[sizeof(struct cot_msg_part_counts) + sizeof(struct cot_work_reason)];
	} u = {.m = {.n_changes = 1, .n_followed = n, .n_stayed = n_stayed, .n_reasons = 1}};

	snprintf(u.m.reasons[0].name, sizeof(u.m.reasons[0].name), "%s", reason);
	u.m.reasons[0].n_kernels = n_stayed;
	cot_proto_header(&u.m.h, COT_MSG_PART_COUNTS, sizeof(u), 0);
	put(&u, sizeof(u));
}

static void held(uint64_t n, uint64_t ms, uint64_t n_lapsed)
{
	struct cot_msg_pace_counts m = {.n_held = n,
					.held_ns = ms * 1000000u,
					.n_lapsed = n_lapsed,
					.n_copies = 2 * n,
					.copies_ns = 3 * ms * 1000000u};

	cot_proto_header(&m.h, COT_MSG_PACE_COUNTS, sizeof(m), 0);
	put(&m, sizeof(m));
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(uint32_t n)
{
	static uint64_t took_ns[TIMES_MAX];
	uint32_t i;

	n = n > TIMES_MAX ? TIMES_MAX : n;
	for (i = 0; i < n; i++) {
		uint64_t begin_ns = now_ns();

		request(i + 1, 10000, 8);
		if (get(WAIT_MS) != COT_MSG_WORK_GRANT) {
			printf("nothing came\n");
			exit(1);
		}
		took_ns[i] = now_ns() - begin_ns;
		done(i + 1, 0);
	}
	qsort(took_ns, n, sizeof(took_ns[0]), compare);
	printf("p50 %.1f p99 %.1f\n", (double)took_ns[n / 2] / 1e3,
	       (double)took_ns[n - 1 - n / 100] / 1e3);
}

static void step(const char *s)
{
	unsigned a = 0, b = 0, c = 0, d = 0;
	char word[32];
	unsigned method = COT_PROTO_WORK_DEFAULT, share = 0, i;
	int type;

	if (sscanf(s, "request:%u:%u:%u:%u:%u:%u", &a, &b, &c, &d, &method, &share) >= 3) {
		request_as(a, b, c, d, (uint8_t)method, (uint16_t)share);
	} else if (sscanf(s, "grant:%u", &a) == 1) {
		wait_for(COT_MSG_WORK_GRANT, a);
	} else if (sscanf(s, "evict:%u", &a) == 1) {
		wait_for(COT_MSG_WORK_EVICT, a);
	} else if (sscanf(s, "evicted:%u:%u", &a, &b) == 2) {
		evicted(a, b);
	} else if (sscanf(s, "done:%u:%u", &a, &b) == 2) {
		done(a, b);
	} else if (sscanf(s, "parts:%u:%u:%u", &a, &b, &c) == 3) {
		parts(a, b, -(int32_t)c);
	} else if (sscanf(s, "found:%u:%u", &a, &b) == 2) {
		placed(0, 0, a, b);
	} else if (sscanf(s, "obey:%u", &a) == 1) {
		obey(-(int32_t)a);
	} else if (!strncmp(s, "serve:", 6)) {
		serve(strtod(s + 6, NULL));
	} else if (sscanf(s, "held:%u:%u:%u", &a, &b, &c) == 3) {
		held(a, b, c);
	} else if (sscanf(s, "followed:%u:%u:%31[^:]", &a, &b, word) == 3) {
		followed(a, b, word);
	} else if (!strcmp(s, "counts")) {
		counts();
	} else if (sscanf(s, "plain:%31[^:]:%u", word, &a) == 2) {
		plain(word, a);
	} else if (!strncmp(s, "quiet:", 6)) {
		type = get((int)(strtod(s + 6, NULL) * 1000));
		if (type)
			say(type);
		else
			printf("quiet\n");
	} else if (!strncmp(s, "until:", 6)) {
		for (i = 0; i < 10000 && access(s + 6, F_OK) < 0; i++)
			usleep(10000);
	} else if (!strncmp(s, "sleep:", 6)) {
		usleep((useconds_t)(strtod(s + 6, NULL) * 1e6));
	} else if (sscanf(s, "time:%u", &a) == 1) {
		measure(a);
	} else if (sscanf(s, "flood:%u", &a) == 1) {
		for (i = 0; i < a; i++)
			request(1000 + i, 10000, 8);
	} else if (!strcmp(s, "hangup")) {
		while ((type = get(WAIT_MS)) > 0)
			;
		printf("%s\n", type < 0 ? "hangup" : "nothing came");
	} else {
		fprintf(stderr, "shim_peer: what is '%s'?\n", s);
		exit(2);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct cot_msg_work_hello m = {
		.pid = (uint32_t)getpid(), .n_sms = 132, .class_ = COT_CLASS_BATCH, .weight = 100};
	int i;

	snprintf(m.name, sizeof(m.name), "shim");
	snprintf(m.gpu, sizeof(m.gpu), "0");
	for (i = 1; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		const char *value = argv[i + 1];

		if (!strcmp(argv[i], "--class"))
			m.class_ = strcmp(value, "latency") ? COT_CLASS_BATCH : COT_CLASS_LATENCY;
		else if (!strcmp(argv[i], "--name"))
			snprintf(m.name, sizeof(m.name), "%s", value);
		else if (!strcmp(argv[i], "--gpu"))
			snprintf(m.gpu, sizeof(m.gpu), "%s", value);
		else if (!strcmp(argv[i], "--id"))
			m.tenant = strtoull(value, NULL, 10);
		else if (!strcmp(argv[i], "--sms"))
			m.n_sms = (uint32_t)strtoul(value, NULL, 10);
		else if (!strcmp(argv[i], "--quota"))
			m.quota = (uint16_t)strtoul(value, NULL, 10);
		else
			return 2;
	}
	connect_daemon();
	cot_proto_header(&m.h, COT_MSG_WORK_HELLO, sizeof(m), 1);
	put(&m, sizeof(m));
	wait_for(COT_MSG_WORK_WELCOME, 0);
	for (; i < argc; i++)
		step(argv[i]);
	return 0;
}
