#include "emu/driver/validity.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "emu/driver/inside.h"
#include "emu/driver/md2.h"

/* The key is as long as a block, so it is used as it is. */
static const uint8_t key[COT_EMU_MD2_BYTES] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
					       0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};

static void add_key(struct cot_emu_md2 *m, uint8_t mask)
{
	uint8_t masked[COT_EMU_MD2_BYTES];
	unsigned i;

	for (i = 0; i < COT_EMU_MD2_BYTES; i++)
		masked[i] = key[i] ^ mask;
	cot_emu_md2_add(m, masked, sizeof(masked));
}

static CUresult add_device(struct cot_emu_md2 *m, CUdevice device)
{
	const CUdevice_attribute what[] = {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
					   CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
					   CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
	int32_t place[COT_ARRAY_LEN(what)];
	CUuuid uuid;
	CUresult result = cot_emu_ready();
	size_t i;

	if (result)
		return result;
	for (i = 0; i < COT_ARRAY_LEN(what); i++)
		(void)cot_emu_device_ask(device, what[i], &place[i]);
	uuid = cot_emu_device_uuid(device);
	cot_emu_md2_add(m, uuid.bytes, sizeof(uuid.bytes));
	cot_emu_md2_add(m, place, sizeof(place));
	return CUDA_SUCCESS;
}

CUresult cot_emu_validity_show(const struct cot_emu_validity *v, uint64_t ret_number[2])
{
	uint32_t head[4] = {COT_CUDA_VERSION, v->runtime_version, (uint32_t)getpid(),
			    (uint32_t)(uintptr_t)pthread_self()};
	uint64_t tail[4] = {v->runtime_table, v->validity_table, v->function, v->seconds};
	struct cot_emu_md2 inner = {.n = 0}, outer = {.n = 0};
	uint8_t digest[COT_EMU_MD2_BYTES];
	CUresult result = CUDA_SUCCESS;
	int i;

	add_key(&inner, 0x36);
	cot_emu_md2_add(&inner, head, sizeof(head));
	cot_emu_md2_add(&inner, tail, sizeof(tail));
	for (i = 0; !result && i < cot_emu_n_visible(); i++)
		result = add_device(&inner, i);
	if (result)
		return result;
	cot_emu_md2_end(&inner, digest);
	add_key(&outer, 0x5c);
	cot_emu_md2_add(&outer, digest, sizeof(digest));
	cot_emu_md2_end(&outer, digest);
	memcpy(ret_number, digest, sizeof(digest));
	return CUDA_SUCCESS;
}
