/* Which program or pool of ours a process is, by its environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/found.h"
#include "test.h"

#define SOCKET "/run/cotenant/cotenantd.sock"
/* sizeof counts the last NUL, as the kernel does. */
#define PARSE(block, f) cot_found_parse(block, sizeof(block), SOCKET, f)

static void test_program(void **state)
{
	static const char block[] =
		"HOME=/root\0COTENANT_SOCKET=" SOCKET
		"\0COTENANT_TENANT=12\0COTENANT_CLASS=latency\0COTENANT_NAME=serve\0"
		"COTENANT_WEIGHT=70\0COTENANT_BLOCK_US=50\0COTENANT_GPU=1\0"
		"CUDA_MPS_PIPE_DIRECTORY=/run/cotenant/gpu1-latency/pipe";
	struct cot_found f;

	(void)state;
	assert_true(PARSE(block, &f));
	assert_false(f.is_pool);
	assert_int_equal(f.id, 12);
	assert_int_equal(f.cls, COT_CLASS_LATENCY);
	assert_int_equal(f.weight, 70);
	assert_int_equal(f.block_us, 50);
	assert_string_equal(f.name, "serve");
	assert_string_equal(f.gpu, "1");
	assert_string_equal(f.pipe, "/run/cotenant/gpu1-latency/pipe");
}

/* As the daemon tells them: all that a machine may have, by their whole names. */
static void test_many_gpus(void **state)
{
	static const char before[] = "COTENANT_SOCKET=" SOCKET
				     "\0COTENANT_TENANT=12\0COTENANT_CLASS=batch\0COTENANT_GPU=";
	char block[2048], *gpus = block + sizeof(before) - 1;
	struct cot_found f;
	size_t used = 0;
	unsigned i;

	(void)state;
	memcpy(block, before, sizeof(before));
	for (i = 0; i < COT_GPUS_MAX; i++)
		used += (size_t)snprintf(gpus + used, 64, "%sGPU-%08x-0123-4567-89ab-0123456789ab",
					 used ? "," : "", i);
	assert_true(cot_found_parse(block, sizeof(before) + used, SOCKET, &f));
	assert_string_equal(f.gpu, gpus);
}

static void test_pool(void **state)
{
	static const char block[] = "COTENANT_SOCKET=" SOCKET "\0COTENANT_ROLE=pool\0"
				    "COTENANT_POOL=batch\0COTENANT_TENANT=3\0COTENANT_GPU=0";
	struct cot_found f;

	(void)state;
	assert_true(PARSE(block, &f));
	assert_true(f.is_pool);
	assert_int_equal(f.id, 3);
	assert_int_equal(f.cls, COT_CLASS_BATCH);
	assert_int_equal(f.weight, COT_WEIGHT_DEFAULT);
}

static void test_shares(void **state)
{
	static const char pool[] = "COTENANT_SOCKET=" SOCKET "\0COTENANT_ROLE=pool\0"
				   "COTENANT_POOL=shared\0COTENANT_TENANT=3\0COTENANT_GPU=0";
	static const char block[] =
		"COTENANT_SOCKET=" SOCKET "\0COTENANT_TENANT=12\0COTENANT_CLASS=latency\0"
		"COTENANT_QUOTA=50%\0COTENANT_RESERVE=66sm\0COTENANT_SMS=25%\0"
		"COTENANT_PACE_US=500\0COTENANT_PARTS=1\0COTENANT_COMMAND=4294967295";
	struct cot_found f;

	(void)state;
	assert_true(PARSE(pool, &f));
	assert_true(f.is_pool && f.shared);
	assert_int_equal(f.cls, COT_CLASS_BATCH);
	assert_true(PARSE(block, &f));
	assert_false(f.shared);
	assert_int_equal(f.quota, 50);
	assert_int_equal(f.reserve, COT_SHARE_SMS | 66);
	assert_int_equal(f.sms, 25);
	assert_int_equal(f.parts, 1);
	assert_int_equal(f.pace_us, 500);
	assert_int_equal(f.command, UINT32_MAX);
}

static void test_targets(void **state)
{
#define BLOCK(more) "COTENANT_SOCKET=" SOCKET "\0COTENANT_TENANT=12\0COTENANT_CLASS=latency\0" more
	static const char p99[] = BLOCK("COTENANT_P99=5ms\0COTENANT_REQUESTS=1");
	static const char slowdown[] = BLOCK("COTENANT_SLOWDOWN=1.5x\0COTENANT_REQUESTS=0");
	static const char rate[] = BLOCK("COTENANT_RATE=80%\0COTENANT_P99=\0COTENANT_REQUESTS=");
	static const char two[] = BLOCK("COTENANT_P99=5ms\0COTENANT_RATE=80%");
	static const char wrong[] = BLOCK("COTENANT_P99=5");
	static const char batch[] = "COTENANT_SOCKET=" SOCKET "\0COTENANT_TENANT=12\0"
				    "COTENANT_CLASS=batch\0COTENANT_P99=5ms";
	struct cot_found f;

	(void)state;
	assert_true(PARSE(p99, &f));
	assert_int_equal(f.target.kind, COT_TARGET_P99);
	assert_int_equal(f.target.amount, 5000);
	assert_true(f.measured);
	assert_true(PARSE(slowdown, &f));
	assert_int_equal(f.target.kind, COT_TARGET_SLOWDOWN);
	assert_false(f.measured);
	assert_true(PARSE(rate, &f));
	assert_int_equal(f.target.kind, COT_TARGET_RATE);
	assert_int_equal(f.target.amount, 800);
	assert_false(f.measured);
	assert_false(PARSE(two, &f));
	assert_false(PARSE(wrong, &f));
	assert_false(PARSE(batch, &f));
#undef BLOCK
}

static void test_nothing_of_ours(void **state)
{
	static const char *const blocks[] = {
		/* another daemon's; its socket's name goes on */
		"COTENANT_SOCKET=" SOCKET "2\nCOTENANT_TENANT=1\nCOTENANT_CLASS=batch",
		"XCOTENANT_SOCKET=" SOCKET "\nCOTENANT_TENANT=1\nCOTENANT_CLASS=batch",
		/* no number, and wrong ones */
		"COTENANT_SOCKET=" SOCKET "\nCOTENANT_CLASS=batch",
		"COTENANT_SOCKET=" SOCKET "\nCOTENANT_TENANT=0\nCOTENANT_CLASS=batch",
		"COTENANT_SOCKET=" SOCKET "\nCOTENANT_TENANT=2147483648\nCOTENANT_CLASS=batch",
		"COTENANT_SOCKET=" SOCKET "\nCOTENANT_TENANT=-1\nCOTENANT_CLASS=batch",
		"COTENANT_SOCKET=" SOCKET
		"\nCOTENANT_TENANT=1\nCOTENANT_CLASS=batch\nCOTENANT_QUOTA=101%",
		/* no class, and a wrong one; no program is shared */
		"COTENANT_SOCKET=" SOCKET "\nCOTENANT_TENANT=1\nCOTENANT_CLASS=shared",
		"COTENANT_SOCKET=" SOCKET "\nCOTENANT_TENANT=1",
		"COTENANT_SOCKET=" SOCKET "\nCOTENANT_TENANT=1\nCOTENANT_CLASS=bath",
		"COTENANT_SOCKET=" SOCKET
		"\nCOTENANT_TENANT=1\nCOTENANT_ROLE=pool\nCOTENANT_CLASS=batch",
		"COTENANT_SOCKET=" SOCKET
		"\nCOTENANT_TENANT=1\nCOTENANT_CLASS=batch\nCOTENANT_WEIGHT=0",
		"COTENANT_SOCKET=" SOCKET
		"\nCOTENANT_TENANT=1\nCOTENANT_CLASS=batch\nCOTENANT_BLOCK_US=1000000001",
		"COTENANT_SOCKET=" SOCKET
		"\nCOTENANT_TENANT=1\nCOTENANT_CLASS=batch\nCOTENANT_NAME="
		"a name of one byte more than a program may have, with its NUL, 6",
		"",
	};
	struct cot_found f = {.id = 77};
	char block[512];
	unsigned i;
	size_t n, j;

	(void)state;
	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		n = strlen(blocks[i]) + 1;
		for (j = 0; j < n; j++)
			block[j] = blocks[i][j] == '\n' ? '\0' : blocks[i][j];
		assert_false(cot_found_parse(block, n, SOCKET, &f));
	}
	assert_int_equal(f.id, 77); /* written on success only */
}

/* The last variable was cut off: it may be another one than it seems. */
static void test_cut(void **state)
{
	static const char block[] =
		"COTENANT_SOCKET=" SOCKET "\0COTENANT_CLASS=batch\0COTENANT_TENANT=12";
	struct cot_found f;
	size_t n;

	(void)state;
	assert_true(PARSE(block, &f));
	for (n = 0; n < sizeof(block); n++)
		assert_false(cot_found_parse(block, n, SOCKET, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program), cmocka_unit_test(test_many_gpus),
		cmocka_unit_test(test_pool),	cmocka_unit_test(test_shares),
		cmocka_unit_test(test_targets), cmocka_unit_test(test_nothing_of_ours),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
