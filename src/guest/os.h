/*
 * What of the operating system needs care inside a program of other people.
 *
 * Rules of src/guest: libc only. Never exit, abort or assert. Never wait without a bound on the
 * program's threads. In doubt do what the program would have got without us, and count the doubt.
 */
#ifndef COT_GUEST_OS_H
#define COT_GUEST_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/rm/rm.h"

uint64_t cot_now_ns(void);
bool cot_fd_identity(int fd, struct cot_rm_identity *ret_id);

/* A descriptor of ours. Programs close what they do not know and get the same number again. */
struct cot_own_fd {
	int fd; /* -1 = none */
	struct cot_rm_identity id;
};

/* Takes over fd, moved out of the way of programs that count on low numbers. -1 stays -1. */
void cot_own_fd_take(struct cot_own_fd *own, int fd);
/* Is it there and still ours? */
bool cot_own_fd_valid(const struct cot_own_fd *own);
/* Closes it if it is still ours. */
void cot_own_fd_close(struct cot_own_fd *own);

#define COT_STACK_SMALL	 (64u << 10) /* for our frames, snprintf() and the dynamic linker */
#define COT_STACK_DRIVER (1u << 20)  /* for calls of the driver */

/* A detached thread with all signals blocked and at least this much stack. 0 or -errno. */
int cot_thread_start(size_t stack, void *(*body)(void *), void *arg);

/* What a thread has of ours: `end` is called with it when the thread ends, unless it is NULL. */
typedef unsigned cot_thread_key;
int cot_thread_key_make(cot_thread_key *ret_key, void (*end)(void *data));
int cot_thread_key_set(cot_thread_key key, void *data);

/* The next definition of `name` after this library's, or NULL. */
void *cot_next_symbol(const char *name);

/* Loaded at once, and for us alone. NULL: it cannot be loaded. */
void *cot_library_open(const char *path);
void cot_library_close(void *library);
void *cot_library_symbol(void *library, const char *name);

#endif
