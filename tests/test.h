/* What every unit test needs: cmocka, and the headers that have to stand before it. */
#ifndef COT_TESTS_TEST_H
#define COT_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Whether a sanitizer is compiled in: all is several times as slow, and malloc is another. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COT_SANITIZED 1
#else
#define COT_SANITIZED 0
#endif

#endif
