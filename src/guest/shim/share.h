/*
 * What the program says of its next launches (include/cotenant/share.h), by stream and by thread.
 * Launches look here without a lock.
 */
#ifndef COT_GUEST_SHIM_SHARE_H
#define COT_GUEST_SHIM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/abi/types.h"

/* All 0: nothing was said. */
struct cot_shim_said {
	uint8_t method; /* enum cot_proto_method */
	uint16_t share; /* as in base/words.h; 0: all that the program may have */
};

static inline bool cot_shim_said_same(struct cot_shim_said a, struct cot_shim_said b)
{
	return a.method == b.method && a.share == b.share;
}

/* Of a launch of the calling thread in that stream; the default streams by name, not NULL. */
struct cot_shim_said cot_shim_share_of(CUstream stream);
/* Before the program destroys it: another one may get its handle. */
void cot_shim_share_stream_gone(CUstream stream);
void cot_shim_share_forget(void); /* after fork() */

#endif
