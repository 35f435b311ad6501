/*
 * The geometry of an element with eight corners, as the specification of LULESH has it
 * (Hydrodynamics Challenge Problem, LLNL-TR-490254): corners 0 to 3 around the bottom and 4 to 7
 * around the top, each above the one four before it. Only operations that IEEE 754 rounds; C11 and
 * CUDA.
 */
#ifndef COT_KERNELS_HEXAHEDRON_H
#define COT_KERNELS_HEXAHEDRON_H

#include "exact_math.h"

#define COT_HEXA_CORNERS 8

struct cot_vec3 {
	double x, y, z;
};

COT_EXACT struct cot_vec3 cot_vec3_make(double x, double y, double z)
{
	struct cot_vec3 v;

	v.x = x;
	v.y = y;
	v.z = z;
	return v;
}

/* a + factor * b */
COT_EXACT struct cot_vec3 cot_vec3_add(struct cot_vec3 a, double factor, struct cot_vec3 b)
{
	return cot_vec3_make(a.x + factor * b.x, a.y + factor * b.y, a.z + factor * b.z);
}

COT_EXACT double cot_vec3_dot(struct cot_vec3 a, struct cot_vec3 b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

COT_EXACT struct cot_vec3 cot_vec3_cross(struct cot_vec3 a, struct cot_vec3 b)
{
	return cot_vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

COT_EXACT struct cot_vec3 cot_vec3_between(const struct cot_vec3 *p, int from, int to)
{
	return cot_vec3_add(p[to], -1.0, p[from]);
}

/* (p[a] - p[b] + p[c] - p[d]) * ((p[e] - p[f]) x (p[g] - p[h])) */
COT_EXACT double cot_hexa_triple(const struct cot_vec3 *p, int a, int b, int c, int d, int e, int f,
				 int g, int h)
{
	struct cot_vec3 sum =
		cot_vec3_add(cot_vec3_between(p, b, a), 1.0, cot_vec3_between(p, d, c));

	return cot_vec3_dot(sum,
			    cot_vec3_cross(cot_vec3_between(p, f, e), cot_vec3_between(p, h, g)));
}

COT_EXACT double cot_hexa_volume(const struct cot_vec3 *p)
{
	double a = cot_hexa_triple(p, 3, 1, 7, 2, 6, 3, 2, 0);
	double b = cot_hexa_triple(p, 4, 3, 5, 7, 6, 4, 7, 0);
	double c = cot_hexa_triple(p, 1, 4, 2, 5, 6, 1, 5, 0);

	return (a + b + c) / 12.0;
}

/* A quarter of what the face of these corners, seen from inside, has as area, to each of them. */
COT_EXACT void cot_hexa_add_face(const struct cot_vec3 *p, int a, int b, int c, int d,
				 struct cot_vec3 *sums)
{
	struct cot_vec3 up =
		cot_vec3_add(cot_vec3_between(p, a, d), 1.0, cot_vec3_between(p, b, c));
	struct cot_vec3 along =
		cot_vec3_add(cot_vec3_between(p, a, b), 1.0, cot_vec3_between(p, d, c));
	struct cot_vec3 normal = cot_vec3_cross(up, along);

	sums[a] = cot_vec3_add(sums[a], 0.0625, normal);
	sums[b] = cot_vec3_add(sums[b], 0.0625, normal);
	sums[c] = cot_vec3_add(sums[c], 0.0625, normal);
	sums[d] = cot_vec3_add(sums[d], 0.0625, normal);
}

/* What a unit of pressure inside pushes each corner with. */
COT_EXACT void cot_hexa_normals(const struct cot_vec3 *p, struct cot_vec3 *ret)
{
	int i;

	for (i = 0; i < COT_HEXA_CORNERS; i++)
		ret[i] = cot_vec3_make(0.0, 0.0, 0.0);
	cot_hexa_add_face(p, 0, 1, 2, 3, ret);
	cot_hexa_add_face(p, 0, 4, 5, 1, ret);
	cot_hexa_add_face(p, 1, 5, 6, 2, ret);
	cot_hexa_add_face(p, 2, 6, 7, 3, ret);
	cot_hexa_add_face(p, 3, 7, 4, 0, ret);
	cot_hexa_add_face(p, 4, 7, 6, 5, ret);
}

/* How the volume grows with one corner's place; the others are its neighbours on its faces. */
COT_EXACT struct cot_vec3 cot_hexa_slope(const struct cot_vec3 *p, int a, int b, int c, int d,
					 int e, int f)
{
	struct cot_vec3 sum =
		cot_vec3_cross(cot_vec3_add(p[b], 1.0, p[c]), cot_vec3_add(p[a], 1.0, p[b]));

	sum = cot_vec3_add(
		sum, 1.0,
		cot_vec3_cross(cot_vec3_add(p[a], 1.0, p[e]), cot_vec3_add(p[d], 1.0, p[e])));
	sum = cot_vec3_add(
		sum, 1.0,
		cot_vec3_cross(cot_vec3_add(p[d], 1.0, p[f]), cot_vec3_add(p[c], 1.0, p[f])));
	return cot_vec3_make(sum.x / 12.0, sum.y / 12.0, sum.z / 12.0);
}

COT_EXACT void cot_hexa_slopes(const struct cot_vec3 *p, struct cot_vec3 *ret)
{
	ret[0] = cot_hexa_slope(p, 1, 2, 3, 4, 5, 7);
	ret[1] = cot_hexa_slope(p, 2, 3, 0, 5, 6, 4);
	ret[2] = cot_hexa_slope(p, 3, 0, 1, 6, 7, 5);
	ret[3] = cot_hexa_slope(p, 0, 1, 2, 7, 4, 6);
	ret[4] = cot_hexa_slope(p, 7, 6, 5, 0, 3, 1);
	ret[5] = cot_hexa_slope(p, 4, 7, 6, 1, 0, 2);
	ret[6] = cot_hexa_slope(p, 5, 4, 7, 2, 1, 3);
	ret[7] = cot_hexa_slope(p, 6, 5, 4, 3, 2, 0);
}

/* Sixteen times the square of a face's area, if it is a parallelogram. */
COT_EXACT double cot_hexa_face(const struct cot_vec3 *p, int a, int b, int c, int d)
{
	struct cot_vec3 ac = cot_vec3_between(p, a, c), bd = cot_vec3_between(p, b, d);
	struct cot_vec3 f = cot_vec3_add(ac, -1.0, bd), g = cot_vec3_add(ac, 1.0, bd);
	double fg = cot_vec3_dot(f, g);

	return cot_vec3_dot(f, f) * cot_vec3_dot(g, g) - fg * fg;
}

COT_EXACT double cot_larger(double a, double b)
{
	return a > b ? a : b;
}

/* Of the largest face, as cot_hexa_face() has it. */
COT_EXACT double cot_hexa_largest_face(const struct cot_vec3 *p)
{
	double a = cot_larger(cot_hexa_face(p, 0, 1, 2, 3), cot_hexa_face(p, 4, 5, 6, 7));
	double b = cot_larger(cot_hexa_face(p, 0, 1, 5, 4), cot_hexa_face(p, 1, 2, 6, 5));
	double c = cot_larger(cot_hexa_face(p, 2, 3, 7, 6), cot_hexa_face(p, 3, 0, 4, 7));

	return cot_larger(cot_larger(a, b), c);
}

#endif
