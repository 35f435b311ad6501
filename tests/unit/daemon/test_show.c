/* What `ps`, `stats` and `doctor` are answered: every number stands for what the tables hold. */
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "daemon/show.h"
#include "daemon_stage.h"

static json_t *answer;

static const json_t *ask(unsigned what)
{
	char *text = cot_show_answer(&stage.conns, what);

	json_decref(answer);
	assert_non_null(text);
	assert_null(strstr(text, "\": ")); /* as short as can be */
	answer = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(answer);
	return answer;
}

static int teardown(void **state)
{
	json_decref(answer);
	answer = NULL;
	return stage_teardown(state);
}

static const json_t *at(const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	if (!value)
		fail_msg("there is no '%s'", key);
	return value;
}

static long long number(const json_t *o, const char *key)
{
	assert_true(json_is_integer(at(o, key)));
	return json_integer_value(at(o, key));
}

static double real(const json_t *o, const char *key)
{
	assert_true(json_is_number(at(o, key)));
	return json_number_value(at(o, key));
}

static const char *text(const json_t *o, const char *key)
{
	assert_true(json_is_string(at(o, key)));
	return json_string_value(at(o, key));
}

static bool truth(const json_t *o, const char *key)
{
	assert_true(json_is_boolean(at(o, key)));
	return json_is_true(at(o, key));
}

static const json_t *nth(const json_t *o, const char *list, size_t i)
{
	assert_true(i < json_array_size(at(o, list)));
	return json_array_get(at(o, list), i);
}

#define assert_null_at(o, key) assert_true(json_is_null(at(o, key)))

/* ---- programs and pools ---- */

static void test_a_program(void **state)
{
	struct tenant *t = stage_tenant(3, "train", NULL);
	const json_t *o;

	(void)state;
	t->cls = COT_CLASS_LATENCY;
	t->weight = 70;
	t->block_us = 40;
	t->quota = 50;
	t->reserve = COT_SHARE_SMS | 66;
	t->watch.pid = 4321;
	t->uid = 1001;
	t->gpu_mask = 5;
	t->since_ns = cot_now_ns() - 7000 * MS;
	(void)stage_tenant(4, "other", NULL);
	o = ask(COT_QUERY_PS);
	assert_string_equal(text(o, "schema"), "cotenant.ps/1");
	assert_int_equal(json_array_size(at(o, "tenants")), 2);
	assert_int_equal(json_array_size(at(o, "pools")), 0);
	o = nth(answer, "tenants", 0);
	assert_int_equal(number(o, "id"), 3);
	assert_string_equal(text(o, "name"), "train");
	assert_string_equal(text(o, "class"), "latency");
	assert_int_equal(number(o, "weight"), 70);
	assert_int_equal(number(o, "block_us"), 40);
	assert_string_equal(text(o, "quota"), "50%");
	assert_string_equal(text(o, "reserve"), "66sm");
	assert_null_at(o, "sms");
	assert_null_at(o, "part");
	assert_null_at(o, "part_effect");
	assert_int_equal(number(o, "pid"), 4321);
	assert_int_equal(number(o, "uid"), 1001);
	assert_int_equal(json_array_size(at(o, "gpus")), 2);
	assert_int_equal(json_integer_value(json_array_get(at(o, "gpus"), 0)), 0);
	assert_int_equal(json_integer_value(json_array_get(at(o, "gpus"), 1)), 2);
	assert_null_at(o, "pool");
	assert_true(real(o, "seconds") >= 7 && real(o, "seconds") < 100);
	assert_string_equal(text(o, "state"), "idle");
	assert_int_equal(json_array_size(at(o, "library_pids")), 0);
	assert_int_equal(number(o, "channel_groups"), 0);
	assert_int_equal(number(o, "channels"), 0);
	assert_int_equal(number(o, "slice_read_back_us"), 0);
	assert_int_equal(number(o, "doubts"), 0);
	assert_int_equal(number(o, "leases_expired"), 0);
	assert_null_at(o, "work");
	o = nth(answer, "tenants", 1);
	assert_string_equal(text(o, "class"), "batch");
	assert_null_at(o, "quota");
	assert_null_at(o, "reserve");
	assert_null_at(o, "shares_effect");
}

static void test_a_pool(void **state)
{
	struct pool *p = stage_pool(9, "batch", 1);
	const json_t *o;

	(void)state;
	p->state = POOL_STARTING;
	p->control.pid = 77;
	p->n_tenants = 2;
	p->n_starts = 3;
	p->n_deaths = 1;
	snprintf(p->pipe, sizeof(p->pipe), "/pipe");
	snprintf(p->log, sizeof(p->log), "/log");
	(void)stage_tenant(3, "train", p);
	o = nth(ask(COT_QUERY_PS), "pools", 0);
	assert_int_equal(number(o, "id"), 9);
	assert_string_equal(text(o, "name"), "batch");
	assert_int_equal(number(o, "gpu"), 1);
	assert_string_equal(text(o, "mps"), "starting");
	assert_int_equal(number(o, "control_pid"), 77);
	assert_int_equal(number(o, "tenants"), 2);
	assert_int_equal(number(o, "starts"), 3);
	assert_int_equal(number(o, "deaths"), 1);
	assert_string_equal(text(o, "pipe_directory"), "/pipe");
	assert_string_equal(text(o, "log_directory"), "/log");
	assert_string_equal(text(o, "state"), "idle");
	o = nth(answer, "tenants", 0);
	assert_string_equal(text(o, "pool"), "batch");
	assert_null(json_object_get(o, "state")); /* the pool's */
}

/* ---- what the hardware switches between ---- */

static void test_states_and_times(void **state)
{
	const json_t *o;

	(void)state;
	(void)stage_library(0, stage_tenant(1, "a", NULL), NULL);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_string_equal(text(o, "state"), "running");
	assert_int_equal(number(o, "slice_us"), 2000);
	assert_string_equal(text(o, "mode"), "driver");
	assert_false(truth(o, "held"));
	assert_false(truth(o, "slice_by_user"));
	assert_false(truth(o, "mode_by_user"));
	world_hold(1, true);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_string_equal(text(o, "state"), "freezing");
	assert_int_equal(number(o, "orders_waiting"), 1);
	world_pass(4 * MS);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_string_equal(text(o, "state"), "frozen");
	assert_true(truth(o, "held"));
	assert_int_equal(number(o, "freezes"), 1);
	assert_int_equal(number(o, "thaws"), 0);
	assert_true(real(o, "freeze_last_ms") == 4 && real(o, "freeze_max_ms") == 4);
	world_hold(1, false);
	assert_string_equal(text(nth(ask(COT_QUERY_PS), "tenants", 0), "state"), "thawing");
	world_pass(6 * MS);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	cot_host_override_slice(w.host, 1, 300, w.now_ns);
	cot_host_override_mode(w.host, 1, COT_MODE_DRAIN, w.now_ns);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_true(real(o, "thaw_last_ms") == 6 && real(o, "thaw_max_ms") == 6);
	assert_int_equal(number(o, "thaws"), 1);
	assert_int_equal(number(o, "slice_us"), 300);
	assert_string_equal(text(o, "mode"), "drain");
	assert_true(truth(o, "slice_by_user"));
	assert_true(truth(o, "mode_by_user"));
	assert_int_equal(number(o, "failed_orders"), 0);
	assert_int_equal(number(o, "lapsed_leases"), 0);
}

static void test_trouble(void **state)
{
	const json_t *o, *t;

	(void)state;
	(void)stage_library(0, stage_tenant(1, "a", NULL), NULL);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_null_at(o, "freeze_trouble");
	assert_null_at(o, "thaw_trouble");
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), -1, 0);
	w.now_ns = cot_now_ns();
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	t = at(o, "freeze_trouble");
	assert_int_equal(number(t, "failures"), 1);
	assert_string_equal(text(t, "reason"), "Operation not permitted");
	assert_true(real(t, "seconds") >= 0 && real(t, "seconds") < 60);
	assert_true(real(t, "last_seconds") < 60);
	assert_null_at(o, "thaw_trouble");
	world_hold(1, false);
	world_pass(COT_HOST_ACK_NS);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_string_equal(text(at(o, "thaw_trouble"), "reason"),
			    "its library did not answer in time");
	assert_int_equal(number(o, "failed_orders"), 2);
}

/* ---- what libraries wrote into their pages ---- */

static void test_pages(void **state)
{
	struct tenant *t = stage_tenant(1, "a", NULL);
	struct conn *first = stage_library(0, t, NULL), *second = stage_library(5, t, NULL);
	const json_t *o;

	(void)state;
	(void)stage_library(7, stage_tenant(2, "b", NULL), NULL); /* somebody else's */
	second->n_groups = 3;
	first->source.fd = 0; /* as any other */
	atomic_store(&first->page->n_doubts, 2);
	atomic_store(&second->page->n_doubts, 5);
	atomic_store(&second->page->n_lease_expired, 1);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_int_equal(json_array_size(at(o, "library_pids")), 2);
	assert_int_equal(json_integer_value(json_array_get(at(o, "library_pids"), 1)), 5005);
	assert_int_equal(number(o, "channel_groups"), 4);
	assert_int_equal(number(o, "channels"), 16);
	assert_int_equal(number(o, "doubts"), 7);
	assert_int_equal(number(o, "leases_expired"), 1);
	assert_int_equal(number(o, "slice_read_back_us"), 2000);
	assert_int_equal(number(o, "slice_wrong_pid"), 0);
	assert_null_at(o, "slice_wrong_reason");
	/* One of them has another slice than it should, whichever. */
	atomic_store(&second->page->slice_us, 555);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_int_equal(number(o, "slice_read_back_us"), 555);
	assert_int_equal(number(o, "slice_wrong_pid"), 5005);
	assert_string_equal(text(o, "slice_wrong_reason"), "its library has not set it yet");
	atomic_store(&second->page->slice_us, 2000);
	atomic_store(&first->page->slice_us, 555);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_int_equal(number(o, "slice_read_back_us"), 555);
	assert_int_equal(number(o, "slice_wrong_pid"), 5000);
	/* One without channels has no slice, and one that is left alone need not have it. */
	first->n_groups = 0;
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_int_equal(number(o, "slice_read_back_us"), 2000);
	assert_int_equal(number(o, "slice_wrong_pid"), 0);
	first->n_groups = 1;
	first->settled = false;
	assert_int_equal(number(nth(ask(COT_QUERY_PS), "tenants", 0), "slice_wrong_pid"), 0);
}

static void test_why_a_slice_is_wrong(void **state)
{
	const json_t *o;

	(void)state;
	(void)stage_library(0, stage_tenant(1, "a", NULL), NULL);
	cot_host_override_slice(w.host, 1, 300, w.now_ns);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_int_equal(number(o, "slice_wrong_pid"), 5000);
	assert_string_equal(text(o, "slice_wrong_reason"), "an order is on its way");
	world_pass(COT_HOST_ACK_NS);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_string_equal(text(o, "slice_wrong_reason"), "its library did not answer in time");
	/* The driver's own slice can be any, unless it could not be given back. */
	assert_int_equal(cot_host_set_policy(w.host, &cot_policy_timeslice, NULL, w.now_ns, NULL),
			 0);
	world_answer_all(0);
	cot_host_override_slice(w.host, 1, 0, w.now_ns);
	world_answer(world_last(COT_MSG_SET), -5, 0);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_int_equal(number(o, "slice_us"), 0);
	assert_int_equal(number(o, "slice_wrong_pid"), 5000);
	cot_host_override_slice(w.host, 1, 0, w.now_ns);
	world_answer(world_last(COT_MSG_SET), 0, 0);
	assert_int_equal(number(nth(ask(COT_QUERY_PS), "tenants", 0), "slice_wrong_pid"), 0);
}

static void test_guests(void **state)
{
	struct pool *p = stage_pool(9, "batch", 0);
	const json_t *o;

	(void)state;
	(void)stage_library(0, NULL, p);
	(void)stage_library(1, stage_tenant(1, "a", p), NULL);
	o = nth(ask(COT_QUERY_PS), "pools", 0);
	assert_int_equal(number(o, "guests"), 1);
	assert_int_equal(number(o, "guests_left"), 0);
	assert_int_equal(json_array_size(at(o, "library_pids")), 1);
	world_hold(9, true);
	world_pass(COT_HOST_ACK_NS);
	o = nth(ask(COT_QUERY_PS), "pools", 0);
	assert_int_equal(number(o, "guests"), 0);
	assert_int_equal(number(o, "guests_left"), 1);
}

/* ---- works ---- */

static struct conn *shim(unsigned member, struct tenant *t, unsigned n_rewritten)
{
	const struct cot_host_shim hello = {.tenant = t->id, .n_sms = 132};
	struct conn *c = &stage.conns.all[member];

	*c = (struct conn){.basis = &stage.basis,
			   .in = &stage.conns,
			   .source = {.fd = 100000 + (int)member},
			   .kind = CONN_WORK,
			   .tenant = t};
	assert_int_equal(cot_host_work_join(w.host, member, &hello), 0);
	c->counts = calloc(1, sizeof(*c->counts) + 2 * sizeof(c->counts->reasons[0]));
	assert_non_null(c->counts);
	c->counts->n_rewritten = n_rewritten;
	c->counts->n_refused = 4;
	c->counts->n_launched_workers = 5;
	c->counts->n_launched_plain = 6;
	c->counts->n_reasons = 2;
	snprintf(c->counts->reasons[0].name, COT_PROTO_REASON_MAX, "recursion");
	c->counts->reasons[0].n_kernels = 1;
	snprintf(c->counts->reasons[1].name, COT_PROTO_REASON_MAX, "grid sync");
	c->counts->reasons[1].n_kernels = 3;
	return c;
}

static struct conn *part_shim(unsigned member, struct tenant *t, uint64_t n)
{
	size_t size = sizeof(struct cot_msg_part_counts) + sizeof(struct cot_work_reason);
	struct cot_msg_part_counts *m = calloc(1, size);
	struct conn *c = shim(member, t, 0);

	assert_non_null(m);
	m->n_changes = n;
	m->n_followed = 10 * n;
	m->n_stayed = 1;
	m->n_reasons = 1;
	memcpy(m->reasons[0].name, "cooperative", 12);
	m->reasons[0].n_kernels = 1;
	c->part_counts = m;
	return c;
}

static void test_parts(void **state)
{
	static const struct cot_msg_parts can = {.n_sms = 132, .unit = 8};
	struct cot_msg_placed found = {.first = 64, .n = 68};
	struct tenant *t = stage_tenant(1, "a", NULL);
	struct conn *a = part_shim(0, t, 3), *b = part_shim(1, t, 4);
	const json_t *o;

	(void)state;
	t->sms = 50;
	t->parts = true;
	t->n_part_changes = 1;
	t->n_followed = 27;
	t->n_stayed = 1;
	cot_host_part_join(w.host, 0, 1);
	cot_host_part_placed(w.host, 0, &found, w.now_ns);
	cot_host_part_told(w.host, 0, &can, w.now_ns);
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_string_equal(text(o, "sms"), "50%");
	assert_string_equal(text(o, "part_effect"),
			    "3 of 100 launches did not run on its part, most of them because: "
			    "cooperative");
	o = at(o, "part");
	assert_true(json_is_true(at(o, "can_be_placed")));
	assert_int_equal(number(o, "first"), 64);
	assert_int_equal(number(o, "sms"), 68);
	assert_int_equal(number(o, "gpu_sms"), 132);
	assert_int_equal(number(o, "unit"), 8);
	assert_int_equal(number(o, "changes"), 8);
	assert_int_equal(number(o, "launches_followed"), 97);
	assert_int_equal(number(o, "launches_stayed"), 3);
	assert_true(real(o, "coverage") > 0.969 && real(o, "coverage") < 0.971);
	assert_int_equal(number(at(o, "stayed"), "cooperative"), 2);
	assert_int_equal(number(o, "placed"), 0);
	free(a->part_counts);
	free(b->part_counts);
	a->part_counts = b->part_counts = NULL;
	cot_host_part_leave(w.host, 0, w.now_ns);
	free(a->counts);
	free(b->counts);
	a->counts = b->counts = NULL;
}

static void test_works(void **state)
{
	struct tenant *t = stage_tenant(1, "a", NULL);
	const struct cot_msg_work_request m = {.work = 1, .per_sm = 2, .want = 40};
	const struct cot_msg_work_done done = {
		.work = 1, .n_tasks = 900, .n_launches = 3, .n_remapped = 8};
	const struct cot_msg_work_evicted evicted = {.work = 1, .capsms = 10, .delay_ns = 5000};
	struct cot_action evict = {.kind = COT_ACTION_EVICT, .value = 10};
	struct conn *a = shim(0, t, 3), *b = part_shim(1, t, 10);
	const json_t *o;

	(void)state;
	b->counts->n_rewritten = 10;
	t->n_rewritten = 100;
	t->n_not_rewritten = 200;
	t->n_launched_workers = 300;
	t->n_launched_plain = 400;
	t->quota = 30;
	assert_int_equal(cot_host_work_request(w.host, 0, &m, COT_WORK_QUOTA, w.now_ns), 0);
	evict.entity = cot_sched_policy(cot_host_sched(w.host))->works->id;
	o = at(nth(ask(COT_QUERY_PS), "tenants", 0), "work");
	assert_int_equal(number(o, "n_sms"), 132);
	assert_int_equal(number(o, "granted"), 40);
	assert_int_equal(number(o, "evicted"), 0);
	assert_int_equal(number(o, "leaving"), 0);
	assert_int_equal(number(o, "running"), 1);
	assert_int_equal(number(o, "waiting"), 0);
	assert_int_equal(number(o, "requests"), 1);
	assert_int_equal(number(o, "kernels_rewritten"), 113);
	assert_int_equal(number(o, "kernels_refused"), 208);
	assert_int_equal(number(o, "launches_workers"), 310);
	assert_int_equal(number(o, "launches_plain"), 412);
	assert_int_equal(number(at(o, "refusals"), "recursion"), 2);
	assert_int_equal(number(at(o, "refusals"), "grid sync"), 6);
	assert_int_equal(number(at(o, "wait_us"), "n"), 1);
	assert_int_equal(number(at(o, "eviction_us"), "n"), 0);
	assert_int_equal(number(at(o, "order_us"), "n"), 0);
	assert_true(real(at(o, "wait_us"), "p50") == 0 && real(at(o, "wait_us"), "max") == 0);
	assert_true(real(o, "eviction_last_us") == 0);
	/* Every launch is one of three; nothing of it is said twice. */
	b->part_counts->n_followed = 80;
	b->part_counts->n_stayed = 12;
	t->n_followed = 7;
	o = nth(ask(COT_QUERY_PS), "tenants", 0);
	assert_int_equal(number(at(o, "launches"), "workers"), 310);
	assert_int_equal(number(at(o, "launches"), "on_part"), 87);
	assert_int_equal(number(at(o, "launches"), "elsewhere"), 12);
	assert_true(real(at(o, "launches"), "coverage") > 0.970 &&
		    real(at(o, "launches"), "coverage") < 0.971);
	assert_string_equal(text(o, "shares_effect"),
			    "its quota has no effect on 12 of 409 launches, which run as they are");
	assert_null_at(o, "part_effect");
	b->part_counts->n_stayed = 0;
	assert_null_at(nth(ask(COT_QUERY_PS), "tenants", 0), "shares_effect");
	free(b->part_counts);
	b->part_counts = NULL;
	assert_string_equal(text(nth(ask(COT_QUERY_PS), "tenants", 0), "shares_reason"),
			    "grid sync");
	cot_host_works_ops.carry_out(cot_host_works(w.host), &evict, w.now_ns);
	cot_host_work_evicted(w.host, 0, &evicted, w.now_ns + 7000);
	o = at(nth(ask(COT_QUERY_PS), "tenants", 0), "work");
	assert_int_equal(number(at(o, "eviction_us"), "n"), 1);
	assert_true(real(at(o, "eviction_us"), "max") == 5);
	assert_true(real(at(o, "order_us"), "max") == 7);
	assert_true(real(at(o, "order_us"), "p50") > 6 && real(at(o, "order_us"), "p99") < 8);
	assert_true(real(o, "eviction_last_us") == 5);
	assert_int_equal(number(o, "evictions"), 1);
	assert_int_equal(number(o, "evicted_capsms"), 10);
	assert_int_equal(number(at(at(o, "methods"), "quota"), "requests"), 1);
	assert_int_equal(number(at(at(o, "methods"), "quota"), "said"), 0);
	assert_int_equal(number(at(at(o, "methods"), "quota"), "has"), 40);
	assert_int_equal(number(at(at(o, "methods"), "quota"), "running"), 1);
	assert_int_equal(number(at(at(o, "methods"), "quota"), "waiting"), 0);
	assert_int_equal(number(at(at(o, "methods"), "quota"), "evictions"), 1);
	assert_int_equal(number(at(at(o, "methods"), "quota"), "evicted_capsms"), 10);
	assert_int_equal(number(at(at(o, "methods"), "reserve"), "requests"), 0);
	cot_host_work_done(w.host, 0, &done, w.now_ns);
	o = at(nth(ask(COT_QUERY_PS), "tenants", 0), "work");
	assert_int_equal(number(o, "running"), 0);
	assert_int_equal(number(o, "tasks"), 900);
	assert_int_equal(number(o, "launches"), 3);
	assert_int_equal(number(o, "remapped"), 8);
	assert_int_equal(number(o, "resumes"), 0);
	assert_int_equal(number(o, "failed"), 0);
	/* What another program's shim counted is that program's. */
	b->tenant = stage_tenant(2, "b", NULL);
	o = at(nth(ask(COT_QUERY_PS), "tenants", 0), "work");
	assert_int_equal(number(o, "kernels_rewritten"), 103);
	/* One kernel is reason enough. */
	a->counts->n_reasons = 1;
	b->counts->n_reasons = 0;
	assert_string_equal(text(nth(ask(COT_QUERY_PS), "tenants", 0), "shares_reason"),
			    "recursion");
	a->counts->n_reasons = 0;
	assert_null_at(nth(ask(COT_QUERY_PS), "tenants", 0), "shares_reason");
	free(a->counts);
	free(b->counts);
}

static void test_shares_that_nobody_uses(void **state)
{
	struct tenant *t = stage_tenant(1, "a", NULL);

	(void)state;
	t->reserve = 30;
	assert_null_at(nth(ask(COT_QUERY_PS), "tenants", 0), "shares_effect");
	t->since_ns = cot_now_ns() - 11000 * MS;
	assert_string_equal(text(nth(ask(COT_QUERY_PS), "tenants", 0), "shares_effect"),
			    "its reservation has no effect so far: it has launched no kernel");
}

/* ---- the daemon itself ---- */

static void test_the_daemon(void **state)
{
	const json_t *o;

	(void)state;
	snprintf(stage.basis.runtime, sizeof(stage.basis.runtime), "/run/here");
	snprintf(stage.basis.socket_path, sizeof(stage.basis.socket_path), "/run/here/s");
	stage.basis.start_ns = cot_now_ns() - 3000 * MS;
	o = at(ask(COT_QUERY_PS), "daemon");
	assert_string_equal(text(o, "policy"), "pools");
	assert_string_equal(text(o, "policy_wanted"), "pools");
	assert_string_equal(text(o, "policy_chosen"), "pools");
	assert_null_at(o, "policy_fault");
	assert_string_equal(text(o, "runtime_directory"), "/run/here");
	assert_string_equal(text(o, "socket"), "/run/here/s");
	assert_true(real(o, "seconds") >= 3 && real(o, "seconds") < 60);
	assert_int_equal(number(o, "protocol"), COT_PROTO_VERSION);
}

static void test_gpus_and_ages(void **state)
{
	struct cot_gpu_info *gpu = stage.basis.gpus.gpu;
	struct tenant *t = stage_tenant(1, "a", NULL);
	const json_t *o, *list;
	struct timespec now;

	(void)state;
	snprintf(gpu[1].model, sizeof(gpu[1].model), "NVIDIA H200");
	snprintf(gpu[1].uuid, sizeof(gpu[1].uuid), "GPU-7");
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	t->watch.start_time = (uint64_t)(now.tv_sec - 5) * (uint64_t)sysconf(_SC_CLK_TCK);
	o = ask(COT_QUERY_PS);
	list = at(o, "gpus");
	assert_int_equal(json_array_size(list), 2);
	assert_null_at(json_array_get(list, 0), "model");
	assert_null_at(json_array_get(list, 0), "uuid");
	assert_int_equal(number(json_array_get(list, 1), "index"), 1);
	assert_string_equal(text(json_array_get(list, 1), "model"), "NVIDIA H200");
	assert_string_equal(text(json_array_get(list, 1), "uuid"), "GPU-7");
	o = json_array_get(at(o, "tenants"), 0);
	assert_true(real(o, "age_seconds") >= 5 && real(o, "age_seconds") < 600);
	t->watch.start_time = 0;
	assert_null_at(json_array_get(at(ask(COT_QUERY_PS), "tenants"), 0), "age_seconds");
}

static void test_a_fallback(void **state)
{
	const json_t *o;
	unsigned i;

	(void)state;
	(void)stage_library(0, stage_tenant(1, "a", NULL), NULL);
	for (i = 0; i < 5000 && !w.n_news; i++) { /* as a policy that sends without end */
		world_hold(1, i % 2 == 0);
		world_answer_all(w.n_sent - 1);
	}
	assert_int_equal(w.n_news, 1);
	o = at(ask(COT_QUERY_PS), "daemon");
	assert_string_equal(text(o, "policy"), "timeslice");
	assert_string_equal(text(o, "policy_wanted"), "pools");
	o = at(o, "policy_fault");
	assert_string_equal(text(o, "fault"), "storm");
	assert_string_equal(text(o, "reason"), "it gave too many orders");
	assert_true(real(o, "seconds") < 60);
	assert_true(real(o, "retry_seconds") > 5 && real(o, "retry_seconds") < 60);
	o = at(ask(COT_QUERY_STATS), "core");
	assert_int_equal(number(o, "fallbacks"), 1);
	assert_string_equal(text(o, "fault"), "storm");
}

static void test_stats(void **state)
{
	const json_t *o;

	(void)state;
	(void)stage_library(0, stage_tenant(1, "a", NULL), NULL);
	assert_null_at(at(ask(COT_QUERY_STATS), "timers"), "late_seconds");
	assert_null_at(at(ask(COT_QUERY_STATS), "timers"), "waited_seconds");
	assert_null_at(at(ask(COT_QUERY_STATS), "timers"), "stolen_seconds");
	stage.conns.n_refused = 4;
	stage.conns.n_bad_packets = 5;
	stage.basis.loop.lateness =
		(struct cot_lateness){.n_late = 6,
				      .last_ns = cot_now_ns() - 70000 * MS,
				      .n_waited = 9,
				      .last_waited_ns = cot_now_ns() - 30000 * MS,
				      .n_stolen = 11,
				      .last_stolen_ns = cot_now_ns() - 50000 * MS,
				      .worst_ns = 7 * MS,
				      .worst_own_ns = 8 * MS};
	world_hold(1, true);
	world_pass(2 * MS);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(cot_account_charge(&stage.basis.account, 1001, COT_ACCOUNT_PROGRAMS, 3),
			 0);
	o = ask(COT_QUERY_STATS);
	assert_string_equal(text(o, "schema"), "cotenant.stats/1");
	assert_int_equal(number(o, "connections"), 1);
	assert_int_equal(number(o, "refused"), 4);
	assert_int_equal(number(o, "bad_packets"), 5);
	assert_true(COT_SANITIZED || number(at(o, "memory"), "used_kb") > 0);
	assert_true(number(at(o, "memory"), "heap_kb") >= number(at(o, "memory"), "used_kb"));
	assert_int_equal(number(at(o, "timers"), "late"), 6);
	assert_int_equal(number(at(o, "timers"), "waited"), 9);
	assert_int_equal(number(at(o, "timers"), "stolen"), 11);
	assert_in_range((unsigned)real(at(o, "timers"), "late_seconds"), 70, 100);
	assert_in_range((unsigned)real(at(o, "timers"), "waited_seconds"), 30, 60);
	assert_in_range((unsigned)real(at(o, "timers"), "stolen_seconds"), 50, 80);
	assert_true(real(at(o, "timers"), "worst_ms") == 7);
	assert_true(real(at(o, "timers"), "worst_own_ms") == 8);
	assert_int_equal(json_array_size(at(o, "users")), 1);
	assert_int_equal(number(nth(o, "users", 0), "uid"), 1001);
	assert_int_equal(number(nth(o, "users", 0), "programs"), 3);
	assert_int_equal(number(nth(o, "users", 0), "connections"), 0);
	o = at(o, "core");
	assert_int_equal(number(at(o, "freeze"), "sent"), 1);
	assert_int_equal(number(at(o, "freeze"), "failed"), 0);
	assert_int_equal(number(at(o, "freeze"), "timed_out"), 0);
	assert_true(real(at(o, "freeze"), "mean_ms") == 2);
	assert_true(real(at(o, "freeze"), "max_ms") == 2);
	assert_int_equal(number(at(o, "slice"), "sent"), 1);
	assert_int_equal(number(at(o, "thaw"), "sent"), 0);
	assert_int_equal(number(o, "wrong_actions"), 0);
	/* A mean is one of those that were answered. */
	world_hold(1, false);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	world_hold(1, true);
	world_pass(6 * MS);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	o = at(ask(COT_QUERY_STATS), "core");
	assert_true(real(at(o, "freeze"), "mean_ms") == 4);
	assert_true(real(at(o, "freeze"), "max_ms") == 6);
	world_hold(1, false);
	world_pass(COT_HOST_ACK_NS);
	o = at(ask(COT_QUERY_STATS), "core");
	assert_int_equal(number(at(o, "thaw"), "sent"), 2);
	assert_int_equal(number(at(o, "thaw"), "timed_out"), 1);
	assert_true(real(at(o, "thaw"), "mean_ms") == 0);
}

static void test_doctor(void **state)
{
	const json_t *o;

	(void)state;
	snprintf(stage.basis.library, sizeof(stage.basis.library), "/lib/libcotenant.so");
	snprintf(stage.basis.config_path, sizeof(stage.basis.config_path), "/etc/c");
	snprintf(stage.basis.gpus.gpu[1].model, sizeof(stage.basis.gpus.gpu[1].model), "H200");
	stage.basis.config.use_mps = true;
	o = ask(COT_QUERY_DOCTOR);
	assert_string_equal(text(o, "schema"), "cotenant.daemon/1");
	assert_int_equal(json_array_size(at(o, "gpus")), 0); /* none was found */
	assert_string_equal(text(o, "library"), "/lib/libcotenant.so");
	assert_string_equal(text(o, "configuration"), "/etc/c");
	assert_true(truth(o, "mps_wanted"));
	assert_false(truth(o, "mps_failed"));
	stage.basis.gpus.found = true;
	stage.roster.mps_failed = true;
	o = ask(COT_QUERY_DOCTOR);
	assert_int_equal(json_array_size(at(o, "gpus")), 2);
	assert_int_equal(number(nth(o, "gpus", 1), "index"), 1);
	assert_string_equal(text(nth(o, "gpus", 1), "model"), "H200");
	assert_true(truth(o, "mps_failed"));
	assert_null(cot_show_answer(&stage.conns, 99));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, stage_setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_program),
		TEST(a_pool),
		TEST(states_and_times),
		TEST(trouble),
		TEST(pages),
		TEST(why_a_slice_is_wrong),
		TEST(guests),
		TEST(works),
		TEST(parts),
		TEST(shares_that_nobody_uses),
		TEST(the_daemon),
		TEST(gpus_and_ages),
		TEST(a_fallback),
		TEST(stats),
		TEST(doctor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
