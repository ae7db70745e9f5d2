#include "common/generators.hpp"

#include <algorithm>
#include <new>
#include <string_view>

#include "common/generators/families.hpp"
#include "common/ordering.hpp"

namespace gsofa {

using namespace generator;

namespace {

struct family {
  std::string name;
  std::string summary;
  std::vector<parameter> parameters;
  pattern (*make)(const arguments&);
};

std::vector<parameter> operator+(std::vector<parameter> a, const std::vector<parameter>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<family>& families() {
  static const std::vector<family> all = [] {
    const std::vector<parameter> plane{required("nx", 1), integer("ny", "@nx", 1)};
    const std::vector<parameter> space = plane + std::vector{integer("nz", "@nx", 1)};
    const parameter seed = integer("seed", "1", 0);
    const parameter leading = integer("n", "0", 0);
    const std::vector<parameter> filters{real("oneway", "0"), real("drop", "0")};
    const std::vector<parameter> thinned =
        std::vector{real("thin", "0")} + filters +
        std::vector{word("upwind", "none", {"none", "x", "y", "z", "all"}), leading, seed};
    const std::vector<parameter> routing{real("degree", "4", 1000), real("reach", "0.2"),
                                         integer("hubs", "0", 0), real("supply", "0")};
    const std::vector<parameter> members{required("rows", 1),       required("columns", 1),
                                         real("degree", "4", 1000), integer("span", "20", 1),
                                         real("far", "0.1"),        seed};
    return std::vector<family>{
        {"arrow",
         "diagonal plus a dense row and column",
         {required("n", 0), word("tip", "last", {"first", "last"})},
         make_arrow},
        {"banded",
         "full band",
         {required("n", 0), integer("lower", "1", 0), integer("upper", "1", 0)},
         [](const arguments& a) { return make_banded(a, a.integer("lower"), a.integer("upper")); }},
        {"bipartite_kkt",
         "augmented system of least squares or set covering: each row has degree columns, within "
         "span of its place or (far) anywhere, then early columns more often",
         members, make_bipartite_kkt},
        {"channel",
         "convection-diffusion of several fields on a channel; radius and kind of stencil, one-way "
         "coupling of the fields, upwind differences",
         plane +
             std::vector{integer("nz", "1", 1), integer("fields", "1", 1, 64),
                         integer("radius", "1", 1, 3), word("stencil", "star", {"star", "box"}),
                         word("coupling", "oneway", {"none", "oneway", "full"})} +
             thinned,
         make_channel},
        {"circuit",
         "circuit placed on a square: local links, some far ones (reach), supply nets (hubs) of "
         "power-law degree",
         std::vector{required("n", 0)} + routing + filters + std::vector{seed}, make_circuit},
        {"columns",
         "chemical process: distillation columns of stages, linked by recycle streams",
         {required("columns", 1), required("stages", 2), required("components", 1, 10000),
          real("recycles", "1", 1000), integer("reach", "2", 0), real("drop", "0"), leading, seed},
         make_columns},
        {"convection",
         "scalar in a recirculating flow, upwind differences, conduction in the layer y < "
         "conductive "
         "ny; nz = 1: a plane",
         space +
             std::vector{word("stencil", "15", {"5", "7", "9", "15", "27"}),
                         real("conductive", "0.45")} +
             filters + std::vector{seed},
         make_convection},
        {"dense",
         "every entry",
         {required("n", 0)},
         [](const arguments& a) {
           const index_t n = a.integer("n");
           return make_banded(a, n, n);
         }},
        {"dg",
         "discontinuous Galerkin of degree 1, upwind faces on a recirculating flow: blocks of 4 "
         "unknowns per element, 3 in a plane (nz = 1); nx, ny, nz count cells",
         space + std::vector{word("element", "simplex", {"simplex", "cube"})} + filters +
             std::vector{seed},
         make_dg},
        {"diagonal",
         "the diagonal only",
         {required("n", 0)},
         [](const arguments& a) { return make_banded(a, 0, 0); }},
        {"dissected",
         "3-D grid numbered by geometric nested dissection, for n up to 10^8 and more; --order "
         "natural keeps this numbering",
         space + std::vector{word("stencil", "7", {"7", "15", "27"}), integer("dof", "1", 1, 64)} +
             filters + std::vector{integer("interleaved", "0", 0, 1), seed},
         make_dissected},
        {"economy",
         "multi-country economic model stacked over periods; lagged (states) and leading (jumps) "
         "variables couple neighbouring periods; present values and stocks couple all periods "
         "within the horizon",
         {required("equations", 1), required("periods", 1), integer("countries", "7", 1),
          real("terms", "4", 1000), integer("span", "20", 0), real("feedback", "0.3"),
          real("trade", "0.5", 1000), real("lags", "1", 1000), real("leads", "0.5", 1000),
          real("states", "0.3"), real("jumps", "0.1"), integer("horizon", "0", 0), leading, seed},
         make_economy},
        {"edge_elements",
         "curl-curl problem: Nedelec elements on cubes (hex1) or on six tetrahedra per cube, of "
         "first (tet1) or second order (tet2); nx, ny, nz count cubes",
         space + std::vector{word("element", "hex1", {"hex1", "tet1", "tet2"}), leading, seed},
         make_edge_elements},
        {"elasticity3d",
         "elasticity on hexahedra, dof unknowns per node; wide: probability of links to second "
         "neighbours along the axes",
         space + std::vector{integer("dof", "3", 1, 64), word("stencil", "27", {"7", "15", "27"}),
                             real("thin", "0"), real("wide", "0"), leading, seed},
         make_elasticity},
        {"fields",
         "fields on a grid; each field depends on the previous fields at the node or over the "
         "stencil; random: in either direction, node by node; last: the last field depends on the "
         "others at the node, and the others are coupled both ways",
         space +
             std::vector{word("stencil", "7", {"5", "7", "9", "15", "27"}),
                         integer("fields", "3", 1, 64),
                         word("coupling", "node", {"node", "stencil", "random", "last"})} +
             filters + std::vector{seed},
         make_fields},
        {"flowsheet",
         "chemical process: streams and K-values of the stages of separation columns, linked by "
         "recycle streams; its diagonal is deficient",
         {required("columns", 1), required("stages", 2), required("components", 1, 10000),
          real("recycles", "1", 1000), integer("reach", "2", 0), seed},
         make_flowsheet},
        {"grid15", "linear tetrahedra on a 3-D grid (15 points)", space + thinned,
         [](const arguments& a) { return make_grid(a, "15"); }},
        {"grid27", "trilinear hexahedra on a 3-D grid (27 points)", space + thinned,
         [](const arguments& a) { return make_grid(a, "27"); }},
        {"grid5", "5-point differences on a 2-D grid", plane + thinned,
         [](const arguments& a) { return make_grid(a, "5"); }},
        {"grid7", "7-point differences on a 3-D grid", space + thinned,
         [](const arguments& a) { return make_grid(a, "7"); }},
        {"grid9", "9-point differences on a 2-D grid", plane + thinned,
         [](const arguments& a) { return make_grid(a, "9"); }},
        {"harmonic",
         "harmonic-balance circuit: harmonics unknowns per node, dense blocks in the columns of "
         "nonlinear nodes; oneway and drop act on blocks",
         std::vector{required("nodes", 1), integer("harmonics", "8", 1, 4096),
                     real("nonlinear", "0.1")} +
             routing + filters + std::vector{leading, seed},
         make_harmonic},
        {"kkt",
         "interior-point system of AC optimal power flow on a grown grid over coupled periods; "
         "meshes: lines per bus beyond a tree; split, reach: how the grid grows; parallel: share "
         "of "
         "doubled lines; generators: per bus",
         {required("buses", 1), real("meshes", "0.4", 16), real("split", "0.4"),
          real("reach", "0.4"), real("parallel", "0.14"), real("generators", "0.1", 16),
          integer("periods", "1", 1), seed},
         make_kkt},
        {"normal_equations",
         "A A^T of a linear program: each column of A has degree rows, chosen as by bipartite_kkt",
         members, make_normal_equations},
        {"random",
         "degree entries per row: the diagonal and uniformly distributed columns",
         {required("n", 0), integer("degree", "4", 1), seed},
         make_random},
        {"space_time_kkt",
         "interior-point system of the control of a network (of all states: coupling=full) over "
         "time, collocated at the points of each element; meshes: links per state beyond a tree",
         {required("states", 1), required("elements", 1), integer("controls", "1", 0),
          integer("points", "3", 1, 16), real("meshes", "0.4", 16),
          word("coupling", "network", {"network", "full"}), seed},
         make_space_time_kkt},
        {"triangles",
         "linear elements on the triangles of a jittered grid; holes: discs that are cut out",
         {required("nx", 1, 1 << 20), integer("ny", "@nx", 1, 1 << 20), integer("holes", "3", 0),
          seed},
         make_triangles},
        {"tridiagonal",
         "three diagonals",
         {required("n", 0)},
         [](const arguments& a) { return make_banded(a, 1, 1); }},
    };
  }();
  return all;
}

}  // namespace

const std::vector<generator_info>& generators() {
  static const std::vector<generator_info> all = [] {
    std::vector<generator_info> list;
    for (const family& f : families()) {
      std::string text;
      for (const parameter& p : f.parameters) {
        text += (text.empty() ? "" : " ") + p.key + "=";
        if (p.default_value.empty()) {
          text += "..";
        } else {
          text += p.default_value.front() == '@' ? p.default_value.substr(1) : p.default_value;
        }
        for (std::size_t k = 0; k < p.choices.size(); ++k) {
          text += (k == 0 ? "(" : "|") + p.choices[k] + (k + 1 == p.choices.size() ? ")" : "");
        }
      }
      list.push_back({f.name, f.summary, text});
    }
    return list;
  }();
  return all;
}

namespace {

constexpr std::string_view exchanged_rows = "exchanged_rows:";

pattern of_family(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  const auto& all = families();
  const auto f = std::ranges::find(all, name, &family::name);
  if (f == all.end()) {
    std::string list;
    for (const family& k : all) list += (list.empty() ? "" : ", ") + k.name;
    throw input_error("generator spec \"" + spec + "\": unknown family \"" + name +
                      "\" (known: " + list + ")");
  }
  const std::string_view rest =
      colon == std::string::npos ? std::string_view{} : std::string_view(spec).substr(colon + 1);
  const arguments args(spec, f->parameters, rest);
  try {
    return f->make(args);
  } catch (const std::bad_alloc&) {
    throw budget_error(spec + ": out of memory");
  }
}

}  // namespace

pattern generate(const std::string& spec) {
  if (!spec.starts_with(exchanged_rows)) return of_family(spec);
  const pattern a = of_family(spec.substr(exchanged_rows.size()));
  return permute(a, random_order(a.n_rows, 1), identity_order(a.n_cols));
}

}  // namespace gsofa