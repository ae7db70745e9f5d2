#pragma once

#include "variants/fill/fill1.hpp"
#include "variants/maxid/maxid.hpp"
#include "variants/support/row_variant.hpp"

namespace gsofa::detail {

/// A correct fill1 run whose finished result is then spoilt: `Spoil` is called as
/// spoil(a, wanted, result) and plants one fault. Every part of the result that the fault touches
/// is spoilt consistently (counts, digests and patterns agree with each other), so that only a
/// comparison with the truth, or the certificate, can find it.
class planted_row_variant : public row_variant {
 public:
  void run(run_context& context) override {
    rows_.reset(a_.n_rows, 1, true);
    fill::fill1_row find(a_.n_rows);
    for (index_t src = 0; src < a_.n_rows; ++src) {
      context.check_deadline(src, a_.n_rows);
      find(a_, src, rows_);
    }
    find_supernodes(context);
  }

  result collect(want_set wants) override {
    result found = rows_.collect(want::pattern);
    spoil(found.l, found.u);
    result out;
    out.nnz_l = found.l.nnz();
    out.nnz_u = found.u.nnz();
    for (index_t i = 0; i < a_.n_rows; ++i) {
      if (wants.has(want::counts)) {
        out.l_row_counts.push_back(static_cast<index_t>(found.l.row(i).size()));
        out.u_row_counts.push_back(static_cast<index_t>(found.u.row(i).size()));
      }
      if (wants.has(want::digest)) {
        out.row_digests.push_back(row_digest(i, found.l.row(i)) + row_digest(i, found.u.row(i)));
        out.digest += out.row_digests.back();
      }
    }
    if (wants.has(want::supernodes)) out.supernode_starts = supernodes_;
    if (wants.has(want::pattern)) {
      out.l = std::move(found.l);
      out.u = std::move(found.u);
    }
    return out;
  }

 protected:
  /// Plants the fault in the strictly lower part and in the upper part with the diagonal.
  virtual void spoil(pattern& l, pattern& u) = 0;

  /// Removes the entry at position p of row i.
  static void erase(pattern& a, index_t i, offset_t p) {
    a.col_idx.erase(a.col_idx.begin() + p);
    for (index_t k = i; k < a.n_rows; ++k) --a.row_ptr[static_cast<std::size_t>(k) + 1];
  }
  /// Inserts column j before position p, in row i.
  static void insert(pattern& a, index_t i, offset_t p, index_t j) {
    a.col_idx.insert(a.col_idx.begin() + p, j);
    for (index_t k = i; k < a.n_rows; ++k) ++a.row_ptr[static_cast<std::size_t>(k) + 1];
  }
};

/// A correct fill1 run that ends or blocks its process on orders above 2: strike() does.
class planted_fatal_variant : public planted_row_variant {
 public:
  void run(run_context& context) override {
    if (a_.n_rows > 2) strike();
    planted_row_variant::run(context);
  }

 protected:
  virtual void strike() = 0;
  void spoil(pattern&, pattern&) override {}
};

/// The relaxed algorithm with a fault planted in its settings, in small batches.
class planted_maxid_variant : public row_variant {
 public:
  void run(run_context& context) override {
    rows_.reset(a_.n_rows, 1, true);
    maxid::maxid_settings setup = fault();
    setup.concurrent = std::min(a_.n_rows, index_t{4});
    maxid::maxid_engine engine(a_, setup, 1);
    engine.run(rows_, context);
    find_supernodes(context);
  }

 protected:
  virtual maxid::maxid_settings fault() const = 0;
};

}  // namespace gsofa::detail
