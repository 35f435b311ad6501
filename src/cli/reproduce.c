#include "cli/reproduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"

static const struct cot_command studies[] = {
	{"preemption", "Tanasic et al. (ISCA 2014): preemptive multiprogramming on GPUs",
	 cot_reproduce_preemption},
	{"smqos", "Sun et al.: SMs and power divided by promised instructions per cycle",
	 cot_reproduce_smqos},
	{"consolidation", "US patent 8,643,656: energy-aware task consolidation on GPUs",
	 cot_reproduce_consolidation},
};

static void print_usage(FILE *out)
{
	unsigned i;

	fputs("Usage: cotenant reproduce STUDY [OPTION...]\n"
	      "Repeat a published evaluation and print it beside the paper's own "
	      "values.\n\n"
	      "Studies:\n",
	      out);
	for (i = 0; i < COT_ARRAY_LEN(studies); i++)
		fprintf(out, "  %-14s %s\n", studies[i].name, studies[i].summary);
	fputs("\n`cotenant reproduce STUDY --help` tells the options of a study.\n", out);
}

int cot_cmd_reproduce(int argc, char **argv)
{
	char name[64], list[128] = "";
	unsigned i;

	if (argc < 2) {
		cot_cli_complain("reproduce: no study given; expected one of the list below");
		print_usage(stderr);
		return COT_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-?")) {
		print_usage(stdout);
		return fflush(stdout) ? COT_EXIT_FAILURE : COT_EXIT_OK;
	}
	for (i = 0; i < COT_ARRAY_LEN(studies); i++) {
		if (strcmp(argv[1], studies[i].name))
			continue;
		snprintf(name, sizeof(name), "cotenant reproduce %s", studies[i].name);
		argv[1] = name;
		return studies[i].run(argc - 1, argv + 1);
	}
	for (i = 0; i < COT_ARRAY_LEN(studies); i++) {
		size_t n = strlen(list);

		snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", studies[i].name);
	}
	cot_cli_complain("reproduce: there is no study '%.40s'; expected one of %s", argv[1], list);
	return COT_EXIT_USAGE;
}
