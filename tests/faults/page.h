/*
 * What the test and the preloaded faults share: one page in a file, named by COTENANT_FAULTS. The
 * test says in which program, whose code, and which call is to fail; the program counts its calls.
 *
 * Thread-safe; several processes of the same name count together.
 */
#ifndef COT_TESTS_PAGE_H
#define COT_TESTS_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAULTS_VARIABLE "COTENANT_FAULTS"

struct fault_page {
	/* Written by the test, before it arms. */
	char program[32];   /* its short name; children count until they become another program */
	char object[64];    /* only calls from a file whose path ends so; empty: from all */
	_Atomic uint64_t n; /* the n-th call from 1 on fails, */
	_Atomic uint32_t onward; /* and not 0: all after it */
	_Atomic uint32_t armed;
	/* Written by the program. */
	_Atomic uint64_t n_calls; /* that could fail, since it was armed */
	_Atomic uint64_t n_failed;
	char first[128]; /* which one failed first, and who called it */
	/* The process that waits for events: what had failed before, it has dealt with. 0: none. */
	_Atomic int32_t waits;
};

/* Of the preloaded faults, for who stands before other libraries: whether this is a call of the
 * object that is watched; whether it fails. */
bool fault_is_watched(const void *caller);
bool fault_fails(const char *name, const void *caller);

#endif
