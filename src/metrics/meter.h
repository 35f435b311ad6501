/*
 * Counts what a program gets done, second by second, for those who pass the counts on. Pure: the
 * time is an argument. Not thread-safe.
 */
#ifndef COT_METRICS_METER_H
#define COT_METRICS_METER_H

#include <cotenant/words.h>
#include <stdbool.h>

struct cot_meter {
	uint64_t n;
	uint64_t since_ns;
	uint64_t due_ns; /* when the count is passed on next; COT_NEVER: nothing has happened */
};

void cot_meter_init(struct cot_meter *m);

/* `n` more are done at `now_ns`. */
void cot_meter_add(struct cot_meter *m, uint64_t now_ns, uint64_t n);

/*
 * Takes the count if it is due at `now_ns`, or returns false. It is due at every whole second, but
 * not within half a second from the last time. A count of 0 is due once; then there is none until
 * the next addition.
 */
bool cot_meter_take(struct cot_meter *m, uint64_t now_ns, uint64_t *ret_n, uint64_t *ret_span_ns);

#endif
