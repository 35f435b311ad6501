/*
 * Messages between cotenantd, the preloaded library and the command line, over an AF_UNIX
 * SOCK_SEQPACKET socket: one message per packet, fixed layout, host byte order (both ends are on
 * one machine). Pure encoding and decoding on buffers: no sockets, no allocation, any thread.
 *
 * Every packet starts with struct cot_msg_header. A receiver ignores a type that it does not know,
 * treats a packet shorter than its type demands as an error, and ignores bytes beyond (a newer peer
 * may append fields). The daemon answers a HELLO or REGISTER of another major version with REFUSED;
 * the library then becomes a pass-through. After a LATER it tries again.
 */
#ifndef COT_PROTO_PROTO_H
#define COT_PROTO_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define COT_PROTO_MAGIC	     0x43544f43u /* "COTC" */
#define COT_PROTO_VERSION    1u		 /* major: changes when a layout changes */
#define COT_PROTO_PACKET_MAX 65536u
#define COT_PROTO_NAME_MAX   64u
#define COT_PROTO_TEXT_MAX   (COT_PROTO_PACKET_MAX - 64u)

enum cot_msg_type {
	/* library -> daemon */
	COT_MSG_HELLO = 1,  /* struct cot_msg_hello; first message */
	COT_MSG_GROUPS = 2, /* struct cot_msg_groups; after each change */
	COT_MSG_ACK = 3,    /* struct cot_msg_ack; one for each SET/FREEZE/THAW/PREEMPT */

	/* daemon -> library */
	COT_MSG_WELCOME = 16, /* struct cot_msg_welcome, with the page's descriptor (SCM_RIGHTS) */
	COT_MSG_SET = 17,     /* struct cot_msg_set */
	COT_MSG_FREEZE = 18,  /* header only; valid while the page's lease is */
	COT_MSG_THAW = 19,    /* header only */
	COT_MSG_PREEMPT = 20, /* header only: give the GPU up once, now */
	COT_MSG_REFUSED = 21, /* struct cot_msg_text: why not, for good; the peer closes */
	COT_MSG_LATER = 23,   /* struct cot_msg_text: why not now; the peer closes */

	/* command line -> daemon, and back */
	COT_MSG_REGISTER = 32,	 /* struct cot_msg_register */
	COT_MSG_REGISTERED = 33, /* struct cot_msg_registered: what to set in the environment */
	COT_MSG_QUERY = 34,	 /* struct cot_msg_query */
	COT_MSG_COMMAND = 35,	 /* struct cot_msg_command */
	COT_MSG_RESULT = 36,	 /* struct cot_msg_result: text, maybe in several packets */
};

struct cot_msg_header {
	uint32_t magic;
	uint16_t version;
	uint16_t type;	 /* enum cot_msg_type */
	uint32_t length; /* of the whole packet, this header included */
	uint32_t seq;	 /* of a request; its answer carries the same */
};

enum cot_proto_role { COT_ROLE_TENANT = 0, COT_ROLE_POOL = 1 };
enum cot_proto_class { COT_PROTO_LATENCY = 0, COT_PROTO_BATCH = 1 };
enum cot_proto_mode { COT_PROTO_KEEP = 0, COT_PROTO_DRAIN = 1, COT_PROTO_SWITCH = 2 };

struct cot_msg_hello {
	struct cot_msg_header h;
	uint8_t role;	 /* enum cot_proto_role */
	uint8_t class_;	 /* enum cot_proto_class; of the pool for a pool server */
	uint16_t weight; /* 1..10000; 100 is normal */
	uint32_t pid;
	uint64_t tenant;	       /* id from a registration, or 0 */
	char name[COT_PROTO_NAME_MAX]; /* NUL-terminated */
	char gpu[COT_PROTO_NAME_MAX];  /* index, UUID or empty: not known yet */
	uint32_t block_us;	       /* longest thread block; 0: not known */
	uint32_t reserved;
};

struct cot_msg_groups {
	struct cot_msg_header h;
	uint32_t n_groups;   /* channel groups that the process has now */
	uint32_t n_channels; /* channels in them */
	uint64_t gpus;	     /* bit i: it has a group on its i-th device instance */
};

struct cot_msg_ack {
	struct cot_msg_header h; /* seq of the order */
	int32_t status;		 /* 0 or a negative errno */
	uint32_t n_failed;	 /* groups for which it failed */
	uint64_t value;		 /* SET: the slice read back, us */
	uint64_t latency_ns;	 /* from receipt to completion */
};

struct cot_msg_set {
	struct cot_msg_header h;
	uint64_t slice_us; /* 0: leave the driver's own */
	uint32_t mode;	   /* enum cot_proto_mode */
	uint32_t reserved;
};

struct cot_msg_welcome {
	struct cot_msg_header h;
	uint64_t tenant;
	uint64_t slice_us; /* as in SET */
	uint32_t mode;
	uint32_t page_size; /* of the page that comes along */
};

struct cot_msg_text {
	struct cot_msg_header h;
	char text[]; /* not NUL-terminated: up to h.length */
};

struct cot_msg_register {
	struct cot_msg_header h;
	uint8_t class_;
	uint8_t solo; /* stay outside the pools */
	uint16_t weight;
	uint32_t pid; /* that will exec the program */
	char name[COT_PROTO_NAME_MAX];
	char gpu[COT_PROTO_NAME_MAX];
	uint32_t block_us; /* longest thread block; 0: not known */
	uint32_t reserved;
};

struct cot_msg_registered {
	struct cot_msg_header h;
	uint64_t tenant;
	char env[]; /* "KEY=VALUE\0KEY=VALUE\0", up to h.length */
};

enum cot_proto_query { COT_QUERY_PS = 1, COT_QUERY_STATS = 2, COT_QUERY_DOCTOR = 3 };

struct cot_msg_query {
	struct cot_msg_header h;
	uint32_t what; /* enum cot_proto_query */
	uint32_t reserved;
};

enum cot_proto_command {
	COT_COMMAND_SET = 1,
	COT_COMMAND_FREEZE = 2,
	COT_COMMAND_THAW = 3,
};

/* Which fields of a COT_COMMAND_SET count. */
enum {
	COT_SET_CLASS = 1u << 0,
	COT_SET_WEIGHT = 1u << 1,
	COT_SET_SLICE = 1u << 2,
	COT_SET_MODE = 1u << 3,
	COT_SET_BLOCK = 1u << 4,
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
	char name[COT_PROTO_NAME_MAX]; /* of a tenant, or "pool:latency", "pool:batch" */
	uint32_t block_us;	       /* 0: not known */
	uint32_t reserved2;
};

struct cot_msg_result {
	struct cot_msg_header h;
	int32_t status; /* 0 or a negative errno */
	uint32_t more;	/* 1: another RESULT with the same seq follows */
	char text[];	/* JSON for a QUERY, a sentence for a COMMAND; up to h.length */
};

_Static_assert(sizeof(struct cot_msg_header) == 16, "layout");
_Static_assert(sizeof(struct cot_msg_hello) == 168, "layout");
_Static_assert(sizeof(struct cot_msg_groups) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_ack) == 40, "layout");
_Static_assert(sizeof(struct cot_msg_set) == 32, "layout");
_Static_assert(sizeof(struct cot_msg_welcome) == 40, "layout");
_Static_assert(sizeof(struct cot_msg_register) == 160, "layout");
_Static_assert(sizeof(struct cot_msg_registered) == 24, "layout");
_Static_assert(sizeof(struct cot_msg_query) == 24, "layout");
_Static_assert(sizeof(struct cot_msg_command) == 120, "layout");
_Static_assert(sizeof(struct cot_msg_result) == 24, "layout");

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
 * -EBADMSG for a malformed packet; -EPROTONOSUPPORT for another major version (HELLO and REGISTER
 * only: their header alone is valid then).
 */
int cot_proto_check(const void *packet, size_t size);

/* The least size of a packet of this type, 0 when the type is unknown. */
size_t cot_proto_min_size(unsigned type);

#endif
