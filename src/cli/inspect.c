/*
 * cotenant inspect: which kernels a program has, as what, and what of cotenant would reach them.
 * Runs nothing.
 */
#include "cli/inspect.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/loadable.h"
#include "daemon/paths.h"
#include "text/number.h"

#define MEMORY_MAX   ((size_t)1 << 30)
#define ARCH_H200    90u
#define ARCH_LEAST   30u
#define ARCH_LARGEST 999u

struct arguments {
	const char *program;
	uint32_t arch;
	const char *json;
};

enum { KEY_ARCH = 256, KEY_JSON };

static const struct argp_option options[] = {
	{"arch", KEY_ARCH, "ARCH", 0,
	 "The GPU's compute capability, as in 80 or sm_80 (default: 90, of an H200)", 0},
	COT_CLI_JSON(KEY_JSON, 0),
	{0},
};

/* "90", "9.0", "sm_90" or "compute_90". */
static bool read_arch(const char *text, uint32_t *ret_arch)
{
	uint64_t major, minor = 0;
	char copy[16];
	char *dot;

	if (!strncmp(text, "sm_", 3))
		text += 3;
	else if (!strncmp(text, "compute_", 8))
		text += 8;
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return false;
	dot = strchr(copy, '.');
	if (dot)
		*dot = '\0';
	if (!cot_number_u64(copy, &major) ||
	    (dot && (!cot_number_u64(dot + 1, &minor) || minor > 9 || major > 99)))
		return false;
	if (dot)
		major = 10 * major + minor;
	*ret_arch = (uint32_t)major;
	return major >= ARCH_LEAST && major <= ARCH_LARGEST;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_ARCH:
		if (!read_arch(arg, &a->arch))
			argp_error(
				state,
				"'%s' is no compute capability; expected one such as 90, 9.0 or sm_90",
				arg);
		return 0;
	case KEY_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case ARGP_KEY_ARG:
		if (a->program)
			argp_error(state, "too many arguments; expected one PROGRAM");
		a->program = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no PROGRAM given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A file, or else a program in PATH. */
static void find_program(const char *name, char ret_path[COT_PATH_TEXT_MAX])
{
	if (!access(name, F_OK) || !cot_paths_program(name, ret_path))
		(void)snprintf(ret_path, COT_PATH_TEXT_MAX, "%s", name);
}

static int look(struct cot_inspection *in, struct cot_inspect_libraries *l, const char *path,
		struct cot_error *err)
{
	struct cot_error why;
	const void *bytes;
	size_t n;
	int rc = cot_inspect_map(path, &bytes, &n, err);

	if (rc)
		return rc;
	if (n > 2 && !memcmp(bytes, "#!", 2))
		rc = cot_error_set(&why, -EBADMSG,
				   "a script; expected a program, or a library that it loads");
	else
		rc = cot_inspect_bytes(in, bytes, n, true, &why);
	cot_inspect_unmap(bytes, n);
	if (rc)
		return cot_error_set(err, rc, "%.200s: %s", path, why.text);
	return cot_inspect_libraries(l, path, err);
}

static int inspect(const struct arguments *a, struct cot_inspect_libraries *l,
		   struct cot_error *err)
{
	struct cot_inspection in = {.arena = l->arena, .target = a->arch};
	struct cot_inspected shown = {.code = &in, .libraries = l};
	char path[COT_PATH_TEXT_MAX];
	int rc;

	find_program(a->program, path);
	rc = look(&in, l, path, err);
	if (rc)
		return rc;
	shown.path = path;
	shown.obstacle = l->of_library ? NULL : cot_loadable_obstacle(path);
	if (a->json)
		return cot_cli_write_json(cot_inspect_json(&shown), a->json, err);
	rc = cot_inspect_text(&shown, stdout);
	return rc ? cot_error_set(err, rc, "out of memory") : cot_cli_flush(err);
}

/* What was given is at fault. */
static int complain(const struct cot_error *err)
{
	cot_cli_complain("%s", err->text);
	return COT_EXIT_USAGE;
}

int cot_cmd_inspect(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PROGRAM",
		.doc = "Shows which kernels a program or library of CUDA has, as PTX or as machine code and for "
		       "which GPUs, which of them cotenant can rewrite, and which libraries it loads. Runs nothing."
		       "\vSee cotenant-inspect(1).",
		.children = cot_cli_argp_children,
	};
	struct arguments a = {.arch = ARCH_H200};
	struct cot_inspect_libraries *l;
	struct cot_error err = {{0}};
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_FAILURE;
	l = calloc(1, sizeof(*l));
	if (l)
		l->arena = cot_arena_create(MEMORY_MAX);
	if (!l || !l->arena)
		rc = cot_error_set(&err, -ENOMEM, "out of memory");
	else
		rc = inspect(&a, l, &err);
	if (l)
		cot_arena_destroy(l->arena);
	free(l);
	rc = rc == -ENOMEM || rc == -EIO || !rc ? cot_cli_end(rc, &err) : complain(&err);
	return rc;
}
