/* Messages: what a receiver must take, ignore and refuse. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "proto/proto.h"

#define N_TYPES 64u

static _Alignas(8) unsigned char packet[COT_PROTO_PACKET_MAX + 8];

static struct cot_msg_header *header(void)
{
	return (struct cot_msg_header *)packet;
}

static size_t make(unsigned type, size_t extra)
{
	size_t size = cot_proto_min_size(type) + extra;

	memset(packet, 0, sizeof(packet));
	cot_proto_header(header(), (enum cot_msg_type)type, (uint32_t)size, 7);
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
	assert_int_equal(n, 15);
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

	size = make(COT_MSG_REGISTERED, 4);
	memcpy(registered->env, "A=b", 4);
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_REGISTERED);
	registered->env[3] = 'c';
	assert_int_equal(cot_proto_check(packet, size), -EBADMSG);
}

static void test_types_beyond_the_table(void **state)
{
	(void)state;
	assert_int_equal(cot_proto_min_size(0), 0);
	assert_int_equal(cot_proto_min_size(37), 0);
	assert_int_equal(cot_proto_min_size(UINT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_unknown_type_is_ignored),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_strings_must_end),
		cmocka_unit_test(test_types_beyond_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
