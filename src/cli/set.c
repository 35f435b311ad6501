/*
 * cotenant set: changes a program or pool while it runs.
 */
#include <argp.h>
#include <cotenant/policy.h>
#include <string.h>

#include "base/quantity.h"
#include "base/words.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/target.h"
#include "text/nearest.h"
#include "text/number.h"

enum {
	KEY_CLASS = COT_TARGET_OWN,
	KEY_WEIGHT,
	KEY_SLICE,
	KEY_MODE,
	KEY_BLOCK,
	KEY_QUOTA,
	KEY_RESERVE,
	KEY_SMS,
	KEY_PACE,
	KEY_P99,
	KEY_SLOWDOWN,
	KEY_RATE,
};

static const struct argp_option options[] = {
	{"class", KEY_CLASS, "CLASS", 0, "latency or batch; for programs outside the pools", 0},
	{"weight", KEY_WEIGHT, "N", 0, "Its share among batch programs: 1 to 10000", 0},
	{"slice", KEY_SLICE, "TIME", 0,
	 "Its time slice, as in 100us or 2ms (a number alone: us); auto: the policy's", 0},
	{"mode", KEY_MODE, "MODE", 0,
	 "How the hardware preempts it: switch or drain; auto: the policy's", 0},
	{"block", KEY_BLOCK, "TIME", 0,
	 "How long its thread blocks last at most; unknown: takes that back", 0},
	{"quota", KEY_QUOTA, "SHARE", 0,
	 "How much of a GPU its rewritten kernels may have, as in 50% or 66sm; none: no limit", 0},
	{"reserve", KEY_RESERVE, "SHARE", 0,
	 "How much of a GPU its kernels get together at least; only for latency programs", 0},
	{"sms", KEY_SMS, "SHARE", 0,
	 "On how much of the GPU's SMs it runs, as in 64 or 50%; none: the policy decides", 0},
	{"pace", KEY_PACE, "TIME", 0,
	 "On its part it launches only so much ahead of the GPU, as in 500us (a number alone: us); none: the policy "
	 "decides",
	 0},
	{"p99", KEY_P99, "TIME", 0,
	 "Its target: 99 % of its requests take at most so long, as in 5ms; none: it has no target",
	 0},
	{"slowdown", KEY_SLOWDOWN, "FACTOR", 0,
	 "The same, as a multiple of what they take alone on the GPU, as in 1.5x", 0},
	{"rate", KEY_RATE, "SHARE", 0,
	 "Its target: it gets on at least at this share of its rate alone, as in 80%", 0},
	COT_CLI_JSON(COT_TARGET_JSON, 1),
	{0},
};

static void parse_slice(struct cot_msg_command *c, const char *text, struct argp_state *state)
{
	c->fields |= COT_SET_SLICE;
	c->slice_us = 0;
	if (!strcmp(text, "auto"))
		return;
	if (!cot_quantity_whole(text, COT_UNIT_US, 1, UINT64_MAX, &c->slice_us))
		argp_error(state, "--slice is '%s'; expected a time such as 100us or 2ms, or auto",
			   text);
}

static void parse_mode(struct cot_msg_command *c, const char *text, struct argp_state *state)
{
	c->fields |= COT_SET_MODE;
	c->mode = COT_MODE_DRIVER;
	if (strcmp(text, "auto") != 0 &&
	    (!cot_word_read(text, cot_mode_words, COT_ARRAY_LEN(cot_mode_words), &c->mode) ||
	     c->mode == COT_MODE_DRIVER))
		argp_error(state, "--mode is '%s'; expected switch, drain or auto", text);
}

static void parse_block(struct cot_msg_command *c, const char *text, struct argp_state *state)
{
	uint64_t us = 0;

	c->fields |= COT_SET_BLOCK;
	if (strcmp(text, "unknown") &&
	    !cot_quantity_whole(text, COT_UNIT_US, 1, COT_BLOCK_US_MAX, &us))
		argp_error(state,
			   "--block is '%s'; expected a time such as 100us or 2ms, or unknown",
			   text);
	c->block_us = (uint32_t)us;
}

static uint16_t parse_share(const char *option, const char *text, struct argp_state *state)
{
	uint16_t share;

	if (!cot_cli_share(text, &share))
		argp_error(state,
			   "%s is '%s'; expected a part of a GPU such as 50%% or 66sm, or none",
			   option, text);
	return share;
}

static void parse_class(struct cot_msg_command *c, const char *text, struct argp_state *state)
{
	enum cot_class cls = COT_CLASS_BATCH;
	char hint[COT_NEAREST_HINT_MAX];

	c->fields |= COT_SET_CLASS;
	if (!cot_class_read(text, &cls))
		argp_error(state, "--class is '%s'%s; expected latency or batch", text,
			   cot_nearest_of(text, cot_class_words, 2, hint));
	c->class_ = (uint8_t)cls;
}

static void parse_weight(struct cot_msg_command *c, const char *text, struct argp_state *state)
{
	uint64_t weight;

	c->fields |= COT_SET_WEIGHT;
	if (!cot_number_u64(text, &weight) || !weight || weight > COT_WEIGHT_MAX)
		argp_error(state, "--weight is '%s'; expected a whole number from 1 to %u", text,
			   COT_WEIGHT_MAX);
	c->weight = (uint16_t)weight;
}

static void parse_target(struct cot_msg_command *c, enum cot_target_kind kind, const char *text,
			 struct argp_state *state)
{
	struct cot_target target;
	struct cot_error err;

	if (c->fields & COT_SET_TARGET)
		argp_error(state, "a program has one target; expected one of --p99, --slowdown and "
				  "--rate");
	c->fields |= COT_SET_TARGET;
	if (cot_cli_target(kind, text, &target, &err) < 0)
		argp_error(state, "%s", err.text);
	c->target = cot_proto_pack_target(target);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cot_target_arguments *a = state->input;

	switch (key) {
	case KEY_CLASS:
		parse_class(&a->command, arg, state);
		return 0;
	case KEY_WEIGHT:
		parse_weight(&a->command, arg, state);
		return 0;
	case KEY_SLICE:
		parse_slice(&a->command, arg, state);
		return 0;
	case KEY_BLOCK:
		parse_block(&a->command, arg, state);
		return 0;
	case KEY_QUOTA:
		a->command.fields |= COT_SET_QUOTA;
		a->command.quota = parse_share("--quota", arg, state);
		return 0;
	case KEY_RESERVE:
		a->command.fields |= COT_SET_RESERVE;
		a->command.reserve = parse_share("--reserve", arg, state);
		return 0;
	case KEY_SMS:
		a->command.fields |= COT_SET_SMS;
		if (!cot_cli_sms(arg, &a->command.sms))
			argp_error(state,
				   "--sms is '%s'; expected 1 to %u SMs, or 1%% to 100%%, as in 64 "
				   "or 50%%, or none",
				   arg, COT_SMS_MAX);
		return 0;
	case KEY_PACE:
		a->command.fields |= COT_SET_PACE;
		if (strcmp(arg, "none") != 0 && !cot_cli_pace(arg, &a->command.pace_us))
			argp_error(
				state,
				"--pace is '%s'; expected a time such as 500us, up to %u us, or none",
				arg, COT_PACE_US_MAX);
		return 0;
	case KEY_P99:
	case KEY_SLOWDOWN:
	case KEY_RATE:
		parse_target(&a->command, COT_TARGET_P99 + (key - KEY_P99), arg, state);
		return 0;
	case KEY_MODE:
		parse_mode(&a->command, arg, state);
		return 0;
	case ARGP_KEY_END:
		(void)cot_target_parse(key, arg, state);
		if (!a->command.fields)
			argp_error(state, "nothing to change; as in: cotenant set train "
					  "--weight 50");
		return 0;
	default:
		return cot_target_parse(key, arg, state);
	}
}

int cot_cmd_set(int argc, char **argv)
{
	return cot_target_run(options, parse, "Change a program or a pool while it runs.", argc,
			      argv, COT_COMMAND_SET);
}
