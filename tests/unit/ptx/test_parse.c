/*
 * What is read is printed again in one form: statements and module items, one line of a table each.
 * A line without a second text is printed as it was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/ptx.h"
#include "test.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n\n"

struct example {
	const char *text;
	const char *printed; /* NULL: the same */
};

/* What the statements may use. */
static const char declarations[] =
	"\t.reg .pred %p<9>;\n\t.reg .b16 %h<9>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<9>;\n"
	"\t.reg .f32 %f<20>;\n\t.reg .f64 %fd<9>;\n\t.reg .b32 plain;\n\t.reg .b128 %q;\n"
	"\t.shared .align 8 .b8 sh[64];\n\t.param .b32 a;\n\t.param .b32 b;\n";

static char *print_and_free(struct cot_ptx_module *module)
{
	struct cot_error err;
	size_t size;
	char *text;

	if (cot_ptx_verify(module, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_ptx_print(module, &text, &size), 0);
	assert_int_equal(strlen(text), size);
	cot_ptx_destroy(module);
	return text;
}

static struct cot_ptx_module *parse(const char *text)
{
	struct cot_ptx_module *module = NULL;
	const struct cot_ptx_item *item;
	struct cot_error err;

	if (cot_ptx_parse(text, strlen(text), "test", &module, &err))
		fail_msg("%s", err.text);
	for (item = module->first; item; item = item->next) {
		if (item->kind == COT_PTX_ITEM_FUNC && item->func->opaque)
			fail_msg("%s", item->func->reason);
		if (item->kind == COT_PTX_ITEM_OPAQUE)
			fail_msg("%s", item->reason);
	}
	return module;
}

/* Printing what was printed changes nothing. */
static void check_stable(const char *text)
{
	char *again = print_and_free(parse(text));

	assert_string_equal(again, text);
	free(again);
}

#define BODY_MAX 4096

static void check_statement(const struct example *e)
{
	static const char form[] = HEAD
		".func (.param .b32 r) f(\n\t.param .b32 x\n);\n\n"
		".func g();\n.global .align 4 .u32 g1[4];\n.global .texref t1;\n\n.entry k(\n\t"
		".param .u64 p0\n)\n{\n%s\t%s\nL:\n}\n";
	char before[BODY_MAX], after[BODY_MAX];
	char *text;

	(void)snprintf(before, sizeof(before), form, declarations, e->text);
	(void)snprintf(after, sizeof(after), form, declarations, e->printed ? e->printed : e->text);
	text = print_and_free(parse(before));
	/* The first function follows an empty line. */
	assert_string_equal(strstr(text, "\n{\n"), strstr(after, "\n{\n"));
	check_stable(text);
	free(text);
}

static const struct example statements[] = {
	/* numbers */
	{"add.s32 %r1, %r2, -1;", NULL},
	{"add.s32 %r1, %r2, 0x1F;", "add.s32 %r1, %r2, 0x1f;"},
	{"add.s32 %r1, %r2, 010;", "add.s32 %r1, %r2, 8;"},
	{"add.s32 %r1, %r2, 0b101;", "add.s32 %r1, %r2, 5;"},
	{"add.s32 %r1, %r2, 7U;", "add.s32 %r1, %r2, 7;"},
	{"mov.u64 %rd1, 18446744073709551615;", NULL},
	{"mov.s64 %rd1, -9223372036854775808;", NULL},
	{"mov.f32 %f1, 0f3f800000;", "mov.f32 %f1, 0f3F800000;"},
	{"mov.f32 %f1, 0F3F800000;", "mov.f32 %f1, 0f3F800000;"},
	{"mov.f64 %fd1, 0d3FF0000000000000;", NULL},
	{"mov.f32 %f1, 1.5;", "mov.f32 %f1, 0d3FF8000000000000;"},
	{"mov.f64 %fd1, -1e-3;", "mov.f64 %fd1, 0dBF50624DD2F1A9FC;"},
	{"mov.u32 %r1, WARP_SZ;", NULL},
	/* blank space, comments, several on a line, nothing at all */
	{"add.s32%r1,%r2 , // one\n /* two\n */ 3 ;", "add.s32 %r1, %r2, 3;"},
	{"ret; ; exit;", "ret;\n\texit;"},
	/* arithmetic */
	{"mul.wide.s32 %rd1, %r1, 4;", NULL},
	{"mul.wide.u16 %r1, %h1, %h2;", NULL},
	{"mad.lo.s32 %r1, %r2, %r3, %r4;", NULL},
	{"mad.wide.u32 %rd1, %r2, %r3, %rd4;", NULL},
	{"add.cc.u32 %r1, %r2, %r3;", NULL},
	{"addc.cc.u32 %r1, %r2, %r3;", NULL},
	{"madc.hi.cc.u32 %r1, %r2, %r3, %r4;", NULL},
	{"fma.rn.ftz.f32 %f1, %f2, %f3, %f4;", NULL},
	{"fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4;", NULL},
	{"div.approx.f32 %f1, %f2, %f3;", NULL},
	{"max.ftz.NaN.f32 %f1, %f2, %f3;", NULL},
	{"min.NaN.bf16x2 %r1, %r2, %r3;", NULL},
	{"min.xorsign.abs.f32 %f1, %f2, %f3;", NULL},
	{"rcp.approx.ftz.f64 %fd1, %fd2;", NULL},
	{"bfe.u64 %rd1, %rd2, 3, %r4;", NULL},
	{"bfi.b32 %r1, %r2, %r3, 8, 8;", NULL},
	{"bfind.shiftamt.u64 %r1, %rd1;", NULL},
	{"dp4a.u32.s32 %r1, %r2, %r3, %r4;", NULL},
	{"dp2a.lo.s32.u32 %r1, %r2, %r3, %r4;", NULL},
	{"prmt.b32.f4e %r1, %r2, %r3, %r4;", NULL},
	{"lop3.b32 %r1, %r2, %r3, %r4, 0x96;", NULL},
	{"lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x96, !%p2;", NULL},
	{"shf.l.wrap.b32 %r1, %r2, %r3, %r4;", NULL},
	{"vadd4.u32.u32.u32.sat %r1, %r2, %r3, %r4;", NULL},
	{"testp.infinite.f32 %p1, %f1;", NULL},
	/* comparison */
	{"setp.lt.s32 %p1, %r1, %r2;", NULL},
	{"setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", NULL},
	{"setp.neu.ftz.f16x2 %p1|%p2, %r1, %r2;", NULL},
	{"set.gtu.u32.f32 %r1, %f1, 0f00000000;", NULL},
	{"selp.f32 %f1, %f2, 0f3F800000, %p1;", NULL},
	{"slct.u32.s32 %r1, %r2, %r3, %r4;", NULL},
	{"mov.pred %p1, 0;", NULL},
	/* moves and conversions */
	{"mov.b64 {%r1, %r2}, %rd1;", NULL},
	{"mov.b64 {_, %r2}, %rd1;", NULL},
	{"mov.b32 %r1, {%h1, %h2};", NULL},
	{"mov.b128 %q, {%rd1, %rd2};", NULL},
	{"mov.u32 %r1, %tid.x;", NULL},
	{"mov.u32 %r1, %nctaid.z;", NULL},
	{"mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid;", NULL},
	{"mov.b32 %r1, %envreg31;", NULL},
	{"mov.u64 %rd1, %clock64;", NULL},
	{"mov.pred %p1, %is_explicit_cluster;", NULL},
	{"mov.u64 %rd1, g1+8;", NULL},
	{"mov.u64 %rd1, f;", NULL},
	{"mov.u16 %h1, %tid.x;", NULL},
	{"mov.b64 %rd1, {%r1, 7};", NULL},
	{"cvt.u64.u32 %rd1, %ntid.y;", NULL},
	{"cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", NULL},
	{"cvt.u32.u16 %r1, %h1;", NULL},
	{"cvt.u64.u8 %rd1, %r1;", NULL},
	{"cvt.rni.sat.u8.f32 %r1, %f1;", NULL},
	{"cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3, %r4;", NULL},
	{"cvta.to.global.u64 %rd1, %rd2;", NULL},
	{"cvta.shared.u64 %rd1, sh;", NULL},
	{"isspacep.shared::cluster %p1, %rd1;", NULL},
	{"mapa.shared::cluster.u32 %r1, %r2, %r3;", NULL},
	/* memory */
	{"ld.param.u64 %rd1, [p0];", NULL},
	{"ld.global.u32 %r1, [%rd1+-4];", NULL},
	{"ld.global.u32 %r1, [%rd1-4];", "ld.global.u32 %r1, [%rd1+-4];"},
	{"ld.global.u32 %r1, [%rd1+0];", NULL},
	{"ld.global.u32 %r1, [g1+8];", NULL},
	{"ld.shared.v4.f32 {%f1, %f2, _, %f4}, [sh+16];", NULL},
	{"ld.volatile.global.u8 %r1, [%rd1];", NULL},
	{"ld.acquire.gpu.global.u32 %r1, [%rd1];", NULL},
	{"ld.relaxed.sys.u32 %r1, [%rd1];", NULL},
	{"ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.v2.u64 {%rd1, %rd2}, [%rd3], %rd4;",
	 NULL},
	{"ld.const.u32 %r1, [64];", NULL},
	{"st.global.cs.v2.b16 [%rd1+4], {%h1, 7};", NULL},
	{"st.release.cta.shared::cta.u32 [%r1], %r2;", NULL},
	{"st.mmio.relaxed.sys.u32 [%rd1], %r2;", NULL},
	{"atom.add.u32 %r1, [%rd1], 1;", NULL},
	{"atom.acq_rel.gpu.global.cas.b64 %rd1, [%rd2], %rd3, %rd4;", NULL},
	{"atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1], {%f5, %f6, %f7, %f8};", NULL},
	{"atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;", NULL},
	{"red.relaxed.gpu.global.add.f32 [%rd1], %f1;", NULL},
	{"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r1], %r2, [%r3];",
	 NULL},
	{"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];", NULL},
	{"prefetch.global.L2::evict_last [%rd1];", NULL},
	{"prefetchu.L1 [%rd1];", NULL},
	{"discard.global.L2 [%rd1], 128;", NULL},
	{"createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0f3F000000;", NULL},
	{"createpolicy.range.global.L2::evict_last.b64 %rd1, [%rd2], %r1, 64;", NULL},
	{"membar.gl;", NULL},
	{"fence.acq_rel.gpu;", NULL},
	{"fence.proxy.async.global;", NULL},
	{"fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;", NULL},
	{"fence.mbarrier_init.release.cluster;", NULL},
	{"multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", NULL},
	/* asynchronous copies */
	{"cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16;", NULL},
	{"cp.async.ca.shared.global [%r1], [%rd1], 4, %r2;", NULL},
	{"cp.async.commit_group;", NULL},
	{"cp.async.wait_group 1;", NULL},
	{"cp.async.wait_all;", NULL},
	{"cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];", NULL},
	{"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
	 NULL},
	{"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [%r1], 64, %rd2;",
	 NULL},
	{"cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
	 ".multicast::cluster [%r1], [%rd1, {%r2, %r3, %r4}], [%r5], %h1;",
	 NULL},
	{"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], "
	 "[%rd1, {%r2, %r3, %r4, %r5}], [%r5], {%h1, %h2};",
	 NULL},
	{"cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r2}], [%r1];", NULL},
	{"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], %r2;", NULL},
	{"cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r2, %r3}];", NULL},
	{"cp.async.bulk.wait_group.read 0;", NULL},
	{"tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;", NULL},
	{"mbarrier.init.shared.b64 [%r1], 1;", NULL},
	{"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], %r2;", NULL},
	{"mbarrier.arrive.shared.b64 %rd1, [sh];", NULL},
	{"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];", NULL},
	{"mbarrier.test_wait.shared.b64 %p1, [sh], %rd1;", NULL},
	{"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, 1000;", NULL},
	/* barriers and warps */
	{"bar.sync 0;", NULL},
	{"bar.cta.sync 1, 64;", "bar.sync 1, 64;"},
	{"barrier.sync.aligned %r1, 64;", NULL},
	{"bar.arrive 1, 64;", NULL},
	{"bar.red.popc.u32 %r1, 0, %p1;", NULL},
	{"bar.red.or.pred %p1, 0, 64, !%p2;", NULL},
	{"barrier.cluster.arrive.release.aligned;", NULL},
	{"barrier.cluster.wait.acquire;", NULL},
	{"bar.warp.sync 0xffffffff;", NULL},
	{"griddepcontrol.launch_dependents;", NULL},
	{"shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;", NULL},
	{"vote.sync.ballot.b32 %r1, !%p1, %r2;", NULL},
	{"match.all.sync.b64 %r1|%p1, %rd1, -1;", NULL},
	{"activemask.b32 %r1;", NULL},
	{"redux.sync.add.s32 %r1, %r2, -1;", NULL},
	{"elect.sync _|%p1, -1;", NULL},
	/* matrices */
	{"wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1], %r9;",
	 NULL},
	{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, "
	 "{%r5, %r6}, {%f5, %f6, %f7, %f8};",
	 NULL},
	{"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, "
	 "%r8}, {%r9, %r10}, {%r1, %r2, %r3, %r4};",
	 NULL},
	{"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3, "
	 "%r4}, {%f5, %f6, %f7, %f8}, %r5, 0;",
	 NULL},
	{"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r3];", NULL},
	{"movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", NULL},
	{"wgmma.fence.sync.aligned;", NULL},
	{"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, "
	 "0;",
	 NULL},
	{"wgmma.wait_group.sync.aligned 0;", NULL},
	{"setmaxnreg.inc.sync.aligned.u32 232;", NULL},
	/* textures */
	{"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];", NULL},
	{"tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [t1, {%r5}];", NULL},
	{"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, %rd2, {%f5, %f6}];", NULL},
	{"tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];", NULL},
	{"txq.width.b32 %r1, [%rd1];", NULL},
	{"suld.b.2d.b32.trap {%r1}, [%rd1, {%r2, %r3}];", NULL},
	{"sust.b.2d.b32.clamp [%rd1, {%r2, %r3}], {%r4};", NULL},
	/* control */
	{"@%p1 bra L;", NULL},
	{"@!%p1 bra.uni L;", NULL},
	{"@%p1 ret;", NULL},
	{"trap;", NULL},
	{"nanosleep.u32 100;", NULL},
	{"pmevent 3;", NULL},
	{".pragma \"nounroll\";", NULL},
	{".loc 1 10 5, function_name $info, inlined_at 1 2 3 // x\n",
	 ".loc 1 10 5, function_name $info, "
	 "inlined_at 1 2 3"},
	{"T: .branchtargets L, M;\n\tbrx.idx %r1, T;\n\tM:",
	 "T: .branchtargets L, M;\n\tbrx.idx %r1, "
	 "T;\nM:"},
	/* calls */
	{"call (a), f, (b);", NULL},
	{"call.uni (%r1), f, (%r2);", NULL},
	{"call (%r1), f, (3);", NULL},
	{"call g;", NULL},
	{"call g, ();", NULL},
	{"P : .callprototype (.param .b32 _) _ (.param .align 4 .b8 _[4]);\n\tcall (a), %rd1, (b), P;",
	 "P: .callprototype (.param .b32 _) _ (.param .align 4 .b8 _[4]);\n\tcall (a), %rd1, (b), P;"},
	{"P: .callprototype ()_ () .noreturn;\n\tcall %rd1, (), P;",
	 "P: .callprototype () _ () .noreturn;\n\tcall %rd1, (), P;"},
	{"Q: .calltargets g;\n\tcall %rd1, (), Q;", NULL},
	/* blocks: names of their own, labels too */
	{"{\n\t.reg .b32 %t;\n\tmov.u32 %t, 1;\n\t}\n\t{\n\t.reg .b64 %t;\n\tmov.u64 %t, 1;\n\t}",
	 NULL},
	{"{\n\tbra M;\nM:\n\t}\n\t{\nM:\n\tbra M;\n\t}", NULL},
	{"{\n\tbra L;\n\t}", NULL},
	{".reg .b32 %x, %y<3>;\n\tmov.b32 %x, %y2;",
	 ".reg .b32 %x;\n\t.reg .b32 %y<3>;\n\tmov.b32 %x, %y2;"},
	{".reg .b32 %z1<3>;\n\tmov.b32 plain, %z12;", NULL},
	{".local .align 16 .b8 depot[48];\n\tmov.u64 %rd1, depot;", NULL},
};

static void test_statements(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(statements); i++)
		check_statement(&statements[i]);
}

static const struct example items[] = {
	{".global .align 4 .u32 g;\n", NULL},
	{".visible .global .align 8 .f64 g[3] = {0d3FF0000000000000, 2.0, -0f3F800000};\n",
	 ".visible .global .align 8 .f64 g[3] = {0d3FF0000000000000, 0d4000000000000000, 0fBF800000};\n"},
	{".weak .const .align 4 .b8 c[4] = {0, 255, -1, 0x10};\n", NULL},
	{".global .align 4 .s32 g = -5;\n", NULL},
	{".extern .shared .align 16 .b8 d[];\n", NULL},
	{".common .global .b32 c;\n", NULL},
	{".shared .v4 .f32 s[2];\n", NULL},
	{".global .s32 m[2][3] = {{1, 2}, {4, 5, 6}};\n",
	 ".global .s32 m[2][3] = {1, 2, 0, 4, 5, 6};\n"},
	{".global .s32 m[] = {1, 2};\n", NULL},
	{".global .attribute(.managed) .align 4 .u32 g;\n", NULL},
	{".global .attribute(.unified(19,95)) .align 4 .u32 g;\n", NULL},
	{".global .u32 x;\n.global .u64 a[3] = {x, generic(x), x+4};\n", NULL},
	{".global .u32 x;\n.global .u8 a[2] = {0xFF(x), 0xFF00(generic(x)+8)};\n", NULL},
	{".global .u32 x;\n.global .u64 a = generic(x) - 4;\n",
	 ".global .u32 x;\n.global .u64 a = generic(x)+-4;\n"},
	{".global .texref t;\n", NULL},
	{".file 1 \"a // b.cu\", 12, 34\n", NULL},
	{".section .debug_info\n{\n.b8 1, 2 // x\n.b32 $L-$M\n}\n", NULL},
	{".pragma \"nounroll\";\n", NULL},
	{"\n.func f();\n\n.func (.param .b32 r) g(\n\t.param .b32 a,\n\t.param .align 8 .b8 b[16]\n);\n"
	 ".global .u64 t[2] = {f, g};\n.alias f, g;\n",
	 NULL},
	{"\n.extern .func (.param .b32 r) vprintf(\n\t.param .b64 a,\n\t.param .b64 b\n);\n", NULL},
	{"\n.visible .entry k(\n\t.param .u64 .ptr .global .align 4 a,\n\t.param .u32 b\n)\n.maxntid 256, 1, "
	 "1\n.minnctapersm 2\n{\n\tret;\n}\n",
	 NULL},
	{"\n.visible .entry k()\n.reqntid 64\n.maxnreg 32\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n"
	 ".maxclusterrank 8\n.pragma \"x\";\n{\n\tret;\n}\n",
	 NULL},
	{"\n.weak .func f()\n.noreturn\n{\n\tret;\n}\n", NULL},
	{".visible .entry k { ret; }", "\n.visible .entry k()\n{\n\tret;\n}\n"},
	{"# 12 \"a.cu\"\n.global .u32 g;\n", ".global .u32 g;\n"},
};

static void test_items(void **state)
{
	char before[BODY_MAX], after[BODY_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(items); i++) {
		const struct example *e = &items[i];
		char *text;

		(void)snprintf(before, sizeof(before), HEAD "%s", e->text);
		(void)snprintf(after, sizeof(after), HEAD "%s", e->printed ? e->printed : e->text);
		text = print_and_free(parse(before));
		assert_string_equal(text, after);
		check_stable(text);
		free(text);
	}
}

static void test_module(void **state)
{
	static const char text[] = ".version 7.8 .target sm_90a, texmode_unified, debug\n"
				   ".address_size 32\0\0";
	struct cot_ptx_module *module;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_ptx_parse(text, sizeof(text), "t", &module, &err), 0);
	assert_int_equal(module->version_major, 7);
	assert_int_equal(module->version_minor, 8);
	assert_int_equal(module->sm, 90);
	assert_string_equal(module->target, "sm_90a, texmode_unified, debug");
	assert_int_equal(module->address_size, 32);
	assert_null(module->first);
	cot_ptx_destroy(module);
	cot_ptx_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
