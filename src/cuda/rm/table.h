/*
 * The resource manager's objects that matter for scheduling, as this process allocated them:
 * clients, devices, subdevices, channel groups, channels. And the descriptors that they came
 * through. Bounded, no allocation. Not a mirror of RM: objects of other classes are not kept.
 * Not thread-safe: the owner (struct cot_rm) locks.
 */
#ifndef COT_CUDA_RM_TABLE_H
#define COT_CUDA_RM_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define COT_RM_MAX_OBJECTS 4096u
#define COT_RM_MAX_FDS	   64u
#define COT_RM_MAX_SHARED  64u
#define COT_RM_BUCKETS	   1024u
#define COT_RM_NONE	   0xffffu

enum cot_rm_kind {
	COT_RM_FREE = 0, /* an unused entry */
	COT_RM_CLIENT,
	COT_RM_DEVICE,
	COT_RM_SUBDEVICE,
	COT_RM_SHARED, /* a duplicate of another client's object: maybe of a group */
	COT_RM_GROUP,
	COT_RM_CHANNEL,
};

enum cot_rm_flag {
	COT_RM_SCHEDULED = 1u << 0,    /* channel: the driver asked for it to run */
	COT_RM_COMPUTE = 1u << 1,      /* channel: has a compute object */
	COT_RM_FROZEN = 1u << 2,       /* channel: disabled by us */
	COT_RM_SLICE_OURS = 1u << 3,   /* group: has had a slice of ours */
	COT_RM_SLICE_KNOWN = 1u << 4,  /* group: driver_slice_us is the driver's wish */
	COT_RM_MODE_SET = 1u << 5,     /* channel: has the wanted preemption mode */
	COT_RM_MODE_OURS = 1u << 6,    /* channel: has had a mode of ours */
	COT_RM_SLICE_WANTED = 1u << 7, /* group: has the wanted slice */
};

struct cot_rm_object {
	uint32_t client, handle, parent;
	uint32_t device;	  /* handle of the device that it belongs to, 0 = not known */
	uint32_t engine;	  /* group: RM's engine type */
	uint32_t driver_slice_us; /* group: with COT_RM_SLICE_KNOWN */
	uint32_t driver_mode;	  /* channel: what the driver set itself, 0 = nothing */
	uint16_t next;		  /* in its bucket, or in the free list */
	uint8_t kind;		  /* enum cot_rm_kind */
	uint8_t flags;		  /* enum cot_rm_flag */
	uint8_t fd;		  /* index into fds */
	uint8_t gpu;		  /* device instance, 0xff = not known */
};

/* Which open file a descriptor is, as far as fstat() tells. */
struct cot_rm_identity {
	uint64_t dev, ino, rdev;
};

struct cot_rm_fd {
	int fd;
	uint32_t n_objects; /* 0 = unused */
	struct cot_rm_identity id;
};

struct cot_rm_table {
	struct cot_rm_object objects[COT_RM_MAX_OBJECTS];
	uint16_t buckets[COT_RM_BUCKETS];
	uint16_t free_list;
	uint16_t n_used; /* entries from here on were never used */
	struct cot_rm_fd fds[COT_RM_MAX_FDS];
	uint32_t n_groups, n_channels, n_shared;
};

void cot_rm_table_init(struct cot_rm_table *t);

/* The object, or NULL. */
struct cot_rm_object *cot_rm_table_find(struct cot_rm_table *t, uint32_t client, uint32_t handle);

/*
 * Adds an object that came through `fd`; one of the same name is replaced. Device and GPU are
 * inherited from the parent when that is known. NULL when the table or the descriptors' is full.
 */
struct cot_rm_object *cot_rm_table_add(struct cot_rm_table *t, enum cot_rm_kind kind,
				       uint32_t client, uint32_t handle, uint32_t parent, int fd,
				       const struct cot_rm_identity *id);

/* Removes an object and all below it. handle == client: everything of the client. */
void cot_rm_table_remove(struct cot_rm_table *t, uint32_t client, uint32_t handle);

/* Removes everything that came through a descriptor (index into fds). */
void cot_rm_table_remove_fd(struct cot_rm_table *t, unsigned fd_index);

/* Copies the next object of the kind at or after *index; false at the end. Start with 0. */
bool cot_rm_table_next(const struct cot_rm_table *t, enum cot_rm_kind kind, unsigned *index,
		       struct cot_rm_object *ret_object);

/* Bit i: a group on device instance i (instances of 63 and more share the last bit). */
uint64_t cot_rm_table_gpus(const struct cot_rm_table *t);

#endif
