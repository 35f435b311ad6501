/*
 * Queries, between the shims that tell of them and the policy core. A part of host.h, with the same
 * rules. Shims are asked only while the policy looks at queries, and only those of latency
 * programs.
 */
#ifndef COT_DAEMON_HOST_QUERY_H
#define COT_DAEMON_HOST_QUERY_H

#include "daemon/host.h"

/* A shim that can be placed is there; it has left, and its queries are over. */
void cot_host_query_join(struct cot_host *host, unsigned member, uint32_t tenant, uint64_t now_ns);
void cot_host_query_leave(struct cot_host *host, unsigned member, uint64_t now_ns);
/* The policy or a class may be another one: tells the shims for which that is news. */
void cot_host_query_ask(struct cot_host *host, uint64_t now_ns);

/* What is known of a query. */
struct cot_host_plan {
	const struct cot_plan *plan; /* NULL: nothing; valid until the query is over */
	uint64_t key, out_ns;
};

/* Whether the core has a plan for it: what was known, or what it has learned. */
bool cot_host_query_is_planned(struct cot_host *host, unsigned member, uint32_t query);

/* Its packets. False: it was not taken: such a query is not known, or there are too many. */
bool cot_host_query_begin(struct cot_host *host, unsigned member,
			  const struct cot_msg_query_begin *m, const struct cot_host_plan *plan,
			  uint64_t now_ns);
bool cot_host_query_tasks(struct cot_host *host, unsigned member,
			  const struct cot_msg_query_tasks *m, uint64_t now_ns);
bool cot_host_query_end(struct cot_host *host, unsigned member, const struct cot_msg_query_end *m,
			uint64_t now_ns);
/* A copy of one begins: batch programs' copies are to give way. False: it is not known. */
bool cot_host_query_copy(struct cot_host *host, unsigned member, const struct cot_msg_query_copy *m,
			 uint64_t now_ns);
/* All are over: their plans are about to go. */
void cot_host_query_end_all(struct cot_host *host, uint64_t now_ns);
/* Those of a tenant. */
unsigned cot_host_query_count(const struct cot_host *host, uint32_t tenant);

#endif
