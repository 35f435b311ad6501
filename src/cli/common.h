/*
 * What the subcommands share: complaints on stderr, options, signals, JSON files.
 * For the main thread only, but cot_cli_interrupted() may be asked from any.
 */
#ifndef COT_CLI_COMMON_H
#define COT_CLI_COMMON_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/words.h"
#include "cli/progress.h"

/* "cotenant: ..." and a newline on stderr. */
void cot_cli_complain(const char *fmt, ...) COT_PRINTF(1, 2);

/* An argp child for every parser: `-h` as a short form of --help. */
extern const struct argp_child cot_cli_argp_children[];
/* The same, and --progress: of commands that may take long. */
extern const struct argp_child cot_cli_long_argp_children[];

/* For want of memory something is missing in what was printed: told when the command ends. */
void cot_cli_is_incomplete(void);
bool cot_cli_was_complete(void);

/* A row of options: --json[=FILE]. */
#define COT_CLI_JSON(key, group)                                                            \
	{                                                                                   \
		"json", key, "FILE", OPTION_ARG_OPTIONAL,                                   \
			"Write JSON: to FILE, or to standard output instead of text", group \
	}
/* And --csv[=FILE], with a line for each `row`. */
#define COT_CLI_CSV(key, row, group)                                        \
	{                                                                   \
		"csv", key, "FILE", OPTION_ARG_OPTIONAL,                    \
			"Write CSV, a line for each " row                   \
			": to FILE, or to standard output instead of text", \
			group                                               \
	}
/* What --json names; "-" is standard output. `--json FILE` is understood where that is "-" or a
 * name that ends in .json: so it was written before, by the commands that ask here. */
const char *cot_cli_json(const char *arg, struct argp_state *state);
/* Gives up the object. What went wrong, also in the object's making, leaves the file as it was.
 * -errno with a sentence. */
int cot_cli_write_json(json_t *object, const char *path, struct cot_error *err);

/* argp_parse(), which says nothing when it has no memory. */
error_t cot_cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* Whatever was printed is out: 0, or -EIO with a sentence. */
int cot_cli_flush(struct cot_error *err);

/* The exit status of a command that ends with `rc`: 0, or -errno; then it says err's sentence. */
int cot_cli_end(int rc, const struct cot_error *err);

/* Standard output is a terminal, and the user has not forbidden colour ($NO_COLOR). */
bool cot_cli_has_colour(void);

/* From here on SIGINT, SIGTERM and SIGHUP only set a flag, for those who have files to clean up. */
void cot_cli_catch_signals(void);
bool cot_cli_interrupted(void);

/* "50%", "66sm" or "none" as in messages (COT_SHARE_SMS); false for everything else. */
bool cot_cli_share(const char *text, uint16_t *ret_share);
/* The same; a number alone is one of SMs. */
bool cot_cli_sms(const char *text, uint16_t *ret_share);

/* A time of at least 1 us and at most COT_PACE_US_MAX; a number alone is in us. */
bool cot_cli_pace(const char *text, uint32_t *ret_us);

/* What --p99, --slowdown or --rate says; `none` is COT_TARGET_NONE. -EINVAL with a sentence. */
int cot_cli_target(enum cot_target_kind kind, const char *text, struct cot_target *ret_target,
		   struct cot_error *err);

/* Whether two paths are one file, or will be once they are written. */
bool cot_cli_same_file(const char *a, const char *b);

#endif
