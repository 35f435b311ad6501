/*
 * What the environment of a process tells: which program or pool of ours it is. `cotenant run` and
 * the daemon have put it there. Pure: bytes in, a struct out.
 */
#ifndef COT_DAEMON_FOUND_H
#define COT_DAEMON_FOUND_H

#include <cotenant/policy.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/gpus.h"
#include "daemon/paths.h"
#include "proto/proto.h"

struct cot_found {
	bool is_pool; /* an MPS control program, or a server of its */
	bool shared;  /* a pool of both classes */
	uint32_t id;  /* of the program or the pool; 1 to INT32_MAX */
	enum cot_class cls;
	uint32_t weight, block_us;
	uint16_t quota, reserve, sms; /* as in messages */
	uint32_t parts;		      /* 1: it can be put on a part of the GPU */
	uint32_t pace_us, memory_mib;
	struct cot_target target;
	bool measured;	  /* its requests are */
	uint32_t command; /* as in messages */
	char name[COT_PROTO_NAME_MAX], gpu[COT_GPUS_TEXT_MAX];
	char pipe[COT_PATH_TEXT_MAX]; /* of the pool that a program is in; empty: none */
};

/*
 * `block` is "KEY=VALUE\0KEY=VALUE\0...", as /proc/PID/environ. False: it is nothing of the daemon
 * with this socket, or does not say enough.
 */
bool cot_found_parse(const char *block, size_t size, const char *socket_path,
		     struct cot_found *ret_found);

#endif
