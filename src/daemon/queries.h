/* Packets of shims about queries. */
#ifndef COT_DAEMON_QUERIES_H
#define COT_DAEMON_QUERIES_H

#include <stdint.h>

struct conn;

/* Of a tenant, since it began. What is not known of a query has no plan. */
struct cot_queries {
	uint64_t n_begun, n_planned, n_ended, n_tasks, n_left_out;
	uint64_t last_size,
		last_ns; /* of the last that ended: of its input, and how long it took */
	uint32_t last_tasks;
	uint64_t size, began_ns; /* of the one that began last */
	uint32_t query;
};

void cot_queries_packet(struct conn *c, const void *packet, int type);
/* One that was taken is over: its place is its user's no longer. */
void cot_queries_over(struct conn *c);

#endif
