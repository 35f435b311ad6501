/*
 * Every opcode of the PTX interpreter on values where mistakes are likely: overflow, shifts beyond
 * the width, NaN, infinities, subnormals, ties. Expected values are written by hand from the
 * PTX manual.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "unit/emu/exec/exec_helper.h"

/*
 * regs: one letter for the result and for each of a, b, c: h, r, d for 16, 32, 64 bits, p for a
 * predicate. In the text $d is the result, $a, $b, $c are the sources.
 */
struct op_case {
	const char *regs, *text;
	uint64_t a, b, c, want;
};

#define N_THREADS 37 /* a whole warp and a part of one */
#define F1	  0x3f800000
#define F2	  0x40000000
#define F3	  0x40400000
#define FINF	  0x7f800000
#define FNAN	  0x7fffffff
#define FMAX	  0x7f7fffff
#define FDEN	  0x00000001 /* the least subnormal */
#define FMIN	  0x00800000 /* the least normal */
#define NEG	  0x80000000
#define D1	  0x3ff0000000000000
#define D2	  0x4000000000000000
#define DNAN	  0xfff8000000000000
#define M1	  0xffffffff
#define MAX64	  0xffffffffffffffff
#define SMIN64	  0x8000000000000000

static const struct op_case integer_cases[] = {
	{"hhh", "add.u16 $d, $a, $b;", 0xffff, 2, 0, 1},
	{"rrr", "add.s32 $d, $a, $b;", 0x7fffffff, 1, 0, 0x80000000},
	{"rrr", "add.sat.s32 $d, $a, $b;", 0x7fffffff, 1, 0, 0x7fffffff},
	{"rrr", "add.sat.s32 $d, $a, $b;", 0x80000000, M1, 0, 0x80000000},
	{"rrr", "sub.sat.s32 $d, $a, $b;", 0x80000000, 1, 0, 0x80000000},
	{"rrr", "sub.sat.s32 $d, $a, $b;", 0, 0x80000000, 0, 0x7fffffff},
	{"ddd", "add.u64 $d, $a, $b;", MAX64, 1, 0, 0},
	{"ddd", "sub.s64 $d, $a, $b;", 0, 1, 0, MAX64},
	{"rrr", "add.u16x2 $d, $a, $b;", 0xffff0001, 0x00010001, 0, 0x00000002},
	{"rrr", "mul.lo.u32 $d, $a, $b;", M1, M1, 0, 1},
	{"rrr", "mul.hi.u32 $d, $a, $b;", M1, M1, 0, 0xfffffffe},
	{"rrr", "mul.hi.s32 $d, $a, $b;", M1, M1, 0, 0},
	{"rrr", "mul.hi.s32 $d, $a, $b;", 0x80000000, 0x7fffffff, 0, 0xc0000000},
	{"ddd", "mul.hi.u64 $d, $a, $b;", MAX64, MAX64, 0, 0xfffffffffffffffe},
	{"ddd", "mul.hi.s64 $d, $a, $b;", MAX64, 2, 0, MAX64},
	{"ddd", "mul.hi.s64 $d, $a, $b;", SMIN64, SMIN64, 0, 0x4000000000000000},
	{"hhh", "mul.hi.s16 $d, $a, $b;", 0xffff, 2, 0, 0xffff},
	{"hhh", "mul.hi.u16 $d, $a, $b;", 0xffff, 0xffff, 0, 0xfffe},
	{"hhh", "mul.lo.u16 $d, $a, $b;", 0xffff, 0xffff, 0, 1},
	{"rhh", "mul.wide.u16 $d, $a, $b;", 0xffff, 0xffff, 0, 0xfffe0001},
	{"rhh", "mul.wide.s16 $d, $a, $b;", 0x8000, 0x8000, 0, 0x40000000},
	{"drr", "mul.wide.u32 $d, $a, $b;", M1, M1, 0, 0xfffffffe00000001},
	{"drr", "mul.wide.s32 $d, $a, $b;", 0x80000000, M1, 0, 0x80000000},
	{"rrrr", "mad.lo.s32 $d, $a, $b, $c;", M1, 5, 7, 2},
	{"rrrr", "mad.hi.u32 $d, $a, $b, $c;", 0x80000000, 4, 3, 5},
	{"rrrr", "mad.hi.sat.s32 $d, $a, $b, $c;", 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff},
	{"drrd", "mad.wide.u32 $d, $a, $b, $c;", M1, M1, 1, 0xfffffffe00000002},
	{"drrd", "mad.wide.s32 $d, $a, $b, $c;", M1, 2, 1, MAX64},
	{"rhhr", "mad.wide.s16 $d, $a, $b, $c;", 0xffff, 3, 1, 0xfffffffe},
	{"rrr", "mul24.lo.u32 $d, $a, $b;", 0xff000003, 5, 0, 15},
	{"rrr", "mul24.lo.s32 $d, $a, $b;", 0x00ffffff, 5, 0, 0xfffffffb},
	{"rrr", "mul24.hi.u32 $d, $a, $b;", 0xffffff, 0xffffff, 0, 0xfffffe00},
	{"rrrr", "mad24.lo.u32 $d, $a, $b, $c;", 0xff000003, 5, 1, 16},
	{"rrrr", "sad.s32 $d, $a, $b, $c;", 0x80000000, 0x7fffffff, 1, 0},
	{"rrrr", "sad.u32 $d, $a, $b, $c;", 3, 10, 1, 8},
	{"rrr", "div.u32 $d, $a, $b;", 7, 2, 0, 3},
	{"rrr", "div.u32 $d, $a, $b;", 7, 0, 0, M1},
	{"rrr", "div.s32 $d, $a, $b;", 0xfffffff9, 2, 0, 0xfffffffd},
	{"rrr", "div.s32 $d, $a, $b;", 0x80000000, M1, 0, 0x80000000},
	{"rrr", "rem.s32 $d, $a, $b;", 0xfffffff9, 2, 0, M1},
	{"rrr", "rem.s32 $d, $a, $b;", 0x80000000, M1, 0, 0},
	{"rrr", "rem.u32 $d, $a, $b;", 7, 0, 0, 7},
	{"ddd", "div.s64 $d, $a, $b;", SMIN64, MAX64, 0, SMIN64},
	{"ddd", "rem.u64 $d, $a, $b;", MAX64, 10, 0, 5},
	{"hhh", "div.s16 $d, $a, $b;", 0x8000, 0xffff, 0, 0x8000},
	{"rr", "abs.s32 $d, $a;", 0x80000000, 0, 0, 0x80000000},
	{"rr", "abs.s32 $d, $a;", M1, 0, 0, 1},
	{"rr", "neg.s32 $d, $a;", 0x80000000, 0, 0, 0x80000000},
	{"hh", "neg.s16 $d, $a;", 1, 0, 0, 0xffff},
	{"rrr", "min.s32 $d, $a, $b;", M1, 1, 0, M1},
	{"rrr", "min.u32 $d, $a, $b;", M1, 1, 0, 1},
	{"ddd", "max.s64 $d, $a, $b;", MAX64, 1, 0, 1},
	{"ddd", "max.u64 $d, $a, $b;", MAX64, 1, 0, MAX64},
	{"rrr", "max.s16x2 $d, $a, $b;", 0xffff0001, 0x0001ffff, 0, 0x00010001},
	{"rrr", "min.u16x2 $d, $a, $b;", 0xffff0001, 0x0001ffff, 0, 0x00010001},
	{"rr", "add.cc.u32 %r5, $a, 1; addc.u32 $d, 0, 0;", M1, 0, 0, 1},
	{"rr", "add.cc.u32 %r5, $a, 1; addc.u32 $d, 0, 0;", 5, 0, 0, 0},
	{"rr", "sub.cc.u32 %r5, $a, 1; subc.u32 $d, 0, 0;", 0, 0, 0, M1},
	{"dd", "add.cc.u64 %d5, $a, 1; addc.u64 $d, 5, 0;", MAX64, 0, 0, 6},
	{"rrr", "mad.lo.cc.u32 %r5, $a, $b, 1; madc.hi.u32 $d, $a, $b, 0;", M1, M1, 0, 0xfffffffe},
	{"rr", "add.cc.u32 %r5, $a, $a; addc.cc.u32 %r6, $a, $a; addc.u32 $d, 0, 0;", M1, 0, 0, 1},
};

static const struct op_case bit_cases[] = {
	{"rr", "popc.b32 $d, $a;", 0xf0f0f0f1, 0, 0, 17},
	{"rd", "popc.b64 $d, $a;", MAX64, 0, 0, 64},
	{"rr", "clz.b32 $d, $a;", 0, 0, 0, 32},
	{"rr", "clz.b32 $d, $a;", 1, 0, 0, 31},
	{"rd", "clz.b64 $d, $a;", 0, 0, 0, 64},
	{"rr", "bfind.u32 $d, $a;", 0x10, 0, 0, 4},
	{"rr", "bfind.u32 $d, $a;", 0, 0, 0, M1},
	{"rr", "bfind.s32 $d, $a;", 0xfffffff0, 0, 0, 3},
	{"rr", "bfind.s32 $d, $a;", M1, 0, 0, M1},
	{"rr", "bfind.shiftamt.u32 $d, $a;", 0x10, 0, 0, 27},
	{"rd", "bfind.u64 $d, $a;", 1ull << 40, 0, 0, 40},
	{"rd", "bfind.shiftamt.s64 $d, $a;", SMIN64, 0, 0, 1},
	{"rr", "brev.b32 $d, $a;", 1, 0, 0, 0x80000000},
	{"dd", "brev.b64 $d, $a;", 1, 0, 0, SMIN64},
	{"rrrr", "bfe.u32 $d, $a, $b, $c;", 0xabcd1234, 8, 8, 0x12},
	{"rrrr", "bfe.s32 $d, $a, $b, $c;", 0x00008000, 8, 8, 0xffffff80},
	{"rrrr", "bfe.u32 $d, $a, $b, $c;", 0xabcd1234, 24, 16, 0xab},
	{"rrrr", "bfe.s32 $d, $a, $b, $c;", 0xabcd1234, 24, 16, 0xffffffab},
	{"rrrr", "bfe.s32 $d, $a, $b, $c;", 0x80000000, 40, 4, M1},
	{"rrrr", "bfe.u32 $d, $a, $b, $c;", M1, 0, 0, 0},
	{"rrrr", "bfe.s32 $d, $a, $b, $c;", M1, 0, 255, M1},
	{"ddrr", "bfe.u64 $d, $a, $b, $c;", MAX64, 60, 10, 0xf},
	{"ddrr", "bfe.s64 $d, $a, $b, $c;", 0x8, 0, 4, 0xfffffffffffffff8},
	{"rrrr", "bfi.b32 $d, $a, $b, $c, 8;", 0xff, 0, 4, 0xff0},
	{"rrrr", "bfi.b32 $d, $a, $b, $c, 8;", 0xff, 5, 32, 5},
	{"rrrr", "bfi.b32 $d, $a, $b, $c, 0;", 0xff, 5, 3, 5},
	{"rrrr", "bfi.b32 $d, $a, $b, $c, 40;", 0xffff, 1, 16, 0xffff0001},
	{"ddd", "bfi.b64 $d, $a, $b, 32, 16;", 0xabcd, 1, 0, 0x0000abcd00000001},
	{"rrrr", "fns.b32 $d, $a, $b, $c;", 0x10101, 0, 2, 8},
	{"rrrr", "fns.b32 $d, $a, $b, $c;", 0x10101, 31, (uint32_t)-1, 16},
	{"rrrr", "fns.b32 $d, $a, $b, $c;", 0x10101, 8, 0, 8},
	{"rrrr", "fns.b32 $d, $a, $b, $c;", 0x10101, 0, 9, M1},
	{"rrr", "szext.clamp.s32 $d, $a, $b;", 0xff, 8, 0, M1},
	{"rrr", "szext.wrap.u32 $d, $a, $b;", 0xfff, 40, 0, 0xff},
	{"rrr", "szext.clamp.u32 $d, $a, $b;", 0xfff, 40, 0, 0xfff},
	{"rrr", "bmsk.clamp.b32 $d, $a, $b;", 4, 8, 0, 0xff0},
	{"rrr", "bmsk.clamp.b32 $d, $a, $b;", 40, 8, 0, 0},
	{"rrr", "bmsk.wrap.b32 $d, $a, $b;", 36, 33, 0, 0x10},
	{"rrr", "shl.b32 $d, $a, $b;", 1, 31, 0, 0x80000000},
	{"rrr", "shl.b32 $d, $a, $b;", 1, 32, 0, 0},
	{"rrr", "shl.b32 $d, $a, $b;", 1, M1, 0, 0},
	{"hhr", "shl.b16 $d, $a, $b;", 1, 16, 0, 0},
	{"ddr", "shl.b64 $d, $a, $b;", 1, 63, 0, SMIN64},
	{"ddr", "shl.b64 $d, $a, $b;", 1, 64, 0, 0},
	{"rrr", "shr.u32 $d, $a, $b;", 0x80000000, 31, 0, 1},
	{"rrr", "shr.s32 $d, $a, $b;", 0x80000000, 32, 0, M1},
	{"rrr", "shr.u32 $d, $a, $b;", 0x80000000, 32, 0, 0},
	{"hhr", "shr.s16 $d, $a, $b;", 0x8000, 100, 0, 0xffff},
	{"ddr", "shr.s64 $d, $a, $b;", SMIN64, 64, 0, MAX64},
	{"ddr", "shr.u64 $d, $a, $b;", SMIN64, 63, 0, 1},
	{"rrrr", "shf.l.wrap.b32 $d, $a, $b, $c;", 0x12345678, 0x9abcdef0, 36, 0xabcdef01},
	{"rrrr", "shf.l.clamp.b32 $d, $a, $b, $c;", 0x12345678, 0x9abcdef0, 36, 0x12345678},
	{"rrrr", "shf.r.wrap.b32 $d, $a, $b, $c;", 0x12345678, 0x9abcdef0, 4, 0x01234567},
	{"rrrr", "shf.r.clamp.b32 $d, $a, $b, $c;", 0x12345678, 0x9abcdef0, 99, 0x9abcdef0},
	{"rrrr", "prmt.b32 $d, $a, $b, $c;", 0x33221100, 0x77665544, 0x7531, 0x77553311},
	{"rrrr", "prmt.b32 $d, $a, $b, $c;", 0x332211f0, 0x77665544, 0x8, 0xf0f0f0ff},
	{"rrrr", "prmt.b32.f4e $d, $a, $b, $c;", 0x33221100, 0x77665544, 1, 0x44332211},
	{"rrrr", "prmt.b32.b4e $d, $a, $b, $c;", 0x33221100, 0x77665544, 1, 0x66770011},
	{"rrrr", "prmt.b32.rc8 $d, $a, $b, $c;", 0x33221100, 0x77665544, 2, 0x22222222},
	{"rrrr", "prmt.b32.ecl $d, $a, $b, $c;", 0x33221100, 0x77665544, 1, 0x33221111},
	{"rrrr", "prmt.b32.ecr $d, $a, $b, $c;", 0x33221100, 0x77665544, 1, 0x11111100},
	{"rrrr", "prmt.b32.rc16 $d, $a, $b, $c;", 0x33221100, 0x77665544, 1, 0x33223322},
	{"rrrr", "lop3.b32 $d, $a, $b, $c, 0x80;", 0xf0, 0xcc, 0xaa, 0x80},
	{"rrrr", "lop3.b32 $d, $a, $b, $c, 0x96;", 0xf0, 0xcc, 0xaa, 0x96},
	{"rrrr", "lop3.b32 $d, $a, $b, $c, 0xca;", 0xf0, 0xcc, 0xaa, 0xca},
	{"rrrr", "lop3.b32 $d, $a, $b, $c, 0xff;", 0, 0, 0, M1},
	{"rrrr", "dp4a.s32.s32 $d, $a, $b, $c;", 0xff020304, 0x01010101, 10, 18},
	{"rrrr", "dp4a.u32.u32 $d, $a, $b, $c;", 0xff020304, 0x01010101, 10, 274},
	{"rrrr", "dp4a.u32.s32 $d, $a, $b, $c;", 0xff000000, 0xff000000, 0, 0xffffff01},
	{"rrrr", "dp2a.lo.s32.s32 $d, $a, $b, $c;", 0xffff0002, 0x00000305, 1, 8},
	{"rrrr", "dp2a.hi.s32.s32 $d, $a, $b, $c;", 0xffff0002, 0x03050000, 1, 8},
	{"rrr", "and.b32 $d, $a, $b;", 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
	{"ddd", "or.b64 $d, $a, $b;", 1, SMIN64, 0, 0x8000000000000001},
	{"hhh", "xor.b16 $d, $a, $b;", 0xffff, 0x00ff, 0, 0xff00},
	{"rr", "not.b32 $d, $a;", 0, 0, 0, M1},
	{"rr", "cnot.b32 $d, $a;", 0, 0, 0, 1},
	{"rr", "cnot.b32 $d, $a;", 7, 0, 0, 0},
};

static const struct op_case float_cases[] = {
	{"rrr", "add.f32 $d, $a, $b;", F1, F2, 0, F3},
	{"rrr", "add.f32 $d, $a, $b;", FINF, FINF | NEG, 0, FNAN},
	{"rrr", "add.f32 $d, $a, $b;", 0xffc12345, F1, 0, FNAN},
	{"rrr", "add.f32 $d, $a, $b;", FDEN, FDEN, 0, 2},
	{"rrr", "add.ftz.f32 $d, $a, $b;", FDEN, FDEN, 0, 0},
	{"rrr", "add.ftz.f32 $d, $a, $b;", FMIN, FMIN | NEG | 1, 0, NEG},
	{"rrr", "add.sat.f32 $d, $a, $b;", F1, F2, 0, F1},
	{"rrr", "add.sat.f32 $d, $a, $b;", FNAN, F2, 0, 0},
	{"rrr", "sub.sat.f32 $d, $a, $b;", F1, F2, 0, 0},
	{"rrr", "add.rz.f32 $d, $a, $b;", F1, 0x33ffffff, 0, F1},
	{"rrr", "add.rp.f32 $d, $a, $b;", F1, FDEN, 0, 0x3f800001},
	{"rrr", "add.rm.f32 $d, $a, $b;", F1, FDEN | NEG, 0, 0x3f7fffff},
	{"rrr", "add.rm.f32 $d, $a, $b;", F1, F1 | NEG, 0, NEG},
	{"rrr", "add.rn.f32 $d, $a, $b;", F1, F1 | NEG, 0, 0},
	{"rrr", "add.rz.f32 $d, $a, $b;", FMAX, FMAX, 0, FMAX},
	{"rrr", "add.rm.f32 $d, $a, $b;", FMAX, FMAX, 0, FMAX},
	{"rrr", "add.rp.f32 $d, $a, $b;", FMAX, FMAX, 0, FINF},
	{"rrr", "mul.f32 $d, $a, $b;", FINF, 0, 0, FNAN},
	{"rrr", "mul.rz.f32 $d, $a, $b;", 0x3f800001, 0x3f800001, 0, 0x3f800002},
	{"rrr", "mul.rp.f32 $d, $a, $b;", 0x3f800001, 0x3f800001, 0, 0x3f800003},
	{"rrr", "mul.ftz.f32 $d, $a, $b;", FMIN | NEG, 0x3f000000, 0, NEG},
	{"rrr", "mul.f32 $d, $a, $b;", FMIN | NEG, 0x3f000000, 0, 0x80400000},
	{"rrrr", "fma.rn.f32 $d, $a, $b, $c;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
	{"rrrr", "fma.rz.f32 $d, $a, $b, $c;", F1, F1, FDEN | NEG, 0x3f7fffff},
	{"rrrr", "fma.rn.ftz.f32 $d, $a, $b, $c;", FDEN, F1, FDEN, 0},
	{"rrrr", "fma.rn.sat.f32 $d, $a, $b, $c;", F2, F2, F2, F1},
	{"rrrr", "mad.rn.f32 $d, $a, $b, $c;", F2, F3, F1, 0x40e00000},
	{"dddd", "fma.rn.f64 $d, $a, $b, $c;", D2, D2, D1, 0x4014000000000000},
	{"dddd", "fma.rp.f64 $d, $a, $b, $c;", D1, D1, 1, 0x3ff0000000000001},
	{"dddd", "fma.rm.f64 $d, $a, $b, $c;", D1, D1, SMIN64 | 1, 0x3fefffffffffffff},
	{"rrr", "div.rn.f32 $d, $a, $b;", F1, F3, 0, 0x3eaaaaab},
	{"rrr", "div.rz.f32 $d, $a, $b;", F1, F3, 0, 0x3eaaaaaa},
	{"rrr", "div.rn.f32 $d, $a, $b;", F1, 0, 0, FINF},
	{"rrr", "div.rn.f32 $d, $a, $b;", 0, 0, 0, FNAN},
	{"rrr", "div.approx.f32 $d, $a, $b;", F1, 0x7f000000, 0, 0},
	{"rrr", "div.approx.f32 $d, $a, $b;", FINF, 0x7f000000, 0, FNAN},
	{"rrr", "div.full.f32 $d, $a, $b;", F2, F1, 0, F2},
	{"ddd", "div.rn.f64 $d, $a, $b;", D1, 0x4008000000000000, 0, 0x3fd5555555555555},
	{"ddd", "div.rp.f64 $d, $a, $b;", D1, 0x4008000000000000, 0, 0x3fd5555555555556},
	{"ddd", "div.rn.f64 $d, $a, $b;", 0, 0, 0, DNAN},
	{"rr", "rcp.rn.f32 $d, $a;", F2, 0, 0, 0x3f000000},
	{"rr", "rcp.rz.f32 $d, $a;", F3, 0, 0, 0x3eaaaaaa},
	{"rr", "rcp.approx.f32 $d, $a;", NEG, 0, 0, FINF | NEG},
	{"rr", "rcp.approx.ftz.f32 $d, $a;", FDEN, 0, 0, FINF},
	{"dd", "rcp.rn.f64 $d, $a;", D2, 0, 0, 0x3fe0000000000000},
	{"dd", "rcp.approx.ftz.f64 $d, $a;", 0x4008000000000000, 0, 0, 0x3fd5555500000000},
	{"rr", "sqrt.rn.f32 $d, $a;", 0x40800000, 0, 0, F2},
	{"rr", "sqrt.rn.f32 $d, $a;", F2, 0, 0, 0x3fb504f3},
	{"rr", "sqrt.rp.f32 $d, $a;", F2, 0, 0, 0x3fb504f4},
	{"rr", "sqrt.rn.f32 $d, $a;", F1 | NEG, 0, 0, FNAN},
	{"rr", "sqrt.rn.f32 $d, $a;", NEG, 0, 0, NEG},
	{"rr", "sqrt.approx.f32 $d, $a;", 0x40800000, 0, 0, F2},
	{"dd", "sqrt.rn.f64 $d, $a;", D2, 0, 0, 0x3ff6a09e667f3bcd},
	{"dd", "sqrt.rz.f64 $d, $a;", D2, 0, 0, 0x3ff6a09e667f3bcc},
	{"rr", "rsqrt.approx.f32 $d, $a;", 0x40800000, 0, 0, 0x3f000000},
	{"rr", "rsqrt.approx.f32 $d, $a;", NEG, 0, 0, FINF | NEG},
	{"rr", "ex2.approx.f32 $d, $a;", F3, 0, 0, 0x41000000},
	{"rr", "ex2.approx.f32 $d, $a;", FINF | NEG, 0, 0, 0},
	{"rr", "ex2.approx.f32 $d, $a;", 0xc3150000, 0, 0, 1},
	{"rr", "ex2.approx.ftz.f32 $d, $a;", 0xc3150000, 0, 0, 0},
	{"rr", "lg2.approx.f32 $d, $a;", 0x41000000, 0, 0, F3},
	{"rr", "lg2.approx.f32 $d, $a;", 0, 0, 0, FINF | NEG},
	{"rr", "lg2.approx.f32 $d, $a;", F1 | NEG, 0, 0, FNAN},
	{"rr", "lg2.approx.f32 $d, $a;", FDEN, 0, 0, 0xc3150000},
	{"rr", "lg2.approx.ftz.f32 $d, $a;", FDEN, 0, 0, FINF | NEG},
	{"rr", "sin.approx.f32 $d, $a;", 0x40490fdb, 0, 0, 0xb3bbbd2e},
	{"rr", "cos.approx.f32 $d, $a;", 0, 0, 0, F1},
	{"rr", "sin.approx.f32 $d, $a;", FINF, 0, 0, FNAN},
	{"rr", "tanh.approx.f32 $d, $a;", FINF, 0, 0, F1},
	{"rr", "tanh.approx.f32 $d, $a;", 0, 0, 0, 0},
	{"rrr", "min.f32 $d, $a, $b;", NEG, 0, 0, NEG},
	{"rrr", "max.f32 $d, $a, $b;", NEG, 0, 0, 0},
	{"rrr", "min.f32 $d, $a, $b;", FNAN, F1, 0, F1},
	{"rrr", "max.f32 $d, $a, $b;", F1, 0x7f800001, 0, F1},
	{"rrr", "min.f32 $d, $a, $b;", FNAN, 0xffffffff, 0, FNAN},
	{"rrr", "min.NaN.f32 $d, $a, $b;", FNAN, F1, 0, FNAN},
	{"rrr", "max.ftz.f32 $d, $a, $b;", FDEN, NEG | FDEN, 0, 0},
	{"rrr", "min.xorsign.abs.f32 $d, $a, $b;", F2 | NEG, F1, 0, F1 | NEG},
	{"ddd", "max.f64 $d, $a, $b;", DNAN, D1, 0, D1},
	{"ddd", "min.f64 $d, $a, $b;", D2, D1, 0, D1},
	{"rr", "abs.f32 $d, $a;", F1 | NEG, 0, 0, F1},
	{"rr", "abs.ftz.f32 $d, $a;", FDEN | NEG, 0, 0, 0},
	{"rr", "neg.f32 $d, $a;", 0, 0, 0, NEG},
	{"dd", "neg.f64 $d, $a;", D1, 0, 0, 0xbff0000000000000},
	{"rrr", "copysign.f32 $d, $a, $b;", NEG, F2, 0, F2 | NEG},
	{"pr", "testp.finite.f32 $d, $a;", FMAX, 0, 0, 1},
	{"pr", "testp.infinite.f32 $d, $a;", FINF | NEG, 0, 0, 1},
	{"pr", "testp.notanumber.f32 $d, $a;", 0x7f800001, 0, 0, 1},
	{"pr", "testp.number.f32 $d, $a;", FINF, 0, 0, 1},
	{"pr", "testp.normal.f32 $d, $a;", FDEN, 0, 0, 0},
	{"pr", "testp.normal.f32 $d, $a;", 0, 0, 0, 0},
	{"pr", "testp.subnormal.f32 $d, $a;", FDEN, 0, 0, 1},
	{"pd", "testp.subnormal.f64 $d, $a;", 1, 0, 0, 1},
	/* halves: 1 is 0x3c00, 2 is 0x4000, 65504 is 0x7bff */
	{"hhh", "add.f16 $d, $a, $b;", 0x3c00, 0x3c00, 0, 0x4000},
	{"hhh", "add.f16 $d, $a, $b;", 0x7bff, 0x7bff, 0, 0x7c00},
	{"hhh", "add.f16 $d, $a, $b;", 0x0001, 0x0001, 0, 0x0002},
	{"hhh", "add.ftz.f16 $d, $a, $b;", 0x0001, 0x0001, 0, 0},
	{"hhh", "add.sat.f16 $d, $a, $b;", 0x3c00, 0x3c00, 0, 0x3c00},
	{"hhh", "mul.f16 $d, $a, $b;", 0x4000, 0x3c00, 0, 0x4000},
	{"hhhh", "fma.rn.f16 $d, $a, $b, $c;", 0x3c01, 0x3c01, 0xbc02, 0x0010},
	{"hhhh", "fma.rn.relu.f16 $d, $a, $b, $c;", 0x3c00, 0xbc00, 0, 0},
	{"rrr", "add.f16x2 $d, $a, $b;", 0x3c004000, 0x3c003c00, 0, 0x40004200},
	{"rrrr", "fma.rn.bf16x2 $d, $a, $b, $c;", 0x3f803f80, 0x40003f80, 0x00003f80, 0x40004000},
	{"hhh", "max.bf16 $d, $a, $b;", 0x3f80, 0x4000, 0, 0x4000},
	{"hhh", "min.NaN.f16 $d, $a, $b;", 0x7e00, 0x3c00, 0, 0x7fff},
	{"hh", "neg.f16 $d, $a;", 0x3c00, 0, 0, 0xbc00},
	{"hh", "ex2.approx.f16 $d, $a;", 0x4000, 0, 0, 0x4400},
	{"hh", "tanh.approx.bf16 $d, $a;", 0x7f80, 0, 0, 0x3f80},
};

static const struct op_case compare_cases[] = {
	{"prr", "setp.lt.s32 $d, $a, $b;", M1, 0, 0, 1},
	{"prr", "setp.lt.u32 $d, $a, $b;", M1, 0, 0, 0},
	{"prr", "setp.lo.u32 $d, $a, $b;", 1, 2, 0, 1},
	{"prr", "setp.hs.u32 $d, $a, $b;", 2, 2, 0, 1},
	{"pdd", "setp.ge.s64 $d, $a, $b;", SMIN64, 0, 0, 0},
	{"phh", "setp.gt.s16 $d, $a, $b;", 0xffff, 0, 0, 0},
	{"prr", "setp.eq.f32 $d, $a, $b;", NEG, 0, 0, 1},
	{"prr", "setp.ne.f32 $d, $a, $b;", FNAN, 0, 0, 0},
	{"prr", "setp.neu.f32 $d, $a, $b;", FNAN, 0, 0, 1},
	{"prr", "setp.equ.f32 $d, $a, $b;", FNAN, 0, 0, 1},
	{"prr", "setp.ltu.f32 $d, $a, $b;", FNAN, 0, 0, 1},
	{"prr", "setp.lt.f32 $d, $a, $b;", FNAN, 0, 0, 0},
	{"prr", "setp.geu.f32 $d, $a, $b;", F1, F2, 0, 0},
	{"prr", "setp.num.f32 $d, $a, $b;", F1, FNAN, 0, 0},
	{"prr", "setp.nan.f32 $d, $a, $b;", F1, FNAN, 0, 1},
	{"prr", "setp.gt.f32 $d, $a, $b;", FDEN, 0, 0, 1},
	{"prr", "setp.gt.ftz.f32 $d, $a, $b;", FDEN, 0, 0, 0},
	{"pdd", "setp.le.f64 $d, $a, $b;", D1, D1, 0, 1},
	{"phh", "setp.lt.f16 $d, $a, $b;", 0xbc00, 0x3c00, 0, 1},
	{"prr", "setp.eq.s32 %p5, 1, 1; setp.eq.and.s32 $d, $a, $b, %p5;", 1, 1, 0, 1},
	{"prr", "setp.eq.s32 %p5, 1, 1; setp.eq.and.s32 $d, $a, $b, !%p5;", 1, 1, 0, 0},
	{"prr", "setp.eq.s32 %p5, 1, 1; setp.eq.xor.s32 $d, $a, $b, %p5;", 1, 1, 0, 0},
	{"prr", "setp.eq.s32 %p5|$d, $a, $b;", 1, 2, 0, 1},
	{"prr", "setp.eq.s32 %p5, 1, 1; setp.eq.and.s32 %p6|$d, $a, $b, %p5;", 1, 2, 0, 1},
	{"rrr", "set.lt.u32.s32 $d, $a, $b;", M1, 0, 0, M1},
	{"rrr", "set.lt.f32.s32 $d, $a, $b;", M1, 0, 0, F1},
	{"rrr", "set.gt.s32.f32 $d, $a, $b;", F1, F2, 0, 0},
	{"rrr", "setp.eq.s32 %p5, $a, $b; selp.b32 $d, 7, 9, %p5;", 1, 1, 0, 7},
	{"drr", "setp.eq.s32 %p5, $a, $b; selp.b64 $d, 7, 9, %p5;", 1, 2, 0, 9},
	{"rrrr", "slct.s32.s32 $d, $a, $b, $c;", 7, 9, M1, 9},
	{"rrrr", "slct.u32.f32 $d, $a, $b, $c;", 7, 9, NEG, 7},
	{"rrrr", "slct.u32.f32 $d, $a, $b, $c;", 7, 9, FNAN, 9},
	{"prr", "setp.eq.s32 %p5, $a, 1; setp.eq.s32 %p6, $b, 1; and.pred $d, %p5, %p6;", 1, 1, 0,
	 1},
	{"prr", "setp.eq.s32 %p5, $a, 1; setp.eq.s32 %p6, $b, 1; or.pred $d, %p5, %p6;", 0, 1, 0,
	 1},
	{"prr", "setp.eq.s32 %p5, $a, 1; setp.eq.s32 %p6, $b, 1; xor.pred $d, %p5, %p6;", 1, 1, 0,
	 0},
	{"pr", "setp.eq.s32 %p5, $a, 1; not.pred $d, %p5;", 1, 0, 0, 0},
};

static const struct op_case convert_cases[] = {
	{"rr", "cvt.u8.u32 %h5, $a; cvt.u32.u8 $d, %h5;", 0x1ff, 0, 0, 0xff},
	{"rr", "cvt.s32.s8 $d, $a;", 0x80, 0, 0, 0xffffff80},
	{"rr", "cvt.s32.s16 $d, $a;", 0x8000, 0, 0, 0xffff8000},
	{"dr", "cvt.s64.s32 $d, $a;", M1, 0, 0, MAX64},
	{"dr", "cvt.u64.u32 $d, $a;", M1, 0, 0, M1},
	{"rd", "cvt.u32.u64 $d, $a;", 0x123456789, 0, 0, 0x23456789},
	{"hr", "cvt.u16.u32 $d, $a;", 0x12345, 0, 0, 0x2345},
	{"rr", "cvt.sat.s8.s32 $d, $a;", 1000, 0, 0, 127},
	{"rr", "cvt.sat.s8.s32 $d, $a;", 0xfffffc18, 0, 0, 0xffffff80},
	{"rr", "cvt.sat.u8.s32 $d, $a;", M1, 0, 0, 0},
	{"rr", "cvt.sat.s32.u32 $d, $a;", M1, 0, 0, 0x7fffffff},
	{"rr", "cvt.rn.f32.s32 $d, $a;", 16777217, 0, 0, 0x4b800000},
	{"rr", "cvt.rp.f32.s32 $d, $a;", 16777217, 0, 0, 0x4b800001},
	{"rr", "cvt.rn.f32.u32 $d, $a;", M1, 0, 0, 0x4f800000},
	{"rr", "cvt.rz.f32.u32 $d, $a;", M1, 0, 0, 0x4f7fffff},
	{"rd", "cvt.rn.f32.u64 $d, $a;", MAX64, 0, 0, 0x5f800000},
	{"dd", "cvt.rn.f64.u64 $d, $a;", MAX64, 0, 0, 0x43f0000000000000},
	{"dd", "cvt.rz.f64.u64 $d, $a;", MAX64, 0, 0, 0x43efffffffffffff},
	{"rr", "cvt.rzi.s32.f32 $d, $a;", 0xbfc00000, 0, 0, M1},
	{"rr", "cvt.rni.s32.f32 $d, $a;", 0x40200000, 0, 0, 2},
	{"rr", "cvt.rni.s32.f32 $d, $a;", 0x40600000, 0, 0, 4},
	{"rr", "cvt.rmi.s32.f32 $d, $a;", 0xbfc00000, 0, 0, 0xfffffffe},
	{"rr", "cvt.rpi.s32.f32 $d, $a;", 0x3fc00000, 0, 0, 2},
	{"rr", "cvt.rzi.s32.f32 $d, $a;", FNAN, 0, 0, 0},
	{"rr", "cvt.rzi.s32.f32 $d, $a;", FINF, 0, 0, 0x7fffffff},
	{"rr", "cvt.rzi.s32.f32 $d, $a;", FINF | NEG, 0, 0, 0x80000000},
	{"rr", "cvt.rzi.u32.f32 $d, $a;", F1 | NEG, 0, 0, 0},
	{"rr", "cvt.rzi.u32.f32 $d, $a;", 0x4f7fffff, 0, 0, 0xffffff00},
	{"dr", "cvt.rzi.s64.f32 $d, $a;", FINF, 0, 0, 0x7fffffffffffffff},
	{"rr", "cvt.rzi.u8.f32 $d, $a;", 0x43c80000, 0, 0, 255},
	{"dr", "cvt.f64.f32 $d, $a;", FDEN, 0, 0, 0x36a0000000000000},
	{"dr", "cvt.ftz.f64.f32 $d, $a;", FDEN, 0, 0, 0},
	{"rd", "cvt.rn.f32.f64 $d, $a;", 0x3ff0000010000000, 0, 0, F1},
	{"rd", "cvt.rp.f32.f64 $d, $a;", 0x3ff0000010000000, 0, 0, 0x3f800001},
	{"rd", "cvt.rn.f32.f64 $d, $a;", 0x7fefffffffffffff, 0, 0, FINF},
	{"rd", "cvt.rz.f32.f64 $d, $a;", 0x7fefffffffffffff, 0, 0, FMAX},
	{"rd", "cvt.rn.sat.f32.f64 $d, $a;", D2, 0, 0, F1},
	{"rr", "cvt.rni.f32.f32 $d, $a;", 0x40200000, 0, 0, F2},
	{"rr", "cvt.rmi.f32.f32 $d, $a;", 0xbf000000, 0, 0, F1 | NEG},
	{"rr", "cvt.rpi.f32.f32 $d, $a;", 0xbf000000, 0, 0, NEG},
	{"rr", "cvt.rzi.f32.f32 $d, $a;", 0x4b7fffff, 0, 0, 0x4b7fffff},
	{"rr", "cvt.sat.f32.f32 $d, $a;", F2, 0, 0, F1},
	{"dd", "cvt.rni.f64.f64 $d, $a;", 0x3fe0000000000000, 0, 0, 0},
	{"hr", "cvt.rn.f16.f32 $d, $a;", F1, 0, 0, 0x3c00},
	{"hr", "cvt.rn.f16.f32 $d, $a;", 0x477ff000, 0, 0, 0x7c00},
	{"hr", "cvt.rn.f16.f32 $d, $a;", 0x477fefff, 0, 0, 0x7bff},
	{"hr", "cvt.rn.f16.f32 $d, $a;", 0x33000000, 0, 0, 0},
	{"hr", "cvt.rn.f16.f32 $d, $a;", 0x33000001, 0, 0, 1},
	{"rh", "cvt.f32.f16 $d, $a;", 0x0001, 0, 0, 0x33800000},
	{"rh", "cvt.f32.f16 $d, $a;", 0xfc00, 0, 0, FINF | NEG},
	{"hr", "cvt.rn.bf16.f32 $d, $a;", 0x3f808000, 0, 0, 0x3f80},
	{"hr", "cvt.rn.bf16.f32 $d, $a;", 0x3f818000, 0, 0, 0x3f82},
	{"hr", "cvt.rn.relu.bf16.f32 $d, $a;", F1 | NEG, 0, 0, 0},
	{"rrr", "cvt.rn.f16x2.f32 $d, $a, $b;", F1, F2, 0, 0x3c004000},
	{"rrr", "cvt.rn.bf16x2.f32 $d, $a, $b;", F1, F2, 0, 0x3f804000},
	{"hrr", "cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b;", 0x43e80000, F1, 0, 0x7e38},
	{"hrr", "cvt.rn.satfinite.e5m2x2.f32 $d, $a, $b;", F1 | NEG, F2, 0, 0xbc40},
	{"rh", "cvt.rn.f16x2.e5m2x2 $d, $a;", 0x3c40, 0, 0, 0x3c004000},
	{"rr", "cvt.rna.tf32.f32 $d, $a;", 0x3f801000, 0, 0, 0x3f802000},
	{"hh", "cvt.rzi.s16.f16 $d, $a;", 0xc500, 0, 0, 0xfffb},
	{"rrr", "cvt.pack.sat.s16.s32 $d, $a, $b;", 100000, 0xfffe7960, 0, 0x7fff8000},
	{"rrrr", "cvt.pack.sat.u8.s32.b32 $d, $a, $b, $c;", 300, M1, 0x1234, 0x1234ff00},
	{"rr", "mov.b32 {%h5, %h6}, $a; mov.b32 $d, {%h6, %h5};", 0x12345678, 0, 0, 0x56781234},
	{"dd", "mov.b64 {%r5, %r6}, $a; mov.b64 $d, {%r6, %r5};", 0x123456789abcdef0, 0, 0,
	 0x9abcdef012345678},
	{"dd", "mov.b64 {%h5, %h6, %h7, %h8}, $a; mov.b64 $d, {%h8, %h7, %h6, %h5};",
	 0x1111222233334444, 0, 0, 0x4444333322221111},
};

/* The text with $d and so on replaced by registers. */
static void substitute(char *out, size_t size, const struct op_case *c)
{
	const char *p;
	size_t n = 0;

	for (p = c->text; *p && n + 8 < size; p++) {
		const char *which = *p == '$' ? strchr("dabc", p[1]) : NULL;

		if (!which) {
			out[n++] = *p;
			continue;
		}
		p++;
		n += (size_t)snprintf(out + n, size - n, "%%%c%d", c->regs[which - "dabc"],
				      (int)(which - "dabc"));
	}
	out[n] = '\0';
}

static unsigned bits_of(char letter)
{
	return letter == 'h' ? 16 : letter == 'd' ? 64 : 32;
}

static void make_kernel(char *ptx, size_t size, const struct op_case *c)
{
	char text[512];
	size_t n, k;

	n = (size_t)snprintf(ptx, size,
			     ".visible .entry k(.param .u64 out, .param .u64 in) {\n"
			     ".reg .pred %%p<10>; .reg .b16 %%h<10>; .reg .b32 %%r<12>;\n"
			     ".reg .b64 %%d<12>;\n"
			     "ld.param.u64 %%d10, [out]; ld.param.u64 %%d11, [in];\n"
			     "mov.u32 %%r11, %%tid.x; mul.wide.u32 %%d9, %%r11, 8;\n"
			     "add.u64 %%d10, %%d10, %%d9;\n");
	for (k = 1; c->regs[k]; k++)
		n += (size_t)snprintf(ptx + n, size - n, "ld.global.b%u %%%c%zu, [%%d11+%zu];\n",
				      bits_of(c->regs[k]), c->regs[k], k, 8 * (k - 1));
	substitute(text, sizeof(text), c);
	n += (size_t)snprintf(ptx + n, size - n, "%s\n", text);
	if (c->regs[0] == 'p')
		n += (size_t)snprintf(ptx + n, size - n, "selp.u32 %%r0, 1, 0, %%p0;\n");
	snprintf(ptx + n, size - n, "st.global.b%u [%%d10], %%%c0; ret; }\n", bits_of(c->regs[0]),
		 c->regs[0] == 'p' ? 'r' : c->regs[0]);
}

static bool wrong(const struct op_case *c, unsigned lane, uint64_t got, struct exec_test *t)
{
	print_error("%s of 0x%llx, 0x%llx, 0x%llx in lane %u: 0x%llx, expected 0x%llx\n", c->text,
		    (unsigned long long)c->a, (unsigned long long)c->b, (unsigned long long)c->c,
		    lane, (unsigned long long)got, (unsigned long long)c->want);
	exec_unload(t);
	return false;
}

/* False after telling what was wrong. */
static bool run_case(const struct op_case *c)
{
	struct exec_test t;
	char ptx[2048];
	uint64_t *in, *out;
	unsigned i;

	make_kernel(ptx, sizeof(ptx), c);
	exec_load_body(&t, ptx);
	in = exec_alloc(&t, 24);
	out = exec_alloc(&t, (size_t)N_THREADS * 8);
	in[0] = c->a;
	in[1] = c->b;
	in[2] = c->c;
	exec_arg_ptr(&t, 0, out);
	exec_arg_ptr(&t, 1, in);
	if (exec_run(&t, 1, N_THREADS, 1))
		fail_msg("%s: %s", c->text, t.fault.text);
	for (i = 0; i < N_THREADS; i++)
		if (out[i] != c->want)
			return wrong(c, i, out[i], &t);
	exec_unload(&t);
	return true;
}
#define TABLE_TEST(name)                                                             \
	static void test_##name(void **state)                                        \
	{                                                                            \
		bool good = true;                                                    \
		size_t i;                                                            \
                                                                                     \
		(void)state;                                                         \
		for (i = 0; i < sizeof(name##_cases) / sizeof(name##_cases[0]); i++) \
			good &= run_case(&name##_cases[i]);                          \
		assert_true(good);                                                   \
	}

TABLE_TEST(integer)
TABLE_TEST(bit)
TABLE_TEST(float)
TABLE_TEST(compare)
TABLE_TEST(convert)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integer), cmocka_unit_test(test_bit),
		cmocka_unit_test(test_float),	cmocka_unit_test(test_compare),
		cmocka_unit_test(test_convert),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
