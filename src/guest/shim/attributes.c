/* Attributes of launches: which ones workers can have, too. */
#include "guest/shim/launch.h"

static bool attribute_allows(const CUlaunchAttribute *a)
{
	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return true;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		return a->value.cooperative == 0;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		return a->value.clusterDim.x <= 1 && a->value.clusterDim.y <= 1 &&
		       a->value.clusterDim.z <= 1;
	default:
		return false;
	}
}

bool cot_shim_attributes_allow(const CUlaunchConfig *config)
{
	unsigned i;

	for (i = 0; config->attrs && i < config->numAttrs; i++)
		if (!attribute_allows(&config->attrs[i]))
			return false;
	return true;
}
