/*
 * Options that are written wrong: argp names them, this says which one was meant.
 */
#include "cli/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text/nearest.h"

/* What argp adds itself. */
static const struct argp_option own_options[] = {
	{.name = "help"}, {.name = "usage"}, {.name = "version"}, {0}};
static const struct argp own_argp = {.options = own_options};

struct search {
	const char *name; /* of an option, NULL: `key` counts */
	size_t n_name;
	int key;
	bool found, takes_next; /* the next word is its argument */
	struct cot_nearest *near;
};

static bool is_end(const struct argp_option *o)
{
	return !o->key && !o->name && !o->doc && !o->group;
}

static bool matches(const struct search *s, const struct argp_option *o)
{
	if (!s->name)
		return o->key == s->key;
	return o->name && !strncmp(o->name, s->name, s->n_name);
}

static void look(struct search *s, const struct argp *argp)
{
	const struct argp_option *o, *real = argp->options;
	const struct argp_child *child;

	for (o = argp->options; o && !is_end(o); o++) {
		if (!(o->flags & OPTION_ALIAS))
			real = o;
		if (s->near && o->name && !(o->flags & OPTION_HIDDEN))
			cot_nearest_try(s->near, o->name);
		if (!matches(s, o))
			continue;
		s->found = true;
		s->takes_next = real->arg && !(real->flags & OPTION_ARG_OPTIONAL);
	}
	for (child = argp->children; child && child->argp; child++)
		look(s, child->argp);
}

/* `-xyz`: of letters that take an argument the last one may take the next word. */
static bool letters_take_next(const struct argp *argp, const char *letters)
{
	for (; *letters; letters++) {
		struct search s = {.key = *letters};

		look(&s, argp);
		if (!s.found)
			return false;
		if (s.takes_next)
			return !letters[1];
	}
	return false;
}

static bool is_known(const struct argp *argp, const char *option, bool *ret_takes_next,
		     struct cot_nearest *near, char *word, size_t size)
{
	struct search s = {.name = option + 2, .n_name = strcspn(option + 2, "="), .near = near};

	(void)snprintf(word, size, "%.*s", (int)s.n_name, s.name);
	near->word = word;
	look(&s, argp);
	look(&s, &own_argp);
	*ret_takes_next = s.takes_next && !s.name[s.n_name];
	return s.found;
}

bool cot_options_hint(const struct argp *argp, int argc, char **argv, unsigned flags, FILE *out)
{
	struct cot_nearest near;
	char word[COT_NEAREST_LETTERS + 2];
	bool takes_next;
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (flags & ARGP_IN_ORDER)
				return false;
			continue;
		}
		if (argv[i][1] != '-') {
			i += letters_take_next(argp, argv[i] + 1);
			continue;
		}
		near = (struct cot_nearest){0};
		if (is_known(argp, argv[i], &takes_next, &near, word, sizeof(word))) {
			i += takes_next;
			continue;
		}
		if (!near.found)
			return false;
		(void)fprintf(out,
			      "%s: there is no option '--%s' (did you mean '--%s'?)\n"
			      "Try `%s --help' for more information.\n",
			      argv[0], word, near.found, argv[0]);
		return true;
	}
	return false;
}
