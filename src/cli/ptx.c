/*
 * cotenant ptx: reads kernels as PTX, rewrites them by passes, and writes them.
 */
#include "cli/ptx.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/outfile.h"
#include "cli/commands.h"
#include "cli/common.h"

#define MAX_PASSES  8u
#define MAX_KERNELS 1024u
#define MAX_FILES   64u
#define READ_STEP   (1u << 20)

struct arguments {
	const char *files[MAX_FILES], *output;
	unsigned n_files;
	const char *file; /* for messages: the file, or "the joined module" */
	enum cot_pass passes[MAX_PASSES];
	unsigned n_passes;
	const char *kernels[MAX_KERNELS];
	unsigned n_kernels;
	const char *json;
	bool list;
};

enum { KEY_PASS = 256, KEY_KERNEL, KEY_LIST, KEY_JSON };

static const struct argp_option options[] = {
	{"pass", KEY_PASS, "PASS[,PASS...]", 0,
	 "Apply these passes, one after the other: workers, retreat, slice, fuse, count, record, batch",
	 0},
	{"kernel", KEY_KERNEL, "NAME", 0,
	 "Rewrite this kernel only; may be given several times, and at least twice for fuse", 0},
	{"output", 'o', "FILE", 0, "Write the module there; - is standard output", 0},
	{"list", KEY_LIST, NULL, 0, "Show the kernels, and which passes can rewrite them", 0},
	{"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "Write the list, or what became of each kernel, as JSON: to FILE or to standard output",
	 0},
	{0},
};

/* ---- arguments ---- */

/* Whether the module goes there. */
static bool is_output(const struct arguments *a, const char *path)
{
	return cot_cli_same_file(a->output ? a->output : "-", path);
}

static void add_passes(struct arguments *a, const char *list, struct argp_state *state)
{
	const char *end;

	for (;; list = end + 1) {
		end = list + strcspn(list, ",");
		if (a->n_passes == MAX_PASSES)
			argp_error(state, "too many passes; %u are the most", MAX_PASSES);
		if (cot_pass_find(list, (size_t)(end - list), &a->passes[a->n_passes]))
			argp_error(state,
				   "unknown pass '%.*s'; expected workers, retreat, slice, fuse, "
				   "count, record or batch",
				   (int)(end - list), list);
		if (a->passes[a->n_passes] == COT_PASS_FUSE && a->n_passes)
			argp_error(state, "fuse must be the first pass");
		a->n_passes++;
		if (!*end)
			return;
	}
}

static void check(const struct arguments *a, struct argp_state *state)
{
	unsigned i, n_streams = 0;

	if (!a->n_files)
		argp_error(state, "no PTX file given");
	for (i = 0; i < a->n_files; i++)
		n_streams += !strcmp(a->files[i], "-");
	if (n_streams > 1)
		argp_error(state, "standard input can be read once only");
	if (a->list && (a->n_passes || a->output || a->n_kernels))
		argp_error(state, "--list takes no other option but --json");
	if (a->n_kernels && !a->n_passes)
		argp_error(state, "--kernel needs --pass");
	if (a->json && !a->list && (!a->n_passes || is_output(a, a->json)))
		argp_error(state, "--json needs --list, or --pass and --output to another file");
	if (a->n_passes && a->passes[0] == COT_PASS_FUSE && a->n_kernels < 2)
		argp_error(state, "fuse needs --kernel at least twice");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_PASS:
		add_passes(a, arg, state);
		return 0;
	case KEY_KERNEL:
		if (a->n_kernels == MAX_KERNELS)
			argp_error(state, "too many kernels; %u are the most", MAX_KERNELS);
		a->kernels[a->n_kernels++] = arg;
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case KEY_LIST:
		a->list = true;
		return 0;
	case KEY_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case ARGP_KEY_ARG:
		if (a->n_files == MAX_FILES)
			argp_error(state, "too many files; %u are the most", MAX_FILES);
		a->files[a->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- reading ---- */

static int grow(char **text, size_t *cap, const char *name, struct cot_error *err)
{
	char *more;

	if (*cap > COT_PTX_SOURCE_MAX)
		return cot_error_set(err, -E2BIG, "%s: larger than %u bytes", name,
				     COT_PTX_SOURCE_MAX);
	more = realloc(*text, *cap + READ_STEP);
	if (!more)
		return cot_error_set(err, -ENOMEM, "out of memory");
	*text = more;
	*cap += READ_STEP;
	return 0;
}

static int read_stream(FILE *in, const char *name, char **ret_text, size_t *ret_size,
		       struct cot_error *err)
{
	char *text = NULL;
	size_t cap = 0, size = 0, n;
	int rc;

	do {
		rc = size == cap ? grow(&text, &cap, name, err) : 0;
		n = rc ? 0 : fread(text + size, 1, cap - size, in);
		size += n;
	} while (n);
	if (!rc && ferror(in))
		rc = cot_error_set(err, -EIO, "cannot read %s: %s", name, strerror(errno));
	if (rc) {
		free(text);
		return rc;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
}

static int read_module(const char *path, struct cot_ptx_module **ret_module, struct cot_error *err)
{
	bool standard = !strcmp(path, "-");
	const char *name = standard ? "standard input" : path;
	FILE *in = standard ? stdin : fopen(path, "rb");
	char *text = NULL;
	size_t size = 0;
	int rc;

	if (!in)
		return cot_error_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	rc = read_stream(in, name, &text, &size, err);
	if (!standard)
		(void)fclose(in);
	if (rc)
		return rc;
	if (size >= 4 && !memcmp(text, "\177ELF", 4))
		rc = cot_error_set(err, -EINVAL,
				   "%s: a program, not PTX; cotenant inspect shows its kernels",
				   name);
	else
		rc = cot_ptx_parse(text, size, name, ret_module, err);
	free(text);
	if (rc)
		return rc;
	rc = cot_ptx_verify(*ret_module, err);
	if (rc)
		cot_ptx_destroy(*ret_module);
	return rc;
}

/* ---- joining ---- */

static void tell_renamed(void *arg, const char *old, const char *renamed)
{
	cot_cli_complain("%s: '%s' is called '%s' in the joined module", (const char *)arg, old,
			 renamed);
}

/* The module so far and one more file; both are one then. */
static int join_file(struct cot_ptx_module **module, const char *path, struct cot_error *err)
{
	struct cot_ptx_module *more, *joined;
	int rc = read_module(path, &more, err);

	if (rc)
		return rc;
	rc = cot_ptx_join(*module, more, tell_renamed, (void *)(uintptr_t)path, &joined, err);
	cot_ptx_destroy(more);
	if (rc) {
		struct cot_error why = *err;

		return cot_error_set(err, rc, "cannot join %s: %s", path, why.text);
	}
	cot_ptx_destroy(*module);
	*module = joined;
	return 0;
}

static int read_all(struct arguments *a, struct cot_ptx_module **ret_module, struct cot_error *err)
{
	struct cot_ptx_module *module;
	unsigned i;
	int rc = read_module(a->files[0], &module, err);

	if (rc)
		return rc;
	for (i = 1; i < a->n_files && !rc; i++)
		rc = join_file(&module, a->files[i], err);
	if (rc) {
		cot_ptx_destroy(module);
		return rc;
	}
	a->file = a->n_files > 1 ? "the joined module" : a->files[0];
	*ret_module = module;
	return 0;
}

/* ---- rewriting ---- */

struct job {
	const struct arguments *a;
	struct cot_ptx_module *module;
	struct cot_ptx_func *kernels[MAX_KERNELS];
	struct cot_cli_ptx_result results[MAX_KERNELS];
	char *fused; /* "A+B" for fuse */
	unsigned n_kernels, n_results, n_made;
};

static bool wanted(const struct arguments *a, const char *name)
{
	unsigned i;

	for (i = 0; i < a->n_kernels; i++)
		if (!strcmp(a->kernels[i], name))
			return true;
	return !a->n_kernels;
}

static int find_kernels(struct job *job, struct cot_error *err)
{
	const struct arguments *a = job->a;
	const struct cot_ptx_item *item;
	struct cot_ptx_func *func;
	unsigned i;

	for (i = 0; i < a->n_kernels; i++) {
		func = cot_ptx_find_func(job->module, a->kernels[i]);
		if (!func || !func->entry)
			return cot_error_set(
				err, -EINVAL,
				"%s: there is no kernel '%s'; --list shows the kernels", a->file,
				a->kernels[i]);
		if (a->passes[0] == COT_PASS_FUSE)
			job->kernels[job->n_kernels++] = func;
	}
	if (a->passes[0] == COT_PASS_FUSE)
		return 0;
	for (item = job->module->first; item; item = item->next) {
		if (!cot_cli_ptx_is_kernel(item) || !wanted(a, item->func->name))
			continue;
		if (job->n_kernels == MAX_KERNELS)
			return cot_error_set(err, -E2BIG,
					     "%s: more than %u kernels; name some "
					     "with --kernel",
					     a->file, MAX_KERNELS);
		job->kernels[job->n_kernels++] = item->func;
	}
	return 0;
}

static void drop(struct cot_ptx_func *func)
{
	cot_ptx_remove_item(func->module, cot_ptx_item_of_func(func));
}

/* The passes from `first` on, each on the outcome of the one before; only the last outcome stays.
 */
static int apply_passes(const struct job *job, unsigned first, struct cot_ptx_func *func,
			bool made_here, struct cot_ptx_func **ret_func, struct cot_refusal *refusal,
			struct cot_error *err)
{
	struct cot_ptx_func *next;
	unsigned i;
	int rc = 0;

	for (i = first; i < job->a->n_passes && !rc; i++) {
		rc = cot_pass_apply(job->a->passes[i], func, &next, refusal, err);
		if (made_here)
			drop(func);
		if (!rc)
			func = next;
		made_here = true;
	}
	if (!rc)
		*ret_func = func;
	return rc;
}

/* A refusal is an outcome, told and kept; 0 then. */
static int note(struct job *job, int rc, const char *kernel, const struct cot_ptx_func *made,
		const struct cot_refusal *refusal)
{
	struct cot_cli_ptx_result *r = &job->results[job->n_results];

	if (rc && rc != -ENOTSUP)
		return rc;
	job->n_results++;
	*r = (struct cot_cli_ptx_result){.kernel = kernel, .refusal = *refusal};
	if (rc) {
		cot_cli_complain("%s: %s", job->a->file, refusal->text);
	} else {
		r->made = made->name;
		job->n_made++;
	}
	return 0;
}

static int name_fused(struct job *job, struct cot_error *err)
{
	size_t size = 0;
	FILE *out = open_memstream(&job->fused, &size);
	unsigned i;

	for (i = 0; out && i < job->n_kernels; i++)
		(void)fprintf(out, "%s%s", i ? "+" : "", job->kernels[i]->name);
	if (!out || fclose(out))
		return cot_error_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* The first two, then that with the third, and so on; only the last outcome stays. */
static int fuse_all(const struct job *job, struct cot_ptx_func **ret_func,
		    struct cot_refusal *refusal, struct cot_error *err)
{
	struct cot_ptx_func *made = job->kernels[0], *next;
	unsigned i;
	int rc = 0;

	for (i = 1; i < job->n_kernels && !rc; i++) {
		rc = cot_pass_fuse(made, job->kernels[i], &next, refusal, err);
		if (i > 1)
			drop(made);
		if (!rc)
			made = next;
	}
	if (!rc)
		*ret_func = made;
	return rc;
}

static int rewrite_fused(struct job *job, struct cot_error *err)
{
	struct cot_refusal refusal = {0};
	struct cot_ptx_func *made = NULL;
	int rc = name_fused(job, err);

	if (!rc)
		rc = fuse_all(job, &made, &refusal, err);
	if (!rc)
		rc = apply_passes(job, 1, made, true, &made, &refusal, err);
	return note(job, rc, job->fused, made, &refusal);
}

static int rewrite(struct job *job, struct cot_error *err)
{
	struct cot_refusal refusal;
	struct cot_ptx_func *made;
	unsigned i;
	int rc = 0;

	if (job->a->passes[0] == COT_PASS_FUSE)
		return rewrite_fused(job, err);
	for (i = 0; i < job->n_kernels && !rc; i++) {
		made = NULL;
		refusal = (struct cot_refusal){0};
		rc = apply_passes(job, 0, job->kernels[i], false, &made, &refusal, err);
		rc = note(job, rc, job->kernels[i]->name, made, &refusal);
	}
	return rc;
}

static int cannot_write(const char *path, struct cot_error *err)
{
	int code = errno;

	return cot_error_set(err, -code, "cannot write %s: %s",
			     strcmp(path, "-") ? path : "to standard output", strerror(code));
}

static int write_module(const struct job *job, struct cot_error *err)
{
	const char *path = job->a->output ? job->a->output : "-";
	struct cot_outfile *out = NULL;
	char *text;
	size_t size;
	int rc = cot_ptx_print(job->module, &text, &size);

	if (rc)
		return cot_error_set(err, rc, "out of memory");
	rc = cot_outfile_open(path, &out, err);
	if (!rc) {
		if (fwrite(text, 1, size, cot_outfile_stream(out)) < size)
			rc = cannot_write(path, err);
		else
			rc = cot_outfile_commit(out, err);
	}
	cot_outfile_destroy(out);
	free(text);
	return rc;
}

/* ---- the command ---- */

/* The user's mistake is what was read; what comes after is not. */
static int complain(int rc, const struct cot_error *err, bool reading)
{
	cot_cli_complain("%s", err->text);
	return reading && rc != -ENOMEM ? COT_EXIT_USAGE : COT_EXIT_FAILURE;
}

static int run(struct job *job)
{
	struct cot_error err;
	int rc = 0;

	if (job->a->list) {
		rc = cot_cli_ptx_list(job->module, job->a->json, &err);
	} else {
		if (job->a->n_passes && find_kernels(job, &err))
			return complain(-EINVAL, &err, true);
		if (job->a->n_passes)
			rc = rewrite(job, &err);
		if (!rc)
			rc = write_module(job, &err);
		if (!rc && job->a->json)
			rc = cot_cli_ptx_write_results(job->results, job->n_results, job->a->json,
						       &err);
	}
	if (!rc)
		rc = cot_cli_flush(&err);
	if (rc)
		return complain(rc, &err, false);
	/* Refused kernels are no failure, unless they were asked for by name or there is no other.
	 */
	if (job->n_made < job->n_results && (job->a->n_kernels || !job->n_made))
		return COT_EXIT_FAILURE;
	return COT_EXIT_OK;
}

int cot_cmd_ptx(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE...",
		.doc = "Reads kernels in PTX (- is standard input), rewrites them and writes the "
		       "module. Several files become one module: names that two of them have are "
		       "made different. The module has the rewritten kernels beside the original ones. "
		       "Without --pass, checks the module and writes it.",
		.children = cot_cli_argp_children,
	};
	struct arguments *args = calloc(1, sizeof(*args));
	struct job *job = calloc(1, sizeof(*job));
	struct cot_error err;
	int rc;

	if (!args || !job) {
		cot_cli_complain("out of memory");
		rc = COT_EXIT_FAILURE;
	} else if (cot_cli_parse(&argp, argc, argv, 0, args)) {
		rc = COT_EXIT_FAILURE;
	} else {
		job->a = args;
		rc = read_all(args, &job->module, &err);
		rc = rc ? complain(rc, &err, true) : run(job);
		cot_ptx_destroy(job->module);
		free(job->fused);
	}
	free(job);
	free(args);
	return rc;
}
