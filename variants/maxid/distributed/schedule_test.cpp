#include "variants/maxid/distributed/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "common/generators.hpp"
#include "reference/worked_example.hpp"

using namespace gsofa;
using namespace gsofa::maxid;

namespace {

constexpr schedule_kind static_kinds[] = {schedule_kind::block, schedule_kind::inter_node,
                                          schedule_kind::intra_node};

// How often each row is found, over all ranks and workers, in batches of `batch` chunks.
std::vector<int> visits(schedule_kind kind, index_t n, index_t chunk_size, int ranks, int workers,
                        index_t batch) {
  std::vector<int> times(static_cast<std::size_t>(n), 0);
  const chunking chunks(n, chunk_size);
  for (int r = 0; r < ranks; ++r) {
    const auto mine = chunks_of_rank(kind, chunks.count(), r, ranks);
    for (std::size_t at = 0; at < mine.size(); at += static_cast<std::size_t>(batch)) {
      const auto part = std::span<const index_t>(mine).subspan(
          at, std::min(static_cast<std::size_t>(batch), mine.size() - at));
      for (int w = 0; w < workers; ++w) {
        for (const row_set& s : rows_of_worker(kind, chunks, part, w, workers)) {
          CHECK(s.count > 0);
          for (index_t k = 0; k < s.count; ++k) {
            const index_t row = s.row(k);
            REQUIRE(row < n);
            ++times[static_cast<std::size_t>(row)];
            const index_t chunk = row / chunks.size();
            const auto position =
                static_cast<std::size_t>(std::ranges::find(part, chunk) - part.begin());
            REQUIRE(position < part.size());
            CHECK(worker_of_row(kind, chunks, part, position, row, workers) == w);
          }
        }
      }
    }
  }
  return times;
}

}  // namespace

TEST_CASE("chunks cover the rows") {
  const chunking even(256, 64);
  CHECK(even.count() == 4);
  CHECK(even.end(3) == 256);
  const chunking uneven(257, 64);
  CHECK(uneven.count() == 5);
  CHECK(uneven.begin(4) == 256);
  CHECK(uneven.end(4) == 257);
  const chunking one(300, 0);
  CHECK(one.count() == 1);
  CHECK(one.end(0) == 300);
  CHECK(chunking(10, 128).count() == 1);
  CHECK(chunking(0, 128).count() == 0);
  const chunking huge(2147483647, 2147483646);
  CHECK(huge.count() == 2);
  CHECK(huge.end(1) == 2147483647);
}

TEST_CASE("the paper's equation: PR on a node of six GPUs") {
  const concurrency c = derive_concurrency(128, 1024, 6);
  CHECK(c.chunks_per_node == 48);
  CHECK(c.equation() == "128 x 48 = 1024 x 6");
  CHECK(derive_concurrency(128, 100, 2).equation() == "128 x 1 ~ 100 x 2");
  CHECK(derive_concurrency(256, 16, 2).chunks_per_node == 1);
  CHECK(derive_concurrency(64, 1 << 20, 1 << 16).chunks_per_node == (1 << 30));
}

TEST_CASE("static schedules find every row once, whatever the shape") {
  for (const schedule_kind kind : static_kinds) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
      for (const int workers : {1, 2, 3, 6}) {
        for (const index_t n : {1, 63, 64, 65, 500, 641}) {
          for (const index_t batch : {1, 3, 8}) {
            const auto times = visits(kind, n, 64, ranks, workers, batch);
            CHECK(std::ranges::all_of(times, [](int t) { return t == 1; }));
          }
        }
      }
    }
  }
}

TEST_CASE("schedules by hand") {
  // Ten chunks on three nodes.
  CHECK(chunks_of_rank(schedule_kind::block, 10, 0, 3) == std::vector<index_t>{0, 1, 2, 3});
  CHECK(chunks_of_rank(schedule_kind::block, 10, 2, 3) == std::vector<index_t>{7, 8, 9});
  CHECK(chunks_of_rank(schedule_kind::inter_node, 10, 1, 3) == std::vector<index_t>{1, 4, 7});
  CHECK(chunks_of_rank(schedule_kind::intra_node, 10, 2, 3) == std::vector<index_t>{2, 5, 8});
  CHECK(chunks_of_rank(schedule_kind::block, 2, 2, 3).empty());
  CHECK(chunks_of_rank(schedule_kind::inter_node, 2, 2, 3).empty());

  const chunking chunks(22, 4);  // rows 20 and 21 make the last chunk
  const std::vector<index_t> batch{1, 2, 5};
  using sets = std::vector<row_set>;
  CHECK(rows_of_worker(schedule_kind::inter_node, chunks, batch, 0, 2) ==
        sets{{.begin = 4, .stride = 1, .count = 8}});
  CHECK(rows_of_worker(schedule_kind::inter_node, chunks, batch, 1, 2) ==
        sets{{.begin = 20, .stride = 1, .count = 2}});
  CHECK(rows_of_worker(schedule_kind::intra_node, chunks, batch, 1, 3) ==
        sets{{.begin = 5, .stride = 3, .count = 1},
             {.begin = 9, .stride = 3, .count = 1},
             {.begin = 21, .stride = 3, .count = 1}});
  CHECK(rows_of_worker(schedule_kind::intra_node, chunks, batch, 2, 3) ==
        sets{{.begin = 6, .stride = 3, .count = 1}, {.begin = 10, .stride = 3, .count = 1}});
}

TEST_CASE("predicted work of the worked example and of a path") {
  // A tridiagonal pattern: the etree is a path, so that source s is predicted all degrees up to s.
  triplets t;
  t.n_rows = t.n_cols = 5;
  for (index_t i = 0; i < 5; ++i) {
    for (index_t j = std::max(0, i - 1); j <= std::min(4, i + 1); ++j) {
      t.rows.push_back(i);
      t.cols.push_back(j);
    }
  }
  CHECK(predicted_work(from_triplets(t, duplicates::reject)) ==
        std::vector<double>{2, 5, 8, 11, 13});
  const pattern a = reference::worked_example();
  const auto work = predicted_work(a);
  // The root of a connected pattern has all vertices below it.
  CHECK(*std::ranges::max_element(work) == static_cast<double>(a.nnz()));
}

TEST_CASE("chunks by falling work") {
  const std::vector<double> work{1, 1, 5, 5, 2, 8, 1, 1, 3};
  const auto sums = work_of_chunks(chunking(9, 2), work);
  CHECK(sums == std::vector<double>{2, 10, 10, 2, 3});
  CHECK(chunks_by_work(sums) == std::vector<index_t>{1, 2, 4, 0, 3});
}

TEST_CASE("guided takes cover the order and are shares of the work that is left") {
  for (const int workers : {1, 3, 264}) {
    for (const index_t largest : {1, 4, 48}) {
      for (const std::size_t chunks : {0U, 1U, 7U, 1000U}) {
        std::vector<double> works(chunks);
        for (std::size_t k = 0; k < chunks; ++k) works[k] = 1e6 / static_cast<double>(k * k + 1);
        double left = 0;
        for (const double w : works) left += w;
        index_t next = 0;
        for (const auto& [begin, end] : guided_takes(works, largest, workers)) {
          CHECK(begin == next);
          CHECK(end > begin);
          CHECK(end - begin <= largest);
          double taken = 0;
          for (index_t k = begin; k < end; ++k) taken += works[static_cast<std::size_t>(k)];
          if (end - begin > 1) CHECK(taken <= left / (2 * workers) + 1e-6);
          left -= taken;
          next = end;
        }
        CHECK(next == static_cast<index_t>(chunks));
      }
    }
  }
  using list = std::vector<std::pair<index_t, index_t>>;
  // Halves of 10, 6, 3, 2 and 1 equal chunks.
  const std::vector<double> equal(10, 1.0);
  CHECK(guided_takes(equal, 4, 1) == list{{0, 4}, {4, 7}, {7, 8}, {8, 9}, {9, 10}});
  // No chunk fits next to 20, which is half of 40, to 11 of 20, to 6 of 9, or to 2 of 3.
  const std::vector<double> uneven{20, 11, 6, 2, 1};
  CHECK(guided_takes(uneven, 4, 1) == list{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  // 8 + 4 is half of 24, 4 + 2 of 12, 2 less than half of 6.
  const std::vector<double> falling{8, 4, 4, 2, 2, 2, 2};
  CHECK(guided_takes(falling, 4, 1) == list{{0, 2}, {2, 4}, {4, 5}, {5, 6}, {6, 7}});
}

TEST_CASE("schedule names") {
  for (const auto& name : schedule_names()) {
    CHECK(schedule_names()[static_cast<std::size_t>(parse_schedule(name))] == name);
  }
  CHECK_THROWS_AS(parse_schedule("cyclic"), input_error);
}
