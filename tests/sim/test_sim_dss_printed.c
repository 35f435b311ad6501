/* Hand-computed schedules of DSS with Algorithm 1 as printed, and that it starves nobody. */
#include "support/sim_build.h"
#include "test.h"

#define N_SMS 13

static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static void build_equal(struct sim_build *b, uint32_t n_apps, double apart_us)
{
	uint32_t i;

	build_init(b, "dss-printed", N_SMS);
	for (i = 0; i < n_apps; i++)
		(void)build_one(b, names[i], apart_us * i, 1000, 100, 2, 1);
	build_stop_at(b, apart_us * n_apps + 10);
}

static void assert_share(const struct play *p, uint32_t app, uint32_t n_sms, int32_t tokens)
{
	const struct hw_kernel *k = play_kernel_of(p->sim, app);

	assert_non_null(k);
	assert_int_equal(k->n_sms + k->n_reserved, n_sms);
	assert_int_equal(k->priv.tokens, tokens);
}

/* One after the other, each when the SMs before it have moved. */
static void shares_are(uint32_t n_apps, const uint32_t *n_sms, const int32_t *tokens)
{
	struct sim_build b;
	struct play p;
	uint32_t i;

	build_equal(&b, n_apps, 10);
	play(&p, &b);
	for (i = 0; i < n_apps; i++)
		assert_share(&p, i, n_sms[i], tokens[i]);
	play_end(&p);
}

/*
 * A lone kernel owes for all 13. Each newcomer takes SMs from the poorest until it has one token
 * more at most; "until" looks at the two kernels of the last move only, so not all end equal.
 */
static void newcomers_take_sms(void **state)
{
	static const uint32_t one[] = {13}, two[] = {7, 6}, four[] = {4, 4, 3, 2},
			      six[] = {3, 2, 3, 2, 2, 1}, eight[] = {2, 2, 2, 2, 2, 1, 1, 1};
	static const int32_t four_left[] = {0, -1, 0, 1}, six_left[] = {0, 0, -1, 0, 0, 1},
			     none_left[8] = {0};

	(void)state;
	shares_are(1, one, none_left);
	shares_are(2, two, none_left);
	shares_are(4, four, four_left);
	shares_are(6, six, six_left);
	shares_are(8, eight, none_left);
}

/*
 * Kernel after kernel reaches the queue at one instant, and takes SMs that are still on their way
 * to those before it: as above. None waits for another one's end: a to e have two SMs, f to h one,
 * whose 50 blocks of 10 us, two at a time, take 250 us and 2 us for the SM to come.
 */
static void eight_equal_kernels_at_once_all_run(void **state)
{
	static const uint32_t n_sms[] = {2, 2, 2, 2, 2, 1, 1, 1};
	struct sim_build b;
	struct play p;
	uint32_t i;

	(void)state;
	build_init(&b, "dss-printed", N_SMS);
	for (i = 0; i < 8; i++)
		(void)build_one(&b, names[i], 0, 50, 10, 2, 1);
	build_stop_at(&b, 9);
	play(&p, &b);
	for (i = 0; i < 8; i++)
		assert_share(&p, i, n_sms[i], 0);
	play_end(&p);

	build_stop_at(&b, 260);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "e 0-132, d 0-132, b 0-132, c 0-132, a 0-140, "
					    "g 0-252, h 0-252, f 0-252");
	play_end(&p);
}

/*
 * Three programs hold 5, 5 and 3 SMs, their tokens are 0, -1 and 1. c ends: its three SMs are three
 * events. The first gives an SM to a; then a and b are equal, and two SMs stay idle. When b
 * ends, too, a is alone and takes all.
 */
static void equal_kernels_are_lent_nothing(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss-printed", N_SMS);
	(void)build_one(&b, "a", 0, 1000, 100, 2, 1);
	(void)build_one(&b, "b", 10, 10, 50, 2, 1);
	(void)build_one(&b, "c", 20, 6, 20, 2, 1);
	build_stop_at(&b, 50);
	play(&p, &b);
	assert_share(&p, 0, 6, -1);
	assert_share(&p, 1, 5, -1);
	play_end(&p);

	build_stop_at(&b, 70);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "c 20-42, b 10-62");
	assert_share(&p, 0, 13, -8);
	play_end(&p);
}

/* a comes first and keeps the thirteenth SM, though b is there first the second time. */
static void the_first_keep_the_extra_sms(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss-printed", N_SMS);
	(void)build_app(&b, "a");
	build_kernel(&b, 26, 5, 2, 1);
	build_sync(&b);
	build_cpu(&b, 25);
	build_kernel(&b, 1000, 100, 2, 1);
	(void)build_app(&b, "b");
	build_cpu(&b, 10);
	build_kernel(&b, 1000, 100, 2, 1);
	build_stop_at(&b, 40);
	play(&p, &b);
	assert_share(&p, 0, 7, 0);
	assert_share(&p, 1, 6, 0);
	play_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newcomers_take_sms),
		cmocka_unit_test(eight_equal_kernels_at_once_all_run),
		cmocka_unit_test(equal_kernels_are_lent_nothing),
		cmocka_unit_test(the_first_keep_the_extra_sms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
