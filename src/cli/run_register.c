#include "cli/run_register.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/rng.h"
#include "base/words.h"
#include "cli/common.h"
#include "text/nearest.h"
#include "text/number.h"

static int fill_in_share(const char *what, const char *text, uint16_t *ret_share,
			 struct cot_error *err)
{
	if (text && !cot_cli_share(text, ret_share))
		return cot_error_set(err, -EINVAL,
				     "the %s is '%s'; expected a part of a GPU such as 50%% or "
				     "66sm",
				     what, text);
	return 0;
}

/* Not where the environment has it: other programs may be meant, since it is inherited, and
 * COTENANT_MERGE=always is for the backend, too (docs/backend.md). */
static bool asks_to_merge(const struct cot_run_options *o)
{
	return o->merge && !cot_run_is_yes("COTENANT_MERGE");
}

static int check_backend(const struct cot_run_options *o, const struct cot_msg_register *m,
			 struct cot_error *err)
{
	if (o->rewrite || m->sms)
		return cot_error_set(
			err, -EINVAL,
			"--backend launches on the whole GPU, and --rewrite, --quota, "
			"--reserve, --sms and --cpu on a part or elsewhere; expected one "
			"or the other");
	if (asks_to_merge(o))
		return cot_error_set(err, -EINVAL,
				     "--backend makes one launch of those of several programs, and "
				     "--merge of those of one; expected one or the other");
	if (m->class_ == COT_CLASS_LATENCY)
		return cot_error_set(err, -EINVAL,
				     "a latency program hands no launches over, so --backend is "
				     "for batch programs only");
	return 0;
}

static int check_merge(const struct cot_run_options *o, const struct cot_msg_register *m,
		       struct cot_error *err)
{
	if (o->merge && o->rewrite)
		return cot_error_set(err, -EINVAL,
				     "--merge makes launches larger, and --rewrite, --quota, "
				     "--reserve and --cpu divide them; expected one or the other");
	if (asks_to_merge(o) && m->class_ == COT_CLASS_LATENCY)
		return cot_error_set(err, -EINVAL,
				     "a latency program's launches wait for no others, so --merge "
				     "is for batch programs only");
	return 0;
}

static int fill_in_shares(const struct cot_run_options *o, struct cot_msg_register *m,
			  struct cot_error *err)
{
	int rc = fill_in_share("quota", o->quota, &m->quota, err);

	if (!rc)
		rc = fill_in_share("reserve", o->reserve, &m->reserve, err);
	if (!rc && o->sms && !cot_cli_sms(o->sms, &m->sms))
		rc = cot_error_set(err, -EINVAL,
				   "the share of SMs is '%s'; expected 1 to %u SMs, or 1%% to "
				   "100%%, as in 64 or 50%%",
				   o->sms, COT_SMS_MAX);
	if (!rc && o->pace && !cot_cli_pace(o->pace, &m->pace_us))
		rc = cot_error_set(err, -EINVAL,
				   "the pace is '%s'; expected a time such as 500us, up to %u us",
				   o->pace, COT_PACE_US_MAX);
	if (!rc && o->backend.name)
		rc = check_backend(o, m, err);
	if (!rc)
		rc = check_merge(o, m, err);
	if (!rc && m->reserve && m->class_ != COT_CLASS_LATENCY)
		rc = cot_error_set(err, -EINVAL,
				   "only a latency program may have a reservation; a batch program "
				   "may have a quota");
	return rc;
}

static int fill_in_memory(const struct cot_run_options *o, struct cot_msg_register *m,
			  struct cot_error *err)
{
	uint64_t mib = 0;

	if (o->memory && !cot_quantity_whole(o->memory, COT_UNIT_MIB, 1, COT_MEMORY_MIB_MAX, &mib))
		return cot_error_set(err, -EINVAL,
				     "the memory is '%s'; expected a whole number of MiB, as in "
				     "512MiB or 40GiB",
				     o->memory);
	m->memory_mib = (uint32_t)mib;
	return 0;
}

static int fill_in_target(const struct cot_run_options *o, struct cot_msg_register *m,
			  struct cot_error *err)
{
	enum cot_target_kind kind, other = COT_TARGET_NONE;
	struct cot_target target = {0};
	int rc = 0;

	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE && !rc; kind++) {
		if (!o->targets[kind])
			continue;
		if (other)
			return cot_error_set(err, -EINVAL,
					     "a program has one target; expected --%s or --%s, not "
					     "both",
					     cot_target_words[other], cot_target_words[kind]);
		other = kind;
		rc = cot_cli_target(kind, o->targets[kind], &target, err);
	}
	/* Who has such a target is a latency program. */
	if (!o->class && target.kind && target.kind != COT_TARGET_RATE)
		m->class_ = COT_CLASS_LATENCY;
	if (!rc && !cot_target_suits(target.kind, (enum cot_class)m->class_))
		rc = cot_error_set(err, -EINVAL, COT_TARGET_UNSUITED);
	m->target = cot_proto_pack_target(target);
	m->flags = (o->measure ? COT_REGISTER_MEASURE : 0) |
		   (o->oversubscribe ? COT_REGISTER_OVERSUBSCRIBE : 0);
	return rc;
}

/* The same for the same program with the same arguments; not 0. */
static uint32_t hash_command(char *const argv[])
{
	uint64_t hash = 0;

	for (; *argv; argv++)
		hash = cot_hash64(cot_hash_text(hash, *argv), 0);
	return (uint32_t)hash ? (uint32_t)hash : 1;
}

int cot_run_fill_in(const struct cot_run_options *o, char *const argv[], struct cot_msg_register *m,
		    struct cot_error *err)
{
	const char *gpu = o->gpu ? o->gpu : "";
	uint64_t weight = COT_WEIGHT_DEFAULT, block_us = 0;
	enum cot_class cls = COT_CLASS_BATCH;
	char hint[COT_NEAREST_HINT_MAX];

	*m = (struct cot_msg_register){
		.solo = o->solo, .pid = (uint32_t)getpid(), .command = hash_command(argv)};
	if (o->class && !cot_class_read(o->class, &cls))
		return cot_error_set(err, -EINVAL, "the class is '%s'%s; expected latency or batch",
				     o->class, cot_nearest_of(o->class, cot_class_words, 2, hint));
	if (o->weight &&
	    (!cot_number_u64(o->weight, &weight) || !weight || weight > COT_WEIGHT_MAX))
		return cot_error_set(err, -EINVAL,
				     "the weight is '%s'; expected a whole number from 1 to %u",
				     o->weight, COT_WEIGHT_MAX);
	m->class_ = (uint8_t)cls;
	m->weight = (uint16_t)weight;
	if (o->block && !cot_quantity_whole(o->block, COT_UNIT_US, 0, COT_BLOCK_US_MAX, &block_us))
		return cot_error_set(err, -EINVAL,
				     "the longest block is '%s'; expected a time such as 100us or "
				     "2ms, up to %u us",
				     o->block, COT_BLOCK_US_MAX);
	m->block_us = (uint32_t)block_us;
	if (fill_in_target(o, m, err) < 0 || fill_in_shares(o, m, err) < 0 ||
	    fill_in_memory(o, m, err) < 0)
		return -EINVAL;
	if (strlen(gpu) >= sizeof(m->gpu))
		return cot_error_set(err, -EINVAL, "the list of GPUs is too long");
	(void)snprintf(m->gpu, sizeof(m->gpu), "%s", gpu);
	/* Cut where it is too long. */
	(void)snprintf(m->name, sizeof(m->name), "%s", cot_run_name(o, argv[0]));
	return 0;
}
