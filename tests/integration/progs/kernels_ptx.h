/*
 * The test kernels for a real GPU, as PTX; the emulated driver has its own (see
 * src/emu/driver/builtin.c, which tells what they do).
 *
 * A block lasts as long as its first argument says, in time on the GPU: every thread adds up small
 * steps of the clock, and leaves out a step that is so long that the block must have been switched
 * out meanwhile.
 */
#ifndef COT_TESTS_KERNELS_PTX_H
#define COT_TESTS_KERNELS_PTX_H

/* %rd1: how long. A step counts below 20 us; a switch takes eight times as long. After 2^26 steps
 * it is enough in any case: a GPU whose clock stood still would hang. */
#define PROG_PTX_SPEND                               \
	"  mov.u64 %rd10, %globaltimer;\n"           \
	"  mov.u64 %rd11, 0;\n"                      \
	"  mov.u32 %r9, 0;\n"                        \
	"again:\n"                                   \
	"  mov.u64 %rd12, %globaltimer;\n"           \
	"  sub.u64 %rd13, %rd12, %rd10;\n"           \
	"  mov.u64 %rd10, %rd12;\n"                  \
	"  setp.lt.u64 %p1, %rd13, 20000;\n"         \
	"  @%p1 add.u64 %rd11, %rd11, %rd13;\n"      \
	"  add.u32 %r9, %r9, 1;\n"                   \
	"  setp.lt.u32 %p2, %r9, 0x4000000;\n"       \
	"  setp.lt.and.u64 %p2, %rd11, %rd1, %p2;\n" \
	"  @%p2 bra again;\n"

#define PROG_PTX_REGISTERS      \
	"  .reg .pred %p<5>;\n" \
	"  .reg .b32 %r<10>;\n" \
	"  .reg .b64 %rd<20>;\n"

/* clang-format off */
static const char prog_ptx[] =
	".version 7.0\n"
	".target sm_70\n"
	".address_size 64\n"
	"\n"
	".visible .entry spin(.param .u64 block_ns, .param .u64 counter)\n"
	"{\n"
	PROG_PTX_REGISTERS
	"  ld.param.u64 %rd1, [block_ns];\n"
	"  ld.param.u64 %rd2, [counter];\n"
	PROG_PTX_SPEND
	"  mov.u32 %r1, %tid.x;\n"
	"  setp.ne.u32 %p3, %r1, 0;\n"
	"  @%p3 bra done;\n"
	"  setp.eq.u64 %p4, %rd2, 0;\n"
	"  @%p4 bra done;\n"
	"  cvta.to.global.u64 %rd3, %rd2;\n"
	"  red.global.add.u64 [%rd3], 1;\n"
	"done:\n"
	"  ret;\n"
	"}\n"
	"\n"
	/* words[i] is hashed `rounds` times by the thread with that number in the grid. */
	".visible .entry mix(.param .u64 block_ns, .param .u64 words, .param .u32 n_words,\n"
	"                    .param .u32 rounds)\n"
	"{\n"
	PROG_PTX_REGISTERS
	"  ld.param.u64 %rd1, [block_ns];\n"
	"  ld.param.u64 %rd2, [words];\n"
	"  ld.param.u32 %r1, [n_words];\n"
	"  ld.param.u32 %r2, [rounds];\n"
	PROG_PTX_SPEND
	"  mov.u32 %r3, %ctaid.x;\n"
	"  mov.u32 %r4, %ntid.x;\n"
	"  mov.u32 %r5, %tid.x;\n"
	"  mad.lo.u32 %r6, %r3, %r4, %r5;\n"
	"  setp.ge.u32 %p3, %r6, %r1;\n"
	"  @%p3 bra done;\n"
	"  cvta.to.global.u64 %rd3, %rd2;\n"
	"  mad.wide.u32 %rd4, %r6, 4, %rd3;\n"
	"  ld.global.u32 %r7, [%rd4];\n"
	"next:\n"
	"  setp.eq.u32 %p4, %r2, 0;\n"
	"  @%p4 bra store;\n"
	"  shr.u32 %r8, %r7, 16;\n"
	"  xor.b32 %r7, %r7, %r8;\n"
	"  mad.lo.u32 %r7, %r7, 0x7feb352d, %r6;\n"
	"  sub.u32 %r2, %r2, 1;\n"
	"  bra next;\n"
	"store:\n"
	"  st.global.u32 [%rd4], %r7;\n"
	"done:\n"
	"  ret;\n"
	"}\n"
	"\n"
	".visible .entry trap(.param .u64 block_ns)\n"
	"{\n"
	PROG_PTX_REGISTERS
	"  ld.param.u64 %rd1, [block_ns];\n"
	PROG_PTX_SPEND
	"  trap;\n"
	"}\n";
/* clang-format on */

#endif
