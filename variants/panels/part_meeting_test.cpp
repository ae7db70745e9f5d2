// Parts that wait for each other, some of which leave.
#include "variants/panels/part_meeting.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "common/parallel.hpp"
#include "common/types.hpp"

using namespace gsofa;

TEST_CASE("what parts have written before they meet all of them see") {
  constexpr int parts = 5;
  part_meeting meeting;
  meeting.start(parts);
  std::vector<int> written(parts, 0);
  std::vector<int> wrong(parts, 0);
  on_threads(parts, [&](int k) {
    for (int round = 1; round <= 200; ++round) {
      written[at(k)] = round;
      if (!meeting.meet()) ++wrong[at(k)];
      for (const int w : written) wrong[at(k)] += w == round ? 0 : 1;
      if (!meeting.meet()) ++wrong[at(k)];
    }
    meeting.leave(true);
  });
  CHECK(wrong == std::vector<int>(parts, 0));
}

TEST_CASE(
    "parts that leave are not waited for, and nobody waits once one has left without a result") {
  for (const bool with_result : {true, false}) {
    for (int leaver = 0; leaver < 4; ++leaver) {
      part_meeting meeting;
      for (int again = 0; again < 3; ++again) {
        meeting.start(4);
        std::vector<int> met(4, 0);
        on_threads(4, [&](int k) {
          bool all = meeting.meet();
          met[at(k)] += all ? 1 : 0;
          for (int round = 0; all && k != leaver && round < 3; ++round) {
            all = meeting.meet();
            met[at(k)] += all ? 1 : 0;
          }
          meeting.leave(k == leaver ? with_result : all);
        });
        for (int k = 0; k < 4; ++k) {
          if (with_result) CHECK(met[at(k)] == (k == leaver ? 1 : 4));
          if (!with_result) CHECK(met[at(k)] <= 1);
        }
      }
    }
  }
}
