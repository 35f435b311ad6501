/*
 * Parts of GPUs, between the policy core and the shims: a PLACE of a tenant becomes a message to
 * each of its shims, and their answers together its result. A part of host.h, with the same rules.
 *
 * A tenant has a shim per process and GPU. It can be placed when all that know say so, and agree on
 * how the GPU is divided. One that comes later is told where the others are.
 */
#ifndef COT_DAEMON_HOST_PART_H
#define COT_DAEMON_HOST_PART_H

#include "daemon/host.h"

struct cot_host_part_stats {
	unsigned n_shims; /* that have said whether they can be placed */
	int status;	  /* of one that cannot: -errno; -EXDEV: they do not agree. 0: all can */
	uint64_t n_placed, n_failed; /* answers */
	uint64_t last_ns, max_ns;    /* from the shim's receipt until its next launch goes there */
	int last_status;	     /* of the last answer */
};

/* A shim has said hello; it has left. */
void cot_host_part_join(struct cot_host *host, unsigned member, uint32_t tenant);
void cot_host_part_leave(struct cot_host *host, unsigned member, uint64_t now_ns);
/* Its packets. Each member may say PARTS, and a PLACED without a PLACE, once. */
void cot_host_part_told(struct cot_host *host, unsigned member, const struct cot_msg_parts *m,
			uint64_t now_ns);
void cot_host_part_placed(struct cot_host *host, unsigned member, const struct cot_msg_placed *m,
			  uint64_t now_ns);
void cot_host_part_stats(const struct cot_host *host, uint32_t tenant,
			 struct cot_host_part_stats *ret_stats);
/* The tenant has ended. */
void cot_host_part_forget(struct cot_host *host, uint32_t tenant);

extern const struct cot_host_carrier_ops cot_host_parts_ops; /* for struct cot_host_ops */

#endif
