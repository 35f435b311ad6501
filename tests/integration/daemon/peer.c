/*
 * The other end of the daemon's socket, for tests: plays a library, sends nonsense, opens many
 * connections. The socket is $COTENANT_SOCKET. Prints one line per thing that happens.
 *
 *   peer library [--id N] [--pool] [--class C] [--name N] [--groups N] [--seconds S] [--silent]
 *                [--version N] [--grow S] [--grow-again S]
 *                [--daemon PID] [--mute FILE]
 *       says HELLO and GROUPS, obeys and answers orders: "welcome ID", "set US MODE", "freeze",
 *       "thaw", "lease MS" and "lapsed" (it ran out so long after we saw it first),
 *       "refused TEXT", "hangup"; with --daemon a lease that ran out while the daemon waited for
 *       a processor is "late" instead; it does not answer while FILE is there
 *   peer bad KIND        sends one malformed packet; "closed" or "open"
 *   peer crowd N SECONDS N processes connect and say HELLO; "welcomed M refused K closed L"; they
 *       stay so long, or until it gets SIGTERM
 *   peer register [--class C] [--version N] [--weight W] [--gpu G]
 *       "registered ID" and the variables, or "refused TEXT"
 *   peer weight NAME N PID   sets the weight of a program N times; "longest M", in ms, and only
 *       what the daemon PID and this program did not wait for a processor
 *   peer ask N SECONDS   asks for ps on N connections, without waiting for answers; "asked M"
 *   peer storm N SEED    sends N packets of random kinds and contents over connections of its own
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../support/schedstat.h"
#include "base/rng.h"
#include "proto/proto.h"

#define MS	  1000000ull
#define CROWD_MAX 1024
/* A lease lasts 80 ms and is renewed every 25; the daemon may use so much of it for other things.
 */
#define LEASE_OWN_NS (60 * MS)

static _Alignas(8) char packet[COT_PROTO_PACKET_MAX];

struct options {
	uint64_t id;
	bool pool, silent;
	const char *class, *name, *gpu, *mute;
	unsigned groups, version, weight, block_us;
	double seconds, grow, grow_again;
	int daemon;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static int connect_daemon(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("COTENANT_SOCKET");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (!path || fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
		fprintf(stderr, "peer: no socket\n");
		exit(2);
	}
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void read_options(int argc, char **argv, struct options *o)
{
	int i;

	*o = (struct options){.class = "batch",
			      .name = "peer",
			      .gpu = "",
			      .groups = 4,
			      .version = COT_PROTO_VERSION,
			      .weight = 100,
			      .seconds = 1e9};
	for (i = 2; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--pool")) {
			o->pool = true;
			continue;
		}
		if (!strcmp(argv[i], "--silent")) {
			o->silent = true;
			continue;
		}
		i++;
		if (!strcmp(argv[i - 1], "--id"))
			o->id = strtoull(value, NULL, 10);
		else if (!strcmp(argv[i - 1], "--class"))
			o->class = value;
		else if (!strcmp(argv[i - 1], "--name"))
			o->name = value;
		else if (!strcmp(argv[i - 1], "--gpu"))
			o->gpu = value;
		else if (!strcmp(argv[i - 1], "--mute"))
			o->mute = value;
		else if (!strcmp(argv[i - 1], "--groups"))
			o->groups = (unsigned)atoi(value);
		else if (!strcmp(argv[i - 1], "--version"))
			o->version = (unsigned)atoi(value);
		else if (!strcmp(argv[i - 1], "--weight"))
			o->weight = (unsigned)atoi(value);
		else if (!strcmp(argv[i - 1], "--block-us"))
			o->block_us = (unsigned)strtoul(value, NULL, 10);
		else if (!strcmp(argv[i - 1], "--grow"))
			o->grow = strtod(value, NULL);
		else if (!strcmp(argv[i - 1], "--grow-again"))
			o->grow_again = strtod(value, NULL);
		else if (!strcmp(argv[i - 1], "--daemon"))
			o->daemon = atoi(value);
		else if (!strcmp(argv[i - 1], "--seconds"))
			o->seconds = strtod(value, NULL);
		else
			exit(2);
	}
}

static void make_hello(const struct options *o, struct cot_msg_hello *m)
{
	*m = (struct cot_msg_hello){
		.role = o->pool ? COT_ROLE_POOL : COT_ROLE_TENANT,
		.class_ = strcmp(o->class, "latency") ? COT_CLASS_BATCH : COT_CLASS_LATENCY,
		.weight = (uint16_t)o->weight,
		.pid = (uint32_t)getpid(),
		.tenant = o->id,
		.block_us = o->block_us,
	};
	snprintf(m->name, sizeof(m->name), "%s", o->name);
	snprintf(m->gpu, sizeof(m->gpu), "%s", o->gpu);
	cot_proto_header(&m->h, COT_MSG_HELLO, sizeof(*m), 1);
	m->h.version = (uint16_t)o->version;
}

/* ---- library ---- */

static struct cot_page *page;
static uint64_t slice_us;
static bool frozen;

static ssize_t receive(int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = packet, .iov_len = sizeof(packet)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	int page_fd;

	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS) {
		memcpy(&page_fd, CMSG_DATA(cmsg), sizeof(page_fd));
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
		if (ftruncate(page_fd, 0) == 0 || ftruncate(page_fd, 1 << 20) == 0)
			printf("page can be resized\n");
		close(page_fd);
	}
	return n;
}

static void acknowledge(int fd, uint32_t seq, uint64_t value)
{
	struct cot_msg_ack m = {.value = value, .latency_ns = 1000};

	cot_proto_header(&m.h, COT_MSG_ACK, sizeof(m), seq);
	if (send(fd, &m, sizeof(m), MSG_NOSIGNAL) < 0)
		printf("cannot answer: %s\n", strerror(errno));
}

/* When its channels last came or became more; 0: it has been frozen since. */
static uint64_t grown_ns;

/* How long after that the first freeze came: by our own clock, so never less than it was. */
static void tell_quiet(void)
{
	if (grown_ns)
		printf("quiet %lu\n", (unsigned long)((now_ns() - grown_ns) / MS));
	grown_ns = 0;
}

/* False when it is over. */
static bool obey(int fd, const struct options *o)
{
	const struct cot_msg_header *h = (const struct cot_msg_header *)packet;
	const struct cot_msg_welcome *welcome = (const struct cot_msg_welcome *)packet;
	const struct cot_msg_set *set = (const struct cot_msg_set *)packet;
	struct cot_msg_groups groups = {.n_groups = o->groups, .n_channels = 4 * o->groups};
	ssize_t n = receive(fd);

	if (n <= 0) {
		printf("hangup\n");
		return false;
	}
	switch (cot_proto_check(packet, (size_t)n)) {
	case COT_MSG_WELCOME:
		printf("welcome %lu\n", (unsigned long)welcome->tenant);
		slice_us = welcome->slice_us;
		if (page)
			atomic_store(&page->slice_us, slice_us);
		cot_proto_header(&groups.h, COT_MSG_GROUPS, sizeof(groups), 2);
		grown_ns = now_ns();
		(void)!send(fd, &groups, sizeof(groups), MSG_NOSIGNAL);
		return true;
	case COT_MSG_REFUSED:
		printf("refused %.*s\n", (int)(h->length - sizeof(struct cot_msg_text)),
		       packet + sizeof(struct cot_msg_text));
		return false;
	case COT_MSG_SET:
		slice_us = set->slice_us;
		printf("set %lu %u\n", (unsigned long)slice_us, set->mode);
		break;
	case COT_MSG_FREEZE:
		frozen = true;
		tell_quiet();
		printf("freeze\n");
		break;
	case COT_MSG_THAW:
		frozen = false;
		printf("thaw\n");
		break;
	default:
		printf("unexpected type %u\n", h->type);
		return true;
	}
	if (o->silent || (o->mute && access(o->mute, F_OK) == 0))
		return true;
	if (page)
		atomic_store(&page->slice_us, slice_us);
	acknowledge(fd, h->seq, slice_us);
	return true;
}

/* As a program that makes another stream. */
static void grow(int fd, const struct options *o)
{
	static unsigned n;
	struct cot_msg_groups m = {.n_groups = o->groups, .n_channels = 4 * o->groups + ++n};

	cot_proto_header(&m.h, COT_MSG_GROUPS, sizeof(m), 3);
	grown_ns = now_ns();
	(void)!send(fd, &m, sizeof(m), MSG_NOSIGNAL);
	printf("grown\n");
}

/* A lease, when it was seen first, and what the daemon and we had waited for a processor until
 * then.
 */
static struct lease {
	uint64_t until_ns, seen_ns, waited_ns;
	bool ended;
} lease;

/* And what was taken from the whole machine. */
static uint64_t both_waited_ns(int daemon)
{
	return waited_ns(daemon) + waited_ns((int)getpid()) + stolen_ns();
}

/*
 * The lease has run out before the daemon came again. That is its fault if it had a processor for
 * most of the time, and we looked when it came. What was waited is known now only: the kernel
 * counts it when the wait ends.
 */
static void judge_lapse(const struct options *o, uint64_t now)
{
	uint64_t took_ns = now - lease.seen_ns,
		 waited = both_waited_ns(o->daemon) - lease.waited_ns;
	uint64_t own_ns = took_ns > waited ? took_ns - waited : 0;

	printf(own_ns > LEASE_OWN_NS ? "lapsed\n" : "late\n");
}

static void watch_lease(const struct options *o)
{
	/* In this order: a lease that is read later has not ended by our own delay. */
	uint64_t now = now_ns(), until_ns = page ? atomic_load(&page->lease_until_ns) : 0;

	if (!frozen || until_ns != lease.until_ns) {
		if (lease.ended && o->daemon)
			judge_lapse(o, now);
		lease = (struct lease){0};
		if (frozen && now < until_ns)
			lease = (struct lease){until_ns, now, both_waited_ns(o->daemon), false};
	} else if (lease.until_ns && !lease.ended && now >= until_ns) {
		lease.ended = true;
		if (o->daemon)
			return;
		printf("lease %lu\nlapsed\n",
		       (unsigned long)((lease.until_ns - lease.seen_ns) / MS));
		frozen = false;
		atomic_fetch_add(&page->n_lease_expired, 1);
	}
}

static int library(const struct options *o)
{
	uint64_t end_ns = now_ns() + (uint64_t)(o->seconds * 1e9);
	uint64_t grow_ns = o->grow > 0 ? now_ns() + (uint64_t)(o->grow * 1e9) : UINT64_MAX;
	struct cot_msg_hello hello;
	int fd = connect_daemon();

	if (fd < 0)
		return 1;
	make_hello(o, &hello);
	(void)!send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
	while (now_ns() < end_ns) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, 1) > 0 && !obey(fd, o))
			return frozen ? 3 : 0;
		if (now_ns() >= grow_ns) {
			grow(fd, o);
			grow_ns = o->grow_again > 0 ? now_ns() + (uint64_t)(o->grow_again * 1e9)
						    : UINT64_MAX;
		}
		watch_lease(o);
	}
	printf("end\n");
	return 0;
}

/* ---- nonsense ---- */

static size_t make_bad(const char *kind)
{
	struct cot_msg_header *h = (struct cot_msg_header *)packet;
	struct cot_msg_hello *hello = (struct cot_msg_hello *)packet;
	struct options o;
	char *none[] = {NULL};

	read_options(0, none, &o);
	make_hello(&o, hello);
	if (!strcmp(kind, "short"))
		return 7;
	if (!strcmp(kind, "truncated"))
		return h->length = sizeof(*hello) - 1;
	if (!strcmp(kind, "length"))
		h->length++;
	if (!strcmp(kind, "magic"))
		h->magic ^= 1;
	if (!strcmp(kind, "string"))
		memset(hello->name, 'a', sizeof(hello->name));
	if (!strcmp(kind, "weight"))
		hello->weight = 0;
	if (!strcmp(kind, "class"))
		hello->class_ = 9;
	if (!strcmp(kind, "unknown"))
		h->type = 999;
	if (!strcmp(kind, "backwards")) { /* one that only the daemon sends */
		h->type = COT_MSG_WELCOME;
	}
	if (!strcmp(kind, "early")) { /* an answer before a HELLO */
		h->type = COT_MSG_ACK;
	}
	if (!strcmp(kind, "large")) {
		memset(packet + sizeof(*hello), 0, sizeof(packet) - sizeof(*hello));
		return h->length = sizeof(packet);
	}
	return sizeof(*hello);
}

static int bad(const char *kind)
{
	struct pollfd p = {.events = POLLIN};
	bool open = true;
	size_t size;

	p.fd = connect_daemon();
	if (p.fd < 0)
		return 1;
	size = make_bad(kind);
	if (send(p.fd, packet, size, MSG_NOSIGNAL) < 0)
		return 1;
	while (open && poll(&p, 1, 300) > 0)
		open = recv(p.fd, packet, sizeof(packet), 0) > 0;
	printf("%s\n", open ? "open" : "closed");
	return 0;
}

static int storm(unsigned n, uint64_t seed)
{
	struct cot_rng rng = {.state = seed};
	unsigned i, reconnects = 0;
	int fd = connect_daemon();

	for (i = 0; i < n; i++) {
		struct cot_msg_header *h = (struct cot_msg_header *)packet;
		static const uint16_t types[] = {1,  2,	 3,  4,	 5,  6,	 7,  8,	 16, 17,
						 18, 24, 25, 32, 33, 34, 35, 36, 77};
		unsigned type = types[cot_rng_below(&rng, sizeof(types) / sizeof(types[0]))];
		size_t size = cot_proto_min_size(type), j;

		if (size < sizeof(*h) || cot_rng_below(&rng, 4) == 0)
			size = 1 + cot_rng_below(&rng, 400);
		for (j = 0; j < size; j++)
			packet[j] = (char)(cot_rng_below(&rng, 3) ? 0 : cot_rng_next(&rng));
		if (size >= sizeof(*h) && cot_rng_below(&rng, 8))
			cot_proto_header(h, (enum cot_msg_type)type, (uint32_t)size,
					 (uint32_t)cot_rng_below(&rng, 100));
		if (fd < 0 || send(fd, packet, size, MSG_NOSIGNAL) < 0) {
			if (fd >= 0)
				close(fd);
			fd = connect_daemon();
			reconnects++;
		}
		while (fd >= 0 && recv(fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
			continue;
	}
	printf("storm %u seed %lu reconnects %u\n", n, (unsigned long)seed, reconnects);
	return 0;
}

/* ---- many ---- */

/* One of the crowd: what it is answered goes into the pipe, and it stays. */
static void join_crowd(int out)
{
	struct cot_msg_hello hello;
	struct options o;
	char *none[] = {NULL};
	int fd = connect_daemon();
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t size;
	signed char type;

	read_options(0, none, &o);
	make_hello(&o, &hello);
	if (fd >= 0)
		(void)!send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
	size = fd >= 0 && poll(&p, 1, 30000) > 0 ? recv(fd, packet, sizeof(packet), 0) : 0;
	type = (signed char)(size > 0 ? cot_proto_check(packet, (size_t)size) : -1);
	(void)!write(out, &type, 1);
	for (;;)
		pause();
}

static void go_on(int signal)
{
	(void)signal;
}

/* Of several processes: one is one program, whatever it connects. */
static int crowd(unsigned n, double seconds)
{
	unsigned i, welcomed = 0, refused = 0, closed = 0;
	static pid_t pids[CROWD_MAX];
	signed char type;
	int ends[2];

	if (n > CROWD_MAX || pipe(ends) < 0)
		return 2;
	for (i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			join_crowd(ends[1]);
	}
	for (i = 0; i < n && read(ends[0], &type, 1) == 1; i++) {
		welcomed += type == COT_MSG_WELCOME;
		refused += type == COT_MSG_LATER;
		closed += type < 0;
	}
	(void)signal(SIGTERM, go_on); /* those who joined must not stay behind */
	printf("welcomed %u refused %u closed %u\n", welcomed, refused, closed);
	fflush(stdout);
	usleep((useconds_t)(seconds * 1e6));
	for (i = 0; i < n; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	return 0;
}

static int ask(unsigned n, double seconds)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	uint64_t until_ns = now_ns() + (uint64_t)(seconds * 1e9);
	static int fds[CROWD_MAX];
	unsigned i, j, asked = 0;

	cot_proto_header(&query.h, COT_MSG_QUERY, sizeof(query), 1);
	for (i = 0; i < n && i < CROWD_MAX; i++)
		fds[i] = connect_daemon();
	while (now_ns() < until_ns) {
		for (i = 0; i < n && i < CROWD_MAX; i++) {
			for (j = 0; j < 16; j++)
				asked += send(fds[i], &query, sizeof(query),
					      MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
			while (recv(fds[i], packet, sizeof(packet), MSG_DONTWAIT) > 0)
				continue;
		}
		usleep(1000);
	}
	printf("asked %u\n", asked);
	return asked < n;
}

/* ---- the command line ---- */

/* What one command took, without what anybody waited for a processor. */
static uint64_t command_ns(const char *name, unsigned weight, int daemon)
{
	struct cot_msg_command m = {
		.what = COT_COMMAND_SET, .fields = COT_SET_WEIGHT, .weight = (uint16_t)weight};
	const struct cot_msg_result *answer = (const struct cot_msg_result *)packet;
	uint64_t waited = both_waited_ns(daemon), start_ns = now_ns();
	int fd = connect_daemon();
	ssize_t n;

	snprintf(m.name, sizeof(m.name), "%s", name);
	cot_proto_header(&m.h, COT_MSG_COMMAND, sizeof(m), 1);
	if (fd < 0 || send(fd, &m, sizeof(m), MSG_NOSIGNAL) < 0)
		exit(1);
	n = recv(fd, packet, sizeof(packet), 0);
	if (n <= 0 || cot_proto_check(packet, (size_t)n) != COT_MSG_RESULT || answer->status)
		exit(1);
	start_ns += both_waited_ns(daemon) - waited;
	close(fd);
	return now_ns() > start_ns ? now_ns() - start_ns : 0;
}

static int weight(const char *name, unsigned n, int daemon)
{
	uint64_t longest_ns = 0, took_ns;
	unsigned i;

	for (i = 0; i < n; i++) {
		took_ns = command_ns(name, 100 + i, daemon);
		if (took_ns > longest_ns)
			longest_ns = took_ns;
	}
	printf("longest %lu\n", (unsigned long)(longest_ns / MS));
	return 0;
}

static int reg(const struct options *o)
{
	struct cot_msg_register m = {
		.class_ = strcmp(o->class, "latency") ? COT_CLASS_BATCH : COT_CLASS_LATENCY,
		.weight = (uint16_t)o->weight,
		.solo = 1,
		.pid = (uint32_t)getpid(),
	};
	const struct cot_msg_registered *answer = (const struct cot_msg_registered *)packet;
	const char *entry;
	int fd = connect_daemon();
	ssize_t n;

	if (fd < 0)
		return 1;
	snprintf(m.name, sizeof(m.name), "%s", o->name);
	snprintf(m.gpu, sizeof(m.gpu), "%s", o->gpu);
	cot_proto_header(&m.h, COT_MSG_REGISTER, sizeof(m), 1);
	m.h.version = (uint16_t)o->version;
	(void)!send(fd, &m, sizeof(m), MSG_NOSIGNAL);
	n = recv(fd, packet, sizeof(packet), 0);
	switch (n > 0 ? cot_proto_check(packet, (size_t)n) : -1) {
	case COT_MSG_REGISTERED:
		printf("registered %lu\n", (unsigned long)answer->tenant);
		for (entry = answer->env; entry < packet + n; entry += strlen(entry) + 1)
			printf("%s\n", entry);
		return 0;
	case COT_MSG_REFUSED:
		printf("refused %.*s\n", (int)(answer->h.length - sizeof(struct cot_msg_text)),
		       packet + sizeof(struct cot_msg_text));
		return 0;
	default:
		printf("closed\n");
		return 1;
	}
}

int main(int argc, char **argv)
{
	struct options o;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "bad"))
		return bad(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "crowd"))
		return crowd((unsigned)atoi(argv[2]), strtod(argv[3], NULL));
	if (argc == 5 && !strcmp(argv[1], "weight"))
		return weight(argv[2], (unsigned)atoi(argv[3]), atoi(argv[4]));
	if (argc == 4 && !strcmp(argv[1], "ask"))
		return ask((unsigned)atoi(argv[2]), strtod(argv[3], NULL));
	if (argc == 4 && !strcmp(argv[1], "storm"))
		return storm((unsigned)atoi(argv[2]), strtoull(argv[3], NULL, 10));
	if (argc < 2)
		return 2;
	read_options(argc, argv, &o);
	if (!strcmp(argv[1], "library"))
		return library(&o);
	if (!strcmp(argv[1], "register"))
		return reg(&o);
	return 2;
}
