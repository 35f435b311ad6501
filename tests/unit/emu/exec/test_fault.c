/* What goes wrong in kernels, and what the PTX interpreter says about it; printf; the gate. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "unit/emu/exec/exec_helper.h"

/* The body begins in line 7 of the text. */
#define KERNEL                                                                      \
	".visible .entry k(.param .u64 out) {\n"                                    \
	".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b16 %h<9>;\n" \
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"

struct fault_case {
	const char *text;
	uint32_t n_blocks, n_threads;
	enum cot_exec_fault_kind kind;
	uint32_t block, thread, line;
	const char *says; /* part of the sentence */
};

static const struct fault_case cases[] = {
	{KERNEL "mov.u64 %rd2, 64; ld.global.u32 %r3, [%rd2]; ret; }", 1, 32,
	 COT_EXEC_FAULT_ADDRESS, 0, 0, 7, "0x40"},
	{KERNEL "mul.wide.u32 %rd2, %r1, 16;\nadd.u64 %rd3, %rd1, %rd2; setp.ge.u32 %p1, %r1, 16;\n"
		"@%p1 st.global.u32 [%rd3], %r1; ret; }",
	 2, 32, COT_EXEC_FAULT_ADDRESS, 0, 16, 9, "an invalid write of 4 bytes"},
	{KERNEL "ld.global.u32 %r3, [%rd1+2]; ret; }", 1, 1, COT_EXEC_FAULT_MISALIGNED, 0, 0, 7,
	 "multiple of 4"},
	{KERNEL "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1+8]; ret; }", 1, 1,
	 COT_EXEC_FAULT_MISALIGNED, 0, 0, 7, "multiple of 16"},
	{".shared .align 8 .b8 tile[64];\n" KERNEL
	 "mov.u32 %r3, tile; mad.lo.u32 %r3, %r1, 4, %r3;\n"
	 "st.shared.u32 [%r3], %r1; ret; }",
	 1, 32, COT_EXEC_FAULT_SPACE, 0, 16, 9, "shared memory, which has 64 bytes"},
	{KERNEL ".local .align 4 .b8 mine[16]; mov.u32 %r3, 64; st.local.u32 [%r3], %r1; ret; }", 1,
	 1, COT_EXEC_FAULT_SPACE, 0, 0, 7, "local memory"},
	{KERNEL "setp.eq.u32 %p1, %r1, 3;\n@%p1 trap; ret; }", 1, 32, COT_EXEC_FAULT_TRAP, 0, 3, 8,
	 "trap"},
	/* Half of a block waits at one barrier, half at another: nobody can go on. */
	{KERNEL "setp.ge.u32 %p1, %r1, 32; @%p1 bra B;\nbar.sync 1; ret;\nB: bar.sync 2; ret; }", 1,
	 64, COT_EXEC_FAULT_BARRIER, 0, 0, 8, "barrier 1, where 32 of 64"},
	{KERNEL "setp.ge.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 1, 96; B: ret; }", 1, 64,
	 COT_EXEC_FAULT_BARRIER, 0, 0, 7, "32 of 96"},
	{KERNEL "setp.ge.u32 %p1, %r1, 32; @%p1 bra B;\nbar.sync 1, 64;\nB: bar.sync 1, 32; ret; }",
	 1, 64, COT_EXEC_FAULT_BARRIER, 0, 32, 9, "in line 8 it is for 64"},
	{KERNEL "add.u32 %r3, %r1, 16; bar.sync %r3; ret; }", 1, 1, COT_EXEC_FAULT_BARRIER, 0, 0, 7,
	 "below 16"},
	{KERNEL "bar.sync 0, 48; ret; }", 1, 64, COT_EXEC_FAULT_BARRIER, 0, 0, 7, "multiple of 32"},
	{KERNEL "T: .branchtargets A; brx.idx %r1, T; A: ret; }", 1, 32, COT_EXEC_FAULT_INSTRUCTION,
	 0, 1, 7, "entry 1 of a table of 1"},
	{".func f() { call.uni f; ret; }\n" KERNEL "call.uni f; ret; }", 1, 1, COT_EXEC_FAULT_STACK,
	 0, 0, 4, "no room"},
	{KERNEL "P: .callprototype _ (); call %rd1, P; ret; }", 1, 1, COT_EXEC_FAULT_INSTRUCTION, 0,
	 0, 7, "no such function"},
	/* A lane of the mask can never come: it is at a barrier that needs the others. */
	{KERNEL "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; bar.sync 0; ret;\n"
		"A: bar.warp.sync 0xffffffff; ret; }",
	 1, 32, COT_EXEC_FAULT_BARRIER, 0, 16, 7, "16 of 32"},
};

static void test_faults(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fault_case *c = &cases[i];
		struct exec_test t;

		exec_load_body(&t, c->text);
		exec_arg_ptr(&t, 0, exec_alloc(&t, 256));
		exec_run(&t, c->n_blocks, c->n_threads, 1);
		if (t.fault.kind != c->kind || t.fault.block[0] != c->block ||
		    t.fault.thread[0] != c->thread || t.fault.line != c->line ||
		    !strstr(t.fault.text, c->says))
			fail_msg("case %zu: got %s: %s", i, cot_exec_fault_name(t.fault.kind),
				 t.fault.text);
		assert_string_equal(t.fault.kernel, "k");
		exec_unload(&t);
	}
}

/* Barriers that are executed, and that only the strict check complains about. */
static void test_strict_barriers(void **state)
{
	static const struct fault_case strict[] = {
		{KERNEL
		 "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; bar.sync 0; ret; A: bar.sync 0; ret; }",
		 1, 32, COT_EXEC_FAULT_BARRIER, 0, 0, 7, "part of a warp"},
		{KERNEL "setp.lt.u32 %p1, %r1, 32; @%p1 bra A;\nbarrier.sync 0; ret;\n"
			"A: barrier.red.popc.u32 %r3, 0, %p1; ret; }",
		 1, 64, COT_EXEC_FAULT_BARRIER, 0, 0, 0, "a reduction"},
		{KERNEL "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; barrier.sync 0; ret;\n"
			"A: barrier.sync 0; ret; }",
		 1, 32, COT_EXEC_FAULT_NONE, 0, 0, 0, ""},
		/* The rest of a warp whose other lanes have ended is a whole one. */
		{KERNEL "setp.lt.u32 %p1, %r1, 16; @%p1 exit; bar.sync 0; ret; }", 1, 64,
		 COT_EXEC_FAULT_NONE, 0, 0, 0, ""},
	};
	struct exec_test t;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(strict) / sizeof(strict[0]); i++) {
		exec_load_body(&t, strict[i].text);
		exec_arg_ptr(&t, 0, exec_alloc(&t, 256));
		assert_int_equal(exec_run(&t, 1, strict[i].n_threads, 1), COT_EXEC_FAULT_NONE);
		t.launch.checks = COT_EXEC_CHECK_ALIGNED;
		assert_int_equal(exec_run(&t, 1, strict[i].n_threads, 1), strict[i].kind);
		assert_non_null(strstr(t.fault.text, strict[i].says));
		exec_unload(&t);
	}
}

static void test_read_only(void **state)
{
	static uint32_t words[4] = {1, 2, 3, 4};
	struct exec_test t;

	(void)state;
	exec_load_body(&t, KERNEL "ld.global.u32 %r3, [%rd1]; st.global.u32 [%rd1], %r3; ret; }");
	cot_exec_ranges_add(t.memory, (uint64_t)(uintptr_t)words, sizeof(words), false);
	exec_arg_ptr(&t, 0, words);
	assert_int_equal(exec_run(&t, 1, 1, 1), COT_EXEC_FAULT_ADDRESS);
	assert_non_null(strstr(t.fault.text, "write"));
	exec_unload(&t);
}

/* ---- what is refused ---- */

static void expect_refused(const char *ptx, const char *says)
{
	struct cot_exec_ranges *memory = cot_exec_ranges_create();
	struct cot_exec_module *module = NULL;
	struct cot_error err = {{0}};
	struct cot_exec_run *run = NULL;
	struct cot_exec_launch launch = {.memory = memory,
					 .grid = {1, 1, 1},
					 .block = {1, 1, 1},
					 .args = "12345678",
					 .args_size = 8};

	if (!cot_exec_module_load(memory, ptx, strlen(ptx), "test", 0, &module, &err)) {
		launch.function = cot_exec_module_function(module, 0);
		assert_int_not_equal(cot_exec_start(&launch, &run, &err), 0);
	}
	if (!strstr(err.text, says))
		fail_msg("got: %s", err.text);
	cot_exec_module_unload(module);
	cot_exec_ranges_destroy(memory);
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static void test_refused(void **state)
{
	(void)state;
	expect_refused(".version 8.0\n.target sm_100\n.address_size 64\n", "sm_100");
	expect_refused("nonsense", "test:1");
	expect_refused(HEAD KERNEL "tex.1d.v4.f32.s32 {%r3,%r4,%r5,%r6}, [%rd1, {%r1}]; ret; }",
		       "7");
	expect_refused(HEAD ".extern .func other();\n" KERNEL "call.uni other; ret; }", "other");
	/* What a kernel calls counts as well. */
	expect_refused(HEAD ".func f() { setmaxnreg.inc.sync.aligned.u32 40; ret; }\n" KERNEL
			    "call.uni f; ret; }",
		       "setmaxnreg");
	expect_refused(HEAD ".extern .global .u32 x;\n" KERNEL "mov.u64 %rd2, x; ret; }", "x");
}

static void test_bad_launch(void **state)
{
	struct exec_test t;
	struct cot_error err;
	struct cot_exec_run *run;
	struct cot_exec_launch good, a;

	(void)state;
	exec_load_body(&t, ".visible .entry k(.param .u64 out) .reqntid 64\n"
			   "{ .reg .b32 %r<2>; mov.u32 %r1, %cluster_ctarank; ret; }");
	good = t.launch;
	good.grid[0] = good.grid[1] = good.grid[2] = 1;
	good.block[0] = 64;
	good.block[1] = good.block[2] = 1;
	assert_int_equal(cot_exec_start(&good, &run, &err), 0);
	cot_exec_destroy(run);
	a = good;
	a.block[0] = 32;
	assert_int_not_equal(cot_exec_start(&a, &run, &err), 0);
	a = good;
	a.block[0] = 2048;
	assert_int_not_equal(cot_exec_start(&a, &run, &err), 0);
	a = good;
	a.grid[1] = 0;
	assert_int_not_equal(cot_exec_start(&a, &run, &err), 0);
	a = good;
	a.shared_bytes = COT_EXEC_MAX_SHARED + 1;
	assert_int_not_equal(cot_exec_start(&a, &run, &err), 0);
	a = good;
	a.args_size = 4;
	assert_int_not_equal(cot_exec_start(&a, &run, &err), 0);
	a = good;
	a.cluster[0] = 2;
	assert_int_not_equal(cot_exec_start(&a, &run, &err), 0);
	a = good;
	a.cooperative = true;
	a.grid[0] = 100000;
	assert_int_not_equal(cot_exec_start(&a, &run, &err), 0);
	exec_unload(&t);
}

/* ---- output ---- */

struct output {
	char text[4096];
	size_t n;
};

static void print(void *arg, const char *text, size_t n)
{
	struct output *o = arg;

	assert_true(o->n + n < sizeof(o->text));
	memcpy(o->text + o->n, text, n);
	o->n += n;
}

static void test_printf(void **state)
{
	/* "%d %5.2f [%s] %llx %c%%\n" and "abc" */
	static const char ptx[] =
		".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
		".global .align 1 .b8 fmt[26] = {37,100,32,37,53,46,50,102,32,91,37,115,93,32,37,108,"
		"108,120,32,37,99,37,37,10,0,0};\n"
		".global .align 1 .b8 abc[4] = {97,98,99,0};\n" KERNEL
		".local .align 8 .b8 buf[40]; .reg .b64 %SP, %SPL;\n"
		"mov.u64 %SPL, buf; cvta.local.u64 %SP, %SPL; neg.s32 %r3, %r1;\n"
		"st.local.u32 [%SPL], %r3; mov.f64 %rd2, 0d400921FB54442D18; st.local.b64 [%SPL+8], %rd2;\n"
		"mov.u64 %rd3, abc; cvta.global.u64 %rd3, %rd3; st.local.u64 [%SPL+16], %rd3;\n"
		"mov.u64 %rd4, 0x123456789a; st.local.u64 [%SPL+24], %rd4; mov.u32 %r4, 33;\n"
		"st.local.u32 [%SPL+32], %r4; mov.u64 %rd5, fmt; cvta.global.u64 %rd5, %rd5;\n"
		"{ .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0], %rd5;\n"
		"st.param.b64 [p1], %SP; call.uni (q), vprintf, (p0, p1); ld.param.b32 %r5, [q]; }\n"
		"mul.wide.u32 %rd6, %r1, 4; add.u64 %rd1, %rd1, %rd6; st.global.u32 [%rd1], %r5; ret; }\n";
	static const char want[] = "0  3.14 [abc] 123456789a !%\n-1  3.14 [abc] 123456789a !%\n";
	struct output o = {.n = 0};
	struct exec_test t;
	uint32_t *out;

	(void)state;
	exec_load_body(&t, ptx);
	out = exec_alloc(&t, 64);
	exec_arg_ptr(&t, 0, out);
	t.launch.print = print;
	t.launch.arg = &o;
	if (exec_run(&t, 1, 2, 1))
		fail_msg("%s", t.fault.text);
	o.text[o.n] = '\0';
	assert_string_equal(o.text, want);
	assert_int_equal(out[0] + out[1], sizeof(want) - 1);
	exec_unload(&t);
}

static void test_assert(void **state)
{
	static const char ptx[] =
		".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l,"
		".param .b64 n, .param .b64 s);\n"
		".global .align 1 .b8 m[6] = {120,32,60,32,49,0};\n" KERNEL
		"mov.u64 %rd3, m; cvta.global.u64 %rd3, %rd3; setp.ne.u32 %p1, %r1, 5; @%p1 bra OK;\n"
		"{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
		"st.param.b64 [a], %rd3; st.param.b64 [b], %rd3; st.param.b32 [c], 77;\n"
		"st.param.b64 [d], %rd3; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); }\n"
		"OK: ret; }\n";
	struct output o = {.n = 0};
	struct exec_test t;

	(void)state;
	exec_load_body(&t, ptx);
	t.launch.print = print;
	t.launch.arg = &o;
	assert_int_equal(exec_run(&t, 1, 32, 1), COT_EXEC_FAULT_ASSERT);
	assert_int_equal(t.fault.thread[0], 5);
	o.text[o.n] = '\0';
	assert_non_null(
		strstr(o.text, "x < 1:77: x < 1: block: [0,0,0], thread: [5,0,0] Assertion"));
	exec_unload(&t);
}

/* ---- gate, stop, hook ---- */

struct gate {
	_Atomic int n_enter, n_leave, n_block, n_slice;
	int stop_after; /* slices */
};

static int gate(void *arg, enum cot_exec_at at)
{
	struct gate *g = arg;

	if (at == COT_EXEC_AT_ENTER)
		g->n_enter++;
	if (at == COT_EXEC_AT_LEAVE)
		g->n_leave++;
	if (at == COT_EXEC_AT_BLOCK)
		g->n_block++;
	return at == COT_EXEC_AT_SLICE && ++g->n_slice >= g->stop_after && g->stop_after;
}

#define SPIN                                                                       \
	KERNEL "L: ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0;\n" \
	       "@%p1 bra L; ret; }\n"

static void test_gate(void **state)
{
	struct gate g = {.stop_after = 3};
	struct exec_test t;
	uint32_t *flag;

	(void)state;
	exec_load_body(&t, SPIN);
	flag = exec_alloc(&t, 4);
	exec_arg_ptr(&t, 0, flag);
	t.launch.gate = gate;
	t.launch.arg = &g;
	assert_int_equal(exec_run(&t, 4, 64, 2), COT_EXEC_FAULT_STOPPED);
	assert_int_equal(g.n_enter, 2);
	assert_int_equal(g.n_leave, 2);
	assert_true(g.n_block >= 1 && g.n_block <= 4);
	*flag = 1;
	memset(&g, 0, sizeof(g));
	assert_int_equal(exec_run(&t, 40, 64, 2), COT_EXEC_FAULT_NONE);
	assert_int_equal(g.n_block, 40);
	assert_int_equal(t.stats.n_blocks, 40);
	exec_unload(&t);
}

/* Block 0 ends at once, the others when the flag is set; each counts then. */
#define WAIT_THEN_COUNT                                                            \
	KERNEL "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra E;\n"     \
	       "L: ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0;\n" \
	       "@%p1 bra L; E: red.global.add.u32 [%rd1+4], 1; ret; }\n"
/* What takes so many slices never comes. */
#define MANY_SLICES 100000

struct door {
	uint32_t *words; /* the flag, and how many blocks have ended */
	_Atomic int n_inside, n_entered, n_slice, n_begun, n_ended_then;
	int may_begin; /* so many blocks, before all threads have left */
	_Atomic bool all_left;
};

static int set_flag_when_alone(void *arg, enum cot_exec_at at)
{
	struct door *d = arg;

	if (at == COT_EXEC_AT_ENTER) {
		d->n_inside++;
		d->n_entered++;
	}
	if (at == COT_EXEC_AT_LEAVE)
		d->n_inside--;
	if (at == COT_EXEC_AT_SLICE && d->n_entered > 1 && d->n_inside == 1)
		__atomic_store_n(d->words, 1, __ATOMIC_RELAXED);
	return at == COT_EXEC_AT_SLICE && ++d->n_slice > MANY_SLICES;
}

/* A thread that waits for another one's block does not count as being inside. */
static void test_idle_threads_leave(void **state)
{
	struct exec_test t;
	struct door d = {.n_slice = 0};

	(void)state;
	exec_load_body(&t, WAIT_THEN_COUNT);
	d.words = exec_alloc(&t, 8);
	exec_arg_ptr(&t, 0, d.words);
	t.launch.gate = set_flag_when_alone;
	t.launch.arg = &d;
	assert_int_equal(exec_run(&t, 2, 1, 2), COT_EXEC_FAULT_NONE);
	assert_int_equal(d.words[1], 2);
	assert_int_equal(d.n_inside, 0);
	exec_unload(&t);
}

static int begin_some(void *arg, enum cot_exec_at at)
{
	struct door *d = arg;

	if (at == COT_EXEC_AT_BLOCK)
		return !d->all_left && d->n_begun++ >= d->may_begin;
	if (at == COT_EXEC_AT_ENTER)
		d->n_inside++;
	if (at == COT_EXEC_AT_SLICE && ++d->n_slice == 20)
		__atomic_store_n(d->words, 1, __ATOMIC_RELAXED);
	if (at == COT_EXEC_AT_LEAVE && !--d->n_inside && !d->all_left) {
		d->n_ended_then = (int)__atomic_load_n(&d->words[1], __ATOMIC_RELAXED);
		d->all_left = true;
	}
	return d->n_slice > MANY_SLICES;
}

/* Where no block may begin, those that have begun end before the last thread leaves. */
static void test_begun_blocks_end_first(void **state)
{
	unsigned n_threads;

	(void)state;
	for (n_threads = 1; n_threads <= 3; n_threads++) {
		struct door d = {.may_begin = 5};
		struct exec_test t;

		exec_load_body(&t, WAIT_THEN_COUNT);
		d.words = exec_alloc(&t, 8);
		exec_arg_ptr(&t, 0, d.words);
		t.launch.gate = begin_some;
		t.launch.arg = &d;
		assert_int_equal(exec_run(&t, 12, 1, n_threads), COT_EXEC_FAULT_NONE);
		assert_int_equal(d.n_ended_then, 5);
		assert_int_equal(d.words[1], 12);
		exec_unload(&t);
	}
}

/* The budget of work() is about kept, and the run goes on where it was. */
static void test_work(void **state)
{
	struct cot_exec_run *run;
	struct cot_error err;
	struct exec_test t;
	uint32_t *flag;

	(void)state;
	exec_load_body(&t, SPIN);
	flag = exec_alloc(&t, 4);
	exec_arg_ptr(&t, 0, flag);
	t.launch.grid[0] = t.launch.grid[1] = t.launch.grid[2] = 1;
	t.launch.block[0] = t.launch.block[1] = t.launch.block[2] = 1;
	assert_int_equal(cot_exec_start(&t.launch, &run, &err), 0);
	assert_int_equal(cot_exec_work(run, 10000), COT_EXEC_MORE);
	assert_in_range(cot_exec_run_stats(run).n_warp_insns, 10000, 20000);
	assert_int_equal(cot_exec_work(run, 10000), COT_EXEC_MORE);
	*flag = 1;
	assert_int_equal(cot_exec_work(run, 10000), COT_EXEC_DONE);
	assert_null(cot_exec_run_fault(run));
	cot_exec_destroy(run);
	exec_unload(&t);
}

struct hook {
	uint32_t *flag;
	uint64_t at;
};

static int raise_flag(void *arg, uint64_t step)
{
	struct hook *h = arg;

	if (step == h->at)
		*h->flag = 1;
	return 0;
}

static void test_hook(void **state)
{
	struct cot_exec_run *run;
	struct cot_error err;
	struct exec_test t;
	struct hook h = {.at = 50};
	uint64_t n[2];
	unsigned i;

	(void)state;
	exec_load_body(&t, SPIN);
	h.flag = exec_alloc(&t, 4);
	exec_arg_ptr(&t, 0, h.flag);
	t.launch.grid[0] = 8;
	t.launch.grid[1] = t.launch.grid[2] = t.launch.block[1] = t.launch.block[2] = 1;
	t.launch.block[0] = 64;
	for (i = 0; i < 2; i++) {
		*h.flag = 0;
		assert_int_equal(cot_exec_start(&t.launch, &run, &err), 0);
		assert_int_equal(cot_exec_run_seeded(run, 5, 0, raise_flag, &h), COT_EXEC_DONE);
		n[i] = cot_exec_run_stats(run).n_warp_insns;
		cot_exec_destroy(run);
	}
	assert_int_equal(n[0], n[1]);
	exec_unload(&t);
}

/* ---- memory and occupancy ---- */

static void test_memory(void **state)
{
	struct cot_exec_ranges *m = cot_exec_ranges_create();

	(void)state;
	assert_int_equal(cot_exec_ranges_add(m, 1000, 100, true), 0);
	assert_int_equal(cot_exec_ranges_add(m, 1100, 50, false), 0);
	assert_int_not_equal(cot_exec_ranges_add(m, 1149, 10, true), 0);
	assert_int_not_equal(cot_exec_ranges_add(m, 990, 11, true), 0);
	assert_int_not_equal(cot_exec_ranges_add(m, 5, 0, true), 0);
	assert_int_not_equal(cot_exec_ranges_add(m, UINT64_MAX, 2, true), 0);
	assert_true(cot_exec_ranges_valid(m, 1000, 150, false));
	assert_false(cot_exec_ranges_valid(m, 1000, 150, true));
	assert_true(cot_exec_ranges_valid(m, 1000, 100, true));
	assert_false(cot_exec_ranges_valid(m, 1000, 151, false));
	assert_false(cot_exec_ranges_valid(m, 999, 1, false));
	assert_int_not_equal(cot_exec_ranges_remove(m, 1001), 0);
	assert_int_equal(cot_exec_ranges_remove(m, 1000), 0);
	assert_false(cot_exec_ranges_valid(m, 1000, 1, false));
	cot_exec_ranges_destroy(m);
}

static void test_occupancy(void **state)
{
	struct cot_exec_sm_limits sm = cot_exec_sm_limits(90);

	(void)state;
	assert_int_equal(cot_exec_occupancy(&sm, 32, 0, 256), 8);
	assert_int_equal(cot_exec_occupancy(&sm, 64, 0, 256), 4);
	assert_int_equal(cot_exec_occupancy(&sm, 32, 0, 32), 32);
	assert_int_equal(cot_exec_occupancy(&sm, 16, 100 * 1024, 64), 2);
	assert_int_equal(cot_exec_occupancy(&sm, 255, 0, 1024), 0);
	assert_int_equal(cot_exec_occupancy(&sm, 32, 0, 0), 0);
	sm = cot_exec_sm_limits(75);
	assert_int_equal(sm.max_threads, 1024);
}

/* Of 384 threads each could have 170 registers, but warps are granted 256 at a time. */
static void test_many_registers(void **state)
{
	char text[16384] = ".visible .entry k(.param .u64 out) {\n"
			   ".reg .b32 %x<200>; .reg .b64 %rd1; ld.param.u64 %rd1, [out];\n";
	size_t n = strlen(text);
	struct exec_test t;
	unsigned i;

	(void)state;
	for (i = 0; i < 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "ld.global.u32 %%x%u, [%%rd1+%u];\n", i, 4 * i);
	for (i = 1; i < 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "add.u32 %%x0, %%x0, %%x%u;\n",
				      i);
	snprintf(text + n, sizeof(text) - n, "st.global.u32 [%%rd1], %%x0; ret; }");
	exec_load_body(&t, text);
	assert_true(cot_exec_function_info(t.launch.function)->n_registers > 170);
	exec_arg_ptr(&t, 0, exec_alloc(&t, 800));
	assert_int_equal(exec_run(&t, 1, 384, 1), COT_EXEC_FAULT_NONE);
	exec_unload(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_strict_barriers),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_launch),
		cmocka_unit_test(test_printf),
		cmocka_unit_test(test_assert),
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_idle_threads_leave),
		cmocka_unit_test(test_begun_blocks_end_first),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_hook),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_occupancy),
		cmocka_unit_test(test_many_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
