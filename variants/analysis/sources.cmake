gsofa_roles(
  LIBRARY *.cu
  NOT_INTERLEAVED gpu_analysis.cu)
