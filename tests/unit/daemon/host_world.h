/*
 * The daemon's host with the libraries played by the test, and the clock by hand. One world per
 * test program: world_setup() and world_teardown() for each test.
 */
#ifndef COT_TESTS_HOST_WORLD_H
#define COT_TESTS_HOST_WORLD_H

#include <string.h>

#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "test.h"

#define MAX_SENT 8192
#define MS	 COT_NS_PER_MS

struct sent {
	unsigned member;
	unsigned type;
	uint32_t seq;
	uint64_t slice_us;
	uint32_t mode;
	uint64_t lease_ns; /* of the member when it was sent */
};

/* What the library of a member has in effect: as it was welcomed and ordered. */
struct library {
	uint64_t slice_us;
	uint32_t mode;
	bool frozen;
	uint64_t n_ended; /* leases */
};

extern struct world {
	struct cot_host *host;
	uint64_t now_ns;
	struct sent sent[MAX_SENT];
	unsigned n_sent;
	struct library library[COT_HOST_MAX_MEMBERS];
	uint64_t lease_ns[COT_HOST_MAX_MEMBERS];
	unsigned n_leases, n_leases_of[COT_HOST_MAX_MEMBERS];
	unsigned n_late[COT_HOST_MAX_MEMBERS];
	struct cot_host_news news[64];
	unsigned n_news;
	uint32_t block_us; /* of programs that are told of */
	int send_rc;	   /* of every message, */
	uint64_t deaf;	   /* and of those to these: it fails */
	bool setting_up;   /* channels, somewhere */
} w;

int world_setup(void **state); /* the policy is pools */
int world_teardown(void **state);
/* In place of the one that is there. */
void world_use(const char *policy);

/* A program as the daemon tells of it; one that stands alone unless `pool`. */
void world_tenant(uint32_t id, enum cot_class cls, uint32_t pool, bool ready);
void world_pool(uint32_t id, enum cot_class cls, bool ready);
void world_hold(uint32_t id, bool on);
/* A library connects, and has channels. */
void world_join(unsigned member, uint32_t id, enum cot_class cls, bool guest);
/* A program that stands alone with one process, whose orders are answered. */
void world_start(uint32_t id, enum cot_class cls, unsigned member);

void world_answer(const struct sent *s, int status, uint64_t value);
/* Answers everything from `from` on as a good library does; also what comes of the answers. */
void world_answer_all(unsigned from);
/* The last message of that type; NULL. */
const struct sent *world_last(unsigned type);
unsigned world_count(unsigned type, unsigned member, unsigned from);
/* Lets time pass, with all ticks on the way; counts them. */
unsigned world_pass(uint64_t ns);
/* Until the host has said something new. */
void world_pass_until_sent(uint64_t most_ns);
const struct cot_entity *world_entity(uint32_t id);
struct cot_host_entity_stats world_stats(uint32_t id);

#endif
