/*
 * libcotenant.so: preloaded into the programs under control. This header is for its own files.
 *
 *     ioctl.c    the wrapper that the program calls instead of libc's, and start-up
 *     env.c      what COTENANT_* variables say
 *     control.c  the control thread: carries the daemon's orders out
 *     link.c     its socket and the shared page
 *     wake.c     how the program's threads wake it
 *     os.c       what of the operating system needs care inside somebody else's process
 *     log.c      lines on stderr, when asked for
 *
 * Rules of this folder: libc only. Never exit, abort or assert. Never wait without a bound on the
 * program's threads. In doubt do what the program would have got without us, and count the doubt.
 */
#ifndef COT_PRELOAD_PRELOAD_H
#define COT_PRELOAD_PRELOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/words.h"
#include "cuda/rm/rm.h"
#include "proto/proto.h"

/* A lease further ahead than this is not believed: the page is damaged. */
#define COT_LEASE_MAX_NS COT_NS_PER_S
/* A lost daemon may be restarting: slices and mode are kept so long before the driver's return. */
#define COT_KEEP_NS	   (5 * COT_NS_PER_S)
#define COT_RETRY_MIN_NS   COT_NS_PER_S
#define COT_RETRY_MAX_NS   (8 * COT_NS_PER_S)
#define COT_THAW_RETRY_NS  (10 * COT_NS_PER_MS)
#define COT_THAW_TRIES_MAX 100u

/* A set-up that waits for the thaw looks so often, and waits so long after the end of the lease. */
#define COT_WAIT_STEP_NS  (2 * COT_NS_PER_MS)
#define COT_WAIT_SLACK_NS (500 * COT_NS_PER_MS)

enum cot_log_level { COT_LOG_NONE, COT_LOG_ERROR, COT_LOG_WARN, COT_LOG_INFO, COT_LOG_DEBUG };

/* ---- env.c ---- */

struct cot_settings {
	bool disabled;
	enum cot_log_level log;
	char socket[COT_SOCKET_PATH_MAX]; /* empty: no daemon */
	uint32_t slice_us;		  /* without a daemon's word; 0 = the driver's */
	uint32_t mode;			  /* likewise; enum cot_rm_mode */
	uint64_t tenant;
	uint8_t role;	/* enum cot_proto_role */
	uint8_t class_; /* enum cot_class */
	uint16_t weight;
	uint32_t block_us; /* 0 = not known */
	char name[COT_PROTO_NAME_MAX];
	char gpu[COT_PROTO_NAME_MAX];
	unsigned n_bad; /* variables whose value is not understood: left at their default */
};

/* Reads the variables through `get` (getenv). `program` names a tenant without a name. */
void cot_settings_read(struct cot_settings *s, const char *(*get)(const char *name),
		       const char *program);

/* ---- os.c ---- */

uint64_t cot_now_ns(void);
bool cot_fd_identity(int fd, struct cot_rm_identity *ret_id);

/* A descriptor of ours. Programs close what they do not know and get the same number again. */
struct cot_own_fd {
	int fd; /* -1 = none */
	struct cot_rm_identity id;
};

/* Takes over fd, moved out of the way of programs that count on low numbers. -1 stays -1. */
void cot_own_fd_take(struct cot_own_fd *own, int fd);
/* Is it there and still ours? */
bool cot_own_fd_valid(const struct cot_own_fd *own);
/* Closes it if it is still ours. */
void cot_own_fd_close(struct cot_own_fd *own);

/* A detached thread with all signals blocked and a small stack. 0 or -errno. */
int cot_thread_start(void *(*body)(void *), void *arg);

/* The next definition of `name` after this library's, or NULL. */
void *cot_next_symbol(const char *name);

/* ---- log.c ---- */

void cot_log_level_set(enum cot_log_level level);
void cot_log(enum cot_log_level level, const char *fmt, ...) COT_PRINTF(2, 3);

/* ---- wake.c ---- */

/* A bell: any thread rings, the control thread polls `listen`. */
struct cot_wake {
	struct cot_own_fd ring, listen;
	_Atomic bool pending;
};

int cot_wake_open(struct cot_wake *w);
void cot_wake_close(struct cot_wake *w);
void cot_wake_ring(struct cot_wake *w);
/* Before looking at what it was rung for. */
void cot_wake_clear(struct cot_wake *w);

/* ---- link.c ---- */

/* The connection to the daemon. */
struct cot_link {
	struct cot_own_fd sock;
	bool welcomed;
	struct cot_page *page; /* NULL: none, so no freezes */
	size_t page_size;
};

/* What came in; the packet is valid until the next call. */
struct cot_link_packet {
	int type; /* enum cot_msg_type */
	union {
		struct cot_msg_header h;
		struct cot_msg_welcome welcome;
		struct cot_msg_set set;
		uint64_t align;
		unsigned char bytes[4096];
	} u;
	size_t size;
};

void cot_link_init(struct cot_link *l);
/* Connects without waiting. 0 or -errno. */
int cot_link_open(struct cot_link *l, const char *path);
void cot_link_close(struct cot_link *l);
/* 1: *p holds a packet; 0: nothing there now; -errno: the connection is lost. */
int cot_link_receive(struct cot_link *l, struct cot_link_packet *p);
/* 0 or -errno; -EAGAIN: the daemon does not read. */
int cot_link_send(struct cot_link *l, void *packet, enum cot_msg_type type, uint32_t size,
		  uint32_t seq);

/* ---- control.c ---- */

/* Something changed among the groups. Starts the thread at the first call, wakes it later. */
void cot_control_notify(void);
void cot_control_init(struct cot_rm *rm, const struct cot_settings *settings);
/* A program's thread waits a moment for the thaw. False: it has waited long enough. */
bool cot_control_wait(void);
/* In the child of a fork: the parent's thread, socket and page are not its own. */
void cot_control_forget(void);

#endif
