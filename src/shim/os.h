/*
 * What the shim takes of the C library by the versions that old containers have; src/preload/os.c
 * says why. Each may be NULL where there is no such function.
 */
#ifndef COT_SHIM_OS_H
#define COT_SHIM_OS_H

#include <stdint.h>

void *cot_shim_dlopen(const char *path); /* now, and for us alone; NULL: it cannot be loaded */
void cot_shim_dlclose(void *handle);
void *cot_shim_dlsym(void *handle, const char *name);

/* A detached thread with all signals blocked, and room for the driver on its stack. 0, -errno. */
int cot_shim_thread_start(void *(*body)(void *), void *arg);

/* A number that no other living thread has. */
uint64_t cot_shim_thread_id(void);

#endif
