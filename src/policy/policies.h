/* Declarations for the table in registry.c; each policy is described in its own file. */
#ifndef COT_POLICY_POLICIES_H
#define COT_POLICY_POLICIES_H

#include <cotenant/policy.h>

extern const struct cot_policy_ops cot_policy_pools;
extern const struct cot_policy_ops cot_policy_rotate;
extern const struct cot_policy_ops cot_policy_smguard;
extern const struct cot_policy_ops cot_policy_effisha;
extern const struct cot_policy_ops cot_policy_static;
extern const struct cot_policy_ops cot_policy_parts;
extern const struct cot_policy_ops cot_policy_smqos;
extern const struct cot_policy_ops cot_policy_slo;
extern const struct cot_policy_ops cot_policy_laius;
extern const struct cot_policy_ops cot_policy_laius_paper;
extern const struct cot_policy_ops cot_policy_laius_nb;
extern const struct cot_policy_ops cot_policy_laius_nc;
extern const struct cot_policy_ops cot_policy_laius_peak;
extern const struct cot_policy_ops cot_policy_baymax;
extern const struct cot_policy_ops cot_policy_mps_even;
extern const struct cot_policy_ops cot_policy_mps_double;
extern const struct cot_policy_ops cot_policy_mps_priority;
extern const struct cot_policy_ops cot_policy_consolidate;
/* cot_policy_timeslice is in policy.h: the core needs it. */

#endif
