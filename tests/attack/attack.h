/*
 * The hostile user of the tests: what its attacks share. Each attack runs for some seconds, or does
 * its harm once, and prints a line of "name value ..." for the script to judge.
 */
#ifndef COT_TESTS_ATTACK_H
#define COT_TESTS_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/proto.h"

#define CONNS_MAX 512

extern _Alignas(8) char packet[COT_PROTO_PACKET_MAX];

uint64_t now_ns(void);
/* Time that is left of `seconds` since the program began, or since time_begins(). */
bool time_is_left(double seconds);
void time_begins(void);
/* An argument of an attack, or what stands for it. */
int number(int argc, char **argv, int i, int otherwise);
double duration(int argc, char **argv, double otherwise);
/* -1: turned away, or there is no daemon. */
int dial(void);
int dial_many(int fds[CONNS_MAX], int n);
/* False: the packet did not go. */
bool say(int fd, const void *m, size_t size);
bool say_now(int fd, const void *m, size_t size); /* does not wait */
/* The type of the answer, which is in `packet`; 0: hung up or nothing came. */
int hear(int fd, int timeout_ms);
void drain(int fd);
/* Sends `n` copies of a descriptor along; size 0 is an empty packet. */
bool pass(int fd, const void *m, size_t size, int passed, int n);

/* Packets that are right. */
void fill_hello(struct cot_msg_hello *m, const char *name, uint64_t tenant);
void fill_work_hello(struct cot_msg_work_hello *m, const char *name, uint64_t tenant);
void fill_register(struct cot_msg_register *m, const char *name);
void fill_query(struct cot_msg_query *m, uint32_t what);
void fill_command(struct cot_msg_command *m, uint32_t what, uint64_t tenant);
void fill_groups(struct cot_msg_groups *m, unsigned n);
void fill_request(struct cot_msg_work_request *m, uint64_t work);
void fill_done(struct cot_msg_work_done *m, uint64_t work);
/* A library that has said hello and has channel groups; its program's number in *ret_id. */
int join(const char *name, uint64_t tenant, uint64_t *ret_id);

/* Runs it in a child that ends with this program. */
void in_child(int (*body)(int argc, char **argv), int argc, char **argv);
/* This thread runs only when nobody else wants to; and there are children that always want to. */
void run_seldom(void);
void crowd_cores(void);

struct attack {
	const char *name, *arguments, *what;
	int (*run)(int argc, char **argv); /* argv[0] is the first argument */
};

extern const struct attack door_attacks[], flood_attacks[], place_attacks[], part_attacks[],
	query_attacks[], judge_tools[];

#endif
