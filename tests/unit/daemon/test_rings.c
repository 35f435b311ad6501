/* The requests of programs: what the daemon makes of the rings of their libraries, and what the
 * core is told of it. */
#include <jansson.h>
#include <stdatomic.h>

#include "daemon/host.h"
#include "daemon/measure.h"
#include "daemon/show_inside.h"
#include "door_stage.h"
#include "metrics/requests.h"

#define OTHER (STRANGER + 1)
#define MS    COT_NS_PER_MS

static struct cot_window told; /* the last one of 1 s */
static unsigned n_told;

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static void requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *window)
{
	(void)p;
	(void)t;
	if (window->horizon != COT_HORIZON_1S)
		return;
	told = *window;
	n_told++;
}

static const struct cot_measure_ops measures = {.requests = requests};
static const struct cot_policy_ops curious = {.name = "curious",
					      .summary = "wants to know how long requests take",
					      .abi = COT_POLICY_ABI,
					      .tick = tick,
					      .measures = &measures};

static struct cot_ring rings[2];
static struct conn *c[2]; /* two processes of one program */
static struct tenant *t;
static uint64_t begin, n_looks;

static void use(const struct cot_policy_ops *policy)
{
	struct cot_policy_config config;

	cot_policy_config_init(&config);
	assert_int_equal(cot_host_set_policy(stage.basis.host, policy, &config, cot_now_ns(), NULL),
			 0);
}

static int setup(void **state)
{
	int rc = open_server(state), fd, i;

	t = stage_tenant(3, "app", NULL);
	memset(rings, 0, sizeof(rings));
	for (i = 0; i < 2; i++) {
		c[i] = enter(OTHER, &fd);
		c[i]->tenant = t;
		c[i]->ring = &rings[i];
	}
	use(&curious);
	n_told = 0;
	n_looks = 0;
	begin = cot_now_ns() - 500 * MS;
	assert_true(cot_measure_begin(t));
	return rc;
}

static int teardown(void **state)
{
	int i;

	for (i = 0; i < 2; i++) {
		c[i]->tenant = NULL;
		c[i]->ring = NULL;
	}
	cot_requests_destroy(t->requests);
	t->requests = NULL;
	use(cot_policy_find("pools"));
	return close_server(state);
}

static void finish(unsigned of, uint64_t is_burst, uint64_t took_ms)
{
	const struct cot_ring_request r = {.arrival_ns = is_burst ? 0 : begin - MS,
					   .begin_ns = begin,
					   .end_ns = begin + took_ms * MS,
					   .is_burst = is_burst};

	cot_ring_put(&rings[of], &r);
}

static void look(void)
{
	cot_timer_clear(&stage.roster.looks);
	cot_measure_look(&stage.roster.looks, cot_now_ns() + ++n_looks * 150 * MS);
}

static bool is_about(uint64_t ns, uint64_t ms)
{
	return ns > ms * MS * 98 / 100 && ns < ms * MS * 102 / 100;
}

static json_t *shown(void)
{
	json_t *o = json_object(), *r;

	cot_show_requests(&stage.conns, o, t);
	r = json_incref(json_object_get(o, "requests"));
	json_decref(o);
	return r;
}

static void expect_shown(const char *source, long long n, long long unclear)
{
	json_t *r = shown();

	if (source)
		assert_string_equal(json_string_value(json_object_get(r, "source")), source);
	else
		assert_true(json_is_null(json_object_get(r, "source")));
	assert_int_equal(json_integer_value(json_object_get(r, "count")), n);
	assert_int_equal(json_integer_value(json_object_get(r, "unclear")), unclear);
	json_decref(r);
}

/* They are services, and known as what they are. */
static void test_bursts(void **state)
{
	(void)state;
	expect_shown(NULL, 0, 0);
	finish(0, 1, 20);
	finish(1, 1, 20);
	atomic_store(&rings[0].n_unclear, 3);
	atomic_store(&rings[1].n_unclear, 4);
	look();
	assert_int_equal(n_told, 1);
	assert_int_equal(told.source, COT_REQUESTS_BURSTS);
	assert_int_equal(told.service.n, 2);
	assert_int_equal(told.response.n, 0);
	assert_true(is_about(told.service.p99_ns, 20));
	expect_shown("bursts", 2, 7);
	cot_measure_end(c[1]); /* what it counted stays */
	expect_shown("bursts", 2, 7);
}

/* From the first mark of any of its processes on only marks count: nothing of the others is left.
 */
static void test_marks(void **state)
{
	(void)state;
	finish(0, 1, 300);
	atomic_store(&rings[0].n_unclear, 3);
	look();
	assert_int_equal(told.source, COT_REQUESTS_BURSTS);
	finish(1, 0, 10);
	finish(0, 1, 300);
	look();
	finish(0, 1, 300);
	look();
	expect_shown("marks", 1, 0);
	look();
	assert_int_equal(told.source, COT_REQUESTS_MARKED);
	assert_int_equal(told.service.n, 1);
	assert_int_equal(told.response.n, 1);
	assert_true(is_about(told.service.p99_ns, 10));
	assert_true(is_about(told.response.p99_ns, 11));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bursts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_marks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
