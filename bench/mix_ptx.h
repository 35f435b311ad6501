/*
 * Kernels on words whose results the host can compute, as PTX, for benchmarks and tests: each
 * thread changes one word, `rounds` times or by `rounds`. For compilers: string literals.
 */
#ifndef COT_BENCH_MIX_PTX_H
#define COT_BENCH_MIX_PTX_H

/* clang-format off */
#define MIX_PTX_HEAD(target) ".version 7.0\n.target " target "\n.address_size 64\n"

/* `change` has the word in %r7, its index in %r6 and the number in %r2. */
#define MIX_PTX_ENTRY(name, change)                                                             \
	".visible .entry " name "(.param .u64 words, .param .u32 n, .param .u32 rounds)\n"      \
	"{\n"                                                                                   \
	"  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;\n"                              \
	"  ld.param.u64 %rd1, [words];\n"                                                       \
	"  ld.param.u32 %r1, [n];\n"                                                            \
	"  ld.param.u32 %r2, [rounds];\n"                                                       \
	"  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"                 \
	"  mad.lo.u32 %r6, %r3, %r4, %r5;\n"                                                    \
	"  setp.ge.u32 %p1, %r6, %r1;\n"                                                        \
	"  @%p1 bra end;\n"                                                                     \
	"  mul.wide.u32 %rd2, %r6, 4;\n"                                                        \
	"  add.u64 %rd3, %rd1, %rd2;\n"                                                         \
	"  ld.global.u32 %r7, [%rd3];\n"                                                        \
	change                                                                                  \
	"  st.global.u32 [%rd3], %r7;\n"                                                        \
	"end: ret;\n"                                                                           \
	"}\n"

/* words[i] = words[i] * 1664525 + 1013904223, `rounds` times. */
#define MIX_PTX MIX_PTX_NAMED("mix")
#define MIX_PTX_NAMED(name)                                                                     \
	MIX_PTX_ENTRY(name,                                                                     \
	"  mov.u32 %r8, 0;\n"                                                                   \
	"round:\n"                                                                              \
	"  mad.lo.u32 %r7, %r7, 1664525, 1013904223;\n"                                         \
	"  add.u32 %r8, %r8, 1;\n"                                                              \
	"  setp.lt.u32 %p2, %r8, %r2;\n"                                                        \
	"  @%p2 bra round;\n")

/* words[i] = (words[i] ^ i) + rounds. */
#define TURN_PTX                                                                                \
	MIX_PTX_ENTRY("turn",                                                                   \
	"  xor.b32 %r7, %r7, %r6;\n"                                                            \
	"  add.u32 %r7, %r7, %r2;\n")
/* clang-format on */

#define MIX_TIMES 1664525u
#define MIX_PLUS  1013904223u

#endif
