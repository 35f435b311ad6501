/*
 * Which of the program's handles have workers. The units are in a shared library, so their sources
 * are here; the driver is played.
 */
#include <stdlib.h>

#include "locked.h"
#include "no_merge.h"
#include "notes.h"

/* How many allocations more succeed. */
static unsigned n_allocations = ~0u;

static int n_held; /* not given back yet */

static void *played_calloc(size_t n, size_t size)
{
	assert_int_equal(n, 1);
	if (!n_allocations)
		return NULL;
	n_allocations--;
	n_held++;
	return calloc(n, size);
}

static void *played_malloc(size_t size)
{
	n_held++;
	return malloc(size);
}

static void played_free(void *p)
{
	n_held -= p != NULL;
	free(p);
}

#define calloc played_calloc
#define malloc played_malloc
#define free   played_free
#include "guest/shim/code.c"
#undef calloc
#undef malloc
#undef free
#define enter enter_table
#include "guest/shim/handles.c"
#undef enter

#define HANDLE(n)     ((cot_shim_handle)(uintptr_t)(n))
#define MODULE	      HANDLE(0x1000)
#define LIBRARY	      HANDLE(0x2000)
#define OTHER	      HANDLE(0x3000)
#define F(n)	      HANDLE(0x100 * (n)) /* the program's; its workers are one more */
#define WORKERS_OF(f) ((cot_shim_handle)((char *)(f) + 1))

void *cot_real_cuLibraryGetKernel, *cot_real_cuModuleGetFunction, *cot_real_cuKernelGetFunction,
	*cot_real_cuFuncGetModule, *cot_real_cuFuncGetName;

/* ---- the driver ---- */

static cot_shim_handle found, module_of; /* its answers */
static const char *name_of;
static int find_result, module_result, name_result;

static int find(const char *where, cot_shim_handle *ret, cot_shim_handle owner, const char *name)
{
	assert_false(is_locked(&code_lock));
	if (strlen(name) < 64)
		note("%s of %s %#tx;", name, where, (intptr_t)owner);
	else
		note("%zu bytes;", strlen(name));
	*ret = found;
	return find_result;
}

static int get_kernel(cot_shim_handle *kernel, cot_shim_handle library, const char *name)
{
	return find("library", kernel, library, name);
}

static int get_function(cot_shim_handle *function, cot_shim_handle module, const char *name)
{
	return find("module", function, module, name);
}

static int function_of_kernel(cot_shim_handle *function, cot_shim_handle kernel)
{
	assert_false(is_locked(&code_lock));
	note("function of %#tx;", (intptr_t)kernel);
	*function = found;
	return find_result;
}

static int get_module(cot_shim_handle *module, cot_shim_handle function)
{
	assert_false(is_locked(&code_lock));
	note("module of %#tx;", (intptr_t)function);
	*module = module_of;
	return module_result;
}

static int get_name(const char **name, cot_shim_handle function)
{
	assert_false(is_locked(&code_lock));
	note("name of %#tx;", (intptr_t)function);
	*name = name_of;
	return name_result;
}

/* ---- the rest of the shim ---- */

static unsigned n_rewritten;

void cot_shim_count_rewritten(unsigned n)
{
	assert_true(is_locked(&code_lock));
	n_rewritten += n;
}

void cot_shim_rewritten_finish(struct cot_shim_rewritten *r)
{
	assert_true(is_locked(&code_lock));
	note("finish %u;", r->n_kernels);
	*r = (struct cot_shim_rewritten){.text = NULL};
}

/* ---- the program ---- */

static struct cot_shim_kernel kernels[] = {
	{.name = (char *)"first", .n_params = 1, .args_at = 8},
	{.name = (char *)"second", .n_params = 2, .args_at = 16}};

/* All that was taken is given back when all is forgotten. */
static int tear_down(void **state)
{
	(void)state;
	while (owners)
		cot_shim_code_forget(owners->handle);
	assert_int_equal(n_held, 0);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	n_held = 0;
	code_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* a test may have failed */
	while (owners)
		cot_shim_code_forget(owners->handle);
	cot_shim_code_reset();
	cot_real_cuLibraryGetKernel = (void *)(uintptr_t)get_kernel;
	cot_real_cuModuleGetFunction = (void *)(uintptr_t)get_function;
	cot_real_cuKernelGetFunction = (void *)(uintptr_t)function_of_kernel;
	cot_real_cuFuncGetModule = (void *)(uintptr_t)get_module;
	cot_real_cuFuncGetName = (void *)(uintptr_t)get_name;
	find_result = module_result = name_result = 0;
	module_of = MODULE;
	name_of = "first";
	n_rewritten = 0;
	n_allocations = ~0u;
	written[0] = '\0';
	return 0;
}

static void add(cot_shim_handle owner, unsigned n_kernels)
{
	struct cot_shim_rewritten r = {.text = (char *)"text",
				       .kernels = kernels,
				       .n_kernels = n_kernels,
				       .suffix = COT_SHIM_SUFFIX};

	cot_shim_code_add(owner, &r);
	assert_null(r.text); /* it is the unit's */
	assert_int_equal(r.n_kernels, 0);
}

/* The program asks for a function, and gets that. */
static struct cot_shim_ref *get_ref(cot_shim_handle f, cot_shim_handle owner, const char *name,
				    bool is_kernel)
{
	struct cot_shim_ref *r;

	found = WORKERS_OF(f);
	cot_shim_code_function(f, owner, name, is_kernel);
	r = cot_shim_handles_find(f);
	assert_non_null(r);
	return r;
}

static void expect_workers(const struct cot_shim_ref *r, const struct cot_shim_kernel *kernel,
			   cot_shim_handle owner)
{
	assert_non_null(r);
	assert_ptr_equal(r->kernel, kernel);
	assert_ptr_equal(r->workers, WORKERS_OF(r->handle));
	assert_ptr_equal(r->owner, owner);
	assert_non_null(r->code);
}

static void expect_plain(const struct cot_shim_ref *r)
{
	assert_non_null(r);
	assert_true(!r->kernel && !r->workers && !r->code);
}

/* ---- tests ---- */

/* A function goes with the workers of its own kernel, asked for where it is from. */
static void functions(void **state)
{
	(void)state;
	add(MODULE, 2);
	add(LIBRARY, 1);
	assert_int_equal(n_rewritten, 3);
	assert_int_equal(cot_shim_code_n_added(MODULE), 2);
	assert_int_equal(cot_shim_code_n_added(LIBRARY), 1);
	assert_int_equal(cot_shim_code_n_added(OTHER), 0);
	expect_workers(get_ref(F(2), MODULE, "second", false), &kernels[1], MODULE);
	expect_done("second$cot_workers of module 0x1000;");
	expect_workers(get_ref(F(1), LIBRARY, "first", true), &kernels[0], LIBRARY);
	expect_done("first$cot_workers of library 0x2000;");
	expect_workers(cot_shim_code_ref(F(2)), &kernels[1], MODULE);
	expect_plain(get_ref(F(3), LIBRARY, "second", true));
	expect_plain(get_ref(F(4), OTHER, "first", false));
	expect_done("");
}

/* What the driver does not have, or nobody asks for. */
static void no_workers(void **state)
{
	static char name[NAME_MAX_BYTES];
	size_t longest = sizeof(name) - sizeof(COT_SHIM_SUFFIX);
	struct cot_shim_kernel long_one = {.name = name};
	struct cot_shim_rewritten r = {
		.kernels = &long_one, .n_kernels = 1, .suffix = COT_SHIM_SUFFIX};

	(void)state;
	add(MODULE, 2);
	find_result = CUDA_ERROR_NOT_FOUND;
	expect_plain(get_ref(F(1), MODULE, "first", false));
	expect_done("first$cot_workers of module 0x1000;");
	find_result = 0;
	memset(name, 'x', longest);
	cot_shim_code_add(OTHER, &r);
	expect_workers(get_ref(F(2), OTHER, name, false), &long_one, OTHER);
	expect_done("16383 bytes;");
	name[longest] = 'x';
	expect_plain(get_ref(F(3), OTHER, name, false));
	expect_done("");
}

/* The form of several kernels has the names of these; how long the others' are does not matter. */
static void forms_of_several(void **state)
{
	static char name[NAME_MAX_BYTES];
	struct cot_shim_kernel three[] = {
		{.name = (char *)"a"}, {.name = name}, {.name = (char *)"c"}};
	struct cot_shim_rewritten r = {.kernels = three, .n_kernels = 3, .suffix = COT_SHIM_SUFFIX};
	struct cot_shim_ref *ref;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	cot_shim_code_add(MODULE, &r);
	ref = get_ref(F(1), MODULE, "a", false);
	expect_done("a$cot_workers of module 0x1000;");
	assert_ptr_equal(cot_shim_code_fused(ref, 5), found);
	expect_done("a$cot_fuse$c of module 0x1000;");
	assert_null(cot_shim_code_fused(ref, 7));
	expect_done("");
	find_result = CUDA_ERROR_NOT_FOUND;
	assert_null(cot_shim_code_fused(ref, 5));
	expect_done("a$cot_fuse$c of module 0x1000;");
}

/* A handle that comes again keeps what is known of it, unless it means another function. */
static void the_same_handle(void **state)
{
	struct cot_shim_ref *r;

	(void)state;
	add(MODULE, 2);
	add(OTHER, 1);
	r = get_ref(F(1), MODULE, "first", false);
	r->owner = NULL; /* nobody writes it again */
	assert_ptr_equal(get_ref(F(1), MODULE, "first", false), r);
	assert_null(r->owner);
	assert_ptr_equal(get_ref(F(1), MODULE, "second", false), r);
	expect_workers(r, &kernels[1], MODULE);
	found = WORKERS_OF(F(2));
	cot_shim_code_function(F(1), MODULE, "second", false);
	assert_ptr_equal(r->workers, WORKERS_OF(F(2)));
	expect_plain(get_ref(F(1), MODULE, "third", false));
	assert_ptr_equal(r->owner, MODULE);
}

/* Kernels are of no context; a function of one has workers of its own. */
static void functions_of_kernels(void **state)
{
	const struct cot_shim_ref *kernel;

	(void)state;
	add(LIBRARY, 1);
	kernel = get_ref(F(1), LIBRARY, "first", true);
	written[0] = '\0';
	found = WORKERS_OF(F(2));
	cot_shim_code_function_of(F(2), F(1));
	expect_done("function of 0x101;");
	expect_workers(cot_shim_handles_find(F(2)), kernel->kernel, LIBRARY);
	find_result = 1;
	cot_shim_code_function_of(F(3), F(1));
	expect_plain(cot_shim_handles_find(F(3)));
	expect_done("function of 0x101;");
	find_result = 0;
	(void)get_ref(F(4), OTHER, "first", true);
	cot_shim_code_function_of(F(5), F(4));
	expect_plain(cot_shim_handles_find(F(5)));
	expect_done("");
}

/* One that came past us, by an older interface for instance: the driver knows what it is. */
static void unknown_handles(void **state)
{
	(void)state;
	expect_plain(cot_shim_code_ref(F(1)));
	expect_done(""); /* nothing was rewritten */
	add(MODULE, 2);
	found = WORKERS_OF(F(2));
	expect_workers(cot_shim_code_ref(F(2)), &kernels[0], MODULE);
	expect_done("module of 0x200;name of 0x200;first$cot_workers of module 0x1000;");
	expect_workers(cot_shim_code_ref(F(2)), &kernels[0], MODULE);
	expect_done("");
	module_result = 1;
	expect_plain(cot_shim_code_ref(F(3)));
	expect_done("module of 0x300;");
	module_result = 0;
	name_result = 1;
	expect_plain(cot_shim_code_ref(F(4)));
	name_result = 0;
	name_of = NULL;
	expect_plain(cot_shim_code_ref(F(5)));
	expect_done("module of 0x400;name of 0x400;module of 0x500;name of 0x500;");
	assert_null(cot_shim_code_ref(NULL));
}

/* A library's module has its functions; both go when the library does. */
static void aliases(void **state)
{
	(void)state;
	cot_shim_code_alias(MODULE, LIBRARY);
	assert_int_equal(cot_shim_code_n_added(MODULE), 0);
	add(LIBRARY, 2);
	cot_shim_code_alias(MODULE, OTHER);
	assert_int_equal(cot_shim_code_n_added(MODULE), 0);
	cot_shim_code_alias(MODULE, LIBRARY);
	cot_shim_code_alias(MODULE, LIBRARY);
	assert_int_equal(cot_shim_code_n_added(MODULE), 2);
	expect_workers(get_ref(F(1), MODULE, "first", false), &kernels[0], MODULE);
	expect_workers(get_ref(F(2), LIBRARY, "first", true), &kernels[0], LIBRARY);
	written[0] = '\0';
	cot_shim_code_forget(LIBRARY);
	expect_done("finish 2;");
	assert_int_equal(cot_shim_code_n_added(MODULE) + cot_shim_code_n_added(LIBRARY), 0);
	assert_null(cot_shim_handles_find(F(1)));
	assert_null(cot_shim_handles_find(F(2)));
	assert_null(owners);
}

/* Only what is the owner's is forgotten, and what was not rewritten: that may be anybody's. */
static void what_is_forgotten(void **state)
{
	(void)state;
	add(MODULE, 1);
	add(LIBRARY, 2);
	cot_shim_code_alias(OTHER, LIBRARY);
	(void)get_ref(F(1), MODULE, "first", false);
	(void)get_ref(F(2), OTHER, "first", false);
	(void)get_ref(F(3), MODULE, "third", false);
	written[0] = '\0';
	cot_shim_code_forget(OTHER); /* the library stays */
	expect_done("");
	assert_int_equal(cot_shim_code_n_added(LIBRARY), 2);
	assert_int_equal(cot_shim_code_n_added(OTHER), 0);
	expect_workers(cot_shim_handles_find(F(1)), &kernels[0], MODULE);
	assert_null(cot_shim_handles_find(F(2)));
	assert_null(cot_shim_handles_find(F(3)));
	(void)get_ref(F(3), MODULE, "third", false);
	cot_shim_code_forget(HANDLE(0x7000));
	assert_null(cot_shim_handles_find(F(3)));
	cot_shim_code_forget(MODULE);
	expect_done("finish 1;");
	assert_null(cot_shim_handles_find(F(1)));
	assert_int_equal(cot_shim_code_n_added(LIBRARY), 2);
}

/* Without memory the kernels stay the program's own, and nothing is left over. */
static void out_of_memory(void **state)
{
	unsigned n;

	(void)state;
	for (n = 0; n < 2; n++) {
		n_allocations = n;
		add(MODULE, 2);
		expect_done("finish 2;");
		assert_int_equal(n_rewritten, 0);
		assert_int_equal(cot_shim_code_n_added(MODULE), 0);
		assert_false(any);
	}
	n_allocations = ~0u;
	add(LIBRARY, 2);
	n_allocations = 0;
	cot_shim_code_alias(MODULE, LIBRARY);
	assert_int_equal(cot_shim_code_n_added(MODULE), 0);
	cot_shim_code_forget(LIBRARY);
	expect_done("finish 2;");
}

/* In the child of a fork nothing is known, and asking nobody takes no lock that the parent had. */
static void the_child_knows_nothing(void **state)
{
	struct owner *parents;

	(void)state;
	add(MODULE, 2);
	(void)get_ref(F(1), MODULE, "first", false);
	written[0] = '\0';
	parents = owners;
	pthread_mutex_lock(&code_lock);
	cot_shim_code_reset();
	assert_null(cot_shim_handles_find(F(1)));
	assert_int_equal(cot_shim_code_n_added(MODULE), 0);
	expect_plain(cot_shim_code_ref(F(1)));
	add(OTHER, 1);
	assert_int_equal(cot_shim_code_n_added(MODULE), 0);
	assert_int_equal(cot_shim_code_n_added(OTHER), 1);
	expect_done("");
	cot_shim_code_forget(OTHER);
	owners = parents; /* for the end of the test: what the parent had stays its own */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(functions),
		TEST(no_workers),
		TEST(forms_of_several),
		TEST(the_same_handle),
		TEST(functions_of_kernels),
		TEST(unknown_handles),
		TEST(aliases),
		TEST(what_is_forgotten),
		TEST(out_of_memory),
		TEST(the_child_knows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
