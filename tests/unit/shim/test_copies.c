/*
 * Copies that give way. The unit is in a shared library, so its source is here; the time is played,
 * and the listener acts while a thread waits.
 */
#include <errno.h>

#include "guest/shim/copies.c"
#include "test.h"

#define MS COT_NS_PER_MS

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cot_shim_gpu gpu, other;
static struct cot_shim_parts parts, others;
static uint64_t now_ns, act_ns, then_ns, waited_ns;
static unsigned n_waits;
static bool placeable, captures;

uint64_t cot_now_ns(void)
{
	return now_ns;
}

struct cot_shim_parts *cot_shim_parts_first(void)
{
	return &parts;
}

struct cot_shim_parts *cot_shim_parts_current(void)
{
	return placeable ? &parts : NULL;
}

bool cot_shim_any_capture(void)
{
	return captures;
}

bool cot_shim_is_captured(CUstream stream, bool per_thread)
{
	return stream && !per_thread;
}

/* At `act_ns` the daemon says for how long it goes on. */
bool cot_shim_changed_wait(uint64_t until_ns)
{
	assert_int_equal(pthread_mutex_trylock(&cot_shim_lock), EBUSY);
	if (now_ns >= until_ns)
		return false;
	if (now_ns < act_ns && act_ns < until_ns) {
		now_ns = act_ns;
		cot_shim_copies_set(&gpu, COT_WAY_IN, then_ns);
	} else {
		now_ns = until_ns;
	}
	return true;
}

void cot_shim_count_copy_wait(uint64_t ns)
{
	n_waits++;
	waited_ns += ns;
}

static int set_up(void **state)
{
	(void)state;
	parts = (struct cot_shim_parts){.next = &others, .gpu = &gpu};
	others = (struct cot_shim_parts){.gpu = &other};
	now_ns = COT_NS_PER_S;
	act_ns = then_ns = waited_ns = 0;
	n_waits = 0;
	placeable = true;
	captures = false;
	atomic_store(&cot_shim_copies_on, false);
	return 0;
}

static size_t copy(uint32_t way)
{
	size_t n = cot_shim_copy_next(10 * PIECE, way, NULL, false);

	assert_int_equal(pthread_mutex_trylock(&cot_shim_lock), 0);
	pthread_mutex_unlock(&cot_shim_lock);
	return n;
}

static void expect_waited(unsigned n, uint64_t ns)
{
	assert_int_equal(n_waits, n);
	assert_int_equal(waited_ns, ns);
}

/* Nothing is different before the daemon has said so; from then on there are pieces. */
static void test_pieces(void **state)
{
	(void)state;
	assert_int_equal(copy(COT_WAY_IN), 10 * PIECE);
	cot_shim_copies_set(&gpu, COT_WAY_OUT, 0);
	assert_int_equal(copy(COT_WAY_IN), PIECE);
	assert_int_equal(cot_shim_copy_next(PIECE - 1, COT_WAY_IN, NULL, false), PIECE - 1);
	assert_int_equal(cot_shim_copy_next(0, COT_WAY_IN, NULL, false), 0);
	expect_waited(0, 0);
}

static void test_a_wait(void **state)
{
	(void)state;
	cot_shim_copies_set(&gpu, COT_WAY_IN, 3 * MS);
	assert_int_equal(copy(COT_WAY_OUT), PIECE);
	expect_waited(0, 0);
	now_ns += 1 * MS;
	assert_int_equal(copy(COT_WAY_IN), PIECE);
	expect_waited(1, 2 * MS);
	(void)copy(COT_WAY_IN);
	expect_waited(1, 2 * MS);
}

/* What is said later does not shorten it, but that it is over. */
static void test_said_again(void **state)
{
	(void)state;
	cot_shim_copies_set(&gpu, COT_WAY_IN, 5 * MS);
	cot_shim_copies_set(&gpu, COT_WAY_IN, 3 * MS);
	act_ns = now_ns + 4 * MS;
	then_ns = 8 * MS;
	(void)copy(COT_WAY_IN);
	expect_waited(1, 12 * MS);
	now_ns += COT_NS_PER_S;
	cot_shim_copies_set(&gpu, COT_WAY_IN, 5 * MS);
	act_ns = now_ns + 2 * MS;
	then_ns = 0;
	(void)copy(COT_WAY_IN);
	expect_waited(2, 14 * MS);
}

/* However often it is said; after that the program copies for as long as it has waited. */
static void test_bounds(void **state)
{
	uint64_t began_ns = now_ns;

	(void)state;
	cot_shim_copies_set(&gpu, COT_WAY_IN, COT_PROTO_COPIES_NS);
	act_ns = now_ns + 19 * MS;
	then_ns = COT_PROTO_COPIES_NS;
	(void)copy(COT_WAY_IN);
	assert_int_equal(now_ns, began_ns + COT_PROTO_COPIES_NS);
	expect_waited(1, 20 * MS);
	now_ns += 19 * MS;
	cot_shim_copies_set(&gpu, COT_WAY_IN, COT_PROTO_COPIES_NS);
	(void)copy(COT_WAY_IN);
	expect_waited(1, 20 * MS);
	now_ns += 1 * MS;
	(void)copy(COT_WAY_IN);
	expect_waited(2, 39 * MS);
	/* What no daemon says changes nothing. */
	now_ns += COT_NS_PER_S;
	cot_shim_copies_set(&gpu, COT_WAYS, MS);
	cot_shim_copies_set(&gpu, COT_WAY_IN, COT_PROTO_COPIES_NS + 1);
	(void)copy(COT_WAY_IN);
	expect_waited(2, 39 * MS);
}

/* On another GPU, in a context without parts, of few bytes, or when it is recorded. */
static void test_who_does_not(void **state)
{
	const CUstream recorded = (CUstream)(uintptr_t)5;

	(void)state;
	cot_shim_copies_set(&other, COT_WAY_IN, 5 * MS);
	assert_int_equal(copy(COT_WAY_IN), PIECE);
	cot_shim_copies_set(&gpu, COT_WAY_IN, 5 * MS);
	assert_int_equal(cot_shim_copy_next(COT_PROTO_COPY_MIN - 1, COT_WAY_IN, NULL, false),
			 COT_PROTO_COPY_MIN - 1);
	placeable = false;
	assert_int_equal(copy(COT_WAY_IN), 10 * PIECE);
	placeable = captures = true;
	assert_int_equal(cot_shim_copy_next(3 * PIECE, COT_WAY_IN, recorded, false), 3 * PIECE);
	expect_waited(0, 0);
	assert_int_equal(copy(COT_WAY_IN), PIECE);
	expect_waited(1, 5 * MS);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pieces), TEST(a_wait), TEST(said_again), TEST(bounds), TEST(who_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
