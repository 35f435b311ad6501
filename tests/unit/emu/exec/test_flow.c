/* Control flow of the PTX interpreter: divergence, calls, barriers, warps, schedules. */
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "unit/emu/exec/exec_helper.h"

/* out[global thread] at %rd1 for u32 results; %r1 = tid, %r2 = global thread */
#define KERNEL(name)                                                                        \
	".visible .entry " name "(.param .u64 out) {\n"                                     \
	".reg .pred %p<20>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<10>;\n"       \
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x;\n"           \
	"mov.u32 %r4, %ntid.x; mad.lo.u32 %r2, %r3, %r4, %r1; mul.wide.u32 %rd2, %r2, 4;\n" \
	"add.u64 %rd1, %rd1, %rd2;\n"

#define STORE(reg) "st.global.u32 [%rd1], " reg ";\n"

static uint32_t *run(struct exec_test *t, const char *ptx, uint32_t n_blocks, uint32_t n_threads)
{
	uint32_t *out;

	exec_load_body(t, ptx);
	out = exec_alloc(t, (size_t)n_blocks * n_threads * 4);
	exec_arg_ptr(t, 0, out);
	if (exec_run(t, n_blocks, n_threads, 2))
		fail_msg("%s", t->fault.text);
	return out;
}

/* The steps of the Collatz sequence: every lane leaves the loop at another time. */
static uint32_t collatz(uint32_t x)
{
	uint32_t n = 0;

	while (x > 1) {
		x = x & 1 ? 3 * x + 1 : x / 2;
		n++;
	}
	return n;
}

static void test_divergent_loop(void **state)
{
	struct exec_test t;
	uint32_t *out, i;

	(void)state;
	out = run(&t,
		  KERNEL("k") "mov.u32 %r5, 0; mov.u32 %r6, %r2;\n"
			      "L: setp.le.u32 %p1, %r6, 1; @%p1 bra E;\n"
			      "and.b32 %r7, %r6, 1; setp.eq.u32 %p2, %r7, 0; @%p2 bra EVEN;\n"
			      "mad.lo.u32 %r6, %r6, 3, 1; bra.uni N;\n"
			      "EVEN: shr.u32 %r6, %r6, 1;\n"
			      "N: add.u32 %r5, %r5, 1; bra L;\n"
			      "E:" STORE("%r5") "ret; }\n",
		  7, 96);
	for (i = 0; i < 7 * 96; i++)
		assert_int_equal(out[i], collatz(i));
	exec_unload(&t);
}

static void expect(const char *ptx, uint32_t n_blocks, uint32_t n_threads,
		   uint32_t (*want)(uint32_t tid, uint32_t block, uint32_t n))
{
	struct exec_test t;
	uint32_t *out = run(&t, ptx, n_blocks, n_threads), i;

	for (i = 0; i < n_blocks * n_threads; i++)
		assert_int_equal(out[i], want(i % n_threads, i / n_threads, n_threads));
	exec_unload(&t);
}

/* Some lanes return from the middle, with a guard and inside a branch; the others go on together.
 */
static uint32_t early(uint32_t tid, uint32_t block, uint32_t n)
{
	uint32_t left = 0, lane;

	(void)block;
	(void)n;
	for (lane = 5; lane < 32; lane++)
		left |= lane % 3 ? 1u << lane : 0;
	return tid < 5 ? 1 : tid % 3 == 0 ? 2 : left;
}

static void test_early_return(void **state)
{
	(void)state;
	/* The survivors of each warp vote: their lanes are those of neither rule. */
	expect(KERNEL("k") "setp.lt.u32 %p1, %r1, 5; rem.u32 %r5, %r1, 3;\n"
			   "setp.eq.u32 %p2, %r5, 0; mov.u32 %r6, 1; mov.u32 %r7, 2;\n"
			   "@!%p1 bra A;" STORE("%r6") "ret;\nA: @%p2 st.global.u32 [%rd1], %r7;\n"
						       "@%p2 exit; activemask.b32 %r8;\n" STORE(
							       "%r8") "ret; }\n",
	       1, 32, early);
}

/* A switch of five ways through a table, inside a loop. */
static uint32_t by_table(uint32_t tid, uint32_t block, uint32_t n)
{
	uint32_t x = tid + block, i, sum = 0;

	(void)n;
	for (i = 0; i < 7; i++) {
		switch ((x + i) % 5) {
		case 0:
			sum += 1;
			break;
		case 1:
			sum = sum * 3 + 2;
			break;
		case 2:
			sum ^= 0x55;
			break;
		case 3:
			sum += x + 100;
			break;
		default:
			sum += 100;
			break;
		}
	}
	return sum;
}

static void test_branch_table(void **state)
{
	(void)state;
	expect(KERNEL("k") "add.u32 %r5, %r1, %r3; mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
			   "T: .branchtargets C0, C1, C2, C3, C4;\n"
			   "L: add.u32 %r8, %r5, %r6; rem.u32 %r8, %r8, 5; brx.idx %r8, T;\n"
			   "C0: add.u32 %r7, %r7, 1; bra N;\n"
			   "C1: mad.lo.u32 %r7, %r7, 3, 2; bra N;\n"
			   "C2: xor.b32 %r7, %r7, 0x55; bra N;\n"
			   "C3: add.u32 %r7, %r7, %r5;\n"
			   "C4: add.u32 %r7, %r7, 100;\n"
			   "N: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 7; @%p1 bra L;\n" STORE(
				   "%r7") "ret; }\n",
	       3, 70, by_table);
}

/* Recursive calls from lanes that diverge: Fibonacci. */
static uint32_t fibonacci(uint32_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static uint32_t fibonacci_of_lane(uint32_t tid, uint32_t block, uint32_t n)
{
	(void)block;
	(void)n;
	return fibonacci(tid % 11);
}

static void test_recursion(void **state)
{
	(void)state;
	expect(".func (.param .b32 ret) fib(.param .b32 n)\n"
	       "{ .reg .b32 %r<9>; .reg .pred %p<2>; .local .align 4 .b8 keep[4];\n"
	       "ld.param.u32 %r1, [n]; st.local.u32 [keep], %r1;\n"
	       "setp.lt.u32 %p1, %r1, 2; @!%p1 bra DEEP;\n"
	       "st.param.b32 [ret], %r1; ret;\n"
	       "DEEP: sub.u32 %r2, %r1, 1;\n"
	       "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r2;\n"
	       "call.uni (r), fib, (a); ld.param.b32 %r3, [r]; }\n"
	       "ld.local.u32 %r4, [keep]; sub.u32 %r4, %r4, 2;\n"
	       "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r4;\n"
	       "call.uni (r), fib, (a); ld.param.b32 %r5, [r]; }\n"
	       "add.u32 %r6, %r3, %r5; st.param.b32 [ret], %r6; ret; }\n" KERNEL(
		       "k") "rem.u32 %r5, %r1, 11;\n"
			    "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r5;\n"
			    "call.uni (r), fib, (a); ld.param.b32 %r6, [r]; }\n" STORE(
				    "%r6") "ret; }\n",
	       2, 50, fibonacci_of_lane);
}

/* Functions called through their addresses, another one by each lane; one of them ends threads. */
static uint32_t indirect(uint32_t tid, uint32_t block, uint32_t n)
{
	(void)block;
	(void)n;
	return tid % 3 == 0 ? tid + 1000 : tid % 3 == 1 ? tid * 2 : 0;
}

static void test_indirect_call(void **state)
{
	(void)state;
	expect(".func (.param .b32 ret) plus(.param .b32 n)\n"
	       "{ .reg .b32 %r<9>; ld.param.u32 %r1, [n]; add.u32 %r1, %r1, 1000;\n"
	       "st.param.b32 [ret], %r1; ret; }\n"
	       ".func (.param .b32 ret) twice(.param .b32 n)\n"
	       "{ .reg .b32 %r<9>; ld.param.u32 %r1, [n]; shl.b32 %r1, %r1, 1;\n"
	       "st.param.b32 [ret], %r1; ret; }\n"
	       ".func (.param .b32 ret) gone(.param .b32 n)\n"
	       "{ exit; }\n" KERNEL(
		       "k") "rem.u32 %r5, %r1, 3; mov.u64 %rd5, plus;\n"
			    "mov.u64 %rd6, twice; mov.u64 %rd7, gone; setp.eq.u32 %p1, %r5, 1;\n"
			    "selp.b64 %rd5, %rd6, %rd5, %p1; setp.eq.u32 %p2, %r5, 2;\n"
			    "selp.b64 %rd5, %rd7, %rd5, %p2;\n"
			    "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\n"
			    "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
			    "call (r), %rd5, (a), P; ld.param.b32 %r6, [r]; }\n" STORE(
				    "%r6") "ret; }\n",
	       2, 64, indirect);
}

/* A lock taken by one lane after the other: those that wait must not stop the one that has it. */
static void test_lock_in_warp(void **state)
{
	struct exec_test t;
	uint32_t *out, i;

	(void)state;
	exec_load_body(
		&t,
		".global .u32 lock; .global .u32 count;\n" KERNEL(
			"k") "mov.u64 %rd5, lock; mov.u64 %rd6, count;\n"
			     "L: atom.global.cas.b32 %r5, [%rd5], 0, 1; setp.ne.u32 %p1, %r5, 0;\n"
			     "@%p1 bra L; ld.volatile.global.u32 %r6, [%rd6];\n"
			     "add.u32 %r7, %r6, 1; st.volatile.global.u32 [%rd6], %r7; membar.gl;\n"
			     "atom.global.exch.b32 %r8, [%rd5], 0;" STORE("%r6") "ret; }\n");
	out = exec_alloc(&t, 2 * 64 * 4);
	exec_arg_ptr(&t, 0, out);
	if (exec_run(&t, 2, 64, 2))
		fail_msg("%s", t.fault.text);
	for (i = 1; i < 2 * 64; i++)
		out[0] ^= out[i];
	/* Each number once: 0 ^ 1 ^ ... ^ 127 is 0. */
	assert_int_equal(out[0], 0);
	exec_unload(&t);
}

/* One warp waits for what another one writes to shared memory. */
static uint32_t passed_on(uint32_t tid, uint32_t block, uint32_t n)
{
	(void)tid;
	(void)block;
	return n / 32;
}

static void test_warps_wait(void **state)
{
	(void)state;
	expect(".shared .align 4 .u32 turn;\n" KERNEL(
		       "k") "mov.u32 %r5, turn; shr.u32 %r6, %r1, 5; not.b32 %r7, %r6; shr.u32 %r8, %r4, 5;\n"
			    "add.u32 %r7, %r7, %r8; and.b32 %r9, %r1, 31; setp.eq.u32 %p2, %r9, 0;\n"
			    "L: ld.volatile.shared.u32 %r10, [%r5]; setp.ne.u32 %p1, %r10, %r7; @%p1 bra L;\n"
			    "bar.warp.sync 0xffffffff; add.u32 %r11, %r7, 1; @%p2 st.volatile.shared.u32 [%r5], %r11;\n"
			    "W: ld.volatile.shared.u32 %r10, [%r5]; setp.ne.u32 %p1, %r10, %r8; @%p1 bra W;\n" STORE(
				    "%r10") "ret; }\n",
	       2, 256, passed_on);
}

/* Sum of a block: a tree in shared memory, with barriers under a condition of the whole block. */
static uint32_t block_sum(uint32_t tid, uint32_t block, uint32_t n)
{
	(void)tid;
	return n * (n - 1) / 2 + n * block;
}

static const char reduction[] = ".shared .align 4 .b8 tile[1024];\n" KERNEL(
	"k") "add.u32 %r5, %r1, %r3; mov.u32 %r6, tile; mad.lo.u32 %r7, %r1, 4, %r6;\n"
	     "st.shared.u32 [%r7], %r5; shr.u32 %r8, %r4, 1;\n"
	     "L: bar.sync 0; setp.ge.u32 %p1, %r1, %r8; @%p1 bra N;\n"
	     "mad.lo.u32 %r9, %r8, 4, %r7; ld.shared.u32 %r10, [%r9]; ld.shared.u32 %r11, [%r7];\n"
	     "add.u32 %r11, %r11, %r10; st.shared.u32 [%r7], %r11;\n"
	     "N: shr.u32 %r8, %r8, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra L;\n"
	     "bar.sync 0; ld.shared.u32 %r12, [%r6];" STORE("%r12") "ret; }\n";

static void test_reduction(void **state)
{
	(void)state;
	expect(reduction, 5, 256, block_sum);
}

static void test_seeds(void **state)
{
	const char *more = getenv("COTENANT_TEST_SEEDS");
	uint64_t n_seeds = more ? strtoull(more, NULL, 10) : 1000, seed;
	struct exec_test t;
	uint32_t *out, i;

	(void)state;
	exec_load_body(&t, reduction);
	out = exec_alloc(&t, 3 * 64 * 4);
	exec_arg_ptr(&t, 0, out);
	for (seed = 0; seed < n_seeds; seed++) {
		memset(out, 0, 3 * 64 * 4);
		if (exec_run_seeded(&t, 3, 64, seed))
			fail_msg("seed %llu: %s", (unsigned long long)seed, t.fault.text);
		for (i = 0; i < 3 * 64; i++)
			if (out[i] != block_sum(0, i / 64, 64))
				fail_msg("seed %llu: out[%u] is %u", (unsigned long long)seed, i,
					 out[i]);
	}
	exec_unload(&t);
}

/* The same without its barrier goes wrong under some seeds, and the same way under the same seed.
 */
static void test_seeds_find(void **state)
{
	static const char wrong[] = ".shared .align 4 .b8 tile[1024];\n" KERNEL(
		"k") "mov.u32 %r6, tile; mad.lo.u32 %r7, %r1, 4, %r6; st.shared.u32 [%r7], %r1;\n"
		     "xor.b32 %r8, %r7, 128; ld.shared.u32 %r9, [%r8];" STORE("%r9") "ret; }\n";
	uint32_t *out, first[128], n_wrong = 0, i;
	struct exec_test t;
	uint64_t seed;

	(void)state;
	exec_load_body(&t, wrong);
	out = exec_alloc(&t, sizeof(first));
	exec_arg_ptr(&t, 0, out);
	for (seed = 0; seed < 20; seed++) {
		bool bad = false;

		assert_int_equal(exec_run_seeded(&t, 1, 128, seed), COT_EXEC_FAULT_NONE);
		memcpy(first, out, sizeof(first));
		for (i = 0; i < 128; i++)
			bad |= out[i] != (i ^ 32);
		n_wrong += bad;
		assert_int_equal(exec_run_seeded(&t, 1, 128, seed), COT_EXEC_FAULT_NONE);
		assert_memory_equal(first, out, sizeof(first));
	}
	assert_true(n_wrong > 0);
	exec_unload(&t);
}

/* Threads that have ended do not hold a barrier up. */
static uint32_t survivors(uint32_t tid, uint32_t block, uint32_t n)
{
	(void)block;
	return tid >= 40 ? 0 : n - 56;
}

static void test_barrier_after_exit(void **state)
{
	(void)state;
	expect(KERNEL("k") "setp.ge.u32 %p1, %r1, 40; @%p1 exit; setp.lt.u32 %p2, %r1, 40;\n"
			   "bar.red.popc.u32 %r5, 0, %p2;" STORE("%r5") "ret; }\n",
	       2, 96, survivors);
}

/* Producer and consumer with two named barriers of 64 threads. */
static uint32_t consumed(uint32_t tid, uint32_t block, uint32_t n)
{
	(void)block;
	(void)n;
	return tid < 32 ? 0 : (tid - 32) * 3 + 20;
}

static void test_named_barriers(void **state)
{
	(void)state;
	expect(".shared .align 4 .b8 box[128];\n" KERNEL(
		       "k") "mov.u32 %r6, box; and.b32 %r7, %r1, 31; mad.lo.u32 %r6, %r7, 4, %r6;\n"
			    "setp.ge.u32 %p1, %r1, 32; mov.u32 %r10, 0; mov.u32 %r11, 0; @%p1 bra CONSUMER;\n"
			    "P: bar.sync 2, 64; mul.lo.u32 %r12, %r7, 3; mad.lo.u32 %r12, %r10, 20, %r12;\n"
			    "st.shared.u32 [%r6], %r12; bar.arrive 1, 64; add.u32 %r10, %r10, 1;\n"
			    "setp.lt.u32 %p2, %r10, 2; @%p2 bra P; bra DONE;\n"
			    "CONSUMER: bar.arrive 2, 64; bar.sync 1, 64; ld.shared.u32 %r11, [%r6];\n"
			    "add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 2; @%p2 bra CONSUMER;\n"
			    "DONE:" STORE("%r11") "ret; }\n",
	       3, 64, consumed);
}

static uint32_t barrier_and(uint32_t tid, uint32_t block, uint32_t n)
{
	(void)tid;
	(void)n;
	return block == 1 ? 3 : 2;
}

static void test_barrier_reduction(void **state)
{
	(void)state;
	/* In block 1 the predicate holds for all, elsewhere for all but one. */
	expect(KERNEL("k") "setp.eq.u32 %p1, %r3, 1; setp.ne.u32 %p2, %r1, 17; or.pred %p3, %p1, %p2;\n"
			   "barrier.red.and.pred %p4, 1, %p3; barrier.red.or.pred %p5, 1, 64, %p3;\n"
			   "selp.u32 %r5, 1, 0, %p4; selp.u32 %r6, 2, 0, %p5; or.b32 %r5, %r5, %r6;\n" STORE(
				   "%r5") "ret; }\n",
	       3, 64, barrier_and);
}

/* A block that waits for a later one, more of them than CPU threads: all have to make progress. */
static uint32_t chained(uint32_t tid, uint32_t block, uint32_t n)
{
	(void)tid;
	(void)n;
	return 16 - block;
}

static void test_blocks_wait(void **state)
{
	(void)state;
	expect(".global .u32 ticket;\n" KERNEL(
		       "k") "mov.u64 %rd5, ticket; mov.u32 %r6, %nctaid.x; sub.u32 %r7, %r6, 1;\n"
			    "sub.u32 %r7, %r7, %r3;\n"
			    "L: ld.acquire.gpu.global.u32 %r8, [%rd5]; setp.ne.u32 %p1, %r8, %r7; @%p1 bra L;\n"
			    "bar.sync 0; setp.eq.u32 %p2, %r1, 0; add.u32 %r9, %r8, 1;\n"
			    "@%p2 st.release.gpu.global.u32 [%rd5], %r9;" STORE("%r9") "ret; }\n",
	       16, 32, chained);
}

static uint32_t warp_ops(uint32_t tid, uint32_t block, uint32_t n)
{
	uint32_t lane = tid % 32, sum = 496, up = lane >= 4 ? lane - 4 : lane;
	uint32_t down = lane % 8 + 2 < 8 ? lane + 2 : lane;

	(void)block;
	(void)n;
	return sum + up * 3 + down * 5 + (lane ^ 1) * 7 + (lane & ~7u) * 11 +
	       (lane % 4 == 2 ? 13 : 0) + 31 * 17 + 0x11111111u * (1u << lane % 4);
}

static void test_warp_operations(void **state)
{
	(void)state;
	expect(KERNEL("k") "and.b32 %r5, %r1, 31;\n"
			   "redux.sync.add.u32 %r10, %r5, 0xffffffff;\n"
			   "shfl.sync.up.b32 %r11|%p1, %r5, 4, 0, 0xffffffff; mad.lo.u32 %r10, %r11, 3, %r10;\n"
			   "shfl.sync.down.b32 %r11, %r5, 2, 0x1807, 0xffffffff; mad.lo.u32 %r10, %r11, 5, %r10;\n"
			   "shfl.sync.bfly.b32 %r11, %r5, 1, 31, 0xffffffff; mad.lo.u32 %r10, %r11, 7, %r10;\n"
			   "shfl.sync.idx.b32 %r11, %r5, 0, 0x181f, 0xffffffff; mad.lo.u32 %r10, %r11, 11, %r10;\n"
			   "and.b32 %r12, %r5, 3; setp.eq.u32 %p2, %r12, 2; vote.sync.ballot.b32 %r13, %p2, 0xffffffff;\n"
			   "shr.u32 %r14, %r13, %r5; and.b32 %r14, %r14, 1; mad.lo.u32 %r10, %r14, 13, %r10;\n"
			   "redux.sync.max.s32 %r15, %r5, 0xffffffff; mad.lo.u32 %r10, %r15, 17, %r10;\n"
			   "match.any.sync.b32 %r16, %r12, 0xffffffff; add.u32 %r10, %r10, %r16;\n" STORE(
				   "%r10") "ret; }\n",
	       2, 64, warp_ops);
}

/* Lanes that meet at one shfl.sync although they come on different ways. */
static uint32_t met(uint32_t tid, uint32_t block, uint32_t n)
{
	uint32_t other = tid ^ 16;

	(void)block;
	(void)n;
	return other < 16 ? other * 2 : other * 3;
}

static void test_meeting(void **state)
{
	(void)state;
	expect(KERNEL("k") "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; mul.lo.u32 %r5, %r1, 3; bra M;\n"
			   "A: mul.lo.u32 %r5, %r1, 2;\n"
			   "M: shfl.sync.bfly.b32 %r6, %r5, 16, 31, 0xffffffff;" STORE(
				   "%r6") "ret; }\n",
	       1, 32, met);
	/* A sync of the warp in both ways of a branch. */
	expect(".shared .align 4 .b8 box[128];\n" KERNEL(
		       "k") "mov.u32 %r6, box; mad.lo.u32 %r7, %r1, 4, %r6; xor.b32 %r8, %r7, 64;\n"
			    "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\n"
			    "mul.lo.u32 %r5, %r1, 3; st.shared.u32 [%r7], %r5; bar.warp.sync 0xffffffff;\n"
			    "ld.shared.u32 %r9, [%r8]; bra M;\n"
			    "A: mul.lo.u32 %r5, %r1, 2; st.shared.u32 [%r7], %r5; bar.warp.sync 0xffffffff;\n"
			    "ld.shared.u32 %r9, [%r8];\nM:" STORE("%r9") "ret; }\n",
	       1, 32, met);
}

static uint32_t special(uint32_t tid, uint32_t block, uint32_t n)
{
	uint32_t lane = tid % 32;

	(void)block;
	return (1u << lane) + ((1u << lane) - 1) + lane * 3 + tid / 32 * 5 + n * 7 + 4 * 11;
}

static void test_special_registers(void **state)
{
	(void)state;
	expect(KERNEL("k") "mov.u32 %r5, %lanemask_eq; mov.u32 %r6, %lanemask_lt; add.u32 %r5, %r5, %r6;\n"
			   "mov.u32 %r6, %laneid; mad.lo.u32 %r5, %r6, 3, %r5; mov.u32 %r6, %warpid;\n"
			   "mad.lo.u32 %r5, %r6, 5, %r5; mov.u32 %r6, %ntid.x; mad.lo.u32 %r5, %r6, 7, %r5;\n"
			   "mov.u32 %r6, %nsmid; mad.lo.u32 %r5, %r6, 11, %r5;\n"
			   "mov.u64 %rd5, %clock64; mov.u64 %rd6, %clock64; setp.le.u64 %p1, %rd6, %rd5;\n"
			   "@%p1 mov.u32 %r5, 0;" STORE("%r5") "ret; }\n",
	       3, 64, special);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_divergent_loop),
		cmocka_unit_test(test_early_return),
		cmocka_unit_test(test_branch_table),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_indirect_call),
		cmocka_unit_test(test_lock_in_warp),
		cmocka_unit_test(test_warps_wait),
		cmocka_unit_test(test_reduction),
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_seeds_find),
		cmocka_unit_test(test_barrier_after_exit),
		cmocka_unit_test(test_named_barriers),
		cmocka_unit_test(test_barrier_reduction),
		cmocka_unit_test(test_blocks_wait),
		cmocka_unit_test(test_warp_operations),
		cmocka_unit_test(test_meeting),
		cmocka_unit_test(test_special_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
