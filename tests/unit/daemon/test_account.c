/* What each user may have of the daemon: fair parts, the reserve, rates; the clock is a number. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "daemon/account.h"
#include "test.h"

#define MS    1000000ull
#define OWN   500u
#define CONNS COT_ACCOUNT_CONNS

static struct cot_account a;

static int setup(void **state)
{
	(void)state;
	cot_account_init(&a, OWN);
	a.limits[CONNS] = (struct cot_account_limit){100, 10};
	return 0;
}

/* How many it gets, one by one, and why no more. */
static unsigned take_all(uid_t uid, int *ret_rc)
{
	unsigned n = 0;

	while (!(*ret_rc = cot_account_charge(&a, uid, CONNS, 1)))
		n++;
	return n;
}

static void test_fair_parts(void **state)
{
	int rc;

	(void)state;
	/* 90 are for all. Each user gets so many that as many are left for each, and for one more.
	 */
	assert_int_equal(take_all(1, &rc), 45);
	assert_int_equal(rc, -EDQUOT);
	assert_int_equal(take_all(2, &rc), 15);
	assert_int_equal(rc, -EDQUOT);
	assert_int_equal(take_all(3, &rc), 7);
	assert_int_equal(take_all(4, &rc), 4);
	assert_int_equal(cot_account_used(&a, 1, CONNS), 45);
	assert_int_equal(a.used[CONNS], 71);
	assert_int_equal(a.n_users[CONNS], 4);
	/* Those who have something count, not those who had. */
	cot_account_release(&a, 2, CONNS, 15);
	cot_account_release(&a, 3, CONNS, 7);
	cot_account_release(&a, 4, CONNS, 4);
	assert_int_equal(a.n_users[CONNS], 1);
	assert_int_equal(take_all(2, &rc), 15);
}

static void test_all_at_once(void **state)
{
	(void)state;
	assert_int_equal(cot_account_charge(&a, 1, CONNS, 46), -EDQUOT);
	assert_int_equal(cot_account_charge(&a, 1, CONNS, 45), 0);
	assert_int_equal(cot_account_charge(&a, 1, CONNS, 0), 0);
	assert_int_equal(cot_account_used(&a, 1, CONNS), 45);
}

static void test_reserve(void **state)
{
	int rc;

	(void)state;
	a.limits[CONNS].all = 20;
	assert_int_equal(take_all(1, &rc), 5);
	assert_int_equal(take_all(0, &rc), 15);
	assert_int_equal(rc, -ENOSPC);
	cot_account_release(&a, 0, CONNS, 10);
	/* The privileged took nothing of the reserve away that others could have. */
	assert_int_equal(cot_account_charge(&a, 2, CONNS, 1), -ENOSPC);
	assert_int_equal(take_all(OWN, &rc), 10);
	assert_int_equal(a.used[CONNS], 20);
	assert_int_equal(a.n_users[CONNS], 1);
	cot_account_release(&a, OWN, CONNS, 10);
	assert_int_equal(a.n_users[CONNS], 1);
}

/* What the daemon before had granted is granted again, whoever else is there. */
static void test_restore(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 15; i++)
		assert_int_equal(cot_account_restore(&a, 2, CONNS, 1), 0);
	for (i = 0; i < 45; i++)
		assert_int_equal(cot_account_restore(&a, 1, CONNS, 1), 0);
	assert_int_equal(cot_account_charge(&a, 1, CONNS, 1), -EDQUOT);
	assert_int_equal(cot_account_restore(&a, 1, CONNS, 31), -ENOSPC);
	assert_int_equal(cot_account_restore(&a, 1, CONNS, 30), 0);
}

static void test_overflow(void **state)
{
	(void)state;
	assert_int_equal(cot_account_charge(&a, 0, CONNS, UINT64_MAX), -ENOSPC);
	assert_int_equal(cot_account_charge(&a, 1, CONNS, UINT64_MAX), -ENOSPC);
	assert_int_equal(cot_account_charge(&a, 1, CONNS, 3), 0);
	assert_int_equal(cot_account_charge(&a, 1, CONNS, UINT64_MAX - 2), -ENOSPC);
	a.limits[CONNS] = (struct cot_account_limit){UINT64_MAX, 0};
	assert_int_equal(cot_account_charge(&a, 1, CONNS, UINT64_MAX / 2 - 4), 0);
	assert_int_equal(cot_account_charge(&a, 1, CONNS, UINT64_MAX / 2), -EDQUOT);
	/* More than there was is a mistake, not a gift. */
	cot_account_release(&a, 1, CONNS, UINT64_MAX);
	assert_int_equal(cot_account_used(&a, 1, CONNS), UINT64_MAX / 2 - 1);
	cot_account_release(&a, 7, CONNS, 1);
	assert_int_equal(a.used[CONNS], UINT64_MAX / 2 - 1);
}

/* How often each was refused something, of whatever kind. */
static void test_refusals(void **state)
{
	(void)state;
	a.limits[CONNS] = (struct cot_account_limit){4, 0};
	a.paces[COT_RATE_CHANGES] = (struct cot_account_pace){100 * MS, 1};
	assert_int_equal(cot_account_charge(&a, 1, CONNS, 3), -EDQUOT);
	assert_int_equal(cot_account_charge(&a, 1, CONNS, 5), -ENOSPC);
	assert_true(cot_account_take(&a, 1, COT_RATE_CHANGES, 1000 * MS));
	assert_false(cot_account_take(&a, 1, COT_RATE_CHANGES, 1000 * MS));
	assert_int_equal(a.users[0].uid, 1);
	assert_int_equal(a.users[0].n_refused, 3);
}

static void test_rate(void **state)
{
	uint64_t now_ns = 1000 * MS;
	unsigned i;

	(void)state;
	a.paces[COT_RATE_CHANGES] = (struct cot_account_pace){100 * MS, 5};
	for (i = 0; i < 5; i++)
		assert_true(cot_account_take(&a, 1, COT_RATE_CHANGES, now_ns));
	assert_false(cot_account_take(&a, 1, COT_RATE_CHANGES, now_ns));
	assert_int_equal(cot_account_wait_ns(&a, 1, COT_RATE_CHANGES, now_ns), 100 * MS);
	assert_int_equal(cot_account_wait_ns(&a, 1, COT_RATE_CHANGES, now_ns + 30 * MS), 70 * MS);
	/* Other users, other rates. */
	assert_true(cot_account_take(&a, 2, COT_RATE_CHANGES, now_ns));
	assert_true(cot_account_take(&a, 1, COT_RATE_STARTS, now_ns));
	now_ns += 100 * MS;
	assert_true(cot_account_take(&a, 1, COT_RATE_CHANGES, now_ns));
	assert_false(cot_account_take(&a, 1, COT_RATE_CHANGES, now_ns));
	now_ns += 500 * MS;
	for (i = 0; i < 5; i++)
		assert_true(cot_account_take(&a, 1, COT_RATE_CHANGES, now_ns));
	assert_false(cot_account_take(&a, 1, COT_RATE_CHANGES, now_ns));
	for (i = 0; i < 100; i++) {
		assert_true(cot_account_take(&a, 0, COT_RATE_CHANGES, now_ns));
		assert_true(cot_account_take(&a, OWN, COT_RATE_CHANGES, now_ns));
	}
}

/* Half of a processor: after 3 ms at once so long a pause as there was work. */
static void test_time(void **state)
{
	uint64_t now_ns = 1000 * MS;

	(void)state;
	cot_account_spend(&a, 1, COT_RATE_TIME, 3 * MS - 1, now_ns);
	assert_int_equal(cot_account_wait_ns(&a, 1, COT_RATE_TIME, now_ns), 0);
	cot_account_spend(&a, 1, COT_RATE_TIME, 1 + 10 * MS, now_ns);
	assert_int_equal(cot_account_wait_ns(&a, 1, COT_RATE_TIME, now_ns), 20 * MS + 2);
	assert_int_equal(cot_account_wait_ns(&a, 1, COT_RATE_TIME, now_ns + 20 * MS + 2), 0);
	cot_account_spend(&a, 0, COT_RATE_TIME, UINT64_MAX, now_ns);
	assert_int_equal(cot_account_wait_ns(&a, 0, COT_RATE_TIME, now_ns), 0);
}

/* However much it was, nobody waits for more than a second. */
static void test_debts_end(void **state)
{
	uint64_t now_ns = 1000 * MS, wait_ns;

	(void)state;
	cot_account_spend(&a, 1, COT_RATE_TIME, UINT64_MAX, now_ns);
	wait_ns = cot_account_wait_ns(&a, 1, COT_RATE_TIME, now_ns);
	assert_in_range(wait_ns, 1000 * MS, 1000 * MS + 2);
	cot_account_spend(&a, 1, COT_RATE_TIME, 10 * MS, now_ns);
	assert_int_equal(cot_account_wait_ns(&a, 1, COT_RATE_TIME, now_ns), wait_ns);
	/* An older time than before adds nothing and takes nothing. */
	cot_account_spend(&a, 1, COT_RATE_TIME, 1, now_ns - 500 * MS);
	assert_true(cot_account_wait_ns(&a, 1, COT_RATE_TIME, now_ns) <= wait_ns);
	assert_int_equal(cot_account_wait_ns(&a, 1, COT_RATE_TIME, now_ns + 1001 * MS), 0);
}

/* Debts of those who have nothing now are kept while there is room, the longest the longest. */
static void test_many_users(void **state)
{
	uint64_t now_ns = 1000 * MS;
	uid_t uid;

	(void)state;
	a.limits[CONNS] = (struct cot_account_limit){100000, 0};
	cot_account_spend(&a, 1000, COT_RATE_TIME, 100 * MS, now_ns);
	assert_int_equal(cot_account_charge(&a, 1001, CONNS, 1), 0);
	for (uid = 2000; uid < 2000 + 3 * COT_ACCOUNT_USERS; uid++)
		cot_account_spend(&a, uid, COT_RATE_TIME, MS, now_ns);
	assert_true(cot_account_wait_ns(&a, 1000, COT_RATE_TIME, now_ns) > 100 * MS);
	assert_int_equal(cot_account_used(&a, 1001, CONNS), 1);
	for (uid = 2000; uid < 2000 + COT_ACCOUNT_USERS - 1; uid++)
		assert_int_equal(cot_account_charge(&a, uid, CONNS, 1), 0);
	assert_int_equal(cot_account_charge(&a, 9999, CONNS, 1), -ENOSPC);
	assert_true(cot_account_take(&a, 9999, COT_RATE_LINES, now_ns));
	assert_int_equal(a.used[CONNS], COT_ACCOUNT_USERS);
}

/* Whatever users do: the sums agree, nobody has more than half, and the reserve is kept. */
static void test_random(void **state)
{
	uint64_t seed = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 7, total;
	unsigned i, u, n_users;
	struct cot_rng rng;

	(void)state;
	print_message("seed %lu\n", (unsigned long)seed);
	rng.state = seed;
	for (i = 0; i < 200000; i++) {
		uid_t uid = (uid_t)cot_rng_below(&rng, 8);
		uint64_t n = cot_rng_below(&rng, 4), had = cot_account_used(&a, uid, CONNS);

		if (cot_rng_below(&rng, 2) && had >= n)
			cot_account_release(&a, uid, CONNS, n);
		else if (!cot_account_charge(&a, uid, CONNS, n) && uid && n)
			assert_true(a.used[CONNS] <= 90 && had + n <= 45);
		for (u = 0, total = 0, n_users = 0; u < 8; u++) {
			total += cot_account_used(&a, u, CONNS);
			n_users += u && cot_account_used(&a, u, CONNS);
		}
		assert_int_equal(total, a.used[CONNS]);
		assert_int_equal(n_users, a.n_users[CONNS]);
		assert_true(total <= 100);
	}
}

/* Newcomers find something, whoever else came before, as long as root has left it. */
static void test_newcomers(void **state)
{
	uid_t uid;
	int rc;

	(void)state;
	cot_account_init(&a, OWN);
	for (uid = 1; uid <= 12; uid++)
		assert_true(take_all(uid, &rc) > 0);
}

static void test_limits(void **state)
{
	unsigned i;

	(void)state;
	cot_account_init(&a, OWN);
	assert_true(cot_account_is_privileged(&a, 0));
	assert_true(cot_account_is_privileged(&a, OWN));
	assert_false(cot_account_is_privileged(&a, OWN + 1));
	for (i = 0; i < COT_ACCOUNT_KINDS; i++)
		assert_true(a.limits[i].reserve && a.limits[i].reserve < a.limits[i].all / 2);
	for (i = 0; i < COT_ACCOUNT_RATES; i++)
		assert_true(a.paces[i].interval_ns && a.paces[i].burst);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_fair_parts, setup),
		cmocka_unit_test_setup(test_all_at_once, setup),
		cmocka_unit_test_setup(test_reserve, setup),
		cmocka_unit_test_setup(test_restore, setup),
		cmocka_unit_test_setup(test_refusals, setup),
		cmocka_unit_test_setup(test_overflow, setup),
		cmocka_unit_test_setup(test_rate, setup),
		cmocka_unit_test_setup(test_time, setup),
		cmocka_unit_test_setup(test_debts_end, setup),
		cmocka_unit_test_setup(test_many_users, setup),
		cmocka_unit_test_setup(test_random, setup),
		cmocka_unit_test_setup(test_newcomers, setup),
		cmocka_unit_test_setup(test_limits, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
