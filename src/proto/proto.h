/*
 * Messages between cotenantd, the preloaded library, the shim and the command line, over an AF_UNIX
 * SOCK_SEQPACKET socket: one message per packet, fixed layout, host byte order (both ends are on
 * one machine). Pure encoding and decoding on buffers: no sockets, no allocation, any thread.
 *
 * Every packet starts with struct cot_msg_header. A receiver ignores a type that it does not know,
 * treats a packet shorter than its type demands as an error, and ignores bytes beyond (a newer peer
 * may append fields). The daemon answers a HELLO, WORK_HELLO or REGISTER of another major version
 * with REFUSED; the library then becomes a pass-through. After a LATER it tries again.
 */
#ifndef COT_PROTO_PROTO_H
#define COT_PROTO_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/words.h"

#define COT_PROTO_MAGIC	     0x43544f43u /* "COTC" */
#define COT_PROTO_VERSION    1u		 /* major: changes when a layout changes */
#define COT_PROTO_PACKET_MAX 65536u
#define COT_PROTO_NAME_MAX   64u
#define COT_SOCKET_PATH_MAX  108u /* of sockaddr_un, with the NUL */
#define COT_PROTO_TEXT_MAX   (COT_PROTO_PACKET_MAX - 64u)

enum cot_msg_type {
	/* library -> daemon */
	COT_MSG_HELLO = 1,  /* struct cot_msg_hello; first message */
	COT_MSG_GROUPS = 2, /* struct cot_msg_groups; after each change */
	COT_MSG_ACK = 3,    /* struct cot_msg_ack; one for each SET/FREEZE/THAW/PREEMPT */

	/* shim -> daemon; see "work" below */
	COT_MSG_WORK_HELLO = 4,	  /* struct cot_msg_work_hello; first message */
	COT_MSG_WORK_REQUEST = 5, /* struct cot_msg_work_request */
	COT_MSG_WORK_EVICTED = 6, /* struct cot_msg_work_evicted */
	COT_MSG_WORK_DONE = 7,	  /* struct cot_msg_work_done */
	COT_MSG_WORK_COUNTS = 8,  /* struct cot_msg_work_counts; now and then, and at the end */

	/* shim -> daemon; see "parts" below */
	COT_MSG_PARTS = 9,	  /* struct cot_msg_parts; once, when it knows */
	COT_MSG_PLACED = 10,	  /* struct cot_msg_placed; one for each PLACE */
	COT_MSG_PART_COUNTS = 11, /* struct cot_msg_part_counts; now and then, and at the end */
	COT_MSG_PACE_COUNTS = 12, /* struct cot_msg_pace_counts; with them, if it was paced */

	/* shim -> daemon; see "queries" below */
	COT_MSG_QUERY_BEGIN = 13, /* struct cot_msg_query_begin */
	COT_MSG_QUERY_TASKS = 14, /* struct cot_msg_query_tasks */
	COT_MSG_QUERY_END = 15,	  /* struct cot_msg_query_end */

	/* daemon -> library */
	COT_MSG_WELCOME = 16, /* struct cot_msg_welcome, with the page's descriptor (SCM_RIGHTS) */
	COT_MSG_SET = 17,     /* struct cot_msg_set */
	COT_MSG_FREEZE = 18,  /* header only; valid while the page's lease is */
	COT_MSG_THAW = 19,    /* header only */
	COT_MSG_PREEMPT = 20, /* header only: give the GPU up once, now */
	COT_MSG_REFUSED = 21, /* struct cot_msg_text: why not, for good; the peer closes */
	COT_MSG_LATER = 23,   /* struct cot_msg_text: why not now; the peer closes */

	/* daemon -> shim */
	COT_MSG_WORK_WELCOME = 24, /* struct cot_msg_work_welcome */
	COT_MSG_WORK_GRANT = 25,   /* struct cot_msg_work_grant */
	COT_MSG_WORK_EVICT = 26,   /* struct cot_msg_work_evict */
	COT_MSG_PLACE = 27,	   /* struct cot_msg_place */
	COT_MSG_QUERIES = 28,	   /* struct cot_msg_queries */
	COT_MSG_COPIES = 29,	   /* struct cot_msg_copies */

	/* shim -> daemon, again */
	COT_MSG_QUERY_COPY = 30, /* struct cot_msg_query_copy */
	COT_MSG_MEMORY = 31,	 /* struct cot_msg_memory; with the counts, if it has a bound */

	/* command line -> daemon, and back */
	COT_MSG_REGISTER = 32,	 /* struct cot_msg_register */
	COT_MSG_REGISTERED = 33, /* struct cot_msg_registered: what to set in the environment */
	COT_MSG_QUERY = 34,	 /* struct cot_msg_query */
	COT_MSG_COMMAND = 35,	 /* struct cot_msg_command */
	COT_MSG_RESULT = 36,	 /* struct cot_msg_result: text, maybe in several packets */
	COT_MSG_EXPLAIN = 37,	 /* struct cot_msg_explain: what the policy does with a program */
};

struct cot_msg_header {
	uint32_t magic;
	uint16_t version;
	uint16_t type;	 /* enum cot_msg_type */
	uint32_t length; /* of the whole packet, this header included */
	uint32_t seq;	 /* of a request; its answer carries the same */
};

enum cot_proto_role { COT_ROLE_TENANT = 0, COT_ROLE_POOL = 1 };

/* HELLO: the program is measured; the page should come with a ring of requests (ring.h). */
#define COT_HELLO_MEASURES 1u

struct cot_msg_hello {
	struct cot_msg_header h;
	uint8_t role;	 /* enum cot_proto_role */
	uint8_t class_;	 /* enum cot_class; of the pool for a pool server */
	uint16_t weight; /* 1..10000; 100 is normal */
	uint32_t pid;
	uint64_t tenant;	       /* id from a registration, or 0 */
	char name[COT_PROTO_NAME_MAX]; /* NUL-terminated */
	char gpu[COT_PROTO_NAME_MAX];  /* index, UUID or empty: not known yet */
	uint32_t block_us;	       /* longest thread block; 0: not known */
	uint32_t flags;		       /* COT_HELLO_MEASURES */
};

struct cot_msg_groups {
	struct cot_msg_header h;
	uint32_t n_groups;   /* channel groups that the process has now */
	uint32_t n_channels; /* channels in them */
	uint64_t gpus;	     /* bit i: it has a group on its i-th device instance */
};

struct cot_msg_ack {
	struct cot_msg_header h; /* seq of the order */
	int32_t status;		 /* 0 or a negative errno: above -4096 */
	uint32_t n_failed;	 /* groups for which it failed */
	uint64_t value;		 /* SET: the slice read back, us */
	uint64_t latency_ns;	 /* from receipt to completion */
};

struct cot_msg_set {
	struct cot_msg_header h;
	uint64_t slice_us; /* 0: leave the driver's own */
	uint32_t mode;	   /* enum cot_mode; COT_MODE_DRIVER: as it is */
	uint32_t reserved;
};

struct cot_msg_welcome {
	struct cot_msg_header h;
	uint64_t tenant;
	uint64_t slice_us; /* as in SET */
	uint32_t mode;
	uint32_t page_size; /* of the page that comes along, or of all with the ring */
};

struct cot_msg_text {
	struct cot_msg_header h;
	char text[]; /* not NUL-terminated: up to h.length */
};

/* struct cot_target of base/words.h. */
struct cot_proto_target {
	uint32_t kind, amount;
};

/* The largest bound of memory, 16 TiB. */
#define COT_MEMORY_MIB_MAX (1u << 24)

/* REGISTER: its requests are measured, also without a target. */
#define COT_REGISTER_MEASURE 1u
/* REGISTER: its memory may be promised although that is more than is left. */
#define COT_REGISTER_OVERSUBSCRIBE 2u

struct cot_msg_register {
	struct cot_msg_header h;
	uint8_t class_;
	uint8_t solo; /* stay outside the pools */
	uint16_t weight;
	uint32_t pid; /* that will exec the program */
	char name[COT_PROTO_NAME_MAX];
	char gpu[COT_PROTO_NAME_MAX];
	uint32_t block_us;	 /* longest thread block; 0: not known */
	uint16_t quota, reserve; /* shares of a GPU for its works; packed as in base/words.h */
	uint16_t sms;		 /* share of a GPU for all that it does */
	uint16_t reserved[3];
	/* Older clients send no more than that. */
	struct cot_proto_target target;
	uint32_t flags;	     /* COT_REGISTER_MEASURE */
	uint32_t command;    /* a hash of the program and its arguments; 0: not known */
	uint32_t pace_us;    /* 0: the policy's */
	uint32_t memory_mib; /* of each of its GPUs, at most COT_MEMORY_MIB_MAX; 0: no bound */
};

#define COT_PROTO_REGISTER_MIN offsetof(struct cot_msg_register, target)

struct cot_msg_registered {
	struct cot_msg_header h;
	uint64_t tenant;
	char env[]; /* "KEY=VALUE\0KEY=VALUE\0", up to h.length */
};

enum cot_proto_query {
	COT_QUERY_PS = 1,
	COT_QUERY_STATS = 2,
	COT_QUERY_DOCTOR = 3,
	COT_QUERY_METRICS = 4, /* text for Prometheus */
};

struct cot_msg_query {
	struct cot_msg_header h;
	uint32_t what; /* enum cot_proto_query */
	uint32_t reserved;
};

enum cot_proto_command {
	COT_COMMAND_SET = 1,
	COT_COMMAND_FREEZE = 2,
	COT_COMMAND_THAW = 3,
	COT_COMMAND_POLICY = 4, /* `name` is a policy's, or "auto": as the configuration says */
};

/* Which fields of a COT_COMMAND_SET count. */
enum {
	COT_SET_CLASS = 1u << 0,
	COT_SET_WEIGHT = 1u << 1,
	COT_SET_SLICE = 1u << 2,
	COT_SET_MODE = 1u << 3,
	COT_SET_BLOCK = 1u << 4,
	COT_SET_QUOTA = 1u << 5,
	COT_SET_RESERVE = 1u << 6,
	COT_SET_SMS = 1u << 7,
	COT_SET_TARGET = 1u << 8,
	COT_SET_PACE = 1u << 9,
};

struct cot_msg_command {
	struct cot_msg_header h;
	uint32_t what;	 /* enum cot_proto_command */
	uint32_t fields; /* COT_SET_* */
	uint64_t tenant; /* id, or 0: by name */
	uint64_t slice_us;
	uint32_t mode;
	uint16_t weight;
	uint8_t class_;
	uint8_t reserved;
	char name[COT_PROTO_NAME_MAX]; /* of a tenant, "pool:latency", "pool:batch", or a policy */
	uint32_t block_us;	       /* 0: not known */
	uint16_t quota, reserve;       /* 0: none any more */
	uint16_t sms;		       /* 0: none any more */
	uint16_t reserved2[3];
	/* Older clients send no more than that. */
	struct cot_proto_target target; /* of kind NONE: none any more */
	uint32_t pace_us;		/* 0: the policy's */
	uint32_t reserved3;
};

#define COT_PROTO_COMMAND_MIN offsetof(struct cot_msg_command, target)

struct cot_msg_explain {
	struct cot_msg_header h;
	uint64_t tenant; /* id, or 0: by name */
	char name[COT_PROTO_NAME_MAX];
};

struct cot_msg_result {
	struct cot_msg_header h;
	int32_t status; /* 0 or a negative errno */
	uint32_t more;	/* 1: another RESULT with the same seq follows */
	char text[]; /* for a QUERY or EXPLAIN mostly JSON, a sentence for a COMMAND; up to h.length
		      */
};

/*
 * ---- work ----
 *
 * The shim, a library in front of the driver's, launches kernels as workers
 * (include/cotenant/passes.h) on a part of the GPU that the daemon grants. It has a connection of
 * its own for each GPU that the program uses. A *work* is a launch, or several launches one after
 * the other in one stream that share what was granted. Amounts are CapSMs: as many workers as fit
 * one SM together, wherever they are.
 *
 *      shim                                    daemon
 *      WORK_HELLO      ---------------------->
 *                      <----------------------  WORK_WELCOME, or REFUSED
 *      WORK_REQUEST    ---------------------->  waits until there is room, or evicts others
 *                      <----------------------  WORK_GRANT
 *        launches                               another program needs room:
 *                      <----------------------  WORK_EVICT (0 or more times; the amount grows)
 *        has told the kernel; the workers
 *        have left
 *      WORK_EVICTED    ---------------------->
 *        the kernel has ended
 *      WORK_DONE       ---------------------->  left == 0: the work is over and its id is free
 *                      <----------------------  left > 0: a WORK_GRANT for the rest, sooner or
 * later
 *
 * CapSMs of a work are numbered in the order in which they were granted; those below the number in
 * WORK_EVICT leave. A work that can grow may get another WORK_GRANT while it runs: the number in it
 * is the new end. So (granted - evicted) CapSMs run. After a WORK_DONE with something left, numbers
 * begin at 0 again.
 *
 * Every request is granted, at once or after others have ended; there is no refusal. A connection
 * that ends gives everything back. A shim that loses the daemon goes on without it.
 */

/* Works of one connection that may be unfinished at a time; more than that is a malformed packet.
 */
#define COT_PROTO_WORKS_MAX   64u
#define COT_PROTO_REASON_MAX  32u
#define COT_PROTO_REASONS_MAX 32u

enum cot_proto_method {
	COT_PROTO_WORK_DEFAULT = 0, /* RESERVE for latency programs, QUOTA for batch programs */
	COT_PROTO_WORK_QUOTA = 1,   /* as much as is left, up to the quota */
	COT_PROTO_WORK_RESERVE = 2, /* what it wants, taken from others if need be */
};

/* WORK_REQUEST: the shim is able to wait for the kernel's end and to launch the rest. */
#define COT_WORK_CAN_SETTLE 1u
/* WORK_REQUEST: the shim is able to add workers to a work that runs. */
#define COT_WORK_CAN_GROW 2u
/* In the daemon only: COT_WORK_ONE_KERNEL is to be granted. */
#define COT_WORK_BY_KERNEL 128u
/* WORK_GRANT: it must do so for this work: the daemon may evict all its workers. Otherwise at least
 * one CapSM of workers stays, and the kernel always ends complete. */
#define COT_WORK_SETTLED 1u
/* WORK_GRANT: there are rules for kernels of this program: another kernel asks anew. */
#define COT_WORK_ONE_KERNEL 2u
/* WORK_GRANT: less than the GPU is all that the work may have, so a batch kernel's workers begin on
 * whole SMs. Older daemons do not say so. */
#define COT_WORK_WHOLE_SMS 4u
/* WORK_GRANT: the works that run on the GPU keep more CapSMs together than it has SMs, so some of
 * this one's workers may wait for a place. If there are more tasks than workers, none begins with
 * tasks of its own: all claim them. Older daemons do not say so. */
#define COT_WORK_CROWDED 8u

struct cot_msg_work_hello {
	struct cot_msg_header h;
	uint64_t tenant; /* id from a registration, or 0 */
	uint32_t pid;
	uint32_t n_sms; /* of the GPU: 1..COT_SMS_MAX */
	uint8_t class_; /* enum cot_class */
	uint8_t reserved;
	uint16_t weight;
	uint16_t quota, reserve; /* shares; those of a registration override them */
	char name[COT_PROTO_NAME_MAX];
	char gpu[COT_PROTO_NAME_MAX]; /* UUID or index */
};

struct cot_msg_work_welcome {
	struct cot_msg_header h;
	uint64_t tenant;
	uint32_t works_max; /* that may be unfinished at a time */
	uint32_t reserved;
};

struct cot_msg_work_request {
	struct cot_msg_header h;
	uint64_t work;	  /* the shim's name for it: not 0, not that of an unfinished one */
	uint32_t n_tasks; /* thread blocks of the original launch; 0 = not known */
	uint32_t per_sm;  /* workers in a CapSM: 1..COT_PROTO_PER_SM_MAX */
	uint32_t want;	  /* CapSMs; 0 = as many as the program's settings allow */
	uint8_t method;	  /* enum cot_proto_method */
	uint8_t flags;	  /* COT_WORK_CAN_... */
	uint16_t share;	  /* QUOTA: at most that; RESERVE: so much of its program's reservation.
			     As in base/words.h; 0 = what its program has */
	uint32_t task_ns; /* how long one task takes; 0 = not known */
	uint32_t reserved2;
	/* Older shims send no more than that. */
	char kernel[COT_PROTO_NAME_MAX]; /* as its code calls it, cut off; empty: not known */
};

#define COT_PROTO_WORK_REQUEST_MIN offsetof(struct cot_msg_work_request, kernel)
void cot_proto_read_work_request(const struct cot_msg_work_request *m,
				 struct cot_msg_work_request *ret_m);
#define COT_PROTO_PER_SM_MAX 64u

struct cot_msg_work_grant {
	struct cot_msg_header h;
	uint64_t work;
	uint32_t capsms; /* granted in all since it began to run: 1..COT_CAPSMS_MAX */
	uint32_t flags;	 /* COT_WORK_SETTLED, _ONE_KERNEL, _WHOLE_SMS, _CROWDED */
};

struct cot_msg_work_evict {
	struct cot_msg_header h;
	uint64_t work;
	uint32_t capsms; /* that must leave, in all: units below this number */
	uint32_t reserved;
};

struct cot_msg_work_evicted {
	struct cot_msg_header h;
	uint64_t work;
	uint32_t capsms; /* that have left, in all */
	uint32_t reserved;
	uint64_t delay_ns; /* from the flag's being written until the last of them had left */
};

struct cot_msg_work_done {
	struct cot_msg_header h;
	uint64_t work;
	uint32_t left;	     /* tasks that no worker has done; more than 0 only if SETTLED */
	int32_t status;	     /* 0, or -errno: the launch failed, the work is over */
	uint64_t n_tasks;    /* done in this launch, or these */
	uint64_t n_remapped; /* of them, by others than those who would have without eviction */
	uint32_t n_launches; /* of kernels under this grant */
	uint32_t reserved;
};

/* What the shim has done since it began; each message replaces the one before. */
struct cot_work_reason {
	char name[COT_PROTO_REASON_MAX]; /* printable ASCII and a NUL, as in docs/ptx.md */
	uint64_t n_kernels;
};

struct cot_msg_work_counts {
	struct cot_msg_header h;
	uint64_t n_rewritten, n_refused; /* kernels */
	uint64_t n_launched_workers;	 /* launches of rewritten kernels as workers */
	uint64_t n_launched_plain;	 /* launches left as they were */
	uint32_t n_reasons;		 /* why kernels were refused */
	uint32_t reserved;
	struct cot_work_reason reasons[]; /* n_reasons, at most COT_PROTO_REASONS_MAX */
};

/*
 * ---- parts ----
 *
 * A program runs on a part of a GPU's SMs, with all that it launches: the shim sends it there.
 * A part is a range of SMs [first, first + n) in the numbering of one split of the
 * GPU, the same for all clients of one MPS server; n == 0 is the whole GPU. On the shim's
 * connection for that GPU:
 *
 *      shim                                    daemon
 *                      <----------------------  WORK_WELCOME
 *      PARTS           ---------------------->  once: whether it can, and the unit
 *      PLACED, seq 0   ---------------------->  only where it has a part already, from another
 * daemon
 *                      <----------------------  PLACE, at once, and whenever that changes
 *        what is launched from now on goes there
 *      PLACED          ---------------------->  one for each PLACE, in their order
 *      PART_COUNTS     ---------------------->  now and then, and at the end
 *
 * A PLACE replaces the one before. What a program has launched already stays where it is. A shim
 * that loses the daemon keeps the part that it has.
 */

struct cot_msg_parts {
	struct cot_msg_header h;
	uint32_t n_sms;	  /* that can be cut, from SM 0 on */
	uint32_t unit;	  /* parts begin, and end but at n_sms, at multiples of it: 1..n_sms */
	int32_t status;	  /* 0, or -errno: it cannot be placed, and both numbers are 0 */
	uint32_t pace_us; /* that it has already, from another daemon */
	/* How many whole units there are, from SM 0 on: what is behind them can be had in one piece
	 * only. 0: as many as fit. Older shims do not send it. */
	uint32_t n_units;
	uint32_t flags; /* COT_PARTS_...; as old */
};

/* PARTS: the user lets the policy put launches on the CPU (`cotenant run --cpu-by policy`). */
#define COT_PARTS_CPU 1u

#define COT_PROTO_PARTS_MIN offsetof(struct cot_msg_parts, n_units)

static inline uint32_t cot_msg_parts_flags(const struct cot_msg_parts *m)
{
	return m->h.length < sizeof(*m) ? 0 : m->flags;
}

static inline uint32_t cot_msg_parts_n_units(const struct cot_msg_parts *m)
{
	uint32_t said = m->h.length < sizeof(*m) ? 0 : m->n_units;

	return said || !m->unit ? said : m->n_sms / m->unit;
}

/* PLACE: what the program launches waits, until the next PLACE and no longer than that after its
 * receipt. */
#define COT_PLACE_HOLD	  1u
#define COT_PROTO_HOLD_NS (50 * COT_NS_PER_MS)
/* PLACE: others wait for the SMs that it leaves. PLACED comes when what it launched there before is
 * done, but no later than that after the launches go elsewhere. Older shims do not wait. */
#define COT_PLACE_LEAVE	   2u
#define COT_PROTO_LEAVE_NS (800 * COT_NS_PER_MS)

/* PLACE: launches are to be on the CPU where that can be, after COT_PARTS_CPU. */
#define COT_PLACE_CPU 4u

struct cot_msg_place {
	struct cot_msg_header h; /* its seq is never 0 */
	uint16_t first, n;	 /* up to COT_SMS_MAX together */
	uint32_t pace_us;	 /* 0: as much as the program likes is queued */
	uint32_t flags;		 /* COT_PLACE_...; older daemons do not send it */
	uint32_t reserved;
};

#define COT_PROTO_PLACE_MIN offsetof(struct cot_msg_place, flags)

static inline uint32_t cot_msg_place_flags(const struct cot_msg_place *m)
{
	return m->h.length < sizeof(*m) ? 0 : m->flags;
}

struct cot_msg_placed {
	struct cot_msg_header h; /* seq of the PLACE */
	int32_t status;		 /* 0 or -errno: it stays where it was */
	uint16_t first, n;	 /* what it has now */
	uint64_t latency_ns;	 /* from receipt until the next launch would go there */
};

/* What the shim has done with parts since it began; each message replaces the one before. */
struct cot_msg_part_counts {
	struct cot_msg_header h;
	uint64_t n_changes;  /* of the part */
	uint64_t n_followed; /* launches that ran on the part */
	uint64_t n_stayed;   /* launches that ran elsewhere although there was a part */
	uint32_t n_reasons;  /* why they did; of each, how many launches */
	uint32_t reserved;
	struct cot_work_reason reasons[]; /* n_reasons, at most COT_PROTO_REASONS_MAX */
};

/* How its launches were held back, since it began; each message replaces the one before. */
struct cot_msg_pace_counts {
	struct cot_msg_header h;
	uint64_t n_paced;  /* launches while there was a pace */
	uint64_t n_waits;  /* how often a launch waited ... */
	uint64_t wait_ns;  /* ... and how long, all in all */
	uint64_t n_failed; /* waits that took too long: the pace is not kept any longer */
	/* Older shims do not send more than that. */
	uint64_t n_held;   /* launches that a hold made wait ... */
	uint64_t held_ns;  /* ... and how long, all in all */
	uint64_t n_lapsed; /* holds that nothing ended in time */
	/* And older ones not more than that. */
	uint64_t n_cpu;	    /* launches that ran on the CPU ... */
	uint64_t cpu_ns;    /* ... and how long, with all copies */
	uint64_t n_cpu_not; /* launches that were to, and did not */
	uint64_t n_copies;  /* copies, or pieces of them, that gave way ... */
	uint64_t copies_ns; /* ... and how long they waited, all in all */
	/* And older ones not more than that. */
	uint64_t n_merged;   /* launches that were part of a merged one ... */
	uint64_t n_merges;   /* ... and how many such there were */
	uint64_t n_unmerged; /* launches of a program that merges, which went as they are */
	/* And older ones not more than that. */
	uint64_t n_templates_found;    /* modules that were in the store ... */
	uint64_t n_templates_made;     /* ... and that were rewritten */
	uint64_t n_templates_ignored;  /* files in it that were damaged, or another's */
	uint64_t n_templates_not_kept; /* that it could not take */
	/* And older ones not more than that. */
	uint64_t n_attached; /* to a backend: 1 or 0 */
	/* And older ones not more than that. */
	uint64_t n_gpu_waits; /* times that a measured program waited for the GPU ... */
	uint64_t gpu_wait_ns; /* ... and how long, all in all */
};

/* What the process has of the GPU's memory; each message replaces the one before. */
struct cot_msg_memory {
	struct cot_msg_header h;
	uint64_t limit_bytes;
	uint64_t gpu_bytes;		 /* that the GPU has; 0: not known */
	uint64_t used_bytes, most_bytes; /* now, and since it began */
	uint64_t n_refused;		 /* allocations that would have been too much */
};

/* What the shim reads of the variables COTENANT_CPU and COTENANT_CPU_UPTO, with the zero. */
#define COT_CPU_LIST_MAX 2048u
#define COT_CPU_UPTO_MAX 4096u

#define COT_PROTO_PACE_COUNTS_MIN offsetof(struct cot_msg_pace_counts, n_held)

/*
 * ---- queries ----
 *
 * A *query* is a request of a program while it is on the GPU; its *tasks* are the kernels and
 * graphs that it launches. On the shim's connection for that GPU, only while the daemon wants it:
 *
 *      shim                                    daemon
 *                      <----------------------  QUERIES wanted
 *      QUERY_BEGIN     ---------------------->  its first task is about to be launched
 *      QUERY_TASKS     ---------------------->  so many tasks have ended (0 or more times)
 *      QUERY_END       ---------------------->  the program has its result
 *                      <----------------------  QUERIES not wanted any longer
 *
 * The shim chooses the numbers, and counts them up. It tells of COT_PROTO_QUERIES_MAX at a time. A
 * query that begins within COT_PROTO_QUERY_NS of the last one it leaves out, and tasks that end
 * within that time of the last ones are told together. A connection that ends, ends its queries.
 *
 * Before a copy of a request between GPU and host the shim tells of that, too, and the daemon tells
 * the shims of batch programs on that GPU, whose copies in the same direction then wait:
 *
 *      QUERY_COPY      ---------------------->
 *                                              COPIES to the others
 */
#define COT_PROTO_QUERIES_MAX 32u
#define COT_PROTO_QUERY_NS    (200 * 1000ull)
#define COT_PROTO_COPIES_NS   (20 * 1000000ull) /* nothing waits longer */
#define COT_PROTO_COPY_MIN    (256u << 10)	/* bytes: smaller copies are nobody's business */

struct cot_msg_queries {
	struct cot_msg_header h;
	uint32_t wanted; /* 0 or 1 */
	uint32_t reserved;
};

/* Times are CLOCK_MONOTONIC. */
struct cot_msg_query_begin {
	struct cot_msg_header h;
	uint32_t query; /* not 0, nor that of an unfinished one */
	uint32_t reserved;
	uint64_t size;	     /* as the program says, otherwise bytes copied in; 0: not known */
	uint64_t arrived_ns; /* not after began_ns; 0: not known */
	uint64_t began_ns;   /* its first operation */
	uint64_t in_ns;	     /* from that to the first task, if it was a copy to the GPU */
};

struct cot_msg_query_tasks {
	struct cot_msg_header h;
	uint32_t query;
	uint32_t n_done;  /* so far: 1 or more */
	uint64_t done_ns; /* when the last of them was seen to have ended */
};

/* To the GPU, and from it. */
enum cot_proto_way { COT_WAY_IN, COT_WAY_OUT, COT_WAYS };

struct cot_msg_query_copy {
	struct cot_msg_header h;
	uint32_t query;	 /* out: that it belongs to, with whose end it is over; in: 0 */
	uint32_t way;	 /* enum cot_proto_way */
	uint64_t for_ns; /* about how long it takes; up to COT_PROTO_COPIES_NS, not 0 */
};

struct cot_msg_copies {
	struct cot_msg_header h;
	uint32_t way;
	uint32_t reserved;
	uint64_t for_ns; /* from now on; 0: it is over */
};

struct cot_msg_query_end {
	struct cot_msg_header h;
	uint32_t query;
	uint32_t n_tasks; /* launched */
	uint64_t ended_ns;
	uint64_t out_bytes; /* copied from the GPU */
};

_Static_assert(sizeof(struct cot_msg_header) == 16, "layout");
_Static_assert(sizeof(struct cot_msg_hello) == 168, "layout");
_Static_assert(sizeof(struct cot_msg_groups) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_ack) == 40, "layout");
_Static_assert(sizeof(struct cot_msg_set) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_welcome) == 40, "layout");
_Static_assert(sizeof(struct cot_msg_register) == 192, "layout");
_Static_assert(sizeof(struct cot_msg_registered) == 24, "layout");
_Static_assert(sizeof(struct cot_msg_query) == 24, "layout");
_Static_assert(sizeof(struct cot_msg_command) == 144, "layout");
_Static_assert(COT_PROTO_REGISTER_MIN == 168 && COT_PROTO_COMMAND_MIN == 128, "layout");
_Static_assert(sizeof(struct cot_msg_explain) == 88, "layout");
_Static_assert(sizeof(struct cot_msg_result) == 24, "layout");
_Static_assert(sizeof(struct cot_msg_work_hello) == 168, "layout");
_Static_assert(sizeof(struct cot_msg_work_welcome) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_work_request) == 112 && COT_PROTO_WORK_REQUEST_MIN == 48,
	       "layout");
_Static_assert(sizeof(struct cot_msg_work_grant) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_work_evict) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_work_evicted) == 40, "layout");
_Static_assert(sizeof(struct cot_msg_work_done) == 56, "layout");
_Static_assert(sizeof(struct cot_work_reason) == 40, "layout");
_Static_assert(sizeof(struct cot_msg_work_counts) == 56, "layout");
_Static_assert(sizeof(struct cot_msg_parts) == 40, "layout");
_Static_assert(sizeof(struct cot_msg_place) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_placed) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_part_counts) == 48, "layout");
_Static_assert(sizeof(struct cot_msg_pace_counts) == 192, "layout");
_Static_assert(sizeof(struct cot_msg_memory) == 56, "layout");
_Static_assert(sizeof(struct cot_msg_query_copy) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_copies) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_queries) == 24, "layout");
_Static_assert(sizeof(struct cot_msg_query_begin) == 56, "layout");
_Static_assert(sizeof(struct cot_msg_query_tasks) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_query_end) == 40, "layout");
_Static_assert(COT_PROTO_PLACE_MIN == 24 && COT_PROTO_PACE_COUNTS_MIN == 48, "layout");

/*
 * The page that the daemon shares with one library: a memfd, sealed against resizing. All fields
 * are accessed with C11 atomics (relaxed unless said); times are CLOCK_MONOTONIC.
 */
#define COT_PAGE_VERSION 1u

struct cot_page {
	uint32_t version;
	uint32_t reserved;
	/* Written by the daemon. A freeze holds only while now < lease_until_ns. */
	_Atomic uint64_t lease_until_ns;
	/* Written by the library. */
	_Atomic uint64_t n_groups, n_channels;
	_Atomic uint64_t slice_us; /* read back */
	_Atomic uint64_t n_freezes, n_thaws, n_lease_expired;
	_Atomic uint64_t freeze_last_ns, freeze_max_ns, thaw_last_ns, thaw_max_ns;
	_Atomic uint64_t n_doubts; /* times it called the real driver because it was not sure */
};

/* Fills the header of a packet. */
void cot_proto_header(struct cot_msg_header *h, enum cot_msg_type type, uint32_t length,
		      uint32_t seq);

/*
 * Checks a received packet of `size` bytes (aligned for uint64_t): magic, length, the least size of
 * its type, that strings inside it end. Returns the type; 0 for a type that is to be ignored;
 * -EBADMSG for a malformed packet; -EPROTONOSUPPORT for another major version (HELLO, WORK_HELLO
 * and REGISTER only: their header alone is valid then).
 */
int cot_proto_check(const void *packet, size_t size);

/* Whether `share` is one, or 0. */
int cot_proto_is_share(uint16_t share);

/* As the peer means it: what an older one does not send is 0. */
void cot_proto_read_register(const struct cot_msg_register *m, struct cot_msg_register *ret_m);
void cot_proto_read_command(const struct cot_msg_command *m, struct cot_msg_command *ret_m);
void cot_proto_read_pace_counts(const struct cot_msg_pace_counts *m,
				struct cot_msg_pace_counts *ret_m);

struct cot_proto_target cot_proto_pack_target(struct cot_target target);
struct cot_target cot_proto_unpack_target(struct cot_proto_target target);

/* The least size of a packet of this type, 0 when the type is unknown. */
size_t cot_proto_min_size(unsigned type);

#endif
