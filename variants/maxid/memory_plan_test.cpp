#include "variants/maxid/memory_plan.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace gsofa;
using namespace gsofa::maxid;

namespace {

// Bytes of fill, maxId, queues and redo bits.
offset_t bytes_of(const memory_request& r, const memory_division& d) {
  const offset_t arena = offset_t{d.sources} * r.order + d.maxid_words + 4 * d.queue_entries + 2;
  return 4 * (arena + d.redo_words) + r.source_bytes * d.sources;
}

}  // namespace

TEST_CASE(
    "a budget is filled and never exceeded, and #C is as large as the share of the queues lets it "
    "be") {
  for (const index_t order : {index_t{1}, 7, 1000, 120750, 213360, 1447360, 2000000}) {
    CAPTURE(order);
    for (const offset_t megabytes : {1, 8, 64, 1024, 5120, 16384, 1 << 20}) {
      CAPTURE(megabytes);
      index_t before = std::numeric_limits<index_t>::max();
      for (const offset_t share : {1, 5, 25, 100}) {
        CAPTURE(share);
        const memory_request r{.order = order,
                               .bytes = megabytes << 20,
                               .most_sources = order,
                               .source_bytes = 12,
                               .fill_up = true,
                               .queue_share = share};
        if (13 * offset_t{order} > r.bytes) continue;
        if (24 * offset_t{order} > r.bytes && share > 25) continue;
        const memory_division d = memory_planner(r).divide();
        CHECK(bytes_of(r, d) <= r.bytes);
        const offset_t whole = offset_t{d.sources} * order;
        CHECK(d.maxid_words >= 0);
        CHECK(d.queue_entries >= std::min(whole * share / 100, most_queue_entries));
        CHECK(d.queue_entries <= std::min(whole, most_queue_entries));
        if (d.sources < order && d.queue_entries < std::min(whole, most_queue_entries)) {
          CHECK(bytes_of(r, d) >= r.bytes - 64);
        }
        if (d.sources < order) {
          memory_request one_more = r;
          one_more.bytes = bytes_of(r, d) + 8 * offset_t{order};
          CHECK(memory_planner(one_more).divide().sources <= d.sources + 1);
        }
        CHECK(d.sources <= before);
        before = d.sources;
      }
    }
  }
}

TEST_CASE("a source that does not fit is refused; exact queues and a limit of #C are kept") {
  memory_request r{.order = 1000, .bytes = 4000, .most_sources = 1000, .fill_up = true};
  CHECK_THROWS_AS((void)memory_planner(r).divide(), budget_error);
  r.bytes = 1 << 20;
  r.queue_entries = 3;
  CHECK(memory_planner(r).divide().queue_entries == 3);
  CHECK(memory_planner(r).divide().sources > 120);
  r.most_sources = 5;
  CHECK(memory_planner(r).divide().sources == 5);
  r.separate_queues = true;
  CHECK(memory_planner(r).divide().queue_entries == 15);
  r.queue_entries = 0;
  CHECK(memory_planner(r).divide().queue_entries == 5000);
  r.separate_queues = false;
  r.external_frontier = false;
  CHECK(memory_planner(r).divide().queue_entries == 5000);
}

TEST_CASE("without a budget queues have their usual length") {
  memory_request r{.order = 100000, .bytes = offset_t{64} << 30, .most_sources = 1024};
  CHECK(memory_planner(r).divide().sources == 1024);
  CHECK(memory_planner(r).divide().queue_entries == 25600000);
  r.queue_share = 1;
  CHECK(memory_planner(r).divide().queue_entries == offset_t{1} << 20);
  r.most_sources = 3;
  CHECK(memory_planner(r).divide().queue_entries == 300000);
}
