/* What every unit test needs: cmocka, and the headers that have to stand before it. */
#ifndef COT_TESTS_TEST_H
#define COT_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
