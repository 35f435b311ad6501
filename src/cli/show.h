/*
 * What the commands that show something share: their arguments, one query, its JSON.
 */
#ifndef COT_CLI_SHOW_H
#define COT_CLI_SHOW_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "proto/proto.h"
#include "report/table.h"

/* What the options of a command that shows something say; NULL: nothing. */
struct cot_show_wishes {
	const char *json, *csv; /* files; "-" is standard output */
	bool prometheus;
};

/* The arguments of a command that takes --json, --csv, --wide, and where `has_format` --format. */
error_t cot_show_parse(int argc, char **argv, const char *doc, bool has_format,
		       struct cot_show_wishes *ret_wishes);

/* Asks the daemon. 0 or -errno with a sentence. */
int cot_show_query(enum cot_proto_query what, json_t **ret, struct cot_error *err);
/* The same for what is no JSON: free() it. */
int cot_show_query_text(enum cot_proto_query what, char **ret, struct cot_error *err);
/* The exit status of a command that asked with that result: says why it failed, writes the answer
 * to `json`, if that is not NULL, and gives it up. */
int cot_show_end(int rc, json_t *answer, const char *json, struct cot_error *err);
/* The same with the answer's programs as CSV. */
int cot_show_end_csv(int rc, json_t *answer, const char *csv, struct cot_error *err);

/* Members of an object, with a default where there is none. */
const char *cot_show_text(const json_t *object, const char *key);
long long cot_show_number(const json_t *object, const char *key);
double cot_show_real(const json_t *object, const char *key);
bool cot_show_bool(const json_t *object, const char *key);
/* A list of GPUs' numbers, as "0,1". */
void cot_show_gpus(const json_t *list, char *ret_text, size_t size);
/* Whether one of them has kernels that are rewritten ("work"). */
bool cot_show_any_work(const json_t *tenants);
/* Whether it has that, or a quota or reservation; and whether one of them has. */
bool cot_show_has_shares(const json_t *tenant);
bool cot_show_any_shares(const json_t *tenants);
/* Whether it is on a part of the GPU, or should be; and whether one of them is. */
bool cot_show_has_part(const json_t *tenant);
bool cot_show_any_parts(const json_t *tenants);
/* Of programs that say how their launches share (share.h): what those that reserve and those that
 * have a quota have. */
void cot_show_methods(const json_t *tenants);
/* The SMs that it has: "64 of 132, from 0", "all 132", or "-". */
void cot_show_part(const json_t *tenant, char *ret_text, size_t size);
/* Of its launches without workers, those that ran on its part: "99.80 %", or "-". And of all, those
 * that did or were workers. */
void cot_show_coverage(const json_t *tenant, char *ret_text, size_t size);
void cot_show_covered(const json_t *tenant, char *ret_text, size_t size);
/* What the shim's name of a reason means, or NULL. */
const char *cot_show_why(const char *name);

/* Lines for what is not as it should be in an answer to PS or STATS: freezes and thaws that fail,
 * slices that are not what is wanted, shares without effect, a policy that went wrong. */
void cot_show_remarks(const json_t *answer);
/* "running", "stuck 17 s", ...: of a program or pool. */
void cot_show_state(const json_t *entity, char *ret_text, size_t size);
/* How long, in as few characters as will do: "3 s", "5 min", "2 h". */
void cot_show_duration(double seconds, char *ret_text, size_t size);

/* A table of at most 80 columns, or with --wide of all: heads as of cot_table_create_narrow(). */
struct cot_table *cot_show_columns(const char *const *heads, unsigned n);
/* Prints the table and destroys it. For want of memory it is missing, and main() tells so. */
void cot_show_table(struct cot_table *t);

#endif
