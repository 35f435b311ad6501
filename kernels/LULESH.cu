/*
 * Shock hydrodynamics on a mesh that moves along (LULESH, the SMGuard paper's larger program): the
 * kernels of a time step, written from its specification (Hydrodynamics Challenge Problem,
 * LLNL-TR-490254). The artificial viscosity has no limiter, so elements do not look at each other.
 *
 *   volume_force    per element: what pressure, viscosity and the resistance to hourglass modes push
 *                   its corners with
 *   move_nodes      per node: the sum of its corners' forces, acceleration, velocity, place
 *   update_elements per element: volume, viscosity, energy, pressure, speed of sound
 */
#include "cuda_min.h"
#include "hexahedron.h"

#define CORNERS	  COT_HEXA_CORNERS
#define HOURGLASS 0.03
#define TWO_THIRD 0.66666666666666663
#define LEAST_SOUND 0.3333333e-18

struct element {
	double energy, pressure, viscosity, volume; /* volume: in parts of the first one */
	double sound, mass, first_volume;
};

static __device__ __forceinline__ void gather(const int *corners, const struct cot_vec3 *of_nodes,
					      struct cot_vec3 *ret)
{
#pragma unroll
	for (int i = 0; i < CORNERS; i++)
		ret[i] = of_nodes[corners[i]];
}

/* +1 or -1: the corner's part in one of the four ways in which a cube becomes an hourglass. */
static __device__ __forceinline__ double mode_sign(int mode, int corner)
{
	const unsigned negative = 0xa5aa963cu;

	return negative >> (8 * mode + corner) & 1 ? -1.0 : 1.0;
}

static __device__ __forceinline__ void resist(const struct cot_vec3 *p, const struct cot_vec3 *v,
					      const struct cot_vec3 *slopes, double volume,
					      double factor, struct cot_vec3 *forces)
{
#pragma unroll
	for (int m = 0; m < 4; m++) {
		struct cot_vec3 shape = cot_vec3_make(0.0, 0.0, 0.0);
		struct cot_vec3 rate = shape;
		double part[CORNERS];

#pragma unroll
		for (int i = 0; i < CORNERS; i++)
			shape = cot_vec3_add(shape, mode_sign(m, i), p[i]);
#pragma unroll
		for (int i = 0; i < CORNERS; i++) {
			part[i] = mode_sign(m, i) - cot_vec3_dot(shape, slopes[i]) / volume;
			rate = cot_vec3_add(rate, part[i], v[i]);
		}
#pragma unroll
		for (int i = 0; i < CORNERS; i++)
			forces[i] = cot_vec3_add(forces[i], factor * part[i], rate);
	}
}

extern "C" __global__ void volume_force(const struct element *elements, const int *corners,
					const struct cot_vec3 *places,
					const struct cot_vec3 *velocities, struct cot_vec3 *forces,
					int n_elements)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x;
	struct cot_vec3 p[CORNERS], v[CORNERS], normals[CORNERS], slopes[CORNERS];
	struct element e;
	double volume, push;

	if (i >= n_elements)
		return;
	e = elements[i];
	gather(&corners[CORNERS * i], places, p);
	gather(&corners[CORNERS * i], velocities, v);
	cot_hexa_normals(p, normals);
	cot_hexa_slopes(p, slopes);
	volume = cot_hexa_volume(p);
	push = e.pressure + e.viscosity;
#pragma unroll
	for (int k = 0; k < CORNERS; k++)
		normals[k] = cot_vec3_make(push * normals[k].x, push * normals[k].y,
					   push * normals[k].z);
	resist(p, v, slopes, volume, -HOURGLASS * e.sound * e.mass / cot_cbrt_f64(volume), normals);
#pragma unroll
	for (int k = 0; k < CORNERS; k++)
		forces[CORNERS * i + k] = normals[k];
}

/* The first word of a node says which of its axes stay where they are. */
extern "C" __global__ void move_nodes(const int *first_corner, const int *corners_of,
				      const struct cot_vec3 *forces, const double *masses,
				      const int *fixed, struct cot_vec3 *places,
				      struct cot_vec3 *velocities, double step_s, int n_nodes)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x;
	struct cot_vec3 force = cot_vec3_make(0.0, 0.0, 0.0), v;

	if (i >= n_nodes)
		return;
	for (int k = first_corner[i]; k < first_corner[i + 1]; k++)
		force = cot_vec3_add(force, 1.0, forces[corners_of[k]]);
	v = cot_vec3_add(velocities[i], step_s / masses[i], force);
	v.x = fixed[i] & 1 ? 0.0 : v.x;
	v.y = fixed[i] & 2 ? 0.0 : v.y;
	v.z = fixed[i] & 4 ? 0.0 : v.z;
	velocities[i] = v;
	places[i] = cot_vec3_add(places[i], step_s, v);
}

static __device__ __forceinline__ double sound_of(double energy, double pressure, double volume)
{
	double squared = TWO_THIRD * energy + volume * volume * (TWO_THIRD / volume) * pressure;

	return squared > LEAST_SOUND * LEAST_SOUND ? sqrt(squared) : LEAST_SOUND;
}

static __device__ __forceinline__ double pressure_of(double energy, double volume)
{
	return cot_larger(TWO_THIRD / volume * energy, 0.0);
}

/* An ideal gas; energy by three steps, the second with the volume half-way. */
static __device__ __forceinline__ void heat(struct element *e, double volume, double linear,
					    double square)
{
	double change = volume - e->volume, half = volume - 0.5 * change;
	double before = e->pressure + e->viscosity, pressure, viscosity, energy, last;
	bool shrinks = change <= 0.0;

	energy = cot_larger(e->energy - 0.5 * change * before, 0.0);
	pressure = pressure_of(energy, half);
	viscosity = shrinks ? sound_of(energy, pressure, half) * linear + square : 0.0;
	energy = cot_larger(
		energy + 0.5 * change * (3.0 * before - 4.0 * (pressure + viscosity)), 0.0);
	last = pressure_of(energy, volume);
	last += shrinks ? sound_of(energy, last, volume) * linear + square : 0.0;
	energy = cot_larger(
		energy - (7.0 * before - 8.0 * (pressure + viscosity) + last) * change / 6.0, 0.0);
	e->energy = energy;
	e->pressure = pressure_of(energy, volume);
	e->sound = sound_of(energy, e->pressure, volume);
	e->viscosity = shrinks ? e->sound * linear + square : 0.0;
	e->volume = volume;
}

extern "C" __global__ void update_elements(const int *corners, const struct cot_vec3 *places,
					   const struct cot_vec3 *velocities,
					   struct element *elements, int n_elements)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x;
	struct cot_vec3 p[CORNERS], v[CORNERS], slopes[CORNERS];
	double volume, length, rate = 0.0, speed, density;
	struct element e;

	if (i >= n_elements)
		return;
	e = elements[i];
	gather(&corners[CORNERS * i], places, p);
	gather(&corners[CORNERS * i], velocities, v);
	volume = cot_hexa_volume(p);
	length = 4.0 * volume / sqrt(cot_hexa_largest_face(p));
	cot_hexa_slopes(p, slopes);
#pragma unroll
	for (int k = 0; k < CORNERS; k++)
		rate += cot_vec3_dot(slopes[k], v[k]);
	/* How much faster one side comes than the other goes. */
	speed = cot_larger(-rate / volume * length, 0.0);
	density = e.first_volume / volume;
	heat(&e, volume / e.first_volume, 0.5 * density * speed,
	     TWO_THIRD * density * speed * speed);
	elements[i] = e;
}
