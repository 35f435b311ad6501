/*
 * Reading memory through a pointer that may lead nowhere, as the kernel does with its callers'
 * requests: the answer is an error, not a signal. Any thread, any signal handler.
 */
#ifndef COT_BASE_GUARDED_H
#define COT_BASE_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies `n` bytes, 1 to 4096. False: some of them cannot be read, or may not be readable; it then
 * copies nothing. Keeps errno. Memory that another thread unmaps at this moment is that thread's
 * fault.
 */
bool cot_guarded_copy(void *to, const void *from, size_t n);

#endif
