#include "trace/scenario_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/words.h"
#include "text/nearest.h"
#include "text/text.h"
#include "trace/gpu.h"
#include "trace/kernel_work.h"
#include "trace/policy_name.h"
#include "trace/program.h"
#include "trace/scenario_fields.h"
#include "trace/scenario_inside.h"
#include "trace/trace_inside.h"

#define DEFAULT_SCHEDULER "fcfs"
#define DEFAULT_POLICY	  "slo" /* where an app has a target */
#define DEFAULT_RUNS	  3
#define KIB		  1024u
/* Mean of a curve: no request is waited for for ever. */
#define CURVE_MEAN_MIN 0.01

/* What cot_scenario_destroy() gets is the first member of the first. */
struct owner {
	struct cot_scenario_file file;
	struct cot_program_store programs[COT_MAX_APPS];
};

struct reader {
	const char *name;
	const struct cot_yaml *doc;
	const struct cot_scenario_options *opt;
	struct owner *owner;
	struct cot_scenario *sc; /* the owner's */
	struct cot_error *err;
};

static uint32_t get(const struct reader *r, uint32_t map, const char *key)
{
	return cot_yaml_get(r->doc, map, key);
}

/* ---- the GPU ---- */

static int fill_shmem(struct reader *r, uint32_t list)
{
	struct cot_gpu *gpu = &r->sc->gpu;
	const uint32_t *bytes = gpu->shmem_config_bytes;
	uint32_t i, node = cot_yaml_first(r->doc, list);

	if (list == COT_YAML_NONE)
		return 0;
	gpu->n_shmem_configs = cot_yaml_count(r->doc, list);
	for (i = 1; i < gpu->n_shmem_configs; i++) {
		node = cot_yaml_next(r->doc, node);
		if (bytes[i] <= bytes[i - 1])
			return cot_yaml_fail(
				r->doc, node, r->err,
				"shmem_configs_kb has %u after %u; expected sizes that grow",
				bytes[i] / KIB, bytes[i - 1] / KIB);
	}
	return 0;
}

/* A preset, which the rest of the file fills over. */
static int take_preset(struct reader *r)
{
	const char *name = cot_yaml_text(r->doc, get(r, get(r, COT_YAML_ROOT, "gpu"), "preset"));
	const struct cot_gpu *preset = cot_gpu_find(name ? name : COT_GPU_DEFAULT);
	char list[128] = "", quote[COT_QUOTE_MAX];
	unsigned i;

	if (preset) {
		r->sc->gpu = *preset;
		return 0;
	}
	for (i = 0; i < cot_n_gpu_presets; i++)
		cot_text_add_word(list, sizeof(list), cot_gpu_presets[i].name);
	return cot_yaml_fail_key(r->doc, get(r, COT_YAML_ROOT, "gpu"), "preset", r->err,
				 "unknown GPU '%s'; expected one of %s, or a map of its fields",
				 cot_text_quote(name, quote), list);
}

static int read_gpu(struct reader *r)
{
	uint32_t map = get(r, COT_YAML_ROOT, "gpu");
	bool named = get(r, map, "preset") != COT_YAML_NONE;

	if (cot_yaml_count(r->doc, map) > named)
		(void)snprintf(r->sc->gpu.name, sizeof(r->sc->gpu.name), "custom");
	return fill_shmem(r, get(r, map, "shmem_configs_kb"));
}

/* ---- the head ---- */

/* Any name will do when there is no list. */
static bool is_among(const char *const *names, unsigned n_names, const char *name)
{
	unsigned i;

	for (i = 0; i < n_names; i++)
		if (!strcmp(names[i], name))
			return true;
	return !names;
}

static bool known_scheduler(const struct cot_scenario_options *opt, const char *name)
{
	return is_among(opt->schedulers, opt->n_schedulers, name);
}

static void list_names(const char *const *names, unsigned n_names, char *buf, size_t size)
{
	unsigned i;

	buf[0] = '\0';
	for (i = 0; i < n_names; i++)
		cot_text_add_word(buf, size, names[i]);
}

static bool is_target(const struct reader *r, uint32_t app)
{
	enum cot_target_kind kind;

	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE; kind++)
		if (get(r, app, cot_target_words[kind]) != COT_YAML_NONE)
			return true;
	return false;
}

/* Whether an app says what it wants: only policies see to that. */
static bool has_target(const struct reader *r)
{
	uint32_t app = cot_yaml_first(r->doc, get(r, COT_YAML_ROOT, "apps"));

	while (app != COT_YAML_NONE && !is_target(r, app))
		app = cot_yaml_next(r->doc, app);
	return app != COT_YAML_NONE;
}

static int read_scheduler(struct reader *r)
{
	bool given = r->sc->scheduler[0] != '\0';
	const char *otherwise = has_target(r) ? "timeslice" : DEFAULT_SCHEDULER;
	const char *name = given ? r->sc->scheduler : otherwise;
	char list[256], quote[COT_QUOTE_MAX], hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = name};
	unsigned i;

	list_names(r->opt->schedulers, r->opt->n_schedulers, list, sizeof(list));
	for (i = 0; i < r->opt->n_schedulers; i++)
		cot_nearest_try(&near, r->opt->schedulers[i]);
	if (given && !known_scheduler(r->opt, name))
		return cot_yaml_fail_key(r->doc, COT_YAML_ROOT, "scheduler", r->err,
					 "unknown scheduler '%s'%s; expected one of %s",
					 cot_text_quote(name, quote), cot_nearest_hint(&near, hint),
					 list);
	if (r->opt->scheduler)
		name = r->opt->scheduler;
	if (!known_scheduler(r->opt, name) || strlen(name) >= COT_NAME_MAX)
		return cot_error_set(r->err, -EINVAL, "unknown scheduler '%s'; expected one of %s",
				     cot_text_quote(name, quote), list);
	memmove(r->sc->scheduler, name, strlen(name) + 1);
	return 0;
}

/* What the file says is a mistake of the file even where the command line says something else. A
 * policy works on contexts, which only time slicing has. */
static int read_policy(struct reader *r)
{
	const struct cot_scenario_options *opt = r->opt;
	char written[COT_NAME_MAX];
	struct cot_error inner;

	/* With another scheduler the target itself is a mistake. */
	if (!r->sc->policy[0] && !opt->policy && has_target(r) &&
	    !strcmp(r->sc->scheduler, "timeslice"))
		(void)snprintf(r->sc->policy, sizeof(r->sc->policy), "%s", DEFAULT_POLICY);
	(void)snprintf(written, sizeof(written), "%s", r->sc->policy);
	if (*written &&
	    cot_policy_name_read(written, opt->policies, opt->n_policies, r->sc, &inner))
		return cot_yaml_fail_key(r->doc, COT_YAML_ROOT, "policy", r->err, "%s", inner.text);
	if (opt->policy &&
	    cot_policy_name_read(opt->policy, opt->policies, opt->n_policies, r->sc, r->err))
		return -EINVAL;
	if (!r->sc->policy[0] || !strcmp(r->sc->scheduler, "timeslice"))
		return 0;
	if (opt->policy)
		return cot_error_set(r->err, -EINVAL,
				     "%s: a policy needs the scheduler timeslice, not '%s'",
				     r->name, r->sc->scheduler);
	return cot_yaml_fail_key(r->doc, COT_YAML_ROOT, "policy", r->err,
				 "a policy needs the scheduler timeslice, not '%s'",
				 r->sc->scheduler);
}

static int read_preempt(struct reader *r)
{
	const char *word = r->opt->preempt;
	char quote[COT_QUOTE_MAX];

	if (!word)
		return 0;
	if (strcmp(word, "switch") != 0 && strcmp(word, "drain") != 0)
		return cot_error_set(r->err, -EINVAL,
				     "unknown way to preempt '%s'; expected one of switch, drain",
				     cot_text_quote(word, quote));
	r->sc->preempt = *word == 's' ? COT_PREEMPT_SWITCH : COT_PREEMPT_DRAIN;
	return 0;
}

static int read_stop(struct reader *r)
{
	uint32_t stop = get(r, COT_YAML_ROOT, "stop");

	if (stop == COT_YAML_NONE)
		r->sc->stop_runs = DEFAULT_RUNS;
	else if (!cot_yaml_count(r->doc, stop))
		return cot_yaml_fail(r->doc, stop, r->err,
				     "stop is an empty map; expected runs, at_us or both");
	return 0;
}

/* JSON's integers end there. */
static int read_seed(struct reader *r)
{
	if (r->sc->seed > INT64_MAX)
		return cot_yaml_fail_key(r->doc, COT_YAML_ROOT, "seed", r->err,
					 "seed is '%" PRIu64
					 "'; expected a whole number from 0 to %" PRId64,
					 r->sc->seed, INT64_MAX);
	if (r->opt->seed)
		r->sc->seed = *r->opt->seed;
	return 0;
}

static int read_head(struct reader *r)
{
	int rc = read_gpu(r);

	rc = rc ? rc : read_scheduler(r);
	rc = rc ? rc : read_policy(r);
	rc = rc ? rc : read_preempt(r);
	rc = rc ? rc : read_stop(r);
	return rc ? rc : read_seed(r);
}

/* ---- programs ---- */

static int fail_fit(const struct cot_yaml *doc, uint32_t node, const struct cot_gpu *gpu,
		    const struct cot_kernel *k, uint32_t threads, struct cot_error *err)
{
	return cot_yaml_fail(
		doc, node, err,
		"a block needs %u registers, %u bytes of shared memory and %u threads; "
		"expected at most %u, %u and %u, which is what an SM has",
		k->regs_per_block, k->shmem_per_block, threads, gpu->regs_per_sm,
		gpu->shmem_config_bytes[gpu->n_shmem_configs - 1], gpu->threads_per_sm);
}

/* How many blocks an SM holds: what the file says, or what fits. */
static int resolve_occupancy(const struct cot_program_source *src, uint32_t node, uint32_t threads,
			     struct cot_kernel *k, struct cot_error *err)
{
	const struct cot_gpu *gpu = src->arg;
	uint32_t fits = cot_gpu_occupancy(gpu, k->regs_per_block, k->shmem_per_block, threads);

	if (!fits)
		return fail_fit(src->doc, node, gpu, k, threads, err);
	if (!k->blocks_per_sm)
		k->blocks_per_sm = fits;
	if (k->blocks_per_sm <= fits)
		return 0;
	return cot_yaml_fail_key(
		src->doc, node, "blocks_per_sm", err,
		"blocks_per_sm is %u; expected at most %u, which is what fits an SM",
		k->blocks_per_sm, fits);
}

static int resolve_kernel(const struct cot_program_source *src,
			  const struct cot_written_kernel *written, uint32_t node,
			  struct cot_kernel *ret_kernel, struct cot_error *err)
{
	const struct cot_gpu *gpu = src->arg;
	struct cot_kernel k = written->kernel;
	bool by_work = cot_program_says_work(src->doc, node);
	bool has_threads = cot_yaml_get(src->doc, node, "threads_per_block") != COT_YAML_NONE;
	uint64_t waves;
	int rc = 0;

	k.work = (struct cot_kernel_work){0};
	if (by_work)
		rc = cot_kernel_work_read(src->doc, written, node, &k.work, err);
	else if (!k.block_ps == !written->kernel_ps)
		rc = cot_yaml_fail(src->doc, node, err,
				   "the kernel has %s block_us %s kernel_us; expected one of them",
				   k.block_ps ? "both" : "neither", k.block_ps ? "and" : "nor");
	if (rc)
		return rc;
	k.ctx_bytes_per_block = 4 * k.regs_per_block + k.shmem_per_block;
	rc = resolve_occupancy(src, node,
			       has_threads ? written->threads_per_block
					   : k.work.warps * COT_WARP_THREADS,
			       &k, err);
	if (rc)
		return rc;
	if (by_work) {
		k.block_ps = cot_gpu_work_ps(gpu, k.work.insts);
	} else if (!k.block_ps) {
		waves = cot_div_up(k.n_blocks, (uint64_t)gpu->n_sms * k.blocks_per_sm);
		k.block_ps = (written->kernel_ps + waves / 2) / waves;
	}
	if (!k.block_ps)
		return cot_yaml_fail(src->doc, node, err,
				     "a block takes less than 0.000001 us; expected at least that");
	*ret_kernel = k;
	return 0;
}

/*
 * A mistake inside a trace file has its place there; everything else about a trace is placed where
 * the scenario names it.
 */
static int read_trace(struct reader *r, uint32_t i, uint32_t node)
{
	const char *name = cot_yaml_text(r->doc, node);
	char quote[COT_QUOTE_MAX];
	struct cot_error inner = {""};
	bool is_file;
	int rc;

	if (!cot_trace_known(name, &is_file))
		return cot_yaml_fail(r->doc, node, r->err,
				     "no trace '%s'; expected " TRACE_EXPECTED,
				     cot_text_quote(name, quote));
	rc = cot_trace_load(name, r->name, r->owner->file.block_time, &r->sc->gpu,
			    &r->owner->programs[i], &inner);
	if (!rc)
		return 0;
	if (rc == -ENOMEM || (rc == -EINVAL && is_file))
		return cot_error_set(r->err, rc, "%s", inner.text);
	return cot_yaml_fail(r->doc, node, r->err, "the trace '%s' cannot be used: %s",
			     cot_text_quote(name, quote), inner.text);
}

static int read_program(struct reader *r, uint32_t i, uint32_t node)
{
	const struct cot_program_source src = {
		.doc = r->doc,
		.fields = cot_program_step_fields,
		.kernel = resolve_kernel,
		.arg = &r->sc->gpu,
	};
	uint32_t program = get(r, node, "program"), trace = get(r, node, "trace");
	bool has_program = program != COT_YAML_NONE;
	int rc;

	if (get(r, node, "knowledge") != COT_YAML_NONE)
		return 0;
	if (has_program == (trace != COT_YAML_NONE))
		return cot_yaml_fail(r->doc, node, r->err,
				     "the app has %s program %s trace; expected one of them",
				     has_program ? "both" : "neither", has_program ? "and" : "nor");
	if (has_program)
		rc = cot_program_build(&src, program, &r->owner->programs[i], r->err);
	else
		rc = read_trace(r, i, trace);
	if (!rc)
		r->sc->apps[i].program = cot_program_store_view(&r->owner->programs[i]);
	return rc;
}

/* ---- apps ---- */

/* The number of a context is that of the first app in it. */
static uint32_t read_context(const struct reader *r, uint32_t i, uint32_t node)
{
	const char *name = cot_yaml_text(r->doc, get(r, node, "context")), *other;
	uint32_t before = cot_yaml_first(r->doc, get(r, COT_YAML_ROOT, "apps")), j;

	for (j = 0; name && j < i; j++, before = cot_yaml_next(r->doc, before)) {
		other = cot_yaml_text(r->doc, get(r, before, "context"));
		if (other && !strcmp(other, name))
			return j;
	}
	return i;
}

static int check_name(const struct reader *r, uint32_t i, uint32_t node)
{
	const char *name = r->sc->apps[i].name;
	uint32_t j;

	for (j = 0; j < i; j++)
		if (!strcmp(r->sc->apps[j].name, name))
			return cot_yaml_fail_key(
				r->doc, node, "name", r->err,
				"two apps are named '%s'; expected a name of its own for "
				"each",
				name);
	return 0;
}

/* A promise is about instructions, so the app must have kernels that count them. */
static int check_qos(struct reader *r, const struct cot_app *app, uint32_t node)
{
	const struct cot_qos *qos = &app->qos;
	char quote[COT_QUOTE_MAX];
	bool counted = false;
	uint32_t k;

	if (node == COT_YAML_NONE)
		return 0;
	if ((qos->ipc > 0) == (qos->percent > 0))
		return cot_yaml_fail(
			r->doc, node, r->err, "qos has %s ipc %s percent; expected one of them",
			qos->ipc > 0 ? "both" : "neither", qos->ipc > 0 ? "and" : "nor");
	for (k = 0; k < app->program.n_kernels; k++)
		if (!*qos->kernel || !strcmp(qos->kernel, app->program.kernels[k].name))
			counted |= app->program.kernels[k].work.insts > 0;
	if (!counted && *qos->kernel)
		return cot_yaml_fail(r->doc, node, r->err,
				     "the app launches no kernel '%s' with instructions; expected "
				     "the name of one that has insts_per_warp or insts_per_block",
				     cot_text_quote(qos->kernel, quote));
	if (!counted)
		return cot_yaml_fail(r->doc, node, r->err,
				     "no kernel of the app has instructions; expected one with "
				     "insts_per_warp or insts_per_block");
	return 0;
}

static int needs_policy(struct reader *r, uint32_t node, const char *key)
{
	if (r->sc->policy[0])
		return 0;
	return cot_yaml_fail(r->doc, node, r->err,
			     "%s is for a software policy; expected a policy such as smguard", key);
}

static int read_share(struct reader *r, uint32_t app, const char *key, struct cot_share *share)
{
	uint32_t node = get(r, app, key);
	const char *text = cot_yaml_text(r->doc, node);
	char quote[COT_QUOTE_MAX];

	if (!text)
		return 0;
	if (needs_policy(r, node, key))
		return -EINVAL;
	if (!cot_share_read(text, share))
		return cot_yaml_fail(r->doc, node, r->err,
				     "%s is '%s'; expected a part of the GPU such as 50%% or 66sm",
				     key, cot_text_quote(text, quote));
	return 0;
}

static int read_shares(struct reader *r, struct cot_app *app, uint32_t node)
{
	int rc = read_share(r, node, "quota", &app->quota);

	rc = rc ? rc : read_share(r, node, "reserve", &app->reserve);
	rc = rc ? rc : read_share(r, node, "sms", &app->sms);
	if (rc)
		return rc;
	if (get(r, node, "reserve") != COT_YAML_NONE && app->cls != COT_CLASS_LATENCY)
		return cot_yaml_fail_key(
			r->doc, node, "reserve", r->err,
			"a reserve is for apps of class latency; a batch app may have "
			"a quota");
	if (!app->rewrite || r->sc->policy[0])
		return 0;
	return cot_yaml_fail_key(
		r->doc, node, "rewrite", r->err,
		"rewrite is for a software policy; expected a policy such as smguard");
}

/* The keys are called as the kinds. */
static int read_target(struct reader *r, struct cot_app *app, uint32_t app_node)
{
	enum cot_target_kind kind;
	char quote[COT_QUOTE_MAX];

	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE; kind++) {
		const char *key = cot_target_words[kind];
		uint32_t node = get(r, app_node, key);
		const char *text = cot_yaml_text(r->doc, node);

		if (!text)
			continue;
		if (needs_policy(r, node, key))
			return -EINVAL;
		if (app->target.kind)
			return cot_yaml_fail(r->doc, node, r->err,
					     "an app has one target; expected %s or %s, not both",
					     cot_target_words[app->target.kind], key);
		if (!cot_target_suits(kind, app->cls))
			return cot_yaml_fail(r->doc, node, r->err,
					     "%s is for apps of class latency; a batch app may "
					     "have a rate",
					     key);
		if (!cot_target_read(kind, text, &app->target))
			return cot_yaml_fail(r->doc, node, r->err, "%s is '%s'; expected %s", key,
					     cot_text_quote(text, quote), cot_target_example(kind));
	}
	return 0;
}

static int read_curve(struct reader *r, struct cot_arrivals *a, uint32_t node)
{
	uint32_t curve = get(r, node, "curve"), i;
	double sum = 0;

	if ((curve == COT_YAML_NONE) != !a->curve_step_ps)
		return cot_yaml_fail(
			r->doc, node, r->err,
			"arrivals have %s; expected both curve and curve_step_us, or neither",
			a->curve_step_ps ? "curve_step_us" : "a curve");
	if (curve == COT_YAML_NONE)
		return 0;
	a->n_curve = cot_yaml_count(r->doc, curve);
	for (i = 0; i < a->n_curve; i++)
		sum += a->curve[i];
	if (sum >= CURVE_MEAN_MIN * a->n_curve)
		return 0;
	return cot_yaml_fail(r->doc, curve, r->err,
			     "the mean of the curve is %g; expected at least %g", sum / a->n_curve,
			     CURVE_MEAN_MIN);
}

static int read_arrivals(struct reader *r, struct cot_app *app, uint32_t node)
{
	struct cot_arrivals *a = &app->arrivals;

	if (!a->on_ps != !a->off_ps)
		return cot_yaml_fail(r->doc, node, r->err,
				     "arrivals have %s; expected both on_us and off_us, or neither",
				     a->on_ps ? "on_us" : "off_us");
	return read_curve(r, a, node);
}

static void read_sizes(const struct reader *r, struct cot_app *app, uint32_t node)
{
	uint32_t i;

	if (node == COT_YAML_NONE)
		return;
	app->n_sizes = cot_yaml_count(r->doc, node);
	for (i = 0; i < app->n_sizes; i++)
		if (app->sizes[i] > app->full_size)
			app->full_size = app->sizes[i];
}

static int read_app(struct reader *r, uint32_t i, uint32_t node)
{
	struct cot_app *app = &r->sc->apps[i];
	int rc = check_name(r, i, node);

	if (get(r, node, "tokens") == COT_YAML_NONE)
		app->tokens = COT_TOKENS_EQUAL;
	app->context = read_context(r, i, node);
	read_sizes(r, app, get(r, node, "sizes"));
	rc = rc ? rc : read_shares(r, app, node);
	rc = rc ? rc : read_target(r, app, node);
	rc = rc ? rc : read_arrivals(r, app, get(r, node, "arrivals"));
	rc = rc ? rc : read_program(r, i, node);
	return rc ? rc : check_qos(r, app, get(r, node, "qos"));
}

/* ---- all ---- */

/* How long a run waits for its request, in the mean. */
static double wait_us(const struct cot_arrivals *a)
{
	double sum = 0;
	uint32_t i;

	if (!(a->per_s > 0))
		return 0;
	for (i = 0; i < a->n_curve; i++)
		sum += a->curve[i];
	return 1e6 / a->per_s * (a->n_curve ? a->n_curve / sum : 1);
}

static double run_us(const struct cot_scenario *sc, uint32_t i)
{
	return cot_program_solo_us(&sc->apps[i].program, &sc->gpu) + wait_us(&sc->apps[i].arrivals);
}

/* Simulated time is bounded, so that no sum of times leaves 64 bits. */
static int check_length(const struct reader *r, uint32_t apps)
{
	const struct cot_scenario *sc = r->sc;
	double runs = sc->stop_runs ? sc->stop_runs : 1, total_us = 0;
	uint32_t i, node = cot_yaml_first(r->doc, apps);

	for (i = 0; i < sc->n_apps; i++, node = cot_yaml_next(r->doc, node)) {
		total_us += runs * run_us(sc, i);
		if (total_us > COT_TIME_US_MAX)
			return cot_yaml_fail(
				r->doc, node, r->err,
				"the apps' runs take more than %.0f us one after another; "
				"expected less",
				COT_TIME_US_MAX);
	}
	return 0;
}

static int read_all(struct reader *r)
{
	uint32_t apps = get(r, COT_YAML_ROOT, "apps"), node, i = 0;
	int rc = take_preset(r);

	if (rc)
		return rc;
	cot_yaml_fill(r->doc, COT_YAML_ROOT, cot_scenario_fields, &r->owner->file);
	r->sc->n_apps = cot_yaml_count(r->doc, apps);
	rc = read_head(r);
	for (node = cot_yaml_first(r->doc, apps); !rc && node != COT_YAML_NONE;
	     node = cot_yaml_next(r->doc, node))
		rc = read_app(r, i++, node);
	return rc ? rc : check_length(r, apps);
}

int cot_scenario_parse(const char *name, const void *bytes, size_t size,
		       const struct cot_scenario_options *opt, struct cot_scenario **ret,
		       struct cot_error *err)
{
	static const struct cot_scenario_options no_options;
	struct reader r = {.name = name, .opt = opt ? opt : &no_options, .err = err};
	struct cot_yaml *doc;
	int rc;

	rc = cot_yaml_load_with(name, bytes, size, cot_scenario_fields, r.opt->settings,
				r.opt->n_settings, &doc, err);
	if (rc)
		return rc;
	r.doc = doc;
	r.owner = calloc(1, sizeof(*r.owner));
	r.sc = r.owner ? &r.owner->file.sc : NULL;
	rc = r.owner ? read_all(&r) : cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	cot_yaml_destroy(doc);
	if (rc)
		cot_scenario_destroy(r.sc);
	else
		*ret = r.sc;
	return rc;
}

int cot_scenario_read(const char *path, const struct cot_scenario_options *opt,
		      struct cot_scenario **ret, struct cot_error *err)
{
	const char *name = strcmp(path, "-") != 0 ? path : "stdin";
	size_t size;
	char *bytes;
	int rc;

	rc = cot_text_read(path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = cot_scenario_parse(name, bytes, size, opt, ret, err);
	free(bytes);
	return rc;
}

/* ---- for workloads ---- */

int cot_scenario_take_preset(const struct cot_scenario_place *place, struct cot_scenario *sc,
			     struct cot_error *err)
{
	struct reader r = {.name = place->name, .doc = place->doc, .sc = sc, .err = err};

	return take_preset(&r);
}

int cot_scenario_check_head(const struct cot_scenario_place *place, struct cot_scenario *sc,
			    struct cot_error *err)
{
	static const struct cot_scenario_options no_options;
	struct reader r = {
		.name = place->name, .doc = place->doc, .opt = &no_options, .sc = sc, .err = err};
	int rc = read_gpu(&r);

	return rc ? rc : read_seed(&r);
}

static int read_only_app(struct reader *r, uint32_t node)
{
	int rc = read_app(r, 0, node);

	if (rc || run_us(r->sc, 0) <= COT_TIME_US_MAX)
		return rc;
	return cot_yaml_fail(r->doc, node, r->err, "a run takes more than %.0f us; expected less",
			     COT_TIME_US_MAX);
}

int cot_scenario_of_app(const struct cot_scenario_place *place, uint32_t node,
			const struct cot_scenario *base, const struct cot_app *app,
			struct cot_scenario **ret, struct cot_error *err)
{
	struct reader r = {.name = place->name,
			   .doc = place->doc,
			   .owner = calloc(1, sizeof(*r.owner)),
			   .err = err};
	int rc;

	if (!r.owner)
		return cot_error_set(err, -ENOMEM, "%s: out of memory", place->name);
	r.sc = &r.owner->file.sc;
	*r.sc = *base;
	r.sc->n_apps = 1;
	r.sc->apps[0] = *app;
	rc = read_only_app(&r, node);
	if (rc)
		cot_scenario_destroy(r.sc);
	else
		*ret = r.sc;
	return rc;
}

void cot_scenario_destroy(struct cot_scenario *sc)
{
	struct owner *owner = (struct owner *)sc;
	uint32_t i;

	if (!sc)
		return;
	for (i = 0; i < COT_MAX_APPS; i++)
		cot_program_store_finish(&owner->programs[i]);
	free(owner);
}

void cot_scenario_give_program(struct cot_scenario *sc, uint32_t app,
			       struct cot_program_store *store)
{
	struct owner *owner = (struct owner *)sc;

	cot_program_store_finish(&owner->programs[app]);
	owner->programs[app] = *store;
	sc->apps[app].program = cot_program_store_view(store);
}
