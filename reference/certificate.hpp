#pragma once

#include <string>

#include "common/pattern.hpp"

namespace gsofa::reference {

/// Outcome of a check; `reason` is one line and empty when ok.
struct verdict {
  bool ok = true;
  std::string reason;
  index_t row = -1;  ///< the first wrong row, of a certificate that finds one
};

/// Checks that l and u have the form of factors of order n: consistent row pointers, columns in
/// range and strictly ascending, L strictly lower, U upper with its whole diagonal. The reason
/// names the first fault, L before U, smallest row first.
verdict check_structure(const pattern_view& l, const pattern_view& u, index_t n);

/// Decides whether F = L+U is exactly the fill closure of `a`, without computing it: after
/// check_structure, that
///   (a) contained: A and the diagonal are in F;
///   (b) closed: F(i,k), k < i, F(k,j), j > k imply F(i,j);
///   (c) justified: every F(i,j), i != j, is in A or has a k < min(i,j) with F(i,k) and F(k,j).
/// On a fault of (a) to (c) the reason names one entry of the smallest faulty row, for any number
/// of threads. Takes certificate_cost(l, u) steps and n bytes per thread. Throws input_error if `a`
/// itself is not a valid square pattern.
verdict check_certificate(const pattern_view& a, const pattern_view& l, const pattern_view& u,
                          int threads);

/// Elementary steps of check_certificate: the sum over the entries (i,k) of L of |U(k,:)|. l and u
/// must have passed check_structure.
double certificate_cost(const pattern_view& l, const pattern_view& u);

}  // namespace gsofa::reference
