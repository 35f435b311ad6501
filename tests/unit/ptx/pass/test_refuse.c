/*
 * What passes refuse: every reason of reasons.def, with its line, from a kernel that has nothing
 * else wrong; and beside each the nearest thing that is taken.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/pass/pass.h"
#include "test.h"

#define TEXT_MAX 65536u

#define HEAD_90 ".version 8.0\n.target sm_90a\n.address_size 64\n"
#define HEAD_75 ".version 6.4\n.target sm_75\n.address_size 64\n"

/* A kernel K: line 4 is its name, line 5 "{", line 6 the registers, line 7 the first of `body`. */
#define KERNEL(body)                                                                                \
	".visible .entry K(.param .u64 out, .param .u32 n)\n{\n"                                    \
	".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .shared .align 8 .b8 s[256];\n" body \
	"\nret;\n}\n"

/* Lines 7 to 9: threads from n on return. */
#define EARLY_RETURN                                                                                 \
	"ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n" \
	"mad.lo.u32 %r5, %r3, %r4, %r2; setp.ge.u32 %p1, %r5, %r1;\n"                                \
	"@%p1 ret;\n"

/* The same up to the return, in lines 7 and 8, and the use of a mask. */
#define BEFORE_RETURN                                                                                \
	"ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n" \
	"mad.lo.u32 %r5, %r3, %r4, %r2; setp.ge.u32 %p1, %r5, %r1; "
#define SHFL_R7 "shfl.sync.down.b32 %r6, %r5, 1, 31, %r7;"

struct refused_case {
	enum cot_pass pass;
	enum cot_reason reason; /* COT_REASON_NONE: taken */
	uint32_t line;
	const char *text;
};

static const struct refused_case cases[] = {
	{COT_PASS_SLICE, COT_REASON_OPAQUE, 4, HEAD_90 KERNEL("frobnicate.u32 %r1, %r2;")},
	{COT_PASS_SLICE, COT_REASON_NO_BODY, 4, HEAD_90 ".extern .entry K(.param .u64 out);\n"},

	{COT_PASS_WORKERS, COT_REASON_TARGET, 4,
	 ".version 6.0\n.target sm_61\n.address_size 64\n" KERNEL("")},
	{COT_PASS_WORKERS, COT_REASON_TARGET, 4,
	 ".version 5.0\n.target sm_60\n.address_size 64\n" KERNEL("")},
	{COT_PASS_SLICE, COT_REASON_NONE, 0,
	 ".version 5.0\n.target sm_60\n.address_size 64\n" KERNEL("")},

	{COT_PASS_RECORD, COT_REASON_PARAMETERS, 4,
	 HEAD_75 ".visible .entry K(.param .align 8 .b8 big[4352])\n{\nret;\n}\n"},
	{COT_PASS_RECORD, COT_REASON_NONE, 0,
	 HEAD_75 ".visible .entry K(.param .align 8 .b8 big[4344])\n{\nret;\n}\n"},
	{COT_PASS_WORKERS, COT_REASON_PARAMETERS, 4,
	 HEAD_75 ".visible .entry K(.param .align 8 .b8 big[4312])\n{\nret;\n}\n"},
	{COT_PASS_RECORD, COT_REASON_NONE, 0,
	 ".version 8.1\n.target sm_90\n.address_size 64\n"
	 ".visible .entry K(.param .align 8 .b8 big[32752])\n{\nret;\n}\n"},
	{COT_PASS_RECORD, COT_REASON_PARAMETERS, 4,
	 ".version 8.1\n.target sm_90\n.address_size 64\n"
	 ".visible .entry K(.param .align 8 .b8 big[32760])\n{\nret;\n}\n"},

	{COT_PASS_WORKERS, COT_REASON_SHARED_SIZE, 4,
	 HEAD_75 ".visible .entry K()\n{\n.shared .b8 s[49128];\nret;\n}\n"},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 ".visible .entry K()\n{\n.shared .b8 s[49120];\nret;\n}\n"},
	{COT_PASS_FUSE, COT_REASON_NONE, 0,
	 HEAD_75 ".visible .entry K()\n{\n.shared .b8 s[49152];\nret;\n}\n"},

	{COT_PASS_SLICE, COT_REASON_COOPERATIVE, 7, HEAD_75 KERNEL("mov.u32 %r1, %envreg2;")},
	{COT_PASS_COUNT, COT_REASON_NONE, 0, HEAD_75 KERNEL("mov.u32 %r1, %envreg2;")},

	{COT_PASS_SLICE, COT_REASON_CLUSTER, 7, HEAD_90 KERNEL("mov.u32 %r1, %clusterid.x;")},
	{COT_PASS_SLICE, COT_REASON_CLUSTER, 7, HEAD_90 KERNEL("mov.u32 %r1, %cluster_ctarank;")},
	{COT_PASS_FUSE, COT_REASON_CLUSTER, 8,
	 HEAD_90 KERNEL("\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;")},
	{COT_PASS_WORKERS, COT_REASON_CLUSTER, 4,
	 HEAD_90 ".visible .entry K() .reqnctapercluster 2, 1, 1\n{\nret;\n}\n"},
	{COT_PASS_RECORD, COT_REASON_NONE, 0,
	 HEAD_90 ".visible .entry K() .reqnctapercluster 2, 1, 1\n{\nret;\n}\n"},

	{COT_PASS_SLICE, COT_REASON_GRIDDEP, 7, HEAD_90 KERNEL("griddepcontrol.wait;")},
	{COT_PASS_WORKERS, COT_REASON_GRIDDEP, 7,
	 HEAD_90 KERNEL("griddepcontrol.launch_dependents;")},

	{COT_PASS_WORKERS, COT_REASON_MBARRIER, 7,
	 HEAD_90 KERNEL("mbarrier.init.shared::cta.b64 [s], 1;")},
	{COT_PASS_SLICE, COT_REASON_NONE, 0,
	 HEAD_90 KERNEL("mbarrier.init.shared::cta.b64 [s], 1;")},

	{COT_PASS_WORKERS, COT_REASON_BULK, 7, HEAD_90 KERNEL("cp.async.bulk.commit_group;")},
	{COT_PASS_SLICE, COT_REASON_NONE, 0, HEAD_90 KERNEL("cp.async.bulk.commit_group;")},

	{COT_PASS_WORKERS, COT_REASON_SETMAXNREG, 7,
	 HEAD_90 KERNEL("setmaxnreg.inc.sync.aligned.u32 240;")},

	{COT_PASS_WORKERS, COT_REASON_ALLOCA, 7,
	 ".version 7.3\n.target sm_80\n.address_size 64\n" KERNEL("alloca.u64 %rd1, 16;")},

	{COT_PASS_SLICE, COT_REASON_INDIRECT, 9,
	 HEAD_75 KERNEL("\nproto: .callprototype _ ();\ncall %rd1, (), proto;")},
	{COT_PASS_RECORD, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL("\nproto: .callprototype _ ();\ncall %rd1, (), proto;")},

	{COT_PASS_SLICE, COT_REASON_EXTERNAL, 4,
	 HEAD_75 ".extern .func f();\n" KERNEL("call f, ();")},
	{COT_PASS_SLICE, COT_REASON_NONE, 0,
	 HEAD_75 ".extern .func free(.param .b64 a);\n" KERNEL(
		 "{ .param .b64 a; st.param.b64 [a], %rd1; call free, (a); }")},

	{COT_PASS_SLICE, COT_REASON_CHILD, 4,
	 HEAD_75 ".extern .func cudaLaunchDeviceV2();\n" KERNEL("call cudaLaunchDeviceV2, ();")},

	{COT_PASS_WORKERS, COT_REASON_EXIT_IN_FUNC, 6,
	 HEAD_75 ".func f()\n{\nexit;\n}\n" KERNEL("call f, ();")},
	{COT_PASS_SLICE, COT_REASON_NONE, 0,
	 HEAD_75 ".func f()\n{\nexit;\n}\n" KERNEL("call f, ();")},

	{COT_PASS_COUNT, COT_REASON_CALLS, 11,
	 HEAD_75 ".func f()\n{\nret;\n}\n" KERNEL("call f, ();")},

	{COT_PASS_SLICE, COT_REASON_WHOLE_SREG, 7,
	 HEAD_75 KERNEL("mov.v4.u32 {%r1, %r2, %r3, %r4}, %ctaid;")},

	/* A loop that waits for somebody's write; and loops that do not. */
	{COT_PASS_WORKERS, COT_REASON_SPIN, 9,
	 HEAD_75 KERNEL("ld.param.u64 %rd1, [out];\nagain:\nld.volatile.global.u32 %r1, [%rd1];\n"
			"setp.eq.u32 %p1, %r1, 0; @%p1 bra again;")},
	{COT_PASS_WORKERS, COT_REASON_SPIN, 9,
	 HEAD_75 KERNEL("ld.param.u64 %rd1, [out];\nagain:\nld.acquire.gpu.u32 %r1, [%rd1];\n"
			"and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; @%p1 bra again;")},
	{COT_PASS_WORKERS, COT_REASON_SPIN, 9,
	 HEAD_75 KERNEL("ld.param.u64 %rd1, [out];\nagain:\natom.global.add.u32 %r1, [%rd1], 0;\n"
			"setp.eq.u32 %p1, %r1, 0; @%p1 bra again;")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL("ld.param.u64 %rd1, [out];\nagain:\n"
			"atom.global.cas.b32 %r1, [%rd1], %r2, %r3;\n"
			"setp.ne.u32 %p1, %r1, %r2; mov.u32 %r2, %r1; @%p1 bra again;")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL("ld.param.u64 %rd1, [out]; mov.u32 %r2, 9;\nagain:\n"
			"ld.volatile.global.u32 %r1, [%rd1]; sub.u32 %r2, %r2, 1;\n"
			"setp.ne.u32 %p1, %r2, 0; @%p1 bra again;")},
	{COT_PASS_SLICE, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL("ld.param.u64 %rd1, [out];\nagain:\nld.volatile.global.u32 %r1, [%rd1];\n"
			"setp.eq.u32 %p1, %r1, 0; @%p1 bra again;")},

	{COT_PASS_WORKERS, COT_REASON_BARRIER_ID, 7, HEAD_75 KERNEL("bar.sync %r1;")},
	{COT_PASS_WORKERS, COT_REASON_NO_BARRIER, 4,
	 HEAD_75 KERNEL("bar.sync 0; bar.sync 1; bar.sync 2; bar.sync 3; bar.sync 4; bar.sync 5;"
			"bar.sync 6; bar.sync 7; bar.sync 8; bar.sync 9; bar.sync 10; bar.sync 11;"
			"bar.sync 12; bar.sync 13; bar.sync 14; bar.sync 15;")},

	/* Early returns before barriers. */
	{COT_PASS_WORKERS, COT_REASON_EARLY_BARRIER, 10,
	 HEAD_75 KERNEL(EARLY_RETURN "bar.sync 1;")},
	{COT_PASS_WORKERS, COT_REASON_EARLY_BARRIER, 11,
	 HEAD_75 KERNEL(EARLY_RETURN "bar.sync 0;\nbar.sync 0, 64;")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0, HEAD_75 KERNEL(EARLY_RETURN "bar.sync 0, 64;")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL(EARLY_RETURN "bar.sync 0;\nbar.arrive 1, 64;")},
	{COT_PASS_WORKERS, COT_REASON_EARLY_BARRIER, 11,
	 HEAD_75 KERNEL(EARLY_RETURN "bar.sync 0;\nbar.red.and.pred %p2, 0, %p3;")},
	{COT_PASS_WORKERS, COT_REASON_EARLY_BARRIER, 15,
	 HEAD_75 ".func f()\n{\nbar.sync 0;\nret;\n}\n" KERNEL(EARLY_RETURN "call f, ();")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0, HEAD_75 KERNEL(EARLY_RETURN "bar.sync 0;")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 ".func f()\n{\nbar.sync 0;\nret;\n}\n" KERNEL("call f, ();")},
	/* The whole block returns, or none of it. */
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL("ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; setp.ge.u32 %p1, %r2, %r1;\n"
			"@%p1 ret;\nbar.sync 1;")},

	/* The same for warps. */
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL(EARLY_RETURN "shfl.sync.down.b32 %r6, %r5, 1, 31, -1;")},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL(EARLY_RETURN "bar.warp.sync 0xffffffff;")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL(EARLY_RETURN "activemask.b32 %r7;\n"
				     "shfl.sync.down.b32 %r6, %r5, 1, 31, %r7;")},
	/* Asked before some return, the mask names them. */
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL("activemask.b32 %r7; " EARLY_RETURN
			"shfl.sync.down.b32 %r6, %r5, 1, 31, %r7;")},
	/* So do a ballot of something else, one of all, and a match. */
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL("vote.sync.ballot.b32 %r7, 1, -1; " EARLY_RETURN SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL("vote.sync.ballot.b32 %r7, %p2, -1; " EARLY_RETURN SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL("match.any.sync.b32 %r7, %r6, -1; " EARLY_RETURN SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL(EARLY_RETURN
			"activemask.b32 %r8; match.any.sync.b32 %r7, %r6, %r8;\n" SHFL_R7)},
	/* A ballot of those who stay, or of those who go. */
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL(BEFORE_RETURN "vote.sync.ballot.b32 %r7, !%p1, -1; @%p1 ret;\n" SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 9,
	 HEAD_75 KERNEL(BEFORE_RETURN "vote.sync.ballot.b32 %r7, %p1, -1; @%p1 ret;\n" SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL(BEFORE_RETURN "vote.sync.ballot.b32 %r7, %p1, -1; @!%p1 ret;\n" SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL(BEFORE_RETURN "vote.sync.ballot.b32 %r7, %p1, -1; @%p1 bra IN; ret;\n"
				      "IN: " SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 9,
	 HEAD_75 KERNEL(BEFORE_RETURN "vote.sync.ballot.b32 %r7, %p1, -1; not.pred %p1, %p1;\n"
				      "@!%p1 ret; " SHFL_R7)},
	/* Only some of those who stay come to the use. */
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL(EARLY_RETURN
			"activemask.b32 %r7; setp.eq.u32 %p2, %r2, 3; @%p2 ret; " SHFL_R7)},
	/* Not in all lanes asked; asked for by somebody else; asked in the round before. */
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL(EARLY_RETURN "@%p2 activemask.b32 %r7; " SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 15,
	 HEAD_75 ".func (.param .b32 m) f()\n{\n.reg .b32 %a; activemask.b32 %a; "
		 "st.param.b32 [m], %a;\nret;\n}\n" KERNEL(
			 "{ .param .b32 m; call (m), f, (); ld.param.b32 %r7, [m]; } " EARLY_RETURN
				 SHFL_R7)},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 7,
	 HEAD_75 ".func f(.param .b32 m)\n{\n.reg .b32 %a; .reg .b32 %b; ld.param.b32 %a, [m];\n"
		 "shfl.sync.down.b32 %b, %a, 1, 31, %a; ret;\n}\n" KERNEL(
			 "activemask.b32 %r7; " EARLY_RETURN
			 "{ .param .b32 m; st.param.b32 [m], %r7; call f, (m); }")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75
	 ".func f()\n{\n.reg .b32 %a; .reg .b32 %b; activemask.b32 %a;\n"
	 "shfl.sync.down.b32 %b, %a, 1, 31, %a; ret;\n}\n" KERNEL(EARLY_RETURN "call f, ();")},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 8,
	 HEAD_75
	 ".func f()\n{\n.reg .b32 %a; .reg .b32 %b; .reg .pred %p; activemask.b32 %a;\n"
	 "setp.eq.u32 %p, %a, 3; @%p ret;\n"
	 "shfl.sync.down.b32 %b, %a, 1, 31, %a; ret;\n}\n" KERNEL(EARLY_RETURN "call f, ();")},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 10,
	 HEAD_75 KERNEL(EARLY_RETURN "AGAIN: " SHFL_R7 " activemask.b32 %r7;\n"
				     "setp.eq.u32 %p2, %r6, 3; @%p2 bra AGAIN;")},
	{COT_PASS_WORKERS, COT_REASON_NONE, 0,
	 HEAD_75 KERNEL("mov.u32 %r2, %tid.x; setp.gt.u32 %p1, %r2, 31;\n@%p1 ret;\n"
			"shfl.sync.down.b32 %r6, %r5, 1, 31, -1;")},
	{COT_PASS_WORKERS, COT_REASON_EARLY_WARP, 9,
	 HEAD_75 KERNEL("mov.u32 %r2, %tid.x; setp.gt.u32 %p1, %r2, 30;\n@%p1 ret;\n"
			"shfl.sync.down.b32 %r6, %r5, 1, 31, -1;")},

	{COT_PASS_FUSE, COT_REASON_THREAD_INDEX, 6,
	 HEAD_75
	 ".func f()\n{\n.reg .b32 %a; mov.u32 %a, %tid.x;\nret;\n}\n" KERNEL("call f, ();")},
};

static struct cot_ptx_module *parse(const char *text)
{
	struct cot_ptx_module *m = NULL;
	struct cot_error err = {""};

	if (cot_ptx_parse(text, strlen(text), "test", &m, &err))
		fail_msg("%s", err.text);
	return m;
}

/* A kernel that is taken is also rewritten, so that accepting means something. */
static void check_taken(const struct refused_case *c, struct cot_ptx_func *kernel)
{
	struct cot_refusal refusal;
	struct cot_ptx_func *made = NULL;
	struct cot_error err = {""};
	int rc;

	if (c->pass == COT_PASS_FUSE)
		rc = cot_pass_fuse(kernel, kernel, &made, &refusal, &err);
	else
		rc = cot_pass_apply(c->pass, kernel, &made, &refusal, &err);
	if (rc)
		fail_msg("%s: %s\n%s", cot_pass_info(c->pass)->name, err.text, c->text);
	assert_true(made != kernel);
}

static void check_case(const struct refused_case *c)
{
	struct cot_ptx_module *m = parse(c->text);
	struct cot_ptx_func *kernel = cot_ptx_find_func(m, "K"), *made = NULL;
	struct cot_refusal refusal;
	struct cot_error err = {""};
	int rc;

	assert_non_null(kernel);
	rc = cot_pass_check(c->pass, kernel, NULL, &refusal);
	if (refusal.reason != c->reason || refusal.line != c->line)
		fail_msg("%s: %s at line %u, expected %s at line %u (%s)\n%s",
			 cot_pass_info(c->pass)->name, cot_reason_name(refusal.reason),
			 (unsigned)refusal.line, cot_reason_name(c->reason), (unsigned)c->line,
			 refusal.text, c->text);
	assert_int_equal(rc, c->reason == COT_REASON_NONE ? 0 : -ENOTSUP);
	if (c->reason == COT_REASON_NONE) {
		check_taken(c, kernel);
	} else {
		assert_true(cot_reason_refuses(c->reason, c->pass));
		assert_non_null(strstr(refusal.text, cot_reason_name(c->reason)));
		assert_non_null(strstr(refusal.text, "kernel K, line "));
		if (c->pass != COT_PASS_FUSE)
			assert_int_equal(cot_pass_apply(c->pass, kernel, &made, &refusal, &err),
					 -ENOTSUP);
		assert_null(made);
	}
	cot_ptx_destroy(m);
}

static void every_case(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++)
		check_case(&cases[i]);
}

/* Fusing one kernel is refused, and leaves nothing behind. */
static void one_of_two(void **state)
{
	struct cot_ptx_module *m = parse(HEAD_75 ".visible .entry K()\n{\nret;\n}\n");
	struct cot_ptx_func *made = NULL;
	struct cot_refusal refusal;
	struct cot_error err;

	(void)state;
	assert_int_equal(
		cot_pass_apply(COT_PASS_FUSE, cot_ptx_find_func(m, "K"), &made, &refusal, &err),
		-EINVAL);
	assert_string_equal(err.text, "the pass fuse takes two kernels; expected no single one");
	assert_null(made);
	assert_null(cot_ptx_find_func(m, "K$cot_fuse"));
	cot_ptx_destroy(m);
}

/* 20,000 blocks of code are beyond what is looked at. */
static void too_large(void **state)
{
	const unsigned n = 20000;
	size_t size = TEXT_MAX + n * 32u, used;
	char *text = malloc(size);
	struct refused_case c = {COT_PASS_WORKERS, COT_REASON_TOO_LARGE, 4, text};
	unsigned i;

	(void)state;
	assert_non_null(text);
	used = (size_t)snprintf(text, size, "%s.visible .entry K()\n{\n.reg .pred %%p<2>;\n",
				HEAD_75);
	for (i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, size - used, "@%%p1 bra L%u;\nL%u:\n", i, i);
	(void)snprintf(text + used, size - used, "ret;\n}\n");
	check_case(&c);
	c.pass = COT_PASS_COUNT;
	check_case(&c);
	free(text);
}

/* Two kernels have room each, and both together or not. `bytes` of the second's parameters; the
 * fused one has 184 more. */
static void check_pair(const char *head, unsigned first_bytes, unsigned second_bytes, bool fits)
{
	char text[TEXT_MAX];
	struct cot_ptx_func *made = NULL;
	struct cot_refusal refusal;
	struct cot_error err = {""};
	struct cot_ptx_module *m;
	int rc;

	(void)snprintf(text, sizeof(text),
		       "%s.visible .entry J()\n{\nret;\n}\n"
		       ".visible .entry A(.param .align 4 .b8 a[%u])\n{\nret;\n}\n"
		       ".visible .entry B(.param .align 8 .b8 b[%u])\n{\nret;\n}\n",
		       head, first_bytes, second_bytes);
	m = parse(text);
	rc = cot_pass_fuse(cot_ptx_find_func(m, "A"), cot_ptx_find_func(m, "B"), &made, &refusal,
			   &err);
	if (fits && rc)
		fail_msg("%u and %u bytes: %s", first_bytes, second_bytes, err.text);
	if (!fits) {
		assert_int_equal(rc, -ENOTSUP);
		assert_int_equal(refusal.reason, COT_REASON_PARAMETERS);
		assert_int_equal(refusal.line, 8);
		assert_non_null(strstr(err.text, "kernel A, line 8: parameters"));
		assert_null(made);
		assert_null(cot_ptx_find_func(m, "A$cot_fuse$B"));
	}
	cot_ptx_destroy(m);
}

static void parameters_of_a_pair(void **state)
{
	(void)state;
	check_pair(HEAD_75, 2084, 2080, true); /* 2084, 4 of padding, 2080, 184: 4352 */
	check_pair(HEAD_75, 2088, 2080, true);
	check_pair(HEAD_75, 2089, 2080, false);
	check_pair(HEAD_75, 2084, 2088, false);
	check_pair(HEAD_75, 2088, 2073, true); /* 7 of padding before the last one */
	check_pair(HEAD_75, 2088, 2081, false);
	check_pair(HEAD_90, 4000, 4000, false);
	check_pair(".version 8.1\n.target sm_90\n.address_size 64\n", 16288, 16288, true);
	check_pair(".version 8.1\n.target sm_90\n.address_size 64\n", 16288, 16296, false);
	check_pair(".version 8.1\n.target sm_61\n.address_size 64\n", 4000, 4000, false);
}

/* A reason that no test provokes is one that nobody knows to work. */
static void every_reason(void **state)
{
	bool seen[COT_N_REASONS] = {false};
	size_t i;

	(void)state;
	seen[COT_REASON_NONE] = seen[COT_REASON_TOO_LARGE] = true;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++)
		seen[cases[i].reason] = true;
	for (i = 0; i < COT_N_REASONS; i++)
		if (!seen[i])
			fail_msg("no case for %s", cot_reason_name((enum cot_reason)i));
}

static void pass_names(void **state)
{
	enum cot_pass pass;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_N_PASSES; i++) {
		const char *name = cot_pass_info((enum cot_pass)i)->name;

		assert_int_equal(cot_pass_find(name, strlen(name), &pass), 0);
		assert_int_equal(pass, i);
	}
	assert_int_equal(cot_pass_find("slices", 6, &pass), -ENOENT);
	assert_int_equal(cot_pass_find("slic", 4, &pass), -ENOENT);
	assert_int_equal(cot_pass_find("", 0, &pass), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case),	cmocka_unit_test(one_of_two),
		cmocka_unit_test(too_large),	cmocka_unit_test(parameters_of_a_pair),
		cmocka_unit_test(every_reason), cmocka_unit_test(pass_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
