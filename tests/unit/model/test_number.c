/* Functions of numbers, against the ones of libm. */
#include <float.h>
#include <math.h>

#include "base/compiler.h"
#include "model/number.h"
#include "test.h"

static const double xs[] = {1,
			    2,
			    0.5,
			    1e9,
			    123456789.25,
			    1.4142135623730951,
			    DBL_MIN,
			    DBL_MIN / 1024,
			    DBL_TRUE_MIN,
			    DBL_MAX,
			    1.0000001,
			    0.9999999};

static void near(double found, double expected, double error)
{
	if (!(fabs(found - expected) <= error))
		fail_msg("%.17g, expected %.17g", found, expected);
}

static void logarithms(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(xs); i++)
		near(cot_model_log(xs[i]), log(xs[i]), 4e-16 + 4e-16 * fabs(log(xs[i])));
	assert_true(cot_model_log(1) == 0);
}

static void square_roots(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(xs); i++)
		near(cot_model_sqrt(xs[i]), sqrt(xs[i]), 4e-16 * sqrt(xs[i]));
	assert_true(cot_model_sqrt(0) == 0);
	assert_true(cot_model_sqrt(9) == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logarithms),
		cmocka_unit_test(square_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
