/* What the COTENANT_* variables say. */
#ifndef COT_GUEST_ENV_H
#define COT_GUEST_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/log.h"
#include "proto/proto.h"
#include "proto/timed.h"

struct cot_settings {
	bool disabled;
	enum cot_log_level log;
	char socket[COT_SOCKET_PATH_MAX]; /* empty: no daemon */
	uint32_t slice_us;		  /* without a daemon's word; 0 = the driver's */
	uint32_t mode;			  /* likewise; enum cot_mode */
	uint64_t tenant;
	uint8_t role;	/* enum cot_proto_role */
	uint8_t class_; /* enum cot_class */
	uint16_t weight;
	uint32_t block_us; /* 0 = not known */
	char name[COT_PROTO_NAME_MAX];
	char gpu[COT_PROTO_NAME_MAX];

	bool requests; /* it is measured: requests that it marks, or that the shim sees */

	/* For the shim alone. */
	bool shim;	   /* it is requested, and there is a daemon to ask */
	bool rewrites;	   /* kernels become workers */
	bool parts;	   /* what does not is put on a part of the SMs */
	bool merges;	   /* launches in different streams become one; not with workers */
	bool merge_always; /* whatever the model says */
	/* A backend's socket: launches become one with those of other programs there; empty: none.
	 * How long it may be silent with work of the program in it. */
	char backend[COT_SOCKET_PATH_MAX];
	uint32_t backend_dead_ms;
	/* The user's cache, in which rewritten modules are kept; empty: they are not. */
	char templates[512];
	uint32_t merge_us;	 /* how long a launch waits for others, at most */
	bool limited;		 /* it is started with a part that is not the whole GPU */
	uint16_t quota, reserve; /* as in struct cot_msg_work_hello */
	uint64_t memory_bytes;	 /* that it may have of each GPU; 0: as much as there is */
	uint32_t wait_ms;	 /* how long a launch waits for room */
	char driver[512];	 /* empty: to be found */
	/* Providers of CPU versions of kernels, with colons between; empty: none. Which launches
	 * are to be there, as in guest/shim/cpu.h; empty: all that can. */
	char cpu[COT_CPU_LIST_MAX], cpu_upto[COT_CPU_UPTO_MAX];
	bool cpu_by_policy;		/* ... and while the daemon's policy says so */
	uint32_t cpu_wait_ms;		/* for what comes before a launch there */
	char timed[COT_TIMED_PATH_MAX]; /* where launches are timed; empty: they are not */

	unsigned n_bad; /* variables whose value is not understood: left at their default */
};

/* Reads the variables through `get` (getenv). `program` names a tenant without a name. */
void cot_settings_read(struct cot_settings *s, const char *(*get)(const char *name),
		       const char *program);

#endif
