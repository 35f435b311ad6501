/*
 * Whether LD_PRELOAD has an effect on a program: a user who asks for control should learn when it
 * is not possible. No state.
 */
#ifndef COT_CLI_LOADABLE_H
#define COT_CLI_LOADABLE_H

#include <stdbool.h>
#include <stddef.h>

/* So much of a file's beginning is looked at. */
#define COT_LOADABLE_BYTES 4096

/*
 * Do these first bytes of a file begin an ELF program of 64 bits that asks for no dynamic linker?
 * False also for all that is not understood.
 */
bool cot_loadable_is_static(const void *bytes, size_t size);

/* NULL, or why no library is loaded into this program (as found by exec): "set-uid", ... */
const char *cot_loadable_obstacle(const char *path);

#endif
