"""Which tests matter for a folder: regular expressions over the names of CTest.

first   run first, those named after the file before the others
then    run when all of these pass
long    integration tests and others that take their time, run last and up to three times each, as CTest does; --quick leaves them out
"""

QUICK = r"(?!integration_|test_preload$|test_shim$|test_shim_deaths$)"

FOLDERS = {
    "src/base": (r"test_base_", QUICK + r"test_", None),
    "src/text": (r"test_text_|fuzz_(scenario|trace|kernels|config|measurements)$",
                 r"test_trace_|test_daemon_config|cli_test_(bad_scenario|model)$", None),
    "src/trace": (r"test_trace_|fuzz_(scenario|trace|kernels|measurements|contention)$",
                  r"test_sim_|cli_test_(sim|bad_scenario|list|model)$|test_daemon_config|fuzz_config", None),
    "src/proto": (r"test_proto$|fuzz_proto", r"test_daemon_|fuzz_|test_shim_", r"integration_daemon_(basics|packets)"),
    "src/model": (r"test_model_|test_study_contention", r"cli_test_model|test_policy_|test_sched_", None),
    "src/metrics": (r"test_metrics_", r"test_sim_", None),
    "src/ptx": (r"test_ptx_(edit|errors|parse|samples|verify)|fuzz_ptx$", r"test_ptx_|fuzz_ptx|cli_test_ptx$", None),
    "src/ptx/pass": (r"test_ptx_pass_", r"test_ptx_|fuzz_ptx|cli_test_ptx", None),
    "src/policy": (r"test_policy_|test_sched_policies|test_sched_work", r"test_sched_|test_sim_(policies|works)", None),
    "src/sched": (r"test_sched_|fuzz_sched", r"test_policy_|test_sim_(policies|works)|test_daemon_host", None),
    "src/sim": (r"test_sim_(?!properties)|test_sched_hosts", r"test_scheduler_contract|test_policy_contract|test_sim_properties|test_report_sim|cli_test_sim$", None),
    "src/sim/hw": (r"test_sim_(?!properties)|test_scheduler_", r"test_sim_properties|cli_test_(reproduce_smqos|sim)$", None),
    "src/cuda/fatbin": (r"test_cuda_fatbin|fuzz_fatbin", r"test_emu_driver_ptx|fuzz_shim|fuzz_loadable", None),
    "src/cuda": (r"test_cuda_(driver|green)", r"test_contention|test_shim|test_emu_driver", r"integration_(kernels|contention|live_doctor)$"),
    "src/cuda/rm": (r"test_cuda_rm", r"test_preload", r"integration_live_(channels|odd)"),
    "src/guest": (r"test_preload_(os|env|link)|test_shim_settings", r"test_preload|test_shim", r"integration_run"),
    "src/guest/preload": (r"test_preload", r"test_cuda_rm|test_shim", r"integration_(run|live_odd|live_channels)"),
    "src/guest/shim": (r"test_shim_(?!deaths)|fuzz_shim|fuzz_loadable", r"test_shim|test_smguard",
                       r"integration_(daemon_(bursts|works)|shim_(programs|parts)|parts_storm|live_(shares|parts|quotas))"),
    "src/daemon": (r"test_daemon_|fuzz_(config|found|host_work)",
                   r"test_sched_hosts|cli_test_sim$",
                   r"integration_(daemon_(basics|death|readback|works|access|packets)|run|live_pools|live_rotate|"
                   r"pools_(state|users))$|faults$"),
    "src/emu/exec": (r"test_emu_exec", r"test_ptx_pass|test_ptx_truth|fuzz_emu", None),
    "src/emu": (r"test_emu_", r"test_shim", r"integration_(emulate|emu_parts)$"),
    "src/report": (r"test_report_", r"cli_test_|test_study_|test_model_", None),
    "src/study": (r"test_study_|test_model_consolidate", r"cli_test_(model|reproduce_smqos|interrupt|docs)", None),
    "src/cli": (r"test_cli_|cli_test_", None, r"integration_(run|emulate|daemon_basics)$"),
}


def stages(folder, quick):
    """[(regular expression, attempts)] for a folder, or for the nearest one above it."""
    while folder and folder not in FOLDERS:
        folder = folder.rpartition("/")[0]
    first, then, long = FOLDERS.get(folder, (QUICK, None, None))
    listed = ((first, 1), (then, 1), (None if quick else long, 3))
    return [(regex, attempts) for regex, attempts in listed if regex]
