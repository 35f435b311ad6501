/* The digest MD2 (RFC 1319), which the runtime's check of the driver is made with: validity.c. */
#ifndef COT_EMU_DRIVER_MD2_H
#define COT_EMU_DRIVER_MD2_H

#include <stddef.h>
#include <stdint.h>

#define COT_EMU_MD2_BYTES 16u /* of a block and of the digest */

/* All zero: nothing added yet. */
struct cot_emu_md2 {
	uint8_t state[3 * COT_EMU_MD2_BYTES];
	uint8_t checksum[COT_EMU_MD2_BYTES], block[COT_EMU_MD2_BYTES];
	uint8_t last; /* of the checksum */
	unsigned n;   /* bytes in the block */
};

void cot_emu_md2_add(struct cot_emu_md2 *m, const void *bytes, size_t n);
void cot_emu_md2_end(struct cot_emu_md2 *m, uint8_t ret_digest[COT_EMU_MD2_BYTES]);

#endif
