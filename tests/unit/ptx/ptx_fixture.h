/*
 * A small module for tests of editing: a kernel k with a branch and a call in a block, and a
 * function f that is declared before and defined after it. Helpers of cmocka tests.
 */
#ifndef COT_TESTS_PTX_FIXTURE_H
#define COT_TESTS_PTX_FIXTURE_H

#include "ptx/ptx.h"

struct ptx_fixture {
	struct cot_ptx_module *module;
	struct cot_ptx_func *k, *f;
	struct cot_error err;
};

int ptx_setup(void **state);
int ptx_teardown(void **state);

void ptx_verify(struct ptx_fixture *x);

/* It verifies, and so does what is read from its text, which prints the same. */
void ptx_check(struct ptx_fixture *x);

void ptx_expect_print(const struct cot_ptx_func *func, const struct cot_ptx_stmt *s,
		      const char *expected);

/* The first instruction with this opcode. */
struct cot_ptx_stmt *ptx_find(const struct cot_ptx_func *func, enum cot_ptx_op op);

#endif
