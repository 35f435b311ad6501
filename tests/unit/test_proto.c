/* Messages: what a receiver must take, ignore and refuse. */
#include <errno.h>
#include <string.h>

#include "proto/proto.h"
#include "test.h"

#define N_TYPES 64u

static _Alignas(8) unsigned char packet[COT_PROTO_PACKET_MAX + 8];

static struct cot_msg_header *header(void)
{
	return (struct cot_msg_header *)packet;
}

/* Numbers without which a message about works makes no sense. */
static void fill_in_work(unsigned type)
{
	struct cot_msg_work_hello *hello = (struct cot_msg_work_hello *)packet;
	struct cot_msg_work_request *request = (struct cot_msg_work_request *)packet;
	struct cot_msg_work_grant *grant = (struct cot_msg_work_grant *)packet;
	struct cot_msg_parts *parts = (struct cot_msg_parts *)packet;

	switch (type) {
	case COT_MSG_PARTS:
		parts->n_sms = parts->unit = 1;
		break;
	case COT_MSG_WORK_HELLO:
		hello->n_sms = 1;
		break;
	case COT_MSG_WORK_REQUEST:
		request->work = 1;
		request->per_sm = 1;
		break;
	case COT_MSG_WORK_GRANT:
	case COT_MSG_WORK_EVICT:
	case COT_MSG_WORK_EVICTED:
	case COT_MSG_WORK_DONE: /* all begin with the work's name */
		grant->work = 1;
		if (type == COT_MSG_WORK_GRANT)
			grant->capsms = 1;
		break;
	default:
		break;
	}
}

/* The same of queries. */
static void fill_in_query(unsigned type)
{
	struct cot_msg_query_begin *begin = (struct cot_msg_query_begin *)packet;
	struct cot_msg_query_tasks *tasks = (struct cot_msg_query_tasks *)packet;
	struct cot_msg_query_end *end = (struct cot_msg_query_end *)packet;

	if (type == COT_MSG_QUERY_BEGIN || type == COT_MSG_QUERY_TASKS || type == COT_MSG_QUERY_END)
		begin->query = 1; /* all begin with it */
	if (type == COT_MSG_QUERY_BEGIN)
		begin->began_ns = 5;
	if (type == COT_MSG_QUERY_TASKS)
		tasks->n_done = 1;
	if (type == COT_MSG_QUERY_TASKS)
		tasks->done_ns = 6;
	if (type == COT_MSG_QUERY_END)
		end->ended_ns = 7;
	if (type == COT_MSG_QUERY_COPY)
		((struct cot_msg_query_copy *)packet)->for_ns = 8;
}

static size_t make(unsigned type, size_t extra)
{
	size_t size = cot_proto_min_size(type) + extra;

	memset(packet, 0, sizeof(packet));
	cot_proto_header(header(), (enum cot_msg_type)type, (uint32_t)size, 7);
	fill_in_work(type);
	fill_in_query(type);
	return size;
}

static void test_every_type(void **state)
{
	unsigned type, n = 0;

	(void)state;
	for (type = 1; type < N_TYPES; type++) {
		size_t size = cot_proto_min_size(type);

		if (!size)
			continue;
		n++;
		assert_int_equal(cot_proto_check(packet, make(type, 0)), (int)type);
		assert_int_equal(header()->seq, 7);
		/* A newer peer may append fields. */
		assert_int_equal(cot_proto_check(packet, make(type, 8)), (int)type);
		/* One byte short, with an honest length. */
		size = make(type, 0) - 1;
		header()->length = (uint32_t)size;
		assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	}
	assert_int_equal(n, 36);
}

static void test_memory(void **state)
{
	struct cot_msg_memory *m = (struct cot_msg_memory *)packet;
	uint64_t *numbers[] = {&m->limit_bytes, &m->gpu_bytes, &m->used_bytes, &m->most_bytes,
			       &m->n_refused};
	size_t size = make(COT_MSG_MEMORY, 0), i;

	(void)state;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		*numbers[i] = 1ull << 44;
		assert_int_equal(cot_proto_check(packet, size), COT_MSG_MEMORY);
		*numbers[i] = UINT64_MAX;
		assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
		*numbers[i] = 0;
	}
}

static void test_header(void **state)
{
	size_t size = make(COT_MSG_QUERY, 0);

	(void)state;
	assert_int_equal(cot_proto_check(packet, 0), -EBADMSG);
	assert_int_equal(cot_proto_check(packet, sizeof(struct cot_msg_header) - 1), -EBADMSG);
	assert_int_equal(cot_proto_check(packet, size - 1), -EBADMSG);
	assert_int_equal(cot_proto_check(packet, size + 1), -EBADMSG);
	assert_int_equal(cot_proto_check(packet, COT_PROTO_PACKET_MAX + 1), -EBADMSG);
	header()->magic ^= 1;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

static void test_unknown_type_is_ignored(void **state)
{
	size_t size = make(COT_MSG_QUERY, 0);

	(void)state;
	header()->type = 999;
	assert_int_equal(cot_proto_check(packet, size), 0);
	header()->type = 0;
	assert_int_equal(cot_proto_check(packet, size), 0);
}

/* The first words of another version can be understood, and answered with a sentence. */
static void test_versions(void **state)
{
	static const uint16_t versions[] = {0, COT_PROTO_VERSION + 1, UINT16_MAX};
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		size_t size = make(COT_MSG_HELLO, 0);

		header()->version = versions[i];
		assert_int_equal(cot_proto_check(packet, size), -EPROTONOSUPPORT);
		size = make(COT_MSG_REGISTER, 0);
		header()->version = versions[i];
		assert_int_equal(cot_proto_check(packet, size), -EPROTONOSUPPORT);
		size = make(COT_MSG_WORK_HELLO, 0);
		header()->version = versions[i];
		assert_int_equal(cot_proto_check(packet, size), -EPROTONOSUPPORT);
		size = make(COT_MSG_WORK_REQUEST, 0);
		header()->version = versions[i];
		assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
		size = make(COT_MSG_ACK, 0);
		header()->version = versions[i];
		assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	}
}

static void test_strings_must_end(void **state)
{
	size_t size = make(COT_MSG_HELLO, 0);
	struct cot_msg_hello *hello = (struct cot_msg_hello *)packet;
	struct cot_msg_command *command = (struct cot_msg_command *)packet;
	struct cot_msg_registered *registered = (struct cot_msg_registered *)packet;

	(void)state;
	memset(hello->name, 'a', sizeof(hello->name));
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	hello->name[sizeof(hello->name) - 1] = '\0';
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_HELLO);
	memset(hello->gpu, 'a', sizeof(hello->gpu));
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);

	size = make(COT_MSG_COMMAND, 0);
	memset(command->name, 'a', sizeof(command->name));
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);

	size = make(COT_MSG_EXPLAIN, 0);
	memset(((struct cot_msg_explain *)packet)->name, 'a', COT_PROTO_NAME_MAX);
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);

	size = make(COT_MSG_REGISTERED, 4);
	memcpy(registered->env, "A=b", 4);
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_REGISTERED);
	registered->env[3] = 'c';
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

static void test_shares(void **state)
{
	struct cot_msg_register *reg = (struct cot_msg_register *)packet;
	struct cot_msg_command *command = (struct cot_msg_command *)packet;
	size_t size = make(COT_MSG_REGISTER, 0);

	(void)state;
	assert_true(cot_proto_is_share(0));
	assert_true(cot_proto_is_share(1));
	assert_true(cot_proto_is_share(100));
	assert_false(cot_proto_is_share(101));
	assert_false(cot_proto_is_share(COT_SHARE_SMS));
	assert_true(cot_proto_is_share(COT_SHARE_SMS | 1));
	assert_true(cot_proto_is_share(COT_SHARE_SMS | COT_SMS_MAX));
	assert_false(cot_proto_is_share(COT_SHARE_SMS | (COT_SMS_MAX + 1)));
	reg->quota = 101;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	reg->quota = 0;
	reg->reserve = COT_SHARE_SMS;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	size = make(COT_MSG_COMMAND, 0);
	command->reserve = 200;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	command->reserve = 0;
	command->sms = 100;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_COMMAND);
	command->sms = COT_SHARE_SMS;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	size = make(COT_MSG_REGISTER, 0);
	reg->sms = COT_SHARE_SMS | 64;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_REGISTER);
	reg->sms = 101;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

/* Older shims do not name the kernel; what is cut short counts as not named. */
static void test_kernel_names(void **state)
{
	struct cot_msg_work_request *request = (struct cot_msg_work_request *)packet, read;
	size_t size = make(COT_MSG_WORK_REQUEST, sizeof(request->kernel));

	(void)state;
	memset(request->kernel, 'k', sizeof(request->kernel));
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	request->kernel[COT_PROTO_NAME_MAX - 1] = '\0';
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_REQUEST);
	cot_proto_read_work_request(request, &read);
	assert_int_equal(strlen(read.kernel), COT_PROTO_NAME_MAX - 1);
	memset(request->kernel, 'k', sizeof(request->kernel));
	request->h.length = (uint32_t)--size;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_REQUEST);
	cot_proto_read_work_request(request, &read);
	assert_int_equal(read.work, 1);
	assert_string_equal(read.kernel, "");
	request->share = 101;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

static void test_work_numbers(void **state)
{
	struct cot_msg_work_hello *hello = (struct cot_msg_work_hello *)packet;
	struct cot_msg_work_request *request = (struct cot_msg_work_request *)packet;
	struct cot_msg_work_grant *grant = (struct cot_msg_work_grant *)packet;
	struct cot_msg_work_done *done = (struct cot_msg_work_done *)packet;
	struct cot_msg_work_evict *evict = (struct cot_msg_work_evict *)packet;
	struct cot_msg_work_evicted *evicted = (struct cot_msg_work_evicted *)packet;
	size_t size = make(COT_MSG_WORK_HELLO, 0);

	(void)state;
	hello->n_sms = 0;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	hello->n_sms = COT_SMS_MAX + 1;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	hello->n_sms = COT_SMS_MAX;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_HELLO);
	hello->n_sms = 1;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_HELLO);
	hello->class_ = 2;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	hello->class_ = 0;
	memset(hello->gpu, 'a', sizeof(hello->gpu));
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);

	size = make(COT_MSG_WORK_REQUEST, 0);
	request->work = 0;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	request->work = 1;
	request->per_sm = COT_PROTO_PER_SM_MAX + 1;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	request->per_sm = COT_PROTO_PER_SM_MAX;
	request->want = COT_SMS_MAX + 1;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	request->want = COT_SMS_MAX;
	request->method = COT_PROTO_WORK_RESERVE;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_REQUEST);
	request->method = 3;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);

	size = make(COT_MSG_WORK_GRANT, 0);
	grant->capsms = 0;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	grant->capsms = COT_CAPSMS_MAX + 1;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	grant->capsms = COT_CAPSMS_MAX;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_GRANT);
	grant->capsms = 1;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_GRANT);

	size = make(COT_MSG_WORK_EVICT, 0);
	evict->capsms = COT_CAPSMS_MAX;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_EVICT);
	evict->capsms++;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	size = make(COT_MSG_WORK_EVICTED, 0);
	evicted->capsms = COT_CAPSMS_MAX;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_EVICTED);
	evicted->capsms++;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);

	size = make(COT_MSG_WORK_DONE, 0);
	done->status = 1;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

/* As many reasons as are announced, and no more than there may be. */
/* 0 or a negative errno, whose sign can be changed. */
static void test_statuses(void **state)
{
	static const int32_t good[] = {0, -1, -5, -4095}, bad[] = {1, INT32_MAX, -4096, INT32_MIN};
	struct cot_msg_ack *ack = (struct cot_msg_ack *)packet;
	struct cot_msg_work_done *done = (struct cot_msg_work_done *)packet;
	unsigned i;
	size_t size;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		size = make(COT_MSG_ACK, 0);
		ack->status = good[i];
		assert_int_equal(cot_proto_check(packet, size), COT_MSG_ACK);
		ack->status = bad[i];
		assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
		size = make(COT_MSG_WORK_DONE, 0);
		done->work = 1;
		done->status = good[i];
		assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_DONE);
		done->status = bad[i];
		assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	}
}

static void test_work_counts(void **state)
{
	struct cot_msg_work_counts *m = (struct cot_msg_work_counts *)packet;
	size_t one = sizeof(m->reasons[0]);
	size_t size = make(COT_MSG_WORK_COUNTS, 2 * one);

	(void)state;
	m->n_reasons = 2;
	memcpy(m->reasons[0].name, "cooperative", 12);
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_COUNTS);
	m->n_reasons = 3;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	m->n_reasons = 2;
	m->reasons[0].name[0] = '\n';
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	m->reasons[0].name[0] = '~';
	m->reasons[1].name[0] = ' ';
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_WORK_COUNTS);
	m->reasons[1].name[0] = '\n';
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	memset(m->reasons[1].name, 'a', sizeof(m->reasons[1].name));
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	size = make(COT_MSG_WORK_COUNTS, (COT_PROTO_REASONS_MAX + 1) * one);
	m->n_reasons = COT_PROTO_REASONS_MAX + 1;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	m->n_reasons = UINT32_MAX;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

static void parts(uint32_t n_sms, uint32_t unit, int32_t status, int result)
{
	struct cot_msg_parts *m = (struct cot_msg_parts *)packet;
	size_t size = make(COT_MSG_PARTS, 0);

	m->n_sms = n_sms;
	m->unit = unit;
	m->status = status;
	assert_int_equal(cot_proto_check(packet, size), result);
}

/* Who can be placed says in which units; who cannot says why, and nothing else. */
static void test_parts(void **state)
{
	(void)state;
	parts(132, 8, 0, COT_MSG_PARTS);
	parts(COT_SMS_MAX, COT_SMS_MAX, 0, COT_MSG_PARTS);
	parts(COT_SMS_MAX + 1, 8, 0, -EBADMSG);
	parts(132, 0, 0, -EBADMSG);
	parts(132, 133, 0, -EBADMSG);
	parts(0, 0, 0, -EBADMSG);
	parts(0, 0, -ENOTSUP, COT_MSG_PARTS);
	parts(132, 0, -ENOTSUP, -EBADMSG);
	parts(0, 8, -ENOTSUP, -EBADMSG);
	parts(0, 0, 1, -EBADMSG);
	parts(0, 0, -4096, -EBADMSG);
}

static void n_units(size_t size, uint32_t said, uint32_t expected, int result)
{
	struct cot_msg_parts *m = (struct cot_msg_parts *)packet;

	m->h.length = (uint32_t)size;
	m->n_sms = 132;
	m->unit = 8;
	m->n_units = said;
	assert_int_equal(cot_proto_check(packet, size), result);
	if (result > 0)
		assert_int_equal(cot_msg_parts_n_units(m), expected);
}

/* How many whole units there are; who does not say has as many as fit. */
static void test_parts_units(void **state)
{
	struct cot_msg_parts *m = (struct cot_msg_parts *)packet;
	size_t old = make(COT_MSG_PARTS, 0), new = sizeof(*m);

	(void)state;
	assert_int_equal(old, 32);
	n_units(new, 15, 15, COT_MSG_PARTS);
	n_units(new, 1, 1, COT_MSG_PARTS);
	n_units(new, 16, 16, COT_MSG_PARTS);
	n_units(new, 17, 0, -EBADMSG);
	n_units(new, UINT32_MAX, 0, -EBADMSG);
	n_units(new, 0, 16, COT_MSG_PARTS);
	/* Of an older shim these bytes are not in the packet. */
	n_units(old, 15, 16, COT_MSG_PARTS);
	n_units(old, UINT32_MAX, 16, COT_MSG_PARTS);
	m->h.length = (uint32_t) new;
	m->n_sms = m->unit = 0;
	m->status = -ENOTSUP;
	m->n_units = 1;
	assert_int_equal(cot_proto_check(packet, new), -EBADMSG);
}

/* What it keeps from the time of another daemon. */
static void test_parts_pace(void **state)
{
	struct cot_msg_parts *m = (struct cot_msg_parts *)packet;
	size_t size = make(COT_MSG_PARTS, 0);

	(void)state;
	m->n_sms = 132;
	m->unit = 8;
	m->pace_us = COT_PACE_US_MAX;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_PARTS);
	m->pace_us++;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	size = make(COT_MSG_PACE_COUNTS, 0);
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_PACE_COUNTS);
}

static void place(uint16_t first, uint16_t n, uint32_t pace_us, int is_good)
{
	struct cot_msg_place *m = (struct cot_msg_place *)packet;
	size_t size = make(COT_MSG_PLACE, 0);

	m->first = first;
	m->n = n;
	m->pace_us = pace_us;
	assert_int_equal(cot_proto_check(packet, size), is_good ? COT_MSG_PLACE : -EBADMSG);
	m->h.seq = 0;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

/* What an older peer does not send is 0, whatever comes behind its packet. */
static void test_older_parts(void **state)
{
	struct cot_msg_place *m = (struct cot_msg_place *)packet;
	struct cot_msg_pace_counts counts;

	(void)state;
	(void)make(COT_MSG_PLACE, sizeof(*m) - COT_PROTO_PLACE_MIN);
	m->flags = COT_PLACE_HOLD;
	assert_int_equal(cot_msg_place_flags(m), COT_PLACE_HOLD);
	m->h.length--;
	assert_int_equal(cot_msg_place_flags(m), 0);
	(void)make(COT_MSG_PACE_COUNTS, sizeof(counts) - COT_PROTO_PACE_COUNTS_MIN);
	((struct cot_msg_pace_counts *)packet)->n_failed = 6;
	((struct cot_msg_pace_counts *)packet)->n_lapsed = 7;
	((struct cot_msg_pace_counts *)packet)->n_cpu_not = 8;
	((struct cot_msg_pace_counts *)packet)->copies_ns = 9;
	((struct cot_msg_pace_counts *)packet)->n_unmerged = 10;
	((struct cot_msg_pace_counts *)packet)->n_templates_not_kept = 11;
	((struct cot_msg_pace_counts *)packet)->n_attached = 1;
	((struct cot_msg_pace_counts *)packet)->gpu_wait_ns = 12;
	cot_proto_read_pace_counts((const void *)packet, &counts);
	assert_int_equal(counts.n_lapsed, 7);
	assert_int_equal(counts.n_cpu_not, 8);
	assert_int_equal(counts.copies_ns, 9);
	assert_int_equal(counts.n_unmerged, 10);
	assert_int_equal(counts.n_templates_not_kept, 11);
	assert_int_equal(counts.n_attached, 1);
	assert_int_equal(counts.gpu_wait_ns, 12);
	header()->length--;
	cot_proto_read_pace_counts((const void *)packet, &counts);
	assert_int_equal(counts.gpu_wait_ns, 0);
	assert_int_equal(counts.n_attached, 1);
	header()->length = (uint32_t)offsetof(struct cot_msg_pace_counts, n_gpu_waits) - 1;
	cot_proto_read_pace_counts((const void *)packet, &counts);
	assert_int_equal(counts.n_attached, 0);
	assert_int_equal(counts.n_templates_not_kept, 11);
	header()->length = (uint32_t)offsetof(struct cot_msg_pace_counts, n_attached) - 1;
	cot_proto_read_pace_counts((const void *)packet, &counts);
	assert_int_equal(counts.n_unmerged, 10);
	assert_int_equal(counts.n_templates_not_kept, 0);
	header()->length = (uint32_t)offsetof(struct cot_msg_pace_counts, n_templates_found) - 1;
	cot_proto_read_pace_counts((const void *)packet, &counts);
	assert_int_equal(counts.copies_ns, 9);
	assert_int_equal(counts.n_unmerged, 0);
	header()->length = (uint32_t)offsetof(struct cot_msg_pace_counts, n_merged) - 1;
	cot_proto_read_pace_counts((const void *)packet, &counts);
	assert_int_equal(counts.n_lapsed, 7);
	assert_int_equal(counts.n_cpu_not, 0);
	header()->length = (uint32_t)offsetof(struct cot_msg_pace_counts, n_cpu) - 1;
	cot_proto_read_pace_counts((const void *)packet, &counts);
	assert_int_equal(counts.n_failed, 6);
	assert_int_equal(counts.n_lapsed, 0);
}

static void placed(int32_t status, uint16_t first, uint16_t n, int is_good)
{
	struct cot_msg_placed *m = (struct cot_msg_placed *)packet;
	size_t size = make(COT_MSG_PLACED, 0);

	m->status = status;
	m->first = first;
	m->n = n;
	assert_int_equal(cot_proto_check(packet, size), is_good ? COT_MSG_PLACED : -EBADMSG);
	m->h.seq = 0; /* said without being asked */
	assert_int_equal(cot_proto_check(packet, size), is_good ? COT_MSG_PLACED : -EBADMSG);
}

/* A range ends on a GPU that there may be. */
static void test_place(void **state)
{
	(void)state;
	place(0, 0, 0, 1);
	place(64, 68, COT_PACE_US_MAX, 1);
	place(64, 68, COT_PACE_US_MAX + 1, 0);
	place(0, COT_SMS_MAX, 0, 1);
	place(1, COT_SMS_MAX, 0, 0);
	place(UINT16_MAX, UINT16_MAX, 0, 0);
	placed(0, 64, 68, 1);
	placed(-EINVAL, 0, 0, 1);
	placed(1, 0, 0, 0);
	placed(0, COT_SMS_MAX, 1, 0);
	placed(0, UINT16_MAX, 1, 0);
}

static void expect_bad(size_t size)
{
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

static void test_queries(void **state)
{
	struct cot_msg_query_begin *begin = (struct cot_msg_query_begin *)packet;
	struct cot_msg_query_tasks *tasks = (struct cot_msg_query_tasks *)packet;
	struct cot_msg_query_end *end = (struct cot_msg_query_end *)packet;
	size_t size = make(COT_MSG_QUERY_BEGIN, 0);

	(void)state;
	begin->arrived_ns = begin->began_ns;
	begin->in_ns = 3600 * COT_NS_PER_S;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_QUERY_BEGIN);
	begin->in_ns++;
	expect_bad(size);
	begin->in_ns = 0;
	begin->arrived_ns++;
	expect_bad(size);
	begin->arrived_ns = begin->began_ns = 0;
	expect_bad(size);
	begin->began_ns = 1;
	begin->query = 0;
	expect_bad(size);
	size = make(COT_MSG_QUERY_TASKS, 0);
	tasks->n_done = 0;
	expect_bad(size);
	tasks->n_done = 1;
	tasks->done_ns = 0;
	expect_bad(size);
	size = make(COT_MSG_QUERY_TASKS, 0);
	tasks->query = 0;
	expect_bad(size);
	size = make(COT_MSG_QUERY_END, 0);
	end->query = 0;
	expect_bad(size);
	end->query = 1;
	end->ended_ns = 0;
	expect_bad(size);
}

static void test_copies(void **state)
{
	struct cot_msg_query_copy *copy = (struct cot_msg_query_copy *)packet;
	struct cot_msg_copies *copies = (struct cot_msg_copies *)packet;
	size_t size = make(COT_MSG_QUERY_COPY, 0);

	(void)state;
	copy->for_ns = COT_PROTO_COPIES_NS;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_QUERY_COPY);
	copy->for_ns++;
	expect_bad(size);
	copy->for_ns = 0;
	expect_bad(size);
	copy->for_ns = 1;
	copy->query = 1; /* one that goes in has none yet */
	expect_bad(size);
	copy->way = COT_WAY_OUT;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_QUERY_COPY);
	copy->query = 0;
	expect_bad(size);
	copy->query = 1;
	copy->way = COT_WAYS;
	expect_bad(size);
	size = make(COT_MSG_COPIES, 0);
	copies->way = COT_WAY_OUT;
	copies->for_ns = COT_PROTO_COPIES_NS;
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_COPIES);
	copies->for_ns++;
	expect_bad(size);
	copies->for_ns = 0;
	copies->way = COT_WAYS;
	expect_bad(size);
}

static void test_part_counts(void **state)
{
	struct cot_msg_part_counts *m = (struct cot_msg_part_counts *)packet;
	size_t size = make(COT_MSG_PART_COUNTS, 2 * sizeof(m->reasons[0]));

	(void)state;
	m->n_reasons = 2;
	memcpy(m->reasons[1].name, "cooperative", 12);
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_PART_COUNTS);
	m->reasons[1].name[0] = '\t';
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	m->reasons[1].name[0] = 'c';
	m->n_reasons = 3;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
	m->n_reasons = UINT32_MAX;
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

/* What a packet of this length with such a target is. */
static int with_target(enum cot_msg_type type, size_t size, uint32_t kind, uint32_t amount)
{
	const struct cot_proto_target target = {kind, amount};

	memset(packet, 0, sizeof(packet));
	cot_proto_header(header(), type, (uint32_t)size, 7);
	memcpy(packet + cot_proto_min_size(type), &target, sizeof(target));
	return cot_proto_check(packet, size);
}

/* Older clients send no target; half of one is none. */
static void test_targets(void **state)
{
	static const enum cot_msg_type types[] = {COT_MSG_REGISTER, COT_MSG_COMMAND};
	struct cot_msg_register reg;
	struct cot_msg_command command;
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		size_t least = cot_proto_min_size(types[i]);
		size_t all = types[i] == COT_MSG_REGISTER ? sizeof(reg) : sizeof(command);

		assert_int_equal(with_target(types[i], all, COT_TARGET_P99, 5000), types[i]);
		assert_int_equal(with_target(types[i], all, COT_TARGET_RATE, 1000), types[i]);
		assert_int_equal(with_target(types[i], all, COT_TARGET_RATE, 1001), -EBADMSG);
		assert_int_equal(with_target(types[i], all, COT_TARGET_P99, 0), -EBADMSG);
		assert_int_equal(with_target(types[i], all, COT_TARGET_NONE, 1), -EBADMSG);
		assert_int_equal(with_target(types[i], all, 4, 5), -EBADMSG);
		assert_int_equal(with_target(types[i], all, UINT32_MAX, 5), -EBADMSG);
		assert_int_equal(with_target(types[i], all - 1, 4, 5), types[i]);
		assert_int_equal(with_target(types[i], least, 4, 5), types[i]);
	}
	for (i = 0; i < 2; i++) {
		uint32_t *register_us = &((struct cot_msg_register *)packet)->pace_us;
		uint32_t *command_us = &((struct cot_msg_command *)packet)->pace_us;
		size_t all = types[i] == COT_MSG_REGISTER ? sizeof(reg) : sizeof(command);

		(void)with_target(types[i], all, COT_TARGET_NONE, 0);
		*(i ? command_us : register_us) = COT_PACE_US_MAX;
		assert_int_equal(cot_proto_check(packet, all), types[i]);
		++*(i ? command_us : register_us);
		assert_int_equal(cot_proto_check(packet, all), -EBADMSG);
	}
	(void)with_target(COT_MSG_REGISTER, sizeof(reg), COT_TARGET_P99, 5000);
	cot_proto_read_register((const void *)packet, &reg);
	assert_int_equal(cot_proto_unpack_target(reg.target).kind, COT_TARGET_P99);
	assert_int_equal(cot_proto_unpack_target(reg.target).amount, 5000);
	(void)with_target(COT_MSG_REGISTER, sizeof(reg) - 1, COT_TARGET_P99, 5000);
	cot_proto_read_register((const void *)packet, &reg);
	assert_int_equal(reg.target.kind, COT_TARGET_NONE);
	(void)with_target(COT_MSG_COMMAND, sizeof(command), COT_TARGET_RATE, 800);
	cot_proto_read_command((const void *)packet, &command);
	assert_int_equal(command.target.kind, COT_TARGET_RATE);
	(void)with_target(COT_MSG_COMMAND, COT_PROTO_COMMAND_MIN, COT_TARGET_RATE, 800);
	cot_proto_read_command((const void *)packet, &command);
	assert_int_equal(command.target.kind, COT_TARGET_NONE);
	assert_int_equal(command.target.amount, 0);
}

static void test_types_beyond_the_table(void **state)
{
	(void)state;
	assert_int_equal(cot_proto_min_size(0), 0);
	assert_int_equal(cot_proto_min_size(38), 0);
	assert_int_equal(cot_proto_min_size(UINT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_unknown_type_is_ignored),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_strings_must_end),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_kernel_names),
		cmocka_unit_test(test_work_numbers),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_work_counts),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_older_parts),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_parts_units),
		cmocka_unit_test(test_parts_pace),
		cmocka_unit_test(test_part_counts),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_types_beyond_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
