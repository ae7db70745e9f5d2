gsofa_roles(LIBRARY gpu_fill2_bitparallel.cu)
