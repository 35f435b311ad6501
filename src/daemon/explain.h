/* EXPLAIN: what `cotenant explain` asks. */
#ifndef COT_DAEMON_EXPLAIN_H
#define COT_DAEMON_EXPLAIN_H

struct conn;
struct cot_msg_explain;

void cot_explain_packet(struct conn *c, const struct cot_msg_explain *m);

#endif
