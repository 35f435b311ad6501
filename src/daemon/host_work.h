/*
 * The works of the policy core's host (host.h): turns the requests of shims into events and what
 * the core decides on works into messages. As pure as the rest of the host, and allocates nothing
 * between a request and its grant.
 *
 * A member is here the connection of a shim. Its works have names that the shim chose; the core's
 * numbers for them are counted up.
 */
#ifndef COT_DAEMON_HOST_WORK_H
#define COT_DAEMON_HOST_WORK_H

#include "base/hist.h"
#include "daemon/host.h"

/* What a member is, since its WORK_HELLO. */
struct cot_host_shim {
	uint32_t tenant; /* 0 = no shim */
	uint32_t gpu, n_sms;
};

/* Its works that reserve, or those that have a quota. */
struct cot_host_method_stats {
	uint64_t n_requests, n_evictions, n_evicted_capsms;
	uint64_t n_said;		    /* requests for which the program chose the method */
	uint32_t n_running, n_waiting, has; /* now; in CapSMs */
};

/* Of all shims of a tenant since they first said hello. */
struct cot_host_work_stats {
	uint64_t n_requests, n_evictions, n_returns, n_failed;
	uint64_t n_evicted_capsms, n_launches, n_tasks, n_remapped;
	uint64_t eviction_last_ns;
	struct cot_host_method_stats by_method[2]; /* by enum cot_work_method */
	/* Now: */
	uint32_t n_sms, n_waiting, n_running;
	uint32_t granted, evicted, leaving; /* CapSMs of those that run */
	/* In ns. NULL when the tenant has no shim. As the shim measured it: from the flag to the
	 * last worker's end. And as seen from here: from the order to the answer; from the request
	 * to the grant. */
	const struct cot_hist *evictions, *orders, *waits;
};

/* Prepares for the member's works. -ENOMEM, -EEXIST. */
int cot_host_work_join(struct cot_host *host, unsigned member, const struct cot_host_shim *shim);
/* All its works are over; what they had is free. */
void cot_host_work_leave(struct cot_host *host, unsigned member, uint64_t now_ns);

/*
 * Packets of a member, checked by cot_proto_check(). -EINVAL when the peer breaks the rules: a name
 * that is in use, more works than COT_PROTO_WORKS_MAX. `method` overrides the packet's.
 */
int cot_host_work_request(struct cot_host *host, unsigned member,
			  const struct cot_msg_work_request *m, enum cot_work_method method,
			  uint64_t now_ns);
/* Grants at once a request for which there is no place: nothing could grant it later, and too many
 * workers are better than none. */
void cot_host_work_pass(struct cot_host *host, unsigned member,
			const struct cot_msg_work_request *m);
void cot_host_work_evicted(struct cot_host *host, unsigned member,
			   const struct cot_msg_work_evicted *m, uint64_t now_ns);
void cot_host_work_done(struct cot_host *host, unsigned member, const struct cot_msg_work_done *m,
			uint64_t now_ns);

/* How many works of the member are not over. */
unsigned cot_host_work_count(const struct cot_host *host, unsigned member);
void cot_host_work_stats(const struct cot_host *host, uint32_t tenant,
			 struct cot_host_work_stats *ret_stats);
/* The tenant has ended. */
void cot_host_work_forget(struct cot_host *host, uint32_t tenant);

extern const struct cot_host_carrier_ops cot_host_works_ops; /* for struct cot_host_ops */

#endif
