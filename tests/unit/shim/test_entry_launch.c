/*
 * The entry points that launch, under the shim: what is handed on with which arguments, and what
 * goes back to the driver. The unit is in a shared library, so its source is here; the driver and
 * the launch are played.
 */
#include "guest/shim/entry_launch.c"
#include "guest/shim/original.c"
#include "no_merge.h"
#include "test.h"

struct cot_settings cot_shim_settings;

#define HANDLE(n) ((cot_shim_handle)(uintptr_t)(n))
#define FUNCTION  HANDLE(0x100)
#define STREAM	  HANDLE(0x310)

_Atomic int cot_shim_state;

bool cot_shim_begin(void)
{
	return false;
}
void *cot_real_cuLaunchKernel, *cot_real_cuLaunchKernel_ptsz, *cot_real_cuLaunchKernelEx,
	*cot_real_cuLaunchKernelEx_ptsz, *cot_real_cuLaunchCooperativeKernel,
	*cot_real_cuLaunchCooperativeKernel_ptsz;

static void *params[1], *extra[1];
static CUlaunchConfig config = {
	.grid = {1, 2, 3}, .block = {4, 5, 6}, .sharedMemBytes = 7, .hStream = STREAM};
static unsigned n_shim, n_part, n_seen, n_cpu;
static bool cpu_takes;
static bool seen_per_thread, seen_attributes;

static void expect_arguments(const CUlaunchConfig *c)
{
	unsigned i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(c->grid[i], 1 + i);
		assert_int_equal(c->block[i], 4 + i);
	}
	assert_int_equal(c->sharedMemBytes, 7);
	assert_ptr_equal(c->hStream, STREAM);
}

/* It is left as it is. */
static int seen(const struct cot_shim_original *o)
{
	assert_ptr_equal(o->function, FUNCTION);
	expect_arguments(o->config);
	assert_true(o->params == params && o->extra == extra);
	assert_int_equal(o->config == &config, o->with_attributes);
	seen_per_thread = o->per_thread;
	seen_attributes = o->with_attributes;
	return cot_shim_original_launch(o);
}

void cot_shim_seen_operation(CUstream stream, bool per_thread, enum cot_burst_kind kind)
{
	assert_ptr_equal(stream, STREAM);
	assert_int_equal(kind, COT_BURST_WORK);
	seen_per_thread = per_thread;
	n_seen++;
}

bool cot_shim_cpu_launch(const struct cot_shim_original *o, int *ret_rc)
{
	n_cpu++;
	(void)seen(o);
	*ret_rc = 99;
	return cpu_takes;
}

int cot_shim_launch(const struct cot_shim_original *o)
{
	n_shim++;
	return seen(o);
}

int cot_shim_part_launch(const struct cot_shim_original *o)
{
	n_part++;
	return seen(o);
}

static int plain(int which, cot_shim_handle function, const CUlaunchConfig *c, void **p, void **e)
{
	assert_ptr_equal(function, FUNCTION);
	if (c)
		expect_arguments(c);
	assert_true(p == params && e == extra);
	return which;
}

#define PLAYED(name, which)                                                                    \
	static int name(cot_shim_handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
			unsigned by, unsigned bz, unsigned shared, CUstream stream, void **p,  \
			void **e)                                                              \
	{                                                                                      \
		CUlaunchConfig c = {.grid = {gx, gy, gz},                                      \
				    .block = {bx, by, bz},                                     \
				    .sharedMemBytes = shared,                                  \
				    .hStream = stream};                                        \
                                                                                               \
		return plain(which, f, &c, p, e);                                              \
	}
PLAYED(kernel, 1)
PLAYED(kernel_ptsz, 2)

static int kernel_ex(const CUlaunchConfig *c, cot_shim_handle f, void **p, void **e)
{
	return plain(3, f, c, p, e);
}

static int kernel_ex_ptsz(const CUlaunchConfig *c, cot_shim_handle f, void **p, void **e)
{
	return plain(4, f, c, p, e);
}

static int call(int which)
{
	switch (which) {
	case 1:
		return cuLaunchKernel(FUNCTION, 1, 2, 3, 4, 5, 6, 7, STREAM, params, extra);
	case 2:
		return cuLaunchKernel_ptsz(FUNCTION, 1, 2, 3, 4, 5, 6, 7, STREAM, params, extra);
	case 3:
		return cuLaunchKernelEx(&config, FUNCTION, params, extra);
	default:
		return cuLaunchKernelEx_ptsz(&config, FUNCTION, params, extra);
	}
}

static int set_up(void **state)
{
	(void)state;
	cot_real_cuLaunchKernel = (void *)(uintptr_t)kernel;
	cot_real_cuLaunchKernel_ptsz = (void *)(uintptr_t)kernel_ptsz;
	cot_real_cuLaunchKernelEx = (void *)(uintptr_t)kernel_ex;
	cot_real_cuLaunchKernelEx_ptsz = (void *)(uintptr_t)kernel_ex_ptsz;
	atomic_store(&cot_shim_state, COT_SHIM_ON);
	cot_shim_settings.rewrites = cot_shim_settings.parts = true;
	cot_shim_settings.requests = false;
	cot_shim_settings.cpu[0] = '\0';
	n_shim = n_part = n_seen = n_cpu = 0;
	return 0;
}

/* Each comes to the shim as what it is, and goes back to the driver as that. */
static void each_as_it_is(void **state)
{
	int which;

	(void)state;
	for (which = 1; which <= 4; which++) {
		assert_int_equal(call(which), which);
		assert_int_equal(n_shim, which);
		assert_int_equal(seen_per_thread, which % 2 == 0);
		assert_int_equal(seen_attributes, which > 2);
	}
	assert_int_equal(cuLaunchKernelEx(NULL, FUNCTION, params, extra), 3);
	assert_int_equal(cuLaunchKernelEx_ptsz(NULL, FUNCTION, params, extra), 4);
	assert_int_equal(n_shim, 4);
}

/* Where no kernel is rewritten all launches are for the part; when off none is looked at. */
static void without_workers(void **state)
{
	int which;

	(void)state;
	cot_shim_settings.rewrites = false;
	for (which = 1; which <= 4; which++)
		assert_int_equal(call(which), which);
	assert_int_equal(n_part, 4);
	assert_int_equal(n_shim, 0);
	cot_shim_settings.rewrites = true;
	atomic_store(&cot_shim_state, COT_SHIM_OFF);
	for (which = 1; which <= 4; which++)
		assert_int_equal(call(which), which);
	assert_int_equal(n_part, 4);
	assert_int_equal(n_shim, 0);
}

/* One that is measured and has neither: each launch is the driver's, and seen. */
static void seen_alone(void **state)
{
	int which;

	(void)state;
	cot_shim_settings.rewrites = cot_shim_settings.parts = false;
	cot_shim_settings.requests = true;
	for (which = 1; which <= 4; which++) {
		assert_int_equal(call(which), which);
		assert_int_equal(seen_per_thread, which % 2 == 0);
	}
	assert_int_equal(n_seen, 4);
	assert_int_equal(n_shim + n_part, 0);
}

/* What the CPU takes does not come to the GPU; what it leaves is launched as always. */
static void cpu_first(void **state)
{
	int which;

	(void)state;
	for (which = 1; which <= 4; which++)
		assert_int_equal(call(which), which);
	assert_int_equal(n_cpu, 0);
	cot_shim_settings.cpu[0] = 'x';
	cpu_takes = false;
	for (which = 1; which <= 4; which++)
		assert_int_equal(call(which), which);
	assert_int_equal(n_cpu, 4);
	assert_int_equal(n_shim, 8);
	cpu_takes = true;
	for (which = 1; which <= 4; which++)
		assert_int_equal(call(which), 99);
	assert_int_equal(n_cpu, 8);
	assert_int_equal(n_shim, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_as_it_is, set_up),
		cmocka_unit_test_setup(without_workers, set_up),
		cmocka_unit_test_setup(seen_alone, set_up),
		cmocka_unit_test_setup(cpu_first, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
