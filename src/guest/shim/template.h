/*
 * Modules that were rewritten for merged launches, kept on disk for the next process. A file is
 * named by its key: a hash of the module's PTX, of the version of the passes, of the newest PTX
 * that the driver knows, and of the GPU's compute capability.
 *
 *     template.c    a file's bytes
 *     store.c       the directory: whose files are read, and how much is kept
 *     kept.c        both together
 */
#ifndef COT_GUEST_SHIM_TEMPLATE_H
#define COT_GUEST_SHIM_TEMPLATE_H

#include <stddef.h>

#include "base/sha256.h"
#include "guest/shim/rewrite.h"

/* Of all files, of one of them, and how many there are; beyond, the oldest go. */
#define COT_SHIM_STORE_BYTES	  (64ull << 20)
#define COT_SHIM_STORE_FILE_BYTES (16u << 20)
#define COT_SHIM_STORE_FILES	  1024u

const char *cot_shim_template_key(const char *text, size_t length, unsigned newest, unsigned target,
				  char ret_key[COT_SHA256_TEXT]);
/* malloc'ed. -ENOMEM, -E2BIG. */
int cot_shim_template_write(const struct cot_shim_rewritten *r, const char *key,
			    unsigned char **ret_bytes, size_t *ret_n);
/* -EINVAL: it is not what was written for this key. -ENOMEM. */
int cot_shim_template_read(const void *bytes, size_t n, const char *key,
			   struct cot_shim_rewritten *ret);

/*
 * A descriptor of the directory below the user's cache, made if need be. -ELOOP or -ENOTDIR: it is
 * a link, or none; -EPERM: it is another user's, or others may write there.
 */
int cot_shim_store_open(const char *cache);
/* malloc'ed. -ENOENT: there is none; -EPERM: it is not the user's own; -EINVAL: no regular file, or
 * its size cannot be. */
int cot_shim_store_load(int dir, const char *key, unsigned char **ret_bytes, size_t *ret_n);
/* The whole file or none. */
int cot_shim_store_save(int dir, const char *key, const void *bytes, size_t n);

/* cot_shim_rewrite_to_merge(), unless that has been done before. */
int cot_shim_rewrite_kept(const char *text, size_t length, unsigned newest, unsigned target,
			  struct cot_shim_rewritten *ret);

#endif
