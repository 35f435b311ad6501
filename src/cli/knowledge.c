#include "cli/knowledge.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cli/common.h"
#include "sim/sweep.h"
#include "text/text.h"

/* A name that would leave the folder, or be hidden in it, is none. */
static int path_of(const char *folder, const struct cot_app *app, char path[PATH_MAX],
		   struct cot_error *err)
{
	char quote[COT_QUOTE_MAX];

	if (*app->name == '.' || strchr(app->name, '/'))
		return cot_error_set(err, -EINVAL,
				     "the app '%s' can have no file of its own; expected a name "
				     "without '/' that does not begin with '.'",
				     cot_text_quote(app->name, quote));
	if (snprintf(path, PATH_MAX, "%s/%s.yaml", folder, app->name) >= PATH_MAX)
		return cot_error_set(err, -ENAMETOOLONG, "the name of the folder is too long");
	return 0;
}

static int write_file(const struct cot_knowledge *k, const char *path, struct cot_error *err)
{
	struct cot_outfile *out;
	int r = cot_outfile_open(path, &out, err);

	if (r)
		return r;
	cot_knowledge_write(k, cot_outfile_stream(out));
	r = cot_outfile_commit(out, err);
	cot_outfile_destroy(out);
	return r;
}

static int learn_one(const struct cot_scenario *sc, uint32_t app, const char *folder,
		     struct cot_knowledge **ret, struct cot_error *err)
{
	char path[PATH_MAX];
	int r = path_of(folder, &sc->apps[app], path, err);

	if (r)
		return r;
	if (cot_sim_sweep(sc, app, ret))
		return cot_error_set(err, -ENOMEM, "out of memory");
	if (*ret)
		return write_file(*ret, path, err);
	cot_cli_complain("'%s' takes too long to learn anything of it", sc->apps[app].name);
	return 0;
}

int cot_cli_knowledge_learn(const struct cot_scenario *sc, const char *folder,
			    struct cot_cli_knowledge *ret, struct cot_error *err)
{
	struct cot_progress progress;
	int r = 0;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return cot_error_set(err, -errno, "cannot make the folder %s: %s", folder,
				     strerror(errno));
	cot_progress_init(&progress, "learning");
	for (; !r && ret->n < sc->n_apps; ret->n++) {
		cot_progress_update(&progress, (double)ret->n / sc->n_apps);
		r = learn_one(sc, ret->n, folder, &ret->apps[ret->n], err);
		if (!r && cot_cli_interrupted())
			r = cot_error_set(err, -EINTR, "interrupted; not all was learned");
	}
	cot_progress_finish(&progress);
	return r;
}

int cot_cli_knowledge_read(const struct cot_scenario *sc, const char *folder,
			   struct cot_cli_knowledge *ret, struct cot_error *err)
{
	char path[PATH_MAX];
	int r = 0;

	if (access(folder, X_OK))
		return cot_error_set(err, -errno, "cannot look into the folder %s: %s", folder,
				     strerror(errno));
	for (; !r && ret->n < sc->n_apps; ret->n++) {
		r = path_of(folder, &sc->apps[ret->n], path, err);
		if (!r && !access(path, F_OK))
			r = cot_knowledge_read(path, &ret->apps[ret->n], err);
	}
	return r;
}

void cot_cli_knowledge_finish(struct cot_cli_knowledge *k)
{
	uint32_t i;

	for (i = 0; i < COT_MAX_APPS; i++)
		cot_knowledge_destroy(k->apps[i]);
}
