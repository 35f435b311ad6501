/*
 * cotenant cdi: a file of the Container Device Interface, by which podman, Docker, containerd and
 * CRI-O put what a program under control needs into a container.
 */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"

/* What podman 4 and containerd 1.7 read; nothing of the file needs a later one. */
#define CDI_VERSION    "0.6.0"
#define CDI_KIND       "cotenant/class"
#define PROGRAM_INSIDE "/opt/cotenant/bin/cotenant"

struct arguments {
	const char *output, *json, *socket;
	bool generate;
};

enum { KEY_JSON = 256, KEY_SOCKET };

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0,
	 "Write there, as JSON if it ends in .json; default: standard output", 0},
	COT_CLI_JSON(KEY_JSON, 0),
	{"socket", KEY_SOCKET, "PATH", 0,
	 "The daemon's socket; default: the machine's daemon if it is there, else yours", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case KEY_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case KEY_SOCKET:
		if (arg[0] != '/')
			argp_error(state, "--socket is '%s'; expected a full path", arg);
		a->socket = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->generate || strcmp(arg, "generate"))
			argp_error(state, "'%s' is not understood; expected generate", arg);
		a->generate = true;
		return 0;
	case ARGP_KEY_END:
		if (!a->generate)
			argp_error(state, "what to do is missing; expected generate");
		if (a->json && a->output)
			argp_error(state, "--json and --output are both given; one is enough");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- what is where ---- */

struct places {
	char socket[COT_PATH_TEXT_MAX], runtime[COT_PATH_TEXT_MAX], library[COT_PATH_TEXT_MAX],
		libraries[COT_PATH_TEXT_MAX], program[COT_PATH_TEXT_MAX];
};

static void folder_of(const char path[COT_PATH_TEXT_MAX], char ret[COT_PATH_TEXT_MAX])
{
	char *slash;

	(void)snprintf(ret, COT_PATH_TEXT_MAX, "%s", path);
	slash = strrchr(ret, '/');
	if (slash)
		*slash = '\0';
}

/* The first that is there, else the last. */
static int find_socket(char ret[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	struct cot_sockets sockets;
	unsigned i;
	int rc = cot_client_sockets(&sockets, err);

	if (rc < 0)
		return rc;
	for (i = 0; i + 1 < sockets.n; i++)
		if (access(sockets.path[i], F_OK) == 0)
			break;
	(void)snprintf(ret, COT_PATH_TEXT_MAX, "%s", sockets.path[i]);
	return 0;
}

static int find_places(const char *socket, struct places *p, struct cot_error *err)
{
	ssize_t n = readlink("/proc/self/exe", p->program, sizeof(p->program) - 1);
	int rc = 0;

	if (n <= 0)
		return cot_error_set(err, -errno, "cannot read /proc/self/exe: %s",
				     strerror(errno));
	p->program[n] = '\0';
	if (socket)
		(void)snprintf(p->socket, sizeof(p->socket), "%s", socket);
	else
		rc = find_socket(p->socket, err);
	if (!rc)
		rc = cot_paths_library(p->library, err);
	if (rc < 0)
		return rc;
	folder_of(p->socket, p->runtime);
	folder_of(p->library, p->libraries);
	return 0;
}

/* ---- the file ---- */

static json_t *mount_of(const char *host, const char *inside, const char *access_word)
{
	return json_pack("{s:s, s:s, s:[s, s, s, s]}", "hostPath", host, "containerPath", inside,
			 "options", access_word, "nosuid", "nodev", "bind");
}

static json_t *variable(const char *name, const char *value)
{
	return json_sprintf("%s=%s", name, value);
}

static json_t *device(const char *cls)
{
	return json_pack("{s:s, s:{s:[o]}}", "name", cls, "containerEdits", "env",
			 variable("COTENANT_CLASS", cls));
}

static json_t *specification(const struct places *p)
{
	return json_pack(
		"{s:s, s:s, s:[o, o], s:{s:[o, o], s:[o, o, o]}}", "cdiVersion", CDI_VERSION,
		"kind", CDI_KIND, "devices", device("latency"), device("batch"), "containerEdits",
		"env", variable("COTENANT_SOCKET", p->socket),
		variable("COTENANT_LIBRARY", p->library), "mounts",
		mount_of(p->runtime, p->runtime, "rw"), mount_of(p->libraries, p->libraries, "ro"),
		mount_of(p->program, PROGRAM_INSIDE, "ro"));
}

/* As YAML of maps, lists and strings in quotes, which are JSON's. */
static void print_yaml(FILE *out, const json_t *value, int depth)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_object(value)) {
		json_object_foreach ((json_t *)(uintptr_t)value, key, item) {
			(void)fprintf(out, "\n%*s%s:", depth * 2, "", key);
			print_yaml(out, item, depth + 1);
		}
	} else if (json_is_array(value)) {
		json_array_foreach (value, i, item) {
			(void)fprintf(out, "\n%*s-", depth * 2, "");
			print_yaml(out, item, depth + 1);
		}
	} else {
		(void)putc(' ', out);
		(void)json_dumpf(value, out, JSON_ENCODE_ANY);
	}
}

static int write_yaml(const json_t *spec, const char *path, struct cot_error *err)
{
	struct cot_outfile *out = NULL;
	int rc = cot_outfile_open(path, &out, err);

	if (!rc) {
		FILE *stream = cot_outfile_stream(out);

		(void)fputs("# By `cotenant cdi generate`: make it anew rather than change it.",
			    stream);
		print_yaml(stream, spec, 0);
		(void)putc('\n', stream);
		rc = cot_outfile_commit(out, err);
	}
	cot_outfile_destroy(out);
	return rc;
}

static bool ends_in_json(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && !strcmp(path + n - 5, ".json");
}

int cot_cmd_cdi(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "generate",
		.doc = "Write what a container needs for programs under control, for "
		       "/etc/cdi/cotenant.yaml.\vThen: podman run --device nvidia.com/gpu=all --device "
		       "cotenant/class=latency --ipc=host IMAGE " PROGRAM_INSIDE
		       " run -- PROGRAM. See cotenant-cdi(1) and docs/containers.md.",
		.children = cot_cli_argp_children,
	};
	struct arguments a = {.output = NULL};
	struct cot_error err = {{0}};
	struct places places;
	json_t *spec;
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	if (a.output && ends_in_json(a.output))
		a.json = a.output;
	rc = find_places(a.socket, &places, &err);
	if (rc < 0)
		return cot_cli_end(rc, &err);
	spec = specification(&places);
	if (a.json || !spec)
		return cot_cli_end(cot_cli_write_json(spec, a.json ? a.json : "-", &err), &err);
	rc = write_yaml(spec, a.output ? a.output : "-", &err);
	json_decref(spec);
	return cot_cli_end(rc, &err);
}
