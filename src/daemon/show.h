/* Answers to `cotenant ps`, `stats`, `doctor` and `explain`, in JSON. */
#ifndef COT_DAEMON_SHOW_H
#define COT_DAEMON_SHOW_H

struct conns;
struct tenant;

/* The answer to a QUERY. NULL: unknown, or out of memory. */
char *cot_show_answer(struct conns *conns, unsigned what);
/* What is so of one program, and what the policy says of it. NULL: out of memory. */
char *cot_show_explain(struct conns *conns, const struct tenant *t);

#endif
