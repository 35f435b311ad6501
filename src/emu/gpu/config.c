#include "emu/gpu/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers ---- */

enum number { SWITCH_US, DRAINED_US, IDLE_US, CONTROL_US, SCALE, N_GPUS, N_SMS };

/* In thousandths, as are the values. */
static const struct {
	const char *name, *expected;
	uint64_t least, most;
	bool whole;
} numbers[] = {
	[SWITCH_US] = {"COTENANT_EMU_SWITCH_US", "microseconds from 0 to 1000000", 0,
		       1000ull * 1000 * 1000, false},
	[DRAINED_US] = {"COTENANT_EMU_DRAINED_US", "microseconds from 0 to 1000000", 0,
			1000ull * 1000 * 1000, false},
	[IDLE_US] = {"COTENANT_EMU_IDLE_US", "microseconds from 0 to 1000000", 0,
		     1000ull * 1000 * 1000, false},
	[CONTROL_US] = {"COTENANT_EMU_CONTROL_US", "microseconds from 0 to 1000000", 0,
			1000ull * 1000 * 1000, false},
	[SCALE] = {"COTENANT_EMU_SCALE", "a number from 0.01 to 1000", 10, 1000ull * 1000, false},
	[N_GPUS] = {"COTENANT_EMU_GPUS", "a whole number from 1 to 4", 1000,
		    COT_EMU_MAX_GPUS * 1000ull, true},
	[N_SMS] = {"COTENANT_EMU_SMS", "a whole number from 1 to 1024", 1000, 1024 * 1000ull, true},
};

_Static_assert(COT_EMU_MAX_GPUS == 4, "the sentence above says so");

/* What an environment variable says; NULL: it is not set, or empty, which is the same. */
static const char *value_of(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

/* A decimal number with up to three places. */
static bool parse(const char *s, enum number n, uint64_t *ret_milli)
{
	uint64_t v = 0;
	unsigned digits = 0, places = 0;
	bool point = false;

	for (; *s; s++) {
		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (*s < '0' || *s > '9' || ++digits > 15 || (point && ++places > 3))
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	for (; places < 3; places++)
		v *= 10;
	if (!digits || v < numbers[n].least || v > numbers[n].most ||
	    (numbers[n].whole && v % 1000))
		return false;
	*ret_milli = v;
	return true;
}

static uint64_t read_milli(enum number n, uint64_t fallback)
{
	const char *s = value_of(numbers[n].name);
	uint64_t v;

	return s && parse(s, n, &v) ? v : fallback;
}

static uint32_t read_count(enum number n, uint32_t fallback)
{
	return (uint32_t)(read_milli(n, fallback * 1000ull) / 1000);
}

/* ---- words ---- */

#define COMMA ,
static const char *const device_words[] = {COT_EMU_DEVICE_WORDS(COMMA), NULL};
static const char *const check_words[] = {"races", "aligned", NULL};
static const char *const quirk_words[] = {"no-slice",  "no-preempt",	"no-mode",
					  "no-freeze", "hollow-freeze", "any-ptx",
					  "fragile",   "own-split",	NULL};

static const struct {
	const char *name, *expected;
	const char *const *words;
	bool list;
} choices[] = {
	{"COTENANT_EMU_DEVICE", COT_EMU_DEVICE_WORDS(" or "), device_words, false},
	{"COTENANT_EMU_CHECK", "races, aligned, or both with a comma", check_words, true},
	{"COTENANT_EMU_QUIRKS",
	 "no-slice, no-preempt, no-mode, no-freeze, hollow-freeze, any-ptx, fragile or own-split, "
	 "with commas between",
	 quirk_words, true},
};

static bool is_word(const char *const *words, const char *s, size_t n)
{
	for (; *words; words++)
		if (strlen(*words) == n && !strncmp(*words, s, n))
			return true;
	return false;
}

static bool are_words(const char *s, const char *const *words, bool list)
{
	size_t n;

	for (;; s += n + 1) {
		n = list ? strcspn(s, ",") : strlen(s);
		if (!is_word(words, s, n))
			return false;
		if (!s[n])
			return true;
	}
}

static enum cot_emu_preset read_preset(void)
{
	const char *s = getenv("COTENANT_EMU_DEVICE");
	unsigned i;

	for (i = 0; s && i < COT_EMU_N_PRESETS; i++)
		if (!strcmp(s, device_words[i]))
			return i;
	return 0;
}

/* ---- what is wrong ---- */

struct complaint {
	char *text;
	size_t size;
	unsigned n; /* how many are still to be passed over */
};

/* True if it is the requested one. */
static bool complain(struct complaint *c, const char *name, const char *value, const char *expected)
{
	if (c->n--)
		return false;
	(void)snprintf(c->text, c->size, "%s is '%.80s', which counts as not set; expected %s",
		       name, value, expected);
	return true;
}

bool cot_emu_config_wrong(unsigned i, char *text, size_t size)
{
	struct complaint c = {.text = text, .size = size, .n = i};
	const char *s;
	uint64_t v;
	size_t k;

	for (k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
		s = value_of(numbers[k].name);
		if (s && !parse(s, (enum number)k, &v) &&
		    complain(&c, numbers[k].name, s, numbers[k].expected))
			return true;
	}
	for (k = 0; k < sizeof(choices) / sizeof(choices[0]); k++) {
		s = value_of(choices[k].name);
		if (s && !are_words(s, choices[k].words, choices[k].list) &&
		    complain(&c, choices[k].name, s, choices[k].expected))
			return true;
	}
	s = value_of("COTENANT_EMU_SEED");
	return s && !cot_emu_config_seed(&v) &&
	       complain(&c, "COTENANT_EMU_SEED", s, "a whole number of at most 64 bits");
}

/* ---- all of it ---- */

struct cot_emu_config cot_emu_config_read(void)
{
	struct cot_emu_config c = {.params = cot_emu_params_default(), .preset = read_preset()};

	/* A thousandth of a microsecond is a nanosecond. */
	c.params.switch_ns = read_milli(SWITCH_US, COT_EMU_SWITCH_NS);
	c.params.drained_ns = read_milli(DRAINED_US, COT_EMU_DRAINED_NS);
	c.params.idle_ns = read_milli(IDLE_US, 0);
	c.params.n_gpus = read_count(N_GPUS, c.params.n_gpus);
	c.params.n_sms = read_count(N_SMS, cot_emu_devices[c.preset].n_sms);
	c.control_ns = read_milli(CONTROL_US, 100 * 1000);
	c.scale_milli = read_milli(SCALE, 1000);
	return c;
}

int cot_emu_config_dir(char path[PATH_MAX], bool *ret_own)
{
	const char *dir = getenv("COTENANT_EMU_DIR");
	const char *base = access("/dev/shm", W_OK) ? P_tmpdir : "/dev/shm";
	int n;

	if (dir && *dir)
		n = snprintf(path, PATH_MAX, "%s", dir);
	else
		n = snprintf(path, PATH_MAX, "%s/cotenant-emu-%u", base, (unsigned)getuid());
	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	*ret_own = !dir || !*dir;
	return 0;
}

bool cot_emu_config_seed(uint64_t *ret_seed)
{
	const char *s = getenv("COTENANT_EMU_SEED");
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	errno = 0;
	*ret_seed = strtoull(s, &end, 0);
	return !*end && !errno;
}

static bool lists(const char *variable, const char *word)
{
	const char *list = getenv(variable);
	size_t n = strlen(word);

	while (list && *list) {
		if (!strncmp(list, word, n) && (list[n] == ',' || !list[n]))
			return true;
		list = strchr(list, ',');
		if (list)
			list++;
	}
	return false;
}

bool cot_emu_config_quirk(const char *word)
{
	return lists("COTENANT_EMU_QUIRKS", word);
}

bool cot_emu_config_check(const char *word)
{
	return lists("COTENANT_EMU_CHECK", word);
}
