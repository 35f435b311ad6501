#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/hexahedron.h"
#include "kernels/host/inside.h"

enum { ELEMENTS, CORNERS, PLACES, VELOCITIES, FORCES, FIRST_CORNER, CORNERS_OF, MASSES, FIXED };
enum { THREADS = 128, WIDE = 16, DEEP = 8, N_CORNERS = COT_HEXA_CORNERS };
enum { LAYER = WIDE * DEEP, NODES = (WIDE + 1) * (DEEP + 1) };

_Static_assert((int)LAYER == (int)THREADS, "a block does one layer");

struct element {
	double energy, pressure, viscosity, volume, sound, mass, first_volume;
};

/* LULESH's: 45 elements along 1.125, and the blast in one corner. */
static const double spacing = 0.025, blast = 3.948746e+7, two_thirds = 2.0 / 3.0;

struct mesh {
	size_t n_elements, n_nodes;
	struct element *elements;
	int32_t *corners;
	struct cot_vec3 *places, *velocities, *forces;
	int32_t *first_corner, *corners_of;
	double *masses;
	int32_t *fixed;
};

static struct mesh mesh_of(const struct cot_bench_instance *in)
{
	return (struct mesh){
		.n_elements = (size_t)in->n_blocks * LAYER,
		.n_nodes = (size_t)(in->n_blocks + 1) * NODES,
		.elements = in->buffers[ELEMENTS].data,
		.corners = in->buffers[CORNERS].data,
		.places = in->buffers[PLACES].data,
		.velocities = in->buffers[VELOCITIES].data,
		.forces = in->buffers[FORCES].data,
		.first_corner = in->buffers[FIRST_CORNER].data,
		.corners_of = in->buffers[CORNERS_OF].data,
		.masses = in->buffers[MASSES].data,
		.fixed = in->buffers[FIXED].data,
	};
}

/* Half of what sound needs through an element next to the blast. */
static double step_of(void)
{
	return 0.5 * spacing / sqrt(2.0 * blast);
}

/* ---- the mesh: layers of elements, one above the other ---- */

static int make_buffers(struct cot_bench_instance *in)
{
	size_t n = (size_t)in->n_blocks * LAYER, n_nodes = (size_t)(in->n_blocks + 1) * NODES;

	if (!cot_bench_buffer(in, "elements", n, sizeof(struct element), true) ||
	    !cot_bench_buffer(in, "corners", N_CORNERS * n, sizeof(int32_t), false) ||
	    !cot_bench_buffer(in, "places", n_nodes, sizeof(struct cot_vec3), true) ||
	    !cot_bench_buffer(in, "velocities", n_nodes, sizeof(struct cot_vec3), true) ||
	    !cot_bench_buffer(in, "forces", N_CORNERS * n, sizeof(struct cot_vec3), true) ||
	    !cot_bench_buffer(in, "first_corner", n_nodes + 1, sizeof(int32_t), false) ||
	    !cot_bench_buffer(in, "corners_of", N_CORNERS * n, sizeof(int32_t), false) ||
	    !cot_bench_buffer(in, "masses", n_nodes, sizeof(double), false) ||
	    !cot_bench_buffer(in, "fixed", n_nodes, sizeof(int32_t), false))
		return -ENOMEM;
	return 0;
}

static double jitter(struct cot_rng *rng)
{
	return 1e-4 * spacing * ((double)cot_rng_below(rng, 2001) - 1000.0);
}

/* Nodes in planes of symmetry stay there; the others are a tenth of the spacing off at most. */
static void place_nodes(struct mesh *m, struct cot_rng *rng)
{
	size_t i;

	for (i = 0; i < m->n_nodes; i++) {
		size_t x = i % (WIDE + 1), y = i / (WIDE + 1) % (DEEP + 1), z = i / NODES;
		double off[3] = {jitter(rng), jitter(rng), jitter(rng)};

		m->fixed[i] = (x ? 0 : 1) | (y ? 0 : 2) | (z ? 0 : 4);
		m->places[i] = cot_vec3_make(spacing * (double)x + (x ? off[0] : 0.0),
					     spacing * (double)y + (y ? off[1] : 0.0),
					     spacing * (double)z + (z ? off[2] : 0.0));
	}
}

static void number_corners(struct mesh *m)
{
	static const int32_t bottom[4] = {0, 1, WIDE + 2, WIDE + 1};
	size_t i;
	int k;

	for (i = 0; i < m->n_elements; i++) {
		int32_t first = (int32_t)(i / LAYER * NODES + i % LAYER / WIDE * (WIDE + 1) +
					  i % LAYER % WIDE);

		for (k = 0; k < N_CORNERS; k++)
			m->corners[N_CORNERS * i + (size_t)k] =
				first + bottom[k % 4] + (k < 4 ? 0 : NODES);
	}
}

/* Which corners are a node's, in the order of the elements. */
static int collect_corners(struct mesh *m)
{
	int32_t *next = calloc(m->n_nodes, sizeof(*next));
	size_t i;

	if (!next)
		return -ENOMEM;
	for (i = 0; i < N_CORNERS * m->n_elements; i++)
		m->first_corner[m->corners[i] + 1]++;
	for (i = 0; i < m->n_nodes; i++)
		m->first_corner[i + 1] += m->first_corner[i];
	for (i = 0; i < N_CORNERS * m->n_elements; i++) {
		int32_t node = m->corners[i];

		m->corners_of[m->first_corner[node] + next[node]++] = (int32_t)i;
	}
	free(next);
	return 0;
}

static void gather(const int32_t *corners, const struct cot_vec3 *of_nodes, struct cot_vec3 *ret)
{
	int k;

	for (k = 0; k < N_CORNERS; k++)
		ret[k] = of_nodes[corners[k]];
}

static void fill_elements(struct mesh *m, struct cot_rng *rng)
{
	size_t i, k;

	for (i = 0; i < m->n_elements; i++) {
		const int32_t *corners = &m->corners[N_CORNERS * i];
		struct element *e = &m->elements[i];
		struct cot_vec3 p[N_CORNERS];

		gather(corners, m->places, p);
		e->volume = 1.0;
		e->first_volume = e->mass = cot_hexa_volume(p);
		e->energy = i ? 1e-6 * blast * (double)cot_rng_below(rng, 1000) : blast;
		e->pressure = two_thirds * e->energy;
		e->sound = sqrt(two_thirds * e->energy + two_thirds * e->pressure);
		for (k = 0; k < N_CORNERS; k++)
			m->masses[corners[k]] += e->mass / N_CORNERS;
	}
}

/* ---- the launches ---- */

static void add_launches(struct cot_bench_instance *in, const struct mesh *m)
{
	uint32_t n_blocks = (uint32_t)((m->n_nodes + THREADS - 1) / THREADS), k;
	double step_s = step_of();
	struct cot_bench_step *s = cot_bench_step(in, "volume_force", in->n_blocks, 1, THREADS, 1);

	for (k = ELEMENTS; k <= FORCES; k++)
		cot_bench_arg_buffer(s, k);
	cot_bench_arg_i32(s, (int32_t)m->n_elements);
	s = cot_bench_step(in, "move_nodes", n_blocks, 1, THREADS, 1);
	cot_bench_arg_buffer(s, FIRST_CORNER);
	cot_bench_arg_buffer(s, CORNERS_OF);
	cot_bench_arg_buffer(s, FORCES);
	cot_bench_arg_buffer(s, MASSES);
	cot_bench_arg_buffer(s, FIXED);
	cot_bench_arg_buffer(s, PLACES);
	cot_bench_arg_buffer(s, VELOCITIES);
	cot_bench_arg_bytes(s, &step_s, sizeof(step_s));
	cot_bench_arg_i32(s, (int32_t)m->n_nodes);
	s = cot_bench_step(in, "update_elements", in->n_blocks, 1, THREADS, 1);
	cot_bench_arg_buffer(s, CORNERS);
	cot_bench_arg_buffer(s, PLACES);
	cot_bench_arg_buffer(s, VELOCITIES);
	cot_bench_arg_buffer(s, ELEMENTS);
	cot_bench_arg_i32(s, (int32_t)m->n_elements);
}

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	struct cot_rng rng = {seed};
	struct mesh m;
	uint32_t i;

	if ((uint64_t)in->n_blocks * LAYER * N_CORNERS > INT32_MAX)
		return -ERANGE;
	if (make_buffers(in) || cot_bench_steps(in, 3 * in->work))
		return -ENOMEM;
	m = mesh_of(in);
	place_nodes(&m, &rng);
	number_corners(&m);
	fill_elements(&m, &rng);
	for (i = 0; i < in->work; i++)
		add_launches(in, &m);
	return collect_corners(&m);
}

/* ---- the same on the CPU ---- */

static void add_modes(const struct cot_vec3 *p, const struct cot_vec3 *v,
		      const struct cot_vec3 *slopes, double volume, double factor,
		      struct cot_vec3 *forces)
{
	static const int modes[4][N_CORNERS] = {{1, 1, -1, -1, -1, -1, 1, 1},
						{1, -1, -1, 1, -1, 1, 1, -1},
						{1, -1, 1, -1, 1, -1, 1, -1},
						{-1, 1, -1, 1, 1, -1, 1, -1}};
	int m, k;

	for (m = 0; m < 4; m++) {
		struct cot_vec3 shape = {0}, rate = {0};
		double part[N_CORNERS];

		for (k = 0; k < N_CORNERS; k++)
			shape = cot_vec3_add(shape, modes[m][k], p[k]);
		for (k = 0; k < N_CORNERS; k++)
			part[k] = modes[m][k] - cot_vec3_dot(shape, slopes[k]) / volume;
		for (k = 0; k < N_CORNERS; k++)
			rate = cot_vec3_add(rate, part[k], v[k]);
		for (k = 0; k < N_CORNERS; k++)
			forces[k] = cot_vec3_add(forces[k], factor * part[k], rate);
	}
}

static void compute_forces(struct mesh *m, size_t i)
{
	const int32_t *corners = &m->corners[N_CORNERS * i];
	const struct element *e = &m->elements[i];
	struct cot_vec3 p[N_CORNERS], v[N_CORNERS], slopes[N_CORNERS];
	struct cot_vec3 *forces = &m->forces[N_CORNERS * i];
	double push = e->pressure + e->viscosity, volume;
	int k;

	gather(corners, m->places, p);
	gather(corners, m->velocities, v);
	volume = cot_hexa_volume(p);
	cot_hexa_normals(p, forces);
	cot_hexa_slopes(p, slopes);
	for (k = 0; k < N_CORNERS; k++)
		forces[k] =
			cot_vec3_make(push * forces[k].x, push * forces[k].y, push * forces[k].z);
	add_modes(p, v, slopes, volume, -0.03 * e->sound * e->mass / cot_cbrt_f64(volume), forces);
}

static void move_node(struct mesh *m, size_t i)
{
	double step_s = step_of();
	struct cot_vec3 force = {0}, *v = &m->velocities[i];
	int32_t k;

	for (k = m->first_corner[i]; k < m->first_corner[i + 1]; k++)
		force = cot_vec3_add(force, 1.0, m->forces[m->corners_of[k]]);
	*v = cot_vec3_add(*v, step_s / m->masses[i], force);
	if (m->fixed[i] & 1)
		v->x = 0.0;
	if (m->fixed[i] & 2)
		v->y = 0.0;
	if (m->fixed[i] & 4)
		v->z = 0.0;
	m->places[i] = cot_vec3_add(m->places[i], step_s, *v);
}

static double at_least(double value, double least)
{
	return value > least ? value : least;
}

/* Of a gas with that energy and, in parts of the first one, volume. */
struct gas {
	double pressure, sound;
};

static struct gas gas_of(double energy, double volume)
{
	const double least = 0.3333333e-18;
	double pressure = at_least(two_thirds / volume * energy, 0.0);
	double squared = two_thirds * energy + volume * volume * (two_thirds / volume) * pressure;

	return (struct gas){pressure, squared > least * least ? sqrt(squared) : least};
}

static double slows(struct gas g, const double *drag)
{
	return g.sound * drag[0] + drag[1];
}

/* drag: of the viscosity, what sound and what its square makes; zeros for what grows. */
static void heat(struct element *e, double volume, const double *drag)
{
	double change = volume - e->volume, before = e->pressure + e->viscosity, half, energy;
	struct gas g;

	energy = at_least(e->energy - 0.5 * change * before, 0.0);
	g = gas_of(energy, volume - 0.5 * change);
	half = g.pressure + slows(g, drag);
	energy = at_least(energy + 0.5 * change * (3.0 * before - 4.0 * half), 0.0);
	g = gas_of(energy, volume);
	energy = at_least(energy - (7.0 * before - 8.0 * half + (g.pressure + slows(g, drag))) *
					   change / 6.0,
			  0.0);
	g = gas_of(energy, volume);
	*e = (struct element){energy,  g.pressure, slows(g, drag), volume,
			      g.sound, e->mass,	   e->first_volume};
}

static void update_element(struct mesh *m, size_t i)
{
	const int32_t *corners = &m->corners[N_CORNERS * i];
	struct element *e = &m->elements[i];
	struct cot_vec3 p[N_CORNERS], v[N_CORNERS], slopes[N_CORNERS];
	double volume, length, rate = 0.0, speed, density, drag[2] = {0.0, 0.0};
	int k;

	gather(corners, m->places, p);
	gather(corners, m->velocities, v);
	cot_hexa_slopes(p, slopes);
	volume = cot_hexa_volume(p);
	length = 4.0 * volume / sqrt(cot_hexa_largest_face(p));
	for (k = 0; k < N_CORNERS; k++)
		rate += cot_vec3_dot(slopes[k], v[k]);
	speed = at_least(-rate / volume * length, 0.0);
	density = e->first_volume / volume;
	if (volume / e->first_volume - e->volume <= 0.0) {
		drag[0] = 0.5 * density * speed;
		drag[1] = two_thirds * density * speed * speed;
	}
	heat(e, volume / e->first_volume, drag);
}

static void compute(struct mesh *m, uint32_t n_steps)
{
	uint32_t step;
	size_t i;

	for (step = 0; step < n_steps; step++) {
		for (i = 0; i < m->n_elements; i++)
			compute_forces(m, i);
		for (i = 0; i < m->n_nodes; i++)
			move_node(m, i);
		for (i = 0; i < m->n_elements; i++)
			update_element(m, i);
	}
}

static void compare(struct cot_bench_verdict *verdict, const char *what, const void *got,
		    const void *want, size_t size_bytes)
{
	const double *a = got, *b = want;
	size_t i;

	for (i = 0; i < size_bytes / sizeof(double); i++)
		cot_bench_same_f64(verdict, what, i, a[i], b[i]);
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	static const unsigned outputs[] = {ELEMENTS, PLACES, VELOCITIES, FORCES};
	struct cot_bench_instance own = *in;
	struct mesh m;
	unsigned i;
	int rc = 0;

	for (i = 0; i < 4; i++) {
		struct cot_bench_buffer *b = &own.buffers[outputs[i]];

		b->data = malloc(b->size_bytes);
		if (b->data)
			memcpy(b->data, in->buffers[outputs[i]].data, b->size_bytes);
		else
			rc = -ENOMEM;
	}
	m = mesh_of(&own);
	if (!rc)
		compute(&m, in->work);
	for (i = 0; i < 4; i++) {
		const struct cot_bench_buffer *b = &own.buffers[outputs[i]];

		if (!rc)
			compare(verdict, b->name, result[outputs[i]], b->data, b->size_bytes);
		free(b->data);
	}
	return rc;
}

/* The paper does not say its grid: these are 25 and 45 elements along a side, of as many in all. */
const struct cot_bench cot_bench_lulesh = {
	.name = "LULESH",
	.summary = "shock waves in a mesh that moves along",
	.entry = "volume_force",
	.n_threads = THREADS,
	.blocks = {6, 123, 712, 4096},
	.work = {2, 4, 4, 4},
	.create = create,
	.check = check,
};
