/*
 * The environment of a process as /proc/PID/environ has it: "KEY=VALUE\0KEY=VALUE\0...". Pure, for
 * bytes of any origin.
 */
#ifndef COT_BASE_ENVIRON_H
#define COT_BASE_ENVIRON_H

#include <stddef.h>

/*
 * The value of a variable, in the block, or NULL. The first one counts. One that does not end in
 * the block does not count: it may have been cut off.
 */
const char *cot_environ_value(const char *block, size_t size, const char *key);

#endif
