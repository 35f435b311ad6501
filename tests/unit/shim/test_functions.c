/* Functions and kernels under the shim: their handles, their attributes, and lists of them. */
#include "no_merge.h"
#include "shim_load_stage.h"

/* ---- handles ---- */

static void functions(void **state)
{
	CUfunction f;
	CUkernel k;
	CUmodule m;

	(void)state;
	assert_int_equal(cuModuleGetFunction(&f, MODULE, "f"), 0);
	expect_done("get f of 0x1000;function 0x3000 is f of 0x1000;");
	assert_int_equal(cuLibraryGetKernel(&k, LIBRARY, "k"), 0);
	expect_done("get k of 0x2000;kernel 0x3000 is k of 0x2000;");
	assert_int_equal(cuLibraryGetModule(&m, LIBRARY), 0);
	expect_done("module of 0x2000;0x1000 is the module of 0x2000;");
	assert_int_equal(cuKernelGetFunction(&f, HANDLE(0x3100)), 0);
	expect_done("function of 0x3100;0x3000 is of kernel 0x3100;");
}

static void expect_handed_on(void)
{
	CUfunction f;
	CUkernel k;
	CUmodule m;

	assert_int_equal(cuModuleGetFunction(&f, MODULE, "f"), 0);
	assert_int_equal(cuLibraryGetKernel(&k, LIBRARY, "k"), 0);
	expect_done("get f of 0x1000;get k of 0x2000;");
	assert_int_equal(cuLibraryGetModule(&m, LIBRARY), 0);
	expect_done("module of 0x2000;");
	assert_int_equal(cuKernelGetFunction(&f, HANDLE(0x3100)), 0);
	expect_done("function of 0x3100;");
}

/* What the driver did not give is nothing, and without the shim nobody looks. */
static void functions_that_are_not_there(void **state)
{
	CUfunction f;
	CUkernel k;
	CUmodule m;

	(void)state;
	fails = "get";
	assert_int_equal(cuModuleGetFunction(&f, MODULE, "f"), 2);
	assert_int_equal(cuLibraryGetKernel(&k, LIBRARY, "k"), 2);
	expect_done("get f of 0x1000;get k of 0x2000;");
	fails = "module";
	assert_int_equal(cuLibraryGetModule(&m, LIBRARY), 2);
	expect_done("module of 0x2000;");
	fails = "function";
	assert_int_equal(cuKernelGetFunction(&f, HANDLE(0x3100)), 2);
	expect_done("function of 0x3100;");
	fails = NULL;
	atomic_store(&cot_shim_state, COT_SHIM_OFF);
	expect_handed_on();
}

/* A module is forgotten before its handle can be another's; a library's text is read until then. */
static void unloaded(void **state)
{
	(void)state;
	fails = "unload";
	assert_int_equal(cuModuleUnload(MODULE), 2);
	expect_done("forget 0x1000;unload;");
	assert_int_equal(cuLibraryUnload(LIBRARY), 2);
	expect_done("unload library;forget 0x2000;");
	atomic_store(&cot_shim_state, COT_SHIM_OFF);
	assert_int_equal(cuModuleUnload(MODULE), 2);
	assert_int_equal(cuLibraryUnload(LIBRARY), 2);
	expect_done("unload;unload library;");
}

/* ---- lists ---- */

typedef CUresult count_fn(unsigned *n, cot_shim_handle owner);

static CUresult functions_counted(unsigned *n, cot_shim_handle owner)
{
	return cuModuleGetFunctionCount(n, owner);
}

static CUresult kernels_counted(unsigned *n, cot_shim_handle owner)
{
	return cuLibraryGetKernelCount(n, owner);
}

static void expect_count(count_fn *ask, int rc, unsigned n)
{
	unsigned got = 0;

	assert_int_equal(ask(&got, MODULE), rc);
	assert_int_equal(got, n);
	expect_done("count of 0x1000;");
}

/* Nobody sees ours. */
static void counts(void **state)
{
	static count_fn *const all[] = {functions_counted, kernels_counted};
	unsigned i;

	for (i = 0; i < 2; i++) {
		set_up(state);
		expect_count(all[i], 0, N_LISTED);
		n_added = 2;
		expect_count(all[i], 0, N_LISTED - 2);
		n_added = N_LISTED;
		expect_count(all[i], 0, 0);
		n_added = N_LISTED + 1; /* it cannot be */
		expect_count(all[i], 0, N_LISTED);
		n_added = 2;
		fails = "count";
		expect_count(all[i], 2, N_LISTED);
		fails = NULL;
		atomic_store(&cot_shim_state, COT_SHIM_OFF);
		expect_count(all[i], 0, N_LISTED);
	}
}

typedef CUresult list_fn(cot_shim_handle *handles, unsigned n, cot_shim_handle owner);

static CUresult functions_listed(cot_shim_handle *handles, unsigned n, cot_shim_handle owner)
{
	return cuModuleEnumerateFunctions((CUfunction *)handles, n, owner);
}

static CUresult kernels_listed(cot_shim_handle *handles, unsigned n, cot_shim_handle owner)
{
	return cuLibraryEnumerateKernels((CUkernel *)handles, n, owner);
}

#define UNTOUCHED HANDLE(0x77)

/* Places of the driver's list, each one digit; '-': it is as it was; '.': NULL. */
static void expect_list(list_fn *ask, int rc, unsigned n, const char *places)
{
	cot_shim_handle got[N_LISTED];
	char text[N_LISTED + 1] = {0};
	unsigned i;

	for (i = 0; i < N_LISTED; i++)
		got[i] = UNTOUCHED;
	assert_int_equal(ask(got, n, MODULE), rc);
	for (i = 0; i < N_LISTED; i++)
		text[i] = got[i] == UNTOUCHED ? '-'
			  : !got[i]	      ? '.'
					      : (char)('0' + ((uintptr_t)got[i] - 0x100));
	assert_string_equal(text, places);
}

static void lists_of_functions(void **state)
{
	(void)state;
	n_added = 2;
	expect_list(functions_listed, 0, 4, "124---");
	expect_done("6 of 0x1000;");
	expect_list(functions_listed, 0, 2, "12----");
	expect_done("4 of 0x1000;");
	expect_list(functions_listed, 0, 1, "1-----");
	expect_done("3 of 0x1000;");
	fails = "list";
	expect_list(functions_listed, 2, 4, "------");
	expect_done("6 of 0x1000;");
	fails = NULL;
	has_memory = false;
	expect_list(functions_listed, 0, 4, "012---");
	expect_done("4 of 0x1000;");
}

/* They are the program's first handles of these kernels. */
static void lists_of_kernels(void **state)
{
	(void)state;
	n_added = 2;
	expect_list(kernels_listed, 0, 4, "124.--");
	expect_done("6 of 0x1000;kernel 0x101 is a of 0x1000;kernel 0x104 is b of 0x1000;");
	fails = "list";
	expect_list(kernels_listed, 2, 4, "....--");
	expect_done("6 of 0x1000;");
}

/* Nothing was added, nothing is to be filled, or there is no shim: the driver's own list. */
static void lists_as_they_are(void **state)
{
	static list_fn *const all[] = {functions_listed, kernels_listed};
	unsigned i;

	for (i = 0; i < 2; i++) {
		set_up(state);
		n_added = 2;
		assert_int_equal(all[i](NULL, 4, MODULE), 0);
		expect_done("4 of 0x1000;");
		n_added = 0;
		expect_list(all[i], 0, 6, "012-45");
		n_added = 2;
		atomic_store(&cot_shim_state, COT_SHIM_OFF);
		expect_list(all[i], 0, 6, "012-45");
		expect_done("6 of 0x1000;6 of 0x1000;");
	}
}

/* ---- attributes ---- */

#define N_SETTERS 5u

static int set(unsigned which)
{
	switch (which) {
	case 0:
		return cuFuncSetAttribute(FUNCTION, 8, 9);
	case 1:
		return cuFuncSetCacheConfig(FUNCTION, 3);
	case 2:
		return cuFuncSetSharedMemConfig(FUNCTION, 2);
	case 3:
		return cuKernelSetAttribute(8, 9, FUNCTION, 1);
	default:
		return cuKernelSetCacheConfig(FUNCTION, 3, 1);
	}
}

static const char *const own[N_SETTERS] = {
	"attribute 8=9 of 0x3000;", "cache 3 of 0x3000;", "shared 2 of 0x3000;",
	"attribute 8=9 of kernel 0x3000 on 1;", "cache 3 of kernel 0x3000 on 1;"};
static const char *const both[N_SETTERS] = {
	"attribute 8=9 of 0x3000;attribute 8=9 of 0x3001;", "cache 3 of 0x3000;cache 3 of 0x3001;",
	"shared 2 of 0x3000;shared 2 of 0x3001;",
	"attribute 8=9 of kernel 0x3000 on 1;attribute 8=9 of kernel 0x3001 on 1;",
	"cache 3 of kernel 0x3000 on 1;cache 3 of kernel 0x3001 on 1;"};

/* Workers get what their kernel gets, and how many of them fit is asked for anew. */
static void attributes(void **state)
{
	static const struct cot_shim_kernel kernel;
	unsigned i;

	for (i = 0; i < N_SETTERS; i++) {
		struct cot_shim_ref r = {
			.handle = FUNCTION, .kernel = &kernel, .workers = WORKERS, .fit = 5};

		set_up(state);
		ref = &r;
		fails = "set";
		assert_int_equal(set(i), 2);
		expect_done(own[i]);
		fails = NULL;
		atomic_store(&cot_shim_state, COT_SHIM_OFF);
		assert_int_equal(set(i), 0);
		expect_done(own[i]);
		assert_int_equal(r.fit, 5);
		atomic_store(&cot_shim_state, COT_SHIM_ON);
		assert_int_equal(set(i), 0);
		expect_done(both[i]);
		assert_int_equal(r.fit, 0);
		r.fit = 5;
		r.kernel = NULL;
		assert_int_equal(set(i), 0);
		assert_int_equal(r.fit, 5);
		ref = NULL;
		assert_int_equal(set(i), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(functions, set_up),
		cmocka_unit_test_setup(functions_that_are_not_there, set_up),
		cmocka_unit_test_setup(unloaded, set_up),
		cmocka_unit_test(counts),
		cmocka_unit_test_setup(lists_of_functions, set_up),
		cmocka_unit_test_setup(lists_of_kernels, set_up),
		cmocka_unit_test(lists_as_they_are),
		cmocka_unit_test(attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
