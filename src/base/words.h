/*
 * The words of classes, modes, shares and kinds of targets, and shares in 16 bits, for everyone:
 * "latency", "batch"; "drain"; "50%", "66sm"; "p99". libc only; pure.
 */
#ifndef COT_BASE_WORDS_H
#define COT_BASE_WORDS_H

#include <cotenant/words.h>
#include <stdbool.h>

/* The words, by number. */
extern const char *const cot_class_words[2];
extern const char *const cot_mode_words[3];
extern const char *const cot_target_words[4];

/* Finds `text` among the words. False: it is none of them, or NULL. */
bool cot_word_read(const char *text, const char *const *words, unsigned n, unsigned *ret_number);
bool cot_class_read(const char *text, enum cot_class *ret_cls);

/* 1 to 100 percent, or 1 to COT_SMS_MAX SMs. False: the text is no share. */
bool cot_share_read(const char *text, struct cot_share *ret_share);
/* As it was written; "" for none. */
#define COT_SHARE_WORD_MAX 8
const char *cot_share_word(struct cot_share share, char buf[COT_SHARE_WORD_MAX]);

/* Within those bounds, or none. */
static inline bool cot_share_is_valid(struct cot_share share)
{
	return share.pct <= 100 && share.sms <= COT_SMS_MAX && (!share.pct || !share.sms);
}

/* Within the bounds of its kind. */
static inline bool cot_target_is_valid(struct cot_target target)
{
	switch (target.kind) {
	case COT_TARGET_NONE:
		return !target.amount;
	case COT_TARGET_P99:
		return target.amount && target.amount <= COT_TARGET_P99_US_MAX;
	case COT_TARGET_SLOWDOWN:
		return target.amount >= COT_TARGET_SLOWDOWN_PML_MIN &&
		       target.amount <= COT_TARGET_SLOWDOWN_PML_MAX;
	case COT_TARGET_RATE:
		return target.amount && target.amount <= COT_TARGET_RATE_PML_MAX;
	default:
		return false;
	}
}
/* As users write them: a p99 as "5ms", "800us", "1.5s"; a slowdown as "1.5x"; a rate as "80%".
 * False: the text is none of that kind. */
bool cot_target_read(enum cot_target_kind kind, const char *text, struct cot_target *ret_target);
/* The amount, so that it can be read again; "" for none. */
#define COT_TARGET_WORD_MAX 16
const char *cot_target_word(struct cot_target target, char buf[COT_TARGET_WORD_MAX]);
/* What is expected of that kind, for messages: "a time such as 5ms". */
const char *cot_target_example(enum cot_target_kind kind);
/* A rate is about launches. */
static inline bool cot_target_is_of_requests(struct cot_target target)
{
	return target.kind == COT_TARGET_P99 || target.kind == COT_TARGET_SLOWDOWN;
}

/* The shorter of two p99s; who has no target goes with the other. Another kind is not compared. */
static inline struct cot_target cot_target_shorter(struct cot_target own, struct cot_target other)
{
	bool is_shorter = own.kind == COT_TARGET_NONE ||
			  (own.kind == COT_TARGET_P99 && other.amount < own.amount);

	return other.kind == COT_TARGET_P99 && is_shorter ? other : own;
}

/* Requests of latency programs have a p99; of batch programs only how fast they get on counts. */
#define COT_TARGET_UNSUITED \
	"only a latency program has a p99 or a slowdown; a batch program may have a rate"
static inline bool cot_target_suits(enum cot_target_kind kind, enum cot_class cls)
{
	return cls == COT_CLASS_LATENCY || kind == COT_TARGET_NONE || kind == COT_TARGET_RATE;
}

/* In messages and files: 0 = none; 1..100 = percent; COT_SHARE_SMS | n = n SMs. */
#define COT_SHARE_SMS 0x8000u
static inline uint16_t cot_share_pack(struct cot_share share)
{
	return share.sms ? (uint16_t)(COT_SHARE_SMS | share.sms) : share.pct;
}
static inline struct cot_share cot_share_unpack(uint16_t packed)
{
	if (packed & COT_SHARE_SMS)
		return (struct cot_share){.sms = (uint16_t)(packed & ~COT_SHARE_SMS)};
	return (struct cot_share){.pct = packed};
}

#endif
