/*
 * A whole daemon in the test's process, begun and ended as main.c does it, with a folder of its
 * own: its loop runs when the test says so.
 */
#ifndef COT_TESTS_WHOLE_STAGE_H
#define COT_TESTS_WHOLE_STAGE_H

#include "door_stage.h"

#define WHOLE(test) cmocka_unit_test_setup_teardown(test, whole_setup, whole_teardown)

int whole_setup(void **state);
int whole_teardown(void **state);
/* Whether the loop ends by itself, in that time. */
bool ends_within(uint64_t ns);
unsigned mode_of(const char *path);
void write_config(const char *text);

/* Listens as the service manager, under that name. */
void hear_notes(const char *name);
/* What has been said to it since, with a space between two. */
const char *notes(void);

/* A program with a library, whose socket is *ret_fd; one that gets orders. */
struct conn *program(int *ret_fd);
struct conn *settled_program(int *ret_fd);

#endif
