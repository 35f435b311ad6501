/* Matrix instructions of the PTX interpreter against sums in plain C. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "test.h"
#include "unit/emu/exec/exec_helper.h"

/* A whole number from -8 to 8 as a half. */
static uint16_t half_of(int v)
{
	static const uint16_t table[] = {0,	 0x3c00, 0x4000, 0x4200, 0x4400,
					 0x4500, 0x4600, 0x4700, 0x4800};

	return (uint16_t)(v < 0 ? table[-v] | 0x8000 : table[v]);
}

static int small(struct cot_rng *rng)
{
	return (int)cot_rng_below(rng, 17) - 8;
}

/* m x k times k x n; b is kept by columns. */
struct product {
	int m, n, k;
	int a[32][32], b[32][32], c[32][32];
};

static void make(struct product *p, int m, int n, int k, uint64_t seed)
{
	struct cot_rng rng = {seed};
	int i, j;

	memset(p, 0, sizeof(*p));
	p->m = m;
	p->n = n;
	p->k = k;
	for (i = 0; i < 32; i++) {
		for (j = 0; j < 32; j++) {
			p->a[i][j] = small(&rng);
			p->b[i][j] = small(&rng);
			p->c[i][j] = small(&rng);
		}
	}
}

static int want(const struct product *p, int row, int col)
{
	int sum = p->c[row][col], k;

	for (k = 0; k < p->k; k++)
		sum += p->a[row][k] * p->b[col][k];
	return sum;
}

/* out, a by rows, b by columns, c by rows: pointers of the kernel */
#define KERNEL                                                                                   \
	".visible .entry k(.param .u64 out, .param .u64 pa, .param .u64 pb, .param .u64 pc) {\n" \
	".reg .b32 %r<60>; .reg .b64 %d<20>; .reg .f32 %f<40>;\n"                                \
	"ld.param.u64 %d1, [out]; ld.param.u64 %d2, [pa]; ld.param.u64 %d3, [pb];\n"             \
	"ld.param.u64 %d4, [pc]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 2; and.b32 %r3, %r1, 3;\n"

/* The place of c0 and c1 of a lane in a matrix of 8 columns of 4 bytes: row %r2, column 2 * %r3 */
#define PLACE_C                                                                           \
	"mad.lo.u32 %r4, %r2, 8, %r3; add.u32 %r4, %r4, %r3; mul.wide.u32 %d5, %r4, 4;\n" \
	"add.u64 %d6, %d1, %d5; add.u64 %d7, %d4, %d5;\n"

static void test_mma_halves(void **state)
{
	/* The fragments are brought by ldmatrix, whose layout is that of mma. */
	static const char ptx[] =
		".shared .align 16 .b8 sa[512]; .shared .align 16 .b8 sb[256];\n" KERNEL PLACE_C
		"mov.u32 %r10, sa; mov.u32 %r11, sb; mad.lo.u32 %r12, %r1, 16, %r10;\n"
		"mul.wide.u32 %d8, %r1, 16; add.u64 %d9, %d2, %d8;\n"
		"ld.global.v4.u32 {%r20,%r21,%r22,%r23}, [%d9]; st.shared.v4.u32 [%r12], {%r20,%r21,%r22,%r23};\n"
		"mad.lo.u32 %r13, %r1, 8, %r11; mul.wide.u32 %d8, %r1, 8; add.u64 %d9, %d3, %d8;\n"
		"ld.global.v2.u32 {%r20,%r21}, [%d9]; st.shared.v2.u32 [%r13], {%r20,%r21}; bar.sync 0;\n"
		"and.b32 %r14, %r1, 15; shr.u32 %r15, %r1, 4; mad.lo.u32 %r16, %r14, 32, %r10;\n"
		"mad.lo.u32 %r16, %r15, 16, %r16;\n"
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r30,%r31,%r32,%r33}, [%r16];\n"
		"and.b32 %r14, %r1, 7; shr.u32 %r15, %r1, 3; and.b32 %r15, %r15, 1;\n"
		"mad.lo.u32 %r16, %r14, 32, %r11; mad.lo.u32 %r16, %r15, 16, %r16;\n"
		"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r34,%r35}, [%r16];\n"
		"ld.global.v2.f32 {%f1,%f2}, [%d7]; ld.global.v2.f32 {%f3,%f4}, [%d7+256];\n"
		"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5,%f6,%f7,%f8},"
		"{%r30,%r31,%r32,%r33}, {%r34,%r35}, {%f1,%f2,%f3,%f4};\n"
		"st.global.v2.f32 [%d6], {%f5,%f6}; st.global.v2.f32 [%d6+256], {%f7,%f8}; ret; }\n";
	struct product p;
	struct exec_test t;
	uint16_t(*a)[16], (*b)[16];
	float(*c)[8], (*out)[8];
	int i, j;

	(void)state;
	make(&p, 16, 8, 16, 1);
	exec_load_body(&t, ptx);
	out = exec_alloc(&t, 16 * 8 * 4);
	a = exec_alloc(&t, 16 * 16 * 2);
	b = exec_alloc(&t, 8 * 16 * 2);
	c = exec_alloc(&t, 16 * 8 * 4);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 16; j++)
			a[i][j] = half_of(p.a[i][j]);
	for (i = 0; i < 8; i++)
		for (j = 0; j < 16; j++)
			b[i][j] = half_of(p.b[i][j]);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++)
			c[i][j] = (float)p.c[i][j];
	exec_arg_ptr(&t, 0, out);
	exec_arg_ptr(&t, 1, a);
	exec_arg_ptr(&t, 2, b);
	exec_arg_ptr(&t, 3, c);
	if (exec_run(&t, 1, 32, 1))
		fail_msg("%s", t.fault.text);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++)
			assert_int_equal((int)out[i][j], want(&p, i, j));
	exec_unload(&t);
}

static void test_mma_bytes(void **state)
{
	/* A register holds four bytes of a row: a0 is row g, a1 row g + 8, a2 and a3 16 columns on.
	 */
	static const char ptx[] = KERNEL PLACE_C
		"mul.lo.u32 %r5, %r2, 32; mad.lo.u32 %r5, %r3, 4, %r5; cvt.u64.u32 %d8, %r5;\n"
		"add.u64 %d9, %d2, %d8; add.u64 %d10, %d3, %d8;\n"
		"ld.global.u32 %r20, [%d9]; ld.global.u32 %r21, [%d9+256]; ld.global.u32 %r22, [%d9+16];\n"
		"ld.global.u32 %r23, [%d9+272]; ld.global.u32 %r24, [%d10]; ld.global.u32 %r25, [%d10+16];\n"
		"ld.global.v2.u32 {%r30,%r31}, [%d7]; ld.global.v2.u32 {%r32,%r33}, [%d7+256];\n"
		"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r40,%r41,%r42,%r43},"
		"{%r20,%r21,%r22,%r23}, {%r24,%r25}, {%r30,%r31,%r32,%r33};\n"
		"st.global.v2.u32 [%d6], {%r40,%r41}; st.global.v2.u32 [%d6+256], {%r42,%r43}; ret; }\n";
	struct product p;
	struct exec_test t;
	int8_t(*a)[32], (*b)[32];
	int32_t(*c)[8], (*out)[8];
	int i, j;

	(void)state;
	make(&p, 16, 8, 32, 2);
	exec_load_body(&t, ptx);
	out = exec_alloc(&t, 16 * 8 * 4);
	a = exec_alloc(&t, 16 * 32);
	b = exec_alloc(&t, 8 * 32);
	c = exec_alloc(&t, 16 * 8 * 4);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 32; j++)
			a[i][j] = (int8_t)p.a[i][j];
	for (i = 0; i < 8; i++)
		for (j = 0; j < 32; j++)
			b[i][j] = (int8_t)p.b[i][j];
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++)
			c[i][j] = p.c[i][j];
	exec_arg_ptr(&t, 0, out);
	exec_arg_ptr(&t, 1, a);
	exec_arg_ptr(&t, 2, b);
	exec_arg_ptr(&t, 3, c);
	if (exec_run(&t, 1, 32, 1))
		fail_msg("%s", t.fault.text);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++)
			assert_int_equal(out[i][j], want(&p, i, j));
	exec_unload(&t);
}

/* The shape stands in the place of each ~, and the length of a row of c in that of each @. */
static void fill_in(char *out, size_t size, const char *form, const char *shape, int n)
{
	size_t at = 0;

	for (; *form && at + 16 < size; form++) {
		if (*form == '~')
			at += (size_t)snprintf(out + at, size - at, "%s", shape);
		else if (*form == '@')
			at += (size_t)snprintf(out + at, size - at, "%d", n);
		else
			out[at++] = *form;
	}
	out[at] = '\0';
}

#define EIGHT(x) "{" x "0," x "1," x "2," x "3," x "4," x "5," x "6," x "7}"

static void run_wmma(int m, int n, const char *shape)
{
	static const char form[] = KERNEL "wmma.load.a.sync.aligned.row.~.global.f16 " EIGHT(
		"%r1") ", [%d2], 16;\n"
		       "wmma.load.b.sync.aligned.col.~.global.f16 " EIGHT(
			       "%r2") ", [%d3];\n"
				      "wmma.load.c.sync.aligned.row.~.global.f32 " EIGHT(
					      "%f1") ", [%d4], @;\n"
						     "wmma.mma.sync.aligned.row.col.~.f32.f32 " EIGHT("%f2") ", " EIGHT(
							     "%r1") ", " EIGHT("%r2") ", " EIGHT("%f1") ";\n"
													"wmma.store.d.sync.aligned.row.~.global.f32 [%d1], " EIGHT(
														"%f2") ", @; ret; }\n";
	char ptx[2 * sizeof(form)];
	struct exec_test t;
	struct product p;
	uint16_t *a, *b;
	float *c, *out;
	int i, j;

	make(&p, m, n, 16, 3);
	fill_in(ptx, sizeof(ptx), form, shape, n);
	exec_load_body(&t, ptx);
	a = exec_alloc(&t, (size_t)m * 16 * 2);
	b = exec_alloc(&t, (size_t)n * 16 * 2);
	c = exec_alloc(&t, (size_t)m * n * 4);
	out = exec_alloc(&t, (size_t)m * n * 4);
	for (i = 0; i < m * 16; i++)
		a[i] = half_of(p.a[i / 16][i % 16]);
	for (i = 0; i < n * 16; i++)
		b[i] = half_of(p.b[i / 16][i % 16]);
	for (i = 0; i < m * n; i++)
		c[i] = (float)p.c[i / n][i % n];
	exec_arg_ptr(&t, 0, out);
	exec_arg_ptr(&t, 1, a);
	exec_arg_ptr(&t, 2, b);
	exec_arg_ptr(&t, 3, c);
	if (exec_run(&t, 1, 32, 1))
		fail_msg("%s", t.fault.text);
	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++)
			assert_int_equal((int)out[i * n + j], want(&p, i, j));
	exec_unload(&t);
}

static void test_wmma(void **state)
{
	(void)state;
	run_wmma(16, 16, "m16n16k16");
	run_wmma(32, 8, "m32n8k16");
	run_wmma(8, 32, "m8n32k16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mma_halves),
		cmocka_unit_test(test_mma_bytes),
		cmocka_unit_test(test_wmma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
