#include "support/sim_build.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "test.h"

#define MAX_INSTANTS 1000000u
#define FOR_EVER_US  1e9

void build_init(struct sim_build *b, const char *scheduler, uint32_t n_sms)
{
	memset(b, 0, sizeof(*b));
	b->sc.gpu = (struct cot_gpu){
		.name = "round",
		.n_sms = n_sms,
		.clock_mhz = 1000,
		.dram_bytes_per_s = 1000000000ull * n_sms,
		.regs_per_sm = 65536,
		.n_shmem_configs = 1,
		.shmem_config_bytes = {49152},
		.blocks_per_sm = 16,
		.threads_per_sm = 2048,
		.pcie_bytes_per_s = 4096000000ull,
		.pcie_latency_ps = COT_PS_PER_US,
	};
	(void)snprintf(b->sc.scheduler, sizeof(b->sc.scheduler), "%s", scheduler);
	b->sc.preempt = COT_PREEMPT_SWITCH;
	b->sc.transfers = COT_TRANSFERS_FCFS;
	b->sc.seed = 1;
	b->sc.quantum_ps = cot_ps_from_us(10);
	b->sc.stop_ps = cot_ps_from_us(1000);
}

struct cot_app *build_app(struct sim_build *b, const char *name)
{
	uint32_t i = b->sc.n_apps++;
	struct cot_app *app = &b->sc.apps[i];

	(void)snprintf(app->name, sizeof(app->name), "%s", name);
	app->context = i;
	app->tokens = COT_TOKENS_EQUAL;
	app->program.steps = b->steps[i];
	app->program.kernels = b->kernels[i];
	return app;
}

static struct cot_step *add_step(struct sim_build *b, enum cot_step_kind kind)
{
	uint32_t i = b->sc.n_apps - 1;
	struct cot_program *p = &b->sc.apps[i].program;
	struct cot_step *s = &b->steps[i][p->n_steps++];

	assert_true(p->n_steps <= BUILD_MAX_STEPS);
	s->kind = kind;
	return s;
}

void build_cpu(struct sim_build *b, double us)
{
	add_step(b, COT_STEP_CPU)->cpu_ps = cot_ps_from_us(us);
}

void build_h2d(struct sim_build *b, uint64_t bytes)
{
	add_step(b, COT_STEP_H2D)->bytes = bytes;
}

void build_d2h(struct sim_build *b, uint64_t bytes)
{
	add_step(b, COT_STEP_D2H)->bytes = bytes;
}

void build_sync(struct sim_build *b)
{
	(void)add_step(b, COT_STEP_SYNC);
}

struct cot_step *build_kernel(struct sim_build *b, uint32_t n_blocks, double block_us,
			      uint32_t blocks_per_sm, uint32_t block_kb)
{
	struct cot_step *s = add_step(b, COT_STEP_KERNEL);
	uint32_t i = b->sc.n_apps - 1;
	struct cot_program *p = &b->sc.apps[i].program;
	struct cot_kernel *k = &b->kernels[i][p->n_kernels];

	s->kernel = p->n_kernels++;
	s->launches = 1;
	assert_true(p->n_kernels <= BUILD_MAX_KERNELS);
	(void)snprintf(k->name, sizeof(k->name), "k%u", s->kernel);
	k->n_blocks = n_blocks;
	k->blocks_per_sm = blocks_per_sm;
	k->block_ps = cot_ps_from_us(block_us);
	k->regs_per_block = block_kb * 250;
	k->ctx_bytes_per_block = block_kb * 1000;
	return s;
}

struct cot_app *build_one(struct sim_build *b, const char *name, double start_us, uint32_t n_blocks,
			  double block_us, uint32_t blocks_per_sm, uint32_t block_kb)
{
	struct cot_app *app = build_app(b, name);

	app->start_ps = cot_ps_from_us(start_us);
	(void)build_kernel(b, n_blocks, block_us, blocks_per_sm, block_kb);
	build_cpu(b, FOR_EVER_US);
	return app;
}

void build_stop_at(struct sim_build *b, double us)
{
	b->sc.stop_runs = 0;
	b->sc.stop_ps = cot_ps_from_us(us);
}

void build_stop_runs(struct sim_build *b, uint32_t runs)
{
	b->sc.stop_runs = runs;
	b->sc.stop_ps = 0;
}

/* ---- the record ---- */

static void append(struct play_track *t, const char *fmt, ...) COT_PRINTF(2, 3);

static void append(struct play_track *t, const char *fmt, ...)
{
	va_list ap;

	if (t->n)
		t->n += (size_t)snprintf(t->text + t->n, sizeof(t->text) - t->n, ", ");
	va_start(ap, fmt);
	t->n += (size_t)vsnprintf(t->text + t->n, sizeof(t->text) - t->n, fmt, ap);
	va_end(ap);
	assert_true(t->n < sizeof(t->text));
}

/* Drops what was said about the same moment before. */
static void at(struct play_track *t, uint64_t t_ps)
{
	if (t->n && t->last_ps == t_ps) {
		t->n = t->last;
		t->text[t->n] = '\0';
	}
	t->last = t->n;
	t->last_ps = t_ps;
}

static void sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
		       uint32_t app, const char *kernel)
{
	static const char *const words[] = {"idle", "run", "save", "drain", "restore"};
	struct play *p = arg;

	(void)kernel;
	if (sm >= PLAY_SMS)
		return;
	at(&p->sm[sm], t_ps);
	if (app == COT_NO_APP)
		append(&p->sm[sm], "%.10g idle", cot_us_from_ps(t_ps));
	else
		append(&p->sm[sm], "%.10g %s %s", cot_us_from_ps(t_ps), p->sc->apps[app].name,
		       words[activity]);
}

static void app_changed(void *arg, uint64_t t_ps, uint32_t app, enum cot_app_activity activity)
{
	static const char *const words[] = {"cpu", "h2d", "d2h", "wait"};
	struct play *p = arg;

	if (app >= PLAY_APPS)
		return;
	at(&p->app[app], t_ps);
	append(&p->app[app], "%.10g %s", cot_us_from_ps(t_ps), words[activity]);
}

static void note(struct play *p, struct play_track *t, uint64_t begin_ps, uint64_t end_ps,
		 uint32_t app)
{
	if (t->n < PLAY_TEXT / 2)
		append(t, "%s %.10g-%.10g", p->sc->apps[app].name, cot_us_from_ps(begin_ps),
		       cot_us_from_ps(end_ps));
}

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	struct play *p = arg;

	(void)kernel;
	note(p, &p->kernels, begin_ps, end_ps, app);
}

static void run_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app, uint64_t run)
{
	struct play *p = arg;

	(void)run;
	note(p, &p->runs, begin_ps, end_ps, app);
}

static const struct cot_sim_observer recorder = {
	.sm_changed = sm_changed,
	.app_changed = app_changed,
	.kernel_done = kernel_done,
	.run_done = run_done,
};

void play(struct play *p, const struct sim_build *b)
{
	struct cot_error err = {{0}};

	memset(p, 0, sizeof(*p));
	p->sc = &b->sc;
	if (cot_sim_create(&b->sc, NULL, &recorder, p, &p->sim, &err))
		fail_msg("%s", err.text);
	p->status = cot_sim_run(p->sim, MAX_INSTANTS);
	cot_sim_result(p->sim, &p->result);
	assert_int_equal(p->status, COT_SIM_DONE);
	assert_int_equal(p->result.refused, 0);
}

void play_end(struct play *p)
{
	cot_sim_destroy(p->sim);
	p->sim = NULL;
}

void play_same_result(const struct cot_sim_result *a, const struct cot_sim_result *b)
{
	uint32_t i;

	assert_int_equal(a->end_ps, b->end_ps);
	assert_int_equal(a->block_completions, b->block_completions);
	assert_int_equal(a->preemptions, b->preemptions);
	assert_int_equal(a->saved_bytes, b->saved_bytes);
	assert_int_equal(a->restored_bytes, b->restored_bytes);
	assert_true(a->latency_p50_ps == b->latency_p50_ps);
	assert_true(a->latency_p99_ps == b->latency_p99_ps);
	assert_int_equal(a->latency_max_ps, b->latency_max_ps);
	assert_int_equal(a->refused, b->refused);
	assert_int_equal(a->n_apps, b->n_apps);
	for (i = 0; i < a->n_apps; i++) {
		assert_int_equal(a->apps[i].runs, b->apps[i].runs);
		assert_int_equal(a->apps[i].turnaround_sum_ps, b->apps[i].turnaround_sum_ps);
	}
}

void play_expect_kernels(const struct sim_build *b, const char *kernels)
{
	struct play p;

	play(&p, b);
	assert_string_equal(p.kernels.text, kernels);
	play_end(&p);
}

const struct hw_kernel *play_kernel_of(struct cot_sim *sim, uint32_t app)
{
	struct hw *hw = cot_sim_hw(sim);
	const struct hw_kernel *k;

	hw_for_each_active (k, hw)
		if (k->app == app)
			return k;
	return NULL;
}
