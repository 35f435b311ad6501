#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "kernels/aes.h"
#include "kernels/exact_math.h"
#include "kernels/hexahedron.h"
#include "kernels/host/bench.h"
#include "kernels/monte_carlo.h"
#include "test.h"

/* Table 3 of the SMGuard paper; of its larger program it does not say the grid. */
static void grids_are_those_of_the_paper(void **state)
{
	static const struct {
		const char *name, *entry;
		uint32_t small, large, n_threads;
	} paper[] = {
		{"nn", "euclid", 32768, 32768, 256},
		{"particlefilter", "kernel", 79, 1563, 128},
		{"pathfinder", "dynproc_kernel", 23149, 23149, 256},
		{"myocyte", "solver2", 4, 96, 32},
		{"LULESH", "volume_force", 123, 712, 128},
		{"lavaMD", "kernel_gpu_cuda", 64, 1000, 128},
		{"matrixMul", "matrixMulCUDA", 1024, 16384, 1024},
		{"vectorAdd", "vectorAdd", 156250, 156250, 256},
		{"BlackScholes", "BlackScholesGPU", 39063, 390625, 128},
		{"bfs", "BFS_kernel_warp", 3907, 3907, 1024},
		{"md5hash", "FindKeyWithDigest_Kernel", 2605, 25432, 384},
	};
	unsigned i;

	(void)state;
	assert_int_equal(cot_bench_n_all, COT_ARRAY_LEN(paper));
	for (i = 0; i < cot_bench_n_all; i++) {
		const struct cot_bench *bench = cot_bench_all[i];

		assert_string_equal(bench->name, paper[i].name);
		assert_string_equal(bench->entry, paper[i].entry);
		assert_int_equal(bench->blocks[COT_BENCH_SMALL], paper[i].small);
		assert_int_equal(bench->blocks[COT_BENCH_LARGE], paper[i].large);
		assert_int_equal(bench->n_threads, paper[i].n_threads);
	}
}

static void names_are_found(void **state)
{
	(void)state;
	assert_ptr_equal(cot_bench_find("LAVAmd"), cot_bench_find("lavaMD"));
	assert_non_null(cot_bench_find("lavaMD"));
	assert_null(cot_bench_find("lava"));
	assert_ptr_equal(cot_bench_find("early_return"), cot_bench_shapes[0]);
	assert_null(cot_bench_find(""));
	assert_int_equal(cot_bench_find_size("large"), COT_BENCH_LARGE);
	assert_int_equal(cot_bench_find_size("Large"), COT_BENCH_N_SIZES);
}

/* FIPS 197, appendix C.1: with the seed 0 the key is 00 01 02 ... 0f. */
static void aes_is_the_standards(void **state)
{
	static const uint8_t plain[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					  0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	static const uint8_t cipher[16] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
					   0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
	struct cot_bench_instance in;
	struct cot_error err;
	unsigned block[4];

	(void)state;
	assert_int_equal(cot_bench_create(&in, cot_bench_find("aes"), COT_BENCH_TEST, 0, 0, &err),
			 0);
	memcpy(block, plain, sizeof(block));
	cot_aes_encrypt(in.buffers[2].data, in.buffers[3].data, block);
	assert_memory_equal(block, cipher, sizeof(cipher));
	cot_bench_destroy(&in);
}

/* The vectors that the generator's authors give (Random123, kat_vectors). */
static void random_numbers_are_philox(void **state)
{
	static const struct {
		uint32_t x, y, key, want_x, want_y;
	} vectors[] = {
		{0, 0, 0, 0xff1dae59, 0x6cd10df2},
		{UINT32_MAX, UINT32_MAX, UINT32_MAX, 0x2c3f628b, 0xab4fd7ad},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0xdd7ce038, 0xf62a4c12},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(vectors); i++) {
		struct cot_mc_random r = cot_mc_random(vectors[i].x, vectors[i].y, vectors[i].key);

		assert_int_equal(r.x, vectors[i].want_x);
		assert_int_equal(r.y, vectors[i].want_y);
	}
}

static double below(double x)
{
	return 0.5 * erfc(-x * sqrt(0.5));
}

static void normal_numbers_have_their_distribution(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 1 << 16; i++) {
		uint32_t bits = i << 16 | 0x8000;
		double got = below((double)cot_mc_normal(bits));

		assert_true(fabs(got - ((bits >> 9) + 0.5) / 8388608.0) < 1e-6);
	}
}

/* The standard deviation of the mean of n prices after so many years; what a call pays has less. */
static double mean_deviates(const struct cot_mc_option *o, unsigned n)
{
	double variance = exp((double)o->volatility * o->volatility * o->years) - 1.0;

	return o->price * exp((double)o->rate * o->years) * sqrt(variance / n);
}

/* Ten options against the formula of Black and Scholes, by three deviations. */
static void random_paths_give_the_formulas_value(void **state)
{
	const int n_pairs = 512;
	unsigned option, thread;

	(void)state;
	for (option = 0; option < 10; option++) {
		struct cot_mc_option o = {25.0f, 16.0f + (float)option, 0.5f + (float)option, 0.02f,
					  0.3f};
		double price = o.price, strike = o.strike, years = o.years, rate = o.rate;
		double deviation = o.volatility * sqrt(years), sum = 0.0, want, got;
		double d = (log(price / strike) + rate * years) / deviation;

		for (thread = 0; thread < COT_MC_THREADS; thread++)
			sum += (double)cot_mc_paths(&o, option, thread, 7, n_pairs);
		got = (double)cot_mc_value(&o, (float)sum, n_pairs);
		want = price * below(d + deviation / 2) -
		       strike * exp(-rate * years) * below(d - deviation / 2);
		if (fabs(got - want) > 3.0 * mean_deviates(&o, COT_MC_THREADS * 2 * n_pairs))
			fail_msg("option %u is worth %g by paths, %g by the formula", option, got,
				 want);
	}
}

/* Both lists, one behind the other. */
static unsigned n_benches(void)
{
	return cot_bench_n_all + cot_bench_n_shapes;
}

static const struct cot_bench *bench_at(unsigned i)
{
	return i < cot_bench_n_all ? cot_bench_all[i] : cot_bench_shapes[i - cot_bench_n_all];
}

static void every_benchmark_has_ptx_with_its_kernels(void **state)
{
	unsigned i, k;

	(void)state;
	for (i = 0; i < n_benches(); i++) {
		struct cot_bench_instance in;
		size_t length;
		const char *text = cot_bench_ptx(bench_at(i), &length);

		assert_non_null(text);
		assert_int_equal(strlen(text), length);
		assert_int_equal(cot_bench_create(&in, bench_at(i), COT_BENCH_TEST, 0, 1, NULL), 0);
		for (k = 0; k < in.n_steps; k++) {
			char entry[128];

			snprintf(entry, sizeof(entry), ".visible .entry %s(", in.steps[k].entry);
			assert_non_null(strstr(text, entry));
		}
		cot_bench_destroy(&in);
	}
}

/* What stands in the buffers before the first launch is never the result. */
static void a_wrong_result_is_noticed(void **state)
{
	unsigned i, k;

	(void)state;
	for (i = 0; i < n_benches(); i++) {
		struct cot_bench_instance in;
		struct cot_bench_verdict verdict;
		void *result[COT_BENCH_MAX_BUFFERS];

		assert_int_equal(cot_bench_create(&in, bench_at(i), COT_BENCH_TEST, 0, 1, NULL), 0);
		for (k = 0; k < in.n_buffers; k++)
			result[k] = in.buffers[k].data;
		assert_int_equal(cot_bench_check(&in, result, &verdict), 0);
		assert_true(verdict.n_wrong > 0);
		assert_true(verdict.n_wrong <= verdict.n_checked);
		assert_true(verdict.text[0] != '\0');
		cot_bench_destroy(&in);
	}
}

static void equal_seeds_give_equal_inputs(void **state)
{
	unsigned i, k;

	(void)state;
	for (i = 0; i < n_benches(); i++) {
		struct cot_bench_instance a, b, c;
		bool differs = false;

		assert_int_equal(cot_bench_create(&a, bench_at(i), COT_BENCH_TEST, 3, 5, NULL), 0);
		assert_int_equal(cot_bench_create(&b, bench_at(i), COT_BENCH_TEST, 3, 5, NULL), 0);
		assert_int_equal(cot_bench_create(&c, bench_at(i), COT_BENCH_TEST, 3, 6, NULL), 0);
		for (k = 0; k < a.n_buffers; k++) {
			size_t size = a.buffers[k].size_bytes;

			assert_int_equal(size, b.buffers[k].size_bytes);
			assert_memory_equal(a.buffers[k].data, b.buffers[k].data, size);
			differs |= size != c.buffers[k].size_bytes ||
				   memcmp(a.buffers[k].data, c.buffers[k].data, size) != 0;
		}
		differs |= memcmp(a.number, c.number, sizeof(a.number)) != 0;
		assert_true(differs);
		cot_bench_destroy(&a);
		cot_bench_destroy(&b);
		cot_bench_destroy(&c);
	}
}

/* The digests are those of md5sum for the same bytes. */
/* Long arrays repeat their first values to the end, whoever copies them. */
static void long_inputs_repeat(void **state)
{
	const size_t period = 1048573;
	struct cot_bench_instance in;
	struct cot_error err;
	const float *values;
	size_t i, n;

	(void)state;
	assert_int_equal(cot_bench_create(&in, cot_bench_find("nn"), COT_BENCH_GPU, 35000, 1, &err),
			 0);
	values = in.buffers[0].data;
	n = in.buffers[0].size_bytes / sizeof(values[0]);
	assert_true(n > 17 * period);
	for (i = period; i < n; i += period)
		assert_memory_equal(values + i, values,
				    (n - i < period ? n - i : period) * sizeof(values[0]));
	cot_bench_destroy(&in);
}

static void md5_is_md5(void **state)
{
	static const struct {
		uint32_t n_blocks;
		int64_t key;
		unsigned char digest[16];
	} known[] = {
		{7,
		 20766,
		 {0x0c, 0x11, 0xd1, 0x6d, 0xd1, 0x26, 0xf8, 0x69, 0x06, 0x9f, 0x54, 0xc3, 0xe5,
		  0xe8, 0xa0, 0x4f}},
		{2606,
		 19331243,
		 {0xef, 0x5c, 0x3a, 0xf8, 0x8c, 0x84, 0xbf, 0x08, 0xcb, 0xad, 0x1b, 0x7e, 0x00,
		  0xdf, 0x79, 0x09}},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(known); i++) {
		struct cot_bench_instance in;

		assert_int_equal(cot_bench_create(&in, cot_bench_find("md5hash"), COT_BENCH_TEST,
						  known[i].n_blocks, 2014, NULL),
				 0);
		assert_int_equal(in.number[3], known[i].key);
		assert_memory_equal(in.steps[0].args[0].bytes, known[i].digest, 16);
		cot_bench_destroy(&in);
	}
}

static void too_many_blocks_are_refused(void **state)
{
	struct cot_bench_instance in;
	struct cot_error err;
	unsigned i;

	(void)state;
	for (i = 0; i < cot_bench_n_all; i++) {
		assert_int_not_equal(cot_bench_create(&in, cot_bench_all[i], COT_BENCH_TEST,
						      UINT32_MAX, 1, &err),
				     0);
		assert_non_null(strstr(err.text, "too many"));
		assert_null(in.steps);
	}
}

static void arguments_are_put_together(void **state)
{
	struct cot_bench_instance in;
	unsigned char values[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	uint64_t address[COT_BENCH_MAX_BUFFERS], found;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_BENCH_MAX_BUFFERS; i++)
		address[i] = 0x1000 + i;
	assert_int_equal(
		cot_bench_create(&in, cot_bench_find("particlefilter"), COT_BENCH_TEST, 2, 1, NULL),
		0);
	cot_bench_bind(&in.steps[0], address, values);
	memcpy(&found, values[1], sizeof(found));
	assert_int_equal(found, 0x1001);
	/* The picture: its pixels, their number, and the two arrays of the disk. */
	memcpy(&found, values[4], sizeof(found));
	assert_int_equal(found, 0x1004);
	memcpy(&found, values[4] + 24, sizeof(found));
	assert_int_equal(found, 0x1005);
	memcpy(&found, values[4] + 32, sizeof(found));
	assert_int_equal(found, 0x1006);
	cot_bench_destroy(&in);
}

static double in_units_f32(float got, double want)
{
	return fabs((double)got - want) / (ldexp(1.0, -23) * fabs(want));
}

static void cube_roots(void **state)
{
	int i;

	(void)state;
	for (i = -3000; i < 3000; i++) {
		double x = ldexp(1.0 + (double)(i & 255) / 256.0, i / 3), want = cbrt(x);

		assert_true(fabs(cot_cbrt_f64(x) - want) <= 2.0 * ldexp(1.0, -52) * want);
	}
}

/* A cube of side 2, each corner moved by up to 0.4. */
static void make_hexahedron(struct cot_vec3 *p, double by, unsigned seed)
{
	static const double at[8][3] = {{0, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0},
					{0, 0, 2}, {2, 0, 2}, {2, 2, 2}, {0, 2, 2}};
	double off[24];
	unsigned i;

	for (i = 0; i < 24; i++) {
		seed = seed * 1664525u + 1013904223u;
		off[i] = by * ((double)(seed >> 16) / 65536.0 - 0.5);
	}
	for (i = 0; i < 8; i++)
		p[i] = cot_vec3_make(at[i][0] + off[3 * i], at[i][1] + off[3 * i + 1],
				     at[i][2] + off[3 * i + 2]);
}

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 1e-6)
		fail_msg("%g, expected %g", got, want);
}

static void a_cube_is_a_cube(void **state)
{
	struct cot_vec3 p[8], normals[8], slopes[8];

	(void)state;
	make_hexahedron(p, 0, 1);
	assert_near(cot_hexa_volume(p), 8);
	assert_near(cot_hexa_largest_face(p), 16 * 4 * 4);
	cot_hexa_normals(p, normals);
	cot_hexa_slopes(p, slopes);
	assert_near(normals[0].x, -1);
	assert_near(normals[0].y, -1);
	assert_near(normals[0].z, -1);
	assert_near(normals[5].x, 1);
	assert_near(normals[5].y, -1);
	assert_near(normals[5].z, 1);
	assert_near(slopes[6].x + slopes[6].y + slopes[6].z, 3);
}

/* The slopes are those of the volume, and pressure moves no element as a whole. */
static void hexahedra(void **state)
{
	struct cot_vec3 p[8], normals[8], slopes[8], sum;
	double volume, h = 1e-4;
	unsigned seed, i;

	(void)state;
	for (seed = 1; seed < 50; seed++) {
		make_hexahedron(p, 0.8, seed);
		volume = cot_hexa_volume(p);
		cot_hexa_slopes(p, slopes);
		cot_hexa_normals(p, normals);
		sum = cot_vec3_make(0, 0, 0);
		for (i = 0; i < 8; i++) {
			struct cot_vec3 before = p[i];

			sum = cot_vec3_add(sum, 1, normals[i]);
			p[i].x += h;
			assert_near((cot_hexa_volume(p) - volume) / h, slopes[i].x);
			p[i] = before;
			p[i].y += h;
			assert_near((cot_hexa_volume(p) - volume) / h, slopes[i].y);
			p[i] = before;
			p[i].z += h;
			assert_near((cot_hexa_volume(p) - volume) / h, slopes[i].z);
			p[i] = before;
		}
		assert_near(cot_vec3_dot(sum, sum), 0);
	}
}

static void exact_math_is_accurate(void **state)
{
	double worst_exp = 0, worst_log = 0, worst_f64 = 0;
	int i;

	(void)state;
	for (i = -80000; i <= 80000; i++) {
		float x = (float)i * 0.001f,
		      y = ldexpf(1.0f + (float)(i + 80000) * 0.5e-5f, i % 90);
		double units = in_units_f32(cot_exp_f32(x), exp((double)x)), want;

		worst_exp = units > worst_exp ? units : worst_exp;
		want = log((double)y);
		units = fabs((double)cot_log_f32(y) - want) /
			(ldexp(1.0, -23) * (fabs(want) > 0.5 ? fabs(want) : 0.5));
		worst_log = units > worst_log ? units : worst_log;
		want = exp((double)i * 0.008);
		units = fabs(cot_exp_f64((double)i * 0.008) - want) / (ldexp(1.0, -52) * want);
		worst_f64 = units > worst_f64 ? units : worst_f64;
	}
	assert_true(worst_exp < 1.5);
	assert_true(worst_log < 2.0);
	assert_true(worst_f64 < 3.0);
	assert_true(cot_exp_f32(1000.0f) < INFINITY);
	assert_true(cot_exp_f32(-1000.0f) > 0.0f);
	assert_true(cot_exp_f32(0.0f) == 1.0f);
	assert_true(cot_exp_f64(0.0) == 1.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grids_are_those_of_the_paper),
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(aes_is_the_standards),
		cmocka_unit_test(random_numbers_are_philox),
		cmocka_unit_test(normal_numbers_have_their_distribution),
		cmocka_unit_test(random_paths_give_the_formulas_value),
		cmocka_unit_test(every_benchmark_has_ptx_with_its_kernels),
		cmocka_unit_test(a_wrong_result_is_noticed),
		cmocka_unit_test(equal_seeds_give_equal_inputs),
		cmocka_unit_test(long_inputs_repeat),
		cmocka_unit_test(md5_is_md5),
		cmocka_unit_test(too_many_blocks_are_refused),
		cmocka_unit_test(arguments_are_put_together),
		cmocka_unit_test(exact_math_is_accurate),
		cmocka_unit_test(cube_roots),
		cmocka_unit_test(a_cube_is_a_cube),
		cmocka_unit_test(hexahedra),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
