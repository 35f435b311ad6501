/* How the program's threads wake one of ours. */
#ifndef COT_GUEST_WAKE_H
#define COT_GUEST_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "guest/os.h"

/* A bell: any thread rings, a thread of ours polls `listen`. */
struct cot_wake {
	struct cot_own_fd ring, listen;
	_Atomic bool pending;
};

int cot_wake_open(struct cot_wake *w);
void cot_wake_close(struct cot_wake *w);
void cot_wake_ring(struct cot_wake *w);
/* Before looking at what it was rung for. */
void cot_wake_clear(struct cot_wake *w);

#endif
