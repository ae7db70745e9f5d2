// A library as those of HSL without METIS: its own metis_nodend_, with the arguments of METIS 4,
// says that there is none, and its solver asks with a graph of one vertex.

#define HSL_EXPORT extern "C" [[gnu::visibility("default")]]

HSL_EXPORT void metis_nodend_(const int* /*n*/, const int* /*xadj*/, const int* /*adjncy*/,
                              const int* /*numflag*/, const int* /*options*/, int* /*iperm*/,
                              int* perm) {
  perm[0] = -1;
}

HSL_EXPORT bool has_metis() {
  const int n = 1, xadj[] = {1, 2}, adjncy[] = {1}, numflag = 1, options[8] = {};
  int iperm[] = {0}, perm[] = {0};
  metis_nodend_(&n, xadj, adjncy, &numflag, options, iperm, perm);
  return perm[0] != -1;
}
