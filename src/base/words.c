#include "base/words.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/quantity.h"

const char *const cot_class_words[] = {"latency", "batch"};
const char *const cot_mode_words[] = {"driver", "drain", "switch"};
const char *const cot_target_words[] = {"none", "p99", "slowdown", "rate"};

bool cot_word_read(const char *text, const char *const *words, unsigned n, unsigned *ret_number)
{
	unsigned i;

	for (i = 0; text && i < n; i++) {
		if (!strcmp(text, words[i])) {
			*ret_number = i;
			return true;
		}
	}
	return false;
}

bool cot_class_read(const char *text, enum cot_class *ret_cls)
{
	unsigned cls;

	if (!cot_word_read(text, cot_class_words, COT_ARRAY_LEN(cot_class_words), &cls))
		return false;
	*ret_cls = (enum cot_class)cls;
	return true;
}

bool cot_share_read(const char *text, struct cot_share *ret_share)
{
	uint32_t n = 0;
	bool percent;

	if (*text == '0')
		return false;
	for (; *text >= '0' && *text <= '9' && n <= COT_SMS_MAX; text++)
		n = 10 * n + (uint32_t)(*text - '0');
	percent = !strcmp(text, "%");
	if (!n || n > (percent ? 100 : COT_SMS_MAX) || (!percent && strcmp(text, "sm") != 0))
		return false;
	*ret_share = percent ? (struct cot_share){.pct = (uint16_t)n}
			     : (struct cot_share){.sms = (uint16_t)n};
	return true;
}

const char *cot_share_word(struct cot_share share, char buf[COT_SHARE_WORD_MAX])
{
	buf[0] = '\0';
	if (share.sms || share.pct)
		(void)snprintf(buf, COT_SHARE_WORD_MAX, "%u%s", share.sms ? share.sms : share.pct,
			       share.sms ? "sm" : "%");
	return buf;
}

bool cot_target_read(enum cot_target_kind kind, const char *text, struct cot_target *ret_target)
{
	/* What its amounts count, and the unit that users write. */
	static const struct {
		enum cot_unit amount, written;
	} units[] = {
		[COT_TARGET_P99] = {COT_UNIT_US, COT_UNIT_NONE}, /* any time */
		[COT_TARGET_SLOWDOWN] = {COT_UNIT_PERMILLE, COT_UNIT_TIMES},
		[COT_TARGET_RATE] = {COT_UNIT_PERMILLE, COT_UNIT_PERCENT},
	};
	struct cot_target target = {.kind = kind};
	struct cot_quantity q;

	if (kind == COT_TARGET_NONE || !cot_quantity_read(text, units[kind].amount, &q))
		return false;
	if (q.unit == COT_UNIT_NONE || !q.is_whole || q.whole > UINT32_MAX ||
	    (units[kind].written != COT_UNIT_NONE && q.unit != units[kind].written))
		return false;
	target.amount = (uint32_t)q.whole;
	if (!cot_target_is_valid(target))
		return false;
	*ret_target = target;
	return true;
}

/* In 1/1000 of the unit; no zeros at the end. */
static void write_milli(char buf[COT_TARGET_WORD_MAX], uint32_t milli, const char *unit)
{
	char digits[8];
	int n = 3;

	(void)snprintf(digits, sizeof(digits), "%03u", milli % 1000);
	while (n && digits[n - 1] == '0')
		n--;
	(void)snprintf(buf, COT_TARGET_WORD_MAX, "%u%s%.*s%s", milli / 1000, n ? "." : "", n,
		       digits, unit);
}

const char *cot_target_word(struct cot_target target, char buf[COT_TARGET_WORD_MAX])
{
	buf[0] = '\0';
	if (target.kind == COT_TARGET_P99 && target.amount < 1000)
		(void)snprintf(buf, COT_TARGET_WORD_MAX, "%uus", target.amount);
	else if (target.kind == COT_TARGET_P99 && target.amount >= 1000000 &&
		 !(target.amount % 1000))
		write_milli(buf, target.amount / 1000, "s");
	else if (target.kind == COT_TARGET_P99)
		write_milli(buf, target.amount, "ms");
	else if (target.kind == COT_TARGET_SLOWDOWN)
		write_milli(buf, target.amount, "x");
	else if (target.kind == COT_TARGET_RATE)
		write_milli(buf, target.amount * 100, "%");
	return buf;
}

const char *cot_target_example(enum cot_target_kind kind)
{
	static const char *const examples[] = {"none", "a time such as 5ms",
					       "a multiple such as 1.5x", "a share such as 80%"};

	return examples[kind];
}
