/*
 * Two processes, A (a client) and B (the backend), that try one thing together. They wait for each
 * other only in probe_meet() and probe_until(), which end after a bound or when the other failed.
 */
#ifndef COT_BENCH_CONSOLIDATE_PROBE_PROBE_H
#define COT_BENCH_CONSOLIDATE_PROBE_PROBE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cuda.h"

enum { A, B, TEXT_MAX = 4096, GAPS_MAX = 64, HINTS_MAX = 8, SHARE_WAYS = 3 };
#define WINDOW_BYTES ((size_t)64 << 30) /* that each program's memory would be in */
#define CHUNK_BYTES  ((size_t)64 << 20)
#define WAIT_S	     5.0

struct gap {
	uint64_t begin, end;
};

/* In memory of both, and of the process that started them. */
struct shared {
	_Atomic uint32_t met[2], request, reply, kill_b;
	_Atomic uint32_t tried[SHARE_WAYS][2], again[SHARE_WAYS][2];
	_Atomic bool failed[2];
	char failure[2][200];
	char text[2][TEXT_MAX]; /* members of the JSON object of each */
	bool right;		/* what was asked works */
	struct ipc_handle memory, events[2];
	pointer ipc_address[2], reserved[2][HINTS_MAX];
	struct gap gaps[2][GAPS_MAX];
	uint32_t n_gaps[2];
	void *host; /* CHUNK_BYTES that were mapped before the two sides began */
};

struct side {
	int who;    /* A or B */
	int socket; /* to the other */
	struct shared *shared;
	struct cuda cuda;
	char device[80];
	int driver;
	function fill, mark, look, wrong;
	stream stream;
	event mine, other; /* interprocess events */
	pointer memory;	   /* CHUNK_BYTES that both have, by probe_share() */
	bool same_address; /* of it in both */
};

/* Each is run by both sides. false: it could not go on (probe_fail() said why). */
struct question {
	const char *name;
	bool (*ask)(struct side *s);
	bool fresh_client; /* afterwards, whether a third process can work */
};
extern const struct question probe_questions[];

bool probe_fail(struct side *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void probe_say(struct side *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *probe_name(const struct side *s, result r);
bool probe_called(struct side *s, const char *what, result r);
/* CALL(s, cuInit, (0)): false, and said, if the driver has no such call or it fails. */
#define CALL(s, name, arguments) \
	probe_called(s, #name, (s)->cuda.name ? (s)->cuda.name arguments : NOT_IN_DRIVER)

double probe_now_us(void);
void probe_pause_us(unsigned us);
/* Spins until *value >= least. */
bool probe_until(struct side *s, _Atomic uint32_t *value, uint32_t least);
/* Both sides have come here. */
bool probe_meet(struct side *s);
bool probe_send(struct side *s, int fd);
int probe_receive(struct side *s);

bool probe_open(struct side *s);
bool probe_fill(struct side *s, pointer at, uint32_t n, uint32_t by, uint32_t plus);
bool probe_mark(struct side *s, pointer at, uint32_t value, uint64_t ns);
/* Memory of both: at equal addresses if the driver can, otherwise what A allocated, opened by B, or
 * memory of the host. */
bool probe_share(struct side *s);
/* Events of both: mine is recorded here and waited for there. */
bool probe_share_events(struct side *s);

bool probe_addresses(struct side *s);
bool probe_ipc_memory(struct side *s);
bool probe_events(struct side *s);
bool probe_launches(struct side *s);
bool probe_fault(struct side *s);
bool probe_killed(struct side *s);

#endif
