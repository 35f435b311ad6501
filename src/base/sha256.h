/*
 * SHA-256 (FIPS 180-4) of bytes in memory, as text: which input a result was made from. Pure.
 */
#ifndef COT_BASE_SHA256_H
#define COT_BASE_SHA256_H

#include <stddef.h>

#define COT_SHA256_TEXT 65u /* 64 digits and the end */

/* In small letters, as sha256sum(1) prints it. Returns `ret_text`. */
const char *cot_sha256(const void *bytes, size_t size, char ret_text[COT_SHA256_TEXT]);

#endif
