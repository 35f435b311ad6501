/*
 * Packets: what passes the check can be read without looking at a length again. Every field that
 * the daemon, the library and the command line read is read here, within the packet's own bytes.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* The entries of an environment block end inside it. */
static void walk_environment(const struct cot_msg_registered *m)
{
	const char *entry = m->env, *end = (const char *)m + m->h.length;
	unsigned n = 0;

	while (entry < end) {
		entry += strlen(entry) + 1;
		n++;
	}
	REQUIRE(entry == end);
	REQUIRE(n <= m->h.length);
}

static void read_reasons(const struct cot_work_reason *reasons, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		REQUIRE(strlen(reasons[i].name) < COT_PROTO_REASON_MAX);
}

/* Messages about queries: each has a name, and its times are in order. */
static void read_query(const void *packet, int type)
{
	const struct cot_msg_query_begin *begin = packet;
	const struct cot_msg_query_tasks *tasks = packet;
	const struct cot_msg_query_end *end = packet;
	const struct cot_msg_query_copy *copy = packet;
	const struct cot_msg_copies *copies = packet;

	if (type == COT_MSG_QUERY_BEGIN)
		REQUIRE(begin->query && begin->began_ns >= begin->arrived_ns);
	else if (type == COT_MSG_QUERY_TASKS)
		REQUIRE(tasks->query && tasks->n_done && tasks->done_ns);
	else if (type == COT_MSG_QUERY_END)
		REQUIRE(end->query && end->ended_ns);
	else if (type == COT_MSG_QUERY_COPY)
		REQUIRE(copy->way < COT_WAYS && copy->for_ns - 1 < COT_PROTO_COPIES_NS);
	else if (type == COT_MSG_COPIES)
		REQUIRE(copies->way < COT_WAYS && copies->for_ns <= COT_PROTO_COPIES_NS);
}

/* Messages about parts: a range never passes the largest GPU. */
static void read_parts(const void *packet, int type)
{
	const struct cot_msg_parts *parts = packet;
	const struct cot_msg_place *place = packet;
	const struct cot_msg_placed *placed = packet;
	const struct cot_msg_part_counts *counts = packet;

	switch (type) {
	case COT_MSG_PARTS:
		REQUIRE(parts->status <= 0 && parts->n_sms <= COT_SMS_MAX);
		REQUIRE(!parts->unit == !!parts->status && parts->unit <= parts->n_sms);
		REQUIRE(parts->pace_us <= COT_PACE_US_MAX);
		break;
	case COT_MSG_PLACE:
		REQUIRE((uint32_t)place->first + place->n <= COT_SMS_MAX);
		REQUIRE(place->h.seq && place->pace_us <= COT_PACE_US_MAX);
		break;
	case COT_MSG_PLACED:
		REQUIRE((uint32_t)placed->first + placed->n <= COT_SMS_MAX);
		REQUIRE(placed->status <= 0);
		break;
	case COT_MSG_PART_COUNTS:
		read_reasons(counts->reasons, counts->n_reasons);
		break;
	default:
		read_query(packet, type);
		break;
	}
}

/* Whatever the length, what is read is complete and within its bounds. */
static void read_target(const void *packet, int type)
{
	struct cot_msg_register reg = {0};
	struct cot_msg_command command = {0};
	struct cot_proto_target target;
	uint32_t pace_us;

	if (type == COT_MSG_REGISTER)
		cot_proto_read_register(packet, &reg);
	else
		cot_proto_read_command(packet, &command);
	target = type == COT_MSG_REGISTER ? reg.target : command.target;
	pace_us = type == COT_MSG_REGISTER ? reg.pace_us : command.pace_us;
	REQUIRE(target.kind <= COT_TARGET_RATE && pace_us <= COT_PACE_US_MAX);
	REQUIRE(cot_target_is_valid(cot_proto_unpack_target(target)));
}

static void read_all(const void *packet, int type)
{
	const struct cot_msg_hello *hello = packet;
	const struct cot_msg_register *reg = packet;
	const struct cot_msg_command *command = packet;
	const struct cot_msg_explain *explain = packet;
	const struct cot_msg_work_hello *work_hello = packet;
	const struct cot_msg_work_request *request = packet;
	struct cot_msg_work_request whole;
	const struct cot_msg_work_counts *counts = packet;

	switch (type) {
	case COT_MSG_HELLO:
		REQUIRE(strlen(hello->name) < COT_PROTO_NAME_MAX);
		REQUIRE(strlen(hello->gpu) < COT_PROTO_NAME_MAX);
		break;
	case COT_MSG_REGISTER:
		REQUIRE(strlen(reg->name) < COT_PROTO_NAME_MAX);
		REQUIRE(strlen(reg->gpu) < COT_PROTO_NAME_MAX);
		REQUIRE(cot_proto_is_share(reg->quota) && cot_proto_is_share(reg->reserve));
		REQUIRE(cot_proto_is_share(reg->sms));
		read_target(packet, type);
		break;
	case COT_MSG_COMMAND:
		REQUIRE(strlen(command->name) < COT_PROTO_NAME_MAX);
		REQUIRE(cot_proto_is_share(command->sms));
		read_target(packet, type);
		break;
	case COT_MSG_EXPLAIN:
		REQUIRE(strlen(explain->name) < COT_PROTO_NAME_MAX);
		break;
	case COT_MSG_REGISTERED:
		walk_environment(packet);
		break;
	case COT_MSG_WORK_HELLO:
		REQUIRE(strlen(work_hello->name) < COT_PROTO_NAME_MAX);
		REQUIRE(strlen(work_hello->gpu) < COT_PROTO_NAME_MAX);
		REQUIRE(work_hello->n_sms && work_hello->n_sms <= COT_SMS_MAX);
		REQUIRE(cot_proto_is_share(work_hello->quota));
		break;
	case COT_MSG_WORK_REQUEST:
		REQUIRE(request->work && request->per_sm && request->want <= COT_SMS_MAX);
		REQUIRE(request->method <= COT_PROTO_WORK_RESERVE);
		REQUIRE(cot_proto_is_share(request->share));
		cot_proto_read_work_request(request, &whole);
		REQUIRE(strlen(whole.kernel) < COT_PROTO_NAME_MAX);
		break;
	case COT_MSG_WORK_COUNTS:
		read_reasons(counts->reasons, counts->n_reasons);
		break;
	default:
		read_parts(packet, type);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cot_msg_header *h;
	void *packet;
	int type;

	/* As a receiver has it: aligned, and not a byte more. */
	if (posix_memalign(&packet, 8, size ? size : 1))
		return 0;
	memcpy(packet, data, size);
	h = packet;
	type = cot_proto_check(packet, size);
	REQUIRE(type >= 0 || type == -EBADMSG || type == -EPROTONOSUPPORT);
	if (type >= 0)
		REQUIRE(h->length == size && h->magic == COT_PROTO_MAGIC);
	if (type > 0) {
		REQUIRE(type == h->type && h->version == COT_PROTO_VERSION);
		REQUIRE(size >= cot_proto_min_size(h->type));
		read_all(packet, type);
	}
	free(packet);
	return 0;
}
