/*
 * For the programs of this folder, which use the CUDA runtime and need its compiler: every call
 * must succeed, and the last line says "ok".
 */
#ifndef COT_TESTS_CHECK_H
#define COT_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define OK(call)                                                             \
	do {                                                                 \
		cudaError_t e_ = (call);                                     \
		if (e_ != cudaSuccess) {                                     \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
			       cudaGetErrorString(e_));                      \
			exit(1);                                             \
		}                                                            \
	} while (0)

#define REQUIRE(condition)                                                             \
	do {                                                                           \
		if (!(condition)) {                                                    \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

#endif
