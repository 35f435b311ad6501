/*
 * Every sentence that the reader and the verifier say about a text: for what is no PTX, the one
 * error; for what is not understood, the reason of the function or item that became opaque by it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/ptx.h"
#include "test.h"

#define HEAD ".version 8.0 .target sm_90 .address_size 64\n"

struct example {
	const char *text, *sentence;
};

/* No PTX, or PTX that is cut off. */
static const struct example fatal[] = {
	{"", "t:1:1: expected .version at the start of a PTX text, found the end of the text"},
	{"int main", "t:1:1: expected .version at the start of a PTX text, found 'int'"},
	{".version x", "t:1:10: expected a version such as 8.0, found 'x'"},
	{".version 8", "t:1:10: expected a version such as 8.0, found '8'"},
	{".version 8.0\n.entry", "t:2:1: expected .target after .version, found '.entry'"},
	{".version 8.0 .target 3", "t:1:22: expected a target such as sm_90, found '3'"},
	{".version 8.0 .target sm_90 .address_size 16", "t:1:42: expected 32 or 64, found '16'"},
	{HEAD "ret;", "t:2:1: expected a directive such as .entry, .func or .global, found 'ret'"},
	{HEAD ".entry k() { ret;", "t:2: the function that begins here has no end"},
	{HEAD ".global .u32 g", "t:2: expected ';' or '}' before the end of the text"},
	{HEAD ".section .x { .b8 1", "t:2: expected ';' or '}' before the end of the text"},
	{HEAD "/* x", "t:2:1: this comment has no end"},
	{HEAD ".pragma \"x;\n", "t:2:9: this string has no end"},
	{HEAD ".global .u32 g = 0x;", "t:2:18: this is no number"},
	{HEAD ".global .u32 g = 09;", "t:2:18: this is no number"},
	{HEAD ".global .u32 g = 12ab;", "t:2:18: this is no number"},
	{HEAD ".global .u64 g = 18446744073709551616;", "t:2:18: this number does not fit 64 bits"},
	{HEAD ".global .f32 g = 0f123;", "t:2:18: expected 8 hexadecimal digits after 0f"},
	{HEAD ".global .f64 g = 0d123;", "t:2:18: expected 16 hexadecimal digits after 0d"},
	{HEAD "\n\x01", "t:3:1: this character has no place in PTX"},
	{HEAD "'", "t:2:1: this character has no place in PTX"},
};

static void test_fatal(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(fatal); i++) {
		struct cot_ptx_module *module = NULL;
		struct cot_error err = {""};

		assert_int_equal(
			cot_ptx_parse(fatal[i].text, strlen(fatal[i].text), "t", &module, &err),
			-EINVAL);
		assert_string_equal(err.text, fatal[i].sentence);
		assert_null(module);
		/* Nobody has to take the sentence. */
		assert_int_equal(
			cot_ptx_parse(fatal[i].text, strlen(fatal[i].text), "t", &module, NULL),
			-EINVAL);
	}
}

static void test_bytes(void **state)
{
	static const char nul[] = HEAD ".global\0 .u32 g;";
	struct cot_ptx_module *module = NULL;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_ptx_parse(nul, sizeof(nul), "t", &module, &err), -EINVAL);
	assert_string_equal(err.text, "t:2: a byte 0 in the text");
	assert_int_equal(cot_ptx_parse(nul, COT_PTX_SOURCE_MAX + 1ul, "t", &module, &err), -E2BIG);
	assert_string_equal(err.text, "t: larger than 256 MiB");
}

static const char *reason_of(const struct cot_ptx_module *module)
{
	const struct cot_ptx_item *item;
	const char *reason = NULL;

	for (item = module->first; item; item = item->next) {
		if (item->kind == COT_PTX_ITEM_FUNC && item->func->opaque)
			reason = item->func->reason;
		if (item->kind == COT_PTX_ITEM_OPAQUE)
			reason = item->reason;
	}
	return reason;
}

/* The text is kept, and what is around it is read. */
static void check_opaque(const char *text, const char *reason)
{
	struct cot_ptx_module *module;
	struct cot_error err;
	char *printed;
	size_t size;

	if (cot_ptx_parse(text, strlen(text), "t", &module, &err))
		fail_msg("%s", err.text);
	if (!reason_of(module))
		fail_msg("not opaque, though it should be: %s", reason);
	assert_string_equal(reason_of(module), reason);
	assert_int_equal(module->n_opaque, 1);
	assert_non_null(cot_ptx_find_var(module, "after"));
	assert_int_equal(cot_ptx_verify(module, &err), 0);
	assert_int_equal(cot_ptx_print(module, &printed, &size), 0);
	assert_non_null(strstr(printed, ".global .u32 after;"));
	cot_ptx_destroy(module);
	free(printed);
}

static const struct example items[] = {
	{".what x;", "t:2:1: expected a directive such as .entry, .func or .global, found '.what'"},
	{".global .u32;", "t:2:13: expected the name of a variable, found ';'"},
	{".global .pred p;", "t:2:15: expected the type of a variable, found 'p'"},
	{".global g;", "t:2:9: expected the type of a variable, found 'g'"},
	{".global .align 3 .u32 g;", "t:2:16: expected an alignment, a power of two, found '3'"},
	{".global .u32 g .u32;", "t:2:16: expected ';', found '.u32'"},
	{".global .u32 .u64 g;", "t:2:14: expected the name of a variable, found '.u64'"},
	{".global .u32 g; .global .u32 g;", "t:2:30: 'g' is declared twice in this block"},
	{".global .u32 g[-1];", "t:2:16: expected the size of an array, found '-'"},
	{".global .u32 g[1][2][3][4][5][6][7][8][9];", "t:2:39: more than 8 dimensions"},
	{".global .u64 g[1099511627776];", "t:2:29: more than 1099511627776 bytes in a variable"},
	{".global .u32 g[1] = {1, 2};",
	 "t:2:27: expected at most as many values as the variable has, found ';'"},
	{".global .u32 g[2][1] = {{1, 2}};",
	 "t:2:30: expected as many values as the array has, found '}'"},
	{".global .u32 g = {{1}};", "t:2:20: expected fewer braces, found '1'"},
	{".global .u32 g = nothing;", "t:2:18: 'nothing' is not declared"},
	{".global .u32 g = ;", "t:2:18: expected a number or a name, found ';'"},
	{".global .u32 g = -x;", "t:2:19: expected a number, found 'x'"},
	{".global .u8 g = 0xF0(g);",
	 "t:2:21: expected a mask of one byte such as 0xFF00 before '(', found '('"},
	{".global .s64 g = -9223372036854775809;",
	 "t:2:38: expected a number of 64 bits before, found ';'"},
	{".global .attribute .u32 g;", "t:2:20: expected '(', found '.u32'"},
	{".global .attribute(.x;", "t:2:22: expected ')', found ';'"},
	{".alias x, y;", "t:2:8: 'x' is no function declared before"},
	{".alias 1;", "t:2:8: expected the name of a function, found '1'"},
	{".section .x;", "t:2:12: expected '{', found ';'"},
	{".pragma x;", "t:2:9: expected a string, found 'x'"},
	{".func ();", "t:2:9: expected the name of a function, found ';'"},
	{".func (.reg .u32 r) f;", "t:2:8: expected .param, found '.reg'"},
	{".func (.param .b32 _) f();",
	 "t:2:21: expected a parameter with a name and without a value, found ')'"},
	{".func f(.param .b32 _);",
	 "t:2:22: expected a parameter with a name and without a value, found ')'"},
	{".func f(.param .b32 a, .param .b32 a);", "t:2:36: 'a' is declared twice in this block"},
	{".func f() .what;",
	 "t:2:11: expected '{', ';' or a directive such as .maxntid, found '.what'"},
	{".entry f() .maxntid x { ret; }", "t:2:21: expected a number, found 'x'"},
	{".entry f() .maxntid 1, 2, 3, 4 { ret; }",
	 "t:2:30: more than 3 numbers behind a directive"},
	{".entry f() .pragma 1; { ret; }", "t:2:20: expected a string, found '1'"},
	{".entry f() { ret; } .entry f() { ret; }", "t:2:1: 'f' has two bodies"},
	{".global .u32 v; .func v();", "t:2:1: 'v' is a variable already"},
};

#define TEXT_MAX 8192

static void test_items(void **state)
{
	char text[TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(items); i++) {
		(void)snprintf(text, sizeof(text), HEAD "%s\n.global .u32 after;\n", items[i].text);
		check_opaque(text, items[i].sentence);
	}
}

static const char declarations[] =
	".func (.param .b32 r) f(.param .b32 x);\n.func g();\n.global .u32 v;\n.entry e() { ret; }\n"
	".entry k(.param .u64 p) {\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; "
	".reg .f32 %f<9>; .reg .f64 %fd<9>; .param .b32 a; .param .b64 b; .shared .b32 s;\n";

/* In a function, on line 9. */
static const struct example statements[] = {
	{"frobnicate.b32 %r1;", "t:9:1: unknown instruction 'frobnicate.b32'"},
	{"add.wrong.s32 %r1, %r2, 3;",
	 "t:9:1: 'add.wrong.s32' does not know the modifier '.wrong'"},
	{"ld.global.uni.u32 %r1, [%rd1];",
	 "t:9:1: 'ld.global.uni.u32' does not know the modifier '.uni'"},
	{"mma.sync.m16x8 %r1;", "t:9:1: 'mma.sync.m16x8' does not know the modifier '.m16x8'"},
	{"ld.global.global.global.global.global.global.global.global.global.global.global.global.global."
	 "global.global.global.global.u32 %r1, [%rd1];",
	 "t:9:127: more than 16 modifiers"},
	{"add.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a %r1;",
	 "t:9:66: expected fewer words behind an opcode, found '.a'"},
	{"add.s32 %r1, %r2", "t:10:1: expected ';', found 'ret'"},
	{"add.s32 %r1, %r99, 3;", "t:9:14: '%r99' is not declared"},
	{"add.s32 %r1, %r2, ;", "t:9:19: expected a name, found ';'"},
	{"add.s32 %r1, %r2, -9223372036854775809;",
	 "t:9:20: expected a number of 64 bits, found '9223372036854775809'"},
	{"add.s32 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17;", "t:9:48: more than 16 operands"},
	{"mov.u32 %r1, %tid.w2;", "t:9:18: expected .x, .y, .z or .w, found '.w2'"},
	{"mov.u32 %r1, %envreg32;", "t:9:14: '%envreg32' is not declared"},
	{"ld.global.u32 %r1, [%rd1+x];", "t:9:26: expected a number behind '+', found 'x'"},
	{"ld.global.u32 %r1, [{%rd1}];", "t:9:21: expected a name, found '{'"},
	{"ld.global.u32 %r1, [%tid.x];", "t:9:27: expected an address before, found ']'"},
	{"ld.global.u32 %r1, [%rd1;", "t:9:25: expected ']', found ';'"},
	{"tex.1d.v4.f32.f32 {%f1}, [%rd1, {%f1}, {%f2}, {%f3}];",
	 "t:9:47: expected ']', found '{'"},
	{"@3 ret;", "t:9:2: expected a predicate, found '3'"},
	{"@v ret;", "t:9:4: expected a predicate before, found 'ret'"},
	{"@%p1 ;", "t:9:6: expected an instruction, found ';'"},
	{"bra nowhere;", "t:9:5: 'nowhere' is not declared"},
	{"bra v;", "t:9:5: 'v' is no label"},
	{"bra 3;", "k: line 9: expected a label as operand 1 of 'bra 3'"},
	{"bra s;", "t:9:5: 's' is no label"},
	{"L: L:", "t:9:4: 'L' is declared twice in this block"},
	{".reg .b32 %r<3>;", "t:9:11: '%r' is declared twice in this block"},
	{".reg .b32 3;", "t:9:11: expected the name of a register, found '3'"},
	{".reg .texref t;", "t:9:6: expected the type of a register, found '.texref'"},
	{".reg .b32 %x<999999>;", "t:9:14: expected a number of registers, found '999999'"},
	{".reg .b32 %x<262144>;", "t:9:21: more than 262144 registers"},
	{".what;", "t:9:1: expected a statement, found '.what'"},
	{"1;", "t:9:1: expected a statement, found '1'"},
	{".pragma 1;", "t:9:9: expected a string, found '1'"},
	{"call 3;", "t:9:6: expected a name, found '3'"},
	{"call v;", "t:9:7: expected a function or a register before, found ';'"},
	{"T: .branchtargets 3;", "t:9:19: expected a label, found '3'"},
	{"T: .calltargets v;",
	 "t:9:17: expected the name of a function declared before, found 'v'"},
	{"T: .callprototype (.param .b32 _) 3;", "t:9:35: expected '_', found '3'"},
	{"{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{ }}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}"
	 "}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}",
	 "t:9:64: more than 64 blocks inside each other"},

	/* the verifier's */
	{"add %r1, %r2, %r3;",
	 "k: line 9: expected an opcode with its types as operand 1 of 'add %r1, %r2, %r3'"},
	{"add.s32.s32.s32 %r1, %r2;",
	 "k: line 9: expected more operands as operand 3 of 'add.s32.s32.s32 "
	 "%r1, %r2'"},
	{"add.s32 %r1, %r2, %r3, %r4;",
	 "k: line 9: expected fewer operands as operand 4 of 'add.s32 %r1, %r2, %r3, %r4'"},
	{"add.rn.rz.f32 %f1, %f2, %f3;",
	 "k: line 9: two modifiers that exclude each other in 'add.rn.rz.f32 %f1, %f2, %f3'"},
	{"add.s32 3, %r2, %r3;",
	 "k: line 9: expected a register as operand 1 of 'add.s32 3, %r2, %r3'"},
	{"add.s32 %rd1, %r2, %r3;",
	 "k: line 9: expected a register of the instruction's type as operand 1 "
	 "of 'add.s32 %rd1, %r2, %r3'"},
	{"add.s32 %r1, %f2, %r3;",
	 "k: line 9: expected a register of the instruction's type as operand 2 "
	 "of 'add.s32 %r1, %f2, %r3'"},
	{"add.f32 %f1, %f2, 3;",
	 "k: line 9: expected a number that fits the type as operand 3 of 'add.f32 %f1, %f2, 3'"},
	{"add.s32 %r1, [%rd1], %r3;",
	 "k: line 9: expected a register or a number as operand 2 of 'add.s32 %r1, [%rd1], %r3'"},
	{"add.s32 %r1, !%r2, %r3;",
	 "k: line 9: expected no '!' as operand 2 of 'add.s32 %r1, !%r2, %r3'"},
	{"add.s32 %r1, %r2, s;",
	 "k: line 9: expected a register or a number as operand 3 of 'add.s32 %r1, %r2, s'"},
	{"mov.f32 %f1, s;", "k: line 9: expected no address as operand 2 of 'mov.f32 %f1, s'"},
	{"mov.u32 %r1, %clock64;",
	 "k: line 9: expected no special register of this kind as operand 2 of 'mov.u32 %r1, %clock64'"},
	{"mov.u32 %r1, %tid;",
	 "k: line 9: expected no special register of this kind as operand 2 of 'mov.u32 %r1, %tid'"},
	{"mov.b64 %rd1, {s+4, s};",
	 "k: line 9: expected registers in the braces as operand 2 of 'mov.b64 %rd1, {s+4, s}'"},
	{"add.s32 _, %r1, %r2;",
	 "k: line 9: expected a register as operand 1 of 'add.s32 _, %r1, %r2'"},
	{"mov.u64 %rd1, L; L:",
	 "k: line 9: expected a register or a number as operand 2 of 'mov.u64 %rd1, L'"},
	{"ld.global.v2.u32 %r1, [%rd1];",
	 "k: line 9: expected as many registers in braces as .v2, .v4 or "
	 ".v8 says as operand 1 of 'ld.global.v2.u32 %r1, [%rd1]'"},
	{"mov.b64 {%r1, %r2, %r3}, %rd1;",
	 "k: line 9: expected 2, 4 or 8 things in braces as operand 1 of 'mov.b64 {%r1, %r2, %r3}, %rd1'"},
	{"mov.b64 {%h1, %h2}, %rd1;",
	 "k: line 9: expected registers that are together as wide as the type "
	 "as operand 1 of 'mov.b64 {%h1, %h2}, %rd1'"},
	{"mov.b64 {3, %r2}, %rd1;",
	 "k: line 9: expected registers in the braces as operand 1 of 'mov.b64 {3, %r2}, %rd1'"},
	{"setp.eq.s32 %r1, %r2, %r3;",
	 "k: line 9: expected a register of the instruction's type as operand "
	 "1 of 'setp.eq.s32 %r1, %r2, %r3'"},
	{"setp.eq.s32 %p1|%r1, %r2, %r3;",
	 "k: line 9: expected a predicate as operand 1 of 'setp.eq.s32 %p1|%r1, %r2, %r3'"},
	{"selp.b32 %r1, %r2, %r3, %r4;",
	 "k: line 9: expected a predicate as operand 4 of 'selp.b32 %r1, %r2, %r3, %r4'"},
	{"ldmatrix.sync.aligned.m8n8.x1.b16 3, [%r1];",
	 "k: line 9: expected registers in braces as operand "
	 "1 of 'ldmatrix.sync.aligned.m8n8.x1.b16 3, "
	 "[%r1]'"},
	{"ldmatrix.sync.aligned.m8n8.x1.b16 {%h1}, [%r1];",
	 "k: line 9: expected registers in the braces as "
	 "operand 1 of 'ldmatrix.sync.aligned.m8n8.x1."
	 "b16 {%h1}, [%r1]'"},
	{"ld.global.u32 %r1, %rd1;",
	 "k: line 9: expected an address in brackets as operand 2 of 'ld.global.u32 %r1, %rd1'"},
	{"ld.global.u32 %r1, [%f1];",
	 "k: line 9: expected an address in a register of 32 or 64 bits as "
	 "operand 2 of 'ld.global.u32 %r1, [%f1]'"},
	{"ld.global.u32 %r1, [s];",
	 "k: line 9: expected a variable of the space that the instruction names "
	 "as operand 2 of 'ld.global.u32 %r1, [s]'"},
	{"pmevent %r1;", "k: line 9: expected an integer as operand 1 of 'pmevent %r1'"},
	{"@%r1 ret;", "k: line 9: a guard that is no predicate declared here in '@%r1 ret'"},
	{"P: .callprototype () _ (); bra P;", "k: line 9: a label that is no place in 'bra P'"},
	{"brx.idx %r1, L; L:", "k: line 9: a label that is no table of places in 'brx.idx %r1, L'"},
	{"T: .branchtargets U; U: .branchtargets T;",
	 "k: line 9: a label that is no place in 'T: .branchtargets U'"},
	{"call g, (a);",
	 "k: line 9: not as many arguments as the function has parameters in 'call g, (a)'"},
	{"call f, (a);", "k: line 9: not as many results as the function has in 'call f, (a)'"},
	{"call (a), f, (b);",
	 "k: line 9: an argument that does not fit its parameter in 'call (a), f, (b)'"},
	{"call (s), f, (a);",
	 "k: line 9: a result that does not fit the function's in 'call (s), f, (a)'"},
	{"call (3), f, (v);",
	 "k: line 9: an argument that does not fit its parameter in 'call (3), f, (v)'"},
	{"call e;", "k: line 9: a call of a kernel in 'call e'"},
	{"call %rd1;", "k: line 9: a call of a register without a prototype in 'call %rd1'"},
	{"call %rd1, L; L:", "k: line 9: no prototype and no table of functions in 'call %rd1, L'"},
};

static void test_statements(void **state)
{
	char text[TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(statements); i++) {
		(void)snprintf(text, sizeof(text), HEAD "%s\n%s\nret; }\n.global .u32 after;\n",
			       declarations, statements[i].text);
		check_opaque(text, statements[i].sentence);
	}
}

static void test_long_name(void **state)
{
	size_t n = COT_PTX_NAME_MAX + 1u;
	char *text = malloc(n + sizeof(HEAD));
	struct cot_ptx_module *module;
	struct cot_error err;

	(void)state;
	assert_non_null(text);
	memcpy(text, HEAD, sizeof(HEAD) - 1);
	memset(text + sizeof(HEAD) - 1, 'x', n);
	assert_int_equal(cot_ptx_parse(text, sizeof(HEAD) - 1 + n, "t", &module, &err), -EINVAL);
	assert_string_equal(err.text, "t:2:16386: this name is too long");
	free(text);
}

/* What the reader knows about a kernel that it does not understand. */
static void test_header_is_known(void **state)
{
	static const char text[] =
		HEAD ".visible .entry k(.param .u32 a, .param .u64 b) .maxntid 64 { frobnicate; }\n"
		     ".func f(.param .b32 x) { frobnicate; }\n"
		     ".entry user() { .param .b32 q; call f, (q); ret; }";
	struct cot_ptx_module *module;
	struct cot_ptx_func *func;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_ptx_parse(text, sizeof(text), "t", &module, &err), 0);
	func = cot_ptx_find_func(module, "k");
	assert_non_null(func);
	assert_true(func->opaque && func->entry);
	assert_int_equal(func->n_params, 2);
	assert_string_equal(func->params[1]->name, "b");
	assert_int_equal(func->directives[0].values[0], 64);
	assert_string_equal(func->text,
			    ".visible .entry k(.param .u32 a, .param .u64 b) .maxntid 64 { "
			    "frobnicate; }");
	/* Its neighbours may call it. */
	func = cot_ptx_find_func(module, "user");
	assert_false(func->opaque);
	assert_int_equal(module->n_opaque, 2);
	cot_ptx_destroy(module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fatal),	  cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_items),	  cmocka_unit_test(test_statements),
		cmocka_unit_test(test_long_name), cmocka_unit_test(test_header_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
