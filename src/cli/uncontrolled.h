/*
 * Programs for which control was asked, and that run without. They are found by their environment
 * in /proc: that of this user's programs, of all for root. No daemon is needed for it.
 *
 *   - `cotenant run` got no place, or no library can be loaded: it leaves COTENANT_UNCONTROLLED, a
 *     sentence, in the program's environment.
 *   - The program has a place (COTENANT_TENANT) with a daemon that has gone, or that does not know
 *     it; or it uses CUDA and has our library not loaded.
 *
 * Only programs of the same COTENANT_RUNTIME_DIR count. Of a program and its children the topmost.
 */
#ifndef COT_CLI_UNCONTROLLED_H
#define COT_CLI_UNCONTROLLED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COT_UNCONTROLLED_MARK	 "COTENANT_UNCONTROLLED"
#define COT_UNCONTROLLED_MAX	 256u /* programs that are found at most */
#define COT_UNCONTROLLED_ENV_MAX (256u << 10)

/* What an environment tells of control. */
struct cot_wish {
	uint64_t tenant;  /* 0 = it got no place */
	char reason[256]; /* the mark; empty = none */
	char name[64];	  /* "-" when it is not said */
	char class_[16];
	char socket[108]; /* of the daemon that gave it a place */
	char runtime[256];
};

/* Reads "KEY=VALUE\0..." of any origin. False: no control was asked for, or it is a pool's. */
bool cot_uncontrolled_parse(const char *block, size_t size, struct cot_wish *ret_wish);

/* A list of {pid, uid, name, class, reason, for_s}. `answer` is the daemon's to COT_QUERY_PS, or
 * NULL when none could be had, for the reason `rc`. Never NULL; the caller's. */
json_t *cot_uncontrolled_find(const json_t *answer, int rc);

/* As a table; nothing when there are none. */
void cot_uncontrolled_print(const json_t *list);

#endif
