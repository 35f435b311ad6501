/* Packets of shims: which GPU and which program they mean, how their works are asked for, and what
 * stays when they go. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/host_work.h"
#include "daemon/shims.h"
#include "door_stage.h"

#define OTHER (STRANGER + 1)

static struct cot_msg_work_hello hello(const char *gpu)
{
	struct cot_msg_work_hello m = {
		.class_ = COT_CLASS_BATCH, .weight = 100, .n_sms = 10, .name = "shim"};

	snprintf(m.gpu, sizeof(m.gpu), "%s", gpu);
	return m;
}

static struct conn *join(int *ret_fd, struct cot_msg_work_hello *m)
{
	struct conn *c = enter(OTHER, ret_fd);

	assert_int_equal(ask(*ret_fd, m, COT_MSG_WORK_HELLO, sizeof(*m)), COT_MSG_WORK_WELCOME);
	return c;
}

static void expect_refused(struct cot_msg_work_hello *m, const char *why)
{
	unsigned n = cot_tenant_count(&stage.roster);
	int fd;

	(void)enter(OTHER, &fd);
	assert_int_equal(ask(fd, m, COT_MSG_WORK_HELLO, sizeof(*m)), COT_MSG_REFUSED);
	assert_string_equal(words(), why);
	assert_int_equal(hear(fd), -1);
	assert_int_equal(cot_tenant_count(&stage.roster), n);
}

static void test_hello(void **state)
{
	struct cot_msg_work_hello m = hello("1");
	struct cot_host_work_stats stats;
	const struct cot_msg_work_welcome *answer = (const struct cot_msg_work_welcome *)packet;
	struct conn *c;
	char line[96];
	int fd;

	(void)state;
	m.class_ = COT_CLASS_LATENCY;
	m.weight = 30;
	m.quota = 50;
	m.reserve = COT_SHARE_SMS | 4;
	(void)stage_log();
	c = join(&fd, &m);
	assert_int_equal(answer->h.seq, 5);
	assert_int_equal(answer->tenant, c->tenant->id);
	assert_int_equal(answer->works_max, COT_PROTO_WORKS_MAX);
	snprintf(line, sizeof(line),
		 " DEBUG cotenantd[%d]: the shim of process %d is on GPU 1, 10 SMs\n",
		 (int)getpid(), (int)getpid());
	assert_non_null(strstr(stage_log(), line));
	assert_int_equal(c->tenant->n_conns, 1);
	assert_int_equal(c->tenant->cls, COT_CLASS_LATENCY);
	assert_int_equal(c->tenant->weight, 30);
	assert_int_equal(c->tenant->quota, 50);
	assert_int_equal(c->tenant->reserve, COT_SHARE_SMS | 4);
	assert_int_equal(c->tenant->gpu_mask, 2);
	assert_string_equal(c->tenant->name, "shim");
	cot_host_work_stats(stage.basis.host, c->tenant->id, &stats);
	assert_int_equal(stats.n_sms, 10);
	assert_int_equal(
		cot_sched_tenant(cot_host_sched(stage.basis.host), c->tenant->id)->quota.pct, 50);
}

/* Its number, its UUID, or the program's only one, by whatever name the shim knows it. */
static void test_gpus(void **state)
{
	struct tenant *one, *both;
	struct cot_msg_work_hello m;
	int fd;

	(void)state;
	snprintf(stage.basis.gpus.gpu[1].uuid, sizeof(stage.basis.gpus.gpu[1].uuid), "GPU-bbbb");
	m = hello("GPU-bbbb");
	assert_int_equal(join(&fd, &m)->tenant->gpu_mask, 2);
	m = hello("GPU-cccc");
	expect_refused(&m, "'GPU-cccc' does not name one GPU of this machine; expected its number "
			   "or UUID");
	m = hello("0,1");
	expect_refused(&m,
		       "'0,1' does not name one GPU of this machine; expected its number or UUID");
	m = hello("");
	expect_refused(&m, "'' does not name one GPU of this machine; expected its number or UUID");
	/* A program that has one means that. */
	one = stage_tenant(100, "one", NULL);
	both = stage_tenant(101, "both", NULL);
	one->uid = both->uid = OTHER;
	one->gpu_mask = 2;
	both->gpu_mask = 3;
	m = hello("GPU-cccc");
	m.tenant = 100;
	(void)stage_log();
	assert_ptr_equal(join(&fd, &m)->tenant, one);
	assert_non_null(strstr(stage_log(), "is on GPU 1, 10 SMs"));
	m.tenant = 101;
	expect_refused(&m, "'GPU-cccc' does not name one GPU of this machine; expected its number "
			   "or UUID");
	m = hello("0");
	m.tenant = 101;
	assert_ptr_equal(join(&fd, &m)->tenant, both);
	assert_non_null(strstr(stage_log(), "is on GPU 0, 10 SMs"));
	/* And where there is one. */
	stage.basis.gpus.n = 1;
	m = hello("MIG-77");
	m.tenant = 101;
	(void)join(&fd, &m);
	assert_non_null(strstr(stage_log(), "is on GPU 0, 10 SMs"));
}

static void test_programs(void **state)
{
	struct cot_msg_work_hello m = hello("0");
	struct tenant *t = stage_tenant(100, "known", NULL);
	struct conn *c;
	int fd;

	(void)state;
	t->uid = OTHER;
	m.weight = COT_WEIGHT_MAX + 1;
	expect_refused(&m, "the shim sent a weight out of range");
	/* What a registration has said goes before. */
	m.weight = COT_WEIGHT_MAX;
	m.quota = 50;
	m.reserve = 40;
	m.tenant = 100;
	assert_ptr_equal(join(&fd, &m)->tenant, t);
	assert_int_equal(t->weight, 100);
	assert_int_equal(t->quota | t->reserve, 0);
	m.tenant = 0;
	m.weight = 0;
	c = join(&fd, &m);
	assert_int_equal(c->tenant->weight, COT_WEIGHT_DEFAULT);
	assert_int_equal(c->tenant->quota, 50);
	assert_int_equal(c->tenant->reserve, 40);
	/* So does what its first shim has said: either of them. */
	c->tenant->reserve = 0;
	m.quota = 20;
	assert_ptr_equal(join(&fd, &m)->tenant, c->tenant);
	assert_int_equal(c->tenant->quota, 50);
	assert_int_equal(c->tenant->reserve, 0);
	c->tenant->quota = 0;
	c->tenant->reserve = 7;
	(void)join(&fd, &m);
	assert_int_equal(c->tenant->quota, 0);
	assert_int_equal(c->tenant->n_conns, 3);
	stage.basis.config.batch.everybody = false;
	m.tenant = 0;
	(void)enter(OTHER + 1, &fd);
	assert_int_equal(ask(fd, &m, COT_MSG_WORK_HELLO, sizeof(m)), COT_MSG_REFUSED);
	assert_non_null(strstr(words(), "may not run batch programs"));
}

static void test_later(void **state)
{
	const struct cot_host_shim taken = {.tenant = 99, .n_sms = 1};
	struct cot_msg_work_hello m = hello("0");
	struct conn *c;
	int fd;

	(void)state;
	c = enter(OTHER, &fd);
	assert_int_equal(cot_host_work_join(stage.basis.host, conn_index(c), &taken), 0);
	assert_int_equal(ask(fd, &m, COT_MSG_WORK_HELLO, sizeof(m)), COT_MSG_LATER);
	assert_string_equal(words(), "no room for one more program with rewritten kernels");
	assert_int_equal(hear(fd), -1);
	assert_int_equal(cot_tenant_count(&stage.roster), 0);
	stage.basis.account.limits[COT_ACCOUNT_PROGRAMS] = (struct cot_account_limit){16, 16};
	(void)enter(OTHER, &fd);
	assert_int_equal(ask(fd, &m, COT_MSG_WORK_HELLO, sizeof(m)), COT_MSG_LATER);
	assert_string_equal(words(), "too many programs (256 at most)");
	assert_int_equal(hear(fd), -1);
	/* And before a hello there is nothing to say. */
	c = enter(OTHER, &fd);
	assert_false(cot_shims_packet(c, &m, COT_MSG_WORK_DONE));
}

/* ---- works ---- */

static void request(int fd, uint64_t name, enum cot_proto_method method)
{
	struct cot_msg_work_request m = {.work = name,
					 .n_tasks = 1000,
					 .per_sm = 1,
					 .method = (uint8_t)method,
					 .flags = COT_WORK_CAN_SETTLE,
					 .task_ns = 1000};

	say(fd, &m, COT_MSG_WORK_REQUEST, sizeof(m));
	serve(1);
}

/* Only latency programs may take from others. */
static void test_methods(void **state)
{
	static const struct {
		enum cot_proto_method asked;
		enum cot_work_method latency;
	} all[] = {{COT_PROTO_WORK_DEFAULT, COT_WORK_RESERVE},
		   {COT_PROTO_WORK_QUOTA, COT_WORK_QUOTA},
		   {COT_PROTO_WORK_RESERVE, COT_WORK_RESERVE}};
	struct cot_msg_work_hello m = hello("0");
	const struct cot_sched *s = cot_host_sched(stage.basis.host);
	struct conn *c;
	uint32_t id = 0;
	unsigned i;
	int fd;

	(void)state;
	c = join(&fd, &m);
	for (i = 0; i < 2 * COT_ARRAY_LEN(all); i++) {
		c->tenant->cls = i % 2 ? COT_CLASS_BATCH : COT_CLASS_LATENCY;
		request(fd, i + 1, all[i / 2].asked);
		while (id < 100 && !cot_sched_work(s, id))
			id++;
		assert_non_null(cot_sched_work(s, id));
		assert_int_equal(cot_sched_work(s, id++)->method,
				 i % 2 ? COT_WORK_QUOTA : all[i / 2].latency);
	}
	assert_int_equal(c->n_works_charged, 6);
	assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_WORKS), 6);
}

/* A rule goes before what the program says, and gives it no more than it has. */
static void test_rules(void **state)
{
	static const struct {
		enum cot_class cls;
		const char *kernel;
		enum cot_work_method method;
		uint32_t asked, reserve;
	} all[] = {
		{COT_CLASS_LATENCY, "gemm", COT_WORK_QUOTA, 7, 7},
		{COT_CLASS_LATENCY, "softmax", COT_WORK_RESERVE, 0, 9},
		{COT_CLASS_BATCH, "softmax", COT_WORK_QUOTA, 9, 9},
		{COT_CLASS_LATENCY, "other", COT_WORK_QUOTA, 3, 3}, /* as it says */
	};
	struct cot_msg_work_hello m = hello("0");
	const struct cot_sched *s = cot_host_sched(stage.basis.host);
	struct conn *c;
	uint32_t id = 0;
	unsigned i;
	int fd;

	(void)state;
	c = join(&fd, &m);
	stage.basis.config.kernels = (struct cot_rules){.n = 2,
							.rules = {{.kernel = "g*",
								   .method = COT_PROTO_WORK_QUOTA,
								   .share = COT_SHARE_SMS | 7},
								  {.program = "*",
								   .kernel = "soft*",
								   .method = COT_PROTO_WORK_RESERVE,
								   .share = COT_SHARE_SMS | 9}}};
	for (i = 0; i < COT_ARRAY_LEN(all); i++) {
		struct cot_msg_work_request r = {.work = i + 1,
						 .n_tasks = 1000,
						 .per_sm = 1,
						 .method = COT_PROTO_WORK_QUOTA,
						 .share = COT_SHARE_SMS | 3};

		strcpy(r.kernel, all[i].kernel);
		c->tenant->cls = all[i].cls;
		say(fd, &r, COT_MSG_WORK_REQUEST, sizeof(r));
		serve(1);
		while (id < 100 && !cot_sched_work(s, id))
			id++;
		assert_non_null(cot_sched_work(s, id));
		assert_int_equal(cot_sched_work(s, id)->method, all[i].method);
		assert_int_equal(cot_sched_work(s, id)->asked, all[i].asked);
		assert_int_equal(cot_sched_work(s, id++)->reserve, all[i].reserve);
	}
	stage.basis.config.kernels.n = 0;
}

#define KNOWN                                                                         \
	"schema: cotenant.knowledge/1\nprogram: p\nclass: latency\ngpu: g\n"          \
	"sms: [2, 4, 8]\ninputs: [{size: 1, time_ns: [300, 200, 100], tasks: [0]}]\n" \
	"kernels:\n  - {name: flat, time_ns: [104, 101, 100]}\n"                      \
	"  - {name: steep, time_ns: [300, 106, 100]}\n"

/* A kernel gets as many SMs as it needs, of what is known; unless something is said. */
static void test_predictions(void **state)
{
	static const struct {
		uint32_t permille;
		const char *kernel;
		uint16_t share;
		uint32_t asked, reserve;
	} all[] = {
		{0, "flat", 0, 0, 0},
		{39, "flat", 0, 4, 4},
		{40, "flat", 0, 2, 2},
		{59, "steep", 0, 8, 8},
		{60, "steep", 0, 4, 4},
		{60, "else", 0, 0, 0},
		{60, "flat", COT_SHARE_SMS | 7, 0, 7},
	};
	struct cot_msg_work_hello m = hello("0");
	const struct cot_sched *s = cot_host_sched(stage.basis.host);
	struct known *known = &stage.basis.known;
	struct cot_error err;
	struct conn *c;
	uint32_t id = 0;
	unsigned i;
	int fd;

	(void)state;
	c = join(&fd, &m);
	c->tenant->cls = COT_CLASS_LATENCY;
	assert_int_equal(
		cot_knowledge_parse("k", KNOWN, strlen(KNOWN), &known->programs[0].knowledge, &err),
		0);
	known->n = 1;
	strcpy(known->programs[0].name, c->tenant->name);
	for (i = 0; i < COT_ARRAY_LEN(all); i++) {
		struct cot_msg_work_request r = {
			.work = i + 1, .n_tasks = 1000, .per_sm = 1, .share = all[i].share};

		stage.basis.config.need_permille = all[i].permille;
		strcpy(r.kernel, all[i].kernel);
		say(fd, &r, COT_MSG_WORK_REQUEST, sizeof(r));
		serve(1);
		while (id < 100 && !cot_sched_work(s, id))
			id++;
		assert_non_null(cot_sched_work(s, id));
		assert_int_equal(cot_sched_work(s, id)->asked, all[i].asked);
		assert_int_equal(cot_sched_work(s, id++)->reserve, all[i].reserve);
	}
	stage.basis.config.need_permille = 0;
	cot_known_clear(known);
}

static void test_evictions(void **state)
{
	struct cot_msg_work_evicted left = {.work = 1, .delay_ns = 5000};
	struct cot_msg_work_done done = {.work = 1, .n_tasks = 12, .n_launches = 1};
	struct cot_msg_work_hello m = hello("0");
	struct cot_host_work_stats stats;
	struct conn *c;
	int fd;

	(void)state;
	c = join(&fd, &m);
	request(fd, 1, COT_PROTO_WORK_DEFAULT);
	assert_int_equal(w.sent[w.n_sent - 1].type, COT_MSG_WORK_GRANT);
	/* What was not asked of it is too much. */
	say(fd, &left, COT_MSG_WORK_EVICTED, sizeof(left));
	serve(1);
	assert_true(c->source.fd >= 0);
	say(fd, &done, COT_MSG_WORK_DONE, sizeof(done));
	serve(1);
	cot_host_work_stats(stage.basis.host, c->tenant->id, &stats);
	assert_int_equal(stats.n_requests, 1);
	assert_int_equal(stats.n_tasks, 12);
	assert_int_equal(stats.n_launches, 1);
	assert_int_equal(c->n_works_charged, 0);
	assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_WORKS), 0);
}

/* One that the core does not take runs, and is nobody's to count. */
static void test_not_taken(void **state)
{
	struct cot_event ev = {.type = COT_EV_TENANT_LEFT, .now_ns = cot_now_ns()};
	struct cot_msg_work_hello m = hello("0");
	struct conn *c;
	int fd;

	(void)state;
	c = join(&fd, &m);
	ev.id = c->tenant->id;
	assert_int_equal(cot_host_event(stage.basis.host, &ev), 0);
	request(fd, 1, COT_PROTO_WORK_DEFAULT);
	assert_int_equal(w.sent[w.n_sent - 1].type, COT_MSG_WORK_GRANT);
	assert_int_equal(c->n_works_charged, 0);
	assert_int_equal(cot_account_used(&stage.basis.account, OTHER, COT_ACCOUNT_WORKS), 0);
}

static void test_counts(void **state)
{
	static const struct cot_work_reason reasons[] = {{"first", 5}, {"second", 6}};
	static _Alignas(
		8) unsigned char bytes[sizeof(struct cot_msg_work_counts) + sizeof(reasons)];
	struct cot_msg_work_counts *counts = (struct cot_msg_work_counts *)(void *)bytes;
	struct cot_msg_work_hello m = hello("0");
	struct tenant *t;
	struct conn *c;
	int fd, other;

	(void)state;
	*counts = (struct cot_msg_work_counts){.n_rewritten = 1,
					       .n_refused = 2,
					       .n_launched_workers = 3,
					       .n_launched_plain = 4,
					       .n_reasons = 2};
	memcpy(counts->reasons, reasons, sizeof(reasons));
	c = join(&fd, &m);
	(void)join(&other, &m);
	t = c->tenant;
	t->had_groups = true; /* so that it stays */
	assert_null(c->counts);
	say(fd, bytes, COT_MSG_WORK_COUNTS, sizeof(bytes));
	serve(1);
	assert_non_null(c->counts);
	assert_int_equal(c->counts->n_reasons, 2);
	assert_string_equal(c->counts->reasons[1].name, "second");
	assert_int_equal(c->counts->reasons[1].n_kernels, 6);
	/* The next one replaces it. */
	counts->n_rewritten = 10;
	say(fd, bytes, COT_MSG_WORK_COUNTS, sizeof(bytes));
	serve(1);
	assert_int_equal(c->counts->n_rewritten, 10);
	assert_int_equal(t->n_rewritten, 0);
	leave(fd);
	assert_int_equal(t->n_conns, 1);
	assert_int_equal(t->n_rewritten, 10);
	assert_int_equal(t->n_not_rewritten, 2);
	assert_int_equal(t->n_launched_workers, 3);
	assert_int_equal(t->n_launched_plain, 4);
	say(other, bytes, COT_MSG_WORK_COUNTS, sizeof(bytes));
	serve(1);
	leave(other);
	assert_int_equal(t->n_rewritten, 20);
	assert_int_equal(t->n_not_rewritten, 4);
	assert_int_equal(t->n_launched_workers, 6);
	assert_int_equal(t->n_launched_plain, 8);
	assert_int_equal(t->n_conns, 0);
	/* One that has said nothing adds nothing; one that is not expected back ends. */
	(void)join(&fd, &m);
	t->had_groups = false;
	leave(fd);
	assert_int_equal(t->id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_THE_DOOR(test_hello),       AT_THE_DOOR(test_gpus),
		AT_THE_DOOR(test_programs),    AT_THE_DOOR(test_later),
		AT_THE_DOOR(test_methods),     AT_THE_DOOR(test_rules),
		AT_THE_DOOR(test_predictions), AT_THE_DOOR(test_evictions),
		AT_THE_DOOR(test_not_taken),   AT_THE_DOOR(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
