#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "common/pattern.hpp"

namespace gsofa::reference {

/// A 10 x 10 pattern that has every property the paper's text gives its running example (Figures 1
/// to 8; the drawing itself is not part of the text). Rows 0, 1, 2, 7 and 8 follow from the text;
/// the others are one choice among several.
pattern worked_example();

/// The facts that the text states about the pattern, 0-based.
namespace worked {

using edge = std::pair<index_t, index_t>;

inline constexpr index_t order = 10;
inline constexpr index_t source = 8;
/// Section 1: nonzeros of row 8.
inline constexpr std::array<index_t, 5> source_row = {1, 2, 7, 8, 9};
/// Section 2: fill-ins of row 8, and the row of L that they complete.
inline constexpr std::array<edge, 3> source_fill = {{{8, 3}, {8, 4}, {8, 5}}};
inline constexpr std::array<index_t, 6> source_l_row = {1, 2, 3, 4, 5, 7};
/// Section 2: the fill edge on fill1's path 8 -> 1 -> 5, itself due to 1 -> 0 -> 5.
inline constexpr edge fill_edge = {1, 5};
/// Section 4: neighbours, diagonal left out, of the frontiers of iteration 1.
inline constexpr std::array<index_t, 1> neighbours_of_1 = {0};
inline constexpr std::array<index_t, 3> neighbours_of_2 = {3, 5, 7};
inline constexpr std::array<index_t, 2> neighbours_of_7 = {2, 4};
/// Section 4: frontiers of iterations 1, 2 and 3.
inline constexpr std::array<index_t, 3> frontier_1 = {1, 2, 7};
inline constexpr std::array<index_t, 4> frontier_2 = {0, 3, 4, 5};
inline constexpr std::array<index_t, 1> frontier_3 = {4};
/// maxId after initialisation and after each iteration; `order` (|V|) stands for "not reached".
/// Iteration 3 changes nothing.
inline constexpr std::array<std::array<index_t, 10>, 4> max_id = {{
    {10, 0, 0, 10, 10, 10, 10, 0, 0, 0},
    {1, 0, 0, 2, 7, 2, 10, 0, 0, 0},
    {1, 0, 0, 2, 3, 1, 10, 0, 0, 0},
    {1, 0, 0, 2, 3, 1, 10, 0, 0, 0},
}};
/// Sections 2 and 5: |U(0,:)| and |U(1,:)|; supernode leaders among rows 0..3; the bitmap of
/// |U(s,:)| = |U(s-1,:)| - 1 over these rows ("0100"). The remark in Section 2 that rows 1 and 2
/// form a supernode contradicts both facts; it is true of rows 0 and 1, and is not followed here.
inline constexpr index_t u_row_0_count = 3;
inline constexpr index_t u_row_1_count = 2;
inline constexpr std::array<index_t, 3> leaders_phase_1 = {0, 2, 3};
inline constexpr std::array<bool, 4> bitmap_phase_1 = {false, true, false, false};
/// Section 6: the capacity of the new frontier queue, the vertices with which frontiers 1 and 2
/// fill it, and the vertex that frontier 7 adds.
inline constexpr std::size_t external_capacity = 3;
inline constexpr std::array<index_t, 3> external_first = {0, 3, 5};
inline constexpr index_t external_after = 4;

}  // namespace worked

}  // namespace gsofa::reference
