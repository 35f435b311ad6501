/*
 * Physical memory and the addresses at which it is seen (cuMemCreate, cuMemMap). Memory is a file
 * without a name, so that a descriptor of it lets another process map it at the same address. As on
 * the real GPU it lives until its handle is released and nothing of it is mapped. Thread-safe.
 */
#ifndef COT_EMU_DRIVER_VIRTUAL_H
#define COT_EMU_DRIVER_VIRTUAL_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/abi/calls.h"

#define COT_EMU_GRANULARITY ((size_t)2 << 20)

/* Addresses: at `at` if they are free there and it is not 0, else anywhere. */
CUresult cot_emu_virtual_reserve(uint64_t at, size_t bytes, uint64_t *ret_at);
CUresult cot_emu_virtual_unreserve(uint64_t at, size_t bytes);

CUresult cot_emu_virtual_create(size_t bytes, CUmemGenericAllocationHandle *ret_handle);
CUresult cot_emu_virtual_release(CUmemGenericAllocationHandle handle);
/* A descriptor, which is the caller's; and memory of one, which stays the caller's. */
CUresult cot_emu_virtual_export(CUmemGenericAllocationHandle handle, int *ret_fd);
CUresult cot_emu_virtual_import(int fd, CUmemGenericAllocationHandle *ret_handle);

/* The whole memory, below reserved addresses. */
CUresult cot_emu_virtual_map(uint64_t at, size_t bytes, CUmemGenericAllocationHandle handle);
/* From now on kernels and copies may use what is mapped there. */
CUresult cot_emu_virtual_open(uint64_t at, size_t bytes, CUdevice device);
CUresult cot_emu_virtual_unmap(uint64_t at, size_t bytes);

#endif
