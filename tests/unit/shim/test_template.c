/*
 * Rewritten modules on disk: their bytes, and the directory. The units are in a shared library, so
 * their sources are here.
 */
#include <sys/wait.h>

#include "no_merge.h"
#include "notes.h"

#include "guest/shim/kept.c"
#include "guest/shim/rewrite.c"
#include "guest/shim/store.c"
#include "guest/shim/template.c"

static const char text[] =
	".version 8.4\n.target sm_90\n.address_size 64\n"
	".global .u32 v;\n"
	".entry one(.param .u8 a, .param .u64 b) {\n"
	"  .reg .pred %p; .reg .u32 %r<3>; .shared .align 4 .b8 s[64];\n"
	"  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.y;\n"
	"L: add.u32 %r1, %r1, %r2; setp.lt.u32 %p, %r1, 9; @%p bra L; bar.sync 0; ret;\n}\n"
	".entry two(.param .u32 a) { ret; }\n"
	".entry waits() { .reg .u32 %a; griddepcontrol.wait; ret; }\n";

struct cot_settings cot_shim_settings;
static unsigned n_template[COT_SHIM_N_TEMPLATE];
static char cache[128], key[COT_SHA256_TEXT];

void cot_shim_count_why(enum cot_shim_why why)
{
	note("why %u;", why);
}

void cot_shim_count_refused(unsigned reason)
{
	note("refused %s;", cot_reason_name((enum cot_reason)reason));
}

void cot_shim_count_template(enum cot_shim_template what)
{
	n_template[what]++;
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)fmt;
	assert_int_equal(level, COT_LOG_INFO);
}

static int set_up(void **state)
{
	(void)state;
	written[0] = '\0';
	memset(n_template, 0, sizeof(n_template));
	(void)snprintf(cache, sizeof(cache), "%s/test_template.XXXXXX",
		       getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
	assert_non_null(mkdtemp(cache));
	(void)snprintf(cot_shim_settings.templates, sizeof(cot_shim_settings.templates), "%s",
		       cache);
	(void)cot_shim_template_key(text, strlen(text), 84, 90, key);
	return 0;
}

static int tear_down(void **state)
{
	char command[160];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", cache);
	return system(command);
}

static void expect(unsigned found, unsigned new, unsigned ignored, unsigned not_kept)
{
	assert_int_equal(n_template[COT_SHIM_TEMPLATE_FOUND], found);
	assert_int_equal(n_template[COT_SHIM_TEMPLATE_MADE], new);
	assert_int_equal(n_template[COT_SHIM_TEMPLATE_IGNORED], ignored);
	assert_int_equal(n_template[COT_SHIM_TEMPLATE_NOT_KEPT], not_kept);
	memset(n_template, 0, sizeof(n_template));
}

static void get_kept(struct cot_shim_rewritten *ret)
{
	written[0] = '\0';
	assert_int_equal(cot_shim_rewrite_kept(text, strlen(text), 84, 90, ret), 0);
	expect_done("refused griddepcontrol;");
}

static void get_it(void)
{
	struct cot_shim_rewritten r;

	get_kept(&r);
	cot_shim_rewritten_finish(&r);
}

static void expect_same(const struct cot_shim_rewritten *a, const struct cot_shim_rewritten *b)
{
	unsigned i, j;

	assert_string_equal(a->text, b->text);
	assert_string_equal(a->suffix, b->suffix);
	assert_int_equal(a->n_kernels, b->n_kernels);
	assert_int_equal(a->n_fused, b->n_fused);
	assert_memory_equal(a->fused, b->fused, sizeof(a->fused));
	assert_int_equal(a->n_refusals, b->n_refusals);
	for (i = 0; i < a->n_kernels; i++) {
		const struct cot_shim_kernel *k = &a->kernels[i], *l = &b->kernels[i];

		assert_string_equal(k->name, l->name);
		assert_int_equal(k->n_params, l->n_params);
		assert_int_equal(k->args_at, l->args_at);
		assert_int_equal(k->params_bytes, l->params_bytes);
		assert_int_equal(k->align, l->align);
		assert_int_equal(k->index, l->index);
		for (j = 0; j < k->n_params; j++) {
			assert_int_equal(k->params[j].at, l->params[j].at);
			assert_int_equal(k->params[j].bytes, l->params[j].bytes);
		}
	}
}

static void the_next_process(void **state)
{
	struct cot_shim_rewritten a, b;

	(void)state;
	get_kept(&a);
	expect(0, 1, 0, 0);
	get_kept(&b);
	expect(1, 0, 0, 0);
	assert_int_equal(a.n_kernels, 2);
	assert_int_equal(a.n_fused, 1);
	assert_int_equal(a.n_refusals, 1);
	expect_same(&a, &b);
	cot_shim_rewritten_finish(&a);
	cot_shim_rewritten_finish(&b);
}

/* What is made of a text must not change without another version. If this fails and the passes make
 * something else on purpose, raise COT_SHIM_MERGE_VERSION and write the new digest here. */
static void the_version(void **state)
{
	struct cot_shim_rewritten r;
	char sum[COT_SHA256_TEXT];

	(void)state;
	get_kept(&r);
	assert_int_equal(COT_SHIM_MERGE_VERSION, 2);
	assert_string_equal(cot_sha256(r.text, strlen(r.text), sum),
			    "db27756f548f18ca9f7e11a7829bce676892d2eb63a19d982d278619fbd47a8e");
	cot_shim_rewritten_finish(&r);
}

static void keys(void **state)
{
	char other[COT_SHA256_TEXT];

	(void)state;
	assert_string_not_equal(cot_shim_template_key(text, strlen(text), 85, 90, other), key);
	assert_string_not_equal(cot_shim_template_key(text, strlen(text), 84, 100, other), key);
	assert_string_not_equal(cot_shim_template_key(text, strlen(text) - 1, 84, 90, other), key);
	assert_string_equal(cot_shim_template_key(text, strlen(text), 84, 90, other), key);
}

/* Each byte that is another, and each that is missing, is noticed. */
static void damaged(void **state)
{
	struct cot_shim_rewritten r, again;
	unsigned char *bytes;
	size_t n, i;

	(void)state;
	get_kept(&r);
	assert_int_equal(cot_shim_template_write(&r, key, &bytes, &n), 0);
	cot_shim_rewritten_finish(&r);
	for (i = 0; i < n; i += 7) {
		bytes[i] ^= 1;
		assert_int_equal(cot_shim_template_read(bytes, n, key, &again), -EINVAL);
		bytes[i] ^= 1;
		assert_int_equal(cot_shim_template_read(bytes, i, key, &again), -EINVAL);
	}
	assert_int_equal(cot_shim_template_read(bytes, n, key, &again), 0);
	cot_shim_rewritten_finish(&again);
	free(bytes);
}

static const char *path_of(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/cotenant%s%s", cache, *name ? "/templates/" : "",
		       name);
	return path;
}

static void whose_files(void **state)
{
	(void)state;
	get_it();
	expect(0, 1, 0, 0);
	/* Others may have written it. */
	assert_int_equal(chmod(path_of(key), 0666), 0);
	get_it();
	expect(0, 1, 1, 0);
	get_it();
	expect(1, 0, 0, 0);
	/* A pipe does not make it wait; a directory stays. */
	assert_int_equal(unlink(path_of(key)), 0);
	assert_int_equal(mkfifo(path_of(key), 0600), 0);
	get_it();
	expect(0, 1, 1, 0);
	assert_int_equal(unlink(path_of(key)), 0);
	assert_int_equal(mkdir(path_of(key), 0700), 0);
	get_it();
	expect(0, 1, 1, 1);
	assert_int_equal(rmdir(path_of(key)), 0);
	get_it();
	expect(0, 1, 0, 0);
	assert_int_equal(chmod(path_of("."), 0777), 0);
	get_it();
	expect(0, 1, 0, 1);
}

static void whose_directory(void **state)
{
	(void)state;
	assert_int_equal(symlink("/tmp", path_of("")), 0);
	get_it();
	expect(0, 1, 0, 1);
	assert_int_equal(unlink(path_of("")), 0);
	get_it();
	expect(0, 1, 0, 0);
	cot_shim_settings.templates[0] = '\0';
	get_it();
	expect(0, 0, 0, 0);
}

/* Root may write anywhere: another user, then. */
static void read_only(void **state)
{
	pid_t child;
	int status;

	(void)state;
	get_it();
	child = fork();
	if (!child) {
		if (!geteuid() && (chown(cache, 65534, 65534) || chown(path_of(""), 65534, 65534) ||
				   chown(path_of("."), 65534, 65534) ||
				   chown(path_of(key), 65534, 65534) || seteuid(65534)))
			_exit(1);
		(void)chmod(path_of("."), 0500);
		memset(n_template, 0, sizeof(n_template));
		get_it();
		expect(1, 0, 0, 0);
		(void)cot_shim_template_key(text, strlen(text), 85, 90, key);
		int dir = cot_shim_store_open(cache);

		_exit(dir < 0 || cot_shim_store_save(dir, key, "x", 1) != -EACCES);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	(void)chmod(path_of("."), 0700);
}

/* The oldest goes, which is the one that was used longest ago. */
static void full(void **state)
{
	static unsigned char bytes[COT_SHIM_STORE_FILE_BYTES];
	const struct timespec past[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	int dir = cot_shim_store_open(cache);
	char name[8] = "file0";
	unsigned char *got;
	size_t n;

	(void)state;
	assert_true(dir >= 0);
	for (name[4] = '0'; name[4] < '4'; name[4]++) {
		assert_int_equal(cot_shim_store_save(dir, name, bytes, sizeof(bytes)), 0);
		assert_int_equal(utimensat(dir, name, past, 0), 0);
	}
	name[4] = '0';
	assert_int_equal(cot_shim_store_load(dir, name, &got, &n), 0);
	free(got);
	assert_int_equal(cot_shim_store_save(dir, "new", bytes, 1), 0);
	assert_int_equal(faccessat(dir, name, F_OK, 0), 0);
	assert_int_equal(faccessat(dir, "new", F_OK, 0), 0);
	n = 0;
	for (name[4] = '1'; name[4] < '4'; name[4]++)
		n += !faccessat(dir, name, F_OK, 0);
	assert_int_equal(n, 2);
	assert_int_equal(cot_shim_store_save(dir, "more", bytes, sizeof(bytes) + 1), -E2BIG);
	close(dir);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_next_process), TEST(the_version),     TEST(keys),	TEST(damaged),
		TEST(whose_files),	TEST(whose_directory), TEST(read_only), TEST(full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
