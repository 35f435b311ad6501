/*
 * The command line's side of the daemon's socket: find it, start one, ask and get the answer.
 * One request at a time; blocking, with a time-out. Messages: proto/proto.h.
 */
#ifndef COT_CLI_CLIENT_H
#define COT_CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "daemon/paths.h"
#include "proto/proto.h"

enum {
	COT_EXIT_NO_DAEMON = 3,
	COT_EXIT_PERMISSION = 4,
	COT_EXIT_NOT_FOUND = 6,
};

struct cot_client {
	int fd;
	uint32_t seq;
	_Alignas(8) unsigned char packet[COT_PROTO_PACKET_MAX];
};

/* Where a daemon of ours may be, in the order in which they are tried. */
struct cot_sockets {
	unsigned n;
	char path[2][COT_PATH_TEXT_MAX];
	bool named; /* by COTENANT_SOCKET: no other is started */
};

/* 0, or -errno with a sentence where there is no place for one. */
int cot_client_sockets(struct cot_sockets *ret_sockets, struct cot_error *err);

/*
 * Connects to $COTENANT_SOCKET, else to the daemon of the machine, else to that of the user.
 * With `start`, a per-user daemon is started when none answers (but not when COTENANT_SOCKET names
 * one). -ECONNREFUSED with a sentence.
 */
int cot_client_open(struct cot_client *client, bool start, struct cot_error *err);
void cot_client_close(struct cot_client *client);

/* Sends a packet whose header is filled in here. */
int cot_client_send(struct cot_client *client, enum cot_msg_type type, void *packet, size_t size,
		    struct cot_error *err);
/* Waits for the answer to the last request; it is in client->packet, ended with a NUL where there
 * is room. Returns its type; -ETIMEDOUT, -EPIPE, -EBADMSG. A REFUSED is an error: -EACCES. */
int cot_client_receive(struct cot_client *client, int timeout_ms, struct cot_error *err);

/* QUERY: the JSON text; free() it. */
int cot_client_query(struct cot_client *client, enum cot_proto_query what, char **ret_text,
		     struct cot_error *err);
/* COMMAND: the daemon's sentence, also when it failed (then in `err`). */
int cot_client_command(struct cot_client *client, struct cot_msg_command *command, char **ret_text,
		       struct cot_error *err);

/* EXPLAIN: likewise. */
int cot_client_explain(struct cot_client *client, struct cot_msg_explain *question, char **ret_text,
		       struct cot_error *err);

/* The exit status that fits an error of the functions above. */
int cot_client_exit_status(int rc);

#endif
