/*
 * cotenant run --emulate: the environment in which a program finds the emulated GPU instead of a
 * driver (docs/emulated-gpu.md). Without COTENANT_EMU_DIR the program gets a machine of its own,
 * in a folder that goes away with the program. Changes the environment of this process.
 */
#ifndef COT_CLI_EMULATE_H
#define COT_CLI_EMULATE_H

#include <stdbool.h>

#include "base/error.h"

struct cot_emulate {
	const char *device; /* a word of emu/gpu/devices.h */
	const char *seed;   /* NULL: kernels run as the CPU's threads come */
	const char *checks; /* NULL: none */
};

/*
 * To be called before anything that reads the environment. `controlled`: a daemon will be asked
 * for; it is one of the machine's own. -EINVAL for a mistake of the user, or another -errno, with
 * a sentence.
 */
int cot_emulate_set_up(const struct cot_emulate *e, bool controlled, struct cot_error *err);
/* Is COTENANT_EMU_DIR set, so that others may be on the machine too? */
bool cot_emulate_is_shared(void);

#endif
