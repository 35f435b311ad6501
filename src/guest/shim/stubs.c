/*
 * The exported entry points. Each one that is only passed on is a single jump through a slot, so
 * that arguments, results and the stack are the driver's affair alone. A slot leads at first to a
 * piece of code that loads the driver, fills all slots, and goes on as if nothing had been.
 */
#include "guest/shim/driver.h"

#if defined(__x86_64__)

#define LAZY(name)                                  \
	"1:\tleaq cot_real_" #name "(%rip), %r11\n" \
	"\tjmp cot_shim_stub_load\n"
#define EXPORT(name)                                                             \
	"\t.balign 16\n\t.globl " #name "\n\t.type " #name ", @function\n" #name \
	":\n\tjmp *cot_real_" #name "(%rip)\n"                                   \
	"\t.size " #name ", . - " #name "\n"
#define WORD ".quad"

/* Arguments are kept: six registers, eight vector registers, and rax. The slot is in r11. */
__asm__("\t.text\n\t.balign 16\n\t.type cot_shim_stub_load, @function\n"
	"cot_shim_stub_load:\n"
	"\tpushq %rbp\n\tmovq %rsp, %rbp\n"
	"\tpushq %r11\n\tpushq %rax\n\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n"
	"\tpushq %r8\n\tpushq %r9\n"
	"\tsubq $128, %rsp\n"
	"\tmovups %xmm0, (%rsp)\n\tmovups %xmm1, 16(%rsp)\n"
	"\tmovups %xmm2, 32(%rsp)\n\tmovups %xmm3, 48(%rsp)\n"
	"\tmovups %xmm4, 64(%rsp)\n\tmovups %xmm5, 80(%rsp)\n"
	"\tmovups %xmm6, 96(%rsp)\n\tmovups %xmm7, 112(%rsp)\n"
	"\tcall cot_shim_driver_load\n"
	"\tmovups (%rsp), %xmm0\n\tmovups 16(%rsp), %xmm1\n"
	"\tmovups 32(%rsp), %xmm2\n\tmovups 48(%rsp), %xmm3\n"
	"\tmovups 64(%rsp), %xmm4\n\tmovups 80(%rsp), %xmm5\n"
	"\tmovups 96(%rsp), %xmm6\n\tmovups 112(%rsp), %xmm7\n"
	"\taddq $128, %rsp\n"
	"\tpopq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n"
	"\tpopq %rax\n\tpopq %r11\n\tpopq %rbp\n"
	"\tjmp *(%r11)\n"
	"\t.size cot_shim_stub_load, . - cot_shim_stub_load\n");

#elif defined(__aarch64__)

#define LAZY(name)                                   \
	"1:\tadrp x16, cot_real_" #name "\n"         \
	"\tadd x16, x16, :lo12:cot_real_" #name "\n" \
	"\tb cot_shim_stub_load\n"
#define EXPORT(name)                                                             \
	"\t.balign 16\n\t.globl " #name "\n\t.type " #name ", %function\n" #name \
	":\n\tadrp x16, cot_real_" #name "\n"                                    \
	"\tldr x16, [x16, :lo12:cot_real_" #name "]\n\tbr x16\n"                 \
	"\t.size " #name ", . - " #name "\n"
#define WORD ".xword"

__asm__("\t.text\n\t.balign 16\n\t.type cot_shim_stub_load, %function\n"
	"cot_shim_stub_load:\n"
	"\tstp x29, x30, [sp, #-224]!\n\tmov x29, sp\n"
	"\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n"
	"\tstp x6, x7, [sp, #64]\n\tstp x8, x16, [sp, #80]\n"
	"\tstp q0, q1, [sp, #96]\n\tstp q2, q3, [sp, #128]\n"
	"\tstp q4, q5, [sp, #160]\n\tstp q6, q7, [sp, #192]\n"
	"\tbl cot_shim_driver_load\n"
	"\tldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\tldp x4, x5, [sp, #48]\n"
	"\tldp x6, x7, [sp, #64]\n\tldp x8, x16, [sp, #80]\n"
	"\tldp q0, q1, [sp, #96]\n\tldp q2, q3, [sp, #128]\n"
	"\tldp q4, q5, [sp, #160]\n\tldp q6, q7, [sp, #192]\n"
	"\tldp x29, x30, [sp], #224\n"
	"\tldr x16, [x16]\n\tbr x16\n"
	"\t.size cot_shim_stub_load, . - cot_shim_stub_load\n");

#else
#error "the shim has entry points for x86-64 and aarch64 only"
#endif

#define SLOT(name)                                                             \
	"\t.pushsection .data, \"aw\"\n\t.balign 8\n\t.globl cot_real_" #name  \
	"\n\t.hidden cot_real_" #name "\ncot_real_" #name ":\n\t" WORD " 1f\n" \
	"\t.popsection\n"

#define DEFINE_PASS(name)			   __asm__("\t.text\n" EXPORT(name) SLOT(name) LAZY(name));
#define DEFINE_TAKE(name)			   __asm__("\t.text\n" SLOT(name) LAZY(name));
#define DEFINE_ROUTE(name)			   DEFINE_TAKE(name)
#define DEFINE_AWAIT(name)			   DEFINE_TAKE(name)
#define DEFINE_HOME(name)			   DEFINE_TAKE(name)
#define DEFINE_QUIET(name)			   DEFINE_TAKE(name)
#define DEFINE_OUT(name)			   DEFINE_TAKE(name)
#define NAME(name)				   DEFINE_PASS(name)
#define ROUTED(name, at, kind)			   DEFINE_TAKE(name)
#define ENTRY(name, since, shim, emulated, params) DEFINE_##shim(name)
#include "cuda/abi/api.def"

#define NAME(name) extern void *cot_real_##name;
#include "cuda/abi/api.def"

/* What the driver is looked up for. */
#define NAME(name)				   {#name, &cot_real_##name},
#define ENTRY(name, since, shim, emulated, params) NAME(name)
const struct cot_shim_slot_of cot_shim_slots[] = {
#include "cuda/abi/api.def"
};
const size_t cot_shim_n_slots = sizeof(cot_shim_slots) / sizeof(cot_shim_slots[0]);
