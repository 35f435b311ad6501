#include "trace/policy_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text/nearest.h"
#include "text/number.h"
#include "text/text.h"

#define WITH_SIZE "parts" /* the only one */

static int fail_unknown(const char *text, const char *const *names, unsigned n_names,
			struct cot_error *err)
{
	char list[256] = "", quote[COT_QUOTE_MAX], hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = text};
	unsigned i;

	for (i = 0; i < n_names; i++) {
		cot_text_add_word(list, sizeof(list), names[i]);
		cot_nearest_try(&near, names[i]);
	}
	return cot_error_set(err, -EINVAL, "unknown policy '%s'%s; expected one of %s",
			     cot_text_quote(text, quote), cot_nearest_hint(&near, hint), list);
}

/* The whole word is a name. */
static bool is_known(const char *const *names, unsigned n_names, const char *text)
{
	unsigned i;

	for (i = 0; names && i < n_names; i++)
		if (!strcmp(names[i], text))
			return true;
	return !names && *text && strlen(text) < COT_NAME_MAX;
}

int cot_policy_name_read(const char *text, const char *const *names, unsigned n_names,
			 struct cot_scenario *sc, struct cot_error *err)
{
	const char *at = strchr(text, '@');
	char name[COT_NAME_MAX] = "", quote[COT_QUOTE_MAX];
	size_t length = at ? (size_t)(at - text) : strlen(text);
	uint64_t sms = 0;

	if (length < sizeof(name))
		memcpy(name, text, length);
	if (!is_known(names, n_names, name))
		return fail_unknown(text, names, n_names, err);
	if (at && strcmp(name, WITH_SIZE) != 0)
		return cot_error_set(err, -EINVAL,
				     "the policy '%s' has a size; expected %s, as only " WITH_SIZE
				     " has one",
				     cot_text_quote(text, quote), name);
	if (at && (!cot_number_u64(at + 1, &sms) || !sms || sms > sc->gpu.n_sms))
		return cot_error_set(err, -EINVAL,
				     "the policy '%s' has no such size; expected " WITH_SIZE
				     "@1 to " WITH_SIZE "@%" PRIu32
				     ", the SMs that batch programs have",
				     cot_text_quote(text, quote), sc->gpu.n_sms);
	memcpy(sc->policy, name, sizeof(name));
	sc->batch_sms = (uint32_t)sms;
	return 0;
}

const char *cot_policy_name_word(const struct cot_scenario *sc, char buf[COT_POLICY_NAME_MAX])
{
	if (sc->batch_sms)
		(void)snprintf(buf, COT_POLICY_NAME_MAX, "%s@%" PRIu32, sc->policy, sc->batch_sms);
	else
		(void)snprintf(buf, COT_POLICY_NAME_MAX, "%s", sc->policy);
	return buf;
}
