#include "emu/gpu/load.h"

#include <string.h>

/* Loads are counted in so many parts of a thousandth, as averages need not be whole. */
#define FINE  1024u
#define WHOLE ((uint64_t)COT_EMU_WHOLE_GPU * FINE)

void cot_emu_load_init(struct cot_emu_load *l, uint32_t n_sms)
{
	l->n_sms = n_sms < COT_EMU_SMS_MOST ? n_sms : COT_EMU_SMS_MOST;
	l->everywhere = 0;
	l->parted = false;
}

static bool has_part(const struct cot_emu_kernel *k)
{
	const struct cot_emu_sms none = {{0}};

	return !cot_emu_sms_equal(&k->sms, &none);
}

void cot_emu_load_add(struct cot_emu_load *l, const struct cot_emu_kernel *k)
{
	uint32_t sm;

	if (!has_part(k)) {
		l->everywhere += k->demand;
		return;
	}
	if (!l->parted)
		memset(l->on, 0, l->n_sms * sizeof(l->on[0]));
	l->parted = true;
	for (sm = 0; sm < l->n_sms; sm++)
		if (cot_emu_sms_has(&k->sms, sm))
			l->on[sm] += k->demand;
}

bool cot_emu_load_is_none(const struct cot_emu_load *l)
{
	return !l->everywhere && !l->parted;
}

/* The load of one SM on the others is never less than its whole time. */
static uint64_t at_least_whole(uint64_t load)
{
	return load > COT_EMU_WHOLE_GPU ? load : COT_EMU_WHOLE_GPU;
}

/*
 * The load that slows the kernel down, in parts of FINE: the harmonic mean over its SMs, since the
 * work that they do adds up. Where all have the same load, it is exact.
 */
static uint64_t load_on(const struct cot_emu_load *l, const struct cot_emu_kernel *k)
{
	const uint64_t one = 1ull << 50;
	uint64_t least = UINT64_MAX, most = 0, done = 0, n = 0, load;
	bool part = has_part(k);
	uint32_t sm;

	if (!l->parted)
		return at_least_whole(l->everywhere) * FINE;
	for (sm = 0; sm < l->n_sms; sm++) {
		if (part && !cot_emu_sms_has(&k->sms, sm))
			continue;
		load = at_least_whole(l->everywhere + l->on[sm]);
		least = load < least ? load : least;
		most = load > most ? load : most;
		done += one / load;
		n++;
	}
	if (least >= most) /* the same everywhere, or no SM that there is */
		return at_least_whole(most) * FINE;
	return (uint64_t)((cot_u128)n * one * FINE / done);
}

uint64_t cot_emu_load_time(const struct cot_emu_load *l, const struct cot_emu_kernel *k,
			   uint64_t work_ns)
{
	return (uint64_t)(((cot_u128)work_ns * load_on(l, k) + WHOLE - 1) / WHOLE);
}

uint64_t cot_emu_load_work(const struct cot_emu_load *l, const struct cot_emu_kernel *k,
			   uint64_t time_ns)
{
	return (uint64_t)((cot_u128)time_ns * WHOLE / load_on(l, k));
}

uint64_t cot_emu_load_busy(const struct cot_emu_load *l, uint64_t time_ns)
{
	uint64_t sum = 0, load;
	uint32_t sm;

	for (sm = 0; sm < l->n_sms && l->parted; sm++) {
		load = l->everywhere + l->on[sm];
		sum += load < COT_EMU_WHOLE_GPU ? load : COT_EMU_WHOLE_GPU;
	}
	if (l->parted)
		return time_ns * (sum / l->n_sms) / COT_EMU_WHOLE_GPU;
	return time_ns * (l->everywhere < COT_EMU_WHOLE_GPU ? l->everywhere : COT_EMU_WHOLE_GPU) /
	       COT_EMU_WHOLE_GPU;
}
