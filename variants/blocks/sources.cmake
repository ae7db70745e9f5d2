gsofa_roles(LIBRARY gpu_diagonal_blocks.cu)
