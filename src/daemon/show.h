/* Answers to `cotenant ps`, `stats` and `doctor`, in JSON. */
#ifndef COT_DAEMON_SHOW_H
#define COT_DAEMON_SHOW_H

struct conns;

/* The answer to a QUERY. NULL: unknown, or out of memory. */
char *cot_show_answer(struct conns *conns, unsigned what);

#endif
