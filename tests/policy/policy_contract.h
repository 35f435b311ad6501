/*
 * What every software policy must do, whatever it is good for. Each check plays a story on a fresh
 * core and returns NULL, or in one sentence what the policy did wrong.
 */
#ifndef COT_TESTS_POLICY_CONTRACT_H
#define COT_TESTS_POLICY_CONTRACT_H

#include <cotenant/policy.h>

struct policy_check {
	const char *name;
	bool by_chance; /* another seed is another story */
	const char *(*run)(const struct cot_policy_ops *ops, uint64_t seed);
};

extern const struct policy_check policy_checks[];
extern const unsigned n_sw_checks;

/* `said`, or what the core has against the policy. The end of the bench. */
struct bench;
const char *policy_verdict(struct bench *b, const char *said);

/* ---- parts_contract.c ---- */

const char *policy_check_places_as_asked(const struct cot_policy_ops *ops, uint64_t seed);
const char *policy_check_lone_program_has_all(const struct cot_policy_ops *ops, uint64_t seed);

/* ---- measure_contract.c ---- */

struct cot_rng;
/* Of program `id`, which need not be there. */
void policy_random_measurement(struct bench *b, struct cot_rng *rng, uint32_t id);
void policy_random_predictions(struct bench *b, struct cot_rng *rng, uint32_t id);
const char *policy_check_measurements(const struct cot_policy_ops *ops, uint64_t seed);

/* ---- query_contract.c ---- */

const char *policy_check_queries(const struct cot_policy_ops *ops, uint64_t seed);
const char *policy_check_same_with_queries(const struct cot_policy_ops *ops, uint64_t seed);

/* ---- ask_contract.c ---- */

const char *policy_check_asking(const struct cot_policy_ops *ops, uint64_t seed);

#endif
