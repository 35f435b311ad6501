/*
 * cotenant freeze, cotenant thaw: hold a program or pool off the GPU, let it go on.
 */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/target.h"

static const struct argp_option options[] = {
	COT_CLI_JSON(COT_TARGET_JSON, 0),
	{0},
};

int cot_cmd_freeze(int argc, char **argv)
{
	return cot_target_run(
		options, cot_target_parse,
		"Keep a program, or a whole pool, off the GPU until cotenant thaw. Its process "
		"goes on; its launches wait.",
		argc, argv, COT_COMMAND_FREEZE);
}

int cot_cmd_thaw(int argc, char **argv)
{
	return cot_target_run(options, cot_target_parse,
			      "Let a frozen program or pool use the GPU again.", argc, argv,
			      COT_COMMAND_THAW);
}
