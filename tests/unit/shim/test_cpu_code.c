/*
 * Which kernels have a CPU version, and in which launches it is wanted. The unit is in a shared
 * library, so its source is here; libraries, the driver and what is known of handles are played.
 */
#include "guest/shim/cpu_code.c"

#include <errno.h>

#include "test.h"

struct cot_settings cot_shim_settings;
void *cot_real_cuFuncGetName;

static unsigned n_opened, n_asked, n_closed, n_whys;
static const char *text;

static int open_kernel(const struct cot_cpu_code *code, void **ret_kernel)
{
	n_asked++;
	*ret_kernel = &n_asked;
	return strcmp(code->name, "known") ? -ENOENT : 0;
}

static int memory(void *kernel, struct cot_cpu_launch *launch, cot_cpu_find find)
{
	(void)kernel;
	(void)launch;
	(void)find;
	return 0;
}

static int run(void *kernel, const struct cot_cpu_launch *launch)
{
	(void)kernel;
	(void)launch;
	return 0;
}

static struct cot_cpu_provider provider = {COT_CPU_ABI, "played", open_kernel, memory, run};

static const struct cot_cpu_provider *give(void)
{
	return &provider;
}

void *cot_library_open(const char *path)
{
	n_opened++;
	return strcmp(path, "missing") ? (void *)&provider : NULL;
}

void cot_library_close(void *library)
{
	assert_non_null(library);
	n_closed++;
}

void *cot_library_symbol(void *library, const char *name)
{
	assert_ptr_equal(library, &provider);
	assert_string_equal(name, "cot_cpu_provider");
	return (void *)(uintptr_t)give;
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

void cot_shim_count_why(enum cot_shim_why why)
{
	assert_int_equal(why, COT_SHIM_WHY_CPU_PROVIDER);
	n_whys++;
}

const char *cot_shim_code_text(const struct cot_shim_ref *r, size_t *ret_length)
{
	(void)r;
	*ret_length = text ? strlen(text) : 0;
	return text;
}

static int name_of_function(const char **name, cot_shim_handle function)
{
	*name = function;
	return 0;
}

static int set_up(void **state)
{
	struct cot_shim_cpu_kernel *k;

	(void)state;
	while ((k = kernels)) {
		kernels = k->next;
		free(k->name);
		free(k);
	}
	loaded = false;
	n_providers = n_kernels = 0;
	n_opened = n_asked = n_closed = n_whys = 0;
	provider.abi = COT_CPU_ABI;
	text = NULL;
	(void)snprintf(cot_shim_settings.cpu, sizeof(cot_shim_settings.cpu), "a");
	cot_real_cuFuncGetName = (void *)(uintptr_t)name_of_function;
	return 0;
}

static int tear_down(void **state)
{
	return set_up(state);
}

/* The function's handle is its name here. */
static const struct cot_shim_cpu_kernel *look(struct cot_shim_ref *r, char *name)
{
	atomic_store(&r->handle, name);
	return cot_shim_cpu_kernel_of(r, name);
}

static void asked_once(void **state)
{
	struct cot_shim_ref a = {.kernel = NULL}, b = {.kernel = NULL}, other = {.kernel = NULL};
	char known[] = "known", unknown[] = "unknown";
	const struct cot_shim_cpu_kernel *k = look(&a, known);

	(void)state;
	assert_non_null(k);
	assert_ptr_equal(k->which, &provider);
	assert_ptr_equal(k->state, &n_asked);
	assert_ptr_equal(look(&a, known), k);
	/* The same kernel of a module that was loaded again. */
	assert_ptr_equal(look(&b, known), k);
	assert_null(look(&other, unknown));
	assert_null(look(&other, unknown));
	assert_int_equal(n_asked, 2);
	assert_int_equal(n_opened, 1);
	/* Of another text it is another one. */
	atomic_store(&b.cpu, NULL);
	text = "ret;";
	assert_ptr_not_equal(look(&b, known), k);
	assert_int_equal(n_asked, 3);
}

static void libraries(void **state)
{
	struct cot_shim_ref a = {.kernel = NULL}, b = {.kernel = NULL};
	char known[] = "known", second[] = "unknown";

	(void)state;
	(void)snprintf(cot_shim_settings.cpu, sizeof(cot_shim_settings.cpu), ":missing::b:");
	assert_non_null(look(&a, known));
	assert_int_equal(n_opened, 2);
	assert_int_equal(n_whys, 1);
	assert_int_equal(n_closed, 0);
	(void)set_up(state);
	provider.abi = COT_CPU_ABI + 1;
	assert_null(look(&b, second));
	assert_int_equal(n_whys, 1);
	assert_int_equal(n_closed, 1);
	(void)set_up(state);
	memset(cot_shim_settings.cpu, ':', sizeof(cot_shim_settings.cpu) - 1);
	assert_null(look(&b, second));
}

static void no_more_than(void **state)
{
	static struct cot_shim_ref refs[KERNELS_MAX + 1];
	char names[KERNELS_MAX + 1][16], known[] = "known";
	unsigned i;

	(void)state;
	for (i = 0; i < KERNELS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "k%u", i);
		assert_null(look(&refs[i], names[i]));
	}
	assert_null(look(&refs[KERNELS_MAX], known));
	assert_int_equal(n_asked, KERNELS_MAX);
}

static void allows(void **state)
{
	static const char list[] = "search/256=12,search/128=3,sort/64=4294967295";

	(void)state;
	assert_true(cot_shim_cpu_allows("", "any", 1, UINT32_MAX));
	assert_true(cot_shim_cpu_allows(list, "search", 256, 12));
	assert_false(cot_shim_cpu_allows(list, "search", 256, 13));
	assert_true(cot_shim_cpu_allows(list, "search", 128, 3));
	assert_false(cot_shim_cpu_allows(list, "search", 64, 1));
	assert_false(cot_shim_cpu_allows(list, "searc", 256, 1));
	assert_false(cot_shim_cpu_allows(list, "search/256", 256, 1));
	assert_true(cot_shim_cpu_allows(list, "sort", 64, UINT32_MAX));
	assert_false(cot_shim_cpu_allows(list, "sort", 64, UINT64_MAX));
	assert_false(cot_shim_cpu_allows("a/1=0", "a", 1, 1));
	/* What is not understood allows nothing, and hides nothing that follows. */
	assert_false(cot_shim_cpu_allows("a/=5", "a", 0, 1));
	assert_false(cot_shim_cpu_allows("a/1", "a", 1, 1));
	assert_false(cot_shim_cpu_allows("a/1=", "a", 1, 1));
	assert_false(cot_shim_cpu_allows("a/1=99999999999999999999", "a", 1, 1));
	assert_false(cot_shim_cpu_allows("a/99999999999999999999=1", "a", 1, 1));
	assert_true(cot_shim_cpu_allows(",,a/,a/1=x,a/1=2", "a", 1, 2));
	assert_false(cot_shim_cpu_allows(",", "", 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(asked_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(libraries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_more_than, set_up, tear_down),
		cmocka_unit_test(allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
