/* The connection to the daemon: its socket and the shared page. */
#ifndef COT_GUEST_LINK_H
#define COT_GUEST_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/os.h"
#include "proto/proto.h"

/* The pause before a connection is tried again: at first, and at most. */
#define COT_RETRY_MIN_NS COT_NS_PER_S
#define COT_RETRY_MAX_NS (8 * COT_NS_PER_S)

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

/* Memory that somebody shares with us, to read and write. It has to have that size, and to be
 * sealed so that it keeps it: if it shrank, the program would end with SIGBUS. 0 or -errno. */
int cot_link_map(int fd, size_t size, void **ret);

void cot_link_init(struct cot_link *l);
/* Connects without waiting. 0 or -errno. */
int cot_link_open(struct cot_link *l, const char *path);
void cot_link_close(struct cot_link *l);
/* 1: *p holds a packet; 0: nothing there now; -errno: the connection is lost. */
int cot_link_receive(struct cot_link *l, struct cot_link_packet *p);
/* 0 or -errno; -EAGAIN: the daemon does not read. */
int cot_link_send(struct cot_link *l, void *packet, enum cot_msg_type type, uint32_t size,
		  uint32_t seq);

#endif
