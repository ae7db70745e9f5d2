# Tests of the built programs. Exit status 77: nothing to test on this machine. COST in seconds: the longest begin first.
set(gsofa "GSOFA=$<TARGET_FILE:gsofa>")

# Every setting runs on the special shapes and on its share of the 5,000 random patterns, at least 100 of them.
# Threads that wait for each other take seconds instead of milliseconds where other programs use all processors.
gsofa_test(oracle/check_full COMMAND gsofa check --suite full --seed 2 --rotate 1 --timeout 120
  --save ${CMAKE_BINARY_DIR}/counterexamples
  PROPERTIES LABELS "oracle;slow" TIMEOUT 3600 COST 200)
gsofa_test(gpu/device COMMAND gsofa_gpu_probe PROPERTIES LABELS gpu SKIP_RETURN_CODE 77)
gsofa_test(gpu/check_small COMMAND gsofa_gpu_probe --then $<TARGET_FILE:gsofa> check --suite small --variant gpu_* --rotate 2
  PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT 1800)

set(counting "GSOFA_COUNTING=$<TARGET_FILE:gsofa_counting>")
set(other_metis "")
if(TARGET gsofa::METIS AND NOT GSOFA_SANITIZE)  # its runtime must be loaded before all else
  set(other_metis ";GSOFA_FAKE_METIS=$<TARGET_FILE:gsofa_fake_metis>")
  add_dependencies(gsofa gsofa_fake_metis)
endif()
set(mpi_shim "")
if(TARGET gsofa_mpi_shim)
  set(mpi_shim ";GSOFA_MPI_SHIM=$<TARGET_FILE:gsofa_mpi_shim>")
endif()

foreach(name run commands judge terminal)
  gsofa_test(cli/${name} COMMAND harness/testing/cli_${name}_test.py
    PROPERTIES LABELS cli TIMEOUT 900 COST 12 ENVIRONMENT "${gsofa};${counting}${other_metis}")
endforeach()
gsofa_test(cli/testbed COMMAND harness/testing/testbed_test.py PROPERTIES LABELS cli)
if(NOT GSOFA_SANITIZE AND NOT GSOFA_COVERAGE)
  gsofa_test(cli/configurations COMMAND harness/testing/configurations_test.py ${CMAKE_BINARY_DIR}
    ${CMAKE_BINARY_DIR}/configurations PROPERTIES LABELS cli COST 15)
endif()
gsofa_test(cli/find_gpu COMMAND harness/testing/find_gpu_test.py
  PROPERTIES LABELS cli COST 10 ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER}")
gsofa_test(cli/layers COMMAND harness/testing/layers_test.py PROPERTIES LABELS cli)
gsofa_test(cli/links COMMAND harness/testing/links_test.py PROPERTIES LABELS cli)
gsofa_test(cli/version COMMAND harness/testing/version_test.py PROPERTIES LABELS cli)
gsofa_test(cli/schema COMMAND harness/record/schema_test.py PROPERTIES LABELS cli COST 15 SKIP_RETURN_CODE 77)
if(NOT GSOFA_SANITIZE)  # sanitizers reserve address space
  gsofa_test(cli/out_of_memory COMMAND harness/testing/out_of_memory_test.py
    PROPERTIES LABELS cli TIMEOUT 900 ENVIRONMENT "GSOFA=$<TARGET_FILE:gsofa_emulated>")
endif()
gsofa_test(oracle/check_processes COMMAND harness/testing/check_test.py PROPERTIES LABELS oracle TIMEOUT 900 COST 10
  ENVIRONMENT "${gsofa};GSOFA_CHECK_PROBE=$<TARGET_FILE:gsofa_check_probe>")
gsofa_test(python/package COMMAND harness/library/python/package_test.py ${CMAKE_BINARY_DIR}/python_package
  PROPERTIES LABELS python TIMEOUT 1200 COST 90 SKIP_RETURN_CODE 77 ENVIRONMENT "${gsofa}")

gsofa_test(mpi/peer_superlu_dist COMMAND harness/testing/mpi_test.py PROPERTIES LABELS mpi TIMEOUT 600 COST 40
  SKIP_RETURN_CODE 77 RESOURCE_LOCK mpi ENVIRONMENT "${gsofa};${counting}${other_metis}")
gsofa_test(mpi/distributed COMMAND harness/testing/mpi_distributed_test.py PROPERTIES LABELS mpi TIMEOUT 900 COST 90
  SKIP_RETURN_CODE 77 RESOURCE_LOCK mpi
  ENVIRONMENT "${gsofa};${counting};GSOFA_MPI_PROBE=$<TARGET_FILE:gsofa_mpi_probe>${mpi_shim}")

gsofa_test(cli/fetch COMMAND experiments/fetch_test.py PROPERTIES LABELS cli COST 15 ENVIRONMENT "${gsofa}")
gsofa_test(cli/suites COMMAND experiments/suites_test.py PROPERTIES LABELS cli ENVIRONMENT "${gsofa}")
gsofa_test(cli/fem COMMAND experiments/matrices/fem/patterns_test.py PROPERTIES LABELS cli SKIP_RETURN_CODE 77)
gsofa_test(cli/stale COMMAND experiments/stale_test.py PROPERTIES LABELS cli)
gsofa_test(cli/json_lines COMMAND experiments/json_lines_test.py PROPERTIES LABELS cli)
gsofa_test(cli/scaling_simulator COMMAND experiments/scaling_simulator/simulator_test.py PROPERTIES LABELS cli)
gsofa_test(cli/gpu_single COMMAND experiments/gpu_single/tools_test.py PROPERTIES LABELS cli)
gsofa_test(cli/ratios COMMAND experiments/ratios_test.py PROPERTIES LABELS cli)
gsofa_test(cli/sequences COMMAND experiments/sequences/sequences_test.py PROPERTIES LABELS cli SKIP_RETURN_CODE 77)
gsofa_test(cli/rerun COMMAND experiments/rerun_test.py
  PROPERTIES LABELS cli COST 4 SKIP_RETURN_CODE 77 ENVIRONMENT "${gsofa}")
gsofa_test(cli/records COMMAND experiments/records_test.py
  PROPERTIES LABELS cli COST 8 SKIP_RETURN_CODE 77 ENVIRONMENT "${gsofa}")
if(NOT GSOFA_PYTHON_LACKS EQUAL 0 AND Python3_VERSION VERSION_LESS 3.11)
  message(STATUS "gsofa: Python ${Python3_VERSION} is older than 3.11: no tests of figures and claims")
  return()
endif()
gsofa_test(cli/measure COMMAND experiments/measure_test.py
  PROPERTIES LABELS cli TIMEOUT 600 COST 35 ENVIRONMENT "${gsofa}")
gsofa_test(cli/campaign COMMAND experiments/judgement/campaign_test.py PROPERTIES LABELS cli)
set(build "")
if(NOT GSOFA_SANITIZE)
  set(build ENVIRONMENT "GSOFA_BUILD=$<TARGET_FILE_DIR:gsofa>")
endif()
foreach(study cliffs first_runs)
  gsofa_test(cli/${study} COMMAND experiments/${study}/${study}_test.py
    PROPERTIES LABELS cli TIMEOUT 300 ENVIRONMENT "GSOFA_EMULATED=$<TARGET_FILE:gsofa_emulated>")
endforeach()
gsofa_test(cli/reproduce COMMAND experiments/reproduce_test.py
  PROPERTIES LABELS cli TIMEOUT 900 COST 40 SKIP_RETURN_CODE 77 ${build})
foreach(file plots/cliffs plots/compare plots/records_compare plots/numbers plots/order_kinds plots/records plots/records_ratios plots/regret plots/sequences plots/style plots/site/site
    paper/claims paper/report paper/results paper/artifact/container)
  gsofa_test(${file} COMMAND ${file}_test.py PROPERTIES LABELS cli TIMEOUT 600 SKIP_RETURN_CODE 77)
endforeach()
gsofa_test(paper/judge COMMAND paper/judge_test.py PROPERTIES LABELS cli TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT "${gsofa}")
if(Python3_FOUND)
  set_tests_properties(paper/report PROPERTIES COST 60)
  set_tests_properties(plots/style plots/site/site PROPERTIES COST 25)
  set_tests_properties(paper/claims paper/results PROPERTIES COST 18)
endif()
