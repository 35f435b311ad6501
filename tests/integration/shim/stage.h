/*
 * The other side of the shim's tests: starts the program under control (tenant.h) with the shim
 * before the emulated driver, and is its daemon. Needs COTENANT_SHIM_LIB (path of the shim) and
 * EMU (folder of the emulated driver).
 */
#ifndef COT_TESTS_STAGE_H
#define COT_TESTS_STAGE_H

#include <stdbool.h>

#include "proto/proto.h"
#include "test.h"

#define WAIT_MS 20000 /* for what should come at once, on a machine that is busy */
#define SHORT	20u   /* rounds of a task */
#define MIDDLE	2000u
#define LONG	8000u

/* What came last. */
union stage_packet {
	struct cot_msg_header h;
	struct cot_msg_work_hello hello;
	struct cot_msg_work_request request;
	struct cot_msg_work_evicted evicted;
	struct cot_msg_work_done done;
	struct cot_msg_work_counts counts;
	unsigned char bytes[COT_PROTO_PACKET_MAX];
};

extern union stage_packet in;
extern int listener, conn; /* -1: none */

/* Runs the tests; in the program under control, does what that is told. */
int stage_main(const char *name, const struct CMUnitTest *tests, size_t n);

/* Setup and teardown: each test has a program of its own. */
int start(void **state);
int end(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *hear(void);
void expect_line(const char *expected);
bool answers(void); /* already */
void load(const char *way);
/* All results are right; how many blocks ran at a time. */
unsigned expect_right(void);

void accept_tenant(void);
void send_packet(void *packet, enum cot_msg_type type, size_t size);
/* The next packet that is no COUNTS; 0: none came; -1: the connection has ended. */
int next_packet(int ms);
void expect_packet(enum cot_msg_type type);
/* The next COUNTS, in `in`. */
void expect_counts(void);
void grant(uint64_t work, uint32_t capsms, uint32_t flags);
void evict(uint64_t work, uint32_t capsms);
/* A launch asks for room: the work's id. */
uint64_t expect_request(uint32_t n_tasks);
void expect_done(uint64_t work, uint64_t n_tasks, uint32_t n_launches);
/* As that, with the number of tasks that are left; EVICTED may come before. */
uint32_t expect_rest(uint64_t work);
void sleep_ms(unsigned ms);

#endif
