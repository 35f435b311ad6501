#include "ptx/names.h"

#include <errno.h>
#include <string.h>

#define FIRST_SLOTS 256u /* powers of two */
#define WORD_SLOTS  2048u

struct slot {
	const char *text; /* NULL: free */
	uint32_t length;
	uint32_t scope;
	uint64_t hash;
	bool range;
	struct cot_ptx_name name;
};

struct cot_ptx_names {
	struct cot_arena *arena;
	struct slot *slots;
	size_t n_slots, n_used;
};

static uint64_t hash_text(struct cot_ptx_str text)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */
	size_t i;

	for (i = 0; i < text.length; i++)
		h = (h ^ (unsigned char)text.at[i]) * 0x100000001b3ull;
	return h;
}

/* The table is a power of two: the low bits have to depend on all. */
static uint64_t hash_in(uint64_t h, uint32_t scope, bool range)
{
	h = (h ^ scope ^ ((uint64_t)range << 32)) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

struct cot_ptx_names *cot_ptx_names_create(struct cot_arena *arena)
{
	struct cot_ptx_names *names = cot_arena_alloc(arena, sizeof(*names));

	if (!names)
		return NULL;
	names->arena = arena;
	names->n_slots = FIRST_SLOTS;
	names->slots = cot_arena_alloc_array(arena, FIRST_SLOTS, sizeof(names->slots[0]));
	return names->slots ? names : NULL;
}

/* The slot of a name, or the free one where it belongs. */
static struct slot *slot_of(const struct cot_ptx_names *names, uint64_t hash, uint32_t scope,
			    bool range, struct cot_ptx_str text)
{
	size_t mask = names->n_slots - 1, i = (size_t)hash & mask;
	struct slot *s;

	for (;; i = (i + 1) & mask) {
		s = &names->slots[i];
		if (!s->text)
			return s;
		if (s->hash == hash && s->scope == scope && s->range == range &&
		    s->length == text.length && !memcmp(s->text, text.at, text.length))
			return s;
	}
}

static int make_room(struct cot_ptx_names *names)
{
	size_t i, n_old = names->n_slots;
	struct slot *old = names->slots;

	if (names->n_used < n_old / 4 * 3)
		return 0;
	names->slots = cot_arena_alloc_array(names->arena, n_old * 2, sizeof(*old));
	if (!names->slots) {
		names->slots = old;
		return -ENOMEM;
	}
	names->n_slots = n_old * 2;
	for (i = 0; i < n_old; i++)
		if (old[i].text)
			*slot_of(names, old[i].hash, old[i].scope, old[i].range,
				 (struct cot_ptx_str){old[i].text, old[i].length}) = old[i];
	return 0;
}

int cot_ptx_names_set(struct cot_ptx_names *names, const struct cot_ptx_scope *scope, bool range,
		      struct cot_ptx_str text, struct cot_ptx_name name)
{
	uint32_t id = scope ? scope->id : 0;
	uint64_t hash = hash_in(hash_text(text), id, range);
	struct slot *s;
	int r = make_room(names);

	if (r)
		return r;
	s = slot_of(names, hash, id, range, text);
	if (!s->text)
		names->n_used++;
	*s = (struct slot){text.at, (uint32_t)text.length, id, hash, range, name};
	return 0;
}

static struct cot_ptx_name get(const struct cot_ptx_names *names, uint32_t scope, bool range,
			       uint64_t text_hash, struct cot_ptx_str text)
{
	static const struct cot_ptx_name none = {COT_PTX_NAME_NONE, NULL};
	const struct slot *s = slot_of(names, hash_in(text_hash, scope, range), scope, range, text);

	return s->text && s->name.what ? s->name : none;
}

struct cot_ptx_name cot_ptx_names_get(const struct cot_ptx_names *names,
				      const struct cot_ptx_scope *scope, bool range,
				      struct cot_ptx_str text)
{
	return get(names, scope ? scope->id : 0, range, hash_text(text), text);
}

struct cot_ptx_name cot_ptx_names_find(const struct cot_ptx_names *names,
				       const struct cot_ptx_scope *scope, struct cot_ptx_str text)
{
	uint64_t hash = hash_text(text);
	struct cot_ptx_name name;

	for (; scope; scope = scope->parent) {
		name = get(names, scope->id, false, hash, text);
		if (name.kind)
			return name;
	}
	return get(names, 0, false, hash, text);
}

#define INDEX_DIGITS_MAX 9

/* The register %r12 of a range %r<...> of this block; or %r1<...>, then it is number 2 of that. */
static uint32_t find_in_range(const struct cot_ptx_names *names, const struct cot_ptx_scope *scope,
			      struct cot_ptx_str text)
{
	uint32_t index = 0, unit = 1;
	size_t n = text.length;

	while (n > 1 && text.at[n - 1] >= '0' && text.at[n - 1] <= '9' &&
	       text.length - n < INDEX_DIGITS_MAX) {
		const struct cot_ptx_reg_decl *decl;
		struct cot_ptx_name name;
		char c = text.at[--n];

		index += (uint32_t)(c - '0') * unit;
		unit *= 10;
		if (c == '0' && n + 1 < text.length)
			continue; /* no leading zeros */
		name = get(names, scope->id, true, hash_text((struct cot_ptx_str){text.at, n}),
			   (struct cot_ptx_str){text.at, n});
		decl = name.what;
		if (name.kind == COT_PTX_NAME_REG && index < decl->count)
			return decl->first + index;
	}
	return COT_PTX_NO_REG;
}

uint32_t cot_ptx_names_find_reg(const struct cot_ptx_names *names,
				const struct cot_ptx_scope *scope, struct cot_ptx_str text)
{
	uint64_t hash = hash_text(text);

	for (; scope; scope = scope->parent) {
		struct cot_ptx_name name = get(names, scope->id, false, hash, text);
		uint32_t reg;

		if (name.kind == COT_PTX_NAME_REG)
			return ((const struct cot_ptx_reg_decl *)name.what)->first;
		if (name.kind)
			return COT_PTX_NO_REG;
		reg = find_in_range(names, scope, text);
		if (reg != COT_PTX_NO_REG)
			return reg;
	}
	return COT_PTX_NO_REG;
}

/* ---- words of the tables ---- */

enum word_kind { WORD_FREE, WORD_OP, WORD_MOD, WORD_SREG };

struct word {
	const char *text;
	uint16_t kind, value;
};

struct cot_ptx_words {
	struct word slots[WORD_SLOTS];
};

static void add_word(struct cot_ptx_words *w, enum word_kind kind, const char *text, unsigned value)
{
	size_t i = hash_in(hash_text(cot_ptx_str(text)), kind, false) & (WORD_SLOTS - 1);

	while (w->slots[i].text)
		i = (i + 1) & (WORD_SLOTS - 1);
	w->slots[i] = (struct word){text, (uint16_t)kind, (uint16_t)value};
}

/* Opcodes with two spellings; the other one is printed. */
static const struct {
	const char *text;
	enum cot_ptx_op op;
} aliases[] = {
	{"bar.cta.sync", COT_PTX_OP_BAR_SYNC},
	{"bar.cta.arrive", COT_PTX_OP_BAR_ARRIVE},
	{"bar.cta.red", COT_PTX_OP_BAR_RED},
	{"barrier.cta.sync", COT_PTX_OP_BARRIER_SYNC},
	{"barrier.cta.arrive", COT_PTX_OP_BARRIER_ARRIVE},
	{"barrier.cta.red", COT_PTX_OP_BARRIER_RED},
};

struct cot_ptx_words *cot_ptx_words_create(struct cot_arena *arena)
{
	struct cot_ptx_words *w = cot_arena_alloc(arena, sizeof(*w));
	unsigned i;

	_Static_assert(COT_PTX_N_OPS + COT_PTX_N_MODS + COT_PTX_N_SREGS < WORD_SLOTS / 2,
		       "the table of words stays half empty");
	if (!w)
		return NULL;
	for (i = 0; i < COT_PTX_N_OPS; i++)
		add_word(w, WORD_OP, cot_ptx_op_info((enum cot_ptx_op)i)->name, i);
	for (i = 0; i < COT_ARRAY_LEN(aliases); i++)
		add_word(w, WORD_OP, aliases[i].text, aliases[i].op);
	for (i = COT_PTX_NO_MOD + 1; i < COT_PTX_N_MODS; i++)
		if (i != COT_PTX_MOD_SHAPE && i != COT_PTX_MOD_TYPE)
			add_word(w, WORD_MOD, cot_ptx_mod_name((enum cot_ptx_mod)i), i);
	for (i = 0; i < COT_PTX_N_SREGS; i++)
		add_word(w, WORD_SREG, cot_ptx_sreg_name((enum cot_ptx_sreg)i), i);
	return w;
}

static const struct word *next_word(const struct cot_ptx_words *w, enum word_kind kind,
				    struct cot_ptx_str text, size_t *at)
{
	size_t i = *at;

	for (; w->slots[i].text; i = (i + 1) & (WORD_SLOTS - 1)) {
		if (w->slots[i].kind != kind || !cot_ptx_str_is(text, w->slots[i].text))
			continue;
		*at = (i + 1) & (WORD_SLOTS - 1);
		return &w->slots[i];
	}
	return NULL;
}

static size_t word_start(enum word_kind kind, struct cot_ptx_str text)
{
	return hash_in(hash_text(text), kind, false) & (WORD_SLOTS - 1);
}

enum cot_ptx_op cot_ptx_words_op(const struct cot_ptx_words *w, struct cot_ptx_str text)
{
	size_t at = word_start(WORD_OP, text);
	const struct word *word = next_word(w, WORD_OP, text, &at);

	return word ? (enum cot_ptx_op)word->value : COT_PTX_N_OPS;
}

enum cot_ptx_mod cot_ptx_words_mod(const struct cot_ptx_words *w, struct cot_ptx_str text,
				   uint64_t classes)
{
	size_t at = word_start(WORD_MOD, text);
	const struct word *word;

	while ((word = next_word(w, WORD_MOD, text, &at))) {
		enum cot_ptx_mod mod = (enum cot_ptx_mod)word->value;

		if (classes >> cot_ptx_mod_class(mod) & 1)
			return mod;
	}
	return COT_PTX_NO_MOD;
}

/* The number after %envreg and %pm; 255 when it is none below `limit`. */
static uint8_t small_number(struct cot_ptx_str text, unsigned limit)
{
	unsigned n = 0;
	size_t i;

	if (!text.length || text.length > 2 || (text.length == 2 && text.at[0] == '0'))
		return COT_PTX_WHOLE;
	for (i = 0; i < text.length; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return COT_PTX_WHOLE;
		n = n * 10 + (unsigned)(text.at[i] - '0');
	}
	return n < limit ? (uint8_t)n : COT_PTX_WHOLE;
}

enum cot_ptx_sreg cot_ptx_words_sreg(const struct cot_ptx_words *w, struct cot_ptx_str text,
				     uint8_t *ret_part)
{
	static const struct {
		const char *text;
		enum cot_ptx_sreg sreg;
		unsigned n;
	} numbered[] = {{"%envreg", COT_PTX_SREG_ENVREG, 32}, {"%pm", COT_PTX_SREG_PM, 8}};
	size_t at = word_start(WORD_SREG, text);
	const struct word *word = next_word(w, WORD_SREG, text, &at);
	unsigned i;

	*ret_part = COT_PTX_WHOLE;
	if (word)
		return word->value == COT_PTX_SREG_ENVREG || word->value == COT_PTX_SREG_PM
			       ? COT_PTX_N_SREGS
			       : (enum cot_ptx_sreg)word->value;
	for (i = 0; i < COT_ARRAY_LEN(numbered); i++) {
		size_t n = strlen(numbered[i].text);

		if (text.length <= n || memcmp(text.at, numbered[i].text, n))
			continue;
		*ret_part = small_number((struct cot_ptx_str){text.at + n, text.length - n},
					 numbered[i].n);
		return *ret_part == COT_PTX_WHOLE ? COT_PTX_N_SREGS : numbered[i].sreg;
	}
	return COT_PTX_N_SREGS;
}
