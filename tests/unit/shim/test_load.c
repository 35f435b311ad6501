/* Modules and libraries under the shim: what the driver is given instead, and when. */
#include "no_merge.h"
#include "shim_load_stage.h"

#define TEXT_MADE "text of it, 0 bytes, for 90;rewrite its text for 84;"
#define FILE_MADE "read it;text of contents, 8 bytes, for 90;rewrite its text for 84;"

static int options[OPTIONS_MAX + 1];
static void *values[OPTIONS_MAX + 1];

/* The program's own, before a call. */
static void fill_values(void)
{
	unsigned i;

	for (i = 0; i <= OPTIONS_MAX; i++)
		values[i] = HANDLE(i + 1);
}

/* Every way to load a module: the rewritten text in one call, whatever the program's was. */
enum way { DATA, FAT_BINARY, FROM_FILE, N_WAYS };

static int load_by(enum way way, CUmodule *ret)
{
	return way == DATA	   ? cuModuleLoadData(ret, "it")
	       : way == FAT_BINARY ? cuModuleLoadFatBinary(ret, "it")
				   : cuModuleLoad(ret, "it");
}

static void modules(void **state)
{
	static const char *const made[N_WAYS] = {TEXT_MADE, TEXT_MADE, FILE_MADE};
	static const char *const own[N_WAYS] = {"data it, 0 options;", "fat binary it, 0 options;",
						"file it, 0 options;"};
	char expected[512];
	unsigned way;

	for (way = 0; way < N_WAYS; way++) {
		CUmodule module = NULL;

		set_up(state);
		assert_int_equal(load_by(way, &module), 0);
		assert_ptr_equal(module, MODULE);
		(void)snprintf(expected, sizeof(expected),
			       "%sdata ex rewritten, 0 options;add 0x1000 with no text;",
			       made[way]);
		expect_done(expected);
		/* Refused: the program's own, and its error. */
		takes_rewritten = false;
		fails = "load";
		assert_int_equal(load_by(way, &module), 2);
		(void)snprintf(expected, sizeof(expected),
			       "%sdata ex rewritten, 0 options;why %d;finish rewritten;%s",
			       made[way], COT_SHIM_WHY_NOT_LOADED, own[way]);
		expect_done(expected);
		fails = NULL;
		can_rewrite = false;
		assert_int_equal(load_by(way, &module), 0);
		(void)snprintf(expected, sizeof(expected), "%s%s", made[way], own[way]);
		expect_done(expected);
		atomic_store(&cot_shim_state, COT_SHIM_OFF);
		assert_int_equal(load_by(way, &module), 0);
		expect_done(own[way]);
	}
}

/* An image without PTX is counted, and the driver's; so is what is no image. */
static void nothing_to_rewrite(void **state)
{
	CUmodule module;
	char expected[256];

	(void)state;
	why_not = COT_SHIM_WHY_NEWER_CODE;
	assert_int_equal(cuModuleLoadData(&module, "it"), 0);
	(void)snprintf(expected, sizeof(expected),
		       "text of it, 0 bytes, for 90;why %d;data it, 0 options;",
		       COT_SHIM_WHY_NEWER_CODE);
	expect_done(expected);
	assert_int_equal(cuModuleLoadData(&module, NULL), 0);
	expect_done("data nothing, 0 options;");
	assert_int_equal(cuModuleLoad(&module, NULL), 0);
	expect_done("file nowhere, 0 options;");
	fails = "read";
	assert_int_equal(cuModuleLoad(&module, "it"), 0);
	expect_done("read it;file it, 0 options;");
}

static int load_nowhere(cot_shim_handle *module, const void *image)
{
	assert_null(module);
	note("nowhere %s;", (const char *)image);
	return CUDA_ERROR_INVALID_VALUE;
}

/* A mistake of the program is the driver's to tell. */
static void nowhere_to_put_it(void **state)
{
	(void)state;
	REAL(cuModuleLoadData, load_nowhere);
	REAL(cuModuleLoadFatBinary, load_nowhere);
	REAL(cuModuleLoad, load_nowhere);
	assert_int_equal(cuModuleLoadData(NULL, "a"), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuModuleLoadFatBinary(NULL, "b"), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuModuleLoad(NULL, "c"), CUDA_ERROR_INVALID_VALUE);
	expect_done("nowhere a;nowhere b;nowhere c;");
}

static void jit_is_off(void **state)
{
	static const struct {
		const char *value;
		bool off;
	} rows[] = {{"", false}, {"0", false}, {"1", true}, {"00", true}};
	CUmodule module;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		setenv("CUDA_DISABLE_PTX_JIT", rows[i].value, 1);
		assert_int_equal(cuModuleLoadData(&module, "it"), 0);
		expect_done(rows[i].off ? "data it, 0 options;"
					: TEXT_MADE
				    "data ex rewritten, 0 options;add 0x1000 with no "
				    "text;");
	}
}

/* ---- for which GPU, by which compiler ---- */

static void targets(void **state)
{
	static const struct {
		int device, n_devices, capabilities[4];
		const char *fails;
		unsigned target;
	} rows[] = {
		{1, 3, {90, 86, 75}, NULL, 86},	 /* the current context's */
		{-1, 3, {90, 75, 86}, NULL, 75}, /* the lowest, that all run */
		{-1, 3, {70, 75, 86}, NULL, 70}, {-1, 3, {90, 86, 61}, NULL, 61},
		{-1, 1, {120}, NULL, 120},	 {-1, 0, {90}, NULL, 0},
		{-1, 1, {90}, "count", 0},	 {0, 1, {90}, "count", 90},
		{0, 1, {90}, "major", 0},	 {0, 1, {90}, "minor", 0},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		device = rows[i].device;
		n_devices = rows[i].n_devices;
		memcpy(capabilities, rows[i].capabilities, sizeof(capabilities));
		fails = rows[i].fails;
		assert_int_equal(target(), rows[i].target);
	}
}

static void compilers(void **state)
{
	static const unsigned rows[][2] = {{4000, 0},	{4020, 0},   {5000, 10},  {9020, 52},
					   {11080, 78}, {11060, 76}, {12000, 80}, {12040, 84},
					   {12050, 85}, {12060, 85}, {12080, 87}, {13000, 90},
					   {13060, 96}};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		driver_version = (int)rows[i][0];
		assert_int_equal(newest_ptx(), rows[i][1]);
	}
	fails = "version";
	assert_int_equal(newest_ptx(), 0);
}

/* ---- options ---- */

/* What the driver returns in them comes to the program, but not from a try that failed. */
static void module_options(void **state)
{
	CUmodule module;

	(void)state;
	fill_values();
	assert_int_equal(cuModuleLoadDataEx(&module, "it", OPTIONS_GIVEN, options, values), 0);
	expect_done(TEXT_MADE "data ex rewritten, 3 options;add 0x1000 with no text;");
	assert_ptr_equal(values[0], HANDLE(0xa11));
	assert_ptr_equal(values[1], HANDLE(2));
	takes_rewritten = false;
	fill_values();
	assert_int_equal(cuModuleLoadDataEx(&module, "it", OPTIONS_GIVEN, options, values), 0);
	assert_ptr_equal(seen_values[0], HANDLE(1)); /* by the second call */
	assert_ptr_equal(seen_values[2], HANDLE(3));
	written[0] = '\0';
	atomic_store(&cot_shim_state, COT_SHIM_OFF);
	assert_int_equal(cuModuleLoadDataEx(&module, "it", 1, options, values), 0);
	expect_done("data ex it, 1 options;");
}

static void how_many_options(void **state)
{
	CUmodule module;
	CUlibrary library;
	char expected[256];

	(void)state;
	fill_values();
	assert_int_equal(cuModuleLoadDataEx(&module, "it", OPTIONS_MAX, options, values), 0);
	expect_done(TEXT_MADE "data ex rewritten, 64 options;add 0x1000 with no text;");
	assert_ptr_equal(values[0], HANDLE(0xa11));
	assert_ptr_equal(values[OPTIONS_MAX - 1], HANDLE(OPTIONS_MAX));
	assert_int_equal(cuModuleLoadDataEx(&module, "it", 0, NULL, values), 0);
	expect_done(TEXT_MADE "data ex rewritten, 0 options;add 0x1000 with no text;");
	assert_int_equal(cuModuleLoadDataEx(&module, "it", 2, options, NULL), 0);
	expect_done(TEXT_MADE "data ex rewritten, 2 options;add 0x1000 with no text;");
	assert_int_equal(cuModuleLoadDataEx(&module, "it", 65, options, NULL), 0);
	(void)snprintf(expected, sizeof(expected),
		       TEXT_MADE "why %d;finish rewritten;data ex it, 65 options;",
		       COT_SHIM_WHY_NOT_LOADED);
	expect_done(expected);
	assert_int_equal(
		cuLibraryLoadData(&library, "it", options, values, OPTIONS_MAX, NULL, NULL, 0), 0);
	assert_null(strstr(written, "finish"));
	written[0] = '\0';
	assert_int_equal(
		cuLibraryLoadData(&library, "it", options, values, OPTIONS_MAX + 1, NULL, NULL, 0),
		0);
	assert_null(strstr(written, "library data rewritten"));
	assert_non_null(strstr(written, "library data it, 65 options;"));
}

/* ---- libraries ---- */

#define LIBRARY_MADE "0 of libraries, library data rewritten, 0 options;"

static int load_library_by(bool from_file, CUlibrary *ret)
{
	return from_file ? cuLibraryLoadFromFile(ret, "it", NULL, NULL, 0, NULL, NULL, 0)
			 : cuLibraryLoadData(ret, "it", NULL, NULL, 0, NULL, NULL, 0);
}

/* The driver is asked for its module at once: it may find only then that it cannot load it. */
static void libraries(void **state)
{
	static const char *const made[2] = {TEXT_MADE, FILE_MADE};
	static const char *const own[2] = {"0 of libraries, library data it, 0 options;",
					   "0 of libraries, library file it, 0 options;"};
	char expected[512];
	unsigned file;

	for (file = 0; file < 2; file++) {
		CUlibrary library = NULL;

		set_up(state);
		assert_int_equal(load_library_by(file, &library), 0);
		assert_ptr_equal(library, LIBRARY);
		(void)snprintf(expected, sizeof(expected),
			       "%s" LIBRARY_MADE "module of 0x2000;add 0x2000 with its text;",
			       made[file]);
		expect_done(expected);
		fails = "module";
		assert_int_equal(load_library_by(file, &library), 0);
		(void)snprintf(expected, sizeof(expected),
			       "%s" LIBRARY_MADE "module of 0x2000;unload library;why %d;"
			       "finish rewritten;%s",
			       made[file], COT_SHIM_WHY_NOT_LOADED, own[file]);
		expect_done(expected);
		takes_rewritten = false;
		assert_int_equal(load_library_by(file, &library), 0);
		(void)snprintf(expected, sizeof(expected),
			       "%s" LIBRARY_MADE "why %d;finish rewritten;%s", made[file],
			       COT_SHIM_WHY_NOT_LOADED, own[file]);
		expect_done(expected);
		atomic_store(&cot_shim_state, COT_SHIM_OFF);
		fails = "load";
		assert_int_equal(load_library_by(file, &library), 2);
		expect_done(own[file]);
	}
}

static void libraries_without_a_context(void **state)
{
	CUlibrary library;

	(void)state;
	has_context = false;
	assert_int_equal(load_library_by(false, &library), 0);
	expect_done(TEXT_MADE LIBRARY_MADE "add 0x2000 with its text;");
	has_context = true;
	fails = "current";
	assert_int_equal(load_library_by(false, &library), 0);
	expect_done(TEXT_MADE LIBRARY_MADE "add 0x2000 with its text;");
}

static void library_options(void **state)
{
	CUlibrary library;

	(void)state;
	fill_values();
	assert_int_equal(
		cuLibraryLoadData(&library, "it", options, values, 2, options, values + 8, 3), 0);
	assert_non_null(strstr(written, "3 of libraries, library data rewritten, 2 options;"));
	assert_ptr_equal(values[0], HANDLE(0xa11));
	takes_rewritten = false;
	fill_values();
	written[0] = '\0';
	assert_int_equal(
		cuLibraryLoadData(&library, "it", options, values, 2, options, values + 8, 3), 0);
	assert_ptr_equal(seen_values[0], HANDLE(1));
	assert_non_null(strstr(written, "3 of libraries, library data it, 2 options;"));
	assert_int_equal(
		cuLibraryLoadFromFile(&library, "it", options, values, 2, options, values + 8, 3),
		0);
	assert_non_null(strstr(written, "3 of libraries, library file it, 2 options;"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules),
		cmocka_unit_test_setup(nothing_to_rewrite, set_up),
		cmocka_unit_test_setup(nowhere_to_put_it, set_up),
		cmocka_unit_test_setup(jit_is_off, set_up),
		cmocka_unit_test_setup(targets, set_up),
		cmocka_unit_test_setup(compilers, set_up),
		cmocka_unit_test_setup(module_options, set_up),
		cmocka_unit_test_setup(how_many_options, set_up),
		cmocka_unit_test(libraries),
		cmocka_unit_test_setup(libraries_without_a_context, set_up),
		cmocka_unit_test_setup(library_options, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
