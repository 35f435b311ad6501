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
	[COT_MSG_REGISTER] = COT_PROTO_REGISTER_MIN,
	[COT_MSG_REGISTERED] = sizeof(struct cot_msg_registered),
	[COT_MSG_QUERY] = sizeof(struct cot_msg_query),
	[COT_MSG_COMMAND] = COT_PROTO_COMMAND_MIN,
	[COT_MSG_RESULT] = sizeof(struct cot_msg_result),
	[COT_MSG_EXPLAIN] = sizeof(struct cot_msg_explain),
	[COT_MSG_WORK_HELLO] = sizeof(struct cot_msg_work_hello),
	[COT_MSG_WORK_REQUEST] = COT_PROTO_WORK_REQUEST_MIN,
	[COT_MSG_WORK_EVICTED] = sizeof(struct cot_msg_work_evicted),
	[COT_MSG_WORK_DONE] = sizeof(struct cot_msg_work_done),
	[COT_MSG_WORK_COUNTS] = sizeof(struct cot_msg_work_counts),
	[COT_MSG_WORK_WELCOME] = sizeof(struct cot_msg_work_welcome),
	[COT_MSG_WORK_GRANT] = sizeof(struct cot_msg_work_grant),
	[COT_MSG_WORK_EVICT] = sizeof(struct cot_msg_work_evict),
	[COT_MSG_PARTS] = COT_PROTO_PARTS_MIN,
	[COT_MSG_PLACE] = COT_PROTO_PLACE_MIN,
	[COT_MSG_PLACED] = sizeof(struct cot_msg_placed),
	[COT_MSG_PART_COUNTS] = sizeof(struct cot_msg_part_counts),
	[COT_MSG_PACE_COUNTS] = COT_PROTO_PACE_COUNTS_MIN,
	[COT_MSG_MEMORY] = sizeof(struct cot_msg_memory),
	[COT_MSG_QUERIES] = sizeof(struct cot_msg_queries),
	[COT_MSG_QUERY_BEGIN] = sizeof(struct cot_msg_query_begin),
	[COT_MSG_QUERY_TASKS] = sizeof(struct cot_msg_query_tasks),
	[COT_MSG_QUERY_END] = sizeof(struct cot_msg_query_end),
	[COT_MSG_QUERY_COPY] = sizeof(struct cot_msg_query_copy),
	[COT_MSG_COPIES] = sizeof(struct cot_msg_copies),
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

/* 0 or a negative errno. */
static int is_status(int32_t status)
{
	return status <= 0 && status > -4096;
}

/* An environment block: "KEY=VALUE\0..." with nothing after the last NUL. */
static int env_ends(const struct cot_msg_registered *m)
{
	size_t n = m->h.length - offsetof(struct cot_msg_registered, env);

	return n == 0 || m->env[n - 1] == '\0';
}

int cot_proto_is_share(uint16_t share)
{
	struct cot_share s = cot_share_unpack(share);

	return cot_share_is_valid(s) && cot_share_pack(s) == share;
}

static int is_work_hello(const struct cot_msg_work_hello *m)
{
	return ends(m->name) && ends(m->gpu) && m->n_sms >= 1 && m->n_sms <= COT_SMS_MAX &&
	       m->class_ <= COT_CLASS_BATCH && cot_proto_is_share(m->quota) &&
	       cot_proto_is_share(m->reserve);
}

/* What is cut short in the part that older shims do not send counts as not sent. */
void cot_proto_read_work_request(const struct cot_msg_work_request *m,
				 struct cot_msg_work_request *ret_m)
{
	*ret_m = (struct cot_msg_work_request){0};
	memcpy(ret_m, m, m->h.length < sizeof(*m) ? COT_PROTO_WORK_REQUEST_MIN : sizeof(*m));
}

static int is_work_request(const struct cot_msg_work_request *packet)
{
	struct cot_msg_work_request all, *m = &all;

	cot_proto_read_work_request(packet, m);
	return m->work && m->per_sm >= 1 && m->per_sm <= COT_PROTO_PER_SM_MAX &&
	       m->want <= COT_SMS_MAX && m->method <= COT_PROTO_WORK_RESERVE &&
	       cot_proto_is_share(m->share) && ends(m->kernel);
}

static int is_work_grant(const struct cot_msg_work_grant *m)
{
	return m->work && m->capsms >= 1 && m->capsms <= COT_CAPSMS_MAX;
}

static int is_work_evict(const struct cot_msg_work_evict *m)
{
	return m->work && m->capsms <= COT_CAPSMS_MAX;
}

static int is_work_evicted(const struct cot_msg_work_evicted *m)
{
	return m->work && m->capsms <= COT_CAPSMS_MAX;
}

static int is_work_done(const struct cot_msg_work_done *m)
{
	return m->work && is_status(m->status);
}

/* A name that ends, of printable ASCII. */
static int is_reason(const struct cot_work_reason *r)
{
	size_t i;

	for (i = 0; i < COT_PROTO_REASON_MAX && r->name[i]; i++)
		if (r->name[i] < ' ' || r->name[i] > '~')
			return 0;
	return i < COT_PROTO_REASON_MAX;
}

/* As many as are announced, and within the packet, whose first part has `size` bytes. */
static int are_reasons(const struct cot_msg_header *h, size_t size, uint32_t n)
{
	const struct cot_work_reason *r = (const void *)((const char *)h + size);
	uint32_t i;

	if (n > COT_PROTO_REASONS_MAX || h->length < size + n * sizeof(*r))
		return 0;
	for (i = 0; i < n; i++)
		if (!is_reason(&r[i]))
			return 0;
	return 1;
}

static int are_work_counts(const struct cot_msg_work_counts *m)
{
	return are_reasons(&m->h, sizeof(*m), m->n_reasons);
}

static int are_part_counts(const struct cot_msg_part_counts *m)
{
	return are_reasons(&m->h, sizeof(*m), m->n_reasons);
}

static int are_parts(const struct cot_msg_parts *m)
{
	uint32_t n_units = cot_msg_parts_n_units(m);

	if (m->pace_us > COT_PACE_US_MAX)
		return 0;
	if (m->status)
		return is_status(m->status) && !m->n_sms && !m->unit && !n_units;
	return m->n_sms <= COT_SMS_MAX && m->unit >= 1 && m->unit <= m->n_sms &&
	       n_units <= m->n_sms / m->unit;
}

static int is_part(uint16_t first, uint16_t n)
{
	return (uint32_t)first + n <= COT_SMS_MAX;
}

static int is_place(const struct cot_msg_place *m)
{
	return m->h.seq && is_part(m->first, m->n) && m->pace_us <= COT_PACE_US_MAX;
}

static int is_placed(const struct cot_msg_placed *m)
{
	return is_status(m->status) && is_part(m->first, m->n);
}

/* In this order, and no transfer takes longer than an hour. */
static int is_query_begin(const struct cot_msg_query_begin *m)
{
	return m->query && m->began_ns && m->arrived_ns <= m->began_ns &&
	       m->in_ns <= 3600 * COT_NS_PER_S;
}

static int is_memory(const struct cot_msg_memory *m)
{
	uint64_t most = (uint64_t)COT_MEMORY_MIB_MAX << 20;

	return m->limit_bytes <= most && m->gpu_bytes <= most && m->used_bytes <= most &&
	       m->most_bytes <= most && m->n_refused <= INT64_MAX;
}

static int is_query_copy(const struct cot_msg_query_copy *m)
{
	return m->way < COT_WAYS && (m->query != 0) == (m->way == COT_WAY_OUT) && m->for_ns &&
	       m->for_ns <= COT_PROTO_COPIES_NS;
}

static int is_copies(const struct cot_msg_copies *m)
{
	return m->way < COT_WAYS && m->for_ns <= COT_PROTO_COPIES_NS;
}

static int is_query(const void *packet, unsigned type)
{
	const struct cot_msg_query_tasks *tasks = packet;
	const struct cot_msg_query_end *end = packet;

	switch (type) {
	case COT_MSG_QUERY_BEGIN:
		return is_query_begin(packet);
	case COT_MSG_QUERY_TASKS:
		return tasks->query && tasks->n_done && tasks->done_ns;
	case COT_MSG_QUERY_END:
		return end->query && end->ended_ns;
	case COT_MSG_QUERY_COPY:
		return is_query_copy(packet);
	case COT_MSG_COPIES:
		return is_copies(packet);
	default:
		return 1;
	}
}

struct cot_proto_target cot_proto_pack_target(struct cot_target target)
{
	return (struct cot_proto_target){target.kind, target.amount};
}

struct cot_target cot_proto_unpack_target(struct cot_proto_target target)
{
	return (struct cot_target){(enum cot_target_kind)target.kind, target.amount};
}

static int is_target(struct cot_proto_target target)
{
	return target.kind <= COT_TARGET_RATE &&
	       cot_target_is_valid(cot_proto_unpack_target(target));
}

/* What is cut short in the part that older clients do not send counts as not sent. */
void cot_proto_read_register(const struct cot_msg_register *m, struct cot_msg_register *ret_m)
{
	*ret_m = (struct cot_msg_register){0};
	memcpy(ret_m, m, m->h.length < sizeof(*m) ? COT_PROTO_REGISTER_MIN : sizeof(*m));
}

void cot_proto_read_command(const struct cot_msg_command *m, struct cot_msg_command *ret_m)
{
	*ret_m = (struct cot_msg_command){0};
	memcpy(ret_m, m, m->h.length < sizeof(*m) ? COT_PROTO_COMMAND_MIN : sizeof(*m));
}

void cot_proto_read_pace_counts(const struct cot_msg_pace_counts *m,
				struct cot_msg_pace_counts *ret_m)
{
	size_t n = sizeof(*m);

	if (m->h.length < n)
		n = offsetof(struct cot_msg_pace_counts, n_gpu_waits);
	if (m->h.length < n)
		n = offsetof(struct cot_msg_pace_counts, n_attached);
	if (m->h.length < n)
		n = offsetof(struct cot_msg_pace_counts, n_templates_found);
	if (m->h.length < n)
		n = offsetof(struct cot_msg_pace_counts, n_merged);
	if (m->h.length < n)
		n = offsetof(struct cot_msg_pace_counts, n_cpu);
	if (m->h.length < n)
		n = COT_PROTO_PACE_COUNTS_MIN;
	*ret_m = (struct cot_msg_pace_counts){0};
	memcpy(ret_m, m, n);
}

static int is_register(const struct cot_msg_register *packet)
{
	struct cot_msg_register all, *m = &all;

	cot_proto_read_register(packet, m);
	return is_target(m->target) && m->pace_us <= COT_PACE_US_MAX &&
	       m->memory_mib <= COT_MEMORY_MIB_MAX && ends(m->name) && ends(m->gpu) &&
	       cot_proto_is_share(m->quota) && cot_proto_is_share(m->reserve) &&
	       cot_proto_is_share(m->sms);
}

static int is_command(const struct cot_msg_command *packet)
{
	struct cot_msg_command all, *m = &all;

	cot_proto_read_command(packet, m);
	return is_target(m->target) && m->pace_us <= COT_PACE_US_MAX && ends(m->name) &&
	       cot_proto_is_share(m->quota) && cot_proto_is_share(m->reserve) &&
	       cot_proto_is_share(m->sms);
}

/* Strings that end, numbers within their bounds: whatever a receiver need not check again. */
static int is_well_formed(const void *packet, unsigned type)
{
	const struct cot_msg_explain *explain = packet;
	const struct cot_msg_hello *hello = packet;
	const struct cot_msg_ack *ack = packet;

	switch (type) {
	case COT_MSG_HELLO:
		return ends(hello->name) && ends(hello->gpu);
	case COT_MSG_ACK:
		return is_status(ack->status);
	case COT_MSG_REGISTER:
		return is_register(packet);
	case COT_MSG_COMMAND:
		return is_command(packet);
	case COT_MSG_EXPLAIN:
		return ends(explain->name);
	case COT_MSG_REGISTERED:
		return env_ends(packet);
	case COT_MSG_WORK_HELLO:
		return is_work_hello(packet);
	case COT_MSG_WORK_REQUEST:
		return is_work_request(packet);
	case COT_MSG_WORK_GRANT:
		return is_work_grant(packet);
	case COT_MSG_WORK_EVICT:
		return is_work_evict(packet);
	case COT_MSG_WORK_EVICTED:
		return is_work_evicted(packet);
	case COT_MSG_WORK_DONE:
		return is_work_done(packet);
	case COT_MSG_WORK_COUNTS:
		return are_work_counts(packet);
	case COT_MSG_PARTS:
		return are_parts(packet);
	case COT_MSG_PLACE:
		return is_place(packet);
	case COT_MSG_MEMORY:
		return is_memory(packet);
	case COT_MSG_PLACED:
		return is_placed(packet);
	case COT_MSG_PART_COUNTS:
		return are_part_counts(packet);
	default:
		return is_query(packet, type);
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
		if (h->type == COT_MSG_HELLO || h->type == COT_MSG_WORK_HELLO ||
		    h->type == COT_MSG_REGISTER)
			return -EPROTONOSUPPORT;
		return -EBADMSG;
	}
	least = cot_proto_min_size(h->type);
	if (!least)
		return 0;
	if (size < least || !is_well_formed(packet, h->type))
		return -EBADMSG;
	return h->type;
}
