/*
 * cotenant doctor: says what works on this machine, and what to do about what does not.
 */
#include "cli/doctor.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/emulate.h"
#include "emu/gpu/devices.h"

struct arguments {
	bool offline, parts;
	const char *json, *probe, *emulate;
};

enum { KEY_JSON = 256, KEY_OFFLINE, KEY_PARTS, KEY_PROBE, KEY_EMULATE };

static const struct argp_option options[] = {
	{"offline", KEY_OFFLINE, NULL, 0, "Start nothing: no daemon, no program on the GPU", 0},
	COT_CLI_JSON(KEY_JSON, 0),
	{"parts", KEY_PARTS, NULL, 0,
	 "Measure whether parts of the GPU are apart, in some seconds more", 0},
	{"emulate", KEY_EMULATE, "DEVICE", 0,
	 "Look at an emulated GPU instead, as of cotenant run --emulate: " COT_EMU_DEVICE_WORDS(
		 ", or "),
	 0},
	{"probe", KEY_PROBE, "WHAT", OPTION_HIDDEN, "Act as a test program", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case KEY_OFFLINE:
		a->offline = true;
		return 0;
	case KEY_PARTS:
		a->parts = true;
		return 0;
	case KEY_EMULATE:
		a->emulate = arg;
		return 0;
	case KEY_PROBE:
		a->probe = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_text(const struct cot_findings *f)
{
	static const char *const words[] = {"ok  ", "warn", "FAIL", "skip"};
	static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m", ""};
	bool colour = cot_cli_has_colour();
	unsigned i;

	for (i = 0; i < f->n; i++) {
		const struct cot_finding *finding = &f->finding[i];

		(void)printf("%s%s%s  %-9s %s\n", colour ? colours[finding->grade] : "",
			     words[finding->grade], colour ? "\033[0m" : "", finding->name,
			     finding->what);
		if (finding->advice[0])
			(void)printf("                -> %s\n", finding->advice);
	}
}

static json_t *json_findings(const struct cot_findings *f, bool good)
{
	static const char *const words[] = {"ok", "warn", "fail", "skip"};
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < f->n; i++) {
		const struct cot_finding *finding = &f->finding[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s, s:o*}", "check", finding->name,
					"result", words[finding->grade], "what", finding->what,
					"advice", finding->advice, "figures", finding->figures));
	}
	return json_pack("{s:s, s:b, s:o}", "schema", "cotenant.doctor/1", "ok", good, "findings",
			 list);
}

static int end(const struct cot_findings *f, bool good, const char *json)
{
	struct cot_error err;
	int rc = 0;

	if (json)
		rc = cot_cli_write_json(json_findings(f, good), json, &err);
	else
		print_text(f);
	if (rc < 0)
		return cot_cli_end(rc, &err);
	return good ? COT_EXIT_OK : COT_EXIT_FAILURE;
}

/* The loader finds the emulated driver in the environment, when a program begins. */
static int begin_emulated(const struct arguments *a)
{
	const struct cot_emulate e = {.device = a->emulate};
	char name[] = "cotenant", doctor[] = "doctor", offline[] = "--offline", parts[] = "--parts";
	char json[PATH_MAX], *argv[6] = {name, doctor};
	unsigned n = 2;
	struct cot_error err;

	if (cot_emulate_set_up(&e, true, &err) < 0) {
		cot_cli_complain("%s", err.text);
		return COT_EXIT_USAGE;
	}
	if (a->offline)
		argv[n++] = offline;
	if (a->parts)
		argv[n++] = parts;
	if (a->json) {
		(void)snprintf(json, sizeof(json), "--json=%s", a->json);
		argv[n++] = json;
	}
	(void)execv("/proc/self/exe", argv);
	cot_cli_complain("cannot begin again: %s", strerror(errno));
	return COT_EXIT_FAILURE;
}

/* COTENANT_EMU_DIR is set, and this machine has no driver: that GPU is meant. No longer once
 * begin_emulated() has preloaded its driver. */
static bool is_emulated_meant(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return cot_emulate_is_shared() && access("/dev/nvidiactl", F_OK) < 0 &&
	       !(preloaded && strstr(preloaded, "/libcuda.so.1"));
}

int cot_cmd_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Say what works on this machine, and what to do about what does not."
		       "\vRuns two small programs on the GPU for about a second, unless --offline. "
		       "The exit status is 1 when something needed fails.",
		.children = cot_cli_argp_children,
	};
	struct cot_findings f = {.n = 0};
	struct arguments a = {0};
	bool good = true, gpu, daemon;
	unsigned i;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	if (a.probe)
		return strcmp(a.probe, "parts") != 0 ? cot_doctor_probe() : cot_doctor_fill();
	if (!a.emulate && is_emulated_meant()) {
		a.emulate = getenv("COTENANT_EMU_DEVICE");
		if (!a.emulate)
			a.emulate = "h200";
	}
	if (a.emulate)
		return begin_emulated(&a);
	gpu = cot_doctor_machine(&f);
	daemon = cot_doctor_daemon(&f, !a.offline && gpu);
	if (a.offline || !gpu || !daemon)
		(void)cot_doctor_add(&f, "control", COT_FINDING_SKIP,
				     "slices and freezing were not tried%s",
				     a.offline ? " (--offline)" : "");
	else
		cot_doctor_live(&f);
	if (a.parts && !a.offline && gpu && daemon)
		cot_doctor_parts(&f);
	else if (a.parts)
		(void)cot_doctor_add(&f, "parts", COT_FINDING_SKIP,
				     "whether parts are apart was not measured%s",
				     a.offline ? " (--offline)" : "");
	for (i = 0; i < f.n; i++)
		good &= f.finding[i].grade != COT_FINDING_FAIL;
	return end(&f, good, a.json);
}
