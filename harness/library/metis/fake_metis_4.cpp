// A METIS 4: its METIS_NodeND has a flag in place of the weights and eight options. Its order is
// the reverse.

extern "C" void METIS_NodeND(const int* n, const int* /*xadj*/, const int* /*adjncy*/,
                             const int* numflag, const int* /*options*/, int* perm, int* iperm) {
  for (int k = 0; k < *n; ++k) {
    perm[k] = *n - 1 - k + *numflag;
    iperm[*n - 1 - k] = k + *numflag;
  }
}
