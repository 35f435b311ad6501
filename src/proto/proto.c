#include "proto/proto.h"

#include <errno.h>
#include <string.h>

static const uint32_t min_size[] = {
	[COT_MSG_HELLO] = sizeof(struct cot_msg_hello),
	[COT_MSG_GROUPS] = sizeof(struct cot_msg_groups),
	[COT_MSG_ACK] = sizeof(struct cot_msg_ack),
	[COT_MSG_WELCOME] = sizeof(struct cot_msg_welcome),
	[COT_MSG_SET] = sizeof(struct cot_msg_set),
	[COT_MSG_FREEZE] = sizeof(struct cot_msg_header),
	[COT_MSG_THAW] = sizeof(struct cot_msg_header),
	[COT_MSG_PREEMPT] = sizeof(struct cot_msg_header),
	[COT_MSG_REFUSED] = sizeof(struct cot_msg_text),
	[COT_MSG_LATER] = sizeof(struct cot_msg_text),
	[COT_MSG_REGISTER] = sizeof(struct cot_msg_register),
	[COT_MSG_REGISTERED] = sizeof(struct cot_msg_registered),
	[COT_MSG_QUERY] = sizeof(struct cot_msg_query),
	[COT_MSG_COMMAND] = sizeof(struct cot_msg_command),
	[COT_MSG_RESULT] = sizeof(struct cot_msg_result),
};

void cot_proto_header(struct cot_msg_header *h, enum cot_msg_type type, uint32_t length,
		      uint32_t seq)
{
	*h = (struct cot_msg_header){
		.magic = COT_PROTO_MAGIC,
		.version = COT_PROTO_VERSION,
		.type = (uint16_t)type,
		.length = length,
		.seq = seq,
	};
}

size_t cot_proto_min_size(unsigned type)
{
	return type < sizeof(min_size) / sizeof(min_size[0]) ? min_size[type] : 0;
}

static int ends(const char *s)
{
	return memchr(s, '\0', COT_PROTO_NAME_MAX) != NULL;
}

/* An environment block: "KEY=VALUE\0..." with nothing after the last NUL. */
static int env_ends(const struct cot_msg_registered *m)
{
	size_t n = m->h.length - offsetof(struct cot_msg_registered, env);

	return n == 0 || m->env[n - 1] == '\0';
}

static int strings_end(const void *packet, unsigned type)
{
	const struct cot_msg_hello *hello = packet;
	const struct cot_msg_register *reg = packet;
	const struct cot_msg_command *command = packet;

	switch (type) {
	case COT_MSG_HELLO:
		return ends(hello->name) && ends(hello->gpu);
	case COT_MSG_REGISTER:
		return ends(reg->name) && ends(reg->gpu);
	case COT_MSG_COMMAND:
		return ends(command->name);
	case COT_MSG_REGISTERED:
		return env_ends(packet);
	default:
		return 1;
	}
}

int cot_proto_check(const void *packet, size_t size)
{
	const struct cot_msg_header *h = packet;
	size_t least;

	if (size < sizeof(*h) || size > COT_PROTO_PACKET_MAX || h->magic != COT_PROTO_MAGIC ||
	    h->length != size)
		return -EBADMSG;
	if (h->version != COT_PROTO_VERSION) {
		if (h->type == COT_MSG_HELLO || h->type == COT_MSG_REGISTER)
			return -EPROTONOSUPPORT;
		return -EBADMSG;
	}
	least = cot_proto_min_size(h->type);
	if (!least)
		return 0;
	if (size < least || !strings_end(packet, h->type))
		return -EBADMSG;
	return h->type;
}
