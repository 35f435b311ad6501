/*
 * The interpreter as a provider of CPU versions of kernels: which kernels it takes, and that it
 * computes what the PTX says on copies. The unit is a shared library's, so its source is here.
 */
#include "emu/cpu/interpreter.c"

#include <stdio.h>

#include "test.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static int open_text(const char *body, const char *params, void **ret_kernel)
{
	char text[2048];
	const struct cot_cpu_code code = {"k", text, 0};
	struct cot_cpu_code with = code;

	(void)snprintf(text, sizeof(text),
		       HEAD
		       "%s.visible .entry k(%s)\n{\n"
		       ".reg .pred %%p<4>; .reg .b32 %%r<8>; .reg .b64 %%rd<8>; .reg .f64 %%d<4>;\n"
		       "%s\nret;\n}\n",
		       strstr(body, "outside") ? ".global .u32 outside;\n" : "", params, body);
	with.ptx_length = strlen(text);
	return cot_cpu_provider()->open(&with, ret_kernel);
}

static void which_kernels(void **state)
{
	static const struct {
		const char *body, *params;
		uint32_t grain; /* 0: it is refused */
	} k[] = {
		{"ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], %r1;", ".param .u64 a", 4},
		{"ld.param.u64 %rd1, [a]; st.global.f64 [%rd1], %d1;", ".param .u64 a", 8},
		{"ld.param.u64 %rd1, [a]; st.global.f64 [%rd1], %d1; st.u8 [%rd1], %r1;",
		 ".param .u64 a", 1},
		{"ld.param.u64 %rd1, [a]; ld.global.f64 %d1, [%rd1];", ".param .u64 a", GRAIN_MAX},
		{"ld.param.u64 %rd1, [a]; ld.global.u8 %r1, [%rd1];", ".param .u64 a", GRAIN_MAX},
		{"ld.param.u64 %rd1, [a]; atom.global.add.u32 %r1, [%rd1], %r2;", ".param .u64 a",
		 4},
		/* Addresses from memory, or in it; or what could be halves of one. */
		{"ld.param.u64 %rd1, [a]; ld.global.u64 %rd2, [%rd1];", ".param .u64 a", 0},
		{"ld.param.u64 %rd1, [a]; st.global.b64 [%rd1], %rd1;", ".param .u64 a", 0},
		{"ld.param.u64 %rd1, [a]; atom.add.u64 %rd2, [%rd1], %rd1;", ".param .u64 a", 0},
		{"mov.b64 %rd1, {%r1, %r2};", ".param .u64 a", 0},
		/* A structure may hold some; a variable is the GPU's. */
		{"", ".param .align 8 .b8 a[16]", 0},
		{"mov.u32 %r1, 1; st.global.u32 [outside], %r1;", ".param .u64 a", 0},
		/* It may wait for another block. */
		{"ld.param.u64 %rd1, [a]; l: ld.volatile.global.u32 %r1, [%rd1];"
		 "setp.eq.u32 %p1, %r1, 0; @%p1 bra l;",
		 ".param .u64 a", 0},
		{"this is not PTX", "", 0},
	};
	unsigned i;
	void *kernel;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(k); i++) {
		int rc = open_text(k[i].body, k[i].params, &kernel);

		if (k[i].grain ? rc != 0 : rc != -ENOENT)
			fail_msg("'%s': %d", k[i].body, rc);
		if (rc)
			continue;
		assert_int_equal(((struct kernel *)kernel)->grain, k[i].grain);
		drop(kernel);
	}
	assert_int_equal(cot_cpu_provider()->open(&(struct cot_cpu_code){"k", NULL, 0}, &kernel),
			 -ENOENT);
}

/* ---- running ---- */

#define GPU_AT 0x7f0000000000u
#define WORDS  1024u

static uint32_t words[WORDS];

static int find(uint64_t address, uint64_t *ret_begin, uint64_t *ret_bytes)
{
	if (address - GPU_AT >= sizeof(words))
		return -ENOENT;
	*ret_begin = GPU_AT;
	*ret_bytes = sizeof(words);
	return 0;
}

/* words[i + shift] += more, for as many words as there are threads. */
static const char add_text[] =
	"ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [more]; ld.param.u32 %r5, [shift];\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
	"mad.lo.u32 %r1, %r1, %r2, %r3; add.u32 %r1, %r1, %r5; mul.wide.u32 %rd3, %r1, 4;\n"
	"add.u64 %rd1, %rd1, %rd3; ld.global.u32 %r4, [%rd1]; cvt.u32.u64 %r5, %rd2;\n"
	"add.u32 %r4, %r4, %r5; st.global.u32 [%rd1], %r4;\n";

static int play(void *kernel, uint64_t address, uint64_t more, uint32_t shift, uint32_t n_blocks)
{
	const struct cot_cpu_provider *p = cot_cpu_provider();
	void *params[] = {&address, &more, &shift};
	struct cot_cpu_launch launch = {
		.grid = {n_blocks, 1, 1}, .block = {32, 1, 1}, .params = params};

	if (p->memory(kernel, &launch, find))
		return -EIO;
	assert_int_equal(launch.n_ranges, address - GPU_AT < sizeof(words));
	if (launch.n_ranges) {
		assert_int_equal(launch.ranges[0].address, GPU_AT);
		assert_int_equal(launch.ranges[0].bytes, sizeof(words));
		assert_int_equal(launch.ranges[0].uses, COT_CPU_CHANGES);
		launch.ranges[0].host = words;
	}
	return p->run(kernel, &launch);
}

static void runs(void **state)
{
	void *kernel;
	uint32_t i;

	(void)state;
	assert_int_equal(
		open_text(add_text, ".param .u64 a, .param .u64 more, .param .u32 shift", &kernel),
		0);
	for (i = 0; i < WORDS; i++)
		words[i] = i;
	assert_int_equal(play(kernel, GPU_AT + 64, 5, 0, 3), 0);
	for (i = 0; i < WORDS; i++)
		assert_int_equal(words[i], i + (i >= 16 && i < 16 + 96 ? 5 : 0));
	/* Beyond the allocation, or at an address that is in none: it fails. */
	assert_int_equal(play(kernel, GPU_AT, 5, WORDS - 40, 3), -EFAULT);
	assert_int_equal(play(kernel, 64, 5, 0, 1), -EFAULT);
	/* A launch that is not possible. */
	assert_int_equal(play(kernel, GPU_AT, 5, 0, 0), -EINVAL);
	drop(kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_kernels),
		cmocka_unit_test(runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
